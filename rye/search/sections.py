"""Whole sections for a query: chunks found by words and meaning, each promoted to the section that it is part of.

The ``limit × 5`` items nearest in meaning and as many best by words are read and verified, and all their chunks scored.
The best ``limit × 5`` sections stay, however many chunks each has: one long item does not crowd out the others. The
score of a section is that of its best chunk, reduced by age and missing authority::

    score = fused · (1 − w_recency · (1 − ½^(age / half-life)) − w_authority · (1 − authority))
"""

from __future__ import annotations

import hashlib
import math
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

from rye.errors import UnavailableError
from rye.index.arrays import Ints, unique
from rye.index.chunks import chunks_of, spans_of
from rye.index.reader import Floats
from rye.index.schema import sort_time
from rye.items.model import Item
from rye.search.docset import Docs
from rye.search.engine import Search, SearchContext
from rye.search.fields import K1, TEXT_FIELDS
from rye.search.fusion import by_similarity, fuse, keyword_score, reaches
from rye.search.highlight import BODY, Matches, Ranges, mark, passage
from rye.search.order import ranked
from rye.search.page import Hydrated
from rye.search.plan import make_plan
from rye.search.request import SectionRequest
from rye.search.results import SearchWarning, SectionHit, SectionResponse
from rye.search.score import Evaluation
from rye.search.semantic import SemanticScores, SemanticSearch
from rye.signing import Verdict
from rye.spaces.read import read_item

_TYPICAL_CHARS = 1_000
"""Length of a chunk in which an occurrence of a word counts fully."""

_CUT_BELOW = 200
"""A text is not cut to fewer characters than these; it and the sections after it are left out."""

_TITLE, _HEADINGS, _TEXT = (TEXT_FIELDS[name] for name in ("title", "headings", "content"))
_NAME_FIELDS = [list(TEXT_FIELDS).index(name) for name in ("title", "name")]


class SectionText(NamedTuple):
    """One section with a text of its own.

    Attributes:
        ordinal: Its number in the item.
        heading_path: Never empty: the title, or the name, where there is no heading.
        line, end_line: 1-based lines of the file.
        headings: The spans, in the body, of its heading and those above it.
        chunks, first_chunk: The spans of its chunks in the body, and the number of the first among the item's chunks.
        anchor: See :func:`anchor_of`.
    """

    ordinal: int
    heading_path: tuple[str, ...]
    text: str
    line: int
    end_line: int
    headings: Ranges
    chunks: Ranges
    first_chunk: int
    anchor: str


class _Candidate(NamedTuple):
    """One candidate item, read and verified at this moment."""

    doc: int
    hydrated: Hydrated
    item: Item
    file: Path
    modified: float
    sections: tuple[SectionText, ...]


class _Chunk(NamedTuple):
    """One chunk of a candidate: its section, its number in the item, and its scores."""

    candidate: _Candidate
    section: SectionText
    number: int
    score: float
    similarity: float
    keyword: float


class _ScoredSection(NamedTuple):
    """One section that was found: the chunks it was found by, best first, their numbers ascending, and its score."""

    chunks: tuple[_Chunk, ...]
    numbers: tuple[int, ...]
    score: float
    recency: float
    authority: float


def anchor_of(heading: str, text: str) -> str:
    """Return the SHA-256 of a heading and the text below it, in NFC: it changes with them and with nothing else."""
    whole = unicodedata.normalize("NFC", f"{heading}\n{text}")
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()


def sections_of(item: Item) -> tuple[SectionText, ...]:
    """Return the sections of an item that have a text; an item without sections is one, if it has a body."""
    name, body = (item.title or item.name,), item.body
    if not item.sections:
        end, anchor = item.body_line + body.rstrip("\n").count("\n"), anchor_of(name[0], body)
        whole = SectionText(0, name, body, item.body_line, end, (), ((0, len(body)),), 0, anchor)
        return (whole,) if body.strip() else ()
    lines = [0, *np.cumsum([len(line) + 1 for line in body.split("\n")]).tolist()][:-1]
    found, headings, first = list[SectionText](), list[tuple[int, tuple[int, int]]](), 0
    for ordinal, section in enumerate(item.sections):
        start = lines[min(max(section.line - item.body_line, 0), len(lines) - 1)]
        begin = max(body.find(section.text, body.find("\n", start) if section.level else start), 0)
        while headings and headings[-1][0] >= section.level:
            headings.pop()
        if section.level:
            headings.append((section.level, (start, begin)))
        blank = not section.text.strip()
        if ordinal and blank:  # it has no chunk; a blank first section has one, for what names the item
            continue
        chunks = tuple((begin + low, begin + high) for low, high in spans_of(section))
        if not blank:
            path, spans = section.heading_path or name, tuple(span for _, span in headings)
            anchor, lines_of_file = anchor_of(path[-1], section.text), (section.line, section.end_line)
            found.append(SectionText(ordinal, path, section.text, *lines_of_file, spans, chunks, first, anchor))
        first += len(chunks)
    return tuple(found)


