"""Finding the project and the user space."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rye.errors import EnvironmentFault
from rye.spaces import FOLDER, SUFFIXES, Root, Space, find_project, project_root, user_root, user_space


def test_the_user_space_is_named_by_the_environment_else_home(tmp_path: Path) -> None:
    """``USER_SPACE`` comes first, an empty one counts as none, ``~`` in it is the home folder."""
    assert user_space({"USER_SPACE": str(tmp_path)}) == tmp_path
    assert user_space({}) == user_space({"USER_SPACE": ""}) == Path.home()
    assert user_space({"USER_SPACE": "~/x"}) == Path.home() / "x"
    assert user_space({"USER_SPACE": "x"}) == Path.cwd() / "x"


def test_the_environment_of_the_process_counts_when_none_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an argument the process is asked."""
    monkeypatch.setenv("USER_SPACE", str(tmp_path))
    assert user_space() == tmp_path


def test_no_home_is_the_machines_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody says what home is, the error says what to set."""

    def nowhere(_path: str | os.PathLike[str]) -> str:
        return "~"

    monkeypatch.setattr(os.path, "expanduser", nowhere)
    with pytest.raises(EnvironmentFault) as caught:
        user_space({})
    assert caught.value.code == "no-home"
    assert "USER_SPACE" in caught.value.hint


def test_a_project_is_the_nearest_folder_upwards_with_its_own_folder(tmp_path: Path) -> None:
    """From inside, from the root itself, and the nearer of two."""
    (tmp_path / "outer" / FOLDER).mkdir(parents=True)
    (tmp_path / "outer" / "inner" / FOLDER).mkdir(parents=True)
    deep = tmp_path / "outer" / "inner" / "a" / "b"
    deep.mkdir(parents=True)
    assert find_project(deep) == tmp_path / "outer" / "inner"
    assert find_project(tmp_path / "outer") == tmp_path / "outer"
    assert find_project(tmp_path / "outer" / "inner" / FOLDER / "gone") == tmp_path / "outer" / "inner"


def test_the_user_space_is_no_project(tmp_path: Path) -> None:
    """Its ``.ai`` does not count, under whatever name it is reached; a project above it does."""
    home = tmp_path / "home"
    (home / FOLDER).mkdir(parents=True)
    (home / "work").mkdir()
    (tmp_path / "alias").symlink_to(home)
    assert find_project(home / "work", user=home) is None
    assert find_project(tmp_path / "alias" / "work", user=home) is None
    assert find_project(home / "work") == home
    (tmp_path / FOLDER).mkdir()
    assert find_project(home / "work", user=home) == tmp_path


def test_a_file_of_that_name_is_no_project(tmp_path: Path) -> None:
    """Only a folder counts."""
    (tmp_path / FOLDER).write_text("")
    assert find_project(tmp_path, user=Path("/")) is None


def test_roots_are_absolute_and_keep_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative folder is made absolute; a link in it stays, for paths are shown to the user."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.chdir(tmp_path)
    assert project_root(Path("link")) == Root(Space.PROJECT, tmp_path / "link" / FOLDER)
    assert user_root(Path("link/../real")).path == tmp_path / "real" / FOLDER


def test_sources_and_priorities() -> None:
    """Project before user before system; a system root names its bundle."""
    roots = [Root(Space.PROJECT, Path("p")), Root(Space.USER, Path("u")), Root(Space.SYSTEM, Path("s"), bundle="b")]
    assert [root.source for root in roots] == ["project", "user", "system:b"]
    assert [root.priority for root in roots] == [0, 1, 2]
    assert roots[0].space == "project"


def test_categories_are_namespaces_not_prefixes() -> None:
    """``rye/core`` holds itself and what lies below, not ``rye/corex``."""
    root = Root(Space.SYSTEM, Path("s"), bundle="b", categories=("rye/core", "x"))
    assert [
        item_id for item_id in ("rye/core", "rye/core/a", "rye/corex/a", "rye", "x", "xy") if root.holds(item_id)
    ] == [
        "rye/core",
        "rye/core/a",
        "x",
    ]


def test_suffixes_are_those_of_all_types() -> None:
    """What may be an item at all."""
    assert {".md", ".py", ".yml", ".cjs"} <= SUFFIXES
    assert ".txt" not in SUFFIXES
