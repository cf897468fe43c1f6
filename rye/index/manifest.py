"""Which files an index generation was made from, so that a refresh can tell in one comparison that nothing changed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rye.index import container
from rye.index.container import Container, DamagedError

RACY_NS = 50_000_000
"""A file changed this shortly before it was read may change again within one tick of its clock; it is read anew."""

_NEVER = -1


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that is no item although its name says so, or a place that could not be looked into."""

    path: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The files of one generation.

    Attributes:
        paths: Relative paths in the order of the walk.
        stats: Shape ``(n, 4)``: size, mtime_ns, ctime_ns, inode; mtime −1 marks a file to be read anew.
        problems: Files among ``paths`` that are not in the index, with the reason.
        stamp: Version and location of a root that is not scanned while they stay the same; empty otherwise.
        listing: Digest of the segments and deletions of the generation: Whoosh's own list has no checksum.
    """

    paths: tuple[str, ...]
    stats: npt.NDArray[np.int64]
    problems: tuple[Problem, ...] = ()
    stamp: str = ""
    listing: str = ""

    def same_files(self, paths: Sequence[str], stats: npt.NDArray[np.int64]) -> bool:
        """Return whether a walk found exactly these files, unchanged."""
        return len(paths) == len(self.paths) and tuple(paths) == self.paths and np.array_equal(stats, self.stats)

    def settled(self, now_ns: int) -> Manifest:
        """Return the manifest with files that changed just before ``now_ns`` marked to be read anew."""
        stats = self.stats.copy()
        if len(stats):
            recent = np.abs(self.stats[:, 1:3] - now_ns) < RACY_NS
            stats[recent.any(axis=1) | (self.stats[:, 2] > now_ns), 1] = _NEVER
        return replace(self, stats=stats)

    def write(self, path: Path) -> None:
        """Write to a file, replacing it whole."""
        blob = "\0".join(self.paths).encode("utf-8", "surrogateescape")
        meta: dict[str, Any] = {
            "problems": [[p.path, p.code, p.message] for p in self.problems],
            "stamp": self.stamp,
            "listing": self.listing,
        }
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        temporary.unlink(missing_ok=True)
        container.write(temporary, {"paths": np.frombuffer(blob, np.uint8), "stats": self.stats}, meta)
        temporary.replace(path)

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """Read a manifest.

        Raises:
            DamagedError: The file is missing or not a manifest.
        """
        file = Container(path)
        try:
            blob = bytes(file.buffer("paths")).decode("utf-8", "surrogateescape")
            paths = tuple(blob.split("\0")) if blob else ()
            stats: npt.NDArray[np.int64] = file.array("stats").reshape(-1, 4)
            problems = tuple(Problem(*map(str, row)) for row in file.meta["problems"])
            stamp, listing = str(file.meta["stamp"]), str(file.meta["listing"])
        except (KeyError, ValueError, TypeError) as error:
            message = f"{path.name}: {error}"
            raise DamagedError(message) from error
        if len(paths) != len(stats):
            message = f"{path.name}: {len(paths)} paths, {len(stats)} stats"
            raise DamagedError(message)
        return cls(paths, stats, problems, stamp, listing)
