"""A registry that offers trusted items only: answers and errors are filtered here, and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from rye.errors import ArgumentError, ItemError, NotFoundError, QueryError, RyeError
from rye.index.schema import TYPE_NAMES
from rye.query import OPERATORS
from rye.registry.engine import Engine, Pages
from rye.search.request import Request, SectionRequest, make_request
from rye.search.results import SearchResponse, SearchWarning, SectionResponse
from rye.trust.model import Verdict

if TYPE_CHECKING:
    from rye.registry.relations import Relations
    from rye.registry.reports import LoadedItem
    from rye.registry.skills import FoundSkill
    from rye.registry.stats import Stats
    from rye.search.explain import QueryReading, Why

T = TypeVar("T")

_GUESS = re.compile(r"\bdid you mean [^?]*+\?\s*+")
_WORD = re.compile(r"\w+")
_SEES = "rye search finds items by what they say"


class TrustedEngine:
    """Answers with trusted items only, and names no other item, also in errors.

    Args:
        engine: What answers.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def address(self) -> str | None:
        """The address of the registry on a cluster; None for the spaces of this machine."""
        return self._engine.address

    def search(self, request: Request) -> SearchResponse:
        """Answer a search among trusted items."""
        with self._unnamed():
            return self._searched(self._engine.search(_of_trusted(request)))

    def pages(self, request: Request) -> Pages:
        """Yield the pages of a search among trusted items."""
        with self._unnamed():
            yield from map(self._searched, self._engine.pages(_of_trusted(request)))

    def similar(self, request: Request, item: str) -> SearchResponse:
        """Return trusted items like a trusted one."""
        with self._unnamed():
            self._require(item)
            return self._searched(self._engine.similar(_of_trusted(request), item))

    def sections(self, request: SectionRequest) -> SectionResponse:
        """Answer a search for sections of trusted items."""
        with self._unnamed():
            response = self._engine.sections(request._replace(search=_of_trusted(request.search)))
            results = tuple(map(self._with_successor, response.results))
            return replace(response, results=results, warnings=_about_search(response.warnings))

    def read(self, request: Request) -> QueryReading:
        """Return how a query is read among trusted items."""
        with self._unnamed():
            reading = self._engine.read(_of_trusted(request))
            return replace(reading, warnings=_about_search(reading.warnings))

    def why(self, request: Request, item: str) -> Why:
        """Return why a trusted item is a hit, or why it is not."""
        with self._unnamed():
            self._require(item)
            why = self._engine.why(_of_trusted(request), item)
            return replace(why, warnings=_about_search(why.warnings))

    def load(self, name: str, space: str | None) -> LoadedItem:
        """Return a trusted item."""
        with self._unnamed():
            return replace(self._with_successor(self._require(name, space)), warnings=())

    def refs(self, item: str, *, direction: str, depth: int, limit: int) -> Relations:
        """Return the relations between trusted items around one."""
        from rye.registry.relations import MAX_RELATIONS

        with self._unnamed():
            self._require(item)
            relations = self._engine.refs(item, direction=direction, depth=depth, limit=MAX_RELATIONS)
        trusted = {each.ref for each in relations.items if each.verdict == Verdict.TRUSTED}
        among = [
            replace(each, candidates=tuple(filter(self._is_offered, each.candidates)))
            for each in relations.relations
            if each.item in trusted and (each.target or each.item) in trusted
        ]
        shown = among[:limit]
        named = {relations.item, *(name for each in shown for name in (each.item, each.target))} & trusted
        return replace(
            relations,
            relations=tuple(shown),
            items=tuple(self._with_successor(each) for each in relations.items if each.ref in named),
            total=len(among),
            truncated=relations.truncated or len(among) > limit,
            warnings=(),
        )

    def skill(self, uri: str) -> FoundSkill:
        """Return a skill of which trusted signatures cover every file."""
        try:
            found = self._engine.skill(uri)
        except ItemError:
            found = None
        if found is None or any(found.skill.unverified()):
            message, hint = "no skill is served at this address", "skills/list has the addresses of those that are"
            raise NotFoundError("skill-not-found", message, hint=hint)
        return found

    def stats(self, space: str) -> Stats:
        """Return how many items there are, of whatever verdict."""
        return self._engine.stats(space)

    def single_scan(self) -> AbstractContextManager[None]:
        """Answer all calls of this thread from one state of the items."""
        return self._engine.single_scan()

    def _require(self, name: str, space: str | None = None) -> LoadedItem:
        """Return an item if it is trusted.

        Raises:
            ItemError: ``not-trusted``.
        """
        loaded = self._engine.load(name, space)
        if loaded.signature.verdict != Verdict.TRUSTED:
            raise ItemError("not-trusted", "the item is not trusted")
        return loaded

    def _is_offered(self, name: str) -> bool:
        """Return whether ``type:id`` is trusted; True where there is no such item: the name reveals nothing."""
        kind, _, item_id = name.partition(":")
        if kind not in TYPE_NAMES:
            return True
        try:
            return self._engine.load(f"{kind}:{item_id}", None).signature.verdict == Verdict.TRUSTED
        except NotFoundError:
            return True
        except RyeError:
            return False

    def _with_successor(self, item: T) -> T:
        """Return an item of an answer without its successor if that is not offered."""
        kept: T = item if self._is_offered(item.successor) else replace(item, successor="")  # type: ignore[attr-defined, type-var]
        return kept

    def _searched(self, response: SearchResponse) -> SearchResponse:
        return replace(
            response,
            results=tuple(map(self._with_successor, response.results)),
            warnings=_about_search(response.warnings),
            did_you_mean=self._suggestion(response.query, response.did_you_mean),
        )

    def _suggestion(self, query: str, suggestion: str) -> str:
        """Return a suggested query, or nothing where a word of it is in no trusted item."""
        known = {word.casefold() for word in _WORD.findall(query)}
        new = {word for word in _WORD.findall(suggestion) if word not in OPERATORS and word.casefold() not in known}
        options = {"filters": {"is": "trusted"}, "limit": 1, "relax": False}
        matches = (self._engine.search(make_request(word, options)) for word in sorted(new))
        return suggestion if all(each.total for each in matches) else ""

    @contextmanager
    def _unnamed(self) -> Iterator[None]:
        """Raise errors without the names of items that are not trusted, and of fields that only items have."""
        try:
            yield
        except RyeError as error:
            raise self._without_names(error) from None

    def _without_names(self, error: RyeError) -> RyeError:
        details = error.details
        if error.code == "item-not-found":
            near = list(filter(self._is_offered, details.get("nearest", ())))
            # without near names the message says in which file or space the item is
            message = error.message if "nearest" in details else "there is no trusted item of that name"
            hint = f"did you mean {' or '.join(near)}?" if near else _SEES
            return error.but(message=message, hint=hint, details={"nearest": near})
        if "candidates" in details:
            named = list(filter(self._is_offered, details["candidates"]))
            message, hint = "the id alone does not say which item", f"name the type: {' or '.join(named)}"
            return error.but(message=message, hint=hint, details={**details, "candidates": named})
        if isinstance(error, ItemError):
            return error.but(message="the item cannot be used", hint="the user runs: rye verify", details={})
        known = _own_fields()
        if known >= set(details.get("nearest", ())):
            return error
        changes = {
            "hint": _GUESS.sub("", error.hint),
            "details": {**details, "nearest": sorted(known & set(details["nearest"]))},
        }
        return error.but(**changes, **({"suggestion": ""} if isinstance(error, QueryError) else {}))


def _of_trusted(request: Request) -> Request:
    """Return a search that only trusted items pass.

    Raises:
        ArgumentError: ``bad-filters``.
    """
    free = [name for name in ("is", "verdict") if name not in request.filters]
    if not free:
        hint = "'verdict' and 'is' mean the same; give one of them"
        raise ArgumentError("bad-filters", "filters has both 'is' and 'verdict'", hint=hint)
    filters: Mapping[str, Any] = {**request.filters, free[0]: "trusted"}
    return request._replace(filters=filters)


def _about_search(warnings: Iterable[str]) -> tuple[str, ...]:
    """Return the warnings about a search itself: those that can name no item and no file."""
    return tuple(warning for warning in warnings if isinstance(warning, SearchWarning))


def _own_fields() -> set[Any]:
    """Return the names of fields, filters and facets that exist whatever the items contain."""
    from rye.search.facets import FACETS
    from rye.search.fields import ALIASES, KEYWORD_FIELDS, STATES, TEXT_FIELDS

    return {*TEXT_FIELDS, *KEYWORD_FIELDS, *ALIASES, *STATES, *FACETS, "date_from", "date_to"}
