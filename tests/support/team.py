"""People at their terminals, each with a home and a working copy: they type what a page of the manual shows.

In a ``console`` fence of such a page ``ada$ rye doctor`` is a line that Ada types. Below it stands what is printed,
where ``…`` stands for anything. ``# exit 1`` is another status than 0, and ``^C`` below a line stops the command
half-way. ``$EDITOR FILE   # WHAT`` is an edit that the test knows. Whoever is asked says yes. What somebody writes to
``~/NAME.toml`` is sent to everybody.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rye.cli import main

__all__ = ["Line", "Team", "lines_of"]

_FENCE = re.compile(r"^```console\n(\w+\$ .*?)^```$", re.MULTILINE | re.DOTALL)
_TYPED = re.compile(r"^(?=\w+\$ )", re.MULTILINE)
_LINE = re.compile(r"(\w+)\$ ([^\n]*)\n(\^C\n)?(.*)", re.DOTALL)


class Line(NamedTuple):
    """A line that somebody types.

    Attributes:
        who: The name of the person.
        text: What they type.
        sample: What is printed, with ``…`` for anything; empty if the page does not show it.
        stopped: Whether Ctrl-C is pressed.
    """

    who: str
    text: str
    sample: str
    stopped: bool

    @property
    def status(self) -> int:
        """The exit status that the page says."""
        said = re.search(r"# exit (\d+)$", self.text)
        return 130 if self.stopped else int(said[1]) if said else 0


def lines_of(page: str) -> list[Line]:
    """Return what people type on a page, in order."""
    typed = (line for fence in _FENCE.findall(page) for line in _TYPED.split(fence) if line)
    parts = filter(None, map(_LINE.fullmatch, typed))
    return [Line(part[1], part[2], part[4], part[3] is not None) for part in parts]


class _Screen(io.StringIO):
    """What a program prints on a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class _Yes(io.StringIO):
    """A keyboard on which somebody types ``y`` whenever a line is read; the screen shows it."""

    def __init__(self, screen: _Screen) -> None:
        super().__init__()
        self._screen = screen

    def isatty(self) -> bool:
        return True

    def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override] # of text, not of bytes
        self._screen.write("y\n")
        return "y\n"[:size]


class Team:
    """A repository on a server, and people who work with it.

    Args:
        base: An empty folder.
        people: Their names.
        edits: What an edit is called on the page → a function of the file and the team.
    """

    def __init__(self, base: Path, people: set[str], edits: Mapping[str, Callable[[Path, Team], None]]) -> None:
        self.server, self._edits = base / "shop.git", edits
        self._homes = {who: base / who for who in people}
        self._stopped = ""
        for who, home in self._homes.items():
            home.mkdir()
            url = f'[url "{base}/shop.git"]\n\tinsteadOf = https://git.example/acme/shop\n'
            user = f"[user]\n\tname = {who.title()}\n\temail = {who}@acme.example\n"
            (home / ".gitconfig").write_text(f"{url}{user}[advice]\n\tdetachedHead = false\n")
        sys.addaudithook(self._stop)

    def fingerprint(self, who: str) -> str:
        """Return the fingerprint in the trust file that a person sent."""
        found = re.search(r"[0-9a-f]{64}", (self._homes[who] / f"{who}.toml").read_text())
        assert found
        return found[0]

    def type(self, line: Line) -> tuple[int, str]:
        """Type a line, and return the exit status and what is on the screen."""
        status, shown = 0, ""
        for command in re.sub(r"\s+# exit \d+$", "", line.text).split(" && "):
            home = self._homes[line.who]
            folder = home / "shop" if (home / "shop").is_dir() else home
            edited, _, what = command.removeprefix("$EDITOR ").partition("   # ")
            if edited != command:
                self._edits[what](folder / edited, self)
                continue
            self._stopped = f"{folder}/" if line.stopped else ""
            status, more = self._run(command, home, folder)
            shown += more
            if status:
                break
        self._send()
        return status, shown

    def _run(self, command: str, home: Path, folder: Path) -> tuple[int, str]:
        env = {"HOME": str(home), "PATH": os.environ["PATH"], "NO_COLOR": "1", "COLUMNS": "200", "TERM": "dumb"}
        env |= {"LANG": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1"}
        if not command.startswith("rye "):
            words = ["bash", "-c", f"{command} 2>&1"]
            done = subprocess.run(words, cwd=folder, env=env, check=False, stdout=subprocess.PIPE)
            return done.returncode, done.stdout.decode()
        typed, _, target = command.partition(" > ")
        screen, out = _Screen(), io.StringIO()
        with pytest.MonkeyPatch.context() as patch, chdir(folder):
            for name in os.environ.keys() - env.keys():
                patch.delenv(name)
            for name, value in env.items():
                patch.setenv(name, value)
            patch.setattr("sys.stdin", _Yes(screen))
            with redirect_stderr(screen), redirect_stdout(out if target else screen):
                try:
                    status = main([os.path.expanduser(word) for word in shlex.split(typed)[1:]])
                except KeyboardInterrupt:
                    status = 130
        if target:
            Path(target.replace("~", str(home))).write_text(out.getvalue())
        return status, _seen(screen.getvalue())

    def _stop(self, event: str, values: tuple[Any, ...]) -> None:
        """Press Ctrl-C before the first file of the working copy is replaced."""
        if self._stopped and event == "os.rename" and str(values[1]).startswith(self._stopped):
            self._stopped = ""
            raise KeyboardInterrupt

    def _send(self) -> None:
        """Give everybody what somebody wrote to send it."""
        files = (path for home in self._homes.values() for path in home.glob("*.toml"))
        ordered = sorted(files, key=lambda path: path.stat().st_mtime_ns)
        for newest in {path.name: path for path in ordered}.values():
            for home in self._homes.values():
                if home != newest.parent:
                    shutil.copy2(newest, home)


def _seen(text: str) -> str:
    """Return what stays of a text on a terminal: what begins a line again replaces it."""
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).split("\n")
    return "\n".join(line.rpartition("\r")[2] for line in lines)
