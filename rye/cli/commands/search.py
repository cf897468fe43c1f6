"""The commands that take a query: ``rye search``, ``sections``, ``similar`` and ``why``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from rye.cli.options import Place, SearchCommand, ask, ask_about_item, command, given, only_one, params_of, refuse
from rye.cli.terminal import Terminal, answer, is_interactive, say_json, say_raw, show
from rye.parameters import SearchOptions, SectionOptions, SimilarOptions, WhyOptions
from rye.surface.requests import arguments_of

if TYPE_CHECKING:
    from rye.search.results import SearchResponse

_Render: TypeAlias = "Callable[[SearchResponse, Terminal], Iterable[str]]"
_IMMEDIATE = ("as_json", "as_jsonl", "as_ids", "null", "form", "explain", "facets", "limit", "offset", "paths")
"""Options with which ``rye search`` without a query lists items instead of searching as you type."""


@click.command("search", cls=SearchCommand, params=params_of("search"))
def search(query: tuple[str, ...], **options: Any) -> int:
    """Find items by words, phrases, fields and verdicts.

    The words of QUERY are joined by spaces. Without any, everything in scope is listed; on a terminal, rye searches as
    you type: Enter shows the marked item, Esc leaves. The knowledge item rye/query-language describes the query
    language, and `rye why QUERY` shows how a query is read.

    Exit status: 0 something found, 1 nothing, 2 error.
    """
    only_one("as_json", "as_jsonl", "as_ids", "paths", "form")
    if options["as_ids"]:
        refuse("explain", "facets", because="with --ids")
    else:
        refuse("null", because="without --ids")
    if options["form"] != "text":
        refuse("explain", "facets", because=f"with --format {options['form']}")
    if options["as_jsonl"]:
        refuse("facets", because="with --jsonl")
    place = Place.take(options)
    if not query and not any(map(given, _IMMEDIATE)) and is_interactive():
        from rye.cli.browse import search_as_you_type

        return search_as_you_type(place, arguments_of(SearchOptions, options, without=_IMMEDIATE))
    arguments = arguments_of(SearchOptions, options)
    response = ask(place, lambda registry: registry.search(" ".join(query), **arguments))
    from rye.cli.render.search import render_search

    return answer_hits(response, options, partial(render_search, paths=options["paths"]))


def answer_hits(response: SearchResponse, options: Mapping[str, Any], render: _Render) -> int:
    """Write a page of hits in the form that the options ask for, and return the exit status."""
    from rye.cli.render.search import render_csv, render_ids, render_notes, render_table

    if options.get("as_jsonl"):
        for hit in response.results:
            say_json(hit.to_dict(), lines=True)
        show((), render_notes(response, Terminal.of(sys.stderr)))
    elif options.get("null"):
        say_raw("".join(f"{hit.type}:{hit.id}\0" for hit in response.results))
        show((), render_notes(response, Terminal.of(sys.stderr)))
    else:
        forms: dict[str, _Render] = {"text": render, "table": render_table, "csv": render_csv}
        chosen = render_ids if options["as_ids"] else forms[options["form"]]
        answer(response, chosen, render_notes, as_json=options["as_json"])
    return 0 if response.results else 1


@click.command("sections", cls=SearchCommand, params=params_of("sections"))
def sections(query: tuple[str, ...], **options: Any) -> int:
    """Find whole sections, by meaning and by words.

    Each section is read from its file, verified at that moment, and shown with its path and lines.

    Exit status: 0 something found, 1 nothing, 2 error.
    """
    only_one("as_json", "snippets")
    place = Place.take(options)
    arguments = arguments_of(SectionOptions, options)
    response = ask(place, lambda registry: registry.sections(" ".join(query), **arguments))
    from rye.cli.render.search import render_notes, render_sections

    render = partial(render_sections, snippets=options["snippets"])
    answer(response, render, render_notes, as_json=options["as_json"])
    return 0 if response.results else 1


@command("similar", params=params_of("similar"))
def similar(item: str, **options: Any) -> int:
    """Find items similar to ITEM (a type:id, or an id alone): by its rarest words, or by meaning with --mode.

    Exit status: 0 there are some, 1 none, or there is no such item, 2 error.
    """
    only_one("as_json", "as_ids", "paths", "form")
    if options["as_ids"]:
        refuse("explain", because="with --ids")
    if options["form"] != "text":
        refuse("explain", because=f"with --format {options['form']}")
    place = Place.take(options)
    explain = options["explain"]
    is_read = not (options["as_json"] or options["as_ids"])
    arguments = arguments_of(SimilarOptions, options | {"explain": explain or is_read})
    response = ask_about_item(place, lambda registry: registry.similar(item, **arguments))
    from rye.cli.render.search import render_search

    return answer_hits(response, options, partial(render_search, shared_words=not explain, paths=options["paths"]))


@click.command("why", cls=SearchCommand, params=params_of("why"))
def why(query: str, item: str | None, **options: Any) -> int:
    """Explain how QUERY is read, or why ITEM (a type:id, or an id alone) is a hit of it, or is not.

    Without ITEM, the tree of the query is shown, the stages that were tried, and how many hits it has. The options that
    decide which items are hits are those of `rye search`.

    Exit status: 0 it is a hit, or there are hits, 1 it is not, there are none, or there is no such item, 2 error.
    """
    place = Place.take(options)
    arguments = arguments_of(WhyOptions, options)
    from rye.cli.render.search import render_reading, render_reading_notes, render_why

    if item is None:
        read = ask(place, lambda registry: registry.read_query(query, **arguments))
        answer(read, render_reading, render_reading_notes, as_json=options["as_json"])
        return 0 if read.total else 1
    found = ask_about_item(place, lambda registry: registry.why(query, item, **arguments))
    answer(found, render_why, as_json=options["as_json"])
    return 0 if found.found else 1
