"""Evaluate a bound query over a reader: which items match, and with what score.

Boolean structure is evaluated on sets of documents, the rarest operand of an AND first. Scores are a sum over the
positive term queries, whatever the structure (BM25F after Robertson and Zaragoza, The Probabilistic Relevance
Framework: BM25 and Beyond, 2009)::

    tf~(q, d) = Σ_field w_field · tf_field / (1 − b_field + b_field · len_field(d) / avglen_field)
    score(d)  = Σ_q boost_q · idf_q · tf~ / (k1 + tf~)  /  Σ_q boost_q · idf_q
    idf_q     = ln(1 + (N − df_q + ½) / (df_q + ½))
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from typing import TypeAlias, TypeVar

import numpy as np

from rye.index.build.reader import Floats, Reader
from rye.index.storage.arrays import Ints
from rye.query import ast
from rye.search.contract.fields import K1, TEXT_FIELDS, Weights
from rye.search.contract.results import ClauseTrace
from rye.search.matching import bound
from rye.search.matching.bound import TermQuery
from rye.search.matching.docset import Docs
from rye.search.matching.positions import PositionBudget
from rye.search.matching.predicates import accepted
from rye.search.matching.term import Term
from rye.search.states.states import States

T = TypeVar("T", float, Floats)

KnownTerms: TypeAlias = dict[tuple[bool, bound.TextPattern, bytes], Term]
"""Term queries by whether they are excluded, pattern and fields, so that equal ones are evaluated once."""

_GROUPS = 256
"""Least number of groups used to find the best of many scores."""

_memory = threading.local()

_ROUNDING = 1e-4
"""Scores closer than this may be equal when rounded."""


class Scored:
    """One positive term query with its weight among ``count`` items: ``weight`` is ``boost · idf``."""

    __slots__ = ("df", "idf", "query", "term", "weight")

    def __init__(self, query: TermQuery, term: Term, count: int) -> None:
        self.query = query
        self.term = term
        self.df = df = len(term.docs)
        self.idf = idf(count, df)
        self.weight = query.boost * self.idf

    def contributions(self, tf: T) -> T:
        """``boost · idf · tf~ / (k1 + tf~)`` per document."""
        return self.weight * tf / (K1 + tf)


def idf(count: int, df: int) -> float:
    """Return ln(1 + (N − df + ½) / (df + ½))."""
    return math.log(1.0 + (count - df + 0.5) / (df + 0.5))


class Evaluation:
    """One query over one reader. Term queries are evaluated on first use, and equal ones once.

    Term queries under an odd number of NOTs are evaluated separately: they are not scored, and never cut.

    Args:
        reader: The spaces searched.
        query: The query.
        weights: The field weights.
        states: Answers ``is:`` and ``signer:``.
        known: Terms already evaluated for other queries over the same reader; new ones are added.
        effort: The budget of the query.
    """

    def __init__(
        self,
        reader: Reader,
        query: bound.Bound,
        weights: Weights,
        states: States,
        *,
        known: KnownTerms | None = None,
        effort: PositionBudget | None = None,
    ) -> None:
        self.reader = reader
        self.query = query
        self.weights = weights
        self.states = states
        known, effort = {} if known is None else known, effort or PositionBudget()
        self._terms: dict[int, tuple[TermQuery, Term]] = {}
        for node, excluded in bound.nodes(query):
            if not isinstance(node, TermQuery):
                continue
            key = (excluded, node.pattern, node.fields.tobytes())
            if key not in known:
                known[key] = Term(reader, node, effort, excluded=excluded)
            self._terms[id(node)] = node, known[key]
        self._docs: Docs | None = None
        self._scored: list[Scored] | None = None
        self._norm = 0.0

    @property
    def count(self) -> int:
        """The number of items, for inverse document frequencies."""
        return self.reader.count

    def terms(self) -> list[Term]:
        """Return the distinct term queries, in query order."""
        return list(dict.fromkeys(term for _, term in self._terms.values()))

    def notes(self) -> Iterator[str]:
        """Yield a warning for each word that stands for too many terms."""
        for term in self.terms():
            if term.is_cut():
                yield f"{term.query.label()} stands for too many terms; the most frequent were kept"

    def term(self, query: TermQuery) -> Term:
        """Return the evaluation of a term query of this query."""
        return self._terms[id(query)][1]

    def docs(self) -> Docs:
        """Return the live documents that match."""
        if self._docs is None:
            if isinstance(self.query, bound.BoundEverything):
                self._docs = Docs.live(self.reader)
                return self._docs
            matches = self.matching(self.query)
            self._docs = matches if isinstance(self.query, TermQuery) else matches & Docs.live(self.reader)
        return self._docs

    def matching(self, node: bound.Bound) -> Docs:
        """Return the documents that a part of the query matches. It may include deleted documents."""
        size = self.reader.size
        match node:
            case TermQuery():
                return self.term(node).docs
            case bound.BoundEverything():
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
            case bound.BoundNot(operand=operand):
                return ~self.matching(operand)
        return Docs(size, mask=accepted(self.reader, node, self.states))

    def _cheapest_first(self, operands: Sequence[bound.Bound]) -> Iterator[bound.Bound]:
        """Yield the operands of an AND: term queries by their postings, then all others.

        Plain words come first because their terms are looked up directly; other patterns search the dictionary.
        """
        terms = [node for node in operands if isinstance(node, TermQuery)]
        for plain in (True, False):
            group = [term for term in terms if isinstance(term.node, ast.Word) is plain]
            yield from sorted(group, key=lambda term: self.term(term).most())
        yield from (node for node in operands if not isinstance(node, TermQuery))

    def scored(self) -> list[Scored]:
        """Return the positive term queries with their weights."""
        if self._scored is None:
            pairs = self._terms.values()
            self._scored = [Scored(query, term, self.count) for query, term in pairs if not term.excluded]
            self._norm = sum([row.weight for row in self._scored])
        return self._scored

    def norm(self) -> float:
        """Return ``Σ boost · idf`` over the positive term queries."""
        self.scored()
        return self._norm

    def best(self, matches: Docs, limit: int) -> tuple[Ints, Floats]:
        """Return the best ``wanted`` documents, ascending, including ties by rounded score, and their scores."""
        docs = matches.numbers
        if not len(docs):  # do not look up term queries if nothing matches
            return docs, np.empty(0)
        scores = self.scores(docs)
        if limit < len(docs):
            keep = (scores >= _at_most_kth(scores, limit) - _ROUNDING).nonzero()[0]
            docs, scores = docs.take(keep), scores.take(keep)
        return docs, scores

    def scores(self, docs: Ints) -> Floats:
        """Return the unrounded scores of ascending documents: 0 ≤ score < 1, or 1 if the query has no positive term."""
        scored, norm = self.scored(), self._norm
        if not len(docs) or not scored:
            return np.ones(len(docs))
        if norm <= 0:
            return np.zeros(len(docs))
        if len(scored) == 1 and docs is scored[0].term.docs.numbers:  # a single word needs no sum
            single: Floats = scored[0].contributions(scored[0].term.weighed(self.weights)) / norm
            return single
        total, spread = np.zeros(len(docs)), None
        for row in scored:
            if len(row.term.docs) > len(docs):  # 20 times as fast for a frequent word beside a rare one
                total += row.contributions(row.term.weigh(docs, self.weights))
            else:
                spread = _zeros(self.reader.size) if spread is None else spread
                spread[row.term.docs.numbers] += row.contributions(row.term.weighed(self.weights))
        values: Floats = (total if spread is None else total + spread.take(docs)) / norm
        return values

    def coverage(self, docs: Ints) -> Floats:
        """Return, per ascending document, the share of ``Σ boost · idf`` from terms it has: from 0 to 1."""
        sums = np.zeros(self.reader.size)
        for row in self.scored():
            sums[row.term.docs.numbers] += row.weight
        share: Floats = sums[docs] / self._norm if self._norm > 0 else np.ones(len(docs))
        return share

    def explain(self, doc: int) -> tuple[ClauseTrace, ...]:
        """Return the contribution of each field to each term query of one document; they sum to its score."""
        traces: list[ClauseTrace] = []
        names, norm = tuple(TEXT_FIELDS), self.norm()
        plain = sum(row.idf for row in self.scored())
        for row in self.scored() if norm > 0 else ():
            matches = row.term.matches(doc, self.weights)
            tf = sum(match.gain for match in matches)
            share = float(row.contributions(tf)) / tf / norm if tf > 0 else 0.0
            traces += [
                ClauseTrace(
                    clause=row.query.label(),
                    field=names[match.field],
                    df=row.df,
                    idf=row.idf,
                    boost=row.query.boost,
                    tf=match.gain,
                    contribution=match.gain * share,
                    weight=row.weight / norm,
                    unboosted=row.idf / plain,
                    words=match.words,
                )
                for match in matches
            ]
        return tuple(traces)


def _zeros(size: int) -> Floats:
    """Return zeros in this thread's memory, valid until the next call.

    Allocating sums over all documents anew would take longer than adding them up.
    """
    kept: Floats | None = getattr(_memory, "sums", None)
    if kept is None or len(kept) < size:
        kept = _memory.sums = np.empty(size)
    part = kept[:size]
    part.fill(0.0)
    return part


def _at_most_kth(scores: Floats, k: int) -> float:
    """Return a lower bound of the k-th largest score, usually close to it.

    The idea: the greatest score of each group is itself a score, so the k-th largest of these is a bound. Finding it
    among 100,000 scores takes 0.09 ms; partitioning all of them takes 0.95 ms.
    """
    groups = max(_GROUPS, 4 * k)
    if used := len(scores) // groups * groups:  # column g is group g: the scores at g, g + groups, …
        scores = scores[:used].reshape(-1, groups).max(axis=0)
    return float(np.partition(scores, -k)[-k])
