"""When files are read again, when they are not, and that answers depend on the files alone."""

from __future__ import annotations

import gc
import os
import random
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest

from rye import ArgumentError, QueryError, Registry
from tests.support.files import lay
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


@pytest.mark.skipif(sys.platform != "linux", reason="what a process has mapped is read from /proc")
def test_an_older_index_is_let_go_without_a_garbage_collection(sim: SpaceSim) -> None:
    """A server that lives on does not hold the file of every index that it ever read."""

    def gone() -> int:
        mapped = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
        return sum(str(sim.folder) in line and line.endswith("(deleted)") for line in mapped)

    registry, counts = sim.registry(), []
    gc.collect()
    gc.disable()
    try:
        for number in range(8):
            sim.write("project", "tools/t.py", tool(number))
            registry.search("deploy", sort_by="name", facets=["type"])
            registry.search("name:t deploi")
            registry.verify()
            counts.append(gone())
    finally:
        gc.enable()
    assert counts[-1] == counts[3] <= 2, counts


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


def test_scores_do_not_depend_on_the_order_of_indexing(sim: SpaceSim, tmp_path: Path) -> None:
    """The same files written in another order, one by one or all at once, give the same answers."""
    numbers = list(range(60))
    other = SpaceSim(tmp_path / "other", bundles=("shop",))
    one_by_one = other.registry()
    for number in numbers:
        sim.write("project", f"tools/t{number}.py", tool(number))
    numbers.sort(key=lambda number: number * 37 % 61)
    for number in numbers:
        other.write("project", f"tools/t{number}.py", tool(number))
        one_by_one.refresh()
    assert without_place(answers(one_by_one)) == without_place(answers(sim.registry()))


