"""When files are read again, when they are not, and that answers depend on the files alone."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest

from rye import Registry
from tests.support.spacesim import SpaceSim, no_own_items

QUERIES = (
    "deploy",
    "deploy server",
    "depl* OR build",
    '"deploy build"',
    "build -server",
    "number:>=5 deploy",
    "name:t1*",
)


@pytest.fixture
def sim(tmp_path: Path) -> Iterator[SpaceSim]:
    """Lay empty spaces, without rye's own items."""
    (tmp_path / "none").mkdir()
    with no_own_items(tmp_path / "none"):
        yield SpaceSim(tmp_path, bundles=("shop",))


def tool(number: int) -> str:
    """Return a tool; its words depend on its number."""
    words = ["deploy", "build" if number % 2 else "server", "again " * (number % 5)]
    return f'"""{" ".join(words)}"""\n\n__number__ = {number % 10}\n__version__ = "1.{number}"\n'


def answers(registry: Registry) -> list[dict[str, Any]]:
    """Return what a registry answers, scores explained, down to the last bit."""
    found = []
    for query in QUERIES:
        response = registry.search(query, limit=60, explain=True).to_dict()
        del response["took_ms"]
        found.append(response)
    return found


def settle(registry: Registry) -> None:
    """Wait until no file can have changed unseen within one tick of the clock, and index what is left."""
    time.sleep(0.15)
    registry.refresh()


# segments


def test_scores_do_not_depend_on_segments_or_deletions(sim: SpaceSim) -> None:
    """Laid in batches, with deletions between, items are found and scored as if laid at once."""
    registry = sim.registry()
    dice = random.Random(5)  # noqa: S311 - no secret
    segments = []
    for low, high in ((0, 600), (600, 770), (770, 840)):
        for number in range(low, high):
            sim.write("project", f"tools/t{number}.py", tool(number))
        registry.refresh()
        segments.append(registry.status()[0].segments)
        for rel in dice.sample(sim.rels("project"), 20):
            sim.delete("project", rel)
        assert answers(registry) == answers(sim.fresh())
    assert segments == [1, 2, 3]


def test_words_of_deleted_items_are_forgotten(sim: SpaceSim) -> None:
    """They are no part of the dictionary: not for typos, not for relaxation, not for ``did_you_mean``."""
    for number in range(100):
        sim.write("project", f"knowledge/k{number}.md", f"# Deploy {number}\n\nA build.\n")
    sim.write("project", "tools/t.py", '"""Orchestrate threads."""\n')
    registry = sim.registry()
    assert registry.search("orchestrat").stage == "fuzzy"
    sim.delete("project", "tools/t.py")
    for query in ("orchestrat", "orchestrate", "orchestrat deploy", "orch*", "orchestrate~ OR deploy"):
        found, fresh = registry.search(query), sim.fresh().search(query)
        assert (found.total, found.stage, found.did_you_mean) == (fresh.total, fresh.stage, fresh.did_you_mean)
        assert "orchestrate" not in found.did_you_mean


# what is seen


def test_an_edit_right_after_indexing_of_the_same_size(sim: SpaceSim) -> None:
    """In place and of the same size: seen at the next search, however soon it came."""
    registry = sim.registry()
    path = sim.write("project", "tools/t.py", '"""word aaaa"""\n')
    for number in range(40):
        overwrite(path, f"w{number:03d}")
        assert [hit.id for hit in registry.search(f"w{number:03d}", relax=False).results] == ["t"]
        assert registry.search(f"-w{number:03d}", space="project").total == 0


def overwrite(path: Path, word: str) -> None:
    """Change a word of a tool to another of four letters, in the same file."""
    with path.open("r+b") as stream:
        stream.write(f'"""word {word}"""\n'.encode())


