"""The scored leaves of a bound query, and what each finds: per item and field, how often (tf) it occurs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from rye.index.reader import Floats, Part, Reader
from rye.index.schema import FIELD_BITS
from rye.index.segment import Ints, slot_keys
from rye.search.docset import Docs
from rye.search.expand import Choice, Pattern, Terms, expand, expand_whole
from rye.search.fields import Weights
from rye.search.phrase import Effort, Leaf, Placed, Places, Run, patterns
from rye.search.postings import Gain, Heap, Rows, Slots, docs_of, rows_of, sum_by, zeros

__all__ = ["Excluded", "Found"]

_FIELD_MASK = (1 << FIELD_BITS) - 1


class Found:
    """A leaf evaluated over a reader."""

    def __init__(self, reader: Reader, leaf: Leaf, effort: Effort) -> None:
        self.reader = reader
        self.leaf = leaf
        self._effort = effort
        self._limits = leaf.fields if False in leaf.fields.tolist() else None
        self._expanded: dict[Pattern, Terms] | None = None
        self._rows_found: list[Rows | Heap] | None = None
        self._docs_found: Docs | None = None

    @property
    def _terms(self) -> dict[Pattern, Terms]:
        if self._expanded is None:
            several = {*patterns(self.leaf.pattern)}
            self._expanded = {one: self._expand(one) for one in several}
        return self._expanded

    def _expand(self, pattern: Pattern) -> Terms:
        return expand(self.reader, pattern, self.leaf.fields)

    @property
    def cut(self) -> bool:
        """Whether an expansion left terms out; only of a leaf that has been evaluated."""
        return self._expanded is not None and any(found.cut for found in self._expanded.values())

    @cached_property
    def words(self) -> frozenset[str]:
        """Every term the leaf stands for."""
        return frozenset().union(*(terms.words for terms in self._terms.values()))

    @cached_property
    def _placed(self) -> Placed:
        return Placed(self.reader, self.leaf.pattern, self._terms, self._limits, spend=self._spend)

    def _spend(self, positions: int) -> bool:
        return self._effort.spend(positions, self.leaf)

    @property
    def _rows(self) -> list[Rows | Heap]:
        if self._rows_found is None:
            self._rows_found = [self._in_part(index, part) for index, part in enumerate(self.reader.parts)]
        return self._rows_found

    def _in_part(self, index: int, part: Part) -> Rows | Heap:
        choice = self._only(index)
        return self._placed.rows(index, part) if choice is None else rows_of(part, choice, self._limits)

    def _only(self, index: int) -> Choice | None:
        """Return the terms of a leaf of one part in a segment; None for any other leaf."""
        pattern = self.leaf.pattern
        if isinstance(pattern, Run) and pattern.alone:
            return self._terms[pattern.parts[0]].choices[index]
        return None

    @property
    def docs(self) -> Docs:
        """The documents found."""
        if self._docs_found is None:
            found = self._docs_in_parts()
            bases = [part.base for part in self.reader.parts]
            self._docs_found = found[0] if len(found) == 1 else Docs.joined(bases, found)
        return self._docs_found

    def _docs_in_parts(self) -> list[Docs]:
        return [rows.found(part) for part, rows in zip(self.reader.parts, self._rows, strict=True)]

    @property
    def df(self) -> int:
        """How many documents were found."""
        return len(self.docs)

    @property
    def much(self) -> bool:
        """Whether so many are found that adding up over all documents takes less time than over those alone."""
        return not self.docs.sparse

    @property
    def size(self) -> int:
        """Number of postings of all terms, deleted documents included: an upper bound of ``df``, known at once."""
        choices = [terms.choices for terms in self._terms.values()]
        return sum(
            part.segment.count(ids)
            for chosen in choices
            for part, (ids, _) in zip(self.reader.parts, chosen, strict=True)
        )

    def places(self, docs: Ints) -> Places:
        """Return where the leaf stands in some documents, ascending."""
        return Places(self._placed, docs)

    def terms_in(self, doc: int) -> dict[Pattern, dict[int, dict[str, int]]]:
        """Return per part of the leaf the terms of one document that it stands for, by field, with their frequencies.

        Whether they stand where the leaf wants them is not asked.
        """
        part, local = self.reader.locate(doc)
        index, segment = self.reader.parts.index(part), part.segment
        found: dict[Pattern, dict[int, dict[str, int]]] = {}
        for pattern in self._terms:
            held = self._placed.postings(index, part, pattern)
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
        values = [rows.weigh(local, part, weights) for part, rows, local in self._split(docs) if len(local)]
        return values[0] if len(values) == 1 else np.concatenate([np.empty(0), *values])

    def spread(self, weights: Weights) -> Floats:
        """Return tf~ in every document, in memory that the next such call in this thread takes."""
        total = zeros("tf~", self.reader.size)
        for part, rows in zip(self.reader.parts, self._rows, strict=True):
            rows.add(total[part.base : part.base + part.segment.docs], part, weights)
        return total

    def add_gains(self, total: Floats, weights: Weights, gain: Gain) -> float:
        """Add what comes of tf~ to a total for every document; return the most that is added."""
        most = 0.0
        for part, rows in zip(self.reader.parts, self._rows, strict=True):
            own = total[part.base : part.base + part.segment.docs]
            most = max(most, rows.add_gains(own, part, weights, gain))
        return most

    def _split(self, docs: Ints) -> Iterator[tuple[Part, Rows | Heap, Ints]]:
        """Yield every segment with its rows and the documents that lie in it, by their numbers there."""
        start = 0
        for part, rows in zip(self.reader.parts, self._rows, strict=True):
            stop = len(docs) if part is self.reader.parts[-1] else int(
                np.searchsorted(docs, part.base + part.segment.docs)
            )  # fmt: skip
            yield part, rows, docs[start:stop] - part.base if part.base else docs[start:stop]
            start = stop


class Excluded(Found):
    """A leaf that stands for what is not wanted: all its terms count, because an item that one more has would be a hit.

    It is not scored. As its terms may be many, they are not kept, nor are the postings of a leaf of one part.
    """

    @property
    def size(self) -> int:
        """Upper bound of ``df``."""
        pattern = self.leaf.pattern
        return self.df if isinstance(pattern, Run) and pattern.alone else super().size

    def _expand(self, pattern: Pattern) -> Terms:
        return expand_whole(self.reader, pattern)

    def _docs_in_parts(self) -> list[Docs]:
        several = [(part, self._only(index)) for index, part in enumerate(self.reader.parts)]
        alone = [docs_of(part, choice[0], self._limits) for part, choice in several if choice is not None]
        found = alone or super()._docs_in_parts()
        self._expanded = None
        vars(self).pop("_placed", None)
        return found
