"""Reads trust files from disk; the only module of this room that reads any files.

Idea: the trust files of all spaces make one set, each entry marked with its file's place, and :class:`TrustSet` decides
what a place may say. Invariant: no fault extends what a key may sign. A file of the user's that cannot be read is an
error. The file of a project or bundle is read only if no link leads out of its root, and left out if it is unreadable.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from rye._files import inside_fault, real_path, refuse_others
from rye.errors import EnvironmentFault, NotFoundError, RyeError, SigningError
from rye.trust.keys import PublicKey, refuse_key_text
from rye.trust.trust_entry import OWN, TrustEntry, TrustScope
from rye.trust.trust_file import MAX_TRUST_FILE, parse_trust_file, signer_of, split_trust_files
from rye.trust.trust_set import TrustSet

# ruff: noqa: PTH110, PTH112, PTH114 - the methods of Path raise if a folder may not be entered or a name is too long

_SHOWN: Final = 5
"""Maximum number of unreadable files in one folder that get a warning of their own."""

TRUSTED_FOLDER: Final = Path("config", "keys", "trusted")
"""Path of the trust files below the root of a space."""


def system_clock() -> datetime:
    """Return the current time in UTC; the :class:`rye.trust.model.Clock` of a real run."""
    return datetime.now(UTC)


class UnreadFolder(NamedTuple):
    """A folder of the user's trust files that may not be read, and why."""

    path: Path
    fault: RyeError


class TrustLoad(NamedTuple):
    """The trust set of a run, with warnings about the trust files that were left out.

    Attributes:
        trust: The set.
        warnings: The warnings, including those about named folders without trust files.
        unreadable: Folders of the user's own trust files that are not read, so that nobody knows what they revoke.
    """

    trust: TrustSet
    warnings: tuple[str, ...] = ()
    unreadable: tuple[UnreadFolder, ...] = ()

    def leaves_out(self, user: Path) -> bool:
        """Return whether the user space was left out as a whole, given its root."""
        return any(unread.path == user / TRUSTED_FOLDER for unread in self.unreadable)

    @property
    def emptiness(self) -> str:
        """A warning if the set holds no key at all, else empty."""
        if self.trust.entries:
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
    checkouts: Mapping[str, str] = MappingProxyType({}),
    user_fault: EnvironmentFault | None = None,
) -> TrustLoad:
    """Read the trust files of all spaces.

    A file of the user's that cannot be read is an error, because nobody knows which key it revokes or limits. One of a
    project or bundle is not read, and a warning names it: what is in effect there, a key of the user has signed.

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
            Real path → the path to show.
        user_fault: Why the user space must be ignored; None if it can be used.

    Returns:
        The set, and the files that could not be read.

    Raises:
        NotFoundError: ``trust-not-found``: a named path does not exist.
        SigningError, EnvironmentFault: A file of the user's, or one named by the caller, cannot be read.
    """
    collector = _Collector()
    for path in named:
        collector.add_named(path)
    if user is not None:
        collector.add_users(user / TRUSTED_FOLDER, TrustScope.USER, checkouts=checkouts, fault=user_fault)
    shipped, fault = organisation
    if shipped is not None:
        collector.add_users(shipped, TrustScope.ORGANISATION, checkouts=checkouts, fault=fault)
    signers = tuple(collector.entries)
    for name, root in (({} if project is None else {"": project}) | dict(other_projects or {})).items():
        collector.add_others(root, TrustScope.PROJECT, bundle=name, signers=signers)
    if own_key:
        public = PublicKey.from_base64(own_key)
        collector.entries.append(TrustEntry(public, "rye", TrustScope.BUNDLE, OWN, built_in=True, source="rye itself"))
    for bundle, root in (bundles or {}).items():
        is_own = built_in is not None and os.path.realpath(root) == os.path.realpath(built_in)
        collector.add_others(root, TrustScope.BUNDLE, bundle=bundle, built_in=is_own, signers=signers)
    return collector.load()


