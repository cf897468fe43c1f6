"""Walking a root: what is listed, in which order, and what links, pipes and odd names come to."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

from rye.items.clients import ClientFolder
from rye.spaces.classify import spelled_as
from rye.spaces.model import ItemFile, Root, Space
from rye.spaces.walk import Walk, list_items, stat_items
from tests.support.files import lay


def root_of(folder: Path, **more: object) -> Root:
    """A project root at the folder itself."""
    return Root(Space.PROJECT, folder, **more)  # type: ignore[arg-type]


def paths(root: Root) -> list[str]:
    """What a walk without problems lists."""
    files, problems = list_items(root)
    assert problems == ()
    assert list(stat_items(root)[0]) == [file.rel_path for file in files]
    assert [ItemFile.at(file.rel_path) for file in files] == list(files)
    return [file.rel_path for file in files]


def faults(root: Root) -> list[tuple[str, str]]:
    """Code and path of each problem."""
    found = [(problem.code, problem.details["path"]) for problem in list_items(root)[1]]
    assert [(problem.code, problem.details["path"]) for problem in stat_items(root)[2]] == found
    return found


def test_what_is_no_item_is_passed_over(tmp_path: Path) -> None:
    """Hidden, private and package files, skipped folders, other extensions, and folders that hold no items."""
    lay(
        tmp_path,
        dict.fromkeys(
            [
                "tools/.hidden.py",
                "tools/.git/x.py",
                "tools/node_modules/x/y.js",
                "tools/__pycache__/x.py",
                "tools/__init__.py",
                "tools/_x.py",
                "tools/package.json",
                "tools/notes.md",
                "tools/x.pyc",
                "config/keys/x.yaml",
                "parsers/x.py",
                "x.md",
            ],
            "",
        ),
    )
    lay(tmp_path, {"tools/_drafts/x.py": ""})
    assert paths(root_of(tmp_path)) == ["tools/_drafts/x.py"]


def test_links_out_of_the_root_are_reported_and_not_followed(tmp_path: Path) -> None:
    """Files, folders, type folders; also into a neighbour whose name begins like the root's."""
    lay(tmp_path, {"root/tools/x.py": "", "root-evil/y.py": "", "secret.md": "", "items/a.md": ""})
    root = tmp_path / "root"
    (root / "tools" / "y.py").symlink_to(tmp_path / "root-evil" / "y.py")
    (root / "tools" / "evil").symlink_to(tmp_path / "root-evil")
    (root / "tools" / "up").symlink_to("../..")
    (root / "tools" / "secret.txt").symlink_to(tmp_path / "secret.md")
    (root / "knowledge").symlink_to(tmp_path / "items")
    files, problems = list_items(root_of(root))
    assert [file.rel_path for file in files] == ["tools/x.py"]
    assert [(problem.code, problem.details["path"]) for problem in problems] == [
        ("link-escape", "knowledge"),
        ("link-escape", "tools/evil"),
        ("link-escape", "tools/up"),
        ("link-escape", "tools/y.py"),
    ]
    assert all(problem.hint for problem in problems)
    assert problems[0].message == "knowledge: the link leads out of the folder"


def test_a_lattice_of_links_is_walked_once(tmp_path: Path) -> None:
    """Two links in each of forty folders to the next would be 2**40 paths; each folder is listed once."""
    for number in range(40):
        folder = tmp_path / "shared" / str(number)
        folder.mkdir(parents=True)
        (folder / "x.py").write_text("")
        for name in ("a", "b"):
            (folder / name).symlink_to(f"../{number + 1}")
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "s").symlink_to("../shared/0")
    assert len(paths(root_of(tmp_path))) == 40


def test_pipes_are_reported_not_opened(tmp_path: Path) -> None:
    """A pipe with the name of an item, by itself or through a link."""
    lay(tmp_path, {"tools/x.py": ""})
    os.mkfifo(tmp_path / "tools" / "p.py")
    os.mkfifo(tmp_path / "tools" / "p.txt")
    (tmp_path / "tools" / "q.py").symlink_to("p.py")
    assert faults(root_of(tmp_path)) == [("not-a-file", "tools/p.py"), ("not-a-file", "tools/q.py")]


def test_names_that_no_id_may_have_are_reported(tmp_path: Path) -> None:
    """Line breaks, escape sequences and bytes that are not text; the report can be printed and encoded."""
    lay(tmp_path, {"tools/good.py": "", "tools/a\nb.py": "", "tools/e\x1b[31m/x.py": ""})
    Path(os.fsdecode(os.fsencode(tmp_path / "tools") + b"/bad\xff.py")).write_text("")
    files, problems = list_items(root_of(tmp_path))
    assert [file.rel_path for file in files] == ["tools/good.py"]
    assert {problem.code for problem in problems} == {"bad-name"}
    assert [problem.details["path"] for problem in problems] == [
        "tools/a\\nb.py",
        "tools/bad\\udcff.py",
        "tools/e\\x1b[31m",
    ]
    assert all(problem.message.isprintable() for problem in problems)


def test_a_folder_that_fails_is_reported_and_the_rest_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the reason the system gives."""
    lay(tmp_path, {"tools/x.py": "", "tools/closed/y.py": ""})
    real = os.scandir

    def failing(path: str) -> object:
        if path.endswith("closed"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", failing)
    files, problems = list_items(root_of(tmp_path))
    assert [file.rel_path for file in files] == ["tools/x.py"]
    assert [problem.message for problem in problems] == ["tools/closed: the folder cannot be read: Permission denied"]


def test_folders_that_wait_for_a_walk_take_little_memory(tmp_path: Path) -> None:
    """Of 5,000 skills in one folder only the names wait, so that 61,000 are verified in 80 MB."""
    lay(tmp_path, {f".claude/skills/skill-{number:04}/SKILL.md": "" for number in range(5_000)})
    root = root_of(tmp_path / ".claude/skills", client=ClientFolder(".claude/skills", "skill", "claude"))
    tracemalloc.start()
    try:
        walk = iter(Walk(root, whole=True))
        assert len([next(walk) for _ in range(2)]) == 2
        assert tracemalloc.get_traced_memory()[0] < 5_000 * 100
        assert sum(1 for _ in walk) == 4_999
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("CLAUDE~1", ".claude"),
        ("claude~2", ".claude"),
        ("GEMINI~1.MD", "gemini.md"),
        ("AGENTS.md::$DATA", "agents.md"),
        ("docs\\.claude\\settings.json", ".claude"),
        ("AGENTS.md:Zone.Identifier", "agents.md:zone.identifier"),
        ("notes.md~", "notes.md~"),
        ("LETTER~1.txt", "letter~1.txt"),
    ],
)
def test_a_name_that_only_windows_reads_as_another(name: str, meant: str) -> None:
    """Short names, streams with the content of a file, and paths in one name; other names stay what they are."""
    assert spelled_as(name) == meant
