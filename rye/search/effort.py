"""How much the leaves of one query look at."""

from __future__ import annotations

from rye.errors import QueryError
from rye.query import ast
from rye.search.patterns import Leaf, patterns

MOST = 20_000_000
"""Positions that phrases, windows, neighbours and words of several parts may look at in one query."""

KEPT = 1 << 18
"""Positions that a query keeps from scoring to highlighting; beyond these, those of a page are read again."""

_SUGGESTED = 16
"""Words that an error suggests."""


class Effort:
    """The positions that the leaves of a query have looked at so far."""

    def __init__(self) -> None:
        self._spent = 0

    def spend(self, positions: int, leaf: Leaf) -> bool:
        """Count positions that a leaf looks at; return whether so few were looked at so far that they are to be kept.

        Raises:
            QueryError: ``too-many-positions``.
        """
        self._spent += positions
        if self._spent > MOST:
            raise _too_much(leaf)
        return self._spent <= KEPT


def _too_much(leaf: Leaf) -> QueryError:
    text = leaf.query or leaf.label
    start, end = leaf.node.span if leaf.query else (0, len(text))
    several = [ast.Word(pattern.text) for pattern in dict.fromkeys(patterns(leaf.pattern))][:_SUGGESTED]
    words = "" if isinstance(leaf.node, ast.Word) else f"({' '.join(map(str, several))})"
    return QueryError(
        "too-many-positions",
        f"the words of this part stand in so many places that more than {MOST:,} would have to be compared",
        text=text,
        position=start,
        token=text[start:end],
        hint='use rarer or fewer words in "…", "…"~n, NEAR and words with hyphens, or search a single space',
        suggestion=f"{text[:start]}{words}{text[end:]}" if words else "",
    )
