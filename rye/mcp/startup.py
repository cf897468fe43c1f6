"""The options of a server, its pipe to the client, and a quick end of the process."""

from __future__ import annotations

import io
import os
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from rye.errors import EnvironmentFault
from rye.registry.where import Where

if TYPE_CHECKING:
    from rye.surface.listener import Http

GRACE = 3.0
"""Seconds until the process exits after it should end, even if a thread still waits."""


_AS_CONFIGURED = Where(may_choose_index=True)


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a server.

    Attributes:
        projects: The projects that callers may name; the first is the default. If empty, the default is the project
            around the working directory, and over stdio callers may name others.
        where: Places that all projects share.
        http: Where to listen; None for standard input and output.
    """

    projects: tuple[Path, ...] = ()
    where: Where = _AS_CONFIGURED
    http: Http | None = None


def take_wire() -> tuple[BinaryIO, BinaryIO]:
    """Return the streams to and from the client, and keep the rest of this process off them.

    From then on, everything that is printed goes to standard error, also from C libraries and child processes, and
    standard input is empty.

    Raises:
        EnvironmentFault: ``no-output`` if there is no standard input or output.
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
    """Return a stream as text; invalid UTF-8 is replaced."""
    return io.TextIOWrapper(stream, encoding="utf-8", errors="replace", newline="\n")


def end_soon() -> None:
    """End this process within :data:`GRACE` seconds, even if a thread does not end."""
    last = threading.Timer(GRACE, os._exit, (0,))
    last.daemon = True
    last.start()
