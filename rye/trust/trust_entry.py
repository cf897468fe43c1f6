"""A trust entry: what one trust file says about its key, where the file was found, and what the key may sign."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Literal, NamedTuple

from rye._text import composed
from rye.errors import SigningError
from rye.trust.certificates import AnyKey
from rye.trust.model import ITEM_TYPES, Fingerprint, Place, as_utc

OWN = "rye"
"""The id of the bundle of rye's own items; no other bundle gets it."""


_PATH: Final = re.compile(r"(?:\*|[^*/:\s]+)(?:/(?:\*|[^*/:\s]+))*")
_BUNDLE: Final = re.compile(r"[\w.+-]+(?:#\d+)?")


class Limit(NamedTuple):
    """One thing that a key may sign, as a trust file states it under ``for``.

    Attributes:
        kind: ``any`` for items and skills of every type, ``item``, ``skill`` or ``bundle``.
        type: The type of the items; empty for other kinds.
        path: The segments of the id, of which ``*`` is any; at the end, ``*`` stands for everything below.
        bundle: The bundle, everything of which may be signed; empty for other kinds.
    """

    kind: Literal["any", "item", "skill", "bundle"]
    type: str = ""
    path: tuple[str, ...] = ()
    bundle: str = ""

    @classmethod
    def parse(cls, text: str) -> Limit | None:
        """Parse a pattern such as ``tool:rye/*``, ``skill:pdf`` or ``bundle:core``; None if it is not one."""
        word, colon, path = text.rpartition(":")
        if word == "bundle":
            return cls("bundle", bundle=path) if _BUNDLE.fullmatch(path) else None
        if not (text.isprintable() and _PATH.fullmatch(path)) or (colon and word not in {*ITEM_TYPES, "skill"}):
            return None
        segments = tuple(composed(path).split("/"))
        return cls("item", word, segments) if word in ITEM_TYPES else cls("skill" if word else "any", "", segments)

    def __str__(self) -> str:
        word = self.type or (self.kind if self.kind != "any" else "")
        return f"{word}:{self.bundle or '/'.join(self.path)}" if word else "/".join(self.path)

    def allows(self, place: Place) -> bool:
        """Return whether a key with this limit may sign at a place; a list, settings or a trust file only by bundle."""
        match self.kind:
            case "bundle":
                return place.space == "system" and place.bundle == self.bundle
            case "skill":
                return place.kind == "skill" and self._matches(place.id, is_folder=True)
            case "item":
                return place.kind == "item" and place.type == self.type and self._matches(place.id)
            case "any":
                return place.kind in {"item", "skill"} and self._matches(place.id)

    def _matches(self, item_id: str, *, is_folder: bool = False) -> bool:
        """Return whether an id matches, segment by segment; ``rye/core/*`` matches neither ``rye/core`` nor others."""
        parts = composed(item_id).split("/")
        if (is_folder or self.path[-1] == "*") and len(parts) > len(self.path):
            parts = parts[: len(self.path)]
        pairs = zip(self.path, parts, strict=False)
        return len(parts) == len(self.path) and all(segment in {"*", part} for segment, part in pairs)


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
        patterns: What the key may sign (``for``), each readable by :meth:`Limit.parse`; None for everything, empty for
            nothing.
        not_after: Last moment at which the key is valid; None for no end.
        revoked: Set if the file revokes the key.
        signed_by: For a project's or bundle's file, the fingerprint of the user's key that signed it; else empty.
        built_in: Whether the file is one of rye's own.
        source: Where the file was found, for messages.
        limits: The patterns, parsed.
        fingerprint: The fingerprint of the key.
        signer: Owner and short fingerprint, for sentences; a name that only the file itself gives is in quotes.
        is_users: Whether the file is the user's own.
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
    limits: tuple[Limit, ...] | None = field(init=False)
    fingerprint: Fingerprint = field(init=False)
    signer: str = field(init=False)
    is_users: bool = field(init=False)

    def __post_init__(self) -> None:
        parsed = [Limit.parse(pattern) for pattern in self.patterns or ()]
        limits = tuple(limit for limit in parsed if limit is not None)
        if len(limits) < len(parsed):
            wrong = (self.patterns or ())[parsed.index(None)]
            message = f"{wrong!r} is not a pattern such as 'tool:rye/*' or 'bundle:core'"
            raise SigningError("trust-file", message, hint="see rye help trust")
        object.__setattr__(self, "limits", None if self.patterns is None else limits)
        fingerprint = self.public.fingerprint
        object.__setattr__(self, "fingerprint", fingerprint)
        object.__setattr__(self, "is_users", self.scope.is_users)
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

    def concerns(self, space: str, bundle: str) -> bool:
        """Return whether the file applies to a space or bundle; those of a project or bundle apply only there."""
        return self.is_users or (self.scope.space == space and self.bundle == bundle)

    def allows(self, place: Place) -> bool:
        """Return whether the limits of the file allow its key to sign at a place."""
        return self.limits is None or any(limit.allows(place) for limit in self.limits)

    def reaches(self, space: str, bundle: str) -> bool:
        """Return whether the limits allow anything in a space or bundle."""
        in_bundle = {"", bundle} if space == "system" else {""}
        return self.limits is None or any(limit.bundle in in_bundle for limit in self.limits)

    def names_bundle(self, bundle: str) -> bool:
        """Return whether the file trusts its key for a bundle by its name."""
        return any(limit.bundle == bundle for limit in self.limits or ())

    def facts(self) -> list[Any]:
        """Return everything that a verdict depends on, as values for JSON."""
        until = self.not_after and as_utc(self.not_after).isoformat()
        home = [self.scope, self.bundle, self.signed_by, self.built_in]
        return [self.fingerprint, self.owner, *home, self.patterns, until, self.revoked]
