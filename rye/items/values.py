"""Text and metadata values shared by every format: decoded, cleaned, reduced to JSON values, and limited in size."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from rye.errors import ItemError

DESCRIPTION_CHARS = 300
"""Maximum length of a description taken from the body; a stated one may be longer."""
STATED_CHARS = 4096
"""Maximum length of a description that the file states."""
LINE_CHARS = 300
"""Maximum length of a title, category, version or author."""

# Code points that are not text: they would break a terminal, a YAML reader or a JSON consumer.
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]")
_ORDINARY = b"\t\n\r" + bytes(range(0x20, 0x7F)) + bytes(range(0x80, 0x100))
_LEADS_OF_CONTROLS = (b"\xc2", b"\xef\xbb\xbf", b"\xef\xbf")  # most files have none of them
_BLANK = re.compile(r"[ \t\n]*+")
_SURROGATES = re.compile("[\ud800-\udfff]")
_NOT_IN_A_LINE = re.compile("[\\s\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]+")
_STALE_MARK = re.compile(r"(?<![ \t#/])[ \t]*+(?:<!--|#|//)[ \t#/]*+rye(?:os)?:(?:unsigned\b|signed:)[^\n]*+")
_HEAD_LINES = 4
_PLAIN_CHARS = 2000

_SENTENCE_END = re.compile("[.!?\u3002\uff01\uff1f](?=\\s|$)")
_HARMLESS_LINK = re.compile(r"!?\[([^\[\]]{0,300})\]\([^()\s]{0,500}\)")
_EMPHASIS = re.compile(r"(?<![*`])(\*{2,3}|__|`++)([^*`\n]{1,300}?)\1")


def decode(data: bytes) -> str:
    """Return the file as text with LF line breaks, no byte order mark and spaces for control characters.

    Raises:
        ItemError: ``not-utf8``.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ItemError(
            "not-utf8",
            f"byte {error.start} is not UTF-8",
            hint="save the file as UTF-8",
            offset=error.start,
        ) from None
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    may_have = data.translate(None, _ORDINARY) or any(lead in data for lead in _LEADS_OF_CONTROLS)
    return _CONTROLS.sub(" ", text.replace("\ufeff", "")) if may_have else text


def without_stale_marks(text: str) -> str:
    """Blank the remains of earlier signing at the head of a file: ``rye:unsigned`` marks and old signature lines."""
    start = 0
    for _ in range(_HEAD_LINES):
        if mark := _STALE_MARK.match(text, start):
            text = text[: mark.start()] + text[mark.end() :]
        start = text.find("\n", start) + 1
        if not start:
            break
    return text


def clean(text: str) -> str:
    """Return ``text`` in a form fit for JSON and terminals: no lone surrogates, spaces for control characters."""
    if text.isascii() and text.isprintable():
        return text
    return _CONTROLS.sub(" ", _SURROGATES.sub("\ufffd", text.replace("\ufeff", "")))


def one_line(text: str, limit: int = LINE_CHARS) -> str:
    """Return ``text`` as one line of at most ``limit`` characters, without control and direction marks."""
    if text.isascii() and text.isprintable() and "  " not in text:  # most texts: nothing to replace
        line = text.strip()
    else:
        line = _NOT_IN_A_LINE.sub(" ", _SURROGATES.sub("\ufffd", text)).strip()
    return line if len(line) <= limit else shorten(line, limit)


