"""What a generation was made from: the files, as one file that is compared, written and read whole."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.index import container
from rye.index.container import DamagedError
from rye.index.file_list import COARSE_RACY_NS, RACY_NS, FileList, Files, Problem, SegmentRow, stats_of

NAMES = st.text(st.characters(exclude_characters="\0"), min_size=1, max_size=6).map(
    lambda text: os.fsdecode(text.encode("utf-8", "surrogatepass"))
)
NUMBERS = st.integers(-(1 << 63), (1 << 63) - 1)
FILE_LISTS = st.builds(
    lambda rows, problems, stamp, listing, segments: FileList(
        Files(tuple(path for path, _ in rows), np.asarray([stats for _, stats in rows], np.int64).reshape(-1, 4)),
        tuple(problems),
        stamp,
        listing,
        tuple(segments),
    ),
    st.lists(st.tuples(NAMES, st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS)), max_size=5),
    st.lists(st.builds(Problem, NAMES, st.text(max_size=5), st.text(max_size=9)), max_size=3),
    st.text(max_size=9),
    st.sampled_from(["", "ab" * 32]),
    st.lists(
        st.builds(
            SegmentRow, st.text(min_size=1), st.integers(0, 9), st.lists(st.integers(0, 1 << 31), max_size=4).map(tuple)
        ),
        max_size=3,
    ),
)


def file_list(*rows: tuple[str, int], stamp: str = "") -> FileList:
    """Return a file list, each with its time of change."""
    stats = np.asarray([(10, when, when, 1) for _, when in rows], np.int64).reshape(-1, 4)
    return FileList(Files(tuple(path for path, _ in rows), stats), stamp=stamp)


@given(FILE_LISTS)
def test_a_file_list_comes_back(tmp_path_factory: pytest.TempPathFactory, one: FileList) -> None:
    """Paths, names that are no UTF-8 among them, numbers, problems and stamp are read as they were written."""
    path = tmp_path_factory.getbasetemp() / "files-1.ryx"
    one.write(path)
    found = FileList.read(path)
    assert (len(found.files), found.files.paths, found.problems) == (len(one.files), one.files.paths, one.problems)
    assert (found.stamp, found.listing, found.segments) == (one.stamp, one.listing, one.segments)
    assert found.files.stats.tolist() == one.files.stats.tolist()
    assert found.files.same(one.files)


def test_writing_replaces_and_leaves_nothing_beside(tmp_path: Path) -> None:
    """A list replaces the one before it whole; a temporary left by a killed process is no hindrance."""
    path = tmp_path / "files-1.ryx"
    (tmp_path / f"files-1.{os.getpid()}.tmp").write_text("left over")
    file_list(("a", 1)).write(path)
    file_list(("b", 2)).write(path)
    assert list(FileList.read(path).files.paths) == ["b"]
    assert list(tmp_path.iterdir()) == [path]


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


def test_a_late_change_of_permissions_counts_as_a_change() -> None:
    """The later of content time and inode time decides."""
    files = Files(("a",), np.asarray([(10, 0, 10**18, 1)], np.int64))
    assert not FileList(files).settled(10**18).files.same(files)


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


def test_numbers_beyond_the_range_are_no_hindrance() -> None:
    """Times after 2262 and inodes above 2^63 are kept apart, modulo 2^64."""
    rows = [(1, 10**19, 2, 1 << 63), (1, -1, 2, (1 << 64) - 1), (1, 10**19 + 1, 2, 1 << 63), (5, 6, 7, 8)]
    found = stats_of(rows)
    assert found.dtype == np.int64
    assert found[3].tolist() == [5, 6, 7, 8]
    assert len({tuple(row) for row in found.tolist()}) == 4
    assert stats_of([]).shape == (0, 4)


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
