"""Indexing that is cancelled: wherever it is, it stops there, and leaves the last snapshot and nothing else."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from rye import Registry
from rye._process import stoppable
from rye.errors import CancelledError
from rye.index.build.parallel_build import BuildTask, Thresholds, build
from rye.spaces.model import Root, Space
from rye.spaces.walk import list_items
from tests.support.spacesim import SpaceSim


class Countdown:
    """Cancels at the n-th time it is asked, and from then on."""

    def __init__(self, left: int) -> None:
        self.left = left

    def __call__(self) -> bool:
        """Tell whether to stop."""
        self.left -= 1
        return self.left < 0


ITEMS = 10


@pytest.fixture
def sim(tmp_path: Path) -> SpaceSim:
    """Lay some items."""
    found = SpaceSim(tmp_path)
    for number in range(ITEMS):
        found.write("project", f"knowledge/many/n{number:02}.md", f"# Number {number}\n\nThread {number}.\n")
    return found


@pytest.fixture
def helpers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Note the processes that are started; in the end all have ended."""
    started: list[subprocess.Popen[bytes]] = []

    class Noted(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *args: object, **options: object) -> None:
            super().__init__(*args, **options)  # type: ignore[call-overload]
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Noted)
    yield started
    assert all(helper.poll() is not None for helper in started)


def opened(sim: SpaceSim, cancelled: Countdown | None = None) -> Registry:
    """Return a registry that may be cancelled."""
    return Registry(sim.project, user=sim.user, bundles=[], cache_dir=sim.cache, cancelled=cancelled)


def files(sim: SpaceSim) -> set[str]:
    """Return the files of all indexes."""
    return {
        str(path) for path in sim.cache.rglob("*") if path.is_file() and not path.name.endswith(("LOCK", "compared"))
    }


def test_a_first_build_can_be_stopped_at_every_point(sim: SpaceSim) -> None:
    """Nothing but the lock's file is left behind, and the next search indexes."""
    asked = Countdown(1 << 60)
    opened(sim, asked).search("thread")
    total = (1 << 60) - asked.left
    assert total > ITEMS * 3 // 2  # every file, and the steps of writing
    opened(sim).clear()
    empty = files(sim)
    for left in range(0, total - 1, 3):
        with pytest.raises(CancelledError) as raised:
            opened(sim, Countdown(left)).search("thread")
        assert raised.value.code == "cancelled"
        found = {Path(path) for path in files(sim) - empty}
        assert all(list(path.parent.glob("_MAIN_*.toc")) for path in found), "a build that was stopped has left a file"
        opened(sim).clear()
    assert opened(sim).search("thread").total == ITEMS


def test_a_rebuild_that_is_stopped_leaves_the_last_snapshot(sim: SpaceSim) -> None:
    """Wherever it is stopped, the files of the index are those before, and they answer."""
    asked = Countdown(1 << 60)
    registry = opened(sim, asked)
    registry.rebuild()
    before = asked.left
    registry.rebuild()
    total, kept = before - asked.left, files(sim)
    for left in range(0, total - 1, 5):
        with pytest.raises(CancelledError):
            opened(sim, Countdown(left)).rebuild()
        found = files(sim)
        if found != kept:  # one root was done, and has a new snapshot of the same; none has less
            assert len(found) == len(kept)
            kept = found
        assert opened(sim).search("thread").total == ITEMS
    sim.write("project", "knowledge/many/new.md", "# New thread\n")
    assert opened(sim).search("thread").total == ITEMS + 1


def test_helpers_end_with_the_build_that_is_stopped(
    sim: SpaceSim, tmp_path: Path, helpers: list[subprocess.Popen[bytes]]
) -> None:
    """Amid a build in pieces no helper is left running, and no run; the next build is whole."""
    root = Root(Space.PROJECT, sim.root("project"))
    files = [file.rel_path for file in list_items(root)[0]]
    folder = tmp_path / "index"
    folder.mkdir()
    thresholds = Thresholds(alone_below=ITEMS // 2)
    task = BuildTask(root, files, [100] * len(files), {}, folder, lambda _done: None, thresholds)

    def built(asked: Countdown) -> int:
        with stoppable(asked), build(task, processes=2) as found:
            assert found.write is not None
            return found.write(folder / "segment")

    asked = Countdown(1 << 60)
    assert built(asked) == ITEMS
    total = (1 << 60) - asked.left
    for left in range(0, total // 2, total // 8):  # how often it asks depends on how long the helper takes
        (folder / "segment").unlink(missing_ok=True)
        with pytest.raises(CancelledError):
            built(Countdown(left))
        assert all(helper.poll() is not None for helper in helpers)
        assert not list(folder.iterdir())
    assert helpers
    assert built(Countdown(1 << 60)) == ITEMS
