"""The commands that take a query: ``rye search``, ``sections`` and ``why``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from rye.cli.options import (
    SearchCommand,
    ask,
    ask_about_item,
    is_given,
    only_one,
    refuse,
    take_form,
)
from rye.cli.params import (
    argument,
    engine_options,
    flag,
    hit_forms,
    json_flag,
    option,
    places,
    take_where,
    words,
)
from rye.cli.terminal import Terminal, answer, say_json, show
from rye.options.search import SearchOptions, SectionOptions, SimilarOptions, WhyOptions
from rye.surface.requests import arguments_of

if TYPE_CHECKING:
    from rye.search.contract.results import SearchResponse

_Render: TypeAlias = "Callable[[SearchResponse, Terminal], Iterable[str]]"
_NOT_ALIKE = ("facets", "fuzzy", "relax", "sort_by", "threshold")
"""Options that mean nothing to a search for items like one."""


@click.command("search", cls=SearchCommand)
@words("query", completes="query")
@engine_options(SearchOptions)
@option(
    "--like", metavar="ITEM", help="Find items like this one instead of a query", notes="a type:id", completes="item"
)
@places()
@hit_forms
def search(query: tuple[str, ...], **options: Any) -> int:
    """Find items by words, phrases, fields and verdicts.

    Without QUERY, it lists everything in scope. `rye help query-language` describes the query language, and
    `rye why QUERY` shows how rye reads a query.

    Exit status: 0 something found, 1 nothing, 2 error.
    """
    form, like = take_form(options), options.pop("like")
    if form == "ids":
        refuse("explain", "facets", because="with --format ids")
    if form == "jsonl":
        refuse("facets", because="with --format jsonl")
    where = take_where(options)
    from rye.cli.render.search import render_search

    if like is not None:
        refuse("query", *_NOT_ALIKE, because="with --like")
        explain = options["explain"]
        mode = options["mode"] if is_given("mode") else "keyword"
        arguments = arguments_of(SimilarOptions, options | {"explain": explain or form == "text", "mode": mode})
        alike = ask_about_item(where, lambda registry: registry.similar(like, **arguments))
        return answer_hits(alike, form, partial(render_search, shared_words=not explain))
    arguments = arguments_of(SearchOptions, options)
    response = ask(where, lambda registry: registry.search(" ".join(query), **arguments))
    return answer_hits(response, form, render_search)


def answer_hits(response: SearchResponse, form: str, render: _Render) -> int:
    """Write a page of hits in a form, and return the exit status."""
    from rye.cli.render.search import render_ids, render_notes

    if form == "jsonl":
        for hit in response.results:
            say_json(hit.to_dict(), lines=True)
        show((), render_notes(response, Terminal.of(sys.stderr)))
    else:
        answer(response, render_ids if form == "ids" else render, render_notes, as_json=form == "json")
    return 0 if response.results else 1


@click.command("sections", cls=SearchCommand)
@words("query", required=True, completes="query")
@engine_options(SectionOptions)
@flag("--snippets", help="Show the best passage of each section instead of all of it")
@places()
@json_flag
def sections(query: tuple[str, ...], **options: Any) -> int:
    """Find whole sections by meaning and words.

    rye reads each section from its file, verifies it, and shows it with its path and lines.

    Exit status: 0 something found, 1 nothing, 2 error.
    """
    only_one("as_json", "snippets")
    where = take_where(options)
    arguments = arguments_of(SectionOptions, options)
    response = ask(where, lambda registry: registry.sections(" ".join(query), **arguments))
    from rye.cli.render.search import render_notes, render_sections

    render = partial(render_sections, snippets=options["snippets"])
    answer(response, render, render_notes, as_json=options["as_json"])
    return 0 if response.results else 1


@click.command("why", cls=SearchCommand)
@argument("query", completes="query")
@argument("item", required=False, completes="item")
@engine_options(WhyOptions)
@places()
@json_flag
def why(query: str, item: str | None, **options: Any) -> int:
    """Explain how rye reads QUERY, or why ITEM (a type:id or an id) is a hit of it or not.

    Without ITEM, it shows the tree of the query, the stages that were tried, and the number of hits. The options are
    those of `rye search` that decide which items are hits.

    Exit status: 0 it is a hit, or there are hits; 1 it is not a hit, or there are none; 2 error.
    """
    where = take_where(options)
    arguments = arguments_of(WhyOptions, options)
    from rye.cli.render.search import render_reading, render_reading_notes, render_why

    if item is None:
        read = ask(where, lambda registry: registry.read_query(query, **arguments))
        answer(read, render_reading, render_reading_notes, as_json=options["as_json"])
        return 0 if read.total else 1
    reasons = ask_about_item(where, lambda registry: registry.why(query, item, **arguments))
    answer(reasons, render_why, as_json=options["as_json"])
    return 0 if reasons.found else 1
