"""Kept masks are those that were made, of just what they are asked for; whatever else stands there is replaced."""

from __future__ import annotations

import json
import pickle
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.index import container
from rye.index.arrays import Bools
from rye.index.container import FORMAT_VERSION, MAGIC
from rye.index.verdict_cache import kept_masks

MASKS = {"odd": np.arange(21) % 2 == 1, "few": np.arange(21) < 3}
NAMES = tuple(MASKS)


def ask(path: Path, *, of: str = "these", size: int = 21) -> tuple[dict[str, list[bool]], int]:
    """Return the masks of a file, and how often they were made for that."""
    made = []

    def make() -> dict[str, Bools]:
        made.append(size)
        return {name: np.resize(mask, size) for name, mask in MASKS.items()}

    found = kept_masks(path, NAMES, size, of=of, make=make)
    return {name: mask.tolist() for name, mask in found.items()}, len(made)


EXPECTED = {name: mask.tolist() for name, mask in MASKS.items()}


@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_masks_come_back(bits: list[bool]) -> None:
    """However many documents there are, and nothing unfinished stays beside the file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.ryx"
        for _ in range(2):
            found = kept_masks(path, ["one"], len(bits), of="x", make=lambda: {"one": np.asarray(bits)})
            assert found["one"].tolist() == bits
            assert found["one"].dtype == bool
        assert [each.name for each in Path(folder).iterdir()] == ["m.ryx"]


def test_masks_are_made_once(tmp_path: Path) -> None:
    """The second time the file answers."""
    assert ask(tmp_path / "m.ryx") == (EXPECTED, 1)
    assert ask(tmp_path / "m.ryx") == (EXPECTED, 0)


def test_a_stale_file_is_made_anew(tmp_path: Path) -> None:
    """What was made of anything else does not answer, and gives way."""
    ask(tmp_path / "m.ryx", of="others")
    assert ask(tmp_path / "m.ryx") == (EXPECTED, 1)
    assert ask(tmp_path / "m.ryx") == (EXPECTED, 0)
    assert [each.name for each in tmp_path.iterdir()] == ["m.ryx"]


class _Runs:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self._path,)


def forged(header: Any, rest: bytes = bytes(1 << 10)) -> bytes:
    """Return a file with a header of one's own, and the checksum that it has to have."""
    raw = json.dumps(header).encode()
    start = b"".join((MAGIC, len(raw).to_bytes(4, "little"), zlib.crc32(raw).to_bytes(4, "little"), raw))
    return start + bytes(-len(start) % 64) + rest


def table(*rows: Any, meta: Any = None) -> Any:
    """Return a header that says that the masks lie so."""
    arrays = dict(zip(NAMES, rows, strict=False))
    return {"version": FORMAT_VERSION, "meta": meta or {"of": "these"}, "arrays": arrays, "bytes": 1 << 10}


FITS = ["|u1", [3], 0, zlib.crc32(bytes(3))]
HOSTILE: dict[str, Callable[[Path], bytes]] = {
    "a pickle": lambda ran: pickle.dumps(_Runs(ran)),
    "objects": lambda _: forged(table(FITS, ["|O", [3], 0, 0])),
    "another dtype": lambda _: forged(table(FITS, ["<f8", [3], 0, zlib.crc32(bytes(24))])),
    "too short": lambda _: forged(table(FITS, ["|u1", [2], 0, zlib.crc32(bytes(2))])),
    "beyond the end": lambda _: forged(table(FITS, ["|u1", [3], 1 << 40, 0])),
    "beyond all numbers": lambda _: forged(table(FITS, ["|u1", [3], 1 << 80, 0])),
    "before the beginning": lambda _: forged(table(FITS, ["|u1", [3], -(1 << 12), 0])),
    "one mask": lambda _: forged(table(FITS)),
    "meta that is a list": lambda _: forged(table(FITS, FITS, meta=["these"])),
    "nothing": lambda _: b"",
}


@pytest.mark.parametrize("attack", HOSTILE)
def test_a_hostile_file_is_replaced(tmp_path: Path, attack: str) -> None:
    """Nothing in it is run or believed; the masks are made, and kept in its place."""
    path, ran = tmp_path / "m.ryx", tmp_path / "ran"
    path.write_bytes(HOSTILE[attack](ran))
    assert ask(path) == (EXPECTED, 1)
    assert ask(path) == (EXPECTED, 0)
    assert not ran.exists()


def test_the_forger_of_these_tests_can_write_a_file_that_is_read(tmp_path: Path) -> None:
    """So it is what they say that keeps the others out."""
    (tmp_path / "m.ryx").write_bytes(forged(table(FITS, FITS)))
    assert ask(tmp_path / "m.ryx") == ({name: [False] * 21 for name in NAMES}, 0)


@pytest.mark.parametrize("place", [0, 20, -128, -64])
def test_a_damaged_file_is_replaced(tmp_path: Path, place: int) -> None:
    """A byte changed, or the end missing."""
    path = tmp_path / "m.ryx"
    ask(path)
    data = bytearray(path.read_bytes())
    for changed in (bytes(data[:place]), bytes(data[:place]) + bytes([data[place] ^ 1]) + bytes(data[place:][1:])):
        path.write_bytes(changed)
        assert ask(path) == (EXPECTED, 1)


def test_a_file_of_a_killed_process_is_no_hindrance(tmp_path: Path) -> None:
    """What it left unfinished is replaced."""
    (tmp_path / "m.tmp").write_bytes(b"half")
    assert ask(tmp_path / "m.ryx") == (EXPECTED, 1)
    assert [each.name for each in tmp_path.iterdir()] == ["m.ryx"]


def test_where_nothing_can_be_written_masks_are_made_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk or a folder that is gone costs time only."""

    def full(*_args: Any, **_options: Any) -> NoReturn:
        raise OSError(28, "No space left on device")

    assert ask(tmp_path / "gone" / "m.ryx") == (EXPECTED, 1)
    monkeypatch.setattr(container, "write", full)
    assert ask(tmp_path / "m.ryx") == (EXPECTED, 1)
    assert ask(tmp_path / "m.ryx") == (EXPECTED, 1)
