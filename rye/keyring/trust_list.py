"""The rows of ``rye trust list`` and the web page: for each trust file, whether its key is accepted, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from rye._report import Report
from rye.keyring.limits import together
from rye.trust.reasons import REASONS, reach_of, why_in_effect
from rye.trust.trust_entry import Revocation, TrustEntry, TrustScope
from rye.trust.trust_set import TrustSet


@dataclass(frozen=True, slots=True)
class TrustedKey(Report):
    """One trust file: its key, the limits of that key, whether the key is accepted, and why.

    ``patterns`` is ``for`` in the file and in JSON. ``code`` is ``counts`` or a code of
    :data:`rye.trust.reasons.REASONS`. The key of a user's file is judged for any place, that of a project's or bundle's
    file for that project or bundle.
    """

    fingerprint: str
    owner: str
    scope: str
    bundle: str
    patterns: tuple[str, ...] | None
    not_after: str
    revoked: Revocation | None
    signed_by: str
    path: str
    counts: bool
    code: str
    reason: str

    @property
    def is_users(self) -> bool:
        """Whether the file is treated as the user's own."""
        return TrustScope(self.scope).is_users

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as values for JSON."""
        return {"for" if name == "patterns" else name: value for name, value in Report.to_dict(self).items()}


@dataclass(frozen=True, slots=True)
class TrustReport(Report):
    """Every trust file of every space, with a warning for each that cannot be read, or if there is none."""

    keys: tuple[TrustedKey, ...]
    warnings: tuple[str, ...] = ()


def list_entry(entry: TrustEntry, trust: TrustSet, now: datetime) -> TrustedKey:
    """Return the row of a trust file: whether its key may sign where the file applies, and why."""
    if entry.is_users:
        standing = trust.counts_anywhere(entry.fingerprint, now)
    else:
        standing = trust.counts_in(entry.fingerprint, entry.scope.space, entry.bundle, now)
    decides = standing.entry or entry
    if not standing.is_allowed:
        reason = REASONS[standing.code].words.format(signer=decides.signer, detail=standing.detail, key="", ref="")
    elif trust.is_in_effect(entry, now):
        limits = (together(trust.named(entry.fingerprint)) if entry.is_users else None) or entry
        all_files = replace(entry, patterns=limits.patterns, not_after=limits.not_after)
        reason = f"for {reach_of(all_files)}: {why_in_effect(entry)}"
    else:
        reason = f"for {reach_of(decides)}, by {decides.source or decides.home}; this file is not in effect"
    if standing.is_allowed:
        reason += "".join(_exceptions(entry, trust, now))
    return TrustedKey(
        fingerprint=entry.fingerprint,
        owner=entry.owner,
        scope=str(entry.scope),
        bundle=entry.bundle,
        patterns=entry.patterns,
        not_after="" if entry.not_after is None else entry.not_after.isoformat(timespec="seconds"),
        revoked=entry.revoked,
        signed_by=entry.signed_by,
        path=entry.source,
        counts=standing.is_allowed,
        code=standing.code or "counts",
        reason=reason,
    )


def _exceptions(entry: TrustEntry, trust: TrustSet, now: datetime) -> Iterator[str]:
    """Yield the projects and bundles where a key that is accepted elsewhere is not."""
    local = [file for file in trust.named(entry.fingerprint) if not file.is_users and entry.is_users]
    for file in local:
        if trust.counts_in(entry.fingerprint, file.scope.space, file.bundle, now).code == "revoked":
            yield f"; but for nothing of {file.home}, as {file.source} revokes the key"
