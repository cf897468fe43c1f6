"""Which files an index generation was made from, so that a refresh can tell in one comparison that nothing changed."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rye.index import container
from rye.index.container import Container, DamagedError
from rye.index.packing import smallest

RACY_NS = 50_000_000
"""A file changed this shortly before it was read may change again within one tick of its clock; it is read anew."""

_NEVER = -1
_COLUMNS = 4


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

    paths: Sequence[str]
    stats: npt.NDArray[np.int64]
    problems: tuple[Problem, ...] = ()
    stamp: str = ""
    listing: str = ""

    def same_files(self, paths: Sequence[str], stats: npt.NDArray[np.int64]) -> bool:
        """Return whether a walk found exactly these files, unchanged."""
        return len(paths) == len(self.paths) and np.array_equal(stats, self.stats) and tuple(paths) == tuple(self.paths)

    def settled(self, now_ns: int) -> Manifest:
        """Return the manifest with files that changed just before ``now_ns`` marked to be read anew."""
        stats = self.stats.copy()
        if len(stats):
            recent = np.abs(self.stats[:, 1:3] - now_ns) < RACY_NS
            stats[recent.any(axis=1) | (self.stats[:, 2] > now_ns), 1] = _NEVER
        return replace(self, stats=stats)

    def write(self, path: Path) -> None:
        """Write to a file, replacing it whole."""
        blob = zlib.compress("\0".join(self.paths).encode("utf-8", "surrogateescape"), 1)
        least = self.stats.min(axis=0, initial=0)
        meta: dict[str, Any] = {
            "problems": [[p.path, p.code, p.message] for p in self.problems],
            "stamp": self.stamp,
            "listing": self.listing,
            "files": len(self.paths),
            "least": least.tolist(),
        }
        above = self.stats.view(np.uint64) - least.view(np.uint64)
        arrays = {f"stats.{column}": smallest(above[:, column]) for column in range(_COLUMNS)}
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        temporary.unlink(missing_ok=True)
        container.write(temporary, {"paths": np.frombuffer(blob, np.uint8), **arrays}, meta)
        temporary.replace(path)

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """Read a manifest.

        Raises:
            DamagedError: The file is missing or not a manifest.
        """
        file = Container(path)
        try:
            paths = _Paths(int(file.meta["files"]), bytes(file.buffer("paths")))
            columns = [file.array(f"stats.{column}").astype(np.uint64) for column in range(_COLUMNS)]
            least = np.asarray(file.meta["least"], np.int64)
            stats = (np.stack(columns, axis=1) + least.view(np.uint64)).view(np.int64)
            problems = tuple(Problem(*map(str, row)) for row in file.meta["problems"])
            stamp, listing = str(file.meta["stamp"]), str(file.meta["listing"])
            sizes = len(paths), paths.counted(), len(stats)
        except (KeyError, ValueError, TypeError, zlib.error) as error:
            message = f"{path.name}: {error}"
            raise DamagedError(message) from error
        if len(set(sizes)) > 1:
            message = f"{path.name}: {sizes[0]} files, {sizes[1]} paths, {sizes[2]} stats"
            raise DamagedError(message)
        return cls(paths, stats, problems, stamp, listing)


class _Paths(Sequence[str]):
    """The paths of a manifest on disk: compressed, until a refresh compares them."""

    def __init__(self, count: int, packed: bytes) -> None:
        self._count = count
        self._packed = packed

    def __len__(self) -> int:
        return self._count

    def counted(self) -> int:
        """Return how many paths there really are."""
        blob = zlib.decompress(self._packed)
        return blob.count(b"\0") + 1 if blob else 0

    @cached_property
    def _unpacked(self) -> tuple[str, ...]:
        blob = zlib.decompress(self._packed).decode("utf-8", "surrogateescape")
        return tuple(blob.split("\0")) if blob else ()

    def __getitem__(self, index: Any) -> Any:
        return self._unpacked[index]

    def __iter__(self) -> Iterator[str]:
        return iter(self._unpacked)
