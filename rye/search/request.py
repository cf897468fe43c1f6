"""The arguments of a search, checked: anything that is not valid is an error that lists what is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NoReturn

from rye.errors import ArgumentError
from rye.index import strings, values
from rye.index.schema import fold_value
from rye.items.scope import EVERY_SCOPE, Scope, parse_scope
from rye.search import bound
from rye.search.comparing import EXAMPLES, readable
from rye.search.facets import Wanted, read_facets
from rye.search.fields import (
    ALIASES,
    KEYWORD_FIELDS,
    RELATION_FIELDS,
    STATES,
    TEXT_FIELDS,
    UNORDERED,
    kind_of,
    nearest,
)
from rye.search.modes import MAX_SEMANTIC_LIMIT, MODES, Mode, read_mode

SPACES = ("all", "project", "user", "system")
SORTS = ("score", "name", "date")
MAX_LIMIT = 1_000
MAX_OFFSET = 1_000_000
MAX_DISTANCE = 2
MAX_PROXIMITY = 1_000
DEFAULT_PROXIMITY = 5

_COMPARED = re.compile(r"(>=|<=|>|<)(.*)", re.DOTALL)
_EXAMPLES = {
    "fields": 'for example {"category": "core"}',
    "filters": 'for example {"tags": ["api", "mcp"]}',
    "fuzzy": 'for example {"enabled": true, "max_distance": 2}',
    "proximity": 'for example {"enabled": true, "max_distance": 5}',
}
FILTERABLE = ("id", "name", "title", "category", "tags", *KEYWORD_FIELDS)


PLAIN: Mapping[str, Any] = {
    "scope": "*",
    "space": "all",
    "limit": 10,
    "offset": 0,
    "sort_by": "score",
    "fields": None,
    "filters": None,
    "fuzzy": None,
    "proximity": None,
    "mode": "keyword",
    "level": None,
    "relax": True,
    "lenient": False,
    "include_superseded": False,
    "facets": (),
    "threshold": None,
    "source_boosts": None,
    "hybrid": None,
    "explain": False,
}
"""The arguments of a search of which nothing is asked."""


@dataclass(frozen=True, slots=True)
class Request:
    """One search, valid in all its parts."""

    query: str = ""
    scopes: tuple[Scope, ...] = EVERY_SCOPE
    space: str = "all"
    limit: int = 10
    offset: int = 0
    sort_by: str = "score"
    fields: Mapping[str, str] = field(default_factory=dict)
    filters: Mapping[str, Any] = field(default_factory=dict)
    fuzzy: bool | None = None
    fuzzy_distance: int | None = None
    proximity: int | None = None
    level: int | None = None
    relax: bool = True
    lenient: bool = False
    include_superseded: bool = False
    facets: tuple[Wanted, ...] = ()
    explain: bool = False
    mode: Mode = field(default_factory=Mode)

    @property
    def scope(self) -> str:
        """The scope in canonical form."""
        return ",".join(str(scope) for scope in self.scopes)


def make_request(query: str, options: Mapping[str, Any]) -> Request:
    """Check the arguments of ``Registry.search`` and return them as a request; those of :data:`PLAIN` are as they are.

    Raises:
        ArgumentError: One of them is not valid; the message lists what is.
    """
    if not isinstance(query, str):
        _refuse("bad-query", f"query must be text, not {type(query).__name__}", "pass a string; empty means everything")
    asked = {name: value for name, plain in PLAIN.items() if (value := options[name]) is not plain}
    mode = _choice("mode", asked.pop("mode", "keyword"), MODES)
    of_mode = {name: asked.pop(name, None) for name in ("threshold", "source_boosts", "hybrid")}
    read: dict[str, Any] = {"mode": read_mode(mode, **of_mode)}
    if "fuzzy" in asked:
        read["fuzzy"], read["fuzzy_distance"] = _fuzzy(asked.pop("fuzzy"))
    if "scope" in asked:
        read["scopes"] = parse_scope(asked.pop("scope"))
    if "limit" in asked:
        most = MAX_SEMANTIC_LIMIT if mode == "semantic" else MAX_LIMIT
        read["limit"] = _number("limit", asked.pop("limit"), 1, most)
    for name, value in asked.items():
        read[name] = _READERS[name](name, value)
    return Request(query, **read)


def _refuse(code: str, message: str, hint: str, **details: Any) -> NoReturn:
    raise ArgumentError(code, message, hint=hint, **details)


def _choice(name: str, value: Any, valid: Sequence[str]) -> str:
    if isinstance(value, str) and value in valid:
        return value
    near = nearest(value, valid, 1) if isinstance(value, str) else []
    guess = f"did you mean {near[0]!r}? " if near else ""
    _refuse(
        f"bad-{name.replace('_', '-')}",
        f"{name} is {value!r}",
        f"{guess}valid are {', '.join(valid)}",
        valid=list(valid),
    )


def _number(name: str, value: Any, low: int, high: int, *, key: str = "") -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        _refuse(
            f"bad-{name.replace('_', '-')}",
            f"{_path(name, key)} is {value!r}",
            f"use a whole number from {low} to {high}",
            valid=[low, high],
        )
    return int(value)


def _path(name: str, key: str) -> str:
    return f"{name}[{key!r}]" if key else name


def _flag(name: str, value: Any, key: str = "") -> bool:
    if not isinstance(value, bool):
        message = f"{_path(name, key)} is {value!r}"
        _refuse(f"bad-{name.replace('_', '-')}", message, "use true or false", valid=[True, False])
    return bool(value)


def _level(_: str, value: Any) -> int | None:
    if value is None or (value in (1, 2) and not isinstance(value, bool)):
        return None if value is None else int(value)
    hint = "use 1 (title, name, description, category, tags, id), 2 (body, headings, symbols) or leave it out for both"
    _refuse("bad-level", f"level is {value!r}", hint, valid=[1, 2, None])


def _mapping(name: str, value: Any) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        _refuse(f"bad-{name}", f"{name} must be a mapping with text keys, not {value!r}", _EXAMPLES[name])
    return dict(value)


def _fields(name: str, value: Any) -> Mapping[str, str]:
    fields = _mapping(name, value)
    for key, text in fields.items():
        if not isinstance(text, str) or not text.strip():
            _refuse("bad-fields", f"fields[{key!r}] is {text!r}", "give each field a query as text, e.g. 'core'")
    return fields


def _options(name: str, value: Any, valid: tuple[str, ...]) -> Mapping[str, Any]:
    given = _mapping(name, value)
    for key in given:
        if key not in valid:
            _refuse(f"bad-{name}", f"{name} has no option {key!r}", f"valid are {', '.join(valid)}", valid=list(valid))
    _flag(name, given.get("enabled", True), "enabled")
    return given


def _fuzzy(value: Any) -> tuple[bool | None, int | None]:
    """Return whether every word, or (False) none, is to forgive typos, also where it relaxes; None: as it comes."""
    if value is None:
        return None, None
    given = _options("fuzzy", value, ("enabled", "max_distance"))
    distance = given.get("max_distance")
    if distance is not None:
        distance = _number("fuzzy", distance, 0, MAX_DISTANCE, key="max_distance")
    return given.get("enabled", True) if given else None, distance


def _proximity(name: str, value: Any) -> int | None:
    if value is None:
        return None
    given = _options(name, value, ("enabled", "max_distance"))
    distance = _number(name, given.get("max_distance", DEFAULT_PROXIMITY), 1, MAX_PROXIMITY, key="max_distance")
    return distance if given and given.get("enabled", True) else None


_READERS: Mapping[str, Callable[[str, Any], Any]] = {
    "space": partial(_choice, valid=SPACES),
    "offset": partial(_number, low=0, high=MAX_OFFSET),
    "sort_by": partial(_choice, valid=SORTS),
    "fields": _fields,
    "filters": _mapping,
    "proximity": _proximity,
    "level": _level,
    "facets": lambda _, value: read_facets(value),
    **dict.fromkeys(("relax", "lenient", "include_superseded", "explain"), _flag),
}
"""How the arguments are read that are the fields of a request by the same name."""


def require_field(name: str, metadata_keys: frozenset[str]) -> None:
    """Refuse an entry of ``fields`` whose name is no query field.

    Raises:
        ArgumentError: ``unknown-field``.
    """
    valid = (*TEXT_FIELDS, *KEYWORD_FIELDS, *ALIASES)
    if name.casefold() in valid or name in metadata_keys:
        return
    near = nearest(name, (*valid, *sorted(metadata_keys)))
    guess = f"did you mean {' or '.join(near)}? " if near else ""
    hint = f"{guess}fields are {', '.join((*TEXT_FIELDS, *KEYWORD_FIELDS))} and the items' metadata keys"
    _refuse("unknown-field", f"fields: there is no field {name!r}", hint, nearest=near)


def bind_filters(filters: Mapping[str, Any], metadata_keys: frozenset[str]) -> list[bound.Bound]:
    """Return what the ``filters`` mapping asks for; an item without the field does not match.

    Raises:
        ArgumentError: ``unknown-filter`` or ``bad-filter``.
    """
    nodes: list[bound.Bound] = []
    for name, wanted in filters.items():
        if name in ("date_from", "date_to"):
            nodes.append(_dated(name, wanted))
            continue
        key = ALIASES.get(name, "is" if name == "verdict" else name)
        if key not in FILTERABLE and key not in metadata_keys:
            valid = [*FILTERABLE, "date_from", "date_to", *sorted(metadata_keys)]
            near = nearest(name, valid)
            guess = f"did you mean {' or '.join(near)}? " if near else ""
            hint = f"{guess}filters work on {', '.join(FILTERABLE)}, date_from, date_to and the items' metadata keys"
            _refuse("unknown-filter", f"no item has a field {name!r} to filter on", hint, nearest=near)
        several = list(wanted) if isinstance(wanted, (list, tuple, set, frozenset)) else [wanted]
        if not several:
            _refuse("bad-filter", f"filters[{name!r}] is an empty list", "give at least one value, or leave it out")
        options = tuple(_filter(name, key, value) for value in several)
        nodes.append(options[0] if len(options) == 1 else bound.Any(options))
    return nodes


def _filter(name: str, key: str, value: Any) -> bound.Bound:
    if isinstance(value, bool):
        value = "true" if value else "false"
    elif isinstance(value, (int, float)):
        value = repr(value)
    if not isinstance(value, str) or not value.strip():
        _refuse("bad-filter", f"filters[{name!r}] is {value!r}", "use text, a number, true or false, or a list of them")
    if value.startswith("!"):
        positive = _filter(name, key, value[1:])
        return bound.All((bound.Not(positive), bound.Everything() if key == "is" else bound.Has(key, text=False)))
    compared = _COMPARED.fullmatch(value)
    if compared is None:
        return _equal(name, key, value)
    operator, limit = compared[1], compared[2].strip()
    kind = kind_of(key)
    if key in UNORDERED or not limit or not readable(kind, limit):
        _refuse(
            "bad-filter",
            f"filters[{name!r}] compares with {limit!r}",
            f"give a {kind} after {operator}, like {EXAMPLES[kind]}",
        )
    low, high = (limit, None) if operator[0] == ">" else (None, limit)
    inclusive = operator.endswith("=")
    return bound.Between(key, kind, low, high, include_low=inclusive, include_high=inclusive)


def _equal(name: str, key: str, value: str) -> bound.Bound:
    folded = fold_value(value)
    if key in RELATION_FIELDS:
        return bound.Refers(key, strings.escape(folded))
    if key != "is":
        return bound.Glob(key, strings.escape(folded))
    if folded not in STATES:
        _refuse("bad-filter", f"filters[{name!r}] is {value!r}", f"states are {', '.join(STATES)}", valid=list(STATES))
    return bound.State(folded)


def _dated(name: str, value: Any) -> bound.Bound:
    if not isinstance(value, str) or not readable("date", value):
        hint = "use an ISO date: 2026, 2026-02, 2026-02-18 or 2026-02-18T12:00Z"
        _refuse("bad-filter", f"filters[{name!r}] is {value!r}", hint)
    start, end = values.period(value) or (0.0, 0.0)
    return bound.Changed(start, None) if name == "date_from" else bound.Changed(None, end)
