"""The verdict on every document of a segment for one set of trusted keys, cached beside the segment.

The index holds evidence, which does not depend on keys. Verdicts do, so a column of them is named by the digest of
everything relevant about the keys, and computed again for any other set. Every item that is shown is still verified
from its bytes.
"""

from __future__ import annotations

import hashlib
import logging
import re
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from rye.index.segment.segment import Segment
from rye.index.storage.arrays import Array, Arrays, pack_strings
from rye.index.storage.container import cached_arrays
from rye.index.storage.terms import Strings
from rye.items.model import TYPE_NAMES
from rye.spaces.lists import list_key
from rye.spaces.model import Root
from rye.trust.certificates import ForeignKey
from rye.trust.judge import judge
from rye.trust.list import ListFault
from rye.trust.model import Evidence, Verdict
from rye.trust.oms import moments_of
from rye.trust.trust_set import TrustSet

logger = logging.getLogger(__name__)

VERDICT_NAMES = tuple(str(verdict) for verdict in Verdict)
VERDICT_NUMBER = {name: number for number, name in enumerate(VERDICT_NAMES)}

MAX_COLUMNS = 4
"""Trust sets whose verdicts are kept for a segment: people, CI and ``--trust`` alternate between a few."""

_NEVER: Final = 1e12


class VerdictColumn(NamedTuple):
    """The verdict number of each document, and the number of its signer in ``signers``; shape ``(docs,)`` each.

    Certificates become valid and expire without a change of the trust set, so the verdicts hold only in ``period``,
    shape ``(2,)``: after the first and until the second moment, in seconds since 1970.
    """

    verdicts: npt.NDArray[np.uint8]
    signer_of: npt.NDArray[np.int32]
    signers: Strings
    period: Array

    def holds_at(self, now: datetime) -> bool:
        """Return whether the verdicts are valid at a moment."""
        return _holds(self.period, now)


def verdict_column(path: Path, segment: Segment, root: Root, *, trust: TrustSet, now: datetime) -> VerdictColumn:
    """Return the verdicts on a segment: read from ``path``, or judged and written there.

    Args:
        path: The file for this segment and trust set.
        segment: The segment, including deleted documents.
        root: The root of its items.
        trust: The keys.
        now: The time for which expiry is judged.
    """
    arrays = cached_arrays(
        path,
        of=f"verdicts on {segment.docs}",
        make=lambda: {**_judge_all(segment, root, trust, now), "period": _period(segment, trust, now)},
        holds=lambda arrays: _holds(arrays["period"], now),
        keep=lambda: _remove_oldest(path),
    )
    signers = Strings(arrays["signer.offsets"], arrays["signer.buffer"].data)
    return VerdictColumn(arrays["verdicts"], arrays["signer_of"], signers, arrays["period"])


def _holds(period: Array, now: datetime) -> bool:
    since, until = period.tolist()
    return bool(since < now.timestamp() <= until)


def _period(segment: Segment, trust: TrustSet, now: datetime) -> Array:
    """Return the period around a moment in which no certificate becomes valid or expires."""
    certificates = {der for evidence in segment.evidence.kinds()[1] for der in evidence.proof[1:]}
    roots = (entry.public for entry in trust.entries)
    certificates |= {key.der for key in roots if isinstance(key, ForeignKey) and key.is_certificate}
    moments = [moment.timestamp() for moment in moments_of(certificates)] if certificates else []
    at = now.timestamp()
    since = max((moment for moment in moments if moment < at), default=0.0)
    return np.asarray([since, min((moment for moment in moments if moment >= at), default=_NEVER)])


def _remove_oldest(path: Path) -> None:
    """Keep only the newest :data:`MAX_COLUMNS` files of verdicts on a segment."""
    names = re.compile(rf"{re.escape(path.name.partition('.')[0])}\.[0-9a-f]{{16}}\.ryx")
    try:
        kept = [file for file in path.parent.iterdir() if names.fullmatch(file.name)]
        kept.sort(key=lambda file: file.stat().st_mtime_ns, reverse=True)
        for old in kept[MAX_COLUMNS:]:
            old.unlink(missing_ok=True)
    except OSError as error:  # another process removes the same ones
        logger.info("old verdicts beside %s stay: %s", path.name, error)


def column_name(root: Root, trust: TrustSet, digest: str) -> str:
    """Return a name for verdicts on a segment: a digest of the trust set and of the signed list of its space."""
    space = trust.lists.get(list_key(root))
    if space is None:
        return digest
    state, line = space.state, space.state.line
    fault = (state.code, state.detail) if isinstance(state, ListFault) else ("", "")
    facts = (digest, *fault, line and (line.fingerprint, line.digest, line.stated, line.audience))
    return hashlib.sha256(repr(facts).encode("utf-8", "backslashreplace")).hexdigest()[: len(digest)]


def _judge_all(segment: Segment, root: Root, trust: TrustSet, now: datetime) -> Arrays:
    """Judge every document that a trusted key may have signed, and one example of each kind of other evidence.

    A verdict on a signature of an untrusted key, or on a file without a valid one, depends on the evidence alone, and
    most documents of a space share a few kinds of evidence. Only trusted keys are limited to certain items.
    """
    numbers: dict[str, int] = {}

    def judged(evidence: Evidence, item_type: str = "", item_id: str = "", path: str = "") -> tuple[int, int]:
        origin = root.origin(item_type, item_id, path)
        signature = judge(evidence, origin=origin, trust=trust, now=now)
        return VERDICT_NUMBER[signature.verdict], numbers.setdefault(signature.signer, len(numbers))

    kind_of, kinds = segment.evidence.kinds()
    # per kind: signed by a trusted key or a list, so the verdict also depends on the item
    listed = list_key(root) in trust.lists
    by_key = (not kind.code and bool(trust.meant_by(kind)) for kind in kinds)
    pairs = zip(kinds, by_key, strict=True)
    individual = np.asarray([is_trusted or (listed and kind.may_be_listed) for kind, is_trusted in pairs], bool)
    of_kind = [
        (0, 0) if is_individual else judged(kind)
        for kind, is_individual in zip(kinds, individual.tolist(), strict=True)
    ]
    # per document: numbers of verdict and signer, initially those of its kind
    rows = np.asarray(of_kind, np.int64).reshape(-1, 2)[kind_of]
    types = segment.types
    for doc in np.flatnonzero(individual[kind_of]).tolist():
        rows[doc] = judged(segment.evidence[doc], TYPE_NAMES[types[doc]], segment.ids[doc], segment.paths[doc])
    # signers are numbered in order of appearance; on disk they are sorted
    signers = sorted(numbers)
    place = {name: at for at, name in enumerate(signers)}
    return {
        "verdicts": rows[:, 0].astype(np.uint8),
        "signer_of": np.asarray([place[name] for name in numbers], np.int32)[rows[:, 1]],
        **pack_strings("signer", signers),
    }
