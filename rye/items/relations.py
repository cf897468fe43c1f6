"""The references of an item to others: in its metadata, steps and body, and imports in code.

Nothing is resolved here. An edge keeps the reference as written and its lookups. Which item they mean depends on all
spaces, and is resolved by a query (:mod:`rye.search.states.graph`).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from rye.items.model import TYPE_NAMES, Item, ItemType
from rye.items.references import Lookup, import_lookups, lookups, mentions
from rye.items.values import NO_WORDS

KINDS = (
    *("references", "executor", "requires", "extends", "supersedes", "superseded_by"),
    *("permissions", "steps", "mentions", "imports"),
)
"""Kinds of edges; the index in this tuple is the number of the kind in a segment."""

KIND_NUMBER: Mapping[str, int] = {name: number for number, name in enumerate(KINDS)}

MAX_REFERENCES = 1_000
"""Maximum distinct edges kept of one item; those of its metadata come first."""

MAX_REFERENCE_TEXT = 300
"""Maximum characters of a reference; a longer one is cut and names nothing."""

_KEYS: Mapping[str, tuple[str, str]] = {
    "references": ("references", ""),
    "executor_id": ("executor", "tool"),
    "executor": ("executor", "tool"),
    "requires": ("requires", "="),
    "extends": ("extends", "="),
    "supersedes": ("supersedes", "="),
    "superseded_by": ("superseded_by", "="),
    "replaced_by": ("superseded_by", "="),
}
"""Metadata key → kind of edge, and the type to assume if none is written; ``=`` is the item's own."""

_NAMING = ("item_id", "item", "id", "ref", "reference", "path", "name")
_TYPING = ("item_type", "type")
_PERMITTED_TYPING = ("item_type", "type", "resource")
_PERMITTED_NAMING = ("item_id", "item", "id", "ref", "reference", "resource", "name", "text")
_STEP_NAMING = ("item_id", "item", "ref", "uses", "executor_id")
_SPLIT = re.compile(r"[,\n]")
_SPACES = re.compile(r"\s")
_NO_ITEM = re.compile(r"\w[\w+.-]*://|mailto:|www\.|.*[<>=~^|*{}]", re.DOTALL)
_CALL = re.compile(r"item_(type|id)[\"']?\s{0,9}[=:]\s{0,9}[\"']([^\"'\n<>]{1,300})[\"']")
_CALL_REACH = 200
_CAPABILITY = re.compile(rf"(?:rye\.)?(?:execute|search|load|sign)\.(?:{'|'.join(TYPE_NAMES)})\.[\w./-]*\w")
_WORKING = re.compile(r"<(?:process|steps?)(?=[\s>])")
_DONE = ("</process>", "</steps>", "</step>")
_TAGGED = re.compile(
    rf"<({'|'.join(TYPE_NAMES)})(?:_id)?>\s{{0,9}}([^<>\s][^<>\n]{{0,300}})</"
    rf"|[\s](?:({'|'.join(TYPE_NAMES)})(?:_id)?|uses)=[\"']([^\"'\n<>]{{1,300}})[\"']"
)
_HEAD = 1 << 16
_TOKEN = re.compile(r"[^\s<>()\[\]{},;\"'`=]+")
_NOTHING = frozenset({*NO_WORDS, "on", "true", "yes"})


class Edge(NamedTuple):
    """One reference of an item.

    Attributes:
        kind: One of :data:`KINDS`.
        text: As written, at most :data:`MAX_REFERENCE_TEXT` characters.
        lookups: The items it may name, best first.
        sure: Whether it is a relation even if there is no such item.
        line: 1-based line of the file.
    """

    kind: str
    text: str
    lookups: tuple[Lookup, ...]
    sure: bool
    line: int


def edges_of(
    item: Item,
    suffix: str,
    data: bytes,
    most: int = MAX_REFERENCES,
    *,
    beside: Callable[[str], tuple[Lookup, ...]] | None = None,
) -> list[Edge]:
    """Return the references of an item.

    Args:
        item: The item.
        suffix: Extension of its file.
        data: The complete file, in which lines are counted.
        most: Maximum references to return.
        beside: Returns the items that a reference may name as a path beside the file; they come first.
    """
    edges: dict[tuple[Any, ...], Edge] = {}  # by kind, text and lookups; the first place of each
    stated: set[tuple[str, int]] = set()  # text and line of references that are not mentions
    sources = _metadata_edges(item, data), _step_edges(item, data), _import_edges(item), _mention_edges(item, suffix)
    for edge in chain.from_iterable(sources):
        if len(edges) >= most:
            break
        if beside is not None and (beside_lookups := beside(edge.text)):
            edge = edge._replace(lookups=tuple(dict.fromkeys((*beside_lookups, *edge.lookups))))  # noqa: PLW2901
        place = edge.text, edge.line
        if edge.kind != "mentions":
            stated.add(place)
        if edge.kind != "mentions" or place not in stated:  # the body of code and data contains its metadata
            before = edges.setdefault(edge[:3], edge)
            if edge.sure and not before.sure:
                edges[edge[:3]] = edge
    return list(edges.values())