def keyword_scores(sections: Sequence[SectionText], terms: Sequence[tuple[float, Ranges, bool]]) -> Floats:
    """Return the keyword score of every chunk of an item, 0 ≤ score < 1: BM25F over its text, headings and names.

    Args:
        sections: The sections of the item.
        terms: For every positive term query its weight, its matches in the body, and whether the item's name matches.
    """
    counts = np.asarray([len(section.chunks) for section in sections], np.int64)
    spans = [span for section in sections for span in section.chunks]
    starts, stops = np.asarray(spans, np.int64).reshape(-1, 2).T
    norm = 1.0 - _TEXT.b + _TEXT.b * (stops - starts) / _TYPICAL_CHARS
    score, coverage = np.zeros(len(spans)), np.zeros(len(spans))
    whole = sum(weight for weight, _, _ in terms)
    if whole <= 0:
        return score
    for weight, matches, in_name in terms:
        found = np.asarray([start for start, _ in matches], np.int64)
        tf = (np.searchsorted(found, stops) - np.searchsorted(found, starts)) * _TEXT.weight / norm
        in_headings = [sum(np.diff(np.searchsorted(found, span))[0] for span in one.headings) for one in sections]
        tf += np.repeat(in_headings, counts) * _HEADINGS.weight
        tf += _TITLE.weight * in_name
        score += weight * tf / (K1 + tf)
        coverage += weight * (tf > 0)
    return keyword_score(score / whole, coverage / whole)


def _chunk_numbers(candidate: _Candidate) -> list[tuple[SectionText, int]]:
    """Return section and number of every chunk of an item."""
    return [(one, one.first_chunk + offset) for one in candidate.sections for offset in range(len(one.chunks))]


