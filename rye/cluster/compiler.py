"""A bound query compiled to the query DSL of OpenSearch.

Two clauses are made of a query: ``match`` says which items (filter context, no scores), ``score`` in which order (the
BM25F of :mod:`rye.search.score`). Words are looked up in the dictionary before, so that a clause names terms only.

The invariant: a score is never below the true one. It is the true one for words and exact phrases; for any other term
query it is that of the rarest part it needs, wherever the whole stands at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from math import comb
from typing import NamedTuple, TypeAlias

from rye.cluster.conditions import EVERYTHING, NOTHING, Clause, all_of, any_of, cannot, filter_clause, fuzzy, none_of
from rye.cluster.vectors import SIMILARITY
from rye.index import analysis
from rye.index.schema import TEXT_FIELDS
from rye.search import bound
from rye.search.bound import Near, Phrase, SloppyPhrase, TermQuery, TextPattern, patterns
from rye.search.expand import How, Pattern, automatic_distance
from rye.search.fields import K1, Weights
from rye.trust import TrustSet

UNIT = 10_000
"""Scores are whole numbers of this unit on the cluster: the four decimals of a response."""

TIER = 1_048_576
"""The step between tiers of hits, more than any score: exact names, then those not withdrawn.

Three of them are below 2²⁴, up to which a float of the cluster holds whole numbers; a score by meaning may be 10.
"""

MOST_TERMS = 60_000
"""Terms that an excluded part may stand for, below the limit of one clause."""

_MOST_CHOICES = 64
"""Ways of leaving parts out of a phrase that are written out."""


class Term(NamedTuple):
    """One word of the dictionary: its weight for a pattern, the items that have it, and its fields, one bit each."""

    weight: float
    df: int
    fields: int


Terms: TypeAlias = Mapping[str, Term]


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
        weights: The weights of the fields, each with the clause for the items that have them; no item is in two.
        trust: The keys here.
        related: Returns the clause of a condition on relations.
    """

    def __init__(
        self,
        terms: Mapping[tuple[Pattern, bool], Terms],
        weights: Sequence[tuple[Clause, Weights]],
        trust: TrustSet = _NO_KEYS,
        related: Callable[[bound.Relation], Clause] | None = None,
    ) -> None:
        self._terms = terms
        self._trust = trust
        self._related = related
        self._weights = weights
        self.has_chains = False
        """Whether ``match`` may find too much: in a chain of NEAR each neighbour has to be near the same one."""

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
                return _OfTerm(self, node, excluded=excluded).match()
        if self._related is not None and bound.is_relation(node):
            return self._related(node)
        return filter_clause(node, self._trust, excluded=excluded)

    def score(self, matching: Clause, weighed: Sequence[tuple[TermQuery, float]], norm: float) -> tuple[Clause, bool]:
        """Return a query that scores what matches in whole :data:`UNIT`, and whether its scores are the true ones.

        Args:
            matching: Which items.
            weighed: The positive term queries with ``boost · idf``.
            norm: The sum of these; with none every score is 1, with 0 it is 0.
        """
        if not weighed or norm <= 0:
            return {"constant_score": {"filter": matching, "boost": 0.0 if weighed else float(UNIT)}}, True
        parts, exact = self._gains(weighed)
        if not parts:
            return {"constant_score": {"filter": matching, "boost": 0.0}}, True
        return _script({"bool": {"filter": [matching], "should": parts}}, "rye-round", n=norm, u=UNIT), exact

    def words(self, weighed: Sequence[tuple[TermQuery, float]]) -> tuple[Clause, bool]:
        """Return a query that scores ``norm² · score · coverage``, and whether its scores are the true ones.

        The score is as for :meth:`score`; the coverage is the share of ``norm`` whose term queries match.
        """
        parts, exact = self._gains(weighed)
        if not parts:
            return NOTHING, True
        shares = [{"filter": self.match(term), "weight": weight} for term, weight in weighed if weight > 0]
        summed = {"query": {"bool": {"should": parts}}, "functions": shares}
        return {"function_score": summed | {"score_mode": "sum", "boost_mode": "multiply"}}, exact

    def _gains(self, weighed: Sequence[tuple[TermQuery, float]]) -> tuple[list[Clause], bool]:
        """Return a query for each term query that scores what it adds to a score times ``norm``."""
        parts, exact = list[Clause](), True
        for term, weight in weighed:
            of_term, found = _OfTerm(self, term, excluded=False), list[Clause]()
            for items, weights in self._weights:
                tf, same = of_term.tf(weights)
                exact = exact and same
                if tf != NOTHING:
                    found.append(tf if items == EVERYTHING else {"bool": {"must": [tf], "filter": [items]}})
            if found:
                parts.append(_script(any_of(found), "rye-gain", w=weight, k=K1))
        return parts, exact

    def terms(self, pattern: Pattern, *, excluded: bool) -> Terms:
        """Return the words that a part stands for."""
        return self._terms[pattern, excluded]


