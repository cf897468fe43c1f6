"""Links from one item to another of the same root: one item with several names.

``CLAUDE.md`` is often a link to ``AGENTS.md``. The file is listed, signed and found once, by its own path; whoever asks
for the name of the link gets that item.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress

from rye.items import EXTENSIONS, TYPE_OF_FOLDER, ItemType, is_item_file
from rye.items.clients import SKILL_FILE
from rye.spaces.model import ItemFile, Root, is_skipped, is_within
from rye.trust import real_path

# ruff: noqa: PTH114, PTH118 - paths are text here: a walk may handle ten thousand


def own_path(root: Root, real: str, *, base: str = "") -> str:
    """Return the path below a root by which a file is listed itself; empty if it is listed by no path of its own.

    Args:
        root: The root.
        real: The real path of the file.
        base: The real path of the root, if the caller has it.
    """
    base = base or real_path(root.path)
    if real == base or not is_within(real, base):
        return ""
    path = real[len(base) :].strip(os.sep).replace(os.sep, "/")
    folders = path.split("/")[:-1]
    if root.client is None:
        hidden = any(map(is_skipped, folders))
    elif root.client.is_fixed:
        hidden = len(folders) > root.client.depth + 1 or any(is_skipped(name) and name[0] != "." for name in folders)
    else:
        hidden = any(map(is_skipped, folders))
        if root.has_skills and not any(
            os.path.lexists(os.path.join(base, *folders[:depth], SKILL_FILE)) for depth in range(1, len(folders) + 1)
        ):
            return ""
    return path if not hidden and _file(root, path) else ""


def _file(root: Root, path: str) -> ItemFile | None:
    """Return the item that a path below a root stands for; None for no item."""
    if root.client is not None:
        return root.file(path) if root.client.identify(path) else None
    kind = TYPE_OF_FOLDER.get(path.partition("/")[0])
    return ItemFile.at(path) if kind and "/" in path and is_item_file(kind, path.rpartition("/")[2]) else None


def aliased(roots: Iterable[Root], item_types: Iterable[str], item_id: str) -> tuple[Root, ItemFile] | None:
    """Return the item that a name is a link to, in the first root that has such a link."""
    kinds = frozenset(item_types)
    for root in roots:
        for kind in kinds:
            for path in _links(root, ItemType(kind), item_id):
                file = _file(root, path)
                if file and (file.item_type, file.item_id) == (kind, item_id):
                    target = own_path(root, real_path(root.path / path))
                    if target:
                        return root, root.file(target)
    return None


def _links(root: Root, item_type: ItemType, item_id: str) -> Iterator[str]:
    """Yield the paths below a root of links that may have the name of an item."""
    if root.client is None:
        paths = (f"{item_type.folder}/{item_id}{suffix}" for suffix in EXTENSIONS[item_type])
        yield from (path for path in paths if os.path.islink(root.path / path))
        return
    folder = root.folder_of(item_type, item_id)
    with suppress(OSError), os.scandir(root.path / folder) as entries:
        yield from (f"{folder}/{entry.name}".lstrip("/") for entry in entries if entry.is_symlink())
