"""Signature and documentation of the functions, methods and classes of a tool, and where what documents them begins.

The documentation is the string below a Python definition, or the comment directly above one of another language. A
comment that begins the file describes the tool, not its first function.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from inspect import cleandoc
from typing import NamedTuple

from rye.items.model import Item, Symbol
from rye.items.values import cut_line

_PYTHON = re.compile(r"[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+\w+[ \t]*[(:\[]")
_DOCSTRING = re.compile(
    r"(?:[ \t]*+(?:#[^\n]*+)?+\n)*+[ \t]*+[rRuU]?(\"\"\"|'''|\"|')((?:\\.|(?!\1)[^\\])*+)\1",
    re.DOTALL,
)
_TOKEN = re.compile(r"\"(?:\\.|[^\"\\\n])*+\"|'(?:\\.|[^'\\\n])*+'|#[^\n]*+|[()\[\]{}:]")
"""What is looked at in a signature: brackets and colons, but for those in strings and comments."""

_COMMENT = re.compile(r"[ \t]*(?:#(?!!)|//|/\*|\*(?![^\s*/]))")
_METHOD_COMMENT = re.compile(r"[ \t]*(?://|/\*|\*(?![^\s*/]))")
"""Above a method ``#`` begins a private member, and so does ``*`` before a name."""

_MARK = re.compile(r"[ \t]*(?:#+|/{2,}|/\*+|\*+/|\*(?!/))?[ \t]?")
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
    comments = comments_above(lines, item.symbols, item.body_line)
    for number, (symbol, (above, text)) in enumerate(zip(item.symbols, comments, strict=True)):
        at = symbol.line - item.body_line
        if not 0 <= at < len(lines):
            continue
        begin, said = above, text
        if _PYTHON.match(lines[at]):
            begin = at
            while begin and lines[begin - 1].lstrip().startswith("@"):
                begin -= 1
            said = python_definition(lines, at, symbol.end_line - item.body_line + 1)[1]
        if said:
            yield Documented(number, symbol, item.body_line + begin, said)


def python_definition(lines: Sequence[str], at: int, end: int) -> tuple[str, str]:
    """Return signature and documentation of a Python definition: what is before and behind ``:`` outside of brackets.

    Args:
        lines: The lines of the code.
        at: Where it begins among them.
        end: Where it ends.
    """
    definition = "\n".join(lines[at : min(end, at + _MOST_LINES)])
    depth = 0
    for match in _TOKEN.finditer(definition, 0, _LONGEST_SIGNATURE):
        depth += (match[0] in "([{") - (match[0] in ")]}")
        if match[0] == ":" and not depth:
            found = _DOCSTRING.match(definition, match.end())
            signature = _TOKEN.sub(lambda each: "" if each[0][0] == "#" else each[0], definition[: match.start()])
            return signature, cleandoc(found[2]).strip() if found else ""
    return lines[at], ""


def comments_above(lines: Sequence[str], symbols: Sequence[Symbol], first_line: int = 1) -> Iterator[tuple[int, str]]:
    """Yield for each definition where the comment directly above it begins among the lines, and what it says.

    Decorators may stand between the two. Without a comment that is the line of the definition. Of several definitions
    on a line the first has the comment.

    Args:
        lines: The lines of the code.
        symbols: The definitions, in the order of their lines.
        first_line: The line of the file that is the first of these.
    """
    code_begins = next((at for at, line in enumerate(lines) if line.strip() and not line.startswith("#!")), 0)
    before = -1
    for symbol in symbols:
        at = min(symbol.line - first_line, len(lines))
        below = above = _above_decorators(lines, at, before)
        mark = _METHOD_COMMENT if symbol.kind == "method" else _COMMENT
        while above - 1 > before and mark.match(lines[above - 1]):
            above -= 1
        before = at
        if above == below or above <= code_begins:  # the comment that begins a file describes the file
            yield at, ""
        else:
            yield above, "\n".join(map(_without_marks, lines[above:below])).strip()


def _above_decorators(lines: Sequence[str], at: int, before: int) -> int:
    """Return the line of the first decorator directly above a definition, or that of the definition.

    Args:
        lines: The lines of the code.
        at: Where the definition begins among them.
        before: Where the one before it does.
    """
    found = line = at
    indent = ""
    while line - 1 > before:
        line -= 1
        text = lines[line].rstrip()
        if line == at - 1:
            if not text or text.lstrip()[0] not in "@)}":
                break
            indent = text[: len(text) - len(text.lstrip())]
        if text.startswith(f"{indent}@"):
            found = line
        elif text and not text.startswith((f"{indent} ", f"{indent}\t", f"{indent})", f"{indent}}}")):
            break
    return found


def _without_marks(line: str) -> str:
    """Return what a line of a comment says."""
    said = _MARK.sub("", line, count=1).rstrip()
    return said[:-1].rstrip("*").rstrip() if said.endswith("*/") else said


_LONGEST_LINE = 200
_AFTER_OPENING, _BEFORE_CLOSING = re.compile(r"(?<=[(\[]) "), re.compile(r",? (?=[)\]])")


def signature_line(text: str) -> str:
    """Return a signature as one line."""
    line = cut_line(text, _LONGEST_LINE)
    return _AFTER_OPENING.sub("", _BEFORE_CLOSING.sub("", line)) if "\n" in text else line


def first_line(documentation: str) -> str:
    """Return the first line of documentation that says something; none of ``@param`` and the like."""
    line = documentation.lstrip()[: 4 * _LONGEST_LINE].partition("\n")[0]
    return "" if line.startswith("@") else cut_line(line, _LONGEST_LINE)
