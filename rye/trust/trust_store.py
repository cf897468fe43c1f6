"""Reads trust files from disk; the only module of this room that reads any files.

Idea: the trust files of all spaces make one set, each entry marked with its file's place, and :class:`TrustSet` decides
what a place may say. Invariant: no fault extends what a key may sign. The file of a project or bundle is read only if
no link leads out of its root. A file that cannot be read gives a warning, and blocks the key in its name, because it
may be a revocation of it. If it is the user's or the caller's own and names no key, it is kept as ``unreadable``, so
that a verification can refuse to call itself complete.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from rye._files import inside_fault, real_path, refuse_others
from rye.errors import EnvironmentFault, NotFoundError, RyeError, SigningError
from rye.trust.certificates import AnyKey
from rye.trust.keys import PublicKey, refuse_key_text
from rye.trust.trust_entry import OWN, TrustEntry, TrustScope
from rye.trust.trust_file import MAX_TRUST_FILE, parse_trust_file, signer_of
from rye.trust.trust_set import TrustSet

# ruff: noqa: PTH110, PTH112, PTH114 - the methods of Path raise if a folder may not be entered or a name is too long

_FINGERPRINT: Final = re.compile(r"[0-9a-f]{16}|[0-9a-f]{64}")

MAX_TRUST_FILES: Final = 256
"""Maximum number of trust files read in one folder: the first by name."""

_SHOWN: Final = 5
"""Maximum number of unreadable files in one folder that get a warning of their own."""

TRUSTED_FOLDER: Final = Path("config", "keys", "trusted")
"""Path of the trust files below the root of a space."""


def system_clock() -> datetime:
    """Return the current time in UTC; the :class:`rye.trust.model.Clock` of a real run."""
    return datetime.now(UTC)


class UnreadTrust(NamedTuple):
    """A trust file, or a folder of them, that cannot be read: its path, its owner, and the reason.

    Attributes:
        path: The file or folder.
        message: The warning; empty if the folder's warning covers it.
        scope: The scope of its entry; likewise ``bundle`` and ``signed_by``.
        fault: Why it cannot be read.
        name: The fingerprint that is its name, else empty.
    """

    path: Path
    message: str
    scope: TrustScope
    fault: RyeError
    bundle: str = ""
    signed_by: str = ""
    name: str = ""

    def entry(self, public: AnyKey) -> TrustEntry:
        """Return the entry that stands in for an unreadable trust file, and blocks the key that its name states."""
        return TrustEntry(
            public,
            "",
            self.scope,
            bundle=self.bundle,
            signed_by=self.signed_by,
            source=str(self.path),
            unread=self.fault.message,
        )


class TrustLoad(NamedTuple):
    """The trust set of a run, with warnings about the trust files that were left out.

    Attributes:
        trust: The set.
        warnings: The warnings, including those about named folders without trust files.
        unreadable: Unreadable files and folders, named by the caller or the user's own, whose names state no key: it is
            unknown which key they revoke.
    """

    trust: TrustSet
    warnings: tuple[str, ...] = ()
    unreadable: tuple[UnreadTrust, ...] = ()

    @property
    def emptiness(self) -> str:
        """A warning if the set holds no key at all, else empty."""
        if any(not entry.unread for entry in self.trust.entries):
            return ""
        why = "no trust file could be read" if self.warnings else "there is no trust file"
        return f"no key is trusted, so no signature counts: {why}"


def load_trust(
    *,
    user: Path | None = None,
    project: Path | None = None,
    other_projects: Mapping[str, Path] | None = None,
    bundles: Mapping[str, Path] | None = None,
    built_in: Path | None = None,
    own_key: str = "",
    named: Sequence[Path] = (),
    organisation: tuple[Path | None, EnvironmentFault | None] = (None, None),
    checkouts: Sequence[str] = (),
    user_fault: EnvironmentFault | None = None,
) -> TrustLoad:
    """Read the trust files of all spaces.

    An unreadable file is treated as revoking the key in its name, as far as it could. So breaking a file that revokes
    or limits a key never makes the key acceptable.

    Args:
        user: Root of the user space: the folder that holds ``config/keys/trusted``.
        project: Root of the project space.
        other_projects: Root of each other project, by its name.
        bundles: Root of each bundle, by bundle id.
        built_in: Root of the bundle whose own trust files are in effect for its items, while it is inspected or signed.
        own_key: Base64 of the key that signs rye's own items, the bundle ``rye``.
        named: Trust files, or folders of them, that the caller trusts for this run.
        organisation: Folder of trust files that an organisation ships for all users, and the fault that makes it
            unusable.
        checkouts: Folders that may not contain trust files of the user; else a checkout could bring its own keys.
        user_fault: Why the user space must be ignored; None if it can be used.

    Returns:
        The set, and the files that could not be read.

    Raises:
        NotFoundError: ``trust-not-found``: a named path does not exist.
        SigningError: A file named by the caller is not accepted.
    """
    collector = _Collector()
    for path in named:
        collector.add_named(path)
    if user is not None:
        collector.add_folder(user / TRUSTED_FOLDER, TrustScope.USER, checkouts=checkouts, fault=user_fault)
    shipped, fault = organisation
    if shipped is not None:
        collector.add_folder(shipped, TrustScope.ORGANISATION, checkouts=checkouts, fault=fault)
    signers = tuple(collector.entries)
    for name, root in (({} if project is None else {"": project}) | dict(other_projects or {})).items():
        collector.add_folder(root / TRUSTED_FOLDER, TrustScope.PROJECT, root=root, bundle=name, signers=signers)
    if own_key:
        public = PublicKey.from_base64(own_key)
        collector.entries.append(TrustEntry(public, "rye", TrustScope.BUNDLE, OWN, built_in=True, source="rye itself"))
    for bundle, root in (bundles or {}).items():
        is_own = built_in is not None and os.path.realpath(root) == os.path.realpath(built_in)
        where: dict[str, Any] = {"root": root, "bundle": bundle}
        collector.add_folder(root / TRUSTED_FOLDER, TrustScope.BUNDLE, built_in=is_own, signers=signers, **where)
    return collector.load()


class _Collector:
    """Collects the entries of trust files, and the files that cannot be read."""

    def __init__(self) -> None:
        self.entries: list[TrustEntry] = []
        self._unread: list[UnreadTrust] = []
        self._empty: list[str] = []

    def load(self) -> TrustLoad:
        """Return the trust set and the warnings."""
        named = {(name, entry.public) for entry in self.entries for name in entry.public.names}
        keys = defaultdict[str, list[AnyKey]](list)
        for name, public in named:
            keys[name].append(public)
        blocking = [
            unread.entry(public) for unread in self._unread if unread.name for public in keys.get(unread.name, ())
        ]
        unreadable = tuple(unread for unread in self._unread if unread.scope.is_users and not unread.name)
        return TrustLoad(TrustSet((*self.entries, *blocking)), (*self._warnings(), *self._empty), unreadable)

    def _warnings(self) -> Iterator[str]:
        """Yield the messages on the first few files of each folder, and how many more there are."""
        counts = Counter[Path]()
        for unread in self._unread:
            counts[unread.path.parent] += bool(unread.message)
            if unread.message and counts[unread.path.parent] <= _SHOWN:
                yield unread.message
        for folder, count in counts.items():
            if count > _SHOWN:
                yield f"{count - _SHOWN} more trust files in {folder} are left out"

    def add_named(self, path: Path) -> None:
        """Read a file, or a folder of files, that the caller names."""
        if os.path.isdir(path):
            before = len(self.entries) + len(self._unread)
            self.add_folder(path, TrustScope.NAMED)
            if len(self.entries) + len(self._unread) == before:
                self._empty.append(f"no trust file lies in {path}: files there must have names that end with .toml")
        elif not os.path.exists(path):
            refuse_key_text(str(path))
            message = f"there is no trust file {path}"
            raise NotFoundError("trust-not-found", message, hint="name a trust file or a folder of them")
        else:
            self.entries.append(parse_trust_file(read_trust_bytes(path), scope=TrustScope.NAMED, source=str(path)))

    def add_folder(
        self,
        folder: Path,
        scope: TrustScope,
        *,
        root: Path | None = None,
        bundle: str = "",
        built_in: bool = False,
        signers: Sequence[TrustEntry] = (),
        checkouts: Sequence[str] = (),
        fault: EnvironmentFault | None = None,
    ) -> None:
        """Read the trust files of a folder; skip those that a link leads to outside the ``root``.

        In user and organisation folders, skip files that others own or can write, or that lie in one of the
        ``checkouts``. If the folder as a whole has a ``fault``, read no file.
        """
        paths: list[Path] = []
        try:
            if fault is not None:
                raise fault
            _refuse_leading_out(folder, root)
            paths = self._first(trust_paths(folder), folder, scope, bundle)
        except NotADirectoryError:
            pass
        except OSError as error:
            dangling = any(os.path.islink(place) and not os.path.exists(place) for place in (folder, *folder.parents))
            if dangling or not isinstance(error, FileNotFoundError):
                message = f"trust files in {folder} cannot be read: {error.strerror}"
                unreadable = EnvironmentFault("unreadable", message, hint="check its permissions")
                self._unread.append(UnreadTrust(folder, message, scope, unreadable, bundle))
        except (SigningError, EnvironmentFault) as error:
            self._unread.append(UnreadTrust(folder, error.message, scope, error, bundle))
        for path in paths:
            signed_by = ""
            try:
                if os.path.islink(path):
                    _refuse_leading_out(path, root)
                if scope in {TrustScope.USER, TrustScope.ORGANISATION}:
                    refuse_others(path)
                    if inside := inside_fault(path, checkouts):
                        raise inside
                data = read_trust_bytes(path)
                signed_by = signer_of(data, stem=path.stem, keys=signers) if signers else ""
                entry = parse_trust_file(
                    data,
                    scope=scope,
                    bundle=bundle,
                    signed_by=signed_by,
                    built_in=built_in,
                    source=str(path),
                )
            except (SigningError, EnvironmentFault) as error:
                message = f"trust file {path} is left out: {error.message}"
                self._unread.append(UnreadTrust(path, message, scope, error, bundle, signed_by, _key_name(path)))
            else:
                self.entries.append(entry)

    def _first(self, paths: list[Path], folder: Path, scope: TrustScope, bundle: str) -> list[Path]:
        """Return the first :data:`MAX_TRUST_FILES`; warn once about the rest, and block the keys in their names."""
        if len(paths) > MAX_TRUST_FILES:
            message = f"{folder} holds {len(paths):,} trust files; rye reads the first {MAX_TRUST_FILES} by name"
            fault = SigningError("trust-file", message, hint="remove the trust files that you do not need")
            self._unread.append(UnreadTrust(folder, message, scope, fault, bundle))
            rest = ((path, _key_name(path)) for path in paths[MAX_TRUST_FILES:])
            self._unread += [UnreadTrust(path, "", scope, fault, bundle, name=name) for path, name in rest if name]
        return paths[:MAX_TRUST_FILES]


def _key_name(path: Path) -> str:
    stem = path.stem.casefold()
    return stem if _FINGERPRINT.fullmatch(stem) else ""


def _refuse_leading_out(path: Path, root: Path | None) -> None:
    if root is not None and leads_out(path, root):
        message = f"{path} leads out of {root}, by a link, and is not read"
        raise SigningError("not-a-file", message, hint="put the files themselves in its place")


def leads_out(path: Path, root: Path) -> bool:
    """Return whether a path below a root leads out of it through links."""
    base = real_path(root)
    return not real_path(path).startswith(base.rstrip(os.sep) + os.sep)


def trust_paths(folder: Path) -> list[Path]:
    """Return the trust files in a folder, sorted by path.

    Their names end with ``.toml``, in any case, and do not begin with ``.`` or ``_``.

    Raises:
        OSError: The folder is missing or cannot be listed.
    """
    return sorted(path for path in folder.iterdir() if path.suffix.lower() == ".toml" and path.name[0] not in "._")


def read_trust_bytes(path: Path, limit: int = MAX_TRUST_FILE) -> bytes:
    """Return the bytes of a trust file or public key, at most one more than ``limit``; never block on a pipe.

    Raises:
        SigningError: ``not-a-file``.
        EnvironmentFault: ``unreadable``.
    """
    try:
        if not path.is_file():
            raise SigningError("not-a-file", f"{path} is not a regular file", hint="name a file")
        with path.open("rb") as stream:
            return stream.read(limit + 1)
    except OSError as fault:
        raise EnvironmentFault(
            "unreadable", f"{path} cannot be read: {fault.strerror}", hint="check its permissions"
        ) from fault
