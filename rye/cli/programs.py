"""The user's own programs that show or change what rye has found: the editor and the pager. No shell is started."""

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
from rye._text import inline
from rye.cli.terminal import Terminal, show
from rye.errors import EnvironmentFault

_AT_LINE = {"code": "--goto", "codium": "--goto", "cursor": "--goto", "subl": "", "zed": "", "hx": "", "helix": ""}
"""Editors that take PATH:LINE, and the option before it."""

_PLUS = {"emacs", "emacsclient", "ex", "gvim", "joe", "kak", "mg", "micro", "nano", "ne", "nvim", "vi", "view", "vim"}
"""Programs that take +LINE before the path."""


def edit(path: str, line: int) -> None:
    """Open a file in the user's editor, at a line if rye knows how the editor takes one, and wait for its end.

    Raises:
        EnvironmentFault: ``no-editor``: none is named, or it is not on PATH; ``editor-failed``.
    """
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    words = _program(named)
    if not words:
        fault = f"the editor {named!r} is not found" if named.strip() else "no editor is named"
        hint = f"set VISUAL or EDITOR, as in: EDITOR=nano; the file is {inline(path)}"
        raise EnvironmentFault("no-editor", fault, hint=hint)
    name = PurePath(words[0]).stem.lower()
    if line > 1 and name in _AT_LINE:
        words += [*filter(None, [_AT_LINE[name]]), f"{path}:{line}"]
    else:
        words += [*([f"+{line}"] if line > 1 and name in _PLUS else []), path]
    status = subprocess.run(words, check=False).returncode  # noqa: S603 - the user's own editor, without a shell
    if status:
        raise EnvironmentFault("editor-failed", f"{words[0]} ended with status {status}")


def _program(text: str) -> list[str]:
    """Return the words of a variable that names a program, the first as its path; nothing where it is not there."""
    try:
        words = shlex.split(text)
    except ValueError:
        return []
    found = find_program(words[0]) if words else None
    return [found, *words[1:]] if found else []


def show_paged(lines: Iterable[str], terminal: Terminal) -> None:
    """Write harmless lines to standard output, through the user's pager if it is a terminal that they do not fit.

    ``PAGER`` names the pager, by default ``less``, which is started with ``-R`` so that it shows colours.
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
