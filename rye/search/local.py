"""A search of the index on this machine: by words, and by meaning where that is wanted."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from rye.errors import UnavailableError
from rye.index.arrays import Ints
from rye.query import ast
from rye.search.backend import Order, Top
from rye.search.context import SearchContext
from rye.search.docset import Docs
from rye.search.embedded import Embedded
from rye.search.engine import Answer
from rye.search.modes import MeaningSearch
from rye.search.page import PageBuilder
from rye.search.request import Request
from rye.search.rerank import Reranker
from rye.search.rewrite import Plan
from rye.search.score import Evaluation
from rye.search.semantic import SemanticScores, SemanticSearch


class LocalSearch(MeaningSearch[Docs, SemanticSearch, SemanticScores]):
    """One search of the index on this machine, from request to response."""

    def __init__(self, request: Request, context: SearchContext) -> None:
        self.embedded = Embedded(context)
        super().__init__(request, self.embedded)
        self.context, self.reader, self.states = context, context.reader, self.embedded.states

    def evaluate(self, node: ast.Node, plan: Plan) -> Evaluation:
        """Bind a query, together with what ``fields`` adds, and prepare its evaluation."""
        return self.embedded.evaluation(self.bound_query(node, plan))

    def page_builder(self, evaluation: Evaluation) -> PageBuilder:
        """Return the builder of results from the hits of an evaluation."""
        matter = bool(self.on_verdicts(evaluation.query))
        return self.embedded.page_builder(evaluation.query, explain=self.request.explain, verdicts_matter=matter)

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

    def can_embed(self) -> bool:
        """Return whether there is an embedder."""
        return self.context.embeddings.can_embed

    def scored(self, semantic: SemanticSearch, allowed: Docs) -> SemanticScores | None:
        """Return the scores of the allowed items; None where keywords have to answer."""
        embeddings = self.context.embeddings
        find = embeddings.meaning_for_auto if self.request.is_auto else embeddings.meaning
        return semantic.run(partial(find, self.reader), allowed)

    def ordered_by(self, scores: SemanticScores, matches: Docs, exact: Ints) -> Answer[Docs]:
        """Return hits in the order of their scores, those that a second model compared first."""
        request = self.request
        if request.sort_by == "score" and (reranker := self.context.embeddings.reranker):
            scores = self._reranked(scores, matches, reranker)
        rank, query = self.by_similarity(scores), scores.evaluation.query
        return self.ordered(request.mode.name, query, matches, exact, similar=scores, rank=rank)

    def by_similarity(self, scores: SemanticScores) -> Callable[[Docs, Order], Top[Docs]]:
        """Return what ranks hits by scores by meaning."""
        query = scores.evaluation.query
        return lambda shown, order: self.embedded.top(query, shown, order, similar=scores.scores)

    def _reranked(self, scores: SemanticScores, matches: Docs, reranker: Reranker) -> SemanticScores:
        """Return scores in which a second model has compared the best hits that are shown with the query."""
        shown = matches if self.request.include_superseded else self.hide(matches)[0]
        others = self.backend.without_manual(shown) if self.manual_last else shown
        docs = (others or shown).numbers
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
