"""Where a leaf of several parts stands, and from that what it finds: positions are read only where all parts meet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from rye.index.arrays import unique
from rye.index.reader import Floats, Part, Reader
from rye.index.schema import FIELD_BITS
from rye.index.segment import POSITION_BITS, Bools, Ints, Numbers
from rye.search import positions
from rye.search.expand import How, Pattern, Terms
from rye.search.patterns import Nearby, Run, Window
from rye.search.positions import Occurrences
from rye.search.rows import Held, Rows, divided, least, shared, sum_by

_FIELD_MASK = (1 << FIELD_BITS) - 1


class Placed:
    """A leaf over a reader, by the positions of its parts.

    Args:
        reader: What to search.
        pattern: What the leaf looks for.
        terms: What each of its parts stands for.
        fields: Which fields count; None for all.
    """

    def __init__(
        self, reader: Reader, pattern: Run | Window | Nearby, terms: Mapping[Pattern, Terms], fields: Bools | None
    ) -> None:
        self._reader = reader
        self._pattern = pattern
        self._terms = terms
        self._fields = fields
        self._placed: dict[tuple[int, Pattern], Occurrences] = {}
        self._held: dict[tuple[int, Pattern], Held] = {}
        self._common: dict[int, Numbers] = {}
        self._stands: dict[int, list[Occurrences]] = {}

    def rows(self, index: int, part: Part) -> Rows:
        """Return what the leaf finds in a segment, by its index in the reader."""
        pattern = self._pattern
        if isinstance(pattern, Run):
            run = self._occurrences(index, part, pattern)
            keys, tf = sum_by(run.starts >> POSITION_BITS, run.weights)
        elif isinstance(pattern, Window):
            keys, tf = self._window(index, part, pattern)
        else:
            keys, tf = self._nearby(index, part, pattern)
        return Rows(keys, tf)

    def places(self, doc: int) -> dict[int, list[tuple[int, int]]]:
        """Return per field number the ``(first, last)`` positions where the leaf occurs in one document.

        A plain word is found by its terms instead (see :attr:`words`), so it has no places.
        """
        part, local = self._reader.locate(doc)
        several = self._everywhere(self._reader.parts.index(part), part)
        places: dict[int, list[tuple[int, int]]] = {}
        low, high = local << (FIELD_BITS + POSITION_BITS), (local + 1) << (FIELD_BITS + POSITION_BITS)
        mask = (1 << POSITION_BITS) - 1
        for found in several:
            first, last = np.searchsorted(found.starts, [low, high])
            for start, end in zip(found.starts[first:last].tolist(), found.ends[first:last].tolist(), strict=True):
                field = (start >> POSITION_BITS) & _FIELD_MASK
                places.setdefault(field, []).append((start & mask, end & mask))
        return places

    def postings(self, index: int, part: Part, pattern: Pattern) -> Held:
        """Return the postings of a part of the leaf, live and in the leaf's fields; kept, because parts recur."""
        found = self._held.get((index, pattern))
        if found is None:
            found = self._held[index, pattern] = Held(part, self._terms[pattern].choices[index], self._fields)
        return found

    def _candidates(self, index: int, part: Part, pattern: Run | Window | Nearby) -> Numbers:
        """Return the slots that have all it takes, wherever it stands: positions are read there alone."""
        if isinstance(pattern, Nearby):
            return shared([unique(*(self._candidates(index, part, run) for run in runs)) for runs in pattern.operands])
        if isinstance(pattern, Window):
            words = (Pattern(word, How.EXACT) for word in dict.fromkeys(pattern.words))
            return shared([self.postings(index, part, word).distinct for word in words])
        parts = shared([self.postings(index, part, one).distinct for one in dict.fromkeys(pattern.parts)])
        if pattern.joined is None:
            return parts
        return unique(parts, self.postings(index, part, pattern.joined).distinct)

    def _positions(self, index: int, part: Part, pattern: Pattern) -> Occurrences:
        """Return where a part of the leaf occurs; kept, because parts recur and every hit of a page asks again."""
        found = self._placed.get((index, pattern))
        if found is None:
            if index not in self._common:
                self._common[index] = self._candidates(index, part, self._pattern)
            held = self.postings(index, part, pattern)
            postings, weights = held.picked(held.within(self._common[index]))
            keys, of = part.segment.occurrences(postings)
            found = Occurrences(keys, keys, weights.take(of))
            if not held.single:
                found = positions.distinct(found, by_start=True)
            self._placed[index, pattern] = found
        return found

    def _occurrences(self, index: int, part: Part, run: Run | Window) -> Occurrences:
        if isinstance(run, Window):
            keys = unique(*self._survivors(index, part, run))
            return Occurrences(keys, keys, np.ones(len(keys)))
        found = [self._positions(index, part, pattern) for pattern in run.parts]
        placed = positions.consecutive(found, run.offsets) if len(found) > 1 else found[0]
        if run.joined is None:
            return placed
        return positions.union([placed, self._positions(index, part, run.joined)], by_start=True)

    def _survivors(self, index: int, part: Part, window: Window) -> list[Ints]:
        """Return, per distinct word, its position keys that lie in some full window."""
        words = [
            (self._positions(index, part, Pattern(word, How.EXACT)).starts, times)
            for word, times in Counter(window.words).items()
        ]
        return positions.windowed(words, len(window.words) + window.slop)

    def _window(self, index: int, part: Part, window: Window) -> tuple[Ints, Floats]:
        rows = [
            divided(sum_by(keys >> POSITION_BITS, np.ones(len(keys))), times)
            for keys, times in zip(self._survivors(index, part, window), Counter(window.words).values(), strict=True)
        ]
        return least(rows)

    def _nearby(self, index: int, part: Part, nearby: Nearby) -> tuple[Ints, Floats]:
        kept = self._chain(index, part, nearby)
        return least([sum_by(found.starts >> POSITION_BITS, found.weights) for found in kept])

    def _chain(self, index: int, part: Part, nearby: Nearby) -> list[Occurrences]:
        operands = [
            positions.union([self._occurrences(index, part, run) for run in runs], by_start=False)
            for runs in nearby.operands
        ]
        return positions.chained(operands, nearby.distances)

    def _everywhere(self, index: int, part: Part) -> list[Occurrences]:
        """Return where the leaf stands in a segment; kept, because every hit of a page asks again."""
        if index not in self._stands:
            pattern = self._pattern
            if isinstance(pattern, Nearby):
                self._stands[index] = self._chain(index, part, pattern)
            else:
                self._stands[index] = [self._occurrences(index, part, pattern)]
        return self._stands[index]
