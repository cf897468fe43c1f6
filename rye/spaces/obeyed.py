"""Finds the files that clients obey and that are no items: hooks, settings, rules in other formats.

The folders of clients are covered as wholes: what lies in one and is no item is named, whatever it is, because a client
may read it tomorrow. Names are compared as systems do that ignore case. Items have places of their own
(:data:`rye.items.clients.OF_PROJECTS`), and whoever walks those names what is no item there.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from rye.errors import ItemError
from rye.items import TYPE_OF_FOLDER, is_item_file, parse
from rye.items.clients import (
    COVERED_IN_GITHUB,
    FIXED_FILES,
    OBEYED_IN_PLUGINS,
    OF_PROJECTS,
    PLUGIN,
    is_covered,
    is_obeyed,
    is_weak_mark,
)
from rye.spaces.model import FOLDER, ItemFile, Root, is_looked_into, is_within, spelled_as
from rye.spaces.read import read_file
from rye.trust import DETACHED_SUFFIX, real_path

# ruff: noqa: PTH112, PTH113, PTH114, PTH118, PTH120, PTH208 - paths are text here, and Path.is_dir() may raise

_PLACES = frozenset(each.place for each in OF_PROJECTS) - {""}
_HOLDERS = frozenset(place.partition("/")[0] for place in _PLACES if "/" in place)


def obeyed(folder: Path, depth: int) -> list[str]:
    """Return the files that clients obey and that are no items, in a folder of a project.

    Args:
        folder: Where to look.
        depth: How many levels of folders below it are searched, too.

    Returns:
        Paths below the folder, sorted by folder. A link is named itself, and so is a folder that cannot be read.
    """
    found: list[str] = []
    names = _names(folder)
    for name in names:
        spelled = spelled_as(name)
        if is_covered(spelled) or (spelled in OBEYED_IN_PLUGINS and PLUGIN in names):
            found += _files(folder, name)
        elif spelled == ".github":
            inner = [each for each in _names(folder / name) if spelled_as(each) in COVERED_IN_GITHUB]
            found += [path for each in inner for path in _files(folder, f"{name}/{each}")]
        elif is_obeyed(spelled):
            found += [] if _is_item(name) else [name]
        elif depth and is_looked_into(name) and not os.path.islink(folder / name):
            found += [f"{name}/{path}" for path in obeyed(folder / name, depth - 1)]
    return found


def has_files(folder: Path, names: Collection[str]) -> bool:
    """Return whether a folder has files that clients obey beside those in the places of items.

    Args:
        folder: Where to look.
        names: What lies in it.
    """
    for name in names:
        spelled, is_place = spelled_as(name), name in _PLACES and os.path.isdir(folder / name)
        if (is_obeyed(spelled) and not is_place) or (spelled in OBEYED_IN_PLUGINS and PLUGIN in names):
            return True
        if is_covered(spelled) and not (is_weak_mark(spelled) or is_place) and _has_more(folder / name, name):
            return True
        if spelled == ".github":
            inner = [each for each in _names(folder / name) if spelled_as(each) in COVERED_IN_GITHUB]
            if any(f"{name}/{each}" not in _PLACES for each in inner):
                return True
    return False


def uncovered_imports(root: Root, file: ItemFile) -> list[str]:
    """Return the files that an instruction file of a client imports, such as ``@docs/style.md``, and that are no items.

    Returns:
        Paths below the root, which may begin with ``..``. What is not there, or lies outside the project, is left out:
        a client asks before it reads that.
    """
    if root.client is None or root.has_skills or file.suffix != ".md":
        return []
    try:
        item = parse(read_file(root, file.rel_path), item_type=file.item_type, item_id=file.item_id, suffix=".md")
    except ItemError:  # which verification reports
        return []
    base, around = os.path.dirname(root.path / file.rel_path), os.fspath(root.around)
    places = [os.path.normpath(os.path.join(base, each.path)) for each in item.imports if each.path[0] == "."]
    inside = [place for place in places if is_within(place, around) and os.path.isfile(place)]
    return [os.path.relpath(place, root.path) for place in inside if not _is_item_of(os.path.relpath(place, around))]


def _is_item_of(path: str) -> bool:
    """Return whether a path below a project is that of an item, in ``.ai`` or in a place of a client."""
    folder, _, rel_path = path.partition(f"{FOLDER}/")
    top = TYPE_OF_FOLDER.get(rel_path.partition("/")[0])
    if not folder and top and is_item_file(top, rel_path.rpartition("/")[2]):
        return True
    return any(
        each.identify(path.removeprefix(f"{each.place}/")) is not None
        for each in OF_PROJECTS
        if each.is_fixed or path.startswith(f"{each.place}/")
    )


def is_of_client(path: str) -> bool:
    """Return whether a path below a project is that of a file that clients obey."""
    parts = [spelled_as(part) for part in path.split("/")]
    return ".github" in parts or any(is_covered(part) or is_obeyed(part) for part in parts)


def _has_more(path: Path, name: str) -> bool:
    """Return whether the folder of a client has more than places of items."""
    inner = [f"{name}/{each}" for each in _names(path)]
    return os.path.islink(path) or not _PLACES.issuperset(inner)


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _files(base: Path, path: str) -> list[str]:
    """Return the files in a folder of a client that are no items and lie in no place of items.

    A client's whole folder may be a link to another one in the project, which is followed. Any other link is named; one
    that leads a place of items out of the project is reported by whoever walks that place.
    """
    full = base / path
    if path in _PLACES:
        return []
    if os.path.islink(full):
        leads_in = os.path.relpath(real_path(full), real_path(base)).partition(os.sep)[0] != os.pardir
        if path not in _HOLDERS or (leads_in and not os.path.isdir(full)):
            return [] if _is_item(path) else [path]
        if not leads_in:
            return []
    elif not os.path.isdir(full):
        return [] if _is_item(path) else [path]
    try:
        names = sorted(os.listdir(full))
    except OSError:
        return [path]
    return [each for name in names for each in _files(base, f"{path}/{name}")]


def _is_item(path: str) -> bool:
    return FIXED_FILES.identify(path.removesuffix(DETACHED_SUFFIX)) is not None
