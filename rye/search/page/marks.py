"""Find the character ranges of words to highlight in texts.

The idea: all texts of a page are joined into one. If there are few terms, each is searched for literally in the ASCII
words; for many terms, each distinct word is read once. Chunks around a non-ASCII letter or mark, and chunks that are
too long for a term, are read by :mod:`rye.index.text.analysis`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, groupby
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from rye._text import has_invisible
from rye.index.storage.arrays import Bools, Ints, ranges, unique
from rye.index.text import analysis

Range = tuple[int, int]
Ranges = tuple[Range, ...]

MOST = 10_000
"""Most ranges marked in one text; the first ones are kept."""

_MANY = 64
"""From this many terms on, read each distinct word once instead of searching for each term."""

_LOWERED = str.maketrans(ascii_uppercase, ascii_lowercase)
_JOINERS = analysis.JOINERS.encode()
_IN_CHUNK = frozenset(f"{ascii_letters}{digits}/{analysis.JOINERS}".encode())
_WORDS = bytes(code if code in _IN_CHUNK else ord(" ") for code in range(256))
_SHAPES = bytes(ord("a") if code in _IN_CHUNK else ord(" ") for code in range(256))
_KINDS = bytes(
    (0 if code not in _IN_CHUNK else 1 if chr(code).islower() else 2 if chr(code).isupper() else 3)
    for code in range(256)
)
"""0 outside a chunk, 1 for a small letter, 2 for a capital, 3 for what else may begin or end a part of a word."""

_THOUSANDS = re.compile(rb",(?=[0-9]{3}(?![0-9]))")
"""A comma that may stand between thousands, in which case it joins them."""

_KEPT = bytes(code not in _JOINERS for code in range(256))
_SHARED = 4
"""Terms that begin with the same characters, so many, are searched for at once: forms of one word do."""
_LONG = b"a" * (analysis.MAX_TERM + 1)
"""The beginning of a chunk that is too long for a term, in the form of ``_SHAPES``."""

Hit: TypeAlias = tuple[int, int, str]
"""Start, end and term; the term is empty for a position."""


class HighlightRequest(NamedTuple):
    """The words to mark in a text: terms at any place, and positions.

    Attributes:
        terms: The terms.
        positions: Shape ``(n, 2)``: first and last position of each match.
    """

    terms: frozenset[str]
    positions: Ints = np.empty((0, 2), np.int64)


def mark(text: str, request: HighlightRequest) -> Ranges:
    """Return the character ranges of a text to mark, in order; no two overlap or touch."""
    return mark_all([(text, request)])[0]


def mark_all(texts: Sequence[tuple[str, HighlightRequest]]) -> list[Ranges]:
    """Return the character ranges to mark in each text, in order; no two overlap or touch."""
    bases = [0, *accumulate([len(text) + 1 for text, _ in texts])]
    page = _JoinedTexts("\n".join([text for text, _ in texts]))
    hits = page.of_terms(frozenset[str]().union(*[request.terms for _, request in texts]))
    placed = [at for at, (_, request) in enumerate(texts) if len(request.positions)]
    if placed:
        hits += page.at([texts[at][1].positions for at in placed], [(bases[at], bases[at + 1]) for at in placed])
    several: list[list[Range]] = [[] for _ in texts]
    number, base, limit, last = -1, 0, 0, -1
    for start, end, term in sorted(hits):
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


class _JoinedTexts:
    """All texts of a page as one. Chunks that :mod:`rye.index.text.analysis` reads are blanked out.

    Attributes:
        raw: One ASCII character for each character of the text, and a newline at the end.
        blanked: Where each of these chunks begins, and what was read there.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self.blanked: list[tuple[int, _Chunk]] = []
        special = list[int]()
        if text.isascii():
            self._bytes = bytearray(f"{text}\n".encode("ascii"))
        else:
            codes = np.frombuffer(f"{text}\n".encode("utf-32-le", "surrogatepass"), np.uint32)
            non_ascii = (codes > 0x7F).nonzero()[0]
            self._bytes = bytearray(codes.astype(np.uint8).tobytes())
            np.frombuffer(self._bytes, np.uint8)[non_ascii] = ord("?")
            special = _not_signs(codes[non_ascii], non_ascii).tolist()
        self._read_around(sorted([*special, *(match.start() for match in _THOUSANDS.finditer(self._bytes))]))
        self._read_around(list(_long_chunks(bytes(self._bytes.translate(_SHAPES)))))
        self.raw = self._bytes.decode()

    def _read_around(self, places: Sequence[int]) -> None:
        """Analyze the chunks at the given places, ascending, one by one, and blank them."""
        read, end = self._bytes, 0
        for place in places:
            read[place] = ord("a")  # a letter, because "?" would end the chunk
        for place in places:
            if place < end:
                continue
            # include the sign before, which a combining mark may compose with
            start = end = place
            while start and read[start] in _IN_CHUNK:
                start -= 1
            while read[end] in _IN_CHUNK:
                end += 1
            locate = _located_short if end - start <= analysis.MAX_TERM else _located
            self.blanked.append((start, locate(self._text[start:end])))
            read[start:end] = b" " * (end - start)

    def of_terms(self, terms: frozenset[str]) -> list[Hit]:
        """Return the places of terms."""
        if not terms:
            return []
        plain = [term for term in terms if term.isascii() and term.isalnum()]
        signs = [term for term in terms if analysis.is_lone(term) or (term.isascii() and not term.isalnum())]
        return [
            *(self._literally(plain, terms) if len(plain) < _MANY else self._among_words(terms)),
            *self._with_signs(signs),
            *[
                (start + a, start + b, term)
                for start, chunk in self.blanked
                if not terms.isdisjoint(chunk.terms)
                for a, b, term in chunk.tokens
                if term in terms
            ],
        ]

    def _with_signs(self, terms: Sequence[str]) -> list[Hit]:
        """Return the places of terms with signs, such as ``c++``. There are few of these."""
        if not terms:
            return []
        pattern = re.compile("|".join(map(re.escape, sorted(terms, key=len, reverse=True))))
        hits: list[Hit] = []
        for match in pattern.finditer(self._text.translate(_LOWERED)):  # translation keeps all offsets
            term, (start, end) = match[0], match.span()
            around = self._text[max(0, start - 1) : start] * term[0].isalnum() + self._text[end : end + 1]
            if analysis.is_lone(term) or not any(map(str.isalnum, around)):
                hits.append((start, end, term))
        return hits

    @cached_property
    def _kinds(self) -> npt.NDArray[np.uint8]:
        return np.frombuffer(self._bytes.translate(_KINDS), np.uint8)

    @cached_property
    def _bounds(self) -> Ints:
        """Shape ``(2, runs)``: where each run of letters, digits and joiners begins and ends."""
        return np.flatnonzero(np.diff(self._kinds > 0, prepend=False)).reshape(-1, 2).T

    @cached_property
    def _runs(self) -> Ints:
        """Shape ``(3, runs)``: the bounds of each run, and its number of parts.

        Small letters, of which the first may be a capital, are one part. Only the other runs are read.
        """
        kinds, (starts, ends) = self._kinds, self._bounds
        parts = np.ones(len(starts), np.int64)
        splits = np.flatnonzero((kinds == 3) | ((kinds == 2) & np.append(False, kinds[:-1] > 0)))
        read = unique(starts.searchsorted(splits, side="right") - 1)
        bounds = zip(starts[read].tolist(), ends[read].tolist(), strict=True)
        parts[read] = [len(_parts_in(self.raw[start:end])) for start, end in bounds]
        return np.array((starts, ends, parts))

    def _among_words(self, terms: frozenset[str]) -> list[Hit]:
        """Return the places of terms in runs of letters, digits and joiners, reading each distinct run once."""
        words, starts = self._bytes.translate(_WORDS).decode().split(), self._bounds[0]
        by_word = {word: hits for word in set(words) if (hits := _hits_in(word, terms))}
        several = zip(words, starts.tolist(), strict=True)
        return [(at + a, at + b, term) for word, at in several if word in by_word for a, b, term in by_word[word]]

    def _literally(self, plain: Sequence[str], terms: frozenset[str]) -> list[Hit]:
        """Return the places of terms without signs, by a text search for each term.

        A place is kept at once if it is a whole word in small letters. Any other place is kept only if the analysis
        splits its chunk there, such as at a capital or a joiner.
        """
        raw, hits = self.raw, list[Hit]()  # raw[-1], a newline, also stands for raw before 0
        joined = self._bytes.translate(None, _JOINERS).lower().decode()
        kept = np.frombuffer(self._bytes.translate(_KEPT), bool)
        places = np.flatnonzero(kept)  # of each character of `joined`
        for start, alike in groupby(sorted(plain), key=lambda term: term[:_SHARED]):
            done, at, forms = 0, joined.find(start), list(alike)
            while at >= 0:
                for term in forms:
                    if not joined.startswith(term, at):
                        continue
                    place, stop = places.item(at), places.item(at + len(term) - 1) + 1
                    before, after = raw[place - 1].isalnum(), raw[stop].isalnum()
                    if not (before or after) and raw[place + 1 : stop] == term[1:]:
                        hits.append((place, stop, term))
                    elif place >= done and _may_begin(raw, place) and _may_begin(raw, stop):
                        begin = max(done, raw.rfind(" ", done, place) + 1, raw.rfind("\n", done, place) + 1)
                        several = analysis.locate_chunks(raw, begin)
                        base, chunk = next((at, chunk) for at, chunk in several if at + len(chunk) > place)
                        done = base + len(chunk)
                        tokens = analysis.locate(chunk)
                        hits += [(base + a, base + b, token) for token, _, a, b, _ in tokens if token in terms]
                at = joined.find(start, at + 1)
        return hits

    def at(self, positions: Sequence[Ints], bounds: Sequence[Range]) -> list[Hit]:
        """Return the places of the parts at ``(first, last)`` positions of several texts.

        Args:
            positions: Shape ``(n, 2)`` for each of these texts; position 0 is its first part.
            bounds: Where each of these texts begins and where the next text does.
        """
        starts, stops, parts = self._runs
        blanked = [(at + base, at + a, at + b) for at, chunk in self.blanked for base, a, b in chunk.parts]
        # Sort runs and parts of blanked chunks by place; `ends` counts the parts up to the end of each.
        begins = np.concatenate([starts, np.asarray([row[0] for row in blanked], np.int64)])
        order = begins.argsort(kind="stable")
        counts = np.concatenate([parts, np.ones(len(blanked), np.int64)])[order]
        ends = counts.cumsum()
        first, last = np.append(0, ends)[begins[order].searchsorted(bounds)].T  # of each text: which parts it has
        several = list(map(len, positions))
        inside = ranges(*(np.concatenate(positions) + first.repeat(several)[:, None] + np.asarray([0, 1])).T)
        sizes = np.concatenate(positions) @ np.asarray([-1, 1]) + 1
        inside = unique(inside[inside < last.repeat(several).repeat(sizes)])
        rows, hits = ends.searchsorted(inside, side="right"), list[Hit]()
        for at, number in zip(order[rows].tolist(), (inside - (ends - counts)[rows]).tolist(), strict=True):
            if at < len(starts):
                begin = starts.item(at)
                a, b = _parts_in(self.raw[begin : stops.item(at)])[number]
                hits.append((begin + a, begin + b, ""))
            else:
                hits.append((*blanked[at - len(starts)][1:], ""))
        return [hit for hit in hits if hit[0] < hit[1]]


