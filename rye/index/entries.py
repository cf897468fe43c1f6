"""The keyword entries of the documents of a segment, collected in columns and packed.

Values that items have in common, such as an author, are folded and numbered when they are first met. Those by which
items are told from one another, such as the id, are folded as whole columns when the segment is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from operator import attrgetter

import numpy as np

from rye.index.laying import Columns, pack_entries
from rye.index.packing import Arrays, Ints, pack_strings, smallest
from rye.index.ranking import ranked
from rye.index.schema import (
    OWN_KEYS,
    SEPARATOR,
    SHARED_KEYS,
    Place,
    entries,
    fold_value,
    keyword_columns,
    shared_columns,
)
from rye.index.spilling import Run
from rye.index.tokens import Interned
from rye.items.model import Item


class _Once(dict[str, int]):
    """What is written → number of its keyword entry, asked for once however many items have it."""

    def __init__(self, number: Callable[[str], int]) -> None:
        super().__init__()
        self._number = number

    def __missing__(self, written: str) -> int:
        found = self[written] = self._number(written)
        return found


class EntryWriter:
    """Collects the entries of documents, in their order, and packs them."""

    def __init__(self) -> None:
        self._shared = Interned()
        self._of_value: dict[str, _Once] = {}
        self._numbers: list[Ints] = []
        self._docs: list[Ints] = []
        self._names: list[str] = []
        self._titles: list[str] = []

    def _number(self, key: str, value: str) -> int:
        return self._shared[f"{key}{SEPARATOR}{fold_value(value)}"] if value else -1

    def add(self, items: Sequence[Item], places: Sequence[Place]) -> None:
        """Add the entries of further documents."""
        each = range(len(items))
        for key, values in zip(SHARED_KEYS, shared_columns(items, places), strict=True):
            self._add(key, values, each)
        for key, some, owners in keyword_columns(items):
            self._add(key, some, owners)
        self._names += map(attrgetter("name"), items)
        self._titles += map(attrgetter("title"), items)

    def _add(self, key: str, values: Sequence[str], owners: Sequence[int]) -> None:
        """Add what is written under one key, and which of the items added now each value belongs to."""
        if key not in self._of_value:
            self._of_value[key] = _Once(partial(self._number, key))
        numbers = np.fromiter(map(self._of_value[key].__getitem__, values), np.int64, len(values))
        given = numbers >= 0
        self._numbers.append(numbers[given])
        self._docs.append(np.asarray(owners, np.int64)[given] + len(self._names))

    def take(self, run: Run) -> None:
        """Add the entries of the documents of a run."""
        shared = run.texts("shared")
        numbers = np.fromiter(map(self._shared.__getitem__, shared), np.int64, len(shared))
        self._numbers.append(numbers[run.array("pair.entry")])
        self._docs.append(run.array("pair.doc").astype(np.int64) + len(self._names))
        self._names += run.texts("name")
        self._titles += run.texts("title")

    def run_arrays(self) -> Arrays:
        """Return the arrays of a run."""
        return {
            **pack_strings("shared", list(self._shared)),
            "pair.entry": smallest(np.concatenate(self._numbers)),
            "pair.doc": smallest(np.concatenate(self._docs)),
            **pack_strings("name", self._names),
            **pack_strings("title", self._titles),
        }

    def arrays(self, columns: Columns) -> Arrays:
        """Return the arrays ``entry.*``, given the columns of the same documents."""
        own = (columns.keys(), columns.paths, columns.ids, self._names, self._titles)
        owners, texts = list(self._docs), []
        for key, values in zip(OWN_KEYS, own, strict=True):
            owners.append(np.flatnonzero(np.fromiter(map(bool, values), bool, len(values))))
            texts.append(entries(key, [value for value in values if value]))
        ordered, numbers = ranked([*self._shared, *chain.from_iterable(texts)])
        shared = numbers[np.concatenate(self._numbers)]
        pairs = (np.concatenate([shared, numbers[len(self._shared) :]]) << 32) | np.concatenate(owners)
        pairs.sort()
        pairs = pairs[np.diff(pairs, prepend=-1) != 0]
        return pack_entries(ordered, pairs >> 32, pairs & 0xFFFFFFFF)
