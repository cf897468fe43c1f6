"""Vectorized position joins: phrases, windows and nearness as arithmetic on sorted arrays of position keys.

A key orders by document, field and position; adding n to a key moves n positions on within the same field, because a
field's positions never reach the next field's (see :data:`rye.index.segment.POSITION_BITS`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from rye.index.arrays import unique
from rye.index.reader import Floats
from rye.index.segment import Bools, Ints
from rye.search.docs import look_up


class Occurrences(NamedTuple):
    """Where something occurs in one segment.

    Attributes:
        starts, ends: Keys of first and last position; ascending by start, then end.
        weights: Weight of each occurrence.
    """

    starts: Ints
    ends: Ints
    weights: Floats

    def take(self, which: Bools | Ints) -> Occurrences:
        """Return some of the occurrences."""
        return Occurrences(self.starts[which], self.ends[which], self.weights[which])


def distinct(found: Occurrences, *, by_start: bool) -> Occurrences:
    """Keep one occurrence per start (or per start and end): the heaviest, among equals the longest."""
    order = np.lexsort((-found.ends, -found.weights, found.starts)) if by_start else np.lexsort(
        (-found.weights, found.ends, found.starts)
    )  # fmt: skip
    found = found.take(order)
    fresh = np.ones(len(found.starts), bool)
    fresh[1:] = found.starts[1:] != found.starts[:-1]
    if not by_start:
        fresh[1:] |= found.ends[1:] != found.ends[:-1]
    return found.take(fresh)


def union(several: Sequence[Occurrences], *, by_start: bool) -> Occurrences:
    """Return all occurrences of several kinds, without repetitions."""
    if len(several) == 1:
        return several[0]
    joined = Occurrences(*(np.concatenate(columns) for columns in zip(*several, strict=True)))
    return distinct(joined, by_start=by_start)


def consecutive(parts: Sequence[Occurrences], offsets: Sequence[int]) -> Occurrences:
    """Return where every part stands at its offset from the first; the weight is the least of the parts'.

    Starts from the rarest part and looks the others up by bisection.
    """
    rarest = min(range(len(parts)), key=lambda i: len(parts[i].starts))
    starts, weights = parts[rarest].starts - offsets[rarest], parts[rarest].weights
    for index, part in enumerate(parts):
        if index == rarest or not len(starts):
            continue
        at, hit = look_up(part.starts, starts + offsets[index])
        starts, weights = starts[hit], np.minimum(weights[hit], part.weights[at[hit]])
    return Occurrences(starts, starts + offsets[-1], weights)


def windowed(parts: Sequence[tuple[Ints, int]], width: int) -> list[Ints]:
    """Return, per word, its positions inside some window of ``width`` positions that holds all words often enough.

    Args:
        parts: Per distinct word its keys, ascending, and how often the window must hold it.
        width: Positions in a window.
    """
    begins = unique(*(keys for keys, _ in parts))
    for keys, times in parts:
        inside = np.searchsorted(keys, begins + width, side="left") - np.searchsorted(keys, begins, side="left")
        begins = begins[inside >= times]
    return [keys[_any_between(begins, keys - width + 1, keys)] for keys, _ in parts]


def _any_between(ordered: Ints, low: Ints, high: Ints) -> Bools:
    """Return per pair whether any of some ascending numbers lies in ``[low, high]``."""
    found: Bools = np.searchsorted(ordered, high, side="right") > np.searchsorted(ordered, low, side="left")
    return found


def _near(these: Occurrences, those: Occurrences, distance: int) -> Bools:
    """Return which of these have one of those before or after them, not overlapping, at most ``distance`` away."""
    after = _any_between(those.starts, these.ends + 1, these.ends + distance)
    before = _any_between(np.sort(those.ends), these.starts - distance, these.starts - 1)
    return after | before


def chained(operands: Sequence[Callable[[], Occurrences]], distances: Sequence[int]) -> Iterator[Occurrences]:
    """Yield per operand, from the last to the first, the occurrences that take part in a whole chain of neighbours.

    One pass forward and one back: on a chain, what survives both is exactly what some full choice uses. Between the two
    nothing is kept but which survive; the operands are asked for again.
    """
    kept = operands[0]()
    survive: list[Bools | None] = [None]
    for operand, distance in zip(operands[1:], distances, strict=True):
        these = operand()
        survive.append(mask := _near(these, kept, distance))
        kept = these.take(mask)
    yield kept
    for operand, those, distance in zip(operands[-2::-1], survive[-2::-1], distances[::-1], strict=True):
        these = operand() if those is None else operand().take(those)
        kept = these.take(_near(these, kept, distance))
        yield kept
