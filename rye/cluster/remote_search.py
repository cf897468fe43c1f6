"""A search on a cluster: the steps of :mod:`rye.search.engine`, with sets of items that are clauses.

The cluster says which items match and in which order. The bytes of the page come with it; they are parsed, inspected
and judged here, and their scores are computed from them, with the frequencies of the whole registry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from rye.cluster.compiler import TIER, UNIT, terms_asked
from rye.cluster.conditions import EVERYTHING, NOTHING, WITHDRAWN, Clause, all_of, any_of, cannot, is_state, none_of
from rye.cluster.faults import reading
from rye.cluster.generation import Found, Generation, RemoteDictionary, RemoteNames, clause_of, marked
from rye.cluster.hits import TIES, FetchedHits, HitEvaluation, Row, Weigh
from rye.cluster.published import Published
from rye.index.arrays import Ints, unique
from rye.index.reader import Reader
from rye.index.schema import BUILT_IN_KEYS, HIDDEN_STATES, SEPARATOR
from rye.items.scope import EVERY_SCOPE, Scope
from rye.query import ast
from rye.search import bound
from rye.search.bound import patterns
from rye.search.docset import Docs
from rye.search.engine import Search, SearchContext
from rye.search.facets import FACETS, Facet
from rye.search.fields import Overrides, weights_for
from rye.search.order import Answer
from rye.search.page import Hydrator, PageBuilder
from rye.search.predicates import States
from rye.search.relax import Dictionary
from rye.search.request import Request, bind_filters
from rye.search.results import Replaced, SearchResponse
from rye.search.rewrite import ANY_LIMIT, AS_WRITTEN, Plan, Stage
from rye.search.score import Evaluation
from rye.trust import TrustSet

CANDIDATES = 200
"""Items whose scores are computed first where the cluster's are only bounds."""

MOST_CANDIDATES = 3_200
"""Items whose scores are computed at most."""

MOST_REACHED = 100_000
_MOST_VALUES = 10_000
_NAMED = 3
_NOTHING: Ints = np.empty(0, np.int64)
_BY_TIES: tuple[Any, ...] = tuple({name: "asc"} for name in TIES)
_FIRST: Mapping[str, Any] = {
    "score": {"_score": "desc"},
    "name": {"by_name": "asc"},
    "date": {"time": {"order": "desc", "missing": "_last"}},
}


class _Query(Evaluation):
    """A bound query over the cluster."""

    def __init__(self, search: RemoteSearch, query: bound.Bound) -> None:
        super().__init__(search.reader, query, search.weights, search.states)
        self._of = search

    def docs(self) -> Docs:
        """Return the items that match."""
        return self._of.matching(self.query)


