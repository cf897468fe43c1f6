"""The keyword entries of the documents of a segment, collected in columns and packed.

Values that items have in common, such as an author, are folded and numbered when they are first met. Those by which
items are told from one another, such as the id, are folded as whole columns when the segment is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import TypeVar

import numpy as np

from rye.index.laying import pack_entries, ranked
from rye.index.packing import Arrays, Ints
from rye.index.schema import OWN_KEYS, SHARED_KEYS, Place, entries, keyword_values, own_columns, shared_columns
from rye.index.tokens import Interned
from rye.items.model import Item

Written = TypeVar("Written")


class _Once(dict[Written, int]):
    """What is written → number of its keyword entry, asked for once however many items have it."""

    def __init__(self, number: Callable[[Written], int]) -> None:
        super().__init__()
        self._number = number

    def __missing__(self, written: Written) -> int:
        found = self[written] = self._number(written)
        return found


class EntryWriter:
    """Collects the entries of documents, in their order, and packs them."""

    def __init__(self) -> None:
        self._shared = Interned()
        self._of_pair = _Once[tuple[str, str]](lambda pair: self._number(*pair))
        self._of_value = {key: _Once[str](partial(self._number, key)) for key in SHARED_KEYS}
        self._numbers: list[Ints] = []
        self._docs: list[Ints] = []
        self._own: list[list[str]] = [[] for _ in OWN_KEYS]

    def _number(self, key: str, value: str) -> int:
        return self._shared[entries(key, [value])[0]] if value else -1

    def add(self, items: Sequence[Item], places: Sequence[Place]) -> None:
        """Add the entries of further documents."""
        docs = np.arange(len(items)) + len(self._own[0])
        for known, values in zip(self._of_value.values(), shared_columns(items, places), strict=True):
            self._numbers.append(np.fromiter(map(known.__getitem__, values), np.int64, len(items)))
            self._docs.append(docs)
        groups = list(map(keyword_values, items))
        pairs = list(chain.from_iterable(groups))
        self._numbers.append(np.fromiter(map(self._of_pair.__getitem__, pairs), np.int64, len(pairs)))
        self._docs.append(np.repeat(docs, list(map(len, groups))))
        for column, values in zip(self._own, own_columns(items, places), strict=True):
            column.extend(values)

    def arrays(self) -> Arrays:
        """Return the arrays ``entry.*``."""
        shared, docs = np.concatenate(self._numbers), np.concatenate(self._docs)
        owners = [docs[shared >= 0]]
        columns = []
        for key, values in zip(OWN_KEYS, self._own, strict=True):
            owners.append(np.flatnonzero(np.fromiter(map(bool, values), bool, len(values))))
            columns.append(entries(key, [value for value in values if value]))
        ordered, number = ranked(chain(self._shared, *columns))
        rank = number(self._shared)
        numbers = np.concatenate([rank[shared[shared >= 0]], *map(number, columns)])
        pairs = (numbers << 32) | np.concatenate(owners)
        pairs.sort()
        pairs = pairs[np.diff(pairs, prepend=-1) != 0]
        return pack_entries(ordered, pairs >> 32, pairs & 0xFFFFFFFF)
