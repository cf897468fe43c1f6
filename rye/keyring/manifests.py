"""Write the manifests of the spaces, and check the files on disk against them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rye import spaces
from rye.errors import ArgumentError, EnvironmentFault, SigningError
from rye.keyring.private import Keyring, Passphrase
from rye.manifest import store
from rye.manifest.model import (
    DAYS,
    FRESH_DAYS,
    MAX_DAYS,
    Delegation,
    ManifestFinding,
    ManifestReport,
    RootKeys,
    Seen,
    SignedRoles,
    SpaceKeys,
    SpaceName,
)
from rye.manifest.space import Observed, compare, observe, signed_by_listing
from rye.parameters import ParameterError
from rye.spaces import Root
from rye.spaces.beside import is_listable
from rye.spaces.layout import Layout
from rye.trust import PublicKey, SigningKey, TrustSet, load_trust, system_clock

if TYPE_CHECKING:
    from rye.manifest.write import ManifestUpdate


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestWritten(SignedRoles):
    """The result of writing a manifest.

    Attributes:
        source: The space.
        audience: The registry that it is of.
        folder: Where the files are.
        changes: How the items differ from the manifest before, as findings; empty for a first one.
        listed: How many items there are.
        signed: The files among them that can hold no signature and have none: the manifest signs them.
    """

    source: str
    audience: str
    folder: str
    changes: tuple[ManifestFinding, ...]
    listed: int
    signed: tuple[str, ...]


def check_root(
    root: Root,
    *,
    trust: TrustSet,
    now: datetime,
    observed: Observed | None = None,
    remember: bool = True,
    demanded: bool = False,
) -> ManifestReport:
    """Check the manifest of a root; if it passes, remember its versions for the next check.

    Args:
        root: The space.
        trust: The keys of this run.
        now: The moment of checking.
        observed: The files on disk, if the caller has read them already; None reads them.
        remember: Whether to compare with the record of the manifest last seen, and to replace that record.
        demanded: Whether a manifest is demanded, so that it is an error if its record cannot be saved.

    Raises:
        EnvironmentFault: The manifest or the state cannot be read.
    """
    if observed is None:
        observed = observe(root)
    seen = store.load_seen(root.path) if remember else None
    files = store.read_manifest(root.path)
    check = _check(files, observed, trust=trust, now=now, seen=seen)
    if remember and check.seen is not None and check.seen != seen:
        try:
            store.save_seen(root.path, check.seen)
        except EnvironmentFault as fault:
            words = f"the record of this manifest could not be saved: {fault.message}"
            note = ManifestFinding("manifest-unsaved", words, demanded=demanded)
            check = replace(check, findings=(note, *check.findings))
    problems = tuple(observed.unread.values())
    return replace(check, source=root.source, root=str(root.path), problems=problems, digest=_digest(files))


def _digest(files: Mapping[str, bytes]) -> str:
    rows = (f"{name} {hashlib.sha256(data).hexdigest()}\n" for name, data in sorted(files.items()))
    return hashlib.sha256("".join(rows).encode()).hexdigest() if files else ""


def _check(
    files: Mapping[str, bytes], observed: Observed, *, trust: TrustSet, now: datetime, seen: Seen | None
) -> ManifestReport:
    place, unread = SpaceName(str(observed.root.space), observed.root.bundle), observed.unread.keys()
    from rye.manifest.check import check_manifest

    return check_manifest(files, observed.all, place=place, trust=trust, now=now, seen=seen, unread=unread)


def check_manifests(
    layout: Layout, *, space: str = "all", named_trust: Sequence[Path] = (), require: bool = False
) -> tuple[ManifestReport, ...]:
    """Check the manifest of every root of a space that has one, or once had one.

    Args:
        layout: The spaces.
        space: Which of them.
        named_trust: Trust files that count as the user's own.
        require: Whether a root that has items but no manifest is a finding too; of bundles only of those that are
            named, as all are by ``system``.
    """
    trust, now = layout.load_trust(named_trust).trust, system_clock()
    reports = []
    for root in layout.in_space(space):
        if root.client is not None:
            continue
        demanded = require and (space == "system" or layout.may_demand(root))
        if concerns(root):
            reports.append(check_root(root, trust=trust, now=now, demanded=demanded))
        elif demanded and ((observed := observe(root)).found or observed.unread):
            reports.append(check_root(root, trust=trust, now=now, observed=observed, demanded=demanded))
    return tuple(reports)


def concerns(root: Root) -> bool:
    """Return whether a root has a manifest or had one before, without reading it; True if that cannot be seen."""
    try:
        return (root.path / store.MANIFEST_FOLDER).is_dir() or store.was_seen(root.path)
    except OSError:
        return True


def write_root(
    root: Root,
    *,
    signers: Sequence[SigningKey],
    trust: TrustSet,
    days: int = DAYS,
    root_keys: RootKeys | None = None,
    delegations: Sequence[Delegation] | None = None,
    new: bool = False,
) -> ManifestWritten:
    """Write the next version of a root's manifest.

    Args:
        root: The space.
        signers: Who signs.
        trust: The keys of this run, which must have signed the present manifest, and the audience that is demanded.
        days: After how many days it expires.
        root_keys: Other keys or another threshold from now on.
        delegations: The namespaces that others list from now on.
        new: Whether to begin anew, whatever manifest there is.

    Raises:
        ArgumentError: ``bad-expiry``, ``nothing-to-sign``.
        SigningError: ``manifest-untrusted`` when the present one cannot be believed, ``unreadable-items``, and as
            :func:`rye.manifest.write.write_manifest`.
        EnvironmentFault: ``project-elsewhere``, and where it cannot be written.
    """
    _check_days(days)
    if not signers:
        raise ArgumentError("nothing-to-sign", "no key was given", hint="give the key to sign with")
    from rye.manifest.write import write_manifest

    spaces.check_writable(root)
    place = SpaceName(str(root.space), root.bundle)
    SpaceKeys(place, trust, system_clock()).check_timestamp(root_keys)
    observed, files = _observe_all(root), {} if new else store.read_manifest(root.path)
    if not new and not any(name.endswith(".root.json") for name in files):
        if store.was_seen(root.path):
            words = f"there is no manifest in {root.path}, but one was seen before"
            hint = "restore config/manifest, or begin anew with --new; its readers must then check with --reset"
            raise SigningError("manifest-untrusted", words, hint=hint)
        files = {}  # without a root, which comes last, it never was a manifest
    changes = _changes(files, observed, trust) if files else ()
    written = write_manifest(
        files,
        observed.all,
        signers=signers,
        now=system_clock(),
        days=days,
        root=root_keys,
        delegations=delegations,
        audience=trust.demanded(place.origin),
        name=_default_audience(root),
        fresh=MAX_DAYS if root.space is spaces.Space.SYSTEM else FRESH_DAYS,  # nobody refreshes what was published
    )
    return _save(root, written, changes, observed=observed, trust=trust)


def _check_days(days: int) -> None:
    if not 1 <= days <= MAX_DAYS:
        raise ArgumentError("bad-expiry", f"expires is {days}", hint=f"use 1 to {MAX_DAYS} days")


def refresh_root(
    root: Root, *, signers: Sequence[SigningKey], trust: TrustSet, days: int = FRESH_DAYS
) -> ManifestWritten:
    """Sign a new timestamp of a root's manifest, after checking it and that the files are those it lists.

    Raises:
        ArgumentError: ``bad-expiry``; ``nothing-to-sign`` where there is no manifest.
        SigningError: ``manifest-untrusted`` when it has a fault, other than that its timestamp has expired;
            ``manifest-differs``, ``unreadable-items``, and ``manifest-key`` for a key without a part in it.
        EnvironmentFault: ``project-elsewhere``, and where it cannot be written.
    """
    _check_days(days)
    spaces.check_writable(root)
    files = _present(root)
    observed, now = _observe_all(root), system_clock()
    check = _check(files, observed, trust=trust, now=now, seen=store.load_seen(root.path))
    for one in check.errors:
        if one.code.startswith("item-"):
            raise _differs(one)
        if one.code != "manifest-expired" or not one.path.endswith("/timestamp.json"):
            raise _untrusted(one)
    from rye.manifest.write import refresh_manifest

    written = refresh_manifest(files, signers=signers, now=now, days=days)
    return _save(root, written, (), observed=observed, trust=trust)


def _present(root: Root) -> dict[str, bytes]:
    files = store.read_manifest(root.path)
    if not files:
        raise ArgumentError("nothing-to-sign", f"there is no manifest in {root.path}", hint="rye manifest write")
    return files


def _differs(found: ManifestFinding) -> SigningError:
    message = f"the items are not those that the manifest lists: {found.message}"
    return SigningError("manifest-differs", message, hint="rye manifest check shows all; nothing was signed")


def _untrusted(found: ManifestFinding) -> SigningError:
    return SigningError(
        "manifest-untrusted",
        f"the present manifest cannot be extended: {found.message}",
        hint=f"{'; '.join(filter(None, found.advice))}; or begin anew with --new",
        finding=found.to_dict(),
    )


def _default_audience(root: Root) -> str:
    """Return the name of a root as that of an audience: of the project's folder, of the bundle, or ``user``."""
    name = root.bundle or (root.path.absolute().parent.name if root.space is spaces.Space.PROJECT else "")
    return re.sub(r"[^a-z0-9._/-]+", "-", name.casefold())[:100].strip("._/-") or str(root.space)


