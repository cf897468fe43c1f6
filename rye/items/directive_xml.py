"""Reads the XML block of a directive tolerantly, and the inputs that it declares.

Published directives are not well-formed XML: they contain placeholders such as ``<your-name>`` in running text. So tags
are matched by a regular expression and a stack, and an element that is never closed is text. Each token is visited
once; entities declared by a document are never expanded and nothing is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rye.items.model import STATED_KEYS, Item
from rye.items.values import MAX_DEPTH, clean

_BLOCK = re.compile(r"<directive\b")
_TOKEN = re.compile(
    r"<!--|<!\[CDATA\["
    r"|<(/?)([A-Za-z_][\w.:-]*+)"
    r"((?:\s++[\w.:-]++(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s\"'=<>`]++))?+)*+)\s*+(/?)>"
)
_ATTRIBUTE = re.compile(r"([\w.:-]++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'=<>`]++)))?+")
_OPAQUE_ENDS = {"<!--": "-->", "<![CDATA[": "]]>"}
_ENTITY = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#x([0-9A-Fa-f]{1,6}));")
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_LAST_CODE_POINT = 0x10FFFF

_BODY_ELEMENTS = frozenset(
    {"body", "content", "inputs", "instructions", "outputs", "process", "prompt", "step", "steps", "success_criteria"}
)


@dataclass(slots=True)
class _Element:
    name: str
    attributes: str
    start: int
    inner: int
    inner_end: int = -1
    end: int = -1
    children: list[_Element] = field(default_factory=list)


class Block(NamedTuple):
    """A directive's XML: its metadata, the text of its instructions with line numbers preserved, and its end."""

    metadata: dict[str, Any]
    text: str
    end: int


def read_block(text: str, start: int, stop: int) -> Block | None:
    """Read the ``<directive>`` that opens at ``start`` and lies before ``stop``; None if it is not closed."""
    root = _tree(text, start, stop)
    if root is None:
        return None
    metadata = _attributes(root.attributes)
    parts: list[str] = []
    done = root.start
    for child in root.children:
        parts.append("\n" * text.count("\n", done, child.start))
        if child.name in _BODY_ELEMENTS:
            if child.name in {"inputs", "outputs"}:  # their names are metadata, their descriptions are body
                names = [_attributes(element.attributes).get("name") or element.name for element in child.children]
                metadata.setdefault(child.name, names)
            parts.append(_without_tags(text[child.start : child.end]))
        else:
            entries = _grouped(child.children if child.name == "metadata" else [child], text)
            for name, value in entries.items():
                metadata.setdefault(name, value)
            parts.append("\n" * text.count("\n", child.start, child.end))
        done = child.end
    parts.append("\n" * text.count("\n", done, root.end))
    return Block(metadata, "".join(parts), root.end)


def _tree(text: str, start: int, stop: int) -> _Element | None:
    """Match tags from ``start``: an end tag closes the nearest element of its name; unclosed ones inside are text."""
    stack: list[_Element] = []
    position = start
    opaque = dict(_OPAQUE_ENDS)
    while token := _TOKEN.search(text, position, stop):
        position = token.end()
        name = token[2]
        if name is None:
            position = _skip_opaque(text, token, opaque, stop)
        elif token[1]:
            closed = _close(stack, name, token)
            if closed is not None and not stack:
                return closed
        elif token[4]:
            if stack:
                stack[-1].children.append(_Element(name, token[3], token.start(), position, position, position))
        elif len(stack) < MAX_DEPTH:
            stack.append(_Element(name, token[3], token.start(), position))
    return None


def _skip_opaque(text: str, token: re.Match[str], opaque: dict[str, str], stop: int) -> int:
    """Return the end of a comment or CDATA section; once one has no end, later openings of its kind are text."""
    ending = opaque.get(token[0])
    position = text.find(ending, token.end(), stop) if ending else -1
    if ending and position >= 0:
        return position + len(ending)
    opaque.pop(token[0], None)
    return token.end()


