"""Trust files, which decide whose signatures count: list, add, remove, revoke and endorse keys."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from rye.errors import ArgumentError, NotFoundError, SigningError
from rye.keyring import key_store
from rye.keyring.trust_changes import (
    TrustChange,
    TrustedKey,
    TrustReport,
    by_a_link,
    read_key,
    read_trust_file,
    refuse_link,
    refuse_replacing,
    unlink,
    write_trust_file,
)
from rye.parameters import COMMANDS, check
from rye.spaces import FOLDER, check_writable, project_root
from rye.spaces.layout import Layout
from rye.trust import (
    TRUSTED_FOLDER,
    Clock,
    PublicKey,
    Revocation,
    SigningKey,
    TrustEntry,
    TrustLoad,
    TrustScope,
    endorse,
    last_moment,
    leads_out,
    parse_trust_file,
    reach_of,
    system_clock,
    trust_file_name,
    trust_status,
    write_atomically,
)
from rye.trust.trust_file import restate

SPACES = ("user", "project")
"""The spaces whose trust files may be changed; a bundle's belong to its publisher."""

_FINGERPRINT = re.compile(r"[0-9a-f]{16}|[0-9a-f]{64}")
_PREFIX = "ed25519:"


class Trust:
    """The trust files of all spaces; those of the user and the project can be changed.

    Args:
        layout: The spaces.
        named: Trust files that count as the user's own.
        clock: Returns the present moment.
    """

    def __init__(self, layout: Layout, *, named: Sequence[Path] = (), clock: Clock = system_clock) -> None:
        self._layout = layout
        self._named = tuple(named)
        self._clock = clock

    def load(self) -> TrustLoad:
        """Read every trust file."""
        return self._layout.load_trust(self._named)

    def list(self) -> TrustReport:
        """Return every trust file, whether its key counts now, and why."""
        load, now = self.load(), self._clock()
        rows = []
        for entry in load.trust.entries:
            code, reason = trust_status(entry, trust=load.trust, now=now)
            rows.append(
                TrustedKey(
                    fingerprint=entry.fingerprint,
                    owner=entry.owner,
                    scope=str(entry.scope),
                    bundle=entry.bundle,
                    namespaces=entry.namespaces,
                    bundles=entry.bundles,
                    not_after="" if entry.not_after is None else entry.not_after.isoformat(timespec="seconds"),
                    revoked=entry.revoked,
                    endorsed_by=entry.endorsed_by,
                    path=entry.source,
                    counts=code == "counts",
                    code=code,
                    reason=reason,
                )
            )
        return TrustReport(tuple(rows), (*load.warnings, *_lack(rows, load)))

    def add(
        self,
        key: str,
        *,
        owner: str | None = None,
        namespaces: tuple[str, ...] | None = None,
        not_after: datetime | None = None,
        space: str = "user",
        replace: bool = False,
        write: bool = True,
    ) -> TrustChange:
        """Trust a key: write its trust file into a space. Limits not given are those of the file given.

        Args:
            key: A trust file, a file with a public key as PEM, ``ed25519:BASE64``, or the fingerprint of a known key.
            owner: Who it belongs to.
            namespaces: Patterns of ids it may sign.
            not_after: Last moment at which it counts.
            space: ``user``, or ``project``, where it counts once endorsed.
            replace: Whether a trust file of this key may be replaced.
            write: Whether to write it; if not, only check that it is possible.

        Raises:
            SigningError: ``trust-exists``, ``trust-revoked``, or the key cannot be read.
            NotFoundError: ``key-not-found``, ``trust-not-found``.
        """
        known = self._resolve(key)
        folder = self._folder(space)
        given = {"owner": owner, "namespaces": namespaces, "not_after": not_after}
        limits: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        data = restate(dataclasses.replace(known, **limits))
        standing = self._standing(known.public, space)
        path = folder / trust_file_name(known.public)
        if not replace:
            self._refuse_unread(path)
        if standing:
            refuse_replacing(standing, known, path=path, data=data, replace=replace)
        after = parse_trust_file(data, scope=TrustScope(space))

        changed = write and write_trust_file(path, data, standing)
        warnings: tuple[str, ...] = (_REVOKED_ADDED,) if known.revoked else ()
        if space == "project" and changed:
            warnings += ("it counts once a key of the user endorses it: rye trust endorse",)
        action, reach = "added" if changed else "unchanged", reach_of(after)
        return TrustChange(action, known.fingerprint, after.owner, (str(path),), warnings + self._others(after), reach)

    def pin(self, entry: TrustEntry, bundle: str, *, write: bool = True) -> TrustChange:
        """Pin a bundle to a key: write a trust file into the user space that lets it sign this bundle's items.

        Limits are those of a file of the user that pins other bundles to the key, else those that the bundle states.

        Args:
            entry: As the bundle's own trust file names the key.
            bundle: Its id.
            write: As for :meth:`add`.

        Raises:
            SigningError: ``trust-revoked`` where the user has revoked the key, ``trust-exists`` where a file that
                cannot be read may do so.
        """
        path = self._folder("user") / trust_file_name(entry.public)
        self._refuse_unread(path)
        standing = self._standing(entry.public, "user")
        known = standing[0] if standing else entry
        if revoked := [each for each in (entry, *standing) if each.revoked]:
            message = f"key {entry.fingerprint} is revoked by {revoked[0].source}; no bundle is pinned to it"
            raise SigningError("trust-revoked", message, hint="get a version of the bundle that another key signed")
        if standing and known.bundles is None:
            reach, warnings = reach_of(known), (_NOT_PINNED.format(bundle=bundle),)
            return TrustChange("unchanged", entry.fingerprint, known.owner, (known.source,), warnings, reach)
        bundles = tuple(sorted({*(standing[0].bundles or () if standing else ()), bundle}))
        after = self._write_pinned(path, known, bundles, standing, write=write)
        others, reach = self._others(after), reach_of(after)
        return TrustChange("pinned", entry.fingerprint, known.owner, (str(path),), others, reach)

    def _others(self, entry: TrustEntry) -> tuple[str, ...]:
        """Return a warning where the user trusts another key of an owner of the same name."""
        same = [
            each.fingerprint
            for each in self.load().trust.entries
            if entry.owner
            and each.scope.is_anchor
            and each.owner.casefold() == entry.owner.casefold()
            and not each.revoked
        ]
        keys = ", ".join(each[:16] for each in dict.fromkeys(same) if each != entry.fingerprint)
        return (f"you trust another key of that owner's name, {keys}: ask the owner which is in use",) if keys else ()

    def unpin(self, entry: TrustEntry, bundle: str) -> TrustChange:
        """Let a key of the user space no longer sign the items of a bundle that is pinned to it."""
        path, left = Path(entry.source), tuple(each for each in entry.bundles or () if each != bundle)
        if left or entry.bars:
            self._write_pinned(path, entry, left, (entry,), write=True)
        else:
            unlink(path)
        return TrustChange("unpinned", entry.fingerprint, entry.owner, (str(path),))

    def _write_pinned(
        self, path: Path, known: TrustEntry, bundles: tuple[str, ...], standing: Sequence[TrustEntry], *, write: bool
    ) -> TrustEntry:
        """Write a trust file of the user that pins these bundles to a key, and return its entry."""
        data = restate(dataclasses.replace(known, bundles=bundles))
        if write:
            write_trust_file(path, data, standing)
        return parse_trust_file(data, scope=TrustScope.USER)

    def remove(self, key: str, *, space: str = "user", force: bool = False, write: bool = True) -> TrustChange:
        """Remove the trust files of a key from a space.

        Raises:
            NotFoundError: ``key-not-found`` when the space has none.
            SigningError: ``trust-revoked`` when that would lift a revocation and is not forced.
        """
        known = self._resolve(key)
        standing = self._standing(known.public, space)
        if not standing:
            where = sorted({entry.source for entry in self.load().trust.named(known.fingerprint)})
            hint = f"it is named by {', '.join(where)}" if where else "rye trust list shows every key"
            message = f"no trust file of {space} space names key {known.fingerprint[:16]}"
            raise NotFoundError("key-not-found", message, hint=hint)
        if any(entry.bars for entry in standing) and not force:
            how = (
                "is revoked" if any(entry.revoked for entry in standing) else "may be revoked by a file that is unread"
            )
            raise SigningError(
                "trust-revoked",
                f"key {known.fingerprint[:16]} {how}; without its trust file it may count again",
                hint="leave it, or remove it with --force",
            )
        paths = tuple(entry.source for entry in standing)
        for path in paths if write else ():
            unlink(Path(path))
        others = [entry for entry in self.load().trust.named(known.fingerprint) if entry.source not in paths]
        still = tuple(f"still named by {entry.source}" for entry in others)
        return TrustChange("removed", known.fingerprint, standing[0].owner, paths, still)

    def revoke(
        self, key: str, *, reason: str = "", date: str = "", space: str = "user", write: bool = True
    ) -> TrustChange:
        """Revoke a key for everything it ever signed; in user space that beats every other file.

        Args:
            key: As for :meth:`add`; a fingerprint is enough when any space names the key.
            reason: Why, in a line.
            date: When it became unsafe; today when empty. For people: it limits nothing.
            space: ``user``, or ``project``, where it holds for others once endorsed.
            write: As for :meth:`add`.

        Raises:
            NotFoundError: ``key-not-found``.
            SigningError: ``trust-file`` when the reason is not one line, or the date none.
        """
        if date:
            last_moment(date)
        known = self._resolve(key)
        standing = self._standing(known.public, space)
        path = self._folder(space) / trust_file_name(known.public)
        if standing and all(entry.revoked for entry in standing) and not reason and not date:
            sources = tuple(each.source for each in standing)
            return TrustChange("unchanged", known.fingerprint, known.owner, sources)
        base = standing[0] if standing else known
        revoked = Revocation(reason, date or self._clock().date().isoformat())
        data = restate(dataclasses.replace(base, revoked=revoked))
        if write:
            write_trust_file(path, data, standing)
        warnings = ("it holds once a key of the user endorses it: rye trust endorse",) if space == "project" else ()
        return TrustChange("revoked", known.fingerprint, base.owner, (str(path),), warnings)

    def endorse(self, file: str, key: SigningKey | None, *, write: bool = True) -> TrustChange:
        """Endorse a key of the project: sign its trust file with a key of the user.

        Args:
            file: The trust file, or the fingerprint of its key.
            key: A key of the user; None changes nothing and only returns whose key would be endorsed.
            write: As for :meth:`add`.

        Raises:
            NotFoundError: ``key-not-found``, ``trust-not-found``.
            SigningError: ``trust-file`` when it is none.
        """
        entry = self._project_entry(file)
        path = Path(entry.source)
        self._refuse_others(path)
        reach = f"{reach_of(entry)}, in every project that has this trust file"
        if key is None:
            return TrustChange("would endorse", entry.fingerprint, entry.owner, (str(path),), (), reach)
        refuse_link(path)
        after = endorse(path.read_bytes(), stem=path.stem, key=key, now=self._clock())
        if write:
            write_atomically(path, after)
        warnings = self._not_counting(path) if write else ()
        return TrustChange("endorsed", entry.fingerprint, entry.owner, (str(path),), warnings, reach)

    def _refuse_others(self, path: Path) -> None:
        """Refuse to endorse a file that is not the project's own: links can lead to files of the user."""
        root = None if self._layout.project is None else self._layout.project / FOLDER
        inside = root is not None and path.is_relative_to(os.path.abspath(root))  # noqa: PTH100 - links stay
        if inside and root is not None:
            check_writable(project_root(root.parent), [path.relative_to(os.path.abspath(root)).as_posix()])  # noqa: PTH100
            if leads_out(path, root):
                raise by_a_link(path, root)
        if not leads_out(path, self._layout.user):
            message = f"{path} is a file of the user space, where trust files count without endorsement"
            raise SigningError("not-a-file", message, hint="name a trust file of the project")

    def _refuse_unread(self, path: Path) -> None:
        """Refuse to put a file in the place of one that may revoke its key, but cannot be read."""
        readable = {entry.source for entry in self.load().trust.entries if not entry.unread}
        if os.path.lexists(path) and str(path) not in readable:
            message = f"{path} cannot be read, and may revoke the key; it is not overwritten"
            hint = "rye trust list says why; fix it, or replace it with --force"
            raise SigningError("trust-exists", message, hint=hint, path=str(path))

    def _not_counting(self, path: Path) -> tuple[str, ...]:
        """Return why a trust file of the project does not count, if so."""
        row = next((row for row in self.list().keys if os.path.realpath(row.path) == os.path.realpath(path)), None)
        if row is None:
            return (f"{path} is not in {self._project_folder()}, where the project's trust files are looked for",)
        return () if row.counts else (f"it does not count for you: {row.reason}",)

    def _project_entry(self, text: str) -> TrustEntry:
        if _FINGERPRINT.fullmatch(text) and not Path(text).exists():
            named = self.load().trust.named(text)
            found = [entry for entry in named if entry.scope is TrustScope.PROJECT and not entry.unread]
            if not found:
                message = f"no trust file of the project names key {text!r}"
                raise NotFoundError("key-not-found", message, hint="rye trust list shows every key")
            return found[0]
        return read_trust_file(Path(os.path.expanduser(text)), scope=TrustScope.PROJECT)

    def read_public(self, text: str) -> PublicKey | None:
        """Return the public key that a text names, or None when it names a private one or nothing.

        Raises:
            SigningError: It names a file that holds no key, or a fingerprint of several keys.
        """
        is_file = os.path.isfile(os.path.expanduser(text))  # noqa: PTH113 - never raises
        if not (is_file or text.startswith(_PREFIX) or _FINGERPRINT.fullmatch(text)):
            return None
        try:
            return self._resolve(text).public
        except SigningError as error:
            if error.code == "private-key":
                return None
            raise

    def _resolve(self, text: str) -> TrustEntry:
        """Return the trust entry that a text names; of a fingerprint, that of the most authoritative file."""
        if text.startswith(_PREFIX):
            return TrustEntry(PublicKey.from_base64(text.removeprefix(_PREFIX)), "", TrustScope.USER)
        if _FINGERPRINT.fullmatch(text) and not Path(text).exists():
            return self._known(text)
        return read_key(Path(os.path.expanduser(text)))

    def _known(self, fingerprint: str) -> TrustEntry:
        found = [entry for entry in self.load().trust.named(fingerprint) if not entry.unread]
        keys = {entry.fingerprint for entry in found}
        if len(keys) > 1:
            message = f"{fingerprint!r} is the beginning of {len(keys)} fingerprints: {', '.join(sorted(keys))}"
            raise ArgumentError("ambiguous-key", message, hint="give all 64 digits")
        if found:
            return found[0]
        public = self._layout.user / key_store.SIGNING_FOLDER
        for path in sorted(public.glob("*.pub")):
            own = key_store.read_public_beside(path)
            if own and fingerprint in {own.fingerprint, own.fingerprint[:16], own.raw_fingerprint}:
                return TrustEntry(own, "", TrustScope.USER)
        message = f"no trust file of any space names key {fingerprint!r}"
        hint = "give the key itself: its trust file, its PEM file, or ed25519:BASE64"
        raise NotFoundError("key-not-found", message, hint=hint)

    def _standing(self, public: PublicKey, space: str) -> tuple[TrustEntry, ...]:
        """Return the entries of a space's trust files for a key."""
        folder = self._folder(space)
        named = self.load().trust.named(public.fingerprint)
        return tuple(entry for entry in named if entry.scope == space and Path(entry.source).parent == folder)

    def _folder(self, space: str) -> Path:
        check(COMMANDS["trust add"]["space"], space)
        if space == "user":
            return self._layout.user / TRUSTED_FOLDER
        if self._layout.project is not None:
            check_writable(project_root(self._layout.project), [TRUSTED_FOLDER.as_posix()])
        return self._project_folder()

    def _project_folder(self) -> Path:
        if self._layout.project is None:
            raise NotFoundError(
                "project-not-found", "there is no project here", hint="name it with --project, or go into its folder"
            )
        root = self._layout.project / FOLDER
        folder = root / TRUSTED_FOLDER
        if leads_out(folder, root) or not leads_out(folder, self._layout.user):
            raise by_a_link(folder, root)
        return folder


_NOTHING = "no key counts, so no signature is trusted"
_NO_ANCHOR = (
    "no key of the user counts, so nothing but rye's own items and bundles that are pinned is trusted: "
    "rye keys generate, or rye trust add"
)
_NOT_PINNED = (
    "you trust this key beyond bundle {bundle}, so the bundle is not pinned to it: its settings for ranking are left "
    "out, and a new signer is not reported; to pin it: rye trust remove, then rye trust bundle"
)
_REVOKED_ADDED = "the file given revokes this key: nothing it signed is trusted"


def _lack(rows: Sequence[TrustedKey], load: TrustLoad) -> tuple[str, ...]:
    """Return a sentence when no key counts, or none that could speak for the project."""
    if not any(row.counts for row in rows):
        return (load.emptiness or _NOTHING,)
    return () if any(row.counts and row.is_anchor and row.bundles is None for row in rows) else (_NO_ANCHOR,)
