"""The table stem → terms, made when a segment is written, and the same stemmer for the words of a query.

Only terms that share their stem, or differ from it, are in the table, by the CRC-32 of their stem: most names are
their own stem and stand alone. A hash that agrees by chance is told apart by stemming what was found.
"""

from __future__ import annotations

import threading
import zlib
from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import Stemmer

from rye.index.packing import smallest
from rye.index.strings import Ids, Strings

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
    kept = [at for at, (term, root) in enumerate(zip(ordered, stems, strict=True)) if term != root or shared[root] > 1]
    hashes = np.fromiter((_hash(stems[at]) for at in kept), np.uint32, len(kept))
    order = np.argsort(hashes, kind="stable")
    return {"stem.hash": hashes[order], "stem.term": smallest(np.asarray(kept, np.int64)[order])}


def terms_of_stem(text: str, terms: Strings, hashes: npt.NDArray[np.uint32], numbers: npt.NDArray[Any]) -> Ids:
    """Return the numbers, ascending, of the terms with a stem, given both arrays of :func:`stem_arrays`."""
    wanted = np.uint32(_hash(text))
    low, high = np.searchsorted(hashes, wanted), np.searchsorted(hashes, wanted, side="right")
    found = [term for term in numbers[low:high].tolist() if stem(terms[term]) == text]
    if not found:
        alone = terms.find(text)
        found = [alone] if alone >= 0 and stem(text) == text else []
    return np.asarray(found, np.int64)
