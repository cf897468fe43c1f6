"""A project with a few unsigned items in which tests run ``rye``, in this process or as one of its own."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from rye.cli import main

ROOT = Path(__file__).resolve().parents[3]
HOSTILE_TITLE = "\\e[2J\\aevil\\u200F\\x9b1m"

FILES: Mapping[str, str] = {
    "tools/demo/deploy.py": '"""Deploy a build to a server."""\n\n__version__ = "2.1.0"\n\n\ndef run():\n    pass\n',
    "tools/demo/twin.py": '"""One of two of this id."""\n\n__version__ = "1.0.0"\n',
    "knowledge/demo/twin.md": "---\nversion: 1.0.0\n---\n\n# Twin\n\nThe other of this id.\n",
    "knowledge/demo/guide.md": "---\ntitle: Guide to servers\nversion: 1.0.0\n---\n\n# Guide\n\nHow a server is run.\n",
    "knowledge/demo/old.md": (
        "---\ntitle: Old\nversion: 1.0.0\nsuperseded_by: demo/guide\n---\n\nHow a server was run.\n"
    ),
    "knowledge/demo/trap.md": f'---\ntitle: "{HOSTILE_TITLE}"\nversion: 1.0.0\n---\n\nA trap \x1b]0;owned\x07 here.\n',
    "directives/demo/release.md": "---\ndescription: Release it\nversion: 1.0.0\n---\n\n1. Deploy.\n",
}


@dataclass(frozen=True)
class Workshop:
    """A project with a few unsigned items, a user space and a cache of its own."""

    project: Path
    env: Mapping[str, str]

    def start(self, *args: str, **options: object) -> subprocess.Popen[bytes]:
        """Start ``rye`` in the project."""
        env = {**self.env, **{name: str(value) for name, value in options.items()}}
        return subprocess.Popen(
            [sys.executable, "-m", "rye", *args],
            cwd=self.project,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, *args: str, data: bytes = b"", **env: object) -> Done:
        """Run ``rye`` in the project, within this process, which spares its start; it reads ``data``."""
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
        more = {name: str(value) for name, value in env.items()}
        with pytest.MonkeyPatch.context() as patch, chdir(self.project), redirect_stdout(out), redirect_stderr(err):
            for name in os.environ.keys() - self.env.keys():
                patch.delenv(name)
            for name, value in {**self.env, **more}.items():
                patch.setenv(name, value)
            patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data), "utf-8"))
            status = main(list(args))
        return Done(status, *(_text_of(stream) for stream in (out, err)))

    def process(self, *args: str, **env: object) -> Done:
        """Run ``rye`` in the project as a process of its own, to its end."""
        process = self.start(*args, **env)
        out, err = process.communicate(timeout=60)
        return Done(process.returncode, out.decode(), err.decode())


def _text_of(stream: io.TextIOWrapper) -> str:
    stream.flush()
    data = stream.buffer
    assert isinstance(data, io.BytesIO)
    return data.getvalue().decode()


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    status: int
    out: str
    err: str


def lay(base: Path) -> Workshop:
    """Write the items below ``base``."""
    for name, text in FILES.items():
        path = base / "project" / ".ai" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    home = base / "home"
    home.mkdir()
    env = {name: value for name, value in os.environ.items() if not name.startswith(("RYE_", "PYTHON"))}
    env |= {"HOME": str(home), "USER_SPACE": str(home), "RYE_CACHE_DIR": str(base / "cache")}
    env |= {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", "NO_COLOR": "1"}
    return Workshop(base / "project", env)
