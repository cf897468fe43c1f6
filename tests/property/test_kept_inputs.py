"""Inputs that the fuzzer begins with, or that broke a promise once, keep every promise."""

from __future__ import annotations

import pytest

from tests.fuzz.targets import TARGETS, load


@pytest.mark.parametrize("name", TARGETS)
def test_every_input_that_is_kept_keeps_the_promises(name: str) -> None:
    """Without the fuzzer, which runs weekly."""
    target = load(name)
    assert target.seeds
    for data in target.seeds:
        target.check(data)
