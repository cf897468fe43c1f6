"""Damage inside of segments, noticed when they are opened or not: the call that meets it makes the index anew."""

from __future__ import annotations

import json
import random
import shutil
import signal
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from rye import Registry
from rye.errors import QueryError, RyeError
from rye.index.storage import container
from tests.support.spacesim import SpaceSim, no_own_items

QUERIES = (
    "deploy",
    "*",
    "is:trusted",
    "depl*",
    "*plo*",
    "deplyo~",
    '"deploy build"',
    "deploy NEAR/3 build",
    "priority:>3",
    "tags:red",
    "foo:bar",
    "name:t*",
    "is:orphan",
    "NOT deploy",
    '"a deploy"~5',
)
SECONDS = 60
"""For all queries after one piece of damage; they take a fraction of one."""


@pytest.fixture(autouse=True)
def _ended() -> Iterator[None]:
    """Let no test go on for ever."""

    def stop(_number: int, frame: FrameType | None) -> None:
        pytest.fail(f"still in {frame}")

    before = signal.signal(signal.SIGALRM, stop)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def sim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SpaceSim]:
    """Lay a project with one segment that has something in every array."""
    folder = tmp_path_factory.mktemp("nonsense")
    (folder / "none").mkdir()
    with no_own_items(folder / "none"):
        sim = SpaceSim(folder, bundles=())
        for number in range(20):
            header = f"---\nname: n{number}\ntags: [red, t{number % 3}]\npriority: {number}\n---\n"
            body = f"{header}# Deploy {number}\n\nA build after `directive:some/d{number - 1}`, ßtraße {number}.\n"
            sim.write("project", f"knowledge/n{number}.md", body)
            sim.write("project", f"tools/t{number}.py", f'"""Deploy build {number}."""\n')
        sim.sign("project", "tools/t3.py")
        answers(sim.registry())
        yield sim


@pytest.fixture
def all_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every file count as one that is too large to be checked at each opening."""
    monkeypatch.setattr(container, "FULL_CHECK_BYTES", 10)


def ask(registry: Registry, query: str) -> tuple[Any, bool]:
    """Return what a registry answers to a query, and whether it says that the index was made anew."""
    try:
        response = registry.search(query, limit=12, relax=False)
    except QueryError as error:
        return error.code, False
    hits = [(hit.id, str(hit.signature.verdict)) for hit in response.results]
    return (response.total, hits), any("rebuilt" in text for text in response.warnings)


def answers(registry: Registry) -> dict[str, Any]:
    """Return what a registry answers to all queries."""
    return {query: ask(registry, query)[0] for query in QUERIES}


def segment_of(folder: Path) -> Path:
    """Return the one segment of a cache folder that has items."""
    return max(folder.glob("*/*/MAIN_*.ryx"), key=lambda path: path.stat().st_size)


def parse(data: bytes) -> tuple[dict[str, Any], bytearray]:
    """Return header and arrays of a file."""
    length = int.from_bytes(data[8:12], "little")
    return json.loads(data[16 : 16 + length]), bytearray(data[-(-(16 + length) // 64) * 64 :])


def write(path: Path, header: dict[str, Any], body: bytes | bytearray) -> None:
    """Write a file anew, its header with a right checksum."""
    text = json.dumps(header).encode()
    start = container._PREFIX.pack(container.MAGIC, len(text), zlib.crc32(text)) + text
    path.write_bytes(start + b"\0" * (-len(start) % 64) + body)


def sizes(header: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Return where each array that is not empty begins, and how many bytes it has."""
    found = {}
    for name, (dtype, shape, offset, _) in header["arrays"].items():
        if size := int(np.prod(shape)) * np.dtype(dtype).itemsize:
            found[name] = offset, size
    return found


Harm = Callable[[random.Random, bytearray, int, int], None]


def start_full(_: random.Random, body: bytearray, begin: int, size: int) -> None:
    """Fill the first eight bytes with ones."""
    body[begin : begin + min(8, size)] = b"\xff" * min(8, size)


def many_bytes(chance: random.Random, body: bytearray, begin: int, size: int) -> None:
    """Change bytes all over an array."""
    for _ in range(50):
        body[begin + chance.randrange(size)] = chance.choice([0, 127, 255, chance.randrange(256)])


def trials(sim: SpaceSim, folder: Path, harm: Harm) -> Iterator[tuple[str, Path, Path, dict[str, Any], bytearray]]:
    """Yield for each array: its name, a cache of its own, the segment there, and its parts, the array damaged."""
    chance = random.Random(9)  # noqa: S311 - the same each time
    header, body = parse(segment_of(sim.cache).read_bytes())
    for number, (name, (begin, size)) in enumerate(sizes(header).items()):
        cache = shutil.copytree(sim.cache, folder / str(number))
        damaged = body.copy()
        harm(chance, damaged, begin, size)
        if damaged != body:
            signal.alarm(SECONDS)
            yield name, cache, segment_of(cache), json.loads(json.dumps(header)), damaged
        shutil.rmtree(cache)


