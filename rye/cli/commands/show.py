"""``rye show``: one item with its verdict and everything known about it."""

from __future__ import annotations

import sys
from typing import Any

import click

from rye.cli.options import NothingFound, Place, ask, json_option, only_one, place_options, space_option
from rye.cli.terminal import Terminal, say, say_json, say_raw
from rye.errors import NotFoundError

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
    try:
        loaded = ask(place, lambda registry: registry.get(item, options["space"]))
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
