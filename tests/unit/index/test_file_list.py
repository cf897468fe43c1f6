"""What a generation was made from: the files, as one file that is compared, written and read whole."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pytest

from rye.index import container
from rye.index.container import DamagedError
from rye.index.file_list import COARSE_RACY_NS, RACY_NS, FileList, Files


def file_list(*rows: tuple[str, int], stamp: str = "") -> FileList:
    """Return a file list, each with its time of change."""
    stats = np.asarray([(10, when, when, 1) for _, when in rows], np.int64).reshape(-1, 4)
    return FileList(Files(tuple(path for path, _ in rows), stats), stamp=stamp)


@pytest.mark.parametrize(
    ("paths", "column", "same"),
    [
        (("a", "b"), None, True),
        (("b", "a"), None, False),
        (("a",), None, False),
        (("a", "c"), None, False),
        *[(("a", "b"), column, False) for column in range(4)],
    ],
)
def test_files_are_the_same_when_nothing_differs(paths: tuple[str, ...], column: int | None, same: bool) -> None:  # noqa: FBT001
    """Another name, order, size, time or inode is another file; so is a missing one."""
    one = file_list(("a", 1), ("b", 2))
    stats = one.files.stats[: len(paths)].copy()
    if column is not None:
        stats[1, column] += 1
    assert one.files.same(Files(paths, stats)) is same


def test_a_file_changed_just_before_reading_is_read_again() -> None:
    """Within a tick of the file system's clock a file may change without its time changing."""
    now = 10**18 + 7
    rows = ("old", now - RACY_NS), ("racy", now - RACY_NS + 1), ("future", now + 10**12)
    one = file_list(*rows)
    settled = one.settled(now)
    assert [bool(row) for row in (settled.files.stats == one.files.stats).all(axis=1)] == [True, False, False]
    assert not settled.files.same(one.files)
    assert file_list(("old", 5)).settled(now).files.same(file_list(("old", 5)).files)
    assert one.files.same(file_list(*rows).files)


@pytest.mark.parametrize(
    ("mtime", "ctime", "ago", "again"),
    [
        (10**18, 10**18, 1_999_999_999, True),
        (10**18, 10**18, COARSE_RACY_NS - 1, True),
        (10**18, 10**18, COARSE_RACY_NS, False),
        (10**18, 10**18 + 990_000_000, 1_999_999_999, True),
        (10**18, 10**18 + 123_456_789, 1_999_999_999, False),
        (10**18 + 1, 10**18 + 1, 1_999_999_999, False),
        (10**18 + 1, 10**18 + 1, RACY_NS - 1, True),
        (10**9, 10**18, COARSE_RACY_NS - 1, True),
    ],
)
def test_a_clock_that_ticks_in_seconds_has_a_wider_window(mtime: int, ctime: int, ago: int, again: bool) -> None:  # noqa: FBT001
    """A time of whole seconds may be two seconds older than the change it stands for; a copied one says nothing."""
    files = Files(("a",), np.asarray([(10, mtime, ctime, 1)], np.int64))
    assert FileList(files).settled(10**18 + ago).files.same(files) is not again


@pytest.mark.parametrize(
    "kind", ["missing", "cut", "no stats", "no problems", "one path more", "stats of three", "no paths"]
)
def test_a_file_that_is_not_a_file_list_is_damage(tmp_path: Path, kind: str) -> None:
    """A file that is missing, cut short, or holds something else raises DamagedError."""
    path = tmp_path / "files-1.ryx"
    file_list(("a", 1)).write(path)
    file = container.Container(path)
    meta, arrays = dict(file.meta), {name: file.array(name).copy() for name in file._table}
    path.unlink()
    if kind == "no stats":
        del arrays["stats.2"]
    elif kind == "no problems":
        del meta["problems"]
    elif kind == "one path more":
        arrays["paths"] = np.frombuffer(zlib.compress(b"a\0b"), np.uint8)
    elif kind == "no paths":
        arrays["paths"] = np.zeros(9, np.uint8)
    elif kind == "stats of three":
        arrays["stats.1"] = np.zeros(3, np.int64)
    if kind != "missing":
        container.write(path, arrays, meta)
    if kind == "cut":
        path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DamagedError, match=r"files-1|list of files"):
        assert FileList.read(path).files.paths
