"""Where indexes live on disk, and why that folder can be believed.

Whoosh unpickles its table of contents, so an index is only ever read from a folder that belongs to this user, that
nobody else can write to, and that no project could have brought along.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import stat
import tempfile
from pathlib import Path

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

    Where nothing can be written, a private temporary folder that lives as long as the process stands in.

    Raises:
        EnvironmentFault: The folder belongs to someone else, others may write to it, or it lies inside the project.
    """
    cache = Path(os.path.abspath(cache))  # noqa: PTH100 - resolve() follows links, which is checked below
    _refuse_inside(cache, project)
    try:
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        return _stand_in(cache, f" ({error.strerror})")
    check(cache)
    return (cache, "") if os.access(cache, os.W_OK | os.X_OK) else _stand_in(cache)


def make_private(folder: Path) -> None:
    """Make a folder that only this user gets into, and whatever is missing above it likewise.

    Raises:
        OSError: It cannot be made.
    """
    if not folder.is_dir():
        make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def _stand_in(cache: Path, reason: str = "") -> tuple[Path, str]:
    folder = Path(tempfile.mkdtemp(prefix="rye-index-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder, f"cannot write the cache folder {cache}{reason}; this search indexed in a temporary folder"


def _refuse_inside(cache: Path, project: Path | None) -> None:
    if project is None:
        return
    root, place = project.resolve(), cache.resolve()
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


def folder_for(cache: Path, root: Path, source: str) -> Path:
    """Return the folder of one space root's index, made if need be; it is named by a hash of where the root is.

    Raises:
        EnvironmentFault: It cannot be made, belongs to someone else, or others may write to it.
    """
    digest = hashlib.sha256(f"{source}\0{os.path.realpath(root)}".encode("utf-8", "surrogateescape")).hexdigest()
    folder = cache / _FORMAT
    for part in (folder, folder / digest[:32]):
        try:
            part.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise EnvironmentFault(
                "unsafe-cache",
                f"the cache folder {part} cannot be made: {error.strerror}",
                hint=f"set {VARIABLE} to a folder of your own",
                path=str(part),
            ) from error
        check(part)
    return folder / digest[:32]