def _import_edges(item: Item) -> Iterator[Edge]:
    folder = item.id.rpartition("/")[0]
    for path, line in item.imports:
        candidates = import_lookups(path, folder, item.type)
        if len(path) <= MAX_REFERENCE_TEXT and (candidates or path.startswith("../")):  # or in a folder above
            yield Edge("imports", path, candidates, False, line)


def _mention_edges(item: Item, suffix: str) -> Iterator[Edge]:
    line, counted = item.body_line, 0  # continue counting lines at the previous mention
    for mention in mentions(item, suffix):
        line += item.body.count("\n", counted, mention.offset)
        counted = mention.offset
        yield Edge("mentions", mention.text, mention.lookups, mention.sure, line)


def _text(data: bytes) -> str:
    """Decode a file, with the line breaks that an item is parsed with."""
    return data.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")


def _metadata_edges(item: Item, data: bytes) -> Iterator[Edge]:
    if not item.metadata.keys().isdisjoint(_ASKED):
        folder = item.id.rpartition("/")[0]
        lines = _Lines(_text(data[:_HEAD]))
        for kind, key, text, item_type in _stated(item):
            written = " ".join(text.split())
            if len(written) > MAX_REFERENCE_TEXT:
                yield Edge(kind, f"{written[: MAX_REFERENCE_TEXT - 1]}…", (), True, lines.find(key, text))
            elif written.casefold() not in _NOTHING and not _NO_ITEM.match(written):
                candidates = lookups(written, item.type, folder, item_type)
                yield Edge(kind, written, candidates, " " not in written, lines.find(key, text))


def _stated(item: Item) -> Iterator[tuple[str, str, str, str]]:
    """Yield kind of edge, key, text, and type (or empty) of every reference in metadata, in the order of the keys."""
    for key, value in item.metadata.items():
        prefer = ""
        references: Iterable[tuple[str, str]]
        if key in _KEYS:
            kind, prefer = _KEYS[key]
            references = _named(value, _NAMING)
        elif key in {"deprecated", "yanked"} and isinstance(value, str):
            kind, references = "superseded_by", _step(value)  # such as: use tool:ops/new instead
        elif key == "permissions" and item.type is ItemType.DIRECTIVE:
            kind, references = "permissions", _permitted(value, "")
        elif key in {"steps", "process"} and item.type is ItemType.DIRECTIVE:
            kind, references = "steps", chain.from_iterable(map(_step, value if isinstance(value, list) else [value]))
        else:
            continue
        for text, item_type in references:
            yield kind, key, text, item_type or (item.type if prefer == "=" else prefer)


_ASKED = frozenset({*_KEYS, "deprecated", "yanked", "permissions", "steps", "process"})


def _named(value: Any, naming: tuple[str, ...], item_type: str = "") -> Iterator[tuple[str, str]]:
    """Yield text and type (or empty) of every reference in a text, a list, or mappings that name items."""
    if isinstance(value, str):
        yield from ((part.strip(), item_type) for part in _SPLIT.split(value))
    elif isinstance(value, list):
        for inner in value:
            yield from [(inner.strip(), item_type)] if isinstance(inner, str) else _named(inner, naming, item_type)
    elif isinstance(value, Mapping):
        # a mapping names one item, or holds further mappings: {item_type: tool, item_id: x}, or {tools: [x, y]}
        names = [value[key] for key in naming if isinstance(value.get(key), str)]
        kinds = [value[key] for key in _TYPING if value.get(key) in TYPE_NAMES]
        if names:
            yield names[0].strip(), kinds[0] if kinds else item_type
            return
        for key, inner in value.items():
            if isinstance(inner, list | Mapping) or _as_type(key):
                yield from _named(inner, naming, _as_type(key) or item_type)


def references_in(value: Any) -> list[str]:
    """Return the distinct references in the value of a metadata key, without texts of several words."""
    texts = [text for text, _ in _named(value, _NAMING)]
    return [text for text in dict.fromkeys(texts) if text.casefold() not in _NOTHING and not _SPACES.search(text)]


def _as_type(key: str) -> str:
    """Return the item type in a key such as ``tool``, ``tools`` or ``tool_id``, or an empty text."""
    word = key.casefold().removesuffix("_id").removesuffix("s")
    return word if word in TYPE_NAMES else ""


def _permitted(value: Any, item_type: str) -> Iterator[tuple[str, str]]:
    """Yield the items in permissions: ``execute: {tool: a/b}``, ``rye.execute.tool.a.b``, ``tool:a/b``.

    A mapping with a type, as in ``<execute resource="tool" id="a/b"/>``, names the item by its id or text.
    """
    if isinstance(value, Mapping):
        kinds = [kind for key in _PERMITTED_TYPING if (kind := _as_type(str(value.get(key, ""))))]
        rest = {key: inner for key, inner in value.items() if not (key in _PERMITTED_TYPING and _as_type(str(inner)))}
        names = [key for key in _PERMITTED_NAMING if isinstance(rest.get(key), str)] if kinds or item_type else []
        if names:
            yield from _permitted(rest[names[0]], kinds[0] if kinds else item_type)
        for key, inner in rest.items():
            if key not in _PERMITTED_NAMING or not names:
                kind = _as_type(key)
                yield from _permitted(inner, kind or ("" if names and isinstance(inner, str) else item_type))
    elif isinstance(value, list):
        for inner in value:
            yield from _permitted(inner, item_type)
    elif isinstance(value, str):
        for part in map(str.strip, _SPLIT.split(value)):
            if (item_type and part) or _CAPABILITY.fullmatch(part) or _typed(part):
                yield part, item_type