def _hits_in(word: str, terms: frozenset[str]) -> list[Hit]:
    if word.isalpha() and (word.islower() or word.istitle()):  # one part
        return [(0, len(word), lowered)] if (lowered := word.lower()) in terms else []
    return [hit[:3] for hit in _tokens_in(word) if hit[2] in terms]


@lru_cache(4096)
def _parts_in(word: str) -> Ranges:
    if word.isalpha() and (word.islower() or word.istitle()):
        return ((0, len(word)),)
    return tuple((start, end) for start, end, _, is_joined in _tokens_in(word) if not is_joined)


@lru_cache(4096)
def _tokens_in(word: str) -> tuple[tuple[int, int, str, bool], ...]:
    """Return ``(start, end, term, whether it is a joined form)`` of the tokens of a run of ASCII characters."""
    several = ((base, analysis.locate(chunk)) for base, chunk in analysis.locate_chunks(word))
    return tuple((base + a, base + b, term, joined) for base, tokens in several for term, _, a, b, joined in tokens)


def _long_chunks(shape: bytes) -> Iterator[int]:
    """Yield the start of each chunk that is too long for a term, given the shape of a text that ends in a sign."""
    at = shape.find(_LONG)
    while at >= 0:
        yield at
        at = shape.find(_LONG, shape.index(b" ", at))


