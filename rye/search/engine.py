"""A request over a reader → a response: stages, filters, order, page."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from heapq import merge
from itertools import chain, islice
from typing import Any

import numpy as np

from rye.errors import QueryError
from rye.index.arrays import Bools, Ints, unique
from rye.index.docvalues import name_key
from rye.index.reader import Floats, Reader
from rye.index.schema import BUILT_IN_KEYS, SEPARATOR, TYPE_NUMBER
from rye.index.vectors import Meaning, no_meaning
from rye.items.scope import EVERY_SCOPE, Scope
from rye.query import ast
from rye.search import bound
from rye.search.bind import Context, bind, searched_fields
from rye.search.bound import asks_relations, asks_verdict
from rye.search.docset import Docs
from rye.search.facets import count_facets, require_facets
from rye.search.fields import Overrides, weights_for
from rye.search.page import Desk, Hit
from rye.search.plan import ANY_LIMIT, Plan, Stage, did_you_mean, in_field, make_plan, named_by, named_inside
from rye.search.predicates import States
from rye.search.relax import Dictionary, Reading, read_prose
from rye.search.request import Request, bind_filters, require_field
from rye.search.results import Remark, Replaced, SearchResponse
from rye.search.score import Evaluation, Matchers
from rye.search.semantic import ByMeaning, Near
from rye.signing import TrustSet

# -- The order of hits: exact first, what is withdrawn last, then score, date or name, then priority, id, type,
Key = Callable[[int], tuple[Any, ...]]


def ranked(
    reader: Reader,
    docs: Ints,
    scores: Floats,
    *,
    exact: Ints,
    withdrawn: Ints,
    request: Request,
    reach: int | None = None,
) -> Ints:
    """Return the hits up to the end of the page, in order, as indices into ``docs``.

    Args:
        reader: Where ties are looked up.
        docs: The hits, ascending.
        scores: Their rounded scores, not negative; boosted similarities may exceed 1.
        exact: Those whose id or name equals the query.
        withdrawn: Those that are superseded, deprecated or yanked; by score, they come after what is not.
        request: Names the sort order and the page.
        reach: How many hits can be reached, None for all: the best by score, whatever is withdrawn. Those are put in
            order; the others follow by score.
    """
    wanted = min(request.offset + request.limit, len(docs))
    if reach is not None and reach < len(docs):
        by_score = replace(request, sort_by="score", offset=0, limit=max(reach, wanted))
        best = ranked(reader, docs, scores, exact=exact, withdrawn=docs[:0], request=by_score)
        kept = np.sort(best[:reach])
        order = ranked(reader, docs[kept], scores[kept], exact=exact, withdrawn=withdrawn, request=request)
        return np.concatenate([kept[order], best[reach:]])
    if request.sort_by == "name":
        return _first(reader, docs, np.zeros(len(docs)), wanted, by_name=True)
    primary = -scores
    if request.sort_by == "date":
        times = reader.times[docs]
        primary = np.where(np.isnan(times), np.inf, -times)
    elif len(exact) or len(withdrawn):
        apart = 1.0 + scores.max(initial=0.0)
        primary = primary - 2 * apart * np.isin(docs, exact) if len(exact) else primary
        primary = primary + apart * np.isin(docs, withdrawn) if len(withdrawn) else primary
    return _first(reader, docs, primary, wanted)


def _first(reader: Reader, docs: Ints, primary: Floats, wanted: int, *, by_name: bool = False) -> Ints:
    """Return the first of the hits by ``primary``, ascending, then by the tie-break.

    Within a part, places are known; between parts, keys are compared, of no more hits than are wanted.
    """
    candidates: Ints = np.arange(len(docs))
    if wanted < len(docs):
        parted = primary.copy()
        parted.partition(wanted)
        candidates = (primary <= parted[wanted]).nonzero()[0]
        docs, primary = docs.take(candidates), primary.take(candidates)
    ranks = reader.ranks(docs, by_name=by_name)
    if reader.in_one_part(docs):
        return candidates.take(np.lexsort((ranks, primary))[:wanted])
    order = np.lexsort((ranks, reader.part_numbers(docs), primary))

    def key(at: int) -> tuple[Any, ...]:
        tie = reader.tie_key(int(docs[at]))
        return (name_key(tie[1]), *tie) if by_name else tie

    values = primary[order]
    runs = np.split(order, np.flatnonzero(values[1:] != values[:-1]) + 1)
    merged = chain.from_iterable(_merged(run, reader.part_numbers(docs[run]), key) for run in runs)
    return candidates.take(np.fromiter(islice(merged, wanted), np.int64, wanted))


def _merged(run: Ints, numbers: Ints, key: Key) -> Iterator[int]:
    """Yield hits that are equal so far, each part's in its order, in the order of their keys."""
    pieces = np.split(run, np.flatnonzero(np.diff(numbers)) + 1)
    if len(pieces) == 1:
        return iter(run.tolist())
    return merge(*(piece.tolist() for piece in pieces), key=key)


