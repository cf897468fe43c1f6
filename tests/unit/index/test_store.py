"""The folder of an index: generations, locks, and what is left after any interruption."""

from __future__ import annotations

import errno
import hashlib
import subprocess
import sys
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from whoosh.filedb.filestore import FileStorage
from whoosh.index import TOC

from rye.errors import EnvironmentFault
from rye.index.build.segment_builder import SegmentBuilder
from rye.index.build.store import Snapshot, Store
from rye.index.build.whoosh_codec import whoosh_schema
from rye.index.storage import container
from rye.index.storage.container import DamagedError
from rye.index.storage.file_list import INDEX_NAME, FileList, Files
from rye.items.model import Item
from tests.unit.index.segments import evidence, item, place


def file_list(*paths: str) -> FileList:
    """Return a file list of these paths."""
    return FileList(Files(paths, np.zeros((len(paths), 4), np.int64)))


def add(store: Store, base: Snapshot | None, items: Sequence[Item], gone: Collection[tuple[int, int]] = ()) -> Snapshot:
    """Commit a segment of items on top of a base, deleting documents given as (segment, number in it)."""
    builder = SegmentBuilder()
    for one in items:
        builder.add(one, place(one), evidence(one))
    deleted = {segment: [doc for other, doc in gone if other == segment] for segment, _ in gone}
    with store.locked() as held:
        assert held
        return store.commit(base, file_list(*(i.id for i in items)), builder.write if items else None, deleted)


def ids(snapshot: Snapshot | None) -> list[str]:
    """Return the ids of the live items of a snapshot."""
    assert snapshot is not None
    return sorted(one.segment.ids[doc] for one in snapshot.segments for doc in np.flatnonzero(one.live).tolist())


def many(prefix: str, count: int = 200) -> list[Item]:
    """Return enough items that their segment does not merge with a small one."""
    return [item(f"{prefix}{number:03}") for number in range(count)]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Return a store in an empty folder."""
    return Store(tmp_path / "index")


def names(store: Store) -> set[str]:
    """Return the files in the folder that a snapshot is made of, or that should not be there."""
    return {path.name for path in store.folder.iterdir() if not path.name.endswith("LOCK")}


def made_of(snapshot: Snapshot) -> set[str]:
    """Return the files that a snapshot is made of."""
    segments = {listed.row.file(".ryx") for listed in snapshot.segments}
    return segments | {f"_MAIN_{snapshot.generation}.toc", f"files-{snapshot.generation}.ryx"}


@pytest.mark.parametrize("moment", ["segment", "file list", "toc"])
def test_a_commit_that_is_interrupted_leaves_the_snapshot_before(
    store: Store, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Interrupted after a file was begun, nothing but the last snapshot is left, which opens; the next commit works."""
    base = add(store, None, many("x"))

    def interrupted(*_args: Any, **_options: Any) -> NoReturn:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        owner, name = {"segment": (FileList, "write"), "file list": (TOC, "write"), "toc": (Path, "rename")}[moment]
        patch.setattr(owner, name, interrupted)
        with pytest.raises(KeyboardInterrupt):
            add(store, base, [item("a")])
    assert names(store) == made_of(base)
    assert ids(Store(store.folder).open()) == ids(base)
    healed = add(store, Store(store.folder).open(), [item("b")])
    assert ids(healed) == [*sorted(["b"]), *ids(base)]
    assert names(store) == made_of(healed)


def test_strays_of_killed_processes_are_swept(store: Store) -> None:
    """Segments, verdicts, file lists and unfinished tables of contents that nobody needs go with the next commit."""
    base = add(store, None, many("x"))
    alive = base.segments[0].row.file("")
    strays = ["MAIN_dead.ryx", "MAIN_dead.0123.ryx", "files-7.ryx", "files-7.99.tmp", "_MAIN_0.toc", "_MAIN_1.toc.17.5"]
    for name in strays:
        (store.folder / name).write_bytes(b"left over")
    (store.folder / f"{alive}.0123.ryx").write_bytes(b"verdicts of a segment that lives")
    after = add(store, base, [item("a")])
    assert names(store) == made_of(after) | {f"{alive}.0123.ryx"}


