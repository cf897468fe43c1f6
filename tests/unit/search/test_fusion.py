"""Two scores made one: weights, ranks, least scores, switches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.search.fusion import SPREAD, Fusion, by_similarity, fuse, keyword_score, percent

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


def test_a_weight_of_nothing_leaves_the_other_score() -> None:
    """Pure keyword, pure similarity."""
    assert fuse(Fusion(semantic_weight=0), NEAR, WORDED, 0.2).total == pytest.approx(WORDED)
    assert fuse(Fusion(keyword_weight=0), NEAR, WORDED, 0.2).total == pytest.approx([0.6, 0.3, 0, 0, 0])


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


def test_what_neither_has_a_word_nor_is_near_is_no_hit() -> None:
    """Similarity below the threshold is no match by itself."""
    assert fuse(Fusion(), np.asarray([0.19, 0.2]), np.zeros(2), 0.2).matched.tolist() == [False, True]


def test_boosts_do_not_touch_similarities() -> None:
    """The threshold is for what is raw, and the raw value stays."""
    blend = by_similarity(NEAR, np.asarray([0.5, 2.0, 2.0, 2.0, 2.0]), 0.3)
    assert blend.similarity is NEAR
    assert blend.total == pytest.approx([0.3, 0.6, 0, 0, 0])
    assert blend.matched.tolist() == [True, True, False, False, False]


@given(
    scores=st.lists(
        st.tuples(st.floats(-1, 1), st.floats(0, 1), st.floats(0, 1)).map(lambda found: (found[0], *sorted(found[1:]))),
        min_size=1,
        max_size=9,
    ),
    rrf=st.booleans(),
)
def test_totals_stay_between_0_and_1(scores: list[tuple[float, float, float]], *, rrf: bool) -> None:
    """Whatever the scores are."""
    near, score, coverage = np.asarray(scores).T
    words = keyword_score(score, coverage)
    assert (words <= coverage).all()
    blend = fuse(Fusion(fusion="rrf" if rrf else "weighted"), near, words, 0.2)
    assert ((blend.total >= 0) & (blend.total <= 1 + 1e-12)).all()


def test_percent_has_one_decimal() -> None:
    """Rounded as the unrounded score is."""
    assert [percent(value) for value in (0.0, 0.12345, 0.9996, 1.0)] == [0.0, 12.3, 100.0, 100.0]
