"""One search as steps: parse → plan → expand → match → score → order → hydrate the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from rye.errors import QueryError, UnavailableError
from rye.index.arrays import Ints, unique
from rye.index.reader import Reader
from rye.index.schema import BUILT_IN_KEYS
from rye.items.scope import EVERY_SCOPE, Scope
from rye.query import ast
from rye.search import bound
from rye.search.bind import Context, bind, searched_fields
from rye.search.bound import asks_relations, asks_verdict
from rye.search.docset import Docs
from rye.search.facets import Facet, count_facets, require_facets
from rye.search.fields import Overrides, weights_for
from rye.search.meaning import Meaning, no_meaning
from rye.search.named_items import ItemNames, named_inside, referred_to
from rye.search.order import Answer, ranked
from rye.search.page import Hydrator, PageBuilder
from rye.search.predicates import States, in_scope
from rye.search.relax import Dictionary, Relaxed, relax
from rye.search.request import Request, bind_filters, require_field
from rye.search.rerank import Reranker
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
from rye.search.score import Evaluation, Matchers
from rye.search.semantic import SemanticScores, SemanticSearch
from rye.search.suggest import FEW, Notes, answerable, did_you_mean, explain_stage
from rye.trust import TrustSet

_NOTHING: Ints = np.empty(0, np.int64)
AUTO_WORDS = 3
"""Plain words from which on mode ``auto`` is hybrid: fewer are looked up."""

_NAMED = 3
"""Hidden items that a warning names because the query is their id or name."""


@dataclass(frozen=True, slots=True)
class SearchContext:
    """The spaces, settings and keys that a search uses.

    Attributes:
        reader: The spaces searched.
        everywhere: All spaces of the registry, for shadowing.
        trust: Returns the trusted keys.
        overrides: Field weights per root of ``reader``.
        boosts: The user's own factors of similarities, by source.
        now: The moment verdicts are judged at.
        can_embed: Returns whether there is an embedder, for mode ``auto``.
        meaning: Returns the vectors of ``reader``; raises :class:`rye.errors.UnavailableError`.
        meaning_at_once: Likewise, for mode ``auto``; raises also where too many vectors are missing.
        meaning_everywhere: Likewise those of ``everywhere``.
        reranker: Returns what re-ranks hits by meaning; None where no second model is installed.
    """

    reader: Reader
    everywhere: Reader
    trust: Callable[[], TrustSet]
    overrides: Sequence[Overrides]
    now: datetime
    can_embed: Callable[[], bool] = lambda: False
    meaning: Callable[[], Meaning] = no_meaning
    meaning_at_once: Callable[[], Meaning] = no_meaning
    meaning_everywhere: Callable[[], Meaning] = no_meaning
    boosts: Mapping[str, float] = field(default_factory=dict)
    reranker: Callable[[], Reranker | None] = lambda: None


class Search:
    """One search, from request to response."""

    def __init__(self, request: Request, context: SearchContext) -> None:
        text, self._dropped, self._warnings = visible_query(request.query, shorten=request.relax)
        self.request = request if text == request.query else request._replace(query=text)
        self.context, self.reader = context, context.reader
        self.names: ItemNames = context.reader
        self.states = States(context.reader, context.everywhere, context.trust, context.now)
        self.weights = weights_for(context.reader, context.overrides)
        self._dictionary = self.dictionary(request.level)
        self._filters: list[bound.Bound] | None = None
        self._matchers: Matchers = {}  # stages have most in common
        self._replaced: list[Replaced] = []
        self._suggestion = ""
        self._has_no_embedder = False
        self._relaxed: Relaxed | None = None

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
        plan = read_query(self.request._replace(query=text, relax=False), self.metadata_keys)
        self.evaluate(plan.main, plan)

    def _run(self) -> SearchResponse:
        request = self.request
        plan = self.read()
        if request.facets:
            require_facets(request.facets, self.metadata_keys())
        allowed = self.allowed()
        answer = self.answer(plan, allowed)
        total = answer.reachable()
        suggestion = self._suggestion
        if answer.stage == "any":
            suggestion = self._relax(plan).suggestion()
        elif not answer.near and ((total <= FEW and not answer.exact) or answer.stage not in AS_WRITTEN):
            more = 0 if answer.stage == "fuzzy" else total
            suggestion = did_you_mean(request.query, plan, self.dictionary(None), total=more, count=self._count)
        self._warnings += explain_stage(answer, plan, self._relax)
        self.note_cuts(answer.evaluation)
        self._warnings += Notes(request, plan, total, self.holds, self._count, self.allowed)
        if self._has_no_embedder:
            self._warnings.append("only words were searched, not meaning: there is no embedder")
        return self.respond(
            answer,
            request.query,
            answer.stage,
            [*map(SearchWarning, self.warnings(plan)), *self._replaced],
            did_you_mean=suggestion,
            facets=self.facets(answer, total),
        )

    def respond(self, answer: Answer, query: str, stage: str, warnings: Sequence[str], **facts: Any) -> SearchResponse:
        """Hydrate the page of an answer; ``facts`` are further ones of the response, warnings those before its own."""
        request, total = self.request, answer.reachable()
        end = request.offset + request.limit
        hits = answer.hits(request.offset, min(end, total))
        results, more = self.page_builder(answer.evaluation).build(hits)
        return SearchResponse(
            results=results,
            total=max(total - (len(hits) - len(results)), 0),
            offset=request.offset,
            stage=stage,
            warnings=(*warnings, *more),
            next_offset=end if end < total else None,
            hidden=answer.hidden,
            **{**self.facts(answer.near), "query": query, **facts},
        )

    def facts(self, near: SemanticScores | None) -> dict[str, Any]:
        """Return the fields of every response that repeat the request, and how it was answered."""
        repeated = {name: getattr(self.request, name) for name in ("query", "scope", "space", "limit")}
        return {**repeated, "search_type": self.request.mode.name if near else "keyword", "method": self.method(near)}

    def warnings(self, plan: Plan) -> list[str]:
        """Return the warnings about the search itself, so far."""
        dropped = dict.fromkeys((*plan.dropped, *self._dropped))
        left_out = [f"left out of the query: {one.text!r} at {one.position}: {one.reason}" for one in dropped]
        return [*plan.warnings, *left_out, *self._warnings]

    def answer(self, plan: Plan, allowed: Docs) -> Answer:
        """Return the answer among the documents that scope and filters allow, by meaning where that is wanted."""
        if found := self._by_meaning(plan, allowed):
            return found
        answers, named = list[Answer](), self.named(allowed, plan)
        for stage in self.stages(plan):  # the first with enough hits after all filters answers
            partial = bool(answers and answers[-1].total)
            answers.append(self.answer_stage(stage, plan, allowed, named)._replace(partial=partial))
            if answers[-1].total >= stage.enough:
                wider = stage.wider and self.answer_stage(stage.wider, plan, allowed, named)
                return wider if wider and wider.total > answers[-1].total else answers[-1]
        return next((answer for answer in reversed(answers) if answer.total), answers[0])

    def page_builder(self, evaluation: Evaluation) -> PageBuilder:
        """Return the builder of results from the hits of an evaluation."""
        matter = asks_verdict(evaluation.query) or any(map(asks_verdict, self.filters()))
        hydrator = Hydrator(self.reader, self.states, self.context.trust(), self.context.now, matter)
        return PageBuilder(evaluation, hydrator, self.request.explain)

    def facets(self, answer: Answer, total: int) -> dict[str, Facet]:
        """Count the facets of an answer."""
        wanted = self.request.facets
        return count_facets(self.reader, self.states, self._reachable(answer, total), wanted) if wanted else {}

    def _reachable(self, answer: Answer, total: int) -> Ints:
        """Return the documents, ascending, that paging can reach; they are counted for facets alone."""
        docs = answer.found.numbers
        if answer.total == total:
            return docs
        scores = np.round(answer.evaluation.scores(docs), 4)
        whole = self.request._replace(sort_by="score", offset=0, limit=total)
        exact = np.asarray(sorted(answer.exact), np.int64)
        order = ranked(self.reader, docs, scores, exact=exact, withdrawn=_NOTHING, request=whole)
        return np.sort(docs[order])

    def withdrawn(self) -> Ints:
        """Return the documents that are listed only because superseded ones were asked for."""
        return self.reader.withdrawn if self.request.include_superseded else _NOTHING

    def method(self, near: SemanticScores | None) -> str:
        """Return the name of the ranking method, as responses show it."""
        mode = self.request.mode
        if near is None:
            return "keyword" if mode.name == "keyword" else "keyword_fallback"
        return mode.fusion.fusion if near.hybrid else "embedding"

    def read(self) -> Plan:
        """Return how the query is read; a warning says why where it is searched as plain words."""
        plan = read_query(self.request, self.metadata_keys)
        if error := plan.fault:
            answerable(error, self._check)
            meant = f"; did you mean {error.suggestion}?" if error.suggestion != "*" else ""
            self._warnings.append(f"the query is searched as plain words: {error.message}{meant}")
        return plan

    def stages(self, plan: Plan) -> Iterator[Stage]:
        """Return the queries to try in turn."""
        return plan.stages(self._unknown, lambda: self._relax(plan).query)

    def _unknown(self, word: str) -> bool:
        return not self._dictionary.knows(word)

    def answer_stage(self, stage: Stage, plan: Plan, allowed: Docs, named: Ints) -> Answer:
        """Return the answer of one stage."""
        evaluation = self.evaluate(stage.ast, plan)
        found, size = evaluation.docs() & allowed, self.reader.size
        if (scored := self.with_phrase(stage.ast, plan, found)) is not stage.ast:
            evaluation = self.evaluate(scored, plan)
        if stage.name in AS_WRITTEN:
            whole = self.referred(plan, allowed)
            if len(whole):
                found, named = found | Docs(size, numbers=whole), unique(named, whole)
        exact = _NOTHING
        if len(named):
            these = Docs(size, numbers=named)
            found = found | these if found and plan.words else found
            exact = (found & these).numbers
        return self._ordered(stage.name, evaluation, found, exact=exact)

    def with_phrase(self, node: ast.Node, plan: Plan, found: Docs) -> ast.Node:
        """Return a query that also scores its words as a phrase, as much as all of them, if a match has it."""
        phrase = verbatim(self.request.query) if plan.words else None
        if phrase is None or not found & self.evaluate(phrase, plan).docs():
            return node
        return ast.And((node, ast.Or((ast.Everything(), ast.Boost(phrase, float(len(plan.words)))))))

    def _ordered(
        self,
        stage: str,
        evaluation: Evaluation,
        found: Docs,
        *,
        exact: Ints,
        near: SemanticScores | None = None,
    ) -> Answer:
        """Return hits in order, by keyword scores unless near, without those that are to be hidden."""
        hidden: dict[str, int] = {}
        if not self.request.include_superseded:
            found, hidden = self.hide(found)
            if hidden and len(exact):
                shown = found.mask[exact]
                self._replaced += [Replaced(self.states.hidden_message(doc)) for doc in exact[~shown][:_NAMED].tolist()]
                exact = exact[shown]
        withdrawn = self.withdrawn()
        if near or len(withdrawn) or self.request.sort_by != "score":
            docs = found.numbers
            scores = (near or evaluation).scores(docs)
        else:
            docs, scores = evaluation.best(found, self.request.offset + self.request.limit)
            if len(exact) and len(several := unique(docs, exact)) > len(docs):
                docs, scores = several, evaluation.scores(several)
        scores = scores.round(4)
        reach = ANY_LIMIT if stage == "any" else None
        tiers = {"exact": exact, "withdrawn": withdrawn}
        order = ranked(self.reader, docs, scores, **tiers, request=self.request, reach=reach)
        docs, scores, names = docs[order], scores[order], frozenset(exact.tolist())
        return Answer(stage, evaluation, found, docs, scores, names, hidden, near)

    def semantic(self, plan: Plan) -> SemanticSearch:
        """Return the search in semantic or hybrid mode."""
        return SemanticSearch(
            self.request,
            self.reader,
            plan,
            self.evaluate,
            boosts=self.context.boosts,
            unknown=self._unknown,
            relaxed=lambda: self._relax(plan),
        )

    def _by_meaning(self, plan: Plan, allowed: Docs) -> Answer | None:
        """Answer in semantic or hybrid mode; None where keywords have to, for a reason that a warning names."""
        request = self.request = self._in_mode(plan, allowed)
        if request.mode.name == "keyword":
            return None
        semantic = self.semantic(plan)
        near = semantic.run(self.context.meaning_at_once if request.is_auto else self.context.meaning, allowed)
        self._warnings += semantic.warnings
        if near is None:
            return None
        asked, found = Docs(self.reader.size, numbers=near.docs), near.hits()
        exact = self.referred(plan, asked)
        if near.hybrid and found and plan.words:
            exact = unique(exact, self.named(asked, plan))
        found |= Docs(self.reader.size, numbers=exact)
        if request.sort_by == "score" and (reranker := self.context.reranker()):
            near = self._reranked(near, found, reranker)
        answer = self._ordered(request.mode.name, near.evaluation, found, exact=exact, near=near)
        if not answer.total and not answer.hidden and not request.mode.narrows:
            self._warnings.append(semantic.fallback_warning(near.why_no_hit()))
            return None
        self._suggestion = semantic.suggestion()
        return answer

    def _reranked(self, near: SemanticScores, found: Docs, reranker: Reranker) -> SemanticScores:
        """Return scores in which a second model has compared the best hits that are shown with the query."""
        docs = (found if self.request.include_superseded else self.hide(found)[0]).numbers
        hydrator, total = self.page_builder(near.evaluation).hydrator, near.fused.total.copy()
        try:
            done = reranker.rerank(near.text, docs, near.scores(docs), digest=self._digest, text=hydrator.beginning)
        except UnavailableError as error:
            self._warnings.append(f"not re-ranked: {error.message}")
            return near
        total[np.searchsorted(near.docs, docs)] = done.scores
        return near._replace(fused=near.fused._replace(total=total), reranked=done)

    def _digest(self, doc: int) -> str:
        part, local = self.reader.locate(doc)
        return part.segment.evidence.content_digest(local)

    def _in_mode(self, plan: Plan, allowed: Docs) -> Request:
        """Return the request in the mode that answers: ``auto`` is hybrid for a sentence where there is an embedder.

        Else it is keyword, as for what an item has word for word. Other orders, a prefix and a level are about words:
        of what is a little near they would show anything.
        """
        request, name = self.request, "keyword"
        if not request.is_auto:
            return request
        is_sentence = sum(plan.words.values()) >= AUTO_WORDS and plan.is_prose() and not plan.fault
        about_words = request.sort_by != "score" or request.level is not None or request.options["prefix"]
        if is_sentence and not about_words:
            if not self.context.can_embed():
                self._has_no_embedder = True
            elif not (phrase := verbatim(request.query)) or not self.evaluate(phrase, plan).docs() & allowed:
                name = "hybrid"
        return request._replace(mode=request.mode._replace(name=name))

    def evaluate(self, node: ast.Node, plan: Plan) -> Evaluation:
        """Bind a query, together with what ``fields`` adds, and prepare its evaluation."""
        return Evaluation(self.reader, self.bound_query(node, plan), self.weights, self.states, matchers=self._matchers)

    def bound_query(self, node: ast.Node, plan: Plan) -> bound.Bound:
        """Bind a query, together with what ``fields`` adds."""
        nodes = [bind(node, self._context(self.request.query, node)) or bound.Everything(), *self._fixed(plan)]
        return nodes[0] if len(nodes) == 1 else bound.All(tuple(nodes))

    def _context(self, text: str, node: ast.Node) -> Context:
        dropped = self._dropped if self.request.lenient else None
        return Context(text, node, self.metadata_keys, self.request.level, dropped)

    def _fixed(self, plan: Plan) -> list[bound.Bound]:
        """Bind the entries of ``fields``, each to its field."""
        nodes = []
        for name, parsed in plan.fixed:
            require_field(name, self.metadata_keys())
            try:
                node = bind(ast.Field(name, parsed.ast), self._context(parsed.text, parsed.ast))
            except QueryError as error:
                raise in_field(error, name) from None
            nodes += [node] if node is not None else []
        return nodes

    def note_cuts(self, evaluation: Evaluation) -> None:
        """Warn of words that stand for more terms than were looked up, and of references that are not known."""
        if any(map(asks_relations, (evaluation.query, *self.filters()))) and (unknown := self.states.graph().unknown):
            self._warnings.append(unknown)
        for matcher in evaluation.matchers():
            if matcher.cut():
                self._warnings.append(f"{matcher.query.label()} stands for too many terms; the most frequent were kept")

    def _count(self, node: ast.Node, plan: Plan) -> int:
        try:
            return len(self.evaluate(node, plan).docs() & self.allowed())
        except QueryError:  # takes too much: nobody asked for it
            return 0

    def filters(self) -> list[bound.Bound]:
        """Return the conditions of the ``filters`` mapping."""
        if self._filters is None:
            self._filters = [*bind_filters(self.request.filters, self.metadata_keys())] if self.request.filters else []
        return self._filters

    def metadata_keys(self) -> frozenset[str]:
        """Return the metadata keys of the items searched."""
        return self.reader.keys - frozenset(BUILT_IN_KEYS)

    def allowed(self, filters: Mapping[str, Any] | None = None) -> Docs:
        """Return which live documents the scope and filters let through; ``filters`` replaces those of the request."""
        size, docs, request = self.reader.size, Docs.live(self.reader), self.request
        if request.scopes is not EVERY_SCOPE:
            docs &= Docs.union(size, [Docs(size, mask=in_scope(self.reader, scope)) for scope in request.scopes])
        for node in self.filters() if filters is None else bind_filters(filters, self.metadata_keys()):
            docs &= Evaluation(self.reader, node, self.weights, self.states).docs()
        return docs

    def holds(self, scope: Scope) -> bool:
        """Return whether there is an item in a part of a scope."""
        return bool(in_scope(self.reader, scope).any())

    def dictionary(self, level: int | None) -> Dictionary:
        """Return the words of the fields of a level."""
        return Dictionary(self.reader, searched_fields(level))

    def named(self, allowed: Docs, plan: Plan) -> Ints:
        """Return the documents that words of a sentence name."""
        if len(plan.bag) < 2:
            return _NOTHING
        return self.let_through(named_inside(self.names, plan.bag, self._dictionary), plan, allowed)

    def referred(self, plan: Plan, allowed: Docs) -> Ints:
        """Return the documents that the query as a whole refers to, and warn where it is read as another name."""
        docs, name = referred_to(self.names, self.request.query)
        found = self.let_through(docs, plan, allowed) if self.request.relax or not name else _NOTHING
        if name and len(found) and (message := f"read as a reference to {name}") not in self._warnings:
            self._warnings.append(message)
        return found

    def let_through(self, docs: Ints, plan: Plan, allowed: Docs) -> Ints:
        """Return those of some documents that scope, filters and ``fields`` let through."""
        if not len(docs):
            return docs
        found = Docs(self.reader.size, numbers=docs) & allowed
        return (found & self.evaluate(ast.Everything(), plan).docs() if plan.fixed else found).numbers

    def _relax(self, plan: Plan) -> Relaxed:
        """Return how the last stage reads the words; asked for twice, found once."""
        if self._relaxed is None:
            self._relaxed = relax(plan.words, self._dictionary, forgiving=plan.forgiving)
        return self._relaxed

    def hide(self, found: Docs) -> tuple[Docs, dict[str, int]]:
        """Leave out what is superseded, deprecated or yanked, and count it by reason."""
        hidden = {}
        for state, docs in self.reader.hidden.items():
            these = Docs(self.reader.size, numbers=docs)
            if len(docs) and (count := len(found & these)):
                hidden[state] = count
                found &= ~these
        return found, hidden
