"""Which files differ from a revision in git: the one place of rye that starts another program."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rye._process import find_program
from rye._text import inline
from rye.errors import ArgumentError, EnvironmentFault, ItemError
from rye.items.clients import SKILL_FILE
from rye.spaces import ItemFile, Root, read_file
from rye.spaces.beside import PLAIN
from rye.spaces.read import is_detached
from rye.spaces.signed import scan_skill
from rye.trust import DETACHED_SUFFIX, SKILL_SIGNATURE, TRUSTED_FOLDER

_TIMEOUT = 120
_SETTINGS = (
    "core.commitGraph=false",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.warnAmbiguousRefs=true",
    "safe.bareRepository=explicit",
)
"""No setting of the repository may start a program, and no folder that only looks like a repository is one."""

_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",  # beats protocol.NAME.allow of the repository, as protocol.allow does not
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
"""A revision is what its name says: nothing in the repository stands in for a commit, a parent or a file."""

_STARTING = re.compile(
    rb"(?i)(?:filter|include(?:if)?|pager)\.|extensions\.(?:partialclone|worktreeconfig)\b|.*\.promisor\b", re.DOTALL
)
"""Settings by which restoring a file may start a program, beside those that an option of git overrides."""

_HASHES = {40: hashlib.sha1, 64: hashlib.sha256}
"""Number of digits → the hash by which git names a content. Whoever can forge SHA-1 can forge the revision, too."""


def changed_since(
    revision: str, folder: Path, *, roots: Sequence[Root], named: Sequence[Root] = ()
) -> Callable[[Root, ItemFile], bool]:
    """Return a function that says whether a file differs from its version in a git revision, or is not in it.

    The repository is the one around ``folder``; a file outside it has not changed, unless its root is ``named``. Those
    reached by a link, in a root or above it, or in a repository of their own count as changed. Where a root's trust
    files have changed, so may the verdict on each of its items, so all of them count as changed.

    Git only lists the revision: to compare the files itself, it would run the filters that its settings name, and
    believe an index that says of a file that it is unchanged. Where the files are is not asked of it either.

    Raises:
        ArgumentError: ``bad-revision``: there is no such revision, its name has two meanings, there is no repository,
            or none of the selected spaces is in it.
        EnvironmentFault: ``no-git``: git is not installed, failed, or refuses to work there.
    """
    git = find_program("git")
    if git is None:
        raise EnvironmentFault("no-git", "git is not installed", hint="install it, or leave out --changed-since")
    repository = _Repository.find(git, folder)
    commit = repository.commit(revision)
    where = {root.source: _locate(root.path, repository.top) for root in roots}
    if not named and not any(where.values()):
        message = f"none of the selected spaces is in the git repository {repository.top!r}"
        raise ArgumentError("bad-revision", message, hint="leave out --changed-since, or name another --space")
    places = {source: place for source, place in where.items() if place and os.path.realpath(place) == place}
    trust = _locate_trust([root for root in roots if root.source in places], repository.top)
    committed = repository.files(commit, list({*places.values(), *(place for _, place in trust.values())}))
    whole = {root.source for root in named} | {source for source, place in where.items() if place}
    whole -= {
        source for source, (home, at) in trust.items() if not _is_folder_changed(home, TRUSTED_FOLDER, at, committed)
    }
    skills: dict[tuple[str, str], bool] = {}

    def is_changed(root: Root, file: ItemFile) -> bool:
        if root.source in whole:
            return True
        place = places.get(root.source)
        if place is None:
            return False
        if root.has_skills:
            folder = _skill_folder(file.rel_path, place, committed)
            if (place, folder) not in skills:
                skills[place, folder] = _is_skill_changed(root, folder, place, committed)
            return skills[place, folder]
        path, signature = file.rel_path, f"{file.rel_path}{DETACHED_SUFFIX}"
        known = is_detached(path) and (f"{place}/{signature}" in committed or os.path.lexists(f"{place}/{signature}"))
        return not all(_is_same(root, each, f"{place}/{each}", committed) for each in (path, signature)[: 1 + known])

    return is_changed


def _locate_trust(roots: Sequence[Root], top: str) -> dict[str, tuple[Root, str]]:
    """Return, by the source of a root, what holds its trust files, and where that is below a work tree, if it is."""
    homes = {root.source: replace(root, path=root.trust_root, client=None) for root in roots}
    return {source: (home, place) for source, home in homes.items() if (place := _locate(home.path, top))}


def _skill_folder(rel_path: str, place: str, committed: Mapping[str, str]) -> str:
    """Return the folder of the outermost skill that a file belongs to, or did."""
    above = [rel_path[:at] for at, char in enumerate(rel_path) if char == "/"]
    marks = ((each, f"{place}/{each}/{SKILL_FILE}") for each in above)
    return next((each for each, mark in marks if mark in committed or os.path.lexists(mark)), above[-1])


def _is_skill_changed(root: Root, folder: str, place: str, committed: Mapping[str, str]) -> bool:
    """Return whether any file in the folder of a skill differs, in its bytes or its mode."""
    try:
        found = {f"{folder}/{each.path}": each.mode for each in scan_skill(root, folder)}
    except ItemError:
        return True
    signature = f"{folder}/{SKILL_SIGNATURE}"
    found |= {signature: PLAIN} if os.path.lexists(f"{place}/{signature}") else {}
    above = f"{place}/{folder}/"
    before = {
        path[len(place) + 1 :]: name.partition(" ")[0] for path, name in committed.items() if path.startswith(above)
    }
    return found != before or not all(_is_same(root, each, f"{place}/{each}", committed) for each in found)


def staged(folder: Path, project: str) -> dict[str, str]:
    """Return the digest that git's index has of each regular file below a folder, by its path below that.

    Empty where the repository is not one around ``project``, or its own settings could start a program when a file is
    restored, or it cannot be read: it only says which files git could restore.
    """
    git = find_program("git")
    try:
        if git is None or not project or not folder.is_dir():
            return {}
        repository = _Repository.find(git, folder)
        if not Path(os.path.realpath(project)).is_relative_to(repository.top) or repository.starts_programs():
            return {}
        out, ok, _ = repository.run("ls-files", "--stage", "-z")
    except (ArgumentError, EnvironmentFault, OSError):
        return {}
    rows = (row.partition(b"\t") for row in out.split(b"\0") if ok and row.startswith(b"100"))
    return {os.fsdecode(path): facts.split()[1].decode("ascii") for facts, _, path in rows}


def committed(folder: Path) -> dict[str, str]:
    """Return the digest that the last commit has of each regular file below a folder, by its path; empty if unknown."""
    rows = (row.partition(b"\t") for row in _read(folder, "ls-tree", "-r", "-z", "HEAD").split(b"\0"))
    return {os.fsdecode(path): facts.split()[2].decode("ascii") for facts, _, path in rows if facts.startswith(b"100")}


def read_blob(folder: Path, name: str) -> bytes:
    """Return the content to which git gives a digest, in the repository around a folder; empty if it cannot."""
    return _read(folder, "cat-file", "blob", name)


def _read(folder: Path, *words: str) -> bytes:
    git = find_program("git")
    try:
        out, ok, _ = _Repository.find(git, folder).run(*words) if git and folder.is_dir() else (b"", False, b"")
    except (ArgumentError, EnvironmentFault, OSError):
        return b""
    return out if ok else b""


def is_blob(content: bytes, name: str) -> bool:
    """Return whether ``name`` is the digest that git gives to a content."""
    return _HASHES[len(name)](b"blob %d\0%b" % (len(content), content)).hexdigest() == name


def _locate(root: Path, top: str) -> str:
    """Return where a root is below a work tree, as it is called there and links unfollowed; empty where it is not."""
    called = Path(os.path.abspath(root))  # noqa: PTH100 - resolve() would follow the links that are looked for
    for above in (*reversed(called.parents), called):
        if os.path.realpath(above) == top:
            return str(Path(top, called.relative_to(above)))
    return str(called) if f"{os.path.realpath(called)}/".startswith(f"{top.rstrip('/')}/") else ""


def _is_same(root: Root, rel_path: str, place: str, committed: Mapping[str, str]) -> bool:
    """Return whether a file is the regular one of the revision, byte for byte, and not reached by a link."""
    name = committed.get(place, "").partition(" ")[2]
    if not name or os.path.realpath(place) != place:
        return False
    try:
        content = read_file(root, rel_path)
    except ItemError:
        return False  # verification says what is wrong with it
    return is_blob(content, name)


def _is_folder_changed(root: Root, folder: Path, base: str, committed: Mapping[str, str]) -> bool:
    """Return whether any file in a folder below a root differs, or the folder is reached by a link."""
    place = f"{base}/{folder.as_posix()}"
    files = {str(path) for path in Path(place).rglob("*") if path.is_symlink() or not path.is_dir()}
    known = {path for path in committed if path.startswith(f"{place}/")}
    same = (_is_same(root, path.removeprefix(f"{base}/"), path, committed) for path in files)
    return os.path.realpath(place) != place or files != known or not all(same)


@dataclass(frozen=True, slots=True)
class _Repository:
    """The work tree around a folder, and git in that folder; ``git_dir``: where the repository is, empty to search."""

    git: str
    folder: Path
    top: str
    git_dir: str = ""

    @classmethod
    def find(cls, git: str, folder: Path) -> _Repository:
        """Return the nearest one; its work tree is the folder that holds ``.git``, whatever its settings say.

        A folder in it that looks like a bare repository is one of its folders: anybody who adds files can make it so.

        Raises:
            ArgumentError: ``bad-revision``.
            EnvironmentFault: ``no-git``: git refuses to work there, in its own words.
        """
        real = Path(os.path.realpath(folder))
        top = next((above for above in (real, *real.parents) if os.path.lexists(above / ".git")), None)
        if top is not None:
            found = cls(git, top, str(top))
            used, said = found.searched()
            own, own_ok, own_said = found.run("rev-parse", "--resolve-git-dir", str(top / ".git"))
            if used and own_ok and os.path.realpath(os.fsdecode(own.removesuffix(b"\n"))) == used:
                return cls(git, folder, str(top), used)
            if why := inline((said or own_said).decode("utf-8", "replace")):
                message = f"git refuses to work in {str(folder)!r}: {why.removeprefix('fatal: ')}"
                raise EnvironmentFault("no-git", message, hint="fix that, or leave out --changed-since")
        message = f"{str(folder)!r} is in no git repository"
        raise ArgumentError("bad-revision", message, hint="run it inside one, or leave out --changed-since")

    def searched(self) -> tuple[str, bytes]:
        """Return where the repository is that git finds from the folder, empty if none, and what git says."""
        out, ok, said = replace(self, git_dir="").run("rev-parse", "--absolute-git-dir")
        return os.path.realpath(os.fsdecode(out.removesuffix(b"\n"))) if ok else "", said

    def commit(self, revision: str) -> str:
        """Return the commit that a revision names.

        Raises:
            ArgumentError: ``bad-revision``.
        """
        commit, ok, said = self.run("rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
        if not ok or not commit.strip():
            hint = "fetch it first (a shallow checkout has only one commit), or name a commit, branch or tag"
            raise ArgumentError("bad-revision", f"git knows no revision {revision!r} here", hint=hint)
        if b"is ambiguous" in said:
            hint = "name it in full, as refs/heads/NAME, refs/tags/NAME or refs/remotes/NAME, or by its commit"
            raise ArgumentError("bad-revision", f"{revision!r} is the name of several things in git", hint=hint)
        return commit.strip().decode("ascii")

    def files(self, commit: str, places: Sequence[str]) -> dict[str, str]:
        """Return mode and digest that git has of each regular file below some folders, by its path: ``100644 ab12…``.

        Raises:
            EnvironmentFault: ``no-git``.
        """
        if not places:
            return {}
        below = () if self.top in places else tuple(os.path.relpath(place, self.top) for place in places)
        out, ok, _ = self.run(
            "--literal-pathspecs", "ls-tree", "-r", "-z", "--full-tree", "--full-name", commit, "--", *below
        )
        if not ok:
            raise EnvironmentFault("no-git", "git ls-tree failed", hint="run it by hand to see why")
        rows = (row.partition(b"\t") for row in out.split(b"\0") if row.startswith(b"100"))
        split = ((os.fsdecode(path), facts.decode("ascii").split()) for facts, _, path in rows)
        return {f"{self.top}/{path}": f"{mode} {name}" for path, (mode, _, name, *_) in split}

    def starts_programs(self) -> bool:
        """Return whether a file checked out from the folder may start a program.

        By settings of the repository itself, or of a bare one that git takes the folder for.
        """
        out, ok, _ = self.run("config", "--local", "--includes", "--name-only", "-z", "--list")
        return not ok or self.searched()[0] != self.git_dir or any(_STARTING.match(name) for name in out.split(b"\0"))

    def run(self, *words: str) -> tuple[bytes, bool, bytes]:
        """Run git without a shell, and without what settings or the environment could make it do besides."""
        settings = [part for setting in _SETTINGS for part in ("-c", setting)]
        where = {"GIT_DIR": self.git_dir} if self.git_dir else {}
        env = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith("GIT_") or key == "GIT_CEILING_DIRECTORIES"
        }
        try:
            done = subprocess.run(  # noqa: S603 - no shell, and the revision is behind --end-of-options
                [self.git, *settings, *words],
                cwd=self.folder,
                env=env | _ENVIRONMENT | {"GIT_WORK_TREE": self.top} | where,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_TIMEOUT,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            hint = "run it by hand to see why"
            raise EnvironmentFault("no-git", f"git could not be run: {error}", hint=hint) from None
        return done.stdout, done.returncode == 0, done.stderr
