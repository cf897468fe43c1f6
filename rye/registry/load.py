"""Loads one item: reads and verifies its bytes, and names the copies in other spaces that shadow it or are shadowed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rye.errors import ItemError
from rye.index.build.reader import Part, Reader
from rye.items.hidden import HIDDEN_TEXT
from rye.items.model import TYPE_NAMES, ItemType
from rye.registry.lookup import reading
from rye.registry.reports import LoadedItem
from rye.search.states.states import States
from rye.spaces.lists import warn_beside
from rye.spaces.signed import ReadItem, read_item
from rye.spaces.skills_lock import installed_from
from rye.trust.judge import judge
from rye.trust.trust_set import TrustSet
from rye.trust.trust_store import system_clock


def load_item(
    reader: Reader,
    trust: TrustSet,
    name: str,
    documents: Sequence[tuple[Part, int]],
    *,
    read: Callable[..., ReadItem] = read_item,
    names_files: bool = True,
) -> LoadedItem:
    """Read one item and verify exactly the bytes returned.

    Args:
        reader: A reader over all spaces.
        trust: The trusted keys.
        name: The name that the caller used.
        documents: The documents of the reader that :func:`rye.registry.lookup.find_item` returned for it.
        read: Reads a file as :func:`rye.spaces.signed.read_item` does.
        names_files: Whether warnings may name files that no signature covers.

    Raises:
        ItemError: The file cannot be read as an item, or several files of one space are this item.
    """
    part, local = documents[0]
    kind, item_id = TYPE_NAMES[part.segment.types[local]], part.segment.ids[local]
    paths = sorted(copy.segment.paths[number] for copy, number in documents if copy.root is part.root)
    if len(paths) > 1:
        message = f"{kind} {item_id!r} is in {len(paths)} files of {part.root.source}: {', '.join(paths)}"
        hint = "keep one of them, because an id must name one file"
        raise ItemError("ambiguous-item", message, hint=hint, paths=paths)
    found_item = read(part.root, paths[0], ItemType(kind), item_id)
    now = system_clock()
    states = States(reader, reader, lambda: trust, now)
    shadows, shadowed_by = states.sharing(states.sources_of(kind, item_id, part), part.root.source)
    withdrawn, successor = states.withdrawn(part.base + local)
    runs = kind == "tool" or part.root.describe(paths[0])[0] == "skill"
    return LoadedItem(
        item=found_item.item,
        root=part.root,
        file=part.root.file(paths[0]),
        content=_text(found_item.data),
        data=found_item.data,
        installed_from=installed_from(part.root, found_item),
        signature=judge(found_item.evidence, origin=found_item.origin, trust=trust, now=now),
        shadows=shadows,
        shadowed_by=shadowed_by,
        states=(*withdrawn, *([HIDDEN_TEXT] if found_item.hidden else [])),
        successor=successor,
        warnings=(
            *reading(name, f"{kind}:{item_id}"),
            *([f"{kind}:{item_id}: hidden text: {found_item.hidden}"] if found_item.hidden else ()),
            *(states.hiding(kind, item_id) if shadows or shadowed_by else ()),
            *states.successor_warnings(part.base + local),
            *(warn_beside(part.root, paths[0], named=names_files) if runs else ()),
        ),
    )


def _text(data: bytes) -> str:
    """Decode an item's file; its signature line, which is not part of the item, may not be UTF-8."""
    return data.decode("utf-8-sig", "backslashreplace")
