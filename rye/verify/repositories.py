"""Checks the repositories in a project: those that git does not know, and tracked files that are not on disk."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import Final

from rye._files import real_path
from rye.items.clients import SKILLS_FOLDER
from rye.spaces.discover import project_root
from rye.spaces.git import is_for_agents
from rye.spaces.model import is_within
from rye.spaces.nested import Repository
from rye.spaces.uncovered import named_files
from rye.trust.list import Change
from rye.verify.facts import Note
from rye.verify.report import Unchecked, Violation
from rye.verify.subject import Subject

NESTED: Final = "nested-repository"
MISSING: Final = "not-checked-out"


def check_repositories(subject: Subject, filled: Collection[str]) -> Iterator[Violation | Unchecked | Note]:
    """Yield nested repositories that git does not know, and tracked files that are not on disk, if strict.

    Args:
        subject: What is verified.
        filled: The real paths of the nested repositories that have items or findings.
    """
    faults = defaultdict[str, list[str]](list)
    for repository in subject.repositories.values():
        if subject.strict and repository.real in filled and not repository.is_known:
            yield _unknown(subject, repository)
        if why := repository.tracked.fault:
            faults[why].append(os.path.relpath(repository.path, subject.top))
        yield from _missing(subject, repository)
    for why, names in faults.items():
        yield Note(f"{why}: {named_files(names)} [git-unasked]")


def _unknown(subject: Subject, repository: Repository) -> Violation:
    name = os.path.relpath(repository.path, subject.top)
    words = f"git knows {name} neither as a submodule nor as a work tree, and what is signed for any top counts in it"
    return Violation(project_root(subject.top), repository.path, Change(NESTED, name, words))


def _missing(subject: Subject, repository: Repository) -> Iterator[Unchecked | Note]:
    """Yield what git tracks for agents and is not on disk, if strict; note it otherwise, and other submodules."""
    tracked, other, missing = repository.tracked, list[str](), dict[str, tuple[str, bool]]()
    without = [real_path(folder) for folder in subject.without]
    for path in (*tracked.empty, *tracked.missing):
        full, is_submodule = f"{tracked.top}/{path}", path in tracked.submodules
        if not is_within(full, repository.real) or any(is_within(full, folder) for folder in without):
            continue
        full = full if is_submodule else _first_missing(full)
        below = os.path.relpath(full, repository.real)
        name = os.path.normpath(f"{os.path.relpath(repository.path, subject.top)}/{below}")
        if is_submodule and not (is_for_agents(path) or path.partition("/")[0] == SKILLS_FOLDER):
            other.append(name)
        else:
            missing[name] = full, is_submodule
    if other:
        yield Note(f"submodules that are not checked out were not looked into: {named_files(other)} [{MISSING}]")
    if missing and not subject.strict:
        words = "git tracks what is not on disk, and it was not verified"
        yield Note(f"{words}: {named_files([*missing])} [{MISSING}]")
    for name, (full, is_submodule) in missing.items() if subject.strict else ():
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
