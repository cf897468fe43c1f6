"""The commands that take a query: ``rye search``, ``sections``, ``similar``, ``why`` and ``query``."""

from __future__ import annotations

import sys
from collections.abc import Iterable
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
from rye.cli.options import (
    Place,
    ask,
    ask_about_item,
    given,
    json_option,
    only_one,
    place_options,
    refuse,
    space_option,
)
from rye.cli.terminal import Terminal, is_interactive, say_json, say_raw, show

if TYPE_CHECKING:
    from rye.registry import SearchResponse

__all__ = ["query", "search", "sections", "show_hits", "similar", "why"]


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

_MEANING = frozenset({"mode", "threshold", "source_boosts", *_HYBRID})
"""Options of a search by meaning."""

_IMMEDIATE = ("as_json", "as_jsonl", "as_ids", "null", "explain", "facets", "limit", "offset")
"""Options that ask for an answer at once, not for search as you type."""

_OF_WHY = frozenset(
    {
        *("scope", "space", "sort_by", "fields", "filters", "date_from", "date_to", "fuzzy", "proximity"),
        *("level", "no_relax", "lenient", "include_superseded", *_MEANING),
    }
)
"""Options of ``rye search`` that ``rye why`` takes too: those that decide which items are hits, in which order."""


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
def search(query: tuple[str, ...], **options: Any) -> int:
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
    place = Place.take(options)
    if not query and not any(map(given, _IMMEDIATE)) and is_interactive():
        from rye.cli.screen import search_as_you_type

        return search_as_you_type(place, _arguments({k: v for k, v in options.items() if k not in _IMMEDIATE}))
    form = {name: options.pop(name) for name in ("as_json", "as_jsonl", "as_ids", "null")}
    arguments = _arguments(options) | {"facets": ",".join(options["facets"])}
    response = ask(place, lambda registry: registry.search(" ".join(query), **arguments))
    if form["as_json"]:
        say_json(response.to_dict())
    else:
        from rye.cli.render.search import render_ids, render_notes, render_search

        lines = render_search(response, Terminal.of(sys.stdout), sort_by=options["sort_by"])
        show_hits(response, render_ids(response) if form["as_ids"] else lines, **form)
        show((), render_notes(response, Terminal.of(sys.stderr)))
    return 0 if response.results else 1


def show_hits(response: SearchResponse, lines: Iterable[str], *, as_jsonl: bool, null: bool, **_: bool) -> None:
    """Write hits as JSON lines, as ids that end with a NUL, or as these lines."""
    if as_jsonl:
        for hit in response.results:
            say_json(hit.to_dict(), lines=True)
    elif null:
        say_raw("".join(f"{hit.type}:{hit.id}\0" for hit in response.results))
    else:
        show(lines)


def _arguments(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a search as :meth:`rye.Registry.search` takes them.

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
    dates = {name: options.pop(name) for name in ("date_from", "date_to")}
    return options | {
        "source_boosts": parse_boosts(options["source_boosts"]),
        "hybrid": hybrid or None,
        "fields": parse_fields(options["fields"]) or None,
        "filters": parse_filters(options["filters"], **dates) or None,
        "fuzzy": parse_fuzzy(options["fuzzy"]),
        "proximity": parse_proximity(options["proximity"]),
        "relax": not options.pop("no_relax"),
    }


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
def sections(query: tuple[str, ...], **options: Any) -> int:
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
        from rye.cli.render.search import render_notes, render_sections

        lines = render_sections(response, Terminal.of(sys.stdout), snippets=snippets)
        show(lines, render_notes(response, Terminal.of(sys.stderr)))
    return 0 if response.results else 1


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
def similar(item: str, **options: Any) -> int:
    """Find items that share the rarest words of ITEM, a type:id, or an id alone, or by --mode mean the same.

    Exit status: 0 there are some, 1 none, or there is no such item, 2 error.
    """
    only_one("as_json", "as_ids")
    if options["as_ids"]:
        refuse("explain", because="with --ids")
    place = Place.take(options)
    options["filters"] = parse_filters(options["filters"], date_from=None, date_to=None) or None
    as_json, as_ids, explain = (options.pop(name) for name in ("as_json", "as_ids", "explain"))
    is_read = not (as_json or as_ids)
    response = ask_about_item(place, lambda registry: registry.similar(item, explain=explain or is_read, **options))
    if as_json:
        say_json(response.to_dict())
    else:
        from rye.cli.render.search import render_ids, render_notes, render_search

        hits = render_search(response, Terminal.of(sys.stdout), shared_words=not explain)
        lines = render_ids(response) if as_ids else hits
        show(lines, render_notes(response, Terminal.of(sys.stderr)))
    return 0 if response.results else 1


@click.command("why", cls=SearchCommand)
@click.argument("query")
@click.argument("item")
@place_options("project", "bundle", "trust", "cache-dir", "max-staleness", "embedder")
@json_option
def why(query: str, item: str, **options: Any) -> int:
    """Tell why ITEM (a type:id, or an id alone) is a hit of QUERY and at which rank, or what keeps it from being one.

    The options that decide about hits mean what they mean for `rye search`.

    Exit status: 0 it is a hit, 1 it is none, or there is no such item, 2 error.
    """
    place = Place.take(options)
    as_json = options.pop("as_json")
    arguments = _arguments(options)
    found = ask_about_item(place, lambda registry: registry.why(query, item, **arguments))
    if as_json:
        say_json(found.to_dict())
    else:
        from rye.cli.render.parts import warning_lines
        from rye.cli.render.search import render_why

        show(render_why(found, Terminal.of(sys.stdout)), warning_lines(found.warnings, Terminal.of(sys.stderr)))
    return 0 if found.found else 1


why.params += [param for param in search.params if param.name in _OF_WHY]


@click.command("query")
@click.argument("text", nargs=-1, required=True)
@click.option("--lenient", is_flag=True, help="Leave out what cannot be read instead of refusing it.")
@json_option
def query(text: tuple[str, ...], **options: Any) -> int:
    """Show the canonical form and the tree of the query TEXT, or its error with a caret.

    No item is looked at: whether a field exists is known to a search only.

    Exit status: 0 it parses, 2 it does not.
    """
    from rye.registry import dump, parse, to_dict

    parsed = parse(" ".join(text), lenient=options["lenient"])
    if options["as_json"]:
        dropped = [{"position": drop.position, "text": drop.text, "reason": drop.reason} for drop in parsed.dropped]
        say_json({"query": parsed.text, "canonical": str(parsed.ast), "ast": to_dict(parsed.ast), "dropped": dropped})
    else:
        from rye.cli.render.search import render_dropped, render_parsed

        lines = render_parsed(parsed, dump(parsed.ast), Terminal.of(sys.stdout))
        show(lines, render_dropped(parsed, Terminal.of(sys.stderr)))
    return 0
