"""Bringing an index up to date with the files of a small root."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from rye.errors import EnvironmentFault
from rye.index.build import refresh
from rye.index.build import segment_builder as builder
from rye.index.build.reader import Reader
from rye.index.build.refresh import RefreshReport, SpaceIndex
from rye.index.storage import container, file_list
from rye.spaces.model import Root, Space
from tests.support.files import lay
from tests.unit.index.segments import postings

FILES = {
    "tools/ops/deploy.py": '"""Deploy a build."""\n',
    "knowledge/guide.md": "# Guide\n\nHow to read.\n",
    "directives/release.md": "---\ntitle: Release\n---\n\nRelease it.\n",
}


def in_an_hour() -> int:
    """Return the time in nanoseconds at which every file of a test has long been as it is."""
    return time.time_ns() + 3_600 * 10**9


@pytest.fixture
def settled() -> None:
    """Have files indexed an hour after they were written, so that none is read again for being young."""


@pytest.fixture
def root(tmp_path: Path) -> Root:
    """Return a project root with three items."""
    return Root(Space.PROJECT, lay(tmp_path / "project" / ".ai", FILES))


@pytest.fixture
def make(root: Root, tmp_path: Path, request: pytest.FixtureRequest) -> Callable[..., SpaceIndex]:
    """Return what opens the index of the root, as each process does for itself."""
    late: dict[str, Any] = {"now": in_an_hour} if "settled" in request.fixturenames else {}

    def opened(**options: Any) -> SpaceIndex:
        (tmp_path / "index").mkdir(exist_ok=True)
        return SpaceIndex(root, tmp_path / "index", **late, **options)

    return opened


def counts(found: RefreshReport) -> tuple[int, int, int, int]:
    """Return how many files were added, changed, removed and unchanged."""
    return found.added, found.changed, found.removed, found.unchanged


def keys(found: RefreshReport, root: Root) -> list[str]:
    """Return ``type:id`` of every item of a snapshot."""
    assert found.snapshot is not None
    return sorted(Reader([(root, found.snapshot)]).all_keys())


def holding(found: RefreshReport, root: Root, term: str) -> list[str]:
    """Return the ids of the items whose body has a term."""
    assert found.snapshot is not None
    reader = Reader([(root, found.snapshot)])
    return sorted(reader.key_of(doc)[1] for doc in postings(reader, "content", term).docs.tolist())


ALL = ["directive:release", "knowledge:guide", "tool:ops/deploy"]


@pytest.mark.usefixtures("settled")
def test_without_change_nothing_is_written(make: Callable[..., SpaceIndex], tmp_path: Path) -> None:
    """A refresh that finds all as it was keeps the very snapshot, also in another process."""
    index = make()
    first = index.refresh()
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "index").iterdir() if path.name != "compared"}
    assert index.refresh().snapshot is first.snapshot
    other = make().refresh()
    assert other.snapshot is not None
    assert first.snapshot is not None
    assert other.snapshot.generation == first.snapshot.generation
    assert before == {path: path.stat().st_mtime_ns for path in before}


def test_a_file_changed_within_a_tick_of_the_clock_is_seen(make: Callable[..., SpaceIndex], root: Root) -> None:
    """Bytes that change under the same size and times right after indexing are found by the next refresh."""
    path = root.path / "knowledge/guide.md"
    index = make()
    index.refresh()
    status = path.stat()
    data = path.read_bytes().replace(b"read", b"look")
    with path.open("r+b") as handle:
        handle.write(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    found = index.refresh()
    assert (holding(found, root, "look"), found.changed) == (["guide"], 1)


def test_a_file_changed_within_a_tick_of_a_slow_clock_is_seen(
    make: Callable[..., SpaceIndex], root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where times are whole seconds, a change a tenth of a second after indexing shows in no time of any file."""

    def slow(status: os.stat_result) -> tuple[int, ...]:
        return status.st_size, status.st_mtime_ns // 10**9 * 10**9, status.st_ctime_ns // 10**9 * 10**9, status.st_ino

    monkeypatch.setattr("rye.spaces.walk.stat_of", slow)
    path = root.path / "knowledge/guide.md"
    index = make()
    while time.time() % 1 > 0.5:  # both changes in one second
        time.sleep(0.01)
    path.write_bytes(path.read_bytes())
    time.sleep(0.1)
    index.refresh()
    with path.open("r+b") as handle:
        handle.write(path.read_bytes().replace(b"read", b"look"))
    found = index.refresh()
    assert (holding(found, root, "look"), holding(found, root, "read")) == (["guide"], [])


