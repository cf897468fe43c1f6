"""``skills-lock.json``, which ``npx skills`` writes into a project: the source of each skill, and a hash of its files.

The file is not signed, so nothing becomes trusted by it. A skill whose files have another hash, or that is gone, is
named. Format and hash are those of https://github.com/vercel-labs/skills, src/local-lock.ts (read on 2026-11-26):
SHA-256 over path and content of every regular file, in the order that JavaScript's ``localeCompare`` gives.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from rye._text import inline
from rye.errors import ItemError
from rye.items.clients import SKILL_FILE
from rye.items.guarded import load_json
from rye.spaces.classify import MODULES
from rye.spaces.model import Root, Space
from rye.spaces.read import read_chunks
from rye.spaces.signed import scan_skill
from rye.spaces.snapshot import LINK

LOCK_FILE: Final = "skills-lock.json"
_HASH: Final = re.compile(r"[0-9a-f]{64}")
_ORDER: Final = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz"
"""The order of the root collation of CLDR for ASCII; of letters that differ in case alone, the small one is first."""

_RANK: Final = {char: number for number, char in enumerate(f" {_ORDER}")}


class LockedSkill(NamedTuple):
    """A skill of a lock file: its name, where it came from in words, and the hash of its files."""

    name: str
    source: str
    sha256: str


class LockFinding(NamedTuple):
    """A skill that is not as the lock file says: ``lock-changed`` or ``lock-missing``, its folder, and words."""

    code: str
    path: Path
    message: str


def read_lock(project: Path) -> dict[str, LockedSkill]:
    """Return the skills of a project's lock file by their names; empty without one.

    Raises:
        ItemError: ``unparsable`` when it is no lock file of version 1, ``not-a-file`` or ``too-large``.
    """
    try:
        data = b"".join(read_chunks(Root(Space.PROJECT, project), LOCK_FILE))
    except OSError:
        return {}
    try:
        table = load_json(data.decode("utf-8-sig"))
        skills = table["skills"].items() if table["version"] == 1 else [("", {})]
        rows = [(name, row["source"], row.get("ref", ""), row["computedHash"]) for name, row in skills]
    except (ItemError, UnicodeDecodeError, TypeError, KeyError, AttributeError):
        rows = [(None, "", "", "")]
    if not all(isinstance(text, str) for row in rows for text in row):
        message = f"{LOCK_FILE} is not a lock file of version 1"
        raise ItemError("unparsable", message, hint="write it anew: npx skills update", path=LOCK_FILE)
    return {
        name: LockedSkill(name, inline(f"{source}#{ref}" if ref else source), digest)
        for name, source, ref, digest in rows
        if _HASH.fullmatch(digest)
    }


def compare_lock(project: Path, roots: Iterable[Root]) -> Iterator[LockFinding]:
    """Yield each skill of a project's lock file that is changed or missing.

    A skill is looked for by the name of its folder in every folder of skills. One with a file name beyond ASCII is
    passed over, as the order of its files is not known.

    Raises:
        ItemError: As :func:`read_lock`; a file of a skill cannot be read.
    """
    skills = read_lock(project)
    places = [root for root in roots if root.has_skills and root.space is Space.PROJECT] if skills else []
    for skill in skills.values():
        folders = [(root, _folder_name(skill.name)) for root in places]
        found = [(root, name) for root, name in folders if (root.path / name / SKILL_FILE).is_file()]
        if not found:
            message = f"the skill {inline(skill.name)} from {skill.source} is in {LOCK_FILE} and is missing"
            yield LockFinding("lock-missing", project / LOCK_FILE, message)
        for root, name in found:
            if (root.path / name).is_symlink() or folder_hash(root, name) in {skill.sha256, ""}:
                continue
            message = f"the skill {inline(skill.name)} is not what {LOCK_FILE} says came from {skill.source}"
            yield LockFinding("lock-changed", root.path / name, message)


def _folder_name(name: str) -> str:
    """Return the folder into which the installer puts a skill of this name."""
    return re.sub(r"[^a-z0-9._]+", "-", name.lower()).strip(".-")[:255]


def folder_hash(root: Root, folder: str) -> str:
    """Return the hash of a skill's folder as the installer computes it; empty where a path is not ASCII.

    Raises:
        ItemError, OSError: A file cannot be read.
    """
    files = [each.path for each in scan_skill(root, folder) if each.mode not in {LINK, ""}]
    paths = [path for path in files if not {MODULES, ".git"}.intersection(path.split("/")[:-1])]
    if not all(path.isascii() and path.isprintable() for path in paths):
        return ""
    digest = hashlib.sha256()
    for path in sorted(paths, key=_collation_key):
        digest.update(path.encode())
        for chunk in read_chunks(root, f"{folder}/{path}"):
            digest.update(chunk)
    return digest.hexdigest()


def _collation_key(path: str) -> tuple[list[int], str]:
    """Return a key that sorts as ``localeCompare``: by letters first, then small letters before capitals."""
    return [_RANK[char] for char in path.lower()], path.swapcase()


def locked_source(project: Path | None, item_id: str) -> str:
    """Return where a project's skill came from by its lock file; empty if that does not name it."""
    try:
        skills = read_lock(project) if project is not None else {}
    except ItemError:
        return ""
    folder = item_id.partition("/")[0]
    return next((skill.source for skill in skills.values() if _folder_name(skill.name) == folder), "")
