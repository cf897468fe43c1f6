"""Where words stand in texts: the character ranges to mark.

The idea: all texts of a page are one text. Its ASCII words are cut into parts by comparing neighbouring bytes, as for
indexing, and only those parts are read whose first letters are those of a term. What stands around a letter or mark
that is not ASCII is read by :mod:`rye.index.analysis`, and so is a chunk that is too long for a term.

It pays where terms or texts are many; few terms are searched for literally in short texts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, islice
from string import ascii_lowercase, ascii_uppercase, digits
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from rye._text import has_invisible
from rye.index import analysis
from rye.index.arrays import Bools, Ints, Numbers, ranges, unique

Range = tuple[int, int]
Ranges = tuple[Range, ...]

MOST = 10_000
"""Words that are marked in one text, the first ones."""

_LOWER, _DIGIT, _UPPER, _JOINER, _SLASH, _BREAK = (1 << bit for bit in range(6))
"""Classes of characters; the greatest one between two parts says what they are parts of."""

_WORD, _BETWEEN = _LOWER | _DIGIT | _UPPER, _SLASH | _BREAK
_MEMBERS = {_LOWER: ascii_lowercase, _DIGIT: digits, _UPPER: ascii_uppercase, _SLASH: "/", _JOINER: analysis.JOINERS}
_CLASSES = bytes(next((kind for kind, of in _MEMBERS.items() if chr(code) in of), _BREAK) for code in range(256))

_JOINERS = analysis.JOINERS.encode()
_JOINING = re.compile(f"[{re.escape(analysis.JOINERS)}]+")
_SHORT = 1 << 16
"""Characters, times terms, below which terms are searched for literally: that takes less than arrays do."""

_FEW = 256
"""Parts that are counted one by one, to find those at positions."""

_PART = re.compile(
    r"[A-Z]+(?=[A-Z][a-z])"
    r"|(?:[A-Z]*[a-z0-9]*[a-z]|[A-Z]+)(?<=[A-Za-z][A-Za-z])(?=[0-9]+(?![A-Za-z0-9]))"
    r"|[A-Z]*[a-z0-9]+|[A-Z]+"
)
"""A part of ASCII text."""

Hit: TypeAlias = tuple[int, int, str]
"""Start and end, and the term, or nothing for a position."""


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
    whole = _Whole("\n".join([text for text, _ in texts]))
    found = whole.of_terms(frozenset[str]().union(*[sought.terms for _, sought in texts]))
    for (text, sought), base in zip(texts, bases, strict=False):
        if sought.positions:
            found += whole.at(sought.positions, base, base + len(text))
    several: list[list[Range]] = [[] for _ in texts]
    number, base, limit, last = -1, 0, 0, -1
    for start, end, term in sorted(found):
        while start >= limit:
            number += 1
            base, limit, marks, own = limit, bases[number + 1], several[number], texts[number][1].terms
        if term and term not in own:
            continue
        if start > last:
            marks.append((start - base, end - base))
            last = end
        elif end > last:
            marks[-1] = marks[-1][0], end - base
            last = end
    return [tuple(marks[:MOST]) for marks in several]


class _Parts(NamedTuple):
    """The parts of a text in order.

    Attributes:
        starts, ends: Where each begins and ends.
        gaps: The class of what follows each: joiners or nothing, with a slash, or the end of its chunk.
    """

    starts: Ints
    ends: Ints
    gaps: Numbers

    def runs(self, border: int) -> tuple[Ints, Ints]:
        """Return the numbers of the first and last part of each run up to a border of a class or a greater one."""
        lasts = (self.gaps >= border).nonzero()[0]
        firsts = np.empty_like(lasts)
        firsts[:1] = 0
        firsts[1:] = lasts[:-1] + 1
        return firsts, lasts

    def joined(self) -> Iterator[tuple[Ints, Ints]]:
        """Yield the numbers of the first and last part of what is joined: chunks, and segments, of several parts."""
        for border in (_BREAK, _SLASH) if (self.gaps == _SLASH).any() else (_BREAK,):
            firsts, lasts = self.runs(border)
            several = lasts > firsts
            yield firsts[several], lasts[several]


class _Whole:
    """All texts of a page as one, in which what is read elsewhere is blank.

    Attributes:
        raw, lowered: One ASCII character for each of the text, and a sign at the end; the latter in small letters.
        tokens: Every token of the chunks that are read elsewhere.
        located: ``(chunk, start, end)`` of every part of these, and where its chunk begins; empty without a place.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._parts: _Parts | None = None
        self.tokens: list[Hit] = []
        self.located: list[tuple[int, int, int]] = []
        if text.isascii():
            self._bytes = bytearray(f"{text}\n".encode("ascii"))
        else:
            codes = np.frombuffer(f"{text}\n".encode("utf-32-le", "surrogatepass"), np.uint32)
            odd = (codes > 0x7F).nonzero()[0]
            self._bytes = bytearray(codes.astype(np.uint8).tobytes())
            np.frombuffer(self._bytes, np.uint8)[odd] = ord("?")
            self._read_around(_strange(codes[odd], odd))
        self.raw = self._bytes.decode()
        self.lowered = self.raw.lower()

    def _read_around(self, places: Ints) -> None:
        """Read the chunks at some places, ascending, one by one, and blank them."""
        read, end = self._bytes, 0
        np.frombuffer(read, np.uint8)[places] = ord("a")  # no sign, as a question mark is
        for place in places.tolist():
            if place < end:
                continue
            # from the sign before, which a mark may compose with, to the one behind
            start = end = place
            while start and _CLASSES[read[start]] < _BREAK:
                start -= 1
            while _CLASSES[read[end]] < _BREAK:
                end += 1
            locate = _located_short if end - start <= analysis.MAX_TERM else _located
            tokens, located = locate(self._text[start:end])
            self.tokens += [(start + a, start + b, term) for a, b, term in tokens]
            self.located += [(start + chunk, start + a, start + b) for chunk, a, b in located]
            read[start:end] = b" " * (end - start)

    def _cut(self) -> _Parts:
        """Cut words at their borders, and at those of camelCase."""
        classes = np.frombuffer(self._bytes.translate(_CLASSES), np.uint8)
        word, upper = classes & _WORD > 0, classes & _UPPER > 0
        begins = word.copy()
        begins[1:] = (word[1:] > word[:-1]) | (upper[1:] > upper[:-1])
        begins[1:-1] |= upper[1:-1] & upper[:-2] & (classes[2:] & _LOWER > 0)
        begins[2:] |= _numbers(classes)
        word[:-1] &= begins[1:] >= word[1:]
        starts, ends = begins.nonzero()[0], word.nonzero()[0] + 1
        between = classes & _BETWEEN
        gaps = between[ends]  # of their first characters; behind a joiner the greatest counts
        gaps[-1:] = _BREAK
        if len(rows := (gaps < _BREAK).nonzero()[0]):
            bounds = np.stack([ends[rows], starts[rows + 1]], 1).ravel()
            gaps[rows] = np.maximum.reduceat(between, bounds)[::2]
        return _Parts(starts, ends, gaps)

    def parts(self) -> _Parts:
        """Return the parts of the text; chunks that are too long for a term are read elsewhere."""
        if self._parts is None:
            self._parts = self._cut()
            firsts, lasts = self._parts.runs(_BREAK)
            long = self._parts.ends[lasts] - self._parts.starts[firsts] > analysis.MAX_TERM
            if long.any():
                self._read_around(self._parts.starts[firsts[long]])
                self._parts = self._cut()
        return self._parts

    def of_terms(self, terms: frozenset[str]) -> list[Hit]:
        """Return where terms stand."""
        plain = [term for term in terms if term.isascii() and term.isalnum()]
        cut = any(len(term) == analysis.MAX_TERM for term in plain)
        find = self._among_parts if cut or len(plain) * len(self.raw) > _SHORT else self._literally
        signs = [term for term in terms if analysis.is_lone(term) or (term.isascii() and not term.isalnum())]
        return [*find(plain, terms), *self._with_signs(signs), *[token for token in self.tokens if token[2] in terms]]

    def _with_signs(self, terms: Sequence[str]) -> list[Hit]:
        """Return where terms with signs stand, such as ``c++``: these are few."""
        if not terms:
            return []
        pattern = re.compile("|".join(map(re.escape, sorted(terms, key=len, reverse=True))))
        hits: list[Hit] = []
        for match in pattern.finditer(self._text.lower() if self._text.isascii() else self._text):
            term, (start, end) = match[0], match.span()
            around = self._text[max(0, start - 1) : start] * term[0].isalnum() + self._text[end : end + 1]
            if analysis.is_lone(term) or not any(map(str.isalnum, around)):
                hits.append((start, end, term))
        return hits

    def _literally(self, plain: Sequence[str], terms: frozenset[str]) -> list[Hit]:
        """Return where terms stand, one after the other.

        A part begins and ends where its neighbour is no letter or digit, or at a capital. Where a capital or a joiner
        plays a role, the chunk is split to know.
        """
        raw, found = self.raw, list[Hit]()  # the sign at the end also stands before the first character
        joined = self._bytes.translate(None, _JOINERS).lower().decode()
        classes = np.frombuffer(self._bytes.translate(_CLASSES), np.uint8)
        places = (classes & (_JOINER | _SLASH) == 0).nonzero()[0]  # of each character of that
        for term in plain:
            done, at = 0, joined.find(term)
            while at >= 0:
                place, stop = places.item(at), places.item(at + len(term) - 1) + 1
                before, after = raw[place - 1].isalnum(), raw[stop].isalnum()
                if not (before or after) and raw[place + 1 : stop] == term[1:]:
                    found.append((place, stop, term))
                elif place >= done and _may_begin(raw, place) and _may_begin(raw, stop):
                    begin = max(done, raw.rfind(" ", done, place) + 1, raw.rfind("\n", done, place) + 1)
                    several = analysis.locate_chunks(raw, begin)
                    base, chunk = next((at, chunk) for at, chunk in several if at + len(chunk) > place)
                    done = base + len(chunk)
                    found += [(base + a, base + b, one) for one, _, a, b, _ in analysis.locate(chunk) if one in terms]
                at = joined.find(term, at + 1)
        return found

    def _among_parts(self, plain: Sequence[str], terms: frozenset[str]) -> list[Hit]:
        """Return where terms stand, by arrays: only what is as long and begins and ends as a term is read."""
        parts, wanted = self.parts(), np.zeros(1 << 16, bool)
        like = [(len(term), ord(term[0]), ord(term[-1])) for term in plain]
        wanted[_key(*np.asarray(like, np.int64).reshape(-1, 3).T)] = True
        sizes = parts.ends - parts.starts
        letters = sizes.cumsum()
        found = self._alike(wanted, parts.starts, parts.ends, sizes)
        for firsts, lasts in parts.joined():
            total = letters[lasts] - letters[firsts] + sizes[firsts]
            several = self._alike(wanted, parts.starts[firsts], parts.ends[lasts], total)
            found += [(start, end, _JOINING.sub("", text)) for start, end, text in several]
        return [hit for hit in found if hit[2] in terms]

    def _alike(self, wanted: Bools, starts: Ints, ends: Ints, sizes: Ints) -> list[Hit]:
        """Return what of some pieces of the text has length, first and last letter of a term, and what stands there."""
        letter, text = np.frombuffer(self.lowered.encode(), np.uint8), self.lowered
        rows = wanted[_key(sizes, letter[starts], letter[ends - 1])].nonzero()[0]
        several = zip(starts[rows].tolist(), ends[rows].tolist(), strict=True)
        return [(start, end, text[start:end]) for start, end in several]

    def at(self, positions: Sequence[Range], start: int, end: int) -> list[Hit]:
        """Return the places of the parts at ``(first, last)`` positions, counted in a piece of the text."""
        if not self.located and max(positions)[1] < _FEW:
            inside = {at for first, last in positions for at in range(first, last + 1)}
            parts = enumerate(_PART.finditer(self.raw, start, end))
            return [(*part.span(), "") for at, part in islice(parts, max(inside) + 1) if at in inside]
        starts, ends, _ = self.parts()
        first, last = starts.searchsorted([start, end])
        starts, ends = starts[first:last], ends[first:last]
        located = [row for row in self.located if start <= row[0] < end]
        rows = np.concatenate([np.stack([starts, starts, ends], 1), np.asarray(located, np.int64).reshape(-1, 3)])
        rows = rows[np.argsort(rows[:, 0], kind="stable")]
        firsts, lasts = np.minimum(np.asarray(positions) + np.asarray([0, 1]), len(rows)).T
        return [(a, b, "") for _, a, b in rows[unique(ranges(firsts, lasts))].tolist() if a < b]


