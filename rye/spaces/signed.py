"""Reads an item with its signature: the line in it, the file beside it, or that of the skill that it belongs to.

A skill is verified as a whole: each of its items with every file in its folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import PurePosixPath
from typing import NamedTuple, TypeVar

from rye._text import find_envelope, may_name_item
from rye.errors import ItemError
from rye.items.clients import SKILL_FILE
from rye.items.hidden import describe_hidden
from rye.items.model import Item, ItemType
from rye.items.provenance import stated_source
from rye.items.reader import parse
from rye.spaces.model import FileStat, Root, stat_of
from rye.spaces.read import Read, is_detached, read_chunks, read_file, signature_in, skill_of, suffix_of, unreadable
from rye.spaces.snapshot import PLAIN, PROGRAM, mode_of, tree
from rye.trust.evidence import inspect
from rye.trust.line import DETACHED_SUFFIX
from rye.trust.list import (
    BUNDLE_FILE,
    MAX_SKILL_BYTES,
    MAX_SKILL_FILES,
    SKILL_SIGNATURE,
    ListedFile,
    Skill,
    SkillFolder,
)
from rye.trust.model import Evidence, Origin
from rye.trust.oms import MAX_BUNDLE

T = TypeVar("T")

_ATTEMPTS = 5

Detached = bytes | Skill | None
"""What holds for an item beside its own bytes: a detached signature, the skill that it belongs to, or neither."""


def read_signed(
    root: Root, rel_path: str, read: Read = read_file, *, skills: dict[str, SkillFolder] | None = None
) -> tuple[bytes, Detached]:
    """Return the bytes of an item, and its detached signature or its skill, if that is what it is verified by.

    Both are as they were at one moment, if no other process changes the signature again and again.

    Args:
        root: The root of the item.
        rel_path: Its path below that.
        read: Reads its bytes.
        skills: A mapping that a caller keeps who reads the items of a skill one after the other: each skill is read
            once. The bytes of the item itself are read in any case.

    Raises:
        ItemError: As :func:`read_file`, of any of the files; ``not-a-file`` when the signature is a link.
    """
    folder = skill_of(root, rel_path) if root.client else ""
    if folder:
        skill = _skill_at(root, folder, {} if skills is None else skills)
        data = read(root, rel_path)
        return data, Skill(skill, rel_path[len(folder) + 1 :]) if skill.data is not None else None
    if not is_detached(rel_path):
        data = read(root, rel_path)
        return data, _without_signature(root, rel_path, data) if root.client and root.has_skills else None
    signature, data = _read_with(root, f"{rel_path}{DETACHED_SUFFIX}", read, lambda: read(root, rel_path))
    return data, signature


def _skill_at(root: Root, folder: str, skills: dict[str, SkillFolder]) -> SkillFolder:
    """Return a skill with its signature and all of its files as they were at one moment."""
    name = f"{root.path}/{folder}"
    if name not in skills:
        skills.clear()  # items of one skill come one after the other
        signature = signature_in(f"{name}/") or SKILL_SIGNATURE
        read = _read_bundle if signature == BUNDLE_FILE else read_file
        place = f"{folder}/{signature}"
        data, found = _read_with(root, place, read, lambda: read_skill(root, folder, signature))
        skills[name] = SkillFolder(folder, data, found.files, signature, found.hidden)
    return skills[name]


def _read_bundle(root: Root, rel_path: str) -> bytes:
    """Return the bytes of a bundle, or of a longer file enough to see that it is one; as :func:`read_file`."""
    try:
        return next(read_chunks(root, rel_path, MAX_BUNDLE + 1), b"")
    except FileNotFoundError:
        raise ItemError("vanished", f"{rel_path}: the file is gone", hint="search again", path=rel_path) from None
    except OSError as error:
        raise unreadable(rel_path, error) from None


def _read_with(root: Root, place: str, read: Read, rest: Callable[[], T]) -> tuple[bytes | None, T]:
    """Return a signature file, and what was read while it stayed the same; the last attempt if it never does."""
    signature = _read_signature(root, place, read)
    for _ in range(_ATTEMPTS):
        before, content = signature, rest()
        signature = _read_signature(root, place, read)
        if signature == before:
            break
    return signature, content


def _without_signature(root: Root, rel_path: str, data: bytes) -> Skill | None:
    """Return the skill of its file that is signed alone, by a line; None for any other file."""
    folder, _, name = rel_path.rpartition("/")
    if name != SKILL_FILE or find_envelope(data, ".md") is None:
        return None
    files = tuple(ListedFile(each.path, each.mode, "") for each in scan_skill(root, folder))
    return Skill(SkillFolder(folder, None, files), name)


class ScannedFile(NamedTuple):
    """A file or link in the folder of a skill: its path below that, its mode, and its status."""

    path: str
    mode: str
    status: FileStat


def scan_skill(root: Root, folder: str, signature: str = SKILL_SIGNATURE) -> Iterator[ScannedFile]:
    """Yield all that a signature of a skill covers, also where it cannot: up to one file more than it may have.

    That is every file below the folder, hidden ones too, but the file of the signature and ``.git``. Links are not
    followed.

    Raises:
        ItemError: ``unreadable``: a folder in it cannot be listed.
    """
    base, count = os.fspath(root.path / folder), 0
    for found in tree(base, ".git".__eq__):
        if isinstance(found, OSError):
            inner = os.path.relpath(found.filename, base)
            raise unreadable(os.path.normpath(f"{folder}/{inner}"), found, "folder")
        path, entry = found
        if path in (signature, ".git"):
            continue
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:  # it has just gone
            continue
        yield ScannedFile(path, mode_of(entry), stat_of(status))
        count += 1
        if count > MAX_SKILL_FILES:
            return


class SkillFiles(NamedTuple):
    """The files of a skill, and a sentence for each but ``SKILL.md`` with text that a reader does not see."""

    files: tuple[ListedFile, ...]
    hidden: tuple[str, ...]


def read_skill(root: Root, folder: str, signature: str = SKILL_SIGNATURE) -> SkillFiles:
    """Return the files of a skill with their digests; without, over the limits and of what is no regular file.

    Raises:
        ItemError: One of them cannot be read.
    """
    found = list(scan_skill(root, folder, signature))
    is_within = len(found) <= MAX_SKILL_FILES and sum(each.status[0] for each in found) <= MAX_SKILL_BYTES
    files, hidden = list[ListedFile](), list[str]()
    for path, mode, status in found:
        digest = ""
        if is_within and mode in _REGULAR:
            digest, said = _read_part(root, f"{folder}/{path}", status)
            hidden += [f"{path}: {said}"] if said and path != SKILL_FILE else []
        files.append(ListedFile(path, mode, digest))
    return SkillFiles(tuple(files), tuple(hidden))


_REGULAR = (PLAIN, PROGRAM)
_MOST_READ = 1 << 20
"""Bytes of a file in which hidden text is looked for; of instructions, that is a book."""


def _read_part(root: Root, rel_path: str, status: FileStat) -> tuple[str, str]:
    """Return the digest of a file of a skill, and the sentence about its hidden text."""
    digest, kept = sha256(), list[bytes]()
    try:
        for chunk in read_chunks(root, rel_path, expected=status):
            digest.update(chunk)
            kept += [chunk] if status[0] <= _MOST_READ else []
    except OSError as error:
        raise unreadable(rel_path, error) from None
    return digest.hexdigest(), describe_hidden(b"".join(kept), PurePosixPath(rel_path).suffix.lower())


def _read_signature(root: Root, path: str, read: Read) -> bytes | None:
    if os.path.islink(root.path / path):  # noqa: PTH114 - never raises
        raise ItemError("not-a-file", f"{path} is a link", hint="put a copy of the signature in its place", path=path)
    try:
        return read(root, path)
    except ItemError as error:
        if error.code == "vanished":
            return None
        raise


class ReadItem(NamedTuple):
    """One file as it is on disk at this moment.

    Attributes:
        data: Its bytes.
        item: The item that they are.
        evidence: What they prove.
        origin: Where it was found.
        suffix: Its extension.
        detached: Its detached signature, or the skill that it belongs to.
        hidden: A sentence about text in it that a reader does not see; empty where there is none.
        stated_source: Where its metadata says that it came from; see :func:`rye.items.provenance.stated_source`.
    """

    data: bytes
    item: Item
    evidence: Evidence
    origin: Origin
    suffix: str
    detached: Detached = None
    hidden: str = ""
    stated_source: str = ""


def read_item(
    root: Root,
    path: str,
    item_type: ItemType,
    item_id: str,
    *,
    read: Read = read_file,
    skills: dict[str, SkillFolder] | None = None,
) -> ReadItem:
    """Read, parse and inspect one file.

    Args:
        root: The space root.
        path: Path of the file relative to the root.
        item_type: The type that the path stands for.
        item_id: The id that the path stands for.
        read: Reads its bytes.
        skills: As for :func:`read_signed`.

    Raises:
        ItemError: The file cannot be read, or is no item.
    """
    if not may_name_item(path):
        code, message = "bad-name", f"{path!r}: the file name has characters that no item id may have"
        raise ItemError(code, message, hint="rename the file", path=path)
    data, detached = read_signed(root, path, read, skills=skills)
    return parse_item(data, root.origin(str(item_type), item_id, path), path, detached=detached)


def parse_item(
    data: bytes, origin: Origin, path: str, *, content_digest: str | None = None, detached: Detached = None
) -> ReadItem:
    """Parse and inspect the bytes of a file.

    Args:
        data: All of them.
        origin: Where they were found.
        path: The path of the file, whose extension decides the format.
        content_digest: Their SHA-256 if the caller has it.
        detached: What :func:`read_signed` returned with them.

    Raises:
        ItemError: The file is no item.
    """
    suffix = suffix_of(path)
    item_type = ItemType(origin.item_type)
    item = parse(data, item_type=item_type, item_id=origin.item_id, suffix=suffix, path=path)
    evidence = inspect(
        data,
        origin=origin,
        declared=item.declared,
        suffix=suffix,
        content_digest=content_digest,
        detached=detached,
    )
    hidden, source = describe_hidden(data, suffix), stated_source(item.metadata)
    return ReadItem(data, item, evidence, origin, suffix, detached, hidden, source)
