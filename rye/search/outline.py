"""An item as its sections and their chunks, each with its place in the body; and how well words match each chunk.

The keyword score of a chunk is BM25F as for items (:mod:`rye.search.evaluate`), over three fields: what names the item,
the headings that lead to the section, and the chunk's text; with the same idf and the same saturation.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rye.index.chunks import spans_of
from rye.index.reader import Floats
from rye.index.segment import Ints
from rye.items.model import Item
from rye.search.fields import K1, TEXT_FIELDS
from rye.search.fusion import keyword_score

__all__ = ["Leafing", "Spot", "anchor_of", "keyword_scores", "outline"]

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
