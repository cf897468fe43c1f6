"""``rye index``: the state of the index, building it anew, making its vectors, deleting it."""

from __future__ import annotations

import sys
from typing import Any

import click

from rye.cli.options import Place, ask, json_option, place_options, refuse
from rye.cli.terminal import Terminal, note, say, say_json

__all__ = ["command"]


@click.command("index")
@click.argument("action", type=click.Choice(["status", "rebuild", "vectors", "clear"]))
@place_options("project", "bundle", "cache-dir", "embedder")
@json_option
def command(action: str, **options: Any) -> int:
    """Show, rebuild or clear the index. It is a cache: a search refreshes it and builds it when it is not there.

    `vectors` makes what a search by meaning needs, as the first such search would.

    Exit status: 0 done, 1 it was left to another process that is at it, 2 error.
    """
    if action != "vectors":
        refuse("embedder", because=f"with {action}")
    place = Place.take(options)
    as_json = options["as_json"]
    return {"status": _status, "rebuild": _rebuild, "vectors": _vectors, "clear": _clear}[action](
        place, as_json=as_json
    )


def _status(place: Place, *, as_json: bool) -> int:
    spaces = ask(place, lambda registry: registry.status())
    if as_json:
        say_json({"spaces": [space.to_dict() for space in spaces]})
        return 0
    from rye.cli.render.index import render_status

    for line in render_status(spaces, Terminal.of(sys.stdout)):
        say(line)
    return 0


def _rebuild(place: Place, *, as_json: bool) -> int:
    report = ask(place, lambda registry: registry.rebuild())
    if as_json:
        say_json(report.to_dict())
    else:
        from rye.cli.render.index import render_rebuilt, render_warnings

        say(render_rebuilt(report))
        for line in render_warnings(report.warnings, Terminal.of(sys.stderr)):
            note(line)
    return 1 if report.stale else 0


def _vectors(place: Place, *, as_json: bool) -> int:
    report = ask(place, lambda registry: registry.embed())
    if as_json:
        say_json(report.to_dict())
    else:
        from rye.cli.render.index import render_vectors, render_warnings

        say(render_vectors(report))
        for line in render_warnings(report.warnings, Terminal.of(sys.stderr)):
            note(line)
    return 1 if report.missing else 0


def _clear(place: Place, *, as_json: bool) -> int:
    freed = ask(place, lambda registry: registry.clear())
    if as_json:
        say_json({"bytes": freed})
    else:
        from rye.cli.render.parts import size

        say(f"cleared {size(freed)}")
    return 0
