"""What every file of documents has: the columns of a segment, and of a run, which is yet to become part of one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from operator import add, eq
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rye.index.arrays import Arrays, Ints, pack_table, ranked, smallest
from rye.index.container import Container
from rye.index.docvalues import Blocks
from rye.index.evidence_column import Records
from rye.index.relation_columns import EdgeColumns
from rye.index.schema import FIELD_BITS, TYPE_NAMES
from rye.index.terms import Strings
from rye.items.model import ItemType

# -- The path of every document, kept as what the item's type and id do not say of it already.
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
        return EdgeColumns(self._array, self._blocks)

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


# -- What the weight of a posting hangs on besides tf, its field and the length of that, as one small number: a
LENGTH_BITS = 16 - FIELD_BITS
"""The length of a field fits, in parts, unless it is very long."""

MOST = 1 << 24
"""Postings of a segment whose codes are put in order; each takes two bytes of memory."""

OFTEN = 4
"""They are once a posting in so many has been looked up, which takes some hundred queries for common words."""

_AT_A_TIME = 1 << 18

Codes = npt.NDArray[np.uint16]


def codes_by_slot(lengths: npt.NDArray[Any]) -> Codes | None:
    """Return codes by slot, see :func:`rye.index.segment.slot_keys`; None where the length of some field does not fit.

    Args:
        lengths: Shape ``(fields, docs)``.
    """
    if int(lengths.max(initial=0)) >> LENGTH_BITS:
        return None
    found = np.zeros((lengths.shape[1], 1 << FIELD_BITS), np.uint16)
    found[:, : len(lengths)] = lengths.T
    found |= np.arange(1 << FIELD_BITS, dtype=np.uint16) << np.uint16(LENGTH_BITS)
    return found.ravel()


def codes_in_order(by_slot: Codes, posting: npt.NDArray[Any], shift: Any) -> Codes:
    """Return the codes of all postings; ``shift`` are the bits of each below its slot."""
    found = np.empty(len(posting), np.uint16)
    for start in range(0, len(posting), _AT_A_TIME):
        slots = posting[start : start + _AT_A_TIME] >> shift
        found[start : start + _AT_A_TIME] = by_slot.take(slots.astype(np.int64))
    return found


# -- The place of every document of a segment in the two orders that need no query: by id, and by name.
def name_key(item_id: str) -> str:
    """Return what hits are ordered by when they are ordered by name."""
    return item_id.rpartition("/")[2].casefold()


def rank_arrays(ids: Sequence[str], types: Sequence[int], paths: Sequence[str]) -> Arrays:
    """Return both arrays of a segment."""
    distinct, places = ranked(ids)
    rows = [places]
    if len(distinct) < len(ids):
        kinds = ranked(TYPE_NAMES)[1][np.asarray(types, np.int64)]
        rows = [ranked(paths)[1], kinds, places]
    by_id = np.lexsort(rows)
    names = list(map(str.casefold, [item_id[item_id.rfind("/") + 1 :] for item_id in ids]))  # as name_key() says
    by_name = by_id[np.argsort(ranked(names)[1][by_id], kind="stable")]
    return {"doc.rank": _places(by_id), "doc.name": _places(by_name)}


def _places(order: Ints) -> Ints:
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return smallest(places)
