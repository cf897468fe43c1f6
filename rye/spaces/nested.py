"""Finds the projects below a folder, one per ``.ai``, and reports folders that could not be read.

Nothing below the folder may hide a project from verification. Hence links are followed, folders that cannot be read are
problems, and exceeding the limit on the number of folders is a problem rather than a silent end.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from collections.abc import Collection
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from rye._files import real_path
from rye.errors import EnvironmentFault, ItemError, RyeError
from rye.items.clients import (
    FIXED_FILES,
    FIXED_NAMES,
    MARKS,
    OF_BUNDLES,
    OF_PROJECTS,
    PLUGIN,
    SKILLS,
    SKILLS_FOLDER,
    ClientFolder,
    is_obeyed,
    is_unknown_dot_name,
    skills_of_another,
)
from rye.spaces.bundles import RootCollector, has_items, has_skills_itself, identify
from rye.spaces.classify import PLACES, is_looked_into, is_skipped, spelled_as
from rye.spaces.discover import check_project, client_roots, path_in_repository, project_root, repository_of
from rye.spaces.git import Tracked, ask
from rye.spaces.model import FOLDER, Root, Space, is_within
from rye.spaces.snapshot import entries, names, tree
from rye.spaces.uncovered import named_files
from rye.trust.line import DETACHED_SUFFIX

# ruff: noqa: PTH112, PTH116, PTH118, PTH119, PTH120 - paths are text here, for there may be many


MAX_FOLDERS = 100_000
"""Maximum number of folders searched for projects; this takes some seconds."""

_READ = MARKS.union(FIXED_NAMES, [folder.place for folder in OF_PROJECTS]) - {"", SKILLS_FOLDER}
_MEANT = {path.casefold(): path for path in _READ}
"""Paths that clients read below a project, by their lower-case spelling."""


class Repository(NamedTuple):
    """A repository in a searched folder, or around it.

    Attributes:
        path: Its folder, as it was found; the searched folder for the repository around that.
        real: The same with links resolved.
        tracked: What git says about it.
        is_nested: Whether it lies in the searched folder.
        is_known: Whether git knows it as a submodule or work tree of the repository around it.
    """

    path: str
    real: str
    tracked: Tracked
    is_nested: bool = False
    is_known: bool = True


class ProjectsBelow(NamedTuple):
    """The projects below a folder, and the bundle that the folder itself may be.

    Attributes:
        roots: The project or bundle that the folder itself is, then the projects in it.
        problems: Errors about unreadable folders that may be or contain a project, each with its ``path``.
        unsearched: A sentence about the folders that were skipped because of their names; empty if none.
        dot_names: Paths of files and folders with names that begin with a dot and are in no table.
        repositories: The repository around the folder, then those in it, each a project of its own.
    """

    roots: tuple[Root, ...]
    problems: tuple[RyeError, ...] = ()
    unsearched: str = ""
    dot_names: tuple[str, ...] = ()
    repositories: tuple[Repository, ...] = ()


def look_below(
    folder: Path, *, taken: Collection[str] = (), without: Collection[Path] = (), most: int = MAX_FOLDERS
) -> ProjectsBelow:
    """Return the projects in a folder, and the bundle that it may be itself, importing nothing.

    Every folder with a ``.ai`` is a project, even if it holds no items; only a folder without one can be a bundle. The
    search goes on below projects, so that no project can hide another. Links are followed, each real folder once. The
    target of a link out of ``folder`` is searched too, and a project there is a problem. Hidden folders and folders
    inside a ``.ai`` are entered by links only, or if git knows them as submodules or work trees.

    Args:
        folder: Where to look.
        taken: Names that are already in use.
        without: Folders and links to exclude, with everything below them.
        most: Maximum number of folders to search.
    """
    search = _Search(Path(os.path.abspath(folder)), taken, most)  # noqa: PTH100 - links stay
    search.left_out = frozenset(map(os.path.abspath, without))
    search.run()
    return ProjectsBelow(
        search.roots.result()[0],
        tuple(search.problems),
        search.unsearched(),
        tuple(sorted(search.dot_names)),
        tuple(search.repositories.values()),
    )


class _NestedPlace(NamedTuple):
    """A folder to search.

    Attributes:
        path: Its path.
        real: Its real path.
        out: The link on the way that leads out of the searched folder, if any.
        top: The real path of the innermost repository around it, or of the searched folder.
    """

    path: str
    real: str
    out: str = ""
    top: str = ""


class _Inside(NamedTuple):
    """The names in a searched folder.

    Attributes:
        names: The folders to search, and whether each is a link.
        other_folders: Other folders.
        client_names: Names that clients read, in any spelling.
        dots: Names that begin with a dot and are in no table.
        is_repository: Whether it is the top of a repository.
    """

    names: list[tuple[str, bool]]
    other_folders: list[str]
    client_names: list[str]
    dots: list[str]
    is_repository: bool = False

    @classmethod
    def of(cls, folder: str) -> _Inside:
        """Sort the names in a folder into these lists.

        Raises:
            OSError: The folder cannot be read.
        """
        listed = entries(folder)
        inside = cls([], [], [], [], any(entry.name == ".git" for entry in listed))
        for entry in listed:
            name, spelled = entry.name, spelled_as(entry.name)
            if spelled in _MEANT or is_obeyed(spelled):
                inside.client_names.append(name)
            elif is_unknown_dot_name(name.removesuffix(DETACHED_SUFFIX), spelled):
                inside.dots.append(name)
            is_folder = name == FOLDER or entry.is_dir(follow_symlinks=False)
            is_link = not is_folder and entry.is_symlink() and _may_lead_to_folder(entry.path)
            if name == FOLDER or ((is_folder or is_link) and is_looked_into(name)):
                inside.names.append((name, is_link))
            elif is_folder or is_link:
                inside.other_folders.append(name)
        return inside


class _Search:
    """A breadth-first search: first by the folders' own paths, then along links, and last outside the top folder."""

    def __init__(self, folder: Path, taken: Collection[str], most: int) -> None:
        self._folder = folder
        self._most = most
        self._real = real_path(folder)
        self.roots = RootCollector(taken)
        self._queue: deque[_NestedPlace] = deque()
        self._links: list[_NestedPlace] = []
        self._outside: deque[_NestedPlace] = deque()
        self._escaped: set[str] = set()
        self._seen = {self._real}
        self._unsearched: list[str] = []
        self.problems: list[RyeError] = []
        self.dot_names: list[str] = []
        self.left_out: Collection[str] = ()
        self.repositories: dict[str, Repository] = {}
        self._with_files: set[str] = set()

    def run(self) -> None:
        """Check whether the folder itself is a project or bundle, then search it."""
        for itself in (self._folder, Path(self._real)):
            if itself.name == FOLDER:
                self._add_project(itself)
                return
        if not os.path.lexists(self._folder / FOLDER) and has_items(self._folder):
            self._add_bundle()
        elif not has_items(self._folder / FOLDER) and has_skills_itself(self._folder):
            self._add_bundle(client=SKILLS)
        self._queue.append(_NestedPlace(str(self._folder), self._real, top=self._real))
        if repository_of(self._folder):
            self._add_repository(str(self._folder), self._real)
        while place := self._next():
            if len(self._seen) > self._most:
                named = f"more than {self._most:,} folders are in {str(self._folder)!r}, or where links in it lead"
                message = f"{named}; not searched: {place.path!r} and others"
                hint = "name the projects in it that are to be verified, or leave folders out with --exclude"
                self._report("too-many-folders", message, hint, place.path)
                return
            self._look_into(place)

    def _next(self) -> _NestedPlace | None:
        while self._links and not self._queue:
            links, self._links = self._links, []
            for link in links:
                self._follow(link)
        queue = self._queue or self._outside
        return queue.popleft() if queue else None

    def _report(self, code: str, message: str, hint: str, path: str) -> None:
        self.problems.append(ItemError(code, message, hint=hint, path=path))

    def _look_into(self, place: _NestedPlace) -> None:
        """Add the ``.ai`` of a folder and queue its subfolders; behind a link out, report only the first project."""
        inside = None if place.out in self._escaped else self._names_in(place.path)
        if inside is None:
            return
        if inside.is_repository and not place.out and place.real != self._real:
            place = place._replace(top=place.real)
            self._add_repository(place.path, place.real)
        elif FOLDER in dict(inside.names) and not self.repositories:  # outside repositories, a project begins here
            place = place._replace(top=place.real)
        skills = {name for name in inside.other_folders if _has_skills(place.path, name)}
        if not place.out:
            self._note(place.path, inside, skills)
        if inside.client_names or skills or PLUGIN in inside.other_folders or SKILLS_FOLDER in dict(inside.names):
            self._add_clients(place)
        for name, is_link in inside.names:
            path = os.path.join(place.path, name)
            if path in self.left_out:
                continue
            if name == FOLDER and place.out and not self._holds(real_path(path)):
                self._escape(place.out, place.real)
            elif name == FOLDER:
                self._add_project(Path(path))
            elif is_link:
                self._links.append(_NestedPlace(path, real_path(path), place.out, place.top))
            else:
                self._enter(place._replace(path=path, real=os.path.join(place.real, name)))

    def _add_repository(self, path: str, real: str) -> None:
        """Record a repository, and search the submodules and work trees in it that lie in hidden folders."""
        above = repository_of(Path(real).parent)
        around = self.repositories.get(str(above)) or self.repositories.get(self._real)
        is_known = real == self._real or (around is not None and around.tracked.knows(real))
        tracked = ask(Path(real))
        self.repositories[real] = Repository(path, real, tracked, real != self._real, is_known)
        for inner in sorted({*tracked.worktrees, *(f"{tracked.top}/{name}" for name in tracked.submodules)}):
            inside = os.path.relpath(inner, real)
            parts = inside.split("/")
            is_of_root = FOLDER in parts or any(f"{part}/{name}" in PLACES for part, name in pairwise(parts))
            full = os.path.join(path, inside)
            if self._holds(inner) and not (is_of_root or any(is_within(full, left) for left in self.left_out)):
                self._enter(_NestedPlace(full, inner, top=real))

    def _names_in(self, folder: str) -> _Inside | None:
        """Return the names in a folder; report the folder if it cannot be read."""
        try:
            return _Inside.of(folder)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            too_long = error.errno == errno.ENAMETOOLONG
            hint = "check its permissions, or leave it out: --exclude"
            hint = "give the folders around it shorter names" if too_long else hint
            message = f"{folder!r} cannot be read, so its content is not known: {error.strerror}"
            self._report("unreadable", message, hint, folder)
            return None

    def _note(self, folder: str, inside: _Inside, skills: Collection[str]) -> None:
        """Record folders that are not searched, and report misspelt names."""
        paths = (os.path.join(folder, name) for name in inside.dots)
        self.dot_names += [path for path in paths if path not in self.left_out]
        for name in inside.other_folders:
            if name not in skills:
                self._pass_over(os.path.join(folder, name), spelled_as(name))
        for name in inside.client_names:
            self._pass_over_misspelt(folder, name)

    def _pass_over(self, path: str, name: str) -> None:
        """Record a folder that is skipped by its name; report it if a case-insensitive system would see a project."""
        if path in self.left_out:
            return
        if name == FOLDER:
            message = f"{path!r} is {FOLDER} on systems that ignore case, and a project there"
            self._report("bad-name", message, f"rename it, to {FOLDER} if it is one, or leave it out: --exclude", path)
        elif name != ".git" and (name not in {*MARKS, PLUGIN} or _has_project(path)):
            self._unsearched.append(os.path.relpath(path, self._folder))

    def _pass_over_misspelt(self, folder: str, name: str) -> None:
        """Report names that only case-insensitive systems take for a client's file or folder."""
        below = sorted(names(os.path.join(folder, name))) if name in MARKS else ()
        for path in [f"{name}/{inner}" for inner in below] if name in MARKS else [name]:
            full, meant = os.path.join(folder, path), _MEANT.get(spelled_as(path), path)
            if meant != path and full not in self.left_out:
                message = f"{full!r} is {meant} on systems that ignore case, and agents read it there"
                self._report("bad-name", message, f"rename it, to {meant} if it is that", full)

    def unsearched(self) -> str:
        """Return a sentence about the skipped folders, and the projects among them."""
        if not self._unsearched:
            return ""
        projects = [path for path in self._unsearched if os.path.lexists(os.path.join(self._folder, path, FOLDER))]
        there = f"; there is a project in {named_files(projects)}" if projects else ""
        names = named_files(self._unsearched)
        return f"no projects are looked for in hidden folders and folders of packages: {names}{there}"

    def _enter(self, place: _NestedPlace) -> None:
        if place.real not in self._seen:
            self._seen.add(place.real)
            (self._outside if place.out else self._queue).append(place)

    def _follow(self, link: _NestedPlace) -> None:
        """Queue the target of a link, which may lie outside, from where another link may lead in again.

        A link to a folder that contains an excluded folder is a problem: the excluded folder would be read through it.
        """
        for left_out in self.left_out:
            here = os.path.join(real_path(os.path.dirname(left_out)), os.path.basename(left_out))
            if here != link.real and is_within(here, link.real):
                message = f"{link.path!r} leads to {link.real!r}, in which {left_out!r} is left out"
                self._report("link-escape", message, "remove the link, or leave it out as well: --exclude", link.path)
        inside = self._holds(link.real)
        out = "" if inside else link.out or link.path
        if os.path.basename(link.real) != FOLDER:
            top = inside and repository_of(Path(link.real))
            self._enter(link._replace(out=out, top=str(top) if top and self._holds(str(top)) else self._real))
        elif inside:
            self._add_project(Path(link.real))
        else:
            self._escape(out, link.real)

    def _holds(self, real: str) -> bool:
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
            self.roots.add(replace(project_root(path.parent), path=path, bundle=identify(path.parent)[0]))

    def _add_clients(self, place: _NestedPlace) -> None:
        """Add the client folders in a folder; files too deep for the root at the top get a root of their own."""
        if place.out:
            return
        parts = Path(os.path.relpath(place.real, place.top)).parts
        above, is_hidden = len(parts), any(map(is_skipped, parts))  # hidden folders are reached by links only
        deep = above > FIXED_FILES.depth or is_hidden or (above > 0 and place.top not in self._with_files)
        is_plugin = os.path.lexists(os.path.join(place.path, PLUGIN))
        for root in client_roots(Space.PROJECT, Path(place.path), OF_PROJECTS + (OF_BUNDLES if is_plugin else ())):
            fixed = root.client is not None and root.client.is_fixed
            if fixed and above == 0:
                self._with_files.add(place.top)
            if (not fixed or deep or above == 0) and str(root.path) not in self.left_out:
                here = replace(root, client=root.client._replace(depth=0)) if deep and fixed and root.client else root
                self.roots.add(replace(here, bundle=identify(Path(place.path))[0]))

    def _add_bundle(self, client: ClientFolder | None = None) -> None:
        """Add the folder itself as a bundle; inside a ``.ai`` it is part of a project instead."""
        root = Root(Space.SYSTEM, self._folder, *identify(self._folder), client=client)
        if FOLDER in Path(self._real).parts:
            root = replace(root, space=Space.PROJECT, version="", prefix=path_in_repository(self._folder))
        self.roots.add(root)


def _has_project(folder: str) -> bool:
    return any(not isinstance(row, OSError) and row[1].name == FOLDER for row in tree(folder, _is_project))


def _is_project(path: str) -> bool:
    return path.rpartition("/")[2] == FOLDER


def _has_skills(folder: str, name: str) -> bool:
    """Return whether a hidden folder with skills belongs to a client that is in no table."""
    return skills_of_another(name) is not None and os.path.isdir(os.path.join(folder, name, SKILLS_FOLDER))


def _may_lead_to_folder(link: str) -> bool:
    """Return whether a link leads to a folder, or may do so because its target cannot be examined."""
    try:
        return stat.S_ISDIR(os.stat(link).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        return error.errno != errno.ELOOP
