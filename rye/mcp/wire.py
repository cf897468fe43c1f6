"""The pipe to the client, kept for the protocol alone."""

from __future__ import annotations

import io
import os
import sys
from typing import BinaryIO

from rye.errors import EnvironmentFault

__all__ = ["take_wire", "text_of"]


def take_wire() -> tuple[BinaryIO, BinaryIO]:
    """Return what the client is read from and written to; nothing else in this process has either any more.

    From here on, to the end of the process, whatever is printed goes to standard error, also by a library in C or a
    child, and standard input is empty.

    Raises:
        EnvironmentFault: ``no-output`` when there is no standard input or output.
    """
    if sys.stdin is None or sys.stdout is None:
        hint = "start it from a client, or use --http"
        raise EnvironmentFault("no-output", "standard input or output is closed", hint=hint)
    reading, writing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # standard error is closed
        os.dup2(nothing, 1)
    os.close(nothing)
    return os.fdopen(reading, "rb"), os.fdopen(writing, "wb")


def text_of(stream: BinaryIO) -> io.TextIOWrapper:
    """Return a stream as text of the protocol, in which bytes that are none do not end the server."""
    return io.TextIOWrapper(stream, encoding="utf-8", errors="replace", newline="\n")
