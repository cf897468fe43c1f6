"""The fuzzer runs, and what it begins with and once found keeps every promise."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.targets import CORPUS, TARGETS, load, main

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", TARGETS)
def test_every_input_that_is_kept_keeps_the_promises(name: str) -> None:
    """Also what broke one once; without the fuzzer."""
    target = load(name)
    assert target.seeds
    for data in target.seeds:
        target.check(data)


def test_every_folder_of_the_corpus_is_that_of_a_target() -> None:
    """And every target has one."""
    assert {folder.name for folder in CORPUS.iterdir()} == set(TARGETS)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris is not installed")
def test_a_few_seconds_of_fuzzing_find_nothing() -> None:
    """The script ends by itself after its time, with status 0, and says how many inputs each target was given."""
    command = [sys.executable, "-m", "tests.fuzz.targets", "--minutes", "0.1", "--targets", "query", "yaml"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines()[2:]]
    assert [name for name, *_ in rows] == ["query", "yaml"]
    assert all(inputs != "0" for _, inputs, _ in rows)


def test_without_atheris_the_fuzzer_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing fails where it is not installed, and nobody believes that it ran."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    assert main([]) == 0
    assert "skipped" in capsys.readouterr().out
