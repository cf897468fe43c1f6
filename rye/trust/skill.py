"""The signature of a skill as a whole: which list of its files is signed, and how a folder differs from that list."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, Unpack

from rye._text import has_invisible
from rye.trust.line import SigningTerms, sign_detached
from rye.trust.model import Placement

SKILL_SIGNATURE: Final = "SKILL.sig"
"""The file in the folder of a skill that holds its signature."""

MAX_SKILL_FILES: Final = 2_000
MAX_SKILL_BYTES: Final = 1 << 28
MAX_LIST_BYTES: Final = 1_000_000
"""How many files a signed skill may have, bytes in all of them, and bytes in their list."""

_MODES: Final = frozenset({"100644", "100755"})
_LINE: Final = re.compile(r"([0-7]{6}) ([0-9a-f]{64}) (.+)")
_NAMED: Final = 5


class SkillFile(NamedTuple):
    """A file of a skill: its path below the folder, its mode as git writes it, and the SHA-256 of its bytes.

    The digest is empty where no bytes were read: of what is no regular file, and in a folder over the limits.
    """

    path: str
    mode: str
    sha256: str


class Skill(NamedTuple):
    """A skill as it is on disk, to verify one of its items by.

    Attributes:
        id: Of its directive.
        path: The file of the item to verify, below the folder of the skill.
        data: The bytes of ``SKILL.sig``; None without one, where the item has a line of its own.
        files: All files in the folder but that one, each with its digest if there is a ``SKILL.sig``.
    """

    id: str
    path: str
    data: bytes | None
    files: tuple[SkillFile, ...]


def list_files(files: Iterable[SkillFile]) -> bytes:
    """Return the list that is signed: for each file ``MODE SP SHA256 SP PATH LF``, in the order of the paths' bytes."""
    rows = sorted((path.encode("utf-8", "surrogateescape"), mode, digest) for path, mode, digest in files)
    return b"".join(b"%b %b %b\n" % (mode.encode(), digest.encode(), path) for path, mode, digest in rows)


def sign_skill(files: Iterable[SkillFile], **terms: Unpack[SigningTerms]) -> bytes:
    """Return the content of ``SKILL.sig``: one line of format v2 over the list of the files, and the list.

    Arguments and errors as for :func:`rye.trust.sign_detached`; ``origin`` is that of the skill's directive.
    """
    listed = list_files(files)
    return sign_detached(listed, placement=Placement.SKILL, **terms) + listed


def read_list(listed: bytes) -> dict[str, tuple[str, str]]:
    """Return mode and SHA-256 of each file in a signed list by its path; lines that are none are left out."""
    rows = (_LINE.fullmatch(row) for row in listed.decode("utf-8", "surrogateescape").split("\n")[:-1])
    return {row[3]: (row[1], row[2]) for row in rows if row}


def unlistable(files: Sequence[SkillFile]) -> str:
    """Return why a folder with these files cannot be a signed skill; empty if it can."""
    if len(files) > MAX_SKILL_FILES:
        return f"it has more than {MAX_SKILL_FILES:,} files"
    if len(list_files(files)) > MAX_LIST_BYTES:
        return f"the list of its files has more than {MAX_LIST_BYTES:,} bytes"
    odd = [file.path for file in files if file.mode not in _MODES]
    if odd:
        return f"links and other things that are no regular files cannot be signed: {_named(odd)}"
    if not all(file.sha256 for file in files):
        return f"its files have more than {MAX_SKILL_BYTES:,} bytes"
    unclear = [file.path for file in files if not _is_clear(file.path)]
    if unclear:
        return f"names have characters that nobody sees, or a backslash: {_named(unclear)}"
    seen = {_folded(SKILL_SIGNATURE): SKILL_SIGNATURE}
    for file in files:
        if (other := seen.setdefault(_folded(file.path), file.path)) != file.path:
            return f"where case is ignored, these names are one: {_named([other, file.path])}"
    return ""


def difference(listed: bytes, files: Sequence[SkillFile]) -> str:
    """Return how the files of a folder differ from a signed list, by their names; empty where they do not."""
    if wrong := unlistable(files):
        return wrong
    if list_files(files) == listed:
        return ""
    signed = read_list(listed)
    found = {file.path: (file.mode, file.sha256) for file in files}
    both = sorted(signed.keys() & found.keys())
    parts = {
        "added": sorted(found.keys() - signed.keys()),
        "removed": sorted(signed.keys() - found.keys()),
        "changed": [path for path in both if signed[path][1] != found[path][1]],
        "mode changed": [path for path in both if signed[path][0] != found[path][0]],
    }
    words = "; ".join(f"{word}: {_named(paths)}" for word, paths in parts.items() if paths)
    return words or "the list of its files is not in canonical form"


def uncovered(skill: Skill) -> str:
    """Return in words which files the signature of one file of a skill leaves out; empty where it is the only one."""
    others = sorted(file.path for file in skill.files if file.path != skill.path)
    count = "1 file of the skill is" if len(others) == 1 else f"{len(others)} files of the skill are"
    return f"{count} not covered: {_named(others)}" if others else ""


def _is_clear(path: str) -> bool:
    return path.isprintable() and "\\" not in path and not has_invisible(path)


def _folded(path: str) -> str:
    return unicodedata.normalize("NFKC", path).casefold()


def _named(paths: Sequence[str]) -> str:
    """Return the first few paths, in escapes where their letters may deceive, and how many more there are."""
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(path if path.isascii() and path.isprintable() else ascii(path) for path in paths[:_NAMED]) + more
