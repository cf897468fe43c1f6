"""Where indexes live on disk, and why that folder can be believed.

An index decides what is found, so it is only ever read from a folder that belongs to this user, that nobody else can
write to, and that no project could have brought along. Nothing in it is unpickled: Whoosh's table of contents, which is
a pickle, is written for Whoosh's own searcher, and is only compared with its digest here.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from rye._process import remove_at_end
from rye.errors import EnvironmentFault

VARIABLE = "RYE_CACHE_DIR"
_FORMAT = "v1"


def default_cache_dir() -> Path:
    """Return ``$RYE_CACHE_DIR``, else the platform's cache folder for rye."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(os.path.expanduser(named))  # noqa: PTH111 - as below
    import platformdirs

    return Path(platformdirs.user_cache_dir("rye"))


def prepare(cache: Path, *, project: Path | None) -> tuple[Path, str]:
    """Return ``(folder, warning)``: a folder that exists, is ours alone, and lies in no project.

    Where it cannot be made, a private temporary folder that lives as long as the process stands in.

    Raises:
        EnvironmentFault: The folder belongs to someone else, others may write to it, or it lies inside the project.
    """
    cache = Path(os.path.abspath(cache))  # noqa: PTH100 - resolve() follows links, which is checked below
    _refuse_inside(cache, project)
    try:
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        return stand_in(), instead_of(cache, f"({error.strerror})")
    check(cache)
    return cache, ""


def instead_of(folder: Path, reason: str) -> str:
    """Return what to tell of a folder that :func:`stand_in` replaces."""
    return f"cannot write the cache folder {folder} {reason}; this search indexed in a temporary folder"


def make_private(folder: Path) -> None:
    """Make a folder that only this user gets into, and whatever is missing above it likewise.

    Raises:
        OSError: It cannot be made.
    """
    if not folder.is_dir():
        make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def stand_in() -> Path:
    """Make a private temporary folder that goes with the process.

    Raises:
        EnvironmentFault: There is no place for temporary files either.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix="rye-index-"))
    except OSError as error:
        message = f"the index can be written neither to the cache folder nor to a temporary one: {error.strerror}"
        hint = f"set {VARIABLE} to a folder that can be written to"
        raise EnvironmentFault("index-write", message, hint=hint) from error
    remove_at_end(folder)
    return folder


def _refuse_inside(cache: Path, project: Path | None) -> None:
    if project is None:
        return
    root, place = Path(os.path.realpath(project)), Path(os.path.realpath(cache))  # resolve() fails where links go round
    home = os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111 - Path.home() raises where there is none
    if str(root) == home and not place.is_relative_to(root / ".ai"):
        return
    if place == root or place.is_relative_to(root):
        raise EnvironmentFault(
            "cache-in-project",
            f"the cache folder {cache} lies inside the project {project}",
            hint=f"set {VARIABLE} to a folder outside it: an index that comes with a checkout could run code",
            path=str(cache),
        )


def check(folder: Path) -> None:
    """Refuse a folder that is not ours or that others may write to.

    Raises:
        EnvironmentFault: Code ``unsafe-cache``.
    """
    if os.name != "posix":
        return
    facts = folder.stat()
    if facts.st_uid != os.geteuid():
        raise EnvironmentFault(
            "unsafe-cache",
            f"the cache folder {folder} belongs to user {facts.st_uid}, not to you",
            hint=f"set {VARIABLE} to a folder of your own",
            path=str(folder),
        )
    if facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise EnvironmentFault(
            "unsafe-cache",
            f"others may write to the cache folder {folder}",
            hint=f"run: chmod 700 {folder}",
            path=str(folder),
        )


def folder_for(cache: Path, root: Path, source: str, *, project: Path | None = None) -> Path:
    """Return the folder of one space root's index; it is named by a hash of where the root is.

    It is made if need be, and if it can be: of a cache that cannot be written, what is there is still read.

    What else has the name of a root's folder is removed, since only rye names anything there.

    Raises:
        EnvironmentFault: It belongs to someone else, others may write to it, or it is a link into the project.
    """
    digest = hashlib.sha256(f"{source}\0{os.path.realpath(root)}".encode("utf-8", "surrogateescape")).hexdigest()
    folder = cache / _FORMAT
    for part in (folder, folder / digest[:32]):
        try:
            if part is not folder and os.path.lexists(part) and not part.is_dir():
                part.unlink()
            part.mkdir(mode=0o700, exist_ok=True)
        except OSError:
            if not os.path.isdir(part):  # noqa: PTH112 - Path.is_dir() raises where it may not look
                break
        _refuse_inside(part, project)
        with suppress(FileNotFoundError):  # gone again: it is made anew by what writes there
            check(part)
    return folder / digest[:32]