_NOTHING: Ints = np.empty(0, np.int64)
_NAMED = 3
"""Hidden items that a warning names because the query is their id or name."""


@dataclass(frozen=True, slots=True)
class World:
    """What a search runs in.

    Attributes:
        reader: The spaces searched.
        everywhere: All spaces of the registry, for shadowing.
        trust: Returns the trusted keys.
        overrides: Field weights per root of ``reader``.
        boosts: The user's own factors of similarities, by source.
        now: The moment verdicts are judged at.
        meaning: Returns the vectors of ``reader``; raises :class:`rye.errors.UnavailableError`.
    """

    reader: Reader
    everywhere: Reader
    trust: Callable[[], TrustSet]
    overrides: Sequence[Overrides]
    now: datetime
    meaning: Callable[[], Meaning] = no_meaning
    boosts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Answer:
    """What one stage found, after all filters: all of it, and the first of it in order, to the end of the page."""

    stage: str
    evaluation: Evaluation
    found: Docs
    docs: Ints
    scores: np.ndarray[tuple[int], np.dtype[np.float64]]
    exact: frozenset[int]
    hidden: dict[str, int]
    near: Near | None = None

    @property
    def total(self) -> int:
        """How many were found."""
        return len(self.found)


class Search:
    """One search, from request to response."""

    def __init__(self, request: Request, world: World) -> None:
        self.request = request
        self.world = world
        self.reader = world.reader
        self.states = States(world.reader, world.everywhere, world.trust, world.now)
        self.weights = weights_for(world.reader, world.overrides)
        self._matchers: Matchers = {}  # stages have most in common
        self._dropped: list[ast.Dropped] = []
        self._warnings: list[str] = []
        self._replaced: list[Replaced] = []
        self._suggestion = ""
        self._read: Reading | None = None

    def run(self) -> SearchResponse:
        """Return the response.

        Raises:
            QueryError: The query does not parse, or names what does not exist.
            ArgumentError: An argument does not fit the items.
        """
        began = time.perf_counter()
        request = self.request
        plan = make_plan(request)
        if request.facets:
            require_facets(request.facets, self._metadata_keys())
        allowed = self.allowed()
        plan = self.settled(plan, allowed)
        answer = self.answer(plan, allowed)
        near = answer.near
        total = min(answer.total, ANY_LIMIT) if answer.stage == "any" else answer.total
        window = slice(request.offset, min(request.offset + request.limit, total))
        hits = [
            Hit(int(doc), float(score), int(doc) in answer.exact, near.closeness(int(doc)) if near else None)
            for doc, score in zip(answer.docs[window], answer.scores[window], strict=True)
        ]
        page = self._desk(answer.evaluation).page(hits)
        suggestion = self._suggestion
        if answer.stage == "any":
            suggestion = self._reading(plan).suggestion
        elif not near and (total == 0 or answer.stage != "all"):
            suggestion = did_you_mean(plan, answer.evaluation, total, self._count)
        self._explain_stage(answer, plan, total)
        self._note_cuts(answer.evaluation)
        following = request.offset + request.limit
        remarks = (*plan.warnings, *self.said(plan), *self._warnings)
        return SearchResponse(
            results=page.results,
            total=max(total - (len(hits) - len(page.results)), 0),
            query=request.query,
            scope=request.scope,
            space=request.space,
            limit=request.limit,
            offset=request.offset,
            search_type=request.mode.name if near else "keyword",
            stage=answer.stage,
            warnings=(*map(Remark, remarks), *self._replaced, *page.warnings),
            did_you_mean=suggestion,
            took_ms=round((time.perf_counter() - began) * 1e3, 3),
            next_offset=following if following < total else None,
            hidden=answer.hidden,
            facets=count_facets(self.reader, self.states, self._reachable(answer, total), request.facets),
            method=self.method(near),
        )

    def answer(self, plan: Plan, allowed: Docs) -> Answer:
        """Return what is found of what scope and filters let through: by meaning where that is asked for and can be."""
        return self._by_meaning(plan, allowed) or self._first_answer(plan, allowed)

    def _desk(self, evaluation: Evaluation) -> Desk:
        return Desk(
            evaluation,
            self.states,
            self.world.trust(),
            self.world.now,
            self.request.explain,
            asks_verdict(evaluation.query) or any(map(asks_verdict, self.filters)),
        )

    def _reachable(self, answer: Answer, total: int) -> Ints:
        """Return the documents, ascending, that paging can reach; they are counted for facets alone."""
        if not self.request.facets:
            return _NOTHING
        docs = answer.found.numbers
        if answer.total == total:
            return docs
        scores = np.round(answer.evaluation.scores(docs), 4)
        whole = replace(self.request, sort_by="score", offset=0, limit=total)
        exact = np.asarray(sorted(answer.exact), np.int64)
        order = ranked(self.reader, docs, scores, exact=exact, withdrawn=_NOTHING, request=whole)
        return np.sort(docs[order])

    def withdrawn(self) -> Ints:
        """Return the documents that are listed only because superseded ones were asked for."""
        return self.reader.withdrawn if self.request.include_superseded else _NOTHING

    def method(self, near: Near | None) -> str:
        """Return what orders the hits."""
        mode = self.request.mode
        if near is None:
            return "keyword" if mode.name == "keyword" else "keyword_fallback"
        return mode.fusion.fusion if near.asked.hybrid else "embedding"

    def settled(self, plan: Plan, allowed: Docs) -> Plan:
        """Return what to evaluate: where what may be prose finds nothing as it is written, it is read as prose."""
        return plan.asked if plan.asked and not self.evaluate(plan.main, plan).docs() & allowed else plan

    def _first_answer(self, plan: Plan, allowed: Docs) -> Answer:
        """Try the stages in turn; the first that has a hit after all filters answers, else the last one tried."""
        answer: Answer | None = None
        first: Answer | None = None
        named = self._named(allowed, plan)
        for stage in self._stages(plan):
            answer = self._answer(stage, plan, allowed, named)
            first = first or answer
            if answer.total:
                return answer
        if first is None or answer is None:
            message = "a plan has at least one stage"
            raise AssertionError(message)
        return first if not answer.total else answer

    def _stages(self, plan: Plan) -> Iterator[Stage]:
        return plan.stages(lambda word: not self._dictionary.knows(word), lambda: self._reading(plan).query)

    def _answer(self, stage: Stage, plan: Plan, allowed: Docs, named: Ints) -> Answer:
        evaluation = self.evaluate(stage.ast, plan)
        found, size = evaluation.docs() & allowed, self.reader.size
        if stage.name == "all":
            whole = self._let_through(named_by(self.reader, self.request.query), plan, allowed)
            if len(whole):
                found, named = found | Docs(size, numbers=whole), unique(named, whole)
        exact = _NOTHING
        if len(named):
            these = Docs(size, numbers=named)
            found = found | these if found and (plan.words or plan.asked) else found
            exact = (found & these).numbers
        return self._ordered(stage.name, evaluation, found, exact=exact)

    def _ordered(
        self, stage: str, evaluation: Evaluation, found: Docs, *, exact: Ints, near: Near | None = None
    ) -> Answer:
        """Return hits in order, by keyword scores unless near, without those that are to be hidden."""
        hidden: dict[str, int] = {}
        if not self.request.include_superseded:
            found, hidden = self.hide(found)
            if hidden and len(exact):
                shown = found.mask[exact]
                self._name_successors(exact[~shown])
                exact = exact[shown]
        withdrawn = self.withdrawn()
        if near or len(withdrawn) or self.request.sort_by != "score":
            docs = found.numbers
            scores = (near or evaluation).scores(docs)
        else:
            docs, scores = evaluation.best(found, self.request.offset + self.request.limit)
            if len(exact):
                docs = unique(docs, exact)
                scores = evaluation.scores(docs)
        scores = scores.round(4)
        reach = ANY_LIMIT if stage == "any" else None
        order = ranked(self.reader, docs, scores, exact=exact, withdrawn=withdrawn, request=self.request, reach=reach)
        return Answer(stage, evaluation, found, docs[order], scores[order], frozenset(exact.tolist()), hidden, near)

    def asking(self, plan: Plan) -> ByMeaning:
        """Return what asks by meaning."""
        return ByMeaning(self.request, self.reader, plan, self.evaluate, boosts=self.world.boosts)

    def _by_meaning(self, plan: Plan, allowed: Docs) -> Answer | None:
        """Answer in semantic or hybrid mode; None where keywords have to, for a reason that a warning names."""
        mode = self.request.mode
        if mode.name == "keyword":
            return None
        asking = self.asking(plan)
        near = asking.near(self.world.meaning, allowed)
        self._warnings += asking.warnings
        if near is None:
            return None
        asked = Docs(self.reader.size, numbers=near.docs)
        exact = self._let_through(named_by(self.reader, self.request.query), plan, asked)
        found = Docs(self.reader.size, numbers=near.docs[near.blend.matched])
        found |= Docs(self.reader.size, numbers=exact)
        answer = self._ordered(mode.name, near.evaluation, found, exact=exact, near=near)
        if not answer.total and not answer.hidden and not mode.narrows:
            self._warnings.append(asking.instead(near.nothing))
            return None
        self._suggestion = asking.suggestion
        return answer

    def evaluate(self, node: ast.Node, plan: Plan) -> Evaluation:
        """Bind a query, together with what ``fields`` adds, and prepare its evaluation."""
        nodes = [bind(node, self._context(self.request.query, node)) or bound.Everything(), *self._fixed(plan)]
        query = nodes[0] if len(nodes) == 1 else bound.All(tuple(nodes))
        return Evaluation(self.reader, query, self.weights, self.states, matchers=self._matchers)

    def _context(self, text: str, node: ast.Node) -> Context:
        dropped = self._dropped if self.request.lenient else None
        return Context(text, node, self._metadata_keys, self.request.level, dropped)

    def _fixed(self, plan: Plan) -> list[bound.Bound]:
        """Bind the entries of ``fields``, each to its field."""
        nodes = []
        for name, parsed in plan.fixed:
            require_field(name, self._metadata_keys())
            try:
                node = bind(ast.Field(name, parsed.ast), self._context(parsed.text, parsed.ast))
            except QueryError as error:
                raise in_field(error, name) from None
            nodes += [node] if node is not None else []
        return nodes

    def _note_cuts(self, evaluation: Evaluation) -> None:
        """Warn of leaves that stand for more terms than were looked up, and of references that are not known."""
        if any(map(asks_relations, (evaluation.query, *self.filters))) and (unknown := self.states.graph.unknown):
            self._warnings.append(unknown)
        for matcher in evaluation.matchers():
            if matcher.cut():
                self._warnings.append(f"{matcher.query.label()} stands for too many terms; the most frequent were kept")

    def _count(self, node: ast.Node, plan: Plan) -> int:
        try:
            return len(self.evaluate(node, plan).docs() & self.allowed())
        except QueryError:  # takes too much: nobody asked for it
            return 0

    @cached_property
    def filters(self) -> tuple[bound.Bound, ...]:
        """What the ``filters`` mapping demands."""
        return tuple(bind_filters(self.request.filters, self._metadata_keys())) if self.request.filters else ()

    def _metadata_keys(self) -> frozenset[str]:
        return self.reader.keys - frozenset(BUILT_IN_KEYS)

    def allowed(self) -> Docs:
        """Return which live documents scope and filters let through."""
        size, docs, request = self.reader.size, Docs.live(self.reader), self.request
        if request.scopes is not EVERY_SCOPE:
            docs &= Docs.union(size, [Docs(size, mask=self._in_scope(scope)) for scope in request.scopes])
        for node in self.filters if request.filters else ():
            docs &= Evaluation(self.reader, node, self.weights, self.states).docs()
        return docs

    def _in_scope(self, scope: Scope) -> Bools:
        masks = [np.zeros(0, bool)]
        for part in self.reader.parts:
            mask = part.segment.types == TYPE_NUMBER[scope.item_type]
            if scope.prefix:
                entries, start = part.segment.keywords, f"key{SEPARATOR}{scope.item_type}:"
                found = list(range(*entries.prefix_range(f"{start}{scope.prefix}")))
                if scope.itself and (at := entries.find(f"{start}{scope.itself}")) >= 0:
                    found.append(at)
                below = np.zeros(part.segment.docs, bool)
                below[part.segment.keyword_docs(np.asarray(found, np.int64))] = True
                mask &= below
            masks.append(mask)
        return np.concatenate(masks)

    def _named(self, allowed: Docs, plan: Plan) -> Ints:
        """Return the documents that words of a sentence name."""
        if len(plan.bag) < 2:
            return _NOTHING
        return self._let_through(named_inside(self.reader, plan.bag, self._dictionary), plan, allowed)

    def _let_through(self, docs: Ints, plan: Plan, allowed: Docs) -> Ints:
        """Return those of some documents that scope, filters and ``fields`` let through."""
        if not len(docs):
            return docs
        found = Docs(self.reader.size, numbers=docs) & allowed
        return (found & self.evaluate(ast.Everything(), plan).docs() if plan.fixed else found).numbers

    @cached_property
    def _dictionary(self) -> Dictionary:
        return Dictionary(self.reader, searched_fields(self.request.level))

    def _reading(self, plan: Plan) -> Reading:
        """Return how the last stage reads the words; asked for twice, found once."""
        if self._read is None:
            self._read = read_prose(plan.words, self._dictionary, forgiving=plan.forgiving)
        return self._read

    def hide(self, found: Docs) -> tuple[Docs, dict[str, int]]:
        """Leave out what is superseded, deprecated or yanked, and count it by reason."""
        hidden = {}
        for state, docs in self.reader.hidden.items():
            these = Docs(self.reader.size, numbers=docs)
            if len(docs) and (count := len(found & these)):
                hidden[state] = count
                found &= ~these
        return found, hidden

    def _name_successors(self, docs: Ints) -> None:
        """Say of what the query names exactly that it is hidden, and what takes its place."""
        self._replaced += [Replaced(self.states.told(doc)) for doc in docs[:_NAMED].tolist()]

    def said(self, plan: Plan) -> list[str]:
        """Return a sentence for each part of the query that was left out."""
        dropped = dict.fromkeys((*plan.dropped, *self._dropped))
        return [f"left out of the query: {one.text!r} at {one.position}: {one.reason}" for one in dropped]

    def _explain_stage(self, answer: Answer, plan: Plan, total: int) -> None:
        """Say in a warning what relaxation did."""
        if answer.stage == "fuzzy":
            self._warnings.append("nothing had all words as written; words were matched with typos forgiven")
        elif answer.stage == "substring":
            self._warnings.append("nothing had all words; they were matched as parts of words")
        elif answer.stage == "any":
            self._warnings += self._reading(plan).notes
            rest = f"; the best {total} of {answer.total} are listed" if answer.total > total else ""
            self._warnings.append(
                f"nothing had all {len(plan.words)} words; low-confidence hits with any of them{rest}"
            )
