"""The verdict on every document of a segment under one set of trusted keys, kept beside the segment.

The index holds evidence, which no key can change; verdicts depend on the keys, so a column of them is named by the
digest of everything about the keys that matters, and is made anew for any other set. Every item that is shown is
verified from its bytes all the same.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rye.index import container, strings
from rye.index.container import Container, DamagedError
from rye.index.schema import TYPE_NAMES
from rye.index.segment import Segment
from rye.index.strings import Strings
from rye.signing import Origin, TrustSet, Verdict, judge
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
    verdicts, signed_by = np.empty(segment.docs, np.uint8), []
    ids, types = segment.ids.everything, segment.types.tolist()
    for doc, evidence in enumerate(segment.evidence):
        origin = Origin(root.space, root.bundle, TYPE_NAMES[types[doc]], ids[doc])
        found = judge(evidence, origin=origin, trust=trust, now=now)
        verdicts[doc] = VERDICT_NUMBER[found.verdict]
        signed_by.append(found.signer)
    signers = sorted(set(signed_by))
    number = {name: at for at, name in enumerate(signers)}
    signer_of = np.fromiter(map(number.__getitem__, signed_by), np.int32, len(signed_by))
    offsets, buffer = strings.pack(signers)
    return {"verdicts": verdicts, "signer_of": signer_of, "signer.offsets": offsets, "signer.buffer": buffer}
