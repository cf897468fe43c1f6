"""A page and its address: one table reads and writes the arguments after ``?``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias
from urllib.parse import quote, urlencode

from rye.errors import ArgumentError
from rye.options.model import Parameter, parameters_of, refuse, refuse_value
from rye.surface.requests import arguments_of
from rye.surface.text import source_name

if TYPE_CHECKING:
    from rye.registry.registry import Registry
    from rye.search.contract.results import SearchResult

ROOT: ContextVar[str] = ContextVar("root", default="")
"""Mount path of the pages in the current request; every address of a page begins with it."""

_STRUCTURED = frozenset({"fields", "hybrid", "proximity", "source_boosts"})
"""Arguments that an address cannot express; the query language and the settings can."""

TRUE, _FALSE = ("1", "true", "on", "yes"), ("0", "false", "off", "no")
"""Values of a boolean argument."""

Pairs: TypeAlias = Sequence[tuple[str, str]]
"""Names and values of an address in order; an empty value means that the argument is not given."""


class Reported(Protocol):
    """An answer of the registry."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able values."""


class WebPage(NamedTuple):
    """The content of a page.

    Attributes:
        template: Name of the template.
        report: The answer that the template draws, which is also the JSON of the page.
        facts: Further values for the template.
        status: HTTP status.
    """

    template: str
    report: Reported
    facts: Mapping[str, Any]
    status: int = 200


class Visit(NamedTuple):
    """A request for a page.

    Attributes:
        registry: The registry that answers.
        path: The parts of the path that the route names.
        pairs: The pairs after ``?``.
        as_json: Whether to answer with the report as JSON.
    """

    registry: Registry
    path: Mapping[str, str]
    pairs: Pairs
    as_json: bool = False

    @property
    def ref(self) -> str:
        """The item in the path, as ``type:id``."""
        return f"{self.path['kind']}:{self.path['item_id']}"


Maker: TypeAlias = Callable[[Visit], WebPage]


def item_address(ref: str, *, page: str = "item", **more: str) -> str:
    """Return the address of a page about an item, named as ``type:id``."""
    kind, _, item_id = ref.partition(":")
    query = urlencode({name: value for name, value in more.items() if value})
    return f"{ROOT.get()}/{page}/{quote(kind)}/{quote(item_id)}" + (f"?{query}" if query else "")


def hit_address(hit: SearchResult) -> str:
    """Return the address of this copy of the item of a hit."""
    source = source_name(hit.source, hit.bundle, hit.folder) if hit.shadowed_by else ""
    return item_address(f"{hit.type}:{hit.id}", space=source)


def changed(pairs: Pairs, *, without: Iterable[tuple[str, str]] = (), **changes: str | None) -> str:
    """Return the part of an address after ``?`` with changed values; None removes one.

    Args:
        pairs: The present pairs.
        without: Pairs to remove.
        changes: Names and values to set. Any change but that of the page goes back to the first page.
    """
    gone = {*changes, *(() if "offset" in changes else ("offset",))}
    left_out = set(without)
    kept = [(name, value) for name, value in pairs if value and name not in gone and (name, value) not in left_out]
    return urlencode([*kept, *((name, value) for name, value in changes.items() if value)])


def with_one_more(pairs: Pairs, name: str) -> str:
    """Return the part of an address after ``?`` with another value of a name; it ends where that value begins."""
    kept = [pair for pair in pairs if pair[1] and pair[0] != "offset"]
    return urlencode([*kept, (name, "")])


def read_arguments(takes: type, pairs: Pairs, *, own: Iterable[str] = ()) -> dict[str, Any]:
    """Return the arguments for a method of the registry from an address.

    Args:
        takes: Options of the method.
        pairs: Pairs of the address.
        own: Further names that the page itself takes.

    Raises:
        ArgumentError: An argument is unknown, repeated, or malformed.
    """
    table = {name: parameter for name, parameter in parameters_of(takes).items() if name not in _STRUCTURED}
    given: dict[str, list[str]] = {}
    for name, value in pairs:
        if name not in table and name not in own:
            valid = [*own, *table]
            message = f"there is no argument {name!r}"
            raise ArgumentError("unknown-argument", message, hint=f"valid are {', '.join(valid)}", valid=valid)
        if value:
            given.setdefault(name, []).append(value)
    for name in own:
        _only(name, given.pop(name, [""]))
    return arguments_of(takes, {name: _value(table[name], values) for name, values in given.items()})


def _only(name: str, values: list[str]) -> str:
    if len(values) > 1:
        refuse((name,), "is", "given several times", "give it once")
    return values[0]


def _value(parameter: Parameter, values: list[str]) -> Any:
    """Convert the values of an argument in an address to the parameter's type."""
    if parameter.form == "pairs":
        return tuple(values)
    if parameter.kind == "array":
        return tuple(part for value in values for part in value.split(",") if part)
    text = _only(parameter.name, values)
    is_integer = parameter.kind == "integer" or parameter.metavar == "N"
    try:
        if parameter.kind == "boolean":
            return (*TRUE, *_FALSE).index(text) < len(TRUE)
        return int(text) if is_integer else float(text) if parameter.kind == "number" else text
    except ValueError:
        bounded = parameters_of(parameter.parts)["max_distance"] if parameter.parts else parameter
        refuse_value(bounded, (parameter.name,), repr(text))
