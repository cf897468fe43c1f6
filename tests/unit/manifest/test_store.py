"""A manifest's files and the state: replaced as a whole, kept private, and never taken for something they are not."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import replace
from itertools import cycle
from pathlib import Path

import pytest

from rye.errors import EnvironmentFault
from rye.manifest.model import MAX_MANIFEST_FILE, Seen
from rye.manifest.store import (
    forget_seen,
    load_seen,
    read_manifest,
    replace_manifest,
    save_seen,
    was_seen,
)
from rye.spaces.state import state_folder
from rye.trust import write_atomically
from tests.unit.manifest.board import written

INFINITE = b'{"format": 1, "versions": {"root": Infinity}, "digests": {}, "root": ""}'
SEEN = Seen({"root": 1, "timestamp": 3}, {"root": "a" * 64}, b"root\xff")


posix = pytest.mark.skipif(os.name != "posix", reason="modes and links are those of POSIX")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder of the test's own."""
    folder = tmp_path / "state"
    monkeypatch.setenv("RYE_STATE_DIR", str(folder))
    return folder


def test_files_are_read_as_they_were_written(tmp_path: Path) -> None:
    """What is written is what is read; nothing at all is an empty manifest."""
    assert read_manifest(tmp_path) == {}
    files = written().files
    replace_manifest(tmp_path, files)
    assert read_manifest(tmp_path) == files


def test_files_of_older_versions_go_and_others_stay(tmp_path: Path) -> None:
    """Only what has the name of a manifest's file is removed."""
    board = written()
    folder = replace_manifest(tmp_path, board.files)
    (folder / "README.md").write_text("by hand")
    board.write()
    replace_manifest(tmp_path, board.files)
    assert sorted(path.name for path in folder.iterdir()) == sorted([*board.files, "README.md"])


def test_what_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    """Its files and its folder; a file of one's own, however hidden, stays."""
    board = written()
    folder = replace_manifest(tmp_path, board.files)
    remains = [folder / f".2.targets.json.{'a' * 16}.tmp", folder.parent / f".manifest.{'b' * 16}.tmp" / "1.root.json"]
    remains.append(folder / f".{'c' * 16}.tmp")
    for path in [*remains, folder / ".mine.tmp"]:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"half")
    board.write()
    replace_manifest(tmp_path, board.files)
    assert sorted(path.name for path in folder.iterdir()) == sorted([*board.files, ".mine.tmp"])
    assert [path.name for path in folder.parent.iterdir()] == ["manifest"]


@posix
def test_a_link_in_the_place_of_a_file_leads_nowhere(tmp_path: Path) -> None:
    """Who plants a link in a repository can neither have its target read as the manifest nor have it overwritten."""
    board = written()
    victim, root = tmp_path / "victim", tmp_path / "space"
    victim.write_bytes(board.files["timestamp.json"])
    folder = replace_manifest(root, board.files)
    (folder / "timestamp.json").unlink()
    for name in ("timestamp.json", "2.targets.json"):
        (folder / name).symlink_to(victim)
    assert "timestamp.json" not in read_manifest(root)
    old = victim.read_bytes()
    board.write()
    replace_manifest(root, board.files)
    assert read_manifest(root) == board.files
    assert victim.read_bytes() == old


@posix
@pytest.mark.parametrize("place", ["config", "config/manifest"])
def test_a_link_in_the_place_of_the_folder_is_refused(tmp_path: Path, place: str) -> None:
    """Files elsewhere are not read, and none is removed there for having the name of an old one."""
    elsewhere, root = tmp_path / "elsewhere", tmp_path / "space"
    replace_manifest(elsewhere, written().files)
    (root / place).parent.mkdir(parents=True)
    (root / place).symlink_to(elsewhere / place)
    with pytest.raises(EnvironmentFault, match="leads out of") as raised:
        read_manifest(root)
    assert (raised.value.code, "link" in raised.value.hint) == ("unreadable", True)
    with pytest.raises(EnvironmentFault) as raised:
        replace_manifest(root, {})
    assert (raised.value.code, "link" in raised.value.hint) == ("cannot-write", True)
    assert read_manifest(elsewhere) != {}


def test_a_manifest_of_too_many_bytes_is_not_taken_in(tmp_path: Path) -> None:
    """Each file may be long, all together not as long as there may be files."""
    folder = replace_manifest(tmp_path, written().files)
    for number in range(2, 7):
        with (folder / f"{number}.targets.json").open("wb") as stream:
            stream.truncate(MAX_MANIFEST_FILE)
    with pytest.raises(EnvironmentFault, match="more than 134,217,728 bytes"):
        read_manifest(tmp_path)


def test_a_reader_beside_a_writer_sees_one_manifest(tmp_path: Path) -> None:
    """A reader gets the files of one version, never some of each, however often they are replaced."""
    board = written()
    states = []
    for _ in range(3):
        states.append(dict(board.files))
        board.write()
    replace_manifest(tmp_path, states[0])
    done = threading.Event()

    def write() -> None:
        for state in cycle(states):
            replace_manifest(tmp_path, state)
            if done.wait(0.002):  # a reader that finds it changed each time gives up in the end
                return

    writer = threading.Thread(target=write)
    writer.start()
    try:
        seen = [read_manifest(tmp_path) for _ in range(60)]
    finally:
        done.set()
        writer.join()
    names = {"timestamp.json", "1.root.json"}
    for files in seen:
        version = json.loads(files["timestamp.json"])["signed"]["meta"]["snapshot.json"]["version"]
        assert names | {f"{version}.snapshot.json", f"{version}.targets.json"} <= files.keys()


