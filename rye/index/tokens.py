"""Many texts → the chunks of each, as flat arrays: texts are joined and cut by C code, a chunk is analyzed once."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate, chain, count, islice

import numpy as np
import numpy.typing as npt

from rye.index import analysis
from rye.index.packing import Ints
from rye.index.spelling import analyze_spelled, spelled

Numbers = npt.NDArray[np.int32]

_WIDTH = 8
_BLANK = " "
_IN_RUN = bytes(code < 128 and (chr(code).isalnum() or chr(code) in analysis.JOINERS) for code in range(256))
"""Whether each byte of ASCII text may stand in a chunk."""

_LOWEST = np.asarray([(1 << 8 * size) - 1 for size in range(_WIDTH + 1)], np.uint64)
"""Masks of so many bytes of a number."""


class Interned(defaultdict[str, int]):
    """A dict that numbers its keys in the order in which they are first asked for."""

    def __init__(self, *first: str) -> None:
        super().__init__(count(len(first)).__next__, zip(first, range(len(first)), strict=True))
        self._taken = len(first)

    def taken(self) -> list[str]:
        """Return the keys numbered since this was asked before."""
        fresh = list(islice(reversed(self), len(self) - self._taken))
        self._taken = len(self)
        return fresh[::-1]


class Vocabulary:
    """The chunks that have been met; each is analyzed once.

    Attributes:
        terms: Term → number.
        starts: Tokens of chunk c are ``[starts[c], starts[c + 1])``. Chunk 0 is a run of joiners only, and has none.
        part_counts: Parts of each chunk.
        token_terms, token_offsets: Term number of each token, and its position relative to the chunk.
    """

    def __init__(self) -> None:
        self.terms = Interned()
        self.starts = array("i", [0, 0])
        self.part_counts = array("i", [0])
        self.token_terms = array("i")
        self.token_offsets = array("i")
        self._spellings = Interned("")
        self._runs = Interned()
        self._chunk_of_run = array("i")

    def read(self, texts: Sequence[str]) -> tuple[Numbers, Ints]:
        """Return the chunk numbers of all texts, one text after the other, and how many each text has."""
        plain = [text.isascii() for text in texts]
        if all(plain):
            return self._read_ascii(texts)
        is_ascii = np.asarray(plain)
        chunks, sizes = self._read_ascii([text for text, short in zip(texts, plain, strict=True) if short])
        others = [
            analysis.chunks(analysis.normalize(text)) for text, short in zip(texts, plain, strict=True) if not short
        ]
        numbers = self._numbers(list(chain.from_iterable(others)))
        owners = np.concatenate(
            [np.repeat(np.flatnonzero(is_ascii), sizes), np.repeat(np.flatnonzero(~is_ascii), list(map(len, others)))]
        )
        order = np.argsort(owners, kind="stable")
        return np.concatenate([chunks, numbers])[order], np.bincount(owners, minlength=len(texts))

    def _read_ascii(self, texts: Sequence[str]) -> tuple[Numbers, Ints]:
        joined = f"{_BLANK}{_BLANK.join(texts)}{_BLANK * _WIDTH}"
        raw = joined.encode("ascii")
        inside = np.frombuffer(raw.translate(_IN_RUN), np.uint8)
        borders = np.flatnonzero(inside[1:] != inside[:-1]) + 1
        starts, stops = borders[::2], borders[1::2]
        kinds = _alike(raw, starts, stops - starts)
        one = np.full(int(kinds.max(initial=-1)) + 1, -1)  # run of each kind that there is
        one[kinds] = np.arange(len(kinds))
        chosen = one[one >= 0]
        runs = [joined[start:stop] for start, stop in zip(starts[chosen].tolist(), stops[chosen].tolist(), strict=True)]
        chunks = np.empty(len(one), np.int32)
        chunks[one >= 0] = self._numbers(runs)
        ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)) + 1)
        return chunks[kinds], np.diff(np.searchsorted(starts, ends), prepend=0)

    def _numbers(self, runs: list[str]) -> Numbers:
        """Return the chunk number of each run of word characters and joiners."""
        numbers = np.fromiter(map(self._runs.__getitem__, runs), np.int32, len(runs))
        if fresh := self._runs.taken():
            self._learn(fresh)
        return np.asarray(self._chunk_of_run, np.int32)[numbers]

    def _learn(self, runs: list[str]) -> None:
        chunks = [run.strip(analysis.JOINERS) for run in runs]
        self._chunk_of_run.extend(map(self._spellings.__getitem__, spelled(chunks)))
        terms, owners, offsets, counts = analyze_spelled(fresh := self._spellings.taken())
        numbers = np.fromiter(map(self.terms.__getitem__, terms), np.int32, len(terms))
        order = np.argsort(owners, kind="stable")
        self.token_terms.frombytes(numbers[order].tobytes())
        self.token_offsets.frombytes(offsets[order].astype(np.int32).tobytes())
        sizes = np.bincount(owners, minlength=len(fresh))
        self.starts.extend(accumulate(sizes.tolist(), initial=self.starts.pop()))
        self.part_counts.extend(counts.tolist())


def _alike(raw: bytes, starts: Ints, sizes: Ints) -> Ints:
    """Return a number for each of some runs of bytes, the same number for equal ones.

    Eight bytes are one number already; a longer run is known by the number that its beginning got and the next eight
    bytes. Of those too long for a term each has a number of its own.

    Args:
        raw: The bytes, with as many behind the last run as there are in a number.
        starts: Where each run begins.
        sizes: How many bytes it has.
    """
    words = np.ndarray((len(raw) - _WIDTH + 1,), "<u8", raw, strides=(1,))
    known, first = np.unique(words[starts] & _LOWEST[np.minimum(sizes, _WIDTH)], return_inverse=True)
    kinds: Ints = first.astype(np.int64)
    count, rows = len(known), np.flatnonzero(sizes > _WIDTH)
    for at in range(_WIDTH, analysis.MAX_TERM, _WIDTH):
        following = words[starts[rows] + at] & _LOWEST[np.minimum(sizes[rows] - at, _WIDTH)]
        _, following = np.unique(following, return_inverse=True)
        known, both = np.unique((kinds[rows] << 32) | following, return_inverse=True)
        kinds[rows] = both + count
        count += len(known)
        rows = rows[sizes[rows] > at + _WIDTH]
    kinds[rows] = np.arange(count, count + len(rows))
    return kinds
