"""One item for a reader: facts first, then its content as it is, every hidden character written out."""

from __future__ import annotations

import json
from collections.abc import Iterator

from rye.cli.render.parts import remedy, signed_by, source_label, verdict_label
from rye.cli.terminal import Terminal
from rye.cli.text import block, cells, inline, pad, passage
from rye.registry.reports import LoadedItem

__all__ = ["render_item"]

_SHOWN = {
    "author",
    "category",
    "created",
    "created_at",
    "description",
    "id",
    "name",
    "tags",
    "title",
    "type",
    "updated",
    "updated_at",
    "version",
}

_REMARKABLE = {"shadows", "shadowed by", "warning", "state", "see instead"}


def render_item(loaded: LoadedItem, terminal: Terminal) -> Iterator[str]:
    """Yield the heading with the verdict, one line per known fact, a rule, and the content.

    Markdown is shown as written and not rendered: a comment that a renderer would hide is part of what an agent reads.
    """
    name = terminal.style(inline(f"{loaded.item.type}:{loaded.item.id}"), "cyan", bold=True)
    yield f"{name}  {verdict_label(loaded.signature, terminal)}"
    yield from _fact_lines(loaded, terminal)
    yield terminal.dim(("─" if terminal.unicode else "-") * (terminal.width or 72))
    yield block(loaded.content.rstrip("\n"))


def _fact_lines(loaded: LoadedItem, terminal: Terminal) -> Iterator[str]:
    facts = [(inline(name), value) for name, value in _facts(loaded) if value.strip()]
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
    yield "remedy", remedy(loaded)
    yield "signed", signed_by(signature)
    yield "source", source_label(loaded.space, loaded.bundle)
    yield "path", loaded.path
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
        if name not in _SHOWN:
            yield name, _value(value)
    yield "symbols", ", ".join(f"{symbol.name}:{symbol.line}" for symbol in item.symbols)


def _value(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        return ", ".join(value)
    return json.dumps(value, ensure_ascii=False, default=str)