def test_a_writer_killed_at_any_moment_leaves_a_whole_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After each single write the check passes, with the old list or the new one."""
    board = written()
    old = list(board.items)
    replace_manifest(tmp_path, board.files)
    board.items = board.items[:1]
    board.write()
    states = []
    real = write_atomically

    def watched(path: Path, data: bytes) -> None:
        real(path, data)
        states.append(read_manifest(tmp_path))

    monkeypatch.setattr("rye.manifest.store.write_atomically", watched)
    replace_manifest(tmp_path, board.files)
    assert len(states) == 3
    outcomes = [(board.codes(files=each, items=old), board.codes(files=each)) for each in states]
    assert [old_codes == [] for old_codes, _ in outcomes] == [True, True, False]
    assert [new_codes == [] for _, new_codes in outcomes] == [False, False, True]


@posix
def test_two_writers_take_turns(tmp_path: Path) -> None:
    """Neither removes what the other has just written: the manifest in the end is that of one of them, whole."""
    board = written()
    states = []
    for _ in range(4):
        states.append(dict(board.files))
        board.write()

    def write(mine: list[dict[str, bytes]]) -> None:
        for number in range(12):
            replace_manifest(tmp_path, mine[number % 2])

    writers = [threading.Thread(target=write, args=(mine,)) for mine in (states[:2], states[2:])]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert read_manifest(tmp_path) in states


def test_what_was_seen_is_kept_for_its_space_alone(tmp_path: Path) -> None:
    """It is found under its own root, under no other, and no more when it is forgotten."""
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    save_seen(one, SEEN)
    assert load_seen(one) == SEEN
    assert load_seen(other) is None
    assert was_seen(one)
    assert forget_seen(one)
    assert not forget_seen(one)
    assert load_seen(one) is None


@posix
def test_two_names_of_one_folder_share_what_was_seen(tmp_path: Path) -> None:
    """What one name saw is asked of the other, and what either sees next is kept for both."""
    one, link = tmp_path / "one", tmp_path / "link"
    one.mkdir()
    link.symlink_to(one)
    save_seen(one, SEEN)
    assert load_seen(link) == Seen(also=(SEEN,))
    newer = replace(SEEN, versions={"root": 1, "timestamp": 4})
    save_seen(link, newer)
    assert load_seen(link) == load_seen(one) == newer
    assert forget_seen(link)
    assert not was_seen(one)


@posix
def test_a_link_in_the_place_of_a_folder_forgets_nothing(tmp_path: Path) -> None:
    """A root is remembered where it stands, whether a link comes there, leads elsewhere or is taken away again."""
    root, old, older = (tmp_path / name for name in ("root", "old", "older"))
    for folder in (root, old, older):
        folder.mkdir()
    save_seen(root, SEEN)
    root.rmdir()
    for target in (old, older):
        root.symlink_to(target)
        assert load_seen(root) == SEEN
        root.unlink()
    save_seen(older, replace(SEEN, digests={"root": "b" * 64}))
    root.symlink_to(older)
    seen = load_seen(root)
    assert seen is not None
    assert [each.digests["root"][0] for each in seen.all] == ["a", "b"]


@posix
def test_a_link_above_the_root_forgets_nothing_where_it_is_named(tmp_path: Path) -> None:
    """A folder of a repository that becomes a link to an older copy is still known by the path that was asked for."""
    folder = tmp_path / "packages" / "one"
    (folder / ".ai").mkdir(parents=True)
    save_seen(folder / ".ai", SEEN)
    folder.rename(tmp_path / "old")
    folder.symlink_to(tmp_path / "old")
    assert load_seen(folder / ".ai") == Seen(also=(SEEN,))


@posix
def test_only_the_user_can_look_at_the_state(tmp_path: Path, state: Path) -> None:
    """The folders have mode 0700; a state that others can write is not believed."""
    save_seen(tmp_path, SEEN)
    assert state.stat().st_mode & 0o777 == 0o700
    (state / "manifests").chmod(0o777)
    with pytest.raises(EnvironmentFault) as raised:
        load_seen(tmp_path)
    assert raised.value.code == "state-unsafe"


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[]", b"\xff", b'{"format": 9}', b"[" * 50_000, b'{"format": 1, "versions": []}', INFINITE]
)
def test_a_damaged_state_is_not_a_first_use(tmp_path: Path, state: Path, data: bytes) -> None:
    """Otherwise damage to one file would make an old manifest look new."""
    save_seen(tmp_path, SEEN)
    (path,) = (state / "manifests").iterdir()
    path.write_bytes(data)
    with pytest.raises(EnvironmentFault) as raised:
        load_seen(tmp_path)
    assert raised.value.code == "state-unreadable"


@posix
def test_a_home_that_nobody_has_is_no_state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said, instead of a traceback."""
    monkeypatch.setenv("RYE_STATE_DIR", "~no-such-user/state")
    with pytest.raises(EnvironmentFault, match="no such home folder"):
        load_seen(tmp_path)


def test_a_state_that_cannot_be_read_counts_as_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A state that cannot be looked at is asked after, and refused, rather than taken for a first use."""
    monkeypatch.setenv("RYE_STATE_DIR", str(tmp_path / ("x" * 300)))
    assert was_seen(tmp_path)
    with pytest.raises(EnvironmentFault) as raised:
        load_seen(tmp_path)
    assert raised.value.code == "state-unreadable"


def test_the_state_folder_is_the_platforms_unless_named(monkeypatch: pytest.MonkeyPatch, state: Path) -> None:
    """``RYE_STATE_DIR`` wins."""
    assert state_folder() == state
    monkeypatch.delenv("RYE_STATE_DIR")
    assert state_folder().name == "rye"
