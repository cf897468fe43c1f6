"""Whole sections for a query: chunks found by words and meaning, each promoted to the section that it is part of.

The ``limit × 5`` items nearest in meaning and as many best by words are read and verified, and all their chunks scored.
The best ``limit × 5`` sections stay, however many chunks each has: one long item does not crowd out the others. A
section's score is its best chunk's, times what age and authority leave::

    score = fused · (1 − w_recency · (1 − ½^(age / half-life)) − w_authority · (1 − authority))
"""

from __future__ import annotations

import hashlib
import math
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
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
from rye.search.bind import searched_fields
from rye.search.bound import asks_verdict
from rye.search.docset import Docs
from rye.search.engine import Search, SearchContext
from rye.search.fields import K1, TEXT_FIELDS
from rye.search.fusion import by_similarity, fuse, keyword_score, reaches
from rye.search.highlight import Matches, Ranges, body_ranges, passage
from rye.search.order import ranked
from rye.search.page import Hydrated, Hydrator
from rye.search.plan import Plan, make_plan
from rye.search.relax import Dictionary
from rye.search.request import SectionRequest
from rye.search.results import SearchWarning, SectionHit, SectionResponse
from rye.search.score import Evaluation
from rye.search.semantic import SemanticScores, any_of
from rye.signing import Verdict
from rye.spaces import Root
from rye.spaces.read import read_item

__all__ = ["Leafing", "SectionSearch", "Spot", "anchor_of", "keyword_scores", "outline"]


# -- An item as its sections and their chunks, each with its place in the body; and how well words match each
TYPICAL_CHARS = 1_000
"""Length of text at which a word counts for one."""

_NAMES, _HEADINGS, _TEXT = TEXT_FIELDS["title"].weight, TEXT_FIELDS["headings"].weight, TEXT_FIELDS["content"]

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Spot:
    """One section with a text of its own.

    Attributes:
        ordinal: Of the section in its item.
        heading_path: Never empty: the title, or the name, where there is no heading.
        text: Its own text.
        line, end_line: 1-based lines of the file.
        headings: Where its heading and those above it stand in the body.
        chunks: Where its chunks stand in the body.
        first: Number of the first of them among the item's chunks.
        anchor: See :func:`anchor_of`.
    """

    ordinal: int
    heading_path: tuple[str, ...]
    text: str
    line: int
    end_line: int
    headings: tuple[Span, ...]
    chunks: tuple[Span, ...]
    first: int
    anchor: str


@dataclass(frozen=True, eq=False)
class Leafing:
    """One part of the query in one item: its weight, where it stands in the body, and whether it names the item."""

    weight: float
    starts: Ints
    named: bool


def anchor_of(heading: str, text: str) -> str:
    """Return the SHA-256 of a heading and the text below it, in NFC: it changes with them and with nothing else."""
    whole = unicodedata.normalize("NFC", f"{heading}\n{text}")
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()


def outline(item: Item) -> tuple[Spot, ...]:
    """Return the sections of an item that have a text; an item without sections is one, if it has a body."""
    name = (item.title or item.name,)
    if not item.sections:
        if not item.body.strip():
            return ()
        end = item.body_line + item.body.rstrip("\n").count("\n")
        whole = ((0, len(item.body)),)
        return (Spot(0, name, item.body, item.body_line, end, (), whole, 0, anchor_of(name[0], item.body)),)
    lines = _line_starts(item.body)
    spots, above, first = list[Spot](), list[tuple[int, Span]](), 0
    for ordinal, section in enumerate(item.sections):
        start = lines[min(max(section.line - item.body_line, 0), len(lines) - 1)]
        begin = max(item.body.find(section.text, item.body.find("\n", start) if section.level else start), 0)
        while above and above[-1][0] >= section.level:
            above.pop()
        if section.level:
            above.append((section.level, (start, begin)))
        blank = not section.text.strip()
        if ordinal and blank:
            continue
        chunks = tuple((begin + low, begin + high) for low, high in spans_of(section))
        if not blank:
            path, headings = section.heading_path or name, tuple(span for _, span in above)
            anchor = anchor_of(path[-1], section.text)
            lines_ = section.line, section.end_line
            spots.append(Spot(ordinal, path, section.text, *lines_, headings, chunks, first, anchor))
        first += len(chunks)
    return tuple(spots)


