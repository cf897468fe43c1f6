"""Parse what people write for the arguments of a search: filters, facets, a distance."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rye.options.model import parameters_of, refuse

_MAX_DIGITS = 9
AUTOMATIC = "auto"
"""The value for a distance that depends on the length of the words."""

_FILTER = re.compile(r"(?P<key>[^=<>!]+)(?P<op>>=|<=|!=|=|>|<)(?P<value>.*)", re.DOTALL)
_FILTER_FORMS = "write KEY=VALUE, KEY=!VALUE, KEY>=VALUE, KEY<=VALUE, KEY>VALUE or KEY<VALUE"
_UNTRUE = ("!", ">", "<")


def parse_filters(pairs: Sequence[str]) -> dict[str, str | list[str]]:
    """Return ``KEY=VALUE`` texts as a dictionary; a key with several values means any of them."""
    values: dict[str, list[str]] = {}
    for pair in pairs:
        match = _FILTER.fullmatch(pair)
        if match is None:
            refuse(("filters",), "is", f"{pair!r}, which is not a filter", _FILTER_FORMS)
        sign = {"=": "", "!=": "!"}.get(match["op"], match["op"])
        values.setdefault(match["key"].strip(), []).append(sign + match["value"].strip())
    for key, several in values.items():
        if len(several) > 1 and any(value.startswith(_UNTRUE) for value in several):
            message = f"{key!r} several times, which means any of the values, and that works with plain values only"
            refuse(("filters",), "has", message, f"for both ends of a range write {key}:[LOW TO HIGH] in the query")
    return {key: several[0] if len(several) == 1 else several for key, several in values.items()}


def parse_fuzzy(value: str | None) -> dict[str, bool | int] | None:
    """Return the ``fuzzy`` dictionary for the value of ``--fuzzy``."""
    if value is None:
        return None
    if value == AUTOMATIC:
        return {"enabled": True}
    if not value.isdecimal() or len(value) > _MAX_DIGITS:
        refuse(("fuzzy",), "is", f"{value!r}", f"valid are whole numbers of letters, or {AUTOMATIC}")
    return {"enabled": True, "max_distance": int(value)}


_PARSERS: Mapping[str, Callable[[Any], Any]] = {
    "facets": ",".join,
    "filters": parse_filters,
    "fuzzy": parse_fuzzy,
}
"""Parsers of the options whose Python value has another form."""


def arguments_of(takes: type, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a search, or of a similar request, as arguments of a method of :class:`rye.Registry`.

    Args:
        takes: The options that the method takes.
        options: The given options, by the names of the table; a mapping as a tuple of ``KEY=VALUE`` texts.
    """
    arguments: dict[str, Any] = {}
    for name, parameter in parameters_of(takes).items():
        value = options.get(name)
        if name in _PARSERS and value is not None:
            value = _PARSERS[name](value)
        if value not in (parameter.default, {}, None):
            arguments[name] = value
    return arguments
