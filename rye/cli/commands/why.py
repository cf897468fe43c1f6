"""``rye why``: what makes an item a hit of a query, or keeps it from being one."""

from __future__ import annotations

import sys
from typing import Any

import click

from rye.cli.arguments import SearchCommand
from rye.cli.commands.search import MEANING, read_arguments, take_meaning
from rye.cli.commands.search import command as search
from rye.cli.options import NothingFound, Place, ask, json_option, place_options
from rye.cli.terminal import Terminal, note, say, say_json
from rye.errors import NotFoundError

__all__ = ["command"]

_AS_SEARCH = {
    *("scope", "space", "sort_by", "fields", "filters", "date_from", "date_to", "fuzzy", "proximity"),
    *("level", "no_relax", "lenient", "include_superseded", *MEANING),
}
"""What decides which items are hits, and in which order."""


@click.command("why", cls=SearchCommand)
@click.argument("query")
@click.argument("item")
@place_options("project", "bundle", "trust", "cache-dir", "max-staleness", "embedder")
@json_option
def command(query: str, item: str, **options: Any) -> int:
    """Tell why ITEM (a type:id, or an id alone) is a hit of QUERY and at which rank, or what keeps it from being one.

    The options that decide about hits mean what they mean for `rye search`.

    Exit status: 0 it is a hit, 1 it is none, or there is no such item, 2 error.
    """
    place = Place.take(options)
    as_json = options.pop("as_json")
    meant = take_meaning(options)
    arguments = read_arguments(options) | meant
    try:
        why = ask(place, lambda registry: registry.why(query, item, **arguments))
    except NotFoundError as error:
        raise NothingFound(error) from error
    if as_json:
        say_json(why.to_dict())
        return 0 if why.found else 1
    from rye.cli.render.parts import warning_lines
    from rye.cli.render.why import render_why

    for line in render_why(why, Terminal.of(sys.stdout)):
        say(line)
    for line in warning_lines(why.warnings, stale=False, terminal=Terminal.of(sys.stderr)):
        note(line)
    return 0 if why.found else 1


command.params += [param for param in search.params if param.name in _AS_SEARCH]
