"""Trust files, which decide whose signatures are accepted: list, add, remove, revoke and sign them, and trust bundles.

Each method of :class:`Trust` that changes something only returns the planned change;
:func:`rye.keyring.changes.change_all` shows it to the user and writes it.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Sequence
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

from rye.errors import ArgumentError, NotFoundError, SigningError
from rye.keyring.changes import KeyFiles, TrustChange, is_revoked, planned
from rye.keyring.key_files import public_keys
from rye.keyring.trust_list import TrustReport, list_entry
from rye.options.model import check
from rye.options.search import TRUST_SPACE
from rye.spaces.discover import check_writable, project_root
from rye.spaces.layout import Layout
from rye.spaces.model import FOLDER
from rye.spaces.state import settings_place
from rye.trust.certificates import ForeignKey, read_public
from rye.trust.keys import PublicKey, SigningKey, kind_of_foreign_key, refuse_key_text
from rye.trust.model import Clock
from rye.trust.reasons import reach_of
from rye.trust.ssh import is_allowed_signers, is_ssh_key, read_allowed_signers, read_ssh_key
from rye.trust.trust_entry import Revocation, TrustEntry, TrustScope
from rye.trust.trust_file import last_moment, parse_trust_file, sign_trust_file, trust_file_name
from rye.trust.trust_set import Standing
from rye.trust.trust_store import TRUSTED_FOLDER, TrustLoad, leads_out, read_trust_bytes, system_clock

FINGERPRINT = re.compile(r"[0-9a-f]{64}")
_PREFIX = "ed25519:"
_MAX_SIGNERS = 1 << 17


class Trust:
    """The trust files of all spaces.

    Args:
        layout: The spaces.
        named: Trust files that are treated as the user's own.
        clock: Returns the current time.
    """

    def __init__(self, layout: Layout, *, named: Sequence[Path] = (), clock: Clock = system_clock) -> None:
        self._layout = layout
        self._named = tuple(named)
        self._clock = clock

    def load(self) -> TrustLoad:
        """Read every trust file."""
        return self._layout.load_trust(self._named)

    def standing(self, key: PublicKey) -> Standing:
        """Return whether a key may sign anything now."""
        return self.load().trust.counts_anywhere(key.fingerprint, self._clock())

    def list(self) -> TrustReport:
        """Return every trust file, whether its key is accepted now, and why."""
        load, now = self.load(), self._clock()
        rows = [list_entry(entry, load.trust, now) for entry in load.trust.entries]
        lack = () if any(row.counts and row.is_users for row in rows) else (_NO_KEY,)
        return TrustReport(tuple(rows), (*load.warnings, *((load.emptiness,) if load.emptiness else lack)))

    def keys_in(self, text: str) -> dict[str, str | TrustEntry]:
        """Return the keys of an SSH allowed signers file by names for messages; any other text by itself, unchanged.

        Raises:
            SigningError: ``trust-file``: a line of it cannot be honoured.
        """
        path = Path(os.path.expanduser(text))
        data = read_trust_bytes(path, _MAX_SIGNERS) if is_path(text) and path.is_file() else b""
        if not is_allowed_signers(data):
            return {text: text}
        if len(data) > _MAX_SIGNERS:
            raise SigningError("trust-file", f"{path} has more than {_MAX_SIGNERS:,} bytes", hint="name fewer signers")
        try:
            signers = read_allowed_signers(data.decode("utf-8", "replace"))
        except SigningError as error:
            raise error.preceded(f"{path}: ") from None
        return {
            f"{text}:{signer.line}": TrustEntry(
                signer.public, signer.owner, TrustScope.USER, not_after=signer.not_after
            )
            for signer in signers
        }

    def add(
        self,
        key: str | TrustEntry,
        *,
        owner: str | None = None,
        patterns: tuple[str, ...] | None = None,
        not_after: datetime | None = None,
        space: str = "user",
        replace: bool = False,
    ) -> TrustChange:
        """Plan to trust a key by a trust file in a space. Limits not given are those of the given file.

        Args:
            key: A trust file, a file with a public key or a root certificate as PEM, an SSH public key,
                ``ed25519:BASE64``, or the fingerprint of a known key; or an entry from :meth:`keys_in`.
            owner: The owner of the key.
            patterns: What it may sign.
            not_after: Last moment at which it is valid.
            space: ``user``, or ``project``, where the file takes effect once a key of the user has signed it.
            replace: Whether a trust file of this key may be replaced.

        Raises:
            SigningError: ``trust-exists``, ``trust-revoked``, or the key cannot be read.
            NotFoundError: ``key-not-found``, ``trust-not-found``.
            ArgumentError: ``bad-key``.
        """
        known = self.entry_of(key) if isinstance(key, str) else key
        if isinstance(key, str) and is_public(key) and known.revoked:
            raise is_revoked(known, "so it cannot be trusted")
        given = {"owner": owner, "patterns": patterns, "not_after": not_after}
        limits: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        after = dataclasses.replace(known, scope=scope_of(space), **limits)
        files = self._files(after, replace=replace)
        change = files.plan("added", lambda _: after)
        if files.present and change.writes and not replace:
            source = files.present[0].source
            message = f"{source} names this key already and is not overwritten"
            hint = "look at it with rye trust list, and replace it with --force"
            raise SigningError("trust-exists", message, hint=hint, path=source)
        warnings = self._same_owner_warning(after)
        if known.revoked:
            warnings = ("the file given revokes this key: nothing it signed is trusted", *warnings)
        if space == "project" and change.writes:
            warnings = (_UNSIGNED, *warnings)
        return dataclasses.replace(change, warnings=warnings)

    def trust_bundle(self, entry: TrustEntry, bundle: str) -> TrustChange:
        """Plan to trust a key for the items of one bundle, in addition to what it is already trusted for.

        Args:
            entry: The bundle's own trust file of the key, which does not revoke it.
            bundle: Its id.

        Raises:
            SigningError: ``trust-revoked``: a trust file in effect revokes the key.
        """
        standing = self.load().trust.may_sign(entry.fingerprint, settings_place(bundle), self._clock())
        if standing.entry and standing.is_allowed:
            return planned("unchanged", standing.entry, [standing.entry.source], reach=reach_of(standing.entry))
        if standing.entry and standing.code == "revoked":
            source = standing.entry.source
            message = f"key {entry.fingerprint} is revoked by {source}, so it is not trusted for the bundle"
            raise SigningError("trust-revoked", message, hint="get a version of the bundle that another key signed")
        mine = TrustEntry(entry.public, entry.owner, TrustScope.USER, patterns=(), not_after=entry.not_after)
        change = self._files(mine).plan("trusted", lambda present: _widened(present or mine, bundle))
        return dataclasses.replace(change, warnings=self._same_owner_warning(mine))

    def distrust_bundle(self, entry: TrustEntry, bundle: str) -> TrustChange:
        """Plan to no longer trust a key of the user space for a bundle that its trust file names."""
        return self._files(entry).plan("narrowed", lambda present: present and _narrowed(present, bundle))

    def remove(self, key: str, *, space: str = "user", force: bool = False) -> TrustChange:
        """Plan to remove the trust files of a key from a space.

        Raises:
            NotFoundError: ``key-not-found``: the space has none.
            SigningError: ``trust-revoked``: that would lift a revocation, and ``force`` is not set.
        """
        files = self._files(dataclasses.replace(self.entry_of(key), scope=scope_of(space)), replace=True)
        change = files.plan("removed", lambda _: None, force=force)
        named = self.load().trust.named(change.fingerprint)
        where = sorted({entry.source for entry in named}.difference(change.paths))
        if not files.present:
            hint = f"it is named by {', '.join(where)}" if where else "rye trust list shows every key"
            message = f"no trust file of {space} space names key {change.fingerprint[:16]}"
            raise NotFoundError("key-not-found", message, hint=hint)
        return dataclasses.replace(change, warnings=tuple(f"still named by {source}" for source in where))

    def revoke(self, key: str, *, reason: str = "", date: str = "", space: str = "user") -> TrustChange:
        """Plan to revoke a key for everything it ever signed.

        Args:
            key: As for :meth:`add`; a fingerprint is enough if any space names the key.
            reason: Why, in one line.
            date: When it became unsafe; empty for today. For people only: it limits nothing.
            space: ``user``, or ``project``, where it takes effect for others once a key of the user has signed the
                file.

        Raises:
            NotFoundError: ``key-not-found``.
            SigningError: ``trust-file``: the reason is not one line, or the date is not a date.
        """
        if date:
            last_moment(date)
        known = dataclasses.replace(self.entry_of(key), scope=scope_of(space))
        return self.revoke_key(known, reason=reason, date=date)

    def revoke_key(self, known: TrustEntry, *, reason: str = "", date: str = "") -> TrustChange:
        """Plan to revoke the key of an entry in the entry's own space; as :meth:`revoke`.

        A key without a trust file in that space gets one that trusts it for nothing, so that
        :func:`rye.keyring.rotate.rotate` cannot take it for a key that was trusted.
        """
        revoked = Revocation(reason, date or self._clock().date().isoformat())

        def revoke(present: TrustEntry | None) -> TrustEntry:
            if present and present.revoked and not reason and not date:
                return present
            return dataclasses.replace(present or dataclasses.replace(known, patterns=()), revoked=revoked)

        change = self._files(known, replace=True).plan("revoked", revoke)
        is_unsigned = known.scope is TrustScope.PROJECT and change.writes
        return dataclasses.replace(change, warnings=(_UNSIGNED,) if is_unsigned else ())

    def endorse(self, file: str, key: SigningKey | None) -> TrustChange:
        """Plan to sign a trust file of the project with a key of the user.

        Args:
            file: The trust file, or the fingerprint of its key.
            key: The key; None only returns what would be signed.

        Raises:
            NotFoundError: ``key-not-found``: it is not a trust file of the project.
            SigningError: ``not-a-file``: the file is a link.
        """
        place = None if FINGERPRINT.fullmatch(file) else os.path.realpath(os.path.expanduser(file))
        trust = self.load().trust
        local = [each for each in trust.entries if each.scope is TrustScope.PROJECT]
        named = (each for each in local if file == each.fingerprint or os.path.realpath(each.source) == place)
        entry = next(named, None)
        if entry is None:
            message = f"{file!r} is not a trust file of the project, nor the fingerprint of a key that it names"
            raise NotFoundError("key-not-found", message, hint="rye trust list shows every key and its file")
        path = Path(entry.source)
        if os.path.islink(path):  # noqa: PTH114 - False if it is inaccessible
            message = f"{path} is a link; rye does not write through links"
            raise SigningError("not-a-file", message, hint="put the file itself in the place of the link")
        root = path.parents[len(TRUSTED_FOLDER.parts)]
        check_writable(project_root(root.parent), [path.relative_to(root).as_posix()])
        data = read_trust_bytes(path)
        shown = parse_trust_file(data, scope=TrustScope.PROJECT, source=str(path))  # the very bytes that are signed
        if shown.fingerprint != entry.fingerprint:
            message = f"{path} names another key than it did a moment ago"
            raise SigningError("changed-meanwhile", message, hint="look at it again")
        entry, reach = shown, f"{reach_of(shown)}, in every project that has this trust file"
        if key is None:
            return planned("would endorse", entry, [entry.source], reach=reach)
        after = dataclasses.replace(entry, signed_by=key.public.fingerprint)
        rest = tuple(known for known in trust.entries if known.source != entry.source)
        row = list_entry(after, dataclasses.replace(trust, entries=(*rest, after)), self._clock())
        warnings = () if row.counts else (f"it does not count for you: {row.reason}",)
        data = sign_trust_file(data, stem=path.stem, key=key, now=self._clock())
        change = planned("endorsed", entry, [entry.source], writes=((path, data),), reach=reach)
        return dataclasses.replace(change, warnings=warnings)

    def entry_of(self, text: str) -> TrustEntry:
        """Return the trust entry that a text names. A fingerprint never names a file: a path has a slash or suffix.

        Raises:
            NotFoundError: ``key-not-found``, ``trust-not-found``.
            ArgumentError: ``bad-key``.
            SigningError: It names a file that holds no public key.
        """
        if text.startswith(_PREFIX):
            return TrustEntry(PublicKey.from_base64(text.removeprefix(_PREFIX)), "", TrustScope.USER)
        if is_public(text):
            return self._known(text)
        refuse_key_text(text)
        if not is_path(text):
            hint = "give a fingerprint, all 64 digits, as rye trust list and rye keys list show it; ed25519:BASE64; "
            hint += f"or a file: its path has a slash or a suffix, as in ./{text}"
            raise ArgumentError("bad-key", f"{text!r} is not a key", hint=hint)
        path = Path(os.path.expanduser(text))
        if not os.path.exists(path):  # noqa: PTH110 - Path.exists raises for a name that is too long
            hint = "give a trust file, a PEM file, ed25519:BASE64, or the fingerprint of a known key"
            raise NotFoundError("trust-not-found", f"there is no trust file {path}", hint=hint)
        data = read_trust_bytes(path)
        if b"PRIVATE KEY" in data:
            message = f"{path} is a private key; to trust a key its public half is enough"
            raise SigningError("private-key", message, hint="rye keys export writes the trust file of a key of yours")
        return entry_in(data, path)

    def _known(self, fingerprint: str) -> TrustEntry:
        """Return the first trust file with a fingerprint, or an entry for one of the user's own keys."""
        own = (public for public in public_keys(self._layout.user) if fingerprint == public.fingerprint)
        entries = chain(self.load().trust.named(fingerprint), (TrustEntry(key, "", TrustScope.USER) for key in own))
        if (known := next(entries, None)) is None:
            hint = "give the key itself: its trust file, its PEM file, or ed25519:BASE64"
            raise NotFoundError("key-not-found", f"no trust file of any space names key {fingerprint!r}", hint=hint)
        # Keep the limits of a trust file, but not where it was found or who signed it.
        return dataclasses.replace(known, scope=TrustScope.USER, bundle="", signed_by="", built_in=False)

    def _files(self, entry: TrustEntry, *, replace: bool = False) -> KeyFiles:
        """Return the trust files of a key in an entry's space.

        Raises:
            SigningError: ``trust-exists``: an unreadable file of a project would be replaced.
        """
        folder, trust = self._folder(entry.scope), self.load().trust
        path, readable = folder / trust_file_name(entry.public), {present.source for present in trust.entries}
        if not replace and os.path.lexists(path) and str(path) not in readable:
            message = f"{path} cannot be read, and may revoke the key; it is not overwritten"
            hint = "rye trust list says why; fix it, or replace it with --force"
            raise SigningError("trust-exists", message, hint=hint, path=str(path))
        named = [known for known in trust.named(entry.fingerprint) if known.scope is entry.scope]
        return KeyFiles(entry, path, tuple(known for known in named if Path(known.source).parent == folder))

    def _same_owner_warning(self, entry: TrustEntry) -> tuple[str, ...]:
        """Return a warning if the user trusts another key with the same owner name."""
        same = dict.fromkeys(
            known.fingerprint[:16]
            for known in self.load().trust.entries
            if known.is_users and not known.revoked and known.fingerprint != entry.fingerprint
            if entry.owner and known.owner.casefold() == entry.owner.casefold()
        )
        keys = ", ".join(same)
        return (f"you trust another key of that owner's name, {keys}: ask the owner which is in use",) if keys else ()

    def _folder(self, scope: TrustScope) -> Path:
        if scope is TrustScope.USER:
            return self._layout.user / TRUSTED_FOLDER
        if self._layout.project is None:
            hint = "name it with --project, or go into its folder"
            raise NotFoundError("project-not-found", "there is no project here", hint=hint)
        check_writable(project_root(self._layout.project), [TRUSTED_FOLDER.as_posix()])
        root = self._layout.project / FOLDER
        if leads_out(root / TRUSTED_FOLDER, root) or not leads_out(root / TRUSTED_FOLDER, self._layout.user):
            message = f"{root / TRUSTED_FOLDER} leads out of {root}, by a link; nothing is read or written there"
            raise SigningError("not-a-file", message, hint="put the files themselves in the place of the link")
        return root / TRUSTED_FOLDER


