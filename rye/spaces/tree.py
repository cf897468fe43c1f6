"""Every file below a folder, by path and mode, as signed lists name them."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from rye._files import is_half_written

MAX_FILES: Final = 100_000
"""Files of one root that are listed, at most."""

LINK, PROGRAM, PLAIN, FOLDER = "120000", "100755", "100644", "040000"
"""The mode of a file, as git writes it: a link, a file that may be executed, any other, and a folder."""

PRIVATE_KEYS: Final = "config/keys/signing/"
"""The folder of private keys below a root, which no list names."""


class FileMode(NamedTuple):
    """A file below a root: its path, with slashes, and its mode; an empty mode for a pipe, socket or device."""

    path: str
    mode: str


def is_git(path: str) -> bool:
    """Return whether a path is that of a folder ``.git``."""
    return path.rpartition("/")[2] == ".git"


def tree(base: str, is_closed: Callable[[str], bool] = is_git) -> Iterator[tuple[str, os.DirEntry[str]] | OSError]:
    """Yield path and entry of every file and link below a folder, folder by folder, in the order of their names.

    Links are not followed. What has just gone is left out.

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
            with os.scandir(os.path.join(base, folder)) as found:  # noqa: PTH118 - text, for there may be many
                entries = sorted(found, key=lambda entry: entry.name)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            yield error
            continue
        for entry in entries:
            path = folder + entry.name
            if entry.is_dir(follow_symlinks=False) and not is_closed(path):
                folders.append(f"{path}/")
            else:
                yield path, entry


def mode_of(entry: os.DirEntry[str]) -> str:
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
