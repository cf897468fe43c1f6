"""What looking at and changing trust files answers with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rye.signing import Revocation, Scope

__all__ = ["TrustChange", "TrustReport", "TrustedKey"]


@dataclass(frozen=True, slots=True)
class TrustedKey:
    """One trust file: what it says of its key, whether that counts, and why."""

    fingerprint: str
    owner: str
    scope: str
    bundle: str
    namespaces: tuple[str, ...] | None
    not_after: str
    revoked: Revocation | None
    endorsed_by: str
    path: str
    counts: bool
    code: str
    reason: str

    @property
    def is_anchor(self) -> bool:
        """Whether the file is the user's own or was named by the caller."""
        return Scope(self.scope).is_anchor

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as JSON-able values."""
        facts = {name: getattr(self, name) for name in TrustedKey.__slots__}
        facts["namespaces"] = None if self.namespaces is None else list(self.namespaces)
        facts["revoked"] = self.revoked and {"reason": self.revoked.reason, "date": self.revoked.date}
        return facts


@dataclass(frozen=True, slots=True)
class TrustReport:
    """Every trust file of every space, and a sentence for each that could not be read, or when there is none."""

    keys: tuple[TrustedKey, ...]
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return ``{"keys": […], "warnings": […]}``."""
        return {"keys": [key.to_dict() for key in self.keys], "warnings": list(self.warnings)}


@dataclass(frozen=True, slots=True)
class TrustChange:
    """What was done to a trust file.

    ``added``, ``removed``, ``revoked``, ``endorsed``, ``unchanged``, or in a dry run ``would endorse``.
    """

    action: str
    fingerprint: str
    owner: str
    paths: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as JSON-able values."""
        facts = {"action": self.action, "fingerprint": self.fingerprint, "owner": self.owner}
        return facts | {"paths": list(self.paths), "warnings": list(self.warnings)}
