"""Lists the files in a folder of a client of agents, such as ``.claude/skills``, by their names.

What clients read there must not pass unseen: a link, a spelling or a depth by which it would not be listed is reported.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from functools import cache, partial
from hashlib import sha256
from operator import attrgetter
from pathlib import Path
from typing import TypeAlias

from rye._text import may_name_item
from rye.errors import ItemError
from rye.items.clients import FIXED_FOLDERS, OF_PROJECTS, OF_USERS, SKILL_FILE, SKILLS_FOLDER, ClientFolder
from rye.spaces.alias import own_path
from rye.spaces.beside import CACHE, MODULES, code_of_client
from rye.spaces.discover import has_skills
from rye.spaces.model import Root, Space, is_within, spelled_as
from rye.spaces.obeyed import obeyed
from rye.spaces.read import linked_skill
from rye.trust import DETACHED_SUFFIX, SKILL_SIGNATURE, real_path

# ruff: noqa: PTH116, PTH118 - paths are text here: a walk may handle ten thousand


SKIPPED_FOLDERS = frozenset({CACHE, MODULES})
BAD_NAME = "the name has characters that no item id may have"

Listed: TypeAlias = list[tuple[str, "os.DirEntry[str] | os.stat_result"]]
"""The items of one folder: the path of each below the root, and its entry or, of a link, the status of its target."""


class FolderWalk:
    """What walks have in common.

    Attributes:
        signatures: The signature files in the last folder, each by the path of the item that it is named after.
        skill: The folder of the signed skill that the last folder belongs to; empty for none.
        alone: The files of skills that have no signature as a whole and are not alone in their folder, each with the
            folder whose names count for it.
        names: A digest of all names in such a folder.
        problems: What could not be listed.
    """

    def __init__(self) -> None:
        self.signatures: dict[str, os.DirEntry[str]] = {}
        self.skill = ""
        self.alone: dict[str, str] = {}
        self.names: dict[str, bytes] = {}
        self.problems: list[ItemError] = []

    def sorted_problems(self) -> tuple[ItemError, ...]:
        """Return the problems of a finished walk."""
        return tuple(sorted(self.problems, key=lambda problem: problem.message))

    def unreadable(self, rel: str, error: OSError) -> None:
        """Note that a folder cannot be read."""
        self.report("unreadable", rel, f"the folder cannot be read: {error.strerror}", "check permissions")

    def report(self, code: str, rel: str, problem: str, hint: str) -> None:
        """Note why a file or folder is left out."""
        path = rel if may_name_item(rel) else ascii(rel)[1:-1]
        self.problems.append(ItemError(code, f"{path}: {problem}", hint=hint, path=path))


def folders_alike(root: Root) -> frozenset[str]:
    """Return the real paths of the folders in which clients keep files of the same format as in a root of theirs."""
    around, wanted = real_path(root.around), root.client and root.client.format
    places = (each for each in (OF_USERS if root.space is Space.USER else OF_PROJECTS) if each.place)
    folders = {each.place: os.path.join(around, each.place) for each in places if each.format == wanted}
    if SKILLS_FOLDER in folders and not has_skills(Path(folders[SKILLS_FOLDER])):
        del folders[SKILLS_FOLDER]
    return frozenset(folders.values())


def is_found_elsewhere(real: str, path: str, alike: Collection[str]) -> bool:
    """Return whether a link below a root leads to the same path below one of the folders alike, where it is listed."""
    return any(real == os.path.join(folder, path) for folder in alike)


def _is_whole_skill(entry: os.DirEntry[str], folder: str) -> bool:
    """Return whether what lies alone in a folder is the file of a skill, as in most; there are no names to count."""
    return entry.name == SKILL_FILE and entry.is_file(follow_symlinks=False) and may_name_item(folder)


class ClientWalker(FolderWalk):
    """Lists the files in a folder of a client of agents.

    Links to files are followed while they stay inside the root, links to folders never. Installers of skills keep one
    copy and link it from the folders of other clients: it is found where it is. Every other link is reported, since
    clients follow it: what it leads to has another id there, or is not listed at all.
    """

    def __init__(self, root: Root, client: ClientFolder, beside: list[str] | None = None) -> None:
        super().__init__()
        self._root = root
        self._base = os.fspath(root.path)
        self._client = client
        self._beside = beside
        self._real = real_path(self._base)
        self._leads_out = root.space is not Space.USER and not is_within(self._real, real_path(root.around))
        self._alike = cache(partial(folders_alike, root))

    def folders(self) -> Iterator[Listed]:
        """Yield the items of each folder; of skills only those in folders that have the file of a skill."""
        if self._leads_out:
            self.report("link-escape", ".", f"the folder is a link out, to {self._real!r}", "copy the files instead")
            return
        of_skills, below = self._client.format == "skill", os.path.join(self._base, "")
        folders = [("", "", "", 0)]
        if self._client.is_fixed and self._beside is not None:
            self._beside.extend(obeyed(Path(self._base), self._client.depth))
        while folders:
            rel, top, skill, depth = folders.pop()
            try:
                with os.scandir(below + rel) as found:
                    entries = list(found)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                self.unreadable(rel or ".", error)
                continue
            if of_skills and not top and len(entries) == 1 and rel and _is_whole_skill(entries[0], rel):
                self.signatures, self.skill = {}, ""
                yield [(f"{rel}/{SKILL_FILE}", entries[0])]
                continue
            entries.sort(key=attrgetter("name"), reverse=True)
            if rel and of_skills:
                top = self._look_for_skill(rel, [entry.name for entry in entries], top, skill)
            skill = self.skill
            counts = bool(top) or not of_skills
            listed: Listed = []
            self.signatures = {}
            for entry in entries:
                path = f"{rel}/{entry.name}" if rel else entry.name
                if self._client.is_fixed and entry.name in FIXED_FOLDERS and entry.is_dir(follow_symlinks=False):
                    folders.append((path, top, skill, self._client.depth))  # and no folder in it
                elif self._look_at(path, entry, listed, depth, counts=counts):
                    folders.append((path, top, skill, depth + 1))
            yield listed

    def _look_at(self, path: str, entry: os.DirEntry[str], listed: Listed, depth: int, *, counts: bool) -> bool:
        """List what is an item, report or note what is none; return whether it is a folder to look into."""
        item = counts and self._client.identify(path)
        in_skill = counts and self._client.format == "skill"
        if path.endswith(DETACHED_SUFFIX):
            if not (
                self._client.is_fixed and entry.name == SKILL_SIGNATURE
            ):  # that of a skill, which is in no such root
                self.signatures[path.removesuffix(DETACHED_SUFFIX)] = entry
        elif entry.is_symlink():
            if "/" not in path and linked_skill(self._root, path):
                return True
            self._link(path, entry, listed, named=bool(item))
        elif entry.is_dir(follow_symlinks=False):
            return self._enters(path, entry, depth, in_skill=in_skill)
        elif item:
            self._take(path, entry, listed, is_file=entry.is_file(follow_symlinks=False))
        else:
            self._pass_over(path, entry, in_skill=in_skill)
        return False

    def _look_for_skill(self, rel: str, names: list[str], top: str, skill: str) -> str:
        """Note which skill a folder belongs to; return the outermost folder of a skill around it, or itself, if any."""
        top = top or (rel if SKILL_FILE in names else "")
        self.skill = rel if SKILL_FILE in names and SKILL_SIGNATURE in names else skill
        if top:
            text = repr((self.names.get(top), rel, names))
            self.names[top] = sha256(text.encode("utf-8", "surrogatepass")).digest()
            if not self.skill:
                self.alone[f"{rel}/{SKILL_FILE}"] = top
        return top

    def _enters(self, path: str, entry: os.DirEntry[str], depth: int, *, in_skill: bool) -> bool:
        """Return whether a folder is looked into; note what a client may find there if it is not."""
        if entry.name[0] == "." or entry.name in SKIPPED_FOLDERS:
            self._note_beside(path, entry, in_skill=in_skill)
            return False
        if depth >= self._client.depth and not self._client.is_fixed:
            self.report("too-many-folders", path, f"more than {depth} folders deep, not looked into", "move it up")
        return depth < self._client.depth

    def _pass_over(self, path: str, entry: os.DirEntry[str], *, in_skill: bool) -> None:
        """Report a file that is no item, but one where case is ignored; note what no signature covers."""
        name = entry.name
        if self._client.format == "skill" and spelled_as(name) == SKILL_FILE.casefold() and name != SKILL_FILE:
            self.report("bad-name", path, f"where case is ignored, this is {SKILL_FILE}", f"rename it to {SKILL_FILE}")
        plain = f"{path[: -len(name)]}{name.lower()}"
        if not (self._client.is_fixed or self._client.format == "skill") and self._client.identify(plain):
            self.report(
                "bad-name", path, "where case is ignored, clients of agents read this", "write .md in small letters"
            )
        self._note_beside(path, entry, in_skill=in_skill)

    def _note_beside(self, path: str, entry: os.DirEntry[str], *, in_skill: bool) -> None:
        """Note what lies beside items: in a skill what its tools may run or import, elsewhere all that has content."""
        if self._beside is None or self._client.is_fixed or self.skill:
            return
        if in_skill:
            self._beside.extend(f"{path[: -len(entry.name)]}{each}" for each in code_of_client(entry))
        elif entry.is_dir(follow_symlinks=False):
            self._beside.append(f"{path}/")
        elif entry.stat(follow_symlinks=False).st_size:
            self._beside.append(path)

    def _link(self, path: str, entry: os.DirEntry[str], listed: Listed, *, named: bool) -> None:
        """List a link to a file inside; report one that a client may follow to what is not listed under its own id."""
        if self._client.is_fixed and not named:  # folders behind links are looked for below the project
            return
        real = real_path(entry.path)
        inside = is_within(real, self._real)
        try:
            status = os.stat(entry.path)
        except OSError:
            if named or not inside:
                self.report("broken-link", path, "the link leads nowhere", "remove it or fix its target")
            return
        is_folder = stat.S_ISDIR(status.st_mode)
        if is_found_elsewhere(real, path, self._alike()) or not (named or is_folder):
            return
        if not inside:
            self.report("link-escape", path, "the link leads out of the folder", "copy the files instead")
        elif not is_folder and not own_path(self._root, real, base=self._real):
            self._take(path, status, listed, is_file=stat.S_ISREG(status.st_mode))
        elif is_folder and not self._is_in_same_skill(path, real):
            self.report("link-escape", path, "what the link leads to has another id", "copy the files instead")

    def _is_in_same_skill(self, path: str, real: str) -> bool:
        """Return whether a folder is listed by its own path, in the skill in which a link to it lies."""
        parts = Path(real).relative_to(self._real).parts
        hidden = any(each[0] == "." or each in SKIPPED_FOLDERS for each in parts)
        return not hidden and "/" in path and len(parts) > 1 and parts[0] == path.partition("/")[0]

    def _take(self, path: str, entry: os.DirEntry[str] | os.stat_result, listed: Listed, *, is_file: bool) -> None:
        """List a file that has the name of an item; report what has one and cannot be listed."""
        if not may_name_item(path):
            self.report("bad-name", path, BAD_NAME, "rename the file")
        elif is_file:
            listed.append((path, entry))
        else:
            self.report("not-a-file", path, "this is a pipe, socket or device", "items are regular files")
