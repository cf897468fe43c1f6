"""Keyword terms in compressed tables, and the columns of documents that need one: paths, and the two fixed orders.

Keyword terms (``key NUL value``) and the targets of references are looked up seldom and scanned by key, so they are
stored as packed strings (:mod:`rye.index.arrays`), :data:`BLOCK` to a block, each block compressed by itself. The first
string of every block stands beside them: a lookup is a bisection over these and one block unpacked. Most of what is
looked up is not there: a filter of one bit per hash (after Bloom, Space/Time Trade-offs in Hash Coding, 1970, with a
single hash function) says that of seven in eight without unpacking anything.
"""

from __future__ import annotations

import zlib
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from operator import add, eq

import numpy as np
import numpy.typing as npt

from rye.index.arrays import (
    NEWLINE,
    Array,
    Arrays,
    Ints,
    Numbers,
    Packed,
    ends_of,
    pack_table,
    packed_arrays,
    ranked,
    smallest,
)
from rye.index.container import DamagedError
from rye.index.schema import TYPE_NAMES
from rye.index.terms import SortedStrings, Strings, escape, literal
from rye.items.model import TYPE_OF_FOLDER

BLOCK = 64
"""Strings in a block; all blocks but the last are full."""

_CACHED = 32
_FILTER_BITS = 8
"""Bits of the filter for each string, at least."""


def compress_strings(name: str, ordered: Packed) -> Arrays:
    """Return the arrays ``name.*`` of a compressed table of strings in byte order."""
    offsets, buffer = ordered
    count, starts = len(offsets) - 1, offsets[:-1:BLOCK]
    blocks = [zlib.compress(buffer[start:stop], 1) for start, stop in pairwise([*starts.tolist(), len(buffer)])]
    # the filter: a power of two of bits, so that the lowest bits of a hash are its place
    bits = np.zeros(1 << max(_FILTER_BITS * count - 1, _FILTER_BITS - 1).bit_length(), bool)
    bits[np.fromiter(map(zlib.crc32, buffer.split(b"\n")[:-1]), np.int64, count) & (len(bits) - 1)] = True
    heads = b"".join(
        buffer[start:stop] for start, stop in zip(starts.tolist(), offsets[1::BLOCK].tolist(), strict=True)
    )
    return {
        f"{name}.count": np.asarray([count], np.int64),
        **packed_arrays(f"{name}.head", (ends_of(offsets[1::BLOCK] - starts), heads)),
        f"{name}.ends": smallest(np.cumsum([0, *map(len, blocks)])),
        f"{name}.blocks": np.frombuffer(b"".join(blocks), np.uint8),
        f"{name}.filter": np.packbits(bits, bitorder="little"),
    }


def pack_keywords(ordered: Packed, owners: Ints, docs: Ints) -> Arrays:
    """Return the arrays ``entry.*`` of keyword terms in byte order and of ``(term, document)`` pairs in order."""
    counts = np.bincount(owners, minlength=len(ordered[0]) - 1)
    postings = {"entry.postings": smallest(ends_of(counts)), "entry.doc": smallest(docs)}
    return compress_strings("entry", ordered) | postings


def _unpack(blocks: memoryview, ends: Array, number: int) -> bytes:
    try:
        return zlib.decompress(blocks[ends[number] : ends[number + 1]])
    except zlib.error as error:
        raise DamagedError(f"block {number}: {error}") from error


