"""A small signed project, the ``rye`` command on it as a real process, and everything that it holds."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rye.trust.line import unsigned_bytes

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT = 120
"""Seconds after which a command hangs."""

TOOL = '"""Say {word} to everybody who asks."""\n\n__version__ = "1.0.0"\n'
NOTE = "---\ntitle: Notes on {word}\nversion: 1.0.0\n---\n\n# Notes on {word}\n\nAll about {word}.\n"


class Finding(Exception):
    """Something was lost, wrong or unexplained."""


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    status: int
    out: str
    err: str

    def explained(self) -> Done:
        """Return it, where it ended with a status and words of its own.

        Raises:
            Finding: It did not.
        """
        if self.status not in (0, 1, 2) or "Traceback" in self.err or "internal error" in self.err:
            message = f"status {self.status}: {self.err[-2000:]}"
            raise Finding(message)
        return self


@dataclass
class Trial:
    """A project and its user below one folder.

    Attributes:
        folder: Holds ``project``, ``home`` and ``cache``.
        second: The fingerprint of a key of the user that is not trusted.
    """

    folder: Path
    second: str = ""

    @property
    def project(self) -> Path:
        """The project."""
        return self.folder / "project"

    @property
    def home(self) -> Path:
        """The user's home."""
        return self.folder / "home"

    def environment(self) -> dict[str, str]:
        """Return the environment of every command."""
        env = {name: value for name, value in os.environ.items() if not name.startswith(("RYE_", "XDG_", "PYTHON"))}
        own = {"HOME": str(self.home), "RYE_CACHE_DIR": str(self.folder / "cache"), "PYTHONPATH": str(ROOT)}
        return env | own | {"PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1"}

    def run(self, *words: str, env: Mapping[str, str] | None = None) -> Done:
        """Run ``rye`` and return how it ended."""
        command = [sys.executable, "-P", "-m", "rye", *(word.replace("SECOND", self.second) for word in words)]
        try:
            done = subprocess.run(
                command,
                cwd=self.project,
                env=self.environment() | dict(env or {}),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            message = f"rye {' '.join(words)} hangs"
            raise Finding(message) from None
        return Done(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))

    def answer(self, *words: str) -> Any:
        """Run ``rye`` with ``--json`` and return the answer, which must be one."""
        done = self.run(*words, "--json").explained()
        try:
            return json.loads(done.out)
        except ValueError:
            message = f"rye {' '.join(words)} --json: {done.out[:300]!r} {done.err[-1000:]}"
            raise Finding(message) from None

    def lay(self) -> Trial:
        """Write the files, make two keys, trust one, sign everything and list it."""
        for number, word in enumerate(("deploy", "rollback", "invoice", "greeting", "snapshot", "backup")):
            self.write(f"tools/{'ops' if number % 2 else 'demo'}/{word}.py", TOOL.format(word=word))
            self.write(f"knowledge/{word}-notes.md", NOTE.format(word=word))
        self.home.mkdir(exist_ok=True)
        (self.folder / "foreign").mkdir()
        (self.folder / "foreign" / "howto.md").write_text("# How to travel\n\nPack little.\n", encoding="utf-8")
        steps = (
            "keys generate --owner ada",
            "keys generate second --owner bea",
            "sign --all --yes",
            "sign list --yes",
            "search deploy",
        )
        for step in steps:
            done = self.run(*step.split())
            assert done.status == 0, (step, done)
        listed = json.loads(self.run("keys", "list", "--json").out)["keys"]
        self.second = next(one["fingerprint"] for one in listed if one["name"] == "second")
        return self

    def write(self, path: str, text: str) -> None:
        """Write a file of the project."""
        place = self.project / ".ai" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    def copy(self, folder: Path) -> Trial:
        """Return a copy in another folder."""
        shutil.copytree(self.folder, folder, symlinks=True)
        return Trial(folder, self.second)

    def files(self) -> dict[str, bytes]:
        """Return every file but those of the cache, by path; of signed items what was signed."""
        found = {}
        for path in sorted(self.folder.rglob("*")):
            name = path.relative_to(self.folder).as_posix()
            if path.is_file() and not name.startswith("cache/") and "/.local/state/" not in f"/{name}":
                data = path.read_bytes()
                signed = name.startswith(("project/.ai/tools/", "project/.ai/knowledge/"))
                found[name] = unsigned_bytes(data) if signed else data
        return found

    def state(self, *, keys: bool = False) -> dict[str, str]:
        """Return what rye says of everything, a word for each thing: items, hits, the list; also keys and trust."""
        verified = self.answer("verify", "--space", "project")
        hits = self.answer("search", "*", "--space", "project", "--limit", "100")
        found = {f"{one['type']}:{one['id']}": one["verdict"] for one in verified["items"]}
        found |= {f"hit {one['type']}:{one['id']}": one["signature"]["verdict"] for one in hits["results"]}
        for each in verified["lists"]:
            found |= {f"list {one['code']} {one['path']}": "error" for one in each["findings"]}
        found.pop("list list-first-use rye.list", None)  # by the folder, and every trial has its own
        for name in [name for name in found if name.endswith(".tmp")]:  # left by a killed process, and said to be
            del found[name]
        if keys:
            found |= {f"key {one['name']}": "private" for one in self.answer("keys", "list")["keys"]}
            for one in self.answer("trust", "list")["keys"]:
                found[f"trust {one['scope']} {one['owner']}"] = "revoked" if one["revoked"] else one["code"]
        return found
