"""The array file: what is written is read back, and anything else is reported as damaged."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from rye.index import container
from rye.index.container import Container, DamagedError

ARRAYS: dict[str, npt.NDArray[np.generic]] = {
    "ints": np.arange(5, dtype=np.int64),
    "bytes": np.frombuffer(b"some text", np.uint8),
    "table": np.arange(6, dtype=np.uint32).reshape(2, 3),
    "floats": np.asarray([0.5, np.nan, np.inf]),
    "flags": np.asarray([True, False]),
    "nothing": np.empty(0, np.float64),
    "no rows": np.empty((0, 4), np.int64),
}
LARGE = ARRAYS | {"filler": np.zeros(container.FULL_CHECK_BYTES, np.uint8)}
META = {"docs": 3, "fields": ["title", "ß"]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a small file with arrays of every kind."""
    path = tmp_path / "some.ryx"
    container.write(path, ARRAYS, META)
    return path


def is_as_written(path: Path) -> bool:
    """Tell whether a file opens and holds exactly what was written."""
    opened = Container(path)
    same = all(opened.array(name).tobytes() == array.tobytes() for name, array in ARRAYS.items())
    return same and opened.meta == META and bytes(opened.buffer("bytes")) == b"some text"


def test_every_truncation_is_damage(file: Path) -> None:
    """However much of the end is missing, also all of it, the file is damaged."""
    whole = file.read_bytes()
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        with pytest.raises(DamagedError):
            Container(file)
    file.write_bytes(whole + b"\0")
    with pytest.raises(DamagedError):
        Container(file)


def rewritten(path: Path, change: dict[str, object]) -> Path:
    """Write a file's header anew with a right checksum, so that only what it says is wrong."""
    raw = path.read_bytes()
    length = int.from_bytes(raw[8:12], "little")
    header = json.loads(raw[16 : 16 + length]) | change
    text = json.dumps(header).encode()
    start = -(-(16 + length) // 64) * 64
    prefix = container._PREFIX.pack(container.MAGIC, len(text), zlib.crc32(text))
    body = prefix + text
    path.write_bytes(body + b"\0" * (-len(body) % 64) + raw[start:])
    return path


@pytest.mark.parametrize(
    "change",
    [
        {"version": container.FORMAT_VERSION + 1},
        {"version": None},
        {"arrays": {"objects": ["|O", [1], 0, 0]}},
        {"arrays": {"texts": ["<U1", [1], 0, 0]}},
        {"arrays": {"records": ["<i8,<i8", [1], 0, 0]}},
        {"arrays": {"nonsense": ["what", [1], 0, 0]}},
        {"arrays": {"long": ["<i8", [1 << 40], 0, 0]}},
        {"arrays": {"negative": ["<i8", [-1], 0, 0]}},
        {"arrays": {"far": ["<i8", [1], 1 << 40, 0]}},
        {"arrays": {"before": ["<i8", [1], -8, 0]}},
        {"arrays": {"all that is left": ["<u1", [-1], 0, 0]}},
        {"arrays": {"two wrongs": ["<u1", [-2, -4], 0, 0]}},
        {"arrays": {"huge": ["<i8", [10**30], 0, 0]}},
        {"arrays": {"endless": ["<i8", [1 << 32, 1 << 32], 0, 0]}},
        {"arrays": {"half": ["<i8", [1.5], 0, 0]}},
        {"arrays": {"between": ["<i8", [1], 0.5, 0]}},
        {"arrays": {"a name": ["<i8", ["x"], 0, 0]}},
        {"arrays": {"no dtype": [None, [1], 0, 0]}},
        {"arrays": {"no shape": ["<i8", None, 0, 0]}},
        {"arrays": {"void": ["|V4", [1], 0, 0]}},
        {"arrays": {"no row": 3}},
        {"arrays": None},
        {"meta": None},
        {"meta": [1]},
        {"arrays": {"short row": ["<i8"]}},
        {"arrays": ["a list"]},
        {"bytes": -1},
        {"bytes": "all"},
        {"bytes": 1e308},
        {"bytes": 10**30},
    ],
)
def test_a_header_that_says_what_cannot_be_is_damage(file: Path, change: dict[str, object]) -> None:
    """Another version, objects that would have to be unpickled, and ranges outside the file are refused."""
    with pytest.raises(DamagedError):
        Container(rewritten(file, change))


def test_objects_are_not_written(tmp_path: Path) -> None:
    """An array of objects cannot be written, so nothing can come to rest that would have to be unpickled."""
    with pytest.raises(TypeError):
        container.write(tmp_path / "a", {"objects": np.asarray([object()])}, {})
    assert not (tmp_path / "a").exists()


@pytest.fixture
def large(file: Path) -> Path:
    """Return the same file, now so large that it is not checked at every opening."""
    file.unlink()
    container.write(file, LARGE, META)
    return file


def flip(path: Path, name: str) -> None:
    """Change a byte of an array in place."""
    raw = bytearray(path.read_bytes())
    length = int.from_bytes(raw[8:12], "little")
    _, _, offset, _ = json.loads(raw[16 : 16 + length])["arrays"][name]
    raw[-(-(16 + length) // 64) * 64 + offset] ^= 0xFF
    path.write_bytes(raw)


@pytest.mark.parametrize("name", [name for name, array in ARRAYS.items() if array.size])
def test_a_large_file_that_was_changed_is_noticed_when_it_is_checked(large: Path, name: str) -> None:
    """Whichever array a byte was changed in; opening reads the header alone."""
    assert is_as_written(large)
    flip(large, name)
    file = Container(large)
    with pytest.raises(DamagedError, match=name):
        file.check()
