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

T = TypeVar("T", float, Floats)

_MANY = 1_000
"""Documents up to which each is scored at once."""

_FEW = 8
"""Scoring is put off when it is spared all documents but one in so many."""

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

    def contenders(self, docs: Ints, wanted: int) -> Ints:
        """Return documents among which are all that may be, by their rounded scores, the first ``wanted`` of some.

        Leaves are added up from the weightiest down, until those left out can lift few documents that high (MaxScore;
        Turtle and Flood, Query Evaluation: Strategies and Optimizations, 1995). Of common words, which weigh least and
        stand in most documents, little is read then.
        """
        if len(docs) < max(_MANY, _FEW * wanted) or len(self.scored) < 3 or self.norm <= 0:
            return docs
        total, rest, slack = np.zeros(self.reader.size), self.norm, _ROUNDING * self.norm
        for row in sorted(self.scored, key=lambda row: -row.weight):
            own = row.found.docs.numbers
            total[own] += row.contributions(row.found.weigh(own, self.weights))
            rest -= row.weight
            reached = total[docs]
            high = reached[reached > rest + slack]
            if len(high) < wanted:
                continue
            keep = reached >= np.partition(high, -wanted)[-wanted] - rest - slack
            if np.count_nonzero(keep) * _FEW < len(docs):
                found: Ints = docs[keep]
                return found
        return docs

    def scores(self, docs: Ints) -> Floats:
        """Return the unrounded score of documents, ascending: 0 ≤ score < 1; 1 for a query with no positive leaf."""
        if not len(docs):
            return np.empty(0)
        if not self.scored:
            return np.ones(len(docs))
        if self.norm <= 0:
            return np.zeros(len(docs))
        total = np.zeros(len(docs))
        spread: Floats | None = None
        for row in self.scored:
            if len(self.scored) == 1 or len(docs) < row.found.df:
                total += row.contributions(row.found.weigh(docs, self.weights))
                continue
            if spread is None:
                spread = np.zeros(self.reader.size)
            own = row.found.docs.numbers
            spread[own] += row.contributions(row.found.weigh(own, self.weights))
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
