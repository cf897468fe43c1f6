"""Why a trust file counts or does not, in one line for a person who looks at the list of keys."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from rye.signing.trust import Revocation, Scope, TrustEntry, TrustSet, as_utc

__all__ = ["Account", "account"]


@dataclass(frozen=True, slots=True)
class Account:
    """Whether the word of one trust file counts at a moment, a stable code, and why in words.

    The codes: ``counts``; ``unread`` when this file, or another that may revoke the key, cannot be read; ``revoked``;
    ``project-key`` when no key of the user stands behind a project's file;
    ``overruled`` when a more authoritative file of the same key decides; ``expired``; ``no-namespace``.
    """

    counts: bool
    code: str
    reason: str


def account(entry: TrustEntry, *, trust: TrustSet, now: datetime) -> Account:
    """Return whether and why an entry of a trust set counts, in the order in which judging asks."""
    if entry.unread:
        return Account(counts=False, code="unread", reason=f"cannot be read, and may revoke the key: {entry.unread}")
    # 1. A project's file without an endorsement says nothing at all, not even that its key is revoked.
    if not trust.stands(entry, now):
        return Account(counts=False, code="project-key", reason=_why_not_standing(entry, trust, now))
    # 2. Revocation, by this file or by another that is entitled to.
    if barring := _barring(entry, trust, now):
        code = "unread" if barring.revoked is None else "revoked"
        return Account(counts=False, code=code, reason=_barred_by(barring, entry))
    # 3. Another file that decides alone.
    if overruling := _overruling(entry, trust):
        where = _PLACES[overruling.scope].format(bundle=overruling.bundle)
        return Account(counts=False, code="overruled", reason=f"the trust file {where} decides for this key")
    # 4. The limits of the key.
    if entry.expired(now) and entry.not_after is not None:
        moment = as_utc(entry.not_after).isoformat(timespec="seconds")
        return Account(counts=False, code="expired", reason=f"expired at {moment}")
    if entry.namespaces == ():
        return Account(counts=False, code="no-namespace", reason="its namespaces are empty: it may sign nothing")
    return Account(counts=True, code="counts", reason=_extent(entry, trust))


_PLACES = {
    Scope.NAMED: "named with --trust",
    Scope.USER: "of the user space",
    Scope.PROJECT: "of the project",
    Scope.BUNDLE: "of bundle {bundle}",
}


def _why_not_standing(entry: TrustEntry, trust: TrustSet, now: datetime) -> str:
    if not entry.endorsed_by:
        return "no key of the user has endorsed its trust file: a project cannot vouch for itself"
    for anchor in trust.named(entry.endorsed_by):
        if anchor.scope.is_anchor and anchor.revoked is not None:
            return f"endorsed by {anchor.signer}, whose key is revoked{_words(anchor.revoked)}"
        if anchor.scope.is_anchor and anchor.unread:
            return f"endorsed by {anchor.signer}, whose trust file {anchor.source} cannot be read"
    for anchor in trust.named(entry.endorsed_by):
        if anchor.scope.is_anchor and anchor.expired(now):
            return f"endorsed by {anchor.signer}, whose key has expired"
        if anchor.scope.is_anchor and anchor.namespaces is not None:
            return f"endorsed by {anchor.signer}, whose key is limited to namespaces and so cannot endorse"
    return f"endorsed by {entry.endorsed_by[:16]}, which no trust file of the user names"


def _barring(entry: TrustEntry, trust: TrustSet, now: datetime) -> TrustEntry | None:
    """Return the entry that revokes the key wherever this one could speak, or else one that may do so."""
    found = [each for each in trust.named(entry.fingerprint) if each.bars and _reaches(each, entry, trust, now)]
    return min(found, key=lambda each: each.revoked is None, default=None)


def _reaches(each: TrustEntry, entry: TrustEntry, trust: TrustSet, now: datetime) -> bool:
    at_home = each.scope is entry.scope and each.bundle == entry.bundle
    return at_home or (each.scope is not Scope.BUNDLE and trust.stands(each, now))


def _barred_by(barring: TrustEntry, entry: TrustEntry) -> str:
    where = f"the trust file {_PLACES[barring.scope].format(bundle=barring.bundle)}"
    if barring.revoked is None:
        return f"{where} cannot be read, and may revoke the key: {barring.source}"
    by = "" if barring == entry else f" by {where}"
    return f"revoked{by}{_words(barring.revoked)}; nothing that it ever signed is trusted"


def _words(revoked: Revocation) -> str:
    words = ", ".join(filter(None, (revoked.reason, revoked.date)))
    return f": {words}" if words else ""


def _overruling(entry: TrustEntry, trust: TrustSet) -> TrustEntry | None:
    """Return the entry that is heard in place of this one wherever this one could speak."""
    for each in trust.named(entry.fingerprint):
        if each.scope is entry.scope:
            return None
        if each.scope.is_anchor:
            return each
    return None


def _extent(entry: TrustEntry, trust: TrustSet) -> str:
    what = "every item" if entry.namespaces is None else ", ".join(entry.namespaces)
    if entry.scope is Scope.PROJECT:
        anchor = next(each for each in trust.named(entry.endorsed_by) if each.scope.is_anchor)
        reach = f"for {what} of this project: endorsed by {anchor.signer}"
    elif entry.scope is Scope.BUNDLE:
        reach = f"for {what} of bundle {entry.bundle} alone"
    else:
        reach = f"for {what}: " + ("named with --trust" if entry.scope is Scope.NAMED else "trusted by the user")
    until = "" if entry.not_after is None else f", until {as_utc(entry.not_after).isoformat(timespec='seconds')}"
    return reach + until
