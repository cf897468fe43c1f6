"""Check the signed lists of the spaces under verification, and name the files that no signature covers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from rye.errors import EnvironmentFault, ItemError
from rye.items import TYPE_OF_FOLDER, is_item_file
from rye.spaces import Root, Space
from rye.spaces.alias import own_path
from rye.spaces.beside import (
    CACHE,
    LINK,
    MAX_FILES,
    MODULES,
    PLAIN,
    FileMode,
    all_files,
    beside_warning,
)
from rye.spaces.client_walker import folders_alike, is_found_elsewhere
from rye.spaces.lists import NOTES, ListReport, check_list, file_digest, has_list, is_private, list_folder
from rye.spaces.model import LIBRARY, is_of_ryeos, is_within
from rye.spaces.obeyed import uncovered_imports
from rye.spaces.read import is_detached, skill_of
from rye.spaces.skills_lock import LOCK_FILE, compare_lock
from rye.spaces.state import state_warning
from rye.trust import DETACHED_SUFFIX, TRUSTED_FOLDER, real_path
from rye.trust.list import LIST_FILE, Change
from rye.verify.policy import NO_DEMAND, ListDemand
from rye.verify.report import Outcome, Unchecked, Violation

if TYPE_CHECKING:
    from rye.verify.stream import OutcomeStream


class Remedy(NamedTuple):
    """What to do about a finding: the words for everybody, and the command for whoever may sign the list."""

    words: str
    command: str = ""


_SIGN: Final = "rye sign --list"
_NEWEST: Final = "get the newest version of all files from their owner, and compare"

REMEDIES: Final = MappingProxyType(
    {
        "file-added": Remedy("find out where it came from, and remove it", _SIGN),
        "file-removed": Remedy("put the listed file back", _SIGN),
        "file-changed": Remedy("put the listed file back, and compare the two", _SIGN),
        "file-mode": Remedy("give it the mode that is listed", _SIGN),
        "uncovered": Remedy("remove it, or have the space signed with a list", _SIGN),
        "list-missing": Remedy("ask the owner of the space for a signed list", _SIGN),
        "list-gone": Remedy("put rye.list back; if its owner has given it up, forget it: rye sign --list --forget"),
        "list-malformed": Remedy(_NEWEST, _SIGN),
        "list-conflict": Remedy("merge the files first", _SIGN),
        "list-signature": Remedy(_NEWEST),
        "list-signer": Remedy(
            "rye trust add FILE  # the trust file of the signer, once its owner has confirmed the key"
        ),
        "list-expired": Remedy(_NEWEST, _SIGN),
        "list-name": Remedy("get the list of this space from its owner", _SIGN),
        "list-rollback": Remedy(f"{_NEWEST}; if its owner began anew, forget the old one: rye sign --list --forget"),
        "lock-changed": Remedy("compare it with its source, and install it again: npx skills update"),
        "lock-missing": Remedy("install it again from its source, or remove it from skills-lock.json"),
        "list-number": Remedy(_NEWEST),
        "list-signers": Remedy("have more of its signers add theirs: rye sign --list --add"),
        "list-unrecorded": Remedy("set RYE_STATE_DIR to a folder that you can write to"),
    }
)
"""Code of each finding about a list → what to do."""


@dataclass(slots=True)
class ListChecks:
    """The lists of one verification: :meth:`watch` its outcomes, then iterate over this once.

    Attributes:
        stream: Whose roots are looked at.
        require: Whether a project, user space or named bundle without a list is a finding, and lists are checked where
            only a part was named, too.
        strict: Whether a file that is no item and that no list names is a finding.
        demand: What a policy demands of lists; it is not asked of bundles that were only found.
        reports: How each folder with a list differs from it, once it was looked for.
        found: Every finding, once it was looked for.
    """

    stream: OutcomeStream
    require: bool = False
    strict: bool = False
    demand: ListDemand = NO_DEMAND
    reports: tuple[ListReport, ...] = ()
    found: list[Change] = field(default_factory=list)
    finished: bool = False
    _items: dict[Root, set[str]] = field(default_factory=dict)
    _failed: set[str] = field(default_factory=set)
    _notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._items = {root: set() for root in self.stream.roots if self._demands(root)} if self.strict else {}

    def _demands(self, root: Root) -> bool:
        """Return whether all files of a root must be covered."""
        if not (self.require or self.strict or self.demand.required):
            return False
        return self.stream.layout.may_demand(root) or (root.client is not None and root.space is not Space.SYSTEM)

    @property
    def notes(self) -> tuple[str, ...]:
        """Findings that do not fail the check, as sentences, and what tools may run where there is no list."""
        notes = [
            f"{report.source}: {each.message} [{each.code}]"
            for report in self.reports
            for each in report.findings
            if each.code in NOTES
        ]
        notes += self._notes
        listed = {Path(report.root) for report in self.reports}
        for root, paths in self.stream.beside() if self.finished else ():
            if paths and root not in self._items and list_folder(root) not in listed:
                notes.append(f"{root.source}: {beside_warning(paths)}")
        if self.finished and (why := state_warning("lists")):
            notes.append(f"what was seen of lists before may have been removed: {why} [state-unsafe]")
        return tuple(notes)

    def watch(self, outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
        """Yield the outcomes, and record the items of the roots in which all other files are named."""
        places = [(f"{root.path}/", paths) for root, paths in self._items.items()]
        for outcome in outcomes:
            for prefix, paths in places:
                if outcome.path.startswith(prefix):
                    paths.add(outcome.path.removeprefix(prefix))
            yield outcome

    def fail(self, path: str) -> None:
        """Note that there is a finding about a file: how it differs from a list is not another one."""
        self._failed.add(path)

    def __iter__(self) -> Iterator[tuple[Violation, Change] | Unchecked]:
        """Yield each finding about a list or a file that nothing covers, and what could not be read."""
        for entry in self._look():
            if not isinstance(entry, Unchecked):
                self.found.append(entry[1])
            yield entry

    def _look(self) -> Iterator[tuple[Violation, Change] | Unchecked]:
        self.finished = True
        checked = dict[Path, bool]()
        require = self.require or self.demand.required
        for root in self.stream.roots if require or self.strict else self.stream.whole:
            folder = list_folder(root)
            if folder is not None and folder not in checked:
                required = require and self._demands(root)
                checked[folder] = has_list(root)
                if checked[folder] or (required and root.client is None):
                    yield from self._check(root, folder, required=required)
            if root in self._items and not (folder and checked[folder]):
                yield from self._uncovered(root)

        if any(root.space is Space.PROJECT and not root.bundle for root in self.stream.whole):
            yield from self._check_lock(self.stream.layout.project or Path())

    def _check_lock(self, project: Path) -> Iterator[tuple[Violation, Change] | Unchecked]:
        """Yield each skill that is not as ``skills-lock.json`` says: a finding if strict, else a note."""
        try:
            for each in compare_lock(project, self.stream.roots):
                change = Change(each.code, os.path.relpath(each.path, project), each.message)
                if self.strict:
                    violation = Violation("skill", change.path, str(Space.PROJECT), "", str(each.path), "")
                    yield violation, change
                else:
                    self._notes.append(f"project: {each.message} [{each.code}]")
        except (ItemError, OSError) as error:
            yield Unchecked(
                f"project: {LOCK_FILE}: {error}", "unreadable", "fix or remove it", str(project / LOCK_FILE)
            )

    def _check(self, root: Root, folder: Path, *, required: bool) -> Iterator[tuple[Violation, Change] | Unchecked]:
        verifier = self.stream.verifier
        try:
            report = check_list(root, trust=verifier.trust, now=verifier.now, required=required)
        except EnvironmentFault as fault:
            yield Unchecked(fault.message, fault.code, fault.hint, str(folder))
            return
        self.reports = (*self.reports, report)
        yield from (
            Unchecked(f"{root.source}: {why}", "unreadable", "fix or remove it", str(folder)) for why in report.problems
        )
        demanded = self._short_of_demand(report) if self.stream.layout.may_demand(root) else ()
        for change in (*report.errors, *demanded):
            path = str(folder / change.path)
            if path not in self._failed:
                yield _violation(root, path, change), change

    def _short_of_demand(self, report: ListReport) -> Iterator[Change]:
        """Yield what a list lacks of what the policy demands."""
        if report.number and report.number < self.demand.number:
            words = f"the list has number {report.number}, the policy demands {self.demand.number}"
            yield Change("list-number", LIST_FILE, words)
        if report.number and len(report.signers) < self.demand.signers:
            count = len(report.signers)
            words = f"{count} of the keys that signed the list count, the policy demands {self.demand.signers}"
            yield Change("list-signers", LIST_FILE, words)

    def _uncovered(self, root: Root) -> Iterator[tuple[Violation, Change] | Unchecked]:
        """Yield each file of a root that is neither an item nor signed."""
        leads_out = root.client and not is_within(real_path(root.path), real_path(root.around))
        if leads_out and root.space is not Space.USER:
            return  # a link out, which the walk has reported
        items = self._items[root]
        signed = {f"{path}{DETACHED_SUFFIX}" for path in items if is_detached(path)}
        files = [root.file(path) for path in items if root.client and root.client.identify(path)]
        imports = {path for file in files for path in uncovered_imports(root, file) if not path.startswith(os.pardir)}
        for number, file in enumerate(chain(all_files(root), (FileMode(path, PLAIN) for path in sorted(imports)))):
            if isinstance(file, OSError):
                path = os.path.relpath(str(file.filename), root.path)
                message = f"{root.source}: {path}: the folder cannot be read: {file.strerror}"
                yield Unchecked(message, "unreadable", "fix or remove it", str(root.path / path))
            elif number >= MAX_FILES:
                message = f"{root.source}: more than {MAX_FILES:,} files are below {root.path}"
                yield Unchecked(message, "too-many-files", "keep other files elsewhere", str(root.path))
                return
            elif not (file.path in items or file.path in signed or _is_covered(root, file)):
                yield from self._name(root, file)

    def _name(self, root: Root, file: FileMode) -> Iterator[tuple[Violation, Change] | Unchecked]:
        path = str(root.path / file.path)
        try:
            change = Change(
                "uncovered", file.path, f"no signature and no list covers {file.path}", file_digest(root, file)
            )
        except FileNotFoundError:
            return
        except (OSError, ItemError) as error:
            yield Unchecked(f"{root.source}: {file.path}: {error}", "unreadable", "fix or remove it", path)
        else:
            yield _violation(root, path, change), change


def _violation(root: Root, path: str, change: Change) -> Violation:
    kind = "list" if change.code.startswith("list-") else "file"
    return Violation(kind, change.path, str(root.space), root.bundle, path, change.sha256)


def _is_covered(root: Root, file: FileMode) -> bool:
    """Return whether a file is a trust file, an item under another name, or part of a signed skill."""
    path = file.path
    if path.rpartition("/")[0] == TRUSTED_FOLDER.as_posix() and path.lower().endswith(".toml"):
        return True
    if is_private(root, root, file):
        return True
    if (skill := skill_of(root, path)) and path != f"{skill}/.git":
        return True
    return _is_item(root, file)


def _is_item(root: Root, file: FileMode) -> bool:
    """Return whether a file is an item under another name, or of another root with the same folder."""
    real = real_path(root.path / file.path) if file.mode == LINK else ""
    if real and own_path(root, real):
        return True
    if root.client is not None:
        return bool(real) and is_found_elsewhere(real, file.path, folders_alike(root))
    top, _, rest = file.path.partition("/")
    *folders, name = rest.split("/")
    kind = TYPE_OF_FOLDER.get(top)
    skipped = {MODULES, CACHE, *([LIBRARY] if top == "tools" and is_of_ryeos(root) else ())}
    walked = file.mode != LINK and not any(each[0] == "." or each in skipped for each in folders)
    return kind is not None and walked and is_item_file(kind, name)
