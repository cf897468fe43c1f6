"""Searching while somebody still types: a query that ends inside a word, or makes no sense yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rye.search.unfinished import Unfinished

if TYPE_CHECKING:
    from rye.registry import Registry
    from rye.search.results import SearchResponse

__all__ = ["search_typed"]


def search_typed(registry: Registry, text: str, **options: Any) -> SearchResponse:
    """Search for what is typed so far: its last word may go on, and what cannot be read yet is left out.

    Args:
        registry: What to search.
        text: As far as it is typed.
        options: As :meth:`rye.Registry.search` takes them, apart from ``lenient``.

    Raises:
        ArgumentError: As a search.
    """
    return registry.search(Unfinished(text), lenient=True, **options)
