"""The scored leaves of a bound query, and what each finds: per item and field, how often (tf) it occurs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from rye.index.reader import Floats, Part, Reader
from rye.index.schema import FIELD_BITS
from rye.index.segment import POSITION_BITS, Bools, Ints, Numbers, slot_keys
from rye.query import ast
from rye.search import positions
from rye.search.docs import Docs
from rye.search.expand import How, Pattern, Terms, expand
from rye.search.positions import Occurrences
from rye.search.rows import Held, Rows, Slots, divided, least, shared, sum_by
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


@dataclass(frozen=True, eq=False)
class Leaf:
    """One scored leaf bound to fields.

    Attributes:
        pattern: What to look for.
        fields: Shape ``(fields,)``: the fields it is bound to.
        boost: Product of the boosts around it.
        name: The field it was written for, else empty.
        node: As parsed.
    """

    pattern: Run | Window | Nearby
    fields: Bools
    boost: float
    name: str
    node: ast.Node

    @property
    def label(self) -> str:
        """Canonical text, for explanations."""
        return f"{self.name}:{self.node}" if self.name else str(self.node)


class Found:
    """A leaf evaluated over a reader."""

    def __init__(self, reader: Reader, leaf: Leaf) -> None:
        self.reader = reader
        self.leaf = leaf
        self.cut = False
        """Whether an expansion left terms out; known once the leaf has been evaluated."""
        self._limits = None if leaf.fields.all() else leaf.fields
        self._placed: dict[tuple[int, Pattern], Occurrences] = {}
        self._held: dict[tuple[int, Pattern], Held] = {}
        self._common: dict[int, Numbers] = {}
        self._stands: dict[int, list[Occurrences]] = {}

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
    def _rows(self) -> list[Rows]:
        return [self._in_part(index, part) for index, part in enumerate(self.reader.parts)]

    @cached_property
    def docs(self) -> Docs:
        """The documents found."""
        found = [rows.numbers + part.base for part, rows in zip(self.reader.parts, self._rows, strict=True)]
        numbers = found[0] if len(found) == 1 else np.concatenate([np.empty(0, np.int64), *found])
        return Docs(self.reader.size, numbers=numbers)

    @property
    def df(self) -> int:
        """How many documents were found."""
        return len(self.docs)

    @property
    def size(self) -> int:
        """Number of postings of all terms, deleted documents included: an upper bound of ``df``, known at once."""
        choices = [terms.choices for terms in self._terms.values()]
        return sum(
            int(part.segment.sizes(ids).sum())
            for chosen in choices
            for part, (ids, _) in zip(self.reader.parts, chosen, strict=True)
        )

    def _in_part(self, index: int, part: Part) -> Rows:
        pattern = self.leaf.pattern
        if isinstance(pattern, Run) and len(pattern.parts) == 1 and pattern.joined is None:
            return Rows.of_terms(part, self._terms[pattern.parts[0]].choices[index], self._limits)
        if isinstance(pattern, Run):
            run = self._occurrences(index, part, pattern)
            keys, tf = sum_by(run.starts >> POSITION_BITS, run.weights)
        elif isinstance(pattern, Window):
            keys, tf = self._window(index, part, pattern)
        else:
            keys, tf = self._nearby(index, part, pattern)
        return Rows(keys, tf)

    def _postings(self, index: int, part: Part, pattern: Pattern) -> Held:
        """Return the postings of a part of the leaf, live and in the leaf's fields; kept, because parts recur."""
        found = self._held.get((index, pattern))
        if found is None:
            found = self._held[index, pattern] = Held(part, self._terms[pattern].choices[index], self._limits)
        return found

    def _candidates(self, index: int, part: Part, pattern: Run | Window | Nearby) -> Numbers:
        """Return the slots that have all it takes, wherever it stands: positions are read there alone."""
        if isinstance(pattern, Nearby):
            return shared(
                [reduce(np.union1d, (self._candidates(index, part, run) for run in runs)) for runs in pattern.operands]
            )
        if isinstance(pattern, Window):
            words = (Pattern(word, How.EXACT) for word in dict.fromkeys(pattern.words))
            return shared([self._postings(index, part, word).distinct for word in words])
        parts = shared([self._postings(index, part, one).distinct for one in dict.fromkeys(pattern.parts)])
        if pattern.joined is None:
            return parts
        return np.union1d(parts, self._postings(index, part, pattern.joined).distinct)

    def _positions(self, index: int, part: Part, pattern: Pattern) -> Occurrences:
        """Return where a part of the leaf occurs; kept, because parts recur and every hit of a page asks again."""
        found = self._placed.get((index, pattern))
        if found is None:
            if index not in self._common:
                self._common[index] = self._candidates(index, part, self.leaf.pattern)
            held = self._postings(index, part, pattern)
            postings, weights = held.picked(held.within(self._common[index]))
            keys, of = part.segment.occurrences(postings)
            found = Occurrences(keys, keys, weights.take(of))
            if not held.single:
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
            pattern = self.leaf.pattern
            if isinstance(pattern, Nearby):
                self._stands[index] = self._chain(index, part, pattern)
            else:
                self._stands[index] = [self._occurrences(index, part, pattern)]
        return self._stands[index]

    def places(self, doc: int) -> dict[int, list[tuple[int, int]]]:
        """Return per field number the ``(first, last)`` positions where the leaf occurs in one document.

        A plain word is found by its terms instead (see :attr:`words`), so it has no places.
        """
        part, local = self.reader.locate(doc)
        several = self._everywhere(self.reader.parts.index(part), part)
        places: dict[int, list[tuple[int, int]]] = {}
        low, high = local << (FIELD_BITS + POSITION_BITS), (local + 1) << (FIELD_BITS + POSITION_BITS)
        mask = (1 << POSITION_BITS) - 1
        for found in several:
            first, last = np.searchsorted(found.starts, [low, high])
            for start, end in zip(found.starts[first:last].tolist(), found.ends[first:last].tolist(), strict=True):
                field = (start >> POSITION_BITS) & _FIELD_MASK
                places.setdefault(field, []).append((start & mask, end & mask))
        return places

    def terms_in(self, doc: int) -> dict[Pattern, dict[int, dict[str, int]]]:
        """Return per part of the leaf the terms of one document that it stands for, by field, with their frequencies.

        Whether they stand where the leaf wants them is not asked.
        """
        part, local = self.reader.locate(doc)
        index, segment = self.reader.parts.index(part), part.segment
        found: dict[Pattern, dict[int, dict[str, int]]] = {}
        for pattern in self._terms:
            held = self._postings(index, part, pattern)
            own, _ = held.picked((held.slots >> FIELD_BITS == local).nonzero()[0])
            terms = np.searchsorted(segment.term_postings, own.astype(segment.term_postings.dtype), side="right") - 1
            fields, tfs = segment.posting_field[own].tolist(), segment.frequencies(own).tolist()
            found[pattern] = {}
            for field, term, tf in zip(fields, segment.terms.take(terms), tfs, strict=True):
                found[pattern].setdefault(field, {})[term] = tf
        return found

    def words_in(self, doc: int) -> dict[int, dict[str, int]]:
        """Return the terms of one document that the leaf stands for, by field, the most frequent first."""
        merged: dict[int, dict[str, int]] = {}
        for fields in self.terms_in(doc).values():
            for field, terms in fields.items():
                merged.setdefault(field, {}).update(terms)
        return {
            field: dict(sorted(terms.items(), key=lambda pair: (-pair[1], pair[0]))) for field, terms in merged.items()
        }

    def slots_of(self, docs: Ints) -> Slots:
        """Return what was found in some documents, ascending; each (document, field) once."""
        columns: list[list[npt.NDArray[Any]]] = [[np.empty(0, np.int64)] for _ in Slots._fields]
        for part, rows, local in self._split(docs):
            if not len(local):
                continue
            chosen = rows.among(local, part.segment.docs)
            keys, tf = sum_by(chosen.slots.astype(np.int64), chosen.tf.astype(np.float64))
            within, fields = keys >> FIELD_BITS, keys & _FIELD_MASK
            lengths = part.segment.lengths[fields, within].astype(np.int64)
            for column, values in zip(columns, (within + part.base, fields, tf, lengths), strict=True):
                column.append(values)
        return Slots(*map(np.concatenate, columns))

    def field_values(self, doc: int, weights: Weights) -> dict[int, float]:
        """Return what each field, by its number, adds to tf~ of one document."""
        slots = self.slots_of(np.asarray([doc]))
        part, local = self.reader.locate(doc)
        keys = slot_keys(np.full(len(slots.docs), local), slots.fields)
        values = slots.tf * weights.normalized(part, keys)
        return dict(zip(slots.fields.tolist(), values.tolist(), strict=True))

    def weighed(self, weights: Weights) -> tuple[Ints, Floats]:
        """Return the documents found, ascending, and in each tf~: ``Σ w · tf / (1 − b + b · length / average)``."""
        several = [rows.weighed(part, weights) for part, rows in zip(self.reader.parts, self._rows, strict=True)]
        if len(several) == 1:
            return several[0]
        docs = [docs + part.base for part, (docs, _) in zip(self.reader.parts, several, strict=True)]
        values = [values for _, values in several]
        return np.concatenate([np.empty(0, np.int64), *docs]), np.concatenate([np.empty(0), *values])

    def weigh(self, docs: Ints, weights: Weights) -> Floats:
        """Return tf~ in some documents, ascending; 0 where not found."""
        values = [_weigh(part, rows, local, weights) for part, rows, local in self._split(docs) if len(local)]
        return values[0] if len(values) == 1 else np.concatenate([np.empty(0), *values])

    def _split(self, docs: Ints) -> Iterator[tuple[Part, Rows, Ints]]:
        """Yield every segment with its rows and the documents that lie in it, by their numbers there."""
        start = 0
        for part, rows in zip(self.reader.parts, self._rows, strict=True):
            stop = len(docs) if part is self.reader.parts[-1] else int(
                np.searchsorted(docs, part.base + part.segment.docs)
            )  # fmt: skip
            yield part, rows, docs[start:stop] - part.base if part.base else docs[start:stop]
            start = stop


def _weigh(part: Part, rows: Rows, docs: Ints, weights: Weights) -> Floats:
    """Return tf~ in some documents of a segment, ascending; 0 where the rows have none."""
    if len(docs) * 4 < len(rows.docs):
        rows = rows.among(docs, part.segment.docs)
    own, values = rows.weighed(part, weights)
    if not len(own):
        return np.zeros(len(docs))
    if len(own) == len(docs) and (own == docs).all():
        return values
    at = own.searchsorted(docs)
    at[at == len(own)] = 0
    return np.where(own.take(at) == docs, values.take(at), 0.0)


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
