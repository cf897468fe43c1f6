r"""Escapes: from the characters of a query to the text they mean, and back.

Outside quotes a backslash makes the next character a literal one. Before a letter or digit inside a word the backslash
is itself literal (``App\Models``). Inside quotes only ``\"`` and ``\\`` are escapes.

    >>> plain(r"what\:ever"), quote('say "hi"')
    ('what:ever', '"say \\"hi\\""')
"""

from __future__ import annotations

import re
from functools import cache
from typing import TypeAlias

from rye import _resources

OPERATORS = ("AND", "OR", "NOT", "NEAR", "TO")
"""The words in capitals that are operators; TO is one only in ranges."""

Units: TypeAlias = list[tuple[str, bool]]
"""The characters of a word, each with whether it is a wildcard."""

FOREIGN = re.compile(r"(?:&&|\|\|)\Z|![^\W_]")
"""Words that are operators in other languages."""

_UNIT = re.compile(r"(?:\A\\|\\(?=[\W_]))(?P<escaped>[\s\S])|[\s\S]")
_LAST_COLONS = re.compile(r"(?<!\\):+\Z")
_ODD = rf"{FOREIGN.pattern}|[-~^!]\Z|[~^][\d.]+\Z|[<>]=?[0-9]"
_JOINING = "|".join(word for word in OPERATORS if word != "TO")


# Beginnings of a word that would be read as something else
WORD = re.compile(rf"{_ODD}|(?:{_JOINING}|TO)\Z|NEAR/|-(?![->]|\Z)")
"""For a word by itself."""
VALUE = re.compile(rf"{_ODD}|(?:{_JOINING})\Z|NEAR/|-(?![->0-9]|\Z)|[<>=!/:\[{{]")
"""For a word directly after ``name:``."""
NOT_AFTER_MINUS = "->"
"""Characters that would read differently directly after the ``-`` of an exclusion."""

# Characters that are escaped in a value
COMPARED = re.compile(r'\A[<>=!]|[()"~^*?]')
"""For the value of a comparison."""
BOUND = re.compile(r'\ATO\Z|[()\[\]{}"*?]')
"""For one end of a range."""


def units(raw: str) -> Units:
    """Split the raw text of a word into its characters."""
    matches = _UNIT.finditer(raw)
    return [(m["escaped"], False) if m["escaped"] else (m[0], m[0] in "*?") for m in matches]


def plain(raw: str) -> str:
    """Return the text that the raw text of a word without wildcards means."""
    return "".join(char for char, _ in units(raw))


def literal(text: str) -> Units:
    """Return ``text`` as literal characters."""
    return [(char, False) for char in text]


def pattern(word: Units) -> str:
    r"""Return the ``Wildcard.pattern`` of a word: literal ``*``, ``?`` and ``\`` escaped, nothing else."""
    return "".join(f"\\{char}" if not live and char in "*?\\" else char for char, live in word)


def pattern_units(text: str) -> Units:
    """Return the characters of a ``Wildcard.pattern``; the inverse of :func:`pattern`."""
    return [(m[0][-1], m[0] in "*?") for m in re.finditer(r"\\[*?\\]|[\s\S]", text)]


@cache
def terminal(name: str) -> str:
    """Return the pattern of a terminal in the grammar. Printing a query needs it, and must not import Lark."""
    (pattern,) = re.findall(rf"^{name}[.\d]*: /(.+)/$", _resources.grammar_text(), re.MULTILINE)
    return str(pattern)


def _field_before(text: str) -> str:
    """Return the field name at the start of ``text``; empty if there is none."""
    field = re.match(terminal("FIELD"), text)
    return field[0][:-1] if field else ""


def is_field_name(name: str) -> bool:
    """Return whether a query can name this field."""
    return _field_before(f"{name}:x") == name != ""


def _spell_unit(word: Units, index: int) -> str:
    """Return one character of a word as written in a query, with a backslash if it would be read otherwise."""
    char, live = word[index]
    if live:
        return char
    if char == "\\":
        following, live = word[index + 1] if index + 1 < len(word) else ("", False)
        return char if index and following.isalnum() and not live else "\\\\"
    special = char in '()"*?' or char.isspace() or (char in "~^" and index > 0)
    return f"\\{char}" if special else char


def spell(word: Units, hazard: re.Pattern[str]) -> str:
    """Write a word as a query, so that it is parsed as the same characters and wildcards.

    Args:
        word: The characters.
        hazard: Matches a word that would be parsed as something else, so that its first character is escaped.
    """
    spelled = "".join(_spell_unit(word, index) for index in range(len(word)))
    if hazard.match(spelled):
        return f"\\{spelled}"
    if hazard is WORD and (field := _field_before(spelled)):
        return f"{field}\\{spelled.removeprefix(field)}"
    return spelled


def spell_value(text: str, specials: re.Pattern[str]) -> str:
    """Spell a compared value or an end of a range, with escapes, or in quotes if needed or shorter."""
    spelled = specials.sub(r"\\\g<0>", text)
    return quote(text) if re.search(r"[\s\\]", text) or len(quote(text)) < len(spelled) else spelled


def guard_colons(spelled: str) -> str:
    """Escape colons at the very end, which would read differently before ``)``, ``~`` or ``^``."""
    return _LAST_COLONS.sub(lambda colons: "\\:" * len(colons[0]), spelled)


def group(spelled: str) -> str:
    """Put parentheses around a spelled query."""
    return f"({guard_colons(spelled)})"


def quote(text: str) -> str:
    """Spell ``text`` as a phrase."""
    escaped = re.sub(r'"|\\(?=["\\]|\Z)', r"\\\g<0>", text)
    return f'"{escaped}"'


def unquote(raw: str) -> str:
    """Return the text inside a phrase's quotes, unescaped."""
    return re.sub(r'\\(["\\])', r"\1", raw[1:-1])
