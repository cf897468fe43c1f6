"""An engine that shows trusted items only; all answers and errors are filtered in this file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from rye.errors import ArgumentError, ItemError, NotFoundError, QueryError, RyeError
from rye.items.model import TYPE_NAMES
from rye.query import OPERATORS
from rye.registry.engine import Engine, Pages
from rye.registry.reports import LoadedItem
from rye.search.request import FACETS, Request, SectionRequest, make_request
from rye.search.results import SearchResponse, SearchWarning, SectionResponse
from rye.trust.model import Verdict

if TYPE_CHECKING:
    from rye.registry.relations import Relations
    from rye.registry.skills import FoundSkill
    from rye.registry.stats import Stats
    from rye.search.clauses import Clause
    from rye.search.explain import QueryReading, Why

T = TypeVar("T")

_QUOTED = re.compile(r"(['\"])(.+?)\1")
_WORD = re.compile(r"\w+")
_NONE = "there is no trusted item of that name"
_SEES = "rye search finds items by what they say"


class TrustedEngine:
    """Answers with trusted items only; names no other item, not even in errors.

    Args:
        engine: The engine to filter.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def address(self) -> str | None:
        """The address of the registry on a cluster; None for the local spaces."""
        return self._engine.address

    def search(self, request: Request) -> SearchResponse:
        """Search trusted items."""
        with self._hide_names():
            return self._searched(self._engine.search(_of_trusted(request)))

    def pages(self, request: Request) -> Pages:
        """Yield the pages of a search of trusted items."""
        with self._hide_names():
            yield from map(self._searched, self._engine.pages(_of_trusted(request)))

    def similar(self, request: Request, item: str) -> SearchResponse:
        """Return trusted items similar to a trusted one."""
        with self._hide_names():
            self._require(item)
            return self._searched(self._engine.similar(_of_trusted(request), item))

    def sections(self, request: SectionRequest) -> SectionResponse:
        """Search for sections of trusted items."""
        with self._hide_names():
            response = self._engine.sections(request._replace(search=_of_trusted(request.search)))
            results = tuple(map(self._offered, response.results))
            return replace(response, results=results, warnings=self._warnings(request.search.query, response.warnings))

    def read(self, request: Request) -> QueryReading:
        """Return how a query is read in a search of trusted items."""
        with self._hide_names():
            reading = self._engine.read(_of_trusted(request))
            return replace(reading, warnings=self._warnings(request.query, reading.warnings))

    def why(self, request: Request, item: str) -> Why:
        """Return why a trusted item is or is not a hit."""
        with self._hide_names():
            self._require(item)
            why = self._engine.why(_of_trusted(request), item)
            query = request.query
            reasons = (
                reason for reason in why.reasons if self._knows(query, f"{reason.clause} {_quoted(reason.message)}")
            )
            return replace(
                why,
                clauses=why.clauses if self._knows(query, " ".join(_texts(why.clauses))) else (),
                reasons=tuple(reasons),
                warnings=self._warnings(query, why.warnings),
            )

    def load(self, name: str, space: str | None) -> LoadedItem:
        """Return a trusted item."""
        with self._hide_names():
            return replace(self._offered(self._require(name, space)), warnings=())

    def refs(self, item: str, *, direction: str, depth: int, limit: int) -> Relations:
        """Return the relations around an item whose both ends are trusted."""
        from rye.options.search import MAX_RELATIONS

        with self._hide_names():
            self._require(item)
            relations = self._engine.refs(item, direction=direction, depth=depth, limit=MAX_RELATIONS)
        trusted = {related.ref for related in relations.items if related.verdict == Verdict.TRUSTED}
        among = [
            replace(relation, candidates=tuple(filter(self._is_offered, relation.candidates)))
            for relation in relations.relations
            if relation.item in trusted and (relation.target or relation.item) in trusted
        ]
        shown = among[:limit]
        named = {relations.item, *(name for relation in shown for name in (relation.item, relation.target))} & trusted
        return replace(
            relations,
            relations=tuple(shown),
            items=tuple(self._offered(related) for related in relations.items if related.ref in named),
            total=len(among),
            truncated=relations.truncated or len(among) > limit,
            warnings=(),
        )

    def skill(self, uri: str) -> FoundSkill:
        """Return a skill if trusted signatures cover every file."""
        try:
            served = self._engine.skill(uri)
        except ItemError:
            served = None
        if served is None or any(served.skill.unverified()):
            message, hint = "no skill is served at this address", "skills/list has the addresses of those that are"
            raise NotFoundError("skill-not-found", message, hint=hint)
        return served

    def stats(self, space: str) -> Stats:
        """Return how many items there are, whatever their verdict."""
        return self._engine.stats(space)

    def single_scan(self) -> AbstractContextManager[None]:
        """Use one state of the items for all calls of this thread in the block."""
        return self._engine.single_scan()

    def _require(self, name: str, space: str | None = None) -> LoadedItem:
        """Return an item if it is trusted, else the first of its copies that is.

        Raises:
            ItemError: ``not-trusted``.
            NotFoundError, ArgumentError: There is no such item, or several trusted ones fit the name.
        """
        try:
            loaded = self._engine.load(name, space)
        except ArgumentError as error:
            trusted = list(filter(self._is_offered, error.details.get("candidates", ())))
            if error.code != "ambiguous-item" or len(trusted) > 1:
                raise
            if not trusted:
                raise NotFoundError("item-not-found", _NONE, hint=_SEES, nearest=[]) from None
            loaded = self._engine.load(trusted[0], space)
        if loaded.signature.verdict == Verdict.TRUSTED:
            return loaded
        for source in loaded.shadows if space in (None, "all") else ():
            if self._is_offered(loaded.ref, source):
                return self._engine.load(loaded.ref, source)
        raise ItemError("not-trusted", "the item is not trusted")

    def _is_offered(self, name: str, source: str | None = None) -> bool:
        """Return whether ``type:id`` is trusted; also True if there is no such item, as its name reveals nothing."""
        kind, _, item_id = name.partition(":")
        if kind not in TYPE_NAMES:
            return True
        try:
            return self._engine.load(f"{kind}:{item_id}", source).signature.verdict == Verdict.TRUSTED
        except NotFoundError:
            return True
        except RyeError:
            return False

    def _offered(self, item: T) -> T:
        """Return an item of an answer without the names of untrusted successors and copies."""
        kind, item_id, successor = (str(getattr(item, name, "")) for name in ("type", "id", "successor"))
        if isinstance(item, LoadedItem):
            kind, _, item_id = item.ref.partition(":")
        changes: dict[str, Any] = {} if self._is_offered(successor) else {"successor": ""}
        for name in ("shadows", "shadowed_by"):
            if sources := getattr(item, name, ()):
                changes[name] = tuple(source for source in sources if self._is_offered(f"{kind}:{item_id}", source))
        offered: T = replace(item, **changes)  # type: ignore[type-var]
        return offered

    def _searched(self, response: SearchResponse) -> SearchResponse:
        """Return a response without the names and words of untrusted items."""
        query, suggestion = response.query, response.did_you_mean
        return replace(
            response,
            results=tuple(map(self._offered, response.results)),
            warnings=self._warnings(query, response.warnings),
            did_you_mean=suggestion if self._knows(query, suggestion) else "",
        )

    def _warnings(self, query: str, warnings: Iterable[str]) -> tuple[str, ...]:
        """Return the warnings about the search itself, if they quote no word that only untrusted items have."""
        about = [text for text in warnings if isinstance(text, SearchWarning)]
        return tuple(text for text in about if self._knows(query, _quoted(text)))

    def _knows(self, query: str, text: str) -> bool:
        """Return whether every word of a text is in the query or in a trusted item."""
        known = {word.casefold() for word in _WORD.findall(query)}
        words = {word for word in _WORD.findall(text) if not word.isdecimal() and word not in OPERATORS}
        options = {"filters": {"is": "trusted"}, "limit": 1, "relax": False}
        new = sorted(word for word in words if word.casefold() not in known)
        return all(self._engine.search(make_request(f'"{word}"', options)).total for word in new)

    @contextmanager
    def _hide_names(self) -> Iterator[None]:
        """Raise errors without the names of untrusted items and of fields that only items define."""
        try:
            yield
        except RyeError as error:
            raise self._without_names(error) from None

    def _without_names(self, error: RyeError) -> RyeError:
        details = error.details
        if error.code == "item-not-found":
            nearest = list(filter(self._is_offered, details.get("nearest", ())))
            # without `nearest`, the message would reveal the file or space of the item
            message = error.message if "nearest" in details else _NONE
            hint = f"did you mean {' or '.join(nearest)}?" if nearest else _SEES
            return error.but(message=message, hint=hint, details={"nearest": nearest})
        if "candidates" in details:
            named = list(filter(self._is_offered, details["candidates"]))
            message, hint = "several types have an item of this id", f"name the type: {' or '.join(named)}"
            return error.but(message=message, hint=hint, details={**details, "candidates": named})
        if isinstance(error, ItemError):
            return error.but(message="the item cannot be used", hint="the user runs: rye verify", details={})
        nearest, known = list(details.get("nearest", ())), _own_fields()
        if known >= set(nearest):
            return error
        guess = f"did you mean {' or '.join(nearest)}? "
        hint = error.hint.removeprefix(guess) if error.hint.startswith(guess) else ""
        changes = {"hint": hint, "details": {**details, "nearest": sorted(known & set(nearest))}}
        return error.but(**changes, **({"suggestion": ""} if isinstance(error, QueryError) else {}))


def _of_trusted(request: Request) -> Request:
    """Restrict a search to trusted items.

    Raises:
        ArgumentError: ``bad-filters``.
    """
    free = [name for name in ("is", "verdict") if name not in request.filters]
    if not free:
        hint = "'verdict' and 'is' mean the same; give one of them"
        raise ArgumentError("bad-filters", "filters has both 'is' and 'verdict'", hint=hint)
    filters: Mapping[str, Any] = {**request.filters, free[0]: "trusted"}
    return request._replace(filters=filters)


def _quoted(text: str) -> str:
    """Return the quoted parts of a message, which may come from items."""
    return " ".join(match[2] for match in _QUOTED.finditer(text))


def _texts(clauses: Iterable[Clause]) -> Iterator[str]:
    """Yield the texts of clauses and of their nested clauses."""
    for clause in clauses:
        yield clause.text
        yield from _texts(clause.clauses)


def _own_fields() -> set[Any]:
    """Return the names of fields, filters and facets that exist whatever the items contain."""
    from rye.search.fields import ALIASES, KEYWORD_FIELDS, STATES, TEXT_FIELDS

    return {*TEXT_FIELDS, *KEYWORD_FIELDS, *ALIASES, *STATES, *FACETS, "date_from", "date_to"}
