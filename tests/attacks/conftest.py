"""The spaces in which attacks are tried."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.attacks import Arena
from tests.support.spacesim import SpaceSim, no_own_items


@pytest.fixture
def arena(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Arena]:
    """Three spaces with one honest tool, and a user who has seen nothing yet."""
    sim = SpaceSim(tmp_path)
    monkeypatch.setenv("USER_SPACE", str(sim.user))
    monkeypatch.setenv("RYE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("RYE_CACHE_DIR", str(sim.cache))
    monkeypatch.delenv("RYE_SIGNING_KEY", raising=False)
    empty = tmp_path / "nothing"
    empty.mkdir()
    with no_own_items(empty):
        yield Arena(sim, capsys)
