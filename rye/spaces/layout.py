"""The roots of a registry, and the trust files that count in them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from rye import signing, spaces
from rye.errors import ArgumentError, NotFoundError
from rye.signing import TrustLoad
from rye.spaces import Root

AUDIENCE: Final = "RYE_AUDIENCE"
"""Environment variable that names the audience where the caller does not."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The spaces of one registry.

    Attributes:
        roots: All of them, highest priority first.
        project: The folder that holds the project's ``.ai``, if there is a project.
        user: The user space's ``.ai``; it need not exist.
        warnings: About bundles that could not be used.
        named: Bundles that the caller named; the others were found.
        audience: The registry that signatures on the items of projects must name, and new ones do; empty for none.
    """

    roots: tuple[Root, ...]
    project: Path | None
    user: Path
    warnings: tuple[str, ...] = ()
    named: tuple[Root, ...] = ()
    audience: str = ""

    @classmethod
    def find(
        cls,
        *,
        project: Path | None,
        user: Path | None,
        bundles: Sequence[Path] | None,
        more: Sequence[Path] = (),
        audience: str | None = None,
    ) -> Layout:
        """Find the spaces.

        Args:
            project: Folder with the project's ``.ai``; None looks upwards from the working directory.
            user: Folder with the user's ``.ai``; None means ``$USER_SPACE``, else the home folder.
            bundles: As for :class:`rye.Registry`.
            more: Folders of bundles that count beside those.
            audience: As for :class:`rye.Registry`.

        Raises:
            NotFoundError: The project folder or a named bundle does not exist.
            ArgumentError: ``bad-audience``.
            EnvironmentFault: ``unusable-project``, for a ``.ai`` that is no folder.
        """
        name = os.environ.get(AUDIENCE, "") if audience is None else audience
        name = name and signing.check_audience(name)
        home = spaces.user_space() if user is None else user
        if project is None:
            project = spaces.find_project(Path.cwd(), user=home)
        elif not project.is_dir():
            message = f"there is no project folder {project}"
            raise NotFoundError("project-not-found", message, hint="name the folder that holds .ai", path=str(project))
        else:
            spaces.check_project(project, user=home)
        roots = [] if project is None else [spaces.project_root(project)]
        roots.append(spaces.user_root(home))
        found, warnings = spaces.system_roots(bundles)
        others, faults = spaces.named_roots(more, taken={root.bundle for root in found})
        named = others if bundles is None else (*(root for root in found if root.bundle != spaces.OWN), *others)
        unsafe = filter(None, map(spaces.owner_warning, roots))
        return cls((*roots, *found, *others), project, home / spaces.FOLDER, (*unsafe, *warnings, *faults), named, name)

    def load_trust(self, named: Sequence[Path] = ()) -> TrustLoad:
        """Read the trust files of all spaces; those ``named`` count as the user's own.

        Raises:
            NotFoundError: A named one does not exist.
            SigningError: A named one cannot be understood.
        """
        load = signing.load_trust(
            user=self.user,
            project=None if self.project is None else self.project / spaces.FOLDER,
            others={root.bundle: root.path for root in self.roots if root.space == "project" and root.bundle},
            bundles={root.bundle: root.path for root in self.roots if root.space == "system"},
            vouching=next((root.path for root in self.roots if spaces.is_own(root)), None),
            named=named,
        )
        return replace(load, trust=replace(load.trust, audience=self.audience)) if self.audience else load

    def in_space(self, space: str) -> tuple[Root, ...]:
        """Return the roots of one space, or of all."""
        return tuple(root for root in self.roots if space in ("all", root.space))

    def may_demand(self, root: Root) -> bool:
        """Return whether a manifest may be required of a root: those of the user, and bundles that were named."""
        return root.space != "system" or root in self.named


def as_path(name: str, value: object) -> Path:
    """Validate a path that a caller gave.

    Raises:
        ArgumentError: ``bad-path``.
    """
    if isinstance(value, (str, os.PathLike)):
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
