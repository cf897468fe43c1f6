"""Items as text: one with its content, a list, and the references around an item."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rye._text import block, column, inline
from rye.cli.render.parts import (
    item_name,
    location,
    named_audience,
    passage,
    standing_label,
    verdict_label,
)
from rye.cli.terminal import VERDICT_MARKS, Terminal, cells, cut, pad
from rye.surface.hits import is_markdown_file, symbol_line
from rye.surface.text import counted, lifecycle_label, remedy, signed_by, source_name

if TYPE_CHECKING:
    from rye.registry.relations import RelatedItem, Relation, Relations
    from rye.registry.reports import LoadedItem
    from rye.search.contract.results import SearchResponse, SearchResult
    from rye.trust.model import Signature

_LISTED_BEFORE = {
    *("author", "category", "created", "created_at", "description", "id", "name"),
    *("tags", "title", "type", "updated", "updated_at", "version"),
}
"""Metadata that :func:`render_item` shows on lines of its own."""

_REMARKABLE = {"shadows", "shadowed by", "warning", "state", "see instead"}


def render_item(loaded: LoadedItem, terminal: Terminal) -> Iterator[str]:
    """Yield the heading with the verdict, a line for each known fact, a rule, and the content.

    In colour, Markdown is rendered, but nothing is hidden: an agent reads comments too.
    """
    yield _heading(loaded.ref, loaded.signature, terminal)
    yield from _fact_lines(_facts(loaded), terminal)
    yield terminal.dim(("─" if terminal.unicode else "-") * (terminal.width or 72))
    yield _content(loaded.content, terminal, is_markdown=is_markdown_file(loaded.path))


def render_page(loaded: LoadedItem, terminal: Terminal) -> Iterator[str]:
    """Yield the text of a page of the manual; first its verdict, unless it is trusted."""
    if loaded.signature.verdict != "trusted":
        yield _heading(loaded.ref, loaded.signature, terminal)
        yield from _fact_lines([("verdict", loaded.signature.reason)], terminal)
    yield _content(loaded.item.body, terminal, is_markdown=True)


def _content(text: str, terminal: Terminal, *, is_markdown: bool) -> str:
    content = block(text.rstrip("\n"))
    return "\n".join(_markdown(content.split("\n"), terminal)) if is_markdown and terminal.colour else content


_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6}) +(.*?)(?: +#+)? *")
_BULLET = re.compile(r"^( *+)[-*+] (?=\S)")
_RULE = re.compile(r"[ |:-]*-[ |:-]*")
_SIGNATURE = re.compile(r"# rye:signed:[\w:.+-]+")
_KEY = re.compile(r" *[\w.-]+:(?= |$)")
_SPAN = re.compile(
    r"(?P<ticks>`{1,3})(?!`)(?P<code>.{1,300}?)(?<!`)(?P=ticks)(?!`)|\*\*(?P<bold>\S(?:.{0,300}?\S)?)\*\*"
    r"|\[(?P<text>[^\[\]]{1,300})\]\((?P<address>[^()\s]{1,500})\)|(?P<comment><!--.*?(?:-->|$))"
)


def _markdown(lines: list[str], terminal: Terminal) -> Iterator[str]:
    """Yield escaped lines of Markdown in colour.

    Only the syntax of headings, bullets, code spans, bold text and links is replaced; everything else stays.
    """
    first = int(lines[0].startswith("<!--"))  # a signature line
    metadata = lines.index("---", first + 1) if "---" in lines[first : first + 1] and "---" in lines[first + 1 :] else 0
    fence = comment = ""
    for number, line in enumerate(lines):
        opening = _FENCE.match(line)
        if number <= metadata > 0:
            yield from _metadata(line, terminal)
        elif comment:
            comment = "" if "-->" in line else comment
            yield terminal.dim(line)
        elif fence:
            closes = opening is not None and opening[1].startswith(fence) and not line.strip(f" {fence[0]}")
            fence = "" if closes else fence
            yield terminal.dim(line) if closes else terminal.style(line, "green")
        elif opening is not None:
            fence = opening[1]
            yield terminal.dim(line)
        elif heading := _HEADING.fullmatch(line):
            yield terminal.style(heading[2], "blue" if len(heading[1]) < 3 else None, bold=True)
        elif _RULE.fullmatch(line):
            yield terminal.dim(line)
        else:
            comment = "<!--" if line.rfind("<!--") > line.rfind("-->") else ""
            bullet = "•" if terminal.unicode else "-"
            yield _SPAN.sub(lambda match: _span(match, terminal), _BULLET.sub(rf"\1{bullet} ", line, count=1))


def _metadata(line: str, terminal: Terminal) -> Iterator[str]:
    """Yield a line of front matter, wrapped and with its key in bold; nothing for a ``---`` line.

    A signature is cut to the width of the terminal.
    """
    if key := _KEY.match(line):
        from textwrap import TextWrapper

        how = TextWrapper(terminal.width or len(line), subsequent_indent="  ", break_long_words=False)
        first, *following = how.wrap(line)
        yield terminal.style(key[0], bold=True) + first[key.end() :]
        yield from following
    elif line != "---":
        yield terminal.dim(cut(line, terminal.width) if _SIGNATURE.fullmatch(line) else line)


def _span(match: re.Match[str], terminal: Terminal) -> str:
    if match["code"]:
        return terminal.style(match["code"], "green")
    if match["bold"]:
        return terminal.style(match["bold"], bold=True)
    if match["text"]:
        return terminal.style(match["text"], "cyan") + terminal.dim(f" ({match['address']})")
    return terminal.dim(match[0])


def _heading(ref: str, signature: Signature, terminal: Terminal) -> str:
    return f"{terminal.style(column(ref), 'cyan', bold=True)}  {verdict_label(signature, terminal)}"


def _fact_lines(listed: Iterable[tuple[str, str]], terminal: Terminal) -> Iterator[str]:
    facts = [(inline(name), value) for name, value in listed if value.strip()]
    width = max(cells(name) for name, _ in facts)
    room = None if terminal.width is None else terminal.width - width - 4
    for name, value in facts:
        colour = "magenta" if name in _REMARKABLE else None
        for at, line in enumerate(passage(value, (), light=str, width=room)):
            yield f"  {terminal.dim(pad('' if at else name, width))}  {terminal.style(line, colour)}"


def _facts(loaded: LoadedItem) -> Iterator[tuple[str, str]]:
    item, signature = loaded.item, loaded.signature
    yield "title", item.title
    yield "description", item.description
    yield "verdict", signature.reason
    yield from remedy(loaded, named_audience()).labelled("remedy")
    yield "signed", signed_by(signature)
    yield "source", source_name(loaded.space, loaded.bundle, loaded.folder)
    yield "path", loaded.path
    yield "installed from", loaded.installed_from and f"{loaded.installed_from}, as its installer wrote"
    yield "shadows", ", ".join(loaded.shadows)
    yield "shadowed by", ", ".join(loaded.shadowed_by)
    yield "warning", "; ".join(loaded.warnings)
    yield "state", ", ".join(loaded.states)
    yield "see instead", loaded.successor
    yield "category", item.category
    yield "version", item.version
    yield "author", item.author
    yield "created", item.created
    yield "updated", item.updated
    yield "tags", ", ".join(item.tags)
    for name, value in item.metadata.items():
        if name not in _LISTED_BEFORE:
            yield "metadata", f"{name}: {_value(value)}"  # no name of its own: it could be one of those above
    yield from (("symbol", symbol_line(symbol.to_dict())) for symbol in item.symbols if symbol.signature)


def _value(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        return ", ".join(value)
    return json.dumps(value, ensure_ascii=False, default=str)


_LONGEST = 60
_LEAST = 8


def render_help(pages: SearchResponse, terminal: Terminal) -> Iterator[str]:
    """Yield the name and subject of each page of the manual."""
    names = {hit.id: hit.id.removeprefix("rye/") for hit in pages.results}
    width = max(map(len, names.values()), default=0)
    for hit in pages.results:
        room = None if terminal.width is None else max(terminal.width - width - 2, 0)
        yield f"{terminal.style(pad(names[hit.id], width), bold=True)}  {cut(inline(hit.description), room)}"


def list_header(first: SearchResponse, most: int | None, terminal: Terminal) -> str:
    """Return the line above a list: how many items there are, or how many are shown of them, and the counts of all."""
    counts = (", ".join(f"{count} {name}" for name, count in facet.values) for facet in first.facets.values())
    left = max(first.total - first.offset, 0)
    shown = left if most is None else min(left, most)
    number, facts = counted(shown, first.total, "item"), "; ".join(map(inline, filter(None, counts)))
    return terminal.style(f"{number}: {facts}" if facts else number, bold=True)


def column_widths(page: SearchResponse) -> list[int]:
    """Return the widths of the columns of a list for the items of a page."""
    columns = zip(*map(_columns, page.results), strict=True)
    return [min(max(map(cells, texts)), _LONGEST) for texts in columns]


def render_list(
    page: SearchResponse, terminal: Terminal, widths: Sequence[int], *, paths: bool = False
) -> Iterator[str]:
    """Yield a line for each item, cut to the terminal; with ``paths``, its file below it."""
    marks = max((len(word) for word in VERDICT_MARKS), default=0)
    for hit in page.results:
        name, version, source, description = _columns(hit)
        shown = item_name(f"{hit.type}:{hit.id}", hit.path, terminal, width=widths[0])
        verdict = terminal.verdict(str(hit.signature.verdict), width=marks)
        used = max(cells(name), widths[0]) + widths[1] + widths[2] + marks + 2 + 8
        state = lifecycle_label(hit.states, hit.successor)
        used += cells(state) + 2 if state else 0
        room = None if terminal.width is None else terminal.width - used
        about = cut(description, room) if room is None or room >= _LEAST else ""
        facts = [pad(version, widths[1]), verdict, pad(source, widths[2]), terminal.style(state, "magenta")]
        yield "  ".join([shown, *facts[: None if state else 3], about]).rstrip()
        if paths:
            yield f"  {location(hit.path, hit.line, terminal)}"


def _columns(hit: SearchResult) -> tuple[str, str, str, str]:
    name = column(f"{hit.type}:{hit.id}")
    return (
        name,
        column(hit.version),
        source_name(hit.source, hit.bundle, hit.folder) + (f" from {hit.installed_from}" if hit.installed_from else ""),
        inline(hit.description or hit.title),
    )


_ARROWS = {"out": ("→", "->"), "in": ("←", "<-")}


def render_refs(relations: Relations, terminal: Terminal) -> Iterator[str]:
    """Yield a header, then for each item in the middle its outgoing and incoming references."""
    items = {item.ref: item for item in relations.items}
    facts = f"{relations.direction}, depth {relations.depth}"
    yield terminal.style(f"{counted(len(relations.relations), relations.total, 'relation')}: {facts}", bold=True)
    yield _item(relations.item, items, terminal)
    width = max((cells(edge.kind) for edge in relations.relations), default=0)
    for relation in relations.relations:
        is_nearer = items[relation.item].distance < relation.distance
        outward = is_nearer if relations.direction == "both" else relations.direction == "out"
        indent = "  " * relation.distance
        arrow = _ARROWS["out" if outward else "in"][0 if terminal.unicode else 1]
        nearer, farther = (
            (relation.item, relation.target) if outward else (relation.target or relation.written, relation.item)
        )
        between = "" if relation.distance == 1 else f"{inline(nearer)} {arrow} "
        yield f"{indent}{pad(relation.kind, width)} {between or f'{arrow} '}{_end(relation, farther, items, terminal)}"


def _end(relation: Relation, far: str, items: Mapping[str, RelatedItem], terminal: Terminal) -> str:
    where = terminal.dim(f"line {relation.line}" + (f", as {inline(relation.written)}" if far else ""))
    if far:
        return f"{_item(far, items, terminal)}  {where}"
    meant = f": {inline(', '.join(relation.candidates))}" if relation.candidates else ""
    state = terminal.style(f"{relation.state}{meant}", "yellow")
    return f"{inline(relation.written)}  {state}  {where}"


def _item(ref: str, items: Mapping[str, RelatedItem], terminal: Terminal) -> str:
    item, name = items[ref], terminal.style(column(ref), "cyan", bold=True)
    facts = [name, terminal.verdict(item.verdict or "unreadable"), column(item.source)]
    facts += [standing_label(item, terminal), inline(item.title)]
    return "  ".join(filter(None, facts))
