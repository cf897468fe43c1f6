"""Array types and the operations on whole arrays that numpy lacks or is slow at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
Arrays: TypeAlias = dict[str, Array]
Bools: TypeAlias = npt.NDArray[np.bool_]
Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Numbers: TypeAlias = npt.NDArray[np.integer[Any]]
"""Integers as narrow as they are stored."""

Packed: TypeAlias = tuple[Ints, bytes]
"""A table of strings, each followed by a newline: where each begins and the last one ends, and the text of all."""

Number = TypeVar("Number", bound=np.integer[Any])

NEWLINE = 10
"""Ends every string of a packed table."""

_WORD = 8
_HALF = 32


def fresh(ordered: Array) -> Bools:
    """Return which of some ordered numbers differ from the one before: where each group of equal ones begins."""
    found = np.empty(len(ordered), bool)
    found[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=found[1:])
    return found


def unique(*several: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Return the numbers of one or more arrays, each once, ascending.

    As ``np.unique`` and ``np.union1d``, which hash before they sort since numpy 2.3, and take ten times as long.
    """
    numbers = np.concatenate(several)
    numbers.sort()
    return numbers[fresh(numbers)]


def ends_of(sizes: Sequence[int] | Array) -> Ints:
    """Return where runs of these sizes begin when they follow each other, and where the last one ends.

    Shape ``(n + 1,)``: the form of every table of bounds in a segment; run ``i`` is ``[ends[i], ends[i + 1])``.
    """
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])


def ranges(starts: Numbers, stops: Numbers) -> Ints:
    """Return the concatenation of ``arange(start, stop)`` for each pair, without a loop: picks many runs at once.

    >>> ranges(np.array([5, 0, 9]), np.array([7, 1, 9])).tolist()
    [5, 6, 0]
    """
    starts, stops = starts.astype(np.int64, copy=False), stops.astype(np.int64, copy=False)
    widths = stops - starts
    # element i of the result belongs to one pair; it is i, shifted by start of the pair less the widths before it
    found: Ints = np.arange(int(widths.sum())) + np.repeat(starts - (np.cumsum(widths) - widths), widths)
    return found


def smallest(values: Array) -> Array:
    """Return numbers of at least zero in the smallest unsigned dtype that holds them all."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))), copy=False)


def pack(strings: Sequence[str]) -> Packed:
    """Return strings as a packed table, in the order given; newlines inside become spaces."""
    joined = "\n".join(strings)  # strings with a newline inside are rare: they are looked for in one count
    if joined.count("\n") >= max(len(strings), 1):
        joined = "\n".join(text.replace("\n", " ") for text in strings)
    buffer = f"{joined}\n".encode("utf-8", "surrogatepass") if strings else b""
    ends = np.flatnonzero(np.frombuffer(buffer, np.uint8) == NEWLINE) + 1
    return np.concatenate([np.zeros(1, np.int64), ends]), buffer


def pack_strings(name: str, texts: Sequence[str]) -> Arrays:
    """Return the arrays ``name.offsets`` and ``name.buffer`` of strings in the order given."""
    return packed_arrays(name, pack(texts))


def packed_arrays(name: str, table: Packed) -> Arrays:
    """Return the same arrays of a packed table."""
    return {f"{name}.offsets": smallest(table[0]), f"{name}.buffer": np.frombuffer(table[1], np.uint8)}


def pack_table(name: str, values: Sequence[str]) -> Arrays:
    """Return the distinct values, sorted, as the strings ``name``, and which each value is as the array ``name``."""
    distinct = sorted(set(values))
    number = {value: at for at, value in enumerate(distinct)}
    numbers = np.fromiter(map(number.__getitem__, values), np.int64, len(values))
    return pack_strings(name, distinct) | {name: smallest(numbers)}


def ranked(texts: Sequence[str]) -> tuple[list[str], Ints]:
    """Return the distinct texts in byte order, and the place of each text in it; none may end with a NUL."""
    offsets, buffer = pack(texts)
    order, first = _sorted(offsets, buffer)
    return list(map(texts.__getitem__, order[first].tolist())), _places(order, first)


def united(tables: Sequence[Packed]) -> tuple[Packed, Ints]:
    """Return the distinct strings of packed tables in byte order, and the place in it of each string of all tables."""
    buffer = b"".join(text for _, text in tables)
    # per string of any table: where it begins in the joined text
    starts = [own[:-1] + at for (own, _), at in zip(tables, ends_of([len(text) for _, text in tables]), strict=False)]
    offsets = np.concatenate([*starts, [len(buffer)]])
    order, first = _sorted(offsets, buffer)
    begins, ends = offsets[order[first]], offsets[order[first] + 1]
    lines = np.frombuffer(buffer, np.uint8)[ranges(begins, ends)]
    return (ends_of(ends - begins), lines.tobytes()), _places(order, first)


def _places(order: Ints, first: Bools) -> Ints:
    """Return the place of each string among the distinct ones, given the result of :func:`_sorted`."""
    # in order, the place is how many distinct ones have begun; scattered back to where each was given
    places = np.empty(len(order), np.int64)
    places[order] = np.cumsum(first) - 1
    return places


def _sorted(offsets: Ints, buffer: bytes) -> tuple[Ints, Bools]:
    """Return the order of strings, and which of them, in that order, differ from the one before.

    A radix sort from the left (MSD: McIlroy, Bostic and McIlroy, Engineering Radix Sort, 1993), eight bytes a round:
    each string is read as a big-endian word, bytes behind its end as zeros, so that words order as their bytes do. Only
    groups of more than one string that go on beyond this word take part in the next round, where ``group`` keeps
    those that already differ apart.
    """
    starts, sizes = offsets[:-1], np.diff(offsets) - 1
    # the eight bytes that begin at every byte of the buffer, overlapping, without a copy
    words = np.ndarray((len(buffer) + 1,), ">u8", buffer + bytes(_WORD), strides=(1,))
    order, fresh = np.arange(len(sizes)), np.zeros(len(sizes), bool)
    # places: where in the order the strings of this round stand; group: number of the group of each
    places, group, at = order.copy(), np.zeros(len(sizes), np.int64), 0
    while len(places):
        some = order[places]
        left = np.minimum(sizes[some] - at, _WORD).clip(0)  # bytes of each that this word still holds
        word = words[starts[some] + np.minimum(at, sizes[some])].astype(np.uint64)
        above = left < _WORD
        word[above] &= ~(~np.uint64(0) >> (8 * left[above]).astype(np.uint64))
        # words are replaced by their ranks, which leave room for the group above them
        sorting = np.argsort((group << _HALF) | np.unique(word, return_inverse=True)[1] if at else word)
        some, word, group = some[sorting], word[sorting], group[sorting]
        first = np.ones(len(some), bool)
        first[1:] = (word[1:] != word[:-1]) | (group[1:] != group[:-1])
        order[places] = some
        fresh[places] |= first
        group, at = np.cumsum(first) - 1, at + _WORD
        begins = np.flatnonzero(first)
        # per group: has it several strings, and one that goes on
        again = np.logical_or.reduceat(sizes[some] > at, begins) & (np.diff(begins, append=len(some)) > 1)
        places, group = places[again[group]], group[again[group]]
    return order, fresh
