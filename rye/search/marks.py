"""Where words stand in texts: the character ranges to mark.

The idea: all texts of a page are one text. Its ASCII words are cut into parts by comparing neighbouring bytes, as for
indexing, and only those parts are read whose first letters are those of a term. What stands around a letter or mark
that is not ASCII is read by :mod:`rye.index.analysis`, and so is a chunk that is too long for a term.
"""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from rye._text import has_invisible
from rye.index import analysis
from rye.index.arrays import Ints, fresh, ranges, unique

Range = tuple[int, int]
Ranges = tuple[Range, ...]

MOST = 10_000
"""Words that are marked in one text, the first ones."""

_SLASH, _BREAK = 1, 2
"""Classes of what stands between two parts, besides 0 for other joiners and nothing: the greatest counts."""

_WORD, _UPPER, _LOWER = (
    bytes(chr(code) in members for code in range(256))
    for members in (ascii_letters + digits, ascii_uppercase, ascii_lowercase)
)
_BETWEEN = bytes(
    0 if word or chr(code) in analysis.JOINERS.replace("/", "") else _SLASH if chr(code) == "/" else _BREAK
    for code, word in enumerate(_WORD)
)
"""What a byte is: a letter or digit, a capital, a small letter; its class."""

_ODD = re.compile(r"[^\x00-\x7f]+")
_NO_JOINERS = str.maketrans("", "", analysis.JOINERS)
_KEYS = 1 << 16
N = TypeVar("N", int, Ints)


class Sought(NamedTuple):
    """The words to mark in a text: terms wherever they stand, and ``(first, last)`` positions."""

    terms: frozenset[str]
    positions: tuple[Range, ...] = ()


def mark(text: str, sought: Sought) -> Ranges:
    """Return the character ranges of a text to mark, in order; no two overlap or touch."""
    return mark_all([(text, sought)])[0]


def mark_all(texts: Sequence[tuple[str, Sought]]) -> list[Ranges]:
    """Return the character ranges to mark in each of some texts, in order; no two overlap or touch."""
    bases = [0, *accumulate([len(text) + 1 for text, _ in texts])]
    parts = _Parts("\n".join([text for text, _ in texts]))
    found = parts.of_terms([sought.terms for _, sought in texts], bases)
    for (text, sought), base in zip(texts, bases, strict=False):
        if sought.positions:
            found += parts.at(np.asarray(sought.positions), base, base + len(text))
    several: list[list[Range]] = [[] for _ in texts]
    number, last = -1, -1
    for start, end in sorted(found):
        if start > last:
            while start >= bases[number + 1]:
                number += 1
            marks, base = several[number], bases[number]
            marks.append((start - base, end - base))
            last = end
        elif end > last:
            marks[-1] = marks[-1][0], end - base
            last = end
    return [tuple(marks[:MOST]) for marks in several]


