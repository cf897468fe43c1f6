"""Commands that write are stopped anywhere, by a kill, a full disk or Ctrl-C: one more run of the same ends their work.

A few moments of each; ``tests/weekly/test_stopped.py`` takes many.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.files import lay
from tests.support.stopped import Scene, spread
from tests.unit.cli.workshop import Workshop
from tests.unit.cli.workshop import lay as lay_workshop

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kills and limits are POSIX")

MOMENTS, SIZES = 4, 2
SKILL = {
    ".claude/skills/pdf/SKILL.md": "---\nname: pdf\ndescription: Fill forms\n---\n",
    ".claude/skills/pdf/scripts/fill.py": "import json\n",
    ".ai/tools/demo/data.json": '{"description": "Data.", "version": "1.0.0"}\n',
}


def _signed(shop: Workshop) -> None:
    for words in (["keys", "generate"], ["sign", "--yes", "--all"], ["sign", "list", "--yes"]):
        done = shop.run(*words)
        assert done.status == 0, done.err


def _with_key(shop: Workshop) -> None:
    shop.run("keys", "generate")


def _of_a_colleague(shop: Workshop) -> None:
    bea = Workshop(shop.project, {**shop.env, "USER_SPACE": str(Path(shop.env["HOME"]).with_name("bea"))})
    _signed(bea)
    Path(shop.env["HOME"], "bea.toml").write_text(bea.run("keys", "export").out, encoding="utf-8")


COMMANDS: dict[str, tuple[Callable[[Workshop], None], tuple[str, ...]]] = {
    "rotate": (_signed, ("keys", "rotate", "--sign", "--yes")),
    "init": (lambda _: None, ("init", "--yes")),
    "sign": (_with_key, ("sign", "--yes", "--all")),
    "trust": (_of_a_colleague, ("trust", "add", "HOME/bea.toml", "--yes")),
}


@pytest.fixture(params=COMMANDS)
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Scene, list[str]]:
    """A project before a command, and the command."""
    base = tmp_path / "base"
    base.mkdir()
    shop = lay_workshop(base)
    lay(shop.project, SKILL)
    prepare, words = COMMANDS[request.param]
    prepare(shop)
    made = Scene(shop, base)
    made.save()
    return made, [word.replace("HOME", shop.env["HOME"]) for word in words]


def check_ends(scene: Scene, words: list[str]) -> None:
    """A key that is trusted can sign now; after one more run of the command, every item is trusted."""
    if "rotate" in words:
        keys = {key["name"]: key for key in json.loads(scene.shop.run("keys", "list", "--json").out)["keys"]}
        assert keys["private_key"]["trusted"]
        is_unfinished = keys["private_key"]["unfinished"]
        assert is_unfinished == ("a rotation is unfinished" in scene.shop.run("keys", "list").out)
    done = scene.shop.run(*words)
    assert done.status == 0, done.err
    verified = scene.shop.run("verify", "--space", "project")
    assert verified.status == 0, verified.out + verified.err
    left = [path for path in scene.base.rglob("*") if ".replaces-" in path.name]
    left += scene.shop.project.rglob(".*.tmp")
    assert left == []


def test_killed(scene: tuple[Scene, list[str]]) -> None:
    """SIGKILL before any of its steps."""
    check_killed(*scene, MOMENTS)


def check_killed(scene: Scene, words: list[str], moments: int) -> None:
    """Kill the command at some moments, and look whether the next run ends its work."""
    total = scene.steps(*words)
    assert total
    for step in spread(moments, total):
        scene.restore()
        scene.kill_at(step, *words)
        check_ends(scene, words)


def test_on_a_disk_that_fills(scene: tuple[Scene, list[str]]) -> None:
    """The disk is full from one of its steps on, or takes no file of more than some bytes."""
    check_filled(*scene, SIZES)


def check_filled(scene: Scene, words: list[str], sizes: int) -> None:
    """Fill the disk in several ways, and look whether the next run ends the work."""
    total = scene.steps(*words)
    for step in spread(sizes, total):
        scene.restore()
        scene.fill_at(step, *words)
        check_ends(scene, words)
    for size in spread(sizes, 2000):
        scene.restore()
        scene.limit_to(size, *words)
        check_ends(scene, words)


def test_a_rotation_checks_first_whether_it_can_write(tmp_path: Path) -> None:
    """No room, or a folder that nobody can write: an error before anything has changed."""
    base = tmp_path / "base"
    base.mkdir()
    made = Scene(lay_workshop(base), base)
    _signed(made.shop)
    before = {path: path.read_bytes() for path in base.rglob("*") if path.is_file() and "cache" not in path.parts}
    made.fill_at(1, "keys", "rotate", "--sign", "--yes")
    made.limit_to(1000, "keys", "rotate", "--sign", "--yes")
    after = {path: path.read_bytes() for path in base.rglob("*") if path.is_file() and "cache" not in path.parts}
    assert before == after


def test_interrupted(scene: tuple[Scene, list[str]]) -> None:
    """Ctrl-C before one of its steps: it says how to go on."""
    made, words = scene
    for step in spread(2, made.steps(*words)):
        made.restore()
        said = made.interrupt_at(step, *words)
        assert said.startswith("interrupted"), said
        assert any(text in said for text in ("the same command", "finishes it", "goes on")), said
        assert "Traceback" not in said
        check_ends(made, words)


def test_interrupted_while_it_starts(tmp_path: Path) -> None:
    """Ctrl-C before the command line is loaded: no traceback."""
    program = "import os, signal\nimport rye.__main__\nos.kill(os.getpid(), signal.SIGINT)\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


def test_temporary_names_are_not_signed(tmp_path: Path) -> None:
    """What a killed writer left in a skill or a space is removed by the command that signs there, and never signed."""
    shop = lay_workshop(tmp_path)
    lay(shop.project, SKILL)
    _with_key(shop)
    left = [shop.project / folder / f".{'a' * 16}.tmp" for folder in (".claude/skills/pdf/scripts", ".ai/tools/demo")]
    for path in left:
        path.write_text("half")
    assert shop.run("sign", "directive:pdf", "tool:demo/data").status == 0
    assert not any(path.exists() for path in left)
    assert ".tmp" not in (shop.project / ".claude/skills/pdf/SKILL.sig").read_text()
    assert shop.run("verify", ".claude/skills/pdf").status == 0
