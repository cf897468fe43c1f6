"""Projects below a folder: none hides another, links inside are followed, and what is not looked at is said."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.spaces.model import FOLDER, Space
from rye.spaces.nested import look_below
from tests.support.effort import examples
from tests.support.files import bury, lay
from tests.support.repositories import git

ITEM = "tools/x.py"


def projects(folder: Path) -> list[str]:
    """Return the folders of the projects found, as they are seen from the folder that is looked into."""
    found = look_below(folder)
    assert {root.space for root in found.roots} <= {Space.PROJECT}
    return [root.path.parent.relative_to(folder).as_posix() for root in found.roots]


def test_that_folders_are_too_many_is_a_problem(tmp_path: Path) -> None:
    """Nearer ones are looked into first; one of those that are not is named."""
    lay(tmp_path, {f"a/b/c/.ai/{ITEM}": "", f"a/b/c/d/e/.ai/{ITEM}": "", "a/b/c/.git/x": ""})
    assert projects(tmp_path) == ["a/b/c", "a/b/c/d/e"]
    found = look_below(tmp_path, most=4)
    assert [root.path.parent for root in found.roots] == [tmp_path / "a/b/c"]
    (problem,) = found.problems
    assert (problem.code, problem.details["path"]) == ("too-many-folders", str(tmp_path / "a/b/c/d"))


def test_a_folder_that_cannot_be_read_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may enter everything, so the refusal is put in; one that has just gone is no matter."""
    lay(tmp_path, {"a/x/y": "", "b/x/y": "", f"c/.ai/{ITEM}": ""})
    real = os.scandir

    def refuse(path: str) -> object:
        if path.endswith("/a"):
            raise PermissionError(13, "Permission denied")
        if path.endswith("/b"):
            raise FileNotFoundError(2, "No such file or directory")
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert projects(tmp_path) == ["c"]
    (problem,) = look_below(tmp_path).problems
    assert problem.message == f"'{tmp_path}/a': the folder cannot be read: Permission denied"
    assert (problem.code, problem.hint, problem.details["path"]) == (
        "unreadable",
        "check permissions, or leave it out: --exclude",
        f"{tmp_path}/a",
    )


