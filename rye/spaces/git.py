"""Asks git about a work tree: what it tracks, its links, submodules and other work trees, and who changed a file.

The repository is hostile: none of its settings may start a program, decide what is read, or reach the network. Each
question is one run of git over the whole tree, with bounded output and time. What git says is used to name what a
verification would miss; it never makes anything trusted.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from rye._files import real_path
from rye._process import find_program
from rye.items.clients import COVERED_IN_GITHUB, SKILL_FILE, is_covered, is_obeyed
from rye.spaces.classify import GITHUB, spelled_as
from rye.spaces.discover import index_of, repository_of
from rye.spaces.model import FOLDER, is_within

# ruff: noqa: PTH112, PTH118, PTH120 - paths are text here, for a repository may have many

MAX_OUTPUT = 1 << 23
"""Maximum bytes of git's output, some 100,000 files: a few objects of a hostile repository can name billions."""

_MOST_OF_INDEX: Final = 1 << 26
"""The same for the index, which names each file."""

_SECONDS: Final = 120
_SECONDS_OF_LOG: Final = 3
_FRESH: Final = 10
"""Seconds for which an answer about one path is reused for others."""

_MOST_COMMITS: Final = 20_000
_MOST_PATHS: Final = 500
"""Maximum number of paths whose authors are looked up."""

_SETTINGS: Final = (
    "core.commitGraph=false",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    f"core.hooksPath={os.devnull}",
    f"diff.orderFile={os.devnull}",
    "log.showSignature=false",
    "safe.bareRepository=explicit",
    "submodule.recurse=false",
)
"""No setting of the repository may start a program, and a folder that only looks like a repository is not one."""

