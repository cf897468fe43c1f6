"""Finds the projects below a folder, each ``.ai`` in it, and reports folders that could not be read.

Nothing below the folder may hide a project from verification: hence links are followed, folders that cannot be read are
problems, and a limit on the number of folders ends the search with a problem rather than silently.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from rye.errors import EnvironmentFault, ItemError, RyeError
from rye.spaces.bundles import RootCollector, has_items, identify, is_looked_into
from rye.spaces.discover import check_project
from rye.spaces.model import FOLDER, Root, Space, is_within

# ruff: noqa: PTH116, PTH118, PTH119 - paths are text here, for there may be many


MAX_FOLDERS = 100_000
"""Folders in which projects are looked for, at most; some seconds."""


@dataclass(frozen=True, slots=True)
class ProjectsBelow:
    """The projects below a folder, and the bundle that the folder itself may be.

    Attributes:
        roots: The project or bundle that the folder itself is, then the projects in it.
        problems: Errors about folders that may be or hold a project and could not be read, each with its ``path``.
    """

    roots: tuple[Root, ...]
    problems: tuple[RyeError, ...] = ()


def look_below(
    folder: Path, *, taken: Collection[str] = (), without: Collection[Path] = (), most: int = MAX_FOLDERS
) -> ProjectsBelow:
    """Return the projects in a folder, and the bundle that it may be itself, importing nothing.

    Every folder with a ``.ai`` is a project, even if that holds no items; only a folder without one can be a bundle.
    The search goes on below projects, so that none can hide another. Links are followed, each real folder once; where
    one leads out of ``folder``, that place is searched too, and a project there is a problem. Hidden folders and those
    inside a ``.ai`` are entered by links only.

    Args:
        folder: Where to look.
        taken: Names that are already in use.
        without: Folders and links that are left out, with all that is below them.
        most: How many folders are searched at most.
    """
    search = _Search(Path(os.path.abspath(folder)), taken, most)  # noqa: PTH100 - links stay
    search.left_out = frozenset(map(os.path.abspath, without))
    search.run()
    return ProjectsBelow(search.roots.result()[0], tuple(search.problems))


class _Place(NamedTuple):
    """A folder to search: its path, its real path, and the link that leads out on the way there, if one does."""

    path: str
    real: str
    out: str = ""


class _Search:
    """A breadth-first search: along the folders' own paths first, then along links, and outside the folder last."""

    def __init__(self, folder: Path, taken: Collection[str], most: int) -> None:
        self._folder = folder
        self._most = most
        self._real = os.path.realpath(folder)
        self.roots = RootCollector(taken)
        self._queue: deque[_Place] = deque()
        self._links: list[_Place] = []
        self._outside: deque[_Place] = deque()
        self._escaped: set[str] = set()
        self._seen = {self._real}
        self.problems: list[RyeError] = []
        self.left_out: Collection[str] = ()

    def run(self) -> None:
        """Check whether the folder itself is a project or bundle, then search it."""
        for itself in (self._folder, Path(self._real)):
            if itself.name == FOLDER:
                self._add_project(itself)
                return
        if not os.path.lexists(self._folder / FOLDER) and has_items(self._folder):
            self._add_flat()
        self._queue.append(_Place(str(self._folder), self._real))
        while place := self._next():
            if len(self._seen) > self._most:
                named = f"more than {self._most:,} folders are in {str(self._folder)!r}, or where links in it lead"
                message = f"{named}; not searched: {place.path!r} and others"
                hint = "name the projects in it that are to be verified, or leave folders out with --exclude"
                self._report("too-many-folders", message, hint, place.path)
                return
            self._look_into(place)

    def _next(self) -> _Place | None:
        while self._links and not self._queue:
            links, self._links = self._links, []
            for link in links:
                self._follow(link)
        queue = self._queue or self._outside
        return queue.popleft() if queue else None

    def _report(self, code: str, message: str, hint: str, path: str) -> None:
        self.problems.append(ItemError(code, message, hint=hint, path=path))

    def _look_into(self, place: _Place) -> None:
        """Add the ``.ai`` of a folder, and queue the folders in it; behind a link out, the first project is enough."""
        if place.out in self._escaped:
            return
        try:
            names = _list(place.path)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            too_long = error.errno == errno.ENAMETOOLONG
            hint = (
                "give the folders around it shorter names"
                if too_long
                else "check its permissions, or leave it out: --exclude"
            )
            message = f"{place.path!r} cannot be read, so its content is not known: {error.strerror}"
            self._report("unreadable", message, hint, place.path)
            return
        for name, is_link in names:
            path = os.path.join(place.path, name)
            if path in self.left_out:
                continue
            if name == FOLDER and place.out and not self._holds(os.path.realpath(path)):
                self._escape(place.out, place.real)
            elif name == FOLDER:
                self._add_project(Path(path))
            elif is_link:
                self._links.append(_Place(path, os.path.realpath(path), place.out))
            else:
                self._enter(_Place(path, os.path.join(place.real, name), place.out))

    def _enter(self, place: _Place) -> None:
        if place.real not in self._seen:
            self._seen.add(place.real)
            (self._outside if place.out else self._queue).append(place)

    def _follow(self, link: _Place) -> None:
        """Follow a link; it may lead out, and a link there may lead in again."""
        inside = self._holds(link.real)
        out = "" if inside else link.out or link.path
        if os.path.basename(link.real) != FOLDER:
            self._enter(link._replace(out=out))
        elif inside:
            self._add_project(Path(link.real))
        else:
            self._escape(out, link.real)

    def _holds(self, real: str) -> bool:
        """Return whether a real path is that of the folder or of something in it."""
        return is_within(real, self._real)

    def _escape(self, link: str, project: str) -> None:
        self._escaped.add(link)
        message = f"{link!r} leads out of {str(self._folder)!r}, to the project {project!r}"
        self._report("link-escape", message, "name the project by its own path, or remove the link", link)

    def _add_project(self, path: Path) -> None:
        try:
            check_project(path.parent)
        except EnvironmentFault as fault:
            self.problems.append(fault)
        else:
            self.roots.add(Root(Space.PROJECT, path, bundle=identify(path.parent)[0]))

    def _add_flat(self) -> None:
        """Add the folder itself as a bundle; inside a ``.ai`` it is part of a project instead."""
        root = Root(Space.SYSTEM, self._folder, *identify(self._folder))
        if FOLDER in Path(self._real).parts:
            root = replace(root, space=Space.PROJECT, version="")
        self.roots.add(root)


def _list(folder: str) -> list[tuple[str, bool]]:
    """Return the names of the folders to search in a folder, and whether they are links."""
    names = []
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            if name == FOLDER or (is_looked_into(name) and entry.is_dir(follow_symlinks=False)):
                names.append((name, False))
            elif is_looked_into(name) and entry.is_symlink() and _may_lead_to_folder(entry.path):
                names.append((name, True))
    return sorted(names)


def _may_lead_to_folder(link: str) -> bool:
    """Return whether a link leads to a folder, or may do so because its target cannot be examined."""
    try:
        return stat.S_ISDIR(os.stat(link).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        return error.errno != errno.ELOOP
