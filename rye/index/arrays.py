"""What numpy has no quick way to do with whole arrays."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from rye.index import terms as strings
from rye.index.schema import FIELD_BITS
from rye.index.terms import ranges

__all__ = ["fresh", "unique"]

Number = TypeVar("Number", bound=np.integer[Any])


def fresh(ordered: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return which of some ascending numbers differ from the one before."""
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


# -- How a segment keeps its numbers small: postings of one word each, positions of mostly one byte.
Array = npt.NDArray[Any]
Arrays = dict[str, Array]
Ints = npt.NDArray[np.int64]

MIN_TF_BITS = 4
"""A posting takes 32 bits as long as so many of them are left for tf."""

WIDE_TF_BITS = 24
"""Bits of tf in a posting of 64."""

_LOW = 0xFF


def smallest(values: Array) -> Array:
    """Return numbers of at least zero in the smallest unsigned dtype that holds them all."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))), copy=False)


def pack_strings(name: str, texts: Sequence[str]) -> Arrays:
    """Return the arrays ``name.offsets`` and ``name.buffer`` of strings in the order given."""
    offsets, buffer = strings.pack(texts)
    return {f"{name}.offsets": smallest(offsets), f"{name}.buffer": buffer}


def pack_table(name: str, values: Sequence[str]) -> Arrays:
    """Return the distinct values, sorted, as the strings ``name``, and as the array ``name`` which each one is."""
    distinct = sorted(set(values))
    number = {value: at for at, value in enumerate(distinct)}
    numbers = np.fromiter(map(number.__getitem__, values), np.int64, len(values))
    return pack_strings(name, distinct) | {name: smallest(numbers)}


def pack_postings(slots: Array, tf: Array, docs: int) -> tuple[Arrays, int]:
    """Return the arrays ``posting*`` and the bits that tf has.

    Args:
        slots: Document and field of each posting, as :func:`rye.index.segment.slot_keys` gives them.
        tf: How often the term occurs there, at least once.
        docs: How many documents the segment has.
    """
    needed = max(int(tf.max(initial=1)).bit_length(), 1)
    left = 32 - FIELD_BITS - max(docs - 1, 0).bit_length()
    narrow = left >= MIN_TF_BITS
    bits = min(needed, left if narrow else WIDE_TF_BITS)
    mask = (1 << bits) - 1
    word: Any = np.uint32 if narrow else np.uint64
    packed = (slots.astype(word) << word(bits)) | np.minimum(tf, mask).astype(word)
    large = np.flatnonzero(tf >= mask) if needed > bits else np.empty(0, np.int64)
    return {"posting": packed, "posting.large": smallest(large), "posting.tf": smallest(tf[large])}, bits


def pack_positions(positions: Array) -> Arrays:
    """Return the arrays ``position*`` of positions in the order of their postings."""
    plain = smallest(positions)
    far = np.flatnonzero(positions > _LOW)
    where, high = far.astype(np.min_scalar_type(len(positions))), smallest(positions[far] >> 8)
    if len(positions) + where.nbytes + high.nbytes >= plain.nbytes:
        where, high = where[:0], high[:0]
    else:
        plain = (positions & _LOW).astype(np.uint8)
    return {"position": plain, "position.far": where, "position.high": high}


class Positions:
    """Reads what :func:`pack_positions` made.

    Args:
        low: Shape ``(tokens,)``: the positions, or their lowest bytes.
        far: Numbers of the tokens whose position has more than its lowest byte, ascending.
        high: What is above it.
    """

    def __init__(self, low: Array, far: Array, high: Array) -> None:
        self._low = low
        self._far = far
        self._high = high

    def __len__(self) -> int:
        return len(self._low)

    def between(self, start: int, stop: int) -> Ints:
        """Return the positions of the tokens ``[start, stop)``."""
        found: Ints = self._low[start:stop].astype(np.int64)
        if len(self._far):
            first, last = np.searchsorted(self._far, np.asarray((start, stop), self._far.dtype))
            found[self._far[first:last].astype(np.int64) - start] |= self._high[first:last].astype(np.int64) << 8
        return found

    def of(self, starts: Ints, stops: Ints) -> Ints:
        """Return the positions of several runs ``[start, stop)`` of tokens, one after the other."""
        if len(starts) == 1:
            return self.between(int(starts[0]), int(stops[0]))
        found: Ints = self._low[ranges(starts, stops)].astype(np.int64)
        if len(self._far):
            kind = self._far.dtype
            first = self._far.searchsorted(starts.astype(kind))
            within = self._far.take(first, mode="clip") < stops
            within &= first < len(self._far)
            if not within.any():
                return found
            last = self._far.searchsorted(stops.astype(kind))
            widths = stops - starts
            shift = np.cumsum(widths) - widths - starts
            chosen = ranges(first, last)
            places = self._far[chosen].astype(np.int64) + np.repeat(shift, last - first)
            found[places] |= self._high[chosen].astype(np.int64) << 8
        return found


# -- Equal runs of bytes → equal numbers, exactly and without an object for each: a hash table probed by whole
Words = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int32]

WORD = 8
"""Bytes behind the last run that are read and not looked at, at most."""

_LOWEST = np.asarray([(1 << 8 * size) - 1 for size in range(WORD + 1)], np.uint64)
"""Masks of so many bytes of a word."""

_NUMBER = np.uint64(1 << 63)
"""Tells a number from a word, as the highest bit of ASCII text is never set."""

_LEAST_BITS = 12


def grown(values: npt.NDArray[Number], size: int, fill: int) -> npt.NDArray[Number]:
    """Return an array that has room for so many values, twice as many where it has to be a new one."""
    if len(values) >= size:
        return values
    return np.concatenate([values, np.full(2 * size - len(values), fill, values.dtype)])


class Numbering:
    """Numbers runs of ASCII; a number also stands for each beginning of a long run, so not every one is a run's."""

    def __init__(self) -> None:
        self._count = 1  # 0 marks a free slot
        self._before: Words = np.zeros(1, np.uint64)
        self._word: Words = np.zeros(1, np.uint64)
        self._factors = [np.uint64(secrets.randbits(64) | 1) for _ in range(2)]
        self._resize(_LEAST_BITS)

    def __len__(self) -> int:
        """Return a number above all that have been given."""
        return self._count

    def numbers(self, raw: bytes, starts: Ints, sizes: Ints) -> Numbers:
        """Return the number of each of some runs.

        Args:
            raw: ASCII text, with :data:`WORD` bytes behind the last run.
            starts: Where each run begins.
            sizes: How many bytes it has, at least one.
        """
        words = np.ndarray((len(raw) - WORD + 1,), "<u8", raw, strides=(1,))
        rows = np.flatnonzero(sizes > WORD)
        second = np.zeros(len(starts), np.uint64)
        second[rows] = words[starts[rows] + WORD] & _LOWEST[np.minimum(sizes[rows] - WORD, WORD)]
        found = self._step(words[starts] & _LOWEST[np.minimum(sizes, WORD)], second)
        at = 2 * WORD
        while len(rows := rows[sizes[rows] > at]):
            following = words[starts[rows] + at] & _LOWEST[np.minimum(sizes[rows] - at, WORD)]
            found[rows] = self._step(found[rows].astype(np.uint64) | _NUMBER, following)
            at += WORD
        return found

    def _step(self, before: Words, word: Words) -> Numbers:
        """Return the number of each pair, which is given to it when it is new."""
        if 2 * self._count + len(before) > len(self._slots):
            self._resize((2 * self._count + len(before)).bit_length())
        room = self._count + len(before)
        self._before, self._word = grown(self._before, room, 0), grown(self._word, room, 0)
        at = self._slots_of(before, word)
        found = self._slots[at]
        missing = np.flatnonzero((self._before[found] != before) | (self._word[found] != word))
        while len(missing):
            here = at[missing]
            self._claim(here, before[missing], word[missing])
            number = self._slots[here]
            other = (self._before[number] != before[missing]) | (self._word[number] != word[missing])
            found[missing] = number
            missing, here = missing[other], here[other]
            at[missing] = (here + 1) & (len(self._slots) - 1)
        return found

    def _claim(self, slots: Ints, before: Words, word: Words) -> None:
        """Give those slots that are free to one of the pairs that come to each."""
        free = np.flatnonzero(self._slots[slots] == 0)
        self._slots[slots[free]] = free
        free = free[self._slots[slots[free]] == free]
        end = self._count + len(free)
        self._slots[slots[free]] = np.arange(self._count, end)
        self._before[self._count : end], self._word[self._count : end] = before[free], word[free]
        self._count = end

    def _slots_of(self, before: Words, word: Words) -> Ints:
        first, second = self._factors
        mixed: Words = before * first
        mixed += (word ^ (before >> np.uint64(32))) * second
        slots: Ints = (mixed >> self._shift).astype(np.int64)
        return slots

    def _resize(self, bits: int) -> None:
        """Make a table of so many bits of slots."""
        self._slots: Numbers = np.zeros(1 << bits, np.int32)
        self._shift = np.uint64(64 - bits)
        count, self._count = self._count, 1
        before, word = self._before[1:count], self._word[1:count]
        at = self._slots_of(before, word)
        waiting = np.arange(1, count, dtype=np.int32)
        while len(waiting):
            here = at[waiting - 1]
            free = self._slots[here] == 0
            self._slots[here[free]] = waiting[free]
            waiting = waiting[self._slots[here] != waiting]
            at[waiting - 1] = (at[waiting - 1] + 1) & (len(self._slots) - 1)
        self._count = count


