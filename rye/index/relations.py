"""What an item refers to: the edges that its metadata state and its body mentions, as they are written.

Nothing is resolved here. An edge keeps the reference as written and the lookups that it stands for; which item that is
depends on all spaces and is found when it is asked for (:mod:`rye.search.graph`).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from rye.index.references import Lookup, lookups, mentions
from rye.index.schema import TYPE_NAMES
from rye.items.model import Item, ItemType

KINDS = (
    *("references", "executor", "requires", "extends", "supersedes", "superseded_by"),
    *("permissions", "steps", "mentions"),
)
"""Kinds of edges; the position in this tuple is the kind's number in a segment."""

KIND_NUMBER: Mapping[str, int] = {name: number for number, name in enumerate(KINDS)}

MAX_REFERENCES = 1_000
"""Edges kept of one item, each once, those of its metadata first."""

MAX_REFERENCE_TEXT = 300
"""Characters of a reference; a longer one is cut, and names nothing."""

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
"""Metadata key → kind of edge, and the type that is meant where none is written; ``=`` is the item's own."""

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
_NOTHING = frozenset({"", "null", "none", "~", "true", "false", "n/a", "-"})


class Edge(NamedTuple):
    """One reference of an item.

    Attributes:
        kind: One of :data:`KINDS`.
        text: As written, at most :data:`MAX_REFERENCE_TEXT` characters.
        lookups: What it may name, best first.
        sure: Whether it is a relation also where there is no such item.
        line: 1-based line of the file.
    """

    kind: str
    text: str
    lookups: tuple[Lookup, ...]
    sure: bool
    line: int


class _Stated(NamedTuple):
    """A reference in metadata: its kind, the key it stands below, the text, and the type that is meant."""

    kind: str
    key: str
    text: str
    prefer: str = ""


def edges_of(item: Item, suffix: str, data: bytes, most: int = MAX_REFERENCES) -> list[Edge]:
    """Return what an item refers to.

    Args:
        item: The item.
        suffix: Extension of its file.
        data: The whole file, in which lines are counted.
        most: How many references at most.
    """
    edges: dict[tuple[Any, ...], Edge] = {}
    stated: set[tuple[str, int]] = set()
    for edge in chain(_metadata_edges(item, data), _step_edges(item, data), _mention_edges(item, suffix)):
        if len(edges) >= most:
            break
        place = edge.text, edge.line
        if edge.kind != "mentions":
            stated.add(place)
        if edge.kind != "mentions" or place not in stated:  # the body of code and data has its metadata in it
            before = edges.setdefault(edge[:3], edge)
            if edge.sure and not before.sure:
                edges[edge[:3]] = edge
    return list(edges.values())


def _mention_edges(item: Item, suffix: str) -> Iterator[Edge]:
    line, counted = item.body_line, 0
    for found in mentions(item, suffix):
        line += item.body.count("\n", counted, found.offset)
        counted = found.offset
        yield Edge("mentions", found.text, found.lookups, found.sure, line)


def _text(data: bytes) -> str:
    """Return bytes as text with the line breaks that an item is read with."""
    return data.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")


def _metadata_edges(item: Item, data: bytes) -> Iterator[Edge]:
    if not item.metadata.keys().isdisjoint(_ASKED):
        folder = item.id.rpartition("/")[0]
        lines = _Lines(_text(data[:_HEAD]))
        for stated in _stated(item):
            written = " ".join(stated.text.split())
            if len(written) > MAX_REFERENCE_TEXT:
                cut = f"{written[: MAX_REFERENCE_TEXT - 1]}…"
                yield Edge(stated.kind, cut, (), True, lines.find(stated.key, stated.text))
            elif written.casefold() not in _NOTHING and not _NO_ITEM.match(written):
                found = lookups(written, item.type, folder, stated.prefer)
                sure = " " not in written
                yield Edge(stated.kind, written, found, sure, lines.find(stated.key, stated.text))


