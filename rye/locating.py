"""Which document of the index an item is, by the name that people and agents use."""

from __future__ import annotations

from rye.errors import ArgumentError, NotFoundError
from rye.index.reader import Part, Reader
from rye.index.schema import TYPE_NAMES
from rye.search.fields import nearest

__all__ = ["check_type", "locate", "not_found"]


def check_type(item_type: str) -> None:
    """Refuse what is no item type.

    Raises:
        ArgumentError: ``bad-type``.
    """
    if item_type not in TYPE_NAMES:
        message = f"item type is {item_type!r}"
        raise ArgumentError("bad-type", message, hint=f"valid are {', '.join(TYPE_NAMES)}", valid=list(TYPE_NAMES))


def not_found(reader: Reader, item_type: str, item_id: str, space: str | None = None) -> NotFoundError:
    """Return the error that there is no such item in a space; its hint names where it is, or else the nearest."""
    elsewhere = list(dict.fromkeys(part.root.source for part, _ in reader.having_key(item_type, item_id)))
    if elsewhere:
        message = f"there is no {item_type} {item_id!r} in space {space}"
        hint = f"it is in {', '.join(elsewhere)}; look there, or in all spaces"
        return NotFoundError("item-not-found", message, hint=hint, elsewhere=elsewhere)
    near = nearest(f"{item_type}:{item_id}", dict.fromkeys(reader.all_keys()))
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
