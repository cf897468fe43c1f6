"""Fusion of keyword scores and similarities into one score, and the conditions for a hit.

Both are numbers from 0 to 1 that depend on the item and the query alone, not on the other hits, so filters and pages
do not change them. Weighted fusion is a weighted mean::

    total = (w_semantic · similarity + w_keyword · SPREAD · keyword) / (w_semantic + w_keyword · SPREAD)

Reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009) uses ranks alone. It is divided by the score of an item
that is first in both lists, so that its maximum is also 1::

    total = (1 / (k + rank_semantic) + 1 / (k + rank_keyword)) · (k + 1) / 2

The invariant, in both methods: the parts from similarity and from words sum to the total, and a part is 0 if the item
has no such score. So an explanation can show the two parts.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rye.index.build.reader import Floats
from rye.index.storage.arrays import Bools, Ints

_NOISE = 1e-6

SPREAD = 5.0
"""Factor of keyword scores, which vary less than cosines do; see ``rye/meaning``."""


NEAR = 0.42
"""The least best score of a hybrid answer that is about its question; see ``RANKING.md``."""


class Fusion(NamedTuple):
    """The settings that combine two scores and exclude items. Scores are from 0 to 1."""

    fusion: str = "weighted"
    rrf_k: int = 60
    semantic_weight: float = 0.72
    keyword_weight: float = 0.28
    min_semantic_score: float = 0.0
    min_keyword_score: float = 0.0
    min_combined_score: float = 0.0
    require_keyword_match: bool = False
    require_semantic_match: bool = False

    @property
    def narrows(self) -> bool:
        """Whether the settings may exclude items."""
        least = max(self.min_semantic_score, self.min_keyword_score, self.min_combined_score)
        return least > 0 or self.require_keyword_match or self.require_semantic_match

    @property
    def shares(self) -> tuple[float, float]:
        """The weights of similarity and keyword score in a weighted mean; they sum to 1."""
        of_words = self.keyword_weight * SPREAD
        both = self.semantic_weight + of_words  # above 0, as the request was checked
        return self.semantic_weight / both, of_words / both


class ScoreCondition(NamedTuple):
    """One condition for a hit: its option, the least score, the scores, and which items meet it."""

    option: str
    least: float
    scores: Floats
    met: Bools

    def __str__(self) -> str:
        """Return the option, with the least score if it has one."""
        return f"{self.option} {self.least:g}" if self.option.startswith("min_") else self.option


class FusedScores(NamedTuple):
    """The scores of items, item by item.

    Attributes:
        similarity: Cosines; minus infinity if an item has no vector.
        keyword: Keyword scores; 0 if no word matches.
        by_meaning, by_words: The parts of the total that come from similarity and from words.
        total: The sum of both, to sort by.
        conditions: The conditions for a hit.
        matched: Whether the item meets all conditions and so is a hit.
    """

    similarity: Floats
    keyword: Floats
    by_meaning: Floats
    by_words: Floats
    total: Floats
    conditions: tuple[ScoreCondition, ...]
    matched: Bools

    def why_none_matched(self, unit: str = "item") -> str:
        """Return which options exclude every item, if some would match without them; else an empty string."""
        first, *rest = self.conditions
        if self.matched.any() or not first.met.any():
            return ""
        best = self.total[first.met].max()
        return f"no {unit} meets {' and '.join(map(str, rest))}; the best combined score is {best:.4f}"


def keyword_score(score: Floats, coverage: Floats) -> Floats:
    """Return how well words match: the geometric mean of the BM25F score and the share of the query that was found.

    BM25F alone is small for every long query, which no item matches in full, and forgives a missing word too easily.
    """
    mean: Floats = np.sqrt(score * coverage)
    return mean


def by_similarity(similarity: Floats, boosts: Floats, threshold: float) -> FusedScores:
    """Score by similarity times the boost of each item's source. The threshold applies to the unboosted similarity."""
    none = np.zeros(len(similarity))
    raised = np.maximum(similarity, 0.0) * boosts
    condition = ScoreCondition("threshold", threshold, similarity, reaches(similarity, threshold))
    return FusedScores(similarity, none, raised, none, raised, (condition,), condition.met)


def reaches(similarity: Floats, threshold: float) -> Bools:
    """Return which similarities are displayed as the threshold or more."""
    reached: Bools = similarity >= shown_as(threshold)
    return reached


def fuse(
    fusion: Fusion,
    similarity: Floats,
    keyword: Floats,
    threshold: float,
    *,
    groups: Ints | None = None,
) -> FusedScores:
    """Fuse similarities and keyword scores; a hit has a word of the query or reaches the threshold.

    ``groups`` holds the start of each group of rows. A group takes one rank, that of its best row.
    """
    positive = np.maximum(similarity, 0.0)  # an item without a vector has minus infinity and must get 0
    if fusion.fusion == "rrf":
        by_meaning, by_words = _reciprocal(positive, fusion.rrf_k, groups), _reciprocal(keyword, fusion.rrf_k, groups)
    else:
        of_meaning, of_words = fusion.shares
        by_meaning, by_words = positive * of_meaning, keyword * of_words
    total = by_meaning + by_words
    # Users copy limits from displayed scores, so a score displayed as the limit meets it.
    worded, meant = keyword > 0, reaches(similarity, threshold)
    conditions = [ScoreCondition("threshold", threshold, similarity, worded | meant)]
    for option, least, scores in (
        ("min_semantic_score", fusion.min_semantic_score, positive),
        ("min_keyword_score", fusion.min_keyword_score, keyword),
        ("min_combined_score", fusion.min_combined_score, total),
    ):
        if least > 0:
            conditions.append(ScoreCondition(option, least, scores, scores >= lowest(least)))
    if fusion.require_keyword_match:
        conditions.append(ScoreCondition("require_keyword_match", 0.0, keyword, worded))
    if fusion.require_semantic_match:
        conditions.append(ScoreCondition("require_semantic_match", threshold, similarity, meant))
    matched = np.logical_and.reduce([condition.met for condition in conditions])
    return FusedScores(similarity, keyword, by_meaning, by_words, total, tuple(conditions), matched)


def _reciprocal(values: Floats, k: int, groups: Ints | None) -> Floats:
    """Return ``(k + 1) / 2 / (k + rank)``, 0 for values without a score. Equal values share the better rank."""
    ascending = np.sort(values if groups is None else np.maximum.reduceat(values, groups))
    # The rank of a value is one more than the number of greater values.
    ranks = 1 + len(ascending) - np.searchsorted(ascending, values, side="right")
    scores: Floats = np.where(values > 0, (k + 1) / 2 / (k + ranks), 0.0)
    return scores


def lowest(least: float) -> float:
    """Return the lowest score that meets a limit, which users may copy from a displayed score or percentage."""
    as_percent = (math.ceil(least * 1e3 - _NOISE) - 0.5) / 1e3  # scores are also shown as percent, one decimal
    return min(shown_as(least), shown_as(as_percent))


def shown_as(least: float) -> float:
    """Return the lowest score displayed, with four decimals, as ``least``, so that a displayed score meets itself."""
    return (math.ceil(least * 1e4 - _NOISE) - 0.5) / 1e4


def percent(value: float) -> float:
    """Return a score as a percentage with one decimal."""
    return round(value * 1000) / 10
