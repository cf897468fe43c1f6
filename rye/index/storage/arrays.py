"""Array types, and array operations that numpy lacks or does slowly."""

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
"""Integers in their stored width."""

Packed: TypeAlias = tuple[Ints, bytes]
"""A table of strings, each followed by a newline: the offsets of all strings and of the end, and the text."""

Number = TypeVar("Number", bound=np.integer[Any])

NEWLINE = 10
"""Ends every string of a packed table."""

_WORD = 8
_HALF = 32


def group_starts(ordered: Array) -> Bools:
    """Return which elements of a sorted array differ from the previous one: the first of each group of equal ones."""
    mask = np.empty(len(ordered), bool)
    mask[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=mask[1:])
    return mask


def unique(*several: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Return the distinct numbers of one or more arrays, ascending.

    Like ``np.unique`` and ``np.union1d``, which since numpy 2.3 hash before they sort and take ten times as long. The
    arrays are mostly ascending already, and merging such runs is what a stable sort does in linear time.
    """
    numbers = np.concatenate(several)
    numbers.sort(kind="stable")
    return numbers[group_starts(numbers)]


def mask(numbers: Numbers, size: int) -> Bools:
    """Return a mask of length ``size`` that is set at the given numbers."""
    members = np.zeros(size, bool)
    members[numbers] = True
    return members


def ends_of(sizes: Sequence[int] | Array) -> Ints:
    """Return the bounds of consecutive runs of these sizes: the start of each run, then the end of the last.

    Shape ``(n + 1,)``, the form of every table of bounds in a segment: run ``i`` is ``[ends[i], ends[i + 1])``.
    """
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])


def ranges(starts: Numbers, stops: Numbers) -> Ints:
    """Concatenate ``arange(start, stop)`` of each pair, without a loop; selects many runs at once.

    >>> ranges(np.array([5, 0, 9]), np.array([7, 1, 9])).tolist()
    [5, 6, 0]
    """
    starts, stops = starts.astype(np.int64, copy=False), stops.astype(np.int64, copy=False)
    widths = stops - starts
    # element i of the result is i, plus the start of its pair, minus the widths of all earlier pairs
    indices: Ints = np.arange(int(widths.sum())) + np.repeat(starts - (np.cumsum(widths) - widths), widths)
    return indices


def smallest(values: Array) -> Array:
    """Return non-negative numbers in the smallest unsigned dtype that holds them all."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))), copy=False)


def pack(strings: Sequence[str]) -> Packed:
    """Return strings as a packed table in the given order; newlines in them become spaces."""
    joined = "\n".join(strings)  # strings with newlines are rare: one count finds them
    if joined.count("\n") >= max(len(strings), 1):
        joined = "\n".join(text.replace("\n", " ") for text in strings)
    buffer = f"{joined}\n".encode("utf-8", "surrogatepass") if strings else b""
    ends = np.flatnonzero(np.frombuffer(buffer, np.uint8) == NEWLINE) + 1
    return np.concatenate([np.zeros(1, np.int64), ends]), buffer


def pack_strings(name: str, texts: Sequence[str]) -> Arrays:
    """Return the arrays ``name.offsets`` and ``name.buffer`` of strings in the given order."""
    return packed_arrays(name, pack(texts))


def packed_arrays(name: str, table: Packed) -> Arrays:
    """Return the arrays ``name.offsets`` and ``name.buffer`` of a packed table."""
    return {f"{name}.offsets": smallest(table[0]), f"{name}.buffer": np.frombuffer(table[1], np.uint8)}


def pack_table(name: str, values: Sequence[str]) -> Arrays:
    """Return the sorted distinct values as the strings ``name``, and the number of each value as the array ``name``."""
    distinct = sorted(set(values))
    number = {value: at for at, value in enumerate(distinct)}
    numbers = np.fromiter(map(number.__getitem__, values), np.int64, len(values))
    return pack_strings(name, distinct) | {name: smallest(numbers)}


def ranked(texts: Sequence[str]) -> tuple[list[str], Ints]:
    """Return the distinct texts in byte order, and the rank of each text; no text may end with a NUL."""
    offsets, buffer = pack(texts)
    order, first = _sorted(offsets, buffer)
    return list(map(texts.__getitem__, order[first].tolist())), _places(order, first)


def united(tables: Sequence[Packed]) -> tuple[Packed, Ints]:
    """Return the distinct strings of packed tables in byte order, and the rank of each string of all tables."""
    buffer = b"".join(text for _, text in tables)
    # for each string of all tables: its start in the joined text
    starts = [own[:-1] + at for (own, _), at in zip(tables, ends_of([len(text) for _, text in tables]), strict=False)]
    offsets = np.concatenate([*starts, [len(buffer)]])
    order, first = _sorted(offsets, buffer)
    begins, ends = offsets[order[first]], offsets[order[first] + 1]
    lines = np.frombuffer(buffer, np.uint8)[ranges(begins, ends)]
    return (ends_of(ends - begins), lines.tobytes()), _places(order, first)


def _places(order: Ints, first: Bools) -> Ints:
    """Return the rank of each string among the distinct ones, given the result of :func:`_sorted`."""
    # in sorted order, the rank is the number of distinct strings so far; scatter it back to the given order
    places = np.empty(len(order), np.int64)
    places[order] = np.cumsum(first) - 1
    return places


def _sorted(offsets: Ints, buffer: bytes) -> tuple[Ints, Bools]:
    """Return the order of strings, and for each string in that order whether it differs from the previous one.

    A most-significant-digit radix sort (McIlroy, Bostic and McIlroy, Engineering Radix Sort, 1993), eight bytes a
    round. Each string is read as a big-endian word, padded with zeros, so that words sort like their bytes. Only groups
    of several strings that continue beyond this word take part in the next round; ``group`` keeps apart those that
    already differ.
    """
    starts, sizes = offsets[:-1], np.diff(offsets) - 1
    # the eight bytes that begin at every byte of the buffer, overlapping, without a copy
    words = np.ndarray((len(buffer) + 1,), ">u8", buffer + bytes(_WORD), strides=(1,))
    order, starts_group = np.arange(len(sizes)), np.zeros(len(sizes), bool)
    # places: the places in the order of this round's strings; group: the group number of each
    places, group, at = order.copy(), np.zeros(len(sizes), np.int64), 0
    while len(places):
        numbers = order[places]
        left = np.minimum(sizes[numbers] - at, _WORD).clip(0)  # bytes of each string in this word
        word = words[starts[numbers] + np.minimum(at, sizes[numbers])].astype(np.uint64)
        above = left < _WORD
        word[above] &= ~(~np.uint64(0) >> (8 * left[above]).astype(np.uint64))
        # words are replaced by their ranks, which leave room for the group above them
        sorting = np.argsort((group << _HALF) | np.unique(word, return_inverse=True)[1] if at else word)
        numbers, word, group = numbers[sorting], word[sorting], group[sorting]
        first = np.ones(len(numbers), bool)
        first[1:] = (word[1:] != word[:-1]) | (group[1:] != group[:-1])
        order[places] = numbers
        starts_group[places] |= first
        group, at = np.cumsum(first) - 1, at + _WORD
        begins = np.flatnonzero(first)
        # per group: whether it has several strings, one of which continues
        again = np.logical_or.reduceat(sizes[numbers] > at, begins) & (np.diff(begins, append=len(numbers)) > 1)
        places, group = places[again[group]], group[again[group]]
    return order, starts_group
