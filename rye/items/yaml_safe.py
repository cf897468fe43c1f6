r"""The loader for untrusted YAML: plain data in bounded time, or one :class:`ItemError`.

It builds values from the parser's events with a stack of its own, so nothing recurses and no tag can name a type.
Scalars follow the YAML 1.2 core schema: ``on`` and ``12:30`` are text, dates are ISO text. Of duplicate keys the last
wins, of several documents the first is read, unless the caller refuses both. Aliases work; each use counts as many
values as its anchor holds, so a few lines cannot stand for billions of values.

    >>> load("tags: [on, 12:30]\nversion: 1.10", as_text=frozenset({"version"}))
    {'tags': ['on', '12:30'], 'version': '1.10'}

Front matter is often not YAML, though its authors' own programs read it: line by line, as :func:`load_lines` does.

    >>> load_lines("name: pdf\ndescription: Use it: now")
    {'name': 'pdf', 'description': 'Use it: now'}
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from textwrap import dedent
from typing import Any

import yaml

from rye.errors import ItemError
from rye.items.values import MAX_DEPTH, MAX_VALUES, clean, integer, iso, key_text, too_deep, too_many

MAX_CHARS = 1 << 20
"""How long a YAML text may be."""

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_INTEGER = re.compile(r"[-+]?[0-9]+")
_RADIX = re.compile(r"0o[0-7]{1,3000}|0x[0-9a-fA-F]{1,3000}")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_MAYBE_NUMBER = frozenset("0123456789+-.")
_TIMESTAMP_TAG = "tag:yaml.org,2002:timestamp"
_TEXT_TAGS = frozenset({"!", "tag:yaml.org,2002:str"})
_NO_TEXT: frozenset[str] = frozenset()


def load(
    text: str,
    *,
    as_text: frozenset[str] = _NO_TEXT,
    first_line: int = 1,
    unambiguous: bool = False,
    aliases: bool = True,
    loader: Any = _LOADER,
) -> Any:
    """Return the first document of ``text`` as dicts with string keys, lists and scalars; None when it is empty.

    Args:
        text: YAML of at most :data:`MAX_CHARS` characters.
        as_text: Top-level keys whose plain scalars stay as written, so that ``version: 1.10`` is not a number.
        first_line: The line of the file on which ``text`` begins, for messages.
        unambiguous: Refuse duplicate keys, keys that are not text and a second document: nothing written may be lost.
        aliases: Whether there may be any.
        loader: PyYAML's class that reads events: that of the C library, where there is one.

    Raises:
        ItemError: ``unparsable``, ``too-large``, ``too-deep`` or ``alias-bomb``.
    """
    if len(text) > MAX_CHARS:
        raise ItemError("too-large", f"YAML of {len(text):,} characters", hint=f"keep it below {MAX_CHARS:,}")
    parser = None
    try:
        parser = loader(text)
        return _YamlBuilder(parser, as_text, first_line, unambiguous=unambiguous, aliases=aliases).document()
    except yaml.YAMLError as error:
        raise _refusal(error, first_line) from None
    except (ValueError, RecursionError) as error:  # the pure Python scanner lets a few through
        raise ItemError("unparsable", f"not YAML: {error}", hint="fix or quote the value") from None
    finally:
        if parser is not None:
            parser.dispose()


def _refusal(error: yaml.YAMLError, first_line: int) -> ItemError:
    began = getattr(error, "context", None) == "while scanning a quoted scalar"
    mark = getattr(error, "context_mark" if began else "problem_mark", None)
    line = first_line + mark.line if mark is not None else first_line
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "not YAML"
    if problem == "exceeded maximum nesting depth":  # libyaml's own limit, which its scanner meets before ours
        return too_deep(line)
    return ItemError(
        "unparsable",
        f"line {line}: {clean(str(problem))}",
        hint="fix the YAML there; text with ': ' or ' #' in it needs quotes",
        line=line,
    )


@dataclass(slots=True)
class _Open:
    """A mapping or sequence whose end has not been read yet."""

    value: dict[str, Any] | list[Any]
    anchor: str | None
    before: int  # how many values had been counted when it opened
    raw: bool  # its plain scalars stay text
    key: str | None = None
    merges: list[Any] | None = None


class _YamlBuilder:
    """Turns parser events into values with a stack of its own."""

    def __init__(
        self, parser: Any, as_text: frozenset[str], first_line: int, *, unambiguous: bool, aliases: bool
    ) -> None:
        self._parser = parser
        self._as_text = as_text
        self._first_line = first_line
        self._unambiguous = unambiguous
        self._aliases = aliases
        self._stack: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}  # value and how many values it holds
        self._count = 0

    def document(self) -> Any:
        """Read events until the first document is complete."""
        next_event = self._parser.get_event
        while True:
            event = next_event()
            kind = type(event)
            if kind is yaml.ScalarEvent:
                value = self._scalar(event)
            elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                value = self._close()
            elif kind is yaml.AliasEvent:
                value = self._alias(event)
            elif kind is yaml.StreamEndEvent:
                return None
            else:
                if kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
                    self._open(event, {} if kind is yaml.MappingStartEvent else [])
                continue
            if not self._stack:
                next_event()  # the end of the document
                following = next_event()  # the end of the stream or another document, or an error about what follows
                if self._unambiguous and type(following) is not yaml.StreamEndEvent:
                    raise self._unparsable(following, "there is more than one document", "keep one document")
                return value
            self._place(value, event)

    def _unparsable(self, event: Any, problem: str, hint: str) -> ItemError:
        line = self._first_line + event.start_mark.line
        return ItemError("unparsable", f"line {line}: {problem}", hint=hint, line=line)

    def _counted(self, size: int) -> None:
        self._count += size
        if self._count > MAX_VALUES:
            raise too_many()

    def _scalar(self, event: yaml.ScalarEvent) -> Any:
        self._counted(1)
        text = event.value
        value: Any
        if event.implicit[0] and event.tag != "!":
            raw = self._is_raw()
            value = text if raw and text not in _NULLS else resolve(text)
        elif event.tag == _TIMESTAMP_TAG:
            value = iso(text)
        elif event.tag is None or event.tag in _TEXT_TAGS or event.tag == "tag:yaml.org,2002:binary":
            value = text
        else:
            value = resolve(text)
        if type(value) is str:
            value = clean(value)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, 1)
        return value

    def _is_raw(self) -> bool:
        stack = self._stack
        if not stack:
            return False
        top = stack[-1]
        if top.raw or len(stack) > 1:
            return top.raw
        return top.key in self._as_text

    def _open(self, event: Any, value: dict[str, Any] | list[Any]) -> None:
        if len(self._stack) >= MAX_DEPTH:
            raise too_deep(self._first_line + event.start_mark.line)
        self._counted(1)
        if event.anchor is not None:
            self._anchors.pop(event.anchor, None)
        self._stack.append(_Open(value, event.anchor, before=self._count - 1, raw=self._is_raw()))

    def _close(self) -> Any:
        top = self._stack.pop()
        if isinstance(top.value, dict):
            for source in top.merges or ():
                if isinstance(source, dict):
                    top.value.update({key: value for key, value in source.items() if key not in top.value})
        if top.anchor is not None:
            self._anchors[top.anchor] = (top.value, self._count - top.before)
        return top.value

    def _alias(self, event: Any) -> Any:
        found = self._anchors.get(event.anchor)
        if found is None or not self._aliases:
            problem = f"the alias *{clean(event.anchor)[:80]} has no complete anchor before it"
            raise self._unparsable(event, problem, "an alias must follow its anchor and must not contain itself")
        value, size = found
        self._counted(size)
        return value

    def _place(self, value: Any, event: Any) -> None:
        """Add a value to the innermost open collection: an entry, a key, or the value of the key before it."""
        top = self._stack[-1]
        if isinstance(top.value, list):
            top.value.append(value)
        elif top.key is None:
            if type(value) is str:  # which is clean
                top.key = value
            else:
                top.key = "[complex key]" if isinstance(value, dict | list) else key_text(value)
            if self._unambiguous and type(event) is not yaml.ScalarEvent:
                raise self._unparsable(event, "a key is not written out as text", "write the key as text")
            if self._unambiguous and (top.key in top.value or (top.key == "<<" and top.merges is not None)):
                raise self._unparsable(event, f"{top.key!r} is there twice", "keep one of the two")
        elif top.key == "<<" and isinstance(value, dict | list):
            top.merges = [] if top.merges is None else top.merges
            top.merges += value if isinstance(value, list) else [value]
            top.key = None
        else:
            top.value[top.key] = value
            top.key = None


def resolve(text: str) -> Any:
    """Return what a plain scalar stands for in the core schema; NaN and infinities become None."""
    if text in _NULLS:
        return None
    first = text[0]
    if first in "tTfF":
        return _BOOLEANS.get(text, text)
    if first not in _MAYBE_NUMBER:
        return text
    if _INTEGER.fullmatch(text):
        return integer(text)
    if _RADIX.fullmatch(text):
        return int(text, 0)
    if _FLOAT.fullmatch(text):
        number = float(text)
        return number if abs(number) != float("inf") else None
    if _NOT_FINITE.fullmatch(text):
        return None
    return text


_MOST_LINES = 5_000
"""How long metadata that is read line by line may be."""
_MOST_LEVELS = 4
"""How deep a table in it may nest."""

_KEY = re.compile(r"([^\W\d][\w.-]*+|\"[^\"\n]++\"|'[^'\n]++')[ \t]*+:(?!//)(.*)")
_BLOCK_SCALAR = re.compile(r"([|>])[-+1-9]{0,2}(?:[ \t]+|$)")
_Entry = tuple[str, list[str]]


def load_lines(text: str, *, as_text: frozenset[str] = _NO_TEXT, level: int = 0) -> dict[str, Any] | None:
    """Read metadata that is not YAML line by line; return None where it does not begin with a key, or is too long.

    An entry is a line ``key: value`` that is not indented, with the lines up to the next one. If by itself it is YAML,
    its value is what that says. Otherwise it is the text behind the colon, on all its lines: quotes around it are taken
    off, ``>`` and ``|`` are as in YAML though text may follow them, and below a key alone stands a list or a table. Of
    duplicate keys the last wins; comments are left out where they are not indented, and there are no aliases.
    """
    lines = text.split("\n")
    if len(lines) > _MOST_LINES or len(text) > MAX_CHARS:
        return None
    entries: list[_Entry] = []
    for line in lines:
        if line.startswith("#"):
            continue
        if key := _KEY.fullmatch(line):
            entries.append((key[1].strip("\"'"), [key[2]]))
        elif entries:
            entries[-1][1].append(line)
        elif line.strip():
            return None
    return {clean(key): _entry(key, value, as_text, level) for key, value in entries} if entries else None


def _entry(key: str, lines: list[str], as_text: frozenset[str], level: int) -> Any:
    """Return the value of an entry: the text behind its colon, and the lines below."""
    try:
        one = "\n".join([f"k: {lines[0]}", *lines[1:], ""])
        found = load(one, as_text=frozenset({"k"} if key in as_text else ()), aliases=False)
        if isinstance(found, dict) and len(found) == 1:
            return found["k"]
    except ItemError:
        pass
    first, below = lines[0].strip(), dedent("\n".join(line.expandtabs() for line in lines[1:])).strip("\n")
    if block := _BLOCK_SCALAR.match(first):
        paragraphs = f"{first[block.end() :]}\n{below}".strip("\n").rstrip()
        return clean(
            paragraphs if block[1] == "|" else re.sub(r"(?<!\n)\n(?!\n)", " ", paragraphs).replace("\n\n", "\n")
        )
    if not first and below.startswith("- "):
        return [_unquoted(each) for each in re.split(r"^- ", below, flags=re.MULTILINE)[1:]]
    if not first and level < _MOST_LEVELS and (table := load_lines(below, level=level + 1)):
        return table
    return _unquoted(f"{first}\n{below}")


def _unquoted(text: str) -> str:
    """Return text as one line, without the quotes around it."""
    line = clean(" ".join(text.split()))
    if len(line) > 1 and line[0] == line[-1] and line[0] in "\"'":
        quote, line = line[0], line[1:-1]
        line = line.replace("''", "'") if quote == "'" else line.replace('\\"', '"')
    return line
