"""The façade names everything that a surface may use, and loads it when it is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import rye.registry


@pytest.mark.parametrize("name", rye.registry.__all__)
def test_every_name_is_there(name: str) -> None:
    """Each name comes from the module that the table says."""
    assert getattr(rye.registry, name) is not None


def test_another_name_is_an_attribute_error() -> None:
    """As of any module."""
    with pytest.raises(AttributeError, match="nothing_like_that"):
        _ = rye.registry.nothing_like_that


def test_importing_the_facade_loads_no_room_below() -> None:
    """A name is loaded with its first use."""
    code = "import sys, rye.registry; print(*[name for name in sys.modules if name.startswith('rye')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["rye", "rye.registry"]