class _Runs:
    """Writes a file when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.marker,)


def test_attack_a_table_of_contents_that_runs_code(store: Store, tmp_path: Path) -> None:
    """The pickle that Whoosh's searcher reads is compared, not read: refused, and idle where it is vouched for."""
    base = add(store, None, [item("a")])
    marker = tmp_path / "ran"
    (store.folder / "_MAIN_0.toc").unlink()
    TOC(whoosh_schema(), [_Runs(marker)], 0).write(FileStorage(str(store.folder)), INDEX_NAME)
    with pytest.raises(DamagedError, match="other segments"):
        store.open()
    digest = hashlib.sha256((store.folder / "_MAIN_0.toc").read_bytes()).hexdigest()
    base.file_list._replace(listing=digest).write(store.folder / "files-0.ryx")
    assert ids(store.open()) == ["a"]
    assert not marker.exists()


@pytest.mark.parametrize("name", ["../../elsewhere", "", "a/b", "é" * 16])
def test_attack_a_segment_somewhere_else(store: Store, name: str) -> None:
    """A file list names segments of its own folder only."""
    base = add(store, None, [item("a")])
    row = base.file_list.segments[0]._replace(name=name)
    base.file_list._replace(segments=(row,)).write(store.folder / "files-0.ryx")
    with pytest.raises(DamagedError):
        Store(store.folder).open()


def test_a_snapshot_that_is_replaced_while_it_is_opened_is_opened_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit between reading the generation and its files is no damage."""
    base = add(store, None, [item("a")])
    read = FileList.read
    calls = []

    def interrupted(path: Path) -> FileList:
        calls.append(path.name)
        if len(calls) == 1:
            add(Store(store.folder), base, [item("b")])
        return read(path)

    monkeypatch.setattr(FileList, "read", staticmethod(interrupted))
    assert ids(Store(store.folder).open()) == ["a", "b"]


def test_a_full_disk_is_a_fault_and_the_base_still_serves(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed write is an error with a hint; the snapshot before is untouched."""
    base = add(store, None, [item("a")])

    def full(*_args: Any, **_options: Any) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(container, "write", full)
    with pytest.raises(EnvironmentFault) as caught:
        add(store, base, [item("b")])
    assert caught.value.code == "index-write"
    assert "No space left" in caught.value.message
    assert "RYE_CACHE_DIR" in caught.value.hint
    assert ids(store.open()) == ["a"]


HOLD = """
import sys, time
from pathlib import Path
from rye.index.build.store import Store
with Store(Path(sys.argv[1])).locked() as held:
    print("held" if held else "refused", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def test_two_processes_do_not_hold_the_lock_at_once(store: Store) -> None:
    """While another process holds it there is no lock, unless one waits; a killed process lets go."""
    store.folder.mkdir()
    command = [sys.executable, "-c", HOLD, str(store.folder)]
    with subprocess.Popen([*command, "60"], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with store.locked() as held:
            assert not held
        began = time.monotonic()
        with store.locked(wait=0.1) as held:
            assert not held
        assert time.monotonic() - began >= 0.1
        assert other.poll() is None
        other.kill()
        with store.locked(wait=10) as held:
            assert held
            refused = subprocess.run([*command, "0"], capture_output=True, text=True, check=True)
            assert refused.stdout == "refused\n"
    with store.locked() as held:
        assert held


def test_clearing_removes_all_but_the_lock(store: Store) -> None:
    """Every file goes and its size is counted; another process that waits for the lock still finds it."""
    add(store, None, [item("a")])
    size = sum(path.stat().st_size for path in store.folder.iterdir())
    assert store.clear() == size
    assert names(store) == set()
    assert [path.name for path in store.folder.iterdir()] == [f"{INDEX_NAME}_WRITELOCK"]
    assert store.open() is None
    assert store.clear() == 0
    assert ids(add(store, None, [item("b")])) == ["b"]
