"""A term query evaluated over a reader: which documents match, and how often (tf) in which field."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rye.index.arrays import Ints
from rye.index.postings import slot_keys
from rye.index.reader import Floats, Part, Reader
from rye.index.schema import FIELD_BITS
from rye.search.bound import TermQuery, patterns
from rye.search.docset import Docs
from rye.search.expand import Choice, Pattern, Terms, expand
from rye.search.fields import FIELD_MASK, Weights
from rye.search.leaf import Gain, Leaf, docs_of, plain_pattern
from rye.search.positions import Effort, Spans


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


class Matcher:
    """A term query over a reader: a leaf for each segment. Each step is done when first asked for, and is kept.

    One that is excluded stands under an odd number of NOTs. It is not scored, and all its terms count: if some were
    left out, an item that has one of them would be a hit. As they may be many, only the documents are kept.
    """

    def __init__(self, reader: Reader, query: TermQuery, effort: Effort, *, excluded: bool = False) -> None:
        self.reader, self.query, self.excluded = reader, query, excluded
        self._effort = effort
        self._terms: dict[Pattern, Terms] | None = None
        self._leaves: list[Leaf] | None = None
        self._docs: Docs | None = None
        self._words: frozenset[str] | None = None

    def terms(self) -> dict[Pattern, Terms]:
        """Return the terms of the dictionary that each part of the query stands for."""
        if self._terms is None:
            most = None if self.excluded else self._effort.terms
            self._terms = {each: expand(self.reader, each, most) for each in {*patterns(self.query.pattern)}}
        return self._terms

    def _choices(self) -> list[dict[Pattern, Choice]]:
        """Return the terms of each part of the query, segment by segment."""
        terms = self.terms().items()
        return [{pattern: of.choices[at] for pattern, of in terms} for at in range(len(self.reader.parts))]

    def cut(self) -> bool:
        """Return whether terms were left out, because there were too many, when the query was evaluated."""
        return self._terms is not None and any(terms.cut for terms in self._terms.values())

    def words(self) -> frozenset[str]:
        """Return every term the query stands for."""
        if self._words is None:
            self._words = frozenset().union(*(terms.words for terms in self.terms().values()))
        return self._words

    def docs(self) -> Docs:
        """Return the documents that match."""
        if self._docs is None:
            several = self._excluded_docs() if self.excluded else [leaf.docs for leaf in self.leaves()]
            bases = [part.base for part in self.reader.parts]
            self._docs = several[0] if len(several) == 1 else Docs.joined(bases, several)
        return self._docs

    def _excluded_docs(self) -> list[Docs]:
        plain, limits = plain_pattern(self.query), self.query.fields if False in self.query.fields.tolist() else None
        if plain:
            rows = zip(self.reader.parts, self._choices(), strict=True)
            several = [docs_of(part, choices[plain][0], limits) for part, choices in rows]
        else:
            several = [leaf.docs for leaf in self.leaves()]
        self._terms = self._leaves = None
        return several

    def most(self) -> int:
        """Return an upper bound of how many documents match, known before any posting is read."""
        if self.excluded and plain_pattern(self.query):
            return len(self.docs())
        choices = [terms.choices for terms in self.terms().values()]
        return sum(
            part.segment.count(ids)
            for chosen in choices
            for part, (ids, _) in zip(self.reader.parts, chosen, strict=True)
        )

    def leaves(self) -> list[Leaf]:
        """Return the query on each segment."""
        if self._leaves is None:
            rows = zip(self.reader.parts, self._choices(), strict=True)
            self._leaves = [Leaf(part, self.query, choices, self._effort) for part, choices in rows]
        return self._leaves

    def spans(self, docs: Ints) -> dict[int, Spans]:
        """Return where a phrase, sloppy phrase or NEAR stands in some documents, ascending."""
        return {
            doc + part.base: spans
            for part, leaf, local in self._split(docs)
            for doc, spans in leaf.spans(local).items()
        }

    def terms_in(self, doc: int) -> dict[Pattern, dict[int, dict[str, int]]]:
        """Return per part of the query its terms in one document, by field, with their frequencies.

        They are there wherever they stand, be it where the query wants them or not.
        """
        part, local = self.reader.locate(doc)
        return self.leaves()[self.reader.parts.index(part)].terms_in(local)

    def words_in(self, doc: int) -> dict[int, dict[str, int]]:
        """Return the terms of one document that the query stands for, by field, the most frequent first."""
        merged: dict[int, dict[str, int]] = {}
        for fields in self.terms_in(doc).values():
            for field, terms in fields.items():
                merged.setdefault(field, {}).update(terms)
        return {
            field: dict(sorted(terms.items(), key=lambda pair: (-pair[1], pair[0]))) for field, terms in merged.items()
        }

    def slots_of(self, docs: Ints) -> Slots:
        """Return the matches in some documents, ascending."""
        columns: list[list[npt.NDArray[Any]]] = [[np.empty(0, np.int64)] for _ in Slots._fields]
        for part, leaf, local in self._split(docs):
            slots, tf = leaf.by_slot(local)
            within, fields = slots >> FIELD_BITS, slots & FIELD_MASK
            lengths = part.segment.lengths[fields, within].astype(np.int64)
            for column, values in zip(columns, (within + part.base, fields, tf, lengths), strict=True):
                column.append(values)
        return Slots(*map(np.concatenate, columns))

    def fields_of(self, docs: Ints) -> Iterator[tuple[int, int]]:
        """Yield document and field of every match in some documents, ascending."""
        for part, leaf, local in self._split(docs):
            slots = leaf.slots(local)
            yield from zip(((slots >> FIELD_BITS) + part.base).tolist(), (slots & FIELD_MASK).tolist(), strict=True)

    def field_values(self, doc: int, weights: Weights) -> dict[int, float]:
        """Return the share of each field, by its number, in tf~ of one document."""
        slots = self.slots_of(np.asarray([doc]))
        part, local = self.reader.locate(doc)
        keys = slot_keys(np.full(len(slots.docs), local), slots.fields)
        values = slots.tf * weights.normalized(part, keys)
        return dict(zip(slots.fields.tolist(), values.tolist(), strict=True))

    def weighed(self, weights: Weights) -> tuple[Ints, Floats]:
        """Return the documents found, ascending, and in each tf~: ``Σ w · tf / (1 − b + b · length / average)``."""
        several = [leaf.weighed(weights) for leaf in self.leaves()]
        if len(several) == 1:
            return several[0]
        docs = [docs + part.base for part, (docs, _) in zip(self.reader.parts, several, strict=True)]
        values = [values for _, values in several]
        return np.concatenate([np.empty(0, np.int64), *docs]), np.concatenate([np.empty(0), *values])

    def weigh(self, docs: Ints, weights: Weights) -> Floats:
        """Return tf~ in some documents, ascending; 0 where not found."""
        values = [leaf.weigh(local, weights) for _, leaf, local in self._split(docs)]
        return values[0] if len(values) == 1 else np.concatenate([np.empty(0), *values])

    def add_gains(self, total: Floats, weights: Weights, gain: Gain) -> None:
        """Add the contributions to a total for every document."""
        for part, leaf in zip(self.reader.parts, self.leaves(), strict=True):
            leaf.add_gains(total[part.base : part.base + part.segment.docs], weights, gain)

    def _split(self, docs: Ints) -> Iterator[tuple[Part, Leaf, Ints]]:
        """Yield every segment that has some of the documents, with its leaf and their numbers there."""
        borders = [0, *docs.searchsorted([part.base for part in self.reader.parts[1:]]).tolist(), len(docs)]
        for part, leaf, start, stop in zip(self.reader.parts, self.leaves(), borders, borders[1:], strict=False):
            if start < stop:
                yield part, leaf, docs[start:stop] - part.base if part.base else docs[start:stop]
