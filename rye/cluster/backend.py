"""The backend over one generation of a registry on a cluster: sets of items are clauses.

The cluster says which items match and in which order. The bytes of the page come with it; they are parsed, inspected
and judged here, and their scores are computed from them, with the frequencies of the whole registry.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from rye.cluster.compiler import TIER, Compiler, terms_asked
from rye.cluster.conditions import NOTHING, WITHDRAWN, Clause, all_of, cannot, none_of
from rye.cluster.faults import reading
from rye.cluster.generation import ClusterDictionary, Found, Generation, marked
from rye.cluster.hits import TIES, FetchedHits, HitEvaluation, Row, Weigh
from rye.cluster.lists import CheckedLists
from rye.errors import UnavailableError
from rye.index import analysis
from rye.index.arrays import Ints
from rye.index.reader import Reader
from rye.index.schema import BUILT_IN_KEYS, SEPARATOR
from rye.query import ast
from rye.search import bound
from rye.search.backend import Order, Top
from rye.search.bind import searched_fields
from rye.search.bound import Bound, patterns
from rye.search.expand import How, Pattern
from rye.search.facets import FACETS, Facet, Wanted
from rye.search.fields import Overrides, weights_for
from rye.search.named_items import named_inside, referred_to
from rye.search.page import Hit, Hydrator, PageBuilder
from rye.search.predicates import States
from rye.search.relax import Dictionary
from rye.search.request import Request
from rye.search.results import SearchResult
from rye.search.score import Evaluation
from rye.trust.model import Verdict
from rye.trust.trust_set import TrustSet

MOST_REACHED = 100_000
_MOST_VALUES = 10_000
_BY_TIES: tuple[Any, ...] = tuple({name: "asc"} for name in TIES)
_FIRST: Mapping[str, Any] = {
    "score": {"_score": "desc"},
    "name": {"by_name": "asc"},
    "date": {"time": {"order": "desc", "missing": "_last"}},
}


class Scorer(Protocol):
    """What scores the items of a search."""

    def weigh(self, reader: Reader, /) -> HitEvaluation:
        """Return the evaluation of a few hits, whose totals are their true scores."""

    def clause(self, matches: Found, order: Order) -> Clause:
        """Return a query that scores matches in :data:`UNIT`."""


class ByWords:
    """Scores items by the words of a query."""

    def __init__(self, backend: ClusterBackend, query: Bound) -> None:
        self._compiler = backend.compiler(query)
        self.weigh = backend.weigher(query)

    def clause(self, matches: Found, order: Order) -> Clause:  # noqa: ARG002 - the protocol's
        """Return a query that scores matches."""
        empty = self.weigh(Reader(()))
        weighed = [(row.query, row.weight) for row in empty.scored()]
        return self._compiler.score(matches.clause, weighed, empty.norm())


class View(NamedTuple):
    """What one search brings to a generation.

    Attributes:
        overrides: By source, the weights of fields that the user or a bundle here sets.
        trust, now: The trusted keys, and the moment of the search.
        scratch: Folder for the indexes of its pages.
        space: Which items are searched, and counted in statistics: those of a space, or ``all``.
        lists: The signed lists of the registry under these keys.
    """

    overrides: Mapping[str, Overrides]
    trust: TrustSet
    now: datetime
    scratch: Path
    space: str = "all"
    lists: CheckedLists = CheckedLists()


class ClusterBackend:
    """One generation as one search sees it."""

    def __init__(self, generation: Generation, view: View) -> None:
        self._of, self._view = generation, view
        self._extent, self.address_of = generation.extent(view.space), generation.address_of
        self.hits = FetchedHits(generation, view.scratch, view.lists)
        self._pages: dict[int, tuple[Bound, HitEvaluation]] = {}  # of each query that was ranked, by its identity
        self.names = ClusterNames(self, generation)
        self.has_withdrawn = generation.snapshot.notes.withdrawn

    def metadata_keys(self) -> frozenset[str]:
        """Return the metadata keys that items have."""
        owners = self._of.snapshot.notes.owners.values()
        return frozenset(key for owned in owners for key in owned.keys) - frozenset(BUILT_IN_KEYS)

    def expect(self, query: str, words: Mapping[ast.Word, int]) -> None:
        """Look up the words and names that a search of plain words will ask about, together."""
        names = AskedNames()
        referred_to(names, query)
        named_inside(names, words, ClusterDictionary(self._of, searched_fields(None)))
        parts = [part for word in words for part in analysis.parts(word.text)]
        texts = [*parts, *(analysis.joined(list(pair)) for pair in pairwise(parts))]
        forms = [Pattern(text, How.EXACT) for text in texts] + [Pattern(part, How.INFLECTED) for part in parts]
        self._of.expect(forms, names.values)
        unknown = [part for part in parts if not self._of.words_of(Pattern(part, How.INFLECTED))]
        with suppress(UnavailableError):  # too many words are like one; it matters only if they are asked for
            self._of.expect([Pattern(part, How.FUZZY, start=part[0]) for part in unknown if part.isalpha()])

    def dictionary(self, level: int | None) -> Dictionary:
        """Return the words of the fields of a level; None for all fields."""
        return ClusterDictionary(self._of, searched_fields(level))

    def match(self, query: Bound) -> Found:
        """Return the items that match.

        Raises:
            UnavailableError: ``not-on-cluster``.
        """
        compiler = self._of.compiler(query, self._view.trust)
        return Found(self._of, all_of([self._extent.within, compiler.match(query)]))

    def without_manual(self, matches: Found) -> Found:
        """Return the items as they are: rye's own are not published."""
        return matches

    def why_hidden(self, matches: Found, most: int) -> list[str]:
        """Return a sentence for each of some withdrawn items: why it is hidden, and what takes its place."""
        rows = self.hits.matching(matches.clause, most)
        reader, numbers = self.hits.indexed(rows)
        states = self._states_of(reader)
        return [states.hidden_message(numbers[row.mark]) for row in rows]

    def top(self, query: Bound, matches: Found, order: Order, by: Scorer | None = None) -> Top[Found]:
        """Return the first of some items, as the cluster orders them, with the scores that their bytes have.

        Args:
            query: What they are scored by, unless
            matches: The items.
            order: Their order.
            by: What scores them otherwise.
        """
        scorer: Scorer = by or ByWords(self, query)
        weigh, reachable = scorer.weigh, matches
        if matches.clause == NOTHING:
            return self._scored(query, [], weigh, order)
        first = "score" if order.reach is not None else order.sort_by
        start, stop = (0, order.reach) if order.reach is not None else (order.start, order.stop)
        ranked = self._ranked(matches, scorer, order)
        rows, total = self.hits.ranked(ranked, (_FIRST[first], *_BY_TIES), start, stop - start)
        matches.set_count(total)
        if order.reach is not None:
            reachable = Found(self._of, marked([row.mark for row in rows]), len(rows))
            rows = self._put_in_order(rows, order)[order.start : order.stop]
        return self._scored(query, rows, weigh, order)._replace(reachable=reachable, notes=tuple(self._notes(query)))

    def _put_in_order(self, rows: list[Row], order: Order) -> list[Row]:
        """Sort the hits that can be reached."""
        reader, numbers = self.hits.indexed(rows)
        withdrawn = set(reader.withdrawn.tolist()) if order.withdrawn_last else set[int]()
        rows = [row._replace(score=row.score - TIER * (numbers[row.mark] in withdrawn)) for row in rows]
        keys: Mapping[str, Any] = {
            "name": lambda row: (row.by_name, *row.tie),
            "date": lambda row: (-row.time, *row.tie),
            "score": lambda row: (-row.score, *row.tie),
        }
        return sorted(rows, key=keys[order.sort_by])

    def _notes(self, query: Bound) -> Iterator[str]:
        """Yield a warning for each word that stands for more terms than were looked up."""
        for term, excluded in terms_asked(query):
            if not excluded and not self._of.lists.cut.isdisjoint(patterns(term.pattern)):
                yield f"{term.label()} stands for too many terms; the most frequent were kept"

    def compiler(self, query: Bound) -> Compiler:
        """Return what compiles a query with scores."""
        weights = self._of.weights_for(self._view.overrides, self._extent.average)
        return self._of.compiler(query, self._view.trust, weights)

    def _ranked(self, matches: Found, scorer: Scorer, order: Order) -> Clause:
        """Return a query that scores in tiers."""
        tiers = [(self.names.as_matches(order.exact).clause, 2)]
        if order.withdrawn_last and order.reach is None:
            tiers.append((none_of(WITHDRAWN), 1))
        boosts = [{"constant_score": {"filter": tier, "boost": n * TIER}} for tier, n in tiers if tier != NOTHING]
        return {"bool": {"must": [scorer.clause(matches, order)], "should": boosts}}

    def _scored(self, query: Bound, rows: list[Row], weigh: Weigh, order: Order) -> Top[Found]:
        """Return the hits of a page with the scores that their bytes have."""
        reader, numbers = self.hits.indexed([*rows, *self.hits.copies(rows)])
        evaluation = weigh(reader)
        self._pages[id(query)] = query, evaluation
        scores = evaluation.totals().round(4)
        if order.sort_by == "score":  # the cluster adds up in single precision
            rows = sorted(rows, key=lambda row: (-(row.score // TIER), -scores[numbers[row.mark]], *row.tie))
        docs = np.asarray([numbers[row.mark] for row in rows], np.int64)
        pad = np.full(order.start, -1)  # the hits before the page, which nobody asks for
        named = {self.names.marks[item] for item in order.exact.tolist()}
        exact = frozenset(numbers[row.mark] for row in rows if row.mark in named)
        columns = np.concatenate([pad, docs]), np.concatenate([pad.astype(float), scores[docs]])
        return Top(*columns, exact, Found(self._of, NOTHING))

    def weigher(self, query: Bound) -> Weigh:
        """Return what evaluates a query over some hits, given in how many items each of its terms is found."""
        terms = [term for term, excluded in terms_asked(query) if not excluded]
        keys = [(self._view.space, term.pattern, term.fields.tobytes()) for term in terms]
        missing = {key: term for key, term in zip(keys, terms, strict=True) if key not in self._of.dfs}
        found = [self.match(term).clause for term in missing.values()]
        self._of.dfs |= dict(zip(missing, self._of.counts(found), strict=True))
        dfs = [self._of.dfs[key] for key in keys]

        def weigh(reader: Reader) -> HitEvaluation:
            chosen = [self._view.overrides.get(root.source, {}) for root, _ in reader.snapshots]
            weights = replace(weights_for(reader, chosen), average=self._extent.average)
            states, size = self._states_of(reader), self._extent.size
            return HitEvaluation(self._of, reader, query, weights, states=states, size=size, dfs=dfs)

        return weigh

    def _states_of(self, reader: Reader) -> States:
        return States(reader, reader, lambda: self._view.trust, self._view.now)

    def page(self, query: Bound) -> HitEvaluation:
        """Return the evaluation of a query over the page that was asked for last."""
        return self._pages[id(query)][1]

    def fetch(
        self,
        query: Bound,
        hits: Sequence[Hit],
        *,
        explain: bool,
        on_verdicts: Sequence[Bound],
    ) -> tuple[tuple[SearchResult, ...], tuple[str, ...]]:
        """Return hits as results, judged from the bytes that came with them; their paths are addresses."""
        evaluation = self.page(query)
        reader = evaluation.reader
        states = self._states_of(reader)
        kept = [hit for hit in hits if all(_holds(node, hit.doc, states, reader) for node in on_verdicts)]
        gone = len(hits) - len(kept)
        claims = [f"{gone} of the hits here were left out: their verdict is not what was asked for"] if gone else []
        hydrator = Hydrator(
            reader, states, self._view.trust, self._view.now, verdicts_matter=False, read=self.hits.read
        )
        results, warnings = PageBuilder(evaluation, hydrator, explain).build(kept)
        placed = tuple(replace(result, path=self.address_of(result.path)) for result in results)
        places = [reader.locate(hit.doc) for hit in kept]
        listed = [self.hits.not_as_listed[part.root.source, part.segment.paths[doc]] for part, doc in places]
        return placed, (*claims, *warnings, *filter(None, listed), *dict.fromkeys(self.hits.left_out))

    def facets(self, matches: Found, wanted: Sequence[Wanted]) -> dict[str, Facet]:
        """Count the values of each facet among some items.

        Raises:
            UnavailableError: ``not-on-cluster``: verdicts and signers, and facets of too many values.
        """
        keys = {name: FACETS.get(name, name) for name, _ in wanted}
        if {"verdict", "signer"} & set(keys.values()):
            raise cannot("count verdicts or signers", "they depend on your own keys")
        bodies = [_counting(key, matches.clause) for key in keys.values()]
        answers, counts = self._of.cluster.searches(self._of.snapshot.items, bodies), dict[str, Facet]()
        for (name, most), (key, answer) in zip(wanted, zip(keys.values(), answers, strict=True), strict=True):
            with self._of.cluster.faults(), reading():
                counted = answer["aggregations"]["values"]
                left = int(counted["sum_other_doc_count"])
                pairs = [(str(row["key"])[len(key) + 1 :], int(row["doc_count"])) for row in counted["buckets"]]
                without = int(answer["aggregations"]["missing"]["doc_count"])
            if left:
                raise cannot(f"count {name!r}: it has more than {_MOST_VALUES:,} values", "count another facet")
            pairs.sort(key=lambda pair: (-pair[1], pair[0]))
            rest = pairs[most:]
            counts[name] = Facet(tuple(pairs[:most]), len(rest), sum(count for _, count in rest), without)
        return counts


class AskedNames:
    """Notes which ids and names are asked for, and has none of them."""

    def __init__(self) -> None:
        self.values: list[str] = []

    def having(self, key: str, value: str) -> Ints:  # noqa: ARG002 - ids and names are looked up together
        """Return nothing."""
        self.values.append(value)
        return np.empty(0, np.int64)

    def key_of(self, item: int) -> tuple[str, str]:
        """Raise an error: there is no item."""
        raise KeyError(item)

    def path_of(self, item: int) -> str:
        """Raise an error: there is no item."""
        raise KeyError(item)


class ClusterNames:
    """The items of a generation by id and name; their numbers are given as they are found.

    Attributes:
        marks: The mark of each item, by number.
    """

    def __init__(self, backend: ClusterBackend, generation: Generation) -> None:
        self._backend = backend
        self._of = generation
        self.marks: list[str] = []
        self._facts: list[tuple[str, ...]] = []
        self._known: dict[tuple[str, str], Ints] = {}

    def having(self, key: str, value: str) -> Ints:
        """Return the items with one exact keyword term, ascending."""
        if (key, value) not in self._known:
            rows = self._of.named(key, value)
            self._known[key, value] = np.asarray(sorted(map(self.number, rows)), np.int64)
        return self._known[key, value]

    def number(self, row: tuple[str, ...]) -> int:
        """Return the number of an item, given its mark, type, id and path."""
        if row[0] not in self.marks:
            self.marks.append(row[0])
            self._facts.append(row[1:])
        return self.marks.index(row[0])

    def key_of(self, doc: int) -> tuple[str, str]:
        """Return ``(type, id)`` of an item."""
        return self._facts[doc][0], self._facts[doc][1]

    def path_of(self, doc: int) -> str:
        """Return the path of an item below its root."""
        return self._facts[doc][2]

    def as_matches(self, items: Ints) -> Found:
        """Return items as a set."""
        return Found(self._of, marked([self.marks[item] for item in items.tolist()]), len(items))

    def among(self, items: Ints, matches: Found) -> Ints:
        """Return which of some items are in a set."""
        if not len(items):
            return items
        within = all_of([self.as_matches(items).clause, matches.clause])
        marks = {mark for (mark,) in self._of.fields([within], ("mark",), len(items))[0]}
        return np.asarray([item for item in items.tolist() if self.marks[item] in marks], np.int64)

    def why_hidden(self, items: Ints) -> Sequence[str]:
        """Return a sentence for each of some withdrawn items: why it is hidden, and what takes its place."""
        return self._backend.why_hidden(self.as_matches(items), len(items)) if len(items) else []


def _holds(node: Bound, doc: int, states: States, reader: Reader) -> bool:
    """Return whether a fetched hit meets a condition on its verdict or signer, as the keys here judge it."""
    match node:
        case bound.All(operands=operands):
            return all(_holds(operand, doc, states, reader) for operand in operands)
        case bound.Any(operands=operands):
            return any(_holds(operand, doc, states, reader) for operand in operands)
        case bound.Not(operand=operand):
            return not _holds(operand, doc, states, reader)
    if not bound.asks_verdict(node):
        return bool(Evaluation(reader, node, weights_for(reader), states).docs().mask[doc])
    signature = states.signature(*reader.locate(doc))
    match node:
        case bound.HasState(name="signed"):
            return signature.verdict is not Verdict.UNSIGNED
        case bound.HasState(name=name):
            return signature.verdict == name
        case bound.Glob(pattern=pattern):
            return fnmatchcase(signature.signer, pattern)
    return bool(signature.signer)


def _counting(key: str, found: Clause) -> Clause:
    """Return the search that counts the values of a key."""
    start = f"{key}{SEPARATOR}"
    literal = "".join(ch if ch.isalnum() else f"\\{ch}" for ch in start)
    values = {"terms": {"field": "entry", "include": f"{literal}.*", "size": _MOST_VALUES}}
    missing = {"filter": none_of({"prefix": {"entry": start}})}
    return {"query": {"bool": {"filter": [found]}}, "size": 0, "aggs": {"values": values, "missing": missing}}


def refuse(request: Request) -> None:
    """Refuse what a cluster cannot do.

    Raises:
        UnavailableError: ``not-on-cluster``.
    """
    if request.offset + request.limit > MOST_REACHED:
        raise cannot(f"show hits beyond {MOST_REACHED:,}", "narrow the query")
