"""Which characters of a text are the words that a query asks for."""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from string import ascii_letters, ascii_uppercase, digits

from rye.index import analysis

__all__ = ["Ranges", "Sought", "mark"]

_FEW_WORDS = 64
"""Of more words than these none is looked for by itself."""

MOST = 10_000
"""Words that are marked in one text, the first ones."""

LOOKED_AT = 100_000
"""Places at which a text has the letters of one word that are looked at."""

Range = tuple[int, int]
Ranges = tuple[Range, ...]

_CHANGEABLE = re.compile(r"[\x00-\x7f]?[^\x00-\x7f]+")

_CAPITALS = frozenset(ascii_uppercase)
_ALNUM = frozenset(ascii_letters + digits)


class _Spans(dict[str, Ranges]):
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
    """What to mark in texts: terms wherever they stand, and positions.

    Args:
        terms: The terms.
        places: The ``(first, last)`` positions.

    Attributes:
        literal: Those of the terms that an ASCII text may have; None if they are too many to look for each, or if one
            may be cut.
        spans: Where the terms are in a chunk.
    """

    __slots__ = ("literal", "places", "spans", "terms")

    def __init__(self, terms: frozenset[str], places: Sequence[Range] = ()) -> None:
        self.terms = terms
        self.places = places
        self.spans = _Spans(terms)
        plain = tuple(term for term in terms if term.isascii())
        few = len(plain) <= _FEW_WORDS and max(map(len, plain), default=0) < analysis.MAX_TERM
        self.literal = plain if few else None


def mark(text: str, sought: Sought) -> Ranges:
    """Return the character ranges of a text to mark, ascending, apart from each other."""
    normalized = text if text.isascii() else analysis.normalize(text)
    found = sorted(islice(_placed(normalized, sought), MOST) if sought.places else _worded(normalized, sought))
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


def _worded(normalized: str, sought: Sought) -> list[Range]:
    """Return the ranges of words wherever they stand, maybe some of them within others."""
    if sought.literal is None or not normalized.isascii():
        return _in_chunks(normalized, sought.spans)
    lowered = joined = normalized.lower()
    for joiner in analysis.JOINERS:
        joined = joined.replace(joiner, "")
    here = [word for word in sought.literal if word in joined]
    # What is no joined form stands there literally. If taking out what joins does not make a word occur more often, no
    # joined form has it: a whole segment overlaps with no other occurrence.
    if len(joined) < len(lowered) and any(joined.count(word) != lowered.count(word) for word in here):
        return _in_chunks(normalized, sought.spans)
    return _around(normalized, lowered, here, sought.spans)


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


def _placed(normalized: str, sought: Sought) -> Iterator[Range]:
    """Yield the ranges of words, and of the parts that stand at certain positions."""
    inside = {position for first, last in sought.places for position in range(first, last + 1)}
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
