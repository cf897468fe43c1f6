"""Killed at any moment of a build, a refresh or a merge, a process leaves an index that is read and fixed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rye._process import start

KILLS = 150
"""Of each of two kinds."""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are made by forking")
@pytest.mark.parametrize("pieces", [(), ("pieces",)], ids=["whole", "in pieces"])
def test_a_process_killed_at_any_moment_leaves_the_snapshot_before_it(tmp_path: Path, pieces: tuple[str, ...]) -> None:
    """What is found after SIGKILL is the state before or after, whole; the next refresh fixes and leaves nothing."""
    command = [sys.executable, "-m", "tests.support.killing", str(tmp_path), "7", str(KILLS), *pieces]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    killed = {outcome: count for outcome, count in counts.items() if "killed" in outcome}
    assert sum(killed.values()) > KILLS // 3, counts
    assert counts["left something"] > 5, counts
    assert counts["swept"] > KILLS // 3, counts
    assert {outcome.partition(",")[0] for outcome in killed} == {"build", "refresh"}


def test_a_helper_ends_with_the_process_that_it_helps() -> None:
    """When nobody can ask it any more, it is gone."""
    helper = start("rye.index.parallel_build")
    assert helper is not None
    helper.stdin.close()
    assert helper.wait() == 0
    helper.stdout.close()


@pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux")
@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 9)", "os._exit(0)", "sys.exit()", "helper.dismiss(); input()"])
def test_a_copy_ends_with_the_process_that_it_helps(end: str) -> None:
    """However that ends; until the copy has ended too, it holds the standard output that both were given."""
    code = f"""
import os, sys
from rye._process import copy
from rye.verify.worker import help_out
helper, other = copy(help_out), copy(help_out)
print(helper and other, flush=True)
{end}
"""
    done = subprocess.run([sys.executable, "-c", code], input=b"\n", stdout=subprocess.PIPE, timeout=60, check=False)
    assert done.stdout.startswith(b"Helper("), done