def test_a_link_into_a_folder_that_may_not_be_entered_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it leads to is unknown; a circle, nothing and a file are known to hold no project."""
    lay(tmp_path, {f".closed/p/.ai/{ITEM}": "", f"c/.ai/{ITEM}": "", "file": ""})
    for name, target in {"p": ".closed/p", "circle": "circle", "gone": "nowhere", "f": "file"}.items():
        (tmp_path / name).symlink_to(target)
    stat, scandir = os.stat, os.scandir

    def refuse_stat(path: str, **options: object) -> os.stat_result:
        if str(path).endswith("/p"):
            raise PermissionError(13, "Permission denied")
        return stat(path, **options)  # type: ignore[arg-type]

    def refuse_scandir(path: str) -> object:
        if path.endswith("/p"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "stat", refuse_stat)
    monkeypatch.setattr(os, "scandir", refuse_scandir)
    found = look_below(tmp_path)
    assert [root.path for root in found.roots] == [tmp_path / "c/.ai"]
    assert [(problem.code, problem.details["path"]) for problem in found.problems] == [
        ("unreadable", str(tmp_path / place)) for place in (".closed/p", "p")
    ]


@pytest.mark.parametrize("behind", ["here", "out"])
def test_a_project_below_names_too_long_for_a_path_is_not_passed_over(tmp_path: Path, behind: str) -> None:
    """Each of the names is short enough, and together they are not; in the folder, and where a link leads out of it."""
    lay(tmp_path, {f"here/c/.ai/{ITEM}": "", f"p/.ai/{ITEM}": "", "out/x": ""})
    (tmp_path / "here" / "l").symlink_to("../out")
    bury(tmp_path / "p", tmp_path / behind)
    assert projects(tmp_path / "here") == ["c"]
    (problem,) = look_below(tmp_path / "here").problems
    assert (problem.code, problem.hint) == (
        "unreadable",
        "give the folders around it shorter names, or leave it out: --exclude",
    )
    assert len(str(problem.details["path"])) > 4000


def reachable(top: Path) -> set[Path]:
    """Return every ``.ai`` that one comes upon who goes into each folder and along each link."""
    found: set[Path] = set()
    been: set[Path] = set()
    ways = [top]
    while ways:
        folder = ways.pop()
        if folder in been:
            continue
        been.add(folder)
        for path in folder.iterdir():
            if path.is_dir():
                real = path.resolve()
                (found.add if real.name == FOLDER else ways.append)(real)
    return found


NAMES = st.sampled_from(["a", "b", ".h", "node_modules"])
PLACES = st.lists(NAMES | st.just(FOLDER), max_size=3).map(tuple)
TOPS = st.sampled_from(["in", "out"])


@examples(50)
@given(
    st.lists(st.tuples(TOPS, PLACES), min_size=1, max_size=8),
    st.lists(st.tuples(TOPS, PLACES, NAMES, TOPS | st.just("."), PLACES), max_size=6),
)
def test_every_project_is_found_once_whatever_links_there_are(
    places: list[tuple[str, tuple[str, ...]]], links: list[tuple[str, tuple[str, ...], str, str, tuple[str, ...]]]
) -> None:
    """The twin: inside it is verified, outside it is a problem; that of a link ends the search behind that link."""
    with TemporaryDirectory() as text:
        base = Path(text).resolve()
        top = base / "in"
        top.mkdir()
        for side, place in places:
            base.joinpath(side, *place, FOLDER, "tools").mkdir(parents=True, exist_ok=True)
        for side, place, name, to, target in links:
            folder = base.joinpath(side, *place)
            if folder.is_dir() and not os.path.lexists(folder / name):
                (folder / name).symlink_to(base.joinpath(to, *target))
        looked = look_below(top)
        found = [root.path.resolve() for root in looked.roots]
        inside = {path for path in reachable(top) if path.is_relative_to(top)}
        escaped = reachable(top) - inside
        assert {problem.code for problem in looked.problems} == ({"link-escape"} if escaped else set())
        assert len(set(found)) == len(found)
        assert set(found) <= inside
        own = {top.joinpath(*place, FOLDER) for side, place in places if side == "in" and FOLDER not in place}
        assert own <= set(found) if escaped else set(found) == inside


def test_only_what_git_ignores_and_does_not_track_is_left_out(tmp_path: Path) -> None:
    """A tracked file in an ignored folder is found, and so is what clients read, whatever git ignores."""
    lay(tmp_path, {".gitignore": "build/\n.claude/\nkept/\n", "build/CLAUDE.md": "x", "build/p/.ai/tools/x.py": ""})
    lay(tmp_path, {"kept/CLAUDE.md": "x", ".claude/settings.json": "{}", "a/node_modules/b/AGENTS.md": "x"})
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-f", "kept/CLAUDE.md", ".gitignore")
    found = look_below(tmp_path)
    files = found.files[tmp_path]
    assert [file.rel_path for file in files.items] == ["kept/CLAUDE.md"]
    assert files.found.relevant == [".claude/settings.json", "a/node_modules/b/AGENTS.md"]
    assert found.unsearched == "git ignores what was not looked into: build"
    assert not [root for root in found.roots if root.path.name == FOLDER]


def test_what_a_walk_keeps_of_a_file_is_small(tmp_path: Path) -> None:
    """100,000 files that nothing covers take less than 40 MB."""
    lay(tmp_path, {".claude-plugin/plugin.json": "{}"})
    lay(tmp_path, {f"source/d{number % 50}/file{number}.txt": "" for number in range(5_000)})
    look_below(tmp_path / "source" / "d0")  # what is imported once
    tracemalloc.start()
    try:
        found = look_below(tmp_path)
        assert len(found.files[tmp_path].found.loose) == 5_001
        assert tracemalloc.get_traced_memory()[1] < 5_000 * 400
    finally:
        tracemalloc.stop()
