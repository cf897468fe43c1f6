"""One verification under a policy: which items fall short and the command that fixes each; a baseline accepts some."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from rye.errors import ArgumentError, NotFoundError
from rye.manifest.model import ManifestReport
from rye.parameters import COMMANDS, check
from rye.spaces import Space
from rye.spaces.layout import AUDIENCE, Layout
from rye.trust import refuse_links, system_clock, write_atomically
from rye.trust.reasons import audience_words
from rye.verify.fixes import Fixes
from rye.verify.manifests import Manifests
from rye.verify.policy import Policy, load_policy, read_limited
from rye.verify.reports import Finding, Outcome, Unchecked, VerifiedItem, VerifyReport
from rye.verify.stream import OutcomeStream, Progress, stream_outcomes

MAX_BASELINE_FILE: Final = 64 * 1024 * 1024
"""How large a baseline file may be."""

_LAYOUT: Final = 1


@dataclass(frozen=True, slots=True)
class Baseline:
    """Accepted findings. Each is bound to the bytes of the file: a change makes a new finding."""

    keys: frozenset[str] = frozenset()

    @classmethod
    def load(cls, path: Path) -> Baseline:
        """Read what :meth:`save` wrote.

        Raises:
            NotFoundError: ``baseline-not-found``.
            ArgumentError: ``bad-baseline``.
            EnvironmentFault: ``unreadable``.
        """
        words, hint = f"there is no baseline {str(path)!r}", "write one with --write-baseline"
        data = read_limited(path, "baseline", MAX_BASELINE_FILE, NotFoundError("baseline-not-found", words, hint=hint))
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
class Verification:
    """One verification: iterate over it once, then it has counts and a ``status``; or take its :meth:`report`.

    Attributes:
        outcomes: The files with their verdicts.
        policy: What is demanded of them.
        baseline: Findings that are accepted.
        now: The moment by which ages are judged.
        checks: The manifests that are checked after the items.
        audience: The name for which a project's items must have been signed; empty for any and none.
        fixes: Writes the command that fixes each finding; None for none.
        counts: Number of items by verdict, so far.
        findings: How many findings no baseline accepts, so far.
        baselined: How many it accepts.
        violations: How many of all findings are of manifests.
        unchecked: What could not be checked.
    """

    outcomes: OutcomeStream
    policy: Policy
    baseline: Baseline
    now: datetime
    checks: Manifests
    audience: str = ""
    fixes: Fixes | None = None
    counts: Counter[str] = field(default_factory=Counter)
    findings: int = 0
    baselined: int = 0
    violations: int = 0
    unchecked: list[Unchecked] = field(default_factory=list)

    @property
    def items(self) -> int:
        """Number of items on which there is a verdict."""
        return self.counts.total()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Keys and bundles that could not be used; in the end, hidden items of other signers and notes on manifests."""
        return self.outcomes.warnings + self.checks.notes

    @property
    def manifests(self) -> tuple[ManifestReport, ...]:
        """The results of the manifests that were checked; known in the end."""
        return self.checks.reports

    @property
    def status(self) -> int:
        """0 all well, 1 findings, 2 something could not be checked, or there was nothing to check."""
        if self.unchecked or not self.items:
            return 2
        return 1 if self.findings else 0

    def __iter__(self) -> Iterator[VerifiedItem | Finding | Unchecked]:
        """Yield every item, as a finding where it falls short, what could not be checked, and violations at the end."""
        for outcome in self.checks.watch(self.outcomes):
            yield self._judged(outcome)
        for each in self.checks:
            if isinstance(each, Unchecked):
                self.unchecked.append(each)
                yield each
            else:
                self.violations += 1
                violation, found = each
                advice = self.fixes.of_manifest(violation, found) if self.fixes else ("", "")
                yield self._counted(Finding(violation, found.code, found.message, *advice))

    def _judged(self, outcome: Outcome) -> VerifiedItem | Finding | Unchecked:
        if isinstance(outcome, Unchecked):
            self.unchecked.append(outcome)
            return outcome
        self.counts[outcome.verdict] += 1
        demands = self.policy.demands(outcome)
        wanted = self.audience if outcome.space == Space.PROJECT else ""
        if not all(demand.accepts_verdict(outcome) for demand in demands):
            return self._found(outcome, outcome.signature.code, outcome.signature.reason)
        if wanted and outcome.signature.audience != wanted:  # where the key does not count, no verdict says so
            return self._found(outcome, "audience", audience_words(outcome.signature.audience, wanted))
        for demand in demands:
            if fault := demand.fault(outcome, self.now):
                return self._found(outcome, *fault, formats=demand.envelopes)
        return outcome

    def _found(self, item: VerifiedItem, code: str, reason: str, *, formats: tuple[str, ...] = ()) -> Finding:
        advice = self.fixes.of_item(item, code, formats=formats) if self.fixes else ("", "")
        return self._counted(Finding(item, code, reason, *advice))

    def _counted(self, finding: Finding) -> Finding:
        if finding.key in self.baseline.keys:
            self.baselined += 1
            return replace(finding, baselined=True)
        self.findings += 1
        return finding

    def report(self) -> VerifyReport:
        """Return the result so far, without the items."""
        return VerifyReport(
            items=(),
            counts=dict(self.counts),
            findings=self.findings,
            baselined=self.baselined,
            unchecked=tuple(self.unchecked),
            warnings=self.warnings,
            manifests=self.manifests,
            status=self.status,
        )

    def complete(self, each: Callable[[], None] = lambda: None) -> VerifyReport:
        """Verify everything and return the result, without a command that fixes each finding.

        Args:
            each: Called after each entry; an exception from it ends the verification.
        """
        self.fixes = None
        items = []
        for entry in self:
            each()
            item = entry.item if isinstance(entry, Finding) else entry
            if isinstance(item, VerifiedItem):
                items.append(item)
        return replace(self.report(), items=tuple(items))

    def summary(self) -> dict[str, Any]:
        """Return the counts, the warnings and the status as JSON-able values."""
        counts = {"items": self.items, "verdicts": dict(self.counts), "unchecked": len(self.unchecked)}
        rest = {"warnings": list(self.warnings), "status": self.status}
        return counts | {"findings": self.findings, "baselined": self.baselined} | rest