def shorten(line: str, limit: int) -> str:
    """Cut one line to at most ``limit`` characters: after a sentence if one ends late enough, else after a word."""
    if len(line) <= limit:
        return line
    ends = [match.end() for match in _SENTENCE_END.finditer(line, limit // 4, limit)]
    if ends:
        return line[: ends[-1]]
    head = line[: limit - 1]
    space = head.rfind(" ", limit // 2)
    return (head[:space] if space > 0 else head).rstrip() + "…"


def cut_line(text: str, limit: int) -> str:
    """Return the beginning of ``text`` as one line of at most ``limit`` characters, with a mark if it is cut."""
    line = one_line(text[: 4 * limit], 4 * limit)
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def plain(markdown: str) -> str:
    """Return the start of a paragraph of Markdown without the marks of links, emphasis and code."""
    markdown = markdown[:_PLAIN_CHARS]
    if "](" in markdown:
        markdown = _HARMLESS_LINK.sub(r"\1", markdown)
    return _EMPHASIS.sub(r"\2", markdown)


def line_of(text: str, offset: int) -> int:
    """Return the 1-based line of ``offset``."""
    return text.count("\n", 0, offset) + 1


def cut_blank_head(text: str, start: int = 0) -> tuple[str, int]:
    """Return ``text`` from the first line that is not blank, and its 1-based line; an empty text is on line 1."""
    blank = _BLANK.match(text, start)
    end = blank.end() if blank else start
    begin = text.rfind("\n", start, end) + 1 or start
    body = text[begin:].rstrip()
    return (body, line_of(text, begin)) if body else ("", 1)


MAX_DEPTH = 64
"""Maximum nesting of metadata."""
MAX_VALUES = 100_000
"""Maximum number of values in the metadata of one file, counting every use of an alias."""

_MAX_DIGITS = 4000  # the interpreter refuses to read or print many more
_MAX_BITS = 14_000  # the same limit for an existing integer
_DATE = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})"
    r"(?:(?:[Tt]|[ \t]++)(\d{1,2}):(\d{2})(?::(\d{2})(\.\d++)?)?[ \t]*+(Z|z|[+-]\d{1,2}(?::?\d{2})?)?)?"
)
_DROPPED = object()


def too_deep(line: int = 0) -> ItemError:
    """Return the error for metadata that nests deeper than :data:`MAX_DEPTH`."""
    where = f"line {line}: " if line else ""
    return ItemError(
        "too-deep",
        f"{where}metadata nests deeper than {MAX_DEPTH} levels",
        hint="flatten it; only metadata has this limit",
        **({"line": line} if line else {}),
    )


def too_many() -> ItemError:
    """Return the error for metadata with more than :data:`MAX_VALUES` values."""
    return ItemError(
        "alias-bomb",
        f"metadata holds more than {MAX_VALUES:,} values, repeated aliases counted",
        hint="move the data out of the item",
    )


def jsonable(value: Any) -> Any:
    """Return ``value`` as dicts with string keys, lists, strings, numbers, booleans and None only.

    Dates become ISO text; NaN and infinities None; sets and tuples lists; anything else is left out.

    Raises:
        ItemError: ``too-deep`` or ``alias-bomb``.
    """
    converted = _convert(value, 0, [MAX_VALUES])
    return None if converted is _DROPPED else converted


def _convert(value: Any, depth: int, budget: list[int]) -> Any:
    budget[0] -= 1
    if budget[0] < 0:
        raise too_many()
    if value is None or isinstance(value, str | bool | int | float | dt.date | dt.time):
        return _scalar(value)
    if isinstance(value, dict | list | tuple | set | frozenset):
        if depth >= MAX_DEPTH:
            raise too_deep()
        if isinstance(value, dict):
            pairs = ((key_text(key), _convert(item, depth + 1, budget)) for key, item in value.items())
            return {key: item for key, item in pairs if item is not _DROPPED}
        items = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
        return [item for item in (_convert(entry, depth + 1, budget) for entry in items) if item is not _DROPPED]
    return _DROPPED


def integer(digits: str) -> int | str:
    """Return the integer that a text spells; the text itself if it is too long."""
    return int(digits) if len(digits) <= _MAX_DIGITS else digits


def key_text(key: Any) -> str:
    """Return a key as YAML and JSON write it: ``true``, not ``True``."""
    if type(key) is str:
        return clean(key)
    if key is None or isinstance(key, bool):
        return "null" if key is None else str(key).lower()
    return str(_scalar(key)) if isinstance(key, str | int | float | dt.date | dt.time) else repr(key)


