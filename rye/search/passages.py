"""Which characters of an item's texts matched, and the passage of its body that shows the match best."""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from rye.index import analysis
from rye.index.schema import TEXT_FIELDS
from rye.items.model import Item
from rye.search.leaves import Found, Run

PREVIEW_LENGTH = 200
LEAD = 50
"""Characters of a preview that lead up to the first mark, at most."""

_MANY_WORDS = 64
"""Of more words than these none is looked for by itself."""

_LONG_TEXT = 100
"""Characters above which a text is searched for words before it is split."""

Ranges = tuple[tuple[int, int], ...]

_CHANGEABLE = re.compile(r"[\x00-\x7f]?[^\x00-\x7f]+")

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


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What to mark in one field: terms wherever they stand, and positions."""

    words: frozenset[str]
    places: Sequence[tuple[int, int]]


class Matches:
    """The evaluated positive leaves of a query, with the fields that each has in the documents of a page.

    Args:
        leaves: The leaves.
        docs: The documents, in any order.
    """

    def __init__(self, leaves: Sequence[Found], docs: Iterable[int]) -> None:
        self._leaves = leaves
        self._plain = [isinstance(found.leaf.pattern, Run) and len(found.leaf.pattern.parts) == 1 for found in leaves]
        self._unions: dict[tuple[int, ...], frozenset[str]] = {}
        self._fields: dict[int, dict[int, list[int]]] = {}
        ascending = np.asarray(sorted(docs), np.int64)
        for number, found in enumerate(leaves):
            slots = found.slots_of(ascending)
            for doc, field in zip(slots.docs.tolist(), slots.fields.tolist(), strict=True):
                self._fields.setdefault(doc, {}).setdefault(field, []).append(number)

    def wanted(self, doc: int, *, positions_hold: bool) -> dict[int, _Wanted]:
        """Return per field number, ascending, what the leaves matched there in one of the documents."""
        fields = self._fields.get(doc, {})
        others = {number for numbers in fields.values() for number in numbers if not self._plain[number]}
        places = {number: self._leaves[number].places(doc) for number in others} if positions_hold else {}
        return {
            field: _Wanted(
                self._words(tuple(number for number in fields[field] if self._plain[number])),
                [place for number in fields[field] if number in places for place in places[number].get(field, ())],
            )
            for field in sorted(fields)
        }

    def _words(self, numbers: tuple[int, ...]) -> frozenset[str]:
        """Return the terms of some leaves; one set for all documents that have the same leaves."""
        if numbers not in self._unions:
            self._unions[numbers] = frozenset().union(*(self._leaves[number].words for number in numbers))
        return self._unions[numbers]


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
        if number in _SINGLE and (found := _mark(getattr(item, TEXT_FIELDS[number]), what)):
            marks[TEXT_FIELDS[number]] = found
    within = None if section is None else _section_span(item, section)
    preview, ranges = _preview(item, _mark_body(item, wanted[_BODY], within) if _BODY in wanted else (), within)
    if ranges:
        marks["preview"] = ranges
    return Matched(tuple(TEXT_FIELDS[number] for number in wanted), marks, preview)


def places(item: Item, doc: int, matches: Matches, *, same_bytes: bool) -> Ranges:
    """Return the character ranges of an item's body that leaves matched; arguments as for :func:`matched`."""
    wanted = matches.wanted(doc, positions_hold=same_bytes)
    return _mark(item.body, wanted[_BODY]) if _BODY in wanted else ()


def passage(text: str, ranges: Ranges) -> str:
    """Return the best passage of a text, its white space made single.

    Args:
        text: The text.
        ranges: What matched in it, ascending.
    """
    begin = max(0, _best_start(ranges) - LEAD) if ranges else 0
    if begin:
        space = re.search(r"\s", text[begin : begin + LEAD])
        begin += space.end() if space else 0
    return _squeeze(text[begin : begin + 4 * PREVIEW_LENGTH], (), PREVIEW_LENGTH)[0]


def _mark(text: str, wanted: _Wanted) -> Ranges:
    """Return the character ranges of a text to mark, ascending, apart from each other."""
    normalized = analysis.normalize(text)
    found = sorted(_placed(normalized, wanted) if wanted.places else _worded(normalized, wanted.words))
    if found and normalized != text:
        original = _Original(text)
        found = [(original.start(start), original.end(end)) for start, end in found]
    merged: list[tuple[int, int]] = []
    for start, end in found:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


