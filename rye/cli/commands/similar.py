"""``rye similar``: items that share the rarest words of one."""

from __future__ import annotations

import sys
from typing import Any

import click

from rye.cli.arguments import parse_filters
from rye.cli.options import NothingFound, Place, ask, json_option, only_one, place_options, refuse, space_option
from rye.cli.terminal import Terminal, note, say, say_json
from rye.errors import NotFoundError

__all__ = ["command"]


@click.command("similar")
@click.argument("item")
@click.option("--scope", "-s", default="*", show_default=True, metavar="SCOPE", help="Item types and namespaces.")
@space_option("all", "project, user, system or all.")
@click.option("--limit", "-n", type=int, default=10, show_default=True, metavar="N", help="Hits on the page.")
@click.option("--offset", type=int, default=0, show_default=True, metavar="N", help="Hits to skip before the page.")
@click.option(
    "--mode", default="keyword", show_default=True, metavar="MODE", help="keyword: by shared words; semantic; hybrid."
)
@click.option("--filter", "filters", multiple=True, metavar="KEY=VALUE", help="As for `rye search`; repeatable.")
@click.option("--include-superseded", is_flag=True, help="Also show items marked superseded, deprecated or yanked.")
@click.option("--explain", is_flag=True, help="Show what each shared word counts.")
@place_options("project", "bundle", "trust", "cache-dir", "max-staleness", "embedder")
@json_option
@click.option("--ids", "as_ids", is_flag=True, help="Answer as type:id, one per line.")
def command(item: str, **options: Any) -> int:
    """Find items that share the rarest words of ITEM, a type:id, or an id alone, or by --mode mean the same.

    Exit status: 0 there are some, 1 none, or there is no such item, 2 error.
    """
    only_one("as_json", "as_ids")
    if options["as_ids"]:
        refuse("explain", because="with --ids")
    place = Place.take(options)
    options["filters"] = parse_filters(options["filters"], date_from=None, date_to=None) or None
    as_json, as_ids, explain = (options.pop(name) for name in ("as_json", "as_ids", "explain"))
    reading = not (as_json or as_ids)
    try:
        response = ask(place, lambda registry: registry.similar(item, explain=explain or reading, **options))
    except NotFoundError as error:
        raise NothingFound(error) from error
    if as_json:
        say_json(response.to_dict())
        return 0 if response.results else 1
    from rye.cli.render.search import render_ids, render_notes, render_search, render_similar

    render = render_search if explain else render_similar
    for line in render_ids(response) if as_ids else render(response, Terminal.of(sys.stdout)):
        say(line)
    for line in render_notes(response, Terminal.of(sys.stderr)):
        note(line)
    return 0 if response.results else 1
