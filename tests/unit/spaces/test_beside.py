"""Files of a space that are no items: which of them a tool may run, and that none is left out of the list of all."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from rye.spaces import Root, Space, walk, walk_along
from rye.spaces.beside import (
    FOLDER,
    LINK,
    PLAIN,
    PROGRAM,
    FileMode,
    all_files,
    is_listable,
    named_files,
    runnable_beside,
)
from tests.support.files import lay

RUNNABLE = {
    "tools/a/_helper.py": "x",
    "tools/a/evil.rb": "x",
    "tools/a/package.json": "{}",
    "tools/a/lib.so": "x",
    "tools/a/json/__init__.py": "x",
    "tools/a/.setup.sh": "x",
}
HARMLESS = {
    "tools/a/deploy.py": "x",
    "tools/a/__init__.py": "",
    "tools/a/notes.txt": "x",
    "tools/a/data.csv": "x",
    "tools/a/.hidden": "x",
    "tools/a/.git/hook.sh": "x",
    "tools/a/sub/index.js": "x",
    "knowledge/a/_draft.py": "x",
}


def beside(root: Root) -> list[str]:
    """Return what a walk finds beside tools."""
    found: list[str] = []
    assert list(walk_along(root, found))
    return sorted(found)


def test_what_a_tool_may_run_is_found_by_the_walk_and_beside_the_tool(tmp_path: Path) -> None:
    """By its name; an empty file, data and what is no tool are harmless, and items have verdicts of their own."""
    lay(tmp_path, RUNNABLE | HARMLESS)
    root = Root(Space.PROJECT, tmp_path)
    assert beside(root) == sorted(RUNNABLE)
    assert sorted(runnable_beside(root, "tools/a/deploy.py")) == sorted(RUNNABLE)


def test_the_library_of_a_bundle_of_ryeos_holds_code_and_no_items(tmp_path: Path) -> None:
    """Every tool may run what is there; elsewhere, or behind a link, such files are items."""
    lay(
        tmp_path,
        {
            "tools/a/t.yaml": "x",
            "tools/a/deep/t.yaml": "x",
            "tools/a/lib/_own/b.py": "x",
            "tools/a/lib/c.py": "x",
            "tools/a/lib/notes.md": "x",
            "knowledge/lib/k.md": "x",
        },
    )
    (tmp_path / "tools/a/alias").symlink_to("lib")
    bundle, project = Root(Space.SYSTEM, tmp_path, "b"), Root(Space.PROJECT, tmp_path)
    items = {"knowledge/lib/k.md", "tools/a/t.yaml", "tools/a/deep/t.yaml"}
    assert {file.rel_path for file in walk(bundle)[0]} == items | {"tools/a/lib/c.py", "tools/a/lib/_own/b.py"}
    lay(tmp_path, {"manifest.yaml": "name: b\n"})
    code = ["tools/a/lib/_own/b.py", "tools/a/lib/c.py"]
    assert {file.rel_path for file in walk(bundle)[0]} == items | {"tools/a/alias/c.py", "tools/a/alias/_own/b.py"}
    assert {file.rel_path for file in walk(project)[0]} == items | {*code}
    assert beside(bundle) == code
    for tool in ("tools/a/t.yaml", "tools/a/deep/t.yaml"):
        assert sorted(runnable_beside(bundle, tool)) == code
        assert runnable_beside(project, tool) == ()


def test_attack_code_behind_a_link_in_a_library(tmp_path: Path) -> None:
    """A linked folder in it is named; a library that is a link out of the bundle is reported as any such link."""
    lay(tmp_path, {"b/tools/a/t.yaml": "x", "b/tools/a/lib/x.txt": "", "b/manifest.yaml": "", "evil/m.py": "x"})
    (tmp_path / "b/tools/a/lib/pack").symlink_to(tmp_path / "evil")
    bundle = Root(Space.SYSTEM, tmp_path / "b", "b")
    assert beside(bundle) == ["tools/a/lib/pack/"]
    assert runnable_beside(bundle, "tools/a/t.yaml") == ("tools/a/lib/pack/",)
    (tmp_path / "b/tools/c").mkdir()
    (tmp_path / "b/tools/c/lib").symlink_to(tmp_path / "evil")
    assert [error.code for error in walk(bundle)[1]] == ["link-escape"]


def test_modules_are_found_in_every_folder_above(tmp_path: Path) -> None:
    """Node looks there for what a tool requires."""
    lay(tmp_path, {"tools/a/b/t.js": "x", "tools/a/node_modules/m/index.js": "x", "node_modules/n/index.js": "x"})
    root = Root(Space.PROJECT, tmp_path)
    assert beside(root) == ["node_modules/", "tools/a/node_modules/"]
    assert runnable_beside(root, "tools/a/b/t.js") == ("tools/a/node_modules/", "node_modules/")
    lay(tmp_path, {"tools/a/u.js": "x", "tools/a/run.sh": "", "tools/c/_x.py": "x"})
    several = "tools/a/b/t.js", "tools/a/u.js", "tools/c/t.js"
    each = [path for tool in several for path in runnable_beside(root, tool)]
    assert sorted(runnable_beside(root, *several)) == sorted({*each})
    assert "tools/c/_x.py" in each


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_a_program_without_an_extension_is_found_by_its_mode_and_through_a_link(tmp_path: Path) -> None:
    """Whoever may execute it."""
    lay(tmp_path, {"tools/a/t.py": "x", "tools/a/run": "x", "elsewhere/evil.py": "x"})
    (tmp_path / "tools/a/run").chmod(0o755)
    (tmp_path / "tools/a/_linked.py").symlink_to(tmp_path / "elsewhere/evil.py")
    root = Root(Space.PROJECT, tmp_path)
    assert beside(root) == ["tools/a/_linked.py", "tools/a/run"]
    assert runnable_beside(root, "tools/a/t.py") == ("tools/a/_linked.py", "tools/a/run")


def test_cached_code_is_found_where_python_would_not_compare_it(tmp_path: Path) -> None:
    """Unchecked, or without a source; one that is compared with its source is Python's own."""
    lay(tmp_path, {"tools/a/t.py": "x", "tools/a/u.py": "x"})
    cache = tmp_path / "tools/a/__pycache__"
    cache.mkdir()
    for name, flags in (("t", 0), ("u", 1), ("gone", 0)):
        header = importlib.util.MAGIC_NUMBER + flags.to_bytes(4, "little") + bytes(8)
        (cache / f"{name}.cpython-311.pyc").write_bytes(header)
    found = ["tools/a/__pycache__/gone.cpython-311.pyc", "tools/a/__pycache__/u.cpython-311.pyc"]
    root = Root(Space.PROJECT, tmp_path)
    assert beside(root) == found
    assert list(runnable_beside(root, "tools/a/t.py")) == found


