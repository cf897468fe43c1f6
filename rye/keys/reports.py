"""What the façade answers with besides search: loading, verifying, signing, refreshing and the state of the index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class SignedItem:
    """One file that was signed, or would be; ``changed`` is False where it stood signed already.

    ``code`` is the reason code of how it stood before, judged by the signing key alone; in a bundle that is signed as
    one, by the bundle's own trust files. It is empty where the signature was valid and of the same format.
    """

    type: str
    id: str
    path: str
    changed: bool
    code: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the five attributes."""
        place = {"type": self.type, "id": self.id, "path": self.path}
        return place | {"changed": self.changed, "code": self.code}


@dataclass(frozen=True, slots=True)
class SignReport:
    """What signing did: the key's fingerprint, every file, its trust file, and why it may not count.

    Fingerprint and trust file are empty where a bundle needed no signature; ``removed`` are the trust files that none
    of its items needed any more.
    """

    fingerprint: str
    items: tuple[SignedItem, ...]
    trust_file: str = ""
    warnings: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the five attributes as JSON-able values."""
        return {
            "fingerprint": self.fingerprint,
            "items": [item.to_dict() for item in self.items],
            "trust_file": self.trust_file,
            "removed": list(self.removed),
            "warnings": list(self.warnings),
        }
