"""Sections of an item as they are read and cited: their places, their chunks, and keyword scores of the chunks."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from rye.index.build.reader import Floats
from rye.index.text.chunks import CHUNK_CHARS, OVERLAP_CHARS, spans_of
from rye.items.model import Item
from rye.search.contract.fields import K1, TEXT_FIELDS
from rye.search.contract.fusion import keyword_score
from rye.search.page.marks import Ranges

_TYPICAL_CHARS = 1_000
"""Length of a chunk in which an occurrence of a word has full weight."""

_TITLE, _HEADINGS, _TEXT = (TEXT_FIELDS[name] for name in ("title", "headings", "content"))


class SectionText(NamedTuple):
    """One section with a text of its own.

    Attributes:
        ordinal: Its number in the item.
        heading_path: Never empty: the title, or the name, if there is no heading.
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


def anchor_of(heading: str, text: str) -> str:
    """Return the SHA-256 of a heading and the text below it, in NFC. It depends on nothing else."""
    content = unicodedata.normalize("NFC", f"{heading}\n{text}")
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


def sections_of(item: Item, size: tuple[int, int] = (CHUNK_CHARS, OVERLAP_CHARS)) -> tuple[SectionText, ...]:
    """Return the sections of an item that have a text.

    An item without sections but with a body is one section; each of its documented functions begins another. ``size``
    is the size of a chunk and the overlap of two chunks.
    """
    name = (item.title or item.name,)
    if not item.sections:
        return tuple(_sections_of_code(item, name))
    sections, headings, first = list[SectionText](), list[tuple[int, tuple[int, int]]](), 0
    for ordinal, section in enumerate(item.sections):
        begin = section.span[0]
        while headings and headings[-1][0] >= section.level:
            headings.pop()
        if section.level:
            headings.append((section.level, (section.start, begin)))
        blank = not section.text
        if ordinal and blank:  # no chunk; a blank first section has one, for the item's names
            continue
        chunks = tuple((begin + low, begin + high) for low, high in spans_of(section, *size))
        if not blank:
            path, spans = section.heading_path or name, tuple(span for _, span in headings)
            anchor, lines_of_file = anchor_of(path[-1], section.text), (section.line, section.end_line)
            sections.append(SectionText(ordinal, path, section.text, *lines_of_file, spans, chunks, first, anchor))
        first += len(chunks)
    return tuple(sections)


def _sections_of_code(item: Item, name: tuple[str, ...]) -> Iterator[SectionText]:
    """Yield the text above the first documented function, then each function with the text up to the next one."""
    body, lines = item.body, item.body.split("\n")
    places = [0, *np.cumsum([len(line) + 1 for line in lines]).tolist()]
    starts = [(item.body_line, 0, name)]
    starts += [(function.line, function.number + 1, (*name, function.symbol.name)) for function in item.documented]
    ends = [line for line, _, _ in starts[1:]] + [item.body_line + len(lines)]
    for chunk, ((line, ordinal, path), end) in enumerate(zip(starts, ends, strict=True)):
        at, stop = places[line - item.body_line], places[end - item.body_line]
        text = body[at:stop].rstrip("\n") if len(starts) > 1 else body
        if text.strip():
            last, anchor = line + text.rstrip("\n").count("\n"), anchor_of(path[-1], text)
            yield SectionText(ordinal, path, text, line, last, (), ((at, at + len(text)),), chunk, anchor)


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
    total = sum(weight for weight, _, _ in terms)
    if total <= 0:
        return score
    for weight, matches, in_name in terms:
        places = np.asarray([start for start, _ in matches], np.int64)
        tf = (np.searchsorted(places, stops) - np.searchsorted(places, starts)) * _TEXT.weight / norm
        in_headings = [sum(np.diff(np.searchsorted(places, span))[0] for span in part.headings) for part in sections]
        tf += np.repeat(in_headings, counts) * _HEADINGS.weight
        tf += _TITLE.weight * in_name
        score += weight * tf / (K1 + tf)
        coverage += weight * (tf > 0)
    return keyword_score(score / total, coverage / total)
