"""Spaces and trust files that others own or can write: searched with a warning, never signed in, never believed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rye import Registry
from rye._files import others_control
from rye.cli import main
from rye.keyring.trust import Trust
from rye.spaces.layout import Layout
from rye.trust.trust_store import TRUSTED_FOLDER
from tests.support.spacesim import SpaceSim

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs owners and modes")
HELLO, TEXT = "tools/demo/hello.py", '"""Say hello."""\n\n__version__ = "1.0.0"\n'
OTHERS, ROOT = 54321, 0


@pytest.fixture
def sim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SpaceSim:
    """A project with an unsigned item, as the working directory of a user who has a key."""
    sim = SpaceSim(tmp_path, bundles=())
    sim.write("project", HELLO, TEXT)
    sim.save_user_key()
    monkeypatch.setenv("USER_SPACE", str(sim.user))
    monkeypatch.delenv("RYE_SAFE_FOLDERS", raising=False)
    monkeypatch.delenv("SUDO_UID", raising=False)
    monkeypatch.chdir(sim.project)
    return sim


def give_away(path: Path) -> None:
    """Let somebody else own a folder, or where only root can do that, let everybody write to it."""
    if os.geteuid() == ROOT:
        os.chown(path, OTHERS, -1)
    else:
        path.chmod(0o777)


def test_a_project_of_others_is_searched_with_a_warning_and_not_signed_in(
    sim: SpaceSim, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says whose it is; verify reports it; nothing is written there, also where the project is named."""
    give_away(sim.root("project"))
    registry = Registry(sim.project, user=sim.user, bundles=(), cache_dir=sim.cache)
    response = registry.search("hello")
    assert response.total == 1
    for warnings in (response.warnings, registry.verify().warnings):
        assert sum("nothing is signed or written there" in text for text in warnings) == 1
    for words in (
        ["sign", "--yes", "--all"],
        ["sign", "--yes", "--all", "--project", str(sim.project)],
        ["sign", "list", "--yes"],
    ):
        assert main(words) == 2
        assert "unsafe-owner" in capsys.readouterr().err
    assert sim.path("project", HELLO).read_text(encoding="utf-8") == TEXT


@pytest.mark.parametrize("named", ["*", "{folder}", "{folder}/project", "/nowhere:{folder}"])
def test_folders_that_the_user_names_are_safe(sim: SpaceSim, monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    """The variable names them, or a folder around them; links are followed, other folders are not meant."""
    give_away(sim.root("project"))
    monkeypatch.setenv("RYE_SAFE_FOLDERS", f"{sim.folder}/proj:{sim.project}/.a")
    assert main(["sign", "--yes", "--all"]) == 2
    monkeypatch.setenv("RYE_SAFE_FOLDERS", named.format(folder=sim.folder))
    assert main(["sign", "--yes", "--all"]) == 0
    assert Registry(sim.project, user=sim.user, bundles=(), cache_dir=sim.cache).search("hello").warnings == ()


@pytest.mark.parametrize("place", ["", "config", "config/keys", TRUSTED_FOLDER.as_posix()])
def test_trust_files_below_a_folder_of_others_do_not_count(sim: SpaceSim, place: str) -> None:
    """Whoever can write there could trust keys in the user's name: no key counts, and verifying is not complete."""
    sim.sign("project", HELLO)
    assert main(["verify", "--space", "project"]) == 0
    give_away(sim.root("user") / place)
    trust = Trust(Layout.find(project=sim.project, user=sim.user, bundles=()))
    assert trust.list().keys == ()
    assert "is not read" in trust.list().warnings[-2 if len(trust.list().warnings) > 1 else -1]
    assert main(["verify", "--space", "project"]) == 2


def test_whose_a_folder_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the user, of root, or for root of who called sudo; not one that everybody, or a shared group, can write."""
    place = tmp_path / "place"
    assert others_control(place) == ""
    place.mkdir()
    for mode, alone, shared in ((0o755, False, False), (0o775, False, True), (0o757, True, True), (0o1777, True, True)):
        place.chmod(mode)
        monkeypatch.setattr("rye._files._is_own_group", lambda _gid, _uid: False)
        assert (bool(others_control(place)), bool(others_control(place, group=True))) == (alone, shared)
        monkeypatch.setattr("rye._files._is_own_group", lambda _gid, _uid: True)
        assert bool(others_control(place, group=True)) == alone
    place.chmod(0o755)
    if os.geteuid() == ROOT:
        os.chown(place, OTHERS, -1)
        assert str(OTHERS) in others_control(place)
        monkeypatch.setenv("SUDO_UID", str(OTHERS))
        assert others_control(place) == ""
        monkeypatch.setattr(os, "geteuid", lambda: OTHERS + 1)
        assert str(OTHERS) in others_control(place)
        os.chown(place, ROOT, -1)
        assert others_control(place) == ""


@pytest.mark.parametrize("place", [HELLO, "tools/demo", "tools"])
def test_a_file_or_folder_of_others_in_an_own_project_is_named(
    sim: SpaceSim, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By verify, and a file by search; neither it nor what lies below is signed, until the user calls it safe."""
    give_away(sim.root("project") / place)
    registry = Registry(sim.project, user=sim.user, bundles=(), cache_dir=sim.cache)
    for warnings in (registry.verify().warnings, *([registry.search("hello").warnings] if place == HELLO else [])):
        (named,) = [text for text in warnings if "unsafe-owner" in text]
        assert f"in {sim.root('project')}, {place} " in named
    assert main(["sign", "--yes", "--all"]) == 2
    assert main(["sign", "list", "--yes"]) == 2
    monkeypatch.setenv("RYE_SAFE_FOLDERS", str(sim.root("project") / "tools"))
    assert not any("unsafe-owner" in text for text in (*registry.verify().warnings, *registry.search("hello").warnings))
    assert main(["sign", "--yes", "--all"]) == 0


def test_a_space_behind_a_link_is_as_safe_as_the_folder_that_it_leads_into(tmp_path: Path) -> None:
    """Whoever can rename there decides what the link leads to; in one like ``/tmp`` nobody can rename another's."""
    shared = tmp_path / "shared"
    (shared / "mine").mkdir(parents=True)
    (tmp_path / "link").symlink_to(shared / "mine")
    for mode, words in ((0o755, ""), (0o777, f"leads into {shared}, which can be written by everybody"), (0o1777, "")):
        shared.chmod(mode)
        assert others_control(tmp_path / "link") == words
        assert others_control(shared / "mine") == ""
