"""Choose the passage of a text with the most matches, and collapse its white space."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np

from rye.items.model import Item
from rye.search.marks import Range, Ranges

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
