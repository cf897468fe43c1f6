"""Projects below a folder: each ``.ai`` in it, and what could not be looked at."""

# ruff: noqa: PTH112, PTH118, PTH119 - paths are text here, for there may be many
from __future__ import annotations

import os
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from rye.errors import EnvironmentFault, ItemError, RyeError
from rye.spaces.bundles import Gathered, has_items, is_looked_into
from rye.spaces.discover import check_project
from rye.spaces.manifest import identify
from rye.spaces.model import FOLDER, Root, Space

__all__ = ["MAX_FOLDERS", "Below", "look_below"]

MAX_FOLDERS = 100_000
"""Folders in which projects are looked for, at most; some seconds."""


@dataclass(frozen=True, slots=True)
class Below:
    """What lies below a folder.

    Attributes:
        roots: The project or bundle that the folder itself is, then the projects in it.
        problems: What may be a project and could not be looked at, with its ``path``.
        warnings: Sentences on folders that cannot be read.
    """

    roots: tuple[Root, ...]
    problems: tuple[RyeError, ...] = ()
    warnings: tuple[str, ...] = ()


def look_below(folder: Path, *, taken: Collection[str] = ()) -> Below:
    """Return the projects in a folder, and the bundle that it may be itself, importing nothing.

    Whatever has a ``.ai`` is a project, also when that holds no items; only a folder that has none, and is none, can be
    a bundle. Projects are looked for beside and below others, too, so that none can hide one. Links are followed to
    folders inside ``folder``, each real folder once; one that leads out of it to a project is a problem. Hidden folders
    and what lies in a ``.ai`` are reached by links alone.

    Args:
        folder: Where to look.
        taken: Names that others have already.
    """
    search = _Search(Path(os.path.abspath(folder)), taken)  # noqa: PTH100 - links stay
    search.run()
    return search.result()


@dataclass(frozen=True, slots=True)
class _Place:
    """A folder to look into: its path, and where it really is."""

    path: str
    real: str


class _Search:
    """A walk by levels, first along the folders' own paths, then along links."""

    def __init__(self, folder: Path, taken: Collection[str]) -> None:
        self._folder = folder
        self._real = os.path.realpath(folder)
        self._gathered = Gathered(taken)
        self._queue: deque[_Place] = deque()
        self._links: list[_Place] = []
        self._seen = {self._real}
        self._problems: list[RyeError] = []
        self._warnings: list[str] = []

    def run(self) -> None:
        """Look at the folder itself, then into it."""
        if self._folder.name == FOLDER:
            self._add_project(self._folder)
            return
        if os.path.basename(self._real) == FOLDER:
            self._add_project(Path(self._real))
            return
        if not os.path.lexists(self._folder / FOLDER) and has_items(self._folder):
            self._add_flat()
        self._queue.append(_Place(str(self._folder), self._real))
        while self._queue or self._links:
            while self._queue:
                if len(self._seen) > MAX_FOLDERS:
                    self._give_up(self._queue[0].path)
                    return
                self._look_into(self._queue.popleft())
            links, self._links = self._links, []
            for link in links:
                self._follow(link)

    def _give_up(self, path: str) -> None:
        message = (
            f"more than {MAX_FOLDERS:,} folders are in {str(self._folder)!r}; not looked into: {path!r} and others"
        )
        hint = "name the projects in it that are to be verified"
        self._problems.append(ItemError("too-many-folders", message, hint=hint, path=path))

    def _look_into(self, place: _Place) -> None:
        """Take the ``.ai`` of a folder, and queue the folders in it."""
        try:
            names = _list(place.path)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            self._warnings.append(f"{place.path!r} cannot be read, so what lies there is not known: {error.strerror}")
            return
        for name, is_link in names:
            path = os.path.join(place.path, name)
            if name == FOLDER:
                self._add_project(Path(path))
            elif is_link:
                self._links.append(_Place(path, os.path.realpath(path)))
            else:
                self._enter(_Place(path, os.path.join(place.real, name)))

    def _enter(self, place: _Place) -> None:
        if place.real not in self._seen:
            self._seen.add(place.real)
            self._queue.append(place)

    def _follow(self, link: _Place) -> None:
        """Go where a link leads, unless that is out of the folder."""
        base = self._real.rstrip(os.sep) + os.sep
        is_project = os.path.basename(link.real) == FOLDER
        if not f"{link.real}{os.sep}".startswith(base):
            if is_project or os.path.lexists(os.path.join(link.real, FOLDER)):
                message = f"{link.path!r} leads out of {str(self._folder)!r}, to the project {link.real!r}"
                hint = "name the project by its own path, or remove the link"
                self._problems.append(ItemError("link-escape", message, hint=hint, path=link.path))
        elif is_project:
            self._add_project(Path(link.real))
        else:
            self._enter(link)

    def _add_project(self, path: Path) -> None:
        try:
            check_project(path.parent)
        except EnvironmentFault as fault:
            self._problems.append(fault)
        else:
            self._gathered.add(Root(Space.PROJECT, path, bundle=identify(path.parent).bundle))

    def _add_flat(self) -> None:
        """Take the folder itself as a bundle; inside a ``.ai`` it is a part of a project all the same."""
        identity = identify(self._folder)
        root = Root(Space.SYSTEM, self._folder, bundle=identity.bundle, version=identity.version)
        if FOLDER in Path(self._real).parts:
            root = replace(root, space=Space.PROJECT, version="")
        self._gathered.add(root)

    def result(self) -> Below:
        """Return what was found."""
        roots, _ = self._gathered.result()
        return Below(roots, tuple(self._problems), tuple(self._warnings))


def _list(folder: str) -> list[tuple[str, bool]]:
    """Return the names in a folder that are to be looked at, and whether they are links."""
    names = []
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            if name == FOLDER or (is_looked_into(name) and entry.is_dir(follow_symlinks=False)):
                names.append((name, False))
            elif is_looked_into(name) and entry.is_symlink() and os.path.isdir(entry.path):
                names.append((name, True))
    return sorted(names)
