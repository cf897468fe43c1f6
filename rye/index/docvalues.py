"""A sorted table of strings, compressed in blocks: for what is looked up seldom and scanned by key.

The strings are joined as in :mod:`rye.index.terms`, :data:`BLOCK` to a block, and each block is compressed by itself.
The first string of every block stands beside them, so a lookup is a bisection over these and one block unpacked. Most
of what is looked up is not there: a filter of one bit per hash (after Bloom, Space/Time Trade-offs in Hash Coding,
1970, with a single hash function) tells that of seven in eight without unpacking anything.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from rye.index import terms as strings
from rye.index.arrays import pack_strings, smallest
from rye.index.container import DamagedError
from rye.index.terms import Ids, Strings

BLOCK = 64
"""Strings in a block; all blocks but the last are full."""

_KEPT = 32
_BITS = 8
"""Bits of the filter for each string, at least."""


def pack(texts: Sequence[str], name: str) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays ``name.*`` of strings in byte order."""
    offsets, buffer = strings.pack(texts)
    joined, borders = buffer.tobytes(), [*offsets[:-1:BLOCK].tolist(), len(buffer)]
    blocks = [zlib.compress(joined[start:stop], 1) for start, stop in pairwise(borders)]
    ends = np.cumsum([0, *map(len, blocks)])
    return {
        f"{name}.count": np.asarray([len(texts)], np.int64),
        **pack_strings(f"{name}.head", texts[::BLOCK]),
        f"{name}.ends": smallest(ends),
        f"{name}.blocks": np.frombuffer(b"".join(blocks), np.uint8),
        f"{name}.filter": _filter(joined.split(b"\n")[:-1]),
    }


def _filter(keys: Sequence[bytes]) -> npt.NDArray[np.uint8]:
    """Return the bits of the hashes of some strings, eight to a byte; the number of bits is a power of two."""
    size = 1 << max(_BITS * len(keys) - 1, _BITS - 1).bit_length()
    bits = np.zeros(size, bool)
    bits[np.fromiter(map(zlib.crc32, keys), np.int64, len(keys)) & (size - 1)] = True
    return np.packbits(bits, bitorder="little")


class Blocks:
    """A read-only table of sorted strings, with the lookups of :class:`rye.index.terms.Strings`.

    Args:
        count: How many strings there are.
        heads: The first string of every block.
        ends: Where each block ends; a zero comes first.
        buffer: The compressed blocks.
        bits: The filter.
    """

    def __init__(
        self, count: int, heads: Strings, ends: npt.NDArray[Any], buffer: memoryview, *, bits: memoryview
    ) -> None:
        self._count = count
        self._heads = heads
        self._ends = ends
        self._buffer = buffer
        self._bits = bits
        self._block = lru_cache(_KEPT)(self._unpacked)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> str:
        return self.raw(index).decode("utf-8", "surrogatepass")

    def _unpacked(self, number: int) -> list[bytes]:
        """Return the strings of one block."""
        try:
            return zlib.decompress(self._buffer[self._ends[number] : self._ends[number + 1]]).split(b"\n")[:-1]
        except zlib.error as error:
            raise DamagedError(f"block {number}: {error}") from error

    def raw(self, index: int) -> bytes:
        """Return one string as UTF-8."""
        return self._block(index // BLOCK)[index % BLOCK]

    def take(self, ids: npt.NDArray[np.integer]) -> list[str]:
        """Return several strings."""
        return [self[i] for i in ids.tolist()]

    @cached_property
    def everything(self) -> list[str]:
        """All strings, decoded once."""
        return self._part(0, len(self._heads)).everything

    def lower_bound(self, key: bytes) -> int:
        """Return the index of the first string that is not less than ``key``."""
        after = self._heads.lower_bound(key)
        if not after:
            return 0
        block = self._block(after - 1)
        low, high = 0, len(block)
        while low < high:
            middle = (low + high) // 2
            if block[middle] < key:
                low = middle + 1
            else:
                high = middle
        return (after - 1) * BLOCK + low

    def find(self, text: str) -> int:
        """Return the index of a string, or -1."""
        key = text.encode("utf-8", "surrogatepass")
        bit = zlib.crc32(key) & (8 * len(self._bits) - 1)
        if not self._bits[bit >> 3] >> (bit & 7) & 1:
            return -1
        index = self.lower_bound(key)
        return index if index < self._count and self.raw(index) == key else -1

    def prefix_range(self, prefix: str) -> tuple[int, int]:
        """Return the half-open range of strings that start with ``prefix``."""
        key = prefix.encode("utf-8", "surrogatepass")
        successor = key.rstrip(b"\xff")
        high = self.lower_bound(successor[:-1] + bytes([successor[-1] + 1])) if successor else self._count
        return self.lower_bound(key), high

    def matching(self, glob: str, *, within: tuple[int, int] | None = None) -> Ids:
        """Return the ids, ascending, of the strings that match a glob, in a range of the table."""
        low, high = within if within is not None else (0, self._count)
        text = strings.literal(glob)
        if strings.escape(text) == glob:  # one block is unpacked, and not all in the range
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
        try:
            pieces = [zlib.decompress(self._buffer[self._ends[at] : self._ends[at + 1]]) for at in range(first, last)]
        except zlib.error as error:
            raise DamagedError(f"blocks {first} to {last}: {error}") from error
        buffer = b"".join(pieces)
        ends = np.flatnonzero(np.frombuffer(buffer, np.uint8) == ord("\n")) + 1
        return Strings(np.concatenate([np.zeros(1, np.int64), ends]), memoryview(buffer))