def without_place(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return answers without the paths of their files."""
    for response in found:
        for hit in response["results"]:
            del hit["path"]
    return found


def test_scores_count_only_the_space_searched(sim: SpaceSim) -> None:
    """N, df and lengths are those of the spaces searched; scope and filters do not change them."""
    for number in range(10):
        sim.write("project", f"tools/t{number}.py", tool(number))
        sim.write("user", f"tools/u{number}.py", '"""Nothing of the kind."""\n')
    registry = sim.registry()

    def score(**options: Any) -> float:
        return {hit.id: hit.score for hit in registry.search("server", limit=100, **options).results}["t0"]

    assert score() == score(scope="tool.t0") == score(filters={"version": "<1.5"}) == score(include_superseded=True)
    assert score() == score(scope="tool,knowledge") == score(filters={"number": "0"})
    assert score() != score(space="project")
    (trace,) = [
        trace
        for hit in registry.search("server", space="project", explain=True, scope="tool.t0").results
        for trace in (hit.explain or ())
        if trace.field == "description"
    ]
    assert trace.df == 5


def test_keys_of_deleted_items_are_forgotten(sim: SpaceSim) -> None:
    """A metadata key that no item has any more is an unknown field again, also where its segment is still there."""
    for number in range(100):
        sim.write("project", f"knowledge/k{number}.md", f"# Deploy {number}\n\nA build.\n")
    sim.write("project", "tools/t.py", tool(1))
    registry = sim.registry()
    assert registry.search("number:*").total == 1
    sim.delete("project", "tools/t.py")
    for each in (sim.fresh(), registry):
        with pytest.raises(QueryError) as caught:
            each.search("number:*", relax=False)
        assert caught.value.code == "unknown-field"
        with pytest.raises(ArgumentError):
            each.search("", filters={"number": "1"})
        with pytest.raises(ArgumentError):
            each.search("", fields={"number": "1"})


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


def test_a_folder_that_comes_and_goes(sim: SpaceSim) -> None:
    """Spaces may appear after the registry, and vanish before it does."""
    registry = sim.registry(project=sim.folder / "project")
    root = sim.root("project")
    sim.write("project", "tools/t.py", tool(1))
    assert registry.search("deploy").total == 1
    root.rename(sim.folder / "away")
    assert registry.search("deploy").total == 0
    (sim.folder / "away").rename(root)
    assert registry.search("deploy").total == 1


def test_case_and_form_of_names_are_their_own(sim: SpaceSim) -> None:
    """Ids that differ only in case are two items; a rename from one to the other is seen."""
    registry = sim.registry()
    sim.write("project", "tools/Deploy.py", tool(1))
    assert [hit.id for hit in registry.search("deploy").results] == ["Deploy"]
    sim.move("project", "tools/Deploy.py", "tools/deploy.py")
    assert [hit.id for hit in registry.search("deploy").results] == ["deploy"]


# what is not done


def test_nothing_is_written_when_nothing_changed(sim: SpaceSim) -> None:
    """Searches of settled files leave the index as it is."""
    for number in range(20):
        sim.write("project", f"tools/t{number}.py", tool(number))
    registry = sim.registry()
    registry.search("deploy")
    settle(registry)
    before = [status.generation for status in registry.status()]
    for _ in range(3):
        assert answers(registry)
        assert answers(sim.registry())
    assert [status.generation for status in registry.status()] == before


def test_a_file_dated_in_the_future_is_not_read_at_every_search(sim: SpaceSim) -> None:
    """A wrong clock elsewhere costs nothing here: the file is indexed once, and again when it changes."""
    path = sim.write("project", "tools/t.py", '"""word aaaa"""\n')
    os.utime(path, (4e9, 4e9))
    registry = sim.registry()
    settle(registry)
    before = registry.status()[0].generation
    for _ in range(3):
        registry.search("aaaa")
    assert registry.status()[0].generation == before
    path.write_text('"""word bbbb"""\n', encoding="utf-8")
    os.utime(path, (4e9, 4e9))
    assert registry.search("bbbb", relax=False).total == 1


def test_a_touched_file_is_not_indexed_again(sim: SpaceSim) -> None:
    """Another time with the same bytes is no change."""
    for number in range(20):
        sim.write("project", f"tools/t{number}.py", tool(number))
    registry = sim.registry()
    settle(registry)
    os.utime(sim.path("project", "tools/t1.py"), ns=(10**18, 10**18))
    report = registry.refresh()
    assert (report.added, report.changed, report.removed, report.unchanged) == (0, 0, 0, 20)


def test_what_a_refresh_reports(sim: SpaceSim) -> None:
    """Files added, changed, removed and unchanged since the last one, over all spaces."""
    registry = sim.registry()
    for number in range(5):
        sim.write("project", f"tools/t{number}.py", tool(number))
        sim.write("user", f"tools/t{number}.py", tool(number))
    assert registry.refresh().to_dict() == {
        "added": 10, "changed": 0, "removed": 0, "unchanged": 0, "stale": False, "temporary": False, "warnings": []
    }  # fmt: skip
    sim.write("project", "tools/t0.py", tool(77))
    sim.delete("user", "tools/t0.py")
    sim.move("user", "tools/t1.py", "tools/new.py")
    sim.write("system:shop", "tools/bad.yaml", b"\xff")
    report = registry.refresh()
    assert (report.added, report.changed, report.removed, report.unchanged) == (2, 1, 2, 7)
    assert any("bad.yaml" in warning for warning in report.warnings)
    rebuilt = registry.rebuild()
    assert (rebuilt.added, rebuilt.changed, rebuilt.removed) == (10, 0, 0)


# max_staleness


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


def test_a_scan_of_another_process_counts_too(sim: SpaceSim) -> None:
    """A new registry that may be stale takes the last comparison of any other, but makes an index where none is."""
    sim.write("project", "tools/t0.py", tool(0))
    sim.registry().search("deploy")
    sim.write("project", "tools/t1.py", tool(1))
    assert sim.registry(max_staleness=3600).search("deploy").total == 1
    assert sim.registry().search("deploy").total == 2
    assert sim.registry(max_staleness=3600).search("deploy").total == 2
    assert sim.fresh(max_staleness=float("inf")).search("deploy").total == 2


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


def test_progress_is_reported(sim: SpaceSim) -> None:
    """Files done, files to do and the source, from none to all, and nothing when there is nothing to do."""
    lay(sim.root("project"), {f"tools/t{number}.py": tool(number) for number in range(120)})
    reported: list[tuple[int, int, str]] = []
    registry = sim.registry(progress=lambda done, total, source: reported.append((done, total, source)))
    registry.search("deploy")
    assert reported[0] == (0, 120, "project")
    assert reported[-1] == (120, 120, "project")
    assert [done for done, _, _ in reported] == sorted(done for done, _, _ in reported)
    settle(registry)
    reported.clear()
    registry.search("deploy")
    assert reported == []
