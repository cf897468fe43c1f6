"""Sign the list of a space or bundle, or add a signature to one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

from rye._report import Report
from rye.errors import ArgumentError, EnvironmentFault, ItemError, SigningError
from rye.items.clients import SKILL_FILE
from rye.keyring.changes import write_file
from rye.keyring.jobs import Job
from rye.keyring.plan import PlannedFile
from rye.options.model import ParameterError
from rye.spaces.bundles import named_bundle
from rye.spaces.contents import files_below
from rye.spaces.discover import check_writable, path_in_repository
from rye.spaces.layout import Layout
from rye.spaces.lists import last_seen, list_folder, read_list, save_seen, state_of
from rye.spaces.model import Root, Space
from rye.spaces.signed import read_item
from rye.spaces.snapshot import FOLDER, is_listable, sweep_below
from rye.spaces.state import SETTINGS
from rye.spaces.walk import list_items_of
from rye.trust.judge import claim_of, judge
from rye.trust.keys import SigningKey
from rye.trust.line import DETACHED_SUFFIX
from rye.trust.list import (
    LIST_FILE,
    Change,
    ListClaim,
    ListedFile,
    ListFault,
    Skill,
    SpaceList,
    add_signature,
    compare,
    parse_list,
    write_list,
)
from rye.trust.model import Place, Verdict
from rye.trust.trust_entry import TrustEntry
from rye.trust.trust_set import TrustSet
from rye.trust.trust_store import TRUSTED_FOLDER, system_clock

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

_WHY = {"file-added": "new", "file-removed": "removed"}


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
    folder, now = list_folder(root) or root.path, system_clock()
    if not dry_run:
        sweep_below(folder)
    files = _read_all(root, folder, allow_hidden=allow_hidden)
    data = read_list(folder) or b""
    if not (files or data):
        hint = "rye sign signs what lies in the folders of clients; --bundle DIR makes a list of such a folder"
        raise ArgumentError("nothing-to-sign", f"there is no file to list below {folder}", hint=hint)
    work = _Work(root, folder, data, files, key, trust, now)
    done, content = work.add() if add else work.write(days)
    if dry_run or done.action == "unchanged":
        return done
    if add or done.unseen:
        confirm(done)
    if (read_list(folder) or b"") != data or _read_all(root, folder, allow_hidden=True) != files:
        message = "the files changed after they were shown, so nothing was signed"
        raise SigningError("changed-meanwhile", message, hint="look at them again")
    write_file(folder / LIST_FILE, content)
    listed = parse_list(content)
    state = state_of(listed, root, trust=trust, now=now)
    if isinstance(state, ListFault):
        return replace(done, warnings=(f"the list does not count here: {state.detail} [{state.code}]",))
    with suppress(EnvironmentFault):  # the next check reports a record that cannot be saved
        save_seen(folder, listed)
    return replace(done, signers=tuple(map(str, state.signers)))


@dataclass(frozen=True, slots=True)
class BundleList:
    """The list of a bundle, to be signed after its items.

    Attributes:
        path: The file of the list.
        is_wanted: Whether the bundle has a list, or files that only a list covers.
        is_due: Whether the list has to be signed even if no item has.
        rows: The files to show beside those to sign: what no key of the user has signed as it is.
        digests: SHA-256 hex of every file of the bundle as it was read.
        warnings: Why no list can be made.
    """

    path: str
    is_wanted: bool = False
    is_due: bool = False
    rows: tuple[PlannedFile, ...] = ()
    digests: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def carry_out(self, root: Root, *, key: SigningKey, trust: TrustSet, allow_hidden: bool) -> None:
        """Sign the list.

        Raises:
            SigningError: ``changed-meanwhile``: a file is new or changed since it was shown.
        """

        def check(plan: ListSigned) -> None:
            now = {change.path: change.sha256 for change in plan.changes if change.code != "file-removed"}
            for row in plan.unseen:
                if not _is_beside(root, Path(row.path)) and self.digests.get(row.name) != now.get(row.name):
                    message = f"{row.name} is not as it was shown, so the items are signed and the list is not"
                    raise SigningError("changed-meanwhile", message, hint="look at it, and sign again")

        sign_list(root, key=key, trust=trust, days=MAX_DAYS, allow_hidden=allow_hidden, confirm=check)


def plan_list(
    root: Root, jobs: Sequence[Job], *, key: SigningKey, own: TrustSet, mine: TrustSet, force: bool, allow_hidden: bool
) -> BundleList:
    """Return the list that a bundle needs.

    Args:
        root: A root of the bundle.
        jobs: Its files that can hold signatures, judged.
        key: The signing key.
        own: The bundle's own keys, which say whether it needs a new list.
        mine: The user's keys. What neither they nor a list of theirs signed is shown, whatever the bundle says.
        force: Whether all of the files are to be signed.
        allow_hidden: As for :func:`sign_list`.
    """
    folder = list_folder(root) or root.path
    path = str(folder / LIST_FILE)
    try:
        files = _read_all(root, folder, allow_hidden=allow_hidden)
        data, now = read_list(folder) or b"", system_clock()
        plan, _ = _Work(root, folder, data, files, key, own, now).write(None)
        unseen = _Work(root, folder, data, files, key, mine, now).write(None)[0].unseen
    except SigningError as error:
        return BundleList(path, warnings=(f"no list can be made, so not every file is covered: {error.message}",))
    bare = _outside(jobs, plan.unseen, root)
    is_wanted = bool(data or bare)
    is_due = bool(bare) or (is_wanted and (bool(plan.changes) or not plan.signers))
    rows = _outside([job for job in jobs if force or job.code], unseen, root) if is_wanted else ()
    return BundleList(path, is_wanted, is_due, rows, {path: file.sha256 for path, file in files.items()})


def _outside(jobs: Iterable[Job], rows: Iterable[PlannedFile], root: Root) -> tuple[PlannedFile, ...]:
    """Return the files that are neither among those to sign, nor what signing a bundle writes beside them."""
    signed = {Path(each) for job in jobs for named in job.paths for each in (named, f"{named}{DETACHED_SUFFIX}")}
    places = {row: Path(row.path) for row in rows if not _is_beside(root, Path(row.path))}
    return tuple(row for row, place in places.items() if signed.isdisjoint((place, *place.parents)))


def _is_beside(root: Root, path: Path) -> bool:
    """Return whether a file is one that signing a bundle writes beside its items: a trust file, or the settings."""
    home = root.trust_root
    return path == home / SETTINGS or (path.parent == home / TRUSTED_FOLDER and path.suffix == ".toml")


def _read_all(root: Root, folder: Path, *, allow_hidden: bool) -> dict[str, ListedFile]:
    files, problems, hidden = files_below(folder, root)
    if problems:
        message = f"{len(problems)} file(s) cannot be listed: {'; '.join(problem.message for problem in problems)}"
        raise SigningError("unreadable-items", message, hint="fix or remove them; nothing was written")
    if hidden and not allow_hidden:
        message = f"{len(hidden)} file(s) hold hidden text: {'; '.join(f'{path}: {hidden[path]}' for path in hidden)}"
        hint = "remove it, or sign with --allow-hidden; nothing was written"
        raise SigningError("hidden-text", message, hint=hint)
    if wrong := [path for path, file in files.items() if file.mode == FOLDER or not is_listable(path)]:
        message = f"{len(wrong)} file(s) cannot be on a list: {', '.join(wrong)}"
        hint = "a list names no repository, nothing among private keys and no unfinished file: move or remove them"
        raise SigningError("unlistable", message, hint=hint)
    check_writable(root, list(files) if folder == root.path else ())
    return files


@dataclass(frozen=True, slots=True)
class _Work:
    """The inputs of signing: the bytes of the present list, the files on disk, the key, and the time."""

    root: Root
    folder: Path
    data: bytes
    files: dict[str, ListedFile]
    key: SigningKey
    trust: TrustSet
    now: datetime

    def write(self, days: int | None) -> tuple[ListSigned, bytes]:
        """Return the plan of writing the next list, and its bytes."""
        claim = self._verified()
        present = claim.listed if claim else None
        # the folder of another checkout may have another name
        name = present.name if present and self.root.space is not Space.SYSTEM else _name(self.root, self.folder)
        done = self._plan("write", name, claim)
        if present and not done.changes and days is None and self.now < present.expires and self._is_mine(present):
            return replace(done, action="unchanged"), self.data
        seen = last_seen(self.folder)
        number = 1 + max(present.number if present else 0, seen.number if seen else 0)
        expires = (self.now + timedelta(days=days or DAYS)).replace(microsecond=0)
        content = self._sign(write_list(name, number, expires, list(self.files.values())))
        return replace(done, number=number, expires=expires), content

    def add(self) -> tuple[ListSigned, bytes]:
        """Verify the present list; return the plan of adding a signature, and the new bytes."""
        if not self.data:
            message = f"there is no {LIST_FILE} in {self.folder}"
            raise ArgumentError("nothing-to-sign", message, hint="write one with: rye sign --list")
        present = parse_list(self.data)
        state = state_of(present, self.root, trust=self.trust, now=self.now)
        if isinstance(state, ListFault):
            if state.code == "list-rollback":
                raise SigningError(state.code, state.detail, hint="get the newest files from their owner")
            message = f"the present list is not signed by a key that counts: {state.detail} [{state.code}]"
            raise SigningError("list-untrusted", message, hint="check whose list it is: rye verify")
        done = self._plan("add", present.name, state)
        if done.changes:
            message = f"the files are not those of the list: {done.changes[0].message}"
            raise SigningError("list-differs", message, hint="see all with rye verify; nothing was signed")
        if self._is_mine(present):
            return replace(done, action="unchanged"), self.data
        return done, self._sign(self.data)

    def _plan(self, action: str, name: str, claim: ListClaim | None) -> ListSigned:
        present = claim.listed if claim else None
        changes, signed = compare(present.files if present else {}, self.files), self._signed_paths()
        unseen = [change for change in changes if change.path not in signed]
        return ListSigned(
            action,
            self.root.source,
            str(self.folder / LIST_FILE),
            name,
            present.number if present else 0,
            present.expires if present else self.now,
            len(self.files),
            str(self.key.public.fingerprint),
            tuple(map(str, claim.signers)) if claim else (),
            changes if present else tuple(unseen),
            tuple(
                PlannedFile(each.path, str(self.folder / each.path), _WHY.get(each.code, "changed")) for each in unseen
            ),
        )

    def _verified(self) -> ListClaim | None:
        """Return the present list if keys that may sign it did, for this place; it may have expired."""
        with suppress(SigningError):
            present = parse_list(self.data) if self.data else None
            state = state_of(present, self.root, trust=self.trust, now=self.now) if present else None
            if isinstance(state, ListFault) and state.code == "list-expired" and state.listed:
                state = claim_of(state.listed, place=self.root.list_place, trust=self.trust, now=self.now)
            return state if isinstance(state, ListClaim) else None
        return None

    def _signed_paths(self) -> set[str]:
        """Return the files with a valid signature of their own; trust files in effect are signed."""
        signed = {os.path.relpath(entry.source, self.folder) for entry in self.trust.entries if self._is_signed(entry)}
        roots = [self.root] if self.root.client is None else named_bundle(self.folder)
        for root, file in list_items_of(roots)[0]:
            with suppress(ItemError):
                read = read_item(root, file.rel_path, file.item_type, file.item_id)
                verdict = judge(read.evidence, origin=read.origin, trust=self.trust, now=self.now).verdict
                if verdict is Verdict.TRUSTED:
                    path = os.path.relpath(root.path / file.rel_path, self.folder)
                    signed |= {path, f"{path}{DETACHED_SUFFIX}"}
                    if isinstance(read.detached, Skill) and file.rel_path.endswith(f"/{SKILL_FILE}"):
                        skill, above = read.detached.folder, path.removesuffix(SKILL_FILE)
                        signed |= {f"{above}{inner.path}" for inner in skill.files} | {f"{above}{skill.name}"}
        return signed

    def _is_signed(self, entry: TrustEntry) -> bool:
        return bool(entry.signed_by) and self.trust.is_in_effect(entry, self.now)

    def _is_mine(self, present: SpaceList) -> bool:
        """Return whether the key has signed a list for the audience that is demanded."""
        public, audience = self.key.public, self.trust.demanded(self._place)
        meant = (public.fingerprint, self._place.stated, audience)
        lines = [line for line in present.lines if (line.fingerprint, line.stated, line.audience) == meant]
        return any(present.holds(line, public) for line in lines)

    def _sign(self, data: bytes) -> bytes:
        place = self._place
        return add_signature(data, origin=place, key=self.key, audience=self.trust.demanded(place), now=self.now)

    @property
    def _place(self) -> Place:
        """The place that a new signature states: for a bundle, its path in the repository in which it is signed."""
        place = self.root.list_place
        if self.root.space is not Space.SYSTEM:
            return place
        path = path_in_repository(self.folder)
        return place._replace(id=path, path=path, name=path)


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
            hint = "use project or user with --space, or name a bundle's folder with --bundle"
            raise ParameterError("bad-space", [("space",)], "is", f"{space!r}, which is not a single space", hint=hint)
        return layout, roots[0]
    named: Sequence[Root] = named_bundle(bundle)
    # a client folder of a project has no list of its own; the list of the named folder covers it
    known = [root for root in layout.roots if root.path == named[0].path and list_folder(root) == list_folder(named[0])]
    return (layout, known[0]) if known else (layout._replace(roots=(*layout.roots, *named)), named[0])
