"""The signed list of a space or bundle on disk: what it proves about the items, and how the folder differs from it.

The list ``rye.list`` lies at the top of a project's or user's ``.ai``, or of a bundle, and covers every file below
that folder. The number of the last valid list is kept in the user's state, so that a rollback is detected.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Final

from rye._files import real_path
from rye._report import Report
from rye.errors import EnvironmentFault, ItemError, SigningError
from rye.spaces.bundles import is_own
from rye.spaces.contents import files_below
from rye.spaces.model import Root, Space
from rye.spaces.read import read_chunks
from rye.spaces.snapshot import LINK
from rye.spaces.state import read_record, record_path, remove_record, save_record
from rye.spaces.uncovered import beside_warning, runnable_beside
from rye.trust.judge import judge_list
from rye.trust.list import (
    LIST_FILE,
    MAX_SPACE_LIST,
    Change,
    ListClaim,
    ListedFile,
    ListedSpace,
    ListFault,
    ListState,
    Seen,
    SpaceList,
    compare,
    parse_list,
)
from rye.trust.trust_set import TrustSet
from rye.trust.trust_store import TrustLoad

_KIND: Final = "lists"
_FIRST: Final = "list-first-use"
_UNSAVED: Final = "list-unsaved"

NOTES: Final = frozenset({_FIRST, _UNSAVED})
"""Codes of findings that do not fail a check."""


@dataclass(frozen=True, slots=True)
class ListReport(Report):
    """How the folder of a space differs from its signed list, and what is wrong with the list itself.

    Attributes:
        source: The space or bundle.
        root: The folder.
        name, number, expires: Fields of the list; empty, 0 and None if it cannot be read.
        listed: Number of files in the list.
        signers: Owner and fingerprint of each key that signed it and may do so.
        findings: A change for each file, and faults of the list itself under the path ``rye.list``.
        problems: Files that could not be read.
    """

    source: str
    root: str
    name: str = ""
    number: int = 0
    expires: datetime | None = None
    listed: int = 0
    signers: tuple[str, ...] = ()
    findings: tuple[Change, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def errors(self) -> tuple[Change, ...]:
        """The findings that fail a check."""
        return tuple(finding for finding in self.findings if finding.code not in NOTES)


def list_folder(root: Root) -> Path | None:
    """Return the folder whose list covers a root; None for a client folder that no list covers.

    For a client folder this is the folder of the bundle, or of a project or plugin that has or had a list at its top.
    """
    if root.client is None:
        return root.path
    is_listed = root.space is Space.SYSTEM or os.path.lexists(root.around / LIST_FILE) or _had_list(root.around)
    return root.around if is_listed else None


def _had_list(folder: Path) -> bool:
    with suppress(EnvironmentFault):  # check_list reports a bad record
        return last_seen(folder) is not None
    return False


def read_list(folder: Path) -> bytes | None:
    """Return the bytes of the list in a folder, None if there is none.

    Raises:
        SigningError: ``list-malformed``: it is a link, not a regular file, or too long.
        EnvironmentFault: ``unreadable``.
    """
    path = folder / LIST_FILE
    try:
        chunks = read_chunks(folder, LIST_FILE, MAX_SPACE_LIST + 1)
        data = None if path.is_symlink() else next(chunks, b"")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ItemError:
        data = None
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}"
        raise EnvironmentFault("unreadable", message, hint="check its permissions") from error
    if data is None or len(data) > MAX_SPACE_LIST:
        message = f"{path} is not a regular file of at most {MAX_SPACE_LIST:,} bytes"
        raise SigningError("list-malformed", message, hint="put the list itself in its place")
    return data


def with_lists(load: TrustLoad, roots: Iterable[Root], now: datetime) -> TrustLoad:
    """Add the lists of some roots, as of ``now``, to a trust set; each list is read once."""
    spaces: dict[tuple[str, str, bool], ListedSpace] = {}
    for root in roots:
        key = list_key(root)
        if key not in spaces and list_folder(root) is not None and (space := _space(root, load.trust, now)):
            spaces[key] = space
    return load._replace(trust=replace(load.trust, lists=spaces))


def list_key(root: Root) -> tuple[str, str, bool]:
    """Return the key of a root's list in :attr:`rye.trust.trust_set.TrustSet.lists`."""
    return *root.home, bool(root.folder)


def _space(root: Root, trust: TrustSet, now: datetime) -> ListedSpace | None:
    folder, place = list_folder(root) or root.path, root.list_place
    try:
        data = read_list(folder)
        if data is None:
            return None
        listed = parse_list(data)
        state = state_of(listed, root, trust=trust, now=now)
    except (SigningError, EnvironmentFault) as error:
        code = error.code if isinstance(error, SigningError) else "list-malformed"
        return ListedSpace(place, ListFault(code, error.message))
    links = (row for row in listed.files.values() if row.mode == LINK)
    behind = {row.path: digest for row in links if (digest := _digest_behind(listed, folder, row))}
    return ListedSpace(place, state, behind)


def state_of(listed: SpaceList, root: Root, *, trust: TrustSet, now: datetime) -> ListState:
    """Judge the list of a root, given its place and the last list seen there.

    Raises:
        EnvironmentFault: The record of the last list cannot be read.
    """
    seen = None if is_own(root) else last_seen(list_folder(root) or root.path)  # each rye ships its own
    named = root.bundle if root.space is Space.SYSTEM else ""
    return judge_list(listed, place=root.list_place, trust=trust, now=now, named=named, seen=seen)


