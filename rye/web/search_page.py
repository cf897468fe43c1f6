"""The page of a search, and the page that says why an item is a hit or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote_plus

from rye.errors import ArgumentError, QueryError, RyeError
from rye.options.model import parameters_of
from rye.options.search import SearchOptions, WhyOptions
from rye.surface.text import search_notes, warning_notes
from rye.web.address import ROOT, TRUE, Pairs, Visit, WebPage, changed, read_arguments, with_one_more

if TYPE_CHECKING:
    from rye.search.contract.results import SearchResponse

FACETS = ("type", "verdict", "tag", "signer", "bundle", "client", "installed-from")
"""Facets that are counted if the address names none."""

NOT_ON_CLUSTER = frozenset({"verdict", "signer", "installed-from"})
"""Facets that a cluster cannot count, because they depend on the user's keys or on files beside the items."""

OPERATORS = (
    ("deploy service", "both words"),
    ('"blue green"', "the exact phrase"),
    ("deploy OR release", "either word"),
    ("deploy NOT draft", "without a word (also -draft)"),
    ("deploy*", "words with this beginning"),
    ("depploy~", "also where it is misspelt"),
    ("title:deploy", "in one field: title, name, tags, content …"),
    ("is:trusted", "by verdict or state: tampered, superseded …"),
    ("version>=2.0", "by version, date or other metadata"),
    ("(a OR b) c", "grouped by parentheses"),
)
"""Examples of the query language with what they find."""

STAGES = {
    "text": "Relaxed search: the text word for word",
    "fuzzy": "Relaxed search: words with typos",
    "substring": "Relaxed search: parts of words",
    "any": "Relaxed search: any of the words",
    "semantic": "Searched by meaning",
    "hybrid": "Searched by meaning and by words",
}
"""Stage of an answer to a sentence about it."""

_OWN = ("q",)
_NOTED = ("hidden", "results", "total", "offset", "query", "scope", "space")
_CHOICES = ("mode", "space", "sort_by")
_CONTROLS = {"q", *_CHOICES, "scope", "limit", "include_superseded", "explain", "offset", "prefix"}
"""Arguments that have a form element, or that belong to one page of hits."""


class FacetLink(NamedTuple):
    """One value of a facet: the number of matches, and the address that keeps only these or removes that filter."""

    value: str
    number: int
    address: str
    is_chosen: bool


def make(visit: Visit) -> WebPage:
    """Return the page of a search; an error in the query or an argument is a page too.

    Raises:
        RyeError: The registry cannot answer at all.
    """
    pairs = visit.pairs
    counted = ",".join(name for name in FACETS if not visit.registry.index or name not in NOT_ON_CLUSTER)
    given = dict.fromkeys(parameters_of(SearchOptions), "") | dict(pairs)
    query = given.get("q", "")
    facts: dict[str, Any] = {
        "query": query,
        "operators": OPERATORS,
        "choices": {name: parameters_of(SearchOptions)[name].choices for name in _CHOICES},
        "chosen": list(_chosen(pairs)),
        "checked": {name for name, value in pairs if value in TRUE},
        "given": given,
        "asked": counted,
    }
    defaults: dict[str, Any] = {} if visit.as_json else {"facets": counted}
    try:
        arguments = read_arguments(SearchOptions, pairs, own=_OWN)
        response = visit.registry.search(query, **defaults | arguments)
    except (QueryError, ArgumentError) as error:
        return WebPage("search.html", _Failure(error), facts | {"error": error, "place": _place(error)}, 400)
    notes = [*warning_notes(response.warnings, stale=response.stale), *_notes(response)]
    return WebPage(
        "search.html",
        response,
        facts
        | {
            "error": None,
            "stages": STAGES,
            "signers": {
                hit.signature.signer: hit.signature.owner
                for hit in response.results
                if hit.signature.verdict == "trusted"
            },
            "notes": notes,
            "facets": {name: list(_links(name, facet, pairs)) for name, facet in response.facets.items()},
            "why": f"{ROOT.get()}/why?{with_one_more(pairs, 'item')}" if query else "",
            # of several copies, /why explains the one that is searched first
            "alone": f"{ROOT.get()}/search?{changed(pairs, explain='true', limit='1')}&offset=",
            "previous": max(response.offset - response.limit, 0) if response.offset else None,
            "best": max([1.0, *(hit.score for hit in response.results)]),
        },
    )


def _chosen(pairs: Pairs) -> Iterator[tuple[str, str, str]]:
    """Yield the other arguments in force, which the next search keeps: name, value and text."""
    for name, value in pairs:
        if value and name not in _CONTROLS:
            yield name, value, value if name in {"filters", "fields"} else f"{name}={value}"


def _notes(response: SearchResponse) -> Iterator[tuple[str, str]]:
    """Yield the messages about a search that the page does not show as links."""
    answer = {name: getattr(response, name) for name in _NOTED}
    yield from (note for note in search_notes(answer | {"did_you_mean": "", "next_offset": None}, "mcp") if note[0])


def _links(name: str, facet: Any, pairs: Pairs) -> Iterator[FacetLink]:
    address = f"{ROOT.get()}/search?"
    begun = address + with_one_more(pairs, "filters")
    for value, number in facet.values:
        pair = ("filters", f"{name}={value}")
        if pair in pairs:
            yield FacetLink(value, number, address + changed(pairs, without=[pair]), is_chosen=True)
        else:
            yield FacetLink(value, number, begun + quote_plus(pair[1]), is_chosen=False)


def _place(error: RyeError) -> Sequence[str]:
    """Return the query before its fault, the fault, and the rest."""
    if not isinstance(error, QueryError):
        return ()
    end = error.position + max(len(error.token), 1)
    return error.text[: error.position], error.text[error.position : end], error.text[end:]


class _Failure(NamedTuple):
    """An error in place of an answer."""

    error: RyeError

    def to_dict(self) -> dict[str, Any]:
        """Return it as every surface does."""
        return {"error": self.error.to_dict()}


def make_why(visit: Visit) -> WebPage:
    """Return the page that says why an item is a hit of a search, or everything that keeps it from being one.

    Raises:
        RyeError: The query, the item or an argument is at fault.
    """
    given = dict(visit.pairs)
    query, item = given.get("q", ""), given.get("item", "")
    if not item.strip():
        raise ArgumentError("missing-argument", "item is missing", hint="give item=type:id, or an id alone")
    options = parameters_of(WhyOptions)
    deciding = [pair for pair in visit.pairs if pair[0] in options or pair[0] not in parameters_of(SearchOptions)]
    arguments = read_arguments(WhyOptions, deciding, own=("q", "item"))
    reasons = visit.registry.why(query, item.strip(), **arguments)
    return WebPage("why.html", reasons, {"query": query, "given": {"sort_by": ""} | given})
