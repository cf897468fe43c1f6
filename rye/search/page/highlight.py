"""Highlighting: which fields of an item matched, which of their characters, and the passage with the most of them."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain
from typing import NamedTuple

import numpy as np

from rye.index.segment.postings import POSITION_BITS
from rye.index.storage.arrays import unique
from rye.index.text import analysis
from rye.index.text.schema import TEXT_FIELDS
from rye.items.model import Item, Symbol
from rye.search.matching.bound import BoundPhrase
from rye.search.matching.positions import Spans
from rye.search.matching.term import Term
from rye.search.page.marks import HighlightRequest, Range, Ranges, mark_all

PREVIEW_LENGTH = 200
LEAD = 50
"""Most characters of a preview before the first mark."""

_BLANK = re.compile(r"\s")
_WIDE = re.compile(r"\s\s+")


def passage(text: str, ranges: Ranges) -> str:
    """Return the best passage of a text, with single spaces, given the ascending ranges that matched."""
    begin = _passage_start(text, ranges) if ranges else 0
    return _squeeze(text[begin : begin + 4 * PREVIEW_LENGTH], ())[0]


def section_span(item: Item, ordinal: int) -> tuple[int, int] | None:
    """Return where the text of a section begins and ends in the body; None if it has no text."""
    if not 0 <= ordinal < len(item.sections):
        return None
    start, end = item.sections[ordinal].span
    return (start, end) if start < end else None


def preview(item: Item, ranges: Ranges, within: Range | None = None) -> tuple[str, Ranges, int]:
    """Return the best passage of the body, with single spaces, the ranges to mark in it, and the place of the first.

    ``within`` limits the start of the passage: it begins at the best range inside, else at the start of ``within``. The
    ranges must ascend.
    """
    body = item.body
    if within is not None:
        ranges = tuple((start, end) for start, end in ranges if within[0] <= start < within[1])
        if not ranges:
            end = min(within[1], within[0] + 4 * PREVIEW_LENGTH)
            return *_squeeze(body[within[0] : end], ()), within[0]
    if not ranges:
        return *_squeeze(item.description or body[: 4 * PREVIEW_LENGTH], ()), 0
    begin = _passage_start(body, ranges, within[0] if within else 0)
    stop = min(len(body), begin + 4 * PREVIEW_LENGTH)
    first = bisect_left(ranges, (begin,))
    inside = [(a - begin, min(b, stop) - begin) for a, b in ranges[first : bisect_left(ranges, (stop,))]]
    return *_squeeze(body[begin:stop], inside), begin + inside[0][0]


def _passage_start(text: str, ranges: Ranges, first: int = 0) -> int:
    """Return the start of the passage with the most marks, the first of equals, with some text before the marks."""
    best, width = ranges[0][0], PREVIEW_LENGTH - LEAD
    if ranges[-1][0] >= best + width:
        starts = np.asarray([start for start, _ in ranges])
        best = int(starts[(starts.searchsorted(starts + width) - np.arange(len(starts))).argmax()])
    begin = max(first, best - LEAD)
    space = _BLANK.search(text, begin, best) if begin > first else None
    return space.end() if space else begin


def _squeeze(text: str, ranges: Sequence[Range]) -> tuple[str, Ranges]:
    """Collapse white space to single spaces, cut to :data:`PREVIEW_LENGTH`, and move the ranges accordingly."""
    for piece in (text[: PREVIEW_LENGTH + LEAD], text):
        cut = squeezed = " ".join(piece.split())
        if len(squeezed) > PREVIEW_LENGTH:
            cut = squeezed[:PREVIEW_LENGTH].rstrip()
            cut = cut[: cut.rindex(" ")] + "…" if " " in cut else cut
            break
    if ranges and len(squeezed) < len(piece):
        ranges = _moved(piece, ranges)
    end = len(cut)
    return cut, tuple([(first, min(last, end)) for first, last in ranges if first < end])


def _moved(text: str, ranges: Sequence[Range]) -> Sequence[Range]:
    """Return the ranges as they are after leading white space is removed and every other run of it is one space."""
    lead = len(text) - len(text.lstrip())
    ends, lost = [0, lead], [0, lead]
    for run in _WIDE.finditer(text, lead, ranges[-1][1]):
        ends.append(run.end())
        lost.append(lost[-1] + run.end() - run.start() - 1)
    if len(ends) == 2 and not lead:
        return ranges
    return [
        (start - lost[bisect_right(ends, start) - 1], end - lost[bisect_right(ends, end) - 1]) for start, end in ranges
    ]


_SINGLE = frozenset(map(TEXT_FIELDS.index, ("title", "name", "description", "category", "id")))
"""Numbers of the fields that have one value, an attribute of the item."""

BODY = TEXT_FIELDS.index("content")
_SYMBOLS = TEXT_FIELDS.index("symbols")
_NO_SPANS = np.empty((0, 2), np.int64)
_MARKED = _SINGLE | {BODY, _SYMBOLS}


class Matched(NamedTuple):
    """The parts of an item that matched.

    Attributes:
        fields: Names of the fields, in field order.
        highlights: Field → ``[start, end)`` ranges in the field's text; ``preview`` for the preview.
        preview: The passage.
        symbols: Symbols whose names matched, the best first.
        line: 1-based line in the file of the first symbol, else of the first match in the passage, else 1.
    """

    fields: tuple[str, ...]
    highlights: Mapping[str, Ranges]
    preview: str
    symbols: Sequence[Symbol] = ()
    line: int = 1


class Matches:
    """The matches of the positive term queries of a query in the documents of a page."""

    def __init__(self, terms: Sequence[Term], docs: Iterable[int]) -> None:
        self._terms = list(dict.fromkeys(terms))  # evaluate equal terms once
        patterns = [term.query.pattern for term in self._terms]
        self._placed = {
            at for at, pattern in enumerate(patterns) if not (isinstance(pattern, BoundPhrase) and pattern.is_single)
        }
        self._docs = np.asarray(sorted(docs), np.int64)
        self._words: dict[tuple[int, ...], HighlightRequest] = {}
        self._spans: dict[int, dict[int, Spans]] = {}
        self._fields: dict[int, dict[int, tuple[int, ...]]] = {doc: {} for doc in self._docs.tolist()}
        for number, term in enumerate(self._terms):
            for doc, field in term.fields_of(self._docs):
                fields = self._fields[doc]
                fields[field] = (*fields.get(field, ()), number)

    def requests(self, doc: int, *, positions_hold: bool) -> dict[int, HighlightRequest]:
        """Return per field number, ascending, what was matched in this field of a document."""
        fields = self._fields[doc]
        requests = {field: self._request(fields[field]) for field in sorted(fields)}
        placed = self._placed.intersection(chain(*fields.values())) if positions_hold and self._placed else ()
        for number in placed:
            if number not in self._spans:
                self._spans[number] = self._terms[number].spans(self._docs)
        for field, request in requests.items():
            spans = [self._spans[number][doc].get(field, _NO_SPANS) for number in placed if number in fields[field]]
            if spans:
                keys = unique(*[(span[:, 0] << POSITION_BITS) | span[:, 1] for span in spans])
                both = np.array((keys >> POSITION_BITS, keys & ((1 << POSITION_BITS) - 1))).T
                requests[field] = request._replace(positions=both)
        return requests

    def _request(self, numbers: tuple[int, ...]) -> HighlightRequest:
        """Return the terms of those term queries that are plain words. Cached per combination of queries."""
        if numbers not in self._words:
            terms = (self._terms[number].words for number in numbers if number not in self._placed)
            self._words[numbers] = HighlightRequest(frozenset().union(*terms))
        return self._words[numbers]


class Shown(NamedTuple):
    """An item to show.

    Attributes:
        item: The item as it is on disk now.
        doc: Its number in the index.
        same_bytes: Whether the index was made from these bytes, so that its positions are valid.
        section: Ordinal of the section to preview; None, or a number the item does not have, for the best passage.
    """

    item: Item
    doc: int
    same_bytes: bool
    section: int | None = None


def matched(several: Sequence[Shown], matches: Matches) -> Iterator[Matched]:
    """Yield for each item the parts that a query matched. The items must be documents of ``matches``."""
    texts, rows = list[tuple[str, HighlightRequest]](), []
    for shown in several:
        requests = matches.requests(shown.doc, positions_hold=shown.same_bytes)
        within = None if shown.section is None else section_span(shown.item, shown.section)
        for number, request in requests.items():
            if number in _SINGLE:
                texts.append((getattr(shown.item, TEXT_FIELDS[number]), request))
            elif number == _SYMBOLS:
                names = "\n".join([symbol.name.replace("\n", " ") for symbol in shown.item.symbols])
                texts.append((names, HighlightRequest(request.terms)))
            elif number == BODY:
                # Search words only in the section to preview; positions need the text from its beginning.
                cut = slice(*within) if within and not len(request.positions) else slice(None)
                texts.append((shown.item.body[cut], request))
        rows.append((shown.item, requests, within))
    marked = iter(mark_all(texts))
    for item, requests, within in rows:
        yield _matched(item, requests, {number: next(marked) for number in requests if number in _MARKED}, within)


def _matched(
    item: Item, requests: Mapping[int, HighlightRequest], ranges_by_field: Mapping[int, Ranges], within: Range | None
) -> Matched:
    """Return the parts of one item that matched, given the ranges to mark per field."""
    marks = {TEXT_FIELDS[number]: ranges for number, ranges in ranges_by_field.items() if ranges and number in _SINGLE}
    places = ranges_by_field.get(BODY, ())
    if within and BODY in requests and not len(requests[BODY].positions):
        places = tuple([(within[0] + a, within[0] + b) for a, b in places])
    shown, ranges, place = preview(item, places, within)
    if ranges:
        marks["preview"] = ranges
    symbols = _matched_symbols(item, requests[_SYMBOLS], ranges_by_field[_SYMBOLS]) if _SYMBOLS in requests else ()
    line = symbols[0].line if symbols else item.body_line + item.body.count("\n", 0, place) if ranges or within else 1
    return Matched(tuple([TEXT_FIELDS[number] for number in requests]), marks, shown, symbols, line)


def _matched_symbols(item: Item, request: HighlightRequest, places: Ranges) -> list[Symbol]:
    """Return the symbols whose names matched, most matches first."""
    ends, base = [*accumulate([len(symbol.name) + 1 for symbol in item.symbols])], 0
    counts = [0] * len(ends)
    for start, _ in places:
        counts[bisect_right(ends, start)] += 1
    firsts = np.sort(request.positions[:, 0]).tolist()
    for number, symbol in enumerate(item.symbols if firsts else ()):
        after = base + len(analysis.parts(symbol.name))  # positions continue over all names, with a gap after each
        counts[number] += bisect_left(firsts, after) - bisect_left(firsts, base)
        base = after + analysis.VALUE_GAP
    having = [number for number, count in enumerate(counts) if count]
    return [item.symbols[number] for number in sorted(having, key=counts.__getitem__, reverse=True)]
