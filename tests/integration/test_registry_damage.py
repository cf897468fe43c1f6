"""The index is only a cache: whatever befalls its files, the answers are those that the items give."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from rye import Registry
from rye.index.build.store import Store
from rye.index.storage.container import DamagedError
from tests.support.effort import tries
from tests.support.spacesim import SpaceSim, no_own_items

ROOT = Path(__file__).resolve().parents[2]
QUERIES = ("deploy build", "*", "is:trusted", "is:tampered", "depl* -build", "name:t3")
KEPT = ("MAIN_WRITELOCK", "compared")
"""Files in the cache whose bytes say nothing."""

DAMAGE: Mapping[str, Callable[[bytes], bytes]] = {
    "emptied": lambda _: b"",
    "cut in half": lambda data: data[: len(data) // 2],
    "cut by a byte": lambda data: data[:-1],
    "longer": lambda data: data + b"\0" * 64,
    "zeros": lambda data: b"\0" * len(data),
    "garbage": lambda data: bytes((7 * n + 13) % 256 for n in range(len(data))),
    "another file": lambda _: b"#!/bin/sh\nexit 1\n" * 40,
}


@pytest.fixture(scope="module")
def sim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SpaceSim]:
    """Lay a project whose index has two segments, deletions in the first, and judged verdicts; nothing else."""
    folder = tmp_path_factory.mktemp("damage")
    (folder / "none").mkdir()
    with no_own_items(folder / "none"):
        sim = SpaceSim(folder, bundles=())
        for number in range(200):
            sim.write("project", f"tools/t{number}.py", f'"""Deploy build {number}."""\n')
        sim.sign("project", "tools/t3.py")
        sim.registry().search("is:trusted")
        for number in range(10, 14):
            sim.delete("project", f"tools/t{number}.py")
        for number in range(200, 270):
            sim.write("project", f"knowledge/k{number}.md", f"# Deploy {number}\n\nA build.\n")
        registry = sim.registry()
        answers(registry)
        assert [status.segments for status in registry.status()] == [2, 0]
        yield sim


def answers(registry: Registry) -> list[dict[str, Any]]:
    """Return what a registry answers, without what it says about the index."""
    found = []
    for query in QUERIES:
        response = registry.search(query, limit=25).to_dict()
        found.append({name: value for name, value in response.items() if name not in {"took_ms", "warnings"}})
    return found


def index_files(cache: Path) -> list[Path]:
    """Return the files of the index of the project."""
    return sorted(path for path in cache.rglob("*") if path.is_file() and path.name not in KEPT)


def copy_of(sim: SpaceSim, folder: Path) -> Path:
    """Return a copy of the cache that may be damaged."""
    return shutil.copytree(sim.cache, folder / "cache")


@pytest.mark.parametrize("damage", sorted(DAMAGE))
def test_any_damaged_file_of_the_cache(sim: SpaceSim, tmp_path: Path, damage: str) -> None:
    """Each file of the cache in turn: the answers stay right; where the index was rebuilt, a warning says so once."""
    expected = answers(sim.fresh())
    for number, original in enumerate(index_files(sim.cache)):
        cache = copy_of(sim, tmp_path / str(number))
        path = cache / original.relative_to(sim.cache)
        path.write_bytes(DAMAGE[damage](path.read_bytes()))
        registry = sim.registry(cache_dir=cache)
        before = [status.generation for status in sim.registry().status()]
        first = registry.search("deploy")
        assert answers(registry) == expected
        rebuilt = [status.generation for status in registry.status()] != before
        assert any("rebuilt" in warning for warning in first.warnings) == rebuilt
        if damage != "longer" and path.name.count(".") == 1:  # a file of verdicts is made anew without a word
            assert rebuilt
        again = sim.registry(cache_dir=cache)
        assert not any("rebuilt" in warning for warning in again.search("deploy").warnings)
        assert answers(again) == expected


def test_any_flipped_byte(sim: SpaceSim, tmp_path: Path) -> None:
    """One wrong byte anywhere in the cache: never an error, never another answer."""
    expected = answers(sim.fresh())
    for original in index_files(sim.cache):
        data = original.read_bytes()
        for place in range(0, len(data), max(1, len(data) // tries(12, least=3))):
            cache = copy_of(sim, tmp_path / f"{original.name}-{place}")
            (cache / original.relative_to(sim.cache)).write_bytes(flipped(data, place))
            assert answers(sim.registry(cache_dir=cache)) == expected, (original.name, place)
            shutil.rmtree(cache)


def flipped(data: bytes, place: int) -> bytes:
    """Return data with one byte changed."""
    return data[:place] + bytes([data[place] ^ 0x15]) + data[place + 1 :]


def test_any_flipped_byte_in_the_list_of_segments(sim: SpaceSim, tmp_path: Path) -> None:
    """What Whoosh lists is believed only as rye wrote it: every byte that names segments and deletions is checked."""
    folder = Path(sim.registry(cache_dir=copy_of(sim, tmp_path)).status()[0].cache)
    expected = live_documents(folder)
    assert expected is not None
    (toc,) = folder.glob("*.toc")
    data = toc.read_bytes()
    begin = data.index(b"ColumnarSegment") - 100
    wrong = []
    for place in range(begin, len(data)):
        toc.write_bytes(flipped(data, place))
        if live_documents(folder) not in (expected, None):
            wrong.append(place - begin)
    assert wrong == []


def live_documents(folder: Path) -> list[list[bool]] | None:
    """Return which documents of each segment of an index live; None for an index that says that it is damaged."""
    try:
        snapshot = Store(folder).open()
    except DamagedError:
        return None
    return None if snapshot is None else [listed.live.tolist() for listed in snapshot.segments]


@pytest.mark.parametrize("pattern", ["*.toc", "*.ryx", "files-*", "*"])
def test_any_missing_file(sim: SpaceSim, tmp_path: Path, pattern: str) -> None:
    """Files of the index that were deleted are made again."""
    expected = answers(sim.fresh())
    cache = copy_of(sim, tmp_path)
    for path in cache.glob(f"*/*/{pattern}"):
        path.unlink()
    assert answers(sim.registry(cache_dir=cache)) == expected


def test_files_that_vanish_while_a_registry_is_open(sim: SpaceSim, tmp_path: Path) -> None:
    """Someone empties the cache folder between two searches: the answers are the same, and so after the next change."""
    cache = copy_of(sim, tmp_path)
    registry = sim.registry(cache_dir=cache)
    expected = answers(registry)
    shutil.rmtree(cache)
    assert answers(registry) == expected
    path = sim.write("project", "tools/new.py", '"""Something else."""\n')
    try:
        assert registry.search("something").total == 1
    finally:
        path.unlink()
    assert answers(registry) == expected


@pytest.mark.parametrize("number", [(1 << 31) - 2, (1 << 31) - 1, 1 << 31, 10**21 - 1, 10**200])
def test_attack_a_foreign_table_of_contents_with_a_great_number(sim: SpaceSim, tmp_path: Path, number: int) -> None:
    """The index is made anew with a warning, once, and changes are indexed afterwards as ever."""
    cache = copy_of(sim, tmp_path)
    folder = Path(sim.registry(cache_dir=cache).status()[0].cache)
    expected = answers(sim.fresh())
    (folder / f"_MAIN_{number}.toc").touch()
    assert any("rebuilt" in text for text in sim.registry(cache_dir=cache).search("deploy").warnings)
    for _ in range(3):
        assert not any("rebuilt" in text for text in sim.registry(cache_dir=cache).search("deploy").warnings)
        assert answers(sim.registry(cache_dir=cache)) == expected
        sim.registry(cache_dir=cache).rebuild()
    assert len([path for path in folder.iterdir() if path.suffix == ".toc"]) == 1


FULL = """
import resource, sys
from rye import Registry, RyeError
project, user, cache, most = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_FSIZE, (int(most), int(most)))
try:
    found = Registry(project, user=user, bundles=(), cache_dir=cache).search("deploy", limit=1000)
    print("answered", found.total)
except RyeError as error:
    print("refused", error.code, bool(error.hint))
"""


@pytest.mark.parametrize("most", [0, 100, 5_000, 40_000])
def test_a_full_disk(sim: SpaceSim, tmp_path: Path, most: int) -> None:
    """A disk that takes no more is an answer or an error of its own kind; afterwards all is well."""
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    cache = tmp_path / "cache"
    arguments = [sys.executable, "-c", FULL, str(sim.project), str(sim.user), str(cache), str(most)]
    environment = {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}  # else it would cut byte code short, too
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.strip() in {"answered 266", "refused index-write True"}, done.stderr
    assert answers(sim.registry(cache_dir=cache)) == answers(sim.fresh())
