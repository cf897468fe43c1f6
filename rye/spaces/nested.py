"""Finds the projects below a folder, one per ``.ai``, and what clients read in it, however deep and under any name.

Nothing below the folder may hide a project from verification. Hence each folder is looked into but git's own, and those
that git ignores and does not track; links are followed, folders that cannot be read are problems, and exceeding the
limit on the number of folders is a problem rather than a silent end.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from rye._files import real_path
from rye.errors import EnvironmentFault, ItemError, RyeError
from rye.items.clients import (
    FIXED_FILES,
    MARKS,
    OF_BUNDLES,
    OF_PROJECTS,
    PLUGIN,
    SKILLS,
    SKILLS_FOLDER,
    ClientFolder,
    is_unknown_dot_name,
    skills_of_another,
)
from rye.spaces.bundles import RootCollector, has_items, has_skills_itself, identify
from rye.spaces.classify import PLACES, Role, spelled_as
from rye.spaces.discover import check_project, client_roots, path_in_repository, project_root, repository_of
from rye.spaces.found import Found
from rye.spaces.git import Tracked, ask, ignored_below
from rye.spaces.model import FOLDER, ItemFile, Root, Space, is_within
from rye.spaces.uncovered import named_files
from rye.spaces.walk import Link, Listing, Walk
from rye.trust.line import DETACHED_SUFFIX

# ruff: noqa: PTH112, PTH118, PTH119, PTH120 - paths are text here, for there may be many

MAX_FOLDERS = 100_000
"""Maximum number of folders searched for projects; this takes some seconds."""

_STARTS = MARKS | {SKILLS_FOLDER, PLUGIN, *(place.partition("/")[0] for place in PLACES)}
"""A folder without any of these names has no client folders, but for those of unknown clients."""


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


@dataclass(frozen=True, slots=True)
class FilesOfClients:
    """The files that clients read anywhere in a project, outside the folders that are roots of their own.

    Attributes:
        root: The project, as the root of its files with fixed names.
        items: The items.
        found: What is no item and matters.
    """

    root: Root
    items: list[ItemFile] = field(default_factory=list)
    found: Found = field(default_factory=Found)


class ProjectsBelow(NamedTuple):
    """The projects below a folder, and the bundle that the folder itself may be.

    Attributes:
        roots: The project or bundle that the folder itself is, then the projects in it.
        problems: Errors about what may be or contain a project, each with its ``path``.
        unsearched: A sentence about the folders that git ignores; empty if there are none.
        dot_names: Paths of files and folders with names that begin with a dot and are in no table.
        repositories: The repository around the folder, then those in it, each a project of its own.
        files: The folder at the top of each project → what clients read in it.
    """

    roots: tuple[Root, ...]
    problems: tuple[RyeError, ...] = ()
    unsearched: str = ""
    dot_names: tuple[str, ...] = ()
    repositories: tuple[Repository, ...] = ()
    files: Mapping[Path, FilesOfClients] = MappingProxyType({})


def look_below(
    folder: Path, *, taken: Collection[str] = (), without: Collection[Path] = (), most: int = MAX_FOLDERS
) -> ProjectsBelow:
    """Return the projects in a folder, and the bundle that it may be itself, importing nothing.

    Every folder with a ``.ai`` is a project, even if it holds no items; only a folder without one can be a bundle. The
    search goes on below projects, so that no project can hide another. Links are followed, each real folder once. The
    target of a link out of ``folder`` is searched too, and what clients read there is a problem. Links alone lead into
    a ``.ai``.

    Args:
        folder: Where to look.
        taken: Names that are already in use.
        without: Folders and links to exclude, with everything below them.
        most: Maximum number of folders to search.
    """
    left_out = frozenset(map(os.path.abspath, without))
    search = _Search(Path(os.path.abspath(folder)), taken, left_out, most)  # noqa: PTH100 - links stay
    search.run()
    return ProjectsBelow(
        search.roots.result()[0],
        tuple(search.problems),
        search.unsearched(),
        tuple(sorted(search.dot_names)),
        tuple(search.repositories.values()),
        MappingProxyType(search.files),
    )


class _Way(NamedTuple):
    """A folder to walk over.

    Attributes:
        root: The project that it is or lies in.
        real: Its real path.
        begin: Its path below the project.
        out: The link on the way that leads out of the searched folder, if any.
    """

    root: Root
    real: str
    begin: str = ""
    out: str = ""

    def real_of(self, path: str) -> str:
        """Return the real path of a folder below the project that no further link leads to."""
        return os.path.normpath(os.path.join(self.real, os.path.relpath(path or ".", self.begin or ".")))


class _Search:
    """A search of folders by their own paths, then of those that only links lead to, inside and last outside."""

    def __init__(self, folder: Path, taken: Collection[str], left_out: frozenset[str], most: int) -> None:
        self._folder, self._real = folder, real_path(folder)
        self._left_out, self._most = left_out, most
        self._ignored: dict[str, None] = {}
        self._ways: list[_Way] = []
        self._links: list[tuple[_Way, Link]] = []
        self._outside: list[_Way] = []
        self._aliases: list[tuple[_Way, Link]] = []
        self._escaped: set[str] = set()
        self._seen: set[str] = set()
        self.roots = RootCollector(taken)
        self.problems: list[RyeError] = []
        self.dot_names: list[str] = []
        self.repositories: dict[str, Repository] = {}
        self.files: dict[Path, FilesOfClients] = {}

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
        self._begin(self._folder, self._real)
        if repository_of(self._folder):
            self._add_repository(str(self._folder), self._real)
        while self._ways or self._links or self._outside:
            if self._links and not self._ways:
                self._follow(*self._links.pop(0))
            elif not self._walk((self._ways or self._outside).pop()):
                break
        for way, link in self._aliases:
            self._name_alias(way, link)
        for files in self.files.values():
            if files.items or files.found.relevant or files.found.strays or files.found.loose:
                self.roots.add(files.root)

    def _begin(self, path: Path, real: str, out: str = "") -> None:
        """Queue the folder at the top of a project."""
        prefix, name = path_in_repository(path), identify(path)[0]
        root = Root(Space.PROJECT, path, bundle=name, client=FIXED_FILES, prefix=prefix)
        (self._outside if out else self._ways).append(_Way(root, real, out=out))

    def _walk(self, way: _Way) -> bool:
        """Walk over a project, up to the projects in it; return whether the search may go on."""
        walk = Walk(way.root, whole=True, without={*self._left_out, *self._ignored}, begin=way.begin)
        for listing in walk:
            real = way.real_of(listing.folder.path)
            if real in self._seen or way.out in self._escaped:
                continue
            if len(self._seen) == self._most:
                self._report_too_many(str(way.root.path / listing.folder.path))
                return False
            self._seen.add(real)
            if way.out:
                self._look_out(way, listing)
            else:
                self._look_into(way, listing)
        if way.out not in self._escaped:
            self.problems += (_placed(problem, way.root) for problem in walk.problems)
            self._links += ((way, link) for link in walk.links)
            for path in reversed(walk.repositories):
                self._add_top(way, path)
        return True

    def _report(self, code: str, message: str, hint: str, path: str) -> None:
        self.problems.append(ItemError(code, message, hint=hint, path=path))

    def _report_too_many(self, path: str) -> None:
        named = f"more than {self._most:,} folders are in {str(self._folder)!r}, or where links in it lead"
        hint = "name the projects in it that are to be verified, or leave folders out with --exclude"
        self._report("too-many-folders", f"{named}; not searched: {path!r} and others", hint, path)

    def _look_into(self, way: _Way, listing: Listing) -> None:
        """Take in what clients read in a folder, its ``.ai``, its client folders, and its unknown dot names."""
        folder, path = listing.folder, way.root.path / listing.folder.path
        files = self.files.setdefault(way.root.path, FilesOfClients(way.root))
        files.items.extend(way.root.file(row.path) for row in listing.of(Role.ITEM))
        files.found.add(listing)
        names = {entry.name for entry in listing.entries}
        names -= {name for name in names if self._left_out and str(path / name) in self._left_out}
        if FOLDER in names:
            self._add_project(path / FOLDER)
        if folder.covered:
            return
        if not names.isdisjoint(_STARTS) or any(_has_skills(path, name) for name in names):
            known = OF_PROJECTS + (OF_BUNDLES if PLUGIN in names else ())
            for root in client_roots(Space.PROJECT, path, known):
                is_found = folder.may_hold_skills or root.folder != SKILLS_FOLDER
                if is_found and root.path != path and str(root.path) not in self._left_out:
                    self.roots.add(replace(root, bundle=identify(path)[0]))
        if not folder.is_hidden:
            dots = (name for name in names if is_unknown_dot_name(name.removesuffix(DETACHED_SUFFIX), spelled_as(name)))
            self.dot_names += [str(path / name) for name in dots]

    def _look_out(self, way: _Way, listing: Listing) -> None:
        """Report the link that leads out of the searched folder to a folder in which clients read a file."""
        read = [row.path for row in listing.of(Role.ITEM, Role.OBEYED)]
        read += [listing.folder.below(entry.name) for entry in listing.entries if listing.folder.is_root(entry.name)]
        if read:
            self._escape(way.out, str(way.root.path / read[0]))

    def _escape(self, link: str, read: str) -> None:
        self._escaped.add(link)
        message = f"{link!r} leads out of {str(self._folder)!r}, to what agents read: {real_path(read)!r}"
        self._report("link-escape", message, "name the project by its own path, or remove the link", link)

    def _add_top(self, way: _Way, path: str) -> None:
        """Queue a project in a project; a repository is one."""
        full, real = way.root.path / path, way.real_of(path)
        if not way.out and os.path.lexists(full / ".git"):
            self._add_repository(str(full), real)
        self._begin(full, real, way.out)

    def _add_repository(self, path: str, real: str) -> None:
        """Record a repository, and search the submodules and work trees in it that lie in folders left out."""
        above = repository_of(Path(real).parent)
        around = self.repositories.get(str(above)) or self.repositories.get(self._real)
        is_known = real == self._real or (around is not None and around.tracked.knows(real))
        tracked = ask(Path(real))
        self.repositories[real] = Repository(path, real, tracked, real != self._real, is_known)
        self._ignored |= dict.fromkeys(sorted(ignored_below(Path(path), tracked)))
        for inner in sorted({*tracked.worktrees, *(f"{tracked.top}/{name}" for name in tracked.submodules)}):
            full = os.path.normpath(os.path.join(path, os.path.relpath(inner, real)))
            parts = os.path.relpath(inner, real).split("/")
            is_of_root = FOLDER in parts or any(f"{part}/{name}" in PLACES for part, name in pairwise(parts))
            is_hidden = any(is_within(full, folder) for folder in self._ignored)
            if is_hidden and self._holds(inner) and not is_of_root and self._is_wanted(full):
                self._add_repository(full, inner)
                self._begin(Path(full), inner)

    def _is_wanted(self, path: str) -> bool:
        return not any(is_within(path, folder) for folder in self._left_out)

    def unsearched(self) -> str:
        """Return a sentence about the folders that were left out, and how many there are."""
        names = [os.path.relpath(path, self._folder) for path in self._ignored if os.path.isdir(path)]
        return f"git ignores what was not looked into: {named_files(names)}" if names else ""

    def _follow(self, way: _Way, link: Link) -> None:
        """Search the target of a link, which may lie outside, from where another link may lead in again.

        A link to a folder that contains an excluded folder is a problem: the excluded folder would be read through it.
        """
        path = str(way.root.path / link.path)
        for left_out in self._left_out:
            here = os.path.join(real_path(os.path.dirname(left_out)), os.path.basename(left_out))
            if here != link.real and is_within(here, link.real):
                message = f"{path!r} leads to {link.real!r}, in which {left_out!r} is left out"
                self._report("link-escape", message, "remove the link, or leave it out as well: --exclude", path)
        is_inside, out = self._holds(link.real), way.out or path
        if os.path.basename(link.real) == FOLDER:
            if is_inside:
                self._add_project(Path(link.real))
            else:
                self._escape(out, link.real)
        elif link.real in self._seen:
            self._aliases += [(way, link)] if is_inside and not way.out else []
        elif not is_inside:
            self._begin(Path(path), link.real, out)
        elif way.out or os.path.lexists(os.path.join(link.real, ".git")):
            self._begin(Path(link.real), link.real)
        else:
            self._ways.append(_Way(way.root, link.real, link.path))

    def _name_alias(self, way: _Way, link: Link) -> None:
        """Name a link to a folder that holds what may not stand at the new place, as all but skills."""
        roots = [root for root in self.roots.result()[0] if not root.has_skills]
        bound = [real_path(root.path) for root in roots if root.path != way.root.path]
        if link.path.partition("/")[0] not in MARKS:  # the files in a client folder are listed under each of its names
            for top, files in self.files.items():
                paths = [file.rel_path for file in files.items] + files.found.relevant
                bound += [os.path.join(real_path(top), path) for path in paths]
        if any(is_within(place, link.real) for place in bound):
            self.files[way.root.path].found.add_link(link.path)

    def _holds(self, real: str) -> bool:
        return is_within(real, self._real)

    def _add_project(self, path: Path) -> None:
        try:
            check_project(path.parent)
        except EnvironmentFault as fault:
            self.problems.append(fault)
        else:
            self.roots.add(replace(project_root(path.parent), path=path, bundle=identify(path.parent)[0]))

    def _add_bundle(self, client: ClientFolder | None = None) -> None:
        """Add the folder itself as a bundle; inside a ``.ai`` it is part of a project instead."""
        root = Root(Space.SYSTEM, self._folder, *identify(self._folder), client=client)
        if FOLDER in Path(self._real).parts:
            root = replace(root, space=Space.PROJECT, version="", prefix=path_in_repository(self._folder))
        self.roots.add(root)


def _placed(problem: ItemError, root: Root) -> ItemError:
    """Return a problem of a walk with its whole path."""
    path = os.path.normpath(root.path / str(problem.details["path"]))
    words = problem.message.removeprefix(f"{problem.details['path']}: ")
    return ItemError(problem.code, f"{path!r}: {words}", hint=f"{problem.hint}, or leave it out: --exclude", path=path)


def _has_skills(folder: Path, name: str) -> bool:
    """Return whether a hidden folder with skills belongs to a client that is in no table."""
    return skills_of_another(name) is not None and os.path.isdir(folder / name / SKILLS_FOLDER)
