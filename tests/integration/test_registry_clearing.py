"""Clearing the index while others use it, and what is in its folder that should not be there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rye import Registry
from rye.errors import EnvironmentFault
from rye.index.build.store import Store
from tests.support.spacesim import SpaceSim, no_own_items

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def sim(tmp_path: Path) -> Iterator[SpaceSim]:
    """Lay a project with some items."""
    (tmp_path / "none").mkdir()
    with no_own_items(tmp_path / "none"):
        sim = SpaceSim(tmp_path, bundles=())
        for number in range(80):
            sim.write("project", f"tools/t{number}.py", f'"""Deploy build {number}."""\n')
        yield sim


def index_of(registry: Registry) -> Path:
    """Return the folder of the project's index."""
    return Path(registry.status()[0].cache)


HOLD = """
import sys
from pathlib import Path
from rye.index.storage.cache_folder import hold_lock
with hold_lock(Path(sys.argv[1]), sys.argv[2]) as got:
    print(got, flush=True)
    sys.stdin.readline()
"""


@contextmanager
def held_by_another(folder: Path, name: str) -> Iterator[subprocess.Popen[str]]:
    """Let another process hold a lock until it is released."""
    command = [sys.executable, "-c", HOLD, str(folder), name]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        try:
            yield process
        finally:
            process.stdin.close()
            process.wait(30)


@pytest.mark.parametrize("name", ["MAIN_WRITELOCK", "VECTORS-0123-LOCK"])
def test_clearing_waits_for_whoever_writes(sim: SpaceSim, name: str) -> None:
    """While another process writes an index or vectors, nothing is removed under it; in the end that is said."""
    registry = sim.registry()
    registry.search("deploy")
    before = sorted(index_of(registry).iterdir())
    with held_by_another(index_of(registry), name):
        with pytest.raises(EnvironmentFault, match="another process") as caught:
            Store(index_of(registry)).clear(wait=0.3)
        assert caught.value.code == "index-busy"
        assert set(before) <= set(index_of(registry).iterdir())
    assert registry.clear() > 0
    assert [path for path in index_of(registry).iterdir() if not path.name.endswith("LOCK")] == []


CLEAR = """
import sys, time
from rye import Registry
project, user, cache, seconds = sys.argv[1:]
registry = Registry(project, user=user, bundles=(), cache_dir=cache)
end = time.monotonic() + float(seconds)
while time.monotonic() < end:
    registry.clear()
    time.sleep(0.01)
"""
REMOVE = """
import shutil, sys, time
end = time.monotonic() + float(sys.argv[4])
while time.monotonic() < end:
    shutil.rmtree(sys.argv[3], ignore_errors=True)
    time.sleep(0.15)
"""


@pytest.mark.parametrize("code", [CLEAR, REMOVE], ids=["cleared", "removed"])
def test_an_index_that_others_keep_clearing_is_searched_all_the_same(sim: SpaceSim, code: str) -> None:
    """Whatever vanishes between two steps of a search or a rebuild is made again: no error, and always all items."""
    registry = sim.registry()
    command = [sys.executable, "-c", code, str(sim.project), str(sim.user), str(sim.cache), "1.5"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = 0
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as other:
        assert other.stderr is not None
        while other.poll() is None:
            assert registry.search("deploy").total == 80
            assert sim.registry(cache_dir=sim.cache).search("deploy").total == 80
            registry.rebuild()
            done += 1
        assert (other.returncode, other.stderr.read()) == (0, "")
    assert done


def test_a_folder_made_again_is_private(sim: SpaceSim) -> None:
    """Where the whole cache vanished, what is made in its place lets nobody else in, whatever the umask."""
    registry = sim.registry()
    registry.search("deploy")
    shutil.rmtree(sim.cache)
    sim.write("project", "tools/new.py", '"""Something else."""\n')
    before = os.umask(0)
    try:
        assert registry.search("something").total == 1
    finally:
        os.umask(before)
    folders = [sim.cache, *(path for path in sim.cache.rglob("*") if path.is_dir())]
    assert len(folders) == 3
    assert all(folder.stat().st_mode & 0o077 == 0 for folder in folders)


@pytest.mark.skipif(os.name != "posix", reason="pipes are POSIX's")
@pytest.mark.parametrize(
    ("name", "target"),
    [
        *((name, "") for name in ("MAIN_WRITELOCK", "files-*.ryx", "_MAIN_*.toc", "MAIN_*.ryx", "checked")),
        ("_MAIN_*.toc", "/dev/zero"),
        ("MAIN_WRITELOCK", "/nonexistent/file/of/nobody"),
    ],
)
def test_attack_what_never_ends_in_place_of_a_file(sim: SpaceSim, name: str, target: str) -> None:
    """A pipe or device in the cache holds nobody up: it is damage, and is fixed; clearing leaves nothing of it."""
    sim.registry().search("deploy")
    folder = index_of(sim.registry(cache_dir=sim.cache))
    for command in (["search", "deploy", "--json"], ["index", "clear"]):
        sim.registry(cache_dir=sim.cache).search("deploy")
        place = next(folder.glob(name), folder / name)
        place.unlink(missing_ok=True)
        place.symlink_to(target) if target else os.mkfifo(place)
        where = ["--project", str(sim.project)]
        environment = os.environ | {"PYTHONPATH": str(ROOT), "USER_SPACE": str(sim.user), "RYE_BUNDLES": ""}
        environment["RYE_CACHE_DIR"] = str(sim.cache)
        done = subprocess.run(
            [sys.executable, "-m", "rye", *command, *where],
            env=environment,
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        if command == ["index", "clear"]:
            assert not [path.name for path in folder.iterdir() if not path.is_file() or path.is_symlink()]
    assert sim.registry(cache_dir=sim.cache).search("deploy").total == 80
