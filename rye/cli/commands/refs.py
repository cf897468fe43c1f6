"""``rye refs``: what an item refers to and what refers to it, as text, JSON or a drawing."""

from __future__ import annotations

import sys
from typing import Any

import click

from rye.cli.options import NothingFound, Place, ask, json_option, only_one, place_options
from rye.cli.terminal import Terminal, note, say, say_json
from rye.cli.text import inline
from rye.errors import NotFoundError

__all__ = ["command"]

_FORMATS = ("text", "json", "dot", "mermaid")
_DIRECTIONS = ("both", "out", "in")


@click.command("refs")
@click.argument("item")
@click.option(
    "--direction",
    type=click.Choice(_DIRECTIONS),
    default="both",
    show_default=True,
    help="out: what it refers to; in: what refers to it.",
)
@click.option("--depth", type=int, default=1, show_default=True, metavar="N", help="Steps to go, 1 to 32.")
@click.option("--limit", "-n", type=int, default=100, show_default=True, metavar="N", help="Relations listed.")
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    default="text",
    show_default=True,
    help="text, json, dot (Graphviz) or mermaid.",
)
@place_options("project", "bundle", "trust", "cache-dir", "max-staleness")
@json_option
def command(item: str, **options: Any) -> int:
    """Show what ITEM, a type:id or an id that only one type has, refers to, and what refers to it.

    Exit status: 0 there are relations, 1 none, or no such item, 2 error.
    """
    only_one("form", "as_json")
    place = Place.take(options)
    form = "json" if options.pop("as_json") else options["form"]
    del options["form"]
    try:
        found = ask(place, lambda registry: registry.refs(item, **options))
    except NotFoundError as error:
        raise NothingFound(error) from error
    if form == "json":
        say_json(found.to_dict())
        return 0 if found.relations else 1
    from rye.cli.render.refs import DRAWINGS, render_refs

    lines = render_refs(found, Terminal.of(sys.stdout)) if form == "text" else DRAWINGS[form](found)
    for line in lines:
        say(line)
    warning = Terminal.of(sys.stderr).style("warning:", "yellow")
    for text in found.warnings:
        note(f"{warning} {inline(text)}")
    if found.truncated:
        note(f"{len(found.relations)} of {found.total} relations are shown; --limit shows more")
    return 0 if found.relations else 1
