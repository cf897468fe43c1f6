"""Commands that are killed, interrupted or out of room at a chosen step, in a copy of this process.

A step is a change of the file system: a file opened to be written, renamed, linked or removed, a folder made. The hook
runs before the step, so every state between two steps is seen.
"""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.unit.cli.workshop import Workshop

_CHANGES = {"os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir", "os.chmod"}
Hook = Callable[[int, str], None]
"""Called with the number of a step and its event before it is taken."""

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


@dataclass(frozen=True)
class Scene:
    """A folder with a project and a home, set up once; each trial begins with a copy of it.

    Args:
        shop: The project.
        base: The folder that holds all of it.
    """

    shop: Workshop
    base: Path

    @property
    def _saved(self) -> Path:
        return self.base.with_name(f"{self.base.name}-saved")

    def save(self) -> None:
        """Keep the present state for :meth:`restore`."""
        shutil.copytree(self.base, self._saved, symlinks=True)

    def restore(self) -> None:
        """Go back to the state that was kept."""
        shutil.rmtree(self.base)
        shutil.copytree(self._saved, self.base, symlinks=True)

    def steps(self, *args: str) -> int:
        """Return how many steps a command takes, and go back to the state before it."""
        reader, writer = os.pipe()
        count = 0

        def counted(_at: int, _event: str) -> None:
            os.write(writer, b".")

        self._in_child(args, counted)
        os.close(writer)
        with os.fdopen(reader, "rb") as stream:
            count = len(stream.read())
        self.restore()
        return count

    def kill_at(self, step: int, *args: str) -> None:
        """Run a command that is killed before a step."""
        self._in_child(args, lambda at, _: os.kill(os.getpid(), signal.SIGKILL) if at == step else None)

    def fill_at(self, step: int, *args: str) -> None:
        """Run a command for which the disk has no room for new names from a step on."""

        def refuse(at: int, event: str) -> None:
            if at >= step and event in {"open", "os.link", "os.mkdir"}:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        self._in_child(args, refuse)

    def limit_to(self, size: int, *args: str) -> None:
        """Run a command that can write no file of more than ``size`` bytes."""
        self._in_child(args, lambda _at, _event: None, size=size)

    def interrupt_at(self, step: int, *args: str) -> str:
        """Run a command that gets Ctrl-C before a step, and return what it says on standard error."""
        said = self.base.with_name("said")

        def stop(at: int, _event: str) -> None:
            if at == step:
                raise KeyboardInterrupt

        self._in_child(args, stop, errors=said)
        return said.read_text()

    def _in_child(
        self, args: tuple[str, ...], hook: Hook, *, size: int | None = None, errors: Path | None = None
    ) -> None:
        child = os.fork()
        if child:
            os.waitpid(child, 0)
            return
        try:
            handle = os.open(errors or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            if size is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
            done = _hooked(self, args, hook)
            os.write(handle, done.encode())
        finally:
            os._exit(0)


def _hooked(scene: Scene, args: tuple[str, ...], hook: Hook) -> str:
    """Run the command in this process with a hook on its steps; return what it says on standard error."""
    steps = 0
    inside = tuple(str(scene.base / name) for name in ("project", "home"))

    def audit(event: str, values: tuple[Any, ...]) -> None:
        nonlocal steps
        is_step = event in _CHANGES or (event == "open" and values[2] & _WRITING)
        if is_step and str(values[0]).startswith(inside):
            steps += 1
            hook(steps, event)

    sys.addaudithook(audit)
    return scene.shop.run(*args).err


def spread(count: int, total: int) -> Iterator[int]:
    """Yield up to ``count`` steps of 1 to ``total``, evenly spread, the first and the last among them."""
    if total <= count:
        yield from range(1, total + 1)
    else:
        yield from (1 + round(at * (total - 1) / (count - 1)) for at in range(count))
