"""Memory for sums over all documents, kept by each thread: to get it anew takes longer than to add up there."""

from __future__ import annotations

import threading

import numpy as np

from rye.index.reader import Floats

_kept = threading.local()


def zeros(purpose: str, size: int) -> Floats:
    """Return zeros in this thread's memory for a purpose, until it is asked for again."""
    kept: Floats | None = getattr(_kept, purpose, None)
    if kept is None or len(kept) != size:
        kept = np.empty(size)
        setattr(_kept, purpose, kept)
    kept.fill(0.0)
    return kept
