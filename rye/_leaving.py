"""Folders that go with this process, also when a signal ends it, of which ``atexit`` does not hear."""

from __future__ import annotations

import atexit
import os
from pathlib import Path

__all__ = ["leave", "remove_at_end"]

_FOLDERS: list[tuple[int, Path]] = []


def remove_at_end(folder: Path) -> None:
    """Let a folder be removed at the end of this process."""
    _FOLDERS.append((os.getpid(), folder))


@atexit.register
def leave() -> None:
    """Remove the folders now; a copy of the process leaves those that are not its own."""
    while _FOLDERS:
        import shutil

        process, folder = _FOLDERS.pop()
        if process == os.getpid():
            shutil.rmtree(folder, ignore_errors=True)
