"""Check the arguments of a search: values by the table of parameters, and rules between them here."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rye.items.scope import Scope, parse_scope
from rye.options.model import (
    Parameter,
    ParameterError,
    Setting,
    check,
    check_size,
    complete,
    defaults_of,
    parameters_of,
    refuse,
)
from rye.options.search import MAX_QUERY, BoostParts, ProximityParts, SearchOptions, SectionOptions
from rye.search.contract.fusion import Fusion
from rye.spaces.bundles import OWN_IDS

MAX_SEMANTIC_LIMIT = 100
"""Hits on a page in semantic mode."""
BOOSTS: Mapping[str, float] = defaults_of(BoostParts)
"""Default similarity factors, by source."""

_PROXIMITY: int = parameters_of(ProximityParts)["max_distance"].default
_FUSION = Fusion()
_QUERY = Parameter("Text in the query language", "", name="query", longest=MAX_QUERY)
FACETS: Mapping[str, str] = {
    "type": "type",
    "space": "space",
    "category": "category",
    "tag": "tags",
    "verdict": "verdict",
    "signer": "signer",
    "installed-from": "installed-from",
    "tags": "tags",
    "bundle": "bundle",
    "format": "format",
    "client": "client",
    "author": "author",
    "version": "version",
}
"""Every facet that does not depend on the items, with the key it is counted by."""

MAX_FACETS = 20
"""Facets of one search."""
MAX_FACET_VALUES = 100
"""Values listed of one facet."""
DEFAULT_FACET_VALUES = 10

_ASKED = re.compile(r"(?P<name>[^:,]+)(?::(?P<most>\d{1,9}))?")
_HINT = f"name them like 'type' or 'tag:25', which lists 25 values (1 to {MAX_FACET_VALUES})"

EACH = 5
"""Items and sections considered per section requested."""


class FacetRequest(NamedTuple):
    """A facet to count, and how many of its values to list."""

    name: str
    most: int


class Mode(NamedTuple):
    """The ranking mode of a search.

    Attributes:
        name: ``keyword``, ``semantic`` or ``hybrid``; ``auto`` until the query is planned.
        threshold: The similarity of a semantic match; None for the model's default.
        boosts: Source → factor, in semantic mode, as given by the caller.
        fusion: How the two scores are combined, in hybrid mode.
    """

    name: str = "auto"
    threshold: float | None = None
    boosts: Mapping[str, float] = {}
    fusion: Fusion = Fusion()

    @property
    def narrows(self) -> bool:
        """Whether matches with low scores may be left out."""
        return self.name == "hybrid" and self.fusion.narrows

    def factors(self, users: Mapping[str, float]) -> Mapping[str, float]:
        """Return source → factor: the caller's, else the user's settings, else :data:`BOOSTS`."""
        return {**BOOSTS, **users, **self.boosts}

    @property
    def plain(self) -> bool:
        """Whether no option besides the mode is set."""
        return self == Mode(self.name)


class Request(NamedTuple):
    """One checked search.

    Attributes:
        options: Every argument by its name, with defaults; a new one needs no attribute of its own.
        fuzzy: Whether every word (True) or no word (False) forgives typos, also when relaxed; None for the default.
    """

    query: str
    options: Mapping[str, Any]
    scopes: tuple[Scope, ...]
    space: str
    limit: int
    offset: int
    sort_by: str
    fields: Mapping[str, str]
    filters: Mapping[str, Any]
    fuzzy: bool | None
    fuzzy_distance: int | None
    proximity: int | None
    level: int | None
    relax: bool
    lenient: bool
    include_superseded: bool
    facets: tuple[FacetRequest, ...]
    explain: bool
    mode: Mode

    @property
    def is_auto(self) -> bool:
        """Whether mode ``auto`` was requested; still true after the mode is resolved."""
        return bool(self.options["mode"] == "auto")

    @property
    def scope(self) -> str:
        """The scope in canonical form."""
        return ",".join(str(scope) for scope in self.scopes)


def make_request(query: str, given: Mapping[str, Any], takes: type = SearchOptions) -> Request:
    """Check the arguments of a search against the options of ``takes``, and return them as a request.

    Raises:
        ArgumentError: An argument is not valid; the message lists valid values.
        TypeError: There is no such argument.
    """
    check(_QUERY, query)
    remaining, parameters = dict(given), parameters_of(takes)
    for name in {"scope", "facets"} & set(remaining) & set(parameters):  # these two are parsed here
        check_size(parameters[name], remaining[name])
    scopes = parse_scope(remaining.pop("scope", "*"))
    facets = read_facets(remaining.pop("facets")) if takes is SearchOptions and "facets" in remaining else ()
    options = complete(takes, remaining)
    options = options if takes is SearchOptions else {**defaults_of(SearchOptions), **options}
    if options["mode"] == "semantic" and options["limit"] > MAX_SEMANTIC_LIMIT:
        hint = (f"valid are whole numbers from 1 to {MAX_SEMANTIC_LIMIT} with ", Setting("mode", "semantic"))
        refuse(("limit",), "is", f"{options['limit']}", hint, valid=[1, MAX_SEMANTIC_LIMIT])
    for name, text in (options["fields"] or {}).items():
        if not isinstance(text, str) or not text.strip():
            refuse(("fields", name), "is", repr(text), "give each field a query as text, such as 'core'")
    fuzzy, proximity = options["fuzzy"] or {}, options["proximity"] or {}
    checked = {name: options[name] for name in Request._fields if name in options} | {
        "query": query,
        "options": options,
        "scopes": scopes,
        "fields": options["fields"] or {},
        "filters": options["filters"] or {},
        "fuzzy": fuzzy.get("enabled", True) if fuzzy else None,
        "fuzzy_distance": fuzzy.get("max_distance"),
        "proximity": proximity.get("max_distance", _PROXIMITY)
        if proximity and proximity.get("enabled", True)
        else None,
        "facets": facets,
        "mode": _mode(options),
    }
    return Request(**checked)


def _mode(options: Mapping[str, Any]) -> Mode:
    fusion = Fusion(**options["hybrid"]) if options["hybrid"] else _FUSION
    if not fusion.semantic_weight + fusion.keyword_weight > 0:
        weights = [("hybrid", "semantic_weight"), ("hybrid", "keyword_weight")]
        raise ParameterError("bad-hybrid", weights, "is", "both 0", hint="give at least one of them a weight")
    return Mode(options["mode"], options["threshold"], options["source_boosts"] or {}, fusion)


def names_own(request: Request) -> bool:
    """Return whether the space or the scope of a request names rye's own items, which no other request finds."""
    return request.space == "system" or any(scope.prefix.startswith(OWN_IDS) for scope in request.scopes)


