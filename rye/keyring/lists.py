"""Sign the list of a space or bundle, or add a signature to one."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from rye._report import Report
from rye.errors import ArgumentError, EnvironmentFault, SigningError
from rye.keyring.changes import write_file
from rye.keyring.draft import ListDraft
from rye.keyring.jobs import Job, JudgedJob, PlannedFile
from rye.options.model import ParameterError
from rye.spaces.bundles import named_bundle
from rye.spaces.layout import Layout
from rye.spaces.lists import last_seen, list_folder, save_seen, state_of
from rye.spaces.model import Root, Space
from rye.spaces.snapshot import sweep_below
from rye.spaces.state import SETTINGS
from rye.trust.keys import PublicKey, SigningKey
from rye.trust.line import DETACHED_SUFFIX
from rye.trust.list import (
    LIST_FILE,
    Change,
    ListClaim,
    ListedFile,
    ListFault,
    SpaceList,
    add_signature,
    parse_list,
    write_list,
)
from rye.trust.trust_set import TrustSet
from rye.trust.trust_store import TRUSTED_FOLDER, load_trust, system_clock

DAYS = 90
MAX_DAYS = 3650
"""Default and maximum number of days that a list is valid."""


@dataclass(frozen=True, slots=True)
class ListSigned(Report):
    """The result, or the plan, of signing a list.

    Attributes:
        action: ``write``, ``add`` or ``unchanged``.
        source: The space.
        path: The file of the list.
        name, number, expires: Fields of the list.
        listed: Number of files in the list.
        fingerprint: The fingerprint of the signing key.
        signers: Owner and fingerprint of each key that signed the present list and may do so.
        changes: How the files differ from the present list. If that does not verify, every file without a valid
            signature of its own.
        unseen: The changed files that have no valid signature of their own.
        warnings: Why the list may not be valid for this user.
    """

    action: str
    source: str
    path: str
    name: str
    number: int
    expires: datetime
    listed: int
    fingerprint: str
    signers: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    unseen: tuple[PlannedFile, ...] = ()
    warnings: tuple[str, ...] = ()


Confirm = Callable[[ListSigned], None]
"""Called with a plan that has unseen files or adds a signature; an exception from it prevents the write."""


def sign_list(
    root: Root,
    *,
    key: SigningKey,
    trust: TrustSet,
    days: int | None = None,
    add: bool = False,
    allow_hidden: bool = False,
    dry_run: bool = False,
    confirm: Confirm = lambda _: None,
) -> ListSigned:
    """Write and sign the list of a folder with the next number; or add a signature to the present list.

    A new list always contains the files on disk. A signature is added only if the present list is valid for this user,
    and the files are those that it names.

    Args:
        root: A root in the folder.
        key: The signing key.
        trust: The keys of this run, and the audience that is demanded.
        days: Number of days that the list is valid; None for :data:`DAYS`, and to leave a valid list with the same
            files unchanged.
        add: Whether to add a signature.
        allow_hidden: Whether to sign files with text that a reader does not see.
        dry_run: Whether to write nothing.
        confirm: As :data:`Confirm`.

    Raises:
        ArgumentError: ``bad-expiry``; ``nothing-to-sign``: there is no list to add a signature to, or no file.
        SigningError: ``unreadable-items``, ``hidden-text``, ``unlistable``; with ``add``, ``list-differs`` or the fault
            of the list.
        EnvironmentFault: ``unsafe-owner``, ``project-elsewhere``, ``cannot-write``.
    """
    if days is not None and not 1 <= days <= MAX_DAYS:
        raise ArgumentError("bad-expiry", f"expires is {days}", hint=f"use 1 to {MAX_DAYS} days")
    now = system_clock()
    if not dry_run:
        sweep_below(list_folder(root) or root.path)
    draft = ListDraft.read(root, allow_hidden=allow_hidden)
    if not (draft.files or draft.data):
        hint = "rye sign signs what lies in the folders of clients; rye sign list FOLDER makes a list of such a folder"
        raise ArgumentError("nothing-to-sign", f"there is no file to list below {draft.folder}", hint=hint)
    done = _plan(draft, key.public, trust, now=now, days=days, add=add)
    if dry_run or done.action == "unchanged":
        return done
    if add or done.unseen:
        confirm(done)
    return _write(draft, done, key, trust, now=now)


def _write(draft: ListDraft, done: ListSigned, key: SigningKey, trust: TrustSet, *, now: datetime) -> ListSigned:
    """Sign and write a list as planned, if the files are still those that were read."""
    root = draft.root
    if ListDraft.read(root, allow_hidden=True) != draft:
        message = "the files changed after they were shown, so nothing was signed"
        raise SigningError("changed-meanwhile", message, hint="look at them again")
    files = list(draft.files.values())
    body = draft.data if done.action == "add" else write_list(done.name, done.number, done.expires, files)
    place = draft.place
    content = add_signature(body, origin=place, key=key, audience=trust.demanded(place), now=now)
    write_file(draft.folder / LIST_FILE, content)
    listed = parse_list(content)
    state = state_of(listed, root, trust=trust, now=now)
    if isinstance(state, ListFault):
        return replace(done, warnings=(f"the list does not count here: {state.detail} [{state.code}]",))
    with suppress(EnvironmentFault):  # the next check reports a record that cannot be saved
        save_seen(draft.folder, listed)
    return replace(done, signers=tuple(map(str, state.signers)))


def _plan(
    draft: ListDraft, key: PublicKey, trust: TrustSet, *, now: datetime, days: int | None, add: bool
) -> ListSigned:
    """Return the plan of writing the next list, or of adding a signature to the present one; arguments as before."""
    claim = _counting(draft, trust, now) if add else draft.claim(trust, now)
    present, changes = claim.listed if claim else None, draft.changes(claim)
    if add and changes:
        message = f"the files are not those of the list: {changes[0].message}"
        raise SigningError("list-differs", message, hint="see all with rye verify; nothing was signed")
    unseen = draft.unseen(claim, draft.jobs(), trust, now)
    # the folder of another checkout may have another name
    keeps_name = present and (add or draft.root.space is not Space.SYSTEM)
    done = ListSigned(
        "add" if add else "write",
        draft.root.source,
        str(draft.folder / LIST_FILE),
        present.name if present and keeps_name else _name(draft.root, draft.folder),
        present.number if present else 0,
        present.expires if present else now,
        len(draft.files),
        str(key.fingerprint),
        tuple(map(str, claim.signers)) if claim else (),
        changes if present else unseen,
        draft.rows(unseen),
    )
    is_valid = present and not changes and (add or (days is None and now < present.expires))
    if present and is_valid and _is_by(present, key, draft, trust):
        return replace(done, action="unchanged")
    if add:
        return done
    seen = last_seen(draft.folder)
    number = 1 + max(done.number, seen.number if seen else 0)
    return replace(done, number=number, expires=(now + timedelta(days=days or DAYS)).replace(microsecond=0))


def _counting(draft: ListDraft, trust: TrustSet, now: datetime) -> ListClaim:
    """Return the present list, which must be valid for this user.

    Raises:
        ArgumentError: ``nothing-to-sign``: there is none.
        SigningError: ``list-untrusted``, ``list-rollback``.
    """
    if not draft.data:
        message = f"there is no {LIST_FILE} in {draft.folder}"
        raise ArgumentError("nothing-to-sign", message, hint="write one with: rye sign list")
    state = state_of(parse_list(draft.data), draft.root, trust=trust, now=now)
    if isinstance(state, ListClaim):
        return state
    if state.code == "list-rollback":
        raise SigningError(state.code, state.detail, hint="get the newest files from their owner")
    message = f"the present list is not signed by a key that counts: {state.detail} [{state.code}]"
    raise SigningError("list-untrusted", message, hint="check whose list it is: rye verify")


def _is_by(present: SpaceList, key: PublicKey, draft: ListDraft, trust: TrustSet) -> bool:
    """Return whether a key has signed a list for the audience that is demanded."""
    place = draft.place
    meant = (key.fingerprint, place.stated, trust.demanded(place))
    lines = [line for line in present.lines if (line.fingerprint, line.stated, line.audience) == meant]
    return any(present.holds(line, key) for line in lines)


@dataclass(frozen=True, slots=True)
class BundleList:
    """The list of a bundle, to be signed after its items.

    Attributes:
        root: A root of the bundle.
        is_due: Whether the list has to be signed even if no item has.
        rows: The files to show beside those to sign: what no key of the user has signed as it is.
        files: Every file of the bundle as it was read.
        allow_hidden: As for :func:`sign_list`.
    """

    root: Root
    is_due: bool
    rows: tuple[PlannedFile, ...]
    files: Mapping[str, ListedFile]
    allow_hidden: bool

    @property
    def path(self) -> str:
        """The file of the list."""
        return str((list_folder(self.root) or self.root.path) / LIST_FILE)

    def carry_out(self, key: SigningKey, written: Mapping[Path, bytes | None]) -> None:
        """Sign the list.

        Args:
            key: The signing key.
            written: What was written since the files were read: path → bytes, None for a removed file.

        Raises:
            SigningError: ``changed-meanwhile``: another file is not as it was read, whoever signed it.
        """
        home, now = self.root.trust_root, system_clock()
        own = load_trust(bundles={self.root.bundle: home}, built_in=home).trust
        draft = ListDraft.read(self.root, allow_hidden=self.allow_hidden)
        digests = {path: data if data is None else hashlib.sha256(data).hexdigest() for path, data in written.items()}
        ours = {os.path.relpath(path, draft.folder): digest for path, digest in digests.items()}
        for path in sorted({*self.files, *draft.files}):
            file = draft.files.get(path)
            if (file and file.sha256) != ours[path] if path in ours else file != self.files.get(path):
                message = f"{path} is not as it was shown, so the items are signed and the list is not"
                raise SigningError("changed-meanwhile", message, hint="look at it, and sign again")
        done = _plan(draft, key.public, own, now=now, days=MAX_DAYS, add=False)
        _write(draft, done, key, own, now=now)


def plan_list(
    root: Root, judged: Sequence[JudgedJob], *, own: TrustSet, mine: TrustSet, force: bool, allow_hidden: bool
) -> BundleList | None:
    """Return the list that a bundle needs; None if it has none, and no file that only a list covers.

    Args:
        root: A root of the bundle.
        judged: Its files that can hold signatures.
        own: The bundle's own keys, which say whether it needs a new list.
        mine: The user's keys. What neither they nor a list of theirs signed is shown, whatever the bundle says.
        force: Whether all of the files are to be signed.
        allow_hidden: As for :func:`sign_list`.

    Raises:
        SigningError: None can be made, as for :meth:`ListDraft.read`.
    """
    jobs, now = [row.job for row in judged], system_clock()
    draft = ListDraft.read(root, allow_hidden=allow_hidden)
    claim = draft.claim(own, now)
    bare = _outside(jobs, draft.rows(draft.unseen(claim, jobs, own, now)), root)
    unseen = draft.rows(draft.unseen(draft.claim(mine, now), jobs, mine, now))
    if not (draft.data or bare):
        return None
    is_due = bool(bare or claim is None or draft.changes(claim))
    rows = _outside([row.job for row in judged if force or row.code], unseen, root)
    return BundleList(root, is_due, rows, draft.files, allow_hidden)


def _outside(jobs: Iterable[Job], rows: Iterable[PlannedFile], root: Root) -> tuple[PlannedFile, ...]:
    """Return the files that are neither among those to sign, nor what signing a bundle writes beside them."""
    signed = {Path(each) for job in jobs for named in job.paths for each in (named, f"{named}{DETACHED_SUFFIX}")}
    places = {row: Path(row.path) for row in rows if not _is_beside(root, Path(row.path))}
    return tuple(row for row, place in places.items() if signed.isdisjoint((place, *place.parents)))


def _is_beside(root: Root, path: Path) -> bool:
    """Return whether a file is one that signing a bundle writes beside its items: a trust file, or the settings."""
    home = root.trust_root
    return path == home / SETTINGS or (path.parent == home / TRUSTED_FOLDER and path.suffix == ".toml")


def _name(root: Root, folder: Path) -> str:
    """Return the name for the list of a folder: that of the bundle or the repository, or ``user``."""
    if root.bundle or root.space is Space.USER:
        return root.bundle or str(root.space)
    depth = len(Path(root.list_place.path).parts)
    return folder.absolute().parents[depth - 1].name if depth else folder.absolute().name


def find_root(layout: Layout, *, space: str = "project", bundle: Path | None = None) -> tuple[Layout, Root]:
    """Return a root in the folder that a caller means, and a layout that contains it.

    Raises:
        ArgumentError: ``bad-space``: not a single space; ``bad-target``: the folder does not hold exactly one bundle.
    """
    if bundle is None:
        roots = layout.in_space(space) if space in {"project", "user"} else ()
        if not roots:
            if space == "project":
                raise ArgumentError("bad-space", "there is no project here", hint=layout.describe_empty(space))
            hint = "use project or user, or name the folder of a bundle"
            raise ParameterError("bad-space", [("space",)], "is", f"{space!r}, which is not a single space", hint=hint)
        return layout, roots[0]
    named: Sequence[Root] = named_bundle(bundle)
    # a client folder of a project has no list of its own; the list of the named folder covers it
    known = [root for root in layout.roots if root.path == named[0].path and list_folder(root) == list_folder(named[0])]
    return (layout, known[0]) if known else (layout._replace(roots=(*layout.roots, *named)), named[0])