@pytest.mark.usefixtures("settled")
def test_a_recent_comparison_of_any_process_counts(
    make: Callable[..., SpaceIndex], root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within ``max_age`` of it the files are not looked at, and the newest snapshot answers, whoever made it."""
    one, other = make(), make()
    one.refresh()
    lay(root.path, {"tools/new.py": '"""New."""\n'})
    other.refresh()
    lay(root.path, {"tools/newer.py": '"""Newer."""\n'})
    with monkeypatch.context() as patch:
        patch.setattr(refresh, "_walk", lambda _root: pytest.fail("walked"))
        found = one.refresh(max_age=100)
    assert keys(found, root) == sorted([*ALL, "tool:new"])
    assert len(keys(one.refresh(), root)) == 5


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("version", [1, container.FORMAT_VERSION - 1, container.FORMAT_VERSION + 1])
def test_an_index_of_another_format_is_rebuilt(
    make: Callable[..., SpaceIndex], root: Root, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    """Older or newer: every file is read anew, without a word, and then the index is as any."""
    with monkeypatch.context() as patch:
        patch.setattr(container, "FORMAT_VERSION", version)
        make().refresh()
    found = make().refresh()
    assert counts(found) == (len(FILES), 0, 0, 0)
    assert found.warnings == ()
    assert holding(found, root, "deploy")
    assert (counts(make().refresh()), make().refresh().warnings) == ((0, 0, 0, len(FILES)), ())


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("harm", ["no document", "list of files"])
def test_an_index_that_contradicts_itself_is_rebuilt(
    make: Callable[..., SpaceIndex], root: Root, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    """A listed file without a document, or a list that cannot be unpacked, is damage, however late it shows."""
    with monkeypatch.context() as patch:
        if harm == "no document":
            real = builder.SegmentBuilder.add
            patch.setattr(
                builder.SegmentBuilder, "add", lambda me, item, *more: item.name == "guide" or real(me, item, *more)
            )
        else:
            patch.setattr(file_list.Files, "packed", b"no list of files")
        make().refresh()
    lay(root.path, {"knowledge/guide.md": "# Guide\n\nHow to write.\n"})
    found = make().refresh()
    assert (counts(found), keys(found, root)) == ((3, 0, 0, 0), ALL)
    assert [harm in warning for warning in found.warnings] == [True]
    assert make().refresh().warnings == ()


def test_progress_is_reported(make: Callable[..., SpaceIndex], root: Root) -> None:
    """From nothing to all files of the source, in steps."""
    lay(root.path, {f"tools/many/t{number}.sh": "# One\n" for number in range(60)})
    reported: list[tuple[int, int, str]] = []
    make(progress=lambda done, of, source: reported.append((done, of, source))).refresh()
    assert reported == [(0, 63, "project"), (50, 63, "project"), (63, 63, "project")]


@pytest.mark.usefixtures("settled")
def test_a_disk_that_fills_up_leaves_the_last_snapshot_answering(
    make: Callable[..., SpaceIndex], root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failed write gives a warning and a stale answer; without any snapshot it is a fault."""
    index = make()
    index.refresh()
    lay(root.path, {"tools/new.py": '"""New."""\n'})

    def full(*_args: Any, **_options: Any) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(container, "write", full)
        found = index.refresh()
        assert found.stale
        assert keys(found, root) == ALL
        assert "No space left" in found.warnings[0]
        index.clear()
        with pytest.raises(EnvironmentFault):
            index.refresh()
    assert len(keys(index.refresh(), root)) == 4


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("code", [errno.EIO, errno.EACCES], ids=errno.errorcode.get)
def test_a_file_that_could_not_be_read_for_a_moment_is_read_again(
    make: Callable[..., SpaceIndex], root: Root, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """A fault of the disk, or a right not yet given, hides an item no longer than it lasts, and is no change."""
    fails, read, file = True, os.read, (root.path / "tools/ops/deploy.py").stat()

    def faulty(handle: int, count: int) -> bytes:
        if fails and os.path.samestat(os.fstat(handle), file):
            raise OSError(code, os.strerror(code))
        return read(handle, count)

    monkeypatch.setattr(os, "read", faulty)
    index = make()
    found = index.refresh()
    assert ("deploy.py" in str(found.warnings), len(keys(found, root))) == (True, len(ALL) - 1)
    assert counts(index.refresh()) == (0, 0, 0, len(ALL))
    fails = False
    again = index.refresh()
    assert (keys(again, root), again.warnings) == (ALL, ())
    assert index.refresh().changed == 0
