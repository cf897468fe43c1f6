"""The responses to a search and to a retrieval of sections. Every surface returns their ``to_dict`` as JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rye._report import Report, as_json
from rye.items.model import Symbol
from rye.trust.model import Signature


@dataclass(frozen=True, slots=True)
class ClauseTrace(Report):
    """The contribution of one field of one item to one clause of a query.

    ``contribution`` is this field's share of the item's score; the shares of all traces sum to the score. ``weight`` is
    the greatest contribution that the term query can make, in all fields together, and ``unboosted`` the same without
    boosts. ``words`` are the words of the field that matched, with how often each occurs, the most frequent first.
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
        total, semantic, keyword: The fused score, the similarity (0 if it is negative), the keyword score.
        header: The headings of the most similar section, else the description.
        matched_symbols: Names defined in the item that contain words of the query, maybe inflected; names with the most
            words first.
        definition_lines: Where they are defined: ``name@L12-L40``, or ``name@L12`` for a single line.
    """

    total: float
    semantic: float
    keyword: float
    header: str
    matched_symbols: tuple[str, ...]
    definition_lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SearchResult(Report):
    """One hit of a search.

    Attributes:
        id: The path below the folder of its type, without the extension.
        name: The file name without the extension.
        description: From the metadata or docstring, else the first paragraph.
        category: From the metadata, else the folder part of the id.
        score: From 0 to 1. In semantic mode the similarity times the boost of the space, which may exceed 1.
        type: ``directive``, ``tool`` or ``knowledge``.
        source: ``project``, ``user`` or ``system:<bundle>``.
        preview: The passage of at most 200 characters that shows the match best; never the signature line.
        title: From the metadata, else the first heading of level 1.
        path: The absolute path of the file.
        bundle: The id of the bundle; empty outside system space.
        version: As the item states it.
        tags: In the order of the item.
        updated: Date of the last change, as the item states it.
        signature: The verdict on the bytes of the file at this moment.
        folder: The client folder that holds it, such as ``.claude/skills``; ``files`` for ``AGENTS.md`` and the like;
            empty for ``.ai`` and bundles.
        line: Where to begin to read: the line of the first matching symbol, else of the preview's first match, else 1.
        exact: The query is its id, name or title, or a word of the query names it.
        shadows, shadowed_by: The spaces whose copy this item hides, or that hide this item.
        matched_fields: The fields in which the query matched.
        highlights: Field to ``[start, end)`` ranges of characters; ``preview`` ranges are those of the preview.
        symbols: The definitions of a tool whose names match, best first: ``name``, ``kind``, ``line``, ``end_line``,
            ``signature`` and ``docstring``. :meth:`Registry.get` returns all of them.
        states: ``superseded``, ``deprecated``, ``yanked`` or ``hidden-text``, where they apply.
        successor: ``type:id`` of the replacement, or the reference as written if it resolves to no single item.
        explain: With ``explain``: for each part of the query and each field, its contribution to the score.
        similarity: Cosine in semantic and hybrid mode, never boosted; None without a vector.
        hybrid: In hybrid mode: the scores in percent, the nearest section, and the matching symbols with their lines.
        installed_from: The source that the installer of a skill recorded; nobody signed that record.
        parts: ``type:id`` of the files of a skill that match as well, the best first; at most five.
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
    parts: tuple[str, ...] = ()

    @property
    def ref(self) -> str:
        """``type:id``, as every method takes it."""
        return f"{self.type}:{self.id}"

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able values; ``explain``, ``similarity`` and ``hybrid`` only if they are set."""
        data = {name: as_json(getattr(self, name)) for name in self.__dataclass_fields__ if name not in _OPTIONAL}
        data["symbols"] = [symbol.to_dict() for symbol in self.symbols]
        optional = {name: as_json(getattr(self, name)) for name in _OPTIONAL}
        return data | {name: value for name, value in optional.items() if value is not None}


_OPTIONAL = ("explain", "similarity", "hybrid")


class Facet(NamedTuple):
    """The numbers of matches that have each value of a field.

    Attributes:
        values: The most frequent values, each with its number of matches; ties in order of the value.
        other_values: How many further values there are.
        others: The sum of their numbers.
        missing: Matches without a value.
    """

    values: tuple[tuple[str, int], ...]
    other_values: int = 0
    others: int = 0
    missing: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the four attributes; each value with its number is an object."""
        values = [{"value": value, "count": count} for value, count in self.values]
        return {"values": values, "other_values": self.other_values, "others": self.others, "missing": self.missing}