class RemoteSearch(Search):
    """One search on a cluster, from request to response.

    Args:
        request, trust, now: As those of a search of the spaces.
        generation: What is searched.
        overrides: By source, the weights of fields that the user or a bundle here sets.
        scratch: Folder for the indexes of its pages.

    Raises:
        UnavailableError: ``not-on-cluster``: the request asks for what a cluster cannot do.
    """

    def __init__(
        self,
        request: Request,
        generation: Generation,
        overrides: Mapping[str, Overrides],
        *,
        trust: TrustSet,
        now: datetime,
        scratch: Path,
    ) -> None:
        _refuse(request, generation.snapshot)
        self._of = generation
        self._overrides = overrides
        nothing = Reader(())
        super().__init__(request, SearchContext(nothing, nothing, lambda: trust, (), now))
        self.weights = generation.weights
        self._ids = RemoteNames(generation)
        self.names = self._ids
        self._hits = FetchedHits(generation, scratch)
        self._page_states = self.states

    def metadata_keys(self) -> frozenset[str]:
        """Return the metadata keys of the items searched."""
        return self._of.snapshot.keys - frozenset(BUILT_IN_KEYS)

    def dictionary(self, level: int | None) -> Dictionary:  # noqa: ARG002 - a level was refused
        """Return the words of all fields."""
        return RemoteDictionary(self._of)

    def evaluate(self, node: ast.Node, plan: Plan) -> Evaluation:
        """Bind a query, together with what ``fields`` adds."""
        return _Query(self, self.bound_query(node, plan))

    def matching(self, query: bound.Bound) -> Found:
        """Return the items that match; what a chain of NEAR may match is checked on the items themselves.

        Raises:
            UnavailableError: ``not-on-cluster``: too many items would have to be read.
        """
        compiler = self._of.compiler(query)
        clause = compiler.match(query)
        if not compiler.has_chains:
            return Found(self._of, clause)
        pairs = "ask for pairs of words with NEAR"
        if any(isinstance(one, bound.HasState | bound.Not) for one, _ in bound.nodes(query)):
            raise cannot("join a chain of NEAR with a state or NOT", pairs)
        if self._of.counts([clause])[0] > MOST_CANDIDATES:
            hint = f"use rarer words, or {pairs}"
            raise cannot(f"check a chain of NEAR in more than {MOST_CANDIDATES:,} items", hint)
        rows = self._hits.matching(clause, MOST_CANDIDATES)
        reader, numbers = self._hits.indexed(rows)
        mask = Evaluation(reader, query, self.weights, self._states_of(reader)).docs().mask
        kept = [row.mark for row in rows if mask[numbers[row.mark]]]
        return Found(self._of, marked(kept), len(kept))

    def allowed(self, filters: Mapping[str, Any] | None = None) -> Docs:
        """Return which items the scope and filters let through."""
        clauses = [] if self.request.scopes is EVERY_SCOPE else [any_of(list(map(_scope, self.request.scopes)))]
        nodes = self.filters() if filters is None else bind_filters(filters, self.metadata_keys())
        return Found(self._of, all_of([*clauses, *(self.matching(node).clause for node in nodes)]))

    def holds(self, scope: Scope) -> bool:
        """Return whether there is an item in a part of a scope."""
        return bool(Found(self._of, _scope(scope)))

    def let_through(self, docs: Ints, plan: Plan, allowed: Docs) -> Ints:
        """Return those of some named items that scope, filters and ``fields`` let through."""
        if not len(docs):
            return docs
        return self._among(docs, allowed & self.evaluate(ast.Everything(), plan).docs() if plan.fixed else allowed)

    def _these(self, docs: Ints) -> Found:
        return Found(self._of, marked([self._ids.marks[doc] for doc in docs.tolist()]), len(docs))

    def _among(self, docs: Ints, found: Docs) -> Ints:
        """Return those of some named items that are in a set."""
        within = all_of([self._these(docs).clause, clause_of(found)])
        marks = {mark for (mark,) in self._of.fields([within], ("mark",), len(docs))[0]}
        return np.asarray([doc for doc in docs.tolist() if self._ids.marks[doc] in marks], np.int64)

    def hide(self, found: Docs) -> tuple[Docs, dict[str, int]]:
        """Leave out what is superseded, deprecated or yanked, and count it by reason."""
        if not self._of.snapshot.has_withdrawn:
            return found, {}
        left, counted = clause_of(found), list[Clause]()
        for state in HIDDEN_STATES:
            counted.append(all_of([left, is_state(state)]))
            left = all_of([left, none_of(is_state(state))])
        counts = dict(zip(HIDDEN_STATES, self._of.counts(counted), strict=True))
        return Found(self._of, left), {state: count for state, count in counts.items() if count}

    def note_cuts(self, evaluation: Evaluation) -> None:
        """Warn of words that stand for more terms than were looked up."""
        for term, excluded in terms_asked(evaluation.query):
            if not excluded and not self._of.lists.cut.isdisjoint(patterns(term.pattern)):
                self._warnings.append(f"{term.label()} stands for too many terms; the most frequent were kept")

    def answer_stage(self, stage: Stage, plan: Plan, allowed: Docs, named: Ints) -> Answer:
        """Return the answer of one stage."""
        query = self.bound_query(stage.ast, plan)
        found: Docs = self.matching(query) & allowed
        if (scored := self.with_phrase(stage.ast, plan, found)) is not stage.ast:
            query = self.bound_query(scored, plan)
        exact = _NOTHING
        if stage.name in AS_WRITTEN:
            whole = self.referred(plan, allowed)
            if len(whole):
                found, named = found | self._these(whole), unique(named, whole)
        if len(named):
            if plan.words and found:
                found = found | self._these(named)
            exact = self._among(named, found)
        hidden: dict[str, int] = {}
        if not self.request.include_superseded:
            found, hidden = self.hide(found)
            if hidden and len(exact):
                left = self._among(exact, found)
                self._note_hidden(np.setdiff1d(exact, left)[:_NAMED])
                exact = left
        if stage.name == "any":
            return self._reached(stage, query, found, exact=exact, hidden=hidden)
        request, weigh = self.request, self._weigher(query)
        ranked, is_exact = self._ranked(query, found, weigh, exact=exact)
        order = (_FIRST[request.sort_by], *_BY_TIES)
        if is_exact or request.sort_by != "score":
            rows, total = self._hits.ranked(ranked, order, request.offset, request.limit)
        else:
            rows, total = self._best(ranked, request.offset + request.limit, weigh)
            rows = rows[request.offset :]
        found = Found(self._of, clause_of(found), total)
        return self._answered(stage, rows, found, weigh, exact=exact, hidden=hidden)

    def _reached(self, stage: Stage, query: bound.Bound, found: Docs, *, exact: Ints, hidden: dict[str, int]) -> Answer:
        """Return the answer of the last stage: of the best few by score, those asked for."""
        request, weigh = self.request, self._weigher(query)
        ranked, is_exact = self._ranked(query, found, weigh, exact=exact, late=False)
        if is_exact:
            rows, total = self._hits.ranked(ranked, (_FIRST["score"], *_BY_TIES), 0, ANY_LIMIT)
        else:
            rows, total = self._best(ranked, ANY_LIMIT, weigh)
        reader, numbers = self._hits.indexed(rows)
        withdrawn = set(reader.withdrawn.tolist()) if request.include_superseded else set[int]()
        keys: Mapping[str, Any] = {
            "name": lambda row: (row.by_name, *row.tie),
            "date": lambda row: (-row.time, *row.tie),
            "score": lambda row: (-row.score + TIER * (numbers[row.mark] in withdrawn), *row.tie),
        }
        rows.sort(key=keys[request.sort_by])
        found = Found(self._of, marked([row.mark for row in rows]), total)
        rows = rows[request.offset : request.offset + request.limit]
        return self._answered(stage, rows, found, weigh, exact=exact, hidden=hidden)

    def _note_hidden(self, docs: Ints) -> None:
        """Warn that what the query names is hidden, with what takes its place."""
        rows = self._hits.matching(self._these(docs).clause, _NAMED) if len(docs) else []
        reader, numbers = self._hits.indexed(rows)
        states = self._states_of(reader)
        self._replaced += [Replaced(states.hidden_message(numbers[row.mark])) for row in rows]

    def _ranked(
        self, query: bound.Bound, found: Docs, weigh: Weigh, *, exact: Ints, late: bool = True
    ) -> tuple[Clause, bool]:
        """Return a query that scores in tiers, and whether its scores are the true ones."""
        empty = weigh(Reader(()))
        weighed = [(row.query, row.weight) for row in empty.scored()]
        compiler = self._of.compiler(query, self._of.weights_by_item(self._overrides))
        scored, is_exact = compiler.score(clause_of(found), weighed, empty.norm())
        tiers = [(self._these(exact).clause, 2)]
        if self.request.include_superseded and late:
            tiers.append((none_of(WITHDRAWN), 1))
        boosts = [{"constant_score": {"filter": tier, "boost": n * TIER}} for tier, n in tiers if tier != NOTHING]
        return {"bool": {"must": [scored], "should": boosts}}, is_exact

    def _answered(
        self, stage: Stage, rows: list[Row], found: Docs, weigh: Weigh, *, exact: Ints, hidden: dict[str, int]
    ) -> Answer:
        """Return the answer with its page, scored from the bytes of its items."""
        reader, numbers = self._hits.indexed([*rows, *self._hits.copies(rows)])
        evaluation = weigh(reader)
        scores = evaluation.scores(np.arange(reader.size)).round(4)
        if self.request.sort_by == "score":  # the cluster adds up in single precision
            rows = sorted(rows, key=lambda row: (-(row.score // TIER), -scores[numbers[row.mark]], *row.tie))
        docs = np.asarray([numbers[row.mark] for row in rows], np.int64)
        pad = np.full(min(self.request.offset, len(found)), -1)  # the hits before the page, which nobody asks for
        named = {self._ids.marks[doc] for doc in exact.tolist()}
        names = frozenset(numbers[row.mark] for row in rows if row.mark in named)
        self._page_states = self._states_of(reader)
        columns = np.concatenate([pad, docs]), np.concatenate([pad.astype(float), scores[docs]])
        return Answer(stage.name, evaluation, found, *columns, names, hidden, None)

    def _weigher(self, query: bound.Bound) -> Weigh:
        """Return what evaluates a query over some hits, given in how many items each of its terms is found."""
        terms = [term for term, excluded in terms_asked(query) if not excluded]
        keys = [(term.pattern, term.fields.tobytes()) for term in terms]
        missing = {key: term for key, term in zip(keys, terms, strict=True) if key not in self._of.dfs}
        found = [self.matching(term).clause for term in missing.values()]
        self._of.dfs |= dict(zip(missing, self._of.counts(found), strict=True))
        dfs = [self._of.dfs[key] for key in keys]

        def weigh(reader: Reader) -> HitEvaluation:
            chosen = [self._overrides.get(root.source, {}) for root, _ in reader.snapshots]
            weights = replace(weights_for(reader, chosen), average=self._of.snapshot.average)
            return HitEvaluation(self._of, reader, query, weights, states=self._states_of(reader), dfs=dfs)

        return weigh

    def _states_of(self, reader: Reader) -> States:
        return States(reader, reader, self.context.trust, self.context.now)

    def _best(self, ranked: Clause, wanted: int, weigh: Weigh) -> tuple[list[Row], int]:
        """Return the best hits by true scores, where those of the cluster are bounds, and how many there are.

        More are fetched until no hit that was not can be among them.

        Raises:
            UnavailableError: ``not-on-cluster``: too many items would have to be read.
        """
        asked = min(max(CANDIDATES, 2 * wanted), MOST_CANDIDATES)
        while True:
            fetched, total = self._hits.ranked(ranked, (_FIRST["score"], *_BY_TIES), 0, asked)
            reader, numbers = self._hits.indexed(fetched)
            scores = weigh(reader).scores(np.arange(reader.size)).round(4)
            # the tier is part of the cluster's score; below it, the true score takes the place of the bound
            rows = [
                row._replace(score=row.score // TIER * TIER + round(float(scores[numbers[row.mark]]) * UNIT))
                for row in fetched
            ]
            rows.sort(key=lambda row: (-row.score, *row.tie))
            least = min((row.score for row in fetched), default=0)
            if asked >= total or (len(rows) >= wanted and rows[wanted - 1].score > least):
                return rows[:wanted], total
            if asked >= MOST_CANDIDATES:
                raise cannot("order so many hits of a phrase or NEAR", "use rarer words, or an earlier page")
            asked = min(4 * asked, MOST_CANDIDATES)

    def page_builder(self, evaluation: Evaluation) -> PageBuilder:
        """Return the builder of results from the hits of an evaluation."""
        trust, now, states = self.context.trust(), self.context.now, self._page_states
        hydrator = Hydrator(evaluation.reader, states, trust, now, verdicts_matter=False, read=self._hits.read)
        return PageBuilder(evaluation, hydrator, self.request.explain)

    def respond(self, *given: Any, **facts: Any) -> SearchResponse:
        """Return the response; the paths of its items are addresses."""
        found = super().respond(*given, **facts)
        results = tuple(replace(one, path=self._of.address_of(one.path)) for one in found.results)
        return replace(found, results=results, warnings=(*found.warnings, *dict.fromkeys(self._hits.left_out)))

    def facets(self, answer: Answer, total: int) -> dict[str, Facet]:  # noqa: ARG002 - what is found can be reached
        """Count the facets of an answer.

        Raises:
            UnavailableError: ``not-on-cluster``: verdicts and signers, and facets of too many values.
        """
        keys = {name: FACETS.get(name, name) for name, _ in self.request.facets}
        if {"verdict", "signer"} & set(keys.values()):
            raise cannot("count verdicts or signers", "they depend on your own keys")
        bodies = [_counting(key, clause_of(answer.found)) for key in keys.values()]
        answers, found = self._of.cluster.searches(self._of.snapshot.items, bodies), dict[str, Facet]()
        for (name, most), (key, one) in zip(self.request.facets, zip(keys.values(), answers, strict=True), strict=True):
            with self._of.cluster.faults(), reading():
                counted = one["aggregations"]["values"]
                left = int(counted["sum_other_doc_count"])
                pairs = [(str(row["key"])[len(key) + 1 :], int(row["doc_count"])) for row in counted["buckets"]]
                without = int(one["aggregations"]["missing"]["doc_count"])
            if left:
                raise cannot(f"count {name!r}: it has more than {_MOST_VALUES:,} values", "count another facet")
            pairs.sort(key=lambda pair: (-pair[1], pair[0]))
            rest = pairs[most:]
            found[name] = Facet(tuple(pairs[:most]), len(rest), sum(count for _, count in rest), without)
        return found


def _counting(key: str, found: Clause) -> Clause:
    """Return the search that counts the values of a key."""
    start = f"{key}{SEPARATOR}"
    literal = "".join(ch if ch.isalnum() else f"\\{ch}" for ch in start)
    values = {"terms": {"field": "entry", "include": f"{literal}.*", "size": _MOST_VALUES}}
    missing = {"filter": none_of({"prefix": {"entry": start}})}
    return {"query": {"bool": {"filter": [found]}}, "size": 0, "aggs": {"values": values, "missing": missing}}


def _scope(scope: Scope) -> Clause:
    own: Clause = {"term": {"type": scope.item_type}} if scope.item_type else EVERYTHING
    if not scope.prefix:
        return own
    start = f"key{SEPARATOR}{scope.item_type}:"
    itself: Clause = {"term": {"entry": f"{start}{scope.itself}"}} if scope.itself else NOTHING
    return all_of([own, any_of([{"prefix": {"entry": f"{start}{scope.prefix}"}}, itself])])


def _refuse(request: Request, snapshot: Published) -> None:
    """Refuse what a cluster cannot do."""
    if request.mode.name in ("semantic", "hybrid"):
        raise cannot(f"search in mode {request.mode.name}", "leave the mode out: words are searched")
    if request.level is not None:
        raise cannot("search one level", "name the fields: title:word")
    if request.space != "all" and {request.space} != {str(root.space) for root in snapshot.roots if root}:
        raise cannot("search a single space of several", f"use the filter space={request.space}")
    if request.offset + request.limit > MOST_REACHED:
        raise cannot(f"show hits beyond {MOST_REACHED:,}", "narrow the query")
