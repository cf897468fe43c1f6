"""Files are read by several processes in pieces: what comes of it is what one process alone makes of them."""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path

import pytest

from rye._process import stoppable
from rye.errors import CancelledError
from rye.index.build import parallel_build as runs
from rye.index.build.parallel_build import BuildTask, Thresholds, build
from rye.index.storage.container import Container
from rye.spaces.model import Root, Space
from rye.spaces.walk import list_items
from tests.support.files import executable


@pytest.fixture
def root(tmp_path: Path) -> Root:
    """Return a space of some files, of which two are no items."""
    folder = tmp_path / "project" / ".ai"
    (folder / "tools" / "deep").mkdir(parents=True)
    (folder / "knowledge").mkdir()
    for at in range(40):
        text = f'"""Deploys snapshot{at % 7} to node-{at}."""\n' + "x = 'filler words'\n" * (at % 5)
        (folder / "tools" / ("deep" if at % 2 else "") / f"tool{at:02}.py").write_text(text, encoding="utf-8")
        (folder / "knowledge" / f"note{at:02}.md").write_text(
            f"# Note {at}\n\nWörter über Straßen.\n", encoding="utf-8"
        )
    for name in ("broken.py", "worse.py"):
        (folder / "tools" / name).write_bytes(b"\xff\xfe")
    return Root(Space.PROJECT, folder)


SMALL = Thresholds(alone_below=8)
"""Few files are many."""


def work(root: Root, folder: Path, reported: list[int] | None = None, *, thresholds: Thresholds = SMALL) -> BuildTask:
    """Return the work of reading all files."""
    folder.mkdir(exist_ok=True)
    files, _ = list_items(root)
    sizes = [(root.path / file.rel_path).stat().st_size for file in files]
    return BuildTask(
        root,
        [file.rel_path for file in files],
        sizes,
        {},
        folder,
        ([] if reported is None else reported).append,
        thresholds,
    )


def arrays(path: Path) -> dict[str, tuple[str, bytes]]:
    """Return every array of a file."""
    file = Container(path)
    return {name: (file.array(name).dtype.str, file.array(name).tobytes()) for name in file._table}


def segment(
    root: Root, folder: Path, processes: int, *, thresholds: Thresholds = SMALL
) -> tuple[dict[str, tuple[str, bytes]], runs.BuildResult]:
    """Read all files and return the arrays of the segment, and what else was found."""
    with build(work(root, folder, thresholds=thresholds), processes=processes) as found:
        assert found.write is not None
        (folder / "segment").unlink(missing_ok=True)
        assert found.write(folder / "segment") == 80
    assert [path.name for path in folder.iterdir()] == ["segment"]
    return arrays(folder / "segment"), found


@pytest.mark.parametrize("processes", [2, 3])
def test_several_processes_make_what_one_makes(root: Root, tmp_path: Path, processes: int) -> None:
    """The same arrays to the byte, the same problems in the same order, and nothing left beside."""
    alone = segment(root, tmp_path / "a", 1)
    several = segment(root, tmp_path / "b", processes)
    assert several[0] == alone[0]
    assert several[1].problems == alone[1].problems
    assert [(problem.path, problem.code) for problem in alone[1].problems] == [
        ("tools/broken.py", "not-utf8"),
        ("tools/worse.py", "not-utf8"),
    ]


@pytest.mark.parametrize("harm", ["no interpreter", "dies at once", "talks nonsense"])
def test_a_worker_that_fails_is_replaced_by_this_process(
    root: Root, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    """Its pieces are read here, and joined here alone."""
    alone = segment(root, tmp_path / "a", 1)
    if harm == "no interpreter":
        monkeypatch.setattr(sys, "executable", str(tmp_path / "nothing"))
    else:
        program = "echo '[1]'; read line" if harm == "talks nonsense" else "exit 3"
        monkeypatch.setattr(sys, "executable", str(executable(tmp_path / "python", program)))
    assert segment(root, tmp_path / "b", 2)[0] == alone[0]


def test_joining_that_is_cancelled_leaves_no_file(root: Root, tmp_path: Path) -> None:
    """Neither the segment nor the pieces that it would be made of."""
    folder = tmp_path / "a"
    with build(work(root, folder), processes=2) as found:
        assert found.write is not None
        asked = count()
        with stoppable(lambda: next(asked) > 2), pytest.raises(CancelledError):
            found.write(folder / "segment")
        assert not (folder / "segment").exists()
    assert not list(folder.iterdir())
