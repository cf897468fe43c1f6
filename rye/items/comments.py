"""Reads metadata in a script: header comment, Python docstring, and constants (``__version__``).

These are read from the text alone, by patterns without backtracking, so any text takes linear time. No parser is
loaded.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from itertools import islice
from textwrap import dedent
from threading import Lock
from typing import Any

from rye.errors import ItemError
from rye.items.model import STATED_KEYS
from rye.items.values import clean, jsonable

_BEFORE_COMMENT = re.compile(r"(?:#![^\n]*\n)?+(?:[ \t]*\n|[ \t]*['\"]use strict['\"];?[ \t]*\n)*+")
_STAR = re.compile(r"[ \t]*\**[ \t]?")
_TAG = re.compile(r"@([A-Za-z_][\w.-]*+)(?:[ \t]*+[:=])?+(?:[ \t]++(.*+))?+")
_PAIR = re.compile(r"([a-z_][\w-]{0,39}):[ \t]+(\S.*)")

_PYTHON_STRING = (
    r'"""(?:[^"\\]++|\\.|"(?!""))*+(?:"""|\Z)'
    r"|'''(?:[^'\\]++|\\.|'(?!''))*+(?:'''|\Z)"
    r'|"(?:[^"\\\n]++|\\.)*+"?+'
    r"|'(?:[^'\\\n]++|\\.)*+'?+"
)
"""A string literal. An unclosed one is matched as well, so that no text is scanned a second time."""

_DOCSTRING = re.compile(
    rf"(?:[ \t]*+(?:#[^\n]*+)?+\n)*+(?P<raw>[rR]?+)[uU]?+(?P<text>{_PYTHON_STRING})[ \t]*+(?=[;#\n]|\Z)", re.DOTALL
)
_HAS_CONSTANT = re.compile(r"^__\w++[ \t]*+[:=]", re.MULTILINE)
_PYTHON_TOKEN = re.compile(
    rf"(?P<other>{_PYTHON_STRING}|#[^\n]*+)|(?P<open>[(\[{{])|(?P<close>[)\]}}])|\\\n|(?P<end>\n|;)"
    r"|(?<![^\n])(?P<name>__\w++)[ \t]*+(?::[^=\n]*+)?+=(?!=)",
    re.DOTALL,
)
_NOT_METADATA = frozenset({"__all__", "__annotations__", "__dict__", "__doc__", "__name__", "__path__", "__slots__"})
_MOST_CONSTANTS, _LONGEST_VALUE = 1_000, 20_000

_SCRIPT_CONSTANT = re.compile(
    r"^(?:(?:export|const|let|var|readonly)[ \t]+)*+__([a-z]\w*?)__[ \t]*(?::[^=\n]{1,100})?=[\s(]*+"
    r"(\"(?:[^\"\\\n]|\\.)*+\"|'(?:[^'\\\n]|\\.)*+'|`(?:[^`\\]|\\.)*+`"
    r"|\[[^\[\]]{0,2000}\]|-?\d[\w.]*|true|false|True|False)",
    re.MULTILINE,
)
_QUOTED = re.compile(r"([\"'])((?:(?!\1)[^\\\n]|\\.)*+)\1?+")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": " ", "\n": ""}
_WORDS = {"true": True, "True": True, "false": False, "False": False}

_ONE_AT_A_TIME = Lock()
"""Warning filters belong to the process, and CPython 3.11 counts the depth of the trees of all threads together."""


def header(text: str, mark: str) -> tuple[dict[str, Any], str]:
    """Return the ``key: value`` lines and the prose of a script's first comment: ``#``, or ``//`` and ``/* */``."""
    metadata: dict[str, Any] = {}
    prose: list[str] = []
    for raw in _first_comment(text, mark):
        line = raw.strip()
        pair = _TAG.fullmatch(line) or _PAIR.fullmatch(line)
        if pair:
            metadata.setdefault(pair[1].lower().strip("_"), clean(pair[2] or "").strip())
        else:
            prose.append(line)
    return metadata, "\n".join(prose).strip("\n").split("\n\n", 1)[0]


def _first_comment(text: str, mark: str) -> Iterator[str]:
    """Yield the lines of the comment before any code, without their marks."""
    start = _BEFORE_COMMENT.match(text)
    offset = start.end() if start else 0
    if mark == "//" and text.startswith("/*", offset):
        end = text.find("*/", offset)
        for line in text[offset + 2 : end if end >= 0 else offset + 2].split("\n"):
            yield _STAR.sub("", line, count=1)
        return
    while text.startswith(mark, offset):
        end = text.find("\n", offset)
        end = len(text) if end < 0 else end
        yield text[offset + len(mark) : end].lstrip(mark[0])
        offset = end + 1


def ryeos_header(text: str) -> dict[str, Any]:
    """Return the YAML of a leading ``# ryeos-tool:`` comment in a Python tool; empty if RyeOS would refuse it."""
    first, *lines = (line.removeprefix(" ") for line in [*_first_comment(text, "#"), ""])
    if first.rstrip() != "ryeos-tool:" or any(line.strip() and line[0] != " " for line in lines):
        return {}
    from rye.items import yaml

    try:
        stated = yaml.load(dedent("\n".join(lines)), as_text=STATED_KEYS, unambiguous=True)
    except ItemError:
        return {}
    return stated if isinstance(stated, dict) else {}


def docstring(text: str) -> str:
    """Return the first paragraph of the docstring of a Python file, empty without one."""
    match = _DOCSTRING.match(text)
    if match is None:
        return ""
    quotes = 3 if match["text"][:3] in {'"""', "'''"} else 1
    inside = match["text"][quotes:-quotes]
    return re.split(r"\n[ \t]*\n", clean_docstring(inside if match["raw"] else unescape(inside)), maxsplit=1)[0]


def clean_docstring(inside: str) -> str:
    """Return the text between the quotes of a docstring, without its indentation."""
    lines = clean(inside).expandtabs().split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()), default=0)
    return "\n".join([lines[0].lstrip(), *[line[margin:] for line in lines[1:]]]).strip()