@pytest.mark.usefixtures("all_large")
@pytest.mark.parametrize("harm", [start_full, many_bytes])
def test_any_array_that_the_disk_forgot(sim: SpaceSim, tmp_path: Path, harm: Harm) -> None:
    """Damage that left no trace and is met by a query: no error, no end; once it is met, all answers are right."""
    expected = answers(sim.fresh(max_staleness=60))
    met = []
    for name, cache, path, header, body in trials(sim, tmp_path, harm):
        write(path, header, body)
        registry = sim.registry(cache_dir=cache, max_staleness=60)
        fixed = [ask(registry, query)[1] for query in QUERIES]
        if any(fixed):
            met.append(name)
            assert answers(registry) == expected, name
    assert {"path", "entry.buffer"} & set(met)
    assert len(met) > 5


@pytest.mark.parametrize("harm", [start_full, many_bytes])
def test_any_array_that_says_something_else_with_a_right_checksum(sim: SpaceSim, tmp_path: Path, harm: Harm) -> None:
    """Damage that no checksum shows is no error either, and never keeps a query from ending."""
    for name, cache, path, header, body in trials(sim, tmp_path, harm):
        begin, size = sizes(header)[name]
        header["arrays"][name][3] = zlib.crc32(bytes(body[begin : begin + size]))
        write(path, header, body)
        answers(sim.registry(cache_dir=cache, max_staleness=60))


VALUES: tuple[object, ...] = (
    -1,
    2**63,
    10**30,
    0,
    None,
    "x",
    [],
    [[]],
    1.5,
    {},
    "|O8",
    "<f8",
    "<i8",
    "|V4",
    "|b1",
    "<u2",
)


@pytest.mark.parametrize("which", ["segment", "files"])
def test_any_entry_of_a_header_that_says_something_else(sim: SpaceSim, tmp_path: Path, which: str) -> None:
    """Dtypes, shapes, places and counts that cannot be: the index is made anew, or answers as before."""
    chance = random.Random(5)  # noqa: S311 - the same each time
    expected = answers(sim.fresh(max_staleness=60))
    for number in range(40):
        cache = shutil.copytree(sim.cache, tmp_path / str(number))
        path = segment_of(cache)
        path = path if which == "segment" else next(path.parent.glob("files-*"))
        header, body = parse(path.read_bytes())
        name, value = chance.choice(sorted(header["arrays"])), chance.choice(VALUES)
        if chance.random() < 0.7:
            header["arrays"][name][chance.randrange(3)] = value
        else:
            name = chance.choice(sorted(header["meta"]))
            header["meta"][name] = value
        write(path, header, body)
        signal.alarm(SECONDS)
        assert answers(sim.registry(cache_dir=cache, max_staleness=60)) == expected, (number, name, value)
        shutil.rmtree(cache)


def test_one_byte_among_the_entries(sim: SpaceSim, tmp_path: Path) -> None:
    """Entries out of order once made the walk over their keys go round for ever: at any byte it ends."""
    header, body = parse(segment_of(sim.cache).read_bytes())
    begin, size = sizes(header)["entry.buffer"]
    for at in range(min(size, 24)):
        cache = shutil.copytree(sim.cache, tmp_path / str(at))
        damaged = body.copy()
        damaged[begin + at] = 255
        header["arrays"]["entry.buffer"][3] = zlib.crc32(bytes(damaged[begin : begin + size]))
        write(segment_of(cache), header, damaged)
        signal.alarm(SECONDS)
        registry = sim.registry(cache_dir=cache, max_staleness=60)
        assert ask(registry, "foo:bar")[0] == "unknown-field"
        shutil.rmtree(cache)


def test_an_error_that_does_not_come_of_damage_is_raised_after_one_attempt(
    sim: SpaceSim, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of the program stays what it is, and does not make the index anew at every call."""

    def broken(*_args: object, **_options: object) -> None:
        message = "a fault of the program"
        raise ValueError(message)

    registry = sim.registry(cache_dir=shutil.copytree(sim.cache, tmp_path / "cache"))
    monkeypatch.setattr("rye.search.engine.Search", broken)
    generations = []
    for _ in range(3):
        with pytest.raises(ValueError, match="fault of the program") as caught:
            registry.search("deploy")
        assert not isinstance(caught.value, RyeError)
        generations.append(registry.status()[0].generation)
    assert len(set(generations)) == 1
