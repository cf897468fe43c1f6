"""``rye show``: one item with its verdict and everything known about it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from rye.cli.options import NothingFound, Place, ask, json_option, only_one, place_options, space_option
from rye.cli.terminal import Terminal, say, say_json, say_raw
from rye.errors import ArgumentError, NotFoundError

if TYPE_CHECKING:
    from rye.registry import Registry
    from rye.reports import LoadedItem

__all__ = ["command"]


@click.command("show")
@click.argument("item")
@space_option("all", "Where to look; all: the space that wins.")
@place_options("project", "bundle", "trust", "cache-dir")
@json_option
@click.option("--raw", is_flag=True, help="Only the content, as it stands in the file.")
def command(item: str, **options: Any) -> int:
    """Show ITEM, a type:id, or an id alone where only one type has it.

    Exit status: 0 shown, 1 there is no such item, 2 error.
    """
    only_one("as_json", "raw")
    place = Place.take(options)
    space = None if options["space"] == "all" else options["space"]
    try:
        loaded = ask(place, lambda registry: _load(registry, item, space))
    except NotFoundError as error:
        raise NothingFound(error) from error
    if options["as_json"]:
        say_json(loaded.to_dict())
    elif options["raw"]:
        say_raw(loaded.content)
    else:
        from rye.cli.render.show import render_item

        for line in render_item(loaded, Terminal.of(sys.stdout)):
            say(line)
    return 0


def _load(registry: Registry, item: str, space: str | None) -> LoadedItem:
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


def _missing(registry: Registry, item: str, space: str | None) -> NotFoundError:
    nearest: list[str] = []
    for item_type in ("directive", "tool", "knowledge"):
        try:
            registry.load(item_type, item, space)
        except NotFoundError as error:
            nearest += error.details.get("nearest", ())
    best = sorted(set(nearest), key=lambda near: (-_likeness(near, item), near))[:3]
    hint = f"did you mean {' or '.join(best)}?" if best else "rye search finds items by what they say"
    return NotFoundError("item-not-found", f"there is no item {item!r}", hint=hint, nearest=best)


def _likeness(name: str, item: str) -> float:
    from difflib import SequenceMatcher

    return SequenceMatcher(None, name.partition(":")[2], item).ratio()
