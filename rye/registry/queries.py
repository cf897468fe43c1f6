"""Questions about one item, whatever space it is in: why it is a hit or none, and which items are similar."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rye.registry.lookup import find_item
from rye.registry.state import State
from rye.search.engine import SearchContext
from rye.search.explain import Explainer, MissReason, Why
from rye.search.request import Request
from rye.search.results import SearchResponse
from rye.search.similar import SimilarSearch

__all__ = ["similar_to", "why_of"]

MakeContext = Callable[[State, Request], SearchContext]
"""Returns the context of a search."""


def similar_to(state: State, request: Request, item: str, context: MakeContext) -> SearchResponse:
    """Return the items similar to one.

    Args:
        state: The indexes.
        request: Where to look, and which page.
        item: ``type:id``, or an id that only one type has.
        context: Says what to search.

    Raises:
        ArgumentError: The item is not named clearly.
        NotFoundError: There is no such item.
    """
    (part, local), *_ = find_item(state.everywhere, item)
    found = SimilarSearch(request, context(state, request)).similar_to(part, local)
    return replace(found, warnings=(*state.warnings, *found.warnings), stale=state.stale(request.space))


def why_of(state: State, request: Request, item: str, context: MakeContext) -> Why:
    """Return why an item is a hit of a search, or why it is not.

    Args:
        state: The indexes.
        request: The search.
        item: ``type:id``, or an id that only one type has; of its copies the first that is searched is meant.
        context: Says what to search.

    Raises:
        ArgumentError: An argument is not valid, or the item is not named clearly.
        NotFoundError: There is no such item.
        QueryError: As a search.
    """
    (part, local), *_ = copies = find_item(state.everywhere, item)
    explainer = Explainer(request, context(state, request))
    searched = [(part, local) for part, local in copies if request.space in ("all", part.root.space)]
    if searched:
        found = explainer.explain(*searched[0])
    else:
        wider = replace(request, space="all")
        wide = Explainer(wider, context(state, wider)).explain(part, local)
        message = f"it is in {part.root.source}, and {request.space} space was searched"
        reasons = (
            MissReason("space", request.space, message),
            *(each for each in wide.reasons if each.code != "stage"),
        )
        stage, total = explainer.found.stage, explainer.total
        found = replace(wide, stage=stage, total=total, rank=None, hit=None, reasons=reasons, above=None, below=None)
    return replace(found, warnings=(*state.warnings, *found.warnings))
