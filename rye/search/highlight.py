"""Highlighting: which characters of an item's texts matched."""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, islice
from string import ascii_letters, ascii_uppercase, digits
from typing import NamedTuple

import numpy as np

from rye._text import has_invisible
from rye.index import analysis
from rye.index.schema import TEXT_FIELDS
from rye.items.model import Item, Symbol
from rye.search.bound import Phrase
from rye.search.match import Matcher
from rye.search.passage import Range, Ranges, preview, section_span
from rye.search.phrase import Spans

_FEW_WORDS = 32
"""Up to this many words are searched for literally; for more, every chunk of the text is looked up."""

MOST = 10_000
"""Words that are marked in one text, the first ones."""

LOOKED_AT = 100_000
"""Places at which a text has the letters of one word that are looked at."""

_ODD = re.compile(r"[^\x00-\x7f]+")
_COMPOSING = re.compile(r"[\u1161-\u11c2]")
"""Letters of Hangul that compose with the one before."""

_SIGN = re.compile(r"[^\x00-\x7f\w]")
_JOINED = re.compile(r"[A-Za-z0-9]++(?:[_\-./]++[A-Za-z0-9]++)++")
"""A chunk of several segments, in ASCII text."""

_BETWEEN = re.compile(r"[^A-Za-z0-9_\-./]++")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]*[a-z0-9]+|[A-Z]+")
"""A part of a chunk, in ASCII text."""

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
            found = tuple([(token.start, token.end) for token in analysis.locate(chunk) if token.term in self._terms])
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
        plain = [term for term in terms if term.isascii()]
        few = len(plain) <= _FEW_WORDS and max(map(len, plain), default=0) < analysis.MAX_TERM
        self.literal = plain if few else None


def mark(text: str, sought: Sought) -> Ranges:
    """Return the character ranges of a text to mark, ascending and disjoint."""
    read, is_moved = (text, False) if text.isascii() else _read(text)
    found = _at_positions(read, sought) if sought.positions else _of_terms(read, sought)
    found.sort()
    del found[MOST:]
    if found and is_moved:
        original = _Original(text)
        found = [(original.start(start), original.end(end)) for start, end in found]
    merged: list[Range] = []
    for start, end in found:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


def _read(text: str) -> tuple[str, bool]:
    """Return a text in normalized form with spaces for signs that end a word, and whether places in it are others.

    Most texts whose letters are ASCII have a few dashes and arrows; without them they are read much faster.
    """
    forms = _forms(frozenset("".join(_ODD.findall(text))))
    if forms is None:
        normalized = analysis.normalize(text)
        return normalized, normalized != text
    read = _ODD.sub(lambda run: "".join(map(forms.__getitem__, run[0])), text)
    return read, len(read) != len(text)  # no form is empty


@lru_cache(256)
def _forms(odd: frozenset[str]) -> Mapping[str, str] | None:
    """Return what each of some characters is read as; None where that depends on what stands around them."""
    forms = {char: analysis.normalize(char) for char in odd}
    text = "".join(forms.values())
    if has_invisible("".join(odd)) or _COMPOSING.search(text) or not all(forms.values()):
        return None
    if any(unicodedata.category(char)[0] == "M" for char in text):
        return None
    return {char: _SIGN.sub(" ", form) for char, form in forms.items()}


def _of_terms(normalized: str, sought: Sought) -> list[Range]:
    """Return the ranges of terms wherever they stand, maybe some of them within others."""
    if sought.literal is None or not normalized.isascii():
        return _in_chunks(normalized, sought.ranges)
    lowered = joined = normalized.lower()
    for joiner in analysis.JOINERS:
        joined = joined.replace(joiner, "")
    here = [word for word in sought.literal if word in joined]
    found = _around(normalized, lowered, here, sought.ranges)
    # What is no joined form stands there literally. If taking out what joins does not make a word occur more often, no
    # joined form has it: a whole segment overlaps with no other occurrence.
    if len(joined) < len(lowered) and any(joined.count(word) != lowered.count(word) for word in here):
        for match in islice(_JOINED.finditer(normalized), LOOKED_AT):
            found += ((match.start() + start, match.start() + end) for start, end in sought.ranges[match.group()])
    return found


def _in_chunks(normalized: str, spans: Mapping[str, Ranges]) -> list[Range]:
    """Return the ranges of terms, one chunk after the other."""
    pieces = analysis.pieces(normalized)
    having = [number for number in range(1, len(pieces), 2) if spans[pieces[number]]][:MOST]
    starts = list(accumulate(map(len, pieces), initial=0)) if having else []
    found = (
        (starts[number] + start, starts[number] + end) for number in having for start, end in spans[pieces[number]]
    )
    return list(islice(found, MOST))


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