def cosign_root(root: Root, *, signers: Sequence[SigningKey], trust: TrustSet) -> ManifestWritten:
    """Add signatures to the present manifest, after checking that the items are those it lists.

    Raises:
        ArgumentError: ``nothing-to-sign`` where there is none.
        SigningError: ``manifest-differs`` when they are not, ``manifest-untrusted``, ``unreadable-items``.
    """
    spaces.check_writable(root)
    files = _present(root)
    from rye.manifest.write import cosign_manifest

    written = cosign_manifest(files, signers=signers)
    observed = _observe_all(root)
    _changes(written.files, observed, trust)
    if changes := tuple(one for one in compare(written.items, observed.all) if one.code != "uncovered"):
        raise _differs(changes[0])
    return _save(root, written, changes, observed=observed, trust=trust)


def _observe_all(root: Root) -> Observed:
    observed = observe(root)
    if problems := list(observed.unread.values()):
        raise SigningError(
            "unreadable-items",
            f"{len(problems)} file(s) cannot be listed: {'; '.join(problems)}",
            hint="fix or remove them; nothing was written",
            problems=problems,
        )
    observed.others = {path: file for path, file in observed.others.items() if is_listable(path, file.mode)}
    spaces.check_writable(root, [file.path for file in observed.all])
    return observed


