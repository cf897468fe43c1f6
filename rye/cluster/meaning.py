"""Search by meaning on a cluster: similarities are computed there, exactly, for all items; here again, for a page.

The cluster compares the vector of the query with those of every item that the query leaves, and adds the keyword score
in the same script, so match sets, totals and order need no candidates. The scores that are shown come from the vectors
and bytes of the page, by the same code as at home.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from rye.cluster.backend import ClusterBackend
from rye.cluster.compiler import UNIT
from rye.cluster.conditions import NOTHING, WITHDRAWN, Clause, all_of, cannot, none_of
from rye.cluster.faults import shown
from rye.cluster.frequency import script_id
from rye.cluster.generation import Found, Generation
from rye.cluster.hits import HitEvaluation, Row
from rye.cluster.vectors import Model, vectors_of
from rye.embedding.protocol import Embedder, query_vector
from rye.embedding.protocol import Floats as Rows
from rye.errors import EnvironmentFault, UnavailableError
from rye.index.arrays import Ints
from rye.index.reader import Reader
from rye.index.vectors import SCALE
from rye.search.backend import Order, Top
from rye.search.bound import Bound
from rye.search.engine import Answer
from rye.search.fusion import lowest, shown_as
from rye.search.meaning import Meaning
from rye.search.modes import AUTO_MISSING, MeaningSearch
from rye.search.request import Request
from rye.search.rewrite import Plan
from rye.search.semantic import MeaningQuery, SemanticScores, similarities

_LEAST = -2.0
"""Below every similarity and score."""


class Embedding(NamedTuple):
    """The embedder of queries.

    Attributes:
        can_embed: Returns whether there is an embedder.
        opened: Returns it, and the model that it is now; raises :class:`rye.errors.UnavailableError`.
        boosts: The user's own factors of similarities, by source.
    """

    can_embed: Callable[[], bool]
    opened: Callable[[], tuple[Embedder, Model]]
    boosts: Mapping[str, float]


class Asked(NamedTuple):
    """The text of a query as vectors.

    Attributes:
        embedder: What made them.
        readings: The text as typed and as read, each with what its cosines count for.
        vectors: The vector of each.
    """

    embedder: Embedder
    readings: Mapping[str, float]
    vectors: list[Rows]


class ClusterScores:
    """The scores by meaning of the items that scope, filters and query leave.

    Args:
        generation: Where they are.
        backend: The search's.
        semantic: What is asked for.
        asked: Its vectors.
        query: What scores words, and marks them.
        items: The items.
        none_left: Returns why there is no item.
    """

    def __init__(
        self,
        generation: Generation,
        backend: ClusterBackend,
        semantic: MeaningQuery,
        asked: Asked,
        *,
        query: Bound,
        items: Found,
        none_left: Callable[[], str],
    ) -> None:
        self._of, self._backend, self._semantic, self._asked = generation, backend, semantic, asked
        self.hybrid = semantic.request.mode.name == "hybrid"
        self.query, self._items, self._none_left = query, items, none_left
        self._by_words = backend.weigher(query)
        self._words, self._norm = self._keywords() if self.hybrid else (NOTHING, 0.0)
        self._threshold = semantic.threshold(asked.embedder)
        self._count_similar: int | None = None
        if semantic.request.explain:
            reaching = self._scored(items.clause, self._only_similar(self._threshold))
            (self._count_similar,) = generation.counts([reaching])

    def _keywords(self) -> tuple[Clause, float]:
        """Return a query that scores the words, and the square root of the most that it can score.

        Without ``relax`` it scores items that have all of them.
        """
        empty, compiler = self._by_words(Reader(())), self._backend.compiler(self.query)
        if empty.norm() <= 0:
            return NOTHING, 0.0
        words = compiler.words([(row.query, row.weight) for row in empty.scored()])
        if not self._semantic.request.relax:
            words = {"bool": {"must": [words], "filter": [compiler.match(self.query)]}}
        return words, empty.norm()

    def asked(self) -> Found:
        """Return the items."""
        return self._items

    def hits(self) -> Found:
        """Return those of them that meet all conditions."""
        return Found(self._of, self._scored(self._items.clause, self._conditions()))

    def clause(self, matches: Found, order: Order) -> Clause:
        """Return a query that scores matches."""
        if len(order.exact):  # these match whatever their scores are
            return self._scored(matches.clause, {"e": True})
        kept = [self._items.clause]
        if self._of.snapshot.notes.withdrawn and not self._semantic.request.include_superseded:
            kept.append(none_of(WITHDRAWN))
        # the same as ``matches``, whose own clause compares all vectors once more
        return self._scored(all_of(kept), self._conditions())

    def weigh(self, reader: Reader) -> HitEvaluation:
        """Return the evaluation of the words of a few hits, whose totals are scores by meaning."""
        evaluation = self._by_words(reader)
        evaluation.total = lambda page: self.on_page(page).fused.total
        return evaluation

    def on_page(self, evaluation: HitEvaluation) -> SemanticScores:
        """Return the scores of a few hits, from their own vectors and bytes."""
        reader, semantic = evaluation.reader, self._semantic
        docs = np.arange(reader.size)
        meaning = Meaning(self._asked.embedder, vectors_of(reader, self._backend.hits.vectors))
        allowed = np.ones(reader.size, bool)
        compared = similarities(meaning, self._asked.readings, allowed, self._asked.vectors)
        fused = semantic.fuse(evaluation, compared.best, docs, self._threshold)
        facts = semantic.text, self.hybrid, self._threshold, compared, evaluation, docs, fused
        return SemanticScores(*facts, count_similar=self._count_similar)

    def why_no_hit(self) -> str:
        """Return why there may be no hit."""
        if not self._items:
            return self._none_left()
        return self._first(self._only_similar(_LEAST)).why_none_is_near()

    def why_none_matched(self) -> str:
        """Return which options leave no item, though some are near or have a word; else nothing."""
        if not self._semantic.request.mode.narrows or self.hits():
            return ""
        return self._first(self._shares() | {"t": shown_as(self._threshold)}).fused.why_none_matched()

    def _first(self, params: Mapping[str, Any]) -> SemanticScores:
        """Return the scores of the best item, alone."""
        rows: list[Row] = self._backend.hits.ranked(self._scored(self._items.clause, params), ("_score",), 0, 1)[0]
        return self.on_page(self._by_words(self._backend.hits.indexed(rows)[0]))

    def _conditions(self) -> dict[str, Any]:
        """Return what a hit has to meet, and how its score is computed."""
        params = self._shares() | {"t": shown_as(self._threshold)}
        if self.hybrid:
            fusion = self._semantic.request.mode.fusion
            least = fusion.min_semantic_score, fusion.min_keyword_score, fusion.min_combined_score
            params |= dict(zip("slc", [lowest(value) if value > 0 else _LEAST for value in least], strict=True))
            params |= {"m": fusion.require_semantic_match, "w": fusion.require_keyword_match}
        return params

    def _shares(self) -> dict[str, Any]:
        """Return what the similarity and the keyword score count for."""
        if self.hybrid:
            of_meaning, of_words = self._semantic.request.mode.fusion.shares
            return {"a": of_meaning, "b": of_words}
        boosts = self._semantic.boosts
        return {"f": [boosts[root.space] if root else 1.0 for root in self._of.roots]}

    def _only_similar(self, threshold: float) -> dict[str, Any]:
        """Return the parameters for items that are as near as a threshold, the nearest first."""
        return {"t": shown_as(threshold), "m": True}

    def _scored(self, among: Clause, given: Mapping[str, Any]) -> Clause:
        """Return a query that scores some items by meaning; those that do not meet the conditions do not match."""
        pairs = zip(self._asked.vectors, self._asked.readings.values(), strict=True)
        queries = np.concatenate([vector.astype(np.float64) * (weight / SCALE) for vector, weight in pairs])
        plain = {"a": 1.0, "b": 0.0, "f": [], "t": _LEAST, "s": _LEAST, "l": _LEAST, "c": _LEAST}
        params: dict[str, Any] = {**plain, "m": False, "w": False, "e": False, "u": UNIT, **given}
        # nine digits are what a float32 holds, and half of what is written otherwise
        params |= {"q": [float(f"{value:.9g}") for value in queries], "d": len(self._asked.vectors[0])}
        params["k"] = 1.0 / self._norm if self._words != NOTHING else 0.0
        query = {"bool": {"filter": [among], "should": [self._words] if params["k"] else []}}
        script = {"id": script_id("meaning"), "params": params}
        return {"script_score": {"query": query, "script": script, "min_score": 1.0}}


class ClusterSearch(MeaningSearch[Found, MeaningQuery, ClusterScores]):
    """One search of a registry on a cluster, from request to response.

    Args:
        request: The search.
        backend, generation: Where it looks.
        embedding: The embedder of queries.
    """

    def __init__(
        self,
        request: Request,
        backend: ClusterBackend,
        generation: Generation,
        embedding: Embedding,
    ) -> None:
        super().__init__(request, backend)
        self._cluster, self._of, self._embedding = backend, generation, embedding
        self._required: dict[int, tuple[Bound, Bound]] = {}  # of what scores words, by identity, what hits must match

    def can_embed(self) -> bool:
        """Return whether there is an embedder."""
        return self._embedding.can_embed()

    def semantic(self, plan: Plan) -> MeaningQuery:
        """Return the search in semantic or hybrid mode."""
        boosts, relaxed = self._embedding.boosts, lambda: self.relax(plan)
        return MeaningQuery(self.request, plan, boosts=boosts, unknown=self.unknown, relaxed=relaxed)

    def scored(self, semantic: MeaningQuery, allowed: Found) -> ClusterScores | None:
        """Return the scores of the allowed items; None, with a warning, where keywords have to answer."""
        plan, mode = semantic.plan, self.request.mode
        if not semantic.has_words(lambda: self.bound_query(plan.main, plan)):
            return None
        query, items = self.bound_query(semantic.required, plan), allowed
        if semantic.demands():
            items = allowed & self._cluster.match(query)
        try:
            embedder = self._embedder(semantic)
            readings = semantic.readings(embedder)
            asked = Asked(embedder, readings, [query_vector(embedder, text) for text in readings])
        except (UnavailableError, EnvironmentFault) as error:
            semantic.fallback(error)
            return None
        semantic.warnings += semantic.notes()
        required = query
        if mode.name == "hybrid":
            query = self.bound_query(semantic.worded, plan)
        self._required[id(query)] = query, required
        scores = ClusterScores(
            self._of,
            self._cluster,
            semantic,
            asked,
            query=query,
            items=items,
            none_left=lambda: semantic.why_none_left(is_empty=not allowed),
        )
        if why := scores.why_none_matched():
            semantic.warnings.append(why)
        return scores

    def on_verdicts(self, query: Bound) -> list[Bound]:
        """Return those of a query and the filters that depend on verdicts; words need not match by meaning."""
        return super().on_verdicts(self._required.get(id(query), (query, query))[1])

    def ordered_by(self, scores: ClusterScores, matches: Found, exact: Ints) -> Answer[Found]:
        """Return hits in the order of their scores.

        Raises:
            UnavailableError: ``not-on-cluster``.
        """
        mode = self.request.mode
        if scores.hybrid and mode.fusion.fusion == "rrf":
            raise cannot("fuse by ranks", "leave fusion=rrf out: scores are fused by their weights")

        def rank(hits: Found, order: Order) -> Top[Found]:
            return self._cluster.top(scores.query, hits, order, scores)

        answer = self.ordered(mode.name, scores.query, matches, exact, rank=rank)
        return answer._replace(similar=scores.on_page(self._cluster.page(scores.query)))

    def _embedder(self, semantic: MeaningQuery) -> Embedder:
        """Return the embedder, which is of the registry's model; hits come with their vectors from now on.

        Raises:
            UnavailableError: There is none, or it is of another model.
        """
        notes, address = self._of.snapshot.notes, shown(str(self._of.cluster.address))
        missing = notes.count - notes.vectors
        if notes.model is None:
            hint = "whoever publishes it where there is an embedder adds them"
            raise UnavailableError("no-vectors", f"{address} has no vectors", hint=hint)
        lacking = f"{missing:,} of {notes.count:,} items have no vectors"
        if self.request.is_auto and missing > AUTO_MISSING * notes.count:
            raise UnavailableError("no-vectors", lacking, hint="--mode hybrid searches those that have")
        embedder, model = self._embedding.opened()
        if not model.is_of(notes.model):
            name = shown(notes.model.name)
            same = ", another one of this name" if name == model.name else ""
            message = f"{address} has vectors of {name}{same}, and the embedder here is {model.name}"
            raise UnavailableError("other-model", message, hint="choose the embedder that it was published with")
        if missing:
            semantic.warnings.append(f"{lacking}, only words rank them")
        self._cluster.hits.dimensions = model.dimensions
        return embedder
