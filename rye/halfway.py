"""Searching while somebody still types: a query that ends inside a word, or makes no sense yet."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rye.index import strings
from rye.query import ast, parse

if TYPE_CHECKING:
    from rye.registry import Registry
    from rye.search.results import SearchResponse

__all__ = ["search_typed"]


def search_typed(registry: Registry, text: str, **options: Any) -> SearchResponse:
    """Search for what is typed so far: its last word may go on, and what cannot be read yet is left out.

    Args:
        registry: What to search.
        text: As far as it is typed.
        options: As :meth:`rye.Registry.search` takes them, apart from ``lenient`` and ``relax``.

    Raises:
        ArgumentError: As a search.
    """
    begun = _going_on(text)
    if begun:
        found = registry.search(begun, lenient=True, relax=False, **options)
        if found.total:
            return replace(found, query=text)
    return registry.search(text, lenient=True, **options)


def _going_on(text: str) -> str:
    """Return the query in which the word that the text ends in is that word or the beginning of one; empty if none."""
    node = parse(text, lenient=True).ast
    operands = node.operands if isinstance(node, ast.And) else (node,)
    last = operands[-1]
    word = last.operand if isinstance(last, ast.Field) else last
    if not isinstance(word, ast.Word) or word.span[1] != len(text):
        return ""
    open_end: ast.Node = ast.Or((word, ast.Wildcard(f"{strings.escape(word.text)}*")))
    if isinstance(last, ast.Field):
        open_end = replace(last, operand=open_end)
    whole = (*operands[:-1], open_end)
    return str(ast.And(whole) if len(whole) > 1 else open_end)
