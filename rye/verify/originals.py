"""Earlier versions of files: in the last commit, the list of their space, or the signature of their skill."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath

from rye._text import find_envelope
from rye.errors import EnvironmentFault, SigningError
from rye.spaces.git import committed, is_blob, read_blob
from rye.spaces.lists import read_list
from rye.spaces.read import is_detached, suffix_of
from rye.trust.line import DETACHED_SUFFIX
from rye.trust.list import MAX_SPACE_LIST, SKILL_SIGNATURES, ListedFile, parse_list


class Originals:
    """The earlier versions of the files of a root: in its list, and in the last commit."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.listed: Mapping[str, ListedFile] = {}
        with suppress(EnvironmentFault, SigningError):
            self.listed = parse_list(read_list(self.root) or b"").files
        self.committed = committed(self.root)

    def is_planted(self, path: str) -> bool:
        """Return whether there is a list, and it does not name this file."""
        return bool(self.listed) and path not in self.listed

    def was_signed(self, path: str) -> bool:
        """Return whether the last commit or the list has another, signed version of a file.

        True also if the commit names too many files to look at.
        """
        if self.committed is None:
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
        name = self.committed.get(path, "")
        if not name or is_blob(content, name):
            return False
        return find_envelope(read_blob(self.root, name), suffix_of(path)) is not None

    def _read(self, path: str) -> bytes | None:
        place = self.root / path
        try:
            is_usual = place.is_file() and place.stat().st_size <= MAX_SPACE_LIST
            return place.read_bytes() if is_usual else None
        except (OSError, ValueError):
            return None
