"""Explain why an item is or is not a hit of a query: its rank, score and clauses.

All values come from the search itself: its ranks and scores, its evaluator for each clause, and the conditions that
:mod:`rye.search.contract.fusion` applied in semantic and hybrid mode.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rye._report import Report, as_json
from rye.errors import ItemError
from rye.index.build.reader import Part
from rye.items.model import TYPE_NAMES, ItemType
from rye.query import ast, dump, to_dict
from rye.search.clauses import Clause, ClauseExplainer, culprits
from rye.search.context import SearchContext
from rye.search.contract.request import Request
from rye.search.contract.results import SearchResponse, SearchResult
from rye.search.engine import Search, method_of
from rye.search.meaning.semantic import SemanticScores
from rye.search.reading.attempts import AS_WRITTEN, Stage, stages
from rye.search.reading.named_items import referred_to
from rye.search.reading.reading import Reading
from rye.spaces.signed import read_item

MISS_REASONS: Mapping[str, str] = {
    "no-match": "a part of the query does not match",
    "excluded": "a part of the query that stands under NOT matches",
    "field": "an entry of fields does not match",
    "filter": "a filter does not let it through",
    "scope": "it lies outside the scope",
    "space": "it lies in a space that was not searched",
    "threshold": "no section is similar enough to the query, and no word of the query compensates",
    "fusion": "a condition of hybrid mode does not hold",
    "hidden": "it is superseded, deprecated or yanked, and such items were not asked for",
    "stage": "only a looser reading of the words would find it, and a stricter one found something",
    "folded": "it is a file of a skill, and another hit of that skill stands for it",
    "limit": "it matches, but of hits so weak only the first few are listed",
    "unreadable": "its file is gone, broken, or no longer matches",
}
"""Every reason why an item is not a hit, by its code."""


@dataclass(frozen=True, slots=True)
class MissReason(Report):
    """A reason why an item is not a hit.

    Attributes:
        code: One of :data:`MISS_REASONS`.
        clause: The part of the query, filter, scope, space or stage that excludes it.
        message: The reason in words.
    """

    code: str
    clause: str
    message: str


@dataclass(frozen=True, slots=True)
class SimilarityReport(Report):
    """The similarity of an item to a query, and its effect on the score.

    Attributes:
        text: The text that was embedded.
        similarity: Cosine of its most similar section; None if it has no vector.
        section: The headings of that section.
        threshold: The similarity of a semantic match.
        by_meaning, by_words: What similarity and words contribute to its score, even if it is not a hit.
        keyword: Its keyword score; 0 in semantic mode.
        method: ``embedding``, ``weighted`` or ``rrf``: how the score is made.
    """

    text: str
    similarity: float | None
    section: str
    threshold: float
    by_meaning: float
    by_words: float
    keyword: float
    method: str


@dataclass(frozen=True, slots=True)
class Why(Report):
    """The explanation of why an item is a hit of a query, and at which rank, or why it is not.

    Attributes:
        type, id, source: The item; if several have this type and id, the first one searched.
        search_type: ``keyword``, ``semantic`` or ``hybrid``: the mode that answered, maybe not the one requested.
        stage: The stage that answered; ``clauses`` shows the query as this stage reads it.
        total: All hits that paging can reach.
        rank: Its rank, from 1; None if it is not a hit.
        hit: The hit, with its explanation; None if it is not a hit.
        clauses: The query as a tree, then an entry for each of ``fields``. In semantic mode only the part that every
            hit must match; in hybrid mode the query of the keyword score.
        reasons: All reasons why it is not a hit; empty for a hit.
        meaning: How similar it is; None if only words answered.
        warnings: The warnings of the search.
    """

    type: str
    id: str
    source: str
    query: str
    search_type: str
    stage: str
    total: int
    rank: int | None
    hit: SearchResult | None
    clauses: tuple[Clause, ...]
    reasons: tuple[MissReason, ...]
    meaning: SimilarityReport | None
    warnings: tuple[str, ...]

    @property
    def found(self) -> bool:
        """Whether the item is a hit."""
        return self.rank is not None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, and ``found``."""
        return {name: as_json(getattr(self, name)) for name in self.__dataclass_fields__} | {"found": self.found}


