"""Where teams run ``rye verify``: the hook under pre-commit, and the steps of the composite action, for real.

What installs rye from this tree, with what a package index gives, takes a minute or two and runs only on request:
``RYE_TEST_INSTALLS=1 pytest tests/integration/test_where_it_runs.py``. The hook needs ``pip install pre-commit``.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rye.items import yaml
from tests.unit.cli.workshop import ROOT, Workshop, lay

ACTION: Mapping[str, Any] = yaml.load((ROOT / ".github/actions/verify/action.yml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
NEEDED = (".pre-commit-hooks.yaml", "LICENSE", "README.md", "grammar", "items", "pyproject.toml", "rye")
NO_INDEX = re.compile(r"No matching distribution|Could not find a version|Connection|Temporary failure")
EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A copy of what rye is installed from, as a git repository of its own."""
    folder = tmp_path / "rye"
    folder.mkdir()
    for name in NEEDED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)
    shutil.copytree(ROOT / ".github/actions", folder / ".github/actions")
    commit(folder)
    return folder


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    """A project with unsigned items in git, and a user with a key; what is installed is not this tree."""
    shop = lay(tmp_path)
    assert shop.run("keys", "generate").status == 0
    commit(shop.project)
    env = {name: value for name, value in shop.env.items() if name != "PYTHONPATH"}
    return Workshop(shop.project, env | {"HOME": os.environ.get("HOME", str(tmp_path))})  # pip is set up there


def commit(folder: Path) -> None:
    """Put all files of a folder into a repository."""
    someone = ["-c", "user.name=ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "-A"], [*someone, "commit", "-qm", "all"]):
        subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


def sign(shop: Workshop) -> None:
    """Sign every item of the project, and stage it."""
    env = {**shop.env, "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-m", "rye", "sign", "--yes", "--all"]
    subprocess.run(words, cwd=shop.project, env=env, check=True, capture_output=True)
    subprocess.run(["git", "add", "-A"], cwd=shop.project, check=True)


def run(shop: Workshop, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a program in the project."""
    done = subprocess.run(
        words, cwd=shop.project, env={**shop.env, **env}, capture_output=True, text=True, timeout=600, check=False
    )
    if done.returncode and NO_INDEX.search(done.stdout + done.stderr):
        pytest.skip("no package index answers")
    return done


def given(step: Mapping[str, Any], inputs: Mapping[str, str], action: Path) -> dict[str, str]:
    """Return the environment of a step, its expressions filled in as a runner does."""
    values = {f"inputs.{name}": inputs.get(name, row.get("default", "")) for name, row in ACTION["inputs"].items()}
    values["github.action_path"] = str(action)
    return {name: EXPRESSION.sub(lambda match: values[match[1]], text) for name, text in step["env"].items()}


def take(shop: Workshop, step: Mapping[str, Any], env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the script of a step as a runner runs bash."""
    assert step["shell"] == "bash"
    return run(shop, "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"], **env)


def stand_in(path: Path, script: str) -> None:
    """Write a program of the shell."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


def test_modules_of_the_checkout_are_not_imported_by_the_installation(shop: Workshop, tmp_path: Path) -> None:
    """``venv.py`` and others in the root of the checkout: the environment is made by Python's own, pip is its own."""
    for name in ("venv", "pip", "ensurepip", "runpy", "json", "rye", "sitecustomize"):
        (shop.project / f"{name}.py").write_text(f"open({str(tmp_path / 'owned')!r}, 'w')", encoding="utf-8")
    source = tmp_path / "source"
    nothing = '[build-system]\nrequires = []\nbuild-backend = "none"\nbackend-path = ["."]\n'
    source.mkdir()
    (source / "pyproject.toml").write_text(nothing + '[project]\nname = "x"\nversion = "1"\n', encoding="utf-8")
    (source / "none.py").write_text("raise SystemExit('reached')", encoding="utf-8")
    install = STEPS[0]
    env = given(install, {"python": sys.executable}, source / "a/b/c")
    (source / "a/b/c").mkdir(parents=True)
    (source / "a/b/c/requirements.txt").touch()
    done = take(shop, install, {**env, "RUNNER_TEMP": str(tmp_path), "PYTHONPATH": "."})
    assert not (tmp_path / "owned").exists()
    assert "reached" in done.stdout + done.stderr
    assert (tmp_path / "rye-venv/bin/pip").exists()


def outputs(shop: Workshop, tmp_path: Path, output: str) -> subprocess.CompletedProcess[str]:
    """Take the step that verifies, with an answer of one word, into a file."""
    stand_in(tmp_path / "rye-venv/bin/python", "echo answer")
    return take(shop, STEPS[1], given(STEPS[1], {"output": output}, tmp_path) | {"RUNNER_TEMP": str(tmp_path)})


@pytest.mark.parametrize(
    "output",
    [
        *("rye.sarif", "./rye.sarif", "out/rye.sarif", "out/deep/x/rye.sarif", "{}/out/rye.sarif"),
        *("{}//rye.sarif", "{}/./out//rye.sarif", "/{}/rye.sarif", "../{.name}/rye.sarif", "{.parent}/also/rye.sarif"),
    ],
)
@pytest.mark.parametrize("dangling", [False, True])
def test_a_link_in_the_place_of_the_output(shop: Workshop, tmp_path: Path, output: str, *, dangling: bool) -> None:
    """A checkout that holds a link, or a folder that is one, does not have a file elsewhere cut or made: status 2."""
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "rye.sarif").write_text("precious", encoding="utf-8")
    (victim / "x").mkdir()
    (shop.project / "out").symlink_to(victim)
    (shop.project / "rye.sarif").symlink_to(victim / ("new" if dangling else "rye.sarif"))
    (victim / "deep").symlink_to(victim)
    (shop.project.parent / "also").symlink_to(shop.project)
    before = sorted(victim.iterdir())
    done = outputs(shop, tmp_path, output.format(shop.project))
    assert done.returncode == 2
    assert "is a link" in done.stderr
    assert (victim / "rye.sarif").read_text(encoding="utf-8") == "precious"
    assert sorted(victim.iterdir()) == before