def _scalar(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dt.date | dt.time):
        return iso(value.isoformat())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > _MAX_BITS:
        return None
    return value


def iso(text: str) -> str:
    """Return a date or time in ISO 8601, UTC as ``Z``; any other text is returned unchanged.

    >>> iso("2026-2-18 9:30:00+00:00")
    '2026-02-18T09:30:00Z'
    """
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return text
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    date = f"{year}-{int(month):02}-{int(day):02}"
    if hour is None:
        return date
    return f"{date}T{int(hour):02}:{minute}:{second or '00'}{fraction or ''}{_zone(zone or '')}"


def _zone(zone: str) -> str:
    if zone in {"", "Z", "z"}:
        return zone.upper()
    digits = zone[1:].replace(":", "")
    hours, minutes = (digits[:-2], digits[-2:]) if len(digits) > 2 else (digits, "00")
    normal = f"{zone[0]}{int(hours):02}:{minutes}"
    return "Z" if normal in {"+00:00", "-00:00"} else normal


def text_of(value: Any, limit: int = LINE_CHARS) -> str:
    """Return a scalar as one line of text, a list of scalars joined by commas, anything else as empty."""
    if isinstance(value, str):
        return one_line(value, limit)
    if isinstance(value, bool) or value is None or isinstance(value, Mapping):
        return ""
    if isinstance(value, list):
        return one_line(", ".join(part for part in map(text_of, value) if part), limit)
    return one_line(str(value), limit)


def tags_of(value: Any) -> tuple[str, ...]:
    """Return tags from a list or a comma-separated string: in order, without duplicates or empty ones."""
    if isinstance(value, str):
        parts = [one_line(part) for part in value.strip().removeprefix("[").removesuffix("]").split(",")]
    elif isinstance(value, list):
        parts = [text_of(part) for part in value]
    else:
        parts = [text_of(value)]
    return tuple(dict.fromkeys(part for part in parts if part))


NO_WORDS = frozenset({"", "-", "0", "~", "false", "n", "n/a", "never", "nil", "no", "none", "not", "null", "off"})
"""Texts, in lower case, that mean no in metadata."""


def is_negative(value: Any) -> bool:
    """Return whether a metadata value means no: missing, empty, false or zero, or a word for it.

    >>> [is_negative(value) for value in ("no", "Off", [], 0, "yes", "knowledge:new")]
    [True, True, True, True, False, False]
    """
    if isinstance(value, str):
        return value.strip().casefold() in NO_WORDS
    return all(map(is_negative, value)) if isinstance(value, list) else not value


_VERSION = re.compile(r"[vV]?(\d+(?:\.\d+)*)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")
_DIGITS_OF_PART = 18

Version = tuple[tuple[int, ...], int, tuple[tuple[int, int, str], ...]]


@lru_cache(maxsize=4096)
def version(text: str) -> Version | None:
    """Return a key that sorts like semantic versions; None if the text is not a version.

    Missing parts are zero, a leading ``v`` and build metadata are ignored, and a pre-release comes before its release.

        >>> version("1.0.0-beta") < version("v1.0") < version("1.10")
        True
    """
    match = _VERSION.fullmatch(text.strip())
    if match is None or any(len(part) > _DIGITS_OF_PART for part in match[1].split(".")):
        return None
    numbers = [int(part) for part in match[1].split(".")]
    # 1.0 equals 1; a release (1) comes after its pre-releases (0)
    while numbers and numbers[-1] == 0:
        numbers.pop()
    if match[2] is None:
        return tuple(numbers), 1, ()
    return tuple(numbers), 0, tuple(_identifier(part) for part in match[2].split("."))


def _identifier(part: str) -> tuple[int, int, str]:
    """Return a sort key for a pre-release identifier: numbers by value, before text."""
    if part.isdigit() and part.isascii() and len(part) <= _DIGITS_OF_PART:
        return 0, int(part), ""
    return 1, 0, part
