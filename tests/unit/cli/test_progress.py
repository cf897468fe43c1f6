"""The progress bar appears late, only for a person, and goes away."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rye.cli.progress import IndexProgress


def ticking(*times: float) -> Callable[[], float]:
    """Return a clock that shows these times one after the other."""
    left = iter(times)
    return lambda: next(left)


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


def test_a_long_index_shows_how_fast_it_is_and_what_is_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Items a second and the time left are of the source at hand; a total that was too low grows; 80 cells suffice."""
    monkeypatch.setenv("COLUMNS", "80")
    with IndexProgress(watched=True, clock=ticking(0, 2, 4, 6, 7), doing="verifying") as progress:
        progress(1_000, 11_000, "project")
        progress(0, 100, "user")
        progress(50, 100, "user")
        progress(1_409, 100, "user")
    lines = [line.strip() for line in capsys.readouterr().err.split("\r")]
    assert lines[1].startswith("verifying project 1,000/11,000  500/s  20 s left  ")
    assert lines[3].startswith("verifying user 50/100  25/s  2 s left  ")
    assert lines[4].startswith("verifying user 1,409/1,409  ")
    assert max(map(len, lines)) < 80
    assert lines[-2:] == ["", ""]