def _widened(entry: TrustEntry, bundle: str) -> TrustEntry:
    """Return an entry whose key may sign everything of a bundle too."""
    if entry.patterns is None:
        return entry
    return dataclasses.replace(entry, patterns=tuple(sorted({*entry.patterns, f"bundle:{bundle}"})))


def _narrowed(entry: TrustEntry, bundle: str) -> TrustEntry | None:
    """Return an entry that does not name a bundle; None if it names nothing else."""
    left = tuple(str(limit) for limit in entry.limits or () if limit.bundle != bundle)
    return dataclasses.replace(entry, patterns=left) if left or entry.revoked else None


_NO_KEY = "no key of yours counts, so only rye's own items are trusted: rye keys generate, or rye trust add"
_UNSIGNED = "it counts once a key that you trust without limits has signed it: rye trust endorse"


def scope_of(space: str) -> TrustScope:
    """Return the scope of a space whose trust files may be changed; those of bundles and organisations are not ours.

    Raises:
        ArgumentError: ``bad-space``.
    """
    return TrustScope(str(check(TRUST_SPACE, space)))


def entry_in(data: bytes, path: Path) -> TrustEntry:
    """Return the trust entry in a file: a trust file, or a public key or root certificate without limits.

    Raises:
        SigningError: It is none of these.
    """
    if is_ssh_key(data):
        ssh, comment = read_ssh_key(data.decode("utf-8", "replace"))
        return TrustEntry(ssh, comment, TrustScope.USER)
    if what := kind_of_foreign_key(data):
        hint = "rye needs a trust file, an SSH key, or a public key or a root certificate in PEM: see rye help trust"
        raise SigningError("trust-file", f"{path} is {what}", hint=hint)
    if data.lstrip().startswith((b"-----BEGIN PUBLIC KEY-----", b"-----BEGIN CERTIFICATE-----")):
        public = read_public(data.decode("ascii", "replace"))
        return TrustEntry(public, public.owner if isinstance(public, ForeignKey) else "", TrustScope.USER)
    return parse_trust_file(data, scope=TrustScope.USER, source=str(path))


def is_public(text: str) -> bool:
    """Return whether a text is a fingerprint or a public key itself."""
    return text.startswith(_PREFIX) or FINGERPRINT.fullmatch(text) is not None


def is_path(text: str | Path) -> bool:
    """Return whether a text names a file rather than a key: it has a slash or a suffix, unlike a fingerprint."""
    text = str(text)
    return "/" in text or os.sep in text or bool(Path(text).suffix)