def _may_begin(text: str, at: int) -> bool:
    """Return whether a part may begin at a place of ASCII text: at a capital or number, or where no word goes on."""
    here, before = text[at], text[at - 1]
    return here.isupper() or not (here.isalnum() and before.isalnum()) or (here.isdigit() and before.isalpha())


def _numbers(classes: npt.NDArray[np.uint8]) -> Bools:
    """Return of each character from the third on whether a number begins there that ends a piece, behind letters."""
    letter, digit = classes & (_LOWER | _UPPER) > 0, classes & _DIGIT > 0
    begins: Bools = letter[:-2] & letter[1:-1] & digit[2:]
    if len(places := begins.nonzero()[0]):
        others = (~digit).nonzero()[0]
        ends = others[np.minimum(np.searchsorted(others, places + 2), len(others) - 1)]
        begins[places[letter[ends]]] = False
    return begins


def _key(size: Ints, first: Numbers, last: Numbers) -> Ints:
    """Return a number of 16 bits for the length and two letters of a term; those of others may be the same."""
    return size << 8 | (first ^ last << 3) & 0xFF


def _strange(codes: npt.NDArray[np.uint32], places: Ints) -> Ints:
    """Return the places of those characters that do not end a word whatever stands around them."""
    strange = [code for code in unique(codes).tolist() if not _is_sign(chr(code))]
    return places[np.isin(codes, np.asarray(strange, np.uint32))]


