"""Which files differ from a revision in git: the one place of rye that starts another program."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from rye.errors import ArgumentError, EnvironmentFault
from rye.signing import TRUSTED_FOLDER
from rye.spaces import ItemFile, Root

__all__ = ["changed_since"]

_TIMEOUT = 120
_SETTINGS = ("core.fsmonitor=false", "core.hooksPath=/dev/null", "core.quotePath=false")
"""No setting of the repository may start a program."""


def changed_since(revision: str, folder: Path, *, roots: Sequence[Root]) -> Callable[[Root, ItemFile], bool]:
    """Return what tells whether a file differs from a git revision, or is not in it at all.

    The repository is the one around ``folder``; what lies outside it has not changed. Where a root's trust files have
    changed, so may the verdict on each of its items, so all of them count as changed.

    Raises:
        ArgumentError: ``bad-revision``: there is no such revision, or no repository.
        EnvironmentFault: ``no-git``: git is not installed, or failed.
    """
    git = shutil.which("git")
    if git is None:
        raise EnvironmentFault("no-git", "git is not installed", hint="install it, or leave out --changed-since")
    top, ok = _run(git, folder, "rev-parse", "--show-toplevel")
    if not ok:
        message = f"{str(folder)!r} is in no git repository"
        raise ArgumentError("bad-revision", message, hint="run it inside one, or leave out --changed-since")
    base = os.path.realpath(os.fsdecode(top.removesuffix(b"\n")))
    commit, ok = _run(git, folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if not ok or not commit.strip():
        hint = "fetch it first (a shallow checkout has only one commit), or name a commit, branch or tag"
        raise ArgumentError("bad-revision", f"git knows no revision {revision!r} here", hint=hint)
    name = commit.strip().decode("ascii")
    listed = b""
    for words in (
        ("diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", name, "--"),
        ("ls-files", "--others", "-z"),
    ):
        out, ok = _run(git, Path(base), *words)
        if not ok:
            raise EnvironmentFault("no-git", f"git {words[0]} failed", hint="run it by hand to see why")
        listed += out
    changed = frozenset(f"{base}/{os.fsdecode(path).rstrip('/')}" for path in listed.split(b"\0") if path)
    whole = {root.source for root in roots if _trust_changed(root, changed)}
    places = {root.source: os.path.realpath(root.path) for root in roots}

    def is_changed(root: Root, file: ItemFile) -> bool:
        place = f"{places[root.source]}/{file.rel_path}"
        return root.source in whole or any(_is_among(path, changed) for path in (place, os.path.realpath(place)))

    return is_changed


def _is_among(path: str, changed: frozenset[str]) -> bool:
    """Tell whether a path has changed, or a folder above it: a repository in a repository is named as a whole."""
    while path and path not in changed:
        path = path.rpartition("/")[0]
    return bool(path)


def _trust_changed(root: Root, changed: frozenset[str]) -> bool:
    place = f"{os.path.realpath(root.path)}/{TRUSTED_FOLDER.as_posix()}"
    return _is_among(place, changed) or any(path.startswith(f"{place}/") for path in changed)


def _run(git: str, folder: Path, *words: str) -> tuple[bytes, bool]:
    """Run git without a shell, and without what settings or the environment could make it do besides."""
    settings = [part for setting in _SETTINGS for part in ("-c", setting)]
    env = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith("GIT_") or key == "GIT_CEILING_DIRECTORIES"
    }
    env |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(  # noqa: S603 - no shell, and the revision is behind --end-of-options
            [git, *settings, *words],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentFault("no-git", f"git could not be run: {error}", hint="run it by hand to see why") from None
    return done.stdout, done.returncode == 0
