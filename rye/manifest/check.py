"""Check a manifest against the files of its space: bytes, keys and a moment in, findings out; no disk access.

The idea is the client workflow of the TUF specification (https://theupdateframework.github.io/specification/latest/,
sections 5.3 to 5.6), with files beside each other instead of downloads. Each role is believed only when as many keys
have signed it as the role that names it demands (5.3.4, 5.4.2, 5.5.3, 5.6.3), and each file is of the version that the
role above it names (5.5.4, 5.6.4): root → timestamp → snapshot → lists of items. What was last seen here stands in the
place of TUF's trusted metadata: an older version is a rollback (5.4.3, 5.5.5), another content of the same version a
fork, and an expired role a freeze (5.3.10, 5.4.4, 5.5.6, 5.6.5).

The invariant: an item is listed only by a role that may list it, and every role on the way to it holds. Two things are
not as in TUF. The first root is anchored in rye's own trust set, since no root ships with a client (5.2). And where a
role is expired or rolled back, items are compared all the same and the finding is kept beside them: rye reports, and
does not update anything.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from tuf.api.metadata import Delegations, Root, Snapshot, Targets, Timestamp

from rye.errors import EnvironmentFault
from rye.manifest.metadata import ROLES, Refused, S, SignedFile, audience_of, listed_items, load, timestamp_keys
from rye.manifest.model import (
    FILE,
    MAX_ROOTS,
    TRUST,
    ListedItem,
    ManifestFinding,
    ManifestReport,
    Seen,
    SpaceKeys,
    SpaceName,
)
from rye.manifest.space import compare, signed_by_listing
from rye.manifest.store import load_seen, read_manifest, root_versions
from rye.trust import TrustSet
from rye.trust.reasons import audience_words
from rye.trust.trust_set import ListedRows


def holders(
    delegator: Root | Targets, role: str, part: SignedFile[Any], keys: SpaceKeys | None
) -> tuple[list[str], int]:
    """Return the keys of a role that have validly signed and are not revoked, and how many must sign."""
    result = delegator.get_verification_result(role, part.payload, part.metadata.signatures)
    return [name for name in result.signed if keys is None or not keys.revoked(name)], result.threshold


def describe_seen(folder: Path) -> list[str]:
    """Return each record of the manifest last seen in a folder in words: its version and who signed it."""
    try:
        seen = load_seen(folder)
    except EnvironmentFault as fault:
        return [fault.message]
    words = []
    for each in seen.all if seen else ():
        try:
            part = load(each.root, Root, "root")
            signers = holders(part.signed, "root", part, None)[0]
        except Refused:
            signers = []
        version = each.versions.get("targets", 0)
        words.append(f"version {version}, signed by {', '.join(signers) or 'nobody known'}")
    return words


class Roots:
    """The roots among a manifest's files.

    Raises:
        Refused: There is none, one cannot be read, or there are too many.
    """

    def __init__(self, files: Mapping[str, bytes], keys: SpaceKeys) -> None:
        names = root_versions(files)
        if not names or len(names) > MAX_ROOTS:
            raise Refused("manifest-malformed", f"there are {len(names)} roots below config/manifest")
        self._keys = keys
        self._all = {version: load(files[name], Root, name) for version, name in names.items()}
        self.names = frozenset(names.values())
        for version, root in self._all.items():
            if root.signed.version != version:
                raise Refused("manifest-malformed", f"{names[version]} is of version {root.signed.version}")
        self.name = names[max(names)]

    def newest(self) -> SignedFile[Root]:
        """Return the newest root, reached from the first one that trusted keys have signed.

        Raises:
            Refused: ``manifest-unknown-signer`` where no root is theirs, ``manifest-root-chain`` where a later one is
                not signed by the one before and by itself, or one is missing between them.
        """
        anchored = []
        for version, root in self._all.items():
            signers, threshold = holders(root.signed, "root", root, None)
            if sum(map(self._keys.anchors, signers)) >= threshold:
                anchored.append(version)
        if not anchored:
            # what the loop has left: the newest root
            words = f"{self.name} has {len(signers)} of the {threshold} signatures that root needs"
            if len(signers) >= threshold:
                revoked = ", ".join(name[:16] for name in signers if self._keys.revoked(name))
                names = ", ".join(name[:16] for name in signers)
                words = f"{self.name} is signed with {names}: not enough keys that are trusted for this whole space"
                words = f"{self.name} is signed with {revoked}, which is revoked" if revoked else words
            raise Refused("manifest-unknown-signer", words, self.name)
        chain = [version for version in self._all if version >= anchored[0]]
        for before, after in pairwise(chain):
            self._step(self._all[before], self._all[after], self._keys)
        newest = self._all[chain[-1]]
        for role in ROLES:
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

    @staticmethod
    def _step(before: SignedFile[Root], after: SignedFile[Root], keys: SpaceKeys | None) -> None:
        version, name = before.signed.version, f"{after.signed.version}.root.json"
        if after.signed.version != version + 1:
            raise Refused("manifest-root-chain", f"root {version + 1} is missing before {name}", name)
        for delegator in (before.signed, after.signed):
            signers, threshold = holders(delegator, "root", after, keys)
            if len(signers) < threshold:
                words = f"{name} has {len(signers)} of {threshold} signatures by the keys of root {delegator.version}"
                raise Refused("manifest-root-chain", words, name)


def check_manifest(
    files: Mapping[str, bytes],
    found: Iterable[ListedItem],
    *,
    place: SpaceName,
    trust: TrustSet,
    now: datetime,
    seen: Seen | None = None,
    unread: Collection[str] = (),
) -> ManifestReport:
    """Check a manifest against trust, time and what was last seen, and a space's items against the manifest.

    Items are compared with the list even where it is expired or older than the last one, since what it says is still
    its signers' word; not where its signatures do not hold. Never raises, whatever the bytes.

    Args:
        files: Name → bytes of the files below ``config/manifest``; none at all is ``manifest-missing``, or
            ``manifest-gone`` where one was seen before.
        found: The items and all other files on disk; the manifest's own are left out, whatever lies beside them is not.
        place: Which space it is.
        trust: The keys of this run.
        now: The moment of checking.
        seen: What the last good check returned; None on first use, which trusts the versions it sees and says so.
        unread: Files and folders below the root that are there but could not be read: none of them counts as removed.
    """
    if not files:
        if seen is None:
            return ManifestReport((ManifestFinding("manifest-missing", "there is no manifest"),))
        words = f"there is no manifest, but version {seen.newest('timestamp')} was seen before"
        return ManifestReport((ManifestFinding("manifest-gone", words, sha256=seen.digest),), seen=seen)
    check, seen_now = _Check(files, SpaceKeys(place, trust, now), seen), seen
    try:
        check.run()
    except Refused as fault:
        finding = ManifestFinding(fault.code, fault.message, fault.path and f"config/manifest/{fault.path}")
        return ManifestReport((*check.findings, finding), seen=seen)
    own = {(f"config/manifest/{name}", hashlib.sha256(files[name]).hexdigest()) for name in check.used}
    found = [item for item in found if (item.path, item.sha256) not in own]
    if not ManifestReport(tuple(check.findings)).errors:
        seen_now = Seen(check.versions, check.digests, check.root)
    if seen is None:
        message = f"version {check.versions['timestamp']} is the first one seen here; an older one would look the same"
        check.findings.append(ManifestFinding("manifest-first-use", message))
    return ManifestReport(
        (*check.findings, *compare(check.listed, found, unread)),
        version=check.versions["timestamp"],
        expires=min(check.expiries),
        listed=sum(item.item_type not in {TRUST, FILE} for item in check.listed.values()),
        signers=check.signers,
        audience=check.audience,
        timestamp_keys=check.timestamp_keys,
        seen=seen_now,
    )


def signed_files(root: Path, place: SpaceName, trust: TrustSet, now: datetime) -> tuple[datetime, ListedRows]:
    """Return until when the manifest of a root signs what in place of a line (:data:`rye.trust.trust.Listed`).

    These are items that had no signature when it was written, none where anything is at fault, also by what was seen.
    """
    try:
        check = _Check(read_manifest(root), SpaceKeys(place, trust, now), load_seen(root))
        check.run()
    except (Refused, EnvironmentFault):  # which verification reports
        return now, {}
    key = next((each for each in check.signers if trust.may_sign(each, place.origin, now).counts), "")
    if not key or ManifestReport(tuple(check.findings)).errors:
        return now, {}
    signed = [item for item in signed_by_listing(check.listed) if item.path in check.own]
    rows = {(item.item_type, item.item_id, item.sha256): (key, check.audience) for item in signed}
    return min(check.expiries), rows


@dataclass(slots=True)
class _Check:
    files: Mapping[str, bytes]
    keys: SpaceKeys
    seen: Seen | None
    findings: list[ManifestFinding] = field(default_factory=list)
    listed: dict[str, ListedItem] = field(default_factory=dict)
    own: frozenset[str] = frozenset()
    versions: dict[str, int] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    expiries: list[datetime] = field(default_factory=list)
    signers: tuple[str, ...] = ()
    used: set[str] = field(default_factory=set)
    audience: str = ""
    timestamp_keys: tuple[str, ...] = ()
    root: bytes = b""

    def run(self) -> None:
        """Check the roles in the order of the TUF specification (5.3 to 5.6), then collect the listed items.

        Raises:
            Refused: What follows cannot be believed.
        """
        # 1. The root: anchored in the trust set, each later one signed by the one before, none skipped.
        roots = Roots(self.files, self.keys)
        root = roots.newest()
        self.used.update(roots.names)
        self._note("root", root, roots.name)
        self.root = self.files[roots.name]
        # 2. It follows on what was seen: a newer root needs the signatures of the keys seen before.
        for seen in self.seen.all if self.seen is not None else ():
            if seen.root:
                roots.follows(seen.root)
        self._note_timestamp_keys(root.signed)
        # 3. The timestamp says which snapshot is current, the snapshot which version of each list is.
        timestamp = self._role("timestamp.json", Timestamp, "timestamp", root.signed)
        version = timestamp.signed.snapshot_meta.version
        snapshot = self._role(f"{version}.snapshot.json", Snapshot, "snapshot", root.signed, version=version)
        # 4. The list, and those of delegated namespaces.
        targets = self._list("targets", snapshot, root.signed)
        self.signers = tuple(holders(root.signed, "targets", targets, self.keys)[0])
        self._take(targets.signed, "targets")
        self.own = frozenset(self.listed)  # paths that no delegated list brings
        self._delegated(targets.signed, snapshot)
        self.used.update(name for name in self.files.keys() - self.used if self._is_waiting(name, root, targets))

    def _role(
        self, name: str, kind: type[S], role: str, delegator: Root | Targets, *, version: int = 0
    ) -> SignedFile[S]:
        """Load a file and check signatures, version and expiry of its role."""
        if name not in self.files:
            raise Refused(
                "manifest-mixed", f"{name}, which the rest of the manifest names, is not there as a regular file", name
            )
        part = load(self.files[name], kind, name)
        signers, threshold = holders(delegator, role, part, self.keys)
        if len(signers) < threshold:
            words = f"{name} has {len(signers)} of the {threshold} signatures that {role} needs"
            raise Refused("manifest-threshold", words, name)
        if version and part.signed.version != version:
            words = f"{name} is of version {part.signed.version}, the rest of the manifest names {version}"
            raise Refused("manifest-mixed", words, name)
        self._note(role, part, name)
        self._note_audience(part, name)
        return part

    def _list(self, role: str, snapshot: SignedFile[Snapshot], delegator: Root | Targets) -> SignedFile[Targets]:
        meta = snapshot.signed.meta.get(f"{role}.json")
        if meta is None:
            raise Refused("manifest-mixed", f"the snapshot names no list {role!r}, to which a namespace is delegated")
        name = f"{meta.version}.{role}.json"
        return self._role(name, Targets, role, delegator, version=meta.version)

    def _note(self, role: str, part: SignedFile[Any], name: str) -> None:
        """Compare a role with the clock and with what was last seen of it."""
        signed, path = part.signed, f"config/manifest/{name}"
        self.used.add(name)
        self.versions[role], self.digests[role] = signed.version, part.digest
        self.expiries.append(signed.expires)
        if signed.is_expired(self.keys.now):
            self.findings.append(
                ManifestFinding("manifest-expired", f"{name} expired at {signed.expires.isoformat()}", path)
            )
        before = self._seen(role)
        last = max((seen.versions.get(role, 0) for seen in before), default=0)
        if signed.version < last:
            words = f"{name} is of version {signed.version}, but version {last} was seen before"
            self.findings.append(ManifestFinding("manifest-rollback", words, path))
        elif signed.version == last and any(
            seen.versions.get(role) == last and seen.digests.get(role) != part.digest for seen in before
        ):
            words = f"{name} differs from what was seen before under the same version {last}"
            self.findings.append(ManifestFinding("manifest-fork", words, path))

    def _seen(self, role: str) -> list[Seen]:
        """Return the records with which a role is compared: after a change of its keys none, for the timestamp.

        Whoever stole one may have shown a version so high that no later one would ever do (TUF, 5.3.11). What an older
        timestamp could bring back has versions of its own.
        """
        before = list(self.seen.all) if self.seen is not None else []
        if role != "timestamp":
            return before

        def keys(root: bytes) -> set[str]:
            return set(load(root, Root, "the root seen before").signed.roles[role].keyids)

        return [seen for seen in before if not seen.root or keys(seen.root) == keys(self.root)]

    def _note_timestamp_keys(self, root: Root) -> None:
        """Find a key for the timestamp alone that by the trust set may sign more of this space."""
        self.timestamp_keys = tuple(timestamp_keys(root))
        for name in self.timestamp_keys:
            if found := self.keys.trusted_by(name):
                words = f"key {name[:16]} is for the timestamp alone, but is trusted for items here, by {found}"
                self.findings.append(ManifestFinding("manifest-timestamp-key", words))

    def _note_audience(self, part: SignedFile[Any], name: str) -> None:
        """Compare the audience of a role with the one that is demanded, and with that of the roles before it."""
        found, wanted = audience_of(part.signed), self.keys.trust.demanded(self.keys.place.origin)
        if wanted and found != wanted and not any(each.code == "manifest-audience" for each in self.findings):
            words = f"{name} is {audience_words(found, wanted)}"
            self.findings.append(ManifestFinding("manifest-audience", words, f"config/manifest/{name}"))
        if found and self.audience and found != self.audience:
            words = f"{name} is for the audience {found!r}, the rest of the manifest for {self.audience!r}"
            raise Refused("manifest-mixed", words, name)
        self.audience = self.audience or found

    def _is_waiting(self, name: str, root: SignedFile[Root], targets: SignedFile[Targets]) -> bool:
        """Return whether a file that nothing names is signed by a key of its role, as one that waits for others is."""
        role = name.split(".")[1]
        try:
            data, delegator = self.files[name], root.signed if role in ROLES else targets.signed
            part: SignedFile[Any] = load(data, Snapshot, name) if role == "snapshot" else load(data, Targets, name)
            return bool(holders(delegator, role, part, self.keys)[0])
        except (Refused, ValueError):
            return False

    def _delegated(self, targets: Targets, snapshot: SignedFile[Snapshot]) -> None:
        delegations = targets.delegations
        if delegations is None:
            return
        self.timestamp_keys = tuple(name for name in self.timestamp_keys if name not in delegations.keys)
        for name in delegations.roles or ():
            listing = self._list(name, snapshot, targets)
            allowed = {
                path: file for path, file in listing.signed.targets.items() if _may_list(delegations, name, path)
            }
            for path in sorted(set(listing.signed.targets) - set(allowed)):
                words = f"{name} lists {path}, which is outside the namespaces delegated to it"
                self.findings.append(ManifestFinding("manifest-delegation", words, path))
            if listing.signed.delegations is not None:
                words = f"{name} delegates further, which rye does not follow"
                self.findings.append(ManifestFinding("manifest-delegation", words))
            listing.signed.targets = allowed
            self._take(listing.signed, name)

    def _take(self, targets: Targets, role: str) -> None:
        """Add the items that a role lists; those of a role before it stay, as in TUF's order of search."""
        for item in listed_items(targets):
            standing = self.listed.setdefault(item.path, item)
            if standing is not item and (standing.sha256, standing.length) != (item.sha256, item.length):
                words = f"{role} lists {item.path} with another content than a role before it"
                self.findings.append(ManifestFinding("manifest-delegation", words, item.path))


def _may_list(delegations: Delegations, role: str, path: str) -> bool:
    """Return whether a search for the path reaches the role: no role before it may end the search there."""
    for name, terminating in delegations.get_roles_for_target(path):
        if name == role or terminating:
            return name == role
    return False
