"""One verification under a policy: its findings, the commands that fix them, and which of them the policy accepts."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rye._text import Advice
from rye.errors import ArgumentError
from rye.options.model import check
from rye.options.search import VERIFIED_SPACE
from rye.spaces.bundles import has_skills_itself
from rye.spaces.layout import AUDIENCE, Layout
from rye.spaces.lists import ListReport, list_key
from rye.spaces.model import Root, Space
from rye.spaces.read import skill_of
from rye.trust.model import Verdict
from rye.trust.reasons import audience_words
from rye.verify.accepted import Identities
from rye.verify.advice import Adviser
from rye.verify.facts import Beside, Fact, Note, Progress, facts
from rye.verify.lists import Checked, check_lists
from rye.verify.policy import EVERY_SPACE, NO_DEMAND, Demand, Fault, Policy, Signed, load_policy
from rye.verify.report import Entry, Finding, NestedRepository, Unchecked, VerifiedItem, VerifyReport, Violation
from rye.verify.repositories import check_repositories
from rye.verify.subject import Subject, subject_of


def _nothing_own(folder: Path) -> Unchecked:
    """Return the entry that says that no items were found, with a hint on what to verify."""
    hint = "name the folder with --project, a bundle as TARGET; --space system verifies rye's own items"
    if has_skills_itself(folder):
        hint = "this folder is a bundle of skills: rye verify . verifies it"
    return Unchecked("there is nothing of your own to verify", "nothing-of-your-own", hint)


@dataclass(slots=True)
class Verification:
    """One verification: iterate over it once, then read its counts and ``status``; or call :meth:`report`.

    Attributes:
        subject: What is verified, and what is demanded.
        facts: The verdicts, and what lies beside the items.
        fixes: Writes the command that fixes each finding; None for none.
        identities: Finds the ``identity`` of each finding; None for none.
        needs_items: Whether it is said where nothing was found.
        counts: Number of items by verdict, so far, without those of nested repositories.
        findings: Number of findings so far that the policy does not accept.
        accepted: Number of findings that it accepts.
        violations: Number of findings about lists and non-items.
        unchecked: Everything that could not be checked.
        lists: How folders differ from their lists.
    """

    subject: Subject
    facts: Iterable[Fact]
    fixes: Adviser | None = None
    identities: Identities | None = None
    needs_items: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    findings: int = 0
    accepted: int = 0
    violations: int = 0
    unchecked: list[Unchecked] = field(default_factory=list)
    lists: tuple[ListReport, ...] = ()
    _notes: list[str] = field(default_factory=list)
    _nested: dict[str, NestedRepository] = field(default_factory=dict)
    _of: dict[Root, NestedRepository | None] = field(default_factory=dict)
    _failed: set[str] = field(default_factory=set)
    _is_meant: bool = False
    _skills: dict[tuple[str, str], str] = field(default_factory=dict)
    """A signed skill, and a verdict or the code of a finding → the file that stands for the skill."""

    @property
    def items(self) -> int:
        """Number of items with a verdict."""
        return self.counts.total()

    @property
    def nested(self) -> tuple[NestedRepository, ...]:
        """The nested repositories with items or findings, each with its own counts."""
        return tuple(nested for nested in self._nested.values() if nested.counts or nested.findings)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What does not fail the verification, so far."""
        unused = ("the policy is for no item that is verified; it names its spaces with 'spaces'",)
        is_unused = bool(self.counts) and not self._is_meant
        return (*self.subject.warnings, *self._notes, *(unused if is_unused else ()))

    @property
    def status(self) -> int:
        """0 all well, 1 findings, 2 something could not be checked, or there was nothing to check."""
        if self.unchecked or not (self.items or self.nested):
            return 2
        return 1 if self.findings else 0

    def __iter__(self) -> Iterator[Entry]:
        """Yield every item or its finding, everything that could not be checked, and violations at the end."""
        beside, known = list[Beside](), dict[str, str]()
        for fact in self.facts:
            if isinstance(fact, VerifiedItem):
                known |= self._known(fact)
                yield self._judged(fact)
            elif isinstance(fact, Beside):
                beside.append(fact)
            else:
                yield from self._taken(fact)
        for entry in check_lists(self.subject, beside, self._failed, known):
            yield from self._taken(entry)
        for entry in check_repositories(self.subject, self._nested.keys()):
            yield from self._taken(entry)
        if self.needs_items and not (self.items or self.nested or self.findings or self.accepted or self.unchecked):
            yield from self._taken(_nothing_own(self.subject.top))

    def _known(self, item: VerifiedItem) -> Iterable[tuple[str, str]]:
        """Return path and SHA-256 of an item and of the files of its skill, if a list covers them too."""
        if list_key(item.root) not in self.subject.verifier.trust.lists:
            return ()
        folder = item.path.rpartition("/")[0]
        return [(item.path, item.content_digest), *((f"{folder}/{part.path}", part.sha256) for part in item.parts)]

    def _taken(self, entry: Checked) -> Iterator[Finding | Unchecked]:
        """Take in what is no item; yield what a caller is told at once."""
        if isinstance(entry, Note):
            self._notes.append(entry.text)
        elif isinstance(entry, ListReport):
            self.lists += (entry,)
        elif isinstance(entry, Unchecked):
            self.unchecked.append(entry)
            yield entry
        else:
            self.violations += 1
            yield self._finding(entry, entry.change.code, entry.change.message)

    def _judged(self, item: VerifiedItem) -> VerifiedItem | Finding:
        """Count an item, and return the finding in its place if it does not meet the demands."""
        nested = self._nested_of(item.root)
        counts = nested.counts if nested else self.counts
        counts[item.verdict] += not self.is_part(item)
        mine = self.subject.policy.demand(item, is_named=item.source in self.subject.named_sources)
        self._is_meant = self._is_meant or mine is not None
        fault = self._fault(item, mine or NO_DEMAND)
        return self._of_item(item, *fault) if fault else item

    def _fault(self, item: VerifiedItem, mine: Demand) -> Fault | None:
        """Return the code and words of the first demand that an item does not meet; that on its verdict comes first."""
        signature, hidden = item.signature, f"hidden text: {item.hidden}" if item.hidden else ""
        audience = self.subject.layout.audience if item.space == Space.PROJECT else ""
        if signature.verdict is not Verdict.TRUSTED:
            return signature.code, "; ".join(filter(None, (signature.reason, hidden)))
        if audience and signature.audience != audience:  # a verdict about the key does not mention the audience
            return "audience", audience_words(signature.audience, audience)
        if hidden:
            return "hidden-text", hidden
        signed, now = Signed((signature.signer,), signature.format, signature.signed_at), self.subject.verifier.now
        return mine.fault(signed, now) or self.subject.policy.also.fault(signed, now)

    def is_part(self, item: VerifiedItem) -> bool:
        """Return whether a file belongs to a signed skill that was counted with this verdict, under another file."""
        skill = _skill_of(item)
        return bool(skill) and self._skills.setdefault((skill, item.verdict), item.path) != item.path

    def _of_item(self, item: VerifiedItem, code: str, reason: str) -> VerifiedItem | Finding:
        """Return a finding; of the files of a skill only for the first, which is ``SKILL.md`` if all are verified."""
        skill, kind = _skill_of(item), code if item.signature.verdict is Verdict.TRUSTED else item.verdict
        if skill and self._skills.setdefault((skill, kind), item.path) != item.path:
            return item
        if list_key(item.root) in self.subject.verifier.trust.lists:
            self._failed.add(skill or item.path)
        return self._finding(item, code, reason, skill)

    def _finding(self, item: VerifiedItem | Violation, code: str, reason: str, skill: str = "") -> Finding:
        """Return a finding, counted as one that the policy accepts or as one that it does not."""
        advice = Advice("", "")
        if self.fixes is not None:
            advice = self.fixes.of_item(item, code) if isinstance(item, VerifiedItem) else self.fixes.of_list(item)
        identity = self.identities.of(item, code, skill) if self.identities else None
        accepted = identity in self.subject.policy.accepted
        self.accepted += accepted
        self.findings += not accepted
        if nested := self._nested_of(item.root):
            nested.findings += not accepted
        return Finding(item, code, reason, advice, identity, accepted)

    def _nested_of(self, root: Root) -> NestedRepository | None:
        """Return the counts of the nested repository that a root lies in; None for the verified project itself."""
        if root not in self._of:
            repository = self.subject.repository_of(root)
            nested = repository and NestedRepository(
                os.path.relpath(repository.path, self.subject.top), repository.is_known
            )
            self._of[root] = self._nested.setdefault(repository.real, nested) if repository and nested else None
        return self._of[root]

    def report(self) -> VerifyReport:
        """Return the result so far, without the items."""
        return VerifyReport(
            items=(),
            counts=dict(self.counts),
            findings=self.findings,
            accepted=self.accepted,
            unchecked=tuple(self.unchecked),
            warnings=self.warnings,
            lists=self.lists,
            repositories=self.nested,
            status=self.status,
        )

    def complete(self, each: Callable[[Entry], None] | None = None) -> VerifyReport:
        """Verify everything and return the result with its items and findings.

        Args:
            each: Called with each entry; an exception from it ends the verification.
        """
        items, found, parts = list[VerifiedItem](), list[Finding](), set[str]()
        for entry in self:
            if each is not None:
                each(entry)
            if isinstance(entry, Finding):
                found.append(entry)
            item = entry.item if isinstance(entry, Finding) else entry
            if isinstance(item, VerifiedItem):
                items.append(item)
                if self.is_part(item):
                    parts.add(item.path)
        return replace(self.report(), items=tuple(items), found=tuple(found), parts=frozenset(parts))


