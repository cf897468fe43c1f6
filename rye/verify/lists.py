"""Checks the signed lists of the spaces under verification, and names files that no signature covers."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from rye._files import real_path
from rye.errors import EnvironmentFault, ItemError
from rye.items.clients import FIXED_FILES, PLUGIN
from rye.items.provenance import LOCK_FILE
from rye.spaces.bundles import is_own
from rye.spaces.classify import CACHE, MODULES, Role
from rye.spaces.contents import is_private
from rye.spaces.discover import project_root
from rye.spaces.found import Found
from rye.spaces.lists import NOTES, ListReport, check_list, has_list, list_folder
from rye.spaces.model import Root, Space, is_within
from rye.spaces.skills_lock import compare_lock
from rye.spaces.snapshot import LINK, MAX_FILES, PLAIN
from rye.spaces.state import state_warning
from rye.spaces.targets import may_name
from rye.spaces.uncovered import beside_warning
from rye.spaces.walk import Walk
from rye.trust.list import LIST_FILE, Change, ListClaim, ListedFile, ListFault
from rye.trust.trust_store import TRUSTED_FOLDER
from rye.verify.facts import Beside, Note
from rye.verify.policy import NO_DEMAND, Signed
from rye.verify.report import Unchecked, Violation
from rye.verify.subject import Subject

_OUTDATED: Final = frozenset({"list-expired", "list-rollback"})
"""Codes of lists that a key that counts has signed for this place."""

Checked = Violation | Unchecked | Note | ListReport
"""A finding about a list or a file that nothing covers; what could not be read; a note; how a folder differs."""


def check_lists(
    subject: Subject, beside: Sequence[Beside], failed: Collection[str], known: Mapping[str, str]
) -> Iterator[Checked]:
    """Yield the findings about lists, uncovered files, unknown dot files and ``skills-lock.json``.

    Args:
        subject: What is verified.
        beside: What lies beside the items of each root.
        failed: The files and skills with findings of their own; that they differ from a list is not said again.
        known: The SHA-256 of the files that were judged, by their absolute paths.
    """
    folders = dict[Path, Root]()
    for root in subject.roots if subject.require_list or subject.strict else subject.whole_roots:
        if (folder := list_folder(root)) is not None:
            folders.setdefault(folder, root)
    checked = list[Path]()
    for folder, root in folders.items():
        required = subject.require_list and subject.demands(root)
        if has_list(root) or (required and root.client is None):
            for entry in _check(subject, root, folder, known, required=required):
                checked += [folder] if isinstance(entry, ListReport) else []
                if not (isinstance(entry, Violation) and _is_within_any(entry.path, failed)):
                    yield entry
    if subject.strict:
        covered = [folder for folder, root in folders.items() if _is_covered(subject, root)]
        yield from _Uncovered(subject, tuple(f"{folder}/" for folder in covered)).check(beside)
    if any(root.space is Space.PROJECT and not root.bundle for root in subject.whole_roots):
        yield from _check_lock(subject)
    for each in beside:
        paths = _beside(subject, each)
        if paths and each.root not in subject.strict_roots and list_folder(each.root) not in checked:
            yield Note(f"{each.root.source}: {beside_warning(paths)}")
    if why := state_warning("lists"):
        yield Note(f"the record of earlier lists may have been removed: {why} [state-unsafe]")


def _is_within_any(path: str, folders: Collection[str]) -> bool:
    return bool(folders) and any(place in folders for place in (path, *map(str, Path(path).parents)))


def _is_covered(subject: Subject, root: Root) -> bool:
    """Return whether the list of a root, though it may have expired, was signed by keys that may sign it here."""
    state = subject.state(root)
    return isinstance(state, ListClaim) or (isinstance(state, ListFault) and state.code in _OUTDATED)


def _beside(subject: Subject, beside: Beside) -> list[str]:
    """Return the non-items that tools may run or import, and clients obey, where the texts may name them."""
    root, paths = beside.root, [*beside.found.relevant, *beside.imports]
    modules = () if root.client else (f"{MODULES}/",)  # above the folder of tools
    if is_own(root):  # installers compile rye's own tools with the rest of the package
        paths = [path for path in paths if f"/{CACHE}/" not in path]
    targets = [target for target in subject.targets if root in target.roots]
    return [path for path in paths if path in modules or may_name(targets, root, path)]


def _check(
    subject: Subject, root: Root, folder: Path, known: Mapping[str, str], *, required: bool
) -> Iterator[Checked]:
    """Yield how a folder differs from its list, and what could not be read."""
    try:
        report = check_list(root, trust=subject.verifier.trust, required=required, known=known)
    except EnvironmentFault as fault:
        yield Unchecked.of(fault, folder)
        return
    report = replace(report, findings=(*report.findings, *_short_of_demand(subject, root, report)))
    yield report
    yield from (
        Unchecked(f"{root.source}: {why}", "unreadable", "fix or remove it", str(folder)) for why in report.problems
    )
    for change in report.findings:
        if change.code in NOTES:
            yield Note(f"{report.source}: {change.message} [{change.code}]")
        else:
            yield Violation(root, str(folder / change.path), change)


def _short_of_demand(subject: Subject, root: Root, report: ListReport) -> Iterator[Change]:
    """Yield the demands of the policy that a list does not meet."""
    policy = subject.policy
    demand = policy.list
    if report.number and subject.layout.may_demand(root):
        if report.number < demand.number:
            words = f"the list has number {report.number}, the policy demands {demand.number}"
            yield Change("list-number", LIST_FILE, words)
        if (count := len(report.signers)) < demand.signers:
            words = f"{count} of the keys that signed the list count, the policy demands {demand.signers}"
            yield Change("list-signers", LIST_FILE, words)
    state = subject.state(root)
    if isinstance(state, ListClaim):
        signed = Signed(tuple(signer.fingerprint for signer in state.signers), is_list=True)
        mine = policy.demand(root, is_named=root in subject.named)
        for each in (mine or NO_DEMAND, policy.also):
            if fault := each.fault(signed, subject.verifier.now):
                yield Change(fault[0], LIST_FILE, fault[1])


def _check_lock(subject: Subject) -> Iterator[Checked]:
    """Yield each skill that differs from ``skills-lock.json``: a finding if strict, else a note."""
    project = subject.layout.project or Path()
    try:
        for change in compare_lock(project, subject.roots):
            if subject.strict:
                yield Violation(project_root(project), str(project / change.path), change)
            else:
                yield Note(f"project: {change.message} [{change.code}]")
    except (ItemError, OSError) as error:
        yield Unchecked(f"project: {LOCK_FILE}: {error}", "unreadable", "fix or remove it", str(project / LOCK_FILE))


@dataclass(frozen=True, slots=True)
class _Uncovered:
    """The files that nothing covers; each is named once.

    Attributes:
        subject: What is verified.
        listed: The folders that a list covers, each with a slash at its end.
    """

    subject: Subject
    listed: tuple[str, ...]
    _named: set[str] = field(default_factory=set)

    def check(self, beside: Sequence[Beside]) -> Iterator[Checked]:
        """Yield each file that is neither an item nor covered, and each name with a dot that no table has."""
        strict = self.subject.strict_roots
        for each in beside:
            if each.root in strict:
                yield from self._of_root(each)
        for plugin in {root.around: root for root in strict if _is_of_plugin(root)}.values():
            yield from self._of_plugin(plugin)
        for path in dict.fromkeys(path for target in self.subject.targets for path in target.below.dot_names):
            yield from self._unknown(Path(path))

    def _of_root(self, beside: Beside) -> Iterator[Checked]:
        root, found = beside.root, beside.found
        imports = (ListedFile(path, PLAIN) for path in sorted({*beside.imports}))
        for file in (*found.loose, *imports):
            if not (_is_trust_file(file.path) or is_private(root.path, root, file.path, file.mode)):
                yield from self._name(root, file.path, file.mode)
        if not found.is_complete:
            message = f"{root.source}: more than {MAX_FILES:,} files are below {root.path}"
            yield Unchecked(message, "too-many-files", "keep other files elsewhere", str(root.path))

    def _of_plugin(self, root: Root) -> Iterator[Checked]:
        """Yield each file of a plugin outside the folders of its items; a client may run or obey any of them."""
        plugin, found, items = Root(root.space, root.around, root.bundle, client=FIXED_FILES), Found(), list[str]()
        walk = Walk(plugin, whole=True)
        for listing in walk:
            found.add(listing)
            items += [row.path for row in listing.of(Role.ITEM)]
        for path, mode in (*((file.path, file.mode) for file in found.loose), *((path, PLAIN) for path in items)):
            yield from self._name(plugin, path, mode)
        for problem in walk.problems:
            yield Unchecked.of(problem, root.around, root)

    def _unknown(self, path: Path) -> Iterator[Violation]:
        """Yield a file or folder whose name begins with a dot, unless a table or the policy knows it."""
        top = self.subject.top
        shown = os.path.relpath(path, top)
        if not any(fnmatchcase(name, pattern) for pattern in self.subject.policy.ignore for name in (shown, path.name)):
            change = Change("unknown-dot-name", shown, f"rye knows no client that reads {shown}, but one may")
            yield Violation(project_root(top), str(path), change)

    def _name(self, root: Root, path: str, mode: str) -> Iterator[Violation]:
        full = os.path.normpath(root.path / path)
        if full in self._named or full.startswith(self.listed) or not os.path.lexists(full):
            return
        if path.startswith("../"):  # an import from above the client folder
            path = os.path.relpath(full, root.around)
        code, words = "uncovered", f"no signature and no list covers {path}"
        if mode == LINK and is_within(real_path(full), real_path(root.around)):
            code, words = "link-elsewhere", f"no list names the link {path}"
        self._named.add(full)
        yield Violation(root, full, Change(code, path, words))


def _is_of_plugin(root: Root) -> bool:
    """Return whether a root is a folder of an installed plugin, whose other files no root holds."""
    return root.space is Space.SYSTEM and root.client is not None and (root.around / PLUGIN).is_dir()


def _is_trust_file(path: str) -> bool:
    return path.rpartition("/")[0] == TRUSTED_FOLDER.as_posix() and path.lower().endswith(".toml")
