"""A request in semantic or hybrid mode → the scores of all items that count, or the reason why keywords must do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rye.errors import EnvironmentFault, UnavailableError
from rye.index import analysis
from rye.index.arrays import unique
from rye.index.meaning import Meaning
from rye.index.reader import Floats, Reader
from rye.index.segment import Ints
from rye.query import ast
from rye.search.bind import searched_fields
from rye.search.closeness import Asked, Closeness
from rye.search.docs import Docs
from rye.search.evaluate import Evaluation
from rye.search.fusion import Blend, by_similarity, fuse, keyword_score, reaching
from rye.search.meaning import Nearness, any_of, demands, fixed, has_boost, mistyped, says
from rye.search.prose import Dictionary
from rye.search.query_plan import Plan
from rye.search.request import Request


@dataclass(frozen=True, eq=False)
class Near:
    """What is known of the items that count.

    Attributes:
        asked: What was asked by meaning.
        threshold: The similarity of a semantic match.
        nearness: How near the items are.
        evaluation: Where keyword scores and highlights come from: in semantic mode only what the query demands.
        docs: Shape ``(n,)``: the documents that count, ascending.
        blend: Their scores.
        lacking: Why there is no document that counts, if there is none.
    """

    asked: Asked
    threshold: float
    nearness: Nearness
    evaluation: Evaluation
    docs: Ints
    blend: Blend
    lacking: str = ""

    def scores(self, docs: Ints) -> Floats:
        """Return the scores of some of the documents."""
        spread = np.zeros(self.nearness.meaning.vectors.size)
        spread[self.docs] = self.blend.total
        found: Floats = spread[docs]
        return found

    def closeness(self, doc: int) -> Closeness:
        """Return what there is to say of one of the documents."""
        at = int(np.searchsorted(self.docs, doc))
        similarity = float(self.blend.similarity[at])
        return Closeness(
            asked=self.asked,
            similarity=round(similarity, 4) if np.isfinite(similarity) else None,
            keyword=float(self.blend.keyword[at]),
            by_meaning=float(self.blend.by_meaning[at]),
            by_words=float(self.blend.by_words[at]),
            section=self.nearness.section(doc),
        )

    @property
    def nothing(self) -> str:
        """Why there may be no hit."""
        best = self.blend.similarity.max(initial=-np.inf)
        if not len(self.docs):
            return self.lacking
        if not np.isfinite(best):
            return "no item that counts has a vector yet"
        return f"no item is as near as {self.threshold:g}; the nearest item is at {best:.2f}"


class ByMeaning:
    """One request by meaning.

    Args:
        request: Its mode is not keyword.
        reader: What is searched.
        plan: The query as planned.
        evaluate: Binds a query and prepares its evaluation.
        boosts: The user's own factors by source.

    Attributes:
        warnings: What to say of it.
    """

    def __init__(
        self,
        request: Request,
        reader: Reader,
        plan: Plan,
        evaluate: Callable[[ast.Node, Plan], Evaluation],
        *,
        boosts: Mapping[str, float],
    ) -> None:
        self.request = request
        self.reader = reader
        self.plan = plan
        self.evaluate = evaluate
        self.boosts = request.mode.factors(boosts)
        self.warnings: list[str] = []

    def near(self, meaning: Callable[[], Meaning], allowed: Docs) -> Near | None:
        """Return the scores of what is allowed and has what the query demands; None where keywords have to do.

        Raises:
            QueryError: The query names what does not exist.
        """
        mode, plan = self.request.mode, self.plan
        if self._slips:
            read = ", ".join(f"{word!r} as {near!r}" for word, near in self._slips.items())
            self.warnings.append(f"by meaning, {read}: no item has the word as written")
        wordless = sum(not analysis.parts(text) for text in self._said)
        if wordless:
            self.evaluate(self.worded, plan)  # which refuses them, or leaves them out
        if wordless == len(self._said):
            self.warnings.append(self.instead("the query has no word that means something"))
            return None
        evaluation = self.evaluate(self.demanded, plan)
        lacking = self._lacking(self.demanded, allowed)
        if plan.fixed or not isinstance(self.demanded, ast.Everything):
            allowed &= evaluation.docs
        try:
            known = meaning()
            nearness = Nearness.of(known, self.text, allowed.mask)
        except (UnavailableError, EnvironmentFault) as error:
            self.warnings.append(self.instead(f"{error.message}; {error.hint}" if error.hint else error.message))
            return None
        self.warnings += [*known.warnings, *self._idle()]
        docs = allowed.numbers
        if mode.name == "hybrid":
            evaluation = self.evaluate(self.worded, plan)
        threshold = known.embedder.threshold if mode.threshold is None else mode.threshold
        blend = self._blend(evaluation, nearness.best[docs], docs, threshold)
        asked = Asked(self.text, int(reaching(blend.similarity, threshold).sum()), mode.name == "hybrid")
        return Near(asked, threshold, nearness, evaluation, docs, blend, lacking)

    def _lacking(self, demanded: ast.Node, allowed: Docs) -> str:
        """Say what leaves no item, if none is left: what is asked of all, or what the query demands of these."""
        if not allowed:
            return "scope, space and filters leave no item"
        own = [] if isinstance(demanded, ast.Everything) else [str(demanded)]
        also = [f"{name}:({parsed.text})" for name, parsed in self.plan.fixed]
        return f"no item has what the query demands: {' '.join(own + also)}"

    def apart(self, near: Near, doc: int) -> Near:
        """Return the scores with one document more, as if scope, filters and query let it count.

        Raises:
            UnavailableError: The embedder cannot be used now.
        """
        mask = np.zeros(self.reader.size, bool)
        mask[doc] = True
        alone = Nearness.of(near.nearness.meaning, near.asked.text, mask)
        docs = unique(near.docs, np.asarray([doc]))
        similarity = np.full(len(docs), alone.best[doc])
        similarity[np.searchsorted(docs, near.docs)] = near.blend.similarity
        blend = self._blend(near.evaluation, similarity, docs, near.threshold)
        return replace(near, nearness=alone, docs=docs, blend=blend)

    def instead(self, cause: str) -> str:
        """Return the sentence that says why keywords answer."""
        name = self.request.mode.name
        more = "" if self.request.mode.plain else "; options of that mode do not apply"
        return f"keyword results instead of {name} ones: {cause}{more}"

    @cached_property
    def demanded(self) -> ast.Node:
        """What of the query an item must have, whatever it means."""
        return ast.Everything() if self.plan.words else demands(self.plan.main)

    @cached_property
    def worded(self) -> ast.Node:
        """What keyword scores come from: any of the words, or the query as it is."""
        words = self.plan.words
        return any_of(words, self._unknown) if words else self.plan.main

    @cached_property
    def _slips(self) -> dict[str, str]:
        words = (word for text in self._said for word in text.split())
        return mistyped(words, self._unknown, self._nearest)

    @cached_property
    def _said(self) -> list[str]:
        return [word.text for word in self.plan.words] or list(says(self.plan.main))

    @cached_property
    def text(self) -> str:
        """What is embedded: a query of plain words as it is, else what it says; slips of the fingers fixed."""
        return fixed(self.request.query if self.plan.words else " ".join(self._said), self._slips)

    @property
    def suggestion(self) -> str:
        """The query with its slips fixed; empty where there is nothing to fix."""
        return fixed(self.request.query, self._slips) if self._slips else ""

    @cached_property
    def _dictionary(self) -> Dictionary:
        return Dictionary(self.reader, searched_fields(self.request.level))

    def _unknown(self, word: str) -> bool:
        return self.plan.forgiving and not self._dictionary.knows(word)

    def _nearest(self, word: str) -> str:
        parts = analysis.parts(word)
        return self._dictionary.nearest(parts[0])[0] if len(parts) == 1 else ""

    def _blend(self, evaluation: Evaluation, similarity: Floats, docs: Ints, threshold: float) -> Blend:
        mode = self.request.mode
        if mode.name == "semantic":
            factors = np.asarray([self.boosts[part.root.space] for part in self.reader.parts] or [1.0])
            return by_similarity(similarity, factors[self.reader.part_numbers(docs)], threshold)
        keyword = np.zeros(len(docs))
        if evaluation.scored:
            keyword = keyword_score(evaluation.scores(docs), evaluation.coverage(docs))
        if not self.request.relax:
            keyword *= evaluation.docs.mask[docs]
        return fuse(mode.fusion, similarity, keyword, threshold)

    def _idle(self) -> Iterator[str]:
        """Yield what of the request has no effect on similarities."""
        if self.request.mode.name == "semantic":
            request, main = self.request, self.plan.main
            forgiving = not request.fuzzy and any(isinstance(one, ast.Fuzzy) for one in ast.walk(main))
            idle = {"level": request.level, "fuzzy": request.fuzzy, "^": has_boost(main), "~": forgiving}
            yield from (f"{name} has no effect in semantic mode" for name, given in idle.items() if given)
