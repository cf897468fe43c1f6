"""A search of the index on this machine: by words, and by meaning where that is wanted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rye.errors import UnavailableError
from rye.index.arrays import unique
from rye.query import ast
from rye.search.backend import Order, Top
from rye.search.context import SearchContext
from rye.search.docset import Docs
from rye.search.embedded import Embedded
from rye.search.engine import Answer, Search
from rye.search.page import PageBuilder
from rye.search.request import Request
from rye.search.rerank import Reranker
from rye.search.rewrite import Plan, verbatim
from rye.search.score import Evaluation
from rye.search.semantic import SemanticScores, SemanticSearch

AUTO_WORDS = 3
"""Plain words from which on mode ``auto`` is hybrid: fewer are looked up."""


class LocalSearch(Search[Docs]):
    """One search of the index on this machine, from request to response."""

    def __init__(self, request: Request, context: SearchContext) -> None:
        self.embedded = Embedded(context)
        super().__init__(request, self.embedded)
        self.context, self.reader, self.states = context, context.reader, self.embedded.states
        self._has_no_embedder = False

    def last_warnings(self) -> Sequence[str]:
        """Return that meaning was not searched, where it would have been."""
        return ["only words were searched, not meaning: there is no embedder"] if self._has_no_embedder else []

    def evaluate(self, node: ast.Node, plan: Plan) -> Evaluation:
        """Bind a query, together with what ``fields`` adds, and prepare its evaluation."""
        return self.embedded.evaluation(self.bound_query(node, plan))

    def page_builder(self, evaluation: Evaluation) -> PageBuilder:
        """Return the builder of results from the hits of an evaluation."""
        matter = bool(self.on_verdicts(evaluation.query))
        return self.embedded.page_builder(evaluation.query, explain=self.request.explain, verdicts_matter=matter)

    def suggestion(self, answer: Answer[Docs], plan: Plan) -> str:
        """Return a query that may find more, or nothing."""
        if answer.similar:
            return self.semantic(plan).suggestion()
        return super().suggestion(answer, plan)

    def explain_answer(self, answer: Answer[Docs], plan: Plan) -> None:
        """Warn of the relaxation that was needed, and of what was not looked up in full."""
        super().explain_answer(answer, plan)
        self._warnings += self.embedded.unknown_references([answer.query, *self.filters()])

    def semantic(self, plan: Plan) -> SemanticSearch:
        """Return the search in semantic or hybrid mode."""
        return SemanticSearch(
            self.request,
            self.reader,
            plan,
            self.evaluate,
            boosts=self.context.boosts,
            unknown=self.unknown,
            relaxed=lambda: self.relax(plan),
        )

    def answer(self, plan: Plan, allowed: Docs) -> Answer[Docs]:
        """Return the answer among the items that scope and filters allow, by meaning where that is wanted."""
        return self._by_meaning(plan, allowed) or super().answer(plan, allowed)

    def _by_meaning(self, plan: Plan, allowed: Docs) -> Answer[Docs] | None:
        """Answer in semantic or hybrid mode; None where keywords have to, for a reason that a warning names."""
        request = self.request = self._in_mode(plan, allowed)
        if request.mode.name == "keyword":
            return None
        semantic = self.semantic(plan)
        scores = semantic.run(self.context.meaning_at_once if request.is_auto else self.context.meaning, allowed)
        self._warnings += semantic.warnings
        if scores is None:
            return None
        asked, matches = Docs(self.reader.size, numbers=scores.docs), scores.hits()
        exact = self.referred(plan, asked)
        if scores.hybrid and matches and plan.words:
            exact = unique(exact, self.named(asked, plan))
        matches |= self.embedded.names.as_matches(exact)
        if request.sort_by == "score" and (reranker := self.context.reranker()):
            scores = self._reranked(scores, matches, reranker)
        rank, query = self.by_similarity(scores), scores.evaluation.query
        answer = self.ordered(request.mode.name, query, matches, exact, similar=scores, rank=rank)
        if not answer.total and not answer.hidden and not request.mode.narrows:
            self._warnings.append(semantic.fallback_warning(scores.why_no_hit()))
            return None
        return answer

    def by_similarity(self, scores: SemanticScores) -> Callable[[Docs, Order], Top[Docs]]:
        """Return what ranks hits by scores by meaning."""
        query = scores.evaluation.query
        return lambda shown, order: self.embedded.top(query, shown, order, similar=scores.scores(shown.numbers))

    def _reranked(self, scores: SemanticScores, matches: Docs, reranker: Reranker) -> SemanticScores:
        """Return scores in which a second model has compared the best hits that are shown with the query."""
        docs = (matches if self.request.include_superseded else self.hide(matches)[0]).numbers
        hydrator, total = self.page_builder(scores.evaluation).hydrator, scores.fused.total.copy()
        try:
            done = reranker.rerank(scores.text, docs, scores.scores(docs), digest=self._digest, text=hydrator.beginning)
        except UnavailableError as error:
            self._warnings.append(f"not re-ranked: {error.message}")
            return scores
        total[np.searchsorted(scores.docs, docs)] = done.scores
        return scores._replace(fused=scores.fused._replace(total=total), reranked=done)

    def _digest(self, doc: int) -> str:
        part, local = self.reader.locate(doc)
        return part.segment.evidence.content_digest(local)

    def _in_mode(self, plan: Plan, allowed: Docs) -> Request:
        """Return the request in the mode that answers: ``auto`` is hybrid for a sentence where there is an embedder.

        Else it is keyword, as for what an item has word for word. Other orders, a prefix and a level are about words:
        of what is a little similar they would show anything.
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
