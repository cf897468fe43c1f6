"""Find which parts of a query decided between two hits."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from rye._report import Report
from rye.search.contract.results import SearchResult

_DECISIVE = 3
"""How many decisive parts of a query are named."""
_BY_MODELS = ("meaning", "second model")


@dataclass(frozen=True, slots=True)
class Share(Report):
    """The contribution of a part of the query to the score of the winner, and to that of the expected item."""

    part: str
    winner: float
    expected: float


def decisive(winner: SearchResult | None, expected: SearchResult | None) -> tuple[Share, ...]:
    """Return the parts of a query that favour the winner most over the expected hit, at most three."""
    first, second = _shares(winner), _shares(expected)
    parts = sorted(first, key=lambda part: second[part] - first[part])[:_DECISIVE]
    return tuple(
        Share(part, round(first[part], 4), round(second[part], 4)) for part in parts if first[part] > second[part]
    )


def _shares(hit: SearchResult | None) -> defaultdict[str, float]:
    shares = defaultdict[str, float](float)
    for trace in hit.explain or () if hit else ():
        shares[trace.field if trace.field in _BY_MODELS else trace.clause] += trace.contribution
    return shares
