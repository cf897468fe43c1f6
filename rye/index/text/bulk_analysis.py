"""Many texts → the tokens of each as flat arrays, for indexing documents.

Texts are split at white space. Each distinct word is cut into chunks and analyzed once, all new words of a batch
together, by operations on joined text. For each document, only a look-up of its words is left.

The invariant: whatever the batch, a chunk has exactly the tokens that
:func:`rye.index.text.analysis.analyze_chunk` gives it. Chunks with signs, of mixed scripts or too long are analyzed by
that function.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate, chain, compress, count, islice
from string import digits

import numpy as np
import numpy.typing as npt

from rye.index.storage.arrays import Ints, ends_of, ranges
from rye.index.text import analysis
from rye.index.text.analysis import (
    ONE_JOINER,
    SIGNS,
    Token,
    analyze_chunk,
    is_short,
    with_borders,
)

Bytes = npt.NDArray[np.uint8]
Int32s = npt.NDArray[np.int32]

_TOO_MANY = ("__", "_/", "/_", "//")
_ONE_EACH = ((re.compile(r"_*/[_/]*"), "/"), (re.compile(r"__+"), "_"))
"""Matches several joiners in a row, and the one they are equal to."""


def _bytes(text: str) -> Bytes:
    return np.frombuffer(text.encode("ascii"), np.uint8)


_DIGIT, _MARK = (np.isin(np.arange(256), _bytes(characters)) for characters in (digits, "_/\n"))
"""Shape ``(256,)`` each: whether a byte is of the class."""
_UNDERSCORE, _NEWLINE = b"_\n"

_BY_ITSELF = "\0"
"""Marks a chunk that is its own spelling."""


def spelled(chunks: Sequence[str]) -> list[str]:
    """Return the spelling of each chunk: its parts in lower case, separated by ``_`` or ``/``.

    Chunks with the same spelling have the same tokens, so only one of them is analyzed. A chunk that is not ASCII, is
    too long for a term, or has signs is its own spelling, after a mark.

        >>> spelled(["readAll", "read-all", "rye/HTTPServer"])
        ['read_all', 'read_all', 'rye/http_server']
    """
    # all chunks in one text, one per line; those that are their own spelling give an empty line
    plain = [chunk[:1].isalnum() and chunk[-1] not in SIGNS and is_short(chunk) for chunk in chunks]
    lines = [chunk if is_plain else "" for chunk, is_plain in zip(chunks, plain, strict=True)]
    text = with_borders("\n".join(lines)).lower().translate(ONE_JOINER)
    if any(marks in text for marks in _TOO_MANY):
        for pattern, instead in _ONE_EACH:
            text = pattern.sub(instead, text)
    spellings = zip(chunks, text.split("\n"), strict=True) if chunks else ()
    return [spelling or _BY_ITSELF + chunk for chunk, spelling in spellings]


def analyze_spelled(spellings: Sequence[str]) -> tuple[list[str], Ints, Ints, Ints]:
    """Return the tokens of chunks given their spellings, in no particular order.

    Returns:
        The terms; the chunk of each; its position relative to the chunk; and the number of parts of each chunk.
    """
    # the parts of most chunks follow from the spelling
    usual = np.asarray([spelling[0] != _BY_ITSELF for spelling in spellings], bool)
    single = np.fromiter(map(str.isalnum, spellings), bool, len(spellings)) & usual  # one part, the spelling itself
    alone, several, unusual = map(np.flatnonzero, (single, usual & ~single, ~usual))
    counts = np.ones(len(spellings), np.int64)
    terms = [spellings[at] for at in alone.tolist()]
    chunks, offsets = [alone], [np.zeros(len(alone), np.int64)]
    if len(several):
        forms, owners, places, parts = _forms([spellings[at] for at in several.tolist()])
        terms += forms
        chunks.append(several[owners])
        offsets.append(places)
        counts[several] = parts
    sizes: list[int] = []
    places_of_others: list[int] = []
    for at in unusual.tolist():
        chunk, before = spellings[at][1:], len(terms)
        if analysis.is_row_of_letters(chunk):
            terms += chunk
            places_of_others += range(len(chunk))
            counts[at] = len(chunk)
            tokens = [Token(chunk, 0, part=False)] if len(chunk) > 1 else []
        else:
            tokens = analyze_chunk(chunk)
            counts[at] = sum(token.part for token in tokens)
        terms += [token.term for token in tokens]
        places_of_others += [token.offset for token in tokens]
        sizes.append(len(terms) - before)
    chunks.append(np.repeat(unusual, np.asarray(sizes, np.int64)))
    offsets.append(np.asarray(places_of_others, np.int64))
    return terms, np.concatenate(chunks), np.concatenate(offsets), counts


def _forms(spellings: Sequence[str]) -> tuple[list[str], Ints, Ints, Ints]:
    """Return the same as :func:`analyze_spelled` for chunks of several parts.

    The terms are the parts, all parts joined, and the joined segments of several parts; segments that end in a number
    are also joined without it. For ``rye/file_system``, these are rye, file, system, ryefilesystem and filesystem.
    """
    text = "\n".join(spellings)
    units = _bytes(text)
    marks = units[_MARK[units]]  # the separators between parts, of all chunks
    # per part of any chunk: whether it begins a chunk or a segment, and the number of its chunk
    begins_chunk = np.concatenate([[True], marks == _NEWLINE])
    begins_segment = np.concatenate([[True], marks != _UNDERSCORE])
    owners, firsts, segments = np.cumsum(begins_chunk) - 1, np.flatnonzero(begins_chunk), np.flatnonzero(begins_segment)
    # per part: its position in its chunk; per chunk: its parts; per segment: its parts
    offsets, counts = np.arange(len(owners)) - firsts[owners], np.diff(firsts, append=len(owners))
    sizes = np.diff(segments, append=len(owners))
    # join a segment unless it is a single part or the whole chunk, which are there already
    inner = (sizes > 1) & (sizes < counts[owners[segments]])
    # also join a segment of letters without its final number, unless one part is left
    is_number = np.bitwise_and.reduceat(_DIGIT[units] | _MARK[units], np.append(0, np.flatnonzero(_MARK[units]) + 1))
    words = np.append(0, np.cumsum(~is_number))  # before each part: how many are not numbers
    numbered = (sizes > len("ab")) & is_number[segments + sizes - 1] & (words[segments + sizes] > words[segments])
    joined = text.replace("_", "")
    parts = text.replace("/", "_").replace("\n", "_").split("_")
    joined_segments = joined.replace("\n", "/").split("/")
    lasts = zip(np.flatnonzero(numbered).tolist(), (segments + sizes - 1)[numbered].tolist(), strict=True)
    terms = [
        *parts,
        *joined.replace("/", "").split("\n"),
        *compress(joined_segments, inner.tolist()),
        *(joined_segments[at][: -len(parts[last])] for at, last in lasts),
    ]
    of_segments = np.concatenate([segments[inner], segments[numbered]])
    return (
        terms,
        np.concatenate([owners, np.arange(len(firsts)), owners[of_segments]]),
        np.concatenate([offsets, np.zeros(len(firsts), np.int64), offsets[of_segments]]),
        counts,
    )


class Interned(defaultdict[str, int]):
    """A dict that numbers its keys in the order of their first look-up."""

    def __init__(self) -> None:
        super().__init__(count().__next__)
        self._taken = 0

    def taken(self) -> list[str]:
        """Return the keys that were added since the last call."""
        new_keys = list(islice(reversed(self), len(self) - self._taken))
        self._taken = len(self)
        return new_keys[::-1]


class Vocabulary:
    """The words seen so far; each chunk in them is analyzed once.

    Attributes:
        terms: Term → number.
        starts: Tokens of chunk c are ``[starts[c], starts[c + 1])``.
        part_counts: Number of parts of each chunk.
        token_terms, token_offsets: Term number of each token, and its position relative to the chunk.
    """

    def __init__(self) -> None:
        self.terms = Interned()
        self.starts = array("i", [0])
        self.part_counts = array("i")
        self.token_terms = array("i")
        self.token_offsets = array("i")
        self._spellings = Interned()
        self._words = Interned()
        self._chunks = array("i")  # the chunks of each word, word after word
        self._ends = array("q", [0])

    def read(self, texts: Sequence[str]) -> tuple[Int32s, Ints]:
        """Return the chunk numbers of all texts, text after text, and how many chunks each text has."""
        split = [analysis.normalize(text).split() for text in texts]
        counts = ends_of(list(map(len, split)))
        words = np.fromiter(map(self._words.__getitem__, chain.from_iterable(split)), np.int64, counts[-1])
        cut = list(map(analysis.chunks, self._words.taken()))
        self._chunks.frombytes(self._learn(list(chain.from_iterable(cut))).tobytes())
        self._ends.extend(accumulate(map(len, cut), initial=self._ends.pop()))
        ends = np.asarray(self._ends)
        starts, stops = ends[words], ends[words + 1]
        return np.asarray(self._chunks)[ranges(starts, stops)], np.diff(ends_of(stops - starts)[counts])

    def _learn(self, chunks: Sequence[str]) -> Int32s:
        """Return the number of each chunk; analyze those with a new spelling."""
        chunk_numbers = np.fromiter(map(self._spellings.__getitem__, spelled(chunks)), np.int32, len(chunks))
        terms, owners, offsets, counts = analyze_spelled(new_spellings := self._spellings.taken())
        numbers = np.fromiter(map(self.terms.__getitem__, terms), np.int32, len(terms))
        order = np.argsort(owners, kind="stable")
        self.token_terms.frombytes(numbers[order].tobytes())
        self.token_offsets.frombytes(offsets[order].astype(np.int32).tobytes())
        sizes = np.bincount(owners, minlength=len(new_spellings))
        self.starts.extend(accumulate(sizes.tolist(), initial=self.starts.pop()))
        self.part_counts.extend(counts.tolist())
        return chunk_numbers