def _close(stack: list[_Element], name: str, token: re.Match[str]) -> _Element | None:
    """Close the nearest open element of this name and return it; unclosed elements inside become text."""
    index = next((index for index in range(len(stack) - 1, -1, -1) if stack[index].name == name), None)
    if index is None:
        return None
    element = stack[index]
    for unclosed in stack[index + 1 :]:
        element.children += unclosed.children
    del stack[index:]
    element.inner_end = token.start()
    element.end = token.end()
    if stack:
        stack[-1].children.append(element)
    return element


def _grouped(elements: list[_Element], text: str) -> dict[str, Any]:
    """Return values by element name; a repeated name has a list."""
    groups: dict[str, list[Any]] = {}
    for element in elements:
        attributes = _attributes(element.attributes)
        if element.children and element.name not in STATED_KEYS:
            value: Any = attributes | _grouped(element.children, text)
        else:
            inner = _unwrap(text[element.inner : element.inner_end]).strip()
            value = attributes | ({"text": inner} if inner else {}) if attributes else inner
        groups.setdefault(element.name, []).append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in groups.items()}


def _attributes(source: str) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    for match in _ATTRIBUTE.finditer(source):
        values = [value for value in match.groups()[1:] if value is not None]
        attributes.setdefault(match[1], _unescape(values[0]) if values else "")
    return attributes


def _without_tags(markup: str) -> str:
    """Return the text of markup; a tag becomes its ``name`` with a colon, and its line breaks, else a space."""
    return _unwrap(_TOKEN.sub(_tag_text, markup))


def _tag_text(token: re.Match[str]) -> str:
    if token[2] is None:
        return token[0]
    name = _attributes(token[3]).get("name", "") if token[3] else ""
    label = f"{name}: ".replace("\n", " ") if name else ""
    return label + "\n" * token[0].count("\n") or " "


def _unwrap(markup: str) -> str:
    """Drop comments, open CDATA sections and resolve the five named and all numeric character references."""
    if "<!" in markup:
        pieces: list[str] = []
        for index, piece in enumerate(markup.split("<!--")):
            comment, closed, rest = piece.partition("-->")
            pieces.append("\n" * comment.count("\n") + rest if index and closed else piece)
        markup = "".join(pieces).replace("<![CDATA[", "").replace("]]>", "")
    return _unescape(markup)


def _unescape(text: str) -> str:
    return clean(_ENTITY.sub(_character, text) if "&" in text else text)


def _character(match: re.Match[str]) -> str:
    """Return the character of an XML character reference; the text itself if its number is too large."""
    named, decimal, hexadecimal = match.groups()
    if named:
        return _NAMED[named]
    code = int(decimal) if decimal else int(hexadecimal, 16)
    return chr(code) if code <= _LAST_CODE_POINT else match[0]


@dataclass(frozen=True, slots=True)
class Input:
    """One declared input of a directive."""

    name: str
    description: str = ""
    required: bool = False


def declared_inputs(item: Item, content: str) -> tuple[Input, ...]:
    """Return the inputs of a directive in their order, each name once.

    Args:
        item: The directive.
        content: The text it was read from.
    """
    stated = _xml_inputs(content) or item.metadata.get("inputs")
    if isinstance(stated, Mapping):
        stated = [
            {"name": name, **(more if isinstance(more, Mapping) else {"description": more})}
            for name, more in stated.items()
        ]
    inputs = map(_input, stated if isinstance(stated, list) else ())
    return tuple({declared.name: declared for declared in inputs if declared.name}.values())


def _xml_inputs(text: str) -> list[dict[str, str]]:
    """Return name, description and ``required`` of each input of the first ``<directive>`` in a text."""
    opening = _BLOCK.search(text)
    root = _tree(text, opening.start(), len(text)) if opening else None
    elements = (child for group in root.children if group.name == "inputs" for child in group.children) if root else ()
    return [
        {"name": element.name, "description": _without_tags(text[element.inner : element.inner_end])}
        | _attributes(element.attributes)
        for element in elements
    ]


def _input(stated: Any) -> Input:
    if not isinstance(stated, Mapping):
        return Input(_text(stated) if isinstance(stated, str) else "")
    required = str(stated.get("required")).strip().casefold() in {"true", "yes", "1", "required"}
    return Input(_text(stated.get("name")), _text(stated.get("description")), required)


def _text(value: Any) -> str:
    return " ".join(str(value).split()) if value is not None else ""
