"""The trust set: an immutable set of trust entries, and the rules by which each may speak for an item."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

from rye._text import composed
from rye.trust.keys import PublicKey
from rye.trust.model import BY_LIST, Evidence, Fingerprint, Origin


class TrustScope(StrEnum):
    """Where a trust file was found, from the most to the least authoritative."""

    NAMED = "named"
    USER = "user"
    PROJECT = "project"
    BUNDLE = "bundle"

    @property
    def is_anchor(self) -> bool:
        """Whether keys found there are trusted by themselves; unless limited, for items of every space."""
        return self in {TrustScope.NAMED, TrustScope.USER}


_RANKS = tuple(TrustScope)
_PROJECT, _BUNDLE = TrustScope.PROJECT, TrustScope.BUNDLE
"""Looked up once: every item is judged by them."""


class Revocation(NamedTuple):
    """A key is revoked: at once and for all it ever signed, whatever the date says."""

    reason: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True)
class TrustEntry:
    """One trust file: its statements about one key, and where it was found.

    Attributes:
        public: The key.
        owner: As the file names it; printable, on one line.
        scope: Where the file was found.
        bundle: Bundle id when the scope is ``bundle``; name of the project when it was named by its path; else empty.
        namespaces: Patterns of ids it may sign; None for all, empty for none.
        bundles: Bundles whose items alone it may sign: they are pinned to it; None for no such limit.
        not_after: Last moment at which the key counts; None for no end.
        revoked: Set when the file revokes the key.
        endorsed_by: For a project's file the fingerprint of the user's key that signed it, else empty.
        vouches: Whether the bundle's own trust files count for its items: rye's own, and while a bundle is inspected or
            signed.
        source: Where the file was found, for messages.
        unread: Why the file cannot be read, if only its name states the key; it may then be one that revokes.
        fingerprint: That of the key.
        signer: Owner and short fingerprint, for sentences; a name that only the file's own space gives is in quotes.
    """

    public: PublicKey
    owner: str
    scope: TrustScope
    bundle: str = ""
    namespaces: tuple[str, ...] | None = None
    bundles: tuple[str, ...] | None = None
    not_after: datetime | None = None
    revoked: Revocation | None = None
    endorsed_by: str = ""
    vouches: bool = False
    source: str = ""
    unread: str = ""
    fingerprint: Fingerprint = field(init=False)
    signer: str = field(init=False)

    def __post_init__(self) -> None:
        fingerprint = self.public.fingerprint
        object.__setattr__(self, "fingerprint", fingerprint)
        short = fingerprint[:16]
        own_word = self.scope in (TrustScope.PROJECT, TrustScope.BUNDLE) and not (self.endorsed_by or self.vouches)
        owner = f"{self.owner!r} by its own word" if own_word else self.owner
        object.__setattr__(self, "signer", f"{owner} ({short})" if self.owner else short)

    @property
    def bars(self) -> bool:
        """Whether the file revokes the key, or may do so because it cannot be read."""
        return self.revoked is not None or bool(self.unread)

    def expired(self, now: datetime) -> bool:
        """Return whether the key's time is over at ``now``."""
        return self.not_after is not None and as_utc(now) > as_utc(self.not_after)

    def reaches(self, space: str, bundle: str) -> bool:
        """Return whether the file is about items of a space and bundle, given the bundles that it is limited to."""
        return self.bundles is None or (space == "system" and bundle in self.bundles)

    def allows(self, origin: Origin) -> bool:
        """Return whether the key may sign the item at ``origin``."""
        return self.namespaces is None or in_namespaces(self.namespaces, origin.item_type, origin.item_id)


class ListedSpace(NamedTuple):
    """What the list of a space says of the items that have no signature of their own.

    Attributes:
        code: Why the list is not valid, as a reason code; empty if it is.
        detail: The same in words.
        fingerprint, signed_at, audience: Of the signature that counts, else of the first one.
        digest: SHA-256 hex of the bytes that are signed.
        items: (folder of a client, type, id, extension) → SHA-256 of the file. None if the list cannot be read.
    """

    code: str
    detail: str
    fingerprint: str
    signed_at: str
    audience: str
    digest: str
    items: Mapping[tuple[str, str, str, str], str] | None


