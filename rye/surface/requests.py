"""Read what people write for the arguments of a search: fields, filters, distances, factors."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from rye.parameters import parameters_of, refuse

_MAX_DIGITS = 9
AUTOMATIC = "auto"
"""What stands for a distance that depends on the length of the words."""

_FILTER = re.compile(r"(?P<key>[^=<>!]+)(?P<op>>=|<=|!=|=|>|<)(?P<value>.*)", re.DOTALL)
_FILTER_FORMS = "write KEY=VALUE, KEY=!VALUE, KEY>=VALUE, KEY<=VALUE, KEY>VALUE or KEY<VALUE"
_UNTRUE = ("!", ">", "<")


def parse_fields(pairs: Sequence[str]) -> dict[str, str]:
    """Return ``NAME=QUERY`` texts as a dictionary; a name may come once only."""
    fields: dict[str, str] = {}
    for pair in pairs:
        name, sign, query = pair.partition("=")
        if not sign or not name.strip():
            refuse(("fields",), "is", f"{pair!r}, which is not of the form NAME=QUERY", "write NAME=QUERY")
        if name in fields:
            hint = f"join the two: {name}=({fields[name]}) AND ({query})"
            refuse(("fields",), "has", f"{name!r} twice", hint)
        fields[name] = query
    return fields


def parse_filters(pairs: Sequence[str], *, date_from: str | None, date_to: str | None) -> dict[str, str | list[str]]:
    """Return ``KEY=VALUE`` texts and the two dates as a dictionary; one key with several values means any of them."""
    values: dict[str, list[str]] = {}
    for pair in pairs:
        match = _FILTER.fullmatch(pair)
        if match is None:
            refuse(("filters",), "is", f"{pair!r}, which is no filter", _FILTER_FORMS)
        sign = {"=": "", "!=": "!"}.get(match["op"], match["op"])
        values.setdefault(match["key"].strip(), []).append(sign + match["value"].strip())
    for key, date in (("date_from", date_from), ("date_to", date_to)):
        if date is not None:
            if key in values:
                refuse((key,), "is", "also a filter", "the two exclude each other: give one of them")
            values[key] = [date]
    for key, several in values.items():
        if len(several) > 1 and any(value.startswith(_UNTRUE) for value in several):
            message = f"{key!r} several times, which means any of the values, and that works with plain values only"
            refuse(("filters",), "has", message, f"for both ends of a range write {key}:[LOW TO HIGH] in the query")
    return {key: several[0] if len(several) == 1 else several for key, several in values.items()}


def parse_fuzzy(value: str | None) -> dict[str, bool | int] | None:
    """Return the fuzzy dictionary for the value of ``--fuzzy``."""
    if value is None:
        return None
    if value == AUTOMATIC:
        return {"enabled": True}
    if not value.isdecimal() or len(value) > _MAX_DIGITS:
        refuse(("fuzzy",), "is", f"{value!r}", f"valid are whole numbers of letters, or {AUTOMATIC}")
    return {"enabled": True, "max_distance": int(value)}


def parse_proximity(value: int | None) -> dict[str, bool | int] | None:
    """Return the proximity dictionary for the value of ``--proximity``."""
    return None if value is None else {"enabled": True, "max_distance": value}


def parse_boosts(pairs: Sequence[str]) -> dict[str, float] | None:
    """Return ``SOURCE=FACTOR`` texts as a dictionary; None for none at all."""
    boosts: dict[str, float] = {}
    for pair in pairs:
        source, _, factor = pair.partition("=")
        if (source := source.strip()) in boosts:
            refuse(("source_boosts",), "has", f"{source!r} twice", "give each source once")
        try:
            boosts[source] = float(factor)
        except ValueError:
            refuse(("source_boosts",), "is", repr(pair), "write SOURCE=FACTOR, such as project=1.2")
    return boosts or None


_PARSERS: Mapping[str, Callable[[Any], Any]] = {
    "facets": ",".join,
    "fields": parse_fields,
    "fuzzy": parse_fuzzy,
    "proximity": parse_proximity,
    "source_boosts": parse_boosts,
}
"""Readers of the options whose value in Python is another one."""


def arguments_of(takes: type, options: Mapping[str, Any], *, without: Collection[str] = ()) -> dict[str, Any]:
    """Return what was written for a search, or for what is like one, as the method of :class:`rye.Registry` takes it.

    Args:
        takes: What the method takes.
        options: What was written, by the names of the table; a mapping as a tuple of ``KEY=VALUE`` texts.
        without: Names to leave out.
    """
    found: dict[str, Any] = {}
    for name, each in parameters_of(takes).items():
        value = options.get(name)
        if each.split and each.parts:
            value = {part: options[part] for part in parameters_of(each.parts) if options.get(part) is not None}
        elif name == "filters":
            value = parse_filters(value or (), date_from=options.get("date_from"), date_to=options.get("date_to"))
        elif name in _PARSERS and value is not None:
            value = _PARSERS[name](value)
        if value not in (each.default, {}, None) and name not in without:
            found[name] = value
    return found
