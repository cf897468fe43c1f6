"""Finding the project and the user space."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest

from rye.errors import EnvironmentFault
from rye.spaces.discover import check_project, check_writable, find_project, project_root, user_root, user_space
from rye.spaces.model import FOLDER, Root, Space


def test_the_user_space_is_named_by_the_environment_else_home(tmp_path: Path) -> None:
    """``USER_SPACE`` comes first, an empty one counts as none, ``~`` in it is the home folder."""
    assert user_space({"USER_SPACE": str(tmp_path)}) == tmp_path
    assert user_space({}) == user_space({"USER_SPACE": ""}) == Path.home()
    assert user_space({"USER_SPACE": "~/x"}) == Path.home() / "x"
    assert user_space({"USER_SPACE": "x"}) == Path.cwd() / "x"


def test_no_home_is_the_machines_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody says what home is, the error says what to set."""

    def nowhere(_path: str | os.PathLike[str]) -> str:
        return "~"

    monkeypatch.setattr(os.path, "expanduser", nowhere)
    with pytest.raises(EnvironmentFault) as caught:
        user_space({})
    assert caught.value.code == "no-home"
    assert "USER_SPACE" in caught.value.hint


@pytest.mark.parametrize("given", [{"HOME": ""}, {"HOME": "", "USER_SPACE": "~/x"}, {"USER_SPACE": "~nobody-at-all/x"}])
def test_an_empty_home_is_none(given: dict[str, str]) -> None:
    """It is not the root of the disk, and the home of nobody is not a folder of the working directory."""
    with pytest.raises(EnvironmentFault, match="home folder"):
        user_space(given)


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


@pytest.mark.parametrize("kind", ["file", "dangling", "loop", "users"])
def test_what_cannot_be_the_nearest_project_does_not_give_way_to_another(tmp_path: Path, kind: str) -> None:
    """A file, a link to nothing and one to the user's own end the search: further up is one that was not meant."""
    user = tmp_path / "home"
    (user / FOLDER).mkdir(parents=True)
    (tmp_path / FOLDER).mkdir()
    deep = tmp_path / "sub" / "deep"
    deep.mkdir(parents=True)
    path = tmp_path / "sub" / FOLDER
    if kind == "file":
        path.write_text("")
    else:
        path.symlink_to({"dangling": Path("nowhere"), "loop": Path(FOLDER), "users": user / FOLDER}[kind])
    for look in (partial(find_project, deep, user=user), partial(check_project, path.parent, user=user)):
        with pytest.raises(EnvironmentFault) as caught:
            look()
        assert (caught.value.code, caught.value.details["path"]) == ("unusable-project", str(path))
    path.unlink()
    assert find_project(deep, user=user) == tmp_path
    assert check_project(path.parent, user=user) == path.parent


def test_nothing_is_written_through_a_link_out_of_the_project(tmp_path: Path) -> None:
    """One inside it is no matter, nor is a link on the way to it, nor one that the user has put into the own space."""
    for name in ("one", "two"):
        (tmp_path / name / "kept").mkdir(parents=True)
    for name, target in {"one/.ai": "../two/kept", "two/.ai": "kept", "way": "two"}.items():
        (tmp_path / name).symlink_to(target)
    for root in (project_root(tmp_path / "one"), Root(Space.SYSTEM, tmp_path / "one" / FOLDER, bundle="one")):
        with pytest.raises(EnvironmentFault) as caught:
            check_writable(root)
        assert caught.value.code == "project-elsewhere"
        assert str(tmp_path / "two" / "kept") in caught.value.message
    for root in (project_root(tmp_path / "two"), project_root(tmp_path / "way"), user_root(tmp_path / "one")):
        check_writable(root)
