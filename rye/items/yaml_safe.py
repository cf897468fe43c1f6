r"""The one loader for YAML that nobody vouches for: plain data, in bounded time, or one :class:`ItemError`.

It builds values from the parser's events itself, so nothing recurses and no tag can name a type. Scalars follow the
YAML 1.2 core schema: ``on`` and ``12:30`` are text, dates are ISO text. A later duplicate key wins. Of several
documents the first is read. Aliases work, but each use counts as much as what it stands for.

    >>> load("tags: [on, 12:30]\nversion: 1.10", as_text=frozenset({"version"}))
    {'tags': ['on', '12:30'], 'version': '1.10'}
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from rye.errors import ItemError
from rye.items.values import MAX_DEPTH, MAX_VALUES, clean, iso, too_deep, too_many

MAX_CHARS = 1 << 20
"""How long a YAML text may be."""

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_INTEGER = re.compile(r"[-+]?[0-9]+")
_MAX_DIGITS = 4000  # the interpreter refuses to read or print more
_RADIX = re.compile(r"0o[0-7]{1,3000}|0x[0-9a-fA-F]{1,3000}")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_MAYBE_NUMBER = frozenset("0123456789+-.")
_TIMESTAMP_TAG = "tag:yaml.org,2002:timestamp"
_TEXT_TAGS = frozenset({"!", "tag:yaml.org,2002:str"})
_NO_TEXT: frozenset[str] = frozenset()


def load(text: str, *, as_text: frozenset[str] = _NO_TEXT, first_line: int = 1) -> Any:
    """Return the first document of ``text`` as dicts with string keys, lists and scalars; None when it is empty.

    Args:
        text: YAML of at most :data:`MAX_CHARS` characters.
        as_text: Top-level keys whose plain scalars stay as written, so that ``version: 1.10`` is not a number.
        first_line: The line of the file on which ``text`` begins, for messages.

    Raises:
        ItemError: ``unparsable``, ``too-large``, ``too-deep`` or ``alias-bomb``.
    """
    if len(text) > MAX_CHARS:
        raise ItemError("too-large", f"YAML of {len(text):,} characters", hint=f"keep it below {MAX_CHARS:,}")
    parser = None
    try:
        parser = _LOADER(text)
        return _YamlBuilder(parser, as_text, first_line).document()
    except yaml.YAMLError as error:
        raise _unparsable(error, first_line) from None
    except (ValueError, RecursionError) as error:  # the pure Python scanner lets a few through
        raise ItemError("unparsable", f"not YAML: {error}", hint="fix or quote the value") from None
    finally:
        if parser is not None:
            parser.dispose()


def ambiguity(text: str, *, first_line: int = 1) -> tuple[str, int] | None:
    """Return the ambiguity that :func:`load` accepts, and its line: a duplicate key or a second document.

    For files in which a value must not be lost; asked of a text that :func:`load` has read.

    Raises:
        ItemError: ``unparsable``, for what follows the first document.
    """
    parser = _LOADER(text)
    open_: list[_Keys] = []
    documents = 0
    try:
        while type(event := parser.get_event()) is not yaml.StreamEndEvent:
            line = first_line + event.start_mark.line
            documents += type(event) is yaml.DocumentStartEvent
            if documents > 1:
                return "there is more than one document", line
            if problem := _met(event, open_):
                return problem, line
    except yaml.YAMLError as error:
        raise _unparsable(error, first_line) from None
    finally:
        parser.dispose()
    return None


class _Keys:
    """A mapping whose end has not been read yet, with the keys it has so far; a sequence has none."""

    __slots__ = ("awaits_key", "seen")

    def __init__(self, *, is_mapping: bool) -> None:
        self.seen: set[str] | None = set() if is_mapping else None
        self.awaits_key = is_mapping


def _met(event: Any, open_: list[_Keys]) -> str:
    """Take in the next event; return why its key is ambiguous, empty if it is not."""
    kind = type(event)
    if kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
        open_.append(_Keys(is_mapping=kind is yaml.MappingStartEvent))
        return ""
    if kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
        open_.pop()
    elif kind is not yaml.ScalarEvent and kind is not yaml.AliasEvent:
        return ""
    if not open_ or open_[-1].seen is None:
        return ""
    top, is_key = open_[-1], open_[-1].awaits_key
    top.awaits_key = not is_key
    if not is_key or top.seen is None:
        return ""
    if kind is not yaml.ScalarEvent:
        return "a key is not written out as text"
    key = clean(event.value)
    doubled = key in top.seen
    top.seen.add(key)
    return f"{key!r} stands there twice" if doubled else ""


def _unparsable(error: yaml.YAMLError, first_line: int) -> ItemError:
    began = getattr(error, "context", None) == "while scanning a quoted scalar"
    mark = getattr(error, "context_mark" if began else "problem_mark", None)
    line = first_line + mark.line if mark is not None else first_line
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "not YAML"
    return ItemError(
        "unparsable",
        f"line {line}: {clean(str(problem))}",
        hint="fix the YAML there; text with ': ' or ' #' in it needs quotes",
        line=line,
    )


class _Open:
    """A mapping or sequence whose end has not been read yet."""

    __slots__ = ("anchor", "before", "key", "merges", "raw", "value")

    def __init__(self, value: dict[str, Any] | list[Any], *, anchor: str | None, before: int, raw: bool) -> None:
        self.value = value
        self.anchor = anchor
        self.before = before  # how many values had been counted when it opened
        self.raw = raw  # its plain scalars stay text
        self.key: str | None = None
        self.merges: list[Any] | None = None


class _YamlBuilder:
    """Turns parser events into values with a stack of its own."""

    def __init__(self, parser: Any, as_text: frozenset[str], first_line: int) -> None:
        self._parser = parser
        self._as_text = as_text
        self._first_line = first_line
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
                next_event()  # the end of the stream or another document, or an error about what follows
                return value
            self._place(value)

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
        raw = self._is_raw()
        self._stack.append(_Open(value, anchor=event.anchor, before=self._count - 1, raw=raw))

    def _close(self) -> Any:
        top = self._stack.pop()
        if top.merges is not None and isinstance(top.value, dict):
            _merge(top.value, top.merges)
        if top.anchor is not None:
            self._anchors[top.anchor] = (top.value, self._count - top.before)
        return top.value

    def _alias(self, event: Any) -> Any:
        found = self._anchors.get(event.anchor)
        if found is None:
            line = self._first_line + event.start_mark.line
            raise ItemError(
                "unparsable",
                f"line {line}: the alias *{clean(event.anchor)[:80]} stands for nothing complete",
                hint="an alias must follow its anchor and must not contain itself",
                line=line,
            )
        value, size = found
        self._counted(size)
        return value

    def _place(self, value: Any) -> None:
        top = self._stack[-1]
        if isinstance(top.value, list):
            top.value.append(value)
        elif top.key is None:
            top.key = _key(value)
        elif top.key == "<<" and isinstance(value, dict | list):
            top.merges = top.merges if top.merges is not None else []
            top.merges.extend(value if isinstance(value, list) else [value])
            top.key = None
        else:
            top.value[top.key] = value
            top.key = None


def _merge(target: dict[str, Any], sources: list[Any]) -> None:
    for source in sources:
        if isinstance(source, dict):
            for key, value in source.items():
                target.setdefault(key, value)


def _key(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, dict | list):
        return "[complex key]"
    return str(value)


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
        return int(text) if len(text) <= _MAX_DIGITS else text
    if _RADIX.fullmatch(text):
        return int(text, 0)
    if _FLOAT.fullmatch(text):
        number = float(text)
        return number if abs(number) != float("inf") else None
    if _NOT_FINITE.fullmatch(text):
        return None
    return text
