"""The arguments of a retrieval of sections, checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from rye.errors import ArgumentError
from rye.search.request import PLAIN, Request, make_request

__all__ = ["MAX_BUDGET", "MAX_SECTIONS", "SectionRequest", "make_section_request"]

MAX_SECTIONS = 50
"""Sections in one answer."""

EACH = 5
"""How many times as many items and sections are looked at as sections are wanted."""

MAX_BUDGET = 1_000_000
"""Largest ``max_chars``."""

MAX_HALF_LIFE = 36_500


@dataclass(frozen=True, slots=True)
class SectionRequest:
    """One retrieval, valid in all its parts.

    Attributes:
        search: What to find.
        recency_weight, authority_weight: Which part of a score hangs on age and on authority; together at most 1.
        half_life_days: Age at which recency is one half.
        max_chars: Characters of all texts together; None for no limit.
    """

    search: Request
    recency_weight: float = 0.0
    half_life_days: float = 30.0
    authority_weight: float = 0.0
    max_chars: int | None = None

    @property
    def top_k(self) -> int:
        """How many items by meaning, items by words, and sections are looked at."""
        return EACH * self.search.limit


def make_section_request(query: str, options: Mapping[str, Any]) -> SectionRequest:
    """Check the arguments of ``Registry.sections``.

    Raises:
        ArgumentError: One of them is not valid; the message lists what is.
    """
    own = {name: options[name] for name in ("recency_weight", "half_life_days", "authority_weight", "max_chars")}
    search = make_request(query, {**PLAIN, **{name: value for name, value in options.items() if name not in own}})
    if not query.strip():
        _refuse("bad-query", "the query is empty", "say what the sections are to be about")
    if search.limit > MAX_SECTIONS:
        hint = f"use a whole number from 1 to {MAX_SECTIONS}"
        _refuse("bad-limit", f"limit is {search.limit!r}", hint, valid=[1, MAX_SECTIONS])
    recency = _number("recency_weight", own["recency_weight"], 0, 1)
    authority = _number("authority_weight", own["authority_weight"], 0, 1)
    if recency + authority > 1:
        message = f"recency_weight and authority_weight are {recency + authority:g} together"
        _refuse("bad-authority-weight", message, "they are parts of the score; together they may be 1 at most")
    half_life = _number("half_life_days", own["half_life_days"], 0, MAX_HALF_LIFE)
    if half_life == 0:
        _refuse("bad-half-life-days", "half_life_days is 0", f"use a number above 0, up to {MAX_HALF_LIFE:,}")
    return SectionRequest(search, recency, half_life, authority, _budget(own["max_chars"]))


def _budget(value: Any) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_BUDGET:
        hint = f"use a whole number from 1 to {MAX_BUDGET:,}, or leave it out"
        _refuse("bad-max-chars", f"max_chars is {value!r}", hint, valid=[1, MAX_BUDGET])
    return int(value)


def _number(name: str, value: Any, low: float, high: float) -> float:
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not plain or not math.isfinite(value) or not low <= value <= high:
        hint = f"use a number from {low:g} to {high:,g}"
        _refuse(f"bad-{name.replace('_', '-')}", f"{name} is {value!r}", hint, valid=[low, high])
    return float(value)


def _refuse(code: str, message: str, hint: str, **details: Any) -> NoReturn:
    raise ArgumentError(code, message, hint=hint, **details)