class SectionSearch:
    """One retrieval of sections, from request to response."""

    def __init__(self, request: SectionRequest, context: SearchContext) -> None:
        self.request = request
        self.context = context
        self._search = Search(request.search, context)
        self._withdrawn = frozenset(self._search.withdrawn().tolist())
        self._warnings: list[str] = []
        self._hidden: dict[str, int] = {}

    def run(self) -> SectionResponse:
        """Return the response.

        Raises:
            QueryError: The query does not parse, or names what does not exist.
            ArgumentError: An argument does not fit the items.
        """
        request, search = self.request.search, self._search
        plan, allowed = make_plan(request), search.allowed()
        plan = search.settled(plan, allowed)
        semantic = search.semantic(plan)
        near = self._by_meaning(semantic, allowed)
        evaluation = near.evaluation if near else search.evaluate(semantic.worded, plan)
        docs = self._best_items(near, evaluation, allowed)
        candidates = list(self._read(docs, evaluation))
        found = self._promote(self._chunks(candidates, near, evaluation))
        shown = self._within_budget([self._hit(one, evaluation) for one in found[: request.limit]])
        return SectionResponse(
            results=shown,
            total=len(found),
            chars=sum(len(hit.text) for hit in shown),
            warnings=(*map(SearchWarning, search.warnings(plan)), *dict.fromkeys(self._warnings)),
            hidden=self._hidden,
            **search.facts(near),
        )

    def _by_meaning(self, semantic: SemanticSearch, allowed: Docs) -> SemanticScores | None:
        """Return the semantic scores; None, with a warning, where keywords have to answer."""
        if self.request.search.mode.name == "keyword":
            return None
        near = semantic.run(self.context.meaning, allowed)
        if near and not near.fused.matched.any():
            semantic.warnings.append(semantic.fallback_warning(near.why_no_hit()))
            near = None
        self._warnings += map(SearchWarning, semantic.warnings)
        return near

    def _best_items(self, near: SemanticScores | None, evaluation: Evaluation, allowed: Docs) -> Ints:
        """Return the documents that are best by meaning and those that are best by words, ascending."""
        found = near.hits() if near else evaluation.docs() & allowed
        if not self.request.search.include_superseded:
            found, self._hidden = self._search.hide(found)
        docs = found.numbers
        if near is None:
            return self._best(docs, keyword_score(evaluation.scores(docs), evaluation.coverage(docs)))
        at = np.searchsorted(near.docs, docs)
        similarity = near.fused.similarity[at]
        similarity = np.where(reaches(similarity, near.threshold), similarity, 0.0)
        return unique(self._best(docs, near.fused.keyword[at]), self._best(docs, similarity))

    def _best(self, docs: Ints, scores: Floats) -> Ints:
        docs, scores = docs[scores > 0], np.round(scores[scores > 0], 4)
        reader, last = self.context.reader, self._search.withdrawn()
        request = self.request.search._replace(limit=self.request.top_k)
        return np.sort(docs[ranked(reader, docs, scores, exact=docs[:0], withdrawn=last, request=request)])

    def _read(self, docs: Ints, evaluation: Evaluation) -> Iterator[_Candidate]:
        """Yield the candidates as their files are now; one that is gone, or no longer fits a verdict, is left out."""
        hydrator = replace(self._search.page_builder(evaluation).hydrator, read=read_item)
        for doc, hydrated in zip(docs.tolist(), hydrator.hydrate(docs.tolist(), self._warnings), strict=True):
            if hydrated is not None:
                item, file = hydrated.read.item, hydrated.part.root.path / hydrated.path
                yield _Candidate(doc, hydrated, item, file, _modified(file), sections_of(item))

    def _chunks(self, items: Sequence[_Candidate], near: SemanticScores | None, words: Evaluation) -> Iterator[_Chunk]:
        """Yield all chunks that match, with their scores."""
        keyword = np.concatenate([np.empty(0), *self._keyword_scores(items, words)])
        if near is None:
            similarity, total, matched = np.full(len(keyword), -np.inf), keyword, keyword > 0
        else:
            similarity = np.concatenate([np.empty(0), *(self._similarities(one, near) for one in items)])
            if near.hybrid:
                fused = fuse(self.request.search.mode.fusion, similarity, keyword, near.threshold)
            else:
                fused = by_similarity(similarity, np.ones(len(similarity)), near.threshold)
            total, matched = fused.total, fused.matched
        chunks = ((candidate, *chunk) for candidate in items for chunk in _chunk_numbers(candidate))
        columns = (matched.tolist(), np.round(total, 4).tolist(), similarity.tolist(), keyword.tolist())
        for chunk, is_match, score, *parts in zip(chunks, *columns, strict=True):
            if is_match and score > 0:
                yield _Chunk(*chunk, score, *parts)

    def _keyword_scores(self, candidates: Sequence[_Candidate], evaluation: Evaluation) -> Iterator[Floats]:
        docs = np.asarray([candidate.doc for candidate in candidates], np.int64)
        terms = []
        for row in evaluation.scored():
            slots = row.matcher.slots_of(docs)
            in_name = set(slots.docs[np.isin(slots.fields, _NAME_FIELDS)].tolist())
            terms.append((row.weight, Matches([row.matcher], docs.tolist()), in_name))
        for candidate in candidates:
            found = [(weight, _places(candidate, those), candidate.doc in in_name) for weight, those, in_name in terms]
            yield keyword_scores(candidate.sections, found)

    def _similarities(self, candidate: _Candidate, near: SemanticScores) -> Floats:
        """Return the cosine of each chunk; the chunks of a file that changed are embedded now."""
        found, item = near.similarities, candidate.item
        if candidate.hydrated.same_bytes:
            vectors, own = found.meaning.vectors, found.meaning.vectors.rows_of(candidate.doc)
            keys = zip(vectors.sections[own].tolist(), vectors.chunks[own].tolist(), strict=True)
            known = dict(zip(keys, found.rows[own].tolist(), strict=True))
        else:
            chunks, known = chunks_of(item), {}
            try:
                cosines = (found.meaning.embedder.embed([chunk.text for chunk in chunks]) @ found.query).tolist()
                known = {(chunk.section, chunk.number): cosine for chunk, cosine in zip(chunks, cosines, strict=True)}
            except UnavailableError as error:
                self._warnings.append(f"{item.type}:{item.id} was matched by words: {error.message}")
        of_chunks = [(section.ordinal, number - section.first_chunk) for section, number in _chunk_numbers(candidate)]
        return np.asarray([known.get(key, -math.inf) for key in of_chunks], np.float64)

    def _promote(self, chunks: Iterator[_Chunk]) -> list[_ScoredSection]:
        """Return the best sections, best first."""
        # Repeated sections of an item are one section, so that they do not crowd out others.
        sections: dict[tuple[int, tuple[str, ...], str], list[_Chunk]] = {}
        for chunk in sorted(chunks, key=lambda chunk: self._rank(chunk, chunk.score, chunk.number)):
            key = (chunk.candidate.doc, chunk.section.heading_path, chunk.section.anchor)
            sections.setdefault(key, []).append(chunk)
        found = map(self._score, list(sections.values())[: self.request.top_k])
        return sorted(found, key=lambda one: self._rank(one.chunks[0], one.score, one.numbers[0]))

    def _rank(self, chunk: _Chunk, score: float, number: int) -> tuple[Any, ...]:
        """Return the sort key: withdrawn items last, then by score, source and id, and place in the item."""
        doc = chunk.candidate.doc
        return doc in self._withdrawn, -score, self.context.reader.tie_key(doc), number

    def _score(self, chunks: Sequence[_Chunk]) -> _ScoredSection:
        """Score one section; of several with the same text below the same headings the best stands for all.

        The age is that of the stated date, else of the file. The authority of a trusted item is 1 if it says that it is
        authoritative, else one half; that of any other is 0.
        """
        best, candidate, request = chunks[0], chunks[0].candidate, self.request
        own = tuple(chunk for chunk in chunks if chunk.section is best.section)
        stated = sort_time(candidate.item.updated, candidate.item.created)
        age = self.context.now.timestamp() - (candidate.modified if math.isnan(stated) else stated)
        recency = float(0.5 ** (max(age, 0.0) / 86_400 / request.half_life_days))
        claimed = 1.0 if candidate.item.metadata.get("authoritative") is True else 0.5
        authority = claimed if candidate.hydrated.signature.verdict is Verdict.TRUSTED else 0.0
        kept = 1.0 - request.recency_weight * (1.0 - recency) - request.authority_weight * (1.0 - authority)
        numbers = tuple(sorted(chunk.number for chunk in own))
        return _ScoredSection(own, numbers, round(best.score * kept, 4), recency, authority)

    def _hit(self, found: _ScoredSection, evaluation: Evaluation) -> SectionHit:
        best = found.chunks[0]
        (doc, hydrated, item, file, modified, _), section = best.candidate, best.section
        root, cosine = hydrated.part.root, max(chunk.similarity for chunk in found.chunks)
        states, successor = self._search.states.withdrawn(doc)
        return SectionHit(
            doc_id=f"rye://{root.space}/{item.type}/{quote(item.id, errors='surrogatepass')}",
            source_handle=root.source,
            title=item.title or item.name,
            heading_path=section.heading_path,
            mtime=int(modified * 1e3),
            hash=hydrated.read.evidence.content_digest,
            display_url=f"{file.as_uri()}#L{section.line}-L{section.end_line}",
            properties=item.metadata,
            anchor=section.anchor,
            score=found.score,
            chunk_ids=found.numbers,
            snippet=_snippet(best, Matches([row.matcher for row in evaluation.scored()], [doc])),
            text=section.text,
            truncated=False,
            original_chars=len(section.text),
            type=str(item.type),
            id=item.id,
            path=str(file),
            line=section.line,
            end_line=section.end_line,
            similarity=round(cosine, 4) if math.isfinite(cosine) else None,
            keyword=round(max(chunk.keyword for chunk in found.chunks), 4),
            recency=round(found.recency, 4),
            authority=found.authority,
            signature=hydrated.signature,
            states=states,
            successor=successor,
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
            self._warnings.append(SearchWarning(f"{rest} to stay within {self.request.max_chars:,} characters"))
        return tuple(shown)


def _places(candidate: _Candidate, matches: Matches) -> Ranges:
    """Return the character ranges of an item's body that matched."""
    wanted = matches.wanted(candidate.doc, positions_hold=candidate.hydrated.same_bytes)
    return mark(candidate.item.body, wanted[BODY]) if BODY in wanted else ()


def _snippet(chunk: _Chunk, matches: Matches) -> str:
    start, stop = chunk.section.chunks[chunk.number - chunk.section.first_chunk]
    marks = ((a - start, b - start) for a, b in _places(chunk.candidate, matches) if start <= a < b <= stop)
    return passage(chunk.candidate.item.body[start:stop], tuple(marks))


def _modified(file: Path) -> float:
    """Return when a file was last written; 0 where it is gone again."""
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0
