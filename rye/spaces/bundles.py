"""Finds bundles: rye's own items, bundles registered by installed packages, and folders named by the caller.

Nothing in a bundle is imported or run, installed or not.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, count
from pathlib import Path

from rye._files import real_path
from rye._resources import items_root
from rye.errors import ArgumentError, NotFoundError
from rye.items.clients import MARKS, OF_BUNDLES, OF_PROJECTS, PLUGIN, SKILLS, SKILLS_FOLDER
from rye.items.model import ItemType
from rye.spaces import packages
from rye.spaces.classify import is_skipped
from rye.spaces.discover import client_roots, has_skills
from rye.spaces.model import FOLDER, Root, Space
from rye.spaces.snapshot import entries, names
from rye.trust.trust_entry import OWN

# ruff: noqa: PTH112 - Path.is_dir() and is_file() raise where a folder may not be entered

OWN_IDS = f"{OWN}/"
"""How the ids of rye's own items begin."""

_MAX_LENGTH = 64
_NOT_AN_ID = re.compile(r"[^\w.+-]+")


def _identity(bundle: str, version: str = "") -> tuple[str, str]:
    """Make a safe id and version from untrusted text: bounded length, only letters, digits and ``_ . + -``."""
    name = _NOT_AN_ID.sub("-", bundle)[:_MAX_LENGTH].strip("-.") or "bundle"
    return name, _NOT_AN_ID.sub("-", version)[:_MAX_LENGTH]


def identify(folder: Path) -> tuple[str, str]:
    """Return id and version of the bundle in a folder, from nearby package metadata, ``bundle.py`` or its name."""
    for info in packages.infos_in(folder.parent):
        for entry, module in packages.entries(info):
            if module.split(".")[0] == folder.name:
                return _identity(entry, packages.version(info))
    literal = packages.literals(folder / "bundle.py")
    return _identity(literal.get("bundle_id") or folder.name, literal.get("version", ""))


_MAX_FOLDER_DEPTH = 3  # how deep a bundle may lie below a named folder
_METADATA = (".dist-info", ".egg-info")
_VARIABLE = "RYE_BUNDLES"
_INSTALLED = frozenset({"dist-packages", "site-packages"})


def system_roots(
    bundles: Sequence[Path | str] | None = None, *, environ: Mapping[str, str] | None = None
) -> tuple[tuple[Root, ...], tuple[str, ...]]:
    """Return the roots of system space, highest priority first, and warnings about bundles that could not be used.

    Args:
        bundles: None means rye's own items, every installed bundle, and the folders in ``RYE_BUNDLES``. An empty
            sequence means none at all. Other folders come after rye's own items.
        environ: The environment to use; None means that of the process.

    Raises:
        NotFoundError: ``bundle-not-found``, for a folder named in ``bundles``.
    """
    if bundles is not None and not bundles:
        return (), ()
    collector = RootCollector()
    collector.add(Root(Space.SYSTEM, items_root(), bundle=OWN))
    if bundles is not None:
        collector.add_folders([Path(folder) for folder in bundles])
        return collector.result()
    for root in _installed(collector.warnings):
        collector.add(root)
    value = (os.environ if environ is None else environ).get(_VARIABLE, "")
    named = [Path(os.path.expanduser(folder)) for folder in value.split(os.pathsep) if folder.strip()]
    missing = [folder for folder in named if not os.path.isdir(folder)]
    collector.warnings += [f"{_VARIABLE} names {str(folder)!r}, which is not a folder" for folder in missing]
    collector.add_folders([folder for folder in named if folder not in missing])
    return collector.result()


def named_roots(
    folders: Iterable[Path | str], *, known: Sequence[Root] = ()
) -> tuple[tuple[Root, ...], tuple[str, ...]]:
    """Return the roots of the bundles in some folders, and warnings about folders that hold none; nothing is imported.

    A folder may be a root itself, contain a ``.ai``, or contain packages that do, such as the target of
    ``pip install --target``.

    Args:
        folders: Where to look.
        known: Roots found earlier; a root found again is returned as the known one.

    Raises:
        NotFoundError: ``bundle-not-found``.
    """
    collector = RootCollector({root.bundle for root in known}, known)
    collector.add_folders([Path(folder) for folder in folders])
    return collector.result()


def named_bundle(folder: Path) -> tuple[Root, ...]:
    """Return the roots of the single bundle in a folder; a bundle with client folders, such as a plugin, has several.

    Raises:
        ArgumentError: ``bad-target`` if the folder holds no bundle or several.
        NotFoundError: ``bundle-not-found``.
    """
    roots, _ = named_roots([folder])
    if len({root.bundle for root in roots}) != 1:
        message = f"{folder} holds {len({root.bundle for root in roots})} bundles"
        hint = "name a folder with directives, tools, knowledge or skills in it"
        raise ArgumentError("bad-target", message, hint=hint)
    return roots


def is_own(root: Root) -> bool:
    """Return whether a root is the folder of rye's own items; decided by path, because a package can claim any id."""
    if root.space is not Space.SYSTEM:
        return False
    own = items_root()
    try:
        return root.path == own or root.path.samefile(own)
    except OSError:
        return False