class CompressedStrings(SortedStrings):
    """Reads what :func:`compress_strings` made.

    Args:
        name: The name of the table.
        array: Returns an array by its name.
        buffer: Returns the bytes of an array by its name.

    Raises:
        DamagedError: On access, a block cannot be unpacked.
    """

    def __init__(self, name: str, array: Callable[[str], Array], buffer: Callable[[str], memoryview]) -> None:
        self._count = int(array(f"{name}.count")[0])
        self._heads = Strings(array(f"{name}.head.offsets"), buffer(f"{name}.head.buffer"))
        self._bits = buffer(f"{name}.filter")
        # neither holds this object: in a cycle, the file would stay open until garbage is collected
        self._unpack = unpack = partial(_unpack, buffer(f"{name}.blocks"), array(f"{name}.ends"))
        self._block = lru_cache(_CACHED)(lambda number: unpack(number).split(b"\n")[:-1])

    def __len__(self) -> int:
        return self._count

    def raw(self, index: int) -> bytes:
        """Return one string as UTF-8."""
        return self._block(index // BLOCK)[index % BLOCK]

    def take(self, ids: Numbers) -> list[str]:
        """Return several strings."""
        return [self[i] for i in ids.tolist()]

    def unpacked(self) -> Strings:
        """Return the same table, not compressed."""
        return self._part(0, len(self._heads))

    @cached_property
    def everything(self) -> list[str]:
        """All strings, decoded once."""
        return self.unpacked().everything

    def lower_bound(self, key: bytes) -> int:
        """Return the index of the first string that is not less than ``key``."""
        after = self._heads.lower_bound(key)
        return (after - 1) * BLOCK + bisect_left(self._block(after - 1), key) if after else 0

    def find(self, text: str) -> int:
        """Return the index of a string, or -1."""
        bit = zlib.crc32(text.encode("utf-8", "surrogatepass")) & (8 * len(self._bits) - 1)
        return super().find(text) if self._bits[bit >> 3] >> (bit & 7) & 1 else -1

    def matching(self, glob: str, *, within: tuple[int, int] | None = None) -> Ints:
        """Return the ids, ascending, of the strings that match a glob, in a range of the table."""
        low, high = within if within is not None else (0, self._count)
        text = literal(glob)
        if escape(text) == glob:  # one block is unpacked, and not all in the range
            at = self.find(text)
            return np.asarray([at] if low <= at < high else [], np.int64)
        if low >= high:
            return np.empty(0, np.int64)
        first = low // BLOCK
        base = first * BLOCK
        part = self._part(first, (high - 1) // BLOCK + 1)
        return part.matching(glob, within=(low - base, high - base)) + base

    def _part(self, first: int, last: int) -> Strings:
        """Return a plain table of some consecutive blocks."""
        buffer = b"".join(map(self._unpack, range(first, last)))
        ends = np.flatnonzero(np.frombuffer(buffer, np.uint8) == NEWLINE) + 1
        return Strings(np.concatenate([np.zeros(1, np.int64), ends]), memoryview(buffer))


_FOLDERS = tuple(f"{folder}/" for folder in TYPE_OF_FOLDER)
_AFTER, _WHOLE = "+", "="
"""Before the part of a path that follows type folder and id, and before a path that does not begin with them."""


def pack_paths(paths: Sequence[str], types: Sequence[int], ids: Sequence[str]) -> Arrays:
    """Return the arrays ``path*``: the part of each path that does not follow from type number and id."""
    # nearly all paths are folder of the type, id, suffix; only the suffix is kept of those
    starts = map(add, map(_FOLDERS.__getitem__, types), ids)
    rests = list(map(str.removeprefix, paths, starts))
    whole = map(eq, map(len, rests), map(len, paths))
    return pack_table("path", list(map(add, map((_AFTER, _WHOLE).__getitem__, whole), rests)))


class Paths:
    """Reads what :func:`pack_paths` made.

    Args:
        numbers: Shape ``(docs,)``: which of the rests a path ends with.
        rests: The distinct rests.
        types: Shape ``(docs,)``: the type number of every document.
        ids: The id of every document.
    """

    def __init__(self, numbers: Array, rests: Strings, types: npt.NDArray[np.uint8], ids: Strings) -> None:
        self._numbers = numbers
        self._rests = rests
        self._types = types
        self._ids = ids

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, doc: int) -> str:
        return self.of(doc, self._ids[doc])

    def of(self, doc: int, item_id: str) -> str:
        """Return the path of a document, given its id."""
        return _path(self._rests[self._numbers.item(doc)], self._types.item(doc), item_id)

    def take(self, docs: Numbers) -> list[str]:
        """Return several paths."""
        return self._paths(self._numbers[docs], self._types[docs], self._ids.take(docs))

    @cached_property
    def everything(self) -> list[str]:
        """All paths."""
        return self._paths(self._numbers, self._types, self._ids.everything)

    def _paths(self, numbers: Array, types: Array, ids: list[str]) -> list[str]:
        rests = self._rests.everything
        return list(map(_path, map(rests.__getitem__, numbers.tolist()), types.tolist(), ids))


def _path(rest: str, kind: int, item_id: str) -> str:
    return rest[1:] if rest[0] == _WHOLE else f"{_FOLDERS[kind]}{item_id}{rest[1:]}"


def name_key(item_id: str) -> str:
    """Return the text by which an id is sorted by name: its last part, casefolded."""
    return item_id.rpartition("/")[2].casefold()


def rank_arrays(ids: Sequence[str], types: Sequence[int], paths: Sequence[str]) -> Arrays:
    """Return the place of every document in the two fixed orders: by id, type and path, and by name."""
    distinct, places = ranked(ids)
    rows = [places]  # sort keys, the last one first, as lexsort takes them
    if len(distinct) < len(ids):
        kinds = ranked(TYPE_NAMES)[1][np.asarray(types, np.int64)]
        rows = [ranked(paths)[1], kinds, places]
    by_id = np.lexsort(rows)
    by_name = by_id[np.argsort(ranked(list(map(name_key, ids)))[1][by_id], kind="stable")]
    return {"doc.rank": _places(by_id), "doc.name": _places(by_name)}


def _places(order: Ints) -> Array:
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return smallest(places)