def _may_begin(text: str, at: int) -> bool:
    """Return whether a part may begin at a place of ASCII text: at a capital, a number, or the start of a word."""
    current, before = text[at], text[at - 1]
    return (
        current.isupper()
        or not (current.isalnum() and before.isalnum())
        or current.isdigit() != before.isdigit()
        or before in "vV"
    )


def _not_signs(codes: npt.NDArray[np.uint32], places: Ints) -> Ints:
    """Return the places of the characters that do not always end a word."""
    distinct = unique(codes)
    is_open: Bools = np.asarray([not _is_sign(chr(code)) for code in distinct.tolist()], bool)
    return places[is_open[distinct.searchsorted(codes)]]


@lru_cache(4096)
def _is_sign(char: str) -> bool:
    """Return whether a character always ends a word, whatever its neighbours are."""
    form = "" if has_invisible(char) else analysis.normalize(char)
    return bool(form) and not any(
        piece.isalnum() or piece in analysis.JOINERS or unicodedata.category(piece)[0] == "M" for piece in form
    )


class _Chunk(NamedTuple):
    """What was read of a text: its tokens with their places, ``(chunk, start, end)`` of each part, and its terms.

    ``chunk`` is where the chunk of the part begins. Start and end are equal for a part without a place.
    """

    tokens: list[Hit]
    parts: list[tuple[int, int, int]]
    terms: frozenset[str]


def _located(text: str) -> _Chunk:
    """Read a text.

    If normalization changes the text, every token gets the whole text as its place, except for a sign at its start.
    """
    normalized, first = analysis.normalize(text), int(_is_sign(text[0]))
    tokens, parts = list[Hit](), list[tuple[int, int, int]]()
    for base, chunk in analysis.locate_chunks(normalized):
        before = len(parts)
        begin = base if normalized == text else first
        for token in analysis.locate(chunk):
            start, end = (base + token.start, base + token.end) if normalized == text else (first, len(text))
            tokens.append((start, end, token.term))
            if not token.joined:
                parts.append((begin, start, end))
        if len(chunk) > analysis.MAX_LOCATED:
            parts += [(begin, 0, 0)] * (sum(map(len, analysis.split_chunk(chunk))) - len(parts) + before)
    return _Chunk(tokens, parts, frozenset([term for _, _, term in tokens]))


_located_short = lru_cache(4096)(_located)
