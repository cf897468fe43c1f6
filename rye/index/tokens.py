"""Many texts → the chunks of each, as flat arrays: texts are joined and cut by C code, a chunk is analyzed once."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from rye.index import analysis
from rye.index.packing import Ints

Numbers = npt.NDArray[np.int32]

_BREAK = "\x00"
_BETWEEN = f" {_BREAK} "
_TO_BLANKS = {code: " " for code in range(1, 128) if not (chr(code).isalnum() or chr(code) in analysis.JOINERS)}
"""What no chunk of ASCII text holds, but for the break."""


class Interned(dict[str, int]):
    """A dict that numbers its keys in the order in which they are first asked for."""

    def __missing__(self, key: str) -> int:
        number = self[key] = len(self)
        return number


class Vocabulary(dict[str, int]):
    """Run of word characters and joiners → number of its chunk; a new chunk is analyzed and its tokens are kept.

    Attributes:
        terms: Term → number.
        starts: Tokens of chunk c are ``[starts[c], starts[c + 1])``. Chunk 0 is the break between two texts and chunk 1
            a run of joiners only; they have none.
        part_counts: Parts of each chunk.
        token_terms, token_offsets: Term number of each token, and its position relative to the chunk.
    """

    def __init__(self) -> None:
        super().__init__({_BREAK: 0, "": 1})
        self.terms = Interned()
        self.starts = array("i", [0, 0, 0])
        self.part_counts = array("i", [0, 0])
        self.token_terms = array("i")
        self.token_offsets = array("i")

    def __missing__(self, run: str) -> int:
        chunk = run.strip(analysis.JOINERS)
        plain = analysis.is_plain(chunk)
        same = chunk.lower() if plain else chunk
        if same != run:
            number = self[run] = self[same]
            return number
        if plain:
            self.token_terms.append(self.terms[analysis.fold(chunk)])
            self.token_offsets.append(0)
            self.part_counts.append(1)
        else:
            tokens = analysis.analyze_chunk(chunk)
            self.token_terms.extend([self.terms[token.term] for token in tokens])
            self.token_offsets.extend([token.offset for token in tokens])
            self.part_counts.append(sum(token.part for token in tokens))
        number = self[run] = len(self.starts) - 1
        self.starts.append(len(self.token_terms))
        return number

    def read(self, texts: Sequence[str]) -> tuple[Numbers, Ints]:
        """Return the chunk numbers of all texts, one text after the other, and how many each text has."""
        plain = [text.isascii() for text in texts]
        if all(plain):
            return self._read_ascii(texts)
        chunks, sizes = self._read_ascii([text for text, ascii_only in zip(texts, plain, strict=True) if ascii_only])
        others = [
            analysis.chunks(analysis.normalize(text))
            for text, ascii_only in zip(texts, plain, strict=True)
            if not ascii_only
        ]
        other_sizes = np.fromiter(map(len, others), np.int64, len(others))
        numbers = np.fromiter(map(self.__getitem__, chain.from_iterable(others)), np.int32, int(other_sizes.sum()))
        is_ascii = np.asarray(plain)
        owners = np.concatenate(
            [np.repeat(np.flatnonzero(is_ascii), sizes), np.repeat(np.flatnonzero(~is_ascii), other_sizes)]
        )
        order = np.argsort(owners, kind="stable")
        return np.concatenate([chunks, numbers])[order], np.bincount(owners, minlength=len(texts))

    def _read_ascii(self, texts: Sequence[str]) -> tuple[Numbers, Ints]:
        joined = _BETWEEN.join(texts)
        if joined.count(_BREAK) >= max(len(texts), 1):
            joined = _BETWEEN.join(text.replace(_BREAK, " ") for text in texts)
        runs = joined.translate(_TO_BLANKS).split()
        numbers = np.fromiter(map(self.__getitem__, runs), np.int32, len(runs))
        breaks = np.flatnonzero(numbers == 0)
        sizes = np.diff(np.concatenate([[-1], breaks, [len(numbers)]])) - 1
        return np.delete(numbers, breaks), sizes[: len(texts)]
