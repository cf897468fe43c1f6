"""What is kept of each term beside its text: enough to leave most of a dictionary undecoded when words are compared.

=============  =======  ======================================================================================
array          bytes    meaning
=============  =======  ======================================================================================
term.length    1        characters, at most 255
term.letters   4        which characters occur, as bits numbered by code point modulo 32
term.docs      4        documents that have the term in any field, deleted ones included
=============  =======  ======================================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

_LONGEST = 255

Lengths = npt.NDArray[np.uint8]
Letters = npt.NDArray[np.uint32]


def term_arrays(
    ordered: Sequence[str], postings: npt.NDArray[np.int64], docs: npt.NDArray[np.integer[Any]]
) -> dict[str, npt.NDArray[Any]]:
    """Return these arrays of a segment.

    Args:
        ordered: The terms.
        postings: Shape ``(terms + 1,)``: where each term's postings begin.
        docs: Shape ``(postings,)``: the document of each, ascending within a term.
    """
    lengths, letters = _signatures(ordered)
    fresh = np.ones(len(docs), bool)
    np.not_equal(docs[1:], docs[:-1], out=fresh[1:])
    fresh[postings[:-1]] = True
    counts = np.add.reduceat(fresh.view(np.uint8), postings[:-1], dtype=np.int32) if len(ordered) else fresh
    return {"term.length": lengths, "term.letters": letters, "term.docs": counts.astype(np.int32)}


def _signatures(texts: Sequence[str]) -> tuple[Lengths, Letters]:
    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    points = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)
    letters = np.zeros(len(texts), np.uint32)
    given = np.flatnonzero(sizes)
    if len(given):
        letters[given] = np.bitwise_or.reduceat(np.uint32(1) << (points & 31), (np.cumsum(sizes) - sizes)[given])
    return np.minimum(sizes, _LONGEST).astype(np.uint8), letters


def perhaps_near(lengths: Lengths, letters: Letters, text: str, distance: int) -> npt.NDArray[np.int64]:
    """Return the numbers of the terms that may be at most so many edits from a text; no other is.

    An edit changes the length by one at most, and the set of characters by one that goes and one that comes.
    """
    (length,), (wanted,) = _signatures([text])
    low, high = max(int(length) - distance, 0), min(int(length) + distance, _LONGEST)
    near = (lengths - np.uint8(low)) <= np.uint8(high - low)
    near &= np.bitwise_count(letters ^ wanted) <= 2 * distance
    return np.flatnonzero(near)
