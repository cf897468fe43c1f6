"""The table stem → terms, made when a segment is written, and the same stemmer for the words of a query."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import numpy.typing as npt
import Stemmer

from rye.index import strings

_local = threading.local()


def _stemmer() -> Any:
    """Return this thread's stemmer: one stemmer serves one thread at a time."""
    if not hasattr(_local, "stemmer"):
        _local.stemmer = Stemmer.Stemmer("english")
    return _local.stemmer


def stem(term: str) -> str:
    """Return the Snowball English stem of a folded term."""
    return str(_stemmer().stemWord(term))


def stem_arrays(ordered: list[str]) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays ``stem.*`` of a segment whose terms are ``ordered``."""
    found = _stemmer().stemWords(ordered)
    names = sorted(set(found), key=lambda text: text.encode("utf-8", "surrogatepass"))
    number = {name: i for i, name in enumerate(names)}
    ids = np.fromiter(map(number.__getitem__, found), np.int64, len(found))
    order = np.argsort(ids, kind="stable")
    offsets, buffer = strings.pack(names)
    return {
        "stem.offsets": offsets,
        "stem.buffer": buffer,
        "stem.postings": np.searchsorted(ids[order], np.arange(len(names) + 1)).astype(np.int64),
        "stem.term": order.astype(np.int32),
    }