@lru_cache(4096)
def _is_sign(char: str) -> bool:
    """Return whether a character ends a word, whatever stands around it."""
    form = "" if has_invisible(char) else analysis.normalize(char)
    return bool(form) and not any(
        each.isalnum() or each in analysis.JOINERS or unicodedata.category(each)[0] == "M" for each in form
    )


def _located(text: str) -> tuple[list[Hit], list[tuple[int, int, int]]]:
    """Return the tokens of a text with their places, and its parts, as :class:`_Parts` holds them.

    In a text that normalization changes, all of it but a sign at its beginning is the place of each.
    """
    normalized = analysis.normalize(text)
    whole = (int(text[0].isascii() and _CLASSES[ord(text[0])] == _BREAK), len(text))
    tokens, parts = list[Hit](), list[tuple[int, int, int]]()
    for base, chunk in analysis.locate_chunks(normalized):
        begin, before = base if normalized == text else whole[0], len(parts)
        for token in analysis.locate(chunk):
            start, end = (base + token.start, base + token.end) if normalized == text else whole
            tokens.append((start, end, token.term))
            if not token.joined:
                parts.append((begin, start, end))
        if len(chunk) > analysis.MAX_LOCATED:
            parts += [(begin, 0, 0)] * (sum(map(len, analysis.split_chunk(chunk))) - len(parts) + before)
    return tokens, parts


_located_short = lru_cache(4096)(_located)
