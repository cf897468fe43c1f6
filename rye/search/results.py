"""The answers to a search and to a retrieval of sections; their ``to_dict`` is the JSON of every surface."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rye._report import Report, as_json
from rye.items.model import Symbol
from rye.search.facets import Facet
from rye.trust.model import Signature


class SearchWarning(str):
    """A warning about a search itself, which names no item and no file."""

    __slots__ = ()


class Replaced(str):
    """A warning that what the query names exactly is hidden, with what takes its place."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ClauseTrace(Report):
    """The contribution of one field of one item to one clause of a query.

    ``contribution`` is this field's share of the item's score; the shares of all traces sum to the score. ``weight`` is
    the most that the term query could contribute, in all fields together, and ``unboosted`` the same without boosts.
    ``words`` are the words of the field that matched, with how often each occurs, the most frequent first.
    """

    clause: str
    field: str
    df: int
    idf: float
    boost: float
    tf: float
    contribution: float
    weight: float = 0.0
    unboosted: float = 0.0
    words: Mapping[str, int] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HybridMatch(Report):
    """The scores behind one hit of a hybrid search, in percent with one decimal.

    Attributes:
        total, semantic, keyword: The fused score, the similarity (0 where it is negative), the keyword score.
        header: The headings that lead to the section whose meaning is nearest, else the description.
        matched_symbols: Names defined in the item that have a word of the query as a part, also inflected; those
            with most of its words first.
        definition_lines: Where they are: ``name@L12-L40``, or ``name@L12`` for a single line.
    """

    total: float
    semantic: float
    keyword: float
    header: str
    matched_symbols: tuple[str, ...]
    definition_lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SearchResult(Report):
    """One hit. ``highlights`` maps a field to ``[start, end)`` character ranges; ``preview`` ranges are its own.

    ``states`` are those of ``superseded``, ``deprecated`` and ``yanked`` that it is in; ``successor`` is ``type:id`` of
    what takes its place, or how it is written where that is not there.
    ``line`` is where in the file the query matches: the first such symbol, else the preview's first match, else 1.
    ``symbols`` are those whose names match the query, the best first. The item itself (``Registry.get``) has all.
    ``installed_from`` is where the tool that installed a skill wrote that it came from; nobody has signed that.
    ``folder`` is the folder of a client in which it is, as ``.claude/skills``; empty for ``.ai`` and bundles.
    ``similarity`` is the cosine as it is, never boosted or fused; None in keyword search, or where there is no vector.
    """

    id: str
    name: str
    description: str
    category: str
    score: float
    type: str
    source: str
    preview: str
    title: str
    path: str
    bundle: str
    version: str
    tags: tuple[str, ...]
    updated: str
    signature: Signature
    folder: str = ""
    line: int = 1
    exact: bool = False
    shadows: tuple[str, ...] = ()
    shadowed_by: tuple[str, ...] = ()
    matched_fields: tuple[str, ...] = ()
    highlights: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    symbols: tuple[Symbol, ...] = ()
    states: tuple[str, ...] = ()
    successor: str = ""
    explain: tuple[ClauseTrace, ...] | None = None
    similarity: float | None = None
    hybrid: HybridMatch | None = None
    installed_from: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able values; ``explain``, ``similarity`` and ``hybrid`` only where there is one."""
        data = {name: as_json(getattr(self, name)) for name in self.__dataclass_fields__ if name not in _OPTIONAL}
        data["symbols"] = [each.to_dict() for each in self.symbols]
        optional = {name: as_json(getattr(self, name)) for name in _OPTIONAL}
        return data | {name: value for name, value in optional.items() if value is not None}


_OPTIONAL = ("explain", "similarity", "hybrid")


@dataclass(frozen=True, slots=True, kw_only=True)
class Response(Report):
    """The fields that both kinds of answer share.

    Attributes:
        results: The best first.
        total: How many results there are: hits that paging can reach; sections that were found, ``limit`` × 5 at most.
        search_type: ``keyword``, ``semantic`` or ``hybrid``: how the answer was found, whatever was asked for.
        method: What ordered the results: ``keyword``, ``embedding``, ``weighted`` or ``rrf``; ``keyword_fallback``
            where the mode asked for could not answer, and a warning says why.
        warnings: Sentences: files that could not be read, what lenient parsing dropped, what relaxation did.
        stale: True when the index could not be refreshed and an older snapshot answered.
        hidden: How many matching items were left out, by reason.
    """

    results: tuple[Report, ...]
    total: int
    query: str
    scope: str
    space: str
    limit: int
    search_type: str = "keyword"
    method: str = "keyword"
    warnings: tuple[str, ...] = ()
    stale: bool = False
    took_ms: float = 0.0
    hidden: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResponse(Response):
    """One page of hits and what there is to know about the search as a whole.

    Attributes:
        results: The page, best first.
        stage: ``all``, ``text``, ``fuzzy``, ``substring`` or ``any``: which relaxation answered; else the search type.
        did_you_mean: A query that finds more, or empty.
        next_offset: Offset of the next page, or None on the last.
        facets: By name, how many of all matches have each value.
    """

    results: tuple[SearchResult, ...]
    offset: int
    stage: str = "all"
    did_you_mean: str = ""
    next_offset: int | None = None
    facets: Mapping[str, Facet] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SectionHit(Report):
    """One whole section, with what is needed to cite it.

    Attributes:
        doc_id: ``rye://`` address of the item.
        source_handle: ``project``, ``user`` or ``system:<bundle>``.
        title: The item's, or its name.
        heading_path: The headings that lead to the section; the title for text before the first of them.
        mtime: When the file was last written, in milliseconds since 1970; 0 where that is not known.
        hash: SHA-256 of the bytes of the file that was read and verified.
        display_url: The file, or its address on a cluster, and the lines of the section.
        properties: The item's metadata.
        anchor: SHA-256 of the section's own heading and text: the same wherever in the file it stands.
        score: From 0 to 1.
        chunk_ids: Those of the item's chunks that were found in the section, ascending.
        snippet: The best passage of the best of them.
        text: The section's own text, without its heading.
        truncated: Whether that was cut to stay within ``max_chars``.
        original_chars: How long it is.
        similarity: Highest cosine of its chunks; None without vectors.
        keyword: Highest keyword score of its chunks.
        recency, authority: What the two weights weigh, from 0 to 1.
        states, successor: Which of ``superseded``, ``deprecated`` and ``yanked`` the item is in, and what takes its
            place.
        shadows, shadowed_by: The sources where the same item is hidden by this one, or hides it.
        copies: ``TYPE:ID of SOURCE``: other items with the same title, headings and text, for which it stands.
    """

    doc_id: str
    source_handle: str
    title: str
    heading_path: tuple[str, ...]
    mtime: int
    hash: str
    display_url: str
    properties: Mapping[str, Any]
    anchor: str
    score: float
    chunk_ids: tuple[int, ...]
    snippet: str
    text: str
    truncated: bool
    original_chars: int
    type: str
    id: str
    path: str
    line: int
    end_line: int
    similarity: float | None
    keyword: float
    recency: float
    authority: float
    signature: Signature
    states: tuple[str, ...] = ()
    successor: str = ""
    shadows: tuple[str, ...] = ()
    shadowed_by: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionResponse(Response):
    """One page of sections and what there is to know about the whole.

    Attributes:
        results: The page, best first; superseded, deprecated and yanked ones last.
        chars: Characters of all texts together.
        next_offset: Offset of the first section after those shown, or None on the last page.
    """

    results: tuple[SectionHit, ...]
    chars: int
    offset: int = 0
    next_offset: int | None = None
