"""The verdict on every document of a segment under one set of trusted keys, kept beside the segment.

The index holds evidence, which no key can change; verdicts depend on the keys, so a column of them is named by the
digest of everything about the keys that matters, and is made anew for any other set. Every item that is shown is
verified from its bytes all the same.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rye.index import container
from rye.index.arrays import Bools, pack
from rye.index.container import Container, DamagedError
from rye.index.schema import TYPE_NAMES
from rye.index.segment import Segment
from rye.index.terms import Strings
from rye.signing import Evidence, Origin, TrustSet, Verdict, judge
from rye.spaces import Root

logger = logging.getLogger(__name__)

VERDICT_NAMES = tuple(str(verdict) for verdict in Verdict)
VERDICT_NUMBER = {name: number for number, name in enumerate(VERDICT_NAMES)}


@dataclass(frozen=True, eq=False)
class VerdictColumn:
    """Shape ``(docs,)`` each: verdict number, and number of the signer in ``signers``."""

    verdicts: npt.NDArray[np.uint8]
    signer_of: npt.NDArray[np.int32]
    signers: Strings


def verdict_column(path: Path, segment: Segment, root: Root, *, trust: TrustSet, now: datetime) -> VerdictColumn:
    """Return the verdicts on a segment, read from ``path`` or judged anew and written there.

    Args:
        path: File for this segment and this trust set.
        segment: The segment, deleted documents included.
        root: Where its items are.
        trust: The keys.
        now: The time that expiry is judged at.
    """
    try:
        return _read(path, segment.docs)
    except DamagedError:
        arrays = _judge_all(segment, root, trust, now)
    try:
        temporary = path.with_suffix(".tmp")
        temporary.unlink(missing_ok=True)
        container.write(temporary, arrays, {})
        temporary.replace(path)
        return _read(path, segment.docs)
    except (OSError, DamagedError) as error:
        logger.info("verdicts not kept: %s", error)
        return _column(arrays, memoryview(arrays["signer.buffer"].tobytes()))


def _read(path: Path, docs: int) -> VerdictColumn:
    file = Container(path)
    names = ("verdicts", "signer_of", "signer.offsets")
    try:
        arrays = {name: file.array(name) for name in names}
        column = _column(arrays, file.buffer("signer.buffer"))
    except (KeyError, ValueError) as error:
        raise DamagedError(str(error)) from error
    if len(column.verdicts) != docs:
        message = f"{path.name}: verdicts on {len(column.verdicts)} documents, not {docs}"
        raise DamagedError(message)
    return column


def _column(arrays: dict[str, npt.NDArray[Any]], buffer: memoryview) -> VerdictColumn:
    return VerdictColumn(arrays["verdicts"], arrays["signer_of"], Strings(arrays["signer.offsets"], buffer))


def _judge_all(segment: Segment, root: Root, trust: TrustSet, now: datetime) -> dict[str, npt.NDArray[Any]]:
    """Judge every document that a key of the set may have signed, and of all others one of each kind."""
    numbers: dict[str, int] = {}

    def judged(evidence: Evidence, item_type: str = "", item_id: str = "") -> tuple[int, int]:
        origin = Origin(root.space, root.bundle, item_type, item_id)
        found = judge(evidence, origin=origin, trust=trust, now=now)
        return VERDICT_NUMBER[found.verdict], numbers.setdefault(found.signer, len(numbers))

    kind_of, kinds = segment.evidence.kinds()
    alone = np.asarray([not one.code and bool(trust.named(one.fingerprint)) for one in kinds], bool)
    of_kind = [(0, 0) if each else judged(one) for one, each in zip(kinds, alone.tolist(), strict=True)]
    rows = np.asarray(of_kind, np.int64).reshape(-1, 2)[kind_of]
    types = segment.types
    for doc in np.flatnonzero(alone[kind_of]).tolist():
        rows[doc] = judged(segment.evidence[doc], TYPE_NAMES[types[doc]], segment.ids[doc])
    signers = sorted(numbers)
    place = {name: at for at, name in enumerate(signers)}
    offsets, buffer = pack(signers)
    return {
        "verdicts": rows[:, 0].astype(np.uint8),
        "signer_of": np.asarray([place[name] for name in numbers], np.int32)[rows[:, 1]],
        "signer.offsets": offsets,
        "signer.buffer": buffer,
    }


# -- Sets of documents that take long to work out, kept in a file between processes.
Masks = Mapping[str, Bools]


def kept_masks(path: Path, names: Sequence[str], size: int, *, of: str, make: Callable[[], Masks]) -> Masks:
    """Return masks over documents, read from ``path`` or made anew and written there.

    Args:
        path: Their file; the last one made of anything else is replaced.
        names: What the masks are called.
        size: How many documents there are.
        of: Names everything that they depend on.
        make: Returns them.
    """
    try:
        return _read_masks(path, names, size, of)
    except DamagedError:
        masks = make()
    temporary = path.with_suffix(".tmp")
    try:
        temporary.unlink(missing_ok=True)
        container.write(temporary, {name: np.packbits(masks[name]) for name in names}, {"of": of})
        temporary.replace(path)
    except OSError as error:
        logger.info("%s not kept: %s", ", ".join(names), error)
    return masks


def _read_masks(path: Path, names: Sequence[str], size: int, of: str) -> Masks:
    try:
        file = Container(path)
        if file.meta["of"] != of:
            message = f"{path.name} is of something else"
            raise DamagedError(message)
        packed = [file.array(name) for name in names]
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise DamagedError(str(error)) from error
    if any(bits.dtype != np.uint8 or bits.shape != (-(-size // 8),) for bits in packed):
        message = f"{path.name} is not of {size} documents"
        raise DamagedError(message)
    return {name: np.unpackbits(bits, count=size).view(bool) for name, bits in zip(names, packed, strict=True)}
