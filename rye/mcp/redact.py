"""Redacts untrusted items from the answers of a server started with ``--require trusted``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rye.errors import ItemError, NotFoundError, QueryError, RyeError

if TYPE_CHECKING:
    from rye.registry.registry import Registry

_GUESS = re.compile(r"\bdid you mean [^?]*+\?\s*+")
_WORD = re.compile(r"\w+")


def is_offered(registry: Registry, name: str) -> bool:
    """Return whether the named item is trusted; True where there is no such item: the name reveals nothing."""
    from rye.index.schema import TYPE_NAMES

    kind, _, item_id = name.partition(":")
    if kind not in TYPE_NAMES:
        return True
    try:
        return bool(registry.get(f"{kind}:{item_id}").signature.verdict == "trusted")
    except NotFoundError:
        return True
    except RyeError:
        return False


def unname_successors(registry: Registry, answers: Iterable[dict[str, Any]]) -> None:
    """Take the successors that are not trusted out of items of an answer."""
    for each in answers:
        each["successor"] = each["successor"] if is_offered(registry, each["successor"]) else ""


def search_warnings(warnings: Iterable[str]) -> list[str]:
    """Return the warnings about a search itself: those that can name no item and no file."""
    from rye.search.results import SearchWarning

    return [warning for warning in warnings if isinstance(warning, SearchWarning)]


def offered_suggestion(registry: Registry, query: str, suggestion: str) -> str:
    """Return a suggested query, or nothing where a word of it is in no trusted item."""
    from rye.query import OPERATORS

    known = {word.casefold() for word in _WORD.findall(query)}
    new = {word for word in _WORD.findall(suggestion) if word not in OPERATORS and word.casefold() not in known}
    found = (registry.search(word, filters={"is": "trusted"}, limit=1, relax=False) for word in sorted(new))
    return suggestion if all(each.total for each in found) else ""


def unname(registry: Registry, error: RyeError) -> None:
    """Take the names of items that are not trusted, and of fields that only items have, out of an error."""
    details = error.details
    if error.code == "item-not-found":
        if "nearest" not in details:  # the message says in which file or space
            error.message = "there is no trusted item of that name"
        near = [name for name in details.get("nearest", ()) if is_offered(registry, name)]
        error.details = {"nearest": near}
        error.hint = f"did you mean {' or '.join(near)}?" if near else "rye search finds items by what they say"
    elif "candidates" in details:
        named = [name for name in details["candidates"] if is_offered(registry, name)]
        error.details = details | {"candidates": named}
        error.message, error.hint = "the id alone does not say which item", f"name the type: {' or '.join(named)}"
    elif isinstance(error, ItemError):
        error.message, error.hint, error.details = "the item cannot be used", "the user runs: rye verify", {}
    elif not _own_fields() >= set(details.get("nearest", ())):
        error.details = details | {"nearest": sorted(_own_fields() & set(details["nearest"]))}
        error.hint = _GUESS.sub("", error.hint)
        if isinstance(error, QueryError):
            error.suggestion = ""


def _own_fields() -> set[Any]:
    """Return the names of fields, filters and facets that exist whatever the items contain."""
    from rye.search.facets import FACETS
    from rye.search.fields import ALIASES, KEYWORD_FIELDS, STATES, TEXT_FIELDS

    return {*TEXT_FIELDS, *KEYWORD_FIELDS, *ALIASES, *STATES, *FACETS, "date_from", "date_to"}
