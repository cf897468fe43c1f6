"""The twin's reading of what narrows a search from outside its query: scopes and filters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rye.errors import ArgumentError
from rye.items.model import ItemType
from tests.support.naive_bind import is_equal
from tests.support.naive_docs import ALIASES, KEYWORD_FIELDS, WEIGHTS, Corpus, NaiveDoc
from tests.support.naive_values import read_period, satisfies, scalar_text

DATE_FILTERS: Mapping[str, str] = {"date_from": ">=", "date_to": "<="}
"""The filters on an item's date, and what each demands of it."""


def scope_test(scope: str) -> Callable[[NaiveDoc], bool]:
    """Return the test of a scope; of several with commas between, any will do.

    Raises:
        ArgumentError: ``bad-scope``.
    """
    tests = [_one_scope(part.strip().removeprefix("rye.search.")) for part in scope.split(",")]
    return lambda doc: any(test(doc) for test in tests)


def _one_scope(scope: str) -> Callable[[NaiveDoc], bool]:
    """Read ``*``, ``tool``, ``tool.*``, ``tool.rye.core.*`` (what is below) or ``tool.rye.core`` (that too)."""
    if scope == "*":
        return lambda _: True
    item_type, _, rest = scope.partition(".")
    if item_type not in set(ItemType):
        raise ArgumentError("bad-scope", f"no scope {scope!r}", valid=["*", *ItemType])
    namespace = rest.removesuffix("*").rstrip("./").replace(".", "/")

    def test(doc: NaiveDoc) -> bool:
        below = not namespace or doc.item.id.startswith(f"{namespace}/")
        itself = not rest.endswith("*") and doc.item.id == namespace
        return doc.item.type == item_type and (below or itself)

    return test


def check_filters(corpus: Corpus, filters: Mapping[str, Any]) -> None:
    """Refuse filters on what no searched item has, and dates that are none.

    Raises:
        ArgumentError: ``bad-filter``.
    """
    known = {*DATE_FILTERS, *ALIASES, *WEIGHTS, *KEYWORD_FIELDS, *corpus.metadata_keys}
    for name, wanted in filters.items():
        if name not in known:
            raise ArgumentError("bad-filter", f"no filter {name}", valid=sorted(known))
        if name in DATE_FILTERS and read_period(str(wanted)) is None:
            raise ArgumentError("bad-filter", f"{name} is not a date: {wanted}")


def passes(values: Mapping[str, Sequence[str]], filters: Mapping[str, Any]) -> bool:
    """Tell whether an item with these values passes every filter; without the field it does not."""
    return all(_passes(values, name, wanted) for name, wanted in filters.items())


def _passes(values: Mapping[str, Sequence[str]], name: str, wanted: Any) -> bool:
    if name in DATE_FILTERS:
        dates = values.get("updated") or values.get("created") or ()
        return any(satisfies("updated", date, DATE_FILTERS[name], str(wanted)) for date in dates)
    field = ALIASES.get(name, name)
    choices = wanted if isinstance(wanted, list | tuple) else [wanted]
    return any(_fits(field, values.get(field, ()), scalar_text(choice)) for choice in choices)


def _fits(field: str, values: Sequence[str], wanted: str) -> bool:
    """Hold the values of one field against one text: an operator and a bound, ``!`` and a value, or a value."""
    for operator in (">=", "<=", ">", "<"):
        if wanted.startswith(operator):
            return any(satisfies(field, value, operator, wanted.removeprefix(operator).strip()) for value in values)
    if wanted.startswith("!"):
        return bool(values) and not any(is_equal(field, value, wanted[1:]) for value in values)
    return any(is_equal(field, value, wanted) for value in values)
