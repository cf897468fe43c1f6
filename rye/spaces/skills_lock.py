"""Reads the records of installed skills: where each came from, and whether ``skills-lock.json`` still describes it.

The records are not signed, so they never make anything trusted. A skill that is missing, or whose hash differs from
``skills-lock.json``, is reported. The hash is that of https://github.com/vercel-labs/skills, src/local-lock.ts (read on
2026-11-26): SHA-256 over path and content of every regular file, in the order of JavaScript's ``localeCompare``.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from rye._text import inline
from rye.errors import ItemError
from rye.items.clients import SKILL_FILE
from rye.items.provenance import LOCK_FILE, RECORDS, Installed, read_record
from rye.spaces.classify import MODULES
from rye.spaces.contents import scan_skill
from rye.spaces.model import Root, Space
from rye.spaces.read import read_chunks
from rye.spaces.signed import ReadItem
from rye.spaces.snapshot import LINK
from rye.trust.list import Change

_ORDER: Final = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz"
"""ASCII in the CLDR root collation order; of letters that differ only in case, the lower-case one is first."""

_RANK: Final = {char: number for number, char in enumerate(f" {_ORDER}")}


def read_lock(folder: Path, path: str = LOCK_FILE) -> tuple[Installed, ...]:
    """Return the skills in a record of a project or home folder; empty if the record is missing.

    Raises:
        ItemError: ``unparsable`` if it is not such a record, ``not-a-file`` or ``too-large``.
    """
    try:
        return read_record(path, b"".join(read_chunks(folder, path)))
    except OSError:
        return ()


def installed_sources(root: Root) -> Mapping[str, str]:
    """Return where the skills in a client folder came from, by folder, escaped for display.

    Unreadable records are ignored here; ``rye verify`` and ``rye doctor`` report them.
    """
    sources = dict[str, str]()
    for path in RECORDS if root.has_skills and root.space is not Space.SYSTEM else ():
        with suppress(ItemError):
            for installed in read_lock(root.around, path):
                sources.setdefault(installed.folder, inline(installed.source))
    return sources


def installed_from(root: Root, read: ReadItem, sources: Mapping[str, str] | None = None) -> str:
    """Return where an item came from, by its metadata or the records next to its root; empty if unknown.

    Args:
        root: Its root.
        read: Its file.
        sources: The result of :func:`installed_sources`, for callers that look up several items.
    """
    if read.stated_source:
        return inline(read.stated_source)
    return (installed_sources(root) if sources is None else sources).get(read.item.id.partition("/")[0], "")


def compare_lock(project: Path, roots: Iterable[Root]) -> Iterator[Change]:
    """Yield each skill of a project's lock file that is changed or missing, with its path below the project.

    A skill is looked up by the name of its folder in every skills folder. A skill with non-ASCII file names is skipped,
    because the sort order of its files is not known.

    Raises:
        ItemError: As :func:`read_lock`; or a file of a skill cannot be read.
    """
    skills = [skill for skill in read_lock(project) if skill.sha256]
    places = [root for root in roots if root.has_skills and root.space is Space.PROJECT] if skills else []
    for skill in skills:
        folders = [(root, skill.folder) for root in places]
        present = [(root, name) for root, name in folders if (root.path / name / SKILL_FILE).is_file()]
        if not present:
            message = f"the skill {inline(skill.name)} from {inline(skill.source)} is in {LOCK_FILE} and is missing"
            yield Change("lock-missing", LOCK_FILE, message)
        for root, name in present:
            if (root.path / name).is_symlink() or folder_hash(root, name) in {skill.sha256, ""}:
                continue
            message = f"the skill {inline(skill.name)} is not what {LOCK_FILE} says came from {inline(skill.source)}"
            yield Change("lock-changed", os.path.relpath(root.path / name, project), message)


def folder_hash(root: Root, folder: str) -> str:
    """Return the hash of a skill's folder as the installer computes it; empty if a path is not ASCII.

    Raises:
        ItemError, OSError: A file cannot be read.
    """
    files = [file.path for file in scan_skill(root, folder) if file.mode not in {LINK, ""}]
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
    """Return a sort key for ``localeCompare``: letters first, then lower case before upper case."""
    return [_RANK[char] for char in path.lower()], path.swapcase()
