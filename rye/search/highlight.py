"""Highlighting: which characters of an item's texts matched, and the passage of its body that shows the match best."""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from string import ascii_letters, ascii_uppercase, digits

import numpy as np

from rye.index import analysis
from rye.index.schema import TEXT_FIELDS
from rye.items.model import Item, Symbol
from rye.search.bound import Phrase
from rye.search.match import Matcher
from rye.search.phrase import Spans

_FEW_WORDS = 64
"""Up to this many words are searched for literally; for more, every chunk of the text is looked up."""

MOST = 10_000
"""Words that are marked in one text, the first ones."""

LOOKED_AT = 100_000
"""Places at which a text has the letters of one word that are looked at."""

Range = tuple[int, int]
Ranges = tuple[Range, ...]

PREVIEW_LENGTH = 200
LEAD = 50
"""Characters of a preview that lead up to the first mark, at most."""

_CHANGEABLE = re.compile(r"[\x00-\x7f]?[^\x00-\x7f]+")
_BLANK = re.compile(r"\s")
_WIDE = re.compile(r"\s{2,}|\A\s")
"""White space that becomes shorter when every run of it becomes one space, and none is left at the beginning."""

_SINGLE = frozenset(map(TEXT_FIELDS.index, ("title", "name", "description", "category", "id")))
"""Numbers of the fields that have one value, an attribute of the item."""

BODY = TEXT_FIELDS.index("content")
_SYMBOLS = TEXT_FIELDS.index("symbols")
_CAPITALS = frozenset(ascii_uppercase)
_ALNUM = frozenset(ascii_letters + digits)


class _ChunkRanges(dict[str, Ranges]):
    """The ranges of terms in each chunk of text, made when a chunk is first met: chunks recur on a page."""

    def __init__(self, terms: frozenset[str]) -> None:
        super().__init__()
        self._terms = terms

    def __missing__(self, chunk: str) -> Ranges:
        if analysis.is_plain(chunk):
            found: Ranges = ((0, len(chunk)),) if chunk in self._terms else ()
        else:
            found = tuple((token.start, token.end) for token in analysis.locate(chunk) if token.term in self._terms)
        self[chunk] = found
        return found


class Sought:
    """The words to mark in texts: terms wherever they stand, and ``(first, last)`` positions.

    Attributes:
        literal: Those of the terms that an ASCII text may have; None if they are too many to look for each, or if one
            may be cut.
        ranges: Where the terms are in a chunk.
    """

    __slots__ = ("literal", "positions", "ranges", "terms")

    def __init__(self, terms: frozenset[str], positions: Sequence[Range] = ()) -> None:
        self.terms = terms
        self.positions = positions
        self.ranges = _ChunkRanges(terms)
        plain = tuple(term for term in terms if term.isascii())
        few = len(plain) <= _FEW_WORDS and max(map(len, plain), default=0) < analysis.MAX_TERM
        self.literal = plain if few else None


def mark(text: str, sought: Sought) -> Ranges:
    """Return the character ranges of a text to mark, ascending and disjoint."""
    normalized = text if text.isascii() else analysis.normalize(text)
    found = sorted(
        islice(_at_positions(normalized, sought), MOST) if sought.positions else _of_terms(normalized, sought)
    )
    if found and normalized is not text and normalized != text:
        original = _Original(text)
        found = [(original.start(start), original.end(end)) for start, end in found]
    merged: list[Range] = []
    for start, end in found:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


def _of_terms(normalized: str, sought: Sought) -> list[Range]:
    """Return the ranges of terms wherever they stand, maybe some of them within others."""
    if sought.literal is None or not normalized.isascii():
        return _in_chunks(normalized, sought.ranges)
    lowered = joined = normalized.lower()
    for joiner in analysis.JOINERS:
        joined = joined.replace(joiner, "")
    here = [word for word in sought.literal if word in joined]
    # What is no joined form stands there literally. If taking out what joins does not make a word occur more often, no
    # joined form has it: a whole segment overlaps with no other occurrence.
    if len(joined) < len(lowered) and any(joined.count(word) != lowered.count(word) for word in here):
        return _in_chunks(normalized, sought.ranges)
    return _around(normalized, lowered, here, sought.ranges)


def _in_chunks(normalized: str, spans: Mapping[str, Ranges]) -> list[Range]:
    """Return the ranges of terms, one chunk after the other."""
    located = analysis.locate_chunks(normalized)
    return list(islice(((base + start, base + end) for base, chunk in located for start, end in spans[chunk]), MOST))


