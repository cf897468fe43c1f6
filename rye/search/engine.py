"""One search as steps: parse → plan → expand → match → score → order → fetch the page.

The engine knows nothing of where the items are: :mod:`rye.search.backend` names what it asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple

import numpy as np

from rye.errors import QueryError
from rye.index.arrays import Ints, unique
from rye.index.schema import HIDDEN_STATES
from rye.items.scope import EVERY_SCOPE
from rye.query import ast
from rye.search import bound
from rye.search.backend import Backend, M, Order, Top
from rye.search.bind import Context, bind
from rye.search.bound import Bound, asks_verdict
from rye.search.facets import require_facets
from rye.search.named_items import named_inside, referred_to
from rye.search.page import Hit
from rye.search.relax import Relaxed, relax
from rye.search.request import Request, bind_filters, names_manual, require_field
from rye.search.results import Replaced, SearchResponse, SearchWarning
from rye.search.rewrite import (
    ANY_LIMIT,
    AS_WRITTEN,
    Plan,
    Stage,
    in_field,
    read_query,
    verbatim,
    visible_query,
)
from rye.search.semantic import SemanticScores
from rye.search.suggest import FEW, Notes, answerable, did_you_mean, explain_stage

_NOTHING: Ints = np.empty(0, np.int64)

_NAMED = 3
"""Hidden items that a warning names because the query is their id or name."""


class Answer(NamedTuple, Generic[M]):
    """The items that one stage found, after all filters, and the first of them in order.

    Attributes:
        stage: The stage.
        query: What scored them.
        matches: The items.
        top: The first of them, to the end of the page.
        hidden: How many were left out, by state.
        similar: Their scores by meaning; None where words alone answered.
        partial: Whether a few items have every word, and these are the best partial matches.
        others: The number of items found that decide whether the stage answers: where the manual comes last, its pages
            are not counted.
    """

    stage: str
    query: Bound
    matches: M
    top: Top[M]
    hidden: Mapping[str, int]
    similar: SemanticScores | None = None
    partial: bool = False
    others: int = 0

    @property
    def total(self) -> int:
        """The number of items found."""
        return len(self.matches)

    def reachable(self) -> int:
        """Return how many hits paging can reach."""
        return min(self.total, ANY_LIMIT) if self.stage == "any" else self.total

    def hits(self, start: int, stop: int) -> list[Hit]:
        """Return some of the hits, in order."""
        docs, scores = self.top.docs[start:stop].tolist(), self.top.scores[start:stop].tolist()
        return [
            Hit(doc, score, doc in self.top.exact, self.similar.of(doc) if self.similar else None)
            for doc, score in zip(docs, scores, strict=True)
        ]


class Search(Generic[M]):
    """One search of a backend, from request to response."""

    def __init__(self, request: Request, backend: Backend[M]) -> None:
        text, self._dropped, self._warnings = visible_query(request.query, shorten=request.relax)
        self.request = request if text == request.query else request._replace(query=text)
        self.backend = backend
        self._dictionary = backend.dictionary(request.level)
        self._filters: list[Bound] | None = None
        self._replaced: list[Replaced] = []
        self._relaxed: Relaxed | None = None
        self.manual_last = not names_manual(self.request)

    def run(self) -> SearchResponse:
        """Return the response.

        Raises:
            QueryError: The query does not parse, or names what does not exist.
            ArgumentError: An argument does not fit the items.
        """
        try:
            return self._run()
        except QueryError as error:
            if error.text == self.request.query:
                answerable(error, self._check)
            raise

    def _check(self, text: str) -> None:
        """Raise the error of another query under the same options, if it has one."""
        plan = read_query(self.request._replace(query=text, relax=False), self.backend.metadata_keys)
        self.bound_query(plan.main, plan)

    def _run(self) -> SearchResponse:
        request, plan = self.request, self.read()
        self.backend.expect(request.query, plan.bag)
        if request.facets:
            require_facets(request.facets, self.backend.metadata_keys())
        answer = self.answer(plan, self.allowed())
        total = answer.reachable()
        suggestion = self.suggestion(answer, plan)
        self.explain_answer(answer, plan)
        self._warnings += Notes(request, plan, total, self.holds, self._count, self.allowed)
        self._warnings += self.last_warnings()
        facets = self.backend.facets(answer.top.reachable, request.facets) if request.facets else {}
        warnings = [*map(SearchWarning, self.warnings(plan)), *self._replaced]
        return self.respond(answer, request.query, answer.stage, warnings, did_you_mean=suggestion, facets=facets)

    def suggestion(self, answer: Answer[M], plan: Plan) -> str:
        """Return a query that may find more, or nothing."""
        if answer.stage == "any":
            return self.relax(plan).suggestion()
        total = answer.reachable()
        if (total <= FEW and not answer.top.exact) or answer.stage not in AS_WRITTEN:
            more = 0 if answer.stage == "fuzzy" else total
            words = self.backend.dictionary(None)
            return did_you_mean(self.request.query, plan, words, total=more, count=self._count)
        return ""

    def explain_answer(self, answer: Answer[M], plan: Plan) -> None:
        """Warn of the relaxation that was needed, and of what was not looked up in full."""
        self._warnings += explain_stage(answer.stage, plan, self.relax, partial=answer.partial)
        self._warnings += answer.top.notes

    def last_warnings(self) -> Sequence[str]:
        """Return warnings that come after all others of the search itself."""
        return ()

    def respond(
        self, answer: Answer[M], query: str, stage: str, warnings: Sequence[str], **facts: Any
    ) -> SearchResponse:
        """Fetch the page of an answer; ``facts`` are further ones of the response, warnings those before its own."""
        request, total = self.request, answer.reachable()
        end = request.offset + request.limit
        hits = answer.hits(request.offset, min(end, total))
        results, more = self.fetch(answer, hits)
        return SearchResponse(
            results=results,
            total=max(total - (len(hits) - len(results)), 0),
            offset=request.offset,
            stage=stage,
            warnings=(*warnings, *more),
            next_offset=end if end < total else None,
            hidden=answer.hidden,
            **{**self.facts(answer.similar), "query": query, **facts},
        )

    def fetch(self, answer: Answer[M], hits: Sequence[Hit]) -> tuple[tuple[Any, ...], tuple[str, ...]]:
        """Return some hits of an answer as results, and warnings."""
        explain, on_verdicts = self.request.explain, self.on_verdicts(answer.query)
        return self.backend.fetch(answer.query, hits, explain=explain, on_verdicts=on_verdicts)

    def on_verdicts(self, query: Bound) -> list[Bound]:
        """Return those of a query and the filters that depend on verdicts."""
        return [node for node in (query, *self.filters()) if asks_verdict(node)]

    def facts(self, similar: SemanticScores | None) -> dict[str, Any]:
        """Return the fields of every response that repeat the request, and how it was answered."""
        repeated = {name: getattr(self.request, name) for name in ("query", "scope", "space", "limit")}
        mode = self.request.mode.name if similar else "keyword"
        return {**repeated, "search_type": mode, "method": self.method(similar)}

    def method(self, similar: SemanticScores | None) -> str:
        """Return the name of the ranking method, as responses show it."""
        mode = self.request.mode
        if similar is None:
            return "keyword" if mode.name in {"keyword", "auto"} else "keyword_fallback"
        return mode.fusion.fusion if similar.hybrid else "embedding"

    def warnings(self, plan: Plan) -> list[str]:
        """Return the warnings about the search itself, so far."""
        dropped = dict.fromkeys((*plan.dropped, *self._dropped))
        left_out = [f"left out of the query: {part.text!r} at {part.position}: {part.reason}" for part in dropped]
        return [*plan.warnings, *left_out, *self._warnings]

    def read(self) -> Plan:
        """Return how the query is read; a warning says why where it is searched as plain words."""
        plan = read_query(self.request, self.backend.metadata_keys)
        if error := plan.fault:
            answerable(error, self._check)
            meant = f"; did you mean {error.suggestion}?" if error.suggestion != "*" else ""
            self._warnings.append(f"the query is searched as plain words: {error.message}{meant}")
        return plan

    def stages(self, plan: Plan) -> Iterator[Stage]:
        """Return the queries to try in turn."""
        return plan.stages(self.unknown, lambda: self.relax(plan).query)

    def unknown(self, word: str) -> bool:
        """Return whether no item has a word."""
        return not self._dictionary.knows(word)

    def relax(self, plan: Plan) -> Relaxed:
        """Return how the last stage reads the words; asked for twice, found once."""
        if self._relaxed is None:
            self._relaxed = relax(plan.relaxing, self._dictionary, forgiving=plan.forgiving)
        return self._relaxed

    def answer(self, plan: Plan, allowed: M) -> Answer[M]:
        """Return the answer of the first stage with enough hits among the items that scope and filters allow."""
        answers, named = list[Answer[M]](), self.named(allowed, plan)
        self.manual_last = self.manual_last and bool(self.backend.without_manual(allowed))
        for stage in self.stages(plan):
            partial = bool(answers and answers[-1].others)
            answers.append(self._answer_stage(stage, plan, allowed, named)._replace(partial=partial))
            if answers[-1].others >= stage.enough:
                wider = stage.wider and self._answer_stage(stage.wider, plan, allowed, named)
                return wider if wider and wider.others > answers[-1].others else answers[-1]
        last = next((answer for answer in reversed(answers) if answer.others), None)
        return last or next((answer for answer in answers if answer.total), answers[0])

    def _answer_stage(self, stage: Stage, plan: Plan, allowed: M, named: Ints) -> Answer[M]:
        names, query = self.backend.names, self.bound_query(stage.ast, plan)
        matches = self.backend.match(query) & allowed
        query = self._with_phrase(stage.ast, plan, matches) or query
        exact = _NOTHING
        if len(named) and (plan.bag or stage.name == "any"):
            if matches and plan.relaxing:
                matches = matches | names.as_matches(named)
            exact = names.among(named, matches)
        if stage.name in AS_WRITTEN and len(referred := self.referred(plan, allowed)):
            matches, exact = matches | names.as_matches(referred), unique(exact, referred)
        return self.ordered(stage.name, query, matches, exact)

    def _with_phrase(self, node: ast.Node, plan: Plan, matches: M) -> Bound | None:
        """Return a query that also scores its words as a phrase, as much as all of them, if a match has it."""
        phrase = verbatim(self.request.query) if plan.words else None
        if phrase is None or not matches & self.backend.match(self.bound_query(phrase, plan)):
            return None
        boosted = ast.Boost(phrase, float(len(plan.words)))
        return self.bound_query(ast.And((node, ast.Or((ast.Everything(), boosted)))), plan)

    def ordered(
        self,
        stage: str,
        query: Bound,
        matches: M,
        exact: Ints,
        *,
        similar: SemanticScores | None = None,
        rank: Callable[[M, Order], Top[M]] | None = None,
    ) -> Answer[M]:
        """Return hits in order, without those that are to be hidden.

        Args:
            stage: The stage.
            query: What scores them, unless
            matches: The hits.
            exact: Those that the query names.
            similar: Their scores by meaning.
            rank: Returns the first of them by these scores.
        """
        request, hidden = self.request, dict[str, int]()
        if not request.include_superseded:
            matches, hidden = self.hide(matches)
            if hidden and len(exact):
                shown = self.backend.names.among(exact, matches)
                gone = np.setdiff1d(exact, shown)[:_NAMED]
                self._replaced += map(Replaced, self.backend.names.why_hidden(gone))
                exact = shown
        order = Order(
            request.sort_by,
            request.offset,
            request.offset + request.limit,
            exact,
            request.include_superseded,
            ANY_LIMIT if stage == "any" else None,
            self.manual_last,
        )
        top = rank(matches, order) if rank else self.backend.top(query, matches, order)
        others = len(self.backend.without_manual(matches) if self.manual_last else matches)
        return Answer(stage, query, matches, top, hidden, similar, others=others)

    def hide(self, matches: M) -> tuple[M, dict[str, int]]:
        """Leave out what is superseded, deprecated or yanked, and count it by reason."""
        hidden = {}
        for state in HIDDEN_STATES if self.backend.has_withdrawn else ():
            withdrawn = self.backend.match(bound.HasState(state))
            if count := len(matches & withdrawn):
                hidden[state] = count
                matches = matches & ~withdrawn
        return matches, hidden

    def bound_query(self, node: ast.Node, plan: Plan) -> Bound:
        """Bind a query, together with what ``fields`` adds."""
        nodes = [bind(node, self.binding(self.request.query, node)) or bound.Everything(), *self._fixed(plan)]
        return nodes[0] if len(nodes) == 1 else bound.All(tuple(nodes))

    def binding(self, text: str, node: ast.Node) -> Context:
        """Return what binding a query needs to know."""
        dropped = self._dropped if self.request.lenient else None
        return Context(text, node, self.backend.metadata_keys, self.request.level, dropped)

    def _fixed(self, plan: Plan) -> list[Bound]:
        """Bind the entries of ``fields``, each to its field."""
        nodes = []
        for name, parsed in plan.fixed:
            require_field(name, self.backend.metadata_keys())
            try:
                node = bind(ast.Field(name, parsed.ast), self.binding(parsed.text, parsed.ast))
            except QueryError as error:
                raise in_field(error, name) from None
            nodes += [node] if node is not None else []
        return nodes

    def _count(self, node: ast.Node, plan: Plan) -> int:
        try:
            return len(self.backend.match(self.bound_query(node, plan)) & self.allowed())
        except QueryError:  # takes too much: nobody asked for it
            return 0

    def filters(self) -> list[Bound]:
        """Return the conditions of the ``filters`` mapping."""
        if self._filters is None:
            keys = self.backend.metadata_keys
            self._filters = [*bind_filters(self.request.filters, keys())] if self.request.filters else []
        return self._filters

    def allowed(self, filters: Mapping[str, Any] | None = None) -> M:
        """Return which items the scope and filters let through; ``filters`` replaces those of the request."""
        nodes = self.filters() if filters is None else [*bind_filters(filters, self.backend.metadata_keys())]
        if self.request.scopes is not EVERY_SCOPE:
            nodes = [bound.Any(tuple(map(bound.Within, self.request.scopes))), *nodes]
        query = nodes[0] if len(nodes) == 1 else bound.All(tuple(nodes)) if nodes else bound.Everything()
        return self.backend.match(query)

    def holds(self, scope: Any) -> bool:
        """Return whether there is an item in a part of a scope."""
        return bool(self.backend.match(bound.Within(scope)))

    def named(self, allowed: M, plan: Plan) -> Ints:
        """Return the items that words of a sentence name."""
        words = plan.bag or (plan.fallback.words if plan.fallback else {})
        if len(words) < 2:
            return _NOTHING
        return self._let_through(named_inside(self.backend.names, words, self._dictionary), plan, allowed)

    def referred(self, plan: Plan, allowed: M) -> Ints:
        """Return the items that the query as a whole refers to, and warn where it is read as another name."""
        items, name = referred_to(self.backend.names, self.request.query)
        items = self._let_through(items, plan, allowed) if self.request.relax or not name else _NOTHING
        if name and len(items) and (message := f"read as a reference to {name}") not in self._warnings:
            self._warnings.append(message)
        return items

    def _let_through(self, items: Ints, plan: Plan, allowed: M) -> Ints:
        """Return those of some items that scope, filters and ``fields`` let through."""
        if not len(items):
            return items
        if plan.fixed:
            allowed = allowed & self.backend.match(self.bound_query(ast.Everything(), plan))
        return self.backend.names.among(items, allowed)
