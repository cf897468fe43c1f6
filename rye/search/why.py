"""Why an item is among the hits of a query, or what keeps it from being one: asked of the search itself.

What is said of a part of the query is what the evaluator says of that part; rank and score are those of the search.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np

from rye.index.reader import Part
from rye.index.schema import TYPE_NAMES
from rye.items.scope import Scope
from rye.query import ast
from rye.search.bind import Context
from rye.search.by_meaning import ByMeaning
from rye.search.clauses import Anatomy, blamed
from rye.search.contrast import contrast
from rye.search.engine import Answer, Search, World
from rye.search.naming import named_by
from rye.search.page import Hit
from rye.search.query_plan import ANY_LIMIT, make_plan
from rye.search.request import Request, bind_filters
from rye.search.results import SearchResult
from rye.search.why_meaning import Measured
from rye.search.why_results import Clause, Neighbour, Reason, Why


class Inquiry(Search):
    """One search, asked about single items.

    Args:
        request: The search; its page does not matter.
        world: What it runs in.
    """

    def __init__(self, request: Request, world: World) -> None:
        super().__init__(replace(request, offset=0, limit=max(world.reader.size, 1), explain=True), world)
        self.plan = self.settled(make_plan(self.request), self.allowed())

    def about(self, part: Part, local: int) -> Why:
        """Return why one document of the reader is a hit, or is none.

        Raises:
            QueryError: As a search.
            ArgumentError: As a search.
        """
        doc = part.base + local
        allowed = self.allowed()
        answer = self.answer(self.plan, allowed)
        total = self._total(answer)
        measured = Measured(self._asking, answer.near, doc) if answer.near else None
        place = np.flatnonzero(answer.docs == doc)
        rank = int(place[0]) if len(place) else None
        clauses = tuple(self._clauses(answer, doc))
        reasons = self._reasons(answer, clauses, measured, doc) if rank is None else self._beyond(answer, rank, total)
        shown: list[SearchResult | None] = [None] * 3
        if rank is not None and not reasons:
            shown = [self._shown(answer, at) if 0 <= at < total else None for at in range(rank - 1, rank + 2)]
            if shown[1] is None:
                reasons = [Reason("unreadable", "", self._warnings[-1])]
        self._explain_stage(answer, self.plan, total)
        self._note_cuts(answer.evaluation)
        before, hit, after = shown if not reasons else (None, None, None)
        sort_by, place_ = self.request.sort_by, rank or 0
        return Why(
            type=TYPE_NAMES[part.segment.types[local]],
            id=part.segment.ids[local],
            source=part.root.source,
            query=self.request.query,
            stage=answer.stage,
            total=total,
            rank=None if hit is None else place_ + 1,
            hit=hit,
            clauses=clauses,
            reasons=tuple(reasons),
            above=Neighbour(before, place_, contrast(before, hit, sort_by=sort_by)) if before and hit else None,
            below=Neighbour(after, place_ + 2, contrast(hit, after, sort_by=sort_by)) if after and hit else None,
            warnings=(*self.plan.warnings, *self.said(self.plan), *self._warnings),
            search_type=self.request.mode.name if answer.near else "keyword",
            meaning=measured.told() if measured else None,
        )

    def counted(self) -> tuple[str, int]:
        """Return the stage that answers, and how many hits paging can reach."""
        answer = self.answer(self.plan, self.allowed())
        return answer.stage, self._total(answer)

    def _total(self, answer: Answer) -> int:
        return min(answer.total, ANY_LIMIT) if answer.stage == "any" else answer.total

    def _anatomy(self, doc: int) -> Anatomy:
        dropped: list[ast.Dropped] | None = [] if self.request.lenient else None

        def context(node: ast.Node) -> Context:
            return Context(self.request.query, node, self._metadata_keys, self.request.level, dropped)

        return Anatomy(self.reader, self.weights, self.states, context, doc)

    @cached_property
    def _asking(self) -> ByMeaning:
        return self.asking(self.plan)

    def _clauses(self, answer: Answer, doc: int) -> Iterator[Clause]:
        """Yield the query as it was read taken apart, then the entries of ``fields``."""
        anatomy = self._anatomy(doc)
        if answer.near:
            yield anatomy.of(self._asking.worded if answer.near.asked.hybrid else self._asking.demanded)
        yield from (anatomy.of(stage.ast) for stage in self._stages(self.plan) if stage.name == answer.stage)
        for field, parsed in self.plan.fixed:
            yield anatomy.of(ast.Field(field, parsed.ast))

    def _reasons(
        self, answer: Answer, clauses: tuple[Clause, ...], measured: Measured | None, doc: int
    ) -> list[Reason]:
        """Return everything that keeps a document out of an answer."""
        main, *further = clauses
        if measured:
            main = self._anatomy(doc).of(self._asking.demanded)
        exact = answer.stage == "all" and self._is_named(doc)
        unmatched = [] if exact else [Reason(code, part.text, _message(part, code)) for part, code in blamed(main)]
        for clause in further:
            unmatched += [Reason("field", part.text, _message(part, code)) for part, code in blamed(clause)]
        outside = [*self._outside(doc), *self._hidden(doc)]
        if measured:
            return [*unmatched, *outside, *measured.reasons()]
        return [*unmatched, *outside, *([] if outside else self._looser(answer, doc))]

    def _is_named(self, doc: int) -> bool:
        return doc in named_by(self.reader, self.request.query)

    def _outside(self, doc: int) -> Iterator[Reason]:
        """Yield the scope and the filters that do not let a document through."""
        kind, item_id = self.reader.key_of(doc)
        if self.request.scopes != (Scope(""),) and not any(each.holds(kind, item_id) for each in self.request.scopes):
            yield Reason("scope", self.request.scope, f"{kind}:{item_id} lies outside the scope")
        anatomy = self._anatomy(doc)
        for name, wanted in self.request.filters.items():
            (node,) = bind_filters({name: wanted}, self._metadata_keys())
            if not anatomy.matches(node):
                yield Reason("filter", f"{name}={wanted}", anatomy.has(node))

    def _hidden(self, doc: int) -> Iterator[Reason]:
        if not self.request.include_superseded:
            for state, docs in self.reader.hidden.items():
                if doc in docs:
                    message = f"the item is {state}; include_superseded shows such items"
                    yield Reason("hidden", f"is:{state}", message)

    def _looser(self, answer: Answer, doc: int) -> Iterator[Reason]:
        """Yield the first looser stage that finds a document, unless all stages were tried."""
        stages = list(self._stages(self.plan))
        names = [stage.name for stage in stages]
        for stage in stages[names.index(answer.stage) + 1 :] if answer.total else ():
            if self.evaluate(stage.ast, self.plan).docs.mask[doc]:
                found = f"stage {answer.stage!r} found {answer.total}, so that no looser one was tried"
                yield Reason("stage", f"stage {stage.name}", f"stage {stage.name!r} would find it, but {found}")
                return

    def _beyond(self, answer: Answer, rank: int, total: int) -> list[Reason]:
        if rank < total:
            return []
        message = f"it is hit {rank + 1} of {answer.total}; of stage {answer.stage!r} the first {total} are listed"
        return [Reason("limit", f"stage {answer.stage}", message)]

    def _shown(self, answer: Answer, at: int) -> SearchResult | None:
        """Return a hit as a page shows it; None where it cannot be shown, which becomes a warning."""
        doc = int(answer.docs[at])
        near = answer.near.closeness(doc) if answer.near else None
        page = self._desk(answer.evaluation).page([Hit(doc, float(answer.scores[at]), doc in answer.exact, near)])
        self._warnings += page.warnings
        return page.results[0] if page.results else None


def _message(part: Clause, code: str) -> str:
    if code == "no-match":
        return part.note or "does not match"
    words = "; ".join(f"{', '.join(terms)} in {field}" for field, terms in part.words.items())
    return f"{f'the item has {words}' if words else part.note or 'every item matches'}, which is excluded"
