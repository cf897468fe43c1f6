"""What the weight of a posting hangs on besides tf, its field and the length of that, as one small number: a slot code.

A code is ``field · 2^LENGTH_BITS + length``. To look one up by its slot takes longer than all else that is done for a
posting, because slots are far apart. So a process that has looked up many puts those of all postings in their order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rye.index.schema import FIELD_BITS

LENGTH_BITS = 16 - FIELD_BITS
"""The length of a field fits, in parts, unless it is very long."""

MOST = 1 << 24
"""Postings of a segment whose codes are put in order; each takes two bytes of memory."""

OFTEN = 4
"""They are once a posting in so many has been looked up, which takes some hundred queries for common words."""

_AT_A_TIME = 1 << 18

Codes = npt.NDArray[np.uint16]


def codes_by_slot(lengths: npt.NDArray[Any]) -> Codes | None:
    """Return codes by slot, see :func:`rye.index.segment.slot_keys`; None where the length of some field does not fit.

    Args:
        lengths: Shape ``(fields, docs)``.
    """
    if int(lengths.max(initial=0)) >> LENGTH_BITS:
        return None
    found = np.zeros((lengths.shape[1], 1 << FIELD_BITS), np.uint16)
    found[:, : len(lengths)] = lengths.T
    found |= np.arange(1 << FIELD_BITS, dtype=np.uint16) << np.uint16(LENGTH_BITS)
    return found.ravel()


def codes_in_order(by_slot: Codes, posting: npt.NDArray[Any], shift: Any) -> Codes:
    """Return the codes of all postings; ``shift`` are the bits of each below its slot."""
    found = np.empty(len(posting), np.uint16)
    for start in range(0, len(posting), _AT_A_TIME):
        slots = posting[start : start + _AT_A_TIME] >> shift
        found[start : start + _AT_A_TIME] = by_slot.take(slots.astype(np.int64))
    return found
