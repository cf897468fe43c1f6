r"""The one place that parses untrusted TOML and JSON: limits first, then the parser.

A short text can make a parser take minutes or gigabytes: tomllib takes quadratic time and memory for a dotted key, and
nested brackets exhaust the stack. So size, depth and number of values are checked on the text before it is parsed. YAML
is read by :func:`rye.items.yaml.load`. Markdown and the XML of directives are read by :mod:`rye.items.markdown` and
:mod:`rye.items.directive_xml`, within the size limit of an item.

    >>> load_toml('[a]\nb.c = 1'), load_json('{"a": [1, NaN]}')
    ({'a': {'b': {'c': 1}}}, {'a': [1, None]})
"""

from __future__ import annotations

import json
import re
from typing import Any

from rye.errors import ItemError
from rye.items.values import MAX_DEPTH, MAX_VALUES, integer, line_of, too_deep, too_many

MAX_CHARS = 1 << 20
"""Maximum number of characters of YAML and JSON."""
MAX_TOML_CHARS = 1 << 18
"""Maximum number of characters of TOML; tomllib takes up to a second for four times as many."""
_MAX_KEY_PARTS = 20_000
"""Maximum number of parts, in one TOML file, of all keys with two dots or more."""

_JSON_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"?+', re.DOTALL)
_TOML_STRING = re.compile(
    r'"""(?:[^"\\]++|\\.|"(?!""))*+(?:"{3,5}+|\Z)'
    r"|'''(?:[^']++|'(?!''))*+(?:'{3,5}+|\Z)"
    r'|"(?:[^"\\\n]++|\\.)*+"?+'
    r"|'[^'\n]*+'?+"
    r"|#[^\n]*+",
    re.DOTALL,
)
"""A string or comment; an unclosed one is matched too, so that no text is scanned twice."""
_LONG_KEY = re.compile(r"(?<![\w-])[\w-]++(?:[ \t]*+\.[ \t]*+[\w-]++){2,}+")
_TOML_LINE = re.compile(r" \(at line (\d++), column \d++\)$")


def load_toml(text: str) -> dict[str, Any]:
    """Parse TOML of at most :data:`MAX_TOML_CHARS` characters; dates stay dates.

    Raises:
        ItemError: ``unparsable``, ``too-large``, ``too-deep`` or ``alias-bomb`` (too many values).
    """
    refuse_long(text, "TOML", MAX_TOML_CHARS)
    text = text.replace("\r\n", "\n")  # as tomllib does, so that strings end in the same place
    if sum(map(text.count, ".[{,=")) > MAX_DEPTH:
        bare = _TOML_STRING.sub(lambda match: "_" if match[0][0] != "#" else "", text)
        _check_nesting(bare, bare.count("="))
        parts = 0
        for key in _LONG_KEY.finditer(bare):
            dots = key[0].count(".")
            parts += dots + 1
            if dots >= MAX_DEPTH:
                raise too_deep()
            if parts > _MAX_KEY_PARTS:
                raise too_many()
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        place = _TOML_LINE.search(message)
        line = int(place[1]) if place else line_of(text, len(text))
        raise unparsable(line, _TOML_LINE.sub("", message), "fix the TOML there") from None
    except RecursionError:
        raise too_deep() from None
    except ValueError as error:  # an integer too long to read, or a date that does not exist
        raise unparsable(1, str(error), "fix the TOML there") from None


def load_json(text: str) -> Any:
    """Parse JSON of at most :data:`MAX_CHARS` characters: NaN and infinities are None, of duplicate keys the last wins.

    Raises:
        ItemError: As :func:`load_toml`.
    """
    refuse_long(text, "JSON", MAX_CHARS)
    if sum(map(text.count, "[{,")) > MAX_DEPTH:
        _check_nesting(_JSON_STRING.sub("_", text))
    try:
        return json.loads(text, parse_constant=lambda _: None, parse_int=integer)
    except json.JSONDecodeError as error:
        raise unparsable(error.lineno, error.msg, "fix the JSON there") from None
    except RecursionError:
        raise too_deep() from None


def _check_nesting(bare: str, values: int = 0) -> None:
    """Refuse text that nests too deep or holds too many values.

    Args:
        bare: The text without its strings.
        values: Number of values in addition to those that a bracket or comma starts.
    """
    depth = 0
    for bracket in re.finditer(r"[\[\]{}]", bare):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > MAX_DEPTH:
            raise too_deep()
    if values + sum(map(bare.count, "[{,")) > MAX_VALUES:
        raise too_many()


def refuse_long(text: str, language: str, limit: int) -> None:
    """Refuse text of more than ``limit`` characters.

    Raises:
        ItemError: ``too-large``.
    """
    if len(text) > limit:
        message = f"{language} of {len(text):,} characters"
        raise ItemError("too-large", message, hint=f"keep it below {limit:,}")


def unparsable(line: int, problem: str, hint: str) -> ItemError:
    """Return the error for text that cannot be read, with its 1-based line in the file."""
    return ItemError("unparsable", f"line {line}: {problem}", hint=hint, line=line)
