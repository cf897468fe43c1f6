"""Earlier versions of files: in the last commit, the list of their space, or the signature of their skill."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from rye._files import real_path
from rye._text import find_envelope, quote
from rye.errors import EnvironmentFault, SigningError
from rye.spaces.discover import repository_of
from rye.spaces.git import authors, committed, is_blob, read_blobs
from rye.spaces.lists import read_list
from rye.spaces.model import Root, Space, is_within
from rye.spaces.read import is_detached, skill_of, suffix_of
from rye.trust.line import DETACHED_SUFFIX
from rye.trust.list import MAX_SPACE_LIST, SKILL_SIGNATURES, ListedFile, parse_list
from rye.trust.model import Verdict
from rye.verify.report import EDITED, VerifiedItem


class Earlier(NamedTuple):
    """What is known of the earlier versions of a file.

    Attributes:
        was_signed: Whether the last commit or the list has another, signed version, or has too much to look at.
        is_planted: Whether there is a list, and it does not name this unsigned file.
        shown_by: The command that shows what was changed, and by whom; empty without git.
    """

    was_signed: bool = False
    is_planted: bool = False
    shown_by: str = ""


class Originals:
    """The earlier versions of the files of some roots.

    Git lists and reads the last commit of a repository once for all roots in it; for each alone if that is too much.
    """

    def __init__(self, roots: Iterable[Root] = ()) -> None:
        self._roots = tuple(roots)
        self._commits: dict[Root, _Commit] = {}
        self._alone = cache(lambda root: _Commit(root.path, [root]))
        self._listed, self._authors = cache(_listed), cache(_authors)

    def earlier(self, item: VerifiedItem) -> Earlier:
        """Return what the advice on an item depends on. Bundles are never signed here, so nothing is looked up."""
        root, path, verdict = item.root, item.file.rel_path, item.signature.verdict
        if root.space is not Space.SYSTEM and verdict in {Verdict.UNSIGNED, Verdict.PARTIAL}:
            listed = self._listed(root)
            is_planted = verdict is Verdict.UNSIGNED and bool(listed) and path not in listed
            return Earlier(self.was_signed(root, path, item.content_digest), is_planted)
        is_edited = root.space is not Space.SYSTEM and item.signature.code in EDITED
        return Earlier(shown_by=self._shown_by(root, skill_of(root, path) or path) if is_edited else "")

    def was_signed(self, root: Root, path: str, digest: str) -> bool:
        """Return whether the last commit or the list has another, signed version of a file with this SHA-256.

        True also if the commit has too much to look at.
        """
        listed, commit = self._listed(root), self._shared(root)
        if commit.signed is None:
            commit = self._alone(root)
        if commit.files is None or commit.signed is None:
            return True
        name, above = commit.name(root, path), PurePosixPath(path).parents
        if is_detached(path) and (path in listed or f"{name}{DETACHED_SUFFIX}" in commit.files):
            return True
        if any(commit.name(root, f"{folder}/{each}") in commit.files for folder in above for each in SKILL_SIGNATURES):
            return True
        is_listed = path in listed and digest != listed[path].sha256
        return is_listed or commit.signed.get(name, digest) != digest

    def _shown_by(self, root: Root, path: str) -> str:
        """Return the command that shows what was changed in a file or skill, and by whom; empty without git."""
        commit = self._shared(root) if self._shared(root).files is not None else self._alone(root)
        inside = {name: blob for name, blob in (commit.files or {}).items() if is_within(name, commit.name(root, path))}
        if not inside:
            return ""
        here, folder = Path.cwd(), root.path
        is_here = repository_of(here) == repository_of(folder)
        where = os.path.relpath(folder / path, here if is_here else folder)
        git = "git" if is_here else f"git -C {quote(str(folder))}"
        if not all(is_blob(_read(commit.folder / name), blob) for name, blob in inside.items()):
            return f"`{git} diff HEAD -- {quote(where)}`"
        whole, known = f"{folder}/{path}", self._authors(root, commit)
        who = next((author for file, author in known.items() if is_within(file, whole)), "")
        by = f" (last committed by {quote(who)})" if who else ""
        return f"`{git} log -p -- {quote(where)}`{by}"

    def _shared(self, root: Root) -> _Commit:
        """Return the last commit of the repository of a root, with all of the roots in it."""
        if root not in self._commits:
            top = _top(root) if root in self._roots else None
            together = [each for each in self._roots if top and _top(each) == top]
            commit = _Commit(top, together) if top and len(together) > 1 else self._alone(root)
            self._commits |= dict.fromkeys((root, *together), commit)
        return self._commits[root]


class _Commit:
    """The regular files of the last commit that some roots have in a folder of one repository.

    Attributes:
        folder: The folder.
        files: Path below the folder → the hash of the content; None if there are too many.
    """

    def __init__(self, folder: Path, roots: Sequence[Root]) -> None:
        self.folder, self.files = folder, committed(folder)
        self._places = {root: os.path.relpath(real_path(root.path), real_path(folder)) for root in roots}

    def name(self, root: Root, path: str) -> str:
        """Return the path below the folder for one below a root."""
        place = self._places[root]
        return path if place == os.curdir else f"{place}/{path}"

    @cached_property
    def signed(self) -> Mapping[str, str] | None:
        """The items with a signature line, each with the SHA-256 of its content; None if these are too much to read."""
        if self.files is None:
            return None
        roots = defaultdict[str, list[Root]](list)
        for root in self._places:
            roots[self.name(root, "").rstrip("/")].append(root)
        names = {name: blob for name, blob in self.files.items() if _is_item(name, roots)}
        try:
            contents = list(read_blobs(self.folder, [*names.values()]))
        except OverflowError:
            return None
        pairs = zip(names, contents, strict=False)
        lines = ((name, content) for name, content in pairs if find_envelope(content, suffix_of(name)) is not None)
        return {name: sha256(content).hexdigest() for name, content in lines}


def _listed(root: Root) -> Mapping[str, ListedFile]:
    """Return the rows of the list of a root, whoever signed it."""
    try:
        return parse_list(read_list(root.path) or b"").files
    except (EnvironmentFault, SigningError):
        return {}


def _authors(root: Root, commit: _Commit) -> Mapping[str, str]:
    """Return who last committed each item of a root, or each file in the folder of a client, by absolute path."""
    inside = commit.name(root, "")
    paths = (name.removeprefix(inside) for name in commit.files or () if name.startswith(inside))
    return authors(root.path, [f"{root.path}/{path}" for path in paths if root.client or root.find(path)])


def _is_item(name: str, roots: Mapping[str, Sequence[Root]]) -> bool:
    """Return whether a path is that of an item in one of some roots, given by the folder of each."""
    parts = name.split("/")
    ends = (("/".join(parts[:depth]), "/".join(parts[depth:])) for depth in range(len(parts)))
    return any(root.find(path) for folder, path in ends for root in roots.get(folder, ()))


def _top(root: Root) -> Path | None:
    return repository_of(Path(real_path(root.path)))


def _read(place: Path) -> bytes:
    try:
        is_usual = place.is_file() and place.stat().st_size <= MAX_SPACE_LIST
        return place.read_bytes() if is_usual else b""
    except (OSError, ValueError):
        return b""
