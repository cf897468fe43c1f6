"""The array file: what is written is read back, and anything else is reported as damaged."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def test_an_array_made_piece_by_piece_is_written_as_a_whole_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same bytes, though more than may be in memory stands in a file, which has no name."""
    monkeypatch.setattr(container, "IN_MEMORY", 64)
    numbers = np.arange(1000, dtype=np.uint16)
    pieces = container.Pieces(tmp_path)
    for at in range(0, 1000, 7):
        pieces.append(numbers[at : at + 7].astype(np.int64))
    assert list(tmp_path.iterdir()) == []
    container.write(tmp_path / "pieces", {**ARRAYS, "x": pieces}, META)
    container.write(tmp_path / "whole", ARRAYS | {"x": numbers}, META)
    assert (tmp_path / "pieces").read_bytes() == (tmp_path / "whole").read_bytes()
    assert is_as_written(tmp_path / "pieces")


def test_arrays_and_meta_come_back(file: Path) -> None:
    """Values, dtypes and shapes are the same, also of empty arrays; nothing can be written through a view."""
    opened = Container(file)
    assert is_as_written(file)
    for name, array in ARRAYS.items():
        assert (opened.array(name).dtype, opened.array(name).shape) == (array.dtype, array.shape)
        assert not opened.array(name).flags.writeable


def test_a_file_without_arrays_is_a_file(tmp_path: Path) -> None:
    """There may be nothing but meta."""
    container.write(tmp_path / "empty", {}, {})
    assert Container(tmp_path / "empty").meta == {}


def test_arrays_that_are_no_plain_block_are_written_as_their_values(tmp_path: Path) -> None:
    """A view with strides, a transposed table and a read-only array are stored by value."""
    arrays = {"every other": np.arange(10)[::2], "turned": np.arange(6).reshape(2, 3).T}
    container.write(tmp_path / "a", arrays, {})
    for name, array in arrays.items():
        assert np.array_equal(Container(tmp_path / "a").array(name), array)


def test_arrays_begin_on_borders_of_64_bytes(file: Path) -> None:
    """Each array is aligned for vectorized reading."""
    opened = Container(file)
    assert {opened.array(name).ctypes.data % 64 for name, array in ARRAYS.items() if array.size} == {0}


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


def test_every_changed_byte_is_damage_or_padding(file: Path) -> None:
    """No changed byte gives other data or another error; what goes unnoticed is between the arrays."""
    whole = file.read_bytes()
    unnoticed = 0
    for at in range(len(whole)):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            assert is_as_written(file)
            unnoticed += 1
        except DamagedError:
            continue
    header = 16 + int.from_bytes(whole[8:12], "little")
    assert unnoticed == len(whole) - header - sum(array.nbytes for array in ARRAYS.values())


@given(st.binary(max_size=80), st.booleans())
def test_any_bytes_are_damage(tmp_path_factory: pytest.TempPathFactory, data: bytes, begins_well: bool) -> None:  # noqa: FBT001
    """Random bytes, also behind the right first ones, raise nothing but DamagedError."""
    path = tmp_path_factory.getbasetemp() / "random.ryx"
    path.write_bytes(container.MAGIC * begins_well + data)
    with pytest.raises(DamagedError):
        Container(path)


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


def test_a_rewritten_header_without_a_change_is_read(file: Path) -> None:
    """The forged headers above are refused for what they say, not for how they were made."""
    assert is_as_written(rewritten(file, {}))


def test_objects_are_not_written(tmp_path: Path) -> None:
    """An array of objects cannot be written, so nothing can come to rest that would have to be unpickled."""
    with pytest.raises(TypeError):
        container.write(tmp_path / "a", {"objects": np.asarray([object()])}, {})
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("kind", ["missing", "empty", "folder", "other"])
def test_a_file_that_is_not_a_container_is_damage(tmp_path: Path, kind: str) -> None:
    """A file that is missing, empty, a folder or something else is damaged like any other."""
    path = tmp_path / "a"
    if kind == "folder":
        path.mkdir()
    elif kind != "missing":
        path.write_bytes(b"" if kind == "empty" else b"PK\x03\x04" * 100)
    with pytest.raises(DamagedError, match="a"):
        Container(path)


def test_a_file_is_never_overwritten(file: Path) -> None:
    """Writing to a path that exists is refused, so that no reader sees a file change."""
    with pytest.raises(FileExistsError):
        container.write(file, {}, {})
    assert is_as_written(file)


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


def test_a_large_file_that_is_cut_is_damage(large: Path) -> None:
    """The length is looked at each time."""
    large.write_bytes(large.read_bytes()[:-1])
    with pytest.raises(DamagedError, match="cut short"):
        Container(large)
