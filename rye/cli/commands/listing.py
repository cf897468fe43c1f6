"""``rye list``: what there is, a line for each item."""

from __future__ import annotations

import sys
from typing import Any

import click

from rye.cli.options import Place, ask, json_option, only_one, place_options, refuse, space_option
from rye.cli.terminal import Terminal, note, say, say_json, say_raw

__all__ = ["command"]

_SORTS = {"id": "score", "name": "name", "date": "date"}
"""What the orders are called where all items score the same, and by whom these orders are known."""


@click.command("list")
@click.argument("scope", default="*")
@space_option("all", "project, user, system or all.")
@click.option("--limit", "-n", type=int, metavar="N", help="Items at most; by default all.")
@click.option("--offset", type=int, default=0, show_default=True, metavar="N", help="Items to skip.")
@click.option(
    "--sort",
    type=click.Choice(list(_SORTS)),
    default="id",
    show_default=True,
    help="By space and id, by name, or by date, newest first.",
)
@click.option("--include-superseded", is_flag=True, help="Also list items marked superseded, deprecated or yanked.")
@place_options("project", "bundle", "trust", "cache-dir", "max-staleness")
@json_option
@click.option("--jsonl", "as_jsonl", is_flag=True, help="Answer as one JSON object per item and line.")
@click.option("--ids", "as_ids", is_flag=True, help="Answer as type:id, one per line.")
@click.option("-0", "--null", "null", is_flag=True, help="End each line of --ids with a NUL instead, for xargs -0.")
def command(scope: str, **options: Any) -> int:
    """List the items in SCOPE: type and id, version, verdict, source and description. Each is verified from its bytes.

    SCOPE is directive, tool or knowledge, alone or with a namespace: tool.rye.core.*; several joined by commas.

    Exit status: 0 there are some, 1 none, 2 error.
    """
    only_one("as_json", "as_jsonl", "as_ids")
    if not options["as_ids"]:
        refuse("null", because="without --ids")
    place = Place.take(options)
    form = {name: options.pop(name) for name in ("as_json", "as_jsonl", "as_ids", "null")}
    options["sort_by"] = _SORTS[options.pop("sort")]
    from rye.registry.pages import list_items

    response = ask(place, lambda registry: list_items(registry, scope=scope, **options))
    from rye.cli.render.listing import render_list
    from rye.cli.render.search import render_ids, render_notes

    if form["as_json"]:
        say_json(response.to_dict())
        return 0 if response.results else 1
    if form["as_jsonl"]:
        for hit in response.results:
            say_json(hit.to_dict(), lines=True)
    elif form["null"]:
        say_raw("".join(f"{hit.type}:{hit.id}\0" for hit in response.results))
    else:
        for line in render_ids(response) if form["as_ids"] else render_list(response, Terminal.of(sys.stdout)):
            say(line)
    for line in render_notes(response, Terminal.of(sys.stderr)):
        note(line)
    return 0 if response.results else 1