def _script(query: Clause, stored: str, **params: float | str) -> Clause:
    return {"script_score": {"query": query, "script": {"id": stored, "params": params}}}


STORED_SCRIPTS: Mapping[str, str] = {
    "rye-field": "params.w * _score / (params.a + params.c * doc[params.n].value)",
    "rye-gain": "params.w * _score / (params.k + _score)",
    "rye-round": "Math.rint(params.u * _score / params.n)",
    "rye-meaning": SIMILARITY,
}
"""The scripts that scores are computed by: tf~ in a field, the gain of a term query, the rounded score, the meaning."""


class _OfTerm:
    """The clauses of one term query."""

    def __init__(self, compiler: Compiler, query: TermQuery, *, excluded: bool) -> None:
        self._compiler = compiler
        self._pattern: TextPattern = query.pattern
        self._excluded = excluded
        self._numbers = [at for at, wanted in enumerate(query.fields.tolist()) if wanted]

    def match(self) -> Clause:
        pattern = self._pattern
        if isinstance(pattern, Phrase) and pattern.single:
            found = list(self._terms(pattern.parts[0]))
            if not found:
                return NOTHING
            if len(self._numbers) == len(TEXT_FIELDS):
                return {"terms": {"all": found}}
            return any_of([{"terms": {_text(at): found}} for at in self._numbers])
        return any_of([self._placed(pattern, at) for at in self._numbers])

    def tf(self, weights: Weights) -> tuple[Clause, bool]:
        """Return a query that scores tf~, and whether it is exact."""
        pattern, fields = self._pattern, list[Clause]()
        exact = isinstance(pattern, Phrase) and (
            pattern.single or (pattern.joined is None and not pattern.misses and _is_plain(pattern))
        )
        for at in self._numbers:
            if isinstance(pattern, Phrase) and pattern.single:
                clause = self._weighed(pattern.parts[0], at)
            elif exact and isinstance(pattern, Phrase):
                clause = self._phrase(pattern, at)
            else:
                clause = self._bound_of(pattern, at)
            if clause != NOTHING:
                b, average, name = float(weights.b[at]), float(weights.average[at]), _length(at)
                given: dict[str, float | str] = {"w": float(weights.w[0, at]), "a": 1 - b, "c": b / average, "n": name}
                fields.append(_script(clause, "rye-field", **given))
        return any_of(fields), exact

    def _terms(self, pattern: Pattern) -> Terms:
        return self._compiler.terms(pattern, excluded=self._excluded)

    def _weighed(self, pattern: Pattern, at: int) -> Clause:
        """Score how often the words of a part stand in a field, weighted."""
        bit = 1 << at
        found = {word: term.weight for word, term in self._terms(pattern).items() if term.fields & bit}
        return any_of([{"term": {_text(at): {"value": word, "boost": weight}}} for word, weight in found.items()])

    def _df(self, pattern: Pattern) -> int:
        return sum(term.df for term in self._terms(pattern).values())

    def _bound_of(self, pattern: TextPattern, at: int) -> Clause:
        """Score at least as much as a term query of several parts does in a field, where it stands there at all.

        Each occurrence takes one of the rarest part that it needs.
        """
        where = self._placed(pattern, at)
        if where == NOTHING:
            return NOTHING
        if isinstance(pattern, Near):
            groups = [[part for choice in choices for part in patterns(choice)] for choices in pattern.operands]
            needed = min(groups, key=lambda parts: sum(map(self._df, parts)))
        elif isinstance(pattern, SloppyPhrase):
            needed = [min(patterns(pattern), key=self._df)]
        else:
            needed = [pattern.parts[0] if pattern.misses else min(pattern.parts, key=self._df)]
            needed += [pattern.joined] if pattern.joined is not None else []
        return {"bool": {"must": [any_of([self._weighed(part, at) for part in needed])], "filter": [where]}}

    def _placed(self, pattern: TextPattern, at: int) -> Clause:
        """Return where a term query of several parts stands in a field."""
        if isinstance(pattern, Phrase):
            return self._phrase(pattern, at)
        if isinstance(pattern, SloppyPhrase):
            return self._window(pattern, at)
        operands = [_span_or([self._spans(one, at) for one in choices]) for choices in pattern.operands]
        pairs = []
        for (one, other), distance in zip(pairwise(operands), pattern.distances, strict=True):
            if one is None or other is None:
                return NOTHING
            # one order or the other: unordered spans may overlap, which operands of NEAR must not
            near = {"slop": distance - 1, "in_order": True}
            pairs.append(any_of([{"span_near": {"clauses": both} | near} for both in ([one, other], [other, one])]))
        self._compiler.has_chains |= len(pairs) > 1
        return pairs[0] if len(pairs) == 1 else all_of(pairs)

    def _window(self, pattern: SloppyPhrase, at: int) -> Clause:
        if any(not self._terms(part) for part in patterns(pattern)):
            return NOTHING
        each: list[Clause] = [{"match": {"query": word}} for word in pattern.words]
        rule = each[0]
        if len(each) > 1:
            rule = {"all_of": {"intervals": each, "max_gaps": pattern.slop, "ordered": False}}
        return {"intervals": {_text(at): rule}}

    def _phrase(self, phrase: Phrase, at: int) -> Clause:
        found: Clause | None = None
        if len(phrase.parts) > 1 and not phrase.misses and _is_plain(phrase):
            # a scripted similarity adds up what it says of each word of a phrase
            words = " ".join(part.text for part in phrase.parts)
            found = {"match_phrase": {_text(at): {"query": words, "boost": 1 / len(phrase.parts)}}}
        else:
            found = self._in_row(phrase, at)
        return any_of([found, self._weighed(phrase.joined, at) if phrase.joined is not None else None])

    def _spans(self, pattern: Phrase | SloppyPhrase, at: int) -> Clause | None:
        """Return where an operand of NEAR stands, as spans; of a sloppy phrase, its words where the window is full."""
        if isinstance(pattern, SloppyPhrase):
            words = [self._words(Pattern(word, How.EXACT), at) for word in pattern.words]
            whole = [word for word in words if word is not None]
            if len(whole) < len(words) or len(words) == 1:
                return whole[0] if len(whole) == len(words) else None
            big = {"span_near": {"clauses": whole, "slop": pattern.slop, "in_order": False}}
            return {"span_within": {"little": _span_or(whole), "big": big}}
        found = self._in_row(pattern, at)
        joined = self._words(pattern.joined, at) if pattern.joined is not None else None
        if joined and found:  # of what begins at one place, the longest counts
            joined = {"span_not": {"include": joined, "exclude": found}}
        return _span_or([found, joined])

    def _in_row(self, phrase: Phrase, at: int) -> Clause | None:
        """Return where the parts stand in a row, as spans; all but ``misses`` of them, the first always."""
        spans = [self._words(part, at) for part in phrase.parts]
        others, several = len(spans) - 1, list[tuple[int, ...]]()
        if phrase.misses:
            needed = max(others - phrase.misses, 0)
            if comb(others, needed) > _MOST_CHOICES:
                raise cannot("forgive typos in so long a word without spaces", "write fewer letters, or use quotes")
            several = list(combinations(range(1, len(spans)), needed))
        rows = []
        for kept in [(0, *some) for some in several] or [tuple(range(len(spans)))]:
            clauses: list[Clause] = []
            for before, number_ in zip((kept[0], *kept), kept, strict=False):
                gap = phrase.offsets[number_] - phrase.offsets[before] - 1
                if (span := spans[number_]) is None:
                    break
                if clauses and gap < 0:  # signs before one word have one position
                    clauses[-1] = {"span_containing": {"big": clauses[-1], "little": span}}
                    continue
                if clauses and gap:
                    clauses.append({"span_gap": {_text(at): gap}})
                clauses.append(span)
            else:
                row = {"span_near": {"clauses": clauses, "slop": 0, "in_order": True}}
                rows.append(clauses[0] if len(clauses) == 1 else row)
        return _span_or(rows)

    def _words(self, pattern: Pattern, at: int) -> Clause | None:
        bit = 1 << at
        found = [word for word, term in self._terms(pattern).items() if term.fields & bit]
        return _span_or([{"span_term": {_text(at): word}} for word in found])


def _is_plain(phrase: Phrase) -> bool:
    """Return whether a phrase is exact words in a row."""
    in_row = phrase.offsets == tuple(range(len(phrase.parts)))
    return in_row and all(part.how is How.EXACT for part in phrase.parts)


def _text(at: int) -> str:
    return f"t_{TEXT_FIELDS[at]}"


def _length(at: int) -> str:
    return f"n_{TEXT_FIELDS[at]}"


def _span_or(clauses: Sequence[Clause | None]) -> Clause | None:
    left = [clause for clause in clauses if clause is not None]
    if len(left) < 2:
        return left[0] if left else None
    return {"span_or": {"clauses": left}}