Listed = Callable[[str, str], ListedSpace | None]
"""Given space and bundle, returns what its list says; None without a list."""


@dataclass(frozen=True, slots=True)
class TrustSet:
    """All trust entries of one run.

    - Named and user keys are anchors: they speak for every item, or for the bundles that are pinned to them alone, and
      revoke a key everywhere.
    - A project's keys speak for the project's items alone, and only while an anchor has endorsed their trust file.
    - A bundle's keys say nothing, unless the bundle is rye's own, but they revoke for that bundle's items.

    Where several files name one key, the most authoritative that may speak decides alone. Revocation is the exception:
    any file entitled to revoke does. So does one that cannot be read, for the key that it is named after: it may be a
    revocation.

    Attributes:
        entries: The trust files.
        audience: The registry that signatures on the items of projects must name; empty to accept any and none.
        listed: Returns what the list of a space or bundle says of files without a signature.
    """

    entries: tuple[TrustEntry, ...] = ()
    audience: str = ""
    listed: Listed | None = field(default=None, repr=False, compare=False)
    _by_name: dict[str, tuple[TrustEntry, ...]] = field(init=False, repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        names: dict[str, tuple[TrustEntry, ...]] = {}
        for entry in sorted(self.entries, key=lambda entry: _RANKS.index(entry.scope)):
            for name in (entry.fingerprint, entry.fingerprint[:16], entry.public.raw_fingerprint):
                names[name] = (*names.get(name, ()), entry)
        object.__setattr__(self, "_by_name", names)

    def __len__(self) -> int:
        return len(self.entries)

    def named(self, fingerprint: str) -> tuple[TrustEntry, ...]:
        """Return the entries of a fingerprint (64 or 16 hex of the PEM, 64 hex of the raw key), best scope first."""
        return self._by_name.get(fingerprint, ())

    def pins(self, bundle: str, now: datetime | None = None) -> tuple[TrustEntry, ...]:
        """Return the entries of anchors to which a bundle is pinned; given a moment, those whose keys count then."""
        pins = tuple(entry for entry in self.entries if entry.scope.is_anchor and bundle in (entry.bundles or ()))
        if now is None:
            return pins
        origin = Origin("system", bundle, "", "")
        return tuple(
            pin
            for pin in pins
            if not (pin.expired(now) or any(self.revokes(each, origin, now) for each in self.named(pin.fingerprint)))
        )

    def stands(self, entry: TrustEntry, now: datetime) -> bool:
        """Return whether the word of an entry counts at all.

        That of an anchor does, that of a project while an anchor endorses it, that of a bundle if it is rye's own.
        """
        if entry.scope is _BUNDLE:
            return entry.vouches
        if entry.scope is not _PROJECT:
            return True
        endorsers = [each for each in self.named(entry.endorsed_by) if each.scope.is_anchor]
        return (
            bool(endorsers)
            and not any(each.bars for each in endorsers)
            and any(each.namespaces is each.bundles is None and not each.expired(now) for each in endorsers)
        )

    def speaks(self, entry: TrustEntry, origin: Origin, now: datetime) -> bool:
        """Return whether an entry may speak about the item at ``origin``."""
        if entry.unread or not entry.reaches(origin.space, origin.bundle):
            return False
        if entry.scope is _BUNDLE:
            return entry.vouches and origin.space == "system" and entry.bundle == origin.bundle
        if entry.scope is _PROJECT:
            return origin.space == "project" and entry.bundle == origin.bundle and self.stands(entry, now)
        return True

    def revokes(self, entry: TrustEntry, origin: Origin, now: datetime) -> bool:
        """Return whether an entry revokes its key for what stands at ``origin``, or cannot be read and may do so.

        Whether a project's file that cannot be read was endorsed is not always known: at home it is taken to be.
        """
        if not entry.bars:
            return False
        at_home = entry.bundle == origin.bundle
        if entry.scope is _BUNDLE:
            return origin.space == "system" and at_home
        if entry.scope is _PROJECT and entry.unread and origin.space == "project" and at_home:
            return True
        return self.stands(entry, now)

    def may_sign(self, fingerprint: str, origin: Origin, now: datetime) -> bool:
        """Return whether a whole item that a key signs at ``origin`` is trusted: what :func:`judge` asks of the key."""
        entries = self.named(fingerprint)
        if any(self.revokes(entry, origin, now) for entry in entries):
            return False
        speaking = [entry for entry in entries if self.speaks(entry, origin, now)]
        best = [entry for entry in speaking if entry.scope is speaking[0].scope]
        return any(entry.allows(origin) and not entry.expired(now) for entry in best)

    def demanded(self, origin: Origin) -> str:
        """Return the audience that a signature at ``origin`` must name; empty for any and none.

        A project is what others copy and clone; bundles and the user's items are bound to their place by their keys.
        """
        return self.audience if origin.space == "project" else ""

    def lists(self, evidence: Evidence, origin: Origin) -> Evidence:
        """Return the evidence of a file by the list of its space, if it has no signature and is on the list."""
        space = self.listed(origin.space, origin.bundle) if self.listed else None
        if space is None:
            return evidence
        named, code, detail = "", space.code, space.detail
        if space.items is not None:
            named = space.items.get((origin.folder, origin.item_type, origin.item_id, evidence.suffix), "")
            if not named:
                return evidence
        if not code and named != (evidence.digest or evidence.content_digest):
            code = "list-changed"
        return evidence._replace(
            code=code,
            detail=detail,
            format=BY_LIST,
            fingerprint=space.fingerprint,
            signed_at=space.signed_at,
            audience=space.audience,
            suffix="",
        )

    def digest(self, now: datetime) -> str:
        """Return the SHA-256 hex of everything that influences a verdict at ``now``.

        Equal digests mean equal verdicts on equal evidence: keys, owners, scopes, namespaces, revocations, the audience
        that is demanded, and which keys have expired or lost their endorsement by ``now``. The moment itself does not
        enter.
        """
        rows = sorted(
            json.dumps(
                [
                    entry.fingerprint,
                    entry.owner,
                    entry.scope,
                    entry.bundle,
                    entry.namespaces,
                    entry.bundles,
                    entry.not_after and as_utc(entry.not_after).isoformat(),
                    entry.expired(now),
                    entry.revoked and [entry.revoked.reason, entry.revoked.date],
                    self.stands(entry, now),
                    entry.unread and entry.source,
                ]
            )
            for entry in self.entries
        )
        return hashlib.sha256("\n".join([self.audience, *rows]).encode()).hexdigest()


def in_namespaces(patterns: tuple[str, ...], item_type: str, item_id: str) -> bool:
    """Return whether a type and id are in one of the namespaces; in none when there is no pattern.

    A pattern is matched segment by segment, never within one: ``rye/core/*`` is everything below ``rye/core``, but not
    ``rye/core`` or ``rye/corex/a``; ``*`` inside is exactly one segment; ``tool:rye/*`` is for tools alone.
    """
    parts = composed(item_id).split("/")
    return any(_matches(pattern, item_type, parts) for pattern in patterns)


def _matches(pattern: str, item_type: str, parts: list[str]) -> bool:
    kind, colon, path = pattern.rpartition(":")
    wanted = composed(path).split("/")
    if colon and kind != item_type:
        return False
    if wanted[-1] == "*" and len(parts) > len(wanted):
        parts = parts[: len(wanted)]
    return len(parts) == len(wanted) and all(want in {"*", part} for want, part in zip(wanted, parts, strict=True))


def as_utc(moment: datetime) -> datetime:
    """Return a moment in UTC; one without a time zone is taken as UTC already."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
