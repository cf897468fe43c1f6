"""The table stem → terms, made when a segment is written, and the same stemmer for the words of a query.

Only terms that share their stem, or differ from it, are in the table, by the CRC-32 of their stem: most names are
their own stem and stand alone. A hash that agrees by chance is told apart by stemming what was found.
"""

from __future__ import annotations

import threading
import zlib
from collections import Counter
from operator import ne
from typing import Any

import numpy as np
import numpy.typing as npt
import Stemmer

from rye.index.packing import smallest
from rye.index.strings import Strings

_local = threading.local()


def _stemmer() -> Any:
    """Return this thread's stemmer: one stemmer serves one thread at a time."""
    if not hasattr(_local, "stemmer"):
        _local.stemmer = Stemmer.Stemmer("english")
    return _local.stemmer


def stem(term: str) -> str:
    """Return the Snowball English stem of a folded term."""
    return str(_stemmer().stemWord(term))


def _hash(text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


def stem_arrays(ordered: list[str]) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays ``stem.*`` of a segment whose terms are ``ordered``."""
    stems = Stemmer.Stemmer("english", 0).stemWords(ordered)  # no word comes twice, so it need keep none
    shared = Counter(stems)
    differs = np.fromiter(map(ne, ordered, stems), bool, len(ordered))
    several = np.fromiter(map(shared.__getitem__, stems), np.int64, len(ordered)) > 1
    kept = np.flatnonzero(differs | several)
    roots = "\n".join(map(stems.__getitem__, kept.tolist())).encode("utf-8", "surrogatepass").split(b"\n")
    hashes = np.fromiter(map(zlib.crc32, roots[: len(kept)]), np.uint32, len(kept))
    order = np.argsort(hashes, kind="stable")
    return {"stem.hash": hashes[order], "stem.term": smallest(kept[order])}


def inflections(
    text: str, terms: Strings, hashes: npt.NDArray[np.uint32], numbers: npt.NDArray[Any]
) -> tuple[list[int], int]:
    """Return the numbers, ascending, of the terms that share their stem with a word, and that of the word or -1.

    Args:
        text: The word, folded.
        terms: All terms.
        hashes: The first array of :func:`stem_arrays`.
        numbers: The other.
    """
    stemmed = _stemmer().stemWord
    root = stemmed(text)
    wanted = _hash(root)
    found, itself, at = [], -1, int(hashes.searchsorted(np.uint32(wanted)))
    while at < len(hashes) and hashes.item(at) == wanted:
        term = numbers.item(at)
        word = terms[term]
        if stemmed(word) == root:
            found.append(term)
            itself = term if word == text else itself
        at += 1
    if not found and stemmed(root) == root and (alone := terms.find(root)) >= 0:
        return [alone], alone if text == root else -1
    return found, itself
