"""``rye query``: how a query is read, or where it is wrong."""

from __future__ import annotations

import sys
from typing import Any

import click

from rye.cli.options import json_option
from rye.cli.terminal import Terminal, note, say, say_json

__all__ = ["command"]


@click.command("query")
@click.argument("text", nargs=-1, required=True)
@click.option("--lenient", is_flag=True, help="Leave out what cannot be read instead of refusing it.")
@json_option
def command(text: tuple[str, ...], **options: Any) -> int:
    """Show the canonical form and the tree of the query TEXT, or its error with a caret.

    No item is looked at: whether a field exists is known to a search only.

    Exit status: 0 it parses, 2 it does not.
    """
    from rye.query import dump, parse, to_dict

    parsed = parse(" ".join(text), lenient=options["lenient"])
    if options["as_json"]:
        dropped = [{"position": drop.position, "text": drop.text, "reason": drop.reason} for drop in parsed.dropped]
        say_json({"query": parsed.text, "canonical": str(parsed.ast), "ast": to_dict(parsed.ast), "dropped": dropped})
        return 0
    from rye.cli.render.query import render_dropped, render_parsed

    for line in render_parsed(parsed, dump(parsed.ast), Terminal.of(sys.stdout)):
        say(line)
    for line in render_dropped(parsed, Terminal.of(sys.stderr)):
        note(line)
    return 0
