"""Which characters of an item's texts matched, and the passage of its body that shows the match best."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rye.index.schema import TEXT_FIELDS
from rye.items.model import Item
from rye.search.leaves import Found, Run
from rye.search.marks import Ranges, Sought, mark
from rye.search.placed import Places

PREVIEW_LENGTH = 200
LEAD = 50
"""Characters of a preview that lead up to the first mark, at most."""

_BLANK = re.compile(r"\s")
_WIDE = re.compile(r"\s{2,}|\A\s")
"""White space of which something is lost when every run of it becomes one blank, and none is left at the beginning."""

_SINGLE = frozenset(map(TEXT_FIELDS.index, ("title", "name", "description", "category", "id")))
"""Numbers of the fields that have one value, an attribute of the item."""

_BODY = TEXT_FIELDS.index("content")


@dataclass(frozen=True, slots=True)
class Matched:
    """What of an item matched.

    Attributes:
        fields: Names of the fields, in field order.
        highlights: Field → ``[start, end)`` ranges in the field's text; ``preview`` for the preview.
        preview: The passage.
    """

    fields: tuple[str, ...]
    highlights: Mapping[str, Ranges]
    preview: str


class Matches:
    """The evaluated positive leaves of a query, with the fields that each has in the documents of a page.

    Args:
        leaves: The leaves.
        docs: The documents, in any order.
    """

    def __init__(self, leaves: Sequence[Found], docs: Iterable[int]) -> None:
        self._leaves = leaves = list(dict.fromkeys(leaves))  # equal ones are evaluated as one
        self._plain = [isinstance(found.leaf.pattern, Run) and len(found.leaf.pattern.parts) == 1 for found in leaves]
        self._everywhere: dict[tuple[int, ...], Sought] = {}
        self._fields: dict[int, dict[int, list[int]]] = {}
        ascending = np.asarray(sorted(docs), np.int64)
        self._places: dict[int, Places] = {}
        self._docs = ascending
        for number, found in enumerate(leaves):
            slots = found.slots_of(ascending)
            for doc, field in zip(slots.docs.tolist(), slots.fields.tolist(), strict=True):
                self._fields.setdefault(doc, {}).setdefault(field, []).append(number)

    def wanted(self, doc: int, *, positions_hold: bool) -> dict[int, Sought]:
        """Return per field number, ascending, what the leaves matched there in one of the documents."""
        fields = self._fields.get(doc, {})
        sought = {field: self._words(tuple(fields[field])) for field in sorted(fields)}
        others = {number for numbers in fields.values() for number in numbers if not self._plain[number]}
        for number in others if positions_hold else ():
            if number not in self._places:
                self._places[number] = self._leaves[number].places(self._docs)
            for field, places in self._places[number].of(doc).items():
                if number in fields.get(field, ()):
                    sought[field] = Sought(sought[field].terms, (*sought[field].places, *places))
        return sought

    def _words(self, numbers: tuple[int, ...]) -> Sought:
        """Return the terms of those of some leaves that are plain words; the same value for the same leaves."""
        found = self._everywhere.get(numbers)
        if found is None:
            terms = (self._leaves[number].words for number in numbers if self._plain[number])
            found = self._everywhere[numbers] = Sought(frozenset().union(*terms))
        return found


def matched(item: Item, doc: int, matches: Matches, *, same_bytes: bool, section: int | None = None) -> Matched:
    """Return what the positive leaves of a query matched in one item.

    Args:
        item: The item as it is on disk now.
        doc: Its number in the index.
        matches: What was found; the item is one of its documents.
        same_bytes: Whether the index was made from these bytes, so that its positions hold.
        section: Ordinal of the section that the preview is to show; None or none of the item's: the best passage.
    """
    wanted = matches.wanted(doc, positions_hold=same_bytes)
    marks: dict[str, Ranges] = {}
    for number, what in wanted.items():
        if number in _SINGLE and (found := mark(getattr(item, TEXT_FIELDS[number]), what)):
            marks[TEXT_FIELDS[number]] = found
    within = None if section is None else _section_span(item, section)
    preview, ranges = _preview(item, _mark_body(item, wanted[_BODY], within) if _BODY in wanted else (), within)
    if ranges:
        marks["preview"] = ranges
    return Matched(tuple(TEXT_FIELDS[number] for number in wanted), marks, preview)


def places(item: Item, doc: int, matches: Matches, *, same_bytes: bool) -> Ranges:
    """Return the character ranges of an item's body that leaves matched; arguments as for :func:`matched`."""
    wanted = matches.wanted(doc, positions_hold=same_bytes)
    return mark(item.body, wanted[_BODY]) if _BODY in wanted else ()


