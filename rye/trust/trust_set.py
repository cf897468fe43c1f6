"""The trust set: all trust files of a run, and the one place that decides whether a key may sign.

A trust file is *in effect* if it is the user's own, or if a key that the user trusts without limits signed it. Among
one key's files in effect, every limit applies, and one revocation is enough. All questions about a key, from a verdict
to ``rye trust list``, are answered by :meth:`TrustSet.may_sign`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from rye.trust.list import ListedSpace
from rye.trust.model import BY_LIST, EnvelopeFormat, Evidence, Place, as_utc
from rye.trust.trust_entry import TrustEntry, TrustScope

_RANKS = tuple(TrustScope)
_WHOLE_NAMES = frozenset({EnvelopeFormat.V2.value, BY_LIST})

_Home = tuple[str, str]
"""The space and bundle that a question is about; both empty for the user's own trust files alone."""


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
    lists: Mapping[tuple[str, str, bool], ListedSpace] = field(default_factory=dict, repr=False, compare=False)
    _by_key: dict[str, tuple[TrustEntry, ...]] = field(init=False, repr=False, compare=False, hash=False)
    _by_name: dict[str, tuple[TrustEntry, ...]] = field(init=False, repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        keys: dict[str, tuple[TrustEntry, ...]] = {}
        names: dict[str, tuple[TrustEntry, ...]] = {}
        for entry in sorted(self.entries, key=lambda entry: _RANKS.index(entry.scope)):
            keys[entry.fingerprint] = (*keys.get(entry.fingerprint, ()), entry)
            for name in entry.public.names:
                names[name] = (*names.get(name, ()), entry)
        object.__setattr__(self, "_by_key", keys)
        object.__setattr__(self, "_by_name", names)

    def __len__(self) -> int:
        return len(self.entries)

    def named(self, key: str) -> tuple[TrustEntry, ...]:
        """Return the trust files of the key with a fingerprint, the user's own first."""
        return self._by_key.get(key, ())

    def meant_by(self, evidence: Evidence) -> tuple[TrustEntry, ...]:
        """Return the trust files of the keys that a signature may mean; only older formats shorten a fingerprint."""
        name = evidence.fingerprint
        return self.named(name) if evidence.format in _WHOLE_NAMES else self._by_name.get(name, ())

    def may_sign(self, key: str, place: Place, at: datetime) -> Standing:
        """Return whether a key may sign at a place, and if not, why not.

        Args:
            key: The fingerprint, as for :meth:`named`.
            place: What is signed, and where.
            at: The time.
        """
        return self._standing(key, (place.space, place.bundle), at, lambda entry: entry.allows(place))

    def counts_in(self, key: str, space: str, bundle: str, at: datetime) -> Standing:
        """Return whether a key may sign anything in a space or bundle; arguments as in :class:`Place`."""
        return self._standing(key, (space, bundle), at, lambda entry: entry.reaches(space, bundle))

    def counts_anywhere(self, key: str, at: datetime) -> Standing:
        """Return whether a key may sign anything at all, by the user's own trust files."""
        return self._standing(key, ("", ""), at, lambda entry: entry.limits is None or bool(entry.limits))

    def _standing(self, key: str, home: _Home, at: datetime, allows: Callable[[TrustEntry], bool]) -> Standing:
        entries = self.named(key)
        if not entries:
            return Standing("unknown-key", None, self._signer_before(home, at))
        standing = self._decide(entries, home, at, allows)
        is_of_others = standing.code == "limited" and _is_for_other_bundles(standing.entry, home)
        if standing.code != "foreign-key" and not is_of_others:
            return standing
        local = next((entry for entry in entries if not entry.is_users and entry.concerns(*home)), None)
        if local is None:
            return standing
        before = self._signer_before(home, at)
        return Standing("signer-changed" if before else "foreign-key", local, before or local.home)

    def _decide(
        self, entries: tuple[TrustEntry, ...], home: _Home, at: datetime, allows: Callable[[TrustEntry], bool]
    ) -> Standing:
        """Return the standing of a key by all its trust files, without looking for a better remedy."""
        for entry in entries:
            if entry.revoked is not None and self._blocks(entry, home):
                return Standing("revoked", entry, f": {entry.revoked}" if any(entry.revoked) else "")
        in_effect = [entry for entry in entries if entry.concerns(*home) and self.is_in_effect(entry, at)]
        for entry in in_effect:
            if entry.not_after is not None and entry.is_expired(at):
                return Standing("expired", entry, as_utc(entry.not_after).isoformat(timespec="seconds"))
        for entry in in_effect:
            if not allows(entry):
                return Standing("limited", entry, ", ".join(entry.patterns or ()) or "nothing")
        if not in_effect:
            return Standing("foreign-key", entries[0], ", ".join(sorted({entry.home for entry in entries})))
        return Standing("", in_effect[0])

    def is_in_effect(self, entry: TrustEntry, at: datetime) -> bool:
        """Return whether a trust file is in effect: it is the user's own, or a fully trusted key signed it.

        Rye's own trust files are part of the program, and in effect for rye's own items.
        """
        if entry.is_users or entry.built_in:
            return True
        signer = entry.signed_by
        return self._is_full(signer, at) and not any(
            file.revoked is not None and self._blocks(file, ("", "")) for file in self.named(signer)
        )

    def _is_full(self, key: str, at: datetime) -> bool:
        own = [entry for entry in self.named(key) if entry.is_users]
        return self._was_full(key) and not any(file.revoked is not None or file.is_expired(at) for file in own)

    def _was_full(self, key: str) -> bool:
        """Return whether the user's own files trust a key without limits, or did before it was revoked or expired."""
        own = [entry for entry in self.named(key) if entry.is_users]
        return bool(own) and all(file.patterns is None for file in own)

    def _blocks(self, entry: TrustEntry, home: _Home) -> bool:
        """Return whether a file that revokes its key blocks that key in a space or bundle.

        A revocation stays in effect: it is enough that its signer was once trusted without limits. Otherwise rotating
        or expiring the signer's key would bring a stolen key back. In its own bundle a bundle's file always blocks.
        """
        if entry.concerns(*home) and entry.scope is not TrustScope.PROJECT:
            return True
        return not entry.built_in and self._was_full(entry.signed_by)

    def _signer_before(self, home: _Home, at: datetime) -> str:
        """Return a phrase that says which other signers the user trusts for a bundle by its name; empty if none."""
        space, bundle = home
        signers = " or ".join(self.bundle_signers(bundle, at)) if space == "system" else ""
        return f"; the signer of bundle {bundle} changed: you trusted {signers}" if signers else ""

    def bundle_signers(self, bundle: str, at: datetime) -> tuple[str, ...]:
        """Return the signers, in words, that the user trusts for a bundle by its name."""
        home = ("system", bundle)
        named = (entry for entry in self.entries if entry.is_users and entry.names_bundle(bundle))
        signers = dict.fromkeys(
            entry.signer
            for entry in named
            if self._decide(self.named(entry.fingerprint), home, at, lambda file: file.reaches(*home)).is_allowed
        )
        return tuple(signers)

    def demanded(self, place: Place) -> str:
        """Return the audience that a signature at a place must name; empty if none is demanded.

        An audience is demanded only in projects, because they are copied and cloned. The keys of bundles and of the
        user's items bind these to their place.
        """
        return self.audience if place.space == "project" else ""

    def list_of(self, place: Place) -> ListedSpace | None:
        """Return the list of the space or bundle that contains a file; None if it has none."""
        return self.lists.get((place.space, place.bundle, bool(place.client)))

    def digest(self, at: datetime) -> str:
        """Return the SHA-256 hex of exactly what verdicts at a time depend on.

        Equal digests mean equal verdicts on equal evidence. The time matters only through what has expired by then.
        """
        rows = sorted(
            json.dumps([*entry.facts(), entry.is_expired(at), self.is_in_effect(entry, at)]) for entry in self.entries
        )
        return hashlib.sha256("\n".join([self.audience, *rows]).encode()).hexdigest()


def _is_for_other_bundles(entry: TrustEntry | None, home: _Home) -> bool:
    """Return whether a user's file trusts a key for other bundles by name, and for nothing else."""
    space, bundle = home
    limits = entry.limits if entry and entry.is_users and space == "system" else None
    return bool(limits) and not any(limit.bundle in {"", bundle} for limit in limits or ())
