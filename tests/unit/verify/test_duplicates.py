"""Several files of one type and id: each is reported, wherever they lie, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from rye.errors import ItemError
from rye.spaces import Root, Space, walk, walk_along
from rye.verify.worker import with_duplicates
from tests.support.files import lay


def ambiguous(folder: Path, *names: str) -> set[str]:
    """Lay files, and return the paths that have a twin."""
    lay(folder, dict.fromkeys(names, "x"))
    root = Root(Space.PROJECT, folder)
    warnings: list[str] = []
    found = list(with_duplicates(walk_along(root), root, warnings))
    assert warnings == []
    files = [each for each in found if not isinstance(each, ItemError)]
    assert sorted(files) == list(walk(root)[0])
    errors = [each for each in found if isinstance(each, ItemError)]
    assert {each.code for each in errors} <= {"ambiguous-item"}
    return {str(each.details["path"]) for each in errors}


def test_every_file_that_has_a_duplicate_is_reported(tmp_path: Path) -> None:
    """By another extension, in lower or upper case; a file of another type, folder or name is none."""
    alone = ("tools/a.py", "tools/b/a.py", "knowledge/b/c.md", "tools/b/c.py", "tools/b/A.sh")
    twins = {"tools/b/d.py", "tools/b/d.sh", "tools/b/d.PY", "knowledge/k.md", "knowledge/k.yaml"}
    assert ambiguous(tmp_path, *alone, *twins) == twins


def test_spellings_of_one_name_are_duplicates(tmp_path: Path) -> None:
    """Composed and combining letters, in the name of the file and in that of a folder far above it."""
    twins = {"tools/\u00e9.py", "tools/e\u0301.py", "tools/\u00e9/a/b.py", "tools/e\u0301/a/b.py"}
    assert ambiguous(tmp_path, *twins, "tools/e/a/b.py", "tools/f.py", "tools/\u00e9/a/c.py") == twins


def test_of_a_tool_in_two_files_ryeos_takes_the_first_extension(tmp_path: Path) -> None:
    """In a bundle with the manifest of RyeOS that is a warning; both are verified."""
    lay(tmp_path, {"tools/a.py": "1", "tools/a.yaml": "2", "manifest.source.yaml": "", "tools/b.sh": "1"})
    warnings: list[str] = []
    root = Root(Space.SYSTEM, tmp_path, "b")
    found = [each for each in with_duplicates(walk_along(root), root, warnings) if not isinstance(each, ItemError)]
    assert [each.rel_path for each in found] == ["tools/a.py", "tools/a.yaml", "tools/b.sh"]
    (warning,) = warnings
    assert warning.startswith("system:b: tool 'a' is in 2 files: ")
    assert warning.endswith("; as for RyeOS, tools/a.py is meant")


@pytest.mark.parametrize(
    "files",
    [
        {"tools/a.py": "same", "tools/a.yaml": "same"},
        {"tools/a.py": "1", "tools/a.PY": "2"},
        {"tools/a.py": "1", "tools/a.sh": "2"},
        {"tools/\u00e9.py": "1", "tools/e\u0301.yaml": "2"},
        {"knowledge/a.md": "1", "knowledge/a.yaml": "2"},
    ],
)
def test_attack_a_second_file_in_a_bundle_of_ryeos(tmp_path: Path, files: dict[str, str]) -> None:
    """A copy, for which one signature may hold, and what RyeOS has no order for, stay ambiguous; a project has none."""
    lay(tmp_path, {**files, "manifest.yaml": ""})
    for root in (Root(Space.SYSTEM, tmp_path, "b"), Root(Space.PROJECT, tmp_path)):
        warnings: list[str] = []
        found = with_duplicates(walk_along(root), root, warnings)
        errors = {each.details["path"] for each in found if isinstance(each, ItemError)}
        assert (errors, warnings) == ({*files}, [])
