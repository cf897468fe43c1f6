"""The commands of ``tests/integration/test_stopped.py``, killed at forty moments each, and on twenty full disks."""

from __future__ import annotations

import os

import pytest

from tests.integration.test_stopped import check_filled, check_killed, scene
from tests.support.stopped import Scene

__all__ = ["scene"]

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kills and limits are POSIX")


def test_killed_at_forty_moments(scene: tuple[Scene, list[str]]) -> None:
    """SIGKILL before any of its steps."""
    check_killed(*scene, 40)


def test_on_twenty_full_disks(scene: tuple[Scene, list[str]]) -> None:
    """Full from one of its steps on, or for files of more than some bytes."""
    check_filled(*scene, 20)
