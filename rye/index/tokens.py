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

_BREAK = "\x00"
_BETWEEN = f" {_BREAK} "
_TO_BLANKS = {code: " " for code in range(1, 128) if not (chr(code).isalnum() or chr(code) in analysis.JOINERS)}
"""What no chunk of ASCII text holds, but for the break."""


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
        starts: Tokens of chunk c are ``[starts[c], starts[c + 1])``. Chunk 0 is the break between two texts and chunk 1
            a run of joiners only; they have none.
        part_counts: Parts of each chunk.
        token_terms, token_offsets: Term number of each token, and its position relative to the chunk.
    """

    def __init__(self) -> None:
        self.terms = Interned()
        self.starts = array("i", [0, 0, 0])
        self.part_counts = array("i", [0, 0])
        self.token_terms = array("i")
        self.token_offsets = array("i")
        self._spellings = Interned(_BREAK, "")
        self._runs = Interned(_BREAK)
        self._chunk_of_run = array("i", [0])

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
        joined = _BETWEEN.join(texts)
        if joined.count(_BREAK) >= max(len(texts), 1):
            joined = _BETWEEN.join(text.replace(_BREAK, " ") for text in texts)
        numbers = self._numbers(joined.translate(_TO_BLANKS).split())
        breaks = np.flatnonzero(numbers == 0)
        sizes = np.diff(np.concatenate([[-1], breaks, [len(numbers)]])) - 1
        return np.delete(numbers, breaks), sizes[: len(texts)]

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
