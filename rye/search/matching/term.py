"""A term query over a reader: the documents and fields it matches, its frequencies, and their weights.

The postings of all segments are concatenated, in order of document and field, so that those of a document are summed as
one run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from rye.index.build.reader import Floats, Part, Reader
from rye.index.segment.postings import slot_keys
from rye.index.storage.arrays import Array, Bools, Ints, Numbers, ends_of, group_starts, ranges, unique
from rye.index.text.schema import FIELD_BITS
from rye.search.contract.fields import FIELD_MASK, Weights
from rye.search.matching.bound import BoundPhrase, TermQuery, patterns
from rye.search.matching.docset import Docs, look_up
from rye.search.matching.expand import Choice, Pattern, Terms, expand
from rye.search.matching.positions import PositionBudget, PositionLeaf, Spans
from rye.search.matching.postings import counting, sum_by

AT_ONCE = 1 << 18
"""Postings of several terms that are read together if only their documents are needed; a single term is never split."""

Choices = Mapping[Pattern, Choice]
"""The terms of one segment that each part of a query expands to."""


class Match(NamedTuple):
    """Where a term query matches in one document.

    Attributes:
        field: The field number.
        words: The query's terms in that field with their frequencies, the most frequent first; also outside phrases.
        gain: What the field adds to tf~: ``Σ w · tf / (1 − b + b · length / average)``.
    """

    field: int
    words: Mapping[str, int]
    gain: float


class Term:
    """A term query over a reader. Each step runs on first use, and its result is kept.

    An excluded term query is under an odd number of NOTs. It is not scored, and its terms are never cut: an item with a
    term that was cut would become a hit. As there may be many terms, only the documents are kept.
    """

    def __init__(self, reader: Reader, query: TermQuery, effort: PositionBudget, *, excluded: bool = False) -> None:
        self.reader, self.query, self.excluded = reader, query, excluded
        self._effort = effort
        self._limits = query.fields if False in query.fields.tolist() else None
        self._plain = _plain_pattern(query)
        self._terms: dict[Pattern, Terms] | None = None
        self._weighed: tuple[Weights, Floats] | None = None

    def terms(self) -> dict[Pattern, Terms]:
        """Return the dictionary terms that each part of the query expands to."""
        if self._terms is None:
            most = None if self.excluded else self._effort.terms
            self._terms = {pattern: expand(self.reader, pattern, most) for pattern in {*patterns(self.query.pattern)}}
        return self._terms

    def _choices(self) -> list[Choices]:
        terms = self.terms().items()
        return [{pattern: of.choices[at] for pattern, of in terms} for at in range(len(self.reader.parts))]

    def is_cut(self) -> bool:
        """Return whether terms were left out in the evaluation because there were too many."""
        return self._terms is not None and any(terms.cut for terms in self._terms.values())

    @cached_property
    def words(self) -> frozenset[str]:
        """Every term that the query expands to."""
        return frozenset().union(*(terms.words for terms in self.terms().values()))

    def most(self) -> int:
        """Return an upper bound of the number of matches, without reading postings."""
        if self.excluded and self._plain:
            return len(self.docs)
        choices = [terms.choices for terms in self.terms().values()]
        return sum(
            part.segment.count(ids)
            for chosen in choices
            for part, (ids, _) in zip(self.reader.parts, chosen, strict=True)
        )

    @cached_property
    def docs(self) -> Docs:
        """The documents that match.

        Raises:
            QueryError: ``too-many-positions``.
        """
        if self.excluded:
            return self._excluded_docs()
        return Docs(self.reader.size, numbers=self._docs.take(self._first))

    def _excluded_docs(self) -> Docs:
        bases = [part.base for part in self.reader.parts]
        if self._plain is None:
            return Docs(self.reader.size, numbers=self._docs.take(self._first))
        rows = zip(self.reader.parts, self._choices(), strict=True)
        several = [_docs_of(part, choices[self._plain][0], self._limits) for part, choices in rows]
        self._terms = None
        return several[0] if len(several) == 1 else Docs.joined(bases, several)

    # the postings

    @cached_property
    def _positions(self) -> list[PositionLeaf]:
        rows = zip(self.reader.parts, self._choices(), strict=True)
        return [
            PositionLeaf(part, self.query, choices, fields=self._limits, effort=self._effort) for part, choices in rows
        ]

    @cached_property
    def _postings(self) -> list[tuple[Numbers, Floats | Numbers]]:
        """Per segment the slots, ascending, and the weighted frequency of the query in each."""
        if self._plain is None:
            return [leaf.frequencies() for leaf in self._positions]
        rows = zip(self.reader.parts, self._choices(), strict=True)
        return [self._read(part, choices[self._plain]) for part, choices in rows]

    def _read(self, part: Part, choice: Choice) -> tuple[Numbers, Floats | Numbers]:
        """Read the postings of terms in live documents and in the fields of the query."""
        terms, weights = choice
        slots, tf = part.segment.slots_and_tf(terms, weights if set(weights.tolist()) != {1.0} else None)
        if self._limits is not None or not part.intact:
            keep = counting(part, slots, self._limits)
            slots, tf = slots.take(keep), tf.take(keep)
        if len(terms) > 1:
            order = slots.argsort(kind="stable")  # merge the terms, each already sorted
            slots, tf = slots.take(order), tf.take(order)
        return slots, tf

    @cached_property
    def _docs(self) -> Ints:
        """The document of every posting."""
        rows = zip(self.reader.parts, self._postings, strict=True)
        return _joined([(slots >> FIELD_BITS).astype(np.int64) + part.base for part, (slots, _) in rows], np.int64)

    @cached_property
    def _first(self) -> Ints:
        """The first posting of every document."""
        return group_starts(self._docs).nonzero()[0]

    @cached_property
    def _bounds(self) -> Ints:
        """Shape ``(documents + 1,)``: the postings of the n-th document are ``_bounds[n]`` up to ``_bounds[n + 1]``."""
        return np.append(self._first, len(self._docs))

    def weighed(self, weights: Weights) -> Floats:
        """Return tf~ in each of the documents: ``Σ w · tf / (1 − b + b · length / average)``."""
        if self._weighed is None or self._weighed[0] is not weights:
            rows = zip(self.reader.parts, self._postings, strict=True)
            values = _joined([weights.normalized(part, slots) * tf for part, (slots, tf) in rows], np.float64)
            self._weighed = weights, np.add.reduceat(values, self._first) if len(values) else values
        return self._weighed[1]

    def weigh(self, docs: Ints, weights: Weights) -> Floats:
        """Return tf~ in ascending documents; 0 if the query does not match."""
        at, is_there = look_up(self.docs.numbers, docs)
        places = at[is_there]
        starts, stops = self._bounds.take(places), self._bounds.take(places + 1)
        values = self._normalized(ranges(starts, stops), weights)
        result = np.zeros(len(docs))
        result[is_there] = np.add.reduceat(values, ends_of(stops - starts)[:-1]) if len(values) else 0.0
        return result

    def _normalized(self, which: Ints, weights: Weights) -> Floats:
        """Return ``w · tf / (1 − b + b · length / average)`` of ascending postings."""
        parts, several, base = self.reader.parts, list[Floats](), 0
        for part, (slots, tf) in zip(parts, self._postings, strict=True):
            local = which if len(parts) == 1 else which[slice(*which.searchsorted([base, base + len(slots)]))] - base
            several.append(weights.normalized(part, slots.take(local)) * tf.take(local))
            base += len(slots)
        return _joined(several, np.float64)

    # single documents

    def matches(self, doc: int, weights: Weights) -> list[Match]:
        """Return the matches in one document, by field."""
        which, words = self._of(np.asarray([doc])), self.words_in(doc)
        fields, gains = sum_by(self._fields.take(which), self._normalized(which, weights))
        pairs = zip(fields.tolist(), gains.tolist(), strict=True)
        return [Match(field, words.get(field, {}), gain) for field, gain in pairs]

    def fields_of(self, docs: Ints) -> Iterator[tuple[int, int]]:
        """Yield document and field of every match in ascending documents."""
        which = self._of(docs)
        keys = unique(slot_keys(self._docs.take(which), self._fields.take(which)))
        yield from zip((keys >> FIELD_BITS).tolist(), (keys & FIELD_MASK).tolist(), strict=True)

    @cached_property
    def _fields(self) -> Ints:
        return _joined([(slots & FIELD_MASK).astype(np.int64) for slots, _ in self._postings], np.int64)

    def _of(self, docs: Ints) -> Ints:
        return ranges(self._docs.searchsorted(docs), self._docs.searchsorted(docs, side="right"))

    def spans(self, docs: Ints) -> dict[int, Spans]:
        """Return the spans of a phrase, sloppy phrase or NEAR in ascending documents."""
        return {
            doc + part.base: spans
            for part, rows in self._by_part(docs)
            for doc, spans in self._leaf(part).spans(docs[rows] - part.base).items()
        }

    def terms_in(self, doc: int) -> dict[Pattern, dict[int, dict[str, int]]]:
        """Return per part of the query its terms in one document, by field, with their frequencies.

        Counts every occurrence, also outside matches.
        """
        part, local = self.reader.locate(doc)
        return self._leaf(part).terms_in(local)

    def _leaf(self, part: Part) -> PositionLeaf:
        return self._positions[self.reader.parts.index(part)]

    def words_in(self, doc: int) -> dict[int, dict[str, int]]:
        """Return the query's terms in one document, by field, the most frequent first."""
        merged: dict[int, dict[str, int]] = {}
        for fields in self.terms_in(doc).values():
            for field, terms in fields.items():
                merged.setdefault(field, {}).update(terms)
        return {
            field: dict(sorted(terms.items(), key=lambda pair: (-pair[1], pair[0]))) for field, terms in merged.items()
        }

    def _by_part(self, docs: Ints) -> Iterator[tuple[Part, slice]]:
        """Yield every segment that has any of the ascending documents, and the slice of these."""
        parts = self.reader.parts
        borders = [0, *docs.searchsorted([part.base for part in parts[1:]]).tolist(), len(docs)]
        for part, start, stop in zip(parts, borders, borders[1:], strict=False):
            if start < stop:
                yield part, slice(start, stop)


def _joined(several: Sequence[Array], kind: type) -> Array:
    return several[0] if len(several) == 1 else np.concatenate([np.empty(0, kind), *several])


def _plain_pattern(query: TermQuery) -> Pattern | None:
    """Return the pattern of a plain word; None for a query of positions."""
    pattern = query.pattern
    return pattern.parts[0] if isinstance(pattern, BoundPhrase) and pattern.is_single else None


def _docs_of(part: Part, terms: Ints, fields: Bools | None) -> Docs:
    """Return the live documents that have any of the terms in the fields; None for all fields.

    Postings are read in batches to limit memory, and reading stops once every document is found.
    """
    segment = part.segment
    seen = ~part.live
    piece = segment.sizes(terms).cumsum() // AT_ONCE
    for batch in np.split(terms, np.flatnonzero(np.diff(piece)) + 1):
        slots = segment.slots_of(batch)
        if fields is not None:
            slots = slots[fields.take(slots & FIELD_MASK)]
        seen[slots >> FIELD_BITS] = True
        if seen.all():
            break
    return Docs(segment.docs, mask=seen & part.live)