def _line_starts(text: str) -> list[int]:
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    return starts[:-1]


def keyword_scores(spots: Sequence[Spot], leaves: Sequence[Leafing]) -> Floats:
    """Return the keyword score of every chunk of an item, 0 ≤ score < 1.

    Args:
        spots: Its sections.
        leaves: Every positive part of the query, also those that the item does not have.
    """
    spans = [span for spot in spots for span in spot.chunks]
    starts, stops = (np.asarray([span[end] for span in spans], np.int64) for end in (0, 1))
    norm = 1.0 - _TEXT.b + _TEXT.b * (stops - starts) / TYPICAL_CHARS
    score, coverage = np.zeros(len(spans)), np.zeros(len(spans))
    whole = sum(leaf.weight for leaf in leaves)
    if whole <= 0:
        return score
    for leaf in leaves:
        tf = _within(leaf.starts, starts, stops) * _TEXT.weight / norm
        tf += np.asarray([_HEADINGS * _in_headings(leaf.starts, spot) for spot in spots for _ in spot.chunks], float)
        tf += _NAMES * leaf.named
        score += leaf.weight * tf / (K1 + tf)
        coverage += leaf.weight * (tf > 0)
    return keyword_score(score / whole, coverage / whole)


def _within(places: Ints, starts: Ints, stops: Ints) -> Floats:
    """Return how many places lie in each of some spans."""
    return (np.searchsorted(places, stops) - np.searchsorted(places, starts)).astype(np.float64)


def _in_headings(places: Ints, spot: Spot) -> int:
    return sum(int(np.searchsorted(places, stop) - np.searchsorted(places, start)) for start, stop in spot.headings)


CUT_BELOW = 200
"""A text is not cut to fewer characters than these; it and what follows are left out."""

_NAMING = [list(TEXT_FIELDS).index(name) for name in ("title", "name")]

_SECONDS_A_DAY = 86_400.0


@dataclass(frozen=True, eq=False)
class _Source:
    """One candidate item, read and verified at this moment."""

    doc: int
    hydrated: Hydrated
    spots: tuple[Spot, ...]

    @property
    def item(self) -> Item:
        """What it says."""
        return self.hydrated.read.item

    @property
    def root(self) -> Root:
        """The space root that it belongs to."""
        return self.hydrated.part.root

    @property
    def file(self) -> Path:
        """Where it is."""
        return self.root.path / self.hydrated.path

    @cached_property
    def modified(self) -> float:
        """When its file was last written, in seconds since 1970; 0 where it is gone again."""
        try:
            return self.file.stat().st_mtime
        except OSError:
            return 0.0


class _Chunk(NamedTuple):
    """One chunk of a candidate: whose, of which section, its number in the item, and its scores."""

    source: _Source
    spot: Spot
    number: int
    score: float
    similarity: float
    keyword: float


@dataclass(frozen=True, eq=False)
class _Section:
    """One section that was found: the chunks it was found by, best first, their numbers ascending, and its score."""

    chunks: tuple[_Chunk, ...]
    numbers: tuple[int, ...]
    score: float
    recency: float
    authority: float

    @property
    def best(self) -> _Chunk:
        """The chunk that gives the score."""
        return self.chunks[0]