@dataclass(frozen=True, slots=True)
class QueryReading(Report):
    """How a query is read, and how it was answered.

    Attributes:
        query: As given.
        canonical: The canonical form of the query; if it is searched as plain words, the words.
        tree: The syntax tree as text, one node a line.
        ast: The syntax tree as JSON.
        fault: Why it is searched as plain words; empty if it parses.
        search_type: ``keyword``, ``semantic`` or ``hybrid``: the mode that answered.
        stages: For a keyword search, the stages that were tried, each with the canonical form of its query.
        total: How many hits paging can reach.
        did_you_mean: A query that finds more, or empty.
        warnings: The warnings of the search.
    """

    query: str
    canonical: str
    tree: str
    ast: Mapping[str, Any]
    fault: str
    search_type: str
    stages: tuple[tuple[str, str], ...]
    total: int
    did_you_mean: str
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields without ``tree``; each stage is an object."""
        data = {name: as_json(getattr(self, name)) for name in self.__dataclass_fields__ if name != "tree"}
        return data | {"stages": [{"stage": stage, "query": text} for stage, text in self.stages]}


def read_of(search: Search) -> QueryReading:
    """Run a search and return how its query is read. The request needs no more than one hit.

    Raises:
        QueryError: As a search.
        ArgumentError: As a search.
    """
    response = search.run()
    reading = search.read()
    is_keyword, tried = response.search_type == "keyword", list[tuple[str, str]]()
    if is_keyword:
        tried = [(stage.name, str(stage.ast)) for stage in stages(reading, search.dictionary)]
    last = next((at for at, (stage, _) in enumerate(tried) if stage == response.stage), -1)
    return reading_of(reading, response, tried[: last + 1])


def reading_of(reading: Reading, response: SearchResponse, tried: Sequence[tuple[str, str]]) -> QueryReading:
    """Return how a query was read, given the response and the stages that were tried."""
    return QueryReading(
        query=response.query,
        canonical=str(reading.main),
        tree=dump(reading.main),
        ast=to_dict(reading.main),
        fault=reading.fault.message if reading.fault else "",
        search_type=response.search_type,
        stages=tuple(tried),
        total=response.total,
        did_you_mean=response.did_you_mean,
        warnings=response.warnings,
    )


class Explainer:
    """Explains single items of one search.

    Args:
        request: The request; all its hits are put on one page.
        context: What the search uses.
    """

    def __init__(self, request: Request, context: SearchContext) -> None:
        all_hits = request._replace(offset=0, limit=max(context.reader.size, 1), explain=True)
        self._search, self._reader = Search(all_hits, context), context.reader
        self._answer = self._search.answer(self._search.read(), self._search.allowed())
        self._reading, self._matched = self._answer.reading, self._answer.matched
        self._request = self._answer.request
        self._semantic = self._search.semantic(self._reading, self._request) if self._matched.similar else None

    @property
    def stage(self) -> str:
        """The stage that answers."""
        return self._matched.stage

    @property
    def total(self) -> int:
        """How many hits paging can reach."""
        return self._answer.reachable()

    def explain(self, part: Part, local: int) -> Why:
        """Explain why one document, given by its segment, is a hit or not.

        Raises:
            QueryError: As a search.
            ArgumentError: As a search.
            UnavailableError: The embedder is no longer available.
        """
        matched, total = self._matched, self.total
        doc = local + next(own.base for own in self._reader.parts if own.segment is part.segment)
        clauses = [ClauseExplainer(self._search, node, doc) for node in self._readings()]
        tree = tuple(explainer.clause() for explainer in clauses)
        hit: SearchResult | None = None
        scores, changed = self._scores_with(doc), tuple[str, ...]()
        index = next(iter(np.flatnonzero(self._answer.top.docs == doc).tolist()), None)
        if (lead := self._answer.top.folded.hit_of(doc)) != doc:
            skill = ":".join(self._reader.key_of(lead))
            reasons = [MissReason("folded", skill, f"{skill}, of the same skill, stands for it; fold=false shows it")]
        elif index is None:
            reasons = self._reasons(clauses[0], tree, scores)
        elif index >= total:  # stage "any" lists only the best hits
            listed = f"of stage {matched.stage!r} the first {total} are listed"
            reasons = [
                MissReason(
                    "limit", f"stage {matched.stage}", f"it is hit {index + 1} of {self._answer.total}; {listed}"
                )
            ]
        else:
            hit, changed = self._result(index)
            unreadable = MissReason("unreadable", "", "; ".join(changed[-1:]))
            reasons = [] if hit else [*self._unmatched(doc, tree[0])] or [unreadable]
        notes = *self._search.explained(self._answer), *self._answer.notes
        return Why(
            type=TYPE_NAMES[part.segment.types[local]],
            id=part.segment.ids[local],
            source=part.root.source,
            query=self._request.query,
            search_type=self._request.mode.name if matched.similar else "keyword",
            stage=matched.stage,
            total=total,
            rank=None if hit is None or index is None else index + 1,
            hit=hit,
            clauses=tree,
            reasons=tuple(reasons),
            meaning=self._similarity(scores, doc) if scores else None,
            warnings=(*self._search.warnings(self._reading, *notes), *changed),
        )

    def _scores_with(self, doc: int) -> SemanticScores | None:
        """Return the similarity scores including one document, even if the search left it out."""
        scores = self._matched.similar
        if scores is None or self._semantic is None or doc in scores.docs:
            return scores
        return self._semantic.with_item(scores, doc)

    def _readings(self) -> Iterator[ast.Node]:
        """Yield the query as the answering stage reads it, then the entries of ``fields``."""
        if self._semantic is None:
            yield from (stage.ast for stage in self._stages() if stage.name == self._matched.stage)
        else:
            yield self._semantic.worded if self._request.mode.name == "hybrid" else self._semantic.required
        yield from (ast.Field(name, parsed.ast) for name, parsed in self._reading.fixed)

    def _similarity(self, scores: SemanticScores, doc: int) -> SimilarityReport:
        hit, (part, local) = scores.of(doc), self._reader.locate(doc)
        kind, item_id = ItemType(TYPE_NAMES[part.segment.types[local]]), part.segment.ids[local]
        try:
            section = hit.header(read_item(part.root, part.segment.paths[local], kind, item_id).item)
        except ItemError:
            section = ""
        return SimilarityReport(
            text=scores.text,
            similarity=hit.similarity,
            section=section,
            threshold=scores.threshold,
            by_meaning=round(hit.by_meaning, 4),
            by_words=round(hit.by_words, 4),
            keyword=round(hit.keyword, 4),
            method=method_of(self._request, scores),
        )

    def _result(self, index: int) -> tuple[SearchResult | None, tuple[str, ...]]:
        """Return a hit as a page shows it, or None if it cannot be shown, and warnings."""
        results, warnings, _ = self._search.fetch(self._answer, self._answer.hits(index, index + 1))
        return results[0] if results else None, warnings

    def _reasons(
        self, clauses: ClauseExplainer, tree: Sequence[Clause], scores: SemanticScores | None
    ) -> list[MissReason]:
        """Return every reason why a document is not a hit."""
        reasons, doc = list[MissReason](), clauses.doc
        main, *fields = tree
        if self._semantic:
            main = ClauseExplainer(self._search, self._semantic.required, doc).clause()
        reasons += self._unmatched(doc, main)
        for clause in fields:
            reasons += [MissReason("field", part.text, _message(part, code)) for part, code in culprits(clause)]
        outside = [*self._outside(clauses), *self._hidden(doc)]
        reasons += outside
        if scores:
            reasons += self._unmet(scores, doc)
        elif not outside:
            reasons += self._looser_stage(doc)
        return reasons

    def _unmatched(self, doc: int, main: Clause) -> Iterator[MissReason]:
        """Yield the parts of the query that exclude the item; none if the query names it, because then it is a hit."""
        if self._matched.stage not in AS_WRITTEN or doc not in referred_to(self._reader, self._request.query)[0]:
            yield from (MissReason(code, part.text, _message(part, code)) for part, code in culprits(main))

    def _outside(self, clauses: ClauseExplainer) -> Iterator[MissReason]:
        """Yield the scope and the filters that exclude a document."""
        for kind, text, query in self._search.binder.conditions:
            if not self._search.evaluation(query).docs().mask[clauses.doc]:
                yield MissReason(kind, text, clauses.values(query))

    def _hidden(self, doc: int) -> Iterator[MissReason]:
        if not self._request.include_superseded:
            for state, docs in self._reader.hidden.items():
                if doc in docs:
                    message = f"the item is {state}; include_superseded shows such items"
                    yield MissReason("hidden", f"is:{state}", message)

    def _unmet(self, scores: SemanticScores, doc: int) -> Iterator[MissReason]:
        """Yield the conditions of semantic and hybrid mode that a document does not meet."""
        at = int(np.searchsorted(scores.docs, doc))
        similarity = scores.fused.similarity[at]
        nearest = f"its nearest section is at {similarity:.4f}" if np.isfinite(similarity) else "it has no vector"
        no_word = "it has no word of the query" if self._request.relax else "its words do not match the query"
        for condition in scores.fused.conditions:
            option, least = condition.option, f"{condition.option}={condition.least:g}"
            if condition.met[at]:
                continue
            if option == "threshold":
                yield MissReason("threshold", least, f"{nearest}, and {no_word}" if scores.hybrid else nearest)
            elif option == "require_keyword_match":
                yield MissReason("fusion", option, no_word)
            elif option == "require_semantic_match":
                yield MissReason("fusion", option, f"{nearest}; the threshold is {scores.threshold:g}")
            else:
                yield MissReason("fusion", least, f"its score is {condition.scores[at]:.4f}")

    def _stages(self) -> Iterator[Stage]:
        return stages(self._reading, self._search.dictionary)

    def _looser_stage(self, doc: int) -> Iterator[MissReason]:
        """Yield the first looser stage that finds a document, if the search stopped before it."""
        answered, total, tried = self._matched.stage, self._answer.total, list(self._stages())
        names = [stage.name for stage in tried]
        for stage in tried[names.index(answered) + 1 :] if total else ():
            if self._search.evaluate(stage.ast, self._reading).docs().mask[doc]:
                because = f"stage {answered!r} answers, with {total}"
                yield MissReason("stage", f"stage {stage.name}", f"stage {stage.name!r} would find it, but {because}")
                return


def _message(part: Clause, code: str) -> str:
    if code == "no-match":
        return part.note or "does not match"
    words = "; ".join(f"{', '.join(terms)} in {field}" for field, terms in part.words.items())
    return f"{f'the item has {words}' if words else part.note or 'every item matches'}, which is excluded"
