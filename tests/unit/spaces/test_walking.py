"""Walking a root: what is listed, in which order, and what links, pipes and odd names come to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rye.spaces.model import ItemFile, Root, Space
from rye.spaces.walk import list_items, stat_items
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


def test_items_are_listed_by_type_in_the_order_of_their_paths(tmp_path: Path) -> None:
    """Each with the type of its folder, its id and extension, and what the file system says of it."""
    lay(
        tmp_path,
        {"tools/b/x.config-schema.yaml": "abc", "tools/a.PY": "", "knowledge/n.md": "", "directives/d/e/f.md": ""},
    )
    files, problems = list_items(root_of(tmp_path))
    assert problems == ()
    assert [(file.rel_path, str(file.item_type), file.item_id, file.suffix) for file in files] == [
        ("directives/d/e/f.md", "directive", "d/e/f", ".md"),
        ("knowledge/n.md", "knowledge", "n", ".md"),
        ("tools/a.PY", "tool", "a", ".py"),
        ("tools/b/x.config-schema.yaml", "tool", "b/x.config-schema", ".yaml"),
    ]
    status = (tmp_path / "tools/b/x.config-schema.yaml").stat()
    paths, stats, _ = stat_items(root_of(tmp_path))
    assert list(paths) == [file.rel_path for file in files]
    assert stats[-1] == (3, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


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


def test_a_root_that_does_not_exist_is_empty(tmp_path: Path) -> None:
    """A user space may have no folder yet; a file in its place holds nothing."""
    assert list_items(root_of(tmp_path / "gone")) == ((), ())
    (tmp_path / "file").write_text("")
    assert list_items(root_of(tmp_path / "file")) == ((), ())


def test_links_inside_the_root_are_followed(tmp_path: Path) -> None:
    """To files and to folders of a folder that is none of the types; the size is that of the target."""
    lay(tmp_path, {"tools/a/x.py": "abc", "shared/s.py": "", "shared/deep/t.py": "", "other/y.py": "abc"})
    (tmp_path / "tools" / "y.py").symlink_to("../other/y.py")
    (tmp_path / "tools" / "x.py").symlink_to("a/x.py")  # another name of an item
    (tmp_path / "tools" / "shared").symlink_to(tmp_path / "shared")
    found, stats, problems = stat_items(root_of(tmp_path))
    assert problems == ()
    assert [(path, size) for path, (size, *_) in zip(found, stats, strict=True)] == [
        ("tools/a/x.py", 3),
        ("tools/shared/deep/t.py", 0),
        ("tools/shared/s.py", 0),
        ("tools/y.py", 3),
    ]


def test_a_folder_counts_once_and_by_its_own_path(tmp_path: Path) -> None:
    """However many links lead to it; of several links to a folder elsewhere the first path counts."""
    lay(tmp_path, {"tools/z/x.py": "", "shared/s.py": ""})
    (tmp_path / "tools" / "a").symlink_to("z")
    (tmp_path / "tools" / "n").symlink_to("../shared")
    (tmp_path / "tools" / "m").symlink_to("../shared")
    assert paths(root_of(tmp_path)) == ["tools/m/s.py", "tools/z/x.py"]


def test_a_root_reached_by_a_link_is_walked(tmp_path: Path) -> None:
    """The root itself may be a link: only what leads out of where it really is leaves it."""
    lay(tmp_path / "real", {"tools/x.py": "", "shared/y.py": ""})
    (tmp_path / "real" / "tools" / "y.py").symlink_to("../shared/y.py")
    (tmp_path / "alias").symlink_to("real")
    assert paths(root_of(tmp_path / "alias")) == ["tools/x.py", "tools/y.py"]


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


def test_loops_of_links_end(tmp_path: Path) -> None:
    """A link to itself, to a folder above, to the root, and two that lead to each other."""
    lay(tmp_path, {"tools/a/x.py": ""})
    (tmp_path / "tools" / "a" / "self").symlink_to("self")
    (tmp_path / "tools" / "a" / "up").symlink_to("..")
    (tmp_path / "tools" / "a" / "b").symlink_to("c")
    (tmp_path / "tools" / "a" / "c").symlink_to("b")
    (tmp_path / "tools" / "a" / "d.py").symlink_to("d.py")
    files, problems = list_items(root_of(tmp_path))
    assert [file.rel_path for file in files] == ["tools/a/x.py"]
    assert [(problem.code, problem.details["path"]) for problem in problems] == [("broken-link", "tools/a/d.py")]


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


def test_a_link_to_the_root_itself_adds_nothing_but_what_is_new(tmp_path: Path) -> None:
    """It is out of the question as a folder of items."""
    lay(tmp_path, {"tools/x.py": "", "config/c.yaml": ""})
    (tmp_path / "tools" / "all").symlink_to("..")
    assert [file.rel_path for file in list_items(root_of(tmp_path))[0]] == ["tools/x.py"]


def test_broken_links_are_reported_where_they_have_the_name_of_an_item(tmp_path: Path) -> None:
    """Others are nobody's business."""
    lay(tmp_path, {"tools/x.py": ""})
    (tmp_path / "tools" / "y.py").symlink_to("gone")
    (tmp_path / "tools" / "y.txt").symlink_to("gone")
    assert faults(root_of(tmp_path)) == [("broken-link", "tools/y.py")]


def test_pipes_are_reported_not_opened(tmp_path: Path) -> None:
    """A pipe with the name of an item, by itself or through a link."""
    lay(tmp_path, {"tools/x.py": ""})
    os.mkfifo(tmp_path / "tools" / "p.py")
    os.mkfifo(tmp_path / "tools" / "p.txt")
    (tmp_path / "tools" / "q.py").symlink_to("p.py")
    assert faults(root_of(tmp_path)) == [("not-a-file", "tools/p.py"), ("not-a-file", "tools/q.py")]


def test_names_that_no_id_may_have_are_reported(tmp_path: Path) -> None:
    """Line breaks, escape sequences and bytes that are no text; the report can be printed and encoded."""
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


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_read_is_reported(tmp_path: Path) -> None:
    """The rest is still listed."""
    lay(tmp_path, {"tools/x.py": "", "tools/closed/y.py": ""})
    (tmp_path / "tools" / "closed").chmod(0)
    try:
        files, problems = list_items(root_of(tmp_path))
    finally:
        (tmp_path / "tools" / "closed").chmod(0o700)
    assert [file.rel_path for file in files] == ["tools/x.py"]
    assert [(problem.code, problem.details["path"]) for problem in problems] == [("unreadable", "tools/closed")]


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


def test_two_files_with_one_id_are_both_listed(tmp_path: Path) -> None:
    """The extension is not part of the id; the path tells them apart."""
    lay(tmp_path, {"tools/x.py": "", "tools/x.yaml": ""})
    assert [(file.item_id, file.suffix) for file in list_items(root_of(tmp_path))[0]] == [("x", ".py"), ("x", ".yaml")]