class SectionSearch:
    """One retrieval, from request to response."""

    def __init__(self, request: SectionRequest, context: SearchContext) -> None:
        self.request = request
        self.context = context
        self._search = Search(request.search, context)
        self._warnings: list[str] = []
        self._hidden: dict[str, int] = {}

    def run(self) -> SectionResponse:
        """Return the response.

        Raises:
            QueryError: The query does not parse, or names what does not exist.
            ArgumentError: An argument does not fit the items.
        """
        request = self.request.search
        plan = make_plan(request)
        allowed = self._search.allowed()
        plan = self._search.settled(plan, allowed)
        near = self._near(plan, allowed)
        evaluation = near.evaluation if near else self._by_words(plan)
        docs = self._candidates(near, evaluation, allowed)
        sources = list(self._read(docs, evaluation))
        found = self._promoted(self._chunks(sources, near, evaluation))
        shown = self._within_budget([self._hit(one, evaluation) for one in found[: request.limit]])
        return SectionResponse(
            results=shown,
            total=len(found),
            query=request.query,
            scope=request.scope,
            space=request.space,
            limit=request.limit,
            search_type=request.mode.name if near else "keyword",
            method=self._search.method(near),
            chars=sum(len(hit.text) for hit in shown),
            warnings=(
                *map(SearchWarning, self._search.warnings(plan)),
                *dict.fromkeys(self._warnings),
            ),
            hidden=self._hidden,
        )

    # candidates

    def _near(self, plan: Plan, allowed: Docs) -> SemanticScores | None:
        """Return what is near, or None where words have to do, for a reason that a warning names."""
        if self.request.search.mode.name == "keyword":
            return None
        semantic = self._search.semantic(plan)
        near = semantic.run(self.context.meaning, allowed)
        if near and not near.fused.matched.any():
            semantic.warnings.append(semantic.fallback_warning(near.why_no_hit()))
            near = None
        self._warnings += map(SearchWarning, semantic.warnings)
        return near

    def _by_words(self, plan: Plan) -> Evaluation:
        known = Dictionary(self.context.reader, searched_fields(None)).knows
        node = any_of(plan.words, lambda word: not known(word)) if plan.words else plan.main
        return self._search.evaluate(node, plan)

    def _candidates(self, near: SemanticScores | None, evaluation: Evaluation, allowed: Docs) -> Ints:
        """Return the documents that are best by meaning and those that are best by words, ascending."""
        if near is None:
            found = self._shown(evaluation.docs() & allowed).numbers
            return self._best(found, keyword_score(evaluation.scores(found), evaluation.coverage(found)))
        found = self._shown(near.hits()).numbers
        at = np.searchsorted(near.docs, found)
        similarity = near.fused.similarity[at]
        meant = np.where(reaches(similarity, near.threshold), similarity, 0.0)
        return unique(self._best(found, near.fused.keyword[at]), self._best(found, meant))

    def _shown(self, found: Docs) -> Docs:
        if self.request.search.include_superseded:
            return found
        found, self._hidden = self._search.hide(found)
        return found

    def _best(self, docs: Ints, scores: Floats) -> Ints:
        having, wanted = docs[scores > 0], replace(self.request.search, limit=self.request.top_k)
        rounded, none, last = np.round(scores[scores > 0], 4), np.empty(0, np.int64), self._search.withdrawn()
        return np.sort(having[ranked(self.context.reader, having, rounded, exact=none, withdrawn=last, request=wanted)])

    # reading

    def _read(self, docs: Ints, evaluation: Evaluation) -> Iterator[_Source]:
        """Yield the candidates as their files are now; one that is gone, or no longer fits a verdict, is left out."""
        matter = asks_verdict(evaluation.query) or any(map(asks_verdict, self._search.filters()))
        context, states = self.context, self._search.states
        hydrator = Hydrator(context.reader, states, context.trust(), context.now, matter, read_item)
        for doc in docs.tolist():
            (hydrated,) = hydrator.hydrate([doc], self._warnings)
            if hydrated is not None:
                yield _Source(doc, hydrated, outline(hydrated.read.item))

    # scores

    def _chunks(self, sources: Sequence[_Source], near: SemanticScores | None, evaluation: Evaluation) -> list[_Chunk]:
        """Return all chunks that match, with their scores."""
        keyword = np.concatenate([np.empty(0), *self._worded(sources, evaluation)])
        if near is None:
            similarity, total, matched = np.full(len(keyword), -np.inf), keyword, keyword > 0
        else:
            similarity = np.concatenate([np.empty(0), *(self._similarities(source, near) for source in sources)])
            mode = self.request.search.mode
            if mode.name == "semantic":
                fused = by_similarity(similarity, np.ones(len(similarity)), near.threshold)
            else:
                fused = fuse(mode.fusion, similarity, keyword, near.threshold)
            total, matched = fused.total, fused.matched
        rows = zip(
            ((source, *place) for source in sources for place in _numbers(source)),
            np.round(total, 4).tolist(),
            similarity.tolist(),
            keyword.tolist(),
            matched.tolist(),
            strict=True,
        )
        return [
            _Chunk(*place, score, cosine, words) for place, score, cosine, words, keep in rows if keep and score > 0
        ]

    def _worded(self, sources: Sequence[_Source], evaluation: Evaluation) -> Iterator[Floats]:
        docs = np.asarray([source.doc for source in sources], np.int64)
        leaves = []
        for row in evaluation.scored():
            slots = row.matcher.slots_of(docs)
            named = set(slots.docs[np.isin(slots.fields, _NAMING)].tolist())
            leaves.append((row.weight, Matches([row.matcher], docs.tolist()), named))
        for source in sources:
            found = [
                Leafing(
                    weight,
                    np.asarray([start for start, _ in self._places(source, matches)], np.int64),
                    source.doc in named,
                )
                for weight, matches, named in leaves
            ]
            yield keyword_scores(source.spots, found)

    def _places(self, source: _Source, matches: Matches) -> Ranges:
        return body_ranges(source.item, source.doc, matches, same_bytes=source.hydrated.same_bytes)

    def _similarities(self, source: _Source, near: SemanticScores) -> Floats:
        """Return the cosine of each chunk; of a file that changed they are made from what it says now."""
        meaning = near.similarities.meaning
        if source.hydrated.same_bytes:
            own = meaning.vectors.rows_of(source.doc)
            sections, numbers = meaning.vectors.sections[own].tolist(), meaning.vectors.chunks[own].tolist()
            known = dict(zip(zip(sections, numbers, strict=True), near.similarities.rows[own].tolist(), strict=True))
        else:
            chunks = chunks_of(source.item)
            try:
                cosines = (meaning.embedder.embed([chunk.text for chunk in chunks]) @ near.similarities.query).tolist()
            except UnavailableError as error:
                self._warnings.append(f"{source.item.type}:{source.item.id} was matched by words: {error.message}")
                return np.full(len(list(_numbers(source))), -np.inf)
            known = {(chunk.section, chunk.number): cosine for chunk, cosine in zip(chunks, cosines, strict=True)}
        places_ = [(spot.ordinal, number - spot.first) for spot, number in _numbers(source)]
        return np.asarray([known.get(place, -math.inf) for place in places_], np.float64)

    # sections

    def _promoted(self, chunks: Sequence[_Chunk]) -> list[_Section]:
        """Return the best sections, best first."""
        ordered = sorted(chunks, key=lambda chunk: self._place(chunk.source.doc, chunk.score, chunk.number))
        sections: dict[tuple[int, tuple[str, ...], str], list[_Chunk]] = {}
        for chunk in ordered:
            sections.setdefault((chunk.source.doc, chunk.spot.heading_path, chunk.spot.anchor), []).append(chunk)
        found = map(self._section, list(sections.values())[: self.request.top_k])
        return sorted(found, key=lambda one: self._place(one.best.source.doc, one.score, one.numbers[0]))

    def _place(self, doc: int, score: float, number: int) -> tuple[Any, ...]:
        """Return what is sorted by: what is withdrawn last, then the score, source and id, and where it stands."""
        return doc in self._last, -score, self.context.reader.tie_key(doc), number

    @cached_property
    def _last(self) -> frozenset[int]:
        return frozenset(self._search.withdrawn().tolist())

    def _section(self, chunks: Sequence[_Chunk]) -> _Section:
        """Weigh one section; of others of the same text below the same headings its first chunks are left out."""
        best, request = chunks[0], self.request
        own = tuple(chunk for chunk in chunks if chunk.spot is best.spot)
        recency, authority = self._recency(best.source), _authority(best.source)
        kept = 1.0 - request.recency_weight * (1.0 - recency) - request.authority_weight * (1.0 - authority)
        numbers = tuple(sorted(chunk.number for chunk in own))
        return _Section(own, numbers, round(best.score * kept, 4), recency, authority)

    def _hit(self, found: _Section, evaluation: Evaluation) -> SectionHit:
        best = found.best
        source, spot, item, root = best.source, best.spot, best.source.item, best.source.root
        cosine = max(chunk.similarity for chunk in found.chunks)
        states, successor = self._search.states.withdrawn(source.doc)
        return SectionHit(
            doc_id=f"rye://{root.space}/{item.type}/{quote(item.id, errors='surrogatepass')}",
            source_handle=root.source,
            title=item.title or item.name,
            heading_path=spot.heading_path,
            mtime=int(source.modified * 1e3),
            hash=source.hydrated.read.evidence.content_digest,
            display_url=f"{source.file.as_uri()}#L{spot.line}-L{spot.end_line}",
            properties=item.metadata,
            anchor=spot.anchor,
            score=found.score,
            chunk_ids=found.numbers,
            snippet=self._snippet(best, Matches([row.matcher for row in evaluation.scored()], [source.doc])),
            text=spot.text,
            truncated=False,
            original_chars=len(spot.text),
            type=str(item.type),
            id=item.id,
            path=str(source.file),
            line=spot.line,
            end_line=spot.end_line,
            similarity=round(cosine, 4) if math.isfinite(cosine) else None,
            keyword=round(max(chunk.keyword for chunk in found.chunks), 4),
            recency=round(found.recency, 4),
            authority=found.authority,
            signature=source.hydrated.signature,
            states=states,
            successor=successor,
        )

    def _snippet(self, chunk: _Chunk, matches: Matches) -> str:
        start, stop = chunk.spot.chunks[chunk.number - chunk.spot.first]
        marks = tuple((a - start, b - start) for a, b in self._places(chunk.source, matches) if start <= a < b <= stop)
        return passage(chunk.source.item.body[start:stop], marks)

    def _recency(self, source: _Source) -> float:
        """Return ½ to the power of the age in half-lives, by the date that the item states, else by its file's."""
        stated = sort_time(source.item.updated, source.item.created)
        age = self.context.now.timestamp() - (source.modified if math.isnan(stated) else stated)
        return float(0.5 ** (max(age, 0.0) / _SECONDS_A_DAY / self.request.half_life_days))

    def _within_budget(self, hits: Sequence[SectionHit]) -> tuple[SectionHit, ...]:
        """Return the first hits whose texts fit; the last of them may be cut."""
        left = self.request.max_chars
        if left is None:
            return tuple(hits)
        shown: list[SectionHit] = []
        for hit in hits:
            if len(hit.text) > left:
                if not shown or left >= CUT_BELOW:
                    shown.append(replace(hit, text=hit.text[:left], truncated=True))
                break
            shown.append(hit)
            left -= len(hit.text)
        if len(shown) < len(hits):
            rest = f"{len(hits) - len(shown)} more sections were left out"
            self._warnings.append(SearchWarning(f"{rest} to stay within {self.request.max_chars:,} characters"))
        return tuple(shown)


def _numbers(source: _Source) -> Iterator[tuple[Spot, int]]:
    """Yield section and number of every chunk of an item."""
    for spot in source.spots:
        for offset in range(len(spot.chunks)):
            yield spot, spot.first + offset


def _authority(source: _Source) -> float:
    """Return 1 for a trusted item that says it is authoritative, one half for another trusted one, else 0."""
    if source.hydrated.signature.verdict is not Verdict.TRUSTED:
        return 0.0
    return 1.0 if source.item.metadata.get("authoritative") is True else 0.5
