"""The roots of a registry, and the trust files that apply to them."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from rye._files import real_path
from rye._resources import OWN_KEY
from rye._text import quote
from rye.errors import ArgumentError, NotFoundError
from rye.items.clients import CLIENTS, FIXED_FILES, FIXED_NAMES, OF_PROJECTS, OF_USERS
from rye.spaces.bundles import OWN_IDS, is_own, named_roots, system_roots
from rye.spaces.discover import (
    check_project,
    client_roots,
    find_project,
    owner_warning,
    path_in_repository,
    project_root,
    user_root,
    user_space,
)
from rye.spaces.model import FOLDER, Root, Space
from rye.spaces.state import checkouts_around, organisation_folder, user_fault
from rye.trust.line import check_audience
from rye.trust.trust_entry import OWN
from rye.trust.trust_store import TrustLoad, load_trust

AUDIENCE: Final = "RYE_AUDIENCE"
"""Environment variable with the default audience."""

CLIENTS_VARIABLE: Final = "RYE_CLIENTS"
"""Environment variable that lists the clients whose folders are searched by default."""

NO_CLIENTS: Final = "none"


class Layout(NamedTuple):
    """The spaces of one registry.

    Attributes:
        roots: All roots, highest priority first.
        project: The folder that holds the project's ``.ai``, if there is a project.
        user: The user space's ``.ai``; it need not exist.
        warnings: About bundles that could not be used.
        named: Bundles that the caller named, as opposed to discovered ones.
        left_out: The sources of client folders that the caller or the environment excluded.
        audience: The registry that signatures on project items must name, and that new signatures name; empty for none.
    """

    roots: tuple[Root, ...]
    project: Path | None
    user: Path
    warnings: tuple[str, ...] = ()
    named: tuple[Root, ...] = ()
    audience: str = ""
    left_out: tuple[str, ...] = ()

    @classmethod
    def find(
        cls,
        *,
        project: Path | None,
        user: Path | None,
        bundles: Sequence[Path] | None,
        more: Sequence[Path] = (),
        audience: str | None = None,
        clients: Sequence[str] | None = None,
    ) -> Layout:
        """Find the spaces.

        Args:
            project: Folder with the project's ``.ai``; None searches upwards from the working directory.
            user: Folder with the user's ``.ai``; None means ``$USER_SPACE``, else the home folder.
            bundles: As for :class:`rye.Registry`.
            more: Folders of additional bundles.
            audience: As for :class:`rye.Registry`.
            clients: As for :class:`rye.Registry`.

        Raises:
            NotFoundError: The project folder or a named bundle does not exist.
            ArgumentError: ``bad-audience`` or ``bad-client``.
            EnvironmentFault: ``unusable-project``: ``.ai`` is not a folder.
        """
        name = os.environ.get(AUDIENCE, "") if audience is None else audience
        name = "" if name == "" else check_audience(name)
        chosen = _check_clients(clients)
        home = user_space() if user is None else user
        if project is None:
            project = find_project(Path.cwd(), user=home)
        elif not os.path.isdir(project):  # noqa: PTH112 - Path.is_dir raises for a name that is too long
            message = f"there is no project folder {project}"
            raise NotFoundError("project-not-found", message, hint="name the folder that holds .ai", path=str(project))
        else:
            check_project(project, user=home)
        roots: list[Root] = []
        if project is not None:
            roots += [
                project_root(project),
                *client_roots(Space.PROJECT, project, OF_PROJECTS, clients=chosen),
            ]
        roots += [user_root(home), *client_roots(Space.USER, home, OF_USERS, clients=chosen)]
        system, warnings = system_roots(bundles)
        given, faults = named_roots(more, known=system)
        extra = tuple(root for root in given if root not in system)
        named = given if bundles is None else (*(root for root in system if root.bundle != OWN), *extra)
        unsafe = filter(None, map(owner_warning, roots))
        faults = (*unsafe, *warnings, *faults)
        left: tuple[str, ...] = ()
        if len(chosen) < len(CLIENTS):
            unchosen = frozenset(CLIENTS) - chosen
            known = client_roots(Space.PROJECT, project, OF_PROJECTS, clients=unchosen) if project else ()
            known += client_roots(Space.USER, home, OF_USERS, clients=unchosen)
            left = tuple(root.source for root in known)
        return cls((*roots, *system, *extra), project, home / FOLDER, faults, named, name, left)

    def load_trust(self, named: Sequence[Path] = ()) -> TrustLoad:
        """Read the trust files of all spaces; the files in ``named`` are trusted like the user's own.

        Raises:
            NotFoundError: A named file does not exist.
            SigningError: A named file cannot be parsed.
        """
        other_projects = {
            root.bundle: root.path for root in self.roots if root.space == "project" and root.bundle and not root.client
        }
        checkouts, own = self._checkouts(), [root for root in self.roots if is_own(root)]
        load = load_trust(
            user=self.user,
            project=None if self.project is None else self.project / FOLDER,
            other_projects=other_projects,
            checkouts=checkouts,
            user_fault=user_fault(self.user, checkouts),
            bundles={root.bundle: root.trust_root for root in self.roots if root.space == "system" and root not in own},
            own_key=OWN_KEY if own else "",
            named=named,
            organisation=organisation_folder(),
        )
        return load._replace(trust=replace(load.trust, audience=self.audience)) if self.audience else load

    def safe_user(self) -> Path | None:
        """Return the user's ``.ai`` if its settings are safe to use; else None, and :meth:`load_trust` warns."""
        return None if user_fault(self.user, self._checkouts()) else self.user

    def _checkouts(self) -> dict[str, str]:
        """Return the folders that must not contain the user space: working folders and folders to verify.

        Returns:
            Real path → the path to show.
        """
        home = real_path(self.user.parent)
        named = [root for root in self.roots if root.space != Space.USER and not is_own(root)]
        projects = dict.fromkeys(_place(root) for root in named if root.space == Space.PROJECT)
        found = dict[str, str]()
        for place in dict.fromkeys(map(_place, named)):
            if (real := real_path(place)) != home:
                found.setdefault(real, str(place))
        if self.project is not None:
            found.setdefault(real_path(self.project), str(self.project))
        with suppress(OSError):  # the working directory is gone
            projects[Path.cwd()] = None
        for real in checkouts_around(projects, self.user.parent):
            found.setdefault(real, real)
        return found

    def with_files(self) -> Layout:
        """Return the layout with the root of the files that clients read anywhere in the project.

        It is among the roots only if such files lie where a search looks; signing and verifying look deeper.
        """
        is_there = any(root.space is Space.PROJECT and root.client == FIXED_FILES for root in self.roots)
        if self.project is None or is_there or self.left_out:
            return self
        path = Path(os.path.abspath(self.project))  # noqa: PTH100 - links stay
        root = Root(Space.PROJECT, path, client=FIXED_FILES, prefix=path_in_repository(path))
        return self._replace(roots=(*self.roots, root))

    def in_space(self, space: str, ids: Collection[str] = ()) -> tuple[Root, ...]:
        """Return the roots of one space, or of all.

        The root of rye's own items is in system space, but among all only if one of some ids or globs names them.
        """
        own = space == Space.SYSTEM or any(item_id.startswith(OWN_IDS) for item_id in ids)
        return tuple(root for root in self.roots if space in ("all", root.space) and (own or not is_own(root)))

    def describe_empty(self, space: str = "all", filled: Collection[str] = ()) -> str:
        """Return where rye looked for items and what to do next; empty if there are items other than rye's own.

        Args:
            space: The space that was searched.
            filled: Sources that have items.
        """
        roots = self.in_space(space)
        if space == Space.SYSTEM or any(root.source in filled for root in roots):
            return ""
        looked = []
        if space != Space.USER:
            where = f"in {quote(str(self.project or Path.cwd()))}"
            above = "" if self.project else " and the folders above it"
            looked.append(f"for {FOLDER}, {', '.join(FIXED_NAMES[:2])}, .claude/skills and the like {where}{above}")
        looked += [
            f"in {quote(str(root.path))}" for root in roots if root.client is None and root.space != Space.PROJECT
        ]
        whose = "of your own" if space == "all" else f"in {space} space"
        advice = "rye init imports a folder, rye new creates a first item, --project DIR names another folder"
        return f"there are no items {whose}: looked {', and '.join(looked)}; {advice}"

    def may_demand(self, root: Root) -> bool:
        """Return whether a root may be required to have a list: a project, the user space, or a named bundle.

        Client folders have no lists.
        """
        return (root.client is None and root.space != "system") or root in self.named


