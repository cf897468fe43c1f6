"""Which large files have been found whole: that reads all of a file, so it is not done whenever one is opened.

What is known stands in one file of the folder: by name, what the file was when it was checked, and when. A file that
was changed or copied since is checked again, and any file once a day, because disks forget bytes without a word. All
of it is only a hint: what cannot be read or written costs a check.
"""

from __future__ import annotations

import json
import logging
import os
import time
from pathlib import Path

from rye.index.regular import opener

logger = logging.getLogger(__name__)

NAME = "checked"
EVERY = 86_400.0
"""Seconds for which a check counts."""

_MOST_BYTES = 1 << 20

_Known = dict[str, list[float]]


def is_known(path: Path, status: os.stat_result) -> bool:
    """Return whether a file, as it is, was found whole within a day."""
    *identity, when = _read(path.parent).get(path.name, [0.0])
    return identity == _identity(status) and 0 <= time.time() - when < EVERY


def note(path: Path) -> None:
    """Remember that a file is whole as it is, and forget those that are gone."""
    try:
        known = {name: row for name, row in _read(path.parent).items() if (path.parent / name).exists()}
        known[path.name] = [*_identity(path.stat()), time.time()]
        with open(path.parent / NAME, "w", encoding="utf-8", opener=opener) as file:
            file.write(json.dumps(known))
    except (OSError, ValueError) as error:
        logger.info("check of %s not kept: %s", path.name, error)


def _identity(status: os.stat_result) -> list[float]:
    return [status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def _read(folder: Path) -> _Known:
    try:
        with open(folder / NAME, "rb", opener=opener) as file:
            found = json.loads(file.read(_MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    rows = {name: row for name, row in found.items() if isinstance(row, list) and row}
    return {name: row for name, row in rows.items() if all(isinstance(number, (int, float)) for number in row)}
