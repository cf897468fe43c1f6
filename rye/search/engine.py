"""One search: read the query, try its stages in turn, and sort the matches of the first stage that answers.

Mode ``auto`` is hybrid for a sentence. If semantic search is not possible, keywords answer and a warning says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from rye.errors import QueryError, UnavailableError
from rye.index.build.reader import Floats
from rye.index.storage.arrays import Ints, unique
from rye.index.text.schema import HIDDEN_STATES
from rye.query import ast
from rye.search.context import SearchContext
from rye.search.contract.fields import weights_for
from rye.search.contract.fusion import NEAR
from rye.search.contract.request import Request
from rye.search.contract.results import SearchResponse
from rye.search.matching import bound
from rye.search.matching.bind import searched_fields
from rye.search.matching.bound import Bound, has_relations, has_verdict
from rye.search.matching.docset import Docs
from rye.search.meaning.semantic import SemanticScores, SemanticSearch
from rye.search.page.page import Hit, Hydrator, Page, PageBuilder
from rye.search.reading.attempts import ANY_LIMIT, AS_WRITTEN, Stage, any_stage, enough_for, stages
from rye.search.reading.binder import Binder
from rye.search.reading.named_items import named_inside, referred_to
from rye.search.reading.reading import Kind, Reading, read, request_in
from rye.search.reading.relax import Dictionary
from rye.search.reading.suggest import FEW, Notes, answerable, did_you_mean
from rye.search.reading.words import verbatim, visible_query
from rye.search.scoring.facets import count_facets, known_facets
from rye.search.scoring.order import Order, Top, top
from rye.search.scoring.score import Evaluation, KnownTerms
from rye.search.states.states import States

_NOTHING: Ints = np.empty(0, np.int64)

_NAMED = 3
"""How many hidden items a warning names when the query is their id or name."""


class MatchedPage(NamedTuple):
    """The items that one stage matched, after all filters, not yet sorted.

    Attributes:
        stage: The stage.
        evaluation: The query that scores them.
        docs: The items.
        exact: The items whose id or name the query gives.
        hidden: How many items were hidden, by state.
        replaced: A sentence for each hidden item that the query names.
        notes: How the query was read and relaxed.
        similar: Their similarity scores; None if only words score them.
    """

    stage: str
    evaluation: Evaluation
    docs: Docs
    exact: Ints
    hidden: Mapping[str, int]
    replaced: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    similar: SemanticScores | None = None


class Answer(NamedTuple):
    """The items of the stage that answers, and the first of them in order, up to the end of the page.

    Attributes:
        request: The request in the mode that answers.
        reading: How the query is read in that mode.
        matched: The items.
        top: The first of them.
        notes: Sentences on the mode, such as why keywords answer.
    """

    request: Request
    reading: Reading
    matched: MatchedPage
    top: Top
    notes: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """The number of hits."""
        return self.top.total

    def reachable(self) -> int:
        """Return how many hits paging can reach."""
        return min(self.top.total, ANY_LIMIT) if self.matched.stage == "any" else self.top.total

    def hits(self, start: int, stop: int) -> list[Hit]:
        """Return a slice of the hits, in order."""
        docs, scores = self.top.docs[start:stop].tolist(), self.top.scores[start:stop].tolist()
        similar, folded = self.matched.similar, self.top.folded
        hits = [
            Hit(doc, score, doc in self.top.exact, similar.of(doc) if similar else None)
            for doc, score in zip(docs, scores, strict=True)
        ]
        if not len(folded.docs):
            return hits
        return [hit._replace(parts=folded.under(hit.doc), gain=folded.gain(hit.doc)) for hit in hits]


def method_of(request: Request, similar: SemanticScores | None) -> str:
    """Return the name of the ranking method, as responses show it."""
    mode = request.mode
    if similar is None:
        return "keyword" if mode.name in {"keyword", "auto"} else "keyword_fallback"
    return mode.fusion.fusion if similar.hybrid else "embedding"


def facts_of(request: Request, similar: SemanticScores | None) -> dict[str, Any]:
    """Return the fields of every response that repeat the request, and how it was answered."""
    repeated = {name: getattr(request, name) for name in ("query", "scope", "space", "limit")}
    mode = request.mode.name if similar else "keyword"
    return {**repeated, "search_type": mode, "method": method_of(request, similar)}


class Search:
    """One search of the local index.

    Args:
        request: The request.
        context: What is searched.
        for_parts: Whether parts of the items are scored afterwards: then any of several words will do, paging reaches
            every item, and no second model compares them.
    """

    def __init__(self, request: Request, context: SearchContext, *, for_parts: bool = False) -> None:
        text, self._dropped, begun = visible_query(request.query, shorten=request.relax)
        self._begun = tuple(begun)
        self.request = request if text == request.query else request._replace(query=text)
        self.context, self.reader, self._for_parts = context, context.reader, for_parts
        self.states = States(context.reader, context.everywhere, context.trust, context.now)
        self.weights = weights_for(context.reader, context.overrides)
        self.binder = Binder(self.request, context.metadata_keys)
        self.dictionary = Dictionary(context.reader, searched_fields(request.level))
        self._known: KnownTerms = {}

    def run(self) -> SearchResponse:
        """Run the search and return the response.

        Raises:
            QueryError: The query does not parse, or names something that does not exist.
            ArgumentError: An argument does not fit the items.
        """
        try:
            return self._run()
        except QueryError as error:
            if error.text == self.request.query:
                answerable(error, self._check)
            raise

    def _check(self, text: str) -> None:
        """Raise the error that another query text would cause with the same options, if any."""
        reading = read(self.request._replace(query=text, relax=False), self.context.metadata_keys)
        self.binder.query(reading.main, reading)

    def _run(self) -> SearchResponse:
        request, reading = self.request, self.read()
        asked = known_facets(request.facets, self.context.metadata_keys()) if request.facets else ()
        answer = self.answer(reading, self.allowed())
        reading = answer.reading
        notes = Notes(request, reading, answer.reachable(), self.binder.conditions, self._count, self._passing)
        warnings = self.warnings(reading, *self.explained(answer), *notes, *answer.notes)
        facets = count_facets(self.reader, self.states, answer.top.reachable.numbers, asked) if asked else {}
        facts: dict[str, Any] = {"did_you_mean": self._suggestion(answer), "facets": facets}
        return self.respond(answer, request.query, answer.matched.stage, warnings, **facts)

    def _suggestion(self, answer: Answer) -> str:
        """Return a query that may find more, or an empty string."""
        reading, stage, total = answer.reading, answer.matched.stage, answer.reachable()
        if answer.matched.similar:
            return self._corrected(reading) if reading.is_bag and reading.forgiving else ""
        if stage == "any":
            return self._corrected(reading)
        if (total <= FEW and not answer.top.exact) or stage not in AS_WRITTEN:
            more = 0 if stage == "fuzzy" else total
            words = Dictionary(self.reader, searched_fields(None))
            return did_you_mean(self.request.query, reading, words, total=more, count=self._count)
        return ""

    def _corrected(self, reading: Reading) -> str:
        return self.dictionary.relaxed(reading).suggestion()

    def explained(self, answer: Answer) -> Iterator[str]:
        """Yield how the query was read and relaxed, and which words and references were not fully looked up."""
        matched = answer.matched
        yield from matched.notes
        yield from matched.evaluation.notes()
        on_relations = any(map(has_relations, (matched.evaluation.query, self.binder.allowed)))
        if on_relations and (unknown := self.states.graph().unknown):
            yield unknown

    def respond(self, answer: Answer, query: str, stage: str, warnings: Sequence[str], **facts: Any) -> SearchResponse:
        """Fetch the page of an answer.

        ``facts`` are further fields of the response; ``warnings`` come before the warnings of the page.
        """
        request, total = answer.request, answer.reachable()
        end = request.offset + request.limit
        hits = answer.hits(request.offset, min(end, total))
        page = self.fetch(answer, hits)
        return SearchResponse(
            results=page.results,
            total=max(total - (len(hits) - len(page.results)), 0),
            offset=request.offset,
            stage=stage,
            warnings=(*warnings, *answer.matched.replaced, *page.warnings),
            stale=page.is_outdated,
            next_offset=end if end < total else None,
            hidden=answer.matched.hidden,
            **{**facts_of(request, answer.matched.similar), "query": query, **facts},
        )

    def fetch(self, answer: Answer, hits: Sequence[Hit]) -> Page:
        """Return hits as results, read from their files and verified now."""
        return self.page_builder(answer.matched.evaluation).build(hits)

    def page_builder(self, evaluation: Evaluation) -> PageBuilder:
        """Return the builder of results from the hits of a query."""
        context = self.context
        matters = context.only_trusted or any(map(has_verdict, (evaluation.query, self.binder.allowed)))
        hydrator = Hydrator(self.reader, self.states, context.trust(), context.now, matters)
        return PageBuilder(evaluation, hydrator, self.request.explain, names_files=not context.only_trusted)

    def warnings(self, reading: Reading, *notes: str) -> list[str]:
        """Return the warnings about the query, without repeats: what of it is searched, and some notes."""
        left_out = self.binder.left_out(reading, self._dropped)
        return list(dict.fromkeys([*reading.warnings, *left_out, *self._begun, *notes]))

    def read(self) -> Reading:
        """Parse the query. If it is searched as plain words, a warning of the reading says why."""
        reading = read(self.request, self.context.metadata_keys)
        if error := reading.fault:
            answerable(error, self._check)
            meant = f"; did you mean {error.suggestion}?" if error.suggestion else ""
            why = f"the query is searched as plain words: {error.message}{meant}"
            reading = reading._replace(warnings=(*reading.warnings, why))
        return reading

    def answer(self, reading: Reading, allowed: Docs) -> Answer:
        """Return the answer among the items that scope and filters allow, by similarity if the mode uses it."""
        prose = self._as_prose(reading, allowed) if reading.kind is Kind.EXPRESSION else reading
        request, notes = self._in_mode(prose, allowed)
        answer: Answer | None = None
        if request.mode.name != "keyword":
            answer, notes = self._by_meaning(request, prose, allowed)
        return answer or self.ordered(self._by_words(reading, allowed), request, reading)._replace(notes=notes)

    def _as_prose(self, reading: Reading, allowed: Docs) -> Reading:
        """Return the words of a pasted request that finds nothing as written, to search by meaning, or the reading."""
        words = request_in(reading)
        return words if words and not self.evaluate(reading.main, reading).docs() & allowed else reading

    def _by_words(self, reading: Reading, allowed: Docs) -> MatchedPage:
        """Return the matches of the first stage with enough hits."""
        tried, named = list[MatchedPage](), self._named(allowed, reading)
        if self._for_parts and reading.is_bag:
            wide = any_stage(reading, self.dictionary)
            notes = tuple(self.dictionary.relaxed(reading).messages())
            return self._match_stage(wide._replace(notes=notes), reading, allowed, named)
        for stage in stages(reading, self.dictionary):
            notes = stage.few if stage.few and tried and tried[-1].docs else stage.notes
            tried.append(self._match_stage(stage._replace(notes=notes), reading, allowed, named))
            if len(tried[-1].docs) >= enough_for(reading):
                wider = stage.wider and self._match_stage(stage.wider, reading, allowed, named)
                return wider if wider and len(wider.docs) > len(tried[-1].docs) else tried[-1]
        return next((matched for matched in reversed(tried) if matched.docs), tried[0])

    def _match_stage(self, stage: Stage, reading: Reading, allowed: Docs, named: Ints) -> MatchedPage:
        evaluation = self.evaluate(stage.ast, reading)
        docs = evaluation.docs() & allowed
        evaluation = self._with_phrase(stage.ast, reading, docs) or evaluation
        exact, notes = _NOTHING, stage.notes
        if len(named) and (reading.bag or stage.name == "any"):
            if docs and reading.words:
                docs = docs | self._as_docs(named)
            exact = self._among(named, docs)
        if stage.name in AS_WRITTEN:
            referred, refers = self._referred(reading, allowed)
            if len(referred):
                notes = (*refers, *notes)
                docs, exact = docs | self._as_docs(referred), unique(exact, referred)
        return self.matched(stage.name, evaluation, docs, exact, notes=notes)

    def _with_phrase(self, node: ast.Node, reading: Reading, docs: Docs) -> Evaluation | None:
        """Return a query that also scores its words as a phrase, weighted by their number; None if no match has it.

        Nobody asked for the phrase, so it is left out if comparing its positions would cost too much.
        """
        phrase = verbatim(self.request.query) if reading.is_bag else None
        if phrase is None:
            return None
        with suppress(QueryError):
            if docs & self.evaluate(phrase, reading).docs():
                boosted = ast.Boost(phrase, float(len(reading.words)))
                return self.evaluate(ast.And((node, ast.Or((ast.Everything(), boosted)))), reading)
        return None

    def matched(
        self,
        stage: str,
        evaluation: Evaluation,
        docs: Docs,
        exact: Ints = _NOTHING,
        *,
        notes: tuple[str, ...] = (),
        similar: SemanticScores | None = None,
    ) -> MatchedPage:
        """Return the matches of a stage without the items to hide.

        Args:
            stage: The stage.
            evaluation: The query that scores the items.
            docs: The items.
            exact: The items whose id or name the query gives.
            notes: How the query was read.
            similar: Their similarity scores.
        """
        hidden, replaced = dict[str, int](), tuple[str, ...]()
        if not self.request.include_superseded:
            docs, hidden = self.hide(docs)
            if hidden and len(exact):
                shown = self._among(exact, docs)
                gone = np.setdiff1d(exact, shown)[:_NAMED].tolist()
                replaced = tuple(map(self.states.hidden_message, gone))
                exact = shown
        return MatchedPage(stage, evaluation, docs, exact, hidden, replaced, notes, similar)

    def ordered(self, matched: MatchedPage, request: Request, reading: Reading) -> Answer:
        """Return the matches of a stage with the first of them in order."""
        similar = matched.similar
        order = Order(
            request.sort_by,
            request.offset + request.limit,
            matched.exact,
            request.include_superseded,
            ANY_LIMIT if matched.stage == "any" and not self._for_parts else None,
            request.options["fold"] and not self._for_parts,
        )
        scores: Callable[[Ints], Floats] | None = similar.scores if similar else None
        return Answer(request, reading, matched, top(matched.evaluation, matched.docs, order, similar=scores))

    def hide(self, docs: Docs) -> tuple[Docs, dict[str, int]]:
        """Remove superseded, deprecated and yanked items, and count them by state."""
        hidden = {}
        for state in HIDDEN_STATES if len(self.reader.withdrawn) else ():
            withdrawn = self._match(bound.HasState(state))
            if count := len(docs & withdrawn):
                hidden[state] = count
                docs = docs & ~withdrawn
        return docs, hidden

    def _count(self, node: ast.Node, reading: Reading) -> int:
        try:
            return len(self.evaluate(node, reading).docs() & self.allowed())
        except QueryError:  # too expensive for a query that the user did not ask for
            return 0

    def allowed(self) -> Docs:
        """Return the items that scope and filters allow."""
        return self._match(self.binder.allowed)

    def _passing(self, query: Bound) -> int:
        return len(self._match(query))

    def _named(self, allowed: Docs, reading: Reading) -> Ints:
        """Return the allowed items whose id or name is one of several words of the query."""
        words = reading.bag or reading.words
        if len(words) < 2:
            return _NOTHING
        return self._let_through(named_inside(self.reader, words, self.dictionary), reading, allowed)

    def _referred(self, reading: Reading, allowed: Docs) -> tuple[Ints, tuple[str, ...]]:
        """Return the allowed items that the whole query names or refers to, and to what it refers, if it does."""
        items, name = referred_to(self.reader, self.request.query)
        items = self._let_through(items, reading, allowed) if self.request.relax or not name else _NOTHING
        return items, (f"read as a reference to {name}",) if name and len(items) else ()

    def _let_through(self, items: Ints, reading: Reading, allowed: Docs) -> Ints:
        """Filter items by scope, filters and ``fields``."""
        if not len(items):
            return items
        if reading.fixed:
            allowed = allowed & self.evaluate(ast.Everything(), reading).docs()
        return self._among(items, allowed)

    def evaluation(self, query: Bound) -> Evaluation:
        """Return the evaluation of a query. What terms it shares with other queries is looked up once."""
        return Evaluation(self.reader, query, self.weights, self.states, known=self._known)

    def _match(self, query: Bound) -> Docs:
        return self.evaluation(query).docs()

    def _as_docs(self, items: Ints) -> Docs:
        return Docs(self.reader.size, numbers=items)

    def _among(self, items: Ints, matches: Docs) -> Ints:
        return (self._as_docs(items) & matches).numbers

    def evaluate(self, node: ast.Node, reading: Reading) -> Evaluation:
        """Bind a query, together with the conditions of ``fields``, and prepare its evaluation."""
        return self.evaluation(self.binder.query(node, reading))

    def semantic(self, reading: Reading, request: Request) -> SemanticSearch:
        """Return the search in semantic or hybrid mode, which the request names."""
        return SemanticSearch(
            request,
            reading,
            self.evaluate,
            self.dictionary,
            boosts=self.context.boosts,
        )

    def _by_meaning(self, request: Request, reading: Reading, allowed: Docs) -> tuple[Answer | None, tuple[str, ...]]:
        """Return the answer in semantic or hybrid mode, None if keywords have to answer; and notes, such as why."""
        semantic, embeddings = self.semantic(reading, request), self.context.embeddings
        load = embeddings.meaning_for_auto if self.request.is_auto else embeddings.meaning
        scores, notes = semantic.run(partial(load, self.reader), allowed)
        if scores is None:
            return None, notes
        candidates, docs = scores.candidates(), scores.hits()
        exact, refers = self._referred(reading, candidates)
        if scores.hybrid and reading.is_bag and len(named := self._named(candidates, reading)) and docs:
            exact = unique(exact, named)
        docs = docs | self._as_docs(exact)
        # a least score applies to the scores that are shown, so these stay
        if not self._for_parts and request.sort_by == "score" and not request.mode.fusion.min_combined_score:
            try:
                scores = self._reranked(scores, docs)
            except UnavailableError as error:
                notes = (*notes, f"not re-ranked: {error.message}")
        matched = self.matched(request.mode.name, scores.evaluation, docs, exact, notes=refers, similar=scores)
        answer = self.ordered(matched, request, reading)
        if not answer.total and not matched.hidden and not request.mode.narrows:
            return None, (*notes, semantic.fallback(scores.why_no_hit()))
        by_score = scores.hybrid and request.sort_by == "score" and not len(exact)
        if by_score and answer.top.scores[:1].min(initial=1.0) < NEAR:
            notes = (*notes, "no item is near the question; showing the best partial matches")
        return answer._replace(notes=notes), ()

    def _in_mode(self, reading: Reading, allowed: Docs) -> tuple[Request, tuple[str, ...]]:
        """Resolve mode ``auto``: hybrid for a sentence if there is an embedder, else keyword; also a note on that.

        It is also keyword if an item contains the query word for word.
        """
        request, name = self.request, "keyword"
        notes: tuple[str, ...] = ()
        if not request.is_auto:
            return request, notes
        if reading.asks_by_meaning(request):
            phrase = verbatim(request.query)
            if not self.context.embeddings.can_embed:
                notes = ("only words were searched, not meaning: there is no embedder",)
            elif not phrase or not self.evaluate(phrase, reading).docs() & allowed:
                name = "hybrid"
        return request._replace(mode=request.mode._replace(name=name)), notes

    def _reranked(self, scores: SemanticScores, docs: Docs) -> SemanticScores:
        """Return the scores after a second model, if there is one, compared the best hits shown with the query.

        Raises:
            UnavailableError: It cannot be used.
        """
        reranker = self.context.embeddings.reranker
        if reranker is None:
            return scores
        shown = docs if self.request.include_superseded else self.hide(docs)[0]
        numbers, total = shown.numbers, scores.fused.total.copy()
        done = reranker.rerank(
            *(scores.text, numbers, scores.scores(numbers)),
            digest=self.reader.content_digest,
            text=self.page_builder(scores.evaluation).hydrator.beginning,
            may_embed=not self.request.offset,
        )
        total[np.searchsorted(scores.docs, numbers)] = done.scores
        return scores._replace(fused=scores.fused._replace(total=total), reranked=done)