class _Collector:
    """Collects the entries of trust files, and what cannot be read."""

    def __init__(self) -> None:
        self.entries: list[TrustEntry] = []
        self._unreadable: list[UnreadFolder] = []
        self._left_out = defaultdict[Path, list[str]](list)
        self._empty: list[str] = []

    def load(self) -> TrustLoad:
        """Return the trust set and the warnings."""
        warnings = [folder.fault.message for folder in self._unreadable]
        for folder, messages in self._left_out.items():
            warnings += messages[:_SHOWN]
            if len(messages) > _SHOWN:
                warnings.append(f"{len(messages) - _SHOWN} more trust files in {folder} are left out")
        return TrustLoad(TrustSet(tuple(self.entries)), (*warnings, *self._empty), tuple(self._unreadable))

    def add_named(self, path: Path) -> None:
        """Read a file with one or several trust files, or a folder of them, that the caller names."""
        if os.path.isdir(path):
            before = len(self.entries)
            self.add_users(path, TrustScope.NAMED)
            if len(self.entries) == before:
                self._empty.append(f"no trust file lies in {path}: files there must have names that end with .toml")
        elif not os.path.exists(path):
            refuse_key_text(str(path))
            message = f"there is no trust file {path}"
            raise NotFoundError("trust-not-found", message, hint="name a trust file or a folder of them")
        else:
            parts = split_trust_files(read_trust_bytes(path))
            self.entries += [parse_trust_file(part, scope=TrustScope.NAMED, source=str(path)) for part in parts]

    def add_users(
        self,
        folder: Path,
        scope: TrustScope,
        *,
        checkouts: Mapping[str, str] = MappingProxyType({}),
        fault: EnvironmentFault | None = None,
    ) -> None:
        """Read the user's own trust files in a folder; one that has a ``fault`` as a whole is left out.

        Raises:
            SigningError, EnvironmentFault: One of the files cannot be read, is not a trust file, others own or can
                write it, or it lies in one of the ``checkouts``.
        """
        if fault is not None:
            self._unreadable.append(UnreadFolder(folder, fault))
            return
        for path in _paths_in(folder):
            try:
                if scope is not TrustScope.NAMED:
                    refuse_others(path)
                    if inside := inside_fault(path, checkouts):
                        raise inside
                self.entries.append(parse_trust_file(read_trust_bytes(path), scope=scope, source=str(path)))
            except (SigningError, EnvironmentFault) as error:
                about = "" if str(path) in error.message else f"{path}: "
                raise error.preceded(f"nothing is judged while a trust file of yours cannot be read: {about}") from None

    def add_others(
        self, root: Path, scope: TrustScope, *, bundle: str, signers: Sequence[TrustEntry], built_in: bool = False
    ) -> None:
        """Read the trust files of a project or bundle; leave out those that cannot be read or lie outside its root."""
        folder = root / TRUSTED_FOLDER
        try:
            _refuse_leading_out(folder, root)
            paths = _paths_in(folder)
        except (SigningError, EnvironmentFault) as error:
            self._left_out[folder].append(error.message)
            return
        for path in paths:
            try:
                if os.path.islink(path):
                    _refuse_leading_out(path, root)
                data = read_trust_bytes(path)
                signed_by = signer_of(data, stem=path.stem, keys=signers)
                where: dict[str, Any] = {"scope": scope, "bundle": bundle, "source": str(path)}
                self.entries.append(parse_trust_file(data, signed_by=signed_by, built_in=built_in, **where))
            except (SigningError, EnvironmentFault) as error:
                self._left_out[folder].append(f"trust file {path} is left out: {error.message}")


def _paths_in(folder: Path) -> list[Path]:
    """Return the trust files in a folder, sorted by path; none if there is no such folder.

    Raises:
        EnvironmentFault: ``unreadable``: the folder cannot be listed.
    """
    try:
        return trust_paths(folder)
    except NotADirectoryError:
        return []
    except OSError as error:
        dangling = any(os.path.islink(place) and not os.path.exists(place) for place in (folder, *folder.parents))
        if isinstance(error, FileNotFoundError) and not dangling:
            return []
        message = f"trust files in {folder} cannot be read: {error.strerror}"
        raise EnvironmentFault("unreadable", message, hint="check its permissions") from None


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
