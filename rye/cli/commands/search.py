"""``rye search``: every parameter of a search as an option, four forms of answer."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from rye.cli.arguments import (
    SearchCommand,
    parse_boosts,
    parse_fields,
    parse_filters,
    parse_fuzzy,
    parse_proximity,
    parse_score,
)
from rye.cli.options import Place, ask, given, json_option, only_one, place_options, refuse, space_option
from rye.cli.terminal import Terminal, note, say, say_json, say_raw
from rye.cli.typed import answer_typed, somebody_types

if TYPE_CHECKING:
    from rye.search.results import SearchResponse

__all__ = ["MEANING", "command", "read_arguments", "take_meaning"]


_HYBRID = (
    "fusion",
    "rrf_k",
    "semantic_weight",
    "keyword_weight",
    "min_semantic_score",
    "min_keyword_score",
    "min_combined_score",
    "require_keyword_match",
    "require_semantic_match",
)
"""Options that make up the argument ``hybrid``."""

MEANING = frozenset({"mode", "threshold", "source_boosts", *_HYBRID})
"""Options of a search by meaning."""


def _complete_scope(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    return [scope for scope in ("directive", "tool", "knowledge") if scope.startswith(incomplete)]


def _choices(*values: str) -> Any:
    return lambda _ctx, _param, incomplete: [value for value in values if value.startswith(incomplete)]


@click.command("search", cls=SearchCommand)
@click.argument("query", nargs=-1)
@click.option(
    "--scope",
    "-s",
    default="*",
    show_default=True,
    metavar="SCOPE",
    shell_complete=_complete_scope,
    help="directive, tool or knowledge, alone or with a namespace: tool.rye.core.*; several joined by commas.",
)
@space_option("all", "project, user, system or all.")
@click.option("--limit", "-n", type=int, default=10, show_default=True, metavar="N", help="Hits on the page.")
@click.option("--offset", type=int, default=0, show_default=True, metavar="N", help="Hits to skip before the page.")
@click.option(
    "--sort",
    "sort_by",
    default="score",
    show_default=True,
    metavar="ORDER",
    shell_complete=_choices("score", "date", "name"),
    help="score, date (newest first) or name.",
)
@click.option(
    "--field", "fields", multiple=True, metavar="NAME=QUERY", help="A query that this field must match; repeatable."
)
@click.option(
    "--filter",
    "filters",
    multiple=True,
    metavar="KEY=VALUE",
    help="Keep items whose metadata has this value; also KEY=!VALUE, KEY>=VALUE, KEY<VALUE …; "
    "repeatable, the same key again means any of its values.",
)
@click.option("--date-from", metavar="DATE", help="Keep items of this date or later (2026, 2026-02, 2026-02-18).")
@click.option("--date-to", metavar="DATE", help="Keep items of this date or earlier.")
@click.option(
    "--fuzzy",
    metavar="[N]",
    help="Let words differ by a few letters: automatic by their length, or at most N (0 to 2).",
)
@click.option("--proximity", type=int, metavar="N", help="All words within N words of each other.")
@click.option(
    "--mode",
    default="keyword",
    show_default=True,
    metavar="MODE",
    shell_complete=_choices("keyword", "semantic", "hybrid"),
    help="keyword, semantic (by meaning) or hybrid (both).",
)
@click.option("--threshold", type=float, metavar="X", help="Similarity, 0 to 1, from which on an item is near.")
@click.option(
    "--source-boost",
    "source_boosts",
    multiple=True,
    metavar="SOURCE=FACTOR",
    help="Times what similarities of a source count: project (1.2), user (1.1), system (0.85); repeatable; semantic.",
)
@click.option("--fusion", metavar="NAME", shell_complete=_choices("weighted", "rrf"), help="weighted or rrf; hybrid.")
@click.option("--rrf-k", type=int, metavar="K", help="The constant of rrf: 60.")
@click.option("--semantic-weight", type=float, metavar="W", help="Weight of similarity in hybrid mode: 0.72.")
@click.option("--keyword-weight", type=float, metavar="W", help="Weight of keyword scores in hybrid mode: 0.28.")
@click.option("--min-semantic-score", type=parse_score, metavar="X", help="Least similarity, 0 to 1 or 40%; hybrid.")
@click.option("--min-keyword-score", type=parse_score, metavar="X", help="Least keyword score, 0 to 1 or 40%; hybrid.")
@click.option("--min-combined-score", type=parse_score, metavar="X", help="Least score, 0 to 1 or 40%; hybrid.")
@click.option(
    "--require-keyword-match", is_flag=True, default=None, help="Only items with a word of the query; hybrid."
)
@click.option("--require-semantic-match", is_flag=True, default=None, help="Only items that are near; hybrid.")
@click.option(
    "--level", type=int, metavar="N", help="1: title, name, id, description, category, tags; 2: body; else both."
)
@click.option("--no-relax", is_flag=True, help="Do not try a looser reading when nothing has all words.")
@click.option("--lenient", is_flag=True, help="Leave out what cannot be read in the query instead of refusing it.")
@click.option("--include-superseded", is_flag=True, help="Also show items marked superseded, deprecated or yanked.")
@click.option(
    "--facets",
    multiple=True,
    default=(),
    metavar="NAMES",
    shell_complete=_choices("type", "space", "category", "tag", "verdict", "signer"),
    help="Count all matches by these fields, joined by commas: type, space, category, tag, verdict, signer, bundle, "
    "author, version or a metadata key; tag:25 lists up to 25 values.",
)
@click.option("--explain", is_flag=True, help="Show how each hit got its score.")
@place_options("project", "bundle", "trust", "cache-dir", "max-staleness", "embedder")
@json_option
@click.option("--jsonl", "as_jsonl", is_flag=True, help="Answer as one JSON object per hit and line.")
@click.option("--ids", "as_ids", is_flag=True, help="Answer as type:id, one per line.")
@click.option("-0", "--null", "null", is_flag=True, help="End each line of --ids with a NUL instead, for xargs -0.")
def command(query: tuple[str, ...], **options: Any) -> int:
    """Find items by words, phrases, fields and verdicts.

    The words of QUERY are joined by blanks; without any, everything in scope is listed, or on a terminal searched as
    you type: Enter shows the item that is marked, Esc leaves. The forms of a query are in
    the knowledge item rye/query-language, and `rye query` shows how one is read.

    Exit status: 0 something found, 1 nothing, 2 error.
    """
    only_one("as_json", "as_jsonl", "as_ids")
    if options["as_ids"]:
        refuse("explain", "facets", because="with --ids")
    else:
        refuse("null", because="without --ids")
    if options["as_jsonl"]:
        refuse("facets", because="with --jsonl")
    place, meant = Place.take(options), take_meaning(options)
    if not query and not any(map(given, _AT_ONCE)) and somebody_types():
        typed = {name: options[name] for name in options if name not in _AT_ONCE}
        return answer_typed(place, read_arguments(typed) | meant)
    form = {name: options.pop(name) for name in ("as_json", "as_jsonl", "as_ids", "null")}
    arguments = read_arguments(options) | meant | {"facets": ",".join(options["facets"])}
    response = ask(place, lambda registry: registry.search(" ".join(query), **arguments))
    _answer(response, sort_by=options["sort_by"], **form)
    return 0 if response.results else 1


_AT_ONCE = ("as_json", "as_jsonl", "as_ids", "null", "explain", "facets", "limit", "offset")
"""What asks for an answer at once, and not for a line to type in."""


def take_meaning(options: dict[str, Any]) -> dict[str, Any]:
    """Take the options of a search by meaning out of all of them, and return what they ask.

    Those that have no effect in a mode are refused by the names that were typed.
    """
    mode = options["mode"]
    if mode in {"keyword", "semantic"}:
        refuse(*_HYBRID, because="without --mode hybrid")
    if mode in {"keyword", "hybrid"}:
        refuse("source_boosts", because="without --mode semantic; other scores are never boosted")
    if mode == "keyword":
        refuse("threshold", because="without --mode semantic or hybrid")
    hybrid = {name: value for name in _HYBRID if (value := options.pop(name)) is not None}
    boosts = parse_boosts(options.pop("source_boosts"))
    return {"threshold": options.pop("threshold"), "source_boosts": boosts, "hybrid": hybrid or None}


def read_arguments(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a search by keyword as :meth:`rye.Registry.search` takes them."""
    dates = {name: options.pop(name) for name in ("date_from", "date_to")}
    return options | {
        "fields": parse_fields(options["fields"]) or None,
        "filters": parse_filters(options["filters"], **dates) or None,
        "fuzzy": parse_fuzzy(options["fuzzy"]),
        "proximity": parse_proximity(options["proximity"]),
        "relax": not options.pop("no_relax"),
    }


def _answer(response: SearchResponse, *, sort_by: str, as_json: bool, as_jsonl: bool, as_ids: bool, null: bool) -> None:
    if as_json:
        say_json(response.to_dict())
        return
    from rye.cli.render.search import render_ids, render_notes, render_search

    if as_jsonl:
        for hit in response.results:
            say_json(hit.to_dict(), lines=True)
    elif null:
        say_raw("".join(f"{hit.type}:{hit.id}\0" for hit in response.results))
    elif as_ids:
        for line in render_ids(response):
            say(line)
    else:
        for line in render_search(response, Terminal.of(sys.stdout), sort_by=sort_by):
            say(line)
    for line in render_notes(response, Terminal.of(sys.stderr)):
        note(line)
