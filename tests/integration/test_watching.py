"""A registry that is watched: searches need no scan, see what changed, and never wait for one that goes on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rye import Registry
from rye.registry.watch import Watch
from tests.support.spacesim import SpaceSim, furnish


@pytest.fixture
def sim(tmp_path: Path) -> SpaceSim:
    """Lay the furnished spaces."""
    found = SpaceSim(tmp_path)
    furnish(found)
    return found


def until(condition: Callable[[], bool]) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@contextmanager
def watched(registry: Registry, changed: Callable[[Collection[Path]], None] = lambda _paths: None) -> Iterator[Watch]:
    """Watch a registry, once the watch knows all to be as indexed."""
    watch = Watch(registry, changed)
    watch.start()
    watch.resume()
    try:
        until(lambda: registry.max_staleness == float("inf"))
        yield watch
    finally:
        watch.stop()


def found(registry: Registry, query: str) -> list[str]:
    """Return the ids that a search finds in project space."""
    return [hit.id for hit in registry.search(query, space="project", relax=False).results]


def test_a_search_does_not_wait_for_a_scan_that_goes_on(sim: SpaceSim) -> None:
    """While another thread takes as long as it likes to look at the files, searches answer from what there is."""
    registry = sim.registry(max_staleness=float("inf"))
    assert found(registry, "thread")
    scanning, done = threading.Event(), threading.Event()

    def scan() -> None:
        with registry._indexes._lock:
            scanning.set()
            assert done.wait(20)

    thread = threading.Thread(target=scan)
    thread.start()
    try:
        assert scanning.wait(20)
        assert found(registry, "thread")
    finally:
        done.set()
        thread.join()


def test_what_is_watched_is_searched_without_a_look_at_the_files(sim: SpaceSim) -> None:
    """A change that the system does not report, since the watch has ended, shows that nothing else looks."""
    registry = sim.registry()
    with watched(registry):
        pass
    sim.write("project", "knowledge/fresh/bread.md", "# Bread\n")
    registry.max_staleness = float("inf")
    assert found(registry, "bread") == []
    registry.max_staleness = 0.0
    assert found(registry, "bread") == ["fresh/bread"]


def test_every_kind_of_change_is_followed(sim: SpaceSim) -> None:
    """Items added, changed, moved and removed, keys that come to count, and folders that come with items in them."""
    registry = sim.registry()
    heard: list[Collection[Path]] = []
    with watched(registry, heard.append):
        sim.add("project", "knowledge/fresh/bread.md", "# Bread\n\nJust baked.\n")
        until(lambda: found(registry, "baked") == ["fresh/bread"])
        sim.write("project", "knowledge/fresh/bread.md", "# Bread\n\nJust toasted.\n")
        until(lambda: found(registry, "baked") == [] and found(registry, "toasted is:unsigned") == ["fresh/bread"])
        sim.move("project", "knowledge/fresh/bread.md", "knowledge/stale/bread.md")
        until(lambda: found(registry, "toasted") == ["stale/bread"])
        sim.delete("project", "knowledge/stale/bread.md")
        until(lambda: found(registry, "toasted") == [])
        # the files of a folder that is new may be told by their folder alone
        bread = sim.path("project", "knowledge/fresh/bread.md")
        assert {bread, bread.parent} & {path for paths in heard for path in paths}
        assert found(registry, "orchestrator is:untrusted") == ["threads/orchestrator"]
        from tests.support.signed import EVE

        sim.trust(EVE, owner="eve")
        until(lambda: found(registry, "orchestrator is:trusted") == ["threads/orchestrator"])


def test_a_space_that_is_replaced_is_watched_anew(sim: SpaceSim) -> None:
    """After the folder was swapped for another, as by a checkout, changes in the new one are seen."""
    registry = sim.registry()
    with watched(registry):
        root = sim.root("project")
        root.rename(sim.folder / "aside")
        until(lambda: found(registry, "thread") == [])
        root.mkdir()
        sim.write("project", "knowledge/fresh/bread.md", "# Bread\n")
        until(lambda: found(registry, "bread") == ["fresh/bread"])
        until(lambda: registry.max_staleness == float("inf"))
        sim.write("project", "knowledge/fresh/cake.md", "# Cake\n")
        until(lambda: found(registry, "cake") == ["fresh/cake"])
