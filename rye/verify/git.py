"""Reads files of the last commit by running git.

The repository is hostile: none of its settings may start a program or decide what is read.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Timer

from rye._process import find_program

_TIMEOUT = 120
MAX_OUTPUT = 1 << 23
"""Maximum bytes of git's output, some 100,000 files: a few objects of a hostile repository can name billions."""
_SETTINGS = (
    "core.commitGraph=false",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "safe.bareRepository=explicit",
)
"""No setting of the repository may start a program, and a folder that only looks like a repository is not one."""

_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",  # overrides the repository's protocol.NAME.allow, which protocol.allow does not
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
"""Nothing in the repository may replace a commit, a parent or a file by another."""

_HASHES = {40: hashlib.sha1, 64: hashlib.sha256}
"""Number of hex digits → the hash by which git names a content."""


def committed(folder: Path) -> dict[str, str] | None:
    """Return the regular files of the last commit below a folder: path → the hash by which git names the content.

    Empty if there is no repository or git cannot read it; None if the output would exceed :data:`MAX_OUTPUT`.
    """
    try:
        listed = _read(folder, "ls-tree", "-r", "-z", "HEAD")
    except OverflowError:
        return None
    rows = (row.partition(b"\t") for row in listed.split(b"\0"))
    return {os.fsdecode(path): facts.split()[2].decode("ascii") for facts, _, path in rows if facts.startswith(b"100")}


def read_blob(folder: Path, name: str) -> bytes:
    """Return the content with a hash, from the repository around a folder; empty if git cannot read it."""
    try:
        return _read(folder, "cat-file", "blob", name)
    except OverflowError:
        return b""


def is_blob(content: bytes, name: str) -> bool:
    """Return whether git names a content by this hash."""
    return _HASHES[len(name)](b"blob %d\0%b" % (len(content), content)).hexdigest() == name


def _read(folder: Path, *words: str) -> bytes:
    repository = _Repository.find(folder)
    return (repository.run(*words) or b"") if repository else b""


@dataclass(frozen=True, slots=True)
class _Repository:
    """Git in a folder, the work tree around it, and the repository; an empty ``git_dir`` lets git search for it."""

    git: str
    folder: Path
    top: str
    git_dir: str = ""

    @classmethod
    def find(cls, folder: Path) -> _Repository | None:
        """Return the nearest repository; None without one, without git, or if git refuses to work.

        Its work tree is the folder that holds ``.git``, whatever the settings say. A folder in it that looks like a
        bare repository is ignored, because anybody who adds files can make one.
        """
        git = find_program("git")
        real = Path(os.path.realpath(folder))
        top = next((above for above in (real, *real.parents) if os.path.lexists(above / ".git")), None)
        if git is None or top is None or not real.is_dir():
            return None
        at_top = cls(git, top, str(top))
        git_dir = at_top.searched()
        named = at_top.run("rev-parse", "--resolve-git-dir", str(top / ".git"))
        if not git_dir or named is None or os.path.realpath(os.fsdecode(named.removesuffix(b"\n"))) != git_dir:
            return None
        return cls(git, folder, str(top), git_dir)

    def searched(self) -> str:
        """Return the path of the repository that git finds from the folder; empty if it finds none."""
        out = replace(self, git_dir="").run("rev-parse", "--absolute-git-dir")
        return os.path.realpath(os.fsdecode(out.removesuffix(b"\n"))) if out else ""

    def run(self, *words: str) -> bytes | None:
        """Return git's output, None if it fails; runs without a shell, and without the caller's ``GIT_`` variables.

        Raises:
            OverflowError: The output is longer than :data:`MAX_OUTPUT`.
        """
        settings = [part for setting in _SETTINGS for part in ("-c", setting)]
        env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_") or k == "GIT_CEILING_DIRECTORIES"}
        env |= _ENVIRONMENT | {"GIT_WORK_TREE": self.top} | ({"GIT_DIR": self.git_dir} if self.git_dir else {})
        try:
            process = subprocess.Popen(  # noqa: S603 - no shell, and no word that begins with a dash comes from a file
                [self.git, *settings, *words],
                cwd=self.folder,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError:
            return None
        timer = Timer(_TIMEOUT, process.kill)
        with process:
            timer.start()
            try:
                out = process.stdout.read(MAX_OUTPUT + 1) if process.stdout else b""
                if len(out) > MAX_OUTPUT:
                    process.kill()
                process.wait()
            finally:
                timer.cancel()
        if len(out) > MAX_OUTPUT:
            raise OverflowError
        return out if process.returncode == 0 else None
