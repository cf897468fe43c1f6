"""The open projects of a server: found by path, opened once, watched, and closed when too many are open."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rye.errors import ArgumentError, EnvironmentFault, NotFoundError
from rye.mcp.calls import Call
from rye.mcp.startup import Options

if TYPE_CHECKING:
    from rye.registry.live import Changed
    from rye.registry.registry import Registry

MAX_PROJECTS = 8
"""Projects that are open at a time, beside those named at the start."""

_ABSOLUTE = re.compile(r"(?<![\w:/.~-])(?:[A-Za-z]:[\\/]|/)[^\s'\"`,;:)]+")
_TO_LAST_SLASH = re.compile(r"[^'\"`,:;\n]*[\\/][^\s'\"`,;:)]*")


class Project:
    """One open project with its user and system space.

    Args:
        folder: Its folder; None for the project around the working directory.
        options: Options that all projects share.
        changed: Called from another thread with the roots and the changed files.
    """

    def __init__(self, folder: Path | None, options: Options, changed: Changed) -> None:
        from rye.registry.live import Live

        self._folder = folder
        self._options = options
        self._calls: set[Call] = set()
        self._is_closed = False
        self._live = Live(self._open, changed)

    def _open(self) -> Registry:
        where = replace(self._options.where, project=self._folder)
        return where.open(self._report, self._is_unwanted)

    @property
    def registry(self) -> Registry:
        """The registry that was opened last."""
        return self._live.registry

    @contextmanager
    def used_by(self, call: Call) -> Iterator[Registry]:
        """Give a call the registry, and report the progress of indexing to it until the block ends."""
        self._calls.add(call)
        try:
            with self._live.used(lambda: call.is_wanted) as registry:
                yield registry
        finally:
            self._calls.discard(call)

    def _report(self, done: int, total: int, source: str) -> None:
        for call in list(self._calls):
            call.report_files(done, total, source)

    def _is_unwanted(self) -> bool:
        """Return whether to stop indexing: every call that waited for it is cancelled.

        Background indexing of changed files goes on until the project is closed.
        """
        calls = list(self._calls)
        return not any(call.is_wanted for call in calls) if calls else self._is_closed

    def abandon(self) -> None:
        """Cancel every call."""
        self._is_closed = True
        for call in list(self._calls):
            call.abandon()

    def close(self) -> None:
        """Stop watching and embedding; running calls still end."""
        self._is_closed = True
        self._live.close()


class Projects:
    """The open projects of a server. Thread-safe.

    Args:
        options: The projects that callers may name, and options that all share.
        changed: Called from another thread with the roots of the default project and its changed files.
    """

    def __init__(self, options: Options, changed: Changed) -> None:
        self._options = options
        self._changed = changed
        self._lock = threading.Lock()
        self._open: OrderedDict[Path | None, Project] = OrderedDict()
        self._opening: dict[Path | None, threading.Lock] = {}
        self._places: frozenset[Path] = frozenset()
        self._named = tuple(Path(folder).resolve() for folder in options.projects)

    def find(self, named: Any = None) -> Project:
        """Return the project that a caller names, or the default one.

        Raises:
            ArgumentError: ``bad-project-path``, ``project-refused``.
            NotFoundError: ``project-not-found``, ``project-without-items``.
        """
        folder = self._default() if named is None else self._allowed(named)
        with self._lock:
            opening = self._opening.setdefault(folder, threading.Lock())
        with opening:  # whoever wants another project does not wait for this one to open
            with self._lock:
                if folder in self._open:
                    self._open.move_to_end(folder)
                    return self._open[folder]
            is_default = named is None or folder == self._default()
            changed: Changed = self._changed if is_default else lambda *_: None  # resources are of the default project
            return self._keep(folder, Project(folder, self._options, changed))

    def _keep(self, folder: Path | None, project: Project) -> Project:
        """Keep a project open, and close the least recently used ones."""
        with self._lock:
            self._open[folder] = project
            self._places |= {root.path for root in project.registry.roots}
            for other in [key for key in self._open if key not in {*self._named, None, folder}][:-MAX_PROJECTS]:
                self._open.pop(other).close()
                self._opening.pop(other, None)
        return project

    def hide_paths(self, text: str) -> str:
        """Return text without paths, except paths in a space of an open project.

        A path may hold spaces, so the removed part goes on to the last slash of its clause.
        """
        places = self._places.union(
            root.path for project in list(self._open.values()) for root in project.registry.roots
        )
        shown, at = "", 0
        while path := _ABSOLUTE.search(text, at):
            is_known = any(Path(path[0]).is_relative_to(place) for place in places)
            rest = None if is_known else _TO_LAST_SLASH.match(text, path.start())
            shown += text[at : path.start()] + (path[0] if is_known else "<path>")
            at = max(path.end(), rest.end() if rest else 0)
        return shown + text[at:]

    def abandon(self) -> None:
        """Cancel every call in all projects."""
        for project in list(self._open.values()):
            project.abandon()

    def close(self) -> None:
        """Cancel every call and stop watching."""
        self.abandon()
        with self._lock:
            while self._open:
                self._open.popitem()[1].close()

    def _default(self) -> Path | None:
        """Return the first project named at the start; None means the project around the working directory."""
        return self._named[0] if self._named else None

    def _allowed(self, named: Any) -> Path | None:
        try:
            right = isinstance(named, str) and "\0" not in named and Path(named).is_absolute()
            folder = Path(named).resolve() if right else None
        except (OSError, RuntimeError):  # a cycle of links
            folder = None
        if folder is None:
            hint = "give the absolute path of the folder that holds .ai, or leave it out"
            raise ArgumentError("bad-project-path", f"project_path is {named!r}", hint=hint)
        if folder == self._around():
            return None
        if (self._named or self._options.http) and folder not in self._named:
            message = "this server was not started for that project"
            raise ArgumentError("project-refused", message, hint="leave project_path out for the default project")
        return _checked(folder)

    def _around(self) -> Path | None:
        """Return the project around the working directory, if no project was named."""
        if self._named:
            return None
        project = _nearest(Path.cwd())
        return None if project is None else project.resolve()


def _nearest(folder: Path) -> Path | None:
    """Return the project around a folder; None if there is none or it cannot be used."""
    from rye.spaces.discover import find_project, user_space

    try:
        return find_project(folder, user=user_space())
    except EnvironmentFault:
        return None


def _checked(folder: Path) -> Path:
    """Return a folder that may be searched: a project, or a folder without items that lies in no project."""
    from rye.spaces.discover import check_project

    try:
        is_folder = folder.is_dir()
    except OSError:
        is_folder = False
    if not is_folder:
        message = f"there is no project folder {str(folder)!r}"
        raise NotFoundError("project-not-found", message, hint="name the folder that holds .ai, or leave it out")
    check_project(folder)
    around = _nearest(folder)
    if around is not None and around.resolve() != folder:
        hint = f"did you mean {str(around)!r}? leave project_path out to search what this server was started for"
        details: dict[str, Any] = {"nearest": [str(around)]}
        raise NotFoundError("project-without-items", f"{str(folder)!r} has no folder .ai", hint=hint, **details)
    return folder
