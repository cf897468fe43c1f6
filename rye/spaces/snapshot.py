"""Lists the names in a folder, and every file below one.

Nothing here follows a link. The tree may change during a walk: files that have disappeared are left out. Nothing read
here is trusted later: :mod:`rye.spaces.read` opens every file below its root again and checks the open file.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Final

from rye._files import is_half_written, sweep

# ruff: noqa: PTH118, PTH208 - paths are text here, for there may be many

MAX_FILES: Final = 100_000
"""Maximum number of files listed in one root."""

LINK, PROGRAM, PLAIN, FOLDER = "120000", "100755", "100644", "040000"
"""File modes as git writes them: link, executable file, other file, folder."""

PRIVATE_KEYS: Final = "config/keys/signing/"
"""The folder of private keys below a root; no list may name a file in it."""

Entry = os.DirEntry[str]
"""A directory entry. It caches its status."""


def entries(folder: str) -> list[Entry]:
    """Return the entries of a folder, sorted by name.

    Raises:
        OSError: The folder is missing or cannot be listed.
    """
    with os.scandir(folder) as iterator:
        return sorted(iterator, key=attrgetter("name"))


def names(folder: str | os.PathLike[str]) -> frozenset[str]:
    """Return the names in a folder; empty if it is missing or cannot be listed."""
    try:
        return frozenset(os.listdir(folder))
    except (OSError, ValueError):  # a name with a zero byte
        return frozenset()


def is_git(path: str) -> bool:
    """Return whether a path ends in ``.git``."""
    return path.rpartition("/")[2] == ".git"


def tree(base: str, is_closed: Callable[[str], bool] = is_git) -> Iterator[tuple[str, Entry] | OSError]:
    """Yield the path and entry of every file and link below a folder, folder by folder, sorted by name.

    Args:
        base: The folder.
        is_closed: Takes the path of a subfolder; if it returns True, the folder itself is yielded and not entered.

    Yields:
        The path below ``base``, with slashes, and the entry; or the error of a folder that cannot be read.
    """
    folders = [""]
    while folders:
        folder = folders.pop()
        try:
            inside = entries(os.path.join(base, folder))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            yield error
            continue
        for entry in inside:
            path = folder + entry.name
            if entry.is_dir(follow_symlinks=False) and not is_closed(path):
                folders.append(f"{path}/")
            else:
                yield path, entry


def sweep_below(base: Path) -> None:
    """Remove the temporary files that killed writers left anywhere below a folder."""
    below = (result[0] for result in tree(os.fspath(base)) if not isinstance(result, OSError))
    for folder in {path.rpartition("/")[0] for path in below if is_half_written(path.rpartition("/")[2])}:
        sweep(base / folder)


def mode_of(entry: Entry) -> str:
    """Return the mode of a file, link or folder; empty for a pipe, socket or device."""
    if entry.is_symlink():
        return LINK
    try:
        mode = entry.stat(follow_symlinks=False).st_mode
    except OSError:  # it has just been removed; reading it will report that
        return PLAIN
    if not stat.S_ISREG(mode):
        return FOLDER if stat.S_ISDIR(mode) else ""
    return PROGRAM if mode & 0o111 and os.name == "posix" else PLAIN


def is_listable(path: str) -> bool:
    """Return whether a list includes a file: neither a private key nor a half-written file."""
    unfinished = ".tmp" in path and any(map(is_half_written, path.split("/")))
    return not (unfinished or path.startswith(PRIVATE_KEYS))
