"""Accepted findings: a file beside the policy, with one JSON object on each line.

``rye-policy.yaml`` has ``rye-policy.accepted.jsonl`` beside it, which ``rye verify --policy FILE --accept`` writes:

.. code-block:: json

    {"path": ".ai/tools/old.py", "mode": "100644", "code": "no-envelope", "digest": "0f12…"}

The digest covers every byte that the finding is about: of a folder all that lies below it, of a link its target path
and what lies there. So an accepted finding accepts no later change.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rye._files import real_path, refuse_links, write_atomically
from rye.errors import ArgumentError, ItemError
from rye.items.guarded import load_json
from rye.spaces.model import is_within
from rye.spaces.read import OPEN_FILE, skill_of
from rye.spaces.snapshot import MAX_FILES, PLAIN, PROGRAM
from rye.verify.report import Accepted, VerifiedItem, Violation

# ruff: noqa: PTH115, PTH118, PTH208 - paths are text here, as links must stay as they are

MAX_ACCEPTED_FILE: Final = 1 << 24
"""Maximum size in bytes of a file of accepted findings; one takes about 200."""

UNREADABLE: Final = "unreadable"
"""The digest of what cannot be read as a whole; no such finding is ever accepted."""

_DIGEST: Final = re.compile(r"[0-9a-f]{64}|")
_BLOCK: Final = 1 << 20


def accepted_path(policy: Path) -> Path:
    """Return the path of the accepted findings of a policy: ``x.accepted.jsonl`` beside ``x.yaml``."""
    return policy.with_suffix(".accepted.jsonl")


def read_accepted(path: Path, data: bytes) -> frozenset[Accepted]:
    """Return the findings of a file.

    Args:
        path: The file, for errors.
        data: Its bytes.

    Raises:
        ArgumentError: ``bad-policy`` with the file and the line.
    """
    if len(data) > MAX_ACCEPTED_FILE:
        raise _bad(path, 0, f"it has more than {MAX_ACCEPTED_FILE:,} bytes")
    lines = data.split(b"\n")
    return frozenset(_read_line(path, number, line) for number, line in enumerate(lines, 1) if line.strip())


def _read_line(path: Path, number: int, line: bytes) -> Accepted:
    """Return the finding of one line, which has the one spelling that :func:`write_accepted` gives it."""
    try:
        facts = load_json(line.decode())
        finding = Accepted(**facts)
        is_spelled = _write_line(finding) == line.rstrip(b"\r").decode()
    except (ItemError, ValueError, TypeError):
        is_spelled = False
    if not (is_spelled and all(isinstance(fact, str) for fact in finding) and _DIGEST.fullmatch(finding.digest)):
        fields = ", ".join(Accepted._fields)
        raise _bad(path, number, f"it is not a JSON object of the texts {fields}, as --accept writes it")
    return finding


def _write_line(finding: Accepted) -> str:
    return json.dumps(finding._asdict())


def write_accepted(path: Path, findings: Iterable[Accepted]) -> None:
    """Replace a file of accepted findings; a reader sees the old file or the new one.

    Raises:
        ArgumentError: ``not-acceptable``: what a finding is about cannot be read as a whole.
        EnvironmentFault: ``cannot-write``, also if a link leads to it.
    """
    rows = sorted(set(findings))
    if bad := [row.path for row in rows if row.digest == UNREADABLE]:
        message = f"{len(bad)} finding(s) cannot be accepted, as not every byte can be read: {', '.join(bad[:9])}"
        hint = "fix or remove these; a link out of the project, a pipe and more than 100,000 files are never accepted"
        raise ArgumentError("not-acceptable", message, hint=hint)
    refuse_links(path)
    write_atomically(path, "".join(f"{_write_line(row)}\n" for row in rows).encode())


def _bad(path: Path, line: int, problem: str) -> ArgumentError:
    place = f"{path}:{line}" if line else str(path)
    hint = "rye verify --policy FILE --accept writes this file"
    return ArgumentError("bad-policy", f"{place}: {problem}", hint=hint, path=str(path), line=line)


@dataclass(frozen=True, slots=True)
class Digests:
    """Digests over all that findings are about; each file is read once.

    Attributes:
        base: The folder that is verified. A link that leads out of it and of the finding's own project is not read.
    """

    base: Path
    _files: dict[str, str] = field(default_factory=dict)

    def of(self, item: VerifiedItem | Violation) -> str:
        """Return the digest of what a finding is about; :data:`UNREADABLE` if not every byte can be read.

        An item has that of the bytes that were judged, one of a signed skill that of all files of the skill. What is
        missing has the digest that was listed.
        """
        if isinstance(item, VerifiedItem):
            skill = skill_of(item.root, item.file.rel_path)
            path = f"{item.root.path}/{skill}" if skill else ""
        else:
            path = item.path if item.type != "list" and os.path.lexists(item.path) else ""
        if not path:
            return item.digest
        inside = tuple(real_path(os.fspath(place)) for place in (self.base, item.root.around))
        try:
            return _Reading(self._files, inside).digest(path)
        except (OSError, ValueError):
            return UNREADABLE


@dataclass(slots=True)
class _Reading:
    """One walk over all that lies at a path."""

    files: dict[str, str]
    inside: tuple[str, ...]
    count: int = 0
    entered: list[str] = field(default_factory=list)

    def digest(self, path: str) -> str:
        """Return the digest of a file, a folder or a link.

        Raises:
            OSError, ValueError: Not every byte can be read.
        """
        self.count += 1
        if self.count > MAX_FILES:
            raise ValueError(f"more than {MAX_FILES:,} files")
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            return self._of_link(path)
        if stat.S_ISDIR(mode):
            return self._of_folder(path)
        if path not in self.files:
            self.files[path] = _of_file(path)
        return self.files[path]

    def _of_link(self, path: str) -> str:
        """Return the digest of a link; what it leads to is left out where this walk is inside of it already."""
        target, real = os.readlink(path), real_path(path)
        if not any(is_within(real, place) for place in self.inside):
            raise ValueError(f"{path} leads elsewhere")
        is_missing = not os.path.lexists(real)
        behind = "" if is_missing or real in self.entered else self.digest(real)
        return _hash("link", os.fsencode(target), behind.encode())

    def _of_folder(self, path: str) -> str:
        self.entered.append(real_path(path))
        parts = list[bytes]()
        for name in sorted(os.listdir(path)):
            inner = os.path.join(path, name)
            parts += (os.fsencode(name), _kind(inner), self.digest(inner).encode())
        self.entered.pop()
        return _hash("folder", *parts)


def _kind(path: str) -> bytes:
    mode = os.lstat(path).st_mode
    return (PROGRAM if mode & 0o111 else PLAIN).encode() if stat.S_ISREG(mode) else b""


def _of_file(path: str) -> str:
    """Return the SHA-256 of a regular file of any size; do not wait for a pipe."""
    digest = hashlib.sha256()
    with os.fdopen(os.open(path, OPEN_FILE), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError(f"{path} is not a regular file")
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _hash(kind: str, *parts: bytes) -> str:
    """Return the digest of some parts, each with its length, so that no other parts have the same one."""
    digest = hashlib.sha256(f"rye:{kind}\n".encode())
    for part in parts:
        digest.update(b"%d\n" % len(part))
        digest.update(part)
    return digest.hexdigest()