def _stated(item: Item) -> Iterator[_Stated]:
    """Yield what the metadata keys that hold references say, in the order of the keys."""
    for key, value in item.metadata.items():
        if key in _KEYS:
            kind, prefer = _KEYS[key]
            prefer = item.type if prefer == "=" else prefer
            for text, said in _named(value, _NAMING):
                yield _Stated(kind, key, text, said or prefer)
        elif key in {"deprecated", "yanked"} and isinstance(value, str):
            for text, said in _step(value):  # as in: use tool:ops/new instead
                yield _Stated("superseded_by", key, text, said)
        elif key == "permissions" and item.type is ItemType.DIRECTIVE:
            for text, said in _permitted(value, ""):
                yield _Stated("permissions", key, text, said)
        elif key in {"steps", "process"} and item.type is ItemType.DIRECTIVE:
            for step in value if isinstance(value, list) else [value]:
                for text, said in _step(step):
                    yield _Stated("steps", key, text, said)


_ASKED = frozenset({*_KEYS, "deprecated", "yanked", "permissions", "steps", "process"})


def _named(value: Any, naming: tuple[str, ...], said: str = "") -> Iterator[tuple[str, str]]:
    """Yield ``(text, type or empty)`` of every reference in a text, a list, or mappings that name items."""
    if isinstance(value, str):
        yield from ((part.strip(), said) for part in _SPLIT.split(value))
    elif isinstance(value, list):
        for each in value:
            yield from [(each.strip(), said)] if isinstance(each, str) else _named(each, naming, said)
    elif isinstance(value, Mapping):
        names = [value[key] for key in naming if isinstance(value.get(key), str)]
        kinds = [value[key] for key in _TYPING if value.get(key) in TYPE_NAMES]
        if names:
            yield names[0].strip(), kinds[0] if kinds else said
            return
        for key, each in value.items():
            if isinstance(each, list | Mapping) or _as_type(key):
                yield from _named(each, naming, _as_type(key) or said)


def references_in(value: Any) -> list[str]:
    """Return the references that the value of a metadata key is: each once, without texts of several words."""
    texts = [text for text, _ in _named(value, _NAMING)]
    return [text for text in dict.fromkeys(texts) if text.casefold() not in _NOTHING and not _SPACES.search(text)]


def _as_type(key: str) -> str:
    """Return the item type that a key such as ``tool``, ``tools`` or ``tool_id`` is about, or nothing."""
    word = key.casefold().removesuffix("_id").removesuffix("s")
    return word if word in TYPE_NAMES else ""


def _permitted(value: Any, said: str) -> Iterator[tuple[str, str]]:
    """Yield the items that permissions name: ``execute: {tool: a/b}``, ``rye.execute.tool.a.b``, ``tool:a/b``.

    A mapping that says what it is about, as in ``<execute resource="tool" id="a/b"/>``, names it by its id or text.
    """
    if isinstance(value, Mapping):
        kinds = [kind for key in _PERMITTED_TYPING if (kind := _as_type(str(value.get(key, ""))))]
        rest = {key: each for key, each in value.items() if not (key in _PERMITTED_TYPING and _as_type(str(each)))}
        names = [key for key in _PERMITTED_NAMING if isinstance(rest.get(key), str)] if kinds or said else []
        if names:
            yield from _permitted(rest[names[0]], kinds[0] if kinds else said)
        for key, each in rest.items():
            if key not in _PERMITTED_NAMING or not names:
                kind = _as_type(key)
                yield from _permitted(each, kind or ("" if names and isinstance(each, str) else said))
    elif isinstance(value, list):
        for each in value:
            yield from _permitted(each, said)
    elif isinstance(value, str):
        for part in map(str.strip, _SPLIT.split(value)):
            if (said and part) or _CAPABILITY.fullmatch(part) or _typed(part):
                yield part, said


def _typed(text: str) -> bool:
    kind, _, rest = text.partition(":")
    return kind in TYPE_NAMES and bool(rest)


