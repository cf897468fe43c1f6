"""Finding the project and the user space."""

# ruff: noqa: PTH112 - Path.is_dir() raises where a folder may not be entered
from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from rye.errors import EnvironmentFault
from rye.spaces.model import FOLDER, Root, Space

__all__ = ["find_project", "project_root", "user_root", "user_space"]


def user_space(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder that holds the user's ``.ai``: ``USER_SPACE``, else the home folder. It need not exist.

    Args:
        environ: Environment to look in; None means that of the process.

    Raises:
        EnvironmentFault: ``no-home``.
    """
    named = (os.environ if environ is None else environ).get("USER_SPACE", "")
    try:
        folder = Path(named).expanduser() if named else Path.home()
    except RuntimeError:
        raise EnvironmentFault("no-home", "there is no home folder", hint="set USER_SPACE or HOME") from None
    return Path(os.path.abspath(folder))  # noqa: PTH100 - resolve() would replace the user's own links


def find_project(start: Path, *, user: Path | None = None) -> Path | None:
    """Return the nearest folder, from ``start`` upwards, that has a ``.ai``; None when there is none.

    Args:
        start: Where to begin.
        user: The folder that holds the user's ``.ai``, which is no project.
    """
    users = os.path.realpath(user / FOLDER) if user is not None else ""
    begin = Path(os.path.abspath(start))  # noqa: PTH100 - the project is named as the user sees it
    for folder in (begin, *begin.parents):
        candidate = folder / FOLDER
        if os.path.isdir(candidate) and os.path.realpath(candidate) != users:
            return folder
    return None


def project_root(project: Path) -> Root:
    """Return the root of a project, given the folder that holds its ``.ai``."""
    return Root(Space.PROJECT, _absolute(project))


def user_root(home: Path) -> Root:
    """Return the root of the user space, given the folder that holds its ``.ai``."""
    return Root(Space.USER, _absolute(home))


def _absolute(folder: Path) -> Path:
    return Path(os.path.abspath(folder), FOLDER)  # noqa: PTH100 - links stay as they are
