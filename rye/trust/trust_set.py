"""The trust set: all trust files of a run, and the one place that decides whether a key may sign.

A trust file is *in effect* if it is the user's own, or if a key that the user trusts without limits signed it. Among
one key's files in effect, every limit applies, and one revocation is enough. All questions about a key, from a verdict
to ``rye trust list``, are answered by :meth:`TrustSet.may_sign`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from rye.trust.list import ListState
from rye.trust.model import Origin, as_utc
from rye.trust.trust_entry import TrustEntry, TrustScope, bundle_of

ANYWHERE = Origin("", "", "", "")
"""The place to pass when asking if a key may sign anything. An empty field of a place matches any value."""

_RANKS = tuple(TrustScope)


class Standing(NamedTuple):
    """Whether a key may sign at a place and time.

    Attributes:
        code: Empty if it may, else the reason code (:data:`rye.trust.reasons.REASONS`) that says why not.
        entry: The trust file that decided; None for a key that no trust file names.
        detail: Words for the template of the code.
    """

    code: str = ""
    entry: TrustEntry | None = None
    detail: str = ""

    @property
    def is_allowed(self) -> bool:
        """Whether the key may sign there."""
        return not self.code


@dataclass(frozen=True, slots=True)
class TrustSet:
    """All trust files of one run.

    Attributes:
        entries: The trust files.
        audience: The registry that signatures on project items must name; empty to accept any and none.
        lists: (space, bundle, whether it is a client folder) → its list.
    """

    entries: tuple[TrustEntry, ...] = ()
    audience: str = ""
    lists: Mapping[tuple[str, str, bool], ListState] = field(default_factory=dict, repr=False, compare=False)
    _by_name: dict[str, tuple[TrustEntry, ...]] = field(init=False, repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        names: dict[str, tuple[TrustEntry, ...]] = {}
        for entry in sorted(self.entries, key=lambda entry: _RANKS.index(entry.scope)):
            for name in entry.public.names:
                names[name] = (*names.get(name, ()), entry)
        object.__setattr__(self, "_by_name", names)

    def __len__(self) -> int:
        return len(self.entries)

    def named(self, key: str) -> tuple[TrustEntry, ...]:
        """Return the trust files of a key (64 or 16 hex of the PEM, 64 hex of the raw key), the user's own first."""
        return self._by_name.get(key, ())

    def may_sign(self, key: str, place: Origin, at: datetime) -> Standing:
        """Return whether a key may sign at a place, and if not, why not.

        Args:
            key: The fingerprint, as for :meth:`named`.
            place: An item; a whole space or bundle, if type and id are empty; or :data:`ANYWHERE`.
            at: The time.
        """
        entries = self.named(key)
        if not entries:
            return Standing("unknown-key", None, self._signer_before(place, at))
        standing = self._decide(entries, place, at)
        if standing.code not in {"foreign-key", "limited"}:
            return standing
        if standing.code == "limited" and not _is_for_other_bundles(standing.entry, place):
            return standing
        for entry in entries:
            if entry.scope is TrustScope.PROJECT and entry.concerns(place):
                return Standing("project-key", entry)
            if entry.scope is TrustScope.BUNDLE and entry.concerns(place):
                before = self._signer_before(place, at)
                return Standing("signer-changed" if before else "bundle-key", entry, before or entry.bundle)
        return standing

    def _decide(self, entries: tuple[TrustEntry, ...], place: Origin, at: datetime) -> Standing:
        """Return the standing of a key by all its trust files, without looking for a better remedy."""
        blocking = [entry for entry in entries if entry.blocks_key and self._blocks(entry, place)]
        for entry in blocking:
            if entry.revoked is not None:
                return Standing("revoked", entry, f": {entry.revoked}" if any(entry.revoked) else "")
        readable = [entry for entry in entries if not entry.unread]
        first = (readable or entries)[0]
        if blocking:
            return Standing("trust-unread", first, blocking[0].source)
        in_effect = [entry for entry in readable if entry.concerns(place) and self.is_in_effect(entry, at)]
        for entry in in_effect:
            if entry.not_after is not None and entry.is_expired(at):
                return Standing("expired", entry, as_utc(entry.not_after).isoformat(timespec="seconds"))
        for entry in in_effect:
            if not entry.allows(place):
                return Standing("limited", entry, ", ".join(entry.patterns or ()) or "nothing")
        if not in_effect:
            return Standing("foreign-key", first, ", ".join(sorted({entry.home for entry in entries})))
        return Standing("", in_effect[0])

    def is_in_effect(self, entry: TrustEntry, at: datetime) -> bool:
        """Return whether a trust file is in effect: it is the user's own, or a fully trusted key signed it.

        Rye's own trust files are part of the program, and in effect for rye's own items.
        """
        if entry.is_users or entry.built_in:
            return True
        signer = entry.signed_by
        return self._is_full(signer, at) and not any(
            revoking.blocks_key and self._blocks(revoking, ANYWHERE) for revoking in self.named(signer)
        )

    def _is_full(self, key: str, at: datetime) -> bool:
        own = [entry for entry in self.named(key) if entry.is_users]
        return self._was_full(key) and not any(file.blocks_key or file.is_expired(at) for file in own)

    def _was_full(self, key: str) -> bool:
        """Return whether the user's own files trust a key without limits, or did before it was revoked or expired."""
        own = [entry for entry in self.named(key) if entry.is_users]
        return bool(own) and all(file.patterns is None for file in own)

    def _blocks(self, entry: TrustEntry, place: Origin) -> bool:
        """Return whether a file, which revokes its key or cannot be read, blocks that key at a place.

        A revocation stays in effect: it is enough that its signer was once trusted without limits. Otherwise rotating
        or expiring the signer's key would bring a stolen key back. In its own bundle a bundle's file always blocks a
        key. In its own project or bundle an unreadable file does too, because its signature may be the broken part.
        """
        if entry.concerns(place) and (entry.scope is not TrustScope.PROJECT or entry.unread):
            return True
        return not entry.built_in and self._was_full(entry.signed_by)

    def _signer_before(self, place: Origin, at: datetime) -> str:
        """Return a phrase that says which other signers the user trusts for a bundle by its name; empty if none."""
        signers = " or ".join(self.bundle_signers(place.bundle, at)) if place.space == "system" else ""
        return f"; the signer of bundle {place.bundle} changed: you trusted {signers}" if signers else ""

    def bundle_signers(self, bundle: str, at: datetime) -> tuple[str, ...]:
        """Return the signers, in words, that the user trusts for a bundle by its name."""
        place = Origin("system", bundle, "", "")
        named = (entry for entry in self.entries if bundle in map(bundle_of, entry.patterns or ()))
        signers = dict.fromkeys(
            entry.signer
            for entry in named
            if entry.is_users and self._decide(self.named(entry.fingerprint), place, at).is_allowed
        )
        return tuple(signers)

    def demanded(self, origin: Origin) -> str:
        """Return the audience that a signature at ``origin`` must name; empty if none is demanded.

        An audience is demanded only in projects, because they are copied and cloned. The keys of bundles and of the
        user's items bind these to their place.
        """
        return self.audience if origin.space == "project" else ""

    def list_of(self, origin: Origin) -> ListState | None:
        """Return the list of the space or bundle that contains a file; None if it has none."""
        return self.lists.get((origin.space, origin.bundle, bool(origin.folder)))

    def digest(self, at: datetime) -> str:
        """Return the SHA-256 hex of exactly what verdicts at a time depend on.

        Equal digests mean equal verdicts on equal evidence. The time matters only through what has expired by then.
        """
        rows = sorted(
            json.dumps([*entry.facts(), entry.is_expired(at), self.is_in_effect(entry, at)]) for entry in self.entries
        )
        return hashlib.sha256("\n".join([self.audience, *rows]).encode()).hexdigest()


def _is_for_other_bundles(entry: TrustEntry | None, place: Origin) -> bool:
    """Return whether a user's file trusts a key for other bundles by name, and for nothing else."""
    patterns = entry.patterns if entry and entry.is_users and place.space == "system" else None
    return bool(patterns) and not any(bundle_of(pattern) in {"", place.bundle} for pattern in patterns or ())
