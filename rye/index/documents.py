"""What every file of documents has: the columns of a segment, and of a run, which is yet to become part of one."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rye.index.blocks import Blocks
from rye.index.container import Container
from rye.index.paths import Paths
from rye.index.records import Records
from rye.index.relations_columns import EdgeColumns
from rye.index.strings import Strings

Array = npt.NDArray[Any]


class Documents:
    """Typed views of the memory-mapped columns of a file.

    Raises:
        DamagedError: The file is none that this version can read.
    """

    def __init__(self, path: Path) -> None:
        self._file = Container(path)

    def check(self) -> None:
        """Read all of the file and compare it with its checksums.

        Raises:
            DamagedError: It is not what was written.
        """
        self._file.check()

    def _array(self, name: str) -> Array:
        return self._file.array(name)

    def _strings(self, name: str) -> Strings:
        return Strings(self._array(f"{name}.offsets"), self._file.buffer(f"{name}.buffer"))

    def _blocks(self, name: str) -> Blocks:
        return Blocks(
            int(self._array(f"{name}.count")[0]),
            self._strings(f"{name}.head"),
            self._array(f"{name}.ends"),
            self._file.buffer(f"{name}.blocks"),
            bits=self._file.buffer(f"{name}.filter"),
        )

    @cached_property
    def edges(self) -> EdgeColumns:
        """What its documents refer to."""
        return EdgeColumns.read(self._array, self._blocks)

    @cached_property
    def ids(self) -> Strings:
        """The item id of every document."""
        return self._strings("id")

    @cached_property
    def paths(self) -> Paths:
        """The path of every document, relative to the space root."""
        return Paths(self._array("path"), self._strings("path"), self.types, self.ids)

    @cached_property
    def evidence(self) -> Records:
        """What the bytes of every document prove."""
        return Records(self._array, self._strings)

    @cached_property
    def types(self) -> npt.NDArray[np.uint8]:
        """The item type number of every document."""
        return self._array("doc.type")

    @cached_property
    def times(self) -> npt.NDArray[np.float64]:
        """Seconds since 1970 of the last change an item states, NaN where it states none."""
        return self._array("doc.time")