def _around(text: str, lowered: str, words: Sequence[str], spans: Mapping[str, Ranges]) -> list[Range]:
    """Return the ranges of terms in an ASCII text that has some words literally, and no joined form of them.

    A part begins and ends where its neighbour is no letter or digit, or at a capital. Between neighbours of the former
    kind stands a part as it is, if no capital is inside; where a capital plays a role, the chunk is split to know.
    """
    found: list[Range] = []
    done = 0
    for place, stop in sorted([place for word in words for place in islice(_every(word, lowered), LOOKED_AT)]):
        if place < done:
            continue
        if len(found) >= MOST:
            break
        before, after = text[place - 1 : place] in _ALNUM, text[stop : stop + 1] in _ALNUM
        if (before and text[place] not in _CAPITALS) or (after and text[stop] not in _CAPITALS):
            continue
        if not before and not after and text[place + 1 : stop] == lowered[place + 1 : stop]:
            found.append((place, stop))
            continue
        begin = max(done, text.rfind(" ", done, place) + 1, text.rfind("\n", done, place) + 1)
        for base, chunk in analysis.locate_chunks(text, begin):
            done = base + len(chunk)
            if done > place:
                found += ((base + first, base + last) for first, last in spans[chunk])
                break
    return found


def _every(word: str, text: str) -> Iterator[Range]:
    """Yield every range where a word stands literally, also those that overlap."""
    place = text.find(word)
    while place >= 0:
        yield place, place + len(word)
        place = text.find(word, place + 1)


def _at_positions(normalized: str, sought: Sought) -> Iterator[Range]:
    """Yield the ranges of words, and of the parts at the positions that matched."""
    inside = {position for first, last in sought.positions for position in range(first, last + 1)}
    position, end = 0, math.inf if sought.terms else max(inside)
    for base, chunk in analysis.locate_chunks(normalized):
        if position > end:
            return
        if analysis.is_plain(chunk):
            if position in inside or chunk in sought.terms:
                yield base, base + len(chunk)
            position += 1
            continue
        located = analysis.locate(chunk)
        for token in located:
            if token.term in sought.terms or (not token.joined and position + token.position in inside):
                yield base + token.start, base + token.end
        is_cut = len(chunk) > analysis.MAX_LOCATED
        position += sum(map(len, analysis.split_chunk(chunk))) if is_cut else sum(not token.joined for token in located)


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


@dataclass(frozen=True, slots=True)
class Matched:
    """The parts of an item that matched.

    Attributes:
        fields: Names of the fields, in field order.
        highlights: Field → ``[start, end)`` ranges in the field's text; ``preview`` for the preview.
        preview: The passage.
        symbols: Those whose names matched, the best first.
    """

    fields: tuple[str, ...]
    highlights: Mapping[str, Ranges]
    preview: str
    symbols: Sequence[Symbol] = ()


class Matches:
    """The matches of the positive term queries of a query in the documents of a page."""

    def __init__(self, matchers: Sequence[Matcher], docs: Iterable[int]) -> None:
        self._matchers = list(dict.fromkeys(matchers))  # equal ones are evaluated once
        patterns = [matcher.query.pattern for matcher in self._matchers]
        self._plain = [isinstance(pattern, Phrase) and pattern.single for pattern in patterns]
        self._docs = np.asarray(sorted(docs), np.int64)
        self._words: dict[tuple[int, ...], Sought] = {}
        self._spans: dict[int, dict[int, Spans]] = {}
        self._fields: dict[int, dict[int, list[int]]] = {}
        for number, matcher in enumerate(self._matchers):
            slots = matcher.slots_of(self._docs)
            for doc, field in zip(slots.docs.tolist(), slots.fields.tolist(), strict=True):
                self._fields.setdefault(doc, {}).setdefault(field, []).append(number)

    def wanted(self, doc: int, *, positions_hold: bool) -> dict[int, Sought]:
        """Return per field number, ascending, what was matched there in one of the documents."""
        fields = self._fields.get(doc, {})
        sought = {field: self._sought(tuple(fields[field])) for field in sorted(fields)}
        others = {number for numbers in fields.values() for number in numbers if not self._plain[number]}
        for number in others if positions_hold else ():
            if number not in self._spans:
                self._spans[number] = self._matchers[number].spans(self._docs)
            for field, spans in self._spans[number][doc].items():
                if number in fields.get(field, ()):
                    sought[field] = Sought(sought[field].terms, (*sought[field].positions, *map(tuple, spans.tolist())))
        return sought

    def _sought(self, numbers: tuple[int, ...]) -> Sought:
        """Return the terms of those of some term queries that are plain words; one object for the same queries."""
        if numbers not in self._words:
            terms = (self._matchers[number].words() for number in numbers if self._plain[number])
            self._words[numbers] = Sought(frozenset().union(*terms))
        return self._words[numbers]


