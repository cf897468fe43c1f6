"""Every bound of the query language in one table, so that code, tests and documentation cannot disagree.

>>> [limit.name for limit in LIMITS][:2]
['MAX_CHARS', 'MAX_NESTING']
"""

from __future__ import annotations

from typing import NamedTuple

MAX_CHARS = 4096
MAX_NESTING = 64
MAX_LEAVES = 256
MAX_PHRASE = 256
MAX_DISTANCE = 1000
MAX_SLOP = 1000
MAX_FUZZY = 2
MIN_BOOST = 0.001
MAX_BOOST = 1000


class Limit(NamedTuple):
    """One bound: the constant's name, its value, and what it bounds in words."""

    name: str
    value: float
    bounds: str


LIMITS = (
    Limit("MAX_CHARS", MAX_CHARS, "characters in a query"),
    Limit("MAX_NESTING", MAX_NESTING, "groups and exclusions inside one another"),
    Limit("MAX_LEAVES", MAX_LEAVES, "words, phrases and field conditions in a query"),
    Limit("MAX_PHRASE", MAX_PHRASE, "words in a phrase"),
    Limit("MAX_DISTANCE", MAX_DISTANCE, "n of NEAR/n (the least is 1)"),
    Limit("MAX_SLOP", MAX_SLOP, 'n of "…"~n (the least is 0)'),
    Limit("MAX_FUZZY", MAX_FUZZY, "n of word~n (the least is 0)"),
    Limit("MIN_BOOST", MIN_BOOST, "the least n of ^n"),
    Limit("MAX_BOOST", MAX_BOOST, "the greatest n of ^n"),
)
