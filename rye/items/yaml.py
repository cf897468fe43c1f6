r"""Reads untrusted YAML: plain data in bounded time, or one :class:`ItemError`.

libyaml composes a tree of nodes, and the values are built from that tree, so no tag can name a type. Scalars follow
the YAML 1.2 core schema: ``on`` and ``12:30`` are text, dates are ISO text. Of duplicate keys the last wins, of several
documents the first is read, unless the caller refuses both. Every use of an alias counts as many values as its anchor
holds, so a few lines cannot expand to billions of values.

    >>> load("tags: [on, 12:30]\nversion: 1.10", as_text=frozenset({"version"}))
    {'tags': ['on', '12:30'], 'version': '1.10'}
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from rye.errors import ItemError
from rye.items.guarded import MAX_CHARS, refuse_long, unparsable
from rye.items.values import MAX_DEPTH, MAX_VALUES, clean, integer, iso, key_text, too_deep, too_many

_MAX_TAGS = 100
"""Maximum number of ``%TAG`` directives; libyaml takes quadratic time for them."""

_FEW = 500
"""Number of collection-opening signs, or columns of indentation, below which nesting need not be checked."""

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_INTEGER = re.compile(r"[-+]?[0-9]++")
_RADIX = re.compile(r"0o[0-7]{1,3000}|0x[0-9a-fA-F]{1,3000}")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]++|[0-9]++(?:\.[0-9]*+)?)(?:[eE][-+]?[0-9]++)?")
_MAYBE_NUMBER = frozenset("0123456789+-.")
_TIMESTAMP_TAG = "tag:yaml.org,2002:timestamp"
_TEXT_TAGS = frozenset({"", "tag:yaml.org,2002:str", "tag:yaml.org,2002:binary"})
PLAIN = "?"
"""Tag that :class:`_Loader` gives to scalars without quotes and without a tag of their own."""


class _Loader(yaml.CSafeLoader):
    """Composes nodes, and leaves the values of plain scalars to :func:`resolve`."""

    def resolve(self, _kind: Any, _value: Any, implicit: Any) -> str:
        return PLAIN if implicit is True or implicit[0] else ""

    def descend_resolver(self, _parent: Any, _index: Any) -> None:
        """Do nothing: there are no resolvers by path."""

    def ascend_resolver(self) -> None:
        """Do nothing: there are no resolvers by path."""


def load(
    text: str,
    *,
    as_text: frozenset[str] = frozenset(),
    first_line: int = 1,
    unambiguous: bool = False,
    aliases: bool = True,
) -> Any:
    """Return the first document of ``text`` as dicts with string keys, lists and scalars; None if it is empty.

    Args:
        text: YAML of at most :data:`rye.items.guarded.MAX_CHARS` characters.
        as_text: Top-level keys whose plain scalars stay as written, so that ``version: 1.10`` is not a number.
        first_line: The line of the file on which ``text`` begins, for messages.
        unambiguous: Refuse duplicate keys, keys that are not scalars, and a second document.
        aliases: Accept aliases.

    Raises:
        ItemError: ``unparsable``, ``too-large``, ``too-deep`` or ``alias-bomb``.
    """
    node = compose(text, first_line, unambiguous=unambiguous)
    return None if node is None else _Values(as_text, first_line, unambiguous, aliases).of(node, 0, raw=False)


def compose(text: str, first_line: int, *, unambiguous: bool = False) -> Any:
    """Return the root node of the first document; None if there is none."""
    refuse_long(text, "YAML", MAX_CHARS)
    if text.count("%TAG") > _MAX_TAGS:
        raise unparsable(first_line, f"there are more than {_MAX_TAGS} %TAG directives", "remove them")
    try:
        if len(text) > MAX_VALUES or sum(map(text.count, "[{?-")) > _FEW or f"\n{' ' * _FEW}" in text:
            _check_budgets(text, first_line)
        loader = _Loader(text)
        node = loader.get_node() if loader.check_node() else None
        if node is not None and loader.check_node() and unambiguous:
            second = text.find("\n---", max(0, node.end_mark.index - 1)) + 1
            line = first_line + text.count("\n", 0, second or node.end_mark.index)
            raise unparsable(line, "there is more than one document", "keep one document")
    except yaml.YAMLError as error:
        raise _refusal(error, first_line) from None
    except ValueError as error:  # a lone surrogate
        raise ItemError("unparsable", f"not YAML: {error}", hint="fix or quote the value") from None
    return node


def _check_budgets(text: str, first_line: int) -> None:
    """Refuse text with too many or too deep nodes before it is composed.

    Composing recurses in C and can crash the process where libyaml has no limit of its own; a million nodes take
    seconds.
    """
    depth = count = 0
    for event in yaml.parse(text, _Loader):
        count += isinstance(event, yaml.NodeEvent)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if count > MAX_VALUES:
            raise too_many()
        if depth > MAX_DEPTH:
            mark = event.start_mark
            raise too_deep(first_line + (mark.line if mark else 0))


def _refusal(error: yaml.YAMLError, first_line: int) -> ItemError:
    is_open_quote = getattr(error, "context", None) == "while scanning a quoted scalar"
    mark = getattr(error, "context_mark" if is_open_quote else "problem_mark", None)
    line = first_line + mark.line if mark is not None else first_line
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "not YAML"
    if problem == "second occurrence":
        problem = "the anchor is defined a second time"
    if problem == "exceeded maximum nesting depth":  # libyaml's own limit while composing
        return too_deep(line)
    return unparsable(line, clean(str(problem)), "fix the YAML there; text with ': ' or ' #' in it needs quotes")


@dataclass(slots=True)
class _Values:
    """Builds values from nodes, within the limits of depth and number."""

    as_text: frozenset[str]
    first_line: int
    unambiguous: bool
    aliases: bool
    count: int = 0
    open_nodes: set[Any] = field(default_factory=set)
    seen: set[Any] = field(default_factory=set)

    def of(self, node: Any, depth: int, *, raw: bool) -> Any:
        """Return the value of a node at this depth; ``raw`` keeps plain scalars as text."""
        self.count += 1
        if self.count > MAX_VALUES:
            raise too_many()
        if node in self.seen and not self.aliases:
            raise self._refuse(node, "there is an alias", "write the value again")
        self.seen.add(node)
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node, raw=raw)
        if depth >= MAX_DEPTH:
            raise too_deep(self.first_line + node.start_mark.line)
        if node in self.open_nodes:
            raise self._refuse(node, "an alias stands inside its own anchor", "an alias must follow its anchor")
        self.open_nodes.add(node)
        if isinstance(node, yaml.MappingNode):
            value: Any = self._mapping(node, depth, raw=raw)
        else:
            value = [self.of(entry, depth + 1, raw=raw) for entry in node.value]
        self.open_nodes.discard(node)
        return value

    def _mapping(self, node: Any, depth: int, *, raw: bool) -> dict[str, Any]:
        table: dict[str, Any] = {}
        merges: list[Any] = []
        for key_node, value_node in node.value:
            is_written_out = isinstance(key_node, yaml.ScalarNode) and key_node not in self.seen
            key = self.of(key_node, depth + 1, raw=raw)
            if not isinstance(key, str):  # text is clean already
                key = "[complex key]" if isinstance(key, dict | list) else key_text(key)
            if self.unambiguous and not is_written_out:
                raise self._refuse(key_node, "a key is not written out as text", "write the key as text")
            if self.unambiguous and (key in table or (key == "<<" and merges)):
                raise self._refuse(key_node, f"{key!r} is there twice", "keep one of the two")
            value = self.of(value_node, depth + 1, raw=raw or (depth == 0 and key in self.as_text))
            if key == "<<" and isinstance(value, dict | list):
                merges += value if isinstance(value, list) else [value]
            else:
                table[key] = value
        for source in merges:
            if isinstance(source, dict):
                table.update({key: value for key, value in source.items() if key not in table})
        return table

    def _refuse(self, node: Any, problem: str, hint: str) -> ItemError:
        return unparsable(self.first_line + node.start_mark.line, problem, hint)


def _scalar(node: Any, *, raw: bool) -> Any:
    text: str = node.value
    if node.tag == PLAIN:
        value = text if raw and text not in _NULLS else resolve(text)
    elif node.tag == _TIMESTAMP_TAG:
        value = iso(text)
    else:
        value = text if node.tag in _TEXT_TAGS else resolve(text)
    return clean(value) if isinstance(value, str) else value


def resolve(text: str) -> Any:
    """Return the value of a plain scalar in the core schema; NaN and infinities become None."""
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
    return None if _NOT_FINITE.fullmatch(text) else text