def _at_positions(normalized: str, sought: Sought) -> list[Range]:
    """Return the ranges of words, and of the parts at the positions that matched."""
    inside = sorted({position for first, last in sought.positions for position in range(first, last + 1)})
    if normalized.isascii() and (
        len(normalized) <= analysis.MAX_LOCATED or _longest(normalized) <= analysis.MAX_LOCATED
    ):
        found, parts, at = _of_terms(normalized, sought) if sought.terms else [], _PART.finditer(normalized), 0
        for position in inside:
            if (match := next(islice(parts, position - at, None), None)) is None:
                break
            found.append(match.span())
            at = position + 1
        return found
    return list(islice(_located_at(normalized, sought, frozenset(inside)), MOST))


def _longest(text: str) -> int:
    """Return a bound of the length of every chunk of an ASCII text."""
    return max(map(len, _BETWEEN.split(text)))


def _located_at(normalized: str, sought: Sought, inside: frozenset[int]) -> Iterator[Range]:
    """Yield the same in order, chunk by chunk, of any text."""
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
        for match in _ODD.finditer(text):
            first = max(match.start() - 1, 0)  # a mark composes with the letter before it
            for offset, length, normalized in _changes(text[first : match.end()]):
                begin = first + offset
                self._changed.append((begin + shift, begin + shift + normalized, begin, begin + length))
                shift += normalized - length

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


@lru_cache(4096)
def _changes(run: str) -> tuple[tuple[int, int, int], ...]:
    """Return place and length of every cluster of a run that normalization changes, and its length then."""
    if analysis.normalize(run) == run:
        return ()
    changed = ((offset, cluster, analysis.normalize(cluster)) for offset, cluster in _clusters(run))
    return tuple((offset, len(cluster), len(after)) for offset, cluster, after in changed if after != cluster)


def _clusters(text: str) -> Iterator[tuple[int, str]]:
    """Split a text into pieces that are normalized each by itself, with the place of each.

    To what is before it belongs a mark, what nobody sees, and what composes with that, as the letters of Hangul do.
    """
    begin = 0
    for at in range(1, len(text)):
        if unicodedata.combining(text[at]) or not analysis.normalize(text[at]):
            continue
        before = text[max(begin, at - 3) : at]
        if analysis.normalize(before + text[at]) == analysis.normalize(before) + analysis.normalize(text[at]):
            yield begin, text[begin:at]
            begin = at
    yield begin, text[begin:]


class Matched(NamedTuple):
    """The parts of an item that matched.

    Attributes:
        fields: Names of the fields, in field order.
        highlights: Field → ``[start, end)`` ranges in the field's text; ``preview`` for the preview.
        preview: The passage.
        symbols: Those whose names matched, the best first.
        line: 1-based line of the file: of the first of them, else where the passage first matches, else 1.
    """

    fields: tuple[str, ...]
    highlights: Mapping[str, Ranges]
    preview: str
    symbols: Sequence[Symbol] = ()
    line: int = 1


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
    within = None if section is None else section_span(item, section)
    body = wanted.get(BODY)
    # Words are looked for only where the passage will be; positions are counted from the beginning of the body.
    if within and body and not body.positions:
        places = tuple((within[0] + a, within[0] + b) for a, b in mark(item.body[slice(*within)], body))
    else:
        places = mark(item.body, body) if body else ()
    shown, ranges, place = preview(item, places, within)
    if ranges:
        marks["preview"] = ranges
    symbols = _matched_symbols(item, wanted[_SYMBOLS]) if _SYMBOLS in wanted else ()
    line = symbols[0].line if symbols else item.body_line + item.body.count("\n", 0, place) if ranges or within else 1
    return Matched(tuple([TEXT_FIELDS[number] for number in wanted]), marks, shown, symbols, line)


def _matched_symbols(item: Item, what: Sought) -> list[Symbol]:
    """Return the symbols in whose names something matched, those with most matches first."""
    words, base = Sought(what.terms) if what.positions else what, 0
    names = "\n".join([symbol.name.replace("\n", " ") for symbol in item.symbols])
    counts, number, counted = [0] * len(item.symbols), 0, 0
    for start, _ in mark(names, words) if words.terms else ():
        number, counted = number + names.count("\n", counted, start), start
        counts[number] += 1
    firsts = sorted([first for first, _ in what.positions])
    for number, symbol in enumerate(item.symbols if firsts else ()):
        after = base + len(analysis.parts(symbol.name))  # positions count on over all names, with a gap behind each
        counts[number] += bisect_left(firsts, after) - bisect_left(firsts, base)
        base = after + analysis.VALUE_GAP
    having = [number for number, count in enumerate(counts) if count]
    return [item.symbols[number] for number in sorted(having, key=counts.__getitem__, reverse=True)]
