"""Trust a bundle: show which keys signed which of its items, then pin the bundle to the keys that the user confirmed.

A pin is a trust file of the user whose ``bundles`` name the bundle. The bundle's own trust files only say which keys
there are: they are read as claims of whoever made the bundle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from rye import spaces
from rye.errors import ArgumentError, ItemError, NotFoundError, SigningError
from rye.keyring.trust_changes import TrustChange, change_all
from rye.keyring.trust_files import Trust
from rye.spaces import Root, Space
from rye.spaces.layout import Layout
from rye.spaces.lists import with_lists
from rye.spaces.signed import read_item
from rye.trust import TrustEntry, TrustSet, judge, load_trust

_UNPROVEN = frozenset({"unknown-key", "signature"})
"""Codes of signatures that no key of the bundle is known to have made, though the line names one."""


@dataclass(frozen=True, slots=True)
class BundleSigner:
    """A key that signed items of a bundle.

    Attributes:
        entry: The bundle's own trust file of the key. Where it revokes the key, the bundle is not pinned to it.
        items: Number of items that it validly signed, by the verdict that they have once the bundle is pinned to it.
        pinned: Whether the bundle is pinned to it already.
    """

    entry: TrustEntry
    items: Mapping[str, int]
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class BundleSigners:
    """Who signed a bundle.

    Attributes:
        bundle, version: Its id, and the version that it states.
        path: Its root, or the folder that has those of clients.
        signers: The keys, those with most items first.
        others: Number of items that none of these keys validly signed, by reason code.
        before: Fingerprints of keys that the bundle is pinned to and that signed none of its items.
    """

    bundle: str
    version: str
    path: str
    signers: tuple[BundleSigner, ...]
    others: Mapping[str, int]
    before: tuple[str, ...] = ()

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """The keys that the bundle can be pinned to."""
        return tuple(each.entry.fingerprint for each in self.signers if not each.entry.bars)


def find_bundle(layout: Layout, name: str) -> tuple[Root, ...]:
    """Return the roots of the bundle of an id, or in a folder.

    Raises:
        NotFoundError: ``bundle-not-found``.
        ArgumentError: ``bad-target`` when it is rye's own, or the folder holds several.
    """
    system = layout.in_space(Space.SYSTEM)
    roots = tuple(root for root in system if root.bundle == name)
    if not roots and Path(name).is_dir():
        found = spaces.named_bundle(Path(name))
        known = next((root.bundle for root in system if root.path == found[0].path), None)
        roots = tuple(root for root in system if root.bundle == known) or found
    if not roots:
        ids = ", ".join(root.bundle for root in system if not spaces.is_own(root))
        hint = f"{f'there are {ids}; ' if ids else ''}name its folder, here or in RYE_BUNDLES or by --bundle"
        raise NotFoundError("bundle-not-found", f"there is no bundle {name!r}", hint=hint)
    if spaces.is_own(roots[0]):
        hint = "they are part of the program: trust it, or do not run it"
        raise ArgumentError("bad-target", f"{name!r} are rye's own items", hint=hint)
    return roots


def read_signers_of(roots: Sequence[Root], pinned: TrustSet, *, now: datetime) -> BundleSigners:
    """Return who signed a bundle, by its own trust files, which are not believed in anything else.

    Args:
        roots: Those of the bundle.
        pinned: The trust set of the user.
        now: The moment by which keys expire.
    """
    bundle, home = roots[0].bundle, roots[0].trust_root
    own = with_lists(load_trust(bundles={bundle: home}, vouching=home), roots).trust
    items: dict[str, Counter[str]] = {}
    others: Counter[str] = Counter()
    files, missed = spaces.walk_all(roots)
    for root, file in files:
        try:
            read = read_item(root, file.rel_path, file.item_type, file.item_id)
        except ItemError as error:
            others[error.code] += 1
            continue
        found = judge(read.evidence, origin=read.origin, trust=own, now=now)
        if found.code == read.evidence.code or found.code in _UNPROVEN:
            others[found.code] += 1
        else:
            items.setdefault(found.signer, Counter())[str(found.verdict)] += 1
    others.update(fault.code for fault in missed)
    pins = {entry.fingerprint for entry in pinned.pins(bundle)}
    signers = [
        BundleSigner(_entry(own, fingerprint), dict(counts), pinned=fingerprint in pins)
        for fingerprint, counts in items.items()
    ]
    signers.sort(key=lambda each: (-sum(each.items.values()), each.entry.fingerprint))
    before = tuple(sorted(pins - items.keys()))
    path = str(home if roots[0].client is None else roots[0].around)
    return BundleSigners(bundle, roots[0].version, path, tuple(signers), dict(others), before)


def _entry(own: TrustSet, fingerprint: str) -> TrustEntry:
    """Return the entry that decides for a key: one that bars it before all others."""
    return max(own.named(fingerprint), key=lambda entry: entry.bars)


def pin_bundle(
    trust: Trust,
    found: BundleSigners,
    fingerprints: Sequence[str],
    confirm: Callable[[Sequence[TrustChange]], None] | None = None,
) -> list[TrustChange]:
    """Pin a bundle to these keys and no others; all changes are possible before the first is made.

    The limits of a key are those that were found, whatever the bundle's trust files say by now.

    Args:
        trust: The trust files of the user.
        found: Who signed the bundle.
        fingerprints: The keys.
        confirm: As for :func:`change_all`.

    Raises:
        SigningError: ``fingerprint-mismatch`` where one signed no item of it, or the bundle itself revokes it;
            ``nothing-signed`` where no key did; as for :meth:`Trust.pin` and :func:`change_all`.
    """
    if not found.fingerprints:
        if found.others.get("unknown-key"):
            message = f"items of bundle {found.bundle} are signed, but it brings no trust file of their key"
            hint = "ask its publisher for the trust file, compare the fingerprint, then: rye trust add FILE"
        else:
            message = f"no item of bundle {found.bundle} has a signature that can count"
            hint = "search it as it is, or ask its publisher for a signed version"
        raise SigningError("nothing-signed", message, hint=hint)
    if wrong := sorted({*fingerprints}.difference(found.fingerprints)):
        message = f"bundle {found.bundle} is not signed with key {wrong[0]}; it is with {', '.join(found.fingerprints)}"
        hint = "do not trust it until its publisher has confirmed the key, over another channel"
        raise SigningError("fingerprint-mismatch", message, hint=hint)
    entries = {str(each.entry.fingerprint): each.entry for each in found.signers}
    changes = change_all(fingerprints, lambda each, write: trust.pin(entries[each], found.bundle, write=write), confirm)
    dropped = [entry for entry in trust.load().trust.pins(found.bundle) if entry.fingerprint not in fingerprints]
    return [*changes, *(trust.unpin(entry, found.bundle) for entry in dropped if str(entry.scope) == "user")]
