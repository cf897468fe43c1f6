"""A person at a terminal: ``rye`` in a pseudo-terminal, keys in, and the screen as they see it."""

from __future__ import annotations

import os
import select
import signal
import struct
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import pyte

__all__ = ["DOWN", "ENTER", "ESCAPE", "INTERRUPT", "PAGE_DOWN", "Typist"]

ESCAPE, ENTER, DOWN, PAGE_DOWN, INTERRUPT = "\x1b", "\r", "\x1b[B", "\x1b[6~", "\x03"
_PATIENCE = 30.0
_LINGERING = 2.0
"""Seconds for which what a process wrote may take to arrive after its end."""


class Typist:
    """One run of ``rye`` on a terminal of its own.

    Args:
        words: After ``rye``.
        cwd: Where it runs.
        env: Its environment.
        columns, lines: Size of the terminal.
    """

    def __init__(self, *words: str, cwd: Path, env: Mapping[str, str], columns: int = 120, lines: int = 30) -> None:
        import fcntl
        import pty
        import termios

        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)
        self.raw = b""
        self.pid, self._fd = pty.fork()
        if self.pid == 0:  # pragma: no cover - the other process
            os.chdir(cwd)
            os.execve(sys.executable, [sys.executable, "-m", "rye", *words], dict(env))  # noqa: S606 - no shell is wanted
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self._status: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self._fd)

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._fd, keys.encode())

    @property
    def screen(self) -> str:
        """What is to be seen, line by line."""
        return "\n".join(line.rstrip() for line in self._screen.display)

    def cells(self) -> list[list[tuple[str, str, bool]]]:
        """Return each line as its cells: character, name of the colour, and whether it is bold."""
        rows = [self._screen.buffer[at] for at in range(self._screen.lines)]
        each_row = ([row[at] for at in range(self._screen.columns)] for row in rows)
        return [[(cell.data, cell.fg, cell.bold) for cell in row] for row in each_row]

    def _read(self, seconds: float) -> bool:
        """Take in what is written within so many seconds; False once nothing more will come."""
        if not select.select([self._fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self._fd, 1 << 16)
        except OSError:  # the other end is closed
            return False
        self.raw += data
        self._stream.feed(data)
        if b"\x1b[6n" in data:  # it asks where the cursor is
            os.write(self._fd, f"\x1b[{self._screen.cursor.y + 1};{self._screen.cursor.x + 1}R".encode())
        return bool(data)

    def wait_for(self, *texts: str) -> str:
        """Wait until all texts are to be seen at once, and return the screen; it is written piece by piece."""
        until = time.monotonic() + _PATIENCE
        while missing := [text for text in texts if text not in self.screen]:
            if time.monotonic() > until or not self._read(0.2):
                message = f"{missing} is not to be seen:\n{self.screen}"
                raise AssertionError(message)
        return self.screen

    def end(self) -> int:
        """Wait for the end, and return the exit status, or the negative number of the signal."""
        until = time.monotonic() + _PATIENCE
        while self._read(0.2):
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                self._status = os.waitstatus_to_exitcode(status)
                last = time.monotonic() + _LINGERING
                while self._read(0.1) and time.monotonic() < last:
                    pass
                return self._status
            assert time.monotonic() < until, self.screen
        self._status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._status
