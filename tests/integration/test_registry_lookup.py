"""Naming an item costs one scan of the spaces, whether it is found or not, and whoever asks."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.spacesim import SpaceSim, furnish, no_own_items

COUNTING = """
import json, os, sys
scanned = []
sys.addaudithook(lambda event, args: event == "os.scandir" and scanned.append(str(args[0])))

from rye.cli.app import main
from rye.mcp.calls import Call
from rye.mcp.startup import Options
from rye.mcp.projects import Projects
from rye.mcp.tools import load
from rye.mcp.tools.tool import Work

project, folders, words = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3:]
if words[0] == "rye_load":
    projects = Projects(Options(projects=(project,)), lambda roots, paths: None)
    try:
        load.LOAD.run(Work(projects, Options(), Call()), {"item": words[1], "project_path": project})
    except Exception as error:
        print(type(error).__name__, error, file=sys.stderr)
else:
    try:
        main([*words, "--project", project])
    except SystemExit:
        pass
found = [scanned.count(folder) for folder in folders]
print()
print(json.dumps(found), flush=True)
os._exit(0)
"""
"""Prints how often the folders named in its second argument were scanned while a command or a tool named an item."""


@pytest.fixture
def sim(tmp_path: Path) -> Iterator[SpaceSim]:
    """Lay three spaces, and bring their indexes up to date."""
    (tmp_path / "none").mkdir()
    with no_own_items(tmp_path / "none"):
        sim = SpaceSim(tmp_path)
        furnish(sim)
        yield sim


@pytest.mark.parametrize(
    "words",
    [
        ("show", "nope"),
        ("show", "tool:rye/file-system/nope"),
        ("show", "rye/file-system/read"),
        ("show", "tool:rye/file-system/read"),
        ("show", "rye/file-system/read", "--space", "user"),
        ("search", "--like", "nope"),
        ("search", "--like", "rye/file-system/read"),
        ("why", "read", "rye/file-system/read"),
        ("refs", "nope"),
        ("refs", "rye/file-system/read"),
        ("rye_load", "nope"),
        ("rye_load", "rye/file-system/read"),
        ("rye_load", "tool:rye/file-system/read"),
    ],
    ids=" ".join,
)
def test_naming_an_item_scans_each_space_once(sim: SpaceSim, words: tuple[str, ...], tmp_path: Path) -> None:
    """The folder of tools of each space is listed once: for a name that is there, and for one that is not."""
    folders = [str(sim.root(name) / "tools") for name in ("project", "user", "system:shop")]
    env = {"USER_SPACE": str(sim.user), "RYE_BUNDLES": str(sim.bundles["shop"]), "RYE_CACHE_DIR": str(tmp_path / "c")}
    done = subprocess.run(
        [sys.executable, "-c", COUNTING, str(sim.project), json.dumps(folders), *words],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout.splitlines()[-1]) == [1, 1, 1], done.stdout + done.stderr
