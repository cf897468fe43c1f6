"""The repositories of one verification: those nested in a project, and tracked files that are not on disk."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rye._files import real_path
from rye.items.clients import SKILLS_FOLDER
from rye.spaces.discover import project_root, repository_of
from rye.spaces.git import is_for_agents
from rye.spaces.model import Root, Space, is_within
from rye.spaces.nested import Repository
from rye.spaces.uncovered import named_files
from rye.trust.list import Change
from rye.verify.report import NestedRepository, Unchecked, Violation

NESTED: Final = "nested-repository"
MISSING: Final = "not-checked-out"


@dataclass(slots=True)
class RepositoryChecks:
    """The repositories of one verification: ask it for the one of a root, then iterate over it once.

    Attributes:
        found: The repositories in the verified folders, by real path.
        top: The folder to which paths are relative.
        without: Real paths of folders that the caller leaves out.
        strict: Whether what git tracks must be on disk, and a nested repository must be known to git.
        notes: Warnings; complete at the end.
        nested: The nested repositories with items or findings, by real path.
    """

    found: Mapping[str, Repository]
    top: Path
    without: tuple[str, ...] = ()
    strict: bool = False
    notes: tuple[str, ...] = ()
    nested: dict[str, NestedRepository] = field(default_factory=dict)
    _of: dict[Root, NestedRepository | None] = field(default_factory=dict)

    def of(self, root: Root) -> NestedRepository | None:
        """Return the nested repository that a root lies in; None for a root of the verified project itself."""
        if root not in self._of:
            around = root.space is Space.PROJECT and repository_of(Path(real_path(root.around)))
            repository = self.found.get(str(around))
            is_nested = repository is not None and repository.is_nested
            self._of[root] = self._nested(repository) if repository and is_nested else None
        return self._of[root]

    def _nested(self, repository: Repository) -> NestedRepository:
        name = os.path.relpath(repository.path, self.top)
        return self.nested.setdefault(repository.real, NestedRepository(name, repository.is_known))

    def __iter__(self) -> Iterator[Violation | Unchecked]:
        """Yield nested repositories that git does not know, and tracked files that are not on disk, if strict."""
        faults = defaultdict[str, list[str]](list)
        for repository in self.found.values():
            if self.strict and repository.real in self.nested and not repository.is_known:
                yield self._unknown(repository)
            if why := repository.tracked.fault:
                faults[why].append(os.path.relpath(repository.path, self.top))
            yield from self._missing(repository)
        self.notes += tuple(f"{why}: {named_files(names)} [git-unasked]" for why, names in faults.items())

    def _unknown(self, repository: Repository) -> Violation:
        name = self.nested[repository.real].path
        words = (
            f"git knows {name} neither as a submodule nor as a work tree, and what is signed for any top counts in it"
        )
        return Violation(project_root(self.top), repository.path, Change(NESTED, name, words))

    def _missing(self, repository: Repository) -> Iterator[Unchecked]:
        """Yield what git tracks for agents and is not on disk, if strict; note it otherwise, and other submodules."""
        tracked, other, missing = repository.tracked, list[str](), dict[str, tuple[str, bool]]()
        for path in (*tracked.empty, *tracked.missing):
            full, is_submodule = f"{tracked.top}/{path}", path in tracked.submodules
            if not is_within(full, repository.real) or any(is_within(full, folder) for folder in self.without):
                continue
            full = full if is_submodule else _first_missing(full)
            below = os.path.relpath(full, repository.real)
            name = os.path.normpath(f"{os.path.relpath(repository.path, self.top)}/{below}")
            if is_submodule and not (is_for_agents(path) or path.partition("/")[0] == SKILLS_FOLDER):
                other.append(name)
            else:
                missing[name] = full, is_submodule
        if other:
            words = f"submodules that are not checked out were not looked into: {named_files(other)}"
            self.notes += (f"{words} [{MISSING}]",)
        if missing and not self.strict:
            words = "git tracks what is not on disk, and it was not verified"
            self.notes += (f"{words}: {named_files([*missing])} [{MISSING}]",)
        for name, (full, is_submodule) in missing.items() if self.strict else ():
            what, hint = _OF_SUBMODULE if is_submodule else _OF_FILE
            yield Unchecked(f"project: {name} is {what}, so it was not verified: {hint}", MISSING, hint, full)


def _first_missing(path: str) -> str:
    """Return the outermost part of a path that is not on disk."""
    while not os.path.lexists(above := os.path.dirname(path)):  # noqa: PTH120 - text
        path = above
    return path


_OF_FILE: Final = (
    "tracked by git and not on disk",
    "git sparse-checkout disable or git restore puts it there; git rm ends that it is tracked",
)
_OF_SUBMODULE: Final = ("a submodule that is not checked out", "git submodule update --init checks it out")
