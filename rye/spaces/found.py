"""What a walk over one root found: its items, and the files that no signature of an item covers."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field

from rye._files import Ownership, ownership_of, trusted_owners
from rye.spaces.classify import Role
from rye.spaces.git import is_of_git
from rye.spaces.model import Space
from rye.spaces.read import is_detached
from rye.spaces.snapshot import LINK, MAX_FILES, PLAIN, mode_of
from rye.spaces.uncovered import relevant_non_items
from rye.spaces.walk import Listing
from rye.trust.line import DETACHED_SUFFIX
from rye.trust.list import SKILL_SIGNATURES, ListedFile

_UNCOVERED = (Role.OBEYED, Role.LOOSE, Role.LINK)


@dataclass(slots=True)
class Found:
    """The names below a root that matter to a verification, by their paths below it.

    Attributes:
        relevant: Files that tools may run or clients obey, from :func:`rye.spaces.uncovered.relevant_non_items`.
        strays: Signature files that belong to no item.
        loose: Every file that is neither an item nor covered by the signature of one; at most :data:`MAX_FILES`.
        is_complete: Whether ``loose`` is complete.
        foreign: Owner, group and mode of items, and of the folders that they lie in, that others own or can write.
    """

    relevant: list[str] = field(default_factory=list)
    strays: list[str] = field(default_factory=list)
    loose: list[ListedFile] = field(default_factory=list)
    is_complete: bool = True
    foreign: dict[str, Ownership] = field(default_factory=dict)
    _folders: dict[str, Ownership] = field(default_factory=dict)
    """The same of folders, before an item was found in them."""

    def add(self, listing: Listing) -> None:
        """Take in one folder, after the one that it lies in."""
        self._look_at_owners(listing)
        self.relevant += relevant_non_items(listing)
        folder = listing.folder
        counting = {row.path for row in listing.of(Role.ITEM) if is_detached(row.path)}
        if folder.skill and folder.skill == folder.path:
            counting |= {folder.below(name).removesuffix(DETACHED_SUFFIX) for name in SKILL_SIGNATURES}
        strays = sorted(listing.signatures.keys() - counting)
        self.strays += [f"{path}{DETACHED_SUFFIX}" for path in strays]
        rows = [] if folder.skill else [ListedFile(f"{path}{DETACHED_SUFFIX}", PLAIN) for path in strays]
        rows += [ListedFile(row.path, mode_of(row.entry)) for row in listing.of(*_UNCOVERED)]
        git = ListedFile(folder.below(".git"), PLAIN)
        if git in rows and is_of_git(folder.root.path / git.path):
            rows.remove(git)
        self._take(rows)

    def add_link(self, path: str) -> None:
        """Take in a link through which clients read what is signed for another place."""
        self.relevant.append(path)
        self._take([ListedFile(path, LINK)])

    def _look_at_owners(self, listing: Listing) -> None:
        path, is_user = listing.folder.path, listing.folder.root.space is Space.USER
        owners, writable = trusted_owners(group=is_user)
        for row in listing.of(Role.ITEM, Role.FOLDER):
            with suppress(OSError):  # it has just been removed
                status = row.target or row.entry.stat(follow_symlinks=False)
                if status.st_uid not in owners or status.st_mode & writable:
                    (self.foreign if row.role is Role.ITEM else self._folders)[row.path] = ownership_of(status)
        while self._folders and path and listing.of(Role.ITEM):
            if path in self._folders:
                self.foreign[path] = self._folders.pop(path)
            path = path.rpartition("/")[0]

    def _take(self, rows: list[ListedFile]) -> None:
        room = max(0, MAX_FILES - len(self.loose))
        self.is_complete = self.is_complete and len(rows) <= room
        self.loose += rows[:room]
