"""The commands that show items: ``rye show``, ``list``, ``refs`` and ``help``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from itertools import chain
from typing import Any

import click

from rye._resources import items_root
from rye.cli.commands.search import answer_hits
from rye.cli.options import (
    NothingFound,
    ask,
    ask_about_item,
    command,
    only_one,
    progress_bar,
    refuse,
    take_form,
)
from rye.cli.params import (
    argument,
    engine_option,
    engine_options,
    flag,
    hit_forms,
    item,
    json_flag,
    option,
    paths,
    places,
    take_where,
    words,
)
from rye.cli.terminal import Terminal, answer, note, say, say_json, say_raw, show, show_while_read, warning_lines
from rye.errors import NotFoundError
from rye.options.model import guess, parameters_of
from rye.options.search import (
    LISTED,
    OFFSET,
    SPACES,
    FilterOptions,
    RefsOptions,
    SearchOptions,
    SpaceOptions,
    space_of,
)
from rye.surface.requests import parse_filters

_SORTS = {"id": "score", "name": "name", "date": "date"}
"""Each order by the name that a search has for it: all items of a list score the same, which leaves them by id."""


@command("show")
@item
@engine_option(space_of("Where to look; `all`: the space that wins", *SPACES))
@flag("--raw", help="Print the bytes of the file and nothing else")
@places("project", "bundles", "trust", "audience", "clients", "index")
@json_flag
def show_item(item: str, **options: Any) -> int:
    """Show ITEM: a type:id, or an id alone if only one type has it.

    On a terminal, rye renders Markdown, and shows long items in $PAGER, by default less.

    Exit status: 0 shown, 1 there is no such item, 2 error.
    """
    only_one("as_json", "raw")
    where = take_where(options)
    loaded = ask_about_item(where, lambda registry: registry.get(item, options["space"]))
    if options["raw"]:
        say_raw(loaded.data)
    elif options["as_json"]:
        say_json(loaded.to_dict())
    else:
        from rye.cli.programs import show_paged
        from rye.cli.render.items import render_item

        terminal = Terminal.of(sys.stdout)
        show_paged(render_item(loaded, terminal), terminal)
    return 0


_FOUND = 5
"""Pages that `rye help` lists for words."""


@command("help")
@words("topic", completes="topic")
def help_command(topic: tuple[str, ...]) -> int:
    """Show the page TOPIC of the manual, or the help of a command; other words find pages. Without TOPIC, list them.

    The pages are items of rye: `rye show knowledge:rye/TOPIC` also shows the signature of a page.

    Exit status: 0 shown, 1 there is no such page, 2 error.
    """
    from rye.cli.programs import show_paged
    from rye.cli.render.items import render_help, render_page
    from rye.registry.registry import Registry

    terminal, own = Terminal.of(sys.stdout), items_root()
    with progress_bar("indexing") as progress:
        registry = Registry(own, user=own, bundles=[own], clients=["none"], progress=progress)
        pages = registry.list_items("knowledge.rye.*", space="system")
        names = [hit.id.removeprefix("rye/") for hit in pages.results]
        name = " ".join(topic).removeprefix("rye/")
        if name and name not in names:
            _show_help_of(topic)
            pages = registry.search(name, scope="knowledge", space="system", limit=_FOUND)
            show((), warning_lines(pages.warnings, Terminal.of(sys.stderr)))
            if not pages.results:
                hint = f"{guess(name, names)}rye help lists the pages"
                raise NothingFound(NotFoundError("no-topic", f"no page of the manual has {name!r}", hint=hint))
        if name in names:
            lines = render_page(registry.get(f"knowledge:rye/{name}", "system"), terminal)
        else:
            lines = render_help(pages, terminal)
    show_paged(lines, terminal)
    if _command(topic):
        note(f"rye {name} --help lists the options of the command")
    return 0


def _command(names: Sequence[str]) -> tuple[click.Context, click.Command] | None:
    """Return a command, such as ``keys rotate``, and the context above it; None if there is none of these names."""
    context = click.get_current_context().find_root()
    command = context.command
    if isinstance(command, click.Group) and command.get_command(context, two := " ".join(names[:2])):
        names = (two, *names[2:])  # such as "sign list"
    for at, name in enumerate(names):
        subcommand = command.get_command(context, name) if isinstance(command, click.Group) else None
        if subcommand is None:
            return None
        context = click.Context(command, context, names[at - 1]) if at else context
        command = subcommand
    return (context, command) if names else None


def _show_help_of(names: Sequence[str]) -> None:
    """Show the help of a command, and end; return if there is none of these names."""
    if command := _command(names):
        command[1].make_context(command[1].name, ["--help"], parent=command[0])


@command("list")
@argument("within", required=False, metavar="[SCOPE]", values=("directive", "tool", "knowledge"))
@engine_option(parameters_of(SearchOptions)["scope"])
@engine_options(SpaceOptions)
@engine_option(LISTED)
@engine_option(OFFSET, "Items to skip")
@option(
    *("sort_by", "--sort"),
    type=click.Choice(("id", "name", "date")),
    default="id",
    metavar="ORDER",
    help="`id` (by space, then id), `name`, or `date` (newest first)",
)
@engine_options(FilterOptions)
@paths
@places()
@hit_forms
def list_command(within: str | None, scope: str, **options: Any) -> int:
    """List the items in SCOPE with version, verdict, source and description. Each item is read and verified.

    SCOPE, or --scope, is directive, tool or knowledge, alone or with a namespace: tool.rye.core.*; join several by
    commas.

    Exit status: 0 there are items, 1 there are none, 2 error.
    """
    form, paths = take_form(options), options.pop("paths")
    if within is not None:
        refuse("scope", because="with SCOPE")
        scope = within
    if form != "text":
        refuse("paths", because=f"with --format {form}")
    where = take_where(options)
    options |= {"sort_by": _SORTS[options.pop("sort_by")], "filters": parse_filters(options["filters"])}
    if form != "text":
        response = ask(where, lambda registry: registry.list_items(scope, **options))
        return answer_hits(response, form, lambda *_: ())
    from rye.cli.render.items import column_widths, list_header, render_list
    from rye.cli.render.search import render_notes

    terminal, warnings = Terminal.of(sys.stdout), dict[str, None]()
    with progress_bar("indexing") as progress, closing(where.open(progress).list_pages(scope, **options)) as pages:
        first = page = next(pages)
        progress.clear()
        say(list_header(first, options["limit"], terminal))
        widths = column_widths(first)
        for page in chain([first], pages):
            warnings |= dict.fromkeys(page.warnings)
            if not show_while_read(render_list(page, terminal, widths, paths=paths)):
                break
    show((), render_notes(replace(page, warnings=tuple(warnings)), Terminal.of(sys.stderr)))
    return 0 if first.results else 1


@command("refs")
@item
@engine_options(RefsOptions)
@places()
@json_flag
def refs(item: str, **options: Any) -> int:
    """Show what ITEM refers to and what refers to it. ITEM is a type:id, or an id alone if only one type has it.

    Exit status: 0 there are references, 1 there are none or no such item, 2 error.
    """
    where, as_json = take_where(options), options.pop("as_json")
    relations = ask_about_item(where, lambda registry: registry.refs(item, **options))
    from rye.cli.render.items import render_refs

    answer(relations, render_refs, as_json=as_json)
    if not as_json and relations.truncated:
        note(f"{len(relations.relations)} of {relations.total} relations are shown; --limit shows more")
    return 0 if relations.relations else 1
