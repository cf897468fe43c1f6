"""The progress bar appears late, only for a person, and goes away."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from rye.cli.terminal import IndexProgress


def ticking(*times: float) -> Callable[[], float]:
    """Return a clock that shows these times one after the other."""
    left = iter(times)
    return lambda: next(left)


def test_a_short_index_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Below a second nothing is drawn."""
    with IndexProgress(watched=True, clock=ticking(0, 0.2, 0.9)) as progress:
        progress(1, 10, "project")
        progress(9, 10, "project")
    assert capsys.readouterr().err == ""


def test_nobody_watches_nothing_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a terminal there is no bar however long it takes."""
    with IndexProgress(watched=False, clock=ticking(0, 50)) as progress:
        progress(1, 10, "project")
    assert capsys.readouterr().err == ""


def test_a_long_index_shows_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """After a second the bar names the source, escaped, and the count; frames are not drawn too often."""
    with IndexProgress(watched=True, clock=ticking(0, 1.5, 1.55, 2)) as progress:
        progress(3, 10, "system:\x1bcore")
        progress(4, 10, "system:\x1bcore")
        progress(5, 10, "system:\x1bcore")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "indexing system:\\x1bcore" in captured.err
    assert "3/10" in captured.err
    assert "4/10" not in captured.err
    assert "5/10" in captured.err


def test_a_missing_standard_error_is_not_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process without standard error indexes in silence."""
    monkeypatch.setattr(sys, "stderr", None)
    with IndexProgress(clock=ticking(0, 5)) as progress:
        progress(1, 2, "user")
