"""Items by the name that people and agents use: ``type:id``, or an id alone where only one type has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from rye.errors import ArgumentError, NotFoundError
from rye.locating import likest

if TYPE_CHECKING:
    from rye.reports import LoadedItem

__all__ = ["load_named"]


class _Items(Protocol):
    """What a registry has for this."""

    def find(self, item_id: str, space: str | None = None) -> tuple[str, ...]: ...

    def load(self, item_type: str, item_id: str, space: str | None = None) -> LoadedItem: ...


def load_named(registry: _Items, item: str, space: str | None = None) -> LoadedItem:
    """Load an item by ``type:id`` or its id.

    Raises:
        ArgumentError: ``ambiguous-item`` when several types have the id, ``bad-item``, ``bad-type``.
        NotFoundError: There is none; the hint names the nearest.
        ItemError: The file cannot be read as an item.
    """
    given: object = item
    if not isinstance(given, str) or not given.strip():
        raise ArgumentError("bad-item", f"item is {item!r}", hint="name it as type:id, or by its id")
    item_type, colon, item_id = item.partition(":")
    if colon:
        return registry.load(item_type, item_id, space)
    names = registry.find(item, space)
    if len(names) == 1:
        return registry.load(names[0].partition(":")[0], item, space)
    raise _ambiguous(item, names) if names else _missing(registry, item, space)


def _ambiguous(item: str, names: Sequence[str]) -> ArgumentError:
    hint = f"name the type: {' or '.join(names)}"
    return ArgumentError("ambiguous-item", f"{item!r} names {len(names)} items", hint=hint, candidates=list(names))


def _missing(registry: _Items, item: str, space: str | None) -> NotFoundError:
    nearest: list[str] = []
    for item_type in ("directive", "tool", "knowledge"):
        try:
            registry.load(item_type, item, space)
        except NotFoundError as error:
            if "elsewhere" in error.details:
                return error
            nearest += error.details.get("nearest", ())
    best = likest(item, nearest)
    hint = f"did you mean {' or '.join(best)}?" if best else "rye search finds items by what they say"
    return NotFoundError("item-not-found", f"there is no item {item!r}", hint=hint, nearest=best)
