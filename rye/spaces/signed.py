"""Reads an item with its signature: a line in the file, a ``.sig`` file, or the signature of its skill.

A skill is verified as a whole: each of its items together with every file in its folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from rye._text import find_envelope, may_name_item
from rye.errors import ItemError
from rye.items.clients import SKILL_FILE
from rye.items.hidden import describe_hidden
from rye.items.model import Item, ItemType
from rye.items.provenance import stated_source
from rye.items.reader import parse
from rye.spaces.contents import read_skill, scan_skill
from rye.spaces.model import Root
from rye.spaces.read import Read, is_detached, read_chunks, read_file, signature_in, skill_of, suffix_of, unreadable
from rye.trust.evidence import inspect
from rye.trust.line import DETACHED_SUFFIX
from rye.trust.list import (
    BUNDLE_FILE,
    SKILL_SIGNATURE,
    ListedFile,
    Skill,
    SkillFolder,
)
from rye.trust.model import Evidence, Place
from rye.trust.oms import MAX_BUNDLE

T = TypeVar("T")

_ATTEMPTS = 5

Detached = bytes | Skill | None
"""A signature outside the item's own bytes: a detached signature, the skill that covers it, or neither."""


def read_signed(
    root: Root, rel_path: str, read: Read = read_file, *, skills: dict[str, SkillFolder] | None = None
) -> tuple[bytes, Detached]:
    """Return the bytes of an item, and the detached signature or the skill that it is verified by, if any.

    Both are read at one consistent moment, unless another process keeps changing the signature.

    Args:
        root: The root of the item.
        rel_path: Its path below that.
        read: Reads its bytes.
        skills: A cache for callers that read the items of a skill one after the other: each skill is read once.

    Raises:
        ItemError: As :func:`read_file`, for any of the files; ``not-a-file`` if the signature is a link.
    """
    folder = skill_of(root, rel_path) if root.client else ""
    if folder:
        skill = _skill_at(root, folder, {} if skills is None else skills)
        path = rel_path[len(folder) + 1 :]
        kept = skill.contents.get(path)
        data = read(root, rel_path) if kept is None else kept
        return data, Skill(skill, path) if skill.data is not None else None
    if not is_detached(rel_path):
        data = read(root, rel_path)
        return data, _without_signature(root, rel_path, data) if root.client and root.has_skills else None
    signature, data = _read_with(root, f"{rel_path}{DETACHED_SUFFIX}", read, lambda: read(root, rel_path))
    return data, signature


def _skill_at(root: Root, folder: str, skills: dict[str, SkillFolder]) -> SkillFolder:
    """Return a skill with its signature and files, all read at one consistent moment."""
    name = f"{root.path}/{folder}"
    if name not in skills:
        skills.clear()  # items of one skill are read one after the other
        signature = signature_in(f"{name}/") or SKILL_SIGNATURE
        read = _read_bundle if signature == BUNDLE_FILE else read_file
        place = f"{folder}/{signature}"
        data, skill_files = _read_with(root, place, read, lambda: read_skill(root, folder, signature))
        files, hidden, contents = skill_files
        skills[name] = SkillFolder(folder, data, files, signature, hidden, contents)
    return skills[name]


def _read_bundle(root: Root, rel_path: str) -> bytes:
    """Return the bytes of a Sigstore bundle, up to one byte over the limit; raises like :func:`read_file`."""
    try:
        return next(read_chunks(root, rel_path, MAX_BUNDLE + 1), b"")
    except FileNotFoundError:
        raise ItemError("vanished", f"{rel_path}: the file is gone", hint="search again", path=rel_path) from None
    except OSError as error:
        raise unreadable(rel_path, error) from None


def _read_with(root: Root, place: str, read: Read, rest: Callable[[], T]) -> tuple[bytes | None, T]:
    """Return a signature file and the rest, re-read until the signature stays the same; give up after some attempts."""
    signature = _read_signature(root, place, read)
    for _ in range(_ATTEMPTS):
        before, content = signature, rest()
        signature = _read_signature(root, place, read)
        if signature == before:
            break
    return signature, content


def _without_signature(root: Root, rel_path: str, data: bytes) -> Skill | None:
    """Return the skill of a ``SKILL.md`` that is signed alone, by a line; None for any other file."""
    folder, _, name = rel_path.rpartition("/")
    if name != SKILL_FILE or find_envelope(data, ".md") is None:
        return None
    files = tuple(ListedFile(file.path, file.mode) for file in scan_skill(root, folder))
    return Skill(SkillFolder(folder, None, files), name)


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
    """One file as it is on disk now.

    Attributes:
        data: Its bytes.
        item: The parsed item.
        evidence: What its signatures prove.
        origin: Where it was found.
        suffix: Its extension.
        detached: Its detached signature, or the skill that covers it.
        hidden: A sentence about text in it that a reader does not see; empty if there is none.
        stated_source: Where it came from according to its metadata; see :func:`rye.items.provenance.stated_source`.
    """

    data: bytes
    item: Item
    evidence: Evidence
    origin: Place
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
        item_type: The type of the item at this path.
        item_id: The id of the item at this path.
        read: Reads its bytes.
        skills: As for :func:`read_signed`.

    Raises:
        ItemError: The file cannot be read, or is not an item.
    """
    if not may_name_item(path):
        code, message = "bad-name", f"{path!r}: the file name has characters that no item id may have"
        raise ItemError(code, message, hint="rename the file", path=path)
    data, detached = read_signed(root, path, read, skills=skills)
    return parse_item(data, root.origin(str(item_type), item_id, path), path, detached=detached)


def parse_item(
    data: bytes, origin: Place, path: str, *, content_digest: str | None = None, detached: Detached = None
) -> ReadItem:
    """Parse and inspect the bytes of a file.

    Args:
        data: All bytes of the file.
        origin: Where it was found.
        path: The path of the file, whose extension decides the format.
        content_digest: The SHA-256 of the data, if the caller has it.
        detached: As returned by :func:`read_signed`.

    Raises:
        ItemError: The file is not an item.
    """
    suffix = suffix_of(path)
    item_type = ItemType(origin.type)
    item = parse(data, item_type=item_type, item_id=origin.id, suffix=suffix, path=path)
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
