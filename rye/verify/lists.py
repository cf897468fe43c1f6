"""Checks the signed lists of the spaces under verification, and reports files that no signature covers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rye._files import real_path
from rye.errors import EnvironmentFault, ItemError
from rye.items.clients import FIXED_FILES, PLUGIN
from rye.items.provenance import LOCK_FILE
from rye.spaces.classify import Role
from rye.spaces.contents import is_private
from rye.spaces.discover import project_root
from rye.spaces.found import Found
from rye.spaces.lists import (
    NOTES,
    ListReport,
    check_list,
    has_list,
    list_folder,
    list_key,
)
from rye.spaces.model import Root, Space, is_within
from rye.spaces.skills_lock import compare_lock
from rye.spaces.snapshot import LINK, MAX_FILES, PLAIN
from rye.spaces.state import state_warning
from rye.spaces.uncovered import beside_warning
from rye.spaces.walk import Walk
from rye.trust.list import LIST_FILE, Change, ListClaim, ListedFile, ListFault, ListState
from rye.trust.trust_store import TRUSTED_FOLDER
from rye.verify.policy import NO_DEMAND, Policy, Signed
from rye.verify.report import Unchecked, Violation

if TYPE_CHECKING:
    from rye.verify.stream import OutcomeStream


_OUTDATED: Final = frozenset({"list-expired", "list-rollback"})
"""Codes of lists that a key that counts has signed for this place."""


@dataclass(slots=True)
class ListChecks:
    """The lists of one verification: iterate over its outcomes, then over this once.

    Attributes:
        stream: The outcomes, whose roots are checked.
        require: Whether a missing list of a project, user space or named bundle is a finding, and lists are checked
            even if only a part was named.
        strict: Whether a non-item that is on no list is a finding.
        policy: The demands on lists; not applied to bundles that were only discovered.
        reports: How each folder differs from its list, once checked.
    """

    stream: OutcomeStream
    require: bool = False
    strict: bool = False
    policy: Policy = field(default_factory=Policy)
    reports: tuple[ListReport, ...] = ()
    finished: bool = False
    _failed: set[str] = field(default_factory=set)
    _named: set[str] = field(default_factory=set)
    _notes: list[str] = field(default_factory=list)
    _listed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.strict:
            self.stream.strict_roots = frozenset(root for root in self.stream.roots if self._demands(root))

    def _demands(self, root: Root) -> bool:
        """Return whether all files of a root must be covered."""
        if not (self.require or self.strict or self.policy.list.required):
            return False
        return self.stream.layout.may_demand(root) or (root.client is not None and root.space is not Space.SYSTEM)

    @property
    def notes(self) -> tuple[str, ...]:
        """Findings that do not fail the check, as sentences, and code that tools may run without a list."""
        notes = [
            f"{report.source}: {finding.message} [{finding.code}]"
            for report in self.reports
            for finding in report.findings
            if finding.code in NOTES
        ]
        notes += self._notes
        listed = {Path(report.root) for report in self.reports}
        for root, paths in self.stream.beside() if self.finished else ():
            if paths and root not in self.stream.strict_roots and list_folder(root) not in listed:
                notes.append(f"{root.source}: {beside_warning(paths)}")
        if self.finished and (why := state_warning("lists")):
            notes.append(f"the record of earlier lists may have been removed: {why} [state-unsafe]")
        return tuple(notes)

    def fail(self, path: str) -> None:
        """Record that a file or skill has a finding; its difference from a list is then not reported."""
        self._failed.add(path)

    def __iter__(self) -> Iterator[Violation | Unchecked]:
        """Yield the findings about lists, uncovered files, unknown dot files and ``skills-lock.json``.

        What could not be read is yielded too.
        """
        self.finished = True
        covered = dict[Path, bool]()
        require = self.require or self.policy.list.required
        for root in self.stream.roots if require or self.strict else self.stream.whole_roots:
            folder = list_folder(root)
            if folder is not None and folder not in covered:
                required = require and self._demands(root)
                covered[folder] = self._is_covered(root)
                if has_list(root) or (required and root.client is None):
                    yield from self._check(root, folder, required=required)
        self._listed = tuple(f"{folder}/" for folder, is_covered in covered.items() if is_covered)
        for root in self.stream.roots if self.strict else ():
            if root in self.stream.strict_roots:
                yield from self._uncovered(root)
        if self.strict:
            for plugin in {root.around: root for root in self.stream.strict_roots if _is_of_plugin(root)}.values():
                yield from self._rest_of_plugin(plugin)
            for path in dict.fromkeys(path for target in self.stream.targets for path in target.below.dot_names):
                yield from self._unknown(Path(path))
        if any(root.space is Space.PROJECT and not root.bundle for root in self.stream.whole_roots):
            yield from self._check_lock(self.stream.layout.project or Path())

    def _is_covered(self, root: Root) -> bool:
        """Return whether the list of a root, though it may have expired, was signed by keys that may sign it here."""
        state = self._state(root)
        return isinstance(state, ListClaim) or (isinstance(state, ListFault) and state.code in _OUTDATED)

    def _state(self, root: Root) -> ListState | None:
        space = self.stream.verifier.trust.lists.get(list_key(root))
        return space.state if space else None

    def _check_lock(self, project: Path) -> Iterator[Violation | Unchecked]:
        """Yield each skill that differs from ``skills-lock.json``: a finding if strict, else a note."""
        try:
            for change in compare_lock(project, self.stream.roots):
                if self.strict:
                    yield Violation(project_root(project), str(project / change.path), change)
                else:
                    self._notes.append(f"project: {change.message} [{change.code}]")
        except (ItemError, OSError) as error:
            yield Unchecked(
                f"project: {LOCK_FILE}: {error}", "unreadable", "fix or remove it", str(project / LOCK_FILE)
            )

    def _check(self, root: Root, folder: Path, *, required: bool) -> Iterator[Violation | Unchecked]:
        """Check one list; yield its findings and what could not be read."""
        verifier = self.stream.verifier
        try:
            report = check_list(root, trust=verifier.trust, required=required)
        except EnvironmentFault as fault:
            yield Unchecked.of(fault, folder)
            return
        report = replace(report, findings=(*report.findings, *self._short_of_demand(root, report)))
        self.reports = (*self.reports, report)
        yield from (
            Unchecked(f"{root.source}: {why}", "unreadable", "fix or remove it", str(folder)) for why in report.problems
        )
        for change in report.errors:
            path = str(folder / change.path)
            if self._failed.isdisjoint((path, *map(str, Path(path).parents))):
                yield Violation(root, path, change)

    def _short_of_demand(self, root: Root, report: ListReport) -> Iterator[Change]:
        """Yield the demands of the policy that a list does not meet."""
        demand = self.policy.list
        if report.number and self.stream.layout.may_demand(root):
            if report.number < demand.number:
                words = f"the list has number {report.number}, the policy demands {demand.number}"
                yield Change("list-number", LIST_FILE, words)
            if (count := len(report.signers)) < demand.signers:
                words = f"{count} of the keys that signed the list count, the policy demands {demand.signers}"
                yield Change("list-signers", LIST_FILE, words)
        state = self._state(root)
        if isinstance(state, ListClaim):
            signed = Signed(tuple(signer.fingerprint for signer in state.signers), is_list=True)
            mine = self.policy.demand(root, is_named=root in self.stream.named)
            for each in (mine or NO_DEMAND, self.policy.also):
                if fault := each.fault(signed, self.stream.verifier.now):
                    yield Change(fault[0], LIST_FILE, fault[1])

    def _uncovered(self, root: Root) -> Iterator[Violation | Unchecked]:
        """Yield each file of a root that is neither an item nor signed."""
        files, is_complete = self.stream.uncovered(root)
        for file in files:
            if not (_is_trust_file(file.path) or is_private(root.path, root, file.path, file.mode)):
                yield from self._name(root, file)
        if not is_complete:
            message = f"{root.source}: more than {MAX_FILES:,} files are below {root.path}"
            yield Unchecked(message, "too-many-files", "keep other files elsewhere", str(root.path))

    def _unknown(self, path: Path) -> Iterator[Violation | Unchecked]:
        """Yield a file or folder whose name begins with a dot, unless a table or the policy knows it."""
        top = self.stream.layout.project or Path.cwd()
        shown = os.path.relpath(path, top)
        if any(fnmatchcase(shown, pattern) or fnmatchcase(path.name, pattern) for pattern in self.policy.ignore):
            return
        change = Change("unknown-dot-name", shown, f"rye knows no client that reads {shown}, but one may")
        yield Violation(project_root(top), str(path), change)

    def _rest_of_plugin(self, root: Root) -> Iterator[Violation | Unchecked]:
        """Yield each file of a plugin outside the folders of its items; a client may run or obey any of them."""
        plugin, found = Root(root.space, root.around, root.bundle, client=FIXED_FILES), Found()
        walk = Walk(plugin, whole=True)
        for listing in walk:
            found.add(listing)
            found.loose.extend(ListedFile(row.path, PLAIN) for row in listing.of(Role.ITEM))
        for file in found.loose:
            yield from self._name(plugin, file)
        for problem in walk.problems:
            yield Unchecked.of(problem, root.around, root)

    def _name(self, root: Root, file: ListedFile) -> Iterator[Violation | Unchecked]:
        path = os.path.normpath(root.path / file.path)
        if file.path.startswith("../"):  # an import from above the client folder
            above = ListedFile(os.path.relpath(path, root.around), file.mode)
            yield from self._name(Root(root.space, root.around, root.bundle), above)
            return
        if path in self._named or path.startswith(self._listed):
            return
        code, words = "uncovered", f"no signature and no list covers {file.path}"
        if file.mode == LINK and is_within(real_path(path), real_path(root.around)):
            code, words = "link-elsewhere", f"no list names the link {file.path}"
        if os.path.lexists(path):
            change = Change(code, file.path, words)
            self._named.add(path)
            yield Violation(root, path, change)


def _is_of_plugin(root: Root) -> bool:
    """Return whether a root is a folder of an installed plugin, whose other files no root holds."""
    return root.space is Space.SYSTEM and root.client is not None and (root.around / PLUGIN).is_dir()


def _is_trust_file(path: str) -> bool:
    return path.rpartition("/")[0] == TRUSTED_FOLDER.as_posix() and path.lower().endswith(".toml")
