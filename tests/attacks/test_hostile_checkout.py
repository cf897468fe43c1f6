"""Code in a checkout that has the names of what rye imports and starts: with it as working directory, none is run."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from rye.trust.line import sign_bytes
from tests.support.signed import ANN, SIGNED_AT, place
from tests.support.spacesim import SpaceSim
from tests.unit.cli.workshop import lay

MANY = 2_000
FOLDERS = ("multiprocessing", "encodings", "concurrent", "importlib", "json", "cryptography", "numpy", "yaml", "rye")

COMMAND = """
import atexit, sys
from pathlib import Path
from rye._process import Worker
from rye.cli import main
from rye.index.build import parallel_build as runs
from rye.verify import facts as processes
processes.cores = runs.cores = lambda: 3
done, ask = [], Worker.ask
def counted(worker, request):
    answer = ask(worker, request)
    answer.add_done_callback(lambda each: each.exception() or done.append(1))
    return answer
Worker.ask = counted
atexit.register(lambda: Path(sys.argv[0]).with_name("helped").write_text(str(len(done))))
sys.exit(main())
"""
"""What pip installs as ``rye``: a program in a folder of its own. It takes down how much its helpers did."""


@dataclass(frozen=True)
class Checkout:
    """A project with many signed items, and traps beside them that leave a mark when they are run."""

    sim: SpaceSim
    env: dict[str, str]
    program: Path

    @property
    def sprung(self) -> str:
        """The traps that were run."""
        mark = self.sim.folder / "sprung"
        return mark.read_text(encoding="utf-8") if mark.exists() else ""

    @property
    def helped(self) -> int:
        """How many answers of helpers the last command used."""
        return int(self.program.with_name("helped").read_text(encoding="utf-8"))

    def trap(self, name: str, *, program: bool = False) -> None:
        """Lay a trap in the working directory."""
        path = self.sim.project / name
        path.parent.mkdir(exist_ok=True)
        mark = str(self.sim.folder / "sprung")
        if program:
            path.write_text(f"#!/bin/sh\necho {name} >> '{mark}'\n", encoding="utf-8")
            path.chmod(0o755)
        else:
            path.write_text(f"open({mark!r}, 'a').write({name!r} + ' ')\n", encoding="utf-8")

    def trap_imports(self) -> None:
        """Lay a trap under the name of every module that there is, as a file or as a package."""
        others = {"sitecustomize", "usercustomize", "rye", "click", "yaml", "lark", "tuf", "_yaml"}
        for name in (set(sys.stdlib_module_names) | others) - set(FOLDERS):
            self.trap(f"{name}.py")
        for name in FOLDERS:
            self.trap(f"{name}/__init__.py")

    def run(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run ``rye`` in the project."""
        command = [sys.executable, str(self.program), *words]
        return subprocess.run(
            command, cwd=self.sim.project, env=self.env | env, capture_output=True, text=True, timeout=120, check=False
        )


@cache
def signed_tools() -> list[bytes]:
    """Return the files of all tools that are signed."""
    signed = []
    for number in range(MANY):
        origin = place(f"many/t{number}")
        data = f'"""Tool {number}."""\n\n__version__ = "1.0.0"\n'.encode()
        signed.append(sign_bytes(data, suffix=".py", origin=origin, key=ANN, now=SIGNED_AT))
    return signed


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """All items are signed by the user but one, which nobody signed."""
    sim = SpaceSim(tmp_path, bundles=())
    for number, signed in enumerate(signed_tools()):
        sim.write("project", f"tools/many/t{number}.py", signed)
    sim.write("project", "tools/many/evil.py", '"""Do evil."""\n\n__version__ = "1.0.0"\n')
    program = tmp_path / "bin" / "rye"
    program.parent.mkdir()
    program.write_text(COMMAND, encoding="utf-8")
    (tmp_path / "shop").mkdir()
    return Checkout(sim, {**lay(tmp_path / "shop").env, "USER_SPACE": str(sim.user)}, program)


def test_a_trap_is_sprung_by_what_imports_from_the_working_directory(checkout: Checkout) -> None:
    """So what finds none sprung has looked."""
    checkout.trap_imports()
    for words in (("-c", "import multiprocessing"), ("-m", "rye", "verify")):
        before = checkout.sprung
        subprocess.run([sys.executable, *words], cwd=checkout.sim.project, env=checkout.env, check=False)
        assert checkout.sprung != before, words


def test_modules_of_the_checkout_are_not_imported_by_verify(checkout: Checkout) -> None:
    """Helpers work, the forged item is found as before, and nothing of the checkout was run."""
    honest = checkout.run("verify", "--space", "project")
    assert (honest.returncode, "tool:many/evil" in honest.stdout) == (1, True), honest.stderr
    checkout.trap_imports()
    attacked = checkout.run("verify", "--space", "project")
    assert checkout.sprung == ""
    assert (attacked.returncode, attacked.stdout) == (1, honest.stdout), attacked.stderr
    assert checkout.helped


def test_modules_of_the_checkout_are_not_imported_by_the_building_of_an_index(checkout: Checkout) -> None:
    """The same of the helpers that read files."""
    checkout.trap_imports()
    done = checkout.run("search", "tool", "--space", "project", "--format=ids")
    assert checkout.sprung == ""
    assert done.returncode == 0, done.stderr
    assert checkout.helped


def test_a_relative_entry_of_the_path_is_not_handed_to_helpers(checkout: Checkout) -> None:
    """A process in which one may import from the working directory, as on a prompt, does not let its helpers do so."""
    checkout.trap_imports()
    code = """
import sys
from rye._process import start
sys.path[:0] = ["", "."]
helper = start("rye.verify.worker")
helper.stdin.close()
sys.exit(helper.wait())
"""
    done = subprocess.run([sys.executable, "-P", "-c", code], cwd=checkout.sim.project, env=checkout.env, check=False)
    assert (checkout.sprung, done.returncode) == ("", 0)


@pytest.mark.skipif(os.name == "nt", reason="traps are shell scripts")
@pytest.mark.parametrize("entry", ["", ".", "bin/.."])
def test_a_program_of_the_checkout_is_not_started(checkout: Checkout, entry: str) -> None:
    """Where ``PATH`` has a relative entry, which means the checkout, git is taken from the others all the same."""
    commit = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "x", "--allow-empty"]
    for words in (["git", "init", "-q"], commit):
        subprocess.run(words, cwd=checkout.sim.project, check=True)
    (checkout.sim.project / "bin").mkdir()
    checkout.trap("git", program=True)
    checkout.trap("rye", program=True)
    path = f"{entry}{os.pathsep}{os.environ['PATH']}"
    done = checkout.run("verify", "--space", "project", PATH=path)
    assert (checkout.sprung, done.returncode) == ("", 1), done.stderr
    config = checkout.run("mcp", "--print-config", "claude", PATH=entry or ".").stdout
    assert '"-P"' in config, config
    assert checkout.sprung == ""
