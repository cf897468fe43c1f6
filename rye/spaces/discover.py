"""Finds the project and the user space."""

# ruff: noqa: PTH110, PTH112, PTH114 - the methods of Path raise if a folder may not be entered
from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from rye._files import SAFE_FOLDERS, Ownership, others_below, others_control, ownership_of, real_path
from rye._text import quote
from rye.errors import EnvironmentFault
from rye.items.clients import (
    CLIENTS,
    FIXED_FILES,
    MARKS,
    OF_PROJECTS,
    OF_USERS,
    PLUGIN,
    SKILL_FILE,
    SKILLS_FOLDER,
    ClientFolder,
    is_covered,
    is_obeyed,
    is_weak_mark,
    skills_of_another,
)
from rye.spaces.classify import GITHUB, PLACES, Folder, Role, spelled_as
from rye.spaces.model import FOLDER, Root, Space, is_within
from rye.spaces.snapshot import names

_LONGEST_PATH = 8_192
"""Maximum number of characters read from a file in which git keeps a path."""

NAMED_OTHERS = 3
"""Maximum number of foreign files that one warning names."""


def user_space(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder that holds the user's ``.ai``: ``USER_SPACE``, else the home folder. It need not exist.

    Args:
        environ: The environment to use; None means that of the process.

    Raises:
        EnvironmentFault: ``no-home``.
    """
    variables = os.environ if environ is None else environ
    named = variables.get("USER_SPACE") or "~"
    folder = named if variables.get("HOME") == "" else os.path.expanduser(named)  # expanduser reads an empty HOME as /
    if folder.startswith("~"):
        message = f"there is no home folder {named}" if named != "~" else "there is no home folder"
        raise EnvironmentFault("no-home", message, hint="set USER_SPACE or HOME")
    return Path(os.path.abspath(folder))  # noqa: PTH100 - resolve() would replace the user's own links


def find_project(start: Path, *, user: Path | None = None) -> Path | None:
    """Return the nearest folder, from ``start`` upwards, that has a ``.ai``; failing that, one with client files.

    Among folders with client files, a repository comes before a folder in it. None if there is neither.

    Args:
        start: Where to begin.
        user: The folder that holds the user's ``.ai``, which is not a project.

    Raises:
        EnvironmentFault: ``unusable-project``: the nearest ``.ai`` cannot be used. The search stops there, because one
            further up would be a different project.
    """
    begin = Path(os.path.abspath(start))  # noqa: PTH100 - the project is named as the user sees it
    for folder in (begin, *begin.parents):
        if os.path.lexists(folder / FOLDER) and not (user is not None and _is_users(folder, user)):
            return check_project(folder, user=user)
    home = user and real_path(user)
    candidates = [
        folder
        for folder in (begin, *begin.parents)
        if real_path(folder) != home and not _is_clients(folder) and client_roots(Space.PROJECT, folder, OF_PROJECTS)
    ]
    return next(
        (folder for folder in candidates if os.path.lexists(folder / ".git")), candidates[0] if candidates else None
    )


def _is_clients(folder: Path) -> bool:
    """Return whether a folder such as ``.claude`` belongs to a client, in the project around it."""
    name = folder.name
    is_client = name.startswith(".") and (name in MARKS or skills_of_another(name) is not None)
    return is_client and not os.path.lexists(folder / ".git")


def client_roots(
    space: Space,
    folder: Path,
    known: Sequence[ClientFolder],
    *,
    clients: Collection[str] = CLIENTS,
    bundle: str = "",
) -> tuple[Root, ...]:
    """Return the roots of the client folders that exist in a folder, each real folder once per format.

    Args:
        space: The space of the roots.
        folder: A project, the home folder or a bundle.
        known: The client folders to look for, highest priority first.
        clients: The clients to look for.
        bundle: As in :class:`Root`.
    """
    inside = names(folder)
    roots: dict[tuple[str, str], Root] = {}
    around = real_path(folder)
    prefix = path_in_repository(folder) if space is Space.PROJECT else ""
    unlisted: tuple[ClientFolder, ...] = ()
    if OF_USERS[0] in known and len(clients) == len(CLIENTS):  # a plugin has no client folders
        unlisted = tuple(filter(None, map(skills_of_another, sorted(inside))))
    for entry in (*known, *unlisted):
        if entry not in unlisted and (
            entry.client not in clients or (entry.place and entry.place.partition("/")[0] not in inside)
        ):
            continue
        path = Path(os.path.abspath(folder), entry.place)  # noqa: PTH100 - links stay as they are
        real = real_path(path)
        if not entry.place:
            exists = has_files(path, inside)
        elif entry.place == SKILLS_FOLDER or entry in unlisted:
            exists = os.path.isdir(path) and has_skills(path)
        else:  # a link out that is broken here may resolve on another machine
            exists = os.path.isdir(path) or (space is not Space.USER and not is_within(real, around))
        if exists:
            roots.setdefault(
                (real, entry.format),
                Root(space, path, bundle=bundle, client=entry, prefix=_joined(prefix, entry.place)),
            )
    return tuple(roots.values())


def _joined(prefix: str, place: str) -> str:
    return "/".join(filter(None, (prefix, place)))


def has_files(folder: Path, inside: Collection[str]) -> bool:
    """Return whether a folder has files that clients obey, outside the client folders that are roots themselves.

    Args:
        folder: Where to look.
        inside: The names in it.
    """
    top = Folder(Root(Space.PROJECT, folder, client=FIXED_FILES)).holding(inside)
    return any(_has_files(folder / name, top.enter(name)) for name in inside)


def _has_files(path: Path, inner: Folder | None) -> bool:
    """Return whether a name in a project folder is a file that clients obey, or a folder with such a file."""
    if inner is None or not inner.covered or (path.name in PLACES and os.path.isdir(path)):
        return False
    spelled = spelled_as(path.name)
    if is_weak_mark(spelled):
        return False
    is_folder = (is_covered(spelled) and not is_obeyed(spelled)) or spelled == GITHUB
    return not is_folder or os.path.islink(path) or any(_is_read(inner, name) for name in names(path))


def _is_read(folder: Folder, name: str) -> bool:
    return folder.role(name) is Role.OBEYED and not folder.is_root(name)


def repository_of(folder: Path) -> Path | None:
    """Return the innermost repository around a folder: the nearest one, going up, with a ``.git``; None outside."""
    here = Path(os.path.abspath(folder))  # noqa: PTH100 - links stay as they are
    return next((place for place in (here, *here.parents) if os.path.lexists(place / ".git")), None)


def index_of(top: Path) -> Path:
    """Return the file in which git keeps what a repository tracks; that of a submodule or work tree lies elsewhere."""
    git = top / ".git"
    if git.is_file():
        with git.open("rb") as file:
            line = os.fsdecode(file.readline(_LONGEST_PATH)).strip()
        git = top / line.removeprefix("gitdir: ")
    return git / "index"


def path_in_repository(folder: Path) -> str:
    """Return a folder's path from the top of the innermost repository around it; empty at the top and outside.

    A submodule, a clone and a work tree are repositories of their own, so their signatures hold wherever they lie.
    """
    here, top = Path(os.path.abspath(folder)), repository_of(folder)  # noqa: PTH100 - links stay as they are
    return "" if top is None or top == here else here.relative_to(top).as_posix()


def check_project(folder: Path, *, user: Path | None = None) -> Path:
    """Return a folder, after checking that its ``.ai`` can be a project's.

    Raises:
        EnvironmentFault: ``unusable-project``.
    """
    path = _absolute(folder)
    if not os.path.lexists(path):
        return folder
    if os.path.islink(path) and user is not None and _leads_to_users(folder, user) and not _is_users(folder, user):
        raise _unusable(path, "a link to the user's own, which is not a project")
    if not os.path.isdir(path):
        dangling = os.path.islink(path) and not os.path.exists(path)
        raise _unusable(path, "a link that leads nowhere" if dangling else "no folder")
    return folder


def _leads_to_users(folder: Path, user: Path) -> bool:
    return real_path(folder / FOLDER) == real_path(user / FOLDER)


def _is_users(folder: Path, user: Path) -> bool:
    """Return whether a folder's ``.ai`` is the user's own, rather than a link to it from another folder."""
    own = not os.path.islink(folder / FOLDER) or real_path(folder) == real_path(user)
    return own and _leads_to_users(folder, user)


def _unusable(path: Path, what: str) -> EnvironmentFault:
    return EnvironmentFault(
        "unusable-project",
        f"{str(path)!r} is {what}",
        hint="put the folder of the project's items in its place, or remove it",
        path=str(path),
    )


def has_skills(folder: Path) -> bool:
    """Return whether a folder contains skills, at most two levels deep."""
    below = [folder / name for name in sorted(names(folder))]
    return any(os.path.lexists(subfolder / SKILL_FILE) for subfolder in below) or any(
        os.path.lexists(subfolder / name / SKILL_FILE) for subfolder in below for name in names(subfolder)
    )


def owner_warning(root: Root) -> str:
    """Return a warning if other users own a space or can write to it; empty if not, or if the user declared it safe."""
    why = others_control(root.path, group=root.space is Space.USER)
    return why and f"{root.path} {why}: nothing is signed or written there unless {SAFE_FOLDERS} names it"


def files_warning(root: Root, foreign: Sequence[str]) -> str:
    """Return a warning about files that other users may have written; empty if none, or if the root itself is theirs.

    Args:
        root: The root. A bundle belongs to its publisher, whoever installed it, so it never gets this warning.
        foreign: A phrase for each file, as from :func:`rye._files.others_below`.
    """
    if not foreign or root.space is Space.SYSTEM or owner_warning(root):
        return ""
    named = f"{', '.join(foreign[:NAMED_OTHERS])}{' and more' if len(foreign) > NAMED_OTHERS else ''}"
    return f"in {root.path}, {named}: not to be signed unless {SAFE_FOLDERS} names it [unsafe-owner]"


def check_writable(root: Root, below: Iterable[str] = ()) -> None:
    """Refuse to sign or write in a space that others own or can write to, because its content may be theirs.

    A project or bundle whose root is a link is refused too: a checkout must not redirect writes. In the user space,
    links were made by the user.

    Args:
        root: The space.
        below: Paths of files to be signed, listed or written; the folders on the way to them are checked too.

    Raises:
        EnvironmentFault: ``unsafe-owner`` or ``project-elsewhere``.
    """
    path, owners = root.path, dict[str, Ownership]()
    for relative in dict.fromkeys(place.as_posix() for file in below for place in (*Path(file).parents, Path(file))):
        with suppress(OSError):  # not there yet
            owners[relative] = ownership_of((path / relative).stat())
    foreign = others_below(path, owners, group=root.space is Space.USER)
    if warning := owner_warning(root) or (
        foreign and f"in {path}, {', '.join(foreign[:NAMED_OTHERS])}: nothing is written"
    ):
        hint = f"review what lies there; then export {SAFE_FOLDERS}={quote(str(path))}"
        raise EnvironmentFault("unsafe-owner", warning, hint=hint, path=str(path))
    real = real_path(path)
    if root.space is not Space.USER and not is_within(real, real_path(root.around)):
        message = f"{str(path)!r} is a link out of the folder it lies in, to {real!r}; nothing is written there"
        hint = "go into the folder that it leads to and work there"
        raise EnvironmentFault("project-elsewhere", message, hint=hint, path=str(path))


def project_root(project: Path) -> Root:
    """Return the root of a project, given the folder that holds its ``.ai``."""
    return Root(Space.PROJECT, _absolute(project), prefix=_joined(path_in_repository(project), FOLDER))


def user_root(home: Path) -> Root:
    """Return the root of the user space, given the folder that holds its ``.ai``."""
    return Root(Space.USER, _absolute(home), prefix=FOLDER)


def _absolute(folder: Path) -> Path:
    return Path(os.path.abspath(folder), FOLDER)  # noqa: PTH100 - links stay as they are


def is_published(root: Root) -> bool:
    """Return whether a root belongs to a plugin or a repository of skills, which others install as a bundle."""
    return root.folder == SKILLS_FOLDER or os.path.lexists(root.around / PLUGIN)
