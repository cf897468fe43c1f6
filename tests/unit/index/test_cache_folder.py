"""Where indexes may lie: in a folder of this user alone, in no project; else in a temporary one."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
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


def test_each_root_has_its_own_folder(tmp_path: Path) -> None:
    """Root and source decide; two names of the same folder are one."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    places = {
        cache.folder_for(tmp_path, tmp_path / name, source)
        for name, source in [("real", "project"), ("link", "project"), ("real", "user"), ("other", "project")]
    }
    assert len(places) == 3


@pytest.mark.parametrize("bits", [0o777, 0o770, 0o707, 0o720])
def test_attack_a_folder_that_others_may_write_to_is_refused(tmp_path: Path, bits: int) -> None:
    """An index that someone else may have written could run code, so it is not read."""
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(bits)
    assert refused(folder).code == "unsafe-cache"


@pytest.mark.parametrize("bits", [0o700, 0o755, 0o750])
def test_a_folder_that_others_may_read_is_fine(tmp_path: Path, bits: int) -> None:
    """Only writing matters."""
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(bits)
    assert cache.prepare(folder, project=None) == (folder, "")


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


def test_a_home_that_is_a_project_holds_its_users_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the project is the home folder itself, the cache may be in it, only not in its ``.ai``."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ai").mkdir()
    assert cache.prepare(tmp_path / ".cache" / "rye", project=tmp_path)[1] == ""
    assert refused(tmp_path / ".ai" / "cache", tmp_path).code == "cache-in-project"
    assert refused(tmp_path / "work" / "cache", tmp_path / "work").code == "cache-in-project"


def test_without_any_home_the_cache_is_still_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that names no home folder is no error."""
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert cache.prepare(tmp_path / "cache", project=tmp_path / "project")[1] == ""


def test_a_cache_that_cannot_be_made_is_replaced(tmp_path: Path) -> None:
    """A file in the way, or a file for a parent: a private temporary folder stands in, and a warning says so."""
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        stand_in, warning = cache.prepare(folder, project=None)
        assert mode(stand_in) == 0o700
        assert stand_in != folder
        assert str(folder) in warning
        stand_in.rmdir()


def test_links_that_lead_round_are_replaced(tmp_path: Path) -> None:
    """A cache folder or a project that is a link to itself is no fault of rye."""
    (tmp_path / "loop").symlink_to("loop")
    for project in (None, tmp_path / "other"):
        stand_in, warning = cache.prepare(tmp_path / "loop" / "cache", project=project)
        assert str(tmp_path / "loop" / "cache") in warning
        stand_in.rmdir()
    assert cache.prepare(tmp_path / "cache", project=tmp_path / "loop") == (tmp_path / "cache", "")


@pytest.mark.skipif(os.name != "posix", reason="pipes and links are POSIX's")
@pytest.mark.parametrize("what", ["file", "dead link", "loop", "pipe"])
def test_what_has_the_name_of_an_index_folder_is_removed(tmp_path: Path, what: str) -> None:
    """Below `v1` only rye names anything, so what is no folder there is damage; `v1` itself is not touched."""
    for depth in (0, 1):
        place = cache.folder_for(tmp_path, Path("/p"), "project")
        there = (place, place.parent)[depth]
        shutil.rmtree(there)
        lay_in_place(there, what)
        assert cache.folder_for(tmp_path, Path("/p"), "project") == place
        assert place.is_dir() is (depth == 0)
    assert os.path.lexists(there)


def lay_in_place(path: Path, what: str) -> None:
    """Put something that is no folder in the place of one."""
    if what == "file":
        path.write_text("x")
    elif what == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/nonexistent/folder/of/nobody" if what == "dead link" else path.name)


@pytest.mark.parametrize("deep", [False, True])
def test_attack_a_link_into_the_project_below_the_cache(tmp_path: Path, deep: bool) -> None:  # noqa: FBT001
    """A folder of the cache that leads into the project is refused like one that lies there; nothing is made in it."""
    project, folder = tmp_path / "project", tmp_path / "cache"
    (project / "brought").mkdir(parents=True)
    place = cache.folder_for(folder_made(folder), project, "project", project=project)
    link = place if deep else place.parent
    place.rmdir()
    if not deep:
        link.rmdir()
    link.symlink_to(project / "brought")
    with pytest.raises(EnvironmentFault) as caught:
        cache.folder_for(folder, project, "project", project=project)
    assert caught.value.code == "cache-in-project"
    assert list((project / "brought").iterdir()) == []


def folder_made(folder: Path) -> Path:
    """Return a cache folder that is there."""
    return cache.prepare(folder, project=None)[0]


def test_files_of_a_folder_that_vanishes_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever looks into a folder while another process removes it finds nothing, and no error."""
    (tmp_path / "run-1").touch()
    (tmp_path / "other").touch()
    assert cache.files_in(tmp_path, "run-*") == [tmp_path / "run-1"]

    def gone(path: Path) -> Iterator[Path]:
        raise FileNotFoundError(path)

    monkeypatch.setattr(Path, "iterdir", gone)
    assert cache.files_in(tmp_path) == []
