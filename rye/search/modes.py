"""A search by words or by meaning, wherever the items are: which answers, and when words take over."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from rye.index.arrays import Ints, unique
from rye.search.backend import Backend, M
from rye.search.bound import Bound
from rye.search.engine import Answer, Search
from rye.search.request import Request
from rye.search.rewrite import Plan, verbatim
from rye.search.semantic import MeaningQuery

AUTO_WORDS = 3
"""Plain words from which on mode ``auto`` is hybrid: fewer are looked up."""

AUTO_MISSING = 0.1
"""Mode ``auto`` is hybrid while at most this share of items lacks vectors; no more are sent to an embedding server."""


M_co = TypeVar("M_co", covariant=True)


class Scores(Protocol[M_co]):
    """The scores by meaning of the items that scope, filters and query leave."""

    @property
    def hybrid(self) -> bool:
        """Whether keyword scores count as well."""

    @property
    def query(self) -> Bound:
        """What scores words, and marks them."""

    def asked(self) -> M_co:
        """Return these items."""

    def hits(self) -> M_co:
        """Return those of them that meet all conditions."""

    def why_no_hit(self) -> str:
        """Return why there may be no hit."""


Q = TypeVar("Q", bound=MeaningQuery)
S = TypeVar("S", bound=Scores)  # type: ignore[type-arg]


class MeaningSearch(Search[M], ABC, Generic[M, Q, S]):
    """One search by words, and by meaning where that is wanted."""

    def __init__(self, request: Request, backend: Backend[M]) -> None:
        super().__init__(request, backend)
        self._has_no_embedder = False

    @abstractmethod
    def can_embed(self) -> bool:
        """Return whether there is an embedder."""

    @abstractmethod
    def semantic(self, plan: Plan) -> Q:
        """Return the search in semantic or hybrid mode."""

    @abstractmethod
    def scored(self, semantic: Q, allowed: M) -> S | None:
        """Return the scores of the allowed items; None, with a warning, where keywords have to answer."""

    @abstractmethod
    def ordered_by(self, scores: S, matches: M, exact: Ints) -> Answer[M]:
        """Return hits in the order of their scores."""

    def last_warnings(self) -> Sequence[str]:
        """Return that meaning was not searched, where it would have been."""
        return ["only words were searched, not meaning: there is no embedder"] if self._has_no_embedder else []

    def suggestion(self, answer: Answer[M], plan: Plan) -> str:
        """Return a query that may find more, or nothing."""
        if answer.similar:
            return self.semantic(plan).suggestion()
        return super().suggestion(answer, plan)

    def answer(self, plan: Plan, allowed: M) -> Answer[M]:
        """Return the answer among the items that scope and filters allow, by meaning where that is wanted."""
        return self._by_meaning(plan, allowed) or super().answer(plan, allowed)

    def _by_meaning(self, plan: Plan, allowed: M) -> Answer[M] | None:
        """Answer in semantic or hybrid mode; None where keywords have to, for a reason that a warning names."""
        request = self.request = self._in_mode(plan, allowed)
        if request.mode.name == "keyword":
            return None
        semantic = self.semantic(plan)
        scores = self.scored(semantic, allowed)
        self._warnings += semantic.warnings
        if scores is None:
            return None
        asked: M = scores.asked()
        matches: M = scores.hits()
        exact = self.referred(plan, asked)
        if scores.hybrid and plan.words and len(named := self.named(asked, plan)) and matches:
            exact = unique(exact, named)
        answer = self.ordered_by(scores, matches | self.backend.names.as_matches(exact), exact)
        if not answer.total and not answer.hidden and not request.mode.narrows:
            self._warnings.append(semantic.fallback_warning(scores.why_no_hit()))
            return None
        return answer

    def _in_mode(self, plan: Plan, allowed: M) -> Request:
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
            phrase = verbatim(request.query)
            if not self.can_embed():
                self._has_no_embedder = True
            elif not phrase or not self.backend.match(self.bound_query(phrase, plan)) & allowed:
                name = "hybrid"
        return request._replace(mode=request.mode._replace(name=name))
