"""Which files differ from a revision in git: the one place of rye that starts another program."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rye._helpers import find_program
from rye.errors import ArgumentError, EnvironmentFault, ItemError
from rye.signing import TRUSTED_FOLDER
from rye.spaces import ItemFile, Root, read_file

__all__ = ["changed_since"]

_TIMEOUT = 120
_SETTINGS = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "protocol.allow=never",
    "safe.bareRepository=explicit",
)
"""No setting of the repository may start a program, and no folder that only looks like a repository is one."""

_HASHES = {40: hashlib.sha1, 64: hashlib.sha256}
"""What git names a content by, from the number of digits. Whoever can forge SHA-1 can forge the revision as well."""


def changed_since(revision: str, folder: Path, *, roots: Sequence[Root]) -> Callable[[Root, ItemFile], bool]:
    """Return what tells whether the bytes of a file differ from those in a git revision, or are not in it at all.

    The repository is the one around ``folder``; what lies outside it has not changed. What stands behind a link or in
    a repository of its own counts as changed. Where a root's trust files have changed, so may the verdict on each of
    its items, so all of them count as changed.

    Git only lists the revision: to compare the files itself, it would run the filters that its settings name, and
    believe an index that says of a file that it is unchanged.

    Raises:
        ArgumentError: ``bad-revision``: there is no such revision, or no repository.
        EnvironmentFault: ``no-git``: git is not installed, or failed.
    """
    git = find_program("git")
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
    places = {root.source: os.path.realpath(root.path) for root in roots}
    inside = [place for place in places.values() if _is_below(place, base)]
    committed = _committed(git, base, commit.strip().decode("ascii"), inside)
    whole = {
        root.source
        for root in roots
        if places[root.source] in inside and _trust_changed(root, places[root.source], committed)
    }

    def is_changed(root: Root, file: ItemFile) -> bool:
        place = f"{places[root.source]}/{file.rel_path}"
        return root.source in whole or (_is_below(place, base) and not _is_same(root, file.rel_path, place, committed))

    return is_changed


def _is_below(place: str, base: str) -> bool:
    return place == base or place.startswith(f"{base.rstrip('/')}/")


def _committed(git: str, base: str, commit: str, places: Sequence[str]) -> dict[str, str]:
    """Return the digest that git has of each regular file below some folders, by its path."""
    if not places:
        return {}
    below = () if base in places else tuple(os.path.relpath(place, base) for place in places)
    out, ok = _run(git, Path(base), "--literal-pathspecs", "ls-tree", "-r", "-z", "--full-tree", commit, "--", *below)
    if not ok:
        raise EnvironmentFault("no-git", "git ls-tree failed", hint="run it by hand to see why")
    rows = (row.partition(b"\t") for row in out.split(b"\0") if row.startswith(b"100"))
    return {f"{base}/{os.fsdecode(path)}": facts.split()[2].decode("ascii") for facts, _, path in rows}


def _is_same(root: Root, rel_path: str, place: str, committed: Mapping[str, str]) -> bool:
    """Tell whether a file is the regular one of the revision, byte for byte, and no link leads to it."""
    name = committed.get(place)
    if name is None or os.path.realpath(place) != place:
        return False
    try:
        content = read_file(root, rel_path)
    except ItemError:
        return False  # verification says what is wrong with it
    return _HASHES[len(name)](b"blob %d\0%b" % (len(content), content)).hexdigest() == name


def _trust_changed(root: Root, base: str, committed: Mapping[str, str]) -> bool:
    place = f"{base}/{TRUSTED_FOLDER.as_posix()}"
    files = {str(path) for path in Path(place).rglob("*") if path.is_symlink() or not path.is_dir()}
    known = {path for path in committed if path.startswith(f"{place}/")}
    same = (_is_same(root, path.removeprefix(f"{base}/"), path, committed) for path in files)
    return os.path.realpath(place) != place or files != known or not all(same)


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
