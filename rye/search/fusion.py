"""Two scores made one: how well an item's words match a query, and how near its meaning is.

Both are numbers from 0 to 1 that hang on the item and the query alone, not on what else was found, so they stay the
same whatever filters and pages say. Weighted fusion is a weighted mean::

    total = (w_semantic · similarity + w_keyword · SPREAD · keyword) / (w_semantic + w_keyword · SPREAD)

Reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009) looks at ranks alone; it is divided by what the first of
both lists gets, so that it ends at 1 as well::

    total = (1 / (k + rank_semantic) + 1 / (k + rank_keyword)) · (k + 1) / 2
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rye.index.arrays import Bools
from rye.index.reader import Floats

FUSIONS = ("weighted", "rrf")
SEMANTIC_WEIGHT, KEYWORD_WEIGHT = 0.72, 0.28
RRF_K = 60
_NOISE = 1e-6

SPREAD = 5.0
"""How many times as far cosines lie apart as keyword scores do, so that a weight weighs what sets items apart.

The geometric mean of the ratios of their standard deviations over all items, nine files of queries on three sets: 4.8.
"""


@dataclass(frozen=True, slots=True)
class Fusion:
    """How two scores become one, and which items are left out. Scores are from 0 to 1."""

    fusion: str = "weighted"
    rrf_k: int = RRF_K
    semantic_weight: float = SEMANTIC_WEIGHT
    keyword_weight: float = KEYWORD_WEIGHT
    min_semantic_score: float = 0.0
    min_keyword_score: float = 0.0
    min_combined_score: float = 0.0
    require_keyword_match: bool = False
    require_semantic_match: bool = False

    @property
    def narrows(self) -> bool:
        """Whether items may be left out."""
        least = max(self.min_semantic_score, self.min_keyword_score, self.min_combined_score)
        return least > 0 or self.require_keyword_match or self.require_semantic_match


@dataclass(frozen=True, eq=False)
class Blend:
    """The scores of some items, item by item.

    Attributes:
        similarity: Cosines; minus infinity where an item has no vector.
        keyword: Keyword scores; 0 where no word matches.
        by_meaning, by_words: What each gives the total.
        matched: Whether the item is a hit.
    """

    similarity: Floats
    keyword: Floats
    by_meaning: Floats
    by_words: Floats
    matched: Bools

    @property
    def total(self) -> Floats:
        """The scores to order by."""
        total: Floats = self.by_meaning + self.by_words
        return total


def keyword_score(score: Floats, coverage: Floats) -> Floats:
    """Return how well words match: the root of the BM25F score, times the share of the query that was found.

    BM25F alone is small for every long query, which no item matches in full, and forgives a missing word too easily.
    """
    found: Floats = np.sqrt(score) * coverage
    return found


def by_similarity(similarity: Floats, boosts: Floats, threshold: float) -> Blend:
    """Return scores of similarity alone, times the boost of each item's source; the threshold is for what is raw."""
    nothing = np.zeros(len(similarity))
    raised = np.maximum(similarity, 0.0) * boosts
    return Blend(similarity, nothing, raised, nothing, reaching(similarity, threshold))


def reaching(similarity: Floats, threshold: float) -> Bools:
    """Return which similarities are shown as a threshold or more."""
    found: Bools = similarity >= _shown_as(threshold)
    return found


def fuse(fusion: Fusion, similarity: Floats, keyword: Floats, threshold: float) -> Blend:
    """Return the fused scores of items.

    A hit has a word of the query, or reaches the threshold.
    """
    near = np.maximum(similarity, 0.0)
    if fusion.fusion == "rrf":
        by_meaning, by_words = _reciprocal(near, fusion.rrf_k), _reciprocal(keyword, fusion.rrf_k)
    else:
        semantic_weight, keyword_weight = fusion.semantic_weight, fusion.keyword_weight * SPREAD
        both = semantic_weight + keyword_weight
        by_meaning, by_words = near * (semantic_weight / both), keyword * (keyword_weight / both)
    worded, meant = keyword > 0, reaching(similarity, threshold)
    matched = (worded | meant) & (near >= _percent_shown_as(fusion.min_semantic_score))
    matched &= keyword >= _percent_shown_as(fusion.min_keyword_score)
    matched &= by_meaning + by_words >= _percent_shown_as(fusion.min_combined_score)
    if fusion.require_keyword_match:
        matched &= worded
    if fusion.require_semantic_match:
        matched &= meant
    return Blend(similarity, keyword, by_meaning, by_words, matched)


def _reciprocal(values: Floats, k: int) -> Floats:
    """Return ``(k + 1) / 2 / (k + rank)``, 0 for what has no score; equals share the better rank."""
    ascending = np.sort(values)
    ranks = 1 + len(values) - np.searchsorted(ascending, values, side="right")
    found: Floats = np.where(values > 0, (k + 1) / 2 / (k + ranks), 0.0)
    return found


def _shown_as(least: float) -> float:
    """Return from which score on one is shown, with four decimals, as ``least`` or more: so a shown score is enough."""
    return (math.ceil(least * 1e4 - _NOISE) - 0.5) / 1e4


def _percent_shown_as(least: float) -> float:
    """Return the same for a score that is also shown as percent with one decimal, maybe of what four decimals left."""
    return min(_shown_as(least), _shown_as((math.ceil(least * 1e3 - _NOISE) - 0.5) / 1e3))


def percent(value: float) -> float:
    """Return a score as percent with one decimal."""
    return round(value * 1000) / 10