class SectionRequest(NamedTuple):
    """One checked retrieval of sections.

    Attributes:
        search: The search for the items.
        recency_weight, authority_weight: The shares of a score that depend on age and on authority; at most 1 together.
        half_life_days: Age at which recency is one half.
        max_chars: Characters of all texts together; None for no limit.
    """

    search: Request
    recency_weight: float
    half_life_days: float
    authority_weight: float
    max_chars: int | None

    @property
    def for_items(self) -> Request:
        """The search for the items, at most :attr:`top_k`. Further conditions of fusion apply to chunks."""
        mode = self.search.mode
        return self.search._replace(offset=0, limit=self.top_k, mode=mode._replace(fusion=Fusion(*mode.fusion[:4])))

    @property
    def top_k(self) -> int:
        """The number of items and of sections that are considered."""
        return EACH * self.search.limit


def make_section_request(query: str, given: Mapping[str, Any]) -> SectionRequest:
    """Check the arguments of ``Registry.sections``.

    Raises:
        ArgumentError: An argument is not valid; the message lists valid values.
    """
    search = make_request(query, given, SectionOptions)
    if not query.strip():
        refuse(("query",), "is", "empty", "say what the sections are to be about")
    request = SectionRequest(search, *(search.options[name] for name in SectionRequest._fields[1:]))
    both = request.recency_weight + request.authority_weight
    if both > 1:
        weights = [("recency_weight",), ("authority_weight",)]
        hint = "they are parts of the score; together they may be 1 at most"
        raise ParameterError("bad-authority-weight", weights, "is", f"{both:g} together", hint=hint)
    return request


def read_facets(given: Any) -> tuple[FacetRequest, ...]:
    """Read facet names: a sequence, or one text with commas. Each name may end with ``:N``.

    Raises:
        ArgumentError: ``bad-facets``.
    """
    parts = given.split(",") if isinstance(given, str) else [] if given is None else given
    if not isinstance(parts, Sequence) or not all(isinstance(part, str) for part in parts):
        refuse(("facets",), "is", repr(given), _HINT, valid=list(FACETS))
    requests: dict[str, FacetRequest] = {}
    for part in parts if any(parts) else ():
        match = _ASKED.fullmatch(part.strip())
        most = int(match["most"] or DEFAULT_FACET_VALUES) if match else 0
        if match is None or not 1 <= most <= MAX_FACET_VALUES:
            refuse(("facets",), "has", f"{part!r}, which cannot be read", _HINT, valid=list(FACETS))
        name = folded if (folded := match["name"].casefold()) in FACETS else match["name"]
        requests[name] = FacetRequest(name, most)
    if len(requests) > MAX_FACETS:
        refuse(("facets",), "has", f"{len(requests)} names", f"name at most {MAX_FACETS}", valid=list(FACETS))
    return tuple(requests.values())
