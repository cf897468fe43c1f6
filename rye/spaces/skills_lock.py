"""The records of what was installed: where each skill came from, and whether ``skills-lock.json`` still describes it.

They are not signed, so nothing becomes trusted by them. A skill whose files have another hash than
``skills-lock.json`` says, or that is gone, is named. The hash is that of https://github.com/vercel-labs/skills,
src/local-lock.ts (read on 2026-11-26): SHA-256 over path and content of every regular file, in the order that
JavaScript's ``localeCompare`` gives.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from rye._text import inline
from rye.errors import ItemError
from rye.items.clients import SKILL_FILE
from rye.items.provenance import LOCK_FILE, RECORDS, Installed, read_record
from rye.spaces.classify import MODULES
from rye.spaces.model import Root, Space
from rye.spaces.read import read_chunks
from rye.spaces.signed import ReadItem, scan_skill
from rye.spaces.snapshot import LINK

_ORDER: Final = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz"
"""The order of the root collation of CLDR for ASCII; of letters that differ in case alone, the small one is first."""

_RANK: Final = {char: number for number, char in enumerate(f" {_ORDER}")}


class LockFinding(NamedTuple):
    """A skill that is not as the lock file says: ``lock-changed`` or ``lock-missing``, its folder, and words."""

    code: str
    path: Path
    message: str


def read_lock(folder: Path, path: str = LOCK_FILE) -> tuple[Installed, ...]:
    """Return the skills in a record of a project or home folder; none without that file.

    Raises:
        ItemError: ``unparsable`` when it is no such record, ``not-a-file`` or ``too-large``.
    """
    try:
        return read_record(path, b"".join(read_chunks(Root(Space.PROJECT, folder), path)))
    except OSError:
        return ()


def installed_sources(root: Root) -> Mapping[str, str]:
    """Return where the skills in a client's folder came from by the records beside it: folder → source, safe to show.

    A record that cannot be read says nothing; ``rye verify`` and ``rye doctor`` name one.
    """
    found = dict[str, str]()
    for path in RECORDS if root.has_skills and root.space is not Space.SYSTEM else ():
        with suppress(ItemError):
            for each in read_lock(root.around, path):
                found.setdefault(each.folder, inline(each.source))
    return found


def installed_from(root: Root, read: ReadItem, sources: Mapping[str, str] | None = None) -> str:
    """Return where an item came from, by its metadata or by the records beside its root; empty if nothing says so.

    Args:
        root: Its root.
        read: Its file.
        sources: Of :func:`installed_sources`, from a caller who asks for several items.
    """
    if read.stated_source:
        return inline(read.stated_source)
    return (installed_sources(root) if sources is None else sources).get(read.item.id.partition("/")[0], "")


def compare_lock(project: Path, roots: Iterable[Root]) -> Iterator[LockFinding]:
    """Yield each skill of a project's lock file that is changed or missing.

    A skill is looked for by the name of its folder in every folder of skills. One with a file name beyond ASCII is
    passed over, as the order of its files is not known.

    Raises:
        ItemError: As :func:`read_lock`; a file of a skill cannot be read.
    """
    skills = [skill for skill in read_lock(project) if skill.sha256]
    places = [root for root in roots if root.has_skills and root.space is Space.PROJECT] if skills else []
    for skill in skills:
        folders = [(root, skill.folder) for root in places]
        found = [(root, name) for root, name in folders if (root.path / name / SKILL_FILE).is_file()]
        if not found:
            message = f"the skill {inline(skill.name)} from {inline(skill.source)} is in {LOCK_FILE} and is missing"
            yield LockFinding("lock-missing", project / LOCK_FILE, message)
        for root, name in found:
            if (root.path / name).is_symlink() or folder_hash(root, name) in {skill.sha256, ""}:
                continue
            message = f"the skill {inline(skill.name)} is not what {LOCK_FILE} says came from {inline(skill.source)}"
            yield LockFinding("lock-changed", root.path / name, message)


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
