"""How much a Hypothesis test tries: little in the gate, much in the weekly run.

``HYPOTHESIS_PROFILE=weekly`` tries 500 examples with random seeds; the gate's profile, ``ci``, the same 25 each time.
"""

from __future__ import annotations

from datetime import timedelta

from hypothesis import HealthCheck, settings

__all__ = ["examples", "register_profiles", "tries"]

_CI, _WEEKLY = 25, 500
_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]


def register_profiles() -> None:
    """Make the profiles known to Hypothesis."""
    settings.register_profile(
        "ci",
        derandomize=True,
        database=None,
        deadline=None,
        max_examples=_CI,
        print_blob=True,
        suppress_health_check=_SLOW,
    )
    settings.register_profile("dev", deadline=timedelta(seconds=5), max_examples=4 * _CI)
    settings.register_profile("weekly", deadline=None, max_examples=_WEEKLY, suppress_health_check=_SLOW)


def examples(count: int, *, least: int = 5) -> settings:
    """Return settings for a test whose examples cost more or less than usual.

    Args:
        count: Examples where the profile has 100.
        least: Examples at the least; 20 for a state machine.
    """
    return settings(max_examples=tries(count, least=least))


def tries(count: int, *, least: int = 1) -> int:
    """Return how often to try where a profile of 100 examples tries ``count`` times, and ``least`` times at least."""
    return max(least, count * settings().max_examples // 100)
