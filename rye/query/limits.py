"""Every bound of the query language. The page ``rye/limits`` lists them."""

from __future__ import annotations

MAX_CHARS = 10_000
"""Characters in a query."""
MAX_NESTING = 64
"""Groups and exclusions inside one another."""
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
    """Return a text of at most :data:`MAX_CHARS` characters, cut between two words where there is more than one."""
    kept = text[:MAX_CHARS]
    if len(text) > MAX_CHARS and not (text[MAX_CHARS].isspace() or kept[-1].isspace()):
        kept = kept.removesuffix(kept.split()[-1]) or kept
    return kept
