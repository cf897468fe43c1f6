"""One verification under a policy: its findings, the commands that fix them, and which of them the policy accepts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Final

from rye._files import real_path
from rye._text import Advice
from rye.errors import ArgumentError
from rye.options.model import check
from rye.options.search import VERIFIED_SPACE
from rye.spaces.bundles import has_skills_itself, is_own
from rye.spaces.layout import AUDIENCE, Layout
from rye.spaces.lists import ListReport
from rye.spaces.model import Space
from rye.spaces.read import skill_of
from rye.trust.model import Verdict
from rye.trust.reasons import audience_words
from rye.trust.trust_store import system_clock
from rye.verify.accepted import Identities
from rye.verify.advice import Adviser
from rye.verify.lists import ListChecks
from rye.verify.policy import EVERY_SPACE, NO_DEMAND, Demand, Fault, Policy, Signed, load_policy
from rye.verify.report import (
    Finding,
    NestedRepository,
    Outcome,
    Unchecked,
    VerifiedItem,
    VerifyReport,
    Violation,
)
from rye.verify.repositories import RepositoryChecks
from rye.verify.stream import OutcomeStream, Progress, stream_outcomes

_REPORTED: Final = ("findings", "accepted", "warnings", "lists", "status")
"""What a report has in common with the verification that it is of."""


def _nothing_own(folder: Path) -> Unchecked:
    """Return the entry that says that only rye's own items were found, with a hint on what to verify."""
    hint = "name the folder with --project, a bundle as TARGET; --space all verifies what there is"
    if has_skills_itself(folder):
        hint = "this folder is a bundle of skills: rye verify . verifies it"
    return Unchecked("there is nothing of your own to verify", "nothing-of-your-own", hint)


