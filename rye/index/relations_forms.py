"""A reference as written → what it may name, best first: the one place that knows the forms an id is written in.

A lookup is by the whole id or by the name, its last part, of one item type or of any. Strings are compared by a hash,
so that many references are joined with many items by sorting numbers: 62 bits of BLAKE2b, and two for the item type.
Another id for a given hash cannot be found; two ids of one hash can, and make references to them ambiguous.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rye.index.schema import TYPE_NAMES, TYPE_NUMBER
from rye.items import EXTENSIONS, ItemType

TYPED, BY_NAME = 1, 2
"""Bits of :attr:`Lookup.how`: only items of the type that the key holds, and by the name instead of the id."""

TYPE_BITS = 2

_TYPE_OF_FOLDER = {kind.folder: str(kind) for kind in ItemType}
_SUFFIXES = frozenset(suffix for each in EXTENSIONS.values() for suffix in each)
_TYPE = "|".join(TYPE_NAMES)
_REFERENCE = re.compile(rf"({_TYPE}):(.+)")
_CAPABILITY = re.compile(rf"(?:rye\.(?:execute|search|load|sign)\.)?({_TYPE})\.([^/*]+)")


class Lookup(NamedTuple):
    """One thing a reference may name: ``how`` to look, and the key to look for (see :func:`key_of`)."""

    how: int
    key: int


def key_of(text: str, item_type: int = 0) -> int:
    """Return the key of an id or a name: below its 62 bits those of the type's number."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return (int.from_bytes(digest, "little") >> TYPE_BITS << TYPE_BITS) | item_type


def keys_of(texts: Sequence[str], item_types: Sequence[int]) -> npt.NDArray[np.uint64]:
    """Return the keys of many texts, each with the number of its type."""
    digests = [blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts]
    keys = np.frombuffer(b"".join(digests), np.uint64) >> np.uint64(TYPE_BITS) << np.uint64(TYPE_BITS)
    return keys | np.asarray(item_types, np.uint64)


def name_of(item_id: str) -> str:
    """Return the last part of an id."""
    return item_id.rpartition("/")[2]


@lru_cache(maxsize=1 << 16)
def lookups(text: str, item_type: str, folder: str, prefer: str = "") -> tuple[Lookup, ...]:
    """Return what a reference may name, best first.

    Args:
        text: As written: ``type:id``, an id, a name, a path with or without extension, ``tool.rye.core.x``.
        item_type: Type of the item that refers.
        folder: The folder of its id; a path that begins with a dot counts from there, and a name is looked for there.
        prefer: The type that is meant where the reference does not say.
    """
    text = text.strip()
    if text.startswith(("./", "../")):
        return relative(text, item_type, folder)
    found: list[Lookup] = []
    for part in _without_suffixes(text):
        found += _readings(part, folder, prefer)
    return tuple(dict.fromkeys(found))


def relative(path: str, item_type: str, folder: str) -> tuple[Lookup, ...]:
    """Return what a path names that counts from the folder of an item; nothing where it leads out of the space."""
    root = ItemType(item_type).folder
    place = posixpath.normpath(posixpath.join(root, folder, path.partition("#")[0].partition("?")[0]))
    kind = _TYPE_OF_FOLDER.get(place.partition("/")[0])
    rest = place.partition("/")[2]
    if kind is None or not rest:
        return ()
    return tuple(_by_id(each, kind) for each in dict.fromkeys((_stem(rest), rest)))


def _without_suffixes(text: str) -> list[str]:
    """Return a reference, then without a ``#section``, then without an ``@version``."""
    parts = [text]
    for mark in "#@":
        head = parts[-1].partition(mark)[0]
        if head and head != parts[-1]:
            parts.append(head)
    return parts


def _readings(text: str, folder: str, prefer: str) -> list[Lookup]:
    if match := _REFERENCE.fullmatch(text):
        return _ids(match[2], folder, match[1], only=True)
    found = _ids(text.removeprefix(".ai/"), folder, prefer)
    if match := _CAPABILITY.fullmatch(text):
        found.append(_by_id(match[2].replace(".", "/"), match[1]))
    return found


def _ids(text: str, folder: str, kind: str, *, only: bool = False) -> list[Lookup]:
    """Return lookups of an id in the forms it has; of one type first, and unless ``only`` of any after that."""
    top, _, rest = text.partition("/")
    found = []
    if not only and rest and top in _TYPE_OF_FOLDER:
        found = [_by_id(each, _TYPE_OF_FOLDER[top]) for each in dict.fromkeys((_stem(rest), rest))]
    forms = [text, _stem(text)]
    if "/" not in text:
        forms += [text.replace(".", "/")] if "." in text.strip(".") else []
        forms += [f"{folder}/{_stem(text)}"] if folder else []
    kinds = ([kind] if kind else []) + ([] if only else [""])
    found += [_by_id(form, each) for form in dict.fromkeys(forms) if form for each in kinds]
    if "/" not in text:
        found += [_by_name(_stem(text), each) for each in kinds]
    return found


def _stem(path: str) -> str:
    """Return a path without the extension of an item's file, if it has one."""
    stem, dot, extension = path.rpartition(".")
    return stem if stem and stem[-1] != "/" and dot + extension in _SUFFIXES else path


def _by_id(item_id: str, kind: str) -> Lookup:
    return Lookup(TYPED if kind else 0, key_of(item_id, TYPE_NUMBER[kind] if kind else 0))


def _by_name(name: str, kind: str = "") -> Lookup:
    return Lookup(BY_NAME | (TYPED if kind else 0), key_of(name, TYPE_NUMBER[kind] if kind else 0))


@lru_cache(maxsize=1 << 16)
def id_lookups(text: str) -> tuple[Lookup, ...]:
    """Return what a word with a slash in running text may name: an item by its id, or by its path in a space."""
    return tuple(each for each in lookups(text, "tool", "") if not each.how & BY_NAME)


@lru_cache(maxsize=1 << 16)
def span_lookups(text: str) -> tuple[Lookup, ...]:
    """Return what a word marked as code may name: an item by its id with dots for slashes, or by its name."""
    if "." not in text:
        return (_by_name(text),)
    return tuple(dict.fromkeys((*id_lookups(text), _by_name(_stem(text)))))
