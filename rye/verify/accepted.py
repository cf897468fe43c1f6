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
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final

from rye._files import real_path, refuse_links, write_atomically
from rye.errors import ArgumentError, ItemError
from rye.items.guarded import load_json
from rye.spaces.model import is_within
from rye.spaces.read import OPEN_FILE
from rye.spaces.snapshot import LINK, MAX_FILES, PLAIN, PROGRAM
from rye.trust.list import ListedFile
from rye.verify.report import Accepted, VerifiedItem, Violation

# ruff: noqa: PTH115, PTH118, PTH208 - paths are text here, as links must stay as they are

MAX_ACCEPTED_FILE: Final = 1 << 24
"""Maximum size in bytes of a file of accepted findings; one takes about 200."""

UNREADABLE: Final = "unreadable"
"""The digest of what cannot be read as a whole; no such finding is ever accepted."""

_DIGEST: Final = re.compile(r"[0-9a-f]{64}|")


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
class Identities:
    """Finds what identifies a finding, which covers every byte that it is about; each file is read once.

    Attributes:
        base: The folder that is verified, to which paths are relative. A link that leads out of it and of the finding's
            own project is not read.
    """

    base: Path
    _files: dict[str, str] = field(default_factory=dict)

    def of(self, item: VerifiedItem | Violation, code: str, skill: str) -> Accepted:
        """Return the identity of a finding.

        Args:
            item: What the finding is about.
            code: The code of the finding.
            skill: The folder of the signed skill that contains an item; empty if there is none.
        """
        path = Path(item.path)
        place = path.relative_to(self.base) if path.is_relative_to(self.base) else path
        name = "".join(map(_visible, place.as_posix()))
        return Accepted(name, _mode_of(path, self.base), code, self._digest(item, skill))

    def _digest(self, item: VerifiedItem | Violation, skill: str) -> str:
        """Return the digest of what a finding is about; :data:`UNREADABLE` if not every byte can be read.

        An item has that of the bytes that were judged, one of a signed skill that of all files of the skill. What is
        missing has the digest that was listed.
        """
        if isinstance(item, VerifiedItem) and not skill:
            return item.digest
        path = skill or item.path
        if isinstance(item, Violation) and not os.path.lexists(path):
            return item.change.sha256
        inside = tuple(real_path(os.fspath(place)) for place in (self.base, item.root.around))
        try:
            rows = list(islice(self._rows(path, inside), MAX_FILES + 1))
        except (OSError, ValueError):
            return UNREADABLE
        if len(rows) > MAX_FILES:
            return UNREADABLE
        is_file = len(rows) == 1 and rows[0].path == "" and rows[0].mode != LINK
        return rows[0].sha256 if is_file else hashlib.sha256(json.dumps(sorted(rows)).encode()).hexdigest()

    def _rows(self, path: str, inside: Collection[str]) -> Iterator[ListedFile]:
        """Yield each file and link at and below a path, and what a link leads to under the name of the link.

        Each folder that links lead to is entered once.

        Raises:
            OSError, ValueError: Not every byte can be read.
        """
        places, entered = [("", path)], set[str]()
        while places:
            name, place = places.pop()
            mode = os.lstat(place).st_mode
            if stat.S_ISDIR(mode):
                entered.add(real_path(place))
                places += [(f"{name}/{inner}", os.path.join(place, inner)) for inner in sorted(os.listdir(place))]
            elif stat.S_ISLNK(mode):
                real = real_path(place)
                if not any(is_within(real, folder) for folder in inside):
                    raise ValueError(f"{place} leads elsewhere")
                yield ListedFile(name, LINK, hashlib.sha256(os.fsencode(os.readlink(place))).hexdigest())
                if os.path.lexists(real) and real not in entered:
                    places.append((f"{name}/", real))
            else:
                if place not in self._files:
                    self._files[place] = _of_file(place)
                yield ListedFile(name, PROGRAM if mode & 0o111 else PLAIN, self._files[place])


def _visible(char: str) -> str:
    """Return a character, escaped if it is invisible or a backslash, so that two names never look the same."""
    return char if char.isprintable() and char != "\\" else char.encode("unicode_escape").decode("ascii")


def _mode_of(path: Path, base: Path) -> str:
    """Return the mode of a path's target, as in :class:`rye.verify.report.Accepted`.

    A link is recorded if it is the file itself or a folder above it that lies below ``base``.
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return "120000" if path.is_symlink() else ""
    if stat.S_ISDIR(mode):
        return "040000"
    above = (folder for folder in (path, *path.parents) if folder != base and folder.is_relative_to(base))
    kind = "12" if path.is_symlink() or any(folder.is_symlink() for folder in above) else "10"
    return f"{kind}{'0755' if mode & 0o111 else '0644'}"


def _of_file(path: str) -> str:
    """Return the SHA-256 of a regular file of any size; do not wait for a pipe."""
    with os.fdopen(os.open(path, OPEN_FILE), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError(f"{path} is not a regular file")
        return hashlib.file_digest(file, "sha256").hexdigest()
