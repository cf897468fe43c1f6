"""What a retrieval of sections answers with: frozen values whose ``to_dict`` is the JSON of every surface."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rye.signing.model import Signature

__all__ = ["SectionHit", "SectionResponse"]


@dataclass(frozen=True, slots=True)
class SectionHit:
    """One whole section, with what is needed to cite it.

    Attributes:
        doc_id: ``rye://`` address of the item.
        source_handle: ``project``, ``user`` or ``system:<bundle>``.
        title: The item's, or its name.
        heading_path: The headings that lead to the section; the title for text before the first of them.
        mtime: When the file was last written, in milliseconds since 1970.
        hash: SHA-256 of the bytes of the file that was read and verified.
        display_url: The file and the lines of the section.
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

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able values."""
        data = {name: getattr(self, name) for name in SectionHit.__slots__}
        lists = {name: list(data[name]) for name in ("heading_path", "chunk_ids", "states")}
        return data | lists | {"properties": dict(self.properties), "signature": self.signature.to_dict()}


@dataclass(frozen=True, slots=True)
class SectionResponse:
    """Sections, best first, and what there is to know about the retrieval as a whole.

    Attributes:
        results: The sections.
        total: How many were found, ``limit`` × 5 at most.
        search_type: ``keyword``, ``semantic`` or ``hybrid``: how they were found, whatever was asked for.
        method: ``keyword``, ``embedding``, ``weighted`` or ``rrf``; ``keyword_fallback`` where the mode asked for could
            not answer, and a warning says why.
        chars: Characters of all texts together.
        hidden: How many matching items were left out, by reason.
    """

    results: tuple[SectionHit, ...]
    total: int
    query: str
    scope: str
    space: str
    limit: int
    search_type: str
    method: str
    chars: int
    warnings: tuple[str, ...] = ()
    stale: bool = False
    took_ms: float = 0.0
    hidden: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of every surface."""
        data = {name: getattr(self, name) for name in SectionResponse.__slots__}
        data["results"] = [hit.to_dict() for hit in self.results]
        return data | {"warnings": list(self.warnings), "hidden": dict(self.hidden)}
