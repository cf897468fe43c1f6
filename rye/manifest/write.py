"""Write a manifest, or its next version: bytes, keys and a moment in, bytes out; no disk access."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from tuf.api.metadata import Metadata, MetaFile, Root, Snapshot, TargetFile, Targets, Timestamp

from rye.errors import SigningError
from rye.manifest.metadata import (
    ROLES,
    Refused,
    S,
    audience_of,
    damaged,
    give_keys,
    lacking,
    listed_items,
    load,
    make_delegations,
    roles_of,
    sign,
    to_bytes,
    without_part,
)
from rye.manifest.model import DAYS, MAX_DAYS, Delegation, ListedItem, RootKeys, SignedRoles
from rye.manifest.store import list_versions, root_versions
from rye.trust import PublicKey, SigningKey

_ROOT_DAYS: Final = 365


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestUpdate(SignedRoles):
    """The next state of a manifest.

    Attributes:
        files: Name → bytes of every file it has now; others that were there are to be removed.
        items: What all lists say, by path, with pending ones in the place of those they are to replace.
        audience: The registry that it is of; empty for none.
    """

    files: Mapping[str, bytes]
    audience: str = ""
    items: Mapping[str, ListedItem] = field(default_factory=dict)


def write_manifest(
    files: Mapping[str, bytes],
    items: Iterable[ListedItem],
    *,
    signers: Sequence[SigningKey],
    now: datetime,
    days: int = DAYS,
    root: RootKeys | None = None,
    delegations: Sequence[Delegation] | None = None,
    audience: str = "",
    name: str = "",
    fresh: int = MAX_DAYS,
) -> ManifestUpdate:
    """Return the next version of a manifest, or its first.

    The files given are built upon as they are: check them first. A list is made anew when a signer holds a key of its
    role, and stays as it was otherwise; so a delegated namespace is listed by its own keys alone. What those list while
    no key of the manifest itself is at hand is pending until one is.

    Args:
        files: The manifest so far; empty to begin one.
        items: Every item of the space.
        signers: Who signs. For a new root that must be enough keys of the old one and of the new one.
        now: The moment of writing.
        days: After how many days it expires.
        root: Other keys or another threshold from now on; for a new manifest by default one signature of the signers
            to whom nothing is delegated.
        delegations: The namespaces that others list from now on; None leaves them as they are.
        audience: The registry that it is of, which stays what it is; empty for the one that it names already.
        name: That of a manifest which names none, where none is given.
        fresh: After how many days its timestamp expires, if not before with the rest of it.

    Raises:
        SigningError: ``manifest-audience`` when it is of another registry, ``manifest-key`` when a signer's key has no
            part in it, ``manifest-damaged`` when the files cannot be read, ``manifest-threshold`` or
            ``manifest-namespace`` when roles cannot be as wanted.
    """
    try:
        draft = _Draft(dict(files), tuple(signers), now.astimezone(UTC).replace(microsecond=0), days, fresh)
        draft.root(root, {key for one in delegations or () for key in one.keys})
        draft.name(audience, name)
        draft.lists(tuple(items), delegations)
        return draft.seal()
    except Refused as fault:
        raise damaged(fault) from None


def refresh_manifest(
    files: Mapping[str, bytes], *, signers: Sequence[SigningKey], now: datetime, days: int
) -> ManifestUpdate:
    """Return a manifest with a new timestamp, and no other signature added.

    Raises:
        SigningError: As :func:`write_manifest`.
    """
    try:
        draft = _Draft(dict(files), tuple(signers), now.astimezone(UTC).replace(microsecond=0), days)
        return draft.refresh()
    except Refused as fault:
        raise damaged(fault) from None


def cosign_manifest(files: Mapping[str, bytes], *, signers: Sequence[SigningKey]) -> ManifestUpdate:
    """Return a manifest with the signatures of further signers, and nothing else changed.

    Raises:
        SigningError: As :func:`write_manifest`.
    """
    try:
        draft = _Draft(dict(files), tuple(signers), datetime.now(UTC), 0)
        draft.load_all()
        return draft.seal()
    except Refused as fault:
        raise damaged(fault) from None


@dataclass(slots=True)
class _Draft:
    files: dict[str, bytes]
    signers: tuple[SigningKey, ...]
    now: datetime
    days: int
    fresh: int = MAX_DAYS
    audience: str = ""
    roots: dict[int, Metadata[Root]] = field(default_factory=dict)
    roles: dict[str, Metadata[Any]] = field(default_factory=dict)
    pending: dict[str, Metadata[Targets]] = field(default_factory=dict)
    changed: list[str] = field(default_factory=list)

    def _expiry(self, days: int) -> datetime:
        return self.now + timedelta(days=days)

    def _read(self, name: str, kind: type[S]) -> Metadata[S]:
        if name not in self.files:
            raise Refused("manifest-mixed", f"{name} is not there as a regular file", name)
        return load(self.files[name], kind, name).metadata

    def load_all(self) -> None:
        """Read the manifest so far."""
        self.roots = {version: self._read(name, Root) for version, name in root_versions(self.files).items()}
        if not self.roots:
            raise Refused("manifest-malformed", "there is no root")
        timestamp = self.roles["timestamp"] = self._read("timestamp.json", Timestamp)
        snapshot = self._read(f"{timestamp.signed.snapshot_meta.version}.snapshot.json", Snapshot)
        self.roles["snapshot"] = snapshot
        if not self._load_list("targets"):
            raise Refused("manifest-mixed", "the snapshot names no list", "")
        for role in roles_of(self.roles["targets"].signed.delegations):
            self._load_list(role)
            newer = self._newer(role)
            if newer is not None:
                self.pending[role] = newer

    def _load_list(self, role: str) -> bool:
        meta = self.roles["snapshot"].signed.meta.get(f"{role}.json")
        if meta is not None:
            self.roles[role] = self._read(f"{meta.version}.{role}.json", Targets)
        return meta is not None

    def _newer(self, role: str) -> Metadata[Targets] | None:
        """Return the newest list that a key of the role has signed since the snapshot named one."""
        named = self.roles[role].signed.version if role in self.roles else 0
        for version, name in list_versions(self.files, role).items():
            if version <= named:
                break
            try:
                part = load(self.files[name], Targets, name)
            except Refused:
                continue
            result = self._delegator(role).get_verification_result(role, part.payload, part.metadata.signatures)
            if part.signed.version == version and result.signed:
                return part.metadata
        return None

    # roots

    @property
    def _newest(self) -> Root:
        return self.roots[max(self.roots)].signed

    def root(self, wanted: RootKeys | None, delegates: Collection[PublicKey]) -> None:
        """Make the first root, or the next one where its keys change or it would expire before the list.

        Who signs a first one for a namespace of their own is not thereby an owner of the whole.
        """
        if self.files:
            self.load_all()
        fresh = not self.roots
        if fresh and (wanted is None or not wanted.keys):
            keys = tuple(signer.public for signer in self.signers)
            keys = tuple(key for key in keys if key not in delegates) or keys
            wanted = RootKeys(keys, timestamp=wanted.timestamp if wanted else None)
        if not fresh and wanted is not None:
            self._require_owner()
        if wanted is None and (self._newest.expires > self._expiry(self.days) or not self._owned):
            return
        version = 1 if fresh else self._newest.version + 1
        signed = Root(version=version, expires=self._expiry(max(self.days, _ROOT_DAYS)), consistent_snapshot=True)
        if not fresh:
            signed.keys, signed.roles = dict(self._newest.keys), dict(self._newest.roles)
        if wanted is not None:
            give_keys(signed, wanted)
        self.roots[version] = Metadata(signed)
        self.changed.append("root")

    @property
    def _before(self) -> Metadata[Root] | None:
        """The root before the newest one, while that is new or has not all the signatures it needs of it."""
        version = max(self.roots)
        before = self.roots.get(version - 1)
        if before is None or not ("root" in self.changed or lacking(before.signed, "root", self.roots[version])):
            return None
        return before

    def _require_part(self) -> None:
        """Refuse a signer whose key no root and no delegation names, and signers none of whom has a part any more."""
        parts = {keyid for root in self.roots.values() for keyid in root.signed.keys}
        delegations = self.roles["targets"].signed.delegations
        parts |= set(delegations.keys) if delegations else set()
        for signer in self.signers:
            if signer.public.fingerprint not in parts:
                raise without_part(signer)

    def _require_owner(self) -> None:
        """Refuse to change keys and delegations unless a key of the root signs."""
        if not self._owned:
            raise without_part(*self.signers, root=self._newest)

    @property
    def _owned(self) -> bool:
        return any(signer.public.fingerprint in self._newest.roles["root"].keyids for signer in self.signers)

    def name(self, audience: str, default: str) -> None:
        """Take the audience that the manifest has; if it has none, its owner names it: the one given or the default."""
        found = audience_of(self.roles["targets"].signed) if "targets" in self.roles else ""
        if audience and found not in {"", audience}:
            message = f"the manifest is for the audience {found!r}, not for {audience!r}"
            hint = "look whose it is; if it is yours and the registry has a new name, begin anew with --new"
            raise SigningError("manifest-audience", message, hint=hint)
        self.audience = found or ((audience or default) if self._signs("targets") else "")

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
        if delegations is not None:
            self._require_owner()
            standing = make_delegations(delegations)
        shares: dict[str, list[ListedItem]] = {name: [] for name in ("targets", *roles_of(standing))}
        for item in items:
            owners = standing.get_roles_for_target(item.path) if standing else iter(())
            shares[next((name for name, _ in owners), "targets")].append(item)
        if self._signs("targets"):
            signed = self._next("targets", Targets, self.days)
            signed.delegations = standing
            self._fill(signed, shares["targets"])
        for role in roles_of(standing):
            if self._signs(role) or role not in self.roles:
                self._fill(self._next(role, Targets, self.days), shares[role])
        self.roles = {name: role for name, role in self.roles.items() if name in {*ROLES, *shares}}
        self.pending = {name: role for name, role in self.pending.items() if name in shares}
        if self._signs("snapshot"):
            # pending lists that have all their signatures are taken, as there is a snapshot to name them
            for role, metadata in list(self.pending.items()):
                if not lacking(self._delegator(role), role, metadata):
                    self.roles[role] = self.pending.pop(role)
                    self.changed.append(role)
            snapshot = self._next("snapshot", Snapshot, self.days)
            snapshot.meta = {f"{role}.json": MetaFile(self.roles[role].signed.version) for role in sorted(shares)}
        if self._signs("timestamp") and "snapshot" in self.changed:
            self.stamp()
        if not self.changed:
            self._require_owner()

    def stamp(self) -> None:
        """Make the timestamp anew: it says which snapshot is the current one."""
        timestamp = self._next("timestamp", Timestamp, min(self.days, self.fresh))
        timestamp.snapshot_meta = MetaFile(self.roles["snapshot"].signed.version)

    def _next(self, role: str, kind: type[S], days: int) -> S:
        """Begin the next version of a role; it is pending where nobody signs the snapshot that must name it."""
        old = self.pending.pop(role, None) or self.roles.get(role)
        named = {"audience": self.audience} if self.audience else {}
        version = old.signed.version + 1 if old else 1
        signed = kind(version=version, expires=self._expiry(days), unrecognized_fields=named)
        here: dict[str, Metadata[Any]] = self.roles
        if role not in ROLES and not self._signs("snapshot"):
            here = self.pending
        here[role] = Metadata(signed)
        self.changed.append(role)
        return signed

    @staticmethod
    def _fill(targets: Targets, items: Iterable[ListedItem]) -> None:
        targets.targets = {
            item.path: TargetFile(
                item.length,
                {"sha256": item.sha256},
                item.path,
                {"custom": facts | ({"mode": item.mode} if item.mode else {})},
            )
            for item in items
            for facts in ({"type": item.item_type, "id": item.item_id, "signed": item.signed_at},)
        }

    # signatures

    def seal(self) -> ManifestUpdate:
        """Sign every role that the signers have a key of, and return the files."""
        self._require_part()
        root, before = self.roots[max(self.roots)], self.roots.get(max(self.roots) - 1)
        delegators = [root.signed, *([before.signed] if before else [])]
        for delegator in delegators:
            sign(root, delegator.roles["root"].keyids, self.signers)
        missing = {"root": max(lacking(delegator, "root", root) for delegator in delegators)}
        files = {f"{number}.root.json": self._kept(f"{number}.root.json", one) for number, one in self.roots.items()}
        for role, metadata in self.roles.items():
            missing[role] = self._seal_role(role, metadata)
            name = "timestamp.json" if role == "timestamp" else f"{metadata.signed.version}.{role}.json"
            files[name] = self._kept(name, metadata)
        pending = {role: self._seal_role(role, metadata) for role, metadata in self.pending.items()}
        for role, metadata in self.pending.items():
            name = f"{metadata.signed.version}.{role}.json"
            files[name] = self._kept(name, metadata)
        return ManifestUpdate(
            files=files,
            audience=audience_of(self.roles["targets"].signed),
            version=self.roles["timestamp"].signed.version,
            written=tuple(self.changed),
            missing={role: count for role, count in missing.items() if count},
            waiting=tuple(role for role in self.roles if role not in {*ROLES, *self.changed} and self.changed),
            pending=pending,
            items={
                item.path: item
                for role, metadata in (self.roles | self.pending).items()
                if isinstance(metadata.signed, Targets)
                for item in listed_items(metadata.signed)
            },
        )

    def refresh(self) -> ManifestUpdate:
        """Make the timestamp anew, and sign nothing else."""
        self.load_all()
        self.name("", "")
        if not self._signs("timestamp"):
            raise without_part(*self.signers)
        self.stamp()
        timestamp = self.roles["timestamp"]
        lacks = self._seal_role("timestamp", timestamp)
        files = self.files | {"timestamp.json": to_bytes(timestamp)}
        facts = {"version": timestamp.signed.version, "missing": {"timestamp": lacks} if lacks else {}}
        return ManifestUpdate(files=files, audience=self.audience, written=("timestamp",), **facts)

    def _seal_role(self, role: str, metadata: Metadata[Any]) -> int:
        """Sign a role; return how many signatures it lacks.

        While the root is new, the keys of the one before sign too: so the list holds under either of them, and the new
        root can be put in its place as the last step, of which nobody can see a half.
        """
        delegator = self._delegator(role)
        sign(metadata, delegator.get_delegated_role(role).keyids, self.signers)
        if role in ROLES and self._before is not None:
            sign(metadata, self._before.signed.get_delegated_role(role).keyids, self.signers)
        return lacking(delegator, role, metadata)

    def _kept(self, name: str, metadata: Metadata[Any]) -> bytes:
        """Return the bytes of a file; the old ones where its content is the same."""
        data = to_bytes(metadata)
        old = self.files.get(name, b"")
        return old if old and to_bytes(Metadata.from_bytes(old)) == data else data
