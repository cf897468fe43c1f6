"""Whole sections for a query: chunks found by words and similarity, each promoted to its section.

The best ``limit × 5`` items of a search, by words and similarity, are read and verified, and all their chunks scored.
The best ``limit × 5`` sections are kept and paged. A section counts once, however many chunks or copies it has,
so that a long item does not crowd out the others. Its score is that of its best chunk, reduced by age and missing
authority::

    score = fused · (1 − w_recency · (1 − ½^(age / half-life)) − w_authority · (1 − authority))
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

from rye.errors import UnavailableError
from rye.index.build.reader import Floats
from rye.index.text.chunks import CHUNK_CHARS, OVERLAP_CHARS, chunk_size, chunks_of
from rye.index.text.schema import sort_time
from rye.items.model import Item
from rye.search.context import SearchContext
from rye.search.contract.fields import TEXT_FIELDS
from rye.search.contract.fusion import by_similarity, fuse
from rye.search.contract.request import SectionRequest
from rye.search.contract.results import SectionHit, SectionResponse
from rye.search.engine import Answer, Search, facts_of
from rye.search.meaning.semantic import SemanticScores
from rye.search.page.highlight import BODY, Matches, passage
from rye.search.page.marks import Ranges, mark
from rye.search.page.page import Hydrated, Hydrator
from rye.search.page.section_text import SectionText, keyword_scores, sections_of
from rye.spaces.shadowing import cut_short
from rye.trust.model import Verdict

_CUT_BELOW = 200
"""A text is not cut to fewer characters than this; instead it and the sections after it are left out."""

_NAME_FIELDS = [list(TEXT_FIELDS).index(name) for name in ("title", "name")]


class _Candidate(NamedTuple):
    """One candidate item with its current, verified file; ``modified`` is when the file was last written, or 0."""

    doc: int
    hydrated: Hydrated
    item: Item
    file: Path
    modified: float
    sections: tuple[SectionText, ...]

    @property
    def title(self) -> str:
        """The item's title, or its name."""
        return self.item.title or self.item.name


class _Chunk(NamedTuple):
    """One chunk of a candidate: its section, its number in the item, and its scores."""

    candidate: _Candidate
    section: SectionText
    number: int
    score: float
    similarity: float
    keyword: float


class _ScoredSection(NamedTuple):
    """One section: its matching chunks, best first, their numbers ascending, and its score.

    ``copies`` names the other items that have the same section.
    """

    chunks: tuple[_Chunk, ...]
    numbers: tuple[int, ...]
    score: float
    recency: float
    authority: float
    copies: tuple[str, ...]


def _chunk_numbers(candidate: _Candidate) -> list[tuple[SectionText, int]]:
    return [
        (section, section.first_chunk + offset)
        for section in candidate.sections
        for offset in range(len(section.chunks))
    ]


class SectionSearch:
    """One retrieval of sections, from request to response, over the index and the current files."""

    def __init__(self, request: SectionRequest, context: SearchContext) -> None:
        self.request = request
        self._search = Search(request.for_items, context, for_parts=True)

    def run(self) -> SectionResponse:
        """Run the retrieval and return the response.

        Raises:
            QueryError: The query does not parse, or names something that does not exist.
            ArgumentError: An argument does not fit the items.
        """
        request, search = self.request.search, self._search
        answer = search.answer(search.read(), search.allowed())
        hydrator = search.page_builder(answer.matched.evaluation).hydrator._replace(read=search.context.read)
        sections = _Sections(self.request, answer, hydrator)
        found = sections.found()
        shown = sections.shown(found[request.offset : request.offset + request.limit])
        end, hiding = request.offset + len(shown), cut_short(list(dict.fromkeys(sections.hiding)))
        notes = *search.explained(answer), *answer.notes, *sections.warnings, *hiding
        return SectionResponse(
            results=shown,
            total=len(found),
            offset=request.offset,
            next_offset=end if end < len(found) else None,
            chars=sum(len(hit.text) for hit in shown),
            warnings=(*search.warnings(answer.reading, *notes), *answer.matched.replaced),
            hidden=answer.matched.hidden,
            **facts_of(request, answer.matched.similar),
        )