_ENVIRONMENT: Final = {
    "GIT_ALLOW_PROTOCOL": "none",  # overrides the repository's protocol.NAME.allow, which protocol.allow does not
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
"""Nothing in the repository may replace a commit, a parent or a file by another."""

_HASHES: Final = {40: hashlib.sha1, 64: hashlib.sha256}
"""Number of hex digits → the hash by which git names a content."""

_LINK, _SUBMODULE, _SKIPPED, _TREE = "120000", "160000", "S", b"worktree "


class Tracked(NamedTuple):
    """What git says about one work tree. All paths are below ``top``, with slashes, unless said otherwise.

    Attributes:
        top: The real path of the work tree; empty outside a repository.
        missing: Files that agents read and git tracks, and that are not on disk.
        skipped: Those of them that git itself left out, as in a sparse checkout, and such submodules.
        links: Regular files that git tracks as links, because this checkout has none (``core.symlinks=false``).
        submodules: Folders that git tracks as submodules.
        empty: Submodules that are not checked out.
        worktrees: Real paths of the other work trees of the repository that lie in this one.
        ignored: Folders that git ignores, and in which it tracks nothing.
        fault: Why git could not be asked; empty if it was, and outside a repository.
    """

    top: str = ""
    missing: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    links: frozenset[str] = frozenset()
    submodules: frozenset[str] = frozenset()
    empty: tuple[str, ...] = ()
    worktrees: frozenset[str] = frozenset()
    ignored: tuple[str, ...] = ()
    fault: str = ""

    def knows(self, folder: str) -> bool:
        """Return whether a folder, given by its real path, is a submodule or another work tree of the repository."""
        return bool(self.top) and (folder in self.worktrees or os.path.relpath(folder, self.top) in self.submodules)


def knows(folder: Path) -> bool:
    """Return whether git knows a folder with a ``.git`` as a submodule or work tree of the repository around it."""
    return _asked(_top(folder.parent), int(time.monotonic()) // _FRESH).knows(real_path(folder))


@lru_cache(8)
def _asked(top: str, _period: int) -> Tracked:
    return ask(Path(top)) if top else Tracked()


def is_of_git(path: Path) -> bool:
    """Return whether a ``.git`` file is one that git put there: it leads into the repository that knows the folder."""
    top = _top(path.parent.parent)
    inside = bool(top) and is_within(_git_folder(path.parent), _git_folder(Path(top)))
    return inside and knows(path.parent)


def ask(folder: Path) -> Tracked:
    """Return what git says about the work tree around a folder; :attr:`Tracked.fault` says why it says nothing."""
    top = _top(folder)
    if not top:
        return Tracked()
    try:
        listed = _run(top, "ls-files", "-t", "--stage", "-z", most=_MOST_OF_INDEX)
        worktrees, ignored = frozenset(_worktrees(top)), _ignored(top)
    except OverflowError:
        return Tracked(top, fault="git tracks too many files to say which are not on disk")
    if listed is None:
        why = "git refuses to read it" if find_program("git") else "git is not installed"
        return Tracked(top, fault=f"{why}, so it is not known which tracked files are not on disk")
    rows = (row.partition(b"\t") for row in listed.split(b"\0") if row)
    tags = {os.fsdecode(path): facts.decode("ascii")[:8] for facts, _, path in rows}  # such as "H 100644"
    submodules = frozenset(path for path, tag in tags.items() if tag.endswith(_SUBMODULE))
    files = for_agents([path for path in tags if path not in submodules], Path(top).name)
    missing = tuple(path for path in files if not os.path.lexists(f"{top}/{path}"))
    empty = tuple(path for path in sorted(submodules) if not os.path.lexists(f"{top}/{path}/.git"))
    skipped = (path for path in missing if tags[path].startswith(_SKIPPED))
    links = (path for path, tag in tags.items() if tag.endswith(_LINK) and _is_file(f"{top}/{path}"))
    skips = (*filter(is_for_agents, empty), *skipped)
    return Tracked(top, missing, skips, frozenset(links), submodules, empty, worktrees, ignored)


def _ignored(top: str) -> tuple[str, ...]:
    words = ("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
    listed = (_run(top, *words, most=_MOST_OF_INDEX) or b"").split(b"\0")
    return tuple(os.fsdecode(row).rstrip("/") for row in listed if row.endswith(b"/"))


def ignored_below(folder: Path, tracked: Tracked | None = None) -> frozenset[str]:
    """Return the paths of the folders below a folder that git ignores, and in which it tracks nothing.

    What agents read is never among them, whatever git ignores.

    Args:
        folder: The folder.
        tracked: What git says about its work tree; None asks.
    """
    told, real = tracked or ask(folder), real_path(folder)
    inside = (f"{told.top}/{name}" for name in told.ignored if not is_for_agents(name))
    below = (os.path.relpath(path, real) for path in inside if is_within(path, real))
    return frozenset(os.path.join(os.path.abspath(folder), path) for path in below)  # noqa: PTH100 - links stay


def for_agents(paths: Sequence[str], top: str = "") -> list[str]:
    """Return the paths, of all that a repository has, that an agent's client reads or that lie in a ``.ai``.

    Args:
        paths: The paths.
        top: The name of the folder that they lie in.
    """
    skills = {path.rpartition("/")[0] for path in paths if path.rpartition("/")[2] == SKILL_FILE}
    return [path for path in paths if is_for_agents(f"{top}/{path}") or not skills.isdisjoint(_above(path))]


def is_for_agents(path: str) -> bool:
    """Return whether the names in a path say that a client reads it or that it lies in a ``.ai``."""
    parts = path.split("/")
    pairs = pairwise(map(spelled_as, parts)) if GITHUB in path.casefold() else ()
    return any(map(_is_named, parts)) or any(part == GITHUB and name in COVERED_IN_GITHUB for part, name in pairs)


@lru_cache(8192)  # many paths have the same folders
def _is_named(name: str) -> bool:
    spelled = spelled_as(name)
    return spelled == FOLDER or is_covered(spelled) or is_obeyed(spelled)


def is_link(path: str) -> bool:
    """Return whether git tracks a regular file as a link."""
    folder, name = os.path.split(path)
    return name in _links_in(folder, int(time.monotonic()) // _FRESH)


@lru_cache(256)  # a walk asks about one folder after the other
def _links_in(folder: str, period: int) -> frozenset[str]:
    tracked = _asked(_top(Path(folder)), period)
    inside = os.path.relpath(real_path(folder), tracked.top or "/")
    pairs = (path.rpartition("/") for path in tracked.links)
    return frozenset(name for above, _, name in pairs if (above or os.curdir) == inside)


def authors(folder: Path, paths: Iterable[str]) -> Mapping[str, str]:
    """Return who last committed some files, the last one first: absolute path → ``NAME <EMAIL>``, where git can tell.

    One bounded run of ``git log`` finds them all. Nothing proves the names: whoever commits chooses them.

    Args:
        folder: A folder in the work tree.
        paths: Absolute paths; at most 500 are looked up.
    """
    top, names = _top(folder), dict[str, str]()
    for path in paths:
        above, name = os.path.split(path)
        inside = os.path.relpath(f"{real_path(above)}/{name}", top or "/")
        if not inside.startswith("../") and len(names) < _MOST_PATHS:
            names[inside] = path
    if not (top and names):
        return MappingProxyType({})
    mark, plain = secrets.token_hex(8), ("--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules")
    words = ("log", f"--max-count={_MOST_COMMITS}", f"--format={mark}%an <%ae>", "-c", "--name-only", "-z", *plain)
    told = _run(top, "--literal-pathspecs", *words, "--", *names, seconds=_SECONDS_OF_LOG, partly=True)
    found, who = dict[str, str](), ""
    for row in (told or b"").split(b"\0"):
        text = os.fsdecode(row).removeprefix("\n")
        if text.startswith(mark):
            who = text.removeprefix(mark)
        elif text in names:
            found.setdefault(names[text], who)
    return found


def committed(folder: Path) -> Mapping[str, str] | None:
    """Return the regular files of the last commit below a folder: path → the hash of the content.

    Empty if there is no repository or git cannot read it; None if the output would exceed :data:`MAX_OUTPUT`.
    """
    top = _top(folder)
    inside = os.path.relpath(real_path(folder), top) if top else ""
    below = "" if inside == os.curdir else f"{inside}/"
    try:
        listed = _run(top, "--literal-pathspecs", "ls-tree", "-r", "-z", "HEAD", "--", *([below] * bool(below)))
    except OverflowError:
        return None
    rows = (row.partition(b"\t") for row in (listed or b"").split(b"\0"))
    return {
        os.fsdecode(path).removeprefix(below): facts.split()[2].decode("ascii")
        for facts, _, path in rows
        if facts.startswith(b"100")
    }


def read_blobs(folder: Path, names: Sequence[str]) -> Iterator[bytes]:
    """Return the contents with some hashes, in their order, from the repository around a folder; fewer if git fails.

    Raises:
        OverflowError: They are longer than some 64 MiB.
    """
    asked = "".join(f"{name}\n" for name in names).encode()
    told = (names and _run(_top(folder), "cat-file", "--batch", data=asked, most=_MOST_OF_INDEX)) or b""
    begin = 0
    while begin < len(told):
        end = told.index(b"\n", begin)
        size = told[begin:end].rpartition(b" ")[2]  # or the word "missing"
        content = told[end + 1 : end + 1 + int(size)] if size.isdigit() else b""
        yield content
        begin = end + 1 + (len(content) + 1 if size.isdigit() else 0)


def is_blob(content: bytes, name: str) -> bool:
    """Return whether git names a content by this hash."""
    return _HASHES[len(name)](b"blob %d\0%b" % (len(content), content)).hexdigest() == name


def _top(folder: Path) -> str:
    """Return the real path of the innermost repository around a folder; empty if there is none."""
    top = repository_of(Path(real_path(folder)))
    return str(top) if top else ""


def _above(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def _is_file(path: str) -> bool:
    return os.path.isfile(path) and not os.path.islink(path)  # noqa: PTH113, PTH114 - text


def _worktrees(top: str) -> Iterator[str]:
    """Return the real paths of the other work trees below the top, as git lists them.

    The list may name any folder. It counts only if its ``.git`` leads back into the repository.
    """
    listed = (_run(top, "worktree", "list", "--porcelain", "-z") or b"").split(b"\0")
    named = (os.fsdecode(row.removeprefix(_TREE)) for row in listed if row.startswith(_TREE))
    places = map(real_path, filter(os.path.isabs, named))  # older releases of git print a relative path as it is
    inside = [place for place in places if place.startswith(f"{top}/") and os.path.lexists(f"{place}/.git")]
    line = inside and _run(top, "rev-parse", "--git-common-dir")
    common = real_path(os.path.join(top, os.fsdecode(line.removesuffix(b"\n")))) if line else ""
    return (place for place in inside if common and is_within(_git_folder(Path(place)), f"{common}/worktrees"))


def _git_folder(top: Path) -> str:
    return real_path(index_of(top).parent)


def _run(
    top: str, *words: str, data: bytes = b"", most: int = 0, seconds: float = _SECONDS, partly: bool = False
) -> bytes | None:
    """Return git's output in the work tree with this top; None if it fails, is not installed or finds no repository.

    It runs without a shell and without the caller's ``GIT_`` variables. The work tree is the folder that holds
    ``.git``, whatever the settings say, and git looks no further up. A bare repository there is ignored, because
    anybody who adds files can make one.

    Args:
        top: The folder that holds ``.git``; empty for none.
        words: The command.
        data: Its standard input.
        most: Maximum bytes of its output; 0 for :data:`MAX_OUTPUT`.
        seconds: The time it may take.
        partly: Whether output that ended early counts.

    Raises:
        OverflowError: The output is longer.
    """
    git = find_program("git") if top and os.pathsep not in top else None  # git cannot name such a ceiling
    if git is None or not os.path.isdir(top):
        return None
    import subprocess  # most commands do not ask
    from tempfile import TemporaryFile
    from threading import Timer

    settings = [part for setting in _SETTINGS for part in ("-c", setting)]
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    env |= _ENVIRONMENT | {"GIT_WORK_TREE": top, "GIT_CEILING_DIRECTORIES": os.path.dirname(top)}
    with TemporaryFile() as stdin:
        stdin.write(data)
        stdin.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603 - no shell, and no word that begins with a dash comes from a file
                [git, "--no-pager", *settings, *words],
                cwd=top,
                env=env,
                stdin=stdin if data else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError:
            return None
    timer, most = Timer(seconds, process.kill), most or MAX_OUTPUT
    with process:
        timer.start()
        try:
            out = process.stdout.read(most + 1) if process.stdout else b""
            if len(out) > most:
                process.kill()
            process.wait()
        finally:
            timer.cancel()
    if len(out) > most and not partly:
        raise OverflowError
    return out if partly or process.returncode == 0 else None
