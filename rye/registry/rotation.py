"""What a key has signed in the project and in the user space, and how another key signs it again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from rye.errors import RyeError
from rye.items.clients import SKILL_FILE
from rye.keyring.changes import change_all
from rye.keyring.lists import find_root, sign_list
from rye.keyring.private import Keyring
from rye.keyring.rotate import Rotated, Rotation, rotate
from rye.registry.setup import POLICY, sweep_spaces
from rye.registry.where import Where
from rye.spaces.lists import list_folder, read_list
from rye.spaces.model import Root
from rye.trust.keys import SigningKey
from rye.trust.line import DETACHED_SUFFIX
from rye.trust.list import LIST_FILE, SKILL_SIGNATURE
from rye.trust.trust_store import TRUSTED_FOLDER

_SPACES = ("project", "user")
_MOST_OF_A_POLICY = 1 << 20


@dataclass(frozen=True, slots=True)
class SignedBy:
    """What a key validly signed, and may be signed again in passing, as it is trusted as it stands.

    Attributes:
        items: Space → the files that it signed.
        lists: The roots whose list it signed, and that differ from it at most in files with a signature of their own.
        endorsed: The trust files of the project that it signed.
    """

    items: Mapping[str, Sequence[str]] = field(default_factory=dict)
    lists: Sequence[Root] = ()
    endorsed: Sequence[str] = ()

    @property
    def folders(self) -> list[Path]:
        """The folders in which it is signed again."""
        files = [path for paths in self.items.values() for path in paths]
        files += [*self.endorsed, *(str((list_folder(root) or root.path) / LIST_FILE) for root in self.lists)]
        return sorted({Path(path).parent for path in files})


def find_signed_by(keyring: Keyring, fingerprint: str, where: Where) -> SignedBy:
    """Return what a key signed and is trusted."""
    sweep_spaces(keyring.layout, *_SPACES)
    entries = keyring.trust.load().trust.entries
    endorsed = [entry.source for entry in entries if entry.signed_by == fingerprint and entry.scope.space == "project"]
    items, lists = dict[str, list[str]](), list[Root]()
    for space in _SPACES:
        report = where.open().verify(space=space)
        trusted = [item for item in report.items if item.verdict == "trusted" and item.signature.code != "ok-list"]
        if paths := [item.path for item in trusted if item.signature.signer == fingerprint]:
            items[space] = paths
        lists += _lists_of(keyring, fingerprint, space, [*endorsed, *(item.path for item in trusted)])
    return SignedBy(items, lists, endorsed)


def _lists_of(keyring: Keyring, fingerprint: str, space: str, trusted: Iterable[str]) -> Iterator[Root]:
    """Yield the root of a space if a key signed its list, and it differs from it only in trusted files."""
    if not keyring.layout.in_space(space):
        return
    layout, root = find_root(keyring.layout, space=space)
    folder = list_folder(root) or root.path
    try:
        if read_list(folder) is None:
            return
        plan = sign_list(root, key=SigningKey.generate(), trust=layout.load_trust().trust, dry_run=True)
    except RyeError:
        return
    well = {path.relative_to(folder).as_posix() for path in _with_signatures(trusted, folder)}
    if space == "user":
        well |= {change.path for change in plan.changes if Path(change.path).parent == TRUSTED_FOLDER}
    if any(fingerprint in signer for signer in plan.signers) and well.issuperset(each.path for each in plan.changes):
        yield root


def _with_signatures(files: Iterable[str], folder: Path) -> Iterator[Path]:
    """Yield those of the files that lie below a folder, and the files that may hold their signatures."""
    for path in map(Path, files):
        if path.is_relative_to(folder):
            yield from (path, path.with_name(f"{path.name}{DETACHED_SUFFIX}"))
            if path.name == SKILL_FILE:
                yield path.with_name(SKILL_SIGNATURE)


def rotate_and_sign(rotation: Rotation, signed: SignedBy, where: Where, *, reason: str) -> Rotated:
    """Rotate a key; before the old one is revoked, sign with the new one what the old one had signed.

    What cannot be signed again is an error before anything is written.

    Raises:
        RyeError: As for :func:`rye.keyring.rotate.rotate` and :meth:`rye.Registry.sign`.
    """
    keyring = rotation.keyring
    again = partial(where.open().sign, force=True, allow_hidden=True, passphrase=keyring.passphrase)
    for space, paths in signed.items.items():
        again(*paths, space=space, key=rotation.name, dry_run=True)

    def sign_again(path: Path) -> dict[str, int]:
        counts = {space: len(again(*paths, space=space, key=path).items) for space, paths in signed.items.items()}
        if signed.endorsed:
            key = keyring.signing_key(path)
            change_all(signed.endorsed, lambda source: keyring.trust.endorse(source, key))
        return counts

    def sign_lists(path: Path) -> None:
        for root in signed.lists:
            sign_list(root, key=keyring.signing_key(path), trust=keyring.trust.load().trust)

    done = rotate(rotation, reason=reason, sign_again=sign_again, sign_lists=sign_lists, folders=signed.folders)
    return replace(done, warnings=tuple(_policies_naming(done.old, where)))


def _policies_naming(fingerprint: str, where: Where) -> Iterator[str]:
    """Yield a warning if the project's policy still demands a key that was revoked."""
    project = where.layout().project
    path = project / POLICY if project else None
    if path is None or not path.is_file():
        return
    with path.open("rb") as stream:
        text = stream.read(_MOST_OF_A_POLICY)
    if fingerprint.encode() in text:
        yield f"{POLICY} still demands the old key {fingerprint[:16]}: put the new one in its place"