def test_no_input_is_put_into_the_text_of_a_script() -> None:
    """What a runner would paste into a script would be run by it; every input comes as a variable, each is used."""
    scripts = "\n".join(step["run"] for step in STEPS)
    assert "${{" not in scripts
    used = {match for step in STEPS for text in step["env"].values() for match in EXPRESSION.findall(text)}
    assert used == {"github.action_path", *(f"inputs.{name}" for name in ACTION["inputs"])}
    for name in (name for step in STEPS for name in step["env"]):
        assert re.search(rf'"[^"]*\$\{{?{name}\b', scripts), f"{name} is not quoted"
        assert not re.search(rf"^[^\"\n]*\${name}\b[^\"\n]*$", scripts, re.MULTILINE), f"{name} is not quoted"


@pytest.mark.parametrize(
    "word",
    ["$(touch owned)", "`touch owned`", "; touch owned", "x' ; touch owned '", '"; touch owned; "', "*", "--help"],
)
def test_a_hostile_input_of_the_action(shop: Workshop, tmp_path: Path, word: str) -> None:
    """Each line of an input is one word for rye, whatever stands in it; a target is never an option."""
    seen = tmp_path / "seen"
    stand_in(tmp_path / "rye-venv/bin/python", f"printf '%s\\n' \"$@\" > '{seen}'")
    verify = STEPS[1]
    inputs = {"targets": f"{word}\n", "args": f"{word}\n", "trust": word, "format": word, "output": ""}
    done = take(shop, verify, given(verify, inputs, tmp_path) | {"RUNNER_TEMP": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    trust = tmp_path / "rye-trust.toml"
    words = ["-X", "utf8", "-I", "-m", "rye", "verify", "--format", word, "--trust", str(trust), word, "--", word]
    assert seen.read_text().splitlines() == words
    assert trust.read_text(encoding="utf-8") == word
    assert not list(tmp_path.rglob("owned"))
