"""Which project a call means, how many stay open, and which paths an error may show."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from rye.errors import ArgumentError, CancelledError, EnvironmentFault
from rye.mcp.calls import Call
from rye.mcp.projects import MAX_PROJECTS, Projects
from rye.mcp.startup import Options
from rye.surface.listener import Http


def make_project(folder: Path) -> Path:
    """Make a folder with items."""
    (folder / ".ai" / "knowledge").mkdir(parents=True)
    return folder


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder around which there is no project."""
    place = tmp_path / "elsewhere"
    place.mkdir()
    monkeypatch.chdir(place)
    monkeypatch.setenv("RYE_CACHE_DIR", str(tmp_path / "cache"))
    return place


@pytest.fixture
def opened(elsewhere: Path) -> Iterator[list[Projects]]:
    """Close at the end what a test has opened."""
    del elsewhere
    made: list[Projects] = []
    yield made
    for projects in made:
        projects.close()


def start(opened: list[Projects], options: Options) -> Projects:
    """Return the projects of a server."""
    opened.append(Projects(options, lambda _roots, _paths: None))
    return opened[-1]


def test_the_number_of_open_projects_is_bounded(opened: list[Projects], tmp_path: Path) -> None:
    """The one used longest ago is closed; those named at the start stay."""
    folders = [make_project(tmp_path / f"p{number}") for number in range(MAX_PROJECTS + 4)]
    projects = start(opened, Options())
    default = projects.find()
    first = projects.find(str(folders[0]))
    assert projects.find(str(folders[0])) is first
    for folder in folders:
        projects.find(str(folder))
    assert projects.find() is default
    assert projects.find(str(folders[0])) is not first


def test_a_server_for_named_projects_serves_no_other(opened: list[Projects], tmp_path: Path) -> None:
    """The first named is the default; a link to one of them is the same."""
    one, two, other = (make_project(tmp_path / name) for name in ("one", "two", "other"))
    projects = start(opened, Options(projects=(one, two)))
    assert projects.find() is projects.find(str(one))
    assert projects.find(str(two)) is not projects.find()
    (tmp_path / "link").symlink_to(two)
    assert projects.find(str(tmp_path / "link")) is projects.find(str(two))
    with pytest.raises(ArgumentError) as raised:
        projects.find(str(other))
    assert raised.value.code == "project-refused"
    assert str(other) not in str(raised.value)


def test_over_http_no_project_is_served_unasked(opened: list[Projects], tmp_path: Path) -> None:
    """Not even where none was named at the start: only the one around the working directory, where there is one."""
    other = make_project(tmp_path / "other")
    projects = start(opened, Options(http=Http()))
    for named in (str(other), str(tmp_path / "none"), "/"):
        with pytest.raises(ArgumentError) as raised:
            projects.find(named)
        assert raised.value.code == "project-refused"


def test_the_project_around_the_working_directory_is_the_default(
    opened: list[Projects], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be named, too, also over HTTP."""
    here = make_project(tmp_path / "here")
    (here / "src").mkdir()
    monkeypatch.chdir(here / "src")
    projects = start(opened, Options(http=Http()))
    assert projects.find(str(here)) is projects.find()


def test_a_broken_project_is_an_error_only_for_calls_that_name_it(
    opened: list[Projects], elsewhere: Path, tmp_path: Path
) -> None:
    """Others can be named while the one worked in cannot be used; nothing further up is taken in its place."""
    (elsewhere / ".ai").symlink_to("nowhere")
    (elsewhere / "plain").mkdir()
    make_project(tmp_path)
    projects = start(opened, Options())
    for find in (projects.find, partial(projects.find, str(elsewhere))):
        with pytest.raises(EnvironmentFault) as raised:
            find()
        assert raised.value.code == "unusable-project"
    assert projects.find(str(elsewhere / "plain")).registry.search(space="project").total == 0
    other = make_project(tmp_path / "other")
    assert projects.find(str(other)) is projects.find(str(other))


@pytest.mark.parametrize("named", ["", "here", "~", "./x", "a\0b", 5, ["/"], {}])
def test_what_is_no_absolute_path_is_refused(opened: list[Projects], named: object) -> None:
    """Whatever its type."""
    with pytest.raises(ArgumentError) as raised:
        start(opened, Options()).find(named)
    assert raised.value.code == "bad-project-path"


def test_paths_outside_the_spaces_are_left_out(opened: list[Projects], tmp_path: Path) -> None:
    """A path in a space stays, and so does what is none."""
    here = make_project(tmp_path / "here")
    projects = start(opened, Options(projects=(here,)))
    projects.find()
    inside = f"{here}{os.sep}.ai{os.sep}knowledge{os.sep}x.md"
    said = f"the cache '/var/secret/x' and {inside}: no, /etc/passwd, and/or https://example.org/a/b tool:a/b ~/c 1/2"
    expected = f"the cache '<path>' and {inside}: no, <path>, and/or https://example.org/a/b tool:a/b ~/c 1/2"
    assert projects.hide_paths(said) == expected


def test_progress_only_grows_and_ends_with_the_call() -> None:
    """Sources come one after the other, each counted from 0; what is reported adds them up, and never too often."""
    clock = map(float, range(100))
    reported: list[tuple[float, float | None, str]] = []
    call = Call(lambda done, total, message: reported.append((done, total, message)), clock=lambda: next(clock))
    for done, total, source in [(0, 5, "project"), (5, 5, "project"), (0, 3, "user"), (3, 3, "user"), (1, 0, "")]:
        call.report_files(done, total, source)
    assert reported == [
        (0, 5, "project: 0 of 5 files"),
        (5, 5, "project: 5 of 5 files"),
        (8, 8, "user: 3 of 3 files"),
        (9, None, "1 files"),
    ]
    call.abandon()
    call.report_files(9, 9, "user")
    assert len(reported) == 4
    with pytest.raises(CancelledError):
        call.check()
