"""The tasks of ``pyproject.toml`` and the hooks of pre-commit: each command exists and takes its options."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
HOOKS = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
COMMANDS = {
    name: tuple(step["cmd"] for step in task.get("sequence", (task,)))
    for name, task in PROJECT["tool"]["poe"]["tasks"].items()
}
"""Task → the commands that it runs, one after the other."""
DISTRIBUTIONS = {"poe": "poethepoet", "pytest": "pytest", "ruff": "ruff", "mypy": "mypy", "uv": "uv"}
"""Command → what has to be installed for it; ``rye`` is this project itself."""


def run(words: Sequence[str], folder: Path, **more: str) -> str:
    """Run a command as with this environment activated, and return what it says."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    program = shutil.which(words[0], path=path)
    if program is None:
        pytest.skip(f"{words[0]} is not installed")
    env = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "GIT_CONFIG_GLOBAL": os.devnull, **more}
    done = subprocess.run([program, *words[1:]], cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def git(folder: Path, *words: str) -> str:
    """Run git as somebody."""
    return run(["git", "-c", "user.name=ann", "-c", "user.email=ann@example.org", *words], folder)


def test_the_tasks_are_a_handful_each_with_a_word_on_it() -> None:
    """``poe`` without a task lists them."""
    tasks = "test fast cluster lint sign tables bench campaign constraints fuzz"
    assert set(COMMANDS) == set(tasks.split())
    assert all(task["help"] for task in PROJECT["tool"]["poe"]["tasks"].values())


@pytest.mark.parametrize(
    "command",
    [
        command
        for task in ("test", "fast", "lint", "bench", "campaign", "constraints", "fuzz")
        for command in COMMANDS[task]
    ],
)
def test_every_command_of_a_task_takes_its_options(command: str) -> None:
    """The program and its module exist, and so does each option; nothing is run but its help."""
    assert run([*shlex.split(command), "--help"], ROOT)


def test_what_the_tasks_and_hooks_run_is_installed_with_the_extra_for_development() -> None:
    """Every program comes with ``pip install -e '.[dev]'``, besides git and Python."""
    extras = PROJECT["project"]["optional-dependencies"]
    held = " ".join((*extras["dev"], *extras["test"]))
    entries = [hook["entry"] for repository in HOOKS["repos"] for hook in repository["hooks"]]
    commands = [command for steps in COMMANDS.values() for command in steps]
    programs = {shlex.split(command)[0] for command in (*commands, *entries)} - {"git", "python", "rye"}
    assert [name for name in programs if DISTRIBUTIONS[name] not in held] == []
    assert "pre-commit" in held


def test_lint_checks_what_is_checked_before_a_merge() -> None:
    """The commands of the task are those of ``.ci/run``, in that order."""
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.split(" ")[0] in {"ruff", "mypy"}] == list(COMMANDS["lint"])


def test_the_hooks_need_no_network_and_sign_last() -> None:
    """All are local; what changes the text of an item comes before its signature, which the task makes."""
    (repository,) = HOOKS["repos"]
    assert repository["repo"] == "local"
    hooks = {hook["id"]: hook for hook in repository["hooks"]}
    assert list(hooks) == ["ruff-check", "ruff-format", "sign"]
    assert {hook["language"] for hook in hooks.values()} == {"system"}
    assert hooks["sign"]["entry"] == "poe sign"
    assert (hooks["sign"]["files"], hooks["sign"]["pass_filenames"]) == ("^items/", False)


@pytest.mark.slow
def test_what_the_task_signs_verifies_in_another_checkout(tmp_path: Path) -> None:
    """It signs the list anew after an edit, with a new key where there is none; run again, it changes nothing."""
    one, other, home = tmp_path / "one", tmp_path / "other", tmp_path / "home"
    for name in ("rye", "items", "grammar", "tests"):
        shutil.copytree(ROOT / name, one / name, ignore=shutil.ignore_patterns("__pycache__", "assets", "corpus"))
    git(tmp_path, "init", "-qb", "main", str(one))
    git(one, "add", "--all")
    git(one, "commit", "-qm", "items")
    with (one / "items/knowledge/rye/ci.md").open("a", encoding="utf-8") as stream:
        stream.write("\nMore.\n")
    env = {"USER_SPACE": str(home), "RYE_STATE_DIR": str(home / "state"), "PYTHONPATH": str(one)}
    for _ in range(2):
        for command in COMMANDS["sign"]:
            run(shlex.split(command), one, **env)
        git(one, "commit", "--all", "--allow-empty", "-qm", "more")
    assert git(one, "status", "--porcelain") == git(one, "diff", "HEAD~1", "--name-only") == ""
    changed = git(one, "diff", "HEAD~2", "--name-only").split()
    assert changed == ["items/knowledge/rye/ci.md", "items/rye.list", "rye/_resources.py"]
    git(tmp_path, "clone", "-q", str(one), str(other))
    assert run(
        ["python", "-m", "rye", "verify", "--space", "system", "--strict"], other, PYTHONPATH=str(other)
    ).endswith(" trusted -- all passed\n")
