"""A bound query compiled to the query DSL of OpenSearch.

Two clauses are made of a query: ``match`` says which items (filter context, no scores), ``score`` in which order (the
BM25F of :mod:`rye.search.score`). Words are looked up in the dictionary before, so that a clause names terms only.

How often a term query stands in a field is said by :mod:`rye.cluster.frequency`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rye.cluster.conditions import EVERYTHING, NOTHING, Clause, all_of, any_of, filter_clause, fuzzy, none_of
from rye.cluster.frequency import SCRIPTS, script, term_frequency
from rye.cluster.places import Places, WordLists
from rye.cluster.vectors import SIMILARITY
from rye.index import analysis
from rye.search import bound
from rye.search.bound import TermQuery
from rye.search.expand import How, Pattern, automatic_distance
from rye.search.fields import K1, Weights
from rye.trust.trust_set import TrustSet

UNIT = 10_000
"""Scores are whole numbers of this unit on the cluster: the four decimals of a response."""

TIER = 1_048_576
"""The step between tiers of hits, more than any score: exact names, then those not withdrawn.

Three of them are below 2²⁴, up to which a float of the cluster holds whole numbers; a score by meaning may be 10.
"""

MOST_TERMS = 60_000
"""Terms that an excluded part may stand for, below the limit of one clause."""


def lookup(pattern: Pattern) -> Clause:
    """Return the query for the words of the dictionary that a part of a query stands for."""
    match pattern.how:
        case How.EXACT:
            return {"term": {"word": pattern.text}}
        case How.INFLECTED:
            return {"term": {"stem": analysis.stem(pattern.text)}}
        case How.GLOB:
            return {"wildcard": {"word": {"value": pattern.text, "rewrite": "constant_score"}}}
    distance = automatic_distance(pattern.text) if pattern.distance is None else pattern.distance
    distance = min(distance, max(len(pattern.text) - 1, 0))  # those farther away have no weight
    near: Clause = {"term": {"word": pattern.text}} if distance == 0 else fuzzy("word", pattern.text, distance)
    return all_of([near, {"prefix": {"word": pattern.start}}]) if pattern.start else near


def terms_asked(node: bound.Bound) -> Iterator[tuple[TermQuery, bool]]:
    """Yield every term query, and whether it is excluded."""
    for one, excluded in bound.nodes(node):
        if isinstance(one, TermQuery):
            yield one, excluded


_NO_KEYS = TrustSet()


class Compiler:
    """Compiles one bound query.

    Args:
        terms: By part and whether it is excluded, the words of the dictionary that it stands for.
        weights: Of the fields, a row for each type, or for each root and type; None where nothing is scored.
        trust: The keys here.
    """

    def __init__(
        self,
        terms: WordLists,
        weights: Weights | None,
        trust: TrustSet = _NO_KEYS,
    ) -> None:
        self._terms = terms
        self._trust = trust
        self._weights = weights

    def match(self, node: bound.Bound, *, excluded: bool = False) -> Clause:
        """Return the clause for the items that match.

        Raises:
            UnavailableError: ``not-on-cluster``.
        """
        match node:
            case bound.Everything():
                return EVERYTHING
            case bound.All(operands=operands):
                return all_of([self.match(operand, excluded=excluded) for operand in operands])
            case bound.Any(operands=operands):
                return any_of([self.match(operand, excluded=excluded) for operand in operands])
            case bound.Not(operand=operand):
                return none_of(self.match(operand, excluded=not excluded))
            case TermQuery():
                return Places(self._terms, node, excluded=excluded).match()
        return filter_clause(node, self._trust, excluded=excluded)

    def score(self, matching: Clause, weighed: Sequence[tuple[TermQuery, float]], norm: float) -> Clause:
        """Return a query that scores what matches in whole :data:`UNIT`.

        Args:
            matching: Which items.
            weighed: The positive term queries with ``boost · idf``.
            norm: The sum of these; with none every score is 1, with 0 it is 0.
        """
        if not weighed or norm <= 0:
            return {"constant_score": {"filter": matching, "boost": 0.0 if weighed else float(UNIT)}}
        parts = self._gains(weighed)
        if not parts:
            return {"constant_score": {"filter": matching, "boost": 0.0}}
        return script({"bool": {"filter": [matching], "should": parts}}, "round", n=norm, u=UNIT)

    def words(self, weighed: Sequence[tuple[TermQuery, float]]) -> Clause:
        """Return a query that scores ``norm² · score · coverage``.

        The score is as for :meth:`score`; the coverage is the share of ``norm`` whose term queries match.
        """
        parts = self._gains(weighed)
        if not parts:
            return NOTHING
        shares = [{"filter": self.match(term), "weight": weight} for term, weight in weighed if weight > 0]
        summed = {"query": {"bool": {"should": parts}}, "functions": shares}
        return {"function_score": summed | {"score_mode": "sum", "boost_mode": "multiply"}}

    def _gains(self, weighed: Sequence[tuple[TermQuery, float]]) -> list[Clause]:
        """Return a query for each term query that scores what it adds to a score times ``norm``."""
        assert self._weights is not None
        parts = list[Clause]()
        for term, weight in weighed:
            tf = term_frequency(Places(self._terms, term, excluded=False), self._weights)
            if tf != NOTHING:
                parts.append(script(tf, "gain", w=weight, k=K1))
        return parts


STORED_SCRIPTS: Mapping[str, str] = {
    **SCRIPTS,
    "gain": "params.w * _score / (params.k + _score)",
    "round": "Math.rint(params.u * _score / params.n)",
    "meaning": SIMILARITY,
}
"""The scripts that scores are computed by: tf~ in a field, the gain of a term query, the rounded score, the meaning."""
