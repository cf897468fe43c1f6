"""The tools among the bundled items, run as their users run them: as processes, by path."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rye.items.model import ItemType
from rye.items.reader import parse

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / "items" / "tools" / "rye"
NAMES = sorted(path.stem for path in TOOLS.glob("*.py"))


def run(tool: str, *args: str, cwd: Path, text: str = "") -> subprocess.CompletedProcess[str]:
    """Run a tool in ``cwd`` with ``text`` as its standard input."""
    return subprocess.run(
        [sys.executable, str(TOOLS / f"{tool}.py"), *args],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one knowledge entry that refers to an item that exists and to two that do not."""
    folder = tmp_path / ".ai" / "knowledge" / "ops"
    folder.mkdir(parents=True)
    (folder / "rollback.md").write_text(
        '```yaml\nname: rollback\ntitle: "Roll back"\nversion: "1.0.0"\ndescription: "Bring back | the last release."\n'
        "references:\n  - rye/ci\n  - ops/gone\n  - docs/notes.md\n```\n\n"
        "See `rye/ranking`, `ops/lost` and `other/x`.\n",
        encoding="utf-8",
    )
    return tmp_path


@pytest.mark.parametrize("name", NAMES)
def test_every_tool_explains_itself_and_refuses_an_unknown_option(name: str, tmp_path: Path) -> None:
    """``--help`` says what the metadata says; a misspelt option is error 2, never ignored."""
    done = run(name, "--help", cwd=tmp_path)
    item = parse((TOOLS / f"{name}.py").read_bytes(), item_type=ItemType.TOOL, item_id=f"rye/{name}", suffix=".py")
    assert done.returncode == 0
    assert " ".join(item.description.split()) in " ".join(done.stdout.split())
    assert run(name, "--no-such-option", cwd=tmp_path).returncode == 2


def test_check_links_finds_references_that_lead_nowhere(project: Path) -> None:
    """Ids in metadata and text that no item has are listed; files and foreign folders are left alone."""
    done = run("check_links", "--space", "project", "--json", cwd=project)
    assert done.returncode == 1, done.stderr
    assert [row["target"] for row in json.loads(done.stdout)["broken"]] == ["ops/gone", "ops/lost"]
    assert "knowledge:ops/rollback refers to ops/gone" in run("check_links", "--space", "project", cwd=project).stdout


def test_check_links_finds_nothing_in_the_bundled_items(tmp_path: Path) -> None:
    """Every reference in rye's own documentation leads to an item."""
    done = run("check_links", "--space", "system", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_signers_counts_items_by_key(tmp_path: Path) -> None:
    """The bundled items are of one owner, whatever keys they were signed with, and all are trusted."""
    done = run("signers", "--space", "system", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["keys"]
    assert {row["owner"] for row in rows} == {"rye"}
    assert len({row["signer"] for row in rows}) == len(rows)
    assert all(row["verdicts"] == {"trusted": row["items"]} for row in rows)
    assert sum(row["items"] for row in rows) >= 23


def test_signers_lists_what_falls_short(project: Path) -> None:
    """``--below`` names each item that is not trusted with its reason, and the exit status is 1."""
    done = run("signers", "--space", "project", "--below", cwd=project)
    assert done.returncode == 1
    assert done.stdout.startswith("unsigned knowledge:ops/rollback (project): ")


def test_normalize_query_prints_canonical_forms_and_points_at_what_is_wrong(tmp_path: Path) -> None:
    """A query that does not parse is named with its place and a caret; the canonical form of the others is printed."""
    (tmp_path / "queries.txt").write_text("# saved\na AND b\n(a\n", encoding="utf-8")
    done = run("normalize_query", "queries.txt", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "a b\n")
    assert done.stderr.startswith("queries.txt:3: ")
    assert "^" in done.stderr


def test_catalogue_writes_a_markdown_table_that_cells_cannot_break(project: Path) -> None:
    """One row for each item; a bar in a description does not make a column."""
    done = run("catalogue", "--space", "project", cwd=project)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "| type | id | version | verdict | description |",
        "| --- | --- | --- | --- | --- |",
        "| knowledge | ops/rollback | 1.0.0 | unsigned | Bring back \\| the last release. |",
    ]


def test_catalogue_writes_csv_of_what_a_query_finds(tmp_path: Path) -> None:
    """``--csv`` can be read back, and holds what the query finds."""
    done = run("catalogue", "type:tool category:rye", "--csv", cwd=tmp_path)
    table = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {row["id"] for row in table} == {f"rye/{name}" for name in NAMES}


def test_a_tool_can_be_run_straight_from_its_content(tmp_path: Path) -> None:
    """What ``rye show --raw`` prints is a program that ``python -`` runs, as the introduction says."""
    text = (TOOLS / "catalogue.py").read_text(encoding="utf-8")
    command = [sys.executable, "-", "--space", "system"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=env, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "rye/check_links" in done.stdout