def matched(item: Item, doc: int, matches: Matches, *, same_bytes: bool, section: int | None = None) -> Matched:
    """Return the parts of an item that a query matched.

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
    # Words are looked for only where the passage will be; positions are counted from the beginning of the body.
    body = wanted.get(BODY)
    start, end = within if within and body and not body.positions else (0, len(item.body))
    places = tuple((start + a, start + b) for a, b in mark(item.body[start:end], body)) if body else ()
    preview, ranges = _preview(item, places, within)
    if ranges:
        marks["preview"] = ranges
    symbols = _matched_symbols(item, wanted[_SYMBOLS]) if _SYMBOLS in wanted else ()
    return Matched(tuple(TEXT_FIELDS[number] for number in wanted), marks, preview, symbols)


def _matched_symbols(item: Item, what: Sought) -> list[Symbol]:
    """Return the symbols in whose names something matched, those with most matches first."""
    words, base = Sought(what.terms) if what.positions else what, 0
    ends = list(accumulate(len(symbol.name) + 1 for symbol in item.symbols))  # of their names, one on a line
    marked = mark("\n".join(symbol.name for symbol in item.symbols), words) if words.terms else ()
    counts = Counter(bisect_right(ends, start) for start, _ in marked)
    for number, symbol in enumerate(item.symbols if what.positions else ()):
        after = base + len(analysis.parts(symbol.name))  # positions count on over all names, with a gap behind each
        counts[number] += sum(base <= first < after for first, _ in what.positions)
        base = after + analysis.VALUE_GAP
    return [
        item.symbols[number] for number, count in sorted(counts.items(), key=lambda each: (-each[1], each[0])) if count
    ]


def passage(text: str, ranges: Ranges) -> str:
    """Return the best passage of a text, with single spaces, given the ascending ranges that matched in it."""
    begin = _passage_start(text, ranges) if ranges else 0
    return _squeeze(text[begin : begin + 4 * PREVIEW_LENGTH], (), PREVIEW_LENGTH)[0]


def _section_span(item: Item, ordinal: int) -> tuple[int, int] | None:
    """Return where the text of a section begins and ends in the body; None where it has none."""
    if not 0 <= ordinal < len(item.sections):
        return None
    section = item.sections[ordinal]
    lines = item.body.split("\n")
    first, last = section.text_line - item.body_line, section.end_line - item.body_line + 1
    start = sum(len(line) + 1 for line in lines[: max(first, 0)])
    text = "\n".join(lines[max(first, 0) : max(last, 0)])
    begin = len(text) - len(text.lstrip())
    return (start + begin, start + len(text)) if begin < len(text) else None


def _preview(item: Item, ranges: Ranges, within: tuple[int, int] | None = None) -> tuple[str, Ranges]:
    """Return the best passage of the body, with single spaces, and the ranges to mark in it.

    With ``within`` it begins there: at the best of the ranges, which ascend, else at its beginning.
    """
    body = item.body
    if within is not None:
        ranges = tuple((start, end) for start, end in ranges if within[0] <= start < within[1])
        if not ranges:
            return _squeeze(body[within[0] : min(within[1], within[0] + 4 * PREVIEW_LENGTH)], (), PREVIEW_LENGTH)
    if not ranges:
        return _squeeze(item.description or body[: 4 * PREVIEW_LENGTH], (), PREVIEW_LENGTH)
    begin = _passage_start(body, ranges, within[0] if within else 0)
    stop = min(len(body), begin + 4 * PREVIEW_LENGTH)
    inside = tuple((a - begin, min(b, stop) - begin) for a, b in ranges if begin <= a < stop)
    return _squeeze(body[begin:stop], inside, PREVIEW_LENGTH)


def _passage_start(text: str, ranges: Ranges, first: int = 0) -> int:
    """Return where the passage with the most marks begins, the first among equals, with what leads up to it."""
    starts = [start for start, _ in ranges]
    counts = [bisect_left(starts, start + PREVIEW_LENGTH - LEAD) - i for i, start in enumerate(starts)]
    best = starts[counts.index(max(counts))]
    begin = max(first, best - LEAD)
    space = _BLANK.search(text, begin, best) if begin > first else None
    return space.end() if space else begin


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
