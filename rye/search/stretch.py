"""Where a leaf of several parts stands in some documents of one segment, and what it finds there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from rye.index.arrays import unique
from rye.index.reader import Floats
from rye.index.segment import POSITION_BITS, Ints, Numbers, Segment
from rye.search import positions
from rye.search.expand import How, Pattern
from rye.search.patterns import Nearby, Run, Window
from rye.search.positions import Occurrences
from rye.search.rows import Held, divided, least, sum_by


class Stretch:
    """Some documents of a segment, whose positions are read when first needed, and kept as long as this is.

    Args:
        segment: The segment.
        pattern: What the leaf looks for.
        held: The postings of each of its parts.
        wanted: The slots to look at, ascending.
    """

    def __init__(
        self, segment: Segment, pattern: Run | Window | Nearby, held: Mapping[Pattern, Held], wanted: Numbers
    ) -> None:
        self._segment = segment
        self._pattern = pattern
        self._held = held
        self._wanted = wanted
        self._placed: dict[Pattern, Occurrences] = {}

    def rows(self) -> tuple[Ints, Floats]:
        """Return the slots in which the leaf stands, ascending, and how often, weighted."""
        pattern = self._pattern
        if isinstance(pattern, Run):
            run = self._occurrences(pattern)
            return sum_by(run.starts >> POSITION_BITS, run.weights)
        if isinstance(pattern, Window):
            times = Counter(pattern.words).values()
            survivors = zip(self._survivors(pattern), times, strict=True)
            return least([divided(sum_by(keys >> POSITION_BITS, np.ones(len(keys))), many) for keys, many in survivors])
        return least([sum_by(found.starts >> POSITION_BITS, found.weights) for found in self._chain(pattern)])

    def stands(self) -> list[Occurrences]:
        """Return where the leaf stands; of neighbours, where each of them does."""
        pattern = self._pattern
        return list(self._chain(pattern)) if isinstance(pattern, Nearby) else [self._occurrences(pattern)]

    def looked_at(self, times: Mapping[Pattern, int]) -> int:
        """Return how many positions were read, those of each part so many times."""
        return sum(len(found.starts) * times[pattern] for pattern, found in self._placed.items())

    def _positions(self, pattern: Pattern) -> Occurrences:
        found = self._placed.get(pattern)
        if found is None:
            held = self._held[pattern]
            postings, weights = held.picked(held.within(self._wanted))
            keys, of = self._segment.occurrences(postings)
            found = Occurrences(keys, keys, weights.take(of))
            if not held.single:
                found = positions.distinct(found, by_start=True)
            self._placed[pattern] = found
        return found

    def _occurrences(self, run: Run | Window) -> Occurrences:
        if isinstance(run, Window):
            keys = unique(*self._survivors(run))
            return Occurrences(keys, keys, np.ones(len(keys)))
        if len(run.parts) == 1:
            placed = self._positions(run.parts[0])
        else:
            placed = positions.consecutive([self._positions(pattern) for pattern in run.parts], run.offsets)
        if run.joined is None:
            return placed
        return positions.union([placed, self._positions(run.joined)], by_start=True)

    def _survivors(self, window: Window) -> list[Ints]:
        """Return, per distinct word, its position keys that lie in some full window."""
        words = [
            (self._positions(Pattern(word, How.EXACT)).starts, times) for word, times in Counter(window.words).items()
        ]
        return positions.windowed(words, len(window.words) + window.slop)

    def _chain(self, nearby: Nearby) -> Iterator[Occurrences]:
        return positions.chained([partial(self._choice, runs) for runs in nearby.operands], nearby.distances)

    def _choice(self, runs: tuple[Run | Window, ...]) -> Occurrences:
        if len(runs) == 1:
            return self._occurrences(runs[0])
        return positions.union([self._occurrences(run) for run in runs], by_start=False)
