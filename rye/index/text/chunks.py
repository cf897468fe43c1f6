"""The texts of an item that are embedded; only this file decides what a vector stands for.

Each text begins with the names of the item, because a section is found by its topic as much as by its words:

- the title, or the name if there is none, as words (``sendEmail`` → ``send Email``); the name, if it adds anything;
- the headings that lead to the section;
- in the first section, the description and the tags;
- the section's own text, in overlapping chunks if it is long.

An item without sections, such as a tool, is one section: its description, its tags, the names it defines, and the
values named ``description`` in its data, which mostly describe parameters. Each of its documented functions, methods
and classes is another section: name and documentation. Code is not embedded, because the mean of its tokens says
little.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rye.embedding.protocol import Embedder
from rye.items.model import Documented, Item, Section

RECIPE = 9
"""Increased with every change of the embedded texts or of the storage of vectors; older files are not read."""

CHUNK_CHARS, OVERLAP_CHARS = 2_000, 200
"""Maximum characters of a section in one vector, and the overlap of neighbouring chunks."""

HEAD_CHARS = 2_000
"""Maximum length of title, headings, description, tags and names in one text, each and together; if chunks are smaller,
the size of a chunk.
"""

_JOINTS = re.compile(r"[_\-./]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BREAKS = ("\n\n", "\n", ". ", " ")
_MAX_DEPTH = 12
_SAME_CHARS = 60


class Chunk(NamedTuple):
    """One text to embed.

    Attributes:
        section: Ordinal of the section in its item. In an item without sections, 0 is the item itself, and the others
            are the numbers of its symbols, starting at 1.
        number: Ordinal of the chunk in its section.
        text: The text to embed.
    """

    section: int
    number: int
    text: str


def chunk_size(embedder: Embedder) -> tuple[int, int]:
    """Return the chunk size and overlap that an embedder prefers."""
    chars, overlap = getattr(embedder, "chunk_chars", None), getattr(embedder, "overlap_chars", None)
    return chars or CHUNK_CHARS, OVERLAP_CHARS if overlap is None else overlap


def chunks_of(item: Item, chars: int = CHUNK_CHARS, overlap: int = OVERLAP_CHARS) -> tuple[Chunk, ...]:
    """Return the chunks of an item in order, at least one.

    Empty sections have no chunk, except the first section.
    """
    names = _names(item)
    if not item.sections:
        itself = Chunk(0, 0, _joined([*names, *_about(item), *_details(item)], chars))
        return (itself, *(_documented(names, documented, chars) for documented in item.documented))
    return tuple(_sectioned(item, names, (chars, overlap)))


def _documented(names: Sequence[str], part: Documented, chars: int) -> Chunk:
    return Chunk(part.number + 1, 0, f"{_joined([*names, _words(part.symbol.name)], chars)}. {part.text[:chars]}")


def _sectioned(item: Item, names: Sequence[str], size: tuple[int, int]) -> Iterator[Chunk]:
    for ordinal, section in enumerate(item.sections):
        if ordinal and not section.text.strip():
            continue
        headings = map(_words, section.heading_path)
        about = () if ordinal else _about(item, section.text)
        head = _joined([*names, *headings, *about], size[0])
        for number, (start, stop) in enumerate(spans_of(section, *size)):
            yield Chunk(ordinal, number, f"{head}. {section.text[start:stop]}" if head else section.text[start:stop])


def spans_of(section: Section, chars: int = CHUNK_CHARS, overlap: int = OVERLAP_CHARS) -> tuple[tuple[int, int], ...]:
    """Return the bounds of the chunks in a section's text; all but the last end at a break if possible."""
    text, start, spans = section.text, 0, []
    while len(text) - start > chars:
        stop = _break(text, start + chars // 2, start + chars)
        spans.append((start, stop))
        start = stop - min(overlap, chars // 4)
    return (*spans, (start, len(text)))


def _break(text: str, low: int, high: int) -> int:
    """Return where to cut between two places: after the last paragraph, else line, sentence or word."""
    for mark in _BREAKS:
        at = text.rfind(mark, low, high)
        if at >= 0:
            return at + len(mark)
    return high


def _names(item: Item) -> list[str]:
    return [_words(item.title) or _words(item.name), _words(item.name)]


def _words(text: str) -> str:
    """Split an identifier into words; return text with spaces unchanged."""
    text = text.strip()
    return text if " " in text else _CAMEL.sub(" ", _JOINTS.sub(" ", text)).strip()


def _about(item: Item, text: str = "") -> list[str]:
    """Return description and tags; leave out the description if the text begins with it."""
    start = _folded(item.description)[:_SAME_CHARS]
    return [item.description if start not in _folded(text[:CHUNK_CHARS]) else "", ", ".join(item.tags)]


def _folded(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def _details(item: Item) -> list[str]:
    symbols = ", ".join(_words(symbol.name) for symbol in item.symbols)
    return [symbols, *_descriptions(item.metadata)]


def _descriptions(values: Mapping[str, Any], depth: int = 0) -> Iterator[str]:
    """Yield each ``description`` in nested metadata, after the name of the thing it describes."""
    for key, value in values.items():
        inner = value if isinstance(value, list) else [value]
        for entry in inner if depth < _MAX_DEPTH else ():
            if isinstance(entry, Mapping):
                if isinstance(entry.get("description"), str):
                    name = entry.get("name")
                    yield f"{_words(name if isinstance(name, str) else str(key))}: {entry['description']}"
                yield from _descriptions(entry, depth + 1)


def _joined(parts: Sequence[str], chars: int) -> str:
    """Join parts as sentences without repetitions, cut to the length of a chunk."""
    seen: dict[str, str] = {}  # compared by letters and digits only
    left = min(HEAD_CHARS, chars)
    for part in parts:
        text = part.strip()[:left]
        folded = _folded(text)
        if folded and folded not in seen:
            seen[folded] = text.rstrip(".")
            left = max(left - len(text), 0)
    return ". ".join(seen.values())
