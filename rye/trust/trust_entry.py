"""A trust entry: what one trust file says about its key, where the file was found, and what the key may sign."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from rye._text import composed
from rye.items.clients import has_skills
from rye.trust.certificates import AnyKey
from rye.trust.evidence import ITEM_TYPES
from rye.trust.model import Fingerprint, Origin, as_utc

OWN = "rye"
"""The id of the bundle of rye's own items; no other bundle gets it."""


class TrustScope(StrEnum):
    """Where a trust file was found; the user's own come first."""

    NAMED = "named"
    USER = "user"
    ORGANISATION = "organisation"
    PROJECT = "project"
    BUNDLE = "bundle"

    @property
    def is_users(self) -> bool:
        """Whether files there are the user's own: they are in effect by themselves, for every place."""
        return self not in {TrustScope.PROJECT, TrustScope.BUNDLE}

    @property
    def space(self) -> str:
        """The only space that files there apply to; empty for the user's, which apply to all."""
        return {TrustScope.PROJECT: "project", TrustScope.BUNDLE: "system"}.get(self, "")


class Revocation(NamedTuple):
    """States that a key is revoked: immediately, for everything it ever signed, whatever the date."""

    reason: str = ""
    date: str = ""

    def __str__(self) -> str:
        return ", ".join(filter(None, self))


@dataclass(frozen=True, slots=True)
class TrustEntry:
    """What one trust file says about its key, and where it was found.

    Attributes:
        public: The key, or the root certificate of an authority.
        owner: As the file names it; printable, on one line.
        scope: Where the file was found.
        bundle: Bundle id if the scope is ``bundle``; name of a project that was given by its path; else empty.
        patterns: What the key may sign (``for``); None for everything, empty for nothing.
        not_after: Last moment at which the key is valid; None for no end.
        revoked: Set if the file revokes the key.
        signed_by: For a project's or bundle's file, the fingerprint of the user's key that signed it; else empty.
        built_in: Whether the file is one of rye's own.
        source: Where the file was found, for messages.
        unread: Why the file cannot be read, if only its name states the key; such a file may be a revocation.
        fingerprint: The fingerprint of the key.
        signer: Owner and short fingerprint, for sentences; a name that only the file itself gives is in quotes.
        is_users: Whether the file is the user's own.
        blocks_key: Whether the file revokes the key, or may do so because it cannot be read.
    """

    public: AnyKey
    owner: str
    scope: TrustScope
    bundle: str = ""
    patterns: tuple[str, ...] | None = None
    not_after: datetime | None = None
    revoked: Revocation | None = None
    signed_by: str = ""
    built_in: bool = False
    source: str = ""
    unread: str = ""
    fingerprint: Fingerprint = field(init=False)
    signer: str = field(init=False)
    is_users: bool = field(init=False)
    blocks_key: bool = field(init=False)

    def __post_init__(self) -> None:
        fingerprint = self.public.fingerprint
        object.__setattr__(self, "fingerprint", fingerprint)
        object.__setattr__(self, "is_users", self.scope.is_users)
        object.__setattr__(self, "blocks_key", self.revoked is not None or bool(self.unread))
        known = self.is_users or self.signed_by or self.built_in
        owner = self.owner if known else f"{self.owner!r} (its own claim)"
        object.__setattr__(self, "signer", f"{owner} ({fingerprint[:16]})" if self.owner else fingerprint[:16])

    @property
    def home(self) -> str:
        """In words, where the file was found."""
        if self.scope is TrustScope.PROJECT:
            return "the project"
        return f"bundle {self.bundle}" if self.scope is TrustScope.BUNDLE else "your own trust files"

    def is_expired(self, at: datetime) -> bool:
        """Return whether the key has expired at a time."""
        return self.not_after is not None and as_utc(at) > as_utc(self.not_after)

    def concerns(self, place: Origin) -> bool:
        """Return whether the file applies to a place; a project's or bundle's file applies only to its own."""
        return self.is_users or (self.scope.space == place.space and self.bundle == place.bundle)

    def allows(self, place: Origin) -> bool:
        """Return whether the limits of the file allow its key to sign at a place."""
        return self.patterns is None or any(_matches(pattern, place) for pattern in self.patterns)

    def facts(self) -> list[Any]:
        """Return everything that a verdict depends on, as values for JSON."""
        until = self.not_after and as_utc(self.not_after).isoformat()
        home = [self.scope, self.bundle, self.signed_by, self.built_in]
        unread = self.unread and self.source
        return [self.fingerprint, self.owner, *home, self.patterns, until, self.revoked, unread]


def _matches(pattern: str, place: Origin) -> bool:
    """Return whether a place matches a pattern; an empty field of the place matches any value.

    Ids are compared segment by segment: ``rye/core/*`` is everything below ``rye/core``, but neither ``rye/core`` nor
    ``rye/corex/a``; ``*`` inside is exactly one segment; ``tool:rye/*`` is for tools alone. ``skill:pdf`` is the skill
    with every file in its folder, in any skills folder.
    """
    for part in pattern.split(" "):
        kind, colon, path = part.rpartition(":")
        if kind == "bundle":
            if place.space and (place.space != "system" or place.bundle != path):
                return False
        elif place.item_type:
            is_skill = kind == "skill"
            if is_skill and not (place.item_type in ITEM_TYPES and has_skills(place.folder)):
                return False
            if (kind not in {place.item_type, "skill"}) if colon else (place.item_type not in ITEM_TYPES):
                return False
            parts, segments = composed(place.item_id).split("/"), composed(path).split("/")
            if (is_skill or segments[-1] == "*") and len(parts) > len(segments):
                parts = parts[: len(segments)]
            if len(parts) != len(segments):
                return False
            if any(segment not in {"*", part} for segment, part in zip(segments, parts, strict=True)):
                return False
    return True


def bundle_of(pattern: str) -> str:
    """Return the bundle that a pattern names, empty if none."""
    return pattern.partition(" ")[0].removeprefix("bundle:") if pattern.startswith("bundle:") else ""
