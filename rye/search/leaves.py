"""The scored leaves of a bound query, and what each finds: per item and field, how often (tf) it occurs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rye.index.reader import Floats, Part, Reader
from rye.index.schema import FIELD_BITS
from rye.index.segment import POSITION_BITS, Bools, Ints, slot_keys
from rye.query.ast import Span
from rye.search import positions
from rye.search.expand import How, Pattern, Terms, expand
from rye.search.positions import Occurrences
from rye.search.weights import Weights

_FIELD_MASK = (1 << FIELD_BITS) - 1


@dataclass(frozen=True, slots=True)
class Run:
    """Parts at fixed offsets; one part is a plain word. ``joined`` matches the parts written as one term."""

    parts: tuple[Pattern, ...]
    offsets: tuple[int, ...]
    joined: Pattern | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """Words in any order within a window of as many positions as they are, plus ``slop``."""

    words: tuple[str, ...]
    slop: int


@dataclass(frozen=True, slots=True)
class Nearby:
    """Operands, each a choice, with the greatest distance between neighbours."""

    operands: tuple[tuple[Run | Window, ...], ...]
    distances: tuple[int, ...]


class Slots(NamedTuple):
    """What a leaf finds, one row per (document, field) in that order.

    Attributes:
        docs: Global document numbers.
        fields: Field numbers.
        tf: Weighted occurrences.
        lengths: Length of the field in that document.
    """

    docs: Ints
    fields: Ints
    tf: Floats
    lengths: Ints


@dataclass(frozen=True, eq=False)
class Leaf:
    """One scored leaf bound to fields.

    Attributes:
        pattern: What to look for.
        fields: Shape ``(fields,)``: the fields it is bound to.
        boost: Product of the boosts around it.
        label: Canonical text, for explanations.
        span: Where it stands in the query.
    """

    pattern: Run | Window | Nearby
    fields: Bools
    boost: float
    label: str
    span: Span


class Found:
    """A leaf evaluated over a reader."""

    def __init__(self, reader: Reader, leaf: Leaf) -> None:
        self.reader = reader
        self.leaf = leaf
        self.cut = False
        """Whether an expansion left terms out; known once the leaf has been evaluated."""
        self._placed: dict[tuple[int, Pattern], Occurrences] = {}

    @cached_property
    def _terms(self) -> dict[Pattern, Terms]:
        terms = {
            pattern: expand(self.reader, pattern, self.leaf.fields) for pattern in set(_patterns(self.leaf.pattern))
        }
        self.cut = any(found.cut for found in terms.values())
        return terms

    @cached_property
    def words(self) -> frozenset[str]:
        """Every term the leaf stands for."""
        return frozenset().union(*(terms.words for terms in self._terms.values()))

    @cached_property
    def slots(self) -> Slots:
        """What was found, over all segments."""
        rows = [self._in_part(index, part) for index, part in enumerate(self.reader.parts)]
        none = np.empty(0, np.int64)
        return Slots(
            docs=np.concatenate([none, *(row.docs for row in rows)]),
            fields=np.concatenate([none, *(row.fields for row in rows)]),
            tf=np.concatenate([np.empty(0), *(row.tf for row in rows)]),
            lengths=np.concatenate([none, *(row.lengths for row in rows)]),
        )

    def _in_part(self, index: int, part: Part) -> Slots:
        pattern = self.leaf.pattern
        if isinstance(pattern, Run) and len(pattern.parts) == 1 and pattern.joined is None:
            keys, tf = self._count(index, part, pattern.parts[0])
        elif isinstance(pattern, Run):
            run = self._occurrences(index, part, pattern)
            keys, tf = _sum_by(run.starts >> POSITION_BITS, run.weights)
        elif isinstance(pattern, Window):
            keys, tf = self._window(index, part, pattern)
        else:
            keys, tf = self._nearby(index, part, pattern)
        docs, fields = keys >> FIELD_BITS, keys & _FIELD_MASK
        return Slots(docs + part.base, fields, tf, part.segment.lengths[fields, docs].astype(np.int64))

    def _postings(self, index: int, part: Part, pattern: Pattern) -> tuple[Ints, Floats]:
        """Return posting numbers, live and in the leaf's fields, with the weights of their terms."""
        ids, weights = self._terms[pattern].choices[index]
        if not len(ids):
            return np.empty(0, np.int64), np.empty(0)
        postings, owner = part.segment.postings(ids)
        if not (part.intact and self.leaf.fields.all()):
            keep = self.leaf.fields[part.segment.posting_field[postings]]
            keep &= part.live[part.segment.posting_doc[postings]]
            postings, owner = postings[keep], owner[keep]
        return postings, weights[owner]

    def _count(self, index: int, part: Part, pattern: Pattern) -> tuple[Ints, Floats]:
        postings, weights = self._postings(index, part, pattern)
        keys = slot_keys(part.segment.posting_doc[postings], part.segment.posting_field[postings])
        tf = weights * part.segment.frequencies(postings)
        if len(self._terms[pattern].choices[index][0]) == 1:
            return keys, tf
        return _sum_by(keys, tf)

    def _positions(self, index: int, part: Part, pattern: Pattern) -> Occurrences:
        """Return where a part of the leaf occurs; kept, because parts recur and every hit of a page asks again."""
        found = self._placed.get((index, pattern))
        if found is None:
            postings, weights = self._postings(index, part, pattern)
            keys, of = part.segment.occurrences(postings)
            found = Occurrences(keys, keys, weights[of])
            if len(self._terms[pattern].choices[index][0]) != 1:
                found = positions.distinct(found, by_start=True)
            self._placed[index, pattern] = found
        return found

    def _occurrences(self, index: int, part: Part, run: Run | Window) -> Occurrences:
        if isinstance(run, Window):
            keys = np.unique(np.concatenate(self._survivors(index, part, run)))
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
            _divided(_sum_by(keys >> POSITION_BITS, np.ones(len(keys))), times)
            for keys, times in zip(self._survivors(index, part, window), Counter(window.words).values(), strict=True)
        ]
        return _least(rows)

    def _nearby(self, index: int, part: Part, nearby: Nearby) -> tuple[Ints, Floats]:
        kept = self._chain(index, part, nearby)
        return _least([_sum_by(found.starts >> POSITION_BITS, found.weights) for found in kept])

    def _chain(self, index: int, part: Part, nearby: Nearby) -> list[Occurrences]:
        operands = [
            positions.union([self._occurrences(index, part, run) for run in runs], by_start=False)
            for runs in nearby.operands
        ]
        return positions.chained(operands, nearby.distances)

    def places(self, doc: int) -> dict[int, list[tuple[int, int]]]:
        """Return per field number the ``(first, last)`` positions where the leaf occurs in one document.

        A plain word is found by its terms instead (see :attr:`words`), so it has no places.
        """
        part, local = self.reader.locate(doc)
        index = self.reader.parts.index(part)
        pattern = self.leaf.pattern
        if isinstance(pattern, Nearby):
            several = self._chain(index, part, pattern)
        else:
            several = [self._occurrences(index, part, pattern)]
        places: dict[int, list[tuple[int, int]]] = {}
        low, high = local << (FIELD_BITS + POSITION_BITS), (local + 1) << (FIELD_BITS + POSITION_BITS)
        mask = (1 << POSITION_BITS) - 1
        for found in several:
            first, last = np.searchsorted(found.starts, [low, high])
            for start, end in zip(found.starts[first:last].tolist(), found.ends[first:last].tolist(), strict=True):
                field = (start >> POSITION_BITS) & _FIELD_MASK
                places.setdefault(field, []).append((start & mask, end & mask))
        return places

    def weigh(self, weights: Weights) -> tuple[Ints, Floats]:
        """Return the documents found, ascending, and tf~ of each: field weights over length normalization, summed."""
        docs, values = self.slots.docs, self.field_values(weights)
        first = _fresh(docs)
        return docs[first], np.add.reduceat(values, first) if len(first) else values

    def field_values(self, weights: Weights) -> Floats:
        """Return tf~ per slot: ``w · tf / (1 − b + b · length / average length)``."""
        slots = self.slots
        b = weights.b[slots.fields]
        norm = 1.0 - b + b * slots.lengths / self.reader.average_lengths[slots.fields]
        values: Floats = weights.of(slots.docs, slots.fields) * slots.tf / norm
        return values