def _skill_of(item: VerifiedItem) -> str:
    """Return the folder of the signed skill that contains a file; empty if there is none."""
    skill = skill_of(item.root, item.file.rel_path)
    return f"{item.root.path}/{skill}" if skill else ""


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
    """Prepare the verification of :meth:`rye.Registry.verify`; the same arguments, and those of :func:`subject_of`.

    ``identifies`` gives each finding its ``identity``, for which every byte that it is about is read. Each has one
    anyway if the policy accepts any.
    """
    needs_items, space = space is None and not texts, space or "all"
    check(VERIFIED_SPACE, space)
    demanded = (
        policy if isinstance(policy, Policy) else load_policy(policy) if policy else Policy(Demand(spaces=EVERY_SPACE))
    )
    subject = subject_of(
        texts,
        _for_audience(layout, demanded.audience),
        space=space,
        policy=demanded,
        named_trust=named_trust,
        without=without,
        digests=digests or not demanded.is_plain,
        strict=strict,
        require_list=require_list or demanded.list.required,
    )
    return Verification(
        subject,
        facts(subject, processes=processes, progress=progress),
        Adviser.find(subject.named, subject.layout.audience, subject.roots),
        Identities(subject.top) if identifies or demanded.accepted else None,
        needs_items=needs_items,
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