def _place(root: Root) -> Path:
    return root.around if root.client or root.path.name == FOLDER else root.path


def _check_clients(clients: Sequence[str] | None) -> frozenset[str]:
    """Return the clients whose folders are searched: those given, else those in the environment, else all.

    Raises:
        ArgumentError: ``bad-client``.
    """
    named = os.environ.get(CLIENTS_VARIABLE)
    if clients is None and named is None:
        return frozenset(CLIENTS)
    given = (named or "").replace(",", " ").split() if clients is None else clients
    if isinstance(given, (str, bytes)) or not isinstance(given, Sequence):
        given = [given]
    wrong = [client for client in given if client not in (*CLIENTS, NO_CLIENTS)]
    if wrong or (NO_CLIENTS in given and len(given) > 1):
        where = CLIENTS_VARIABLE if clients is None else "clients"
        message = f"{where} names {wrong[0]!r}" if wrong else f"{where} names {NO_CLIENTS!r} beside others"
        hint = f"valid are {', '.join(CLIENTS)}, or {NO_CLIENTS} alone"
        raise ArgumentError("bad-client", message, hint=hint, valid=[*CLIENTS, NO_CLIENTS])
    return frozenset(given)


def as_path(name: str, value: object) -> Path:
    """Validate a path that a caller gave.

    Raises:
        ArgumentError: ``bad-path``.
    """
    with suppress(TypeError, UnicodeEncodeError):  # bytes, or half of a character
        if value != "" and isinstance(value, (str, os.PathLike)) and b"\0" not in os.fsencode(value):
            return Path(value)
    raise ArgumentError("bad-path", f"{name} is {value!r}", hint="give a path as text or pathlib.Path")


def as_paths(name: str, values: object) -> tuple[Path, ...]:
    """Validate a list of paths that a caller gave.

    Raises:
        ArgumentError: ``bad-path``.
    """
    if isinstance(values, Sequence) and not isinstance(values, (str, bytes)):
        return tuple(as_path(name, value) for value in values)
    raise ArgumentError("bad-path", f"{name} is {values!r}", hint="give a list of paths")
