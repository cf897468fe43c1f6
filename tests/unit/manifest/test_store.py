"""A manifest's files and the state: replaced as a whole, kept private, and never taken for something they are not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rye.errors import EnvironmentFault
from rye.manifest import Seen, forget, load_seen, read_manifest, replace_manifest, save_seen, state_folder, was_seen
from rye.signing import write_atomically
from tests.unit.manifest.board import written

SEEN = Seen({"root": 1, "timestamp": 3}, {"root": "a" * 64}, b"root\xff")


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


def test_what_was_seen_is_kept_for_its_space_alone(tmp_path: Path) -> None:
    """The state is found again by the real path of the root, also through a link."""
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    save_seen(one, SEEN)
    link = tmp_path / "link"
    link.symlink_to(one)
    assert load_seen(one) == load_seen(link) == SEEN
    assert load_seen(other) is None
    assert was_seen(one)
    assert forget(one)
    assert not forget(one)
    assert load_seen(one) is None


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_only_the_user_can_look_at_the_state(tmp_path: Path, state: Path) -> None:
    """The folders have mode 0700; a state that others can write is not believed."""
    save_seen(tmp_path, SEEN)
    assert state.stat().st_mode & 0o777 == 0o700
    (state / "manifests").chmod(0o777)
    with pytest.raises(EnvironmentFault) as raised:
        load_seen(tmp_path)
    assert raised.value.code == "state-unsafe"


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"\xff", b'{"format": 9}', b"[" * 50_000])
def test_a_damaged_state_is_not_a_first_use(tmp_path: Path, state: Path, data: bytes) -> None:
    """Otherwise damage to one file would make an old manifest look new."""
    save_seen(tmp_path, SEEN)
    (path,) = (state / "manifests").iterdir()
    path.write_bytes(data)
    with pytest.raises(EnvironmentFault) as raised:
        load_seen(tmp_path)
    assert raised.value.code == "state-unreadable"


def test_the_state_folder_is_the_platforms_unless_named(monkeypatch: pytest.MonkeyPatch, state: Path) -> None:
    """``RYE_STATE_DIR`` wins."""
    assert state_folder() == state
    monkeypatch.delenv("RYE_STATE_DIR")
    assert state_folder().name == "rye"
