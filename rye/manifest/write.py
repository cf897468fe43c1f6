"""Making a manifest, or its next version: bytes, keys and a moment in, bytes out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

from tuf.api.metadata import (
    DelegatedRole,
    Delegations,
    Key,
    Metadata,
    MetaFile,
    Role,
    Root,
    Snapshot,
    TargetFile,
    Targets,
    Timestamp,
)

from rye.errors import SigningError
from rye.manifest._metadata import (
    ROLES,
    Refused,
    delegated_paths,
    load,
    role_name,
    root_versions,
    sign,
    to_bytes,
    to_key,
)
from rye.manifest.model import Delegation, ListedItem, RootKeys
from rye.signing import SigningKey

__all__ = ["Written", "cosign_manifest", "write_manifest"]

DAYS: Final = 90
"""After how many days a manifest expires when nothing else is said."""

_ROOT_DAYS: Final = 365

S = TypeVar("S", Root, Timestamp, Snapshot, Targets)


@dataclass(frozen=True, slots=True)
class Written:
    """The next state of a manifest.

    Attributes:
        files: Name → bytes of every file it has now; others that were there are to be removed.
        version: Of the manifest.
        written: The roles that are new.
        missing: Role → how many signatures it still lacks; such a manifest does not pass a check.
        waiting: Delegated roles whose keys were not given, so that their lists stay as they were.
    """

    files: Mapping[str, bytes]
    version: int
    written: tuple[str, ...]
    missing: Mapping[str, int] = field(default_factory=dict)
    waiting: tuple[str, ...] = ()


def write_manifest(
    files: Mapping[str, bytes],
    items: Iterable[ListedItem],
    *,
    signers: Sequence[SigningKey],
    now: datetime,
    days: int = DAYS,
    root: RootKeys | None = None,
    delegations: Sequence[Delegation] | None = None,
) -> Written:
    """Return the next version of a manifest, or its first.

    The files given are built upon as they are: check them first. A list is made anew when a signer holds a key of its
    role, and stays as it was otherwise; so a delegated namespace is listed by its own keys alone.

    Args:
        files: The manifest so far; empty to begin one.
        items: Every item of the space.
        signers: Who signs. For a new root that must be enough keys of the old one and of the new one.
        now: The moment of writing.
        days: After how many days it expires.
        root: Other keys or another threshold from now on; for a new manifest by default one signature of the signers.
        delegations: The namespaces that others list from now on; None leaves them as they are.

    Raises:
        SigningError: ``manifest-key`` when a signer's key has no part in the manifest, ``manifest-damaged`` when the
            files cannot be read, ``manifest-threshold`` or ``manifest-namespace`` when roles cannot be as wanted.
    """
    try:
        draft = _Draft(dict(files), tuple(signers), now.astimezone(UTC).replace(microsecond=0), days)
        draft.root(root)
        draft.lists(tuple(items), delegations)
        return draft.seal()
    except Refused as fault:
        raise _damaged(fault) from None


def cosign_manifest(files: Mapping[str, bytes], *, signers: Sequence[SigningKey]) -> Written:
    """Return a manifest with the signatures of further signers, and nothing else changed.

    Raises:
        SigningError: As :func:`write_manifest`.
    """
    try:
        draft = _Draft(dict(files), tuple(signers), datetime.now(UTC), 0)
        draft.load_all()
        return draft.seal()
    except Refused as fault:
        raise _damaged(fault) from None


def _damaged(fault: Refused) -> SigningError:
    return SigningError("manifest-damaged", fault.message, hint="restore config/manifest, or begin anew with --new")


@dataclass(slots=True)
class _Draft:
    files: dict[str, bytes]
    signers: tuple[SigningKey, ...]
    now: datetime
    days: int
    roots: dict[int, Metadata[Root]] = field(default_factory=dict)
    roles: dict[str, Metadata[Any]] = field(default_factory=dict)
    changed: list[str] = field(default_factory=list)

    def _expiry(self, days: int) -> datetime:
        return self.now + timedelta(days=days)

    def _read(self, name: str, kind: type[S]) -> Metadata[S]:
        if name not in self.files:
            raise Refused("manifest-mixed", f"{name} is not there", name)
        return load(self.files[name], kind, name).metadata

    def load_all(self) -> None:
        """Read the manifest so far."""
        self.roots = {version: self._read(name, Root) for version, name in root_versions(self.files).items()}
        if not self.roots:
            raise Refused("manifest-malformed", "there is no root")
        timestamp = self.roles["timestamp"] = self._read("timestamp.json", Timestamp)
        snapshot = self._read(f"{timestamp.signed.snapshot_meta.version}.snapshot.json", Snapshot)
        self.roles["snapshot"] = snapshot
        for name, meta in snapshot.signed.meta.items():
            role = name.removesuffix(".json")
            self.roles[role] = self._read(f"{meta.version}.{role}.json", Targets)
        if "targets" not in self.roles:
            raise Refused("manifest-mixed", "the snapshot names no list", "")

    # roots

    @property
    def _newest(self) -> Root:
        return self.roots[max(self.roots)].signed

    def root(self, wanted: RootKeys | None) -> None:
        """Make the first root, or the next one where its keys change or it would expire before the list."""
        if self.files:
            self.load_all()
        fresh = not self.roots
        if fresh and wanted is None:
            wanted = RootKeys(tuple(signer.public for signer in self.signers))
        if wanted is None and self._newest.expires > self._expiry(self.days):
            return
        version = 1 if fresh else self._newest.version + 1
        signed = Root(version=version, expires=self._expiry(max(self.days, _ROOT_DAYS)), consistent_snapshot=True)
        if wanted is None:
            signed.keys, signed.roles = dict(self._newest.keys), dict(self._newest.roles)
        else:
            keyids = [key.fingerprint for key in wanted.keys]
            _check_threshold(wanted.threshold, len(set(keyids)))
            signed.keys = {str(key.fingerprint): to_key(key) for key in wanted.keys}
            needed = {"root": wanted.threshold, "targets": wanted.threshold}
            signed.roles = {role: Role(list(dict.fromkeys(keyids)), needed.get(role, 1)) for role in ROLES}
        self.roots[version] = Metadata(signed)
        self.changed.append("root")

    def _require_part(self) -> None:
        parts = {keyid for root in self.roots.values() for keyid in root.signed.keys}
        delegations = self.roles["targets"].signed.delegations
        parts |= set(delegations.keys) if delegations else set()
        for signer in self.signers:
            if signer.public.fingerprint not in parts:
                raise SigningError(
                    "manifest-key",
                    f"key {signer.public.fingerprint[:16]} has no part in this manifest",
                    hint="sign with one of its keys, or have its owner add this one",
                )

    # lists

    def _signs(self, role: str) -> bool:
        mine = {str(signer.public.fingerprint) for signer in self.signers}
        return bool(mine & set(self._delegator(role).get_delegated_role(role).keyids))

    def _delegator(self, role: str) -> Root | Targets:
        if role in ROLES:
            return self._newest
        targets: Targets = self.roles["targets"].signed
        return targets

    def lists(self, items: tuple[ListedItem, ...], delegations: Sequence[Delegation] | None) -> None:
        """List the items anew, each in the role that its namespace belongs to; then snapshot and timestamp."""
        old = self.roles.get("targets")
        standing = old.signed.delegations if old else None
        if delegations is not None and (old is None or self._signs("targets")):
            standing = _delegations(delegations)
        shares: dict[str, list[ListedItem]] = {name: [] for name in ("targets", *_roles(standing))}
        for item in items:
            owners = standing.get_roles_for_target(item.path) if standing else iter(())
            shares[next((name for name, _ in owners), "targets")].append(item)
        if self._signs("targets"):
            signed = self._next("targets", Targets, self.days)
            signed.delegations = standing
            self._fill(signed, shares["targets"])
        for role in _roles(standing):
            if self._signs(role) or role not in self.roles:
                self._fill(self._next(role, Targets, self.days), shares[role])
        self.roles = {name: role for name, role in self.roles.items() if name in {*ROLES, *shares}}
        if self._signs("snapshot"):
            snapshot = self._next("snapshot", Snapshot, self.days)
            snapshot.meta = {f"{role}.json": MetaFile(self.roles[role].signed.version) for role in sorted(shares)}
        if self._signs("timestamp"):
            timestamp = self._next("timestamp", Timestamp, self.days)
            timestamp.snapshot_meta = MetaFile(self.roles["snapshot"].signed.version)

    def _next(self, role: str, kind: type[S], days: int) -> S:
        old = self.roles.get(role)
        signed = kind(version=old.signed.version + 1 if old else 1, expires=self._expiry(days))
        self.roles[role] = Metadata(signed)
        self.changed.append(role)
        return signed

    @staticmethod
    def _fill(targets: Targets, items: Iterable[ListedItem]) -> None:
        targets.targets = {
            item.path: TargetFile(
                item.length,
                {"sha256": item.sha256},
                item.path,
                {"custom": {"type": item.item_type, "id": item.item_id, "signed": item.signed_at}},
            )
            for item in items
        }

    # signatures

    def seal(self) -> Written:
        """Sign everything the signers have a part in and write it down."""
        self._require_part()
        version = max(self.roots)
        before = self.roots.get(version - 1)
        root = self.roots[version]
        keyids = {*root.signed.roles["root"].keyids, *(before.signed.roles["root"].keyids if before else ())}
        sign(root, keyids, self.signers)
        missing = {"root": _lacking(root.signed, "root", root)}
        if before is not None:
            missing["root"] = max(missing["root"], _lacking(before.signed, "root", root))
        files = {f"{number}.root.json": self._kept(f"{number}.root.json", one) for number, one in self.roots.items()}
        for role, metadata in self.roles.items():
            delegator = self._delegator(role)
            sign(metadata, delegator.get_delegated_role(role).keyids, self.signers)
            missing[role] = _lacking(delegator, role, metadata)
            name = "timestamp.json" if role == "timestamp" else f"{metadata.signed.version}.{role}.json"
            files[name] = self._kept(name, metadata)
        return Written(
            files,
            self.roles["timestamp"].signed.version,
            tuple(self.changed),
            {role: count for role, count in missing.items() if count},
            tuple(role for role in self.roles if role not in {*ROLES, *self.changed} and self.changed),
        )

    def _kept(self, name: str, metadata: Metadata[Any]) -> bytes:
        """Return the bytes of a file; those it had, where nothing about it is new."""
        data = to_bytes(metadata)
        old = self.files.get(name, b"")
        return old if old and to_bytes(Metadata.from_bytes(old)) == data else data


def _check_threshold(threshold: int, keys: int) -> None:
    if not 1 <= threshold <= keys:
        raise SigningError(
            "manifest-threshold", f"a threshold of {threshold} with {keys} key(s)", hint=f"use 1 to {keys}"
        )


def _roles(delegations: Delegations | None) -> tuple[str, ...]:
    return tuple(delegations.roles or ()) if delegations is not None else ()


def _delegations(wanted: Sequence[Delegation]) -> Delegations | None:
    if not wanted:
        return None
    keys: dict[str, Key] = {}
    roles: dict[str, DelegatedRole] = {}
    for one in wanted:
        _check_threshold(one.threshold, len(set(one.keys)))
        keyids = [str(key.fingerprint) for key in dict.fromkeys(one.keys)]
        keys |= {str(key.fingerprint): to_key(key) for key in one.keys}
        name = role_name(one.namespaces)
        roles[name] = DelegatedRole(name, keyids, one.threshold, True, delegated_paths(one.namespaces))
    return Delegations(keys, roles)


def _lacking(delegator: Root | Targets, role: str, metadata: Metadata[Any]) -> int:
    result = delegator.get_verification_result(role, metadata.signed_bytes, metadata.signatures)
    return max(0, result.threshold - len(result.signed))
