"""Files of one space that are one item by their names: which of them is meant cannot be told, as ``rye show`` says."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping

from rye.errors import ItemError
from rye.items import ItemType
from rye.spaces import ItemFile, Root

__all__ = ["with_twins"]

_Group = dict[tuple[ItemType, str], list[str]]


def with_twins(root: Root, walked: Iterable[ItemFile | ItemError]) -> Iterator[ItemFile | ItemError]:
    """Yield what a walk of a root yields, folder by folder, and ``ambiguous-item`` for each file that has a twin.

    One signature holds for all of them, since it binds type and id in Unicode normal form C. Twins lie in one folder,
    so memory does not grow with the number of files; only folders whose names may be spelled in two ways are kept.
    """
    here: _Group = {}
    kept: _Group = {}
    folder = ""
    for file in walked:
        if isinstance(file, ItemFile):
            inside = file.rel_path.rpartition("/")[0]
            if inside != folder:
                yield from _ambiguous(root, here)
                here, folder = {}, inside
            item_id = file.item_id if file.item_id.isascii() else unicodedata.normalize("NFC", file.item_id)
            group = here if inside.isascii() else kept
            group.setdefault((file.item_type, item_id), []).append(file.rel_path)
        yield file
    yield from _ambiguous(root, here)
    yield from _ambiguous(root, kept)


def _ambiguous(root: Root, group: Mapping[tuple[ItemType, str], list[str]]) -> Iterator[ItemError]:
    for (item_type, item_id), paths in group.items():
        if len(paths) > 1:
            # letters that only look the same are told apart by their escapes
            names = ", ".join(path if path.isascii() else f"{path} ({path!a})" for path in paths)
            message = f"{item_type} {item_id!r} is in {len(paths)} files of {root.source}: {names}"
            hint = "keep one of them; which is meant cannot be told"
            for path in paths:
                yield ItemError("ambiguous-item", message, hint=hint, path=path, paths=paths)