def _step(step: Any) -> Iterator[tuple[str, str]]:
    """Yield the items that a step names: under a key for it, or as the ``type:id`` and paths in its text."""
    if isinstance(step, Mapping):
        yield from _named({key: each for key, each in step.items() if key in (*_STEP_NAMING, *_TYPING)}, _STEP_NAMING)
        for key, each in step.items():
            if _as_type(key):
                yield from _named(each, _NAMING, _as_type(key))
            elif key in {"steps", "then", "else"}:
                for inner in each if isinstance(each, list) else [each]:
                    yield from _step(inner)
    elif isinstance(step, str):
        yield from ((word.rstrip(".,;"), "") for word in step.split() if _typed(word.rstrip(".,;")))


def _step_edges(item: Item, data: bytes) -> Iterator[Edge]:
    """Yield what the tags and calls of a directive name: ``item_id="…"`` anywhere, ``<tool>…</tool>`` within steps."""
    if item.type is not ItemType.DIRECTIVE or not (b"item_id" in data or b"<process" in data or b"<step" in data):
        return
    text, folder = _text(data), item.id.rpartition("/")[0]
    line, counted = 1, 0
    for start, written, said in sorted({*_calls(text), *_tagged(text)}):
        line += text.count("\n", counted, start)
        counted = start
        if not _NO_ITEM.match(written):
            sure = "/" in written or ":" in written or text.startswith("item_id", start)
            found = lookups(written, item.type, folder, said)
            yield Edge("steps", written, found, sure and " " not in written, line)


def _calls(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield where ``item_id="…"`` stands, what it names, and the ``item_type`` beside it."""
    found = [(match[1], match[2].strip(), match.start()) for match in _CALL.finditer(text)]
    for number, (what, written, start) in enumerate(found):
        if what == "id" and written:
            beside = (found[at] for at in (number - 1, number + 1) if 0 <= at < len(found))
            kinds = [each for name, each, at in beside if name == "type" and abs(at - start) < _CALL_REACH]
            yield start, written, next((each for each in kinds if each in TYPE_NAMES), "")


def _tagged(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield what tags of a process name, from the first that opens to the last that closes; of what type is the tag."""
    opening = _WORKING.search(text)
    for match in _TAGGED.finditer(text, opening.start(), max(map(text.rfind, _DONE), default=0)) if opening else ():
        yield match.start(), (match[2] or match[4]).strip(), match[1] or match[3] or ""


class _Lines:
    """Finds on which line of a file metadata state something: at the first place behind their key, near the top."""

    def __init__(self, text: str) -> None:
        self._head = text
        self._keys: dict[str, int] = {}
        self._found: dict[tuple[str, str], int] = {}

    def find(self, key: str, value: str) -> int:
        """Return the line of a value of a key; that of the key where it is written otherwise; else 1."""
        if (key, value) in self._found:
            return self._found[key, value]
        if key not in self._keys:
            at = re.search(rf"{re.escape(key)}(?=[\"'_]{{0,3}}[ \t]*[:=>])", self._head)
            self._keys[key] = at.end() if at else 0
        start = self._keys[key]
        found = self._place(value, start)
        line = self._found[key, value] = self._head.count("\n", 0, start if found < 0 else found) + 1
        return line

    def _place(self, value: str, start: int) -> int:
        """Return where a value stands for itself from a place on, else where it stands within another, else -1."""
        first = self._head.find(value, start)
        if first < 0 or not _is_part(self._head, first, first + len(value)):
            return first
        places = self._words.get(value, [])
        at = bisect_left(places, start)
        return places[at] if at < len(places) else first

    @cached_property
    def _words(self) -> dict[str, list[int]]:
        """Where each word stands: made once, as looking for one behind many that only hold it takes long."""
        found: dict[str, list[int]] = {}
        for match in _TOKEN.finditer(self._head):
            for word in {match[0], match[0].rstrip(".:")}:
                found.setdefault(word, []).append(match.start())
        return found


def _is_part(text: str, start: int, end: int) -> bool:
    """Return whether what stands at a place goes on before it or behind it."""
    before, behind = text[start - 1 : start], text[end : end + 1]
    return not all(each == "" or _TOKEN.fullmatch(each) is None for each in (before, behind))