def _digest_behind(listed: SpaceList, folder: Path, link: ListedFile) -> str:
    """Return the digest of the listed file that a listed link leads to; empty if it leads elsewhere."""
    try:
        target = os.readlink(folder / link.path)  # noqa: PTH115 - keeps "./"
    except OSError:
        return ""
    path = os.path.normpath(os.path.join(os.path.dirname(link.path), target))  # noqa: PTH118, PTH120 - as text
    is_same = hashlib.sha256(os.fsencode(target)).hexdigest() == link.sha256
    return listed.files[path].sha256 if is_same and path in listed.files else ""


def check_list(
    root: Root, *, trust: TrustSet, required: bool = False, known: Mapping[str, str] = MappingProxyType({})
) -> ListReport:
    """Compare a folder with its signed list.

    Args:
        root: A root in the folder.
        trust: The keys and lists of this run.
        required: Whether to report a missing list, and a record that cannot be saved, as findings.
        known: As for :func:`rye.spaces.contents.files_below`.

    Raises:
        EnvironmentFault: The list or the record of the last one cannot be read.
    """
    folder = list_folder(root) or root.path
    report = ListReport(root.source, str(folder))
    remember = not is_own(root)
    seen = last_seen(folder) if remember else None
    space = trust.lists.get(list_key(root))
    if space is None:
        return replace(report, findings=tuple(_without_list(folder, seen, required=required)))
    state = space.state
    if state.listed is None:
        read_list(folder)  # raises if the disk is at fault, not the list
        return replace(report, findings=(_fault(state.code, state.detail),))
    listed, faults = state.listed, list[Change]()
    if isinstance(state, ListFault):
        faults.append(_fault(state.code, state.words))
    files, problems, hidden = files_below(folder, root, known)
    unread = [str(error.details["path"]) for error in problems]
    changes = [change for change in compare(listed.files, files) if not _is_below(change.path, unread)]
    changed = {change.path for change in changes}
    changes += [
        Change("hidden-text", path, f"hidden text: {said}", files[path].sha256)
        for path, said in hidden.items()
        if path not in changed
    ]
    if remember and not faults:
        faults += _remember(folder, listed, seen, required=required)
    return replace(
        report,
        name=listed.name,
        number=listed.number,
        expires=listed.expires,
        listed=len(listed.files),
        signers=tuple(map(str, state.signers)) if isinstance(state, ListClaim) else (),
        findings=(*faults, *changes),
        problems=tuple(error.message for error in problems),
    )


def _without_list(folder: Path, seen: Seen | None, *, required: bool) -> Iterator[Change]:
    if seen:
        yield _fault("list-gone", f"{folder} had the list number {seen.number}, and it is gone")
    elif required:
        yield _fault("list-missing", f"{folder} has no signed list")


def _fault(code: str, message: str) -> Change:
    return Change(code, LIST_FILE, message)


def _is_below(path: str, folders: Iterable[str]) -> bool:
    return any(folder in {".", path} or path.startswith(f"{folder}/") for folder in folders)


def _remember(folder: Path, listed: SpaceList, seen: Seen | None, *, required: bool) -> Iterator[Change]:
    if seen is None:
        yield _fault(_FIRST, f"the list has number {listed.number}; none was seen here before")
    try:
        save_seen(folder, listed)
    except EnvironmentFault as error:
        code = "list-unrecorded" if required else _UNSAVED
        yield _fault(code, f"the number of the list could not be kept: {error.message}")


def last_seen(folder: Path) -> Seen | None:
    """Return the last valid list of a folder; None if there was none, or if the user has no home folder for records.

    Raises:
        EnvironmentFault: As :func:`rye.spaces.state.read_record`.
    """
    try:
        return max(filter(None, map(_seen_at, _records(folder))), default=None)
    except EnvironmentFault as error:
        if error.code == "no-home":
            return None
        raise


def _records(folder: Path) -> tuple[Path, ...]:
    """Return the record paths of a folder: for its path as written and for its real path."""
    names = {os.path.abspath(folder): None, real_path(folder): None}  # noqa: PTH100 - links stay
    return tuple(record_path(_KIND, name) for name in names)


def _seen_at(path: Path) -> Seen | None:
    record = read_record(path)
    if not isinstance(record, Mapping):
        return None
    number, digest = record.get("number"), record.get("digest")
    return Seen(number, digest) if isinstance(number, int) and isinstance(digest, str) else None


def save_seen(folder: Path, listed: SpaceList) -> None:
    """Save number and digest of a valid list.

    Raises:
        EnvironmentFault: As :func:`rye.spaces.state.save_record`.
    """
    new = Seen(listed.number, listed.digest)
    for path in _records(folder):
        if _seen_at(path) != new:
            save_record(path, new._asdict())


def has_list(root: Root) -> bool:
    """Return whether a root has a list or had one before; True also if that cannot be determined."""
    folder = list_folder(root)
    if folder is None:
        return False
    try:
        return os.path.lexists(folder / LIST_FILE) or last_seen(folder) is not None
    except EnvironmentFault:
        return True


def keys_of_list(folder: Path) -> set[str]:
    """Return the fingerprints of the keys that signed a folder's list; empty if it cannot be parsed."""
    try:
        data = read_list(folder)
        return {line.fingerprint for line in parse_list(data).lines} if data else set()
    except SigningError:
        return set()


def forget_seen(folder: Path) -> bool:
    """Forget the last valid list of a folder; return whether there was one.

    Raises:
        EnvironmentFault: ``cannot-write``.
    """
    return any(list(map(remove_record, _records(folder))))


def warn_beside(root: Root, *tools: str, named: bool = True) -> list[str]:
    """Return a warning about files that tools may run or import, unless a list covers the root.

    Args:
        root: The root of the tools.
        tools: Their paths.
        named: Whether the warning names the files.
    """
    if not (paths := runnable_beside(root, *tools)) or has_list(root):
        return []
    return [f"{root.source}: {beside_warning(paths, named=named)}"]