def _patterns(pattern: Run | Window | Nearby) -> Iterator[Pattern]:
    if isinstance(pattern, Run):
        yield from pattern.parts
        if pattern.joined is not None:
            yield pattern.joined
    elif isinstance(pattern, Window):
        yield from (Pattern(word, How.EXACT) for word in pattern.words)
    else:
        for runs in pattern.operands:
            for run in runs:
                yield from _patterns(run)


def _fresh(ordered: npt.NDArray[np.int64]) -> Ints:
    """Return where each run of equal numbers begins."""
    fresh = np.ones(len(ordered), bool)
    fresh[1:] = ordered[1:] != ordered[:-1]
    return np.flatnonzero(fresh)


def _sum_by(keys: Ints, values: Floats) -> tuple[Ints, Floats]:
    """Return the distinct keys, ascending, and the sum of the values of each."""
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order], values[order]
    first = _fresh(keys)
    return keys[first], np.add.reduceat(values, first) if len(first) else values


def _divided(row: tuple[Ints, Floats], times: int) -> tuple[Ints, Floats]:
    return row[0], row[1] // times


def _least(rows: list[tuple[Ints, Floats]]) -> tuple[Ints, Floats]:
    """Return the keys that all rows have, with the least of their values."""
    keys, values = rows[0]
    for other, amounts in rows[1:]:
        keys, left, right = np.intersect1d(keys, other, assume_unique=True, return_indices=True)
        values = np.minimum(values[left], amounts[right])
    positive = values > 0
    return keys[positive], values[positive]
