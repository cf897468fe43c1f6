"""The arguments of a search by meaning, checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from rye.errors import ArgumentError
from rye.search.fields import nearest
from rye.search.fusion import FUSIONS, Fusion

MODES = ("keyword", "semantic", "hybrid")
BOOSTS: Mapping[str, float] = {"project": 1.2, "user": 1.1, "system": 0.85}
"""What a similarity is multiplied with, by source."""

MAX_SEMANTIC_LIMIT = 100
MAX_RRF_K = 1_000
MAX_BOOST = 10
MAX_FUSION_WEIGHT = 100

_SCORES = ("min_semantic_score", "min_keyword_score", "min_combined_score")
_WEIGHTS = ("semantic_weight", "keyword_weight")
_SWITCHES = ("require_keyword_match", "require_semantic_match")
HYBRID = ("fusion", "rrf_k", *_WEIGHTS, *_SCORES, *_SWITCHES)
"""What ``hybrid`` may hold."""


@dataclass(frozen=True, slots=True)
class Mode:
    """How a search ranks.

    Attributes:
        name: One of :data:`MODES`.
        threshold: The similarity of a semantic match; None for what the model brings.
        boosts: Source → factor, in semantic mode, where the caller names one.
        fusion: How the two scores become one, in hybrid mode.
    """

    name: str = "keyword"
    threshold: float | None = None
    boosts: Mapping[str, float] = field(default_factory=dict)
    fusion: Fusion = field(default_factory=Fusion)

    @property
    def narrows(self) -> bool:
        """Whether what matches may be left out all the same."""
        return self.name == "hybrid" and self.fusion.narrows

    def factors(self, users: Mapping[str, float]) -> Mapping[str, float]:
        """Return source → factor: what the caller names, else what the user's settings say, else :data:`BOOSTS`."""
        return {**BOOSTS, **users, **self.boosts}

    @property
    def plain(self) -> bool:
        """Whether nothing but the mode was asked for."""
        return self == Mode(self.name)


_PLAIN = {name: Mode(name) for name in MODES}


def read_mode(name: str, *, threshold: Any, source_boosts: Any, hybrid: Any) -> Mode:
    """Check the arguments that belong to one mode or another; those that would have no effect are refused.

    Raises:
        ArgumentError: ``bad-threshold``, ``bad-source-boosts``, ``bad-hybrid``.
    """
    if threshold is None and source_boosts is None and hybrid is None:
        return _PLAIN[name]
    if name == "keyword" and threshold is not None:
        _refuse("bad-threshold", "threshold has no effect in mode 'keyword'", "use mode='semantic' or mode='hybrid'")
    if name != "semantic" and source_boosts:
        message = f"source_boosts has no effect in mode {name!r}"
        _refuse("bad-source-boosts", message, "use mode='semantic'; keyword and hybrid scores are never boosted")
    if name != "hybrid" and hybrid:
        _refuse("bad-hybrid", f"hybrid has no effect in mode {name!r}", "use mode='hybrid'")
    if threshold is not None:
        threshold = _between(
            "threshold", "threshold", threshold, high=1, hint="use a similarity from 0 to 1, such as 0.15"
        )
    return Mode(name, threshold, read_boosts(source_boosts), _fusion(hybrid))


def _refuse(code: str, message: str, hint: str, **details: Any) -> NoReturn:
    raise ArgumentError(code, message, hint=hint, **details)


def _between(option: str, name: str, value: Any, *, high: float, hint: str) -> float:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or not 0 <= value <= high:
        _refuse(f"bad-{option}", f"{name} is {value!r}", hint, valid=[0, high])
    return float(value)


def _mapping(option: str, name: str, value: Any, *, valid: tuple[str, ...], example: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        _refuse(f"bad-{option}", f"{name} must be a mapping, not {value!r}", f"for example {example}")
    for key in value:
        if key not in valid:
            near = nearest(key, valid, 1) if isinstance(key, str) else []
            guess = f"did you mean {near[0]!r}? " if near else ""
            _refuse(
                f"bad-{option}",
                f"{name} has no option {key!r}",
                f"{guess}valid are {', '.join(valid)}",
                valid=list(valid),
            )
    return value


def read_boosts(value: Any) -> Mapping[str, float]:
    """Check factors by source; those that are not named are left out.

    Raises:
        ArgumentError: ``bad-source-boosts``.
    """
    option = "source-boosts"
    given = _mapping(option, "source_boosts", value, valid=tuple(BOOSTS), example='{"project": 1.2, "system": 1}')
    hint = f"use a number above 0 and up to {MAX_BOOST}; 1 leaves similarities as they are"
    own = {
        key: _between(option, f"source_boosts[{key!r}]", each, high=MAX_BOOST, hint=hint) for key, each in given.items()
    }
    for key, factor in own.items():
        if factor == 0:
            _refuse("bad-source-boosts", f"source_boosts[{key!r}] is 0", f"{hint}; to leave a source out use space")
    return own


def _fusion(value: Any) -> Fusion:
    given = _mapping("hybrid", "hybrid", value, valid=HYBRID, example='{"fusion": "rrf"} or {"min_keyword_score": 20}')
    checked = {key: _fusion_option(key, each) for key, each in given.items()}
    fusion = Fusion(**checked)
    method = fusion.fusion
    for key in _WEIGHTS if method == "rrf" else ("rrf_k",):
        if key in given:
            other = "weighted" if method == "rrf" else "rrf"
            _refuse(
                "bad-hybrid", f"{key} has no effect with fusion {method!r}", f"use fusion={other!r}, or leave it out"
            )
    if not fusion.semantic_weight + fusion.keyword_weight > 0:
        _refuse("bad-hybrid", "semantic_weight and keyword_weight are both 0", "give at least one of them a weight")
    return fusion


def _fusion_option(key: str, value: Any) -> Any:
    name = f"hybrid[{key!r}]"
    if key in _SWITCHES:
        if not isinstance(value, bool):
            _refuse("bad-hybrid", f"{name} is {value!r}", "use true or false", valid=[True, False])
        return value
    if key == "fusion":
        if value not in FUSIONS:
            _refuse("bad-hybrid", f"{name} is {value!r}", f"valid are {', '.join(FUSIONS)}", valid=list(FUSIONS))
        return value
    if key == "rrf_k":
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_RRF_K:
            _refuse("bad-hybrid", f"{name} is {value!r}", f"use a whole number from 1 to {MAX_RRF_K:,}")
        return value
    if key in _WEIGHTS:
        hint = f"use a number from 0 to {MAX_FUSION_WEIGHT}; only their ratio counts"
        return _between("hybrid", name, value, high=MAX_FUSION_WEIGHT, hint=hint)
    hint = "use a score from 0 to 1, or percent: what is above 1 is percent, up to 100"
    score = _between("hybrid", name, value, high=100, hint=hint)
    return score / 100 if score > 1 else score
