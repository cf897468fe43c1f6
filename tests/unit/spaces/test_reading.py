"""Reading one file of a root, whatever an attacker puts in its place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rye.errors import ItemError
from rye.items.reader import MAX_BYTES
from rye.spaces.model import Root, Space
from rye.spaces.read import read_file
from tests.support.files import lay


def refusal(root: Path, rel_path: str) -> str:
    """The code with which a file is refused."""
    with pytest.raises(ItemError) as caught:
        read_file(Root(Space.PROJECT, root), rel_path)
    assert caught.value.hint
    assert caught.value.details["path"] == rel_path
    return caught.value.code


def test_a_file_is_read_as_it_is(tmp_path: Path) -> None:
    """Bytes, not text; at any depth; also an empty one and one of exactly the limit."""
    lay(tmp_path, {"tools/a/b/c.py": b"\r\n\xff\x00", "tools/e.py": b"", "tools/l.py": b"x" * MAX_BYTES})
    root = Root(Space.PROJECT, tmp_path)
    assert read_file(root, "tools/a/b/c.py") == b"\r\n\xff\x00"
    assert read_file(root, "tools/e.py") == b""
    assert len(read_file(root, "tools/l.py")) == MAX_BYTES


def test_links_inside_the_root_are_read(tmp_path: Path) -> None:
    """Of the file, of a folder on the way, and of the root itself."""
    lay(tmp_path, {"real/tools/a/x.py": "x"})
    (tmp_path / "real" / "tools" / "y.py").symlink_to("a/x.py")
    (tmp_path / "real" / "tools" / "b").symlink_to(tmp_path / "real" / "tools" / "a")
    (tmp_path / "alias").symlink_to("real")
    for folder in ("real", "alias"):
        root = Root(Space.PROJECT, tmp_path / folder)
        assert read_file(root, "tools/y.py") == read_file(root, "tools/b/x.py") == b"x"


def test_link_out_of_the_root(tmp_path: Path) -> None:
    """A file, a folder on the way, a chain of links, and a neighbour whose name begins like the root's."""
    lay(tmp_path, {"root/tools/x.py": "x", "root2/s.py": "secret", "secret.py": "secret"})
    tools = tmp_path / "root" / "tools"
    (tools / "a.py").symlink_to(tmp_path / "secret.py")
    (tools / "b").symlink_to(tmp_path / "root2")
    (tools / "c.py").symlink_to("a.py")
    for rel_path in ("tools/a.py", "tools/b/s.py", "tools/c.py"):
        assert refusal(tmp_path / "root", rel_path) == "link-escape"


@pytest.mark.parametrize(
    "rel_path", ["../secret.py", "tools/../../secret.py", "/etc/passwd", "tools//x.py", "tools/./x.py", "", "tools/\0"]
)
def test_path_that_climbs_out(tmp_path: Path, rel_path: str) -> None:
    """Only plain paths below the root are read."""
    lay(tmp_path, {"root/tools/x.py": "x", "secret.py": "secret"})
    assert refusal(tmp_path / "root", rel_path) == "link-escape"


def test_pipe_in_place_of_a_file_does_not_hang(tmp_path: Path) -> None:
    """Nor does one behind a link; a folder is not a file either."""
    lay(tmp_path, {"tools/d.py/x": ""})
    os.mkfifo(tmp_path / "tools" / "p.py")
    (tmp_path / "tools" / "q.py").symlink_to("p.py")
    for rel_path in ("tools/p.py", "tools/q.py", "tools/d.py"):
        assert refusal(tmp_path, rel_path) == "not-a-file"


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    """Between listing and reading it may vanish, or its folder, or what it links to."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "l.py").symlink_to("gone.py")
    for rel_path in ("tools/x.py", "tools/a/x.py", "knowledge/x.md", "tools/l.py"):
        assert refusal(tmp_path, rel_path) == "vanished"
    assert refusal(tmp_path / "gone", "tools/x.py") == "vanished"


def test_a_loop_of_links(tmp_path: Path) -> None:
    """It cannot be read, and that is all."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "x.py").symlink_to("x.py")
    assert refusal(tmp_path, "tools/x.py") == "unreadable"


def test_too_large_a_file_is_refused_before_it_is_read_whole(tmp_path: Path) -> None:
    """One byte more than the limit, and a sparse file of a tebibyte."""
    lay(tmp_path, {"tools/x.py": b"x" * (MAX_BYTES + 1)})
    assert refusal(tmp_path, "tools/x.py") == "too-large"
    os.truncate(tmp_path / "tools" / "x.py", 1 << 40)
    assert refusal(tmp_path, "tools/x.py") == "too-large"


def test_a_file_that_grows_while_it_is_read_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its size was small, its content does not end: reading stops at the limit."""
    lay(tmp_path, {"tools/x.py": b"x"})
    monkeypatch.setattr(os, "read", lambda _handle, count: b"x" * min(count, 1 << 16))
    assert refusal(tmp_path, "tools/x.py") == "too-large"


def test_folder_swapped_for_a_link_at_that_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between opening the root and the folder below it, that folder becomes a link out of the root."""
    lay(tmp_path, {"root/tools/x.py": "x", "evil/x.py": "secret"})
    real = os.open
    done: list[str] = []

    def swapping(path: str, flags: int, *, dir_fd: int | None = None) -> int:
        handle = real(path, flags, dir_fd=dir_fd)
        if not done:
            done.append(path)
            (tmp_path / "root" / "tools").rename(tmp_path / "root" / "away")
            (tmp_path / "root" / "tools").symlink_to(tmp_path / "evil")
        return handle

    monkeypatch.setattr(os, "open", swapping)
    assert refusal(tmp_path / "root", "tools/x.py") == "link-escape"
    assert done


def test_link_swapped_after_it_was_resolved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a link led to was inside the root; when it is opened, a folder on that way has become a link out."""
    lay(tmp_path, {"root/tools/a/x.py": "x", "evil/x.py": "secret"})
    root = tmp_path / "root"
    (root / "tools" / "y.py").symlink_to("a/x.py")
    real = os.path.realpath

    def swapping(path: str, *, strict: bool = False) -> str:
        found = real(path, strict=strict)
        if str(path).endswith("y.py"):
            (root / "tools" / "a").rename(root / "away")
            (root / "tools" / "a").symlink_to(tmp_path / "evil")
        return found

    monkeypatch.setattr(os.path, "realpath", swapping)
    assert refusal(root, "tools/y.py") in {"link-escape", "unreadable"}
