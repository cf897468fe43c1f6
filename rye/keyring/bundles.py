"""Trusts a bundle: shows which keys signed which items, then trusts the keys that the user confirms for this bundle.

The bundle's own trust files only say which keys there are; they are claims by whoever made the bundle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from rye._text import quote
from rye.errors import ArgumentError, ItemError, NotFoundError, RyeError, SigningError
from rye.keyring.changes import TrustChange, change_all, write_changes
from rye.keyring.trust import Trust
from rye.spaces.bundles import is_own, named_bundle
from rye.spaces.layout import Layout
from rye.spaces.lists import with_lists
from rye.spaces.model import Root, Space
from rye.spaces.signed import ReadItem, read_item
from rye.spaces.state import settings_place
from rye.spaces.walk import list_items_of
from rye.trust.certificates import read_public
from rye.trust.judge import judge
from rye.trust.list import ListClaim
from rye.trust.model import OMS, Verdict
from rye.trust.reasons import ABOUT_KEY, UNCHECKED
from rye.trust.trust_entry import TrustEntry, TrustScope
from rye.trust.trust_set import TrustSet
from rye.trust.trust_store import load_trust, read_trust_bytes

_MOST_ROOTS = 16
"""Maximum number of files of a bundle that are tried as root certificates."""

_PROVEN = frozenset({Verdict.TRUSTED, Verdict.PARTIAL, Verdict.MISPLACED})
"""Verdicts on signatures that are valid; those of :data:`ABOUT_KEY` are too."""


@dataclass(frozen=True, slots=True)
class SignerCount:
    """A key that signed items of a bundle, or its list.

    Attributes:
        entry: The bundle's own trust file of the key.
        items: Number of items that it validly signed, by the verdict that they have once it is trusted.
        signed_list: Whether it signed the list of the bundle.
        trusted: Whether it may already sign everything of this bundle.
    """

    entry: TrustEntry
    items: Mapping[str, int]
    signed_list: bool = False
    trusted: bool = False


@dataclass(frozen=True, slots=True)
class BundleSigners:
    """The signers of a bundle.

    Attributes:
        bundle: Its id.
        version: The version that it states.
        path: Its root, or the folder that contains its client folders.
        signers: The keys, those with most items first.
        unverified: Number of items that none of these keys validly signed, by reason code.
        before: The user's trust files that name the bundle, of keys that signed none of its items.
        others: What signed the other items, as far as their signatures say: keys or roots of certificates.
        root: A root certificate in the bundle that verifies such signatures; None if there is none.
        trusted: Number of items that these signed, and that the user trusts already.
    """

    bundle: str
    version: str
    path: str
    signers: tuple[SignerCount, ...]
    unverified: Mapping[str, int]
    before: tuple[TrustEntry, ...] = ()
    others: tuple[str, ...] = ()
    root: Path | None = None
    trusted: int = 0

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """The keys that can be trusted for the bundle: those that it does not itself revoke."""
        return tuple(signer.entry.fingerprint for signer in self.signers if not signer.entry.revoked)


def find_bundle(layout: Layout, name: str) -> tuple[Root, ...]:
    """Return the roots of a bundle, given its id or its folder.

    Raises:
        NotFoundError: ``bundle-not-found``.
        ArgumentError: ``bad-target``: it is rye's own, or the folder holds several.
    """
    system = layout.in_space(Space.SYSTEM)
    roots = tuple(root for root in system if root.bundle == name)
    if not roots and Path(name).is_dir():
        given = named_bundle(Path(name))
        known = next((root.bundle for root in system if root.path == given[0].path), None)
        roots = tuple(root for root in system if root.bundle == known) or given
    if not roots:
        ids = ", ".join(root.bundle for root in system if not is_own(root))
        hint = f"{f'there are {ids}; ' if ids else ''}name its folder, here or in RYE_BUNDLES or by --bundle"
        raise NotFoundError("bundle-not-found", f"there is no bundle {name!r}", hint=hint)
    if is_own(roots[0]):
        hint = "they are part of the program: trust it, or do not run it"
        raise ArgumentError("bad-target", f"{name!r} are rye's own items", hint=hint)
    return roots


def read_signers_of(roots: Sequence[Root], trust: TrustSet, *, now: datetime) -> BundleSigners:
    """Return the signers of a bundle, using its own trust files only to look up keys.

    Args:
        roots: The roots of the bundle.
        trust: The user's trust set.
        now: The time at which keys may have expired.
    """
    bundle, home = roots[0].bundle, roots[0].trust_root
    own = with_lists(load_trust(bundles={bundle: home}, built_in=home), roots, now).trust
    states = (space.state for space in own.lists.values())
    of_list = {signer.fingerprint for state in states if isinstance(state, ListClaim) for signer in state.signers}
    items = {key: Counter[str]() for key in of_list}
    unverified: Counter[str] = Counter()
    others = dict[str, ReadItem]()
    known = 0
    files, missed = list_items_of(roots)
    for root, file in files:
        try:
            read = read_item(root, file.rel_path, file.item_type, file.item_id)
        except ItemError as error:
            unverified[error.code] += 1
            continue
        signature = judge(read.evidence, origin=read.origin, trust=own, now=now)
        if signature.code in UNCHECKED:
            others.setdefault(signature.reason, read)
            known += judge(read.evidence, origin=read.origin, trust=trust, now=now).verdict is Verdict.TRUSTED
        if not (signature.verdict in _PROVEN or signature.code in ABOUT_KEY):
            unverified[signature.code] += 1
        else:
            items.setdefault(signature.signer, Counter())[str(signature.verdict)] += 1
    unverified.update(fault.code for fault in missed)
    place = settings_place(bundle)
    # among several files of one key, one that revokes it decides
    entries = {key: max(own.named(key), key=lambda entry: entry.revoked is not None) for key in items}
    trusted = {key for key in items if trust.may_sign(key, place, now).is_allowed}
    signers = (SignerCount(entries[key], dict(counts), key in of_list, key in trusted) for key, counts in items.items())
    ordered = tuple(sorted(signers, key=lambda signer: (-sum(signer.items.values()), signer.entry.fingerprint)))
    named = {entry.fingerprint: entry for entry in trust.entries if entry.is_users and entry.names_bundle(bundle)}
    before = tuple(entry for key, entry in sorted(named.items()) if key not in items)
    path, version = home if roots[0].client is None else roots[0].around, roots[0].version
    certificate, reasons = _root_for(others.values(), path, now), tuple(others)
    return BundleSigners(bundle, version, str(path), ordered, dict(unverified), before, reasons, certificate, known)


def _root_for(items: Iterable[ReadItem], folder: Path, now: datetime) -> Path | None:
    """Return the root certificate in a folder that verifies the signatures of other tools; None if there is none."""
    foreign = [read for read in items if read.evidence.format == OMS]
    for path in sorted([*folder.glob("*.pem"), *folder.glob("*/*.pem")])[:_MOST_ROOTS] if foreign else ():
        with suppress(RyeError, OSError):
            public = read_public(read_trust_bytes(path).decode("ascii", "replace"))
            trust = TrustSet((TrustEntry(public, "", TrustScope.NAMED),))
            found = (judge(read.evidence, origin=read.origin, trust=trust, now=now).code for read in foreign)
            if any(code not in UNCHECKED for code in found):
                return path
    return None


def trust_bundle(
    trust: Trust,
    signers: BundleSigners,
    fingerprints: Sequence[str],
    confirm: Callable[[Sequence[TrustChange]], None] | None = None,
) -> list[TrustChange]:
    """Trust some keys for a bundle, and distrust the keys trusted for it before that are not among them.

    Args:
        trust: The user's trust files.
        signers: The signers of the bundle.
        fingerprints: The keys to trust.
        confirm: As for :func:`change_all`.

    Raises:
        SigningError: ``fingerprint-mismatch``: a key signed nothing of it, or the bundle itself revokes it;
            ``nothing-signed``: no key signed any; or as for :meth:`Trust.trust_bundle` and :func:`change_all`.
    """
    bundle = signers.bundle
    if not signers.fingerprints:
        message, hint = _why_none(signers)
        raise SigningError("nothing-signed", message, hint=hint)
    if wrong := sorted({*fingerprints}.difference(signers.fingerprints)):
        message = f"bundle {bundle} is not signed with key {wrong[0]}; it is with {', '.join(signers.fingerprints)}"
        hint = "do not trust it until its publisher has confirmed the key, over another channel"
        raise SigningError("fingerprint-mismatch", message, hint=hint)
    entries = {str(fingerprint.entry.fingerprint): fingerprint.entry for fingerprint in signers.signers}
    changes = change_all(fingerprints, lambda fingerprint: trust.trust_bundle(entries[fingerprint], bundle), confirm)
    files = (entry for entry in trust.load().trust.entries if entry.scope is TrustScope.USER)
    others = {entry.fingerprint: entry for entry in files if entry.names_bundle(bundle)}
    dropped = [trust.distrust_bundle(entry, bundle) for key, entry in others.items() if key not in fingerprints]
    write_changes(dropped)
    return [*changes, *dropped]


def _why_none(signers: BundleSigners) -> tuple[str, str]:
    """Return why no key of a bundle can be trusted, and what to do."""
    bundle = signers.bundle
    if signers.trusted:
        message = f"you trust the signers of {signers.trusted:,} items of bundle {bundle} already"
        return message, f"see the rest: rye verify --space system --bundle {quote(signers.path)}"
    if signers.root:
        message = f"items of bundle {bundle} are signed with OpenSSF Model Signing: {signers.others[0]}"
        command = f"rye trust add {quote(str(signers.root))} --for 'skill:*'"
        return message, f"a root certificate in the bundle verifies them; once its owner confirmed it: {command}"
    if signers.others:
        message = f"items of bundle {bundle} are signed, but it has no trust file for that: {'; '.join(signers.others)}"
        hint = "ask its publisher for the trust file or root certificate, compare the fingerprint, then: "
        limit = " --for 'skill:*'" if signers.unverified.get("oms-root") else ""
        return message, f"{hint}rye trust add FILE{limit}"
    message = f"no item of bundle {bundle} has a signature that can count"
    return message, "search it unsigned, or ask its publisher for a signed version"