@dataclass(slots=True)
class Verification:
    """One verification: iterate over it once, then read its counts and ``status``; or call :meth:`report`.

    Attributes:
        outcomes: The files with their verdicts.
        policy: The demands on them.
        now: The time by which ages are judged.
        checks: The lists that are checked after the items.
        repositories: The repositories that are checked after the lists.
        base: The folder to which the paths of accepted findings are relative.
        named: Sources of the bundles and folders that the caller named; the policy applies to them too.
        audience: The audience for which a project's items must be signed; empty for any and none.
        fixes: Writes the command that fixes each finding; None for none.
        identities: Finds the ``identity`` of each finding; None for none.
        apart: Sources of rye's own items, if these are counted separately.
        needs_own: Whether having only rye's own items is a fault.
        counts: Number of items by verdict, so far, without those of rye and of nested repositories.
        manual: The same for rye's own items that are counted separately.
        findings: Number of findings so far that the policy does not accept.
        accepted: Number of findings that it accepts.
        violations: Number of findings about lists and non-items.
        subject: Number of items so far that the policy is for.
        unchecked: Everything that could not be checked.
    """

    outcomes: OutcomeStream
    policy: Policy
    now: datetime
    checks: ListChecks
    repositories: RepositoryChecks
    base: Path
    named: frozenset[str] = frozenset()
    audience: str = ""
    fixes: Adviser | None = None
    identities: Identities | None = None
    apart: frozenset[str] = frozenset()
    needs_own: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    manual: Counter[str] = field(default_factory=Counter)
    findings: int = 0
    accepted: int = 0
    violations: int = 0
    subject: int = 0
    unchecked: list[Unchecked] = field(default_factory=list)
    _skills: dict[tuple[str, str], str] = field(default_factory=dict)
    """A signed skill, and a verdict or the code of a finding → the file that stands for the skill."""

    @property
    def items(self) -> int:
        """Number of items with a verdict, without those that are counted separately."""
        return self.counts.total()

    @property
    def nested(self) -> tuple[NestedRepository, ...]:
        """The nested repositories with items, each with its own counts; complete at the end."""
        return tuple(nested for nested in self.repositories.nested.values() if nested.counts or nested.findings)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Keys and bundles that could not be used; at the end also shadowing items and notes on lists."""
        unused = ("the policy is for no item that is verified; it names its spaces with 'spaces'",)
        return (
            self.outcomes.warnings
            + self.checks.notes
            + self.repositories.notes
            + (unused if self.counts | self.manual and not self.subject else ())
        )

    @property
    def lists(self) -> tuple[ListReport, ...]:
        """The reports of the checked lists; complete at the end."""
        return self.checks.reports

    @property
    def status(self) -> int:
        """0 all well, 1 findings, 2 something could not be checked, or there was nothing to check."""
        if self.unchecked or not (self.items or self.manual or self.nested):
            return 2
        return 1 if self.findings else 0

    def __iter__(self) -> Iterator[VerifiedItem | Finding | Unchecked]:
        """Yield every item or its finding, everything that could not be checked, and violations at the end."""
        for outcome in self.outcomes:
            yield self._judged(outcome)
        for entry in chain(self.checks, self.repositories):
            if isinstance(entry, Unchecked):
                self.unchecked.append(entry)
                yield entry
            else:
                self.violations += 1
                change = entry.change
                yield self._finding(entry, change.code, change.message)
        if self.needs_own and not (self.items or self.nested or self.findings or self.accepted or self.unchecked):
            nothing = _nothing_own(self.base)
            self.unchecked.append(nothing)
            yield nothing

    def _judged(self, outcome: Outcome) -> VerifiedItem | Finding | Unchecked:
        """Count an outcome, and return the finding about an item that does not meet the demands in its place."""
        if isinstance(outcome, Unchecked):
            self.unchecked.append(outcome)
            return outcome
        nested = self.repositories.of(outcome.root)
        counts = nested.counts if nested else self.manual if outcome.source in self.apart else self.counts
        counts[outcome.verdict] += not self.is_part(outcome)
        mine = self.policy.demand(outcome, is_named=outcome.source in self.named)
        self.subject += mine is not None
        fault = self._fault(outcome, mine or NO_DEMAND)
        return self._failed(outcome, *fault) if fault else outcome

    def _fault(self, item: VerifiedItem, mine: Demand) -> Fault | None:
        """Return the code and words of the first demand that an item does not meet; that on its verdict comes first."""
        signature, hidden = item.signature, f"hidden text: {item.hidden}" if item.hidden else ""
        audience = self.audience if item.space == Space.PROJECT else ""
        if signature.verdict is not Verdict.TRUSTED:
            return signature.code, "; ".join(filter(None, (signature.reason, hidden)))
        if audience and signature.audience != audience:  # a verdict about the key does not mention the audience
            return "audience", audience_words(signature.audience, audience)
        if hidden:
            return "hidden-text", hidden
        signed = Signed((signature.signer,), signature.format, signature.signed_at)
        return mine.fault(signed, self.now) or self.policy.also.fault(signed, self.now)

    def is_part(self, item: VerifiedItem) -> bool:
        """Return whether a file belongs to a signed skill that was counted with this verdict, under another file."""
        skill = self._skill_of(item)
        return bool(skill) and self._skills.setdefault((skill, item.verdict), item.path) != item.path

    def _skill_of(self, item: VerifiedItem) -> str:
        """Return the folder of the signed skill that contains a file; empty if there is none."""
        skill = skill_of(item.root, item.file.rel_path)
        return f"{item.root.path}/{skill}" if skill else ""

    def _failed(self, item: VerifiedItem, code: str, reason: str) -> VerifiedItem | Finding:
        """Return a finding; of the files of a skill only for the first, which is ``SKILL.md`` if all are verified."""
        skill, kind = self._skill_of(item), code if item.signature.verdict is Verdict.TRUSTED else item.verdict
        if skill and self._skills.setdefault((skill, kind), item.path) != item.path:
            return item
        self.checks.fail(skill or item.path)
        return self._finding(item, code, reason, skill)

    def _finding(self, item: VerifiedItem | Violation, code: str, reason: str, skill: str = "") -> Finding:
        """Return a finding, counted as one that the policy accepts or as one that it does not."""
        advice = Advice("", "")
        if self.fixes is not None:
            advice = self.fixes.of_item(item, code) if isinstance(item, VerifiedItem) else self.fixes.of_list(item)
        identity = self.identities.of(item, code, skill) if self.identities else None
        accepted = identity in self.policy.accepted
        self.accepted += accepted
        self.findings += not accepted
        if nested := self.repositories.of(item.root):
            nested.findings += not accepted
        return Finding(item, code, reason, advice, identity, accepted)

    def report(self) -> VerifyReport:
        """Return the result so far, without the items."""
        return VerifyReport(
            items=(),
            counts=dict(self.counts),
            manual=dict(self.manual),
            unchecked=tuple(self.unchecked),
            repositories=self.nested,
            **{name: getattr(self, name) for name in _REPORTED},
        )

    def complete(self, after_entry: Callable[[], None] = lambda: None) -> VerifyReport:
        """Verify everything and return the result, without its findings.

        Args:
            after_entry: Called after each entry; an exception from it ends the verification.
        """
        self.fixes, self.identities = None, self.identities if self.policy.accepted else None
        items = []
        for entry in self:
            after_entry()
            item = entry.item if isinstance(entry, Finding) else entry
            if isinstance(item, VerifiedItem):
                items.append(item)
        return replace(self.report(), items=tuple(items))


def start_verification(
    texts: tuple[str, ...],
    layout: Layout,
    *,
    space: str | None = None,
    named_trust: Sequence[Path] = (),
    without: Sequence[Path] | None = None,
    policy: Policy | Path | None = None,
    require_list: bool = False,
    strict: bool = False,
    digests: bool = False,
    identifies: bool = True,
    processes: int | None = 1,
    progress: Progress | None = None,
) -> Verification:
    """Prepare the result of :meth:`rye.Registry.check`; the same arguments, and those of :func:`stream_outcomes`.

    ``identifies`` gives each finding its ``identity``, for which every byte that it is about is read. Each has one
    anyway if the policy accepts any.
    """
    needs_own, space = space is None and not texts, space or "all"
    check(VERIFIED_SPACE, space)
    demanded = (
        policy if isinstance(policy, Policy) else load_policy(policy) if policy else Policy(Demand(spaces=EVERY_SPACE))
    )
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
    checks = ListChecks(outcomes, require_list, strict, demanded)
    fixes = Adviser.find(outcomes.named, layout.audience, outcomes.roots)
    found = {repository.real: repository for target in outcomes.targets for repository in target.below.repositories}
    repositories = RepositoryChecks(
        found, layout.project or Path.cwd(), tuple(map(real_path, without or ())), strict=strict
    )
    base, named = layout.project or Path.cwd(), frozenset(root.source for root in outcomes.named)
    apart = () if texts or space != "all" else (root.source for root in outcomes.roots if is_own(root))
    return Verification(
        outcomes,
        demanded,
        system_clock(),
        checks,
        repositories,
        base,
        named,
        layout.audience,
        fixes,
        Identities(base) if identifies or demanded.accepted else None,
        apart=frozenset(apart),
        needs_own=needs_own,
    )


def _for_audience(layout: Layout, name: str) -> Layout:
    """Return the layout with the audience that a policy names, if it does.

    Raises:
        ArgumentError: ``bad-audience``: the caller demands another one.
    """
    if name and layout.audience not in {"", name}:
        message = f"audience is {layout.audience!r}, the policy demands {name!r}"
        raise ArgumentError("bad-audience", message, hint=f"leave out --audience and {AUDIENCE}, or name that one")
    return layout._replace(audience=name) if name else layout