def start_verification(
    texts: tuple[str, ...],
    layout: Layout,
    *,
    space: str = "all",
    named_trust: Sequence[Path] = (),
    without: Sequence[Path] | None = None,
    policy: Policy | Path | None = None,
    baseline: Path | None = None,
    require_manifest: bool = False,
    strict: bool = False,
    digests: bool = False,
    processes: int | None = 1,
    progress: Progress | None = None,
) -> Verification:
    """Prepare the result of :meth:`rye.Registry.check`; the same arguments, and those of :func:`stream_outcomes`."""
    check(COMMANDS["verify"]["space"], space)
    demanded = policy if isinstance(policy, Policy) else load_policy(policy) if policy else Policy()
    layout = _for_audience(layout, demanded.audience)
    outcomes = stream_outcomes(
        texts,
        layout,
        space=space,
        named_trust=named_trust,
        without=without,
        digests=digests or not demanded.is_plain,
        processes=processes,
        progress=progress,
    )
    if layout.audience and not any(root.space is Space.PROJECT for root in outcomes.roots):
        outcomes.warnings += (f"the audience {layout.audience!r} is of a project, and no project is verified",)
    accepted = Baseline() if baseline is None else Baseline.load(baseline)
    checks = Manifests(outcomes, require_manifest, strict)
    fixes = Fixes.find(outcomes.named, layout.audience)
    return Verification(outcomes, demanded, accepted, system_clock(), checks, layout.audience, fixes)


def _for_audience(layout: Layout, name: str) -> Layout:
    """Return the layout with the audience that a policy names, if it does.

    Raises:
        ArgumentError: ``bad-audience`` when the caller demands another one.
    """
    if name and layout.audience not in {"", name}:
        message = f"audience is {layout.audience!r}, the policy demands {name!r}"
        raise ArgumentError("bad-audience", message, hint=f"leave out --audience and {AUDIENCE}, or name that one")
    return layout._replace(audience=name) if name else layout
