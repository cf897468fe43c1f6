"""One item, read and verified from its bytes, with what the other spaces have to do with it."""

from __future__ import annotations

from rye import items, signing
from rye.errors import ArgumentError, ItemError
from rye.index.reader import Part
from rye.index.reading import read_item
from rye.index.schema import TYPE_NAMES
from rye.indexes import State
from rye.locating import check_type, not_found
from rye.reports import LoadedItem
from rye.search.request import SPACES
from rye.search.states import States

__all__ = ["load_item"]


def load_item(state: State, item_type: str, item_id: str, space: str | None) -> LoadedItem:
    """Read one item and verify exactly the bytes returned, as :meth:`rye.Registry.load` says.

    Args:
        state: Of the indexes.
        item_type: Of the item.
        item_id: Its id.
        space: Where to look; None and ``all`` take the highest-priority space that has it.

    Raises:
        ArgumentError: There is no such type or space.
        NotFoundError: No such item.
        ItemError: The file cannot be read as an item, or several files of one space are this item.
    """
    check_type(item_type)
    if space is not None and space not in SPACES:
        raise ArgumentError("bad-space", f"space is {space!r}", hint=f"valid are {', '.join(SPACES)}")
    found = [
        (part, local)
        for part, local in state.everywhere.having_key(item_type, item_id)
        if space in (None, "all", part.root.space)
    ]
    if not found:
        raise not_found(state.everywhere, item_type, item_id, space)
    first = found[0][0].root
    paths = sorted(part.segment.paths[local] for part, local in found if part.root is first)
    if len(paths) > 1:
        message = f"{item_type} {item_id!r} is in {len(paths)} files of {first.source}: {', '.join(paths)}"
        hint = "keep one of them; which is meant cannot be told"
        raise ItemError("ambiguous-item", message, hint=hint, paths=paths)
    return _loaded(state, *found[0])


def _loaded(state: State, part: Part, local: int) -> LoadedItem:
    kind, item_id = TYPE_NAMES[part.segment.types[local]], part.segment.ids[local]
    path = part.segment.paths[local]
    read = read_item(part.root, path, items.ItemType(kind), item_id)
    now = signing.system_clock()
    states = States(state.everywhere, state.everywhere, lambda: state.trust.trust, now)
    shadows, shadowed_by = states.sharing(states.copies(kind, item_id, part), part.root.source)
    withdrawn, successor = states.standing(part.base + local)
    return LoadedItem(
        item=read.item,
        space=part.root.space,
        bundle=part.root.bundle,
        path=str(part.root.path / path),
        content=read.data.decode("utf-8-sig"),
        signature=signing.judge(read.evidence, origin=read.origin, trust=state.trust.trust, now=now),
        shadows=shadows,
        shadowed_by=shadowed_by,
        states=withdrawn,
        successor=successor,
        warnings=(
            *(states.hiding(kind, item_id) if shadows or shadowed_by else ()),
            *states.doubts(part.base + local),
        ),
    )
