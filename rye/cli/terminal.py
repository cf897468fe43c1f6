"""What one output stream can show: colour, marks, width; and the only places where rye writes to it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TextIO

import click

from rye.cli.text import block, verbatim_json
from rye.errors import EnvironmentFault

__all__ = [
    "PLAIN",
    "VERDICT_MARKS",
    "Terminal",
    "json_text",
    "note",
    "prepare_streams",
    "say",
    "say_json",
    "say_raw",
    "silence",
]

VERDICT_MARKS: Mapping[str, tuple[str, str, str]] = {
    "trusted": ("✓", "+", "green"),
    "untrusted": ("?", "?", "yellow"),
    "partial": ("◐", "~", "yellow"),
    "misplaced": ("↷", ">", "magenta"),
    "tampered": ("✗", "x", "red"),
    "unsigned": ("–", "-", "yellow"),
}
"""Verdict → its mark, the mark where the encoding has no such sign, and its colour."""

_OTHER_MARKS = ("!", "!", "red")


@dataclass(frozen=True, slots=True)
class Terminal:
    """What a stream can show; ``width`` None means that lines are not wrapped, as nobody may be looking."""

    colour: bool = False
    unicode: bool = True
    width: int | None = None

    @classmethod
    def of(cls, stream: TextIO | None) -> Terminal:
        """Return what ``stream`` can show."""
        if stream is None:
            return PLAIN
        looked_at = _is_terminal(stream)
        width = max(40, shutil.get_terminal_size().columns) if looked_at else None
        return cls(colour=_wants_colour(looked_at=looked_at), unicode=_shows_marks(stream), width=width)

    def style(self, text: str, colour: str | None = None, *, bold: bool = False) -> str:
        """Return ``text``, which must be harmless already, in a colour or bold where the stream shows such."""
        return click.style(text, fg=colour, bold=bold or None) if self.colour and text else text

    def light(self, text: str) -> str:
        """Return ``text`` so that it stands out as a match."""
        return self.style(text, "yellow", bold=True)

    def dim(self, text: str) -> str:
        """Return ``text`` so that it steps back."""
        return click.style(text, dim=True) if self.colour and text else text

    def verdict(self, verdict: str, *, width: int = 0) -> str:
        """Return mark and word of a verdict, or of what stands for one, in its colour, filled up to ``width``."""
        mark, plain, colour = VERDICT_MARKS.get(verdict, _OTHER_MARKS)
        return self.style(f"{mark if self.unicode else plain} {verdict:<{width}}", colour)


PLAIN = Terminal()
"""A stream that is no terminal."""


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False


def _wants_colour(*, looked_at: bool) -> bool:
    """Decide as the conventions say: NO_COLOR wins, then a demand for colour, then CLICOLOR, then the terminal."""
    env = os.environ
    if env.get("NO_COLOR"):
        return False
    if any(env.get(name, "") not in {"", "0"} for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return looked_at and env.get("CLICOLOR") != "0" and env.get("TERM") != "dumb"


def _shows_marks(stream: TextIO) -> bool:
    try:
        "".join(mark for mark, _, _ in VERDICT_MARKS.values()).encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def prepare_streams() -> None:
    """Let no character stop the output: what the encoding lacks is written as an escape."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def say(text: str) -> None:
    """Write harmless text to standard output, with a line end."""
    _stream().write(f"{text}\n")


def say_raw(text: str) -> None:
    """Write text as it is, byte for byte; harmless and with a line end to a terminal."""
    stream = _stream()
    if _is_terminal(stream):
        say(block(text))
        return
    data = text.encode("utf-8", "surrogateescape")
    buffer = getattr(stream, "buffer", None)
    if buffer is None:
        stream.write(data.decode("utf-8", "backslashreplace"))
        return
    stream.flush()
    buffer.write(data)


def say_json(value: Any, *, lines: bool = False) -> None:
    """Write one JSON value to standard output; on a single line where ``lines``."""
    stream = _stream()
    unicode = (stream.encoding or "").lower().replace("-", "").startswith("utf")
    say(json_text(value, indent=None if lines else 2, ascii_only=not unicode))


def json_text(value: Any, *, indent: int | None = 2, ascii_only: bool = False) -> str:
    """Return JSON that is safe to look at: no control, invisible or lone surrogate character stands in it raw."""
    import json

    return verbatim_json(json.dumps(value, ensure_ascii=ascii_only, indent=indent, default=str))


def note(text: str) -> None:
    """Write harmless text to standard error, after all that standard output has so far."""
    if sys.stdout is not None:
        sys.stdout.flush()
    if sys.stderr is not None:
        sys.stderr.write(f"{text}\n")


def silence(*streams: TextIO | None) -> None:
    """Point streams at nothing, so that the interpreter's own flush at its end cannot fail aloud."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:
        try:
            if stream is not None:
                os.dup2(nothing, stream.fileno())
        except (OSError, ValueError):
            continue
    os.close(nothing)


def _stream() -> TextIO:
    if sys.stdout is None:
        raise EnvironmentFault("no-output", "standard output is closed", hint="redirect it to a file or /dev/null")
    return sys.stdout