def passage(text: str, ranges: Ranges) -> str:
    """Return the best passage of a text, its white space made single.

    Args:
        text: The text.
        ranges: What matched in it, ascending.
    """
    begin = max(0, _best_start(ranges) - LEAD) if ranges else 0
    if begin:
        space = _BLANK.search(text, begin, begin + LEAD)
        begin = space.end() if space else begin
    return _squeeze(text[begin : begin + 4 * PREVIEW_LENGTH], (), PREVIEW_LENGTH)[0]


def _mark_body(item: Item, wanted: Sought, within: tuple[int, int] | None) -> Ranges:
    """Return what to mark in the body; words are looked for only where the passage will be."""
    if within is None or wanted.places:
        return mark(item.body, wanted)
    start, end = within
    return tuple((start + first, start + last) for first, last in mark(item.body[start:end], wanted))


def _section_span(item: Item, ordinal: int) -> tuple[int, int] | None:
    """Return where the text of a section begins and ends in the body; None where it has none."""
    if not 0 <= ordinal < len(item.sections):
        return None
    section = item.sections[ordinal]
    lines = item.body.split("\n")
    first, last = section.line - item.body_line + (section.level > 0), section.end_line - item.body_line + 1
    start = sum(len(line) + 1 for line in lines[: max(first, 0)])
    text = "\n".join(lines[max(first, 0) : max(last, 0)])
    begin = len(text) - len(text.lstrip())
    return (start + begin, start + len(text)) if begin < len(text) else None


def _preview(item: Item, ranges: Ranges, within: tuple[int, int] | None = None) -> tuple[str, Ranges]:
    """Return the best passage of the body, its white space made single, and the ranges to mark in it.

    Args:
        item: The item.
        ranges: What to mark, ascending.
        within: Where the passage is to begin: at the best marks there, else at its beginning.
    """
    body = item.body
    if within is not None:
        ranges = tuple((start, end) for start, end in ranges if within[0] <= start < within[1])
        if not ranges:
            return _squeeze(body[within[0] : min(within[1], within[0] + 4 * PREVIEW_LENGTH)], (), PREVIEW_LENGTH)
    if not ranges:
        return _squeeze(item.description or body[: 4 * PREVIEW_LENGTH], (), PREVIEW_LENGTH)
    start = _best_start(ranges)
    first = within[0] if within else 0
    begin = max(first, start - LEAD)
    if begin > first:
        space = _BLANK.search(body, begin, start)
        begin = space.end() if space else begin
    stop = min(len(body), begin + 4 * PREVIEW_LENGTH)
    inside = tuple((a - begin, min(b, stop) - begin) for a, b in ranges if begin <= a < stop)
    return _squeeze(body[begin:stop], inside, PREVIEW_LENGTH)


def _best_start(ranges: Ranges) -> int:
    """Return where the window with the most marks begins, what leads up to it left out; the first among equals."""
    starts = [start for start, _ in ranges]
    if starts[-1] < starts[0] + PREVIEW_LENGTH - LEAD:
        return starts[0]
    counts = [bisect_left(starts, start + PREVIEW_LENGTH - LEAD) - i for i, start in enumerate(starts)]
    return starts[counts.index(max(counts))]


def _squeeze(text: str, ranges: Ranges, limit: int) -> tuple[str, Ranges]:
    """Make every run of white space one space and cut to ``limit``, moving the ranges along."""
    for piece in (text[: 2 * limit], text):
        squeezed = " ".join(piece.split())
        if len(squeezed) > limit:
            break
    cut = squeezed[:limit].rstrip()
    if len(squeezed) > limit and " " in cut:
        cut = cut[: cut.rindex(" ")] + "…"
    if ranges and len(squeezed) < len(piece):
        ranges = _moved(piece, ranges)
    return cut, tuple((start, min(end, len(cut))) for start, end in ranges if start < len(cut))


def _moved(text: str, ranges: Ranges) -> Ranges:
    """Return where ranges stand once every run of white space of a text is one space, and none at its beginning."""
    ends, lost = [0], [0]
    for run in _WIDE.finditer(text, 0, ranges[-1][1]):
        ends.append(run.end())
        lost.append(lost[-1] + run.end() - run.start() - (run.start() > 0))
    return tuple(
        (start - lost[bisect_right(ends, start) - 1], end - lost[bisect_right(ends, end) - 1]) for start, end in ranges
    )
