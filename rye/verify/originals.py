"""Earlier versions of files: in the last commit, the list of their space, or the signature of their skill."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path, PurePosixPath

from rye._text import find_envelope, quote
from rye.errors import EnvironmentFault, SigningError
from rye.spaces.discover import repository_of
from rye.spaces.git import authors, committed, is_blob, read_blobs
from rye.spaces.lists import read_list
from rye.spaces.model import Root, is_within
from rye.spaces.read import is_detached, suffix_of
from rye.trust.line import DETACHED_SUFFIX
from rye.trust.list import MAX_SPACE_LIST, SKILL_SIGNATURES, ListedFile, parse_list


class Originals:
    """The earlier versions of the files of a root: in its list, and in the last commit."""

    def __init__(self, root: Root) -> None:
        self.root = root.path
        self._root = root
        self.listed: Mapping[str, ListedFile] = {}
        with suppress(EnvironmentFault, SigningError):
            self.listed = parse_list(read_list(self.root) or b"").files
        self.committed = committed(self.root)

    def is_planted(self, path: str) -> bool:
        """Return whether there is a list, and it does not name this file."""
        return bool(self.listed) and path not in self.listed

    def was_signed(self, path: str) -> bool:
        """Return whether the last commit or the list has another, signed version of a file.

        True also if the commit has too much to look at.
        """
        if self.committed is None or self._signed is None:
            return True
        if is_detached(path) and (path in self.listed or f"{path}{DETACHED_SUFFIX}" in self.committed):
            return True
        above = PurePosixPath(path).parents
        if any(f"{folder}/{name}" in self.committed for folder in above for name in SKILL_SIGNATURES):
            return True
        content = self._read(path) if path in self.listed or path in self.committed else None
        if content is None:
            return False
        if path in self.listed and hashlib.sha256(content).hexdigest() != self.listed[path].sha256:
            return True
        return path in self._signed and not is_blob(content, self.committed[path])

    def shown_by(self, path: str) -> str:
        """Return the command that shows what was changed in a file or skill, and by whom; empty without git."""
        inside = {name: blob for name, blob in (self.committed or {}).items() if is_within(name, path)}
        if not inside:
            return ""
        here, folder = Path.cwd(), self.root
        is_here = repository_of(here) == repository_of(folder)
        where = os.path.relpath(folder / path, here if is_here else folder)
        git = "git" if is_here else f"git -C {quote(str(folder))}"
        if not all(is_blob(self._read(name) or b"", blob) for name, blob in inside.items()):
            return f"`{git} diff HEAD -- {quote(where)}`"
        whole = f"{folder}/{path}"
        who = next((author for file, author in self._authors.items() if is_within(file, whole)), "")
        by = f" (last committed by {quote(who)})" if who else ""
        return f"`{git} log -p -- {quote(where)}`{by}"

    @cached_property
    def _signed(self) -> frozenset[str] | None:
        """The files with a signature line in the last commit; None if they are too long to look at."""
        names = {path: name for path, name in (self.committed or {}).items() if self._root.find(path)}
        try:
            contents = list(read_blobs(self.root, [*names.values()]))
        except OverflowError:
            return None
        pairs = zip(names, contents, strict=False)
        return frozenset(path for path, content in pairs if find_envelope(content, suffix_of(path)) is not None)

    @cached_property
    def _authors(self) -> Mapping[str, str]:
        """Who last committed each of the files, the last one first: absolute path → author."""
        items = (path for path in self.committed or () if self._root.find(path) or self._root.client)
        return authors(self.root, [f"{self.root}/{path}" for path in items])

    def _read(self, path: str) -> bytes | None:
        place = self.root / path
        try:
            is_usual = place.is_file() and place.stat().st_size <= MAX_SPACE_LIST
            return place.read_bytes() if is_usual else None
        except (OSError, ValueError):
            return None
