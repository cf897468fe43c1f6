"""The arguments of a search by meaning: what is valid, and what is refused with what would be."""

from __future__ import annotations

import math
from typing import Any

import pytest

from rye.errors import ArgumentError
from rye.search.fusion import Fusion
from rye.search.request import BOOSTS
from tests.unit.search.asking import request


def test_defaults() -> None:
    """Those of the documentation."""
    mode = request("x", mode="hybrid").mode
    assert (mode.name, mode.threshold) == ("hybrid", None)
    assert mode.factors({}) == {"project": 1.2, "user": 1.1, "system": 0.85}
    assert (mode.fusion.fusion, mode.fusion.rrf_k) == ("weighted", 60)
    assert (mode.fusion.semantic_weight, mode.fusion.keyword_weight) == (0.72, 0.28)
    assert mode.plain
    assert not mode.narrows


@pytest.mark.parametrize(("given", "meant"), [(0, 0.0), (0.35, 0.35), (1, 1.0), (1.5, 0.015), (35, 0.35), (100, 1.0)])
@pytest.mark.parametrize("name", ["min_semantic_score", "min_keyword_score", "min_combined_score"])
def test_scores_are_shares_or_percent(name: str, given: float, meant: float) -> None:
    """1 is all; only what is above it is percent."""
    assert getattr(request("x", mode="hybrid", hybrid={name: given}).mode.fusion, name) == pytest.approx(meant)


def test_options_arrive() -> None:
    """Each in its place; boosts that are not named keep their default."""
    hybrid: dict[str, Any] = {
        "fusion": "rrf",
        "rrf_k": 10,
        "require_keyword_match": True,
        "require_semantic_match": True,
    }
    assert request("x", mode="hybrid", hybrid=hybrid).mode.fusion == Fusion(**hybrid)
    mode = request("x", mode="semantic", threshold=0, source_boosts={"system": 1}).mode
    assert (mode.threshold, mode.factors({})) == (0.0, {**BOOSTS, "system": 1.0})
    assert mode.factors({"system": 2, "user": 2}) == {"project": 1.2, "user": 2, "system": 1.0}
    assert request("x", mode="keyword", hybrid={}, source_boosts={}).mode.plain


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("bad-threshold", {"mode": "keyword", "threshold": 0.2}),
    *[("bad-threshold", {"mode": "semantic", "threshold": value}) for value in (-0.1, 1.1, "0.2", True, math.nan)],
    ("bad-source-boosts", {"mode": "keyword", "source_boosts": {"user": 1}}),
    ("bad-source-boosts", {"mode": "hybrid", "source_boosts": {"user": 1}}),
    *[
        ("bad-source-boosts", {"mode": "semantic", "source_boosts": value})
        for value in (
            {"usr": 1},
            {"user": 0},
            {"user": -1},
            {"user": 11},
            {"user": "1"},
            {"user": math.inf},
            ["user"],
            1,
        )
    ],
    ("bad-hybrid", {"mode": "semantic", "hybrid": {"fusion": "rrf"}}),
    ("bad-hybrid", {"mode": "keyword", "hybrid": {"fusion": "rrf"}}),
    *[
        ("bad-hybrid", {"mode": "hybrid", "hybrid": value})
        for value in (
            {"fusion": "max"},
            {"fusion": ["rrf"]},
            {"fusio": "rrf"},
            {1: 2},
            "rrf",
            {"rrf_k": 60},
            {"fusion": "rrf", "rrf_k": 0},
            {"fusion": "rrf", "rrf_k": 2.5},
            {"fusion": "rrf", "rrf_k": True},
            {"fusion": "rrf", "rrf_k": 1001},
            {"fusion": "rrf", "keyword_weight": 1},
            {"semantic_weight": 0, "keyword_weight": 0},
            {"semantic_weight": -1},
            {"keyword_weight": math.nan},
            {"min_semantic_score": -1},
            {"min_keyword_score": 101},
            {"min_combined_score": "10%"},
            {"min_combined_score": None},
            {"require_keyword_match": 1},
            {"require_semantic_match": "yes"},
        )
    ],
    ("bad-limit", {"mode": "semantic", "limit": 101}),
    ("bad-mode", {"mode": "meaning"}),
]


@pytest.mark.parametrize(("code", "options"), REFUSED, ids=str)
def test_what_is_not_valid_or_has_no_effect_is_refused(code: str, options: dict[str, Any]) -> None:
    """With a stable code, what was given, and what to do."""
    with pytest.raises(ArgumentError) as raised:
        request("x", **options)
    assert raised.value.code == code
    assert raised.value.hint


def test_a_slip_in_an_option_gets_a_guess() -> None:
    """The nearest is named, and all are listed."""
    with pytest.raises(ArgumentError) as raised:
        request("x", mode="hybrid", hybrid={"semantic_wieght": 1})
    assert "did you mean 'semantic_weight'?" in raised.value.hint
    assert "require_keyword_match" in raised.value.details["valid"]