@dataclass(frozen=True, slots=True, kw_only=True)
class Response(Report):
    """The fields that searches and sections share. Iterate it for its results; without any it is false.

    Attributes:
        results: The results of this page, best first.
        total: Number of results that paging can reach; of sections at most ``limit`` × 5.
        query, scope, space, limit: The arguments of the search.
        search_type: ``keyword``, ``semantic`` or ``hybrid``: how the results were found, whatever mode was requested.
        method: What ordered the results: ``keyword``, ``embedding``, ``weighted`` or ``rrf``; ``keyword_fallback`` if
            the requested mode could not answer, and a warning says why.
        warnings: Sentences: unreadable files, changes to the query, hits that hide an item of another signer.
        stale: The index could not be refreshed, or a hit changed meanwhile: an older state of the files answered.
        took_ms: Duration of the search in milliseconds.
        hidden: Number of matches left out, by reason.
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

    def __len__(self) -> int:
        """Return the number of results of this page."""
        return len(self.results)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResponse(Response):
    """One page of hits.

    Attributes:
        offset: The argument of the search.
        stage: The relaxation that answered: ``all``, ``text``, ``fuzzy``, ``substring``, ``any`` or ``literal``;
            ``similar`` for items like one; else the search type.
        did_you_mean: A query that would find more, or the corrected query of stage ``any``; else empty.
        next_offset: Offset of the next page, or None on the last page.
        facets: Name of each requested facet to ``values`` (with ``value`` and ``count``), ``other_values`` (how many
            values are not listed), ``others`` (the sum of their counts) and ``missing`` (matches without a value).
    """

    results: tuple[SearchResult, ...]
    offset: int
    stage: str = "all"
    did_you_mean: str = ""
    next_offset: int | None = None
    facets: Mapping[str, Facet] = field(default_factory=dict)

    def __iter__(self) -> Iterator[SearchResult]:
        """Iterate over the hits of this page."""
        return iter(self.results)


@dataclass(frozen=True, slots=True)
class SectionHit(Report):
    """One section with everything needed to cite it.

    Attributes:
        doc_id: ``rye://SPACE/TYPE/ID``, which ``rye mcp`` serves as a resource.
        source_handle: ``project``, ``user`` or ``system:<bundle>``.
        title: The title of the item, or its name.
        heading_path: The headings that lead to the section; the title for text before the first heading.
        mtime: Time of the last write to the file, in milliseconds since 1970; 0 if unknown.
        hash: SHA-256 of the bytes of the file that was read and verified.
        display_url: The file, or its address on a cluster, and the lines of the section.
        properties: The metadata of the item.
        anchor: SHA-256 of the section's own heading, a line break and its text, in NFC. It survives edits elsewhere.
        score: From 0 to 1.
        chunk_ids: The chunks of the item that matched in this section, ascending, counted from 0.
        snippet: The best passage of the best chunk.
        text: The section's own text without its heading.
        truncated: The text was cut to stay within ``max_chars``.
        original_chars: Characters of the whole text.
        type, id, path: The item and its file.
        line, end_line: The first and last line of the section, 1-based.
        signature: The verdict on the file.
        similarity: Highest cosine of its chunks; None without vectors.
        keyword: Highest keyword score of its chunks.
        recency, authority: The values that ``recency_weight`` and ``authority_weight`` weigh, from 0 to 1.
        states, successor: As in a hit.
        shadows, shadowed_by: As in a hit.
        copies: Other items with the same title, headings and text: ``TYPE:ID of SOURCE``.
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

    @property
    def ref(self) -> str:
        """``type:id`` of the item, as every method takes it."""
        return f"{self.type}:{self.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionResponse(Response):
    """One page of sections, and facts about the whole search.

    Attributes:
        results: The page, best first; superseded, deprecated and yanked ones last.
        chars: Characters of all texts together.
        next_offset: Offset of the first section after those shown, or None on the last page.
    """

    results: tuple[SectionHit, ...]
    chars: int
    offset: int = 0
    next_offset: int | None = None

    def __iter__(self) -> Iterator[SectionHit]:
        """Iterate over the sections of this page."""
        return iter(self.results)
