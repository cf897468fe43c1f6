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
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeAlias, TypeVar

import numpy as np

from rye.index.reader import Floats, Reader
from rye.index.segment import Ints
from rye.query import ast
from rye.search import bound
from rye.search import predicates as filters
from rye.search.docset import Docs
from rye.search.fields import K1, TEXT_FIELDS, Weights
from rye.search.match import Excluded, Found
from rye.search.phrase import Effort, Leaf, Sought
from rye.search.postings import zeros
from rye.search.predicates import States
from rye.search.results import LeafTrace

T = TypeVar("T", float, Floats)

Kind: TypeAlias = type[Found]
"""How a leaf is evaluated."""

Leaves: TypeAlias = dict[tuple[Kind, Sought], Found]
"""Leaves that have been evaluated, or will be when they are needed."""

_MANY = 1_000
"""Documents up to which each is scored at once."""

_FEW = 8
"""Scoring is put off when it is spared all documents but one in so many."""

_GROUPS = 256
"""Groups, at least, that the greatest of many values are looked for in."""

_PART = 8
"""Of few documents that are wanted, the greatest among one in so many of all say how great a value must be at least."""

_ROUNDING = 1e-4
"""Scores nearer to each other than this may be equal when rounded."""


class Scored:
    """One positive leaf with what it counts for: ``weight`` is ``boost · idf``."""

    __slots__ = ("found", "idf", "leaf", "weight")

    def __init__(self, leaf: Leaf, found: Found, idf: float) -> None:
        self.leaf = leaf
        self.found = found
        self.idf = idf
        self.weight = leaf.boost * idf

    def contributions(self, tf: T) -> T:
        """``boost · idf · tf~ / (k1 + tf~)`` per document."""
        return self.weight * tf / (K1 + tf)

    def add(self, total: Floats, weights: Weights) -> float:
        """Add the contributions to a total for every document; return the greatest."""
        return self.found.add_gains(total, weights, self.contributions)


def idf(count: int, df: int) -> float:
    """Return ln(1 + (N − df + ½) / (df + ½))."""
    return math.log(1.0 + (count - df + 0.5) / (df + 0.5))


class Evaluation:
    """One query over one reader. Leaves are evaluated when first needed, and once; equal ones are evaluated as one.

    Those under an odd number of NOTs are apart from the others: they are not scored, and never cut.

    Args:
        reader: What to search.
        query: The bound query.
        weights: Field weights.
        states: Answers ``is:`` and ``signer:``.
        leaves: Those of other queries over the same reader, which are not evaluated again; these are added.
    """

    def __init__(
        self, reader: Reader, query: bound.Bound, weights: Weights, states: States, *, leaves: Leaves | None = None
    ) -> None:
        self.reader = reader
        self.query = query
        self.weights = weights
        self.states = states
        several, effort = {} if leaves is None else leaves, Effort()
        self._found = {
            id(leaf): several.get(key) or several.setdefault(key, kind(reader, leaf, effort))
            for leaf, kind in _leaves(query)
            for key in [(kind, leaf.sought)]
        }
        self._matching: Docs | None = None
        self._scored: tuple[list[Scored], float] | None = None

    def found(self) -> list[Found]:
        """Return all different leaves, in query order."""
        return list(dict.fromkeys(self._found.values()))

    @property
    def docs(self) -> Docs:
        """The live documents that match."""
        if self._matching is None:
            found = self._docs(self.query)
            self._matching = found if isinstance(self.query, Leaf) else found & Docs.live(self.reader)
        return self._matching

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
                return Docs.union(size, [self._docs(operand) for operand in operands])
            case bound.Not(operand=operand):
                return ~self._docs(operand)
        return Docs(size, mask=filters.mask(self.reader, node, self.states))

    def _cheapest_first(self, operands: Sequence[bound.Bound]) -> Iterator[bound.Bound]:
        """Yield the operands of an AND: leaves by their postings, then all else.

        What a plain word stands for is looked up; for any other leaf the dictionary is searched, so those come after.
        """
        leaves = [node for node in operands if isinstance(node, Leaf)]
        for plain in (True, False):
            these = [leaf for leaf in leaves if isinstance(leaf.node, ast.Word) is plain]
            yield from sorted(these, key=lambda leaf: self._found[id(leaf)].size)
        yield from (node for node in operands if not isinstance(node, Leaf))

    @property
    def scored(self) -> list[Scored]:
        """The positive leaves."""
        return self._weighed()[0]

    @property
    def norm(self) -> float:
        """``Σ boost · idf`` over the positive leaves."""
        return self._weighed()[1]

    def _weighed(self) -> tuple[list[Scored], float]:
        if self._scored is None:
            found = [(leaf, self._found[id(leaf)]) for leaf, kind in _leaves(self.query) if kind is Found]
            rows = [Scored(leaf, one, idf(self.reader.count, one.df)) for leaf, one in found]
            self._scored = rows, sum([row.weight for row in rows])
        return self._scored

    def best(self, found: Docs, wanted: int) -> tuple[Ints, Floats]:
        """Return documents, ascending, and scores: all of some that by rounded score may be the first ``wanted``."""
        if not found:  # of a stage that finds nothing, leaves need not be looked up
            return found.numbers, np.empty(0)
        many = len(found) >= max(_MANY, _FEW * wanted)
        scored, norm = self._weighed()
        if len(scored) == 1 and norm > 0:
            return self._best_of_one(scored[0].found, found, wanted if many else len(found))
        if many and norm > 0 and len(found) >= min(row.found.df for row in scored):
            return self._best_of_several(found, wanted)
        docs, scores = found.numbers, self.scores(found.numbers)
        if not many:
            return docs, scores
        keep = (scores >= _reached(scores, wanted) - _ROUNDING).nonzero()[0]
        return docs.take(keep), scores.take(keep)

    def _best_of_one(self, leaf: Found, found: Docs, wanted: int) -> tuple[Ints, Floats]:
        """Return what :meth:`best` does; the score grows with tf~, and so that is compared."""
        if leaf.much and wanted < len(found):
            spread = leaf.spread(self.weights)
            docs = _highest(spread, found, wanted, _before)
            tf = spread.take(docs)
        elif found is leaf.docs:
            docs, tf = leaf.weighed(self.weights)
        else:
            docs, tf = found.numbers, leaf.weigh(found.numbers, self.weights)
        if wanted < len(docs):
            keep = (tf >= _before(_reached(tf, wanted))).nonzero()[0]
            docs, tf = docs.take(keep), tf.take(keep)
        return docs, tf / (K1 + tf)

    def _best_of_several(self, found: Docs, wanted: int) -> tuple[Ints, Floats]:
        """Return what :meth:`best` does.

        Leaves are added up from the weightiest down, until those left out can lift few documents that high (MaxScore;
        Turtle and Flood, Query Evaluation: Strategies and Optimizations, 1995). Of common words, which weigh least and
        stand in most documents, little is read then.
        """
        total, reached = zeros("scores", self.reader.size), 0.0
        rest, slack = self.norm, _ROUNDING * self.norm
        ordered = sorted(self.scored, key=lambda row: -row.weight)
        for row in ordered:
            reached += row.add(total, self.weights)
            rest -= row.weight
            below = rest + slack
            if reached <= below or np.count_nonzero(total > below) < wanted:
                continue
            docs = _highest(total, found, wanted, partial(_less, below))
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
        fewer = [row for row in self.scored if len(docs) >= row.found.df]
        if fewer:
            spread = zeros("scores", self.reader.size)
            for row in fewer:
                row.add(spread, self.weights)
            total += spread.take(docs)
        for row in self.scored:
            if len(docs) < row.found.df:
                total += row.contributions(row.found.weigh(docs, self.weights))
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
                    leaf=row.leaf.label,
                    field=names[field],
                    df=row.found.df,
                    idf=row.idf,
                    boost=row.leaf.boost,
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


