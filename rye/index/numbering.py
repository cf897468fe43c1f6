"""Equal runs of bytes → equal numbers, exactly and without an object for each: a hash table probed by whole arrays.

A run of up to sixteen bytes is two 64-bit words. What is longer is known by the number that its beginning got and the
next word, so the table is a trie whose edges are eight bytes long. Slots are those of a multiply-shift hash
(Dietzfelbinger et al., A Reliable Randomized Algorithm for the Closest-Pair Problem, 1997) with factors that nobody can
know beforehand, and are probed one after the other.
"""

from __future__ import annotations

import secrets
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from rye.index.packing import Ints

Words = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int32]

WORD = 8
"""Bytes behind the last run that are read and not looked at, at most."""

_LOWEST = np.asarray([(1 << 8 * size) - 1 for size in range(WORD + 1)], np.uint64)
"""Masks of so many bytes of a word."""

_NUMBER = np.uint64(1 << 63)
"""Tells a number from a word, as the highest bit of ASCII text is never set."""

_LEAST_BITS = 12

Number = TypeVar("Number", bound=np.integer[Any])


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
