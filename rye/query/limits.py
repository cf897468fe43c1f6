"""All limits of the query language. The page ``rye/reference`` lists them."""

from __future__ import annotations

MAX_CHARS = 10_000
"""Characters in a query."""
MAX_CORRECTED = 256
"""Characters in a query for which a corrected one is suggested; nobody reads a longer one again."""
MAX_NESTING = 64
"""Nested groups and exclusions."""
MAX_LEAVES = 256
"""Words, phrases and field conditions in a query."""
MAX_PHRASE = 256
"""Words in a phrase."""
MAX_DISTANCE = 1000
"""The greatest n of ``NEAR/n``; the least is 1."""
MAX_SLOP = 1000
"""The greatest n of ``"…"~n``; the least is 0."""
MAX_FUZZY = 2
"""The greatest n of ``word~n``; the least is 0."""
MIN_BOOST, MAX_BOOST = 0.001, 1000
"""The bounds of n in ``^n``."""


def cut(text: str) -> str:
    """Return at most the first :data:`MAX_CHARS` characters of a text, cut between words if possible."""
    kept = text[:MAX_CHARS]
    if len(text) > MAX_CHARS and not (text[MAX_CHARS].isspace() or kept[-1].isspace()):
        kept = kept.removesuffix(kept.split()[-1]) or kept
    return kept
