"""Stems of the terms of a segment: which terms share a stem, as sorted hashes, and the inflections of a word.

The dictionary holds words as written. A term that is its own stem, and the only term with it, needs no row: looking the
stem up in the dictionary finds it.
"""

from __future__ import annotations

import zlib
from operator import ne

import numpy as np
import numpy.typing as npt
import Stemmer

from rye._process import check_cancelled
from rye.index.storage.arrays import Array, Arrays, Bools, Ints, ends_of, group_starts, ranges, smallest, unique
from rye.index.storage.terms import Strings
from rye.index.text.analysis import stem, without_accents, without_plural

_PAIRS = 1 << 16
"""Pairs of stems that are compared at a time."""


def stem_arrays(terms: Strings) -> Arrays:
    """Return the arrays ``stem.*`` of a segment: sorted hashes of stems, and a term for each.

    A term that is its own stem, and the only term with it, is left out, because the dictionary finds it.
    """
    stemmer = Stemmer.Stemmer("english", 0)  # no cache, because words hardly repeat
    stems: list[bytes] = []  # one text per block, because single strings take much memory
    sizes, hashes, differs = [], [np.empty(0, np.uint32)], [np.empty(0, bool)]
    for block in terms.blocks():
        check_cancelled()
        basic = block if all(map(str.isascii, block)) else list(map(without_accents, block))
        stemmed = list(map(without_plural, basic, stemmer.stemWords(basic)))
        differs.append(np.fromiter(map(ne, block, stemmed), bool, len(block)))
        stems.append("\n".join(stemmed).encode("utf-8", "surrogatepass"))
        lines = stems[-1].split(b"\n")
        hashes.append(np.fromiter(map(zlib.crc32, lines), np.uint32, len(block)))
        sizes.append(np.fromiter(map(len, lines), np.int64, len(block)) + 1)
    hashed, ends = np.concatenate(hashes), np.cumsum(np.concatenate([np.zeros(1, np.int64), *sizes]))
    text = b"\n".join(stems)
    # equal stems have equal hashes, so they are neighbours in this order, except for a few hash collisions
    order = np.argsort(hashed, kind="stable")
    ascending = hashed[order]
    pairs = np.flatnonzero(group_starts(ascending)[1:] == 0)
    left, right = order[pairs], order[pairs + 1]
    units = np.frombuffer(text, np.uint8)
    blocks = range(0, len(pairs), _PAIRS)
    same = np.concatenate(
        [np.empty(0, bool), *(_equal(units, ends, left[at : at + _PAIRS], right[at : at + _PAIRS]) for at in blocks)]
    )
    several = np.zeros(len(hashed), bool)
    several[left[same]] = several[right[same]] = True
    collisions = unique(hashed[left[~same]])
    bounds = (ascending.searchsorted(collisions, side).tolist() for side in ("left", "right"))
    for start, stop in zip(*bounds, strict=True):
        group = order[start:stop].tolist()
        found_in = [text[ends[at] : ends[at + 1] - 1] for at in group]
        several[[at for at, stem in zip(group, found_in, strict=True) if found_in.count(stem) > 1]] = True
    kept = order[(several | np.concatenate(differs))[order]]
    return {"stem.hash": hashed[kept], "stem.term": smallest(kept)}


def _equal(text: npt.NDArray[np.uint8], ends: Ints, left: Ints, right: Ints) -> Bools:
    """Return which pairs of strings are equal; string i is ``text[ends[i] : ends[i + 1] - 1]``."""
    sizes = ends[left + 1] - ends[left]
    same: Bools = sizes == ends[right + 1] - ends[right]
    left, right, sizes = left[same], right[same], sizes[same]
    differs = text[ranges(ends[left], ends[left] + sizes - 1)] != text[ranges(ends[right], ends[right] + sizes - 1)]
    counts = np.diff(np.concatenate([np.zeros(1, np.int64), np.cumsum(differs)])[ends_of(sizes - 1)])
    same[same] = counts == 0
    return same


def inflections(text: str, terms: Strings, hashes: npt.NDArray[np.uint32], numbers: Array) -> tuple[list[int], int]:
    """Return the numbers, ascending, of the terms with the same stem as a word, and the word's own number or -1.

    Args:
        text: The word, folded.
        terms: All terms.
        hashes: The first array of :func:`stem_arrays`.
        numbers: The second array.
    """
    root = stem(text)
    root_hash = zlib.crc32(root.encode("utf-8", "surrogatepass"))
    matches, itself, at = [], -1, int(hashes.searchsorted(np.uint32(root_hash)))
    # all terms whose stem has this hash are consecutive; skip those of another stem
    while at < len(hashes) and hashes.item(at) == root_hash:
        term = numbers.item(at)
        word = terms[term]
        if word == text:
            matches.append(term)
            itself = term
        elif stem(word) == root:
            matches.append(term)
        at += 1
    if not matches and stem(root) == root and (alone := terms.find(root)) >= 0:
        return [alone], alone if text == root else -1
    return matches, itself
