"""What there is in the spaces of a registry, in figures."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rye import signing
from rye._report import Report
from rye.index.reader import Reader
from rye.search.facets import Wanted, count_facets
from rye.search.predicates import States

if TYPE_CHECKING:
    from rye.registry.state import State


_ALL = 1 << 30
"""Values of a facet to list: all of them."""


@dataclass(frozen=True, slots=True)
class Figures(Report):
    """What some items are.

    Attributes:
        items: How many there are.
        types, verdicts: Items by type and by verdict, without zeros.
        signers: Items by the fingerprint of the key that signed them; those signed by nobody are left out.
        categories, tags: How many different ones there are.
        terms: Different terms of the index.
        words: Words of all texts together.
        duplicates: Items of which another has the very same bytes.
        ambiguous: Items that share type and id with another of the same source, so that neither can be named.
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
    duplicates: int
    ambiguous: int
    superseded: int
    deprecated: int
    yanked: int
    shadowed: int
    shadowing: int


@dataclass(frozen=True, slots=True)
class SpaceStats(Report):
    """One space root in figures.

    Attributes:
        source, root: Which, and where.
        figures: Of its items.
        files, file_bytes: Files that are items by their name, and their size.
        unreadable: How many of these are no items, or could not be read.
        index_bytes: Size of its index.
        index_age: Seconds since the index last changed.
    """

    source: str
    root: str
    figures: Figures
    files: int
    file_bytes: int
    unreadable: int
    index_bytes: int
    index_age: float

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes, those of the figures beside the others."""
        found = Report.to_dict(self)
        figures: dict[str, Any] = found.pop("figures")
        return found | figures


@dataclass(frozen=True, slots=True)
class Stats(Report):
    """All spaces in figures: each by itself, and together, where a term, a tag or a copy counts across spaces."""

    spaces: tuple[SpaceStats, ...]
    total: Figures
    stale: bool = False
    warnings: tuple[str, ...] = ()


def stats_of(state: State, space: str) -> Stats:
    """Count what a state of the indexes holds in one space or all."""
    now = signing.system_clock()

    def count(reader: Reader) -> Figures:
        return _figures_of(reader, States(reader, state.everywhere, lambda: state.trust.trust, now))

    reader = state.reader(space)
    spaces = []
    for root, snapshot in reader.snapshots:
        sizes = snapshot.file_list.files.sizes()
        spaces.append(
            SpaceStats(
                source=root.source,
                root=str(root.path),
                figures=count(Reader([(root, snapshot)])),
                files=len(sizes),
                file_bytes=sum(sizes),
                unreadable=len(snapshot.file_list.problems),
                index_bytes=sum(path.stat().st_size for path in snapshot.folder.glob("*") if path.is_file()),
                index_age=round(max(time.time() - snapshot.written, 0.0), 3),
            )
        )
    return Stats(tuple(spaces), count(reader), state.stale(space), state.warnings)


def _figures_of(reader: Reader, states: States) -> Figures:
    """Count the live items of a reader."""
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
        duplicates=_duplicates(reader),
        ambiguous=_ambiguous(reader),
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


def _duplicates(reader: Reader) -> int:
    digests = [part.segment.evidence.raw_content_digests[part.live] for part in reader.parts]
    whole = np.concatenate(digests) if digests else np.zeros((0, 32), np.uint8)
    _, counts = np.unique(whole, axis=0, return_counts=True)
    return int(counts[counts > 1].sum())


def _ambiguous(reader: Reader) -> int:
    counts: Counter[tuple[str, str]] = Counter()
    for part in reader.parts:
        first, bounds, owners = part.segment.keyword_postings("key")
        living = np.add.reduceat(part.live[owners], bounds[:-1], dtype=np.int64) if len(owners) else bounds[:-1]
        some = np.flatnonzero(living)
        for key, count in zip(part.segment.keywords.take(first + some), living[some].tolist(), strict=True):
            counts[part.root.source, key] += count
    return sum(count for count in counts.values() if count > 1)
