"""How much there is, of what kind: figures of a collection, counted on its columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rye.index.reader import Reader
from rye.search.facets import Wanted, count_facets
from rye.search.states import States

_ALL = 1 << 30


@dataclass(frozen=True, slots=True)
class Figures:
    """What some items are.

    Attributes:
        items: How many there are.
        types, verdicts: Items by type and by verdict, without zeros.
        signers: Items by the fingerprint of the key that signed them; those signed by nobody are left out.
        categories, tags: How many different ones there are.
        terms: Different terms of the index.
        words: Words of all texts together.
        copies: Items of which another has the very same bytes.
        twins: Items that share type and id with another of the same source, so that neither can be named.
        superseded, deprecated, yanked, shadowed, shadowing: Items in these states.
    """

    items: int
    types: Mapping[str, int]
    verdicts: Mapping[str, int]
    signers: Mapping[str, int]
    categories: int
    tags: int
    terms: int
    words: int
    copies: int
    twins: int
    superseded: int
    deprecated: int
    yanked: int
    shadowed: int
    shadowing: int

    def to_dict(self) -> dict[str, Any]:
        """Return the fifteen attributes."""
        found = {name: getattr(self, name) for name in Figures.__slots__}
        return found | {name: dict(found[name]) for name in ("types", "verdicts", "signers")}


def figures_of(reader: Reader, states: States) -> Figures:
    """Count the live items of a reader.

    Args:
        reader: The items.
        states: Of the same reader.
    """
    docs = np.flatnonzero(reader.live)
    names = ("type", "verdict", "signer", "category", "tag")
    facets = count_facets(reader, states, docs, [Wanted(name, _ALL) for name in names])

    def having(state: str) -> int:
        return int(np.count_nonzero(states.having(state) & reader.live))

    lengths = (part.segment.lengths[:, part.live].sum() for part in reader.parts)
    return Figures(
        items=len(docs),
        types=dict(facets["type"].values),
        verdicts=dict(facets["verdict"].values),
        signers=dict(facets["signer"].values),
        categories=len(facets["category"].values),
        tags=len(facets["tag"].values),
        terms=_terms(reader),
        words=sum(map(int, lengths)),
        copies=_copies(reader),
        twins=_twins(reader),
        superseded=having("superseded"),
        deprecated=having("deprecated"),
        yanked=having("yanked"),
        shadowed=having("shadowed"),
        shadowing=having("shadowing"),
    )


def _terms(reader: Reader) -> int:
    """Return how many different terms the segments have; those of deleted documents are gone with the next merge."""
    if len(reader.parts) == 1:
        return len(reader.parts[0].segment.terms)
    return len(set[str]().union(*(part.segment.terms.everything for part in reader.parts)))


def _copies(reader: Reader) -> int:
    digests = [part.segment.evidence.raw_content_digests[part.live] for part in reader.parts]
    whole = np.concatenate(digests) if digests else np.zeros((0, 32), np.uint8)
    _, counts = np.unique(whole, axis=0, return_counts=True)
    return int(counts[counts > 1].sum())


def _twins(reader: Reader) -> int:
    counts: Counter[tuple[str, str]] = Counter()
    for part in reader.parts:
        first, bounds, owners = part.segment.entries_of("key")
        living = np.add.reduceat(part.live[owners], bounds[:-1], dtype=np.int64) if len(owners) else bounds[:-1]
        some = np.flatnonzero(living)
        for key, count in zip(part.segment.entries.take(first + some), living[some].tolist(), strict=True):
            counts[part.root.source, key] += count
    return sum(count for count in counts.values() if count > 1)