# -- Many strings → their places in byte order: sorted eight bytes at a time, by whole arrays.
_WORD = 8
_HALF = 32


def ranked(texts: Sequence[str]) -> tuple[list[str], Ints]:
    """Return the distinct texts in byte order, and the place of each text in it; none may end with a NUL."""
    offsets, buffer = strings.pack(texts)
    order, fresh = _sorted(offsets, buffer.tobytes())
    places = np.empty(len(order), np.int64)
    places[order] = np.cumsum(fresh) - 1
    return list(map(texts.__getitem__, order[fresh].tolist())), places


def _sorted(offsets: Ints, buffer: bytes) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Return the order of strings, and which of them, in that order, differ from the one before."""
    starts, sizes = offsets[:-1], np.diff(offsets) - 1
    words = np.ndarray((len(buffer) + 1,), ">u8", buffer + bytes(_WORD), strides=(1,))
    order, fresh = np.arange(len(sizes)), np.zeros(len(sizes), bool)
    places, group, at = order.copy(), np.zeros(len(sizes), np.int64), 0
    while len(places):
        some = order[places]
        left = np.minimum(sizes[some] - at, _WORD).clip(0)
        word = words[starts[some] + np.minimum(at, sizes[some])].astype(np.uint64)
        above = left < _WORD
        word[above] &= ~(~np.uint64(0) >> (8 * left[above]).astype(np.uint64))
        sorting = np.argsort((group << _HALF) | np.unique(word, return_inverse=True)[1] if at else word)
        some, word, group = some[sorting], word[sorting], group[sorting]
        first = np.ones(len(some), bool)
        first[1:] = (word[1:] != word[:-1]) | (group[1:] != group[:-1])
        order[places] = some
        fresh[places] |= first
        group, at = np.cumsum(first) - 1, at + _WORD
        begins = np.flatnonzero(first)
        again = np.logical_or.reduceat(sizes[some] > at, begins) & (np.diff(begins, append=len(some)) > 1)
        places, group = places[again[group]], group[again[group]]
    return order, fresh
