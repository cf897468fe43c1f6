"""Facets: the numbers of matches by value of a field, counted on columns instead of item by item.

Type and space are columns, verdicts are those of ``is:``, and all other facets count keyword entries, each of which
lists its items. Values are shown folded, as they are compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from rye.errors import ArgumentError
from rye.index.build.reader import Part, Reader
from rye.index.storage.arrays import Ints
from rye.items.model import TYPE_NAMES
from rye.search.contract.fields import nearest, resolve
from rye.search.contract.request import FACETS, FacetRequest
from rye.search.contract.results import Facet
from rye.search.states.states import States, tally
from rye.search.states.verdicts import VERDICT_NAMES


def known_facets(requests: Sequence[FacetRequest], metadata_keys: frozenset[str]) -> tuple[FacetRequest, ...]:
    """Return facets by the names of what they count; refuse one that is neither built in nor a key of any item.

    Raises:
        ArgumentError: ``unknown-facet``.
    """
    known = []
    for name, most in requests:
        if not (key := name if name in FACETS else resolve(name, metadata_keys, FACETS)):
            suggestions = nearest(name, (*FACETS, *sorted(metadata_keys)))
            guess = f"did you mean {' or '.join(suggestions)}? " if suggestions else ""
            hint = f"{guess}facets are {', '.join(FACETS)} and the items' metadata keys"
            raise ArgumentError("unknown-facet", f"there is no facet {name!r}", hint=hint, nearest=suggestions)
        known.append(FacetRequest(key, most))
    return tuple(known)


def count_facets(reader: Reader, states: States, docs: Ints, requests: Sequence[FacetRequest]) -> dict[str, Facet]:
    """Count the values of each facet in live documents, given in ascending order."""
    borders = docs.searchsorted([*(part.base for part in reader.parts), reader.size]).tolist()
    split = [
        (part, docs[start:stop] - part.base if part.base else docs[start:stop])
        for part, (start, stop) in zip(reader.parts, pairwise(borders), strict=True)
        if start < stop
    ]
    return {name: _facet(FACETS.get(name, name), split, states, docs, most=most) for name, most in requests}


def count_all(reader: Reader, states: States, requests: Sequence[FacetRequest]) -> dict[str, Facet]:
    """Count the values of each facet in all live documents."""
    return count_facets(reader, states, np.flatnonzero(reader.live), requests)


def _facet(key: str, split: Sequence[tuple[Part, Ints]], states: States, docs: Ints, *, most: int) -> Facet:
    match key:
        case "type":
            numbers = (tally(part.segment.types.take(rows), len(TYPE_NAMES)) for part, rows in split)
            return _listed(_named(TYPE_NAMES, sum(numbers, start=np.zeros(len(TYPE_NAMES), np.int64))), most)
        case "space":
            return _listed(_named([str(part.root.space) for part, _ in split], [len(rows) for _, rows in split]), most)
        case "verdict":
            counts = tally(states.verdicts().take(docs), len(VERDICT_NAMES))
            return _listed(_named(VERDICT_NAMES, counts), most)
        case "signer":
            by_value = states.signers(docs)
            missing = by_value.pop("", 0)
            return _listed(by_value, most, missing)
        case "installed-from":
            by_value = states.installed(docs)
            return _listed(by_value, most, len(docs) - sum(by_value.values()))
    return _by_entry(key, split, most)


def _named(names: Sequence[str], counts: Sequence[int] | Ints) -> dict[str, int]:
    """Return the counts by name, without zeros. A name may occur several times; its counts are added."""
    totals: dict[str, int] = {}
    for name, count in zip(names, map(int, counts), strict=True):
        if count:
            totals[name] = totals.get(name, 0) + count
    return totals


def _listed(counts: Mapping[str, int], most: int, missing: int = 0) -> Facet:
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    rest = ordered[most:]
    return Facet(tuple(ordered[:most]), len(rest), sum(count for _, count in rest), missing)


def _by_entry(key: str, split: Sequence[tuple[Part, Ints]], most: int) -> Facet:
    """Count by keyword entry, adding up equal values of several segments.

    The segment with the most values stays an array; the values found only in other segments are few and are added.
    """
    rows = []
    missing = 0
    for part, docs in split:
        values = part.segment.values(key)
        chosen = np.zeros(part.segment.docs, bool)
        chosen[docs] = True
        counts, without = values.tally(chosen)
        rows.append((values, counts))
        missing += without
    if not rows:
        return Facet(())
    rows.sort(key=lambda row: -len(row[1]))
    main, totals = rows[0]
    further: Counter[str] = Counter()
    for values, counts in rows[1:]:
        numbers = counts.nonzero()[0]
        for name, count in zip(values.names(numbers), counts[numbers].tolist(), strict=True):
            at = main.find(name)
            if at >= 0:
                totals[at] += count
            else:
                further[name] += count
    greatest = _greatest(totals, most)
    named = dict(zip(main.names(greatest), totals[greatest].tolist(), strict=True)) | further
    listed = _listed(named, most).values
    distinct = int(np.count_nonzero(totals)) + len(further)
    pairs = int(totals.sum()) + further.total() - sum(count for _, count in listed)
    return Facet(listed, distinct - len(listed), pairs, missing)


def _greatest(counts: Ints, most: int) -> Ints:
    """Return the indices of the greatest counts above 0; of equal counts, the first."""
    if len(counts) <= most:
        return counts.nonzero()[0]
    least = max(int(np.partition(counts, -most)[-most]), 1)
    above = (counts > least).nonzero()[0]
    level = (counts == least).nonzero()[0][: most - len(above)]
    return np.concatenate([above, level])
