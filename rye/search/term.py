"""A term query over a reader: which documents have it, in which fields, how often, and what that counts for.

The postings of all segments stand side by side, in order of document and field, so that those of a document add up as
one run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from rye.index.arrays import Array, Bools, Ints, Numbers, ends_of, fresh, ranges, unique
from rye.index.postings import slot_keys
from rye.index.reader import Floats, Part, Reader
from rye.index.schema import FIELD_BITS
from rye.search.bound import Phrase, TermQuery, patterns
from rye.search.docset import Docs, look_up
from rye.search.expand import Choice, Pattern, Terms, expand
from rye.search.fields import FIELD_MASK, Weights
from rye.search.positions import Effort, PositionLeaf, Spans
from rye.search.postings import counting, sum_by

AT_ONCE = 1 << 18
"""Postings of several terms that are read together where only their documents are wanted, or those of one term."""

Choices = Mapping[Pattern, Choice]
"""The terms of one segment that each part of a query stands for."""


class Slots(NamedTuple):
    """The matches of a term query, one row per (document, field) in that order.

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


class Term:
    """A term query over a reader. Each step is done when first asked for, and is kept.

    One that is excluded stands under an odd number of NOTs. It is not scored, and all its terms count: if some were
    left out, an item that has one of them would be a hit. As they may be many, only the documents are kept.
    """

    def __init__(self, reader: Reader, query: TermQuery, effort: Effort, *, excluded: bool = False) -> None:
        self.reader, self.query, self.excluded = reader, query, excluded
        self._effort = effort
        self._limits = query.fields if False in query.fields.tolist() else None
        self._plain = _plain_pattern(query)
        self._terms: dict[Pattern, Terms] | None = None
        self._weighed: tuple[Weights, Floats] | None = None

    def terms(self) -> dict[Pattern, Terms]:
        """Return the terms of the dictionary that each part of the query stands for."""
        if self._terms is None:
            most = None if self.excluded else self._effort.terms
            self._terms = {each: expand(self.reader, each, most) for each in {*patterns(self.query.pattern)}}
        return self._terms

    def _choices(self) -> list[Choices]:
        terms = self.terms().items()
        return [{pattern: of.choices[at] for pattern, of in terms} for at in range(len(self.reader.parts))]

    def is_cut(self) -> bool:
        """Return whether terms were left out, because there were too many, when the query was evaluated."""
        return self._terms is not None and any(terms.cut for terms in self._terms.values())

    @cached_property
    def words(self) -> frozenset[str]:
        """Every term that the query stands for."""
        return frozenset().union(*(terms.words for terms in self.terms().values()))

    def most(self) -> int:
        """Return an upper bound of how many documents match, known before any posting is read."""
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
        """The query of positions on each segment."""
        rows = zip(self.reader.parts, self._choices(), strict=True)
        return [
            PositionLeaf(part, self.query, choices, fields=self._limits, effort=self._effort) for part, choices in rows
        ]

    @cached_property
    def _postings(self) -> list[tuple[Numbers, Floats | Numbers]]:
        """Per segment the slots, ascending, and in each how often the query stands there, weighted."""
        if self._plain is None:
            return [leaf.frequencies() for leaf in self._positions]
        rows = zip(self.reader.parts, self._choices(), strict=True)
        return [self._read(part, choices[self._plain]) for part, choices in rows]

    def _read(self, part: Part, choice: Choice) -> tuple[Numbers, Floats | Numbers]:
        """Read the postings of some terms: of live documents, in the fields of the query."""
        terms, weights = choice
        slots, tf = part.segment.slots_and_tf(terms, weights if set(weights.tolist()) != {1.0} else None)
        if self._limits is not None or not part.intact:
            keep = counting(part, slots, self._limits)
            slots, tf = slots.take(keep), tf.take(keep)
        if len(terms) > 1:
            order = slots.argsort(kind="stable")  # merges the terms, each of which is in order
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
        return fresh(self._docs).nonzero()[0]

    @cached_property
    def _bounds(self) -> Ints:
        """The postings of the n-th document are those from the n-th of these numbers up to the next one."""
        return np.append(self._first, len(self._docs))

    def weighed(self, weights: Weights) -> Floats:
        """Return tf~ in each of the documents: ``Σ w · tf / (1 − b + b · length / average)``."""
        if self._weighed is None or self._weighed[0] is not weights:
            rows = zip(self.reader.parts, self._postings, strict=True)
            values = _joined([weights.normalized(part, slots) * tf for part, (slots, tf) in rows], np.float64)
            self._weighed = weights, np.add.reduceat(values, self._first) if len(values) else values
        return self._weighed[1]

    def weigh(self, docs: Ints, weights: Weights) -> Floats:
        """Return tf~ in some documents, ascending; 0 where the query does not match."""
        at, is_there = look_up(self.docs.numbers, docs)
        places = at[is_there]
        starts, stops = self._bounds.take(places), self._bounds.take(places + 1)
        values = self._normalized(ranges(starts, stops), weights)
        found = np.zeros(len(docs))
        found[is_there] = np.add.reduceat(values, ends_of(stops - starts)[:-1]) if len(values) else 0.0
        return found

    def _normalized(self, which: Ints, weights: Weights) -> Floats:
        """Return ``w · tf / (1 − b + b · length / average)`` of some postings, ascending."""
        parts, several, base = self.reader.parts, list[Floats](), 0
        for part, (slots, tf) in zip(parts, self._postings, strict=True):
            here = which if len(parts) == 1 else which[slice(*which.searchsorted([base, base + len(slots)]))] - base
            several.append(weights.normalized(part, slots.take(here)) * tf.take(here))
            base += len(slots)
        return _joined(several, np.float64)

    # single documents

    def slots_of(self, docs: Ints) -> Slots:
        """Return the matches in some documents, ascending."""
        which = self._of(docs)
        tf = _joined([tf for _, tf in self._postings], np.float64).take(which)
        keys, total = sum_by(slot_keys(self._docs.take(which), self._fields.take(which)), tf.astype(np.float64))
        found, fields = keys >> FIELD_BITS, keys & FIELD_MASK
        lengths = [
            part.segment.lengths[fields[here], found[here] - part.base].astype(np.int64)
            for part, here in self._by_part(found)
        ]
        return Slots(found, fields, total, _joined(lengths, np.int64))

    def fields_of(self, docs: Ints) -> Iterator[tuple[int, int]]:
        """Yield document and field of every match in some documents, ascending."""
        which = self._of(docs)
        keys = unique(slot_keys(self._docs.take(which), self._fields.take(which)))
        yield from zip((keys >> FIELD_BITS).tolist(), (keys & FIELD_MASK).tolist(), strict=True)

    @cached_property
    def _fields(self) -> Ints:
        return _joined([(slots & FIELD_MASK).astype(np.int64) for slots, _ in self._postings], np.int64)

    def _of(self, docs: Ints) -> Ints:
        """Return the numbers of the postings that some documents, ascending, have."""
        return ranges(self._docs.searchsorted(docs), self._docs.searchsorted(docs, side="right"))

    def field_values(self, doc: int, weights: Weights) -> dict[int, float]:
        """Return the share of each field, by its number, in tf~ of one document."""
        slots = self.slots_of(np.asarray([doc]))
        part, local = self.reader.locate(doc)
        keys = slot_keys(np.full(len(slots.docs), local), slots.fields)
        values = slots.tf * weights.normalized(part, keys)
        return dict(zip(slots.fields.tolist(), values.tolist(), strict=True))

    def spans(self, docs: Ints) -> dict[int, Spans]:
        """Return where a phrase, sloppy phrase or NEAR stands in some documents, ascending."""
        return {
            doc + part.base: spans
            for part, here in self._by_part(docs)
            for doc, spans in self._leaf(part).spans(docs[here] - part.base).items()
        }

    def terms_in(self, doc: int) -> dict[Pattern, dict[int, dict[str, int]]]:
        """Return per part of the query its terms in one document, by field, with their frequencies.

        They are there wherever they stand, be it where the query wants them or not.
        """
        part, local = self.reader.locate(doc)
        return self._leaf(part).terms_in(local)

    def _leaf(self, part: Part) -> PositionLeaf:
        return self._positions[self.reader.parts.index(part)]

    def words_in(self, doc: int) -> dict[int, dict[str, int]]:
        """Return the terms of one document that the query stands for, by field, the most frequent first."""
        merged: dict[int, dict[str, int]] = {}
        for fields in self.terms_in(doc).values():
            for field, terms in fields.items():
                merged.setdefault(field, {}).update(terms)
        return {
            field: dict(sorted(terms.items(), key=lambda pair: (-pair[1], pair[0]))) for field, terms in merged.items()
        }

    def _by_part(self, docs: Ints) -> Iterator[tuple[Part, slice]]:
        """Yield every segment that has some of the documents, ascending, and where these stand among them."""
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
    return pattern.parts[0] if isinstance(pattern, Phrase) and pattern.single else None


def _docs_of(part: Part, terms: Ints, fields: Bools | None) -> Docs:
    """Return the live documents of some terms, in some fields, None for all.

    However many postings there are, few are in memory at a time, and none are read once every document is found.
    """
    segment = part.segment
    found = ~part.live
    piece = segment.sizes(terms).cumsum() // AT_ONCE
    for some in np.split(terms, np.flatnonzero(np.diff(piece)) + 1):
        slots = segment.slots_of(some)
        if fields is not None:
            slots = slots[fields.take(slots & FIELD_MASK)]
        found[slots >> FIELD_BITS] = True
        if found.all():
            break
    return Docs(segment.docs, mask=found & part.live)
