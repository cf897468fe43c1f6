"""The names in a folder, and every file below one. No other module of rye lists the folders of a space.

Nothing here follows a link. The tree may change meanwhile: what is gone when it is looked at is left out. Nothing that
is read here is trusted later: :mod:`rye.spaces.read` opens every file below its root again and checks what it opened.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Final, NamedTuple

from rye._files import is_half_written

# ruff: noqa: PTH118, PTH208 - paths are text here, for there may be many

MAX_FILES: Final = 100_000
"""Files of one root that are listed, at most."""

LINK, PROGRAM, PLAIN, FOLDER = "120000", "100755", "100644", "040000"
"""The mode of a file, as git writes it: a link, a file that may be executed, any other, and a folder."""

PRIVATE_KEYS: Final = "config/keys/signing/"
"""The folder of private keys below a root, which no list names."""

Entry = os.DirEntry[str]
"""A name in a folder. It keeps its status once that was asked for."""


class FileMode(NamedTuple):
    """A file below a root: its path, with slashes, and its mode; an empty mode for a pipe, socket or device."""

    path: str
    mode: str


def entries(folder: str) -> list[Entry]:
    """Return what lies in a folder, in the order of the names.

    Raises:
        OSError: It is not there, or cannot be listed.
    """
    with os.scandir(folder) as found:
        return sorted(found, key=attrgetter("name"))


def names(folder: str | os.PathLike[str]) -> frozenset[str]:
    """Return the names in a folder; none where it is not there or cannot be listed."""
    try:
        return frozenset(os.listdir(folder))
    except (OSError, ValueError):  # a name with a zero byte
        return frozenset()


def is_git(path: str) -> bool:
    """Return whether a path is that of a folder ``.git``."""
    return path.rpartition("/")[2] == ".git"


def tree(base: str, is_closed: Callable[[str], bool] = is_git) -> Iterator[tuple[str, Entry] | OSError]:
    """Yield path and entry of every file and link below a folder, folder by folder, in the order of their names.

    Args:
        base: The folder.
        is_closed: Says of the path of a folder below it whether that is yielded itself instead of looked into.

    Yields:
        The path below ``base``, with slashes, and the entry; the error of a folder that cannot be read.
    """
    folders = [""]
    while folders:
        folder = folders.pop()
        try:
            found = entries(os.path.join(base, folder))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            yield error
            continue
        for entry in found:
            path = folder + entry.name
            if entry.is_dir(follow_symlinks=False) and not is_closed(path):
                folders.append(f"{path}/")
            else:
                yield path, entry


def mode_of(entry: Entry) -> str:
    """Return the mode of a file, link or folder; empty for a pipe, socket or device."""
    if entry.is_symlink():
        return LINK
    try:
        mode = entry.stat(follow_symlinks=False).st_mode
    except OSError:  # it has just gone; reading it says so
        return PLAIN
    if not stat.S_ISREG(mode):
        return FOLDER if stat.S_ISDIR(mode) else ""
    return PROGRAM if mode & 0o111 and os.name == "posix" else PLAIN


def is_listable(path: str) -> bool:
    """Return whether a list names a file: not private keys, nor what is half written."""
    unfinished = ".tmp" in path and any(map(is_half_written, path.split("/")))
    return not (unfinished or path.startswith(PRIVATE_KEYS))
