"""What a run of verification found wrong: where, why, and the command that fixes it; and what was known before."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rye.errors import ArgumentError, EnvironmentFault, NotFoundError
from rye.signing import refuse_links, system_clock, write_atomically
from rye.spaces.layout import Layout
from rye.verify.changes import changed_since as find_changes
from rye.verify.check import Outcome
from rye.verify.fixes import Fixing
from rye.verify.manifests import Amiss, Manifests
from rye.verify.policy import Policy, load_policy
from rye.verify.pool import Checking, Progress, start_checking
from rye.verify.reports import Unchecked, VerifiedItem, VerifyReport

if TYPE_CHECKING:
    from rye.keys.manifests import ManifestReport

__all__ = ["MAX_BASELINE_FILE", "Baseline", "Finding", "Run", "Tally", "find", "start_run", "verify_targets"]

MAX_BASELINE_FILE: Final = 64 * 1024 * 1024
"""How large a baseline file may be."""

_LAYOUT: Final = 1


@dataclass(frozen=True, slots=True)
class Finding:
    """One item that falls short, or that a manifest has something against, or the manifest itself.

    Attributes:
        item: The item with its verdict; with a word in its place where a manifest is what finds it.
        code: The reason code of the verdict, or that of the policy's demand, or that of the manifest's check.
        reason: The same in words.
        fix: The command that fixes it, for a shell; after ``  # `` what to know before it is run.
        known: Whether the baseline accepts it.
    """

    item: VerifiedItem | Amiss
    code: str
    reason: str
    fix: str
    known: bool = False

    @property
    def state(self) -> str:
        """The verdict; ``amiss`` where a manifest is what finds it."""
        return self.item.state if isinstance(self.item, Amiss) else self.item.signature.verdict.value

    @property
    def key(self) -> str:
        """What makes it this finding: item, source, bytes and code; anything else is another one. 64 hex digits."""
        parts = (self.item.source, self.item.ref, self.item.digest, self.code)
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Return the item's facts with ``code`` and ``reason`` of the finding, ``fix``, ``known`` and ``key``."""
        mine = {"code": self.code, "reason": self.reason, "fix": self.fix, "known": self.known, "key": self.key}
        return self.item.to_dict() | mine


@dataclass(frozen=True, slots=True)
class Baseline:
    """Findings that are accepted as they are. Each is bound to the bytes of the file: a change makes a new finding."""

    keys: frozenset[str] = frozenset()

    @classmethod
    def load(cls, path: Path) -> Baseline:
        """Read what :meth:`save` wrote.

        Raises:
            NotFoundError: ``baseline-not-found``.
            ArgumentError: ``bad-baseline``.
            EnvironmentFault: ``unreadable``.
        """
        try:
            with path.open("rb") as file:
                data = file.read(MAX_BASELINE_FILE + 1)
        except FileNotFoundError:
            hint = "write one with --write-baseline"
            raise NotFoundError("baseline-not-found", f"there is no baseline {str(path)!r}", hint=hint) from None
        except OSError as error:
            message = f"the baseline {str(path)!r} cannot be read: {error.strerror}"
            raise EnvironmentFault("unreadable", message, hint="name a file that can be read") from None
        try:
            value = json.loads(data.decode("utf-8")) if len(data) <= MAX_BASELINE_FILE else None
        except (ValueError, RecursionError):
            value = None
        rows = value.get("findings") if isinstance(value, dict) and value.get("rye_baseline") == _LAYOUT else None
        keys = [row.get("key") if isinstance(row, dict) else None for row in rows] if isinstance(rows, list) else [None]
        if not all(isinstance(key, str) and len(key) == 64 for key in keys):
            hint = "write it anew with --write-baseline, and review what it accepts"
            raise ArgumentError("bad-baseline", f"{str(path)!r} is no baseline of this version", hint=hint)
        return cls(frozenset(map(str, keys)))

    @staticmethod
    def save(path: Path, findings: Iterable[Finding]) -> None:
        """Write findings as the ones to accept, so that a person can review them; no link is written through.

        Raises:
            EnvironmentFault: ``cannot-write``.
        """
        refuse_links(path)
        rows = [
            {"item": each.item.ref, "source": each.item.source, "code": each.code, "key": each.key}
            for each in sorted(findings, key=lambda each: (each.item.source, each.item.ref, each.code))
        ]
        text = json.dumps({"rye_baseline": _LAYOUT, "findings": rows}, indent=1) + "\n"
        write_atomically(path, text.encode("ascii"))


@dataclass(slots=True)
class Tally:
    """What a run came to, counted while it goes on; ``amiss`` is how many of all findings are of manifests."""

    verdicts: Counter[str] = field(default_factory=Counter)
    findings: int = 0
    known: int = 0
    amiss: int = 0
    unchecked: int = 0

    @property
    def items(self) -> int:
        """Number of items on which there is a verdict."""
        return self.verdicts.total()

    def status(self, *, may_be_empty: bool = False) -> int:
        """Return the exit status: 0 all well, 1 findings, 2 something could not be checked, or nothing was there."""
        if self.unchecked or not (self.items or may_be_empty):
            return 2
        return 1 if self.findings else 0

    def to_dict(self) -> dict[str, Any]:
        """Return the counts."""
        return {
            "items": self.items,
            "verdicts": dict(self.verdicts),
            "findings": self.findings,
            "known": self.known,
            "unchecked": self.unchecked,
        }


