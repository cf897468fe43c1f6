"""``rye publish``: what it says, what it asks, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rye.cli import main
from rye.cluster.client import Cluster
from tests.support.fake_cluster import FakeCluster

pytest.importorskip("opensearchpy", reason="pip install '.[test]' brings it")

ADDRESS = "opensearch+http://127.0.0.1:9/r"
Run = Callable[..., tuple[int, str]]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project with three items, on a machine whose clusters are all one in memory."""
    fake = FakeCluster()
    monkeypatch.setattr(Cluster, "client", property(lambda _: fake))
    monkeypatch.setenv("USER_SPACE", str(tmp_path / "user"))
    monkeypatch.setenv("RYE_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "shop"
    for number in range(3):
        place = folder / ".ai" / "knowledge" / f"item-{number}.md"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"# Item {number}\n")
    return folder


@pytest.fixture
def run(project: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return what runs ``rye publish`` on the project and returns status and output."""

    def command(*words: str) -> tuple[int, str]:
        status = main([*words, "--project", str(project)])
        return status, "".join(capsys.readouterr())

    return command


def test_a_dry_run_lists_each_change(run: Run, project: Path) -> None:
    """With a sign before it, and changes nothing."""
    run("publish", ADDRESS)
    (project / ".ai" / "knowledge" / "item-0.md").unlink()
    (project / ".ai" / "knowledge" / "item-1.md").write_text("# Changed\n")
    (project / ".ai" / "knowledge" / "new.md").write_text("# New\n")
    for _ in range(2):
        status, said = run("publish", ADDRESS, "--dry-run")
        assert status == 0
        assert said.splitlines()[-4:-1] == [
            "- knowledge:item-0  .ai/knowledge/item-0.md",
            "~ knowledge:item-1  .ai/knowledge/item-1.md",
            "+ knowledge:new  .ai/knowledge/new.md",
        ]
        assert "1 would be added, 1 would be changed, 1 would be removed" in said


def test_many_removals_are_refused_where_nobody_can_be_asked(run: Run, project: Path) -> None:
    """The error says how many, and what to write; ``--yes`` does it."""
    run("publish", ADDRESS)
    (project / ".ai" / "knowledge" / "item-0.md").unlink()
    status, said = run("publish", ADDRESS)
    assert status == 2
    assert "publish-removes" in said
    assert "1 of the 3 items of shop" in said
    assert run("publish", ADDRESS, "--yes")[0] == 0


def test_on_a_terminal_many_removals_are_asked_about(run: Run, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No changes nothing, yes removes them."""
    asked: list[str] = []

    def confirm(question: str) -> bool:
        asked.append(question)
        return len(asked) > 1

    monkeypatch.setattr("rye.cli.commands.service.confirm", confirm)
    run("publish", ADDRESS)
    (project / ".ai" / "knowledge" / "item-0.md").unlink()
    assert run("publish", ADDRESS)[0] == 2
    assert run("publish", ADDRESS)[0] == 0
    assert all("1 of the 3 items of shop" in question for question in asked)
    assert "1 removed" not in run("publish", ADDRESS)[1]
