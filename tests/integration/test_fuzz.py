"""The fuzzer runs: a few seconds on each target find nothing."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.envelope import TARGETS, main

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris is not installed")
@pytest.mark.parametrize("target", TARGETS)
def test_a_few_seconds_of_fuzzing_find_nothing(target: str) -> None:
    """The script ends by itself after its time, with status 0."""
    command = [sys.executable, "-m", "tests.fuzz.envelope", "--seconds", "3", "--target", target]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Done" in done.stderr


def test_without_atheris_the_fuzzer_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing fails where it is not installed, and nobody believes that it ran."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    assert main([]) == 0
    assert "skipped" in capsys.readouterr().out