@dataclass(frozen=True, slots=True)
class Run:
    """One verification under a policy: iterate over it once, then ask for ``status``.

    Attributes:
        checking: The files with their verdicts.
        policy: What is demanded of them.
        baseline: Findings that are accepted.
        now: The moment by which ages are judged.
        manifests: The manifests that are checked after the items.
        tally: The counts so far.
    """

    checking: Checking
    policy: Policy
    baseline: Baseline
    now: datetime
    manifests: Manifests
    tally: Tally = field(default_factory=Tally)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Keys and bundles that could not be used, and in the end hidden items of other signers, and of manifests."""
        return self.checking.warnings + self.manifests.notes

    @property
    def reports(self) -> tuple[ManifestReport, ...]:
        """What was found of each manifest; known in the end."""
        return self.manifests.reports

    @property
    def status(self) -> int:
        """0 all well, 1 findings, 2 something could not be checked, or there was nothing to check."""
        return self.tally.status(may_be_empty=self.checking.passed_over > 0)

    def __iter__(self) -> Iterator[VerifiedItem | Finding | Unchecked]:
        """Yield every item, as a finding where it falls short, what could not be checked, and findings of manifests."""
        yield from find(self.manifests.watch(self.checking), self.policy, self.baseline, self.tally, now=self.now)
        fixing = Fixing.find()
        for each in self.manifests:
            if isinstance(each, Unchecked):
                self.tally.unchecked += 1
                yield each
            else:
                self.tally.amiss += 1
                amiss, found = each
                fix = fixing.of_manifest(amiss, found)
                yield _count(Finding(amiss, found.code, found.message, fix), self.baseline, self.tally)


def start_run(
    texts: tuple[str, ...],
    layout: Layout,
    *,
    space: str = "all",
    named_trust: Sequence[Path] = (),
    policy: Policy | Path | None = None,
    baseline: Path | None = None,
    changed_since: str | None = None,
    require_manifest: bool = False,
    processes: int | None = 1,
    progress: Progress | None = None,
) -> Run:
    """Prepare what :meth:`rye.Registry.check` returns; the arguments are its, and those of :func:`start_checking`."""
    demanded = policy if isinstance(policy, Policy) else load_policy(policy) if policy else Policy()
    folder = layout.project or Path.cwd()
    checking = start_checking(
        texts,
        layout,
        space=space,
        named_trust=named_trust,
        wanted=None
        if changed_since is None
        else lambda roots: find_changes(
            changed_since, folder, roots=roots, named=[root for root in roots if root not in layout.roots]
        ),
        digests=not demanded.is_plain,
        processes=processes,
        progress=progress,
    )
    if not demanded.names_signers:
        checking.warnings += checking.self_vouched
    accepted = Baseline() if baseline is None else Baseline.load(baseline)
    manifests = Manifests(checking, require_manifest)
    return Run(checking, demanded, accepted, system_clock(), manifests)


def find(
    outcomes: Iterable[Outcome], policy: Policy, baseline: Baseline, tally: Tally, *, now: datetime
) -> Iterator[VerifiedItem | Finding | Unchecked]:
    """Yield each outcome, an item that falls short as a finding, and count them in ``tally``."""
    fixing = Fixing.find()
    for outcome in outcomes:
        if isinstance(outcome, Unchecked):
            tally.unchecked += 1
            yield outcome
            continue
        tally.verdicts[outcome.signature.verdict.value] += 1
        finding = _judge(outcome, policy, now, fixing)
        yield outcome if finding is None else _count(finding, baseline, tally)


def _count(finding: Finding, baseline: Baseline, tally: Tally) -> Finding:
    if finding.key in baseline.keys:
        finding = replace(finding, known=True)
    tally.known += finding.known
    tally.findings += not finding.known
    return finding


def _judge(item: VerifiedItem, policy: Policy, now: datetime, fixing: Fixing) -> Finding | None:
    demands = policy.demands(item)
    if not all(demand.accepts_verdict(item) for demand in demands):
        return Finding(item, item.signature.code, item.signature.reason, fixing.of_item(item, item.signature.code))
    for demand in demands:
        if fault := demand.fault(item, now):
            fix = fixing.of_item(item, fault.code, formats=demand.envelopes)
            return Finding(item, fault.code, fault.reason, fix)
    return None


# -- Verdicts on many items, and what their manifests say, all at once.
def verify_targets(
    texts: tuple[str, ...],
    layout: Layout,
    *,
    space: str = "all",
    named_trust: Sequence[Path] = (),
    processes: int | None = 1,
) -> VerifyReport:
    """Verify what the texts name, as :func:`start_checking`, and check the manifests of the roots that they name whole.

    Returns:
        A verdict per item, each once, what was found in each manifest, and a sentence for each file, target or manifest
        that could not be checked.

    Raises:
        ArgumentError: A text names nothing that could exist.
    """
    checking = start_checking(texts, layout, space=space, named_trust=named_trust, processes=processes)
    manifests = Manifests(checking)
    items, problems = [], []
    for outcome in manifests.watch(checking):
        if isinstance(outcome, VerifiedItem):
            items.append(outcome)
        else:
            problems.append(outcome.message)
    problems += [each.message for each in manifests if isinstance(each, Unchecked)]
    warnings = checking.warnings + checking.self_vouched + manifests.notes
    return VerifyReport(tuple(items), tuple(problems), warnings, manifests.reports)
