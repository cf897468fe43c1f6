"""What a document on a cluster says of references: those of its item, and what the item may be called by others.

Both are of the item alone, so they change with it only. A lookup is one word: how to look, and the key in 16 digits.
What may refer to an item is found by the four lookups that name it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np

from rye.index.arrays import Ints
from rye.index.references import BY_NAME, TYPE_BITS, TYPED, Lookup, beside, key_of, name_of
from rye.index.relations import Edge, edges_of
from rye.index.schema import TYPE_NUMBER
from rye.index.segment import Segment
from rye.items.model import Item
from rye.spaces.model import Root
from rye.spaces.signed import ReadItem

FIELDS: dict[str, Any] = {
    "refers": {"type": "keyword", "doc_values": False},
    "called": {"type": "keyword"},
}
"""The mapping of these fields."""


def words(lookups: Iterable[Lookup]) -> list[str]:
    """Return the words of lookups: how to look, and the key in 16 digits."""
    return [f"{how}{key:016x}" for how, key in lookups]


def called(id_key: int, name_key: int) -> list[str]:
    """Return the words that an item is found by, given the keys of its id and its name with its type."""
    pairs = ((key, how) for key, how in ((id_key, 0), (name_key, BY_NAME)))
    return words(
        lookup
        for key, how in pairs
        for lookup in (Lookup(how, key >> TYPE_BITS << TYPE_BITS), Lookup(how | TYPED, key))
    )


def called_of(item: Item) -> list[str]:
    """Return the words that an item is found by."""
    return called(*(key_of(text, TYPE_NUMBER[item.type]) for text in (item.id, name_of(item.id))))


def of_bytes(root: Root, path: str, read: ReadItem) -> list[Edge]:
    """Return the references that the bytes of an item state, given where it lies."""
    near = partial(beside, root.client, path) if root.client else None
    return edges_of(read.item, read.suffix, read.data, beside=near)


def fields_of(segment: Segment, docs: Ints) -> Iterator[dict[str, list[str]]]:
    """Yield these fields of some documents of a segment."""
    edges = segment.edges
    bounds = np.searchsorted(edges.docs, np.stack([docs, docs + 1]).astype(edges.docs.dtype)).T.tolist()

    @cache
    def of_target(target: int) -> list[str]:
        start, stop = int(edges.ends[target]), int(edges.ends[target + 1])
        return words(map(Lookup, edges.hows[start:stop].tolist(), edges.keys[start:stop].tolist()))

    for doc, (first, last) in zip(docs.tolist(), bounds, strict=True):
        refers = dict.fromkeys(word for target in edges.targets[first:last].tolist() for word in of_target(target))
        names = {"called": called(int(edges.id_keys[doc]), int(edges.name_keys[doc]))}
        yield names | ({"refers": list(refers)} if refers else {})
