"""Bind the parts of a request, each once: query, ``fields``, ``filters`` and scope."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

from rye.errors import QueryError
from rye.index.text.schema import period
from rye.items.scope import EVERY_SCOPE
from rye.options.model import ParameterError
from rye.query import ast
from rye.search.contract.fields import (
    ALIASES,
    EXAMPLES,
    KEYWORD_FIELDS,
    STATES,
    TEXT_FIELDS,
    UNORDERED,
    is_readable,
    kind_of,
    nearest,
    resolve,
)
from rye.search.contract.request import Request
from rye.search.matching import bound
from rye.search.matching.bind import Context, bind, compared, has_value
from rye.search.matching.bound import Bound
from rye.search.reading.reading import Reading, in_field

FILTERABLE = ("id", "name", "title", "category", "tags", *KEYWORD_FIELDS)
"""Fields that a filter may name, besides metadata keys."""

_SHOWN = 20
"""Characters of a value that an error repeats."""

_COMPARED = re.compile(r"(>=|<=|>|<)(.*)", re.DOTALL)


class Condition(NamedTuple):
    """A condition of a request that every hit meets.

    Attributes:
        kind: ``scope`` or ``filter``.
        text: The condition as given.
        query: The condition bound.
    """

    kind: str
    text: str
    query: Bound


class Binder:
    """Binds the parts of a request.

    Args:
        request: The request.
        keys: Returns the metadata keys that items have.
    """

    def __init__(self, request: Request, keys: Callable[[], frozenset[str]]) -> None:
        self._request = request
        self._keys = keys
        self._fields: tuple[Reading, list[Bound]] | None = None

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """The scope, unless it is every item, and each filter.

        Raises:
            ArgumentError: A filter names a field that no item has.
        """
        request, conditions = self._request, list[Condition]()
        if request.scopes is not EVERY_SCOPE:
            within = bound.Any(tuple(map(bound.Within, request.scopes)))
            conditions.append(Condition("scope", request.scope, within))
        for name, value in request.filters.items():
            conditions.append(Condition("filter", f"{name}={value}", bind_filter(name, value, self._keys())))
        return tuple(conditions)

    @cached_property
    def allowed(self) -> Bound:
        """What scope and filters let through."""
        return all_of([condition.query for condition in self.conditions])

    def query(self, node: ast.Node, reading: Reading) -> Bound:
        """Bind a query, and add the conditions of ``fields``.

        Raises:
            QueryError: The query names something that does not exist.
        """
        main = bind(node, self.context(self._request.query, node)) or bound.BoundEverything()
        return all_of([main, *self._bind_fields(reading)])

    def left_out(self, reading: Reading, before: Sequence[ast.Dropped] = ()) -> list[str]:
        """Return a sentence on each part of a query and of its ``fields`` that is not searched.

        ``before`` was left out before the query was read.
        """
        dropped = [*reading.dropped, *before]
        fields = ((parsed.text, ast.Field(name, parsed.ast)) for name, parsed in reading.fixed)
        for text, node in ((self._request.query, reading.main), *fields) if self._request.lenient else ():
            bind(node, self.context(text, node)._replace(dropped=dropped))
        parts = dict.fromkeys(dropped)
        return [f"left out of the query: {part.text!r} at {part.position}: {part.reason}" for part in parts]

    def context(self, text: str, node: ast.Node) -> Context:
        """Return the binding options for a query."""
        return Context(text, node, self._keys, self._request.level, [] if self._request.lenient else None)

    def _bind_fields(self, reading: Reading) -> Sequence[Bound]:
        """Bind the entries of ``fields``, each to its field. Cached per reading."""
        if self._fields is None or self._fields[0] is not reading:
            nodes = list[Bound]()
            for name, parsed in reading.fixed:
                require_field(name, self._keys())
                try:
                    node = bind(ast.Field(name, parsed.ast), self.context(parsed.text, parsed.ast))
                except QueryError as error:
                    raise in_field(error, name) from None
                nodes += [] if node is None else [node]
            self._fields = reading, nodes
        return self._fields[1]


def all_of(nodes: Sequence[Bound]) -> Bound:
    """Return the AND of some bound queries; of none, everything."""
    if not nodes:
        return bound.BoundEverything()
    return nodes[0] if len(nodes) == 1 else bound.All(tuple(nodes))


def require_field(name: str, metadata_keys: frozenset[str]) -> None:
    """Refuse an entry of ``fields`` whose name is not a query field.

    Raises:
        ArgumentError: ``unknown-field``.
    """
    if resolve(name, metadata_keys):
        return
    suggestions = nearest(name, (*TEXT_FIELDS, *KEYWORD_FIELDS, *ALIASES, *sorted(metadata_keys)))
    guess = f"did you mean {' or '.join(suggestions)}? " if suggestions else ""
    hint = f"{guess}fields are {', '.join((*TEXT_FIELDS, *KEYWORD_FIELDS))} and the items' metadata keys"
    raise ParameterError("unknown-field", [("fields", name)], "is", "no field", hint=hint, nearest=suggestions)


def bind_filter(name: str, value: Any, metadata_keys: frozenset[str]) -> Bound:
    """Return the condition of one entry of the ``filters`` mapping. An item without the field does not match.

    Raises:
        ArgumentError: ``unknown-filter`` or ``bad-filter``.
    """
    if (folded := name.casefold()) in ("date_from", "date_to"):
        return _dated(folded, value)
    key = resolve(name, metadata_keys, FILTERABLE)
    if not key:
        valid = [*FILTERABLE, "date_from", "date_to", *sorted(metadata_keys)]
        suggestions = nearest(name, valid)
        guess = f"did you mean {' or '.join(suggestions)}? " if suggestions else ""
        hint = f"{guess}filters work on {', '.join(FILTERABLE)}, date_from, date_to and the items' metadata keys"
        raise ParameterError(
            "unknown-filter", [("filters", name)], "is", "no field of any item", hint=hint, nearest=suggestions
        )
    several = list(value) if isinstance(value, (list, tuple, set, frozenset)) else [value]
    if not several:
        _refuse_filter(name, "is", "an empty list", "give at least one value, or leave it out")
    options = tuple(_filter(name, key, each) for each in several)
    return options[0] if len(options) == 1 else bound.Any(options)


def _filter(name: str, key: str, value: Any) -> bound.Bound:
    if isinstance(value, bool):
        value = "true" if value else "false"
    elif isinstance(value, (int, float)):
        value = repr(value)
    if not isinstance(value, str) or not value.strip():
        _refuse_filter(name, "is", repr(value), "use text, a number, true or false, or a list of them")
    if value.startswith("!!"):
        _refuse_filter(name, "begins with", repr(value[:_SHOWN]), "write a single ! before what is to be left out")
    if value.startswith("!"):
        positive = _filter(name, key, value[1:])
        return bound.All(
            (bound.BoundNot(positive), bound.BoundEverything() if key == "is" else bound.Has(key, text=False))
        )
    comparison = _COMPARED.fullmatch(value)
    if comparison is None:
        if (condition := has_value(key, value)) is None:
            _refuse_filter(name, "is", repr(value), f"states are {', '.join(STATES)}", valid=list(STATES))
        return condition
    operator, limit = comparison[1], comparison[2].strip()
    kind = kind_of(key)
    if key in UNORDERED or not limit or not is_readable(kind, limit):
        _refuse_filter(name, "compares with", repr(limit), f"give a {kind} after {operator}, like {EXAMPLES[kind]}")
    return compared(key, operator, limit)


def _dated(name: str, value: Any) -> bound.Bound:
    if not isinstance(value, str) or not is_readable("date", value):
        hint = "use an ISO date: 2026, 2026-02, 2026-02-18 or 2026-02-18T12:00Z"
        _refuse_filter(name, "is", repr(value), hint)
    start, end = period(value) or (0.0, 0.0)
    return bound.Changed(start, None) if name == "date_from" else bound.Changed(None, end)


def _refuse_filter(name: str, verb: str, rest: str, hint: str, **details: Any) -> NoReturn:
    raise ParameterError("bad-filter", [("filters", name)], verb, rest, hint=hint, **details)
