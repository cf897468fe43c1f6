"""Where a manifest's trust begins, and how it passes from one root to the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from tuf.api.metadata import Root, Targets

from rye.manifest._metadata import Part, Refused, load
from rye.manifest._names import root_versions
from rye.manifest.model import MAX_ROOTS, Place
from rye.signing import TrustSet

__all__ = ["Keys", "Roots", "holders"]


@dataclass(frozen=True, slots=True)
class Keys:
    """Whose word counts for a manifest, in one space at one moment."""

    place: Place
    trust: TrustSet
    now: datetime

    def revoked(self, fingerprint: str) -> bool:
        """Return whether any file that may revoke the key does; then it counts nowhere."""
        entries = self.trust.named(fingerprint)
        return any(self.trust.revokes(entry, self.place.origin, self.now) for entry in entries)

    def anchors(self, fingerprint: str) -> bool:
        """Return whether a key may by itself sign for the whole space.

        Of the files that may speak for the space the most authoritative is heard alone, as for items. A key that is
        limited to namespaces cannot speak for all of them.
        """
        speaking = [e for e in self.trust.named(fingerprint) if self.trust.speaks(e, self.place.origin, self.now)]
        heard = [entry for entry in speaking if entry.scope is speaking[0].scope]
        alive = [entry for entry in heard if not entry.expired(self.now) and entry.namespaces in {None, ("*",)}]
        return bool(alive) and not self.revoked(fingerprint)


def holders(delegator: Root | Targets, role: str, part: Part[Any], keys: Keys | None) -> tuple[list[str], int]:
    """Return the keys of a role that have validly signed, revoked ones apart, and how many must."""
    result = delegator.get_verification_result(role, part.payload, part.metadata.signatures)
    return [name for name in result.signed if keys is None or not keys.revoked(name)], result.threshold


class Roots:
    """The roots among a manifest's files.

    Raises:
        Refused: There is none, one cannot be read, or there are too many.
    """

    def __init__(self, files: Mapping[str, bytes], keys: Keys) -> None:
        names = root_versions(files)
        if not names or len(names) > MAX_ROOTS:
            raise Refused("manifest-malformed", f"there are {len(names)} roots below config/manifest")
        self._keys = keys
        self._all = {version: load(files[name], Root, name) for version, name in names.items()}
        for version, root in self._all.items():
            if root.signed.version != version:
                raise Refused("manifest-malformed", f"{names[version]} is of version {root.signed.version}")
        self.name = names[max(names)]

    def newest(self) -> Part[Root]:
        """Return the newest root, reached from the first one that trusted keys have signed.

        Raises:
            Refused: ``manifest-unknown-signer`` where no root is theirs, ``manifest-root-chain`` where a later one is
                not signed by the one before and by itself, or one is missing between them.
        """
        anchored = [version for version, root in self._all.items() if self._anchored(root)]
        if not anchored:
            raise Refused("manifest-unknown-signer", self._why_not(), self.name)
        chain = [version for version in self._all if version >= anchored[0]]
        for before, after in pairwise(chain):
            self._step(self._all[before], self._all[after], self._keys)
        newest = self._all[chain[-1]]
        for role in ("root", "timestamp", "snapshot", "targets"):
            if role not in newest.signed.roles:
                raise Refused("manifest-malformed", f"{self.name} has no role {role}", self.name)
        return newest

    def follows(self, data: bytes) -> None:
        """Check that the newest root follows on one seen before, whatever has been removed meanwhile.

        Raises:
            Refused: ``manifest-root-chain`` or ``manifest-fork``.
        """
        last = load(data, Root, "the root seen before")
        version, newest = last.signed.version, max(self._all)
        if newest <= version:
            return  # the same, or an older one, which is found by its version
        if version in self._all and self._all[version].digest != last.digest:
            words = f"root {version} is not the one seen before"
            raise Refused("manifest-fork", words, f"{version}.root.json")
        chain = [last, *(root for number, root in self._all.items() if number > version)]
        for before, after in pairwise(chain):
            # a key revoked since then still shows that one followed on the other; whether it is believed is asked above
            self._step(before, after, None)

    def _anchored(self, root: Part[Root]) -> bool:
        result = root.signed.get_verification_result("root", root.payload, root.metadata.signatures)
        return len([name for name in result.signed if self._keys.anchors(name)]) >= result.threshold

    def _why_not(self) -> str:
        root = self._all[max(self._all)]
        result = root.signed.get_verification_result("root", root.payload, root.metadata.signatures)
        if not result:
            return f"{self.name} has {len(result.signed)} of the {result.threshold} signatures that root needs"
        revoked = [name[:16] for name in result.signed if self._keys.revoked(name)]
        if revoked:
            return f"{self.name} is signed with {', '.join(revoked)}, which is revoked"
        names = ", ".join(name[:16] for name in result.signed)
        return f"{self.name} is signed with {names}: not enough keys that are trusted for this whole space"

    @staticmethod
    def _step(before: Part[Root], after: Part[Root], keys: Keys | None) -> None:
        version, name = before.signed.version, f"{after.signed.version}.root.json"
        if after.signed.version != version + 1:
            raise Refused("manifest-root-chain", f"root {version + 1} is missing before {name}", name)
        for delegator in (before.signed, after.signed):
            signers, threshold = holders(delegator, "root", after, keys)
            if len(signers) < threshold:
                words = f"{name} has {len(signers)} of {threshold} signatures by the keys of root {delegator.version}"
                raise Refused("manifest-root-chain", words, name)