_FIXED = frozenset({"manifest-expired", "manifest-mixed", "manifest-threshold", "manifest-first-use"})
"""Codes that writing the manifest anew fixes: one with only these may be extended."""


def _changes(files: Mapping[str, bytes], observed: Observed, trust: TrustSet) -> tuple[ManifestFinding, ...]:
    """Return how the items differ from the present manifest."""
    seen = store.load_seen(observed.root.path)
    anyone = replace(trust, audience="")  # which is asked when it is written
    check = _check(files, observed, trust=anyone, now=system_clock(), seen=seen)
    for one in check.errors:
        if one.code.startswith("manifest-") and one.code not in _FIXED:
            raise _untrusted(one)
    return tuple(one for one in check.findings if one.code == "uncovered" or one.code.startswith("item-"))


def _save(
    root: Root, written: ManifestUpdate, changes: tuple[ManifestFinding, ...], *, observed: Observed, trust: TrustSet
) -> ManifestWritten:
    """Write the files, and remember their versions if they pass: whoever signed the newest has seen it."""
    folder = str(store.replace_manifest(root.path, written.files))
    with suppress(EnvironmentFault):  # the next check says what cannot be kept
        check_root(root, trust=trust, now=system_clock(), observed=observed)
    facts = {each.name: getattr(written, each.name) for each in fields(SignedRoles)}
    facts["signed"] = tuple(item.path for item in signed_by_listing({item.path: item for item in observed.all}))
    facts |= {"audience": written.audience, "folder": folder, "changes": changes, "listed": len(observed.found)}
    return ManifestWritten(source=root.source, **facts)


