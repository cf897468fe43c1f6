"""The documented functions, methods and classes of a tool: where each begins, and what its documentation says.

The documentation is the string below a Python definition, or the comment directly above one of another language. A
comment that begins the file describes the tool, not its first function.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from inspect import cleandoc
from typing import NamedTuple

from rye.items.model import Item, Symbol

_PYTHON = re.compile(r"[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+\w+[ \t]*[(:\[]")
_DOCSTRING = re.compile(
    r"(?:[ \t]*+(?:#[^\n]*+)?+\n)*+[ \t]*+[rRuU]?(\"\"\"|'''|\"|')((?:\\.|(?!\1).)*)\1",
    re.DOTALL,
)
_TOKEN = re.compile(r"\"(?:\\.|[^\"\\\n])*+\"|'(?:\\.|[^'\\\n])*+'|#[^\n]*+|[()\[\]{}:]")
"""What is looked at in a signature: brackets and colons, but for those in strings and comments."""

_COMMENT = re.compile(r"[ \t]*(?:#(?!!)|//|/\*|\*)")
_MARK = re.compile(r"^[ \t]*(?:#+|/{2,}|/\*+|\*+/|\*(?!/))?[ \t]?|[ \t]*\*+/[ \t]*$")
_LONGEST_SIGNATURE = 5_000
"""Characters within which the signature of a Python function ends."""

_MOST_LINES = 500
"""Lines within which signature and documentation of a Python function end."""


class Documented(NamedTuple):
    """One documented definition.

    Attributes:
        number: Its place among the item's symbols.
        symbol: The definition.
        line: 1-based line of the file where it begins, with the comment or the decorators above it.
        text: What its documentation says.
    """

    number: int
    symbol: Symbol
    line: int
    text: str


def documented(item: Item) -> Iterator[Documented]:
    """Yield the documented definitions of a tool, in file order."""
    lines = item.body.split("\n") if item.symbols else []
    for number, symbol in enumerate(item.symbols):
        at = symbol.line - item.body_line
        if not 0 <= at < len(lines):
            continue
        python = _PYTHON.match(lines[at])
        above = at
        while above and (lines[above - 1].lstrip().startswith("@") if python else _COMMENT.match(lines[above - 1])):
            above -= 1
        if python:
            end = min(symbol.end_line - item.body_line + 1, at + _MOST_LINES)
            text = _docstring("\n".join(lines[at:end]))
        else:
            text = "" if _begins_file(lines, above) else _comment(lines[above:at])
        if text:
            yield Documented(number, symbol, item.body_line + above, text)


def _docstring(definition: str) -> str:
    """Return the string that a Python definition begins with: behind the first ``:`` outside of brackets."""
    depth = 0
    for match in _TOKEN.finditer(definition, 0, _LONGEST_SIGNATURE):
        depth += (match[0] in "([{") - (match[0] in ")]}")
        if match[0] == ":" and not depth:
            found = _DOCSTRING.match(definition, match.end())
            return cleandoc(found[2]).strip() if found else ""
    return ""


def _begins_file(lines: Sequence[str], above: int) -> bool:
    return not any(line.strip() and not line.startswith("#!") for line in lines[:above])


def _comment(lines: Sequence[str]) -> str:
    """Return what a comment says, without its marks."""
    return "\n".join(_MARK.sub("", line).rstrip() for line in lines).strip()
