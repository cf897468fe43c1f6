"""Read and write TUF metadata: only the shapes that rye accepts, checked before any signature is."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from securesystemslib.signer import Key, Signature, SSlibKey
from tuf.api.exceptions import RepositoryError
from tuf.api.metadata import DelegatedRole, Delegations, Metadata, Role, Root, Signed, Snapshot, Targets, Timestamp
from tuf.api.serialization.json import JSONSerializer

from rye.errors import SigningError
from rye.items import ItemType
from rye.manifest.model import MAX_DELEGATED_DEPTH, MAX_MANIFEST_FILE, MAX_ROLES, Delegation, ListedItem, RootKeys
from rye.trust import PublicKey, SigningKey

ROLES: Final = ("root", "timestamp", "snapshot", "targets")
"""The four roles that every manifest has."""

_ROLE_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,79}")
_FOLDERS: Final = {each.value: each.folder for each in ItemType}

S = TypeVar("S", Root, Timestamp, Snapshot, Targets)


@dataclass(frozen=True, slots=True)
class SignedFile(Generic[S]):
    """One file of a manifest: its metadata, and the bytes that its signatures cover, computed once."""

    metadata: Metadata[S]
    payload: bytes

    @property
    def signed(self) -> S:
        """The signed part of the metadata."""
        return self.metadata.signed

    @property
    def digest(self) -> str:
        """SHA-256 of the bytes that the signatures cover, hex."""
        return hashlib.sha256(self.payload).hexdigest()


class Refused(Exception):
    """A file of a manifest is refused: the code of the finding, and why."""

    def __init__(self, code: str, message: str, path: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.path = path


def load(data: bytes, kind: type[S], name: str) -> SignedFile[S]:
    """Parse a file of a manifest; its signatures are not checked yet.

    Raises:
        Refused: ``manifest-malformed``.
    """
    if len(data) > MAX_MANIFEST_FILE:
        raise Refused("manifest-malformed", f"{name} has more than {MAX_MANIFEST_FILE:,} bytes", name)
    try:
        metadata: Metadata[S] = Metadata.from_bytes(data)
        part = SignedFile(metadata, metadata.signed_bytes)
    except (RepositoryError, RecursionError, ValueError) as fault:
        raise Refused("manifest-malformed", f"{name} is not metadata of a manifest", name) from fault
    if not isinstance(metadata.signed, kind):
        raise Refused("manifest-malformed", f"{name} is of type {metadata.signed.type!r}", name)
    _check_shape(metadata.signed, name)
    return part


def _check_shape(signed: Signed, name: str) -> None:
    if isinstance(signed, Root):
        _check_keys(signed.keys, name)
    if not isinstance(signed, Targets) or signed.delegations is None:
        return
    _check_keys(signed.delegations.keys, name)
    roles = signed.delegations.roles
    if roles is None or len(roles) > MAX_ROLES:
        raise Refused("manifest-malformed", f"{name} has delegations of a kind rye does not read", name)
    for role in roles.values():
        name_ = str(role.name)  # which a file may have as a number
        if name_ != role.name or not _ROLE_NAME.fullmatch(name_) or name_ in ROLES or role.paths is None:
            raise Refused("manifest-malformed", f"{name} delegates to {role.name!r} without paths", name)


def _check_keys(keys: Mapping[str, Key], name: str) -> None:
    """Refuse keys that are not Ed25519 or not named by their fingerprint, so that none counts twice."""
    for keyid, key in keys.items():
        try:
            public = PublicKey(bytes.fromhex(str(key.keyval.get("public", ""))))
        except (ValueError, SigningError):
            public = None
        if public is None or (key.keytype, key.scheme) != ("ed25519", "ed25519") or keyid != public.fingerprint:
            raise Refused("manifest-malformed", f"{name} names a key {keyid[:16]!r} that is not what it says", name)


def to_key(public: PublicKey) -> SSlibKey:
    """Return a key as TUF writes it, under its fingerprint."""
    return SSlibKey(public.fingerprint, "ed25519", "ed25519", {"public": public.raw.hex()})


def timestamp_keys(root: Root) -> list[str]:
    """Return the keys that may sign the timestamp and nothing else: a job that refreshes needs no more."""
    others = _with_other_roles(root)
    return [keyid for keyid in root.roles["timestamp"].keyids if keyid not in others]


def _with_other_roles(root: Root) -> set[str]:
    """Return the keys that may sign more than the timestamp."""
    return {keyid for name, role in root.roles.items() if name != "timestamp" for keyid in role.keyids}


def audience_of(signed: Signed) -> str:
    """Return the audience that a role other than the root names; empty for none."""
    name = signed.unrecognized_fields.get("audience", "")
    return name if isinstance(name, str) else ""


def sign(metadata: Metadata[Any], keyids: Iterable[str], signers: Iterable[SigningKey]) -> None:
    """Add the signatures of those signers whose keys a role has."""
    wanted, message = set(keyids), metadata.signed_bytes
    for signer in signers:
        name = signer.public.fingerprint
        if name in wanted:
            metadata.signatures[name] = Signature(name, signer.sign(message).hex())


def to_bytes(metadata: Metadata[Any]) -> bytes:
    """Return metadata as it is written: sorted and indented, so that a review shows what changed."""
    return metadata.to_bytes(JSONSerializer(compact=False)) + b"\n"


def listed_items(targets: Targets) -> Iterator[ListedItem]:
    """Yield the items of a list."""
    for path, file in targets.targets.items():
        custom = file.custom if isinstance(file.custom, dict) else {}
        kind, item_id, signed_at, mode = (str(custom.get(key, "")) for key in ("type", "id", "signed", "mode"))
        yield ListedItem(path, kind, item_id, file.length, file.hashes.get("sha256", ""), signed_at, mode)


def listed_files(files: Mapping[str, bytes]) -> dict[str, ListedItem]:
    """Return the files that a manifest lists, by path, whoever wrote the manifest."""
    listed: dict[str, ListedItem] = {}
    for name, data in files.items():
        with suppress(Refused):
            items = listed_items(load(data, Targets, name).signed)
            listed |= {item.path: item for item in items}
    return listed


def named_keys(files: Mapping[str, bytes]) -> set[str]:
    """Return the fingerprints of all keys that have a part in a manifest, whoever wrote it."""
    keys: set[str] = set()
    for name, data in files.items():
        with suppress(Refused):
            keys.update(load(data, Root, name).signed.keys)
        with suppress(Refused):
            delegations = load(data, Targets, name).signed.delegations
            keys.update(delegations.keys if delegations else ())
    return keys


def role_name(namespaces: Iterable[str]) -> str:
    """Return the name of the role that lists these namespaces.

    Two lists of namespaces never share one: namespaces whose words are the same differ in the digits.
    """
    text = " ".join(sorted(namespaces))
    words = re.sub(r"[^a-z0-9]+", "-", text.casefold()).strip("-")[:48] or "all"
    return f"{words}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def delegated_paths(namespaces: Iterable[str]) -> list[str]:
    """Return path patterns of TUF, in which ``*`` never spans a slash, for namespaces of a trust file."""
    paths: list[str] = []
    for namespace in namespaces:
        kind, colon, pattern = namespace.rpartition(":")
        if (colon and kind not in _FOLDERS) or not all(pattern.split("/")) or not namespace.isprintable():
            raise SigningError(
                "manifest-namespace", f"namespace is {namespace!r}", hint="write it as 'rye/core/*' or 'tool:rye/*'"
            )
        parts = [part if part == "*" else re.sub(r"([\[?*])", r"[\1]", part) for part in pattern.split("/")]
        deeper = range(MAX_DELEGATED_DEPTH) if parts[-1] == "*" else range(1)
        for folder in [_FOLDERS[kind]] if kind else _FOLDERS.values():
            paths += ["/".join([folder, *parts, *(["*"] * more)]) + ".*" for more in deeper]
    return paths


def damaged(fault: Refused) -> SigningError:
    """Return the error for a manifest that cannot be built upon."""
    return SigningError("manifest-damaged", fault.message, hint="restore config/manifest, or begin anew with --new")


def without_part(*signers: SigningKey, root: Root | None = None) -> SigningError:
    """Return the error for signers whose keys have no part in the manifest, or by its root none but the timestamp."""
    keyids = {str(signer.public.fingerprint) for signer in signers}
    names = ", ".join(keyid[:16] for keyid in sorted(keyids))
    if root is not None and keyids & set(timestamp_keys(root)):
        words = f"key {names} may sign no more of this manifest than the timestamp"
        return SigningError("manifest-key", words, hint="rye manifest refresh; or sign with another of its keys")
    return SigningError(
        "manifest-key",
        f"key {names} has no part in this manifest",
        hint="sign with one of its keys, or have its owner add this one",
    )


def check_threshold(threshold: int, keys: int) -> None:
    """Refuse a threshold that is below one or above the number of keys.

    Raises:
        SigningError: ``manifest-threshold``.
    """
    if not 1 <= threshold <= keys:
        raise SigningError(
            "manifest-threshold", f"a threshold of {threshold} with {keys} key(s)", hint=f"use 1 to {keys}"
        )


def roles_of(delegations: Delegations | None) -> tuple[str, ...]:
    """Return the names of delegated roles."""
    return tuple(delegations.roles or ()) if delegations is not None else ()


def give_keys(root: Root, wanted: RootKeys) -> None:
    """Give a root the keys that are wanted, in the place of those it has.

    The keys of the other roles may sign the timestamp too: whoever writes a list needs no second key for it.

    Raises:
        SigningError: ``manifest-threshold``; ``manifest-timestamp-key`` for one that has another role.
    """
    own = {keyid: root.keys[keyid] for keyid in timestamp_keys(root)}
    if wanted.keys:
        keyids = [str(key.fingerprint) for key in dict.fromkeys(wanted.keys)]
        check_threshold(wanted.threshold, len(keyids))
        needed = {"root": wanted.threshold, "targets": wanted.threshold}
        root.keys |= {str(key.fingerprint): to_key(key) for key in wanted.keys}
        root.roles = {role: Role(list(keyids), needed.get(role, 1)) for role in ROLES}
    others = _with_other_roles(root)
    if wanted.timestamp is not None:
        own = {str(key.fingerprint): to_key(key) for key in wanted.timestamp}
        if several := others & set(own):
            words = f"key {min(several)[:16]} may sign more of this manifest than the timestamp"
            raise SigningError("manifest-timestamp-key", words, hint="make one for it alone: rye keys generate NAME")
    own = {keyid: key for keyid, key in own.items() if keyid not in others}
    root.roles["timestamp"] = Role([*root.roles["root"].keyids, *own], 1)
    root.keys = {keyid: key for keyid, key in (root.keys | own).items() if keyid in others or keyid in own}


def make_delegations(wanted: Sequence[Delegation]) -> Delegations | None:
    """Return delegations as TUF writes them; None for none.

    Raises:
        SigningError: ``manifest-threshold``, ``manifest-namespace``.
    """
    if not wanted:
        return None
    keys: dict[str, Key] = {}
    roles: dict[str, DelegatedRole] = {}
    for one in wanted:
        check_threshold(one.threshold, len(set(one.keys)))
        keyids = [str(key.fingerprint) for key in dict.fromkeys(one.keys)]
        keys |= {str(key.fingerprint): to_key(key) for key in one.keys}
        name = role_name(one.namespaces)
        if name in roles or len(roles) == MAX_ROLES:
            words = "are delegated twice" if name in roles else f"are one delegation more than {MAX_ROLES}"
            raise SigningError(
                "manifest-namespace", f"{', '.join(one.namespaces)} {words}", hint="name all its keys in one delegation"
            )
        roles[name] = DelegatedRole(name, keyids, one.threshold, True, delegated_paths(one.namespaces))
    return Delegations(keys, roles)


def lacking(delegator: Root | Targets, role: str, metadata: Metadata[Any]) -> int:
    """Return how many signatures a role still needs."""
    result = delegator.get_verification_result(role, metadata.signed_bytes, metadata.signatures)
    return max(0, result.threshold - len(result.signed))
