"""Several processes and threads over the same files and the same cache; one of them may be killed at any moment."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rye import SearchResponse
from tests.support.effort import tries
from tests.support.spacesim import SpaceSim, no_own_items

ROOT = Path(__file__).resolve().parents[2]
ITEMS = 300

PROLOGUE = """
import json, sys, time
from pathlib import Path
from rye import Registry, RyeError
from rye.index.build.store import Store
project, user, cache = sys.argv[1:4]
registry = Registry(project, user=user, bundles=(), cache_dir=cache)
print("ready", flush=True)
sys.stdin.readline()
"""


ASK = """
for _ in range(int(sys.argv[4])):
    found = registry.search("deploy", limit=1000, sort_by="name")
    print(json.dumps([found.total, found.stale, len({hit.name for hit in found.results})]), flush=True)
"""

INDEX = """
while True:
    registry.rebuild()
    for path in sorted(Path(project, ".ai", "tools").glob("t1*.py")):
        path.touch()
    registry.search("is:unsigned deploy")
    print("round", flush=True)
"""

CHANGE = """
import os
for number in range(10**9):
    path = Path(project, ".ai", "tools", f"t1{number % 10}.py")
    new = path.with_name(".new")
    new.write_text(path.read_text() + f"# {number}")
    os.replace(new, path)
    registry.refresh()
    print("round", flush=True)
"""


@pytest.fixture
def sim(tmp_path: Path) -> Iterator[SpaceSim]:
    """Lay a project of many tools and nothing else."""
    (tmp_path / "none").mkdir()
    with no_own_items(tmp_path / "none"):
        sim = SpaceSim(tmp_path, bundles=())
        for number in range(ITEMS):
            sim.write("project", f"tools/t{number}.py", tool(number))
        yield sim


def tool(number: int, word: str = "build") -> str:
    """Return a tool."""
    return f'"""Deploy {word} {number}."""\n\n\ndef run{number}(): ...\n'


@contextmanager
def process(sim: SpaceSim, code: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Run code with a registry over the shared cache in a process of its own, which waits for a line to begin."""
    command = [sys.executable, "-c", PROLOGUE + code, *map(str, (sim.project, sim.user, sim.cache, *arguments))]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as started:
        try:
            assert started.stdout is not None
            assert started.stdout.readline() == "ready\n"
            yield started
        finally:
            started.kill()


def go(started: subprocess.Popen[str]) -> None:
    """Let a process begin, or go on."""
    assert started.stdin is not None
    started.stdin.write("\n")
    started.stdin.flush()


def line(started: subprocess.Popen[str]) -> str:
    """Return the next line that a process says."""
    assert started.stdout is not None
    return started.stdout.readline().strip()


def folder(sim: SpaceSim) -> Path:
    """Return the folder of the index of the project."""
    return Path(sim.registry().status()[0].cache)


def facts(response: SearchResponse) -> dict[str, Any]:
    """Return an answer without what it says about itself."""
    return {key: value for key, value in response.to_dict().items() if key not in {"took_ms", "warnings"}}


def assert_same_as_fresh(sim: SpaceSim) -> None:
    """Hold the shared cache against one just made."""
    shared, fresh = sim.registry(), sim.fresh()
    for query in ("deploy", "is:unsigned", "build -deploy", "run1*"):
        assert facts(shared.search(query, limit=1000)) == facts(fresh.search(query, limit=1000))


# the lock


# several at once


def test_several_processes_make_the_first_index_at_once(sim: SpaceSim) -> None:
    """One makes it, the others wait for it: all give the full answer, none an error."""
    started = []
    for _ in range(4):
        context = process(sim, ASK, 1)
        started.append((context, context.__enter__()))
    try:
        for _, each in started:
            go(each)
        for _, each in started:
            out, err = each.communicate(timeout=60)
            assert err == ""
            assert json.loads(out) == [ITEMS, False, ITEMS]
    finally:
        for context, _ in started:
            context.__exit__(None, None, None)
    assert_same_as_fresh(sim)


@pytest.mark.parametrize("script", [INDEX, CHANGE], ids=["all files", "one file"])
def test_a_process_killed_at_any_moment_of_indexing(sim: SpaceSim, script: str) -> None:
    """Whatever it leaves behind, the next search answers as a fresh index does, without an error."""
    moments = random.Random(7)  # noqa: S311 - no secret
    rounds = 0
    for attempt in range(attempts := tries(16, least=4)):
        with process(sim, script) as indexer:
            go(indexer)
            if attempt % 2:
                rounds += line(indexer) == "round"
            time.sleep(moments.uniform(0.0, 0.08))
            indexer.send_signal(signal.SIGKILL)
            indexer.wait(10)
        if attempt % 5 == 0:
            sim.write("project", f"tools/t{attempt}.py", tool(attempt, "server"))
        response = sim.registry().search("deploy", limit=1000)
        assert (response.total, response.stale) == (ITEMS, False)
        assert not any("rebuilt" in warning for warning in response.warnings)
    assert rounds == attempts // 2
    assert_same_as_fresh(sim)
    sim.registry().rebuild()
    assert len(list(folder(sim).iterdir())) <= 6


# threads


def test_threads_share_a_registry_while_files_change(sim: SpaceSim) -> None:
    """Eight threads ask while files are replaced, signed anew, removed and added: right answers, no errors."""
    for number in range(40):
        sim.sign("project", f"tools/t{number}.py")
    registry = sim.registry()
    registry.refresh()
    stop = threading.Event()
    faults: list[BaseException] = []
    asked = [0] * 8

    def ask(slot: int) -> None:
        try:
            while not stop.is_set():
                steady = registry.search("t2 OR t3*", fields={"name": "t2 OR t3*"}, limit=1000)
                assert {"t2", "t3", "t30", "t39"} <= {hit.name for hit in steady.results}
                for hit in registry.search("is:trusted deploy", limit=1000).results:
                    assert str(hit.signature.verdict) == "trusted"
                assert registry.get("tool:t5").content.startswith("# rye:signed:v2:")
                asked[slot] += 1
        except BaseException as fault:
            faults.append(fault)
            raise

    threads = [threading.Thread(target=ask, args=(slot,)) for slot in range(8)]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 1
    number = 0
    while time.monotonic() < deadline and not faults:
        replace_whole(sim, f"tools/t{40 + number % 200}.py", number)
        if number % 7 == 0:
            sim.write("project", f"tools/extra{number}.py", tool(number))
        if number % 7 == 3:
            sim.delete("project", f"tools/extra{number - 3}.py")
        number += 1
        time.sleep(0.005)
    stop.set()
    for thread in threads:
        thread.join(60)
    assert not faults
    assert all(asked)
    assert_same_as_fresh(sim)


def replace_whole(sim: SpaceSim, rel: str, number: int) -> None:
    """Put a new signed version in the place of a file in one step, as editors do."""
    sim.write("project", f"../fresh/{rel}", tool(number, "server"))
    made = sim.path("project", f"../fresh/{rel}")
    made.replace(sim.path("project", rel))
