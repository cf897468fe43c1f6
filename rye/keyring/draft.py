"""What a list is made from: the files of a folder, its present list, and what in it has a signature of its own."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from rye.errors import ItemError, SigningError
from rye.items.clients import SKILL_FILE
from rye.keyring.jobs import Job, PlannedFile
from rye.spaces.bundles import named_bundle
from rye.spaces.contents import files_below
from rye.spaces.discover import check_writable, path_in_repository
from rye.spaces.lists import list_folder, read_list, state_of
from rye.spaces.model import Root, Space
from rye.spaces.signed import read_item
from rye.spaces.snapshot import FOLDER, is_listable
from rye.spaces.walk import list_items_of
from rye.trust.judge import claim_of, judge
from rye.trust.line import DETACHED_SUFFIX
from rye.trust.list import Change, ListClaim, ListedFile, ListFault, Skill, compare, parse_list
from rye.trust.model import Place, Verdict
from rye.trust.trust_set import TrustSet

_WHY: Final = {"file-added": "new", "file-removed": "removed"}


@dataclass(frozen=True, slots=True)
class ListDraft:
    """What the list of a folder is made from, read once.

    Attributes:
        root: A root in the folder.
        folder: The folder.
        data: The present list; empty without one.
        files: Every file to list, by its path.
    """

    root: Root
    folder: Path
    data: bytes
    files: Mapping[str, ListedFile]

    @classmethod
    def read(cls, root: Root, *, allow_hidden: bool) -> ListDraft:
        """Read the files of a folder and its list.

        Raises:
            SigningError: ``unreadable-items``, ``hidden-text``, ``unlistable``.
            EnvironmentFault: ``unsafe-owner``, ``project-elsewhere``.
        """
        folder = list_folder(root) or root.path
        files, problems, hidden = files_below(folder, root)
        if problems:
            message = f"{len(problems)} file(s) cannot be listed: {'; '.join(problem.message for problem in problems)}"
            raise SigningError("unreadable-items", message, hint="fix or remove them; nothing was written")
        if hidden and not allow_hidden:
            said = "; ".join(f"{path}: {hidden[path]}" for path in hidden)
            message = f"{len(hidden)} file(s) hold hidden text: {said}"
            hint = "remove it, or sign with --allow-hidden; nothing was written"
            raise SigningError("hidden-text", message, hint=hint)
        if wrong := [path for path, file in files.items() if file.mode == FOLDER or not is_listable(path)]:
            message = f"{len(wrong)} file(s) cannot be on a list: {', '.join(wrong)}"
            hint = "a list names no repository, nothing among private keys and no unfinished file: move or remove them"
            raise SigningError("unlistable", message, hint=hint)
        check_writable(root, list(files) if folder == root.path else ())
        return cls(root, folder, read_list(folder) or b"", files)

    @property
    def place(self) -> Place:
        """The place that a new signature states: for a bundle, its path in the repository in which it is signed."""
        place = self.root.list_place
        if self.root.space is not Space.SYSTEM:
            return place
        path = path_in_repository(self.folder)
        return place._replace(id=path, path=path, name=path)

    def claim(self, trust: TrustSet, now: datetime) -> ListClaim | None:
        """Return the present list if keys that may sign it did, for this place; it may have expired."""
        with suppress(SigningError):
            present = parse_list(self.data) if self.data else None
            state = state_of(present, self.root, trust=trust, now=now) if present else None
            if isinstance(state, ListFault) and state.code == "list-expired" and state.listed:
                state = claim_of(state.listed, place=self.root.list_place, trust=trust, now=now)
            return state if isinstance(state, ListClaim) else None
        return None

    def changes(self, claim: ListClaim | None) -> tuple[Change, ...]:
        """Return how the files differ from the present list; without one that verifies, every file is new."""
        return tuple(compare(claim.listed.files if claim else {}, self.files))

    def unseen(
        self, claim: ListClaim | None, jobs: Iterable[Job], trust: TrustSet, now: datetime
    ) -> tuple[Change, ...]:
        """Return the changes of files without a valid signature of their own.

        Args:
            claim: The present list, as these keys verify it.
            jobs: The items there.
            trust: The keys.
            now: The time.
        """
        if not (changes := self.changes(claim)):
            return ()
        entries = (entry for entry in trust.entries if entry.signed_by and trust.is_in_effect(entry, now))
        signed = {os.path.relpath(entry.source, self.folder) for entry in entries}
        for job in jobs:
            read = job.read
            if judge(read.evidence, origin=read.origin, trust=trust, now=now).verdict is Verdict.TRUSTED:
                path = os.path.relpath(job.root.path / job.file.rel_path, self.folder)
                signed |= {path, f"{path}{DETACHED_SUFFIX}"}
                if isinstance(read.detached, Skill) and path.endswith(f"/{SKILL_FILE}"):
                    skill, above = read.detached.folder, path.removesuffix(SKILL_FILE)
                    signed |= {f"{above}{inner.path}" for inner in skill.files} | {f"{above}{skill.name}"}
        return tuple(change for change in changes if change.path not in signed)

    def jobs(self) -> Iterator[Job]:
        """Yield the items there that can be read."""
        roots = [self.root] if self.root.client is None else named_bundle(self.folder)
        for root, file in list_items_of(roots)[0]:
            with suppress(ItemError):
                yield Job(root, file, read_item(root, file.rel_path, file.item_type, file.item_id))

    def rows(self, changes: Iterable[Change]) -> tuple[PlannedFile, ...]:
        """Return the rows that show some changes."""
        return tuple(
            PlannedFile(each.path, str(self.folder / each.path), _WHY.get(each.code, "changed")) for each in changes
        )