def _less(below: float, value: float) -> float:
    return value - below


def _before(tf: float) -> float:
    """Return tf~ of which a score is as much less than that of ``tf`` as two may differ that are equal when rounded."""
    score = max(tf / (K1 + tf) - _ROUNDING, 0.0)
    return K1 * score / (1.0 - score)


def _highest(values: Floats, found: Docs, wanted: int, before: Callable[[float], float]) -> Ints:
    """Return those of some documents, ascending, whose value is among the greatest ``wanted`` or little less.

    Args:
        values: Of all documents.
        found: The documents.
        wanted: How many.
        before: Returns how great a value must be where the greatest are at least so great.
    """
    few = wanted * _PART**2 < len(found)
    floor = (few and _reached(values[: len(values) // _PART], wanted)) or _reached(values, wanted)
    docs = (values >= before(floor)).nonzero()[0]
    docs = docs[found.mask.take(docs)]
    if np.count_nonzero(values.take(docs) >= floor) < wanted:  # others reach that high
        docs = found.numbers
    own = values.take(docs)
    return docs.take((own >= before(_reached(own, wanted))).nonzero()[0])


def _reached(values: Floats, wanted: int) -> float:
    """Return a value that at least so many of some values reach, if only 0, mostly little below the greatest such."""
    if len(values) < wanted:
        return 0.0
    groups = max(_GROUPS, 4 * wanted)
    if len(values) > 4 * groups:  # the greatest of each group are few, and found faster than all are partitioned
        values = values[: len(values) // groups * groups].reshape(-1, groups).max(axis=0)
    return float(np.partition(values, -wanted)[-wanted])


def _leaves(node: bound.Bound, kind: Kind = Found, other: Kind = Excluded) -> Iterator[tuple[Leaf, Kind]]:
    """Yield every leaf and how it is evaluated: one under an odd number of NOTs as the other kind."""
    match node:
        case Leaf():
            yield node, kind
        case bound.Not(operand=operand):
            yield from _leaves(operand, other, kind)
        case bound.All(operands=operands) | bound.Any(operands=operands):
            for operand in operands:
                yield from _leaves(operand, kind, other)
