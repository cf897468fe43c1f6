"""Several files of one type and id: each is reported, wherever they lie, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from rye.spaces.model import Root, Space
from rye.spaces.walk import list_items
from rye.verify.worker import duplicates
from tests.support.files import lay


def ambiguous(folder: Path, *names: str) -> set[str]:
    """Lay files, and return the paths that have a twin."""
    lay(folder, dict.fromkeys(names, "x"))
    root = Root(Space.PROJECT, folder)
    errors = list(duplicates(list_items(root)[0]))
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
def test_attack_a_second_file_of_a_bundle(tmp_path: Path, files: dict[str, str]) -> None:
    """It is not clear which is meant, in a bundle as in a project, also where one is a copy of the other."""
    lay(tmp_path, files)
    for root in (Root(Space.SYSTEM, tmp_path, "b"), Root(Space.PROJECT, tmp_path)):
        assert {each.details["path"] for each in duplicates(list_items(root)[0])} == {*files}
