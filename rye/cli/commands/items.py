"""The commands that show items: ``rye show``, ``open``, ``list``, ``refs``, ``stats`` and ``help``."""

from __future__ import annotations

import re
import sys
from functools import partial
from pathlib import Path
from typing import Any

import click

from rye._resources import items_root
from rye._text import inline, quote
from rye.cli.commands.search import answer_hits
from rye.cli.options import NothingFound, Place, ask, ask_about_item, command, only_one, params_of, progress_bar, refuse
from rye.cli.terminal import Terminal, answer, note, note_line, say, say_json, say_raw
from rye.errors import NotFoundError
from rye.parameters import guess

_SORTS = {"id": "score", "name": "name", "date": "date"}
"""Each order by the name that a search has for it: all items of a list score the same, which leaves them by id."""


@command("show", params=params_of("show"))
def show_item(item: str, **options: Any) -> int:
    """Show ITEM: a type:id, or an id alone if only one type has it.

    On a terminal Markdown is rendered, and what does not fit is shown by the program that PAGER names, else by less.

    Exit status: 0 shown, 1 there is no such item, 2 error.
    """
    only_one("as_json", "raw")
    place = Place.take(options)
    loaded = ask_about_item(place, lambda registry: registry.get(item, options["space"]))
    if options["raw"]:
        say_raw(loaded.content)
    elif options["as_json"]:
        say_json(loaded.to_dict())
    else:
        from rye.cli.programs import show_paged
        from rye.cli.render.items import render_item

        terminal = Terminal.of(sys.stdout)
        show_paged(render_item(loaded, terminal), terminal)
    return 0


@command("help", params=params_of("help"))
def help_command(topic: str | None, man: Path | None) -> int:
    """Show the page TOPIC of rye's documentation; without TOPIC, what each page is about.

    The pages are the knowledge items that come with rye. On a terminal they are shown as `rye show` shows an item.

    With --man, manual pages are written instead; man finds those in ~/.local/share/man/man1.

    Exit status: 0 shown, 1 there is no such page, 2 error.
    """
    if man is not None:
        refuse("topic", because="with --man")
        return _write_manual(man)
    from rye.cli.programs import show_paged
    from rye.cli.render.items import render_help, render_item
    from rye.registry.registry import Registry

    terminal, own = Terminal.of(sys.stdout), items_root()
    with progress_bar("indexing") as progress:
        registry = Registry(own, user=own, bundles=[own], clients=["none"], progress=progress)
        pages = registry.list_items("knowledge.rye.*", space="system")
        names = [hit.id.removeprefix("rye/") for hit in pages.results]
        if topic is not None and (topic := topic.removeprefix("rye/")) not in names:
            hint = f"{guess(topic, names)}rye help lists the pages"
            raise NothingFound(NotFoundError("no-topic", f"there is no page {topic!r}", hint=hint))
        if topic is None:
            lines = render_help(pages, terminal)
        else:
            lines = render_item(registry.get(f"knowledge:rye/{topic}", "system"), terminal)
    show_paged(lines, terminal)
    return 0


def _write_manual(folder: Path) -> int:
    """Write the manual page of each command."""
    from rye._files import refuse_links, write_atomically
    from rye.cli.man import pages

    root = click.get_current_context().find_root().command
    assert isinstance(root, click.Group)
    written = 0
    for name, text in pages(root):
        path = folder / name
        refuse_links(path)
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text.encode())
        written += 1
    say(f"wrote {written} manual pages into {inline(str(folder))}")
    return 0


@command("open", params=params_of("open"))
def open_item(item: str, **options: Any) -> int:
    """Open the file of ITEM, a type:id or an id alone, in the editor that VISUAL or EDITOR names; also: rye edit.

    ITEM:LINE begins at a line, where rye knows how the editor takes one. No shell is started. An item that was changed
    is to be signed again.

    Exit status: 0 the editor ended, 1 there is no such item, 2 error.
    """
    from rye.cli.programs import edit
    from rye.index.schema import TYPE_NAMES

    named = re.fullmatch(r"(.*[^:]):([1-9][0-9]{0,8})", item)
    name, line = (named[1], int(named[2])) if named and named[1] not in TYPE_NAMES else (item, 1)
    place = Place.take(options)
    loaded = ask_about_item(place, lambda registry: registry.get(name))
    edit(loaded.path, line)
    edited = ask_about_item(place, lambda registry: registry.get(loaded.ref))
    if edited.content != loaded.content and loaded.signature.verdict != "unsigned":
        command = f"rye sign{' --space user' * (loaded.space == 'user')} {quote(loaded.ref)}"
        unsignable = "the item has changed, so its publisher must sign it again"
        label, text = ("note", unsignable) if loaded.space == "system" else ("fix", command)
        note(note_line(label, text, Terminal.of(sys.stderr)))
    return 0


@command("list", params=params_of("list"))
def list_command(scope: str, **options: Any) -> int:
    """List the items in SCOPE with version, verdict, source and description. Each item is read and verified.

    SCOPE is directive, tool or knowledge, alone or with a namespace: tool.rye.core.*; join several by commas.

    Exit status: 0 there are some, 1 none, 2 error.
    """
    only_one("as_json", "as_jsonl", "as_ids", "paths", "form")
    if not options["as_ids"]:
        refuse("null", because="without --ids")
    place = Place.take(options)
    form = {name: options.pop(name) for name in ("as_json", "as_jsonl", "as_ids", "null", "form")}
    paths = options.pop("paths")
    options["sort_by"] = _SORTS[options.pop("sort")]
    from rye.cli.render.items import render_list

    response = ask(place, lambda registry: registry.list_items(scope, **options))
    return answer_hits(response, form, partial(render_list, paths=paths))


@command("refs", params=params_of("refs"))
def refs(item: str, **options: Any) -> int:
    """Show what ITEM refers to and what refers to it. ITEM is a type:id, or an id alone if only one type has it.

    Exit status: 0 there are relations, 1 none, or no such item, 2 error.
    """
    only_one("form", "as_json")
    place = Place.take(options)
    form = "json" if options.pop("as_json") else options["form"]
    del options["form"]
    found = ask_about_item(place, lambda registry: registry.refs(item, **options))
    from rye.cli.render.items import RELATION_FORMATS

    answer(found, RELATION_FORMATS.get(form, RELATION_FORMATS["text"]), as_json=form == "json")
    if form != "json" and found.truncated:
        note(f"{len(found.relations)} of {found.total} relations are shown; --limit shows more")
    return 0 if found.relations else 1


@command("stats", params=params_of("stats"))
def stats(space: str, **options: Any) -> int:
    """Count items by space, type, verdict and signer, and show the sizes of files and index.

    Exit status: 0 there are items, 1 there are none, 2 error.
    """
    place = Place.take(options)
    figures = ask(place, lambda registry: registry.stats(space))
    from rye.cli.render.index import render_stats

    answer(figures, render_stats, as_json=options["as_json"])
    return 0 if figures.total.items else 1