def python_constants(text: str) -> dict[str, Any]:
    """Return the constants of a Python file that are named ``__x__``, by ``x``, if their values are literals."""
    if not _HAS_CONSTANT.search(text):
        return {}
    stated = {}
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as those about string escapes in a tool
        for name, source in islice(_assignments(text), _MOST_CONSTANTS):
            try:
                stated[name.strip("_")] = jsonable(ast.literal_eval(source.strip()))
            except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError, ItemError):
                continue  # not a literal: it cannot be known without running the tool
    return stated


def _assignments(text: str) -> Iterator[tuple[str, str]]:
    """Yield name and source of the value of each ``__x__ = …`` that begins a line outside brackets and strings."""
    depth, name, start = 0, "", 0
    for token in _PYTHON_TOKEN.finditer(text + "\n"):
        kind = token.lastgroup
        if kind == "open":
            depth += 1
        elif kind == "close":
            depth = max(depth - 1, 0)
        elif kind == "end" and not depth:
            if name and token.start() - start <= _LONGEST_VALUE:
                yield name, text[start : token.start()]
            name = ""
        elif kind == "name" and not depth:
            is_metadata = token["name"].endswith("__") and token["name"] not in _NOT_METADATA
            name, start = token["name"] if is_metadata else "", token.end()


def script_constants(text: str) -> dict[str, Any]:
    """Return the constants of a script that are named ``__x__``, by ``x``: strings, lists of strings and booleans."""
    return {match[1]: _value(match[2]) for match in _SCRIPT_CONSTANT.finditer(text)} if "__" in text else {}


def _value(source: str) -> Any:
    """Return the value of a constant: a string, a list of strings or a boolean; a number as its text."""
    if source[0] == "[":
        return [unescape(item[2]) for item in _QUOTED.finditer(source)]
    return unescape(source[1:-1]) if source[0] in "\"'`" else _WORDS.get(source, source)


def unescape(text: str) -> str:
    """Return the text of a string literal: common escapes resolved, others without their backslash."""
    return clean(_ESCAPE.sub(lambda match: _ESCAPES.get(match[1], match[1]), text)) if "\\" in text else clean(text)
