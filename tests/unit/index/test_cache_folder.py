"""Where indexes may lie: in a folder of this user alone, in no project; else in a temporary one."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from rye.errors import EnvironmentFault
from rye.index import cache_folder as cache


def mode(path: Path) -> int:
    """Return the permission bits of a path."""
    return stat.S_IMODE(path.stat().st_mode)


def refused(folder: Path, project: Path | None = None) -> EnvironmentFault:
    """Return the fault with which a cache folder is refused."""
    with pytest.raises(EnvironmentFault) as caught:
        cache.prepare(folder, project=project)
    assert cache.VARIABLE in caught.value.hint or "chmod" in caught.value.hint
    assert caught.value.details["path"] == str(folder)
    return caught.value


def test_the_variable_names_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """``RYE_CACHE_DIR`` counts, a tilde in it is the home; without it the platform's cache folder does."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv(cache.VARIABLE, "~/there")
    assert cache.default_cache_dir() == tmp_path / "there"
    monkeypatch.setenv(cache.VARIABLE, "~no-such-user/there")
    assert cache.default_cache_dir() == Path("~no-such-user/there")
    for unset in ("", None):
        monkeypatch.delenv(cache.VARIABLE) if unset is None else monkeypatch.setenv(cache.VARIABLE, unset)
        assert cache.default_cache_dir() == tmp_path / "xdg" / "rye"


def test_without_a_home_folder_the_index_is_temporary(tmp_path: Path) -> None:
    """The folder is private, and the warning names the variable that keeps the index."""
    folder, warning = cache.prepare(None, project=tmp_path)
    assert folder.is_dir()
    assert mode(folder) == 0o700
    assert cache.VARIABLE in warning


def test_a_folder_is_made_for_this_user_alone(tmp_path: Path) -> None:
    """What does not exist is made with mode 0700, parents too; the folder of a root likewise."""
    folder, warning = cache.prepare(tmp_path / "deep" / "cache", project=None)
    assert (folder, warning) == (tmp_path / "deep" / "cache", "")
    assert mode(folder) == 0o700
    place = cache.folder_for(folder, tmp_path / "project", "project")
    assert [mode(part) for part in (place, place.parent)] == [0o700, 0o700]
    assert cache.prepare(folder, project=None) == (folder, "")


@pytest.mark.parametrize("bits", [0o777, 0o770, 0o707, 0o720])
def test_attack_a_folder_that_others_may_write_to_is_refused(tmp_path: Path, bits: int) -> None:
    """An index that someone else may have written could run code, so it is not read."""
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(bits)
    assert refused(folder).code == "unsafe-cache"


@pytest.mark.parametrize("inner", ["v1", "the root's own"])
def test_attack_an_inner_folder_that_others_may_write_to_is_refused(tmp_path: Path, inner: str) -> None:
    """The folder of a root and the one around it are checked like the cache itself."""
    place = cache.folder_for(tmp_path, Path("/p"), "project")
    (place.parent if inner == "v1" else place).chmod(0o777)
    with pytest.raises(EnvironmentFault) as caught:
        cache.folder_for(tmp_path, Path("/p"), "project")
    assert caught.value.code == "unsafe-cache"


def test_attack_a_folder_of_someone_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The owner must be who runs."""
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    fault = refused(tmp_path)
    assert fault.code == "unsafe-cache"
    assert f"belongs to user {mine}" in fault.message


def test_attack_an_index_inside_the_project_is_refused(tmp_path: Path) -> None:
    """A checkout cannot bring an index along: not below the project, not as the project, not through a link."""
    project = tmp_path / "project"
    (project / "cache").mkdir(parents=True)
    (tmp_path / "link").symlink_to(project / "cache")
    for folder in (project, project / "cache", project / "not yet", tmp_path / "link"):
        assert refused(folder, project).code == "cache-in-project"
    assert cache.prepare(tmp_path / "project-cache", project=project)[1] == ""


def test_a_cache_that_cannot_be_made_is_replaced(tmp_path: Path) -> None:
    """A file in the way, or a file for a parent: a private temporary folder stands in, and a warning says so."""
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        stand_in, warning = cache.prepare(folder, project=None)
        assert mode(stand_in) == 0o700
        assert stand_in != folder
        assert str(folder) in warning
        stand_in.rmdir()


@pytest.mark.parametrize("deep", [False, True])
def test_attack_a_link_into_the_project_below_the_cache(tmp_path: Path, deep: bool) -> None:  # noqa: FBT001
    """A folder of the cache that leads into the project is refused like one that lies there; nothing is made in it."""
    project, folder = tmp_path / "project", tmp_path / "cache"
    (project / "brought").mkdir(parents=True)
    place = cache.folder_for(cache.prepare(folder, project=None)[0], project, "project", project=project)
    link = place if deep else place.parent
    place.rmdir()
    if not deep:
        link.rmdir()
    link.symlink_to(project / "brought")
    with pytest.raises(EnvironmentFault) as caught:
        cache.folder_for(folder, project, "project", project=project)
    assert caught.value.code == "cache-in-project"
    assert list((project / "brought").iterdir()) == []