def test_an_edit_within_one_tick_of_the_clock(sim: SpaceSim) -> None:
    """Between reading a file and noting that it was read it changes again, at the same time by its clock."""
    path = sim.write("project", "tools/t.py", '"""word aaaa"""\n')
    words = iter(range(10_000))
    last = ""

    def change(done: int, total: int, _source: str) -> None:
        nonlocal last
        if done == total:
            last = f"w{next(words):03d}"
            overwrite(path, last)

    registry, other = sim.registry(progress=change), sim.registry()
    for _ in range(20):
        overwrite(path, "aaaa")
        registry.refresh()
        assert other.search(last, relax=False).total == 1


def test_an_edit_with_its_time_set_back(sim: SpaceSim) -> None:
    """Same size, same inode, same time of change as before: the inode's own time gives it away."""
    registry = sim.registry()
    path = sim.write("project", "tools/t.py", '"""word aaaa"""\n')
    os.utime(path, ns=(10**18, 10**18))
    settle(registry)
    for word in ("bbbb", "cccc"):
        with path.open("r+b") as stream:
            stream.write(f'"""word {word}"""\n'.encode())
        os.utime(path, ns=(10**18, 10**18))
        assert registry.search(word, relax=False).total == 1
        assert registry.search("aaaa", relax=False).total == 0


def test_a_file_put_in_the_place_of_another(sim: SpaceSim) -> None:
    """Renamed over it, same size and same times: another inode is another file."""
    registry = sim.registry()
    path = sim.write("project", "tools/t.py", '"""word aaaa"""\n')
    other = sim.write("project", "../elsewhere.py", '"""word bbbb"""\n')
    for each in (path, other):
        os.utime(each, ns=(10**18, 10**18))
    settle(registry)
    assert registry.search("aaaa", relax=False).total == 1
    other.replace(path)
    assert registry.search("bbbb", relax=False).total == 1


# what is not done


# max_staleness


def test_a_hit_that_changed_makes_a_watched_registry_look_again(sim: SpaceSim) -> None:
    """Right after a write, a rename or a checkout, of which the watch does not know yet, the answer is that of now."""
    registry = sim.registry()
    registry.max_staleness = float("inf")  # as a watch does
    sim.write("project", "knowledge/first.md", "# First\n\nA quokka lives here.\n")
    assert [hit.id for hit in registry.search("quokka", space="project").results] == ["first"]
    folder = sim.project / ".ai" / "knowledge"
    (folder / "first.md").rename(folder / "second.md")
    found = registry.search("quokka", space="project")
    assert ([hit.id for hit in found.results], found.stale) == (["second"], False)
    (folder / "second.md").write_text("# Second\n\nNobody lives here.\n", encoding="utf-8")
    assert registry.search("quokka", space="project", relax=False).total == 0


def test_max_staleness_says_how_old_a_scan_may_be(sim: SpaceSim) -> None:
    """0 scans before each search, infinity never again, anything between after so many seconds; refresh always does."""
    sim.write("project", "tools/t0.py", tool(0))
    always, never, sometimes = (sim.registry(max_staleness=seconds) for seconds in (0, float("inf"), 0.4))
    for registry in (always, never, sometimes):
        assert registry.search("deploy").total == 1
    sim.write("project", "tools/t1.py", tool(1))
    assert sometimes.search("deploy").total == 1
    assert never.search("deploy").total == 1
    assert always.search("deploy").total == 2
    time.sleep(0.5)
    assert sometimes.search("deploy").total == 2
    assert never.search("deploy").total == 1
    assert never.refresh().stale is False
    assert never.search("deploy").total == 2


def test_one_scan_serves_all_calls_within(sim: SpaceSim) -> None:
    """Of this thread and no longer, not even for a task begun within: a list of a hundred items is one comparison."""
    sim.write("project", "tools/t0.py", tool(0))
    registry = sim.registry()
    with registry.single_scan():
        assert registry.search("deploy").total == 1
        sim.write("project", "tools/t1.py", tool(1))
        assert registry.search("deploy").total == 1
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(registry.search, "deploy").result().total == 2
        assert registry.search("deploy").total == 1
        registry.rebuild()
        assert registry.search("deploy").total == 2
        task = copy_context()
    sim.write("project", "tools/t2.py", tool(2))
    assert registry.search("deploy").total == 3
    assert task.run(lambda: registry.search("deploy").total) == 3
