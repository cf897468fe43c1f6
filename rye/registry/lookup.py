"""Which document of the index an item is, by the name that people and agents use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher, get_close_matches
from typing import TYPE_CHECKING, Protocol

from rye.errors import ArgumentError, NotFoundError
from rye.index.reader import Part, Reader
from rye.index.schema import TYPE_NAMES

if TYPE_CHECKING:
    from rye.registry.reports import LoadedItem

__all__ = ["check_type", "likest", "load_named", "locate", "not_found"]

_NAMED = 3
_LIKE = 0.6


def check_type(item_type: str) -> None:
    """Refuse what is no item type.

    Raises:
        ArgumentError: ``bad-type``.
    """
    if item_type not in TYPE_NAMES:
        message = f"item type is {item_type!r}"
        raise ArgumentError("bad-type", message, hint=f"valid are {', '.join(TYPE_NAMES)}", valid=list(TYPE_NAMES))


def likest(item_id: str, refs: Iterable[str], item_type: str = "") -> list[str]:
    """Return up to three items with the ids most like one, whatever their case, best first.

    Args:
        item_id: The id that was asked for.
        refs: ``type:id`` of the items there are.
        item_type: The type that was asked for; of one id, items of this type come first.
    """
    folded = item_id.casefold()
    named: dict[str, list[str]] = {}
    for ref in dict.fromkeys(refs):
        named.setdefault(ref.partition(":")[2].casefold(), []).append(ref)
    ids = get_close_matches(folded, list(named), n=_NAMED, cutoff=_LIKE)
    ids.sort(key=lambda one: (-SequenceMatcher(None, one, folded).ratio(), one))
    return [
        ref for one in ids for ref in sorted(named[one], key=lambda ref: (ref.partition(":")[0] != item_type, ref))
    ][:_NAMED]


def not_found(reader: Reader, item_type: str, item_id: str, space: str | None = None) -> NotFoundError:
    """Return the error that there is no such item in a space; its hint names where it is, or else the nearest."""
    elsewhere = list(dict.fromkeys(part.root.source for part, _ in reader.having_key(item_type, item_id)))
    if elsewhere:
        message = f"there is no {item_type} {item_id!r} in space {space}"
        hint = f"it is in {', '.join(elsewhere)}; look there, or in all spaces"
        return NotFoundError("item-not-found", message, hint=hint, elsewhere=elsewhere)
    near = likest(item_id, reader.all_keys(), item_type)
    hint = f"did you mean {' or '.join(near)}?" if near else "rye search finds items by what they say"
    return NotFoundError("item-not-found", f"there is no {item_type} {item_id!r}", hint=hint, nearest=near)


def locate(reader: Reader, item: str) -> list[tuple[Part, int]]:
    """Return every document that a ``type:id`` names, or an id alone where only one type has it; by priority.

    Raises:
        ArgumentError: ``bad-item``; ``bad-type``; ``ambiguous-item`` when several types have the id.
        NotFoundError: There is none.
    """
    given: object = item
    if not isinstance(given, str) or not given.strip():
        raise ArgumentError("bad-item", f"item is {item!r}", hint="name it as type:id, or by its id")
    kind, colon, item_id = item.partition(":")
    if colon:
        check_type(kind)
    kinds = (kind,) if colon else TYPE_NAMES
    found = {each: list(reader.having_key(each, item_id if colon else item)) for each in kinds}
    named = [each for each, docs in found.items() if docs]
    if len(named) > 1:
        names = [f"{each}:{item}" for each in named]
        message, hint = f"{item!r} names {len(names)} items", f"name the type: {' or '.join(names)}"
        raise ArgumentError("ambiguous-item", message, hint=hint, candidates=names)
    if not named:
        raise not_found(reader, kind if colon else "item", item_id if colon else item)
    return found[named[0]]


# -- Items by the name that people and agents use: ``type:id``, or an id alone where only one type has it.
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
