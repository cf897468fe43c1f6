r"""Escapes: from the characters of a query to the text they mean, and back to a spelling that means just that.

Outside quotes a backslash makes the next character an ordinary one, except before a letter or digit inside a word,
where it is an ordinary character itself (``App\Models``). Inside quotes only ``\"`` and ``\\`` are escapes.

    >>> plain(r"what\:ever"), quote('say "hi"')
    ('what:ever', '"say \\"hi\\""')
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

__all__ = [
    "ODD_WORDS",
    "VALUE",
    "WORD",
    "Place",
    "Units",
    "guard_colons",
    "literal",
    "pattern",
    "pattern_units",
    "plain",
    "quote",
    "spell",
    "spell_bound",
    "spell_compared",
    "units",
    "unquote",
]

Units: TypeAlias = list[tuple[str, bool]]
"""The characters of a word, each with whether it is a live wildcard."""

ODD_WORDS = {
    "stray-minus": re.compile(r"-\Z"),
    "foreign-operator": re.compile(r"(?:&&|\|\|)\Z|!(?:[^\W_]|\Z)"),
    "stray-suffix": re.compile(r"[~^][\d.]*\Z"),
    "missing-field": re.compile(r"[<>]=?[0-9]"),
}
"""What the grammar takes for a word although it was most likely meant as something else: error code → its look."""

_UNIT = re.compile(r"(?:\A\\|\\(?=[\W_]))(?P<escaped>[\s\S])|[\s\S]")
_FIELD = re.compile(r"[^\W\d][\w-]*(?:\.[\w-]+)*(?=:(?![\s/:]|\Z))")
_LAST_COLONS = re.compile(r"(?<!\\):+\Z")
_ODD = "|".join(look.pattern for look in ODD_WORDS.values())


@dataclass(frozen=True, slots=True)
class Place:
    """Where text is spelled: what needs an escape everywhere, what not at the start, and what starts wrongly."""

    specials: str
    free_at_start: str
    hazard: re.Pattern[str]


WORD = Place('()"~^', "~^", re.compile(rf"{_ODD}|(?:AND|OR|NOT|TO|NEAR)\Z|NEAR/|-(?![->]|\Z)"))
"""A word by itself."""
NOT_AFTER_MINUS = "->"
"""What would read differently directly after the ``-`` of an exclusion."""
VALUE = Place('()"~^', "~^", re.compile(rf"{_ODD}|(?:AND|OR|NOT|NEAR)\Z|NEAR/|-(?![->0-9]|\Z)|[<>=!/:\[{{]"))
"""A word directly after ``name:``."""
_COMPARED = Place('()"~^', "", re.compile(r"[<>=!]"))
_BOUND = Place('()[]{}"', "", re.compile(r"TO\Z"))


def units(raw: str) -> Units:
    """Split the raw text of a word into its characters."""
    found = _UNIT.finditer(raw)
    return [(m["escaped"], False) if m["escaped"] else (m[0], m[0] in "*?") for m in found]


def plain(raw: str) -> str:
    """Return what the raw text of a word means when it holds no live wildcard."""
    return "".join(char for char, _ in units(raw))


def literal(text: str) -> Units:
    """Return ``text`` as characters none of which is a wildcard."""
    return [(char, False) for char in text]


def pattern(word: Units) -> str:
    r"""Return the ``Wildcard.pattern`` of a word: literal ``*``, ``?`` and ``\`` escaped, nothing else."""
    return "".join(f"\\{char}" if not live and char in "*?\\" else char for char, live in word)


def pattern_units(text: str) -> Units:
    """Return the characters of a ``Wildcard.pattern``; the inverse of :func:`pattern`."""
    return [(m[0][-1], m[0] in "*?") for m in re.finditer(r"\\[*?\\]|[\s\S]", text)]


def _spell_unit(word: Units, index: int, place: Place) -> str:
    char, live = word[index]
    if live:
        return char
    if char == "\\":
        following, live = word[index + 1] if index + 1 < len(word) else ("", False)
        return char if index and following.isalnum() and not live else "\\\\"
    special = char in place.specials and (index > 0 or char not in place.free_at_start)
    return f"\\{char}" if special or char in "*?" or char.isspace() else char


def spell(word: Units, place: Place) -> str:
    """Spell a word so that, at that place, it reads as just these characters and wildcards."""
    spelled = "".join(_spell_unit(word, index, place) for index in range(len(word)))
    if place.hazard.match(spelled):
        return f"\\{spelled}"
    if place is WORD and (name := _FIELD.match(spelled)):
        return f"{name[0]}\\{spelled[name.end() :]}"
    return spelled


def spell_compared(text: str) -> str:
    """Spell the value of a comparison."""
    return _spell_value(text, _COMPARED)


def spell_bound(text: str) -> str:
    """Spell one end of a range."""
    return _spell_value(text, _BOUND)


def _spell_value(text: str, place: Place) -> str:
    """Spell a value with escapes, or in quotes where it has white space or that is shorter."""
    spelled = spell(literal(text), place)
    return quote(text) if re.search(r"\s", text) or len(quote(text)) < len(spelled) else spelled


def guard_colons(spelled: str) -> str:
    """Escape colons at the very end, which would read differently once ``)``, ``~`` or ``^`` follows them."""
    return _LAST_COLONS.sub(lambda colons: "\\:" * len(colons[0]), spelled)


def group(spelled: str) -> str:
    """Put parentheses around what is spelled."""
    return f"({guard_colons(spelled)})"


def quote(text: str) -> str:
    """Spell ``text`` as a phrase."""
    escaped = re.sub(r'"|\\(?=["\\]|\Z)', r"\\\g<0>", text)
    return f'"{escaped}"'


def unquote(raw: str) -> str:
    """Return the text inside a phrase's quotes, unescaped."""
    return re.sub(r'\\(["\\])', r"\1", raw[1:-1])