def _worded(normalized: str, words: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of words wherever they stand."""
    sought = _sought(words) if len(normalized) > _LONG_TEXT and normalized.isascii() else ()
    for base, chunk in _chunks_with(normalized, sought) if sought else analysis.locate_chunks(normalized):
        for start, end in _words_in(chunk, words):
            yield base + start, base + end


def _sought(words: frozenset[str]) -> tuple[str, ...]:
    """Return the ASCII words, which are all that an ASCII text has; none if there are too many or one may be cut."""
    plain = tuple(word for word in words if word.isascii())
    few = len(plain) <= _MANY_WORDS and max(map(len, plain), default=0) < analysis.MAX_TERM
    return plain if few else ()


def _chunks_with(text: str, words: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the chunks of an ASCII text that have any of some words, and maybe others.

    What is no joined form stands there literally. If taking out what joins does not make a word occur more often, no
    joined form has it: a whole segment overlaps with no other occurrence.
    """
    lowered = text.lower()
    joined = reduce(lambda left, joiner: left.replace(joiner, ""), analysis.JOINERS, lowered)
    if any(joined.count(word) != lowered.count(word) for word in words):
        yield from analysis.locate_chunks(text)
        return
    end = 0
    for place in sorted(place for word in words for place in _every(word, lowered)):
        if place < end:
            continue
        begin = max(end, text.rfind(" ", end, place) + 1, text.rfind("\n", end, place) + 1)
        for base, chunk in analysis.locate_chunks(text, begin):
            end = base + len(chunk)
            if end > place:
                yield base, chunk
                break


def _every(word: str, text: str) -> Iterator[int]:
    """Yield every place where a word stands literally."""
    place = text.find(word)
    while place >= 0:
        yield place
        place = text.find(word, place + len(word))


def _words_in(chunk: str, words: frozenset[str]) -> Ranges:
    if chunk.islower() and chunk.isalnum() and chunk.isascii() and len(chunk) <= analysis.MAX_TERM:
        return ((0, len(chunk)),) if chunk in words else ()
    return tuple((token.start, token.end) for token in analysis.locate(chunk) if token.term in words)


def _placed(normalized: str, wanted: _Wanted) -> Iterator[tuple[int, int]]:
    """Yield the ranges of words, and of the parts that stand at certain positions."""
    inside = {position for start, end in wanted.places for position in range(start, end + 1)}
    position = 0
    for base, chunk in analysis.locate_chunks(normalized):
        parts = 0
        for token in analysis.locate(chunk):
            parts += not token.joined
            if token.term in wanted.words or (not token.joined and position + token.position in inside):
                yield base + token.start, base + token.end
        position += parts


class _Original:
    """From places in a normalized text to places in the text it came from.

    Normalization changes only runs of non-ASCII characters, each maybe with the ASCII character it combines with. In
    these, what lies between changed clusters moves as a whole, and a place inside a changed cluster means all of it.
    """

    def __init__(self, text: str) -> None:
        self._changed: list[tuple[int, int, int, int]] = []
        shift = 0
        for match in _CHANGEABLE.finditer(text):
            if analysis.normalize(match.group()) == match.group():
                continue
            for offset, cluster in _clusters(match.group()):
                begin, normalized = match.start() + offset, analysis.normalize(cluster)
                if normalized != cluster:
                    self._changed.append((begin + shift, begin + shift + len(normalized), begin, begin + len(cluster)))
                    shift += len(normalized) - len(cluster)

    def _before(self, place: int) -> tuple[int, int, int, int]:
        at = bisect_right(self._changed, (place, math.inf, 0, 0)) - 1
        return self._changed[at] if at >= 0 else (0, 0, 0, 0)

    def start(self, place: int) -> int:
        """Return the original place of the first character of a range."""
        _, stop, begin, end = self._before(place)
        return begin if place < stop else end + place - stop

    def end(self, place: int) -> int:
        """Return the original place behind the last character of a range."""
        _, stop, _, end = self._before(place - 1)
        return end if place <= stop else end + place - stop


def _clusters(text: str) -> Iterator[tuple[int, str]]:
    """Split a text into pieces that are normalized each by itself, with the place of each.

    A mark belongs to what is before it, and so does a character that composes with that, as the letters of Hangul do.
    """
    begin = 0
    for at in range(1, len(text)):
        if unicodedata.combining(text[at]):
            continue
        before = text[max(begin, at - 3) : at]
        if analysis.normalize(before + text[at]) == analysis.normalize(before) + analysis.normalize(text[at]):
            yield begin, text[begin:at]
            begin = at
    yield begin, text[begin:]


def _mark_body(item: Item, wanted: _Wanted, within: tuple[int, int] | None) -> Ranges:
    """Return what to mark in the body; words are looked for only where the passage will be."""
    if within is None or wanted.places:
        return _mark(item.body, wanted)
    start, end = within
    return tuple((start + first, start + last) for first, last in _mark(item.body[start:end], wanted))


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
        space = re.search(r"\s", body[begin:start])
        begin += space.end() if space else 0
    stop = min(len(body), begin + 4 * PREVIEW_LENGTH)
    inside = tuple((a - begin, min(b, stop) - begin) for a, b in ranges if begin <= a < stop)
    return _squeeze(body[begin:stop], inside, PREVIEW_LENGTH)


def _best_start(ranges: Ranges) -> int:
    """Return where the window with the most marks begins, what leads up to it left out; the first among equals."""
    starts = [start for start, _ in ranges]
    counts = [bisect_left(starts, start + PREVIEW_LENGTH - LEAD) - i for i, start in enumerate(starts)]
    return starts[counts.index(max(counts))]


def _squeeze(text: str, ranges: Ranges, limit: int) -> tuple[str, Ranges]:
    """Make every run of white space one space and cut to ``limit``, moving the ranges along."""
    squeezed = " ".join(text.split())
    cut = squeezed[:limit].rstrip()
    if len(squeezed) > limit and " " in cut:
        cut = cut[: cut.rindex(" ")] + "…"
    moved = [(_squeezed_place(text, a), min(_squeezed_place(text, b), len(cut))) for a, b in ranges]
    return cut, tuple((a, b) for a, b in moved if a < b)


def _squeezed_place(text: str, place: int) -> int:
    """Return where a character stands once every run of white space before it is one space."""
    before = " ".join(text[:place].split())
    return len(before) + (1 if before and text[place - 1].isspace() else 0)
