"""Many strings → their places in byte order: sorted eight bytes at a time, by whole arrays.

The most significant bytes come first (MSD radix sort), and only strings that are equal so far are looked at again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rye.index import strings
from rye.index.packing import Ints

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
