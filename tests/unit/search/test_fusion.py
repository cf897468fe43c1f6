"""Two scores made one: weights, ranks, least scores, switches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.search.fusion import SPREAD, Fusion, by_similarity, fuse, percent

NEAR = np.asarray([0.6, 0.3, 0.0, -0.2, -np.inf])
WORDED = np.asarray([0.0, 0.5, 0.9, 0.1, 0.2])


def test_a_weighted_total_is_the_weighted_mean() -> None:
    """The weights are those of the formula; what is negative or unknown counts nothing."""
    blend = fuse(Fusion(), NEAR, WORDED, 0.2)
    both = 0.72 + 0.28 * SPREAD
    expected = [
        0.72 * 0.6,
        0.72 * 0.3 + 0.28 * SPREAD * 0.5,
        0.28 * SPREAD * 0.9,
        0.28 * SPREAD * 0.1,
        0.28 * SPREAD * 0.2,
    ]
    assert blend.total == pytest.approx(np.asarray(expected) / both)
    assert blend.matched.all()
    assert fuse(Fusion(semantic_weight=7.2, keyword_weight=2.8), NEAR, WORDED, 0.2).total == pytest.approx(blend.total)


def test_reciprocal_ranks() -> None:
    """The first of both lists has 1; equals share the better rank; who is in no list gets nothing from it."""
    blend = fuse(
        Fusion(fusion="rrf", rrf_k=60), np.asarray([0.9, 0.5, 0.5, 0.1]), np.asarray([0.8, 0.0, 0.3, 0.3]), 0.2
    )
    half = 61 / 2
    expected = [half * (1 / 61 + 1 / 61), half / 62, half * (1 / 62 + 1 / 62), half * (1 / 64 + 1 / 62)]
    assert blend.total == pytest.approx(expected)
    assert blend.total[0] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("fusion", "matched"),
    [
        (Fusion(), [True, True, True, True, True]),
        (Fusion(min_semantic_score=0.3), [True, True, False, False, False]),
        (Fusion(min_keyword_score=0.2), [False, True, True, False, True]),
        (Fusion(min_combined_score=0.4), [False, True, True, False, False]),
        (Fusion(require_keyword_match=True), [False, True, True, True, True]),
        (Fusion(require_semantic_match=True), [True, True, False, False, False]),
        (Fusion(require_semantic_match=True, require_keyword_match=True), [False, True, False, False, False]),
    ],
)
def test_what_is_left_out(fusion: Fusion, matched: list[bool]) -> None:
    """Each least score is reached by what equals it; a semantic match reaches the threshold."""
    assert fuse(fusion, NEAR, WORDED, 0.2).matched.tolist() == matched
    assert fusion.narrows == (fusion != Fusion())


@given(near=st.floats(0.0001, 1), words=st.floats(0.0001, 1), rest=st.floats(0, 1), rrf=st.booleans())
def test_a_shown_score_is_enough_for_itself(near: float, words: float, rest: float, *, rrf: bool) -> None:
    """Given back as it is shown, with four decimals or as percent with one, a score is reached; much more is not."""
    method = "rrf" if rrf else "weighted"
    similarity, keyword = np.asarray([near, rest]), np.asarray([words, rest])
    total = float(fuse(Fusion(method), similarity, keyword, 0.0).total[0])
    for name, score in (("semantic", near), ("keyword", words), ("combined", total)):
        for shown in (round(score, 4), percent(score) / 100, percent(round(score, 4)) / 100):
            least = {f"min_{name}_score": min(shown, 1.0)}
            assert fuse(Fusion(method, **least), similarity, keyword, 0.0).matched[0]  # type: ignore[arg-type]
        more = {f"min_{name}_score": score + 0.002}
        assert not fuse(Fusion(method, **more), similarity, keyword, 0.0).matched[0]  # type: ignore[arg-type]
    assert by_similarity(similarity, np.ones(2), round(near, 4)).matched[0]
    assert not by_similarity(similarity, np.ones(2), near + 1e-4).matched[0]