@pytest.mark.skipif(os.name != "posix", reason="pipes and links are those of POSIX")
def test_what_is_no_regular_file_in_a_code_cache_is_named_and_not_opened(tmp_path: Path) -> None:
    """A pipe would hang whoever reads it, a link may lead anywhere; a cache that is a link is named itself."""
    lay(tmp_path, {"tools/a/t.py": "x", "tools/b/u.py": "x", "elsewhere/u.cpython-311.pyc": bytes(16)})
    (tmp_path / "tools/a/__pycache__").mkdir()
    os.mkfifo(tmp_path / "tools/a/__pycache__/t.cpython-311.pyc")
    (tmp_path / "tools/a/__pycache__/t.cpython-312.pyc").symlink_to(tmp_path / "elsewhere/u.cpython-311.pyc")
    (tmp_path / "tools/b/__pycache__").symlink_to(tmp_path / "elsewhere")
    root = Root(Space.PROJECT, tmp_path)
    pipes = tuple(f"tools/a/__pycache__/t.cpython-{version}.pyc" for version in (311, 312))
    assert beside(root) == [*pipes, "tools/b/__pycache__/"]
    assert runnable_beside(root, "tools/a/t.py") == pipes
    assert runnable_beside(root, "tools/b/u.py") == ("tools/b/__pycache__/",)


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_all_files_are_listed_with_their_modes(tmp_path: Path) -> None:
    """Hidden ones and those of skipped folders too; of what git keeps the folder alone."""
    kept = {
        "a.txt",
        "tools/x/.h/y.py",
        "tools/node_modules/m.js",
        "tools/__pycache__/z.pyc",
        "config/keys/trusted/k.toml",
        "config/keys/signing/private_key.pem",
        "tools/.x.py.0123456789abcdef.tmp",
    }
    lay(tmp_path, dict.fromkeys(kept, "x") | {".git/HEAD": "x", "tools/.git/HEAD": "x"})
    (tmp_path / "a.txt").chmod(0o755)
    (tmp_path / "link").symlink_to("/nowhere")
    os.mkfifo(tmp_path / "pipe")
    found = list(all_files(Root(Space.PROJECT, tmp_path)))
    git = {FileMode(path, FOLDER) for path in (".git", "tools/.git")}
    assert {FileMode("a.txt", PROGRAM), FileMode("link", LINK), FileMode("pipe", ""), *git} < set(found)
    assert {each.path for each in found if isinstance(each, FileMode)} == kept | {"link", "pipe", ".git", "tools/.git"}
    unlisted = {path for path in kept if not is_listable(path)}
    assert unlisted == {path for path in kept if path.endswith((".pem", ".tmp"))}
    assert sum(isinstance(each, FileMode) and each.mode == PLAIN for each in found) == len(kept) - 1


def test_only_the_first_names_are_shown() -> None:
    """A thousand files do not flood an answer."""
    assert named_files(["a", "b"]) == "a, b"
    assert named_files([str(number) for number in range(1_000)]) == "0, 1, 2, 3, 4 and 995 more"
