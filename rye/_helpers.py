"""Other processes, of which none is to come from the working directory: helpers, and programs that are installed.

Who works in a checkout has it as working directory, where Python by itself looks for whatever is to be imported. A
helper is this very Python on rye itself, started isolated.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import BinaryIO, TypeVar

__all__ = ["find_program", "requests", "start"]

_START = (
    "import sys; module, *sys.path[:] = sys.argv[1:]\n"
    "from importlib import import_module; import_module(module).help_out()"
)

T = TypeVar("T")


def start(module: str) -> subprocess.Popen[bytes] | None:
    """Start a helper with the path of this process, but without the program that runs here; None when there is none.

    It runs ``help_out`` of a module of rye, is told what to do on standard input and answers on standard output.
    Entries of the path that depend on the working directory are left out.
    """
    if not sys.executable:
        return None
    options = ["-I", "-X", f"utf8={sys.flags.utf8_mode}", *(["-B"] if sys.dont_write_bytecode else [])]
    path = [entry for entry in sys.path if Path(entry).is_absolute()]
    try:
        return subprocess.Popen(  # noqa: S603 - this very Python, on a program of our own
            [sys.executable, *options, "-c", _START, module, *path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None


def find_program(name: str) -> str | None:
    """Return the place of a program on ``PATH``, None when it is on none of its absolute entries.

    A relative entry, and on Windows the working directory ahead of all entries, would let a checkout bring its own.
    """
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    found = shutil.which(name, path=os.pathsep.join(entry for entry in entries if Path(entry).is_absolute()))
    return found if found and Path(found).is_absolute() else None


def requests(read: Callable[[BinaryIO], T]) -> Iterator[T]:
    """Yield what a helper is told, for as long as there is somebody to tell it: then this process ends at once.

    A thread takes requests off standard input while others are worked on, so that who sends them need not wait.

    Args:
        read: Reads one; at the end of the stream it returns nothing or raises.
    """
    arrived: SimpleQueue[T] = SimpleQueue()

    def listen() -> None:
        try:
            while request := read(sys.stdin.buffer):
                arrived.put(request)
        finally:
            os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        yield arrived.get()