class _Parts:
    """The parts of a text.

    Attributes:
        starts, ends: Of each that is read by arrays, in order.
        gaps: The class of what follows each: joiners or nothing, with a slash, or the end of its chunk.
        tokens: ``(term, start, end)`` of every token of the other chunks.
        located: ``(chunk, start, end)`` of every part of these, and where its chunk begins; empty without a place.
    """

    def __init__(self, text: str) -> None:
        self._raw = bytearray(f"{text}\n".encode("ascii", "replace"))  # one byte for each character, a sign at the end
        self.lowered = self._raw.lower().decode()
        self.tokens: list[tuple[str, int, int]] = []
        self.located: list[tuple[int, int, int]] = []
        if not text.isascii():
            self._read_around(text, _strange(text))
        self._cut()
        firsts, lasts = self._groups(_BREAK)
        long = self.ends[lasts] - self.starts[firsts] > analysis.MAX_TERM
        if long.any():
            self._read_around(text, self.starts[firsts[long]])
            self._cut()

    def _read_around(self, text: str, places: Ints) -> None:
        """Read the chunks at some places, ascending, one by one, and take them out of the text."""
        np.frombuffer(self._raw, np.uint8)[places] = ord("a")  # what is not ASCII stands there as a question mark
        breaks = (self._class(_BETWEEN) == _BREAK).nonzero()[0]
        at = breaks.searchsorted(places)
        at = at[fresh(at)]
        # each from the sign before it, which a mark may compose with, to the one behind it
        for start, end in zip(np.append(0, breaks)[at].tolist(), breaks[at].tolist(), strict=True):
            read = _located_short if end - start <= analysis.MAX_TERM else _located
            tokens, located = read(text[start:end])
            self.tokens += [(term, start + a, start + b) for term, a, b in tokens]
            self.located += [(start + chunk, start + a, start + b) for chunk, a, b in located]
            self._raw[start:end] = b" " * (end - start)

    def _class(self, table: bytes) -> npt.NDArray[np.uint8]:
        return np.frombuffer(self._raw.translate(table), np.uint8)

    def _cut(self) -> None:
        """Cut words at their borders, and at those of camelCase."""
        word, upper, lower = (self._class(table).view(bool) for table in (_WORD, _UPPER, _LOWER))
        begins = word.copy()
        begins[1:] = (word[1:] > word[:-1]) | (upper[1:] > upper[:-1])
        begins[1:-1] |= upper[1:-1] & upper[:-2] & lower[2:]
        word[:-1] &= begins[1:] >= word[1:]
        self.starts, self.ends = begins.nonzero()[0], word.nonzero()[0] + 1
        between = self._class(_BETWEEN)
        self.gaps = between[self.ends]  # of their first characters; behind a joiner the greatest counts
        self.gaps[-1:] = _BREAK
        if len(rows := (self.gaps < _BREAK).nonzero()[0]):
            bounds = np.stack([self.ends[rows], self.starts[rows + 1]], 1).ravel()
            self.gaps[rows] = np.maximum.reduceat(between, bounds)[::2]

    def _groups(self, border: int) -> tuple[Ints, Ints]:
        """Return the numbers of the first and last part of each run up to a border of a class or a greater one."""
        lasts = (self.gaps >= border).nonzero()[0]
        firsts = np.empty_like(lasts)
        firsts[:1] = 0
        firsts[1:] = lasts[:-1] + 1
        return firsts, lasts

    def of_terms(self, terms: Sequence[frozenset[str]], bases: Sequence[int]) -> list[Range]:
        """Return where terms stand; each text, which begins at one of the bases, has terms of its own."""
        every = frozenset[str]().union(*terms)
        found = [token for token in self.tokens if token[0] in every]
        for start, end in zip(*self._like([term for term in every if term.isascii()]), strict=True):
            if (term := self.lowered[start:end]) in every or (term := term.translate(_NO_JOINERS)) in every:
                found.append((term, start, end))
        owners = np.asarray(bases).searchsorted([start for _, start, _ in found], "right").tolist()
        several = zip(found, owners, strict=True)
        return [(start, end) for (term, start, end), owner in several if term in terms[owner - 1]]

    def _like(self, terms: Sequence[str]) -> tuple[list[int], list[int]]:
        """Return starts and ends of what may be terms: parts and joined forms of such length, first and last letter."""
        starts, ends = self.starts, self.ends
        sizes = ends - starts
        letters = sizes.cumsum()
        for border in (_SLASH, _BREAK) if (self.gaps == _SLASH).any() else (_BREAK,):
            firsts, lasts = self._groups(border)
            several = lasts > firsts
            firsts, lasts = firsts[several], lasts[several]
            starts = np.concatenate([starts, self.starts[firsts]])
            ends = np.concatenate([ends, self.ends[lasts]])
            sizes = np.concatenate([sizes, letters[lasts] - letters[firsts] + sizes[firsts]])
        letter = np.frombuffer(self._raw.lower(), np.uint8)
        wanted = np.zeros(_KEYS, bool)
        wanted[[_key(len(term), ord(term[0]), ord(term[-1])) for term in terms]] = True
        rows = wanted[_key(sizes, letter[starts].astype(int), letter[ends - 1].astype(int))].nonzero()[0]
        return starts[rows].tolist(), ends[rows].tolist()

    def at(self, positions: Ints, start: int, end: int) -> list[Range]:
        """Return the places of the parts at ``(first, last)`` positions, counted in a piece of the text."""
        first, last = self.starts.searchsorted([start, end])
        starts, ends = self.starts[first:last], self.ends[first:last]
        located = [row for row in self.located if start <= row[0] < end]
        parts = np.concatenate([np.stack([starts, starts, ends], 1), np.asarray(located, np.int64).reshape(-1, 3)])
        parts = parts[np.argsort(parts[:, 0], kind="stable")]
        firsts, lasts = np.minimum(positions + np.asarray([0, 1]), len(parts)).T
        return [(a, b) for _, a, b in parts[unique(ranges(firsts, lasts))].tolist() if a < b]


def _key(size: N, first: N, last: N) -> N:
    """Return a number below :data:`_KEYS` for the length and two letters of a term; those of others may be the same."""
    return (size * 961 + first * 31 + last) % _KEYS


def _strange(text: str) -> Ints:
    """Return the places of the characters, ascending, that are neither ASCII nor a sign that ends a word."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    places = np.flatnonzero(codes > 0x7F)
    kinds = codes[places]
    strange = [code for code in unique(kinds).tolist() if not _is_sign(chr(code))]
    return places[np.isin(kinds, np.asarray(strange, np.uint32))]


@lru_cache(4096)
def _is_sign(char: str) -> bool:
    """Return whether a character ends a word, whatever stands around it."""
    form = "" if has_invisible(char) else analysis.normalize(char)
    return bool(form) and not any(
        each.isalnum() or each in analysis.JOINERS or unicodedata.category(each)[0] == "M" for each in form
    )


Read: TypeAlias = tuple[list[tuple[str, int, int]], list[tuple[int, int, int]]]


def _located(text: str) -> Read:
    """Return the tokens of a text with their places, and its parts, as :class:`_Parts` holds them."""
    normalized = analysis.normalize(text)
    original = None if normalized == text else _Original(text)
    tokens, parts = list[tuple[str, int, int]](), list[tuple[int, int, int]]()
    for base, chunk in analysis.locate_chunks(normalized):
        begin, before = original.start(base) if original else base, len(parts)
        for token in analysis.locate(chunk):
            start, end = base + token.start, base + token.end
            if original:
                start, end = original.start(start), original.end(end)
            tokens.append((token.term, start, end))
            if not token.joined:
                parts.append((begin, start, end))
        if len(chunk) > analysis.MAX_LOCATED:
            parts += [(begin, 0, 0)] * (sum(map(len, analysis.split_chunk(chunk))) - len(parts) + before)
    return tokens, parts


_located_short = lru_cache(4096)(_located)


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