class RootCollector:
    """Collects roots so that each bundle id and each folder occurs once."""

    def __init__(self, taken: Collection[str] = (), known: Sequence[Root] = ()) -> None:
        self._known = {os.path.realpath(root.path): root for root in known}
        self._roots: list[Root] = []
        self._places: set[str] = set()
        self._ids = {OWN, *taken}
        self.warnings: list[str] = []

    def add(self, root: Root) -> None:
        """Add a root; a second bundle with the same id gets a numbered id, because bundles are pinned by their ids."""
        place = real_path(root.path)
        if place in self._places:
            return
        self._places.add(place)
        if already := self._known.get(place):
            self._roots.append(already)
            return
        own = is_own(root)
        siblings = [other for other in self._roots if other.bundle == root.bundle and other.space is root.space]
        if root.client and any(other.around == root.around for other in siblings):
            self._roots.append(root)
            return
        numbered = chain([root.bundle], (f"{root.bundle}#{number}" for number in count(2)))
        bundle = OWN if own else next(name for name in numbered if name not in self._ids)
        if bundle != root.bundle and not own:
            self.warnings.append(f"a bundle {root.bundle!r} is there already; the one in {root.path} is {bundle!r}")
        self._ids.add(bundle)
        self._roots.append(replace(root, bundle=bundle))

    def add_folders(self, folders: Sequence[Path]) -> None:
        """Add every root below the folders.

        Raises:
            NotFoundError: ``bundle-not-found``.
        """
        if missing := [folder for folder in folders if not os.path.isdir(folder)]:
            path = str(missing[0])
            message = f"there is no bundle folder {path!r}"
            raise NotFoundError("bundle-not-found", message, hint="name a folder that exists", path=path)
        for folder in folders:
            roots = list(_roots_below(Path(os.path.abspath(folder))))  # noqa: PTH100 - links stay
            if not roots:
                self.warnings.append(f"no items lie below {str(folder)!r}: it has no directives, tools or knowledge")
            for root in roots:
                self.add(root)

    def result(self) -> tuple[tuple[Root, ...], tuple[str, ...]]:
        """Return the roots, and the warnings."""
        return tuple(self._roots), tuple(self.warnings)


def _roots_below(folder: Path) -> Iterator[Root]:
    """Yield the root that a folder is or contains, else the roots of the packages in it, sorted by path."""
    level = [folder]
    for depth in range(_MAX_FOLDER_DEPTH + 1):
        deeper: list[Path] = []
        for place in level:
            path = _root_at(place, itself=depth == 0)
            if path:
                identity = identify(place.parent if place.name == FOLDER else place)
                yield Root(Space.SYSTEM, path, *identity, prefix=prefix_of(path))
            elif clients := _client_roots(place, itself=depth == 0):
                yield from clients
            else:
                deeper += _folders_in(place)
        level = deeper


def _client_roots(folder: Path, *, itself: bool) -> tuple[Root, ...]:
    """Return the roots in a plugin, a repository of skills, or a project of another client.

    Only the named folder itself may hold skills directly, because checking every subfolder would be slow.
    """
    inside = names(folder)
    if not (itself or inside.intersection(MARKS) or PLUGIN in inside):
        return ()
    bundle = identify(folder)[0]
    known = OF_BUNDLES if PLUGIN in inside else OF_BUNDLES[:1]
    roots = client_roots(Space.SYSTEM, folder, known, bundle=bundle)
    if not roots and itself and has_skills_itself(folder):
        roots = (Root(Space.SYSTEM, folder, bundle, client=SKILLS),)
    return roots or client_roots(Space.SYSTEM, folder, OF_PROJECTS, bundle=bundle)


def has_skills_itself(folder: Path) -> bool:
    """Return whether a folder is a repository of skills that lie directly in it, as ``pdf/SKILL.md``."""
    inside = names(folder)
    return SKILLS_FOLDER not in inside and inside.isdisjoint(MARKS) and has_skills(folder)


def _folders_in(place: Path) -> list[Path]:
    with suppress(OSError):
        candidates = [
            entry for entry in entries(str(place)) if not (is_skipped(entry.name) or entry.name.endswith(_METADATA))
        ]
        return [place / entry.name for entry in candidates if entry.is_dir(follow_symlinks=False)]
    return []


def _root_at(folder: Path, *, itself: bool) -> Path | None:
    """Return ``folder/.ai`` if it may hold items; else, if ``itself`` is set, the folder if it may hold items."""
    inner = folder / FOLDER
    if has_items(inner):
        return inner
    return folder if itself and has_items(folder) else None


def prefix_of(root: Path) -> str:
    """Return the path of a bundle's root below the folder of the bundle: ``.ai``, or empty for that folder itself."""
    return FOLDER if root.name == FOLDER else ""


def has_items(folder: Path) -> bool:
    """Return whether a folder has a subfolder for items of some type."""
    return any(os.path.isdir(folder / item_type.folder) for item_type in ItemType)


def _installed(warnings: list[str]) -> Iterator[Root]:
    """Yield the roots of registered bundles, sorted by name, and warn about bundles whose items are not found."""
    for name, module, info in packages.registered():
        roots = (_root_at(folder, itself=True) for folder in packages.package_folders(info, module))
        path = next(filter(None, roots), None)
        if path is None:
            problem = f"no items are found in the package of {module}; name its folder in {_VARIABLE}"
            warnings.append(f"the bundle {name!r} of {info.name} is left out: {problem}")
        else:
            bundle, version = _identity(name, packages.version(info))
            yield Root(Space.SYSTEM, path, bundle, version, stamp=_stamp(path, version), prefix=prefix_of(path))


def _stamp(path: Path, version: str) -> str:
    """Return a text that changes when a package is reinstalled; empty for a package that may be under development."""
    if not version or _INSTALLED.isdisjoint(path.parts):
        return ""
    folders = [path, *(path / item_type.folder for item_type in ItemType)]
    seen = [folder.stat() for folder in folders if os.path.isdir(folder)]
    return "|".join([str(path), version, *(f"{status.st_ino}:{status.st_mtime_ns}" for status in seen)])
