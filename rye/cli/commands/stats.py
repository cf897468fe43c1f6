"""``rye stats``: what there is, in figures."""

from __future__ import annotations

import sys
from typing import Any

import click

from rye.cli.options import Place, ask, json_option, place_options, space_option
from rye.cli.terminal import Terminal, note, say, say_json

__all__ = ["command"]


@click.command("stats")
@space_option("all", "project, user, system or all.")
@place_options("project", "bundle", "trust", "cache-dir", "max-staleness")
@json_option
def command(space: str, **options: Any) -> int:
    """Show how many items there are by space, type, verdict and signer, and how large files and index are.

    Exit status: 0 there are items, 1 there are none, 2 error.
    """
    place = Place.take(options)
    stats = ask(place, lambda registry: registry.stats(space))
    if options["as_json"]:
        say_json(stats.to_dict())
        return 0 if stats.total.items else 1
    from rye.cli.render.listing import render_stats
    from rye.cli.render.parts import warning_lines

    for line in render_stats(stats, Terminal.of(sys.stdout)):
        say(line)
    for line in warning_lines(stats.warnings, stale=stats.stale, terminal=Terminal.of(sys.stderr)):
        note(line)
    return 0 if stats.total.items else 1
