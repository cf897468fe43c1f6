"""A bound query evaluated over a reader: which items match, and how well.

Boolean structure is evaluated on sets of documents, the rarest operand of an AND first. Scores are a sum over the
positive term queries, whatever the structure (BM25F after Robertson and Zaragoza, The Probabilistic Relevance
Framework: BM25 and Beyond, 2009)::

    tf~(q, d) = Σ_field w_field · tf_field / (1 − b_field + b_field · len_field(d) / avglen_field)
    score(d)  = Σ_q boost_q · idf_q · tf~ / (k1 + tf~)  /  Σ_q boost_q · idf_q
    idf_q     = ln(1 + (N − df_q + ½) / (df_q + ½))
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias, TypeVar

import numpy as np

from rye.index.arrays import Ints
from rye.index.reader import Floats, Reader
from rye.query import ast
from rye.search import bound
from rye.search.bound import TermQuery
from rye.search.docset import Docs
from rye.search.fields import K1, TEXT_FIELDS, Weights
from rye.search.leaf import zeros
from rye.search.match import Matcher
from rye.search.positions import Effort
from rye.search.predicates import States, accepted
from rye.search.results import ClauseTrace

T = TypeVar("T", float, Floats)

Matchers: TypeAlias = dict[tuple[bool, bound.TextPattern, bytes], Matcher]
"""Matchers by whether they are excluded, and by pattern and fields: equal ones are evaluated once."""

_MANY = 1_000
"""Documents up to which each is scored at once."""

_FEW = 8
"""Scoring is deferred when at most one document in this many has to be scored."""

_GROUPS = 256
"""Groups, at least, that the greatest of many values are looked for in."""

_PART = 8
"""When only the best k of many documents are wanted, the score cutoff is estimated from every n-th document."""

_ROUNDING = 1e-4
"""Scores nearer to each other than this may be equal when rounded."""


class Scored:
    """One positive term query with what it counts for among ``count`` items: ``weight`` is ``boost · idf``."""

    __slots__ = ("df", "idf", "matcher", "query", "weight")

    def __init__(self, query: TermQuery, matcher: Matcher, df: int, count: int) -> None:
        self.query = query
        self.matcher = matcher
        self.df = df
        self.idf = idf(count, df)
        self.weight = query.boost * self.idf

    def contributions(self, tf: T) -> T:
        """``boost · idf · tf~ / (k1 + tf~)`` per document."""
        return self.weight * tf / (K1 + tf)

    def add(self, total: Floats, weights: Weights) -> None:
        """Add the contributions to a total for every document."""
        self.matcher.add_gains(total, weights, self.contributions)


def idf(count: int, df: int) -> float:
    """Return ln(1 + (N − df + ½) / (df + ½))."""
    return math.log(1.0 + (count - df + 0.5) / (df + 0.5))


class Evaluation:
    """One query over one reader. Term queries are evaluated when first needed, and equal ones once.

    Those under an odd number of NOTs have matchers of their own: they are not scored, and never cut.

    ``states`` answers ``is:`` and ``signer:``. ``matchers`` are those of other queries over the same reader, which
    are not evaluated again; the new ones are added. ``effort`` is what the query may cost.
    """

    def __init__(
        self,
        reader: Reader,
        query: bound.Bound,
        weights: Weights,
        states: States,
        *,
        matchers: Matchers | None = None,
        effort: Effort | None = None,
    ) -> None:
        self.reader = reader
        self.query = query
        self.weights = weights
        self.states = states
        several, effort = {} if matchers is None else matchers, effort or Effort()
        self._terms: list[tuple[TermQuery, Matcher]] = []
        self._matchers: dict[int, Matcher] = {}
        for term, excluded in bound.nodes(query):
            if not isinstance(term, TermQuery):
                continue
            key = (excluded, term.pattern, term.fields.tobytes())
            matcher = several.get(key)
            if matcher is None:
                matcher = several[key] = Matcher(reader, term, effort, excluded=excluded)
            self._terms.append((term, matcher))
            self._matchers[id(term)] = matcher
        self._docs: Docs | None = None
        self._scored: list[Scored] | None = None
        self._norm = 0.0

    @property
    def count(self) -> int:
        """The number of items among which words are rare or frequent."""
        return self.reader.count

    def matchers(self) -> list[Matcher]:
        """Return the different term queries, in query order."""
        return list(dict.fromkeys(self._matchers.values()))

    def matcher(self, term: TermQuery) -> Matcher:
        """Return the matcher of a term query of this query."""
        return self._matchers[id(term)]

    def docs(self) -> Docs:
        """Return the live documents that match."""
        if self._docs is None:
            if isinstance(self.query, bound.Everything):
                self._docs = Docs.live(self.reader)
                return self._docs
            found = self.matching(self.query)
            self._docs = found if isinstance(self.query, TermQuery) else found & Docs.live(self.reader)
        return self._docs

    def matching(self, node: bound.Bound) -> Docs:
        """Return the documents that a part of the query matches; deleted ones may be among them."""
        size = self.reader.size
        match node:
            case TermQuery():
                return self._matchers[id(node)].docs()
            case bound.Everything():
                return Docs(size, mask=np.ones(size, bool))
            case bound.All(operands=operands):
                ordered = self._cheapest_first(operands)
                docs = self.matching(next(ordered))
                for operand in ordered:
                    docs &= self.matching(operand)
                    if not docs:
                        break
                return docs
            case bound.Any(operands=operands):
                return Docs.union(size, [self.matching(operand) for operand in operands])
            case bound.Not(operand=operand):
                return ~self.matching(operand)
        return Docs(size, mask=accepted(self.reader, node, self.states))

    def _cheapest_first(self, operands: Sequence[bound.Bound]) -> Iterator[bound.Bound]:
        """Yield the operands of an AND: term queries by their postings, then all else.

        What a plain word stands for is looked up; for any other the dictionary is searched, so those come after.
        """
        terms = [node for node in operands if isinstance(node, TermQuery)]
        for plain in (True, False):
            these = [term for term in terms if isinstance(term.node, ast.Word) is plain]
            yield from sorted(these, key=lambda term: self._matchers[id(term)].most())
        yield from (node for node in operands if not isinstance(node, TermQuery))

    def scored(self) -> list[Scored]:
        """Return the positive term queries with their weights."""
        if self._scored is None:
            count, terms = self.count, [pair for pair in self._terms if not pair[1].excluded]
            self._scored = [Scored(term, matcher, len(matcher.docs()), count) for term, matcher in terms]
            self._norm = sum([row.weight for row in self._scored])
        return self._scored

    def norm(self) -> float:
        """Return ``Σ boost · idf`` over the positive term queries."""
        self.scored()
        return self._norm

    def best(self, found: Docs, wanted: int) -> tuple[Ints, Floats]:
        """Return documents, ascending, and scores: all of some that by rounded score may be the first ``wanted``."""
        if not found:  # of a stage that finds nothing, term queries need not be looked up
            return found.numbers, np.empty(0)
        many = len(found) >= max(_MANY, _FEW * wanted)
        scored, norm = self.scored(), self._norm
        if len(scored) == 1 and norm > 0:
            return self._best_of_one(scored[0].matcher, found, wanted if many else len(found))
        if many and norm > 0 and len(found) >= min(len(row.matcher.docs()) for row in scored):
            return self._best_of_several(found, wanted)
        docs, scores = found.numbers, self.scores(found.numbers)
        if not many:
            return docs, scores
        keep = (scores >= _reached(scores, wanted) - _ROUNDING).nonzero()[0]
        return docs.take(keep), scores.take(keep)

    def _best_of_one(self, matcher: Matcher, found: Docs, wanted: int) -> tuple[Ints, Floats]:
        """Do the work of :meth:`best` for one term query: its score grows with tf~, so that is compared."""
        if wanted < len(found) and not matcher.docs().sparse:
            spread = matcher.spread(self.weights)
            docs = _highest(spread, found, wanted, _before)
            tf = spread.take(docs)
        elif found is matcher.docs():
            docs, tf = matcher.weighed(self.weights)
        else:
            docs, tf = found.numbers, matcher.weigh(found.numbers, self.weights)
        if wanted < len(docs):
            keep = (tf >= _before(_reached(tf, wanted))).nonzero()[0]
            docs, tf = docs.take(keep), tf.take(keep)
        return docs, tf / (K1 + tf)

    def _best_of_several(self, found: Docs, wanted: int) -> tuple[Ints, Floats]:
        """Do the work of :meth:`best` for several term queries, by MaxScore.

        The idea: common words weigh least and stand in most documents, so little of them need be read. Term queries are
        added up from the weightiest down. No document can gain more than ``rest``, the weights of those left out: only
        documents as high as the last of the best ``wanted`` so far, less ``rest``, can be among the first, and once
        these are few, the others are added up for them alone.

        The invariant: ``total`` plus ``rest`` is never below a document's true sum.

        The source: Turtle and Flood, Query Evaluation: Strategies and Optimizations, 1995; term by term over arrays.
        """
        total, rest = zeros("scores", self.reader.size), self.norm()
        ordered = sorted(self.scored(), key=lambda row: -row.weight)
        for number, row in enumerate(ordered, 1):
            row.add(total, self.weights)
            rest -= row.weight
            if number < len(ordered) and ordered[number].matcher.docs().sparse:
                continue  # to add few postings takes less time than to look for the best
            best = _highest(total, found, wanted, float)
            below = total.take(best).min() - rest - _ROUNDING * self._norm
            # Below 0, a document with no word so far could still be among the first.
            if below > 0 and np.count_nonzero(total >= below) * _FEW < len(found):
                docs = (total >= below).nonzero()[0]
                return self._completed(docs[found.mask.take(docs)], total, ordered[number:], wanted)
        return found.numbers, total.take(found.numbers) / self._norm

    def _completed(self, docs: Ints, total: Floats, others: Sequence[Scored], wanted: int) -> tuple[Ints, Floats]:
        """Add the other term queries to the totals of some documents, and leave out what falls behind on the way."""
        own, rest = total.take(docs), sum([row.weight for row in others]) + _ROUNDING * self._norm
        for row in others:
            own += row.contributions(row.matcher.weigh(docs, self.weights))
            rest -= row.weight
            keep = (own >= _reached(own, wanted) - rest).nonzero()[0]
            docs, own = docs.take(keep), own.take(keep)
        return docs, own / self._norm

    def scores(self, docs: Ints) -> Floats:
        """Return the unrounded score of documents, ascending: 0 ≤ score < 1; 1 for a query with no positive term."""
        scored, norm = self.scored(), self._norm
        if not len(docs) or not scored:
            return np.ones(len(docs))
        if norm <= 0:
            return np.zeros(len(docs))
        total = np.zeros(len(docs))
        fewer = [row for row in scored if len(docs) >= len(row.matcher.docs())] if len(scored) > 1 else []
        if fewer:
            spread = zeros("scores", self.reader.size)
            for row in fewer:
                row.add(spread, self.weights)
            total += spread.take(docs)
        for row in scored:
            if row not in fewer:
                total += row.contributions(row.matcher.weigh(docs, self.weights))
        values: Floats = total / norm
        return values

    def coverage(self, docs: Ints) -> Floats:
        """Return the share of ``Σ boost · idf`` whose words each of some documents has, ascending: from 0 to 1."""
        found = np.zeros(self.reader.size)
        for row in self.scored():
            found[row.matcher.docs().numbers] += row.weight
        share: Floats = found[docs] / self._norm if self._norm > 0 else np.ones(len(docs))
        return share

    def explain(self, doc: int) -> tuple[ClauseTrace, ...]:
        """Return the contribution of each field to each term query of one document; they sum to its score."""
        traces: list[ClauseTrace] = []
        names, norm = tuple(TEXT_FIELDS), self.norm()
        plain = sum(row.idf for row in self.scored())
        for row in self.scored() if norm > 0 else ():
            words = row.matcher.words_in(doc)
            values = row.matcher.field_values(doc, self.weights)
            tf = sum(values.values())
            share = float(row.contributions(tf)) / tf / norm if tf > 0 else 0.0
            traces += [
                ClauseTrace(
                    clause=row.query.label(),
                    field=names[field],
                    df=row.df,
                    idf=row.idf,
                    boost=row.query.boost,
                    tf=value,
                    contribution=value * share,
                    weight=row.weight / norm,
                    unboosted=row.idf / plain,
                    words=words.get(field, {}),
                )
                for field, value in values.items()
            ]
        return tuple(traces)


def _before(tf: float) -> float:
    """Return tf~ of which a score is as much less than that of ``tf`` as two may differ that are equal when rounded."""
    score = max(tf / (K1 + tf) - _ROUNDING, 0.0)
    return K1 * score / (1.0 - score)


def _highest(values: Floats, found: Docs, wanted: int, before: Callable[[float], float]) -> Ints:
    """Return those of some documents, ascending, whose value is among the greatest ``wanted`` or little less.

    The idea: the greatest ``wanted`` values of a part of the documents give a cutoff, and only documents above it are
    looked at one by one. The invariant: the k-th greatest value of a part is never above that of the whole, so a cutoff
    that ``wanted`` of the documents found do reach leaves none of the greatest out; one that they do not reach, because
    others did, is dropped. The source: threshold estimation by sampling (Mallia, Siedlaczek, Sun and Suel, A Comparison
    of Top-k Threshold Estimation Techniques for Disjunctive Query Processing, 2020).

    Args:
        values: One for each document of the reader, found or not.
        found: The documents.
        wanted: How many.
        before: Returns how great a value must be to be as good when rounded as the value given.
    """
    few = wanted * _PART**2 < len(found)
    floor = (few and _reached(values[: len(values) // _PART], wanted)) or _reached(values, wanted)
    docs = (values >= before(floor)).nonzero()[0]  # found or not
    docs = docs[found.mask.take(docs)]
    if np.count_nonzero(values.take(docs) >= floor) < wanted:  # others reach that high
        docs = found.numbers
    own = values.take(docs)
    return docs.take((own >= before(_reached(own, wanted))).nonzero()[0])


def _reached(values: Floats, wanted: int) -> float:
    """Return a lower bound of the k-th largest value, usually close to it; 0 if nothing better is known."""
    if len(values) < wanted:
        return 0.0
    groups = max(_GROUPS, 4 * wanted)
    # The greatest of each group are values themselves, so the k-th of them is a lower bound of the k-th of all, and
    # they are found faster than all values are partitioned. Column g is group g: the values at g, g + groups, …
    if len(values) > 4 * groups:
        values = values[: len(values) // groups * groups].reshape(-1, groups).max(axis=0)
    return float(np.partition(values, -wanted)[-wanted])
