"""``rye sections``: whole sections to read or cite."""

from __future__ import annotations

import sys
from typing import Any

import click

from rye.cli.arguments import SearchCommand, parse_filters
from rye.cli.options import Place, ask, json_option, only_one, place_options, space_option
from rye.cli.terminal import Terminal, note, say, say_json

__all__ = ["command"]


@click.command("sections", cls=SearchCommand)
@click.argument("query", nargs=-1, required=True)
@click.option("--scope", "-s", default="*", show_default=True, metavar="SCOPE", help="As for rye search.")
@space_option("all", "project, user, system or all.")
@click.option("--limit", "-n", type=int, default=10, show_default=True, metavar="N", help="Sections, 1 to 50.")
@click.option(
    "--mode", default="hybrid", show_default=True, metavar="MODE", help="hybrid, semantic (meaning) or keyword (words)."
)
@click.option(
    "--filter",
    "filters",
    multiple=True,
    metavar="KEY=VALUE",
    help="Of items with this metadata; repeatable.",
)
@click.option("--threshold", type=float, metavar="X", help="Similarity, 0 to 1, from which on a text is near.")
@click.option(
    "--recency-weight",
    type=float,
    default=0.0,
    metavar="W",
    help="Part of a score that hangs on age, 0 to 1.",
)
@click.option(
    "--half-life",
    "half_life_days",
    type=float,
    default=30.0,
    show_default=True,
    metavar="DAYS",
    help="Age at which that part is halved.",
)
@click.option(
    "--authority-weight",
    type=float,
    default=0.0,
    metavar="W",
    help="Part that hangs on who signed it, and on 'authoritative: true'; default 0.",
)
@click.option("--include-superseded", is_flag=True, help="Also of items marked superseded, deprecated or yanked.")
@click.option("--lenient", is_flag=True, help="Leave out what cannot be read in the query instead of refusing it.")
@click.option("--max-chars", type=int, metavar="N", help="Characters of all texts together.")
@click.option("--snippets", is_flag=True, help="Show the best passage of each section instead of all of it.")
@place_options("project", "bundle", "trust", "cache-dir", "max-staleness", "embedder")
@json_option
def command(query: tuple[str, ...], **options: Any) -> int:
    """Find whole sections, by meaning and by words.

    Each is read from its file and verified at that moment, and says where it stands.

    Exit status: 0 something found, 1 nothing, 2 error.
    """
    only_one("as_json", "snippets")
    place = Place.take(options)
    as_json, snippets = options.pop("as_json"), options.pop("snippets")
    options["filters"] = parse_filters(options["filters"], date_from=None, date_to=None) or None
    response = ask(place, lambda registry: registry.sections(" ".join(query), **options))
    if as_json:
        say_json(response.to_dict())
    else:
        from rye.cli.render.sections import render_notes, render_sections

        for line in render_sections(response, Terminal.of(sys.stdout), snippets=snippets):
            say(line)
        for line in render_notes(response, Terminal.of(sys.stderr)):
            note(line)
    return 0 if response.results else 1
