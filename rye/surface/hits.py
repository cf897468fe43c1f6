"""The parts of a hit that every surface shows. Text from the item is not escaped; a surface must do that."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, compress
from typing import Any, NamedTuple, TypeAlias

from rye._text import inline
from rye.surface.text import lifecycle_label, plural

Spans: TypeAlias = Sequence[Sequence[int]]
"""``[start, end)`` character ranges of a text."""

SHOWN_SYMBOLS = 3
"""Most matched symbols of a hit that are shown in words."""

_WORD = re.compile(r"\w+")
_MARKS = re.compile(
    r"(?<!\S)(?:#{1,6}(?!\S)|`{3,}[\w+-]*|~{3,}[\w+-]*|\|(?:(?=[ :|]{0,200}-)[ :|-]{0,1000}\|)?(?!\S))|\*\*|`"
    r"|!?\[(?=[^\[\]]{1,200}\]\([^()\s]{1,200}\))|\]\([^()\s]{1,200}\)"
)


class Passage(NamedTuple):
    """A text of a hit, and the character ranges of it to highlight."""

    text: str
    spans: Spans = ()


class HitView(NamedTuple):
    """A hit in the parts that every surface shows.

    Attributes:
        name: ``type:id``.
        title: The title; an empty passage if the item has none.
        texts: Description and preview, without Markdown syntax; a text that repeats another one is left out.
        similarity: The similarity or the fused score in words; empty for a keyword search.
        lifecycle: ``superseded, see knowledge:b``; empty for a current item.
        hiding: ``shadows …`` and ``shadowed by …``.
        reasons: Lines that say what a hybrid search compared.
        symbols: Lines that describe the matched symbols: at most three, and a line that counts the rest.
    """

    name: str
    title: Passage
    texts: tuple[Passage, ...]
    similarity: str
    lifecycle: str
    hiding: tuple[str, ...]
    reasons: tuple[str, ...]
    symbols: tuple[str, ...]

    @property
    def passages(self) -> list[Passage]:
        """The title, if there is one, and the texts."""
        return [passage for passage in (self.title, *self.texts) if passage.text]


def view_of(hit: Mapping[str, Any]) -> HitView:
    """Return the view of a hit.

    Args:
        hit: :meth:`SearchResult.to_dict`.
    """
    fused, cosine = hit.get("hybrid"), hit.get("similarity")
    similarity = "" if cosine is None else f"similarity {cosine:.4f}"
    return HitView(
        name=f"{hit['type']}:{hit['id']}",
        title=_title(hit),
        texts=tuple(_texts(hit)),
        similarity=f"({fused['total']:g}% total)" if fused else similarity,
        lifecycle=lifecycle_label(hit["states"], hit["successor"]),
        hiding=hiding(hit),
        reasons=tuple(_reasons(fused)) if fused else (),
        symbols=tuple(_symbol_lines(hit["symbols"])),
    )


def hiding(item: Mapping[str, Any]) -> tuple[str, ...]:
    """Return, in words, the sources whose copy is hidden by this item or hides it, and matching parts of the skill."""
    below = f"{item['id']}/"
    parts = [part.partition(":")[2].removeprefix(below) for part in item.get("parts", ())]
    pairs = (("shadows", item.get("shadows")), ("shadowed by", item.get("shadowed_by")), ("with", parts))
    return tuple(f"{words} {', '.join(sources)}" for words, sources in pairs if sources)


def _title(hit: Mapping[str, Any]) -> Passage:
    """Return the title; empty if it only repeats the name, as ``Database backup`` repeats ``database-backup``."""
    title, name = (_words(hit[key]) for key in ("title", "name"))
    says_name = title == name and (hit["description"] or hit["preview"])
    return Passage("") if says_name else Passage(hit["title"], hit["highlights"].get("title", ()))


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold().replace("_", " ")))


def _texts(hit: Mapping[str, Any]) -> Iterator[Passage]:
    title, description, preview = (
        _words(text) for text in (hit["title"] or hit["name"], hit["description"], hit["preview"])
    )
    is_markdown = is_markdown_file(hit["path"])
    repeated = ""
    if preview.removeprefix(title).strip() in description:
        repeated = "preview"
    elif description in f"{title} {preview}":
        repeated = "description" if is_markdown else "preview"  # of code, show the description instead
    for name in ("description", "preview"):
        text, spans = hit[name], hit["highlights"].get(name, ())
        if text and name != repeated and text != hit["title"]:
            yield without_marks(text, spans) if is_markdown else Passage(text, spans)


def is_markdown_file(path: str) -> bool:
    """Return whether a file has the extension of a Markdown file."""
    return path.endswith((".md", ".mdc", ".markdown"))


def without_marks(text: str, spans: Spans = ()) -> Passage:
    """Remove the syntax of headings, code, tables, emphasis and links from Markdown, and move the spans accordingly.

    The text between the syntax stays, and so do comments.
    """
    kept = bytearray(b"\1") * len(text)
    for mark in _MARKS.finditer(text):
        kept[mark.start() : mark.end()] = bytes(mark.end() - mark.start())
    places = list(accumulate(kept, initial=0))
    moved = [(places[min(start, len(text))], places[min(end, len(text))]) for start, end in spans]
    return Passage("".join(compress(text, kept)), moved)


def _reasons(match: Mapping[str, Any]) -> Iterator[str]:
    yield f"Semantic: {match['semantic']:g}% | Keyword: {match['keyword']:g}%"
    parts = {
        "Header": match["header"],
        "Matched symbols": ", ".join(match["matched_symbols"]),
        "Definition lines": ", ".join(match["definition_lines"]),
    }
    yield from (f"{name}: {inline(text)}" for name, text in parts.items() if text)


def symbol_line(symbol: Mapping[str, Any]) -> str:
    """Return kind, name, line, signature and docstring of a symbol: ``method Oven.bake, line 3: def bake(self)``.

    Args:
        symbol: :meth:`Symbol.to_dict`.
    """
    said = f" -- {symbol['docstring']}" if symbol["docstring"] else ""
    return inline(f"{symbol['kind']} {symbol['name']}, line {symbol['line']}: {symbol['signature']}{said}")


def _symbol_lines(symbols: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    matched = [symbol for symbol in symbols if "signature" in symbol]
    yield from map(symbol_line, matched[:SHOWN_SYMBOLS])
    if len(matched) > SHOWN_SYMBOLS:
        yield f"and {plural(len(matched) - SHOWN_SYMBOLS, 'more symbol')}"
