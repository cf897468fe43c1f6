"""One generation of a registry on a cluster, as a search reads it: words, counts and sets of items, and their names.

A generation never changes, so all that is looked up in one is kept as long as it serves.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from threading import Lock
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from rye.cluster.client import Cluster
from rye.cluster.compiler import MOST_TERMS, Compiler, lookup, terms_asked
from rye.cluster.conditions import EVERYTHING, NOTHING, Clause, all_of, any_of, cannot, none_of
from rye.cluster.faults import reading
from rye.cluster.places import Term
from rye.cluster.published import Published
from rye.cluster.roots import NOWHERE
from rye.index.arrays import Bools, Ints
from rye.index.reader import Floats, Reader
from rye.index.schema import SEPARATOR, TEXT_FIELDS, TYPE_NAMES
from rye.query import ast
from rye.search import bound
from rye.search.bind import words_of
from rye.search.bound import TermQuery, patterns
from rye.search.expand import INFLECTION_WEIGHT, MAX_EXPANSIONS, How, Pattern
from rye.search.fields import Overrides, Weights, plain_weights, weight_row
from rye.search.relax import Dictionary
from rye.trust.model import Evidence
from rye.trust.trust_set import TrustSet

_NOTHING: Ints = np.empty(0, np.int64)
_MOST_NAMED = 1_000
_KEPT = 100_000


LookUp: TypeAlias = Generator[list[tuple[str, Clause]], list[dict[str, Any]], None]
"""Yields the searches that it needs, each with its index, and takes their answers."""


def together(cluster: Cluster, *several: LookUp) -> None:
    """Make several look-ups with one request."""
    asked = [next(one) for one in several]
    answers = iter(cluster.searches_of([pair for pairs in asked for pair in pairs]))
    for one, pairs in zip(several, asked, strict=True):
        with suppress(StopIteration):
            one.send([next(answers) for _ in pairs])


class WordLists:
    """The words that parts of queries stand for, looked up in the dictionary of one generation and kept."""

    def __init__(self, cluster: Cluster, index: str) -> None:
        self._cluster = cluster
        self._index = index
        self._known: dict[tuple[Pattern, bool], dict[str, Term]] = {}
        self.cut: set[Pattern] = set()
        """Parts that stand for more than :data:`rye.search.expand.MAX_EXPANSIONS` words; the most frequent are kept."""

    def look_up(self, wanted: Mapping[tuple[Pattern, bool], Bools]) -> Mapping[tuple[Pattern, bool], dict[str, Term]]:
        """Return the words of some parts, each with whether it is excluded, and the fields they are looked for in.

        Raises:
            UnavailableError: ``not-on-cluster``: too many words.
        """
        if len(self._known) > _KEPT:
            self._known.clear()
        together(self._cluster, self.looking_up(wanted))
        return self._known

    def looking_up(self, wanted: Mapping[tuple[Pattern, bool], Bools]) -> LookUp:
        """Look up the words of some parts, as :func:`together` does."""
        missing = [key for key in wanted if key not in self._known]
        order = {"_source": False, "sort": [{"df": "desc"}, {"word": "asc"}], "track_total_hits": False}
        shape = order | {"docvalue_fields": ["word", "df", "fields"]}
        bodies = [
            {"query": {"bool": {"filter": [lookup(one)]}}, "size": (MOST_TERMS if out else MAX_EXPANSIONS) + 1} | shape
            for one, out in missing
        ]
        answers = yield [(self._index, body) for body in bodies]
        for key, answer in zip(missing, answers, strict=True):
            with self._cluster.faults(), reading():
                rows = [hit["fields"] for hit in answer["hits"]["hits"]]
                found = {str(row["word"][0]): (int(row["df"][0]), int(row["fields"][0])) for row in rows}
            self._known[key] = self._weighed(key[0], found, excluded=key[1], is_everywhere=bool(wanted[key].all()))

    def _weighed(
        self, pattern: Pattern, found: dict[str, tuple[int, int]], *, excluded: bool, is_everywhere: bool
    ) -> dict[str, Term]:
        most = MOST_TERMS if excluded else MAX_EXPANSIONS
        if len(found) > most:
            if excluded or not is_everywhere:
                raise cannot(f"look for {pattern.text!r} there: too many words", "write more letters of it")
            self.cut.add(pattern)
            if pattern.how is not How.GLOB and pattern.text not in found:
                raise cannot(f"look for {pattern.text!r}: too many words", "write more letters of it")
            found = {word: found[word] for word in sorted(found, key=lambda word: word != pattern.text)[:most]}
        weighed = {word: Term(_weight_of(pattern, word), *facts) for word, facts in found.items()}
        return {word: term for word, term in weighed.items() if term.weight > 0}


def _weight_of(pattern: Pattern, word: str) -> float:
    """Return what a word counts for as one that a part stands for."""
    from rapidfuzz.distance import Levenshtein

    if word == pattern.text or pattern.how in (How.EXACT, How.GLOB):
        return 1.0
    if pattern.how is How.INFLECTED:
        return INFLECTION_WEIGHT
    return 1.0 - Levenshtein.distance(word, pattern.text) / max(len(pattern.text), 1)


class Extent(NamedTuple):
    """The items that one search counts: all of a generation, or those of a space.

    Attributes:
        within: The clause for them.
        size: How many there are, N in the formulas.
        average: Shape ``(fields,)``: mean lengths.
    """

    within: Clause
    size: int
    average: Floats


class Generation:
    """One generation of a registry.

    Attributes:
        cluster, snapshot: Where it is, and what is noted there.
        roots: Where its items were published from, by number; None for one that is no longer used.
        lists: Its dictionary.
        dfs: In how many items a term query is found, by space, pattern and fields.
        lock: Held while the pages change.
        pages: The indexes that were made last, each of the items of a page, and the number of each by its mark.
    """

    def __init__(self, cluster: Cluster, snapshot: Published) -> None:
        self.cluster = cluster
        self.snapshot = snapshot
        self.roots = snapshot.roots
        self.lists = WordLists(cluster, snapshot.words)
        self.dfs: dict[tuple[str, bound.TextPattern, bytes], int] = {}
        self.pages: dict[tuple[tuple[str, int, str, Evidence], ...], tuple[Reader, dict[str, int]]] = {}
        self.lock = Lock()
        self._extents = {"all": Extent(EVERYTHING, snapshot.notes.count, np.asarray(snapshot.notes.average))}
        self._named: dict[tuple[str, str], list[tuple[str, ...]]] = {}

    def gap(self) -> str:
        """Return a sentence where documents are missing, or were added by somebody else; else empty."""
        count, expected = self.counts([EVERYTHING])[0], self.snapshot.notes.expected
        if count == expected:
            return ""
        what = (
            f"{expected - count:,} items are missing"
            if count < expected
            else f"{count - expected:,} items are too many"
        )
        return f"{what} in {self.cluster.address}: who published them can repair that: rye index publish --repair"

    def extent(self, space: str) -> Extent:
        """Return the items of a space, or of ``all``; counted once."""
        if space not in self._extents:
            numbers = [number for number, root in enumerate(self.roots) if root and root.space == space]
            within: Clause = {"terms": {"root": numbers}} if numbers else NOTHING
            means = {name: {"avg": {"field": f"n_{name}"}} for name in TEXT_FIELDS}
            body = {"query": {"bool": {"filter": [within]}}, "size": 0, "track_total_hits": True, "aggs": means}
            answer = self.cluster.search(self.snapshot.items, body)
            with self.cluster.faults(), reading():
                average = np.asarray([float(answer["aggregations"][name]["value"] or 1.0) for name in TEXT_FIELDS])
                self._extents[space] = Extent(within, int(answer["hits"]["total"]["value"]), average)
        return self._extents[space]

    def expect(self, several: Sequence[Pattern], names: Iterable[str] = ()) -> None:
        """Look up the words that some parts stand for, and the items with some ids or names, together."""
        parts = {(pattern, False): np.ones(len(TEXT_FIELDS), bool) for pattern in several}
        together(self.cluster, self.lists.looking_up(parts), self._looking_up(names))

    def words_of(self, pattern: Pattern) -> Mapping[str, Term]:
        """Return the words that a part stands for."""
        key = (pattern, False)
        return self.lists.look_up({key: np.ones(len(TEXT_FIELDS), bool)})[key]

    def address_of(self, path: str) -> str:
        """Return the address of a file of the cluster, given its path below :data:`NOWHERE`."""
        return str(self.cluster.address) + path[len(str(NOWHERE)) :].replace(os.sep, "/")

    def weights_for(self, overrides: Mapping[str, Overrides], average: Floats) -> Weights:
        """Return the weights of the fields, a row for each type, or for each root and type.

        Args:
            overrides: By source, what a user or bundle set.
            average: Shape ``(fields,)``: mean lengths.
        """
        chosen = [overrides.get(root.source, {}) if root else {} for root in self.roots]
        plain = plain_weights(average)
        if not any(chosen):
            return plain
        return replace(plain, w=np.asarray([weight_row(one, kind) for one in chosen for kind in TYPE_NAMES]))

    def compiler(self, query: bound.Bound, trust: TrustSet, weights: Weights | None = None) -> Compiler:
        """Return what compiles a query under some keys, with its words looked up; without weights it cannot score."""
        wanted: dict[tuple[Pattern, bool], Bools] = {}
        for term, excluded in terms_asked(query):
            for pattern in patterns(term.pattern):
                before = wanted.get((pattern, excluded))
                wanted[pattern, excluded] = term.fields if before is None else before & term.fields
        return Compiler(self.lists.look_up(wanted), weights, trust)

    def counts(self, clauses: Sequence[Clause]) -> list[int]:
        """Return how many items each clause matches."""
        return self.cluster.count(self.snapshot.items, clauses)

    def named(self, key: str, value: str) -> list[tuple[str, ...]]:
        """Return mark, type, id and path of the items with an id or a name, looked up once."""
        together(self.cluster, self._looking_up([value]))
        return self._named[key, value]

    def _looking_up(self, values: Iterable[str]) -> LookUp:
        """Look up the items with some ids or names."""
        missing = [value for value in dict.fromkeys(values) if ("id", value) not in self._named]
        if len(self._named) > _KEPT:
            self._named.clear()
        pairs = [(key, value) for value in missing for key in ("id", "name")]
        clauses: list[Clause] = [{"term": {"entry": f"{key}{SEPARATOR}{value}"}} for key, value in pairs]
        names = ("mark", "type", "id", "path")
        answers = yield [(self.snapshot.items, body) for body in _listing(clauses, names, _MOST_NAMED)]
        self._named |= dict(zip(pairs, self._rows(answers, names), strict=True))

    def fields(self, clauses: Sequence[Clause], names: Sequence[str], most: int) -> list[list[tuple[str, ...]]]:
        """Return keyword fields of the first items that each clause matches."""
        return self._rows(self.cluster.searches(self.snapshot.items, _listing(clauses, names, most)), names)

    def _rows(self, answers: Sequence[dict[str, Any]], names: Sequence[str]) -> list[list[tuple[str, ...]]]:
        with self.cluster.faults(), reading():
            return [
                [tuple(str(hit["fields"][name][0]) for name in names) for hit in answer["hits"]["hits"]]
                for answer in answers
            ]


def _listing(clauses: Sequence[Clause], names: Sequence[str], most: int) -> list[Clause]:
    """Return the searches for keyword fields of the first items that each clause matches."""
    shape = {"size": most, "_source": False, "docvalue_fields": list(names), "sort": ["_doc"]}
    return [{"query": {"bool": {"filter": [clause]}}} | shape for clause in clauses]


class Found:
    """A set of items of a generation: a clause, counted when first asked unless ``count`` is known."""

    __slots__ = ("_count", "_of", "clause")

    def __init__(self, generation: Generation, clause: Clause, count: int = -1) -> None:
        self._of = generation
        self._count = 0 if clause == NOTHING else count
        self.clause = clause

    def set_count(self, count: int) -> None:
        """Keep how many items there are, as a search has told it."""
        self._count = count

    def __len__(self) -> int:
        if self._count < 0:
            self._count = self._of.counts([self.clause])[0]
        return self._count

    def __bool__(self) -> bool:
        return len(self) > 0

    def __and__(self, other: Found) -> Found:
        return Found(self._of, all_of([self.clause, other.clause]))

    def __or__(self, other: Found) -> Found:
        return Found(self._of, any_of([self.clause, other.clause]))

    def __invert__(self) -> Found:
        return Found(self._of, none_of(self.clause))


def marked(marks: Sequence[str]) -> Clause:
    """Return the clause for the items with these marks."""
    return {"terms": {"mark": list(marks)}} if marks else NOTHING


class ClusterDictionary(Dictionary):
    """The words that a generation has in some fields; each is counted in all fields together."""

    def __init__(self, generation: Generation, fields: Bools) -> None:
        super().__init__(Reader(()), fields)
        self._of = generation

    def within(self, field: str) -> Dictionary:
        """Return the words of one text field."""
        return ClusterDictionary(self._of, np.asarray([name == field for name in TEXT_FIELDS]))

    def _words_of(self, pattern: Pattern) -> dict[str, Term]:
        asked = sum(1 << at for at in np.flatnonzero(self._fields).tolist())
        return {word: term for word, term in self._of.words_of(pattern).items() if term.fields & asked}

    def frequency(self, part: str, how: How = How.INFLECTED) -> int:
        """Return in how many items a part stands, added up over the terms it expands to."""
        return sum(term.df for term in self._words_of(Pattern(part, how)).values())

    def has(self, text: str) -> bool:
        """Return whether some item has a word as a whole."""
        run = words_of(text)
        if run is None:
            return False
        term = TermQuery(run, self._fields, 1.0, "", ast.Word(text))
        return self._of.counts([self._of.compiler(term, TrustSet()).match(term)])[0] > 0

    def nearest(self, part: str, start: str = "") -> tuple[str, float]:
        """Return the term nearest to a part among those with a start, and its weight."""
        from rapidfuzz.distance import OSA

        found = self._words_of(Pattern(part, How.FUZZY, start=start))
        rows = [(1.0 - OSA.distance(part, word) / len(part), term.df, word) for word, term in found.items()]
        weight, _, word = max(rows, default=(0.0, 0, ""))
        return word, weight