class _Sections:
    """The sections of the first items of an answer.

    Attributes:
        warnings: Warnings about the items that were read.
        hiding: Sentences on the copies that hide or are hidden.
    """

    def __init__(self, request: SectionRequest, answer: Answer, hydrator: Hydrator) -> None:
        self.request, self._docs, self._hydrator = request, answer.top.docs, hydrator
        self._evaluation, self._similar = answer.matched.evaluation, answer.matched.similar
        similar = self._similar
        self._size = chunk_size(similar.similarities.meaning.embedder) if similar else (CHUNK_CHARS, OVERLAP_CHARS)
        self.warnings, self.hiding = list[str](), list[str]()

    def found(self) -> list[_ScoredSection]:
        """Return the best sections, best first, and those of withdrawn items last."""
        return self._promote(self._chunks(list(self._read())))

    def shown(self, page: Sequence[_ScoredSection]) -> tuple[SectionHit, ...]:
        """Return the sections of a page that stay within the characters allowed."""
        return self._within_budget(list(map(self._hit, page)))

    def _read(self) -> Iterator[_Candidate]:
        """Yield the items with their current files, without those that are gone or no longer fit a verdict."""
        docs = np.sort(self._docs).tolist()
        for doc, hydrated in zip(docs, self._hydrator.hydrate(docs, self.warnings), strict=True):
            if hydrated is not None:
                item = hydrated.read.item
                file = hydrated.part.root.path / hydrated.path
                yield _Candidate(doc, hydrated, item, file, _modified(file), sections_of(item, self._size))

    def _chunks(self, items: Sequence[_Candidate]) -> Iterator[_Chunk]:
        """Yield all chunks that match, with their scores."""
        similar, keyword = self._similar, np.concatenate([np.empty(0), *self._keyword_scores(items)])
        if similar is None:
            similarity, total, matched = np.full(len(keyword), -np.inf), keyword, keyword > 0
        else:
            similarity = np.concatenate([np.empty(0), *(self._similarities(candidate, similar) for candidate in items)])
            if similar.hybrid:
                counts = [len(section.chunks) for candidate in items for section in candidate.sections]
                groups = np.cumsum([0, *counts])[:-1]
                fusion = self.request.search.mode.fusion
                fused = fuse(fusion, similarity, keyword, similar.threshold, groups=groups)
            else:
                fused = by_similarity(similarity, np.ones(len(similarity)), similar.threshold)
            total, matched = fused.total, fused.matched
            if why := fused.why_none_matched("section"):
                self.warnings.append(why)
        chunks = ((candidate, *chunk) for candidate in items for chunk in _chunk_numbers(candidate))
        columns = (matched.tolist(), np.round(total, 4).tolist(), similarity.tolist(), keyword.tolist())
        for chunk, is_match, score, *parts in zip(chunks, *columns, strict=True):
            if is_match and score > 0:
                yield _Chunk(*chunk, score, *parts)

    def _keyword_scores(self, candidates: Sequence[_Candidate]) -> Iterator[Floats]:
        evaluation = self._evaluation
        docs = np.asarray([candidate.doc for candidate in candidates], np.int64)
        terms = []
        for row in evaluation.scored():
            in_name = {doc for doc, field in row.term.fields_of(docs) if field in _NAME_FIELDS}
            terms.append((row.weight, Matches([row.term], docs.tolist()), in_name))
        matched = evaluation.docs().mask if not self.request.search.relax else None
        for candidate in candidates:
            matches = [
                (weight, _places(candidate, term_matches), candidate.doc in in_name)
                for weight, term_matches, in_name in terms
            ]
            scores = keyword_scores(candidate.sections, matches)
            yield scores if matched is None or matched[candidate.doc] else np.zeros_like(scores)

    def _similarities(self, candidate: _Candidate, similar: SemanticScores) -> Floats:
        """Return the cosine of each chunk. Chunks of a file that changed are embedded now."""
        similarities, item = similar.similarities, candidate.item
        if candidate.hydrated.same_bytes:
            vectors, own = similarities.meaning.vectors, similarities.meaning.vectors.rows_of(candidate.doc)
            keys = zip(vectors.sections[own].tolist(), vectors.chunks[own].tolist(), strict=True)
            known = dict(zip(keys, similarities.rows[own].tolist(), strict=True))
        else:
            chunks, known = chunks_of(item, *self._size), {}
            try:
                cosines = similarities.meaning.cosines([chunk.text for chunk in chunks], similarities.query).tolist()
                known = {(chunk.section, chunk.number): cosine for chunk, cosine in zip(chunks, cosines, strict=True)}
            except UnavailableError as error:
                self.warnings.append(f"{item.type}:{item.id} was matched by words: {error.message}")
        of_chunks = [(section.ordinal, number - section.first_chunk) for section, number in _chunk_numbers(candidate)]
        return np.asarray([known.get(key, -math.inf) for key in of_chunks], np.float64)

    def _promote(self, chunks: Iterator[_Chunk]) -> list[_ScoredSection]:
        # Repeated sections, of an item or of its copies, count as one, so that they do not crowd out others.
        sections: dict[tuple[str, tuple[str, ...], str], list[_Chunk]] = {}
        for chunk in sorted(chunks, key=lambda chunk: self._rank(chunk, chunk.score, chunk.number)):
            key = (chunk.candidate.title, chunk.section.heading_path, chunk.section.anchor)
            sections.setdefault(key, []).append(chunk)
        scored = map(self._score, list(sections.values())[: self.request.top_k])
        withdrawn = self._hydrator.states.withdrawn

        def last_if_withdrawn(section: _ScoredSection) -> tuple[Any, ...]:
            best = section.chunks[0]
            rank = self._rank(best, section.score, section.numbers[0])
            return bool(withdrawn(best.candidate.doc)[0]), *rank

        return sorted(scored, key=last_if_withdrawn)

    def _rank(self, chunk: _Chunk, score: float, number: int) -> tuple[Any, ...]:
        """Return the sort key: by score, source and id, and place in the item."""
        return -score, self._evaluation.reader.tie_key(chunk.candidate.doc), number

    def _sharing(self, candidate: _Candidate) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the sources whose copy of the item is hidden by this candidate, and those whose copy hides it."""
        states, item, part = self._hydrator.states, candidate.item, candidate.hydrated.part
        return states.sharing(states.sources_of(item.type, item.id, part), part.root.source)

    def _copy_rank(self, chunk: _Chunk) -> tuple[bool, ...]:
        """Return the sort key that chooses among copies: an untrusted copy never replaces a trusted one."""
        candidate = chunk.candidate
        untrusted = candidate.hydrated.signature.verdict is not Verdict.TRUSTED
        return (
            bool(self._hydrator.states.withdrawn(candidate.doc)[0]),
            untrusted,
            bool(self._sharing(candidate)[1]),
        )

    def _score(self, chunks: Sequence[_Chunk]) -> _ScoredSection:
        """Score one section, choosing one item if several have the same text below the same headings.

        The age is that of the stated date, else of the file. The authority of a trusted item is 1 if its metadata says
        ``authoritative``, else one half; any other item has 0.
        """
        one_item = len({chunk.candidate.doc for chunk in chunks}) == 1
        best = chunks[0] if one_item else min(chunks, key=self._copy_rank)
        candidate, request = best.candidate, self.request
        own = tuple(chunk for chunk in chunks if chunk.section is best.section)
        rest = (chunk.candidate for chunk in chunks if chunk.candidate.doc != candidate.doc)
        copies = tuple(dict.fromkeys(f"{copy.hydrated.name} of {copy.hydrated.part.root.source}" for copy in rest))
        stated = sort_time(candidate.item.updated, candidate.item.created)
        age = self._hydrator.now.timestamp() - (candidate.modified if math.isnan(stated) else stated)
        recency = float(0.5 ** (max(age, 0.0) / 86_400 / request.half_life_days))
        claimed = 1.0 if candidate.item.metadata.get("authoritative") is True else 0.5
        authority = claimed if candidate.hydrated.signature.verdict is Verdict.TRUSTED else 0.0
        kept = 1.0 - request.recency_weight * (1.0 - recency) - request.authority_weight * (1.0 - authority)
        numbers = tuple(sorted(chunk.number for chunk in own))
        return _ScoredSection(own, numbers, round(best.score * kept, 4), recency, authority, copies)

    def _hit(self, scored: _ScoredSection) -> SectionHit:
        best, of_items = scored.chunks[0], self._hydrator.states
        (doc, hydrated, item, file, modified, _), section = best.candidate, best.section
        root, cosine = hydrated.part.root, max(chunk.similarity for chunk in scored.chunks)
        states, successor = hydrated.states_and_successor(of_items, doc)
        shadows, shadowed_by = self._sharing(best.candidate)
        if shadows or shadowed_by:
            self.hiding += of_items.hiding(item.type, item.id)
        return SectionHit(
            doc_id=f"rye://{root.space}/{item.type}/{quote(item.id, errors='surrogatepass')}",
            source_handle=root.source,
            title=best.candidate.title,
            heading_path=section.heading_path,
            mtime=int(modified * 1e3),
            hash=hydrated.read.evidence.content_digest,
            display_url=f"{file.as_uri()}#L{section.line}-L{section.end_line}",
            properties=item.metadata,
            anchor=section.anchor,
            score=scored.score,
            chunk_ids=scored.numbers,
            snippet=_snippet(best, Matches([row.term for row in self._evaluation.scored()], [doc])),
            text=section.text,
            truncated=False,
            original_chars=len(section.text),
            type=str(item.type),
            id=item.id,
            path=str(file),
            line=section.line,
            end_line=section.end_line,
            similarity=round(cosine, 4) if math.isfinite(cosine) else None,
            keyword=round(max(chunk.keyword for chunk in scored.chunks), 4),
            recency=round(scored.recency, 4),
            authority=scored.authority,
            signature=hydrated.signature,
            states=states,
            successor=successor,
            shadows=shadows,
            shadowed_by=shadowed_by,
            copies=scored.copies,
        )

    def _within_budget(self, hits: Sequence[SectionHit]) -> tuple[SectionHit, ...]:
        """Return the first hits whose texts fit; the last of them may be cut."""
        left, shown = self.request.max_chars, list[SectionHit]()
        if left is None:
            return tuple(hits)
        for hit in hits:
            if len(hit.text) > left:
                if not shown or left >= _CUT_BELOW:
                    shown.append(replace(hit, text=hit.text[:left], truncated=True))
                break
            shown.append(hit)
            left -= len(hit.text)
        if len(shown) < len(hits):
            rest = f"{len(hits) - len(shown)} more sections were left out"
            self.warnings.append(f"{rest} to stay within {self.request.max_chars:,} characters")
        return tuple(shown)


def _modified(file: Path) -> float:
    """Return when a file was last written; 0 if it no longer exists."""
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


def _places(candidate: _Candidate, matches: Matches) -> Ranges:
    requests = matches.requests(candidate.doc, positions_hold=candidate.hydrated.same_bytes)
    return mark(candidate.item.body, requests[BODY]) if BODY in requests else ()


def _snippet(chunk: _Chunk, matches: Matches) -> str:
    start, stop = chunk.section.chunks[chunk.number - chunk.section.first_chunk]
    marks = ((a - start, b - start) for a, b in _places(chunk.candidate, matches) if start <= a < b <= stop)
    return passage(chunk.candidate.item.body[start:stop], tuple(marks))
