"""The user's pager, started without a shell."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import PurePath

from rye._process import find_program
from rye.cli.terminal import Terminal, show


def _program(text: str) -> list[str]:
    """Return the words of a variable that names a program, with its absolute path; empty if there is none."""
    try:
        words = shlex.split(text)
    except ValueError:
        return []
    path = find_program(words[0]) if words else None
    return [path, *words[1:]] if path else []


def show_paged(lines: Iterable[str], terminal: Terminal) -> None:
    """Write escaped lines to standard output, through the pager if they do not fit on the terminal.

    ``PAGER`` names the pager, by default ``less``, which gets ``-R`` to show colours.
    """
    listed = list(lines)
    size = shutil.get_terminal_size()
    rows = 0
    if terminal.width is not None:
        rows = sum(1 + len(row) // size.columns for line in listed for row in line.split("\n"))
    is_watched = rows >= size.lines and sys.stdin is not None and sys.stdin.isatty()
    words = _program(os.environ.get("PAGER", "less")) if is_watched else []
    if not words:
        show(listed)
        return
    if PurePath(words[0]).stem == "less":
        words.append("-R")
    sys.stdout.flush()
    with subprocess.Popen(words, stdin=subprocess.PIPE, env={"LESS": "FRX"} | os.environ) as pager:  # noqa: S603 - as above
        former = signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is for the pager
        try:
            with suppress(BrokenPipeError):
                pager.communicate("\n".join([*listed, ""]).encode("utf-8", "backslashreplace"))
        except BaseException:
            pager.terminate()
            raise
        finally:
            signal.signal(signal.SIGINT, former)
