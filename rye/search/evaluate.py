"""A bound query evaluated over a reader: which items match, and how well.

Boolean structure is evaluated on masks over all documents; scores are a sum over the positive leaves, whatever the
structure (BM25F after Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009)::

    tf~(q, d) = Σ_field w_field · tf_field / (1 − b_field + b_field · len_field(d) / avglen_field)
    score(d)  = Σ_q boost_q · idf_q · tf~ / (k1 + tf~)  /  Σ_q boost_q · idf_q
    idf_q     = ln(1 + (N − df_q + ½) / (df_q + ½))
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rye.index.reader import Floats, Reader
from rye.index.segment import Bools, Ints
from rye.search import bound, filters
from rye.search.fields import K1, TEXT_FIELDS
from rye.search.leaves import Found, Leaf
from rye.search.results import LeafTrace
from rye.search.states import States
from rye.search.weights import Weights


@dataclass(frozen=True, eq=False)
class Scored:
    """One positive leaf with what scoring needs of it."""

    found: Found
    docs: Ints
    tf: Floats
    idf: float

    @property
    def weight(self) -> float:
        """``boost · idf``."""
        return self.found.leaf.boost * self.idf

    @property
    def contributions(self) -> Floats:
        """``boost · idf · tf~ / (k1 + tf~)`` per document."""
        values: Floats = self.weight * self.tf / (K1 + self.tf)
        return values


def idf(count: int, df: int) -> float:
    """Return ln(1 + (N − df + ½) / (df + ½))."""
    return math.log(1.0 + (count - df + 0.5) / (df + 0.5))


class Evaluation:
    """One query over one reader. Leaves are evaluated when first needed, and once.

    Args:
        reader: What to search.
        query: The bound query.
        weights: Field weights.
        states: Answers ``is:`` and ``signer:``.
    """

    def __init__(self, reader: Reader, query: bound.Bound, weights: Weights, states: States) -> None:
        self.reader = reader
        self.query = query
        self.weights = weights
        self.states = states
        self._found = {id(leaf): Found(reader, leaf) for leaf in _leaves(query)}

    def found(self) -> list[Found]:
        """Return all leaves, in query order."""
        return list(self._found.values())

    @cached_property
    def matches(self) -> Bools:
        """Shape ``(size,)``: the live documents that match."""
        return self._mask(self.query) & self.reader.live

    def _mask(self, node: bound.Bound) -> Bools:
        match node:
            case bound.Everything():
                return np.ones(self.reader.size, bool)
            case bound.All(operands=operands):
                mask = self._mask(operands[0])
                for operand in operands[1:]:
                    if not mask.any():
                        break
                    mask = mask & self._mask(operand)
                return mask
            case bound.Any(operands=operands):
                mask = self._mask(operands[0])
                for operand in operands[1:]:
                    mask = mask | self._mask(operand)
                return mask
            case bound.Not(operand=operand):
                return ~self._mask(operand)
            case Leaf():
                mask = np.zeros(self.reader.size, bool)
                mask[self._found[id(node)].slots.docs] = True
                return mask
        return filters.mask(self.reader, node, self.states)

    @cached_property
    def scored(self) -> list[Scored]:
        """The positive leaves, evaluated."""
        rows = []
        for leaf in _positive(self.query):
            found = self._found[id(leaf)]
            docs, tf = found.weigh(self.weights)
            rows.append(Scored(found, docs, tf, idf(self.reader.count, len(docs))))
        return rows

    @cached_property
    def norm(self) -> float:
        """``Σ boost · idf`` over the positive leaves."""
        return sum(row.weight for row in self.scored)

    def scores(self, docs: Ints) -> Floats:
        """Return the score of some documents, unrounded, 0 ≤ score < 1; 1 for queries with no positive leaf."""
        if not len(docs):
            return np.empty(0)
        if not self.scored:
            return np.ones(len(docs))
        if self.norm <= 0:
            return np.zeros(len(docs))
        if (
            len(self.scored) == 1
            and len(docs) == len(self.scored[0].docs)
            and np.array_equal(docs, self.scored[0].docs)
        ):
            return self.scored[0].contributions / self.norm
        total = np.zeros(self.reader.size)
        for row in self.scored:
            total[row.docs] += row.contributions
        values: Floats = total[docs] / self.norm
        return values

    def explain(self, doc: int) -> tuple[LeafTrace, ...]:
        """Return what each field gave each leaf of one document; the contributions sum to its score."""
        traces = []
        names = tuple(TEXT_FIELDS)
        for row in self.scored:
            at = np.searchsorted(row.docs, doc)
            if self.norm <= 0 or at >= len(row.docs) or row.docs[at] != doc:
                continue
            slots, values = row.found.slots, row.found.field_values(self.weights)
            share = row.contributions[at] / row.tf[at] / self.norm if row.tf[at] > 0 else 0.0
            traces += [
                LeafTrace(
                    leaf=row.found.leaf.label,
                    field=names[slots.fields[slot]],
                    df=len(row.docs),
                    idf=row.idf,
                    boost=row.found.leaf.boost,
                    tf=float(values[slot]),
                    contribution=float(values[slot] * share),
                )
                for slot in np.flatnonzero(slots.docs == doc).tolist()
            ]
        return tuple(traces)


def _leaves(node: bound.Bound) -> Iterator[Leaf]:
    match node:
        case Leaf():
            yield node
        case bound.Not(operand=operand):
            yield from _leaves(operand)
        case bound.All(operands=operands) | bound.Any(operands=operands):
            for operand in operands:
                yield from _leaves(operand)


def _positive(node: bound.Bound, *, negated: bool = False) -> Iterator[Leaf]:
    """Yield the leaves that stand under an even number of NOTs."""
    match node:
        case Leaf():
            if not negated:
                yield node
        case bound.Not(operand=operand):
            yield from _positive(operand, negated=not negated)
        case bound.All(operands=operands) | bound.Any(operands=operands):
            for operand in operands:
                yield from _positive(operand, negated=negated)
