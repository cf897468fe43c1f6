"""The path of every document, kept as what the item's type and id do not say of it already."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from operator import add, eq
from typing import Any

import numpy as np
import numpy.typing as npt

from rye.index.packing import pack_table
from rye.index.strings import Strings
from rye.items.model import ItemType

_STARTS = tuple(f"{kind.folder}/" for kind in ItemType)
_AFTER, _WHOLE = "+", "="
"""Before what follows the id in a path, and before a path that does not begin with it."""


def pack(paths: Sequence[str], types: Sequence[int], ids: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays ``path*`` of the path of each document, given its type number and id."""
    starts = map(add, map(_STARTS.__getitem__, types), ids)
    rests = list(map(str.removeprefix, paths, starts))
    whole = map(eq, map(len, rests), map(len, paths))
    rests = list(map(add, map((_AFTER, _WHOLE).__getitem__, whole), rests))
    return pack_table("path", rests)


class Paths:
    """Reads what :func:`pack` made.

    Args:
        numbers: Shape ``(docs,)``: which of the rests a path ends with.
        rests: The distinct rests.
        types: Shape ``(docs,)``: the type number of every document.
        ids: The id of every document.
    """

    def __init__(self, numbers: npt.NDArray[Any], rests: Strings, types: npt.NDArray[np.uint8], ids: Strings) -> None:
        self._numbers = numbers
        self._rests = rests
        self._types = types
        self._ids = ids

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, doc: int) -> str:
        rest = self._rests[int(self._numbers[doc])]
        return rest[1:] if rest[0] == _WHOLE else f"{_STARTS[self._types[doc]]}{self._ids[doc]}{rest[1:]}"

    def take(self, docs: npt.NDArray[np.integer]) -> list[str]:
        """Return several paths."""
        return self._joined(self._numbers[docs], self._types[docs], self._ids.take(docs))

    @cached_property
    def everything(self) -> list[str]:
        """All paths."""
        return self._joined(self._numbers, self._types, self._ids.everything)

    def _joined(self, numbers: npt.NDArray[Any], types: npt.NDArray[np.uint8], ids: list[str]) -> list[str]:
        rests = self._rests.everything
        rows = zip(numbers.tolist(), types.tolist(), ids, strict=True)
        return [
            rests[number][1:] if rests[number][0] == _WHOLE else f"{_STARTS[kind]}{item_id}{rests[number][1:]}"
            for number, kind, item_id in rows
        ]
