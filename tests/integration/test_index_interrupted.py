"""A process that gets a signal while it builds an index ends by that signal and leaves nothing half done."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from rye._process import Worker, start
from rye.index.build.parallel_build import call
from tests.support.spacesim import SpaceSim

ROOT = Path(__file__).resolve().parents[2]
FILES = 4_500
"""So many that several processes work and write runs."""


@pytest.fixture(scope="session")
def sim(tmp_path_factory: pytest.TempPathFactory) -> SpaceSim:
    """Lay a project that takes some seconds to index."""
    sim = SpaceSim(tmp_path_factory.mktemp("interrupted"), bundles=())
    for number in range(FILES):
        sim.write("project", f"knowledge/k{number}.md", f"# Deploy {number}\n\nA build of {number} parts.\n")
    return sim


def ended_by_signal(sim: SpaceSim, number: signal.Signals, cache: Path, words: Sequence[str], **more: str) -> None:
    """Send a command a signal once there are runs in a cache folder, or in one below: it ends by that, and quietly."""
    if signal.getsignal(number) == signal.SIG_IGN:
        pytest.skip("whoever started the tests ignores it, as nohup does, and so does the process")
    command = [sys.executable, "-m", "rye", *words, "--project", str(sim.project)]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "USER_SPACE": str(sim.user), "PYTHONDONTWRITEBYTECODE": "1"}
    with subprocess.Popen(command, env=environment | more, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        until = time.monotonic() + 60
        while (
            not [*cache.glob("v1/*/run-*"), *cache.glob("*/v1/*/run-*")]
            and process.poll() is None
            and time.monotonic() < until
        ):
            time.sleep(0.002)
        process.send_signal(number)
        try:
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()  # a process that hangs must not hang the tests
    assert process.returncode == (130 if number == signal.SIGINT else -number), said
    assert b"Traceback" not in said


each_signal = pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT], ids=lambda number: number.name
)


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
@each_signal
def test_a_build_that_gets_a_signal_ends_and_leaves_nothing(
    sim: SpaceSim, tmp_path: Path, number: signal.Signals
) -> None:
    """Once runs are there, the process gets a signal: it ends by that signal, and all that it wrote is gone."""
    cache = tmp_path / "cache"
    ended_by_signal(sim, number, cache, ["index", "rebuild"], RYE_CACHE_DIR=str(cache))
    left = [path.name for path in cache.rglob("*") if path.is_file() and not path.name.endswith("LOCK")]
    assert not [name for name in left if name.startswith("run-")], left


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
@each_signal
def test_a_temporary_cache_goes_with_a_process_that_gets_a_signal(
    sim: SpaceSim, tmp_path: Path, number: signal.Signals
) -> None:
    """The temporary folder that stands in for a cache is gone, whatever ended the process."""
    (tmp_path / "file").touch()
    (tmp_path / "tmp").mkdir()
    places = {"TMPDIR": str(tmp_path / "tmp"), "RYE_CACHE_DIR": str(tmp_path / "file")}
    ended_by_signal(sim, number, tmp_path / "tmp", ["search", "deploy"], **places)
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_lock_that_a_signal_lost_does_not_keep_a_process() -> None:
    """A signal may strike between taking the lock of an answer and holding it; whoever dismisses a worker goes on."""
    helper = start("rye.index.build.parallel_build")
    assert helper is not None
    worker = Worker(helper, call)
    answer = worker.ask(partial(time.sleep, 60))
    with answer._condition:
        began = time.monotonic()
        worker.dismiss()
    assert time.monotonic() - began < 30


def test_a_helper_ends_with_the_process_that_it_helps() -> None:
    """When nobody can ask it any more, it is gone."""
    helper = start("rye.index.build.parallel_build")
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