def find_root(layout: Layout, *, space: str = "project", bundle: Path | None = None) -> tuple[Layout, Root]:
    """Return the one root that a caller means, and the layout with it.

    Raises:
        ArgumentError: ``bad-space`` when it is not one space, ``bad-target`` when the folder holds no one bundle.
    """
    if bundle is None:
        roots = layout.in_space(space) if space in {"project", "user"} else ()
        if not roots:
            if space == "project":
                raise ArgumentError("bad-space", "there is no project here", hint=layout.describe_empty(space))
            hint = "use project or user with --space, or name a bundle's folder with --bundle"
            raise ParameterError("bad-space", [("space",)], "is", f"{space!r}, which is not a single space", hint=hint)
        return layout, roots[0]
    named = spaces.named_bundle(bundle)[0]
    if named.client:
        message = f"{bundle} has no items but those of clients"
        raise ArgumentError("bad-target", message, hint="sign its skills: SKILL.sig lists all files of one")
    known = [root for root in layout.roots if root.path == named.path]
    return (layout, known[0]) if known else (layout._replace(roots=(*layout.roots, named)), named)


def read_delegation(text: str) -> Delegation:
    """Return the delegation that ``NAMESPACE[,NAMESPACE…]=[N:]FILE[,FILE…]`` names.

    Each file is the trust file of a key; of these keys N must sign, or one.

    Raises:
        ArgumentError: ``bad-delegation``.
    """
    match = re.fullmatch(r"([^=]+)=(?:(\d{1,3}):)?([^:].*)", text, re.ASCII)
    if match is None:
        hint = "write NAMESPACE=FILE, as in 'rye/core/*=bea.toml', or NAMESPACE=2:FILE,FILE,FILE"
        raise ArgumentError("bad-delegation", f"{text!r} is not a delegation", hint=hint)
    keys = tuple(read_public_key(Path(name)) for name in match[3].split(","))
    return Delegation(tuple(match[1].split(",")), keys, int(match[2] or 1))


def read_public_key(path: Path) -> PublicKey:
    """Return the key that a trust file names.

    Raises:
        NotFoundError: ``trust-not-found``.
        SigningError: It cannot be understood.
    """
    entries = load_trust(named=[path]).trust.entries
    if len(entries) != 1:
        message = f"{path} names {len(entries)} keys"
        raise ArgumentError("bad-delegation", message, hint="name the trust file of one key")
    return entries[0].public


def read_root_keys(
    paths: Sequence[Path], threshold: int | None, signers: Sequence[SigningKey], timestamp: Sequence[PublicKey] | None
) -> RootKeys | None:
    """Return the keys that a manifest is to have, from trust files or else the signers; None keeps the present ones.

    Raises:
        ArgumentError, NotFoundError, SigningError: As :func:`read_public_key`.
    """
    keys = tuple(read_public_key(path) for path in paths)
    if not keys and threshold is not None:
        keys = tuple(signer.public for signer in signers)
    return RootKeys(keys, 1 if threshold is None else threshold, timestamp) if keys or timestamp is not None else None


def read_signers(layout: Layout, names: Sequence[str], *, passphrase: Passphrase = None) -> tuple[SigningKey, ...]:
    """Return the private keys of these files or names; if there are none, the default key of ``rye sign``.

    Raises:
        NotFoundError: ``no-signing-key``.
        SigningError: A key cannot be used.
    """
    keyring = Keyring(layout, passphrase=passphrase)
    return tuple(keyring.signing_key(name) for name in names or (None,))
