"""A bound query evaluated over a reader: which items match, and how well.

Boolean structure is evaluated on sets of documents, the rarest leaf of an AND first; scores are a sum over the
positive leaves, whatever the structure (BM25F after Robertson and Zaragoza, The Probabilistic Relevance Framework:
BM25 and Beyond, 2009)::

    tf~(q, d) = Σ_field w_field · tf_field / (1 − b_field + b_field · len_field(d) / avglen_field)
    score(d)  = Σ_q boost_q · idf_q · tf~ / (k1 + tf~)  /  Σ_q boost_q · idf_q
    idf_q     = ln(1 + (N − df_q + ½) / (df_q + ½))
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import TypeVar

import numpy as np

from rye.index.reader import Floats, Reader
from rye.index.segment import Ints
from rye.query import ast
from rye.search import bound, filters
from rye.search.docs import Docs
from rye.search.fields import K1, TEXT_FIELDS
from rye.search.leaves import Found, Leaf
from rye.search.results import LeafTrace
from rye.search.states import States
from rye.search.weights import Weights

_sums = threading.local()

T = TypeVar("T", float, Floats)

_MANY = 1_000
"""Documents up to which each is scored at once."""

_FEW = 8
"""Scoring is put off when it is spared all documents but one in so many."""

_GROUPS = 1_024
"""Groups, at least, that the greatest of many values are looked for in."""

_ROUNDING = 1e-4
"""Scores nearer to each other than this may be equal when rounded."""


@dataclass(frozen=True, eq=False)
class Scored:
    """One positive leaf with what it counts for."""

    found: Found
    idf: float

    @property
    def weight(self) -> float:
        """``boost · idf``."""
        return self.found.leaf.boost * self.idf

    def contributions(self, tf: T) -> T:
        """``boost · idf · tf~ / (k1 + tf~)`` per document."""
        return self.weight * tf / (K1 + tf)


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
    def docs(self) -> Docs:
        """The live documents that match."""
        found = self._docs(self.query)
        return found if isinstance(self.query, Leaf) else found & Docs.live(self.reader)

    def _docs(self, node: bound.Bound) -> Docs:
        size = self.reader.size
        match node:
            case Leaf():
                return self._found[id(node)].docs
            case bound.Everything():
                return Docs(size, mask=np.ones(size, bool))
            case bound.All(operands=operands):
                ordered = self._cheapest_first(operands)
                docs = self._docs(next(ordered))
                for operand in ordered:
                    docs &= self._docs(operand)
                    if not docs:
                        break
                return docs
            case bound.Any(operands=operands):
                return reduce(or_, map(self._docs, operands))
            case bound.Not(operand=operand):
                return ~self._docs(operand)
        return Docs(size, mask=filters.mask(self.reader, node, self.states))

    def _cheapest_first(self, operands: Sequence[bound.Bound]) -> Iterator[bound.Bound]:
        """Yield the operands of an AND: leaves by their postings, then all else.

        What a plain word stands for is looked up; for any other leaf the dictionary is searched, so those come after.
        """
        leaves = [self._found[id(node)] for node in operands if isinstance(node, Leaf)]
        for plain in (True, False):
            these = [found for found in leaves if isinstance(found.leaf.node, ast.Word) is plain]
            yield from (found.leaf for found in sorted(these, key=lambda found: found.size))
        yield from (node for node in operands if not isinstance(node, Leaf))

    @cached_property
    def scored(self) -> list[Scored]:
        """The positive leaves."""
        found = [self._found[id(leaf)] for leaf in _positive(self.query)]
        return [Scored(one, idf(self.reader.count, one.df)) for one in found]

    @cached_property
    def norm(self) -> float:
        """``Σ boost · idf`` over the positive leaves."""
        return sum(row.weight for row in self.scored)

    def best(self, found: Docs, wanted: int) -> tuple[Ints, Floats]:
        """Return documents, ascending, and scores: all of some that by rounded score may be the first ``wanted``."""
        many = len(found) >= max(_MANY, _FEW * wanted) and self.norm > 0
        if many and len(self.scored) > 1 and len(found) >= min(row.found.df for row in self.scored):
            return self._best_of_several(found, wanted)
        if len(self.scored) == 1 and found is self.scored[0].found.docs:
            docs, tf = self.scored[0].found.weighed(self.weights)
            scores = self.scored[0].contributions(tf) / self.norm
        else:
            docs, scores = found.numbers, self.scores(found.numbers)
        if not many:
            return docs, scores
        keep = (scores >= _reached(scores, wanted) - _ROUNDING).nonzero()[0]
        return docs.take(keep), scores.take(keep)

    def _best_of_several(self, found: Docs, wanted: int) -> tuple[Ints, Floats]:
        """Return what :meth:`best` does.

        Leaves are added up from the weightiest down, until those left out can lift few documents that high (MaxScore;
        Turtle and Flood, Query Evaluation: Strategies and Optimizations, 1995). Of common words, which weigh least and
        stand in most documents, little is read then.
        """
        total, rest, slack = _zeros(self.reader.size), self.norm, _ROUNDING * self.norm
        ordered = sorted(self.scored, key=lambda row: -row.weight)
        for row in ordered:
            docs, tf = row.found.weighed(self.weights)
            np.add.at(total, docs, row.contributions(tf))
            rest -= row.weight
            if np.count_nonzero(total > rest + slack) < wanted:
                continue
            docs = _highest(total, found, wanted, rest + slack)
            if len(docs) * _FEW < len(found):
                return docs, total.take(docs) / self.norm if row is ordered[-1] else self.scores(docs)
        return found.numbers, self.scores(found.numbers)

    def scores(self, docs: Ints) -> Floats:
        """Return the unrounded score of documents, ascending: 0 ≤ score < 1; 1 for a query with no positive leaf."""
        if not len(docs):
            return np.empty(0)
        if not self.scored:
            return np.ones(len(docs))
        if self.norm <= 0:
            return np.zeros(len(docs))
        if len(self.scored) == 1:
            (row,) = self.scored
            return row.contributions(row.found.weigh(docs, self.weights)) / self.norm
        total = np.zeros(len(docs))
        spread: Floats | None = None
        for row in self.scored:
            if len(docs) < row.found.df:
                total += row.contributions(row.found.weigh(docs, self.weights))
                continue
            if spread is None:
                spread = _zeros(self.reader.size)
            own, tf = row.found.weighed(self.weights)
            np.add.at(spread, own, row.contributions(tf))
        if spread is not None:
            total += spread[docs]
        values: Floats = total / self.norm
        return values

    def coverage(self, docs: Ints) -> Floats:
        """Return how much of ``Σ boost · idf`` stands in each of some documents, ascending: from 0 to 1."""
        found = np.zeros(self.reader.size)
        for row in self.scored:
            found[row.found.docs.numbers] += row.weight
        share: Floats = found[docs] / self.norm if self.norm > 0 else np.ones(len(docs))
        return share

    def explain(self, doc: int) -> tuple[LeafTrace, ...]:
        """Return what each field gave each leaf of one document; the contributions sum to its score."""
        traces = []
        names = tuple(TEXT_FIELDS)
        plain = sum(row.idf for row in self.scored)
        for row in self.scored:
            words = row.found.words_in(doc)
            values = row.found.field_values(doc, self.weights)
            tf = sum(values.values())
            share = float(row.contributions(tf)) / tf / self.norm if tf > 0 and self.norm > 0 else 0.0
            traces += [
                LeafTrace(
                    leaf=row.found.leaf.label,
                    field=names[field],
                    df=row.found.df,
                    idf=row.idf,
                    boost=row.found.leaf.boost,
                    tf=value,
                    contribution=value * share,
                    weight=row.weight / self.norm,
                    unboosted=row.idf / plain,
                    words=words.get(field, {}),
                )
                for field, value in values.items()
                if self.norm > 0
            ]
        return tuple(traces)


def _zeros(size: int) -> Floats:
    """Return zeros, in this thread's memory for them: to get that anew takes longer than to add up there."""
    kept: Floats | None = getattr(_sums, "kept", None)
    if kept is None or len(kept) != size:
        kept = _sums.kept = np.empty(size)
    kept.fill(0.0)
    return kept


def _highest(values: Floats, found: Docs, wanted: int, below: float) -> Ints:
    """Return those of some documents, ascending, whose value is at most so much below the greatest ``wanted``."""
    floor = _reached(values, wanted)
    docs = (values >= floor - below).nonzero()[0]
    docs = docs[found.mask.take(docs)]
    if np.count_nonzero(values.take(docs) >= floor) >= wanted:
        return docs
    values = values * found.mask  # others reach that high
    return (values >= _reached(values, wanted) - below).nonzero()[0]


def _reached(values: Floats, wanted: int) -> float:
    """Return a value that at least so many of some values reach, or little fewer than the greatest such."""
    groups = max(_GROUPS, 16 * wanted)
    if len(values) > 4 * groups:  # the greatest of each group are few, and found faster than all are partitioned
        values = values[: len(values) // groups * groups].reshape(-1, groups).max(axis=0)
    return float(np.partition(values, -wanted)[-wanted])


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
