"""An option of a search is added in the table, and where it has its effect: two files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

ADDED = """class SearchOptions(_Scope, SpaceOptions, _Page, _Hits, total=False):
    \"\"\"A search.\"\"\"

    loudness: Annotated[
        int,
        Parameter("How loud the answer is", 3, low=1, high=11, notes="see `rye/limits`", metavar="DECIBELS"),
    ]
"""
EFFECT = """\
        assert self.request.options["loudness"] < 11, "too loud"
"""
ASK = """
import io, json, sys
from contextlib import redirect_stdout
from rye import Registry
from rye.cli import main
from rye.errors import ArgumentError
from rye.mcp.schema import input_schema
from rye.mcp.tools.table import TOOLS
from tests.support.parameter_tables import stale

with redirect_stdout(io.StringIO()) as text:
    main(["search", "--help"])
registry = Registry(sys.argv[1], user=sys.argv[1], bundles=(), cache_dir=sys.argv[2])
faults = []
for value in (12, "loud"):
    try:
        registry.search("x", loudness=value)
    except ArgumentError as error:
        faults.append([error.code, error.message, error.hint])
status = main(["search", "x", "--loudness", "12", "--project", sys.argv[1]])
try:
    effect = registry.search("x", loudness=11).query
except AssertionError as error:
    effect = str(error)
schema = input_schema(TOOLS["rye_search"].parameters)
written = {path.stem: new for path, new in stale().items()}
print(json.dumps({
    "help": text.getvalue(),
    "schema": schema["properties"]["options"]["properties"]["loudness"],
    "signature": Registry.search.__doc__,
    "faults": faults,
    "status": status,
    "effect": effect,
    "pages": {page: [line for line in new.splitlines() if "loudness" in line] for page, new in written.items()},
}))
"""


@pytest.mark.slow
def test_a_further_option_is_declared_once(tmp_path: Path) -> None:
    """In a copy of the package: one declaration, read where it counts; every surface has, checks and documents it."""
    leave = shutil.ignore_patterns("__pycache__", "_bundled")
    for folder in ("rye", "grammar", "items", "tests/support"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=leave)
    table, engine = tmp_path / "rye/parameters/search.py", tmp_path / "rye/search/engine.py"
    before = table.read_text(encoding="utf-8")
    head = ADDED.partition("\n\n")[0]
    assert head in before
    table.write_text(before.replace(head, ADDED.rstrip("\n"), 1), encoding="utf-8")
    text = engine.read_text(encoding="utf-8")
    start = "        request, plan = self.request, self.read()\n"
    above, run, below = text.partition("    def run(self) -> SearchResponse:\n")
    assert start in below
    engine.write_text(above + run + below.replace(start, EFFECT + start, 1), encoding="utf-8")
    project = tmp_path / "project"
    (project / ".ai" / "knowledge").mkdir(parents=True)
    done = subprocess.run(
        [sys.executable, "-c", ASK, str(project), str(tmp_path / "cache")],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "USER_SPACE": str(project)},
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert "--loudness DECIBELS" in found["help"]
    assert "How loud the answer is. [default: 3]" in " ".join(found["help"].split())
    assert "loudness: How loud the answer is, 1 to 11." in found["signature"]
    limits = {"type": "integer", "default": 3, "minimum": 1, "maximum": 11}
    assert found["schema"] == limits | {"description": "How loud the answer is."}
    valid = "valid are whole numbers from 1 to 11"
    assert found["faults"] == [
        ["bad-loudness", "loudness is 12", valid],
        ["bad-loudness", "loudness is 'loud', of type str", valid],
    ]
    assert found["status"] == 2
    assert "error[bad-loudness]: --loudness is 12" in done.stderr
    assert found["effect"] == "too loud"
    meaning = "How loud the answer is, 1 to 11; see `rye/limits` |"
    assert found["pages"]["cli"] == [f"| `--loudness DECIBELS` | 3 | {meaning}"]
    assert found["pages"]["mcp"] == [f"| `options.loudness` | 3 | {meaning}"]
    assert f"| `loudness` | int | 3 | {meaning}" in found["pages"]["python-api"]
