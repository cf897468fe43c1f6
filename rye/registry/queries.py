"""What is asked about one item, whatever space it is in: why it is a hit or is none, and what is like it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rye.index.reader import Part
from rye.registry.lookup import find_item
from rye.registry.state import State
from rye.search.engine import SearchContext
from rye.search.explain import Explainer, MissReason, Why
from rye.search.request import Request
from rye.search.results import SearchResponse
from rye.search.similar import Likeness

__all__ = ["similar_to", "why_of"]

Asked = Callable[[State, Request], SearchContext]
"""Returns what a search runs in."""


def similar_to(state: State, request: Request, item: str, world: Asked) -> SearchResponse:
    """Return the items like one.

    Args:
        state: Of the indexes.
        request: Where to look, and which page.
        item: ``type:id``, or an id that only one type has.
        world: What to search.

    Raises:
        ArgumentError: The item is not named clearly.
        NotFoundError: There is no such item.
    """
    (part, local), *_ = find_item(state.everywhere, item)
    found = Likeness(request, world(state, request)).like(part, local)
    return replace(found, warnings=(*state.warnings, *found.warnings), stale=state.stale(request.space))


def why_of(state: State, request: Request, item: str, world: Asked) -> Why:
    """Return why an item is a hit or is none.

    Args:
        state: Of the indexes.
        request: The search.
        item: ``type:id``, or an id that only one type has; of its copies the first that is searched is meant.
        world: What to search.

    Raises:
        ArgumentError: An argument is not valid, or the item is not named clearly.
        NotFoundError: There is no such item.
        QueryError: As a search.
    """
    (part, local), *_ = copies = find_item(state.everywhere, item)
    explainer = Explainer(request, world(state, request))
    searched = [(part, local) for part, local in copies if request.space in ("all", part.root.space)]
    if searched:
        here, local = searched[0]
        found = explainer.explain(_same(explainer, here), local)
    else:
        wider = replace(request, space="all")
        wide = Explainer(wider, world(state, wider)).explain(part, local)
        message = f"it is in {part.root.source}, and {request.space} space was searched"
        reasons = (
            MissReason("space", request.space, message),
            *(each for each in wide.reasons if each.code != "stage"),
        )
        stage, total = explainer.found.stage, explainer.total
        found = replace(wide, stage=stage, total=total, rank=None, hit=None, reasons=reasons, above=None, below=None)
    return replace(found, warnings=(*state.warnings, *found.warnings))


def _same(explainer: Explainer, part: Part) -> Part:
    """Return the part of the explainer's reader that has the same segment."""
    return next(own for own in explainer.reader.parts if own.segment is part.segment)