def _typed(text: str) -> bool:
    kind, _, rest = text.partition(":")
    return kind in TYPE_NAMES and bool(rest)


def _step(step: Any) -> Iterator[tuple[str, str]]:
    """Yield the items that a step names: under a suitable key, or as ``type:id`` and paths in its text."""
    if isinstance(step, Mapping):
        yield from _named({key: entry for key, entry in step.items() if key in (*_STEP_NAMING, *_TYPING)}, _STEP_NAMING)
        for key, entry in step.items():
            if _as_type(key):
                yield from _named(entry, _NAMING, _as_type(key))
            elif key in {"steps", "then", "else"}:
                for inner in entry if isinstance(entry, list) else [entry]:
                    yield from _step(inner)
    elif isinstance(step, str):
        yield from ((word.rstrip(".,;"), "") for word in step.split() if _typed(word.rstrip(".,;")))


def _step_edges(item: Item, data: bytes) -> Iterator[Edge]:
    """Yield the items in tags and calls of a directive: ``item_id="…"`` anywhere, ``<tool>…</tool>`` within steps."""
    if item.type is not ItemType.DIRECTIVE or not (b"item_id" in data or b"<process" in data or b"<step" in data):
        return
    text, folder = _text(data), item.id.rpartition("/")[0]
    line, counted = 1, 0
    for start, written, item_type in sorted({*_calls(text), *_tagged(text)}):
        line += text.count("\n", counted, start)
        counted = start
        if not _NO_ITEM.match(written):
            sure = "/" in written or ":" in written or text.startswith("item_id", start)
            candidates = lookups(written, item.type, folder, item_type)
            yield Edge("steps", written, candidates, sure and " " not in written, line)


def _calls(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the place of each ``item_id="…"``, the id, and the ``item_type`` beside it."""
    arguments = [(match[1], match[2].strip(), match.start()) for match in _CALL.finditer(text)]
    for number, (what, written, start) in enumerate(arguments):
        if what == "id" and written:
            # item_type="tool" item_id="x", in either order and close together
            beside = (arguments[at] for at in (number - 1, number + 1) if 0 <= at < len(arguments))
            kinds = [argument for name, argument, at in beside if name == "type" and abs(at - start) < _CALL_REACH]
            yield start, written, next((argument for argument in kinds if argument in TYPE_NAMES), "")


def _tagged(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield place, id and type of the items in tags, from the first opening to the last closing tag of a process."""
    opening = _WORKING.search(text)
    for match in _TAGGED.finditer(text, opening.start(), max(map(text.rfind, _DONE), default=0)) if opening else ():
        yield match.start(), (match[2] or match[4]).strip(), match[1] or match[3] or ""


class _Lines:
    """Finds the line of a reference in metadata: its first place after its key, near the top of the file."""

    def __init__(self, text: str) -> None:
        self._head = text
        self._keys: dict[str, int] = {}
        self._lines: dict[tuple[str, str], int] = {}

    def find(self, key: str, value: str) -> int:
        """Return the line of a value of a key; the line of the key if the value is written differently; else 1."""
        if (key, value) in self._lines:
            return self._lines[key, value]
        if key not in self._keys:
            at = re.search(rf"{re.escape(key)}(?=[\"'_]{{0,3}}[ \t]*[:=>])", self._head)
            self._keys[key] = at.end() if at else 0
        start = self._keys[key]
        place = self._place(value, start)
        line = self._lines[key, value] = self._head.count("\n", 0, start if place < 0 else place) + 1
        return line

    def _place(self, value: str, start: int) -> int:
        """Return the first place of a value from ``start`` on, preferably as a separate word; else -1."""
        first = self._head.find(value, start)
        end = first + len(value)
        # check the characters around it: "deploy" in "deploy-all" is part of a longer word, so look for a separate one
        beside = self._head[first - 1 : first] + self._head[end : end + 1]
        if first < 0 or not any(map(_TOKEN.fullmatch, beside)):
            return first
        places = self._words.get(value, [])
        at = bisect_left(places, start)
        return places[at] if at < len(places) else first

    @cached_property
    def _words(self) -> dict[str, list[int]]:
        """The places of each word, computed once, because searching again for each word takes quadratic time."""
        places: dict[str, list[int]] = {}
        for match in _TOKEN.finditer(self._head):
            for word in {match[0], match[0].rstrip(".:")}:
                places.setdefault(word, []).append(match.start())
        return places
