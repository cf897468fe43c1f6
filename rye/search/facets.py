"""How the matches of a search spread over the values of a field: counted on columns, never item by item.

What an item is and where it stands are columns; verdicts are those that ``is:`` asks for; all else are keyword entries,
of which each lists its items. Values are shown in the form in which they are compared: folded.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from rye.errors import ArgumentError
from rye.index.reader import Reader
from rye.index.schema import SEPARATOR, TYPE_NAMES
from rye.index.segment import Ints, Segment
from rye.index.strings import ranges
from rye.index.verdicts import VERDICT_NAMES
from rye.search.fields import nearest
from rye.search.states import States

FACETS: Mapping[str, str] = {
    "type": "type",
    "space": "space",
    "category": "category",
    "tag": "tags",
    "verdict": "verdict",
    "signer": "signer",
    "tags": "tags",
    "bundle": "bundle",
    "author": "author",
    "version": "version",
}
"""Name of every facet that does not depend on the items, and the key it is counted by."""

MAX_FACETS = 20
MAX_FACET_VALUES = 100
DEFAULT_FACET_VALUES = 10

_ASKED = re.compile(r"(?P<name>[^:,]+)(?::(?P<most>\d{1,9}))?")
_HINT = f"name them like 'type' or 'tag:25', which lists 25 values (1 to {MAX_FACET_VALUES})"


class Wanted(NamedTuple):
    """A facet to count, and how many of its values to list."""

    name: str
    most: int


@dataclass(frozen=True, slots=True)
class Facet:
    """How many of the matches have each value of a field.

    Attributes:
        values: The most frequent values with the number of matches that have each; among equals by value.
        other_values: How many further values there are.
        others: The sum of their numbers.
        missing: Matches that have no value.
    """

    values: tuple[tuple[str, int], ...]
    other_values: int = 0
    others: int = 0
    missing: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the four attributes; a value and its number are an object."""
        values = [{"value": value, "count": count} for value, count in self.values]
        return {"values": values, "other_values": self.other_values, "others": self.others, "missing": self.missing}


def read_facets(given: Any) -> tuple[Wanted, ...]:
    """Read names of facets: a sequence of them, or one text with commas; each maybe with ``:N``.

    Raises:
        ArgumentError: ``bad-facets``.
    """
    parts = given.split(",") if isinstance(given, str) else [] if given is None else given
    if not isinstance(parts, Sequence) or not all(isinstance(part, str) for part in parts):
        message = f"facets must be names, not {given!r}"
        raise ArgumentError("bad-facets", message, hint=_HINT, valid=list(FACETS))
    found: dict[str, Wanted] = {}
    for part in parts if any(parts) else ():
        match = _ASKED.fullmatch(part.strip())
        most = int(match["most"] or DEFAULT_FACET_VALUES) if match else 0
        if match is None or not 1 <= most <= MAX_FACET_VALUES:
            raise ArgumentError("bad-facets", f"facet {part!r} cannot be read", hint=_HINT, valid=list(FACETS))
        found[match["name"]] = Wanted(match["name"], most)
    if len(found) > MAX_FACETS:
        message = f"{len(found)} facets are too many"
        raise ArgumentError("bad-facets", message, hint=f"ask for at most {MAX_FACETS}", valid=list(FACETS))
    return tuple(found.values())


def require_facets(wanted: Sequence[Wanted], metadata_keys: Collection[str]) -> None:
    """Refuse a facet that is neither built in nor a metadata key of some item.

    Raises:
        ArgumentError: ``unknown-facet``.
    """
    for name, _ in wanted:
        if name not in FACETS and name not in metadata_keys:
            near = nearest(name, (*FACETS, *sorted(metadata_keys)))
            guess = f"did you mean {' or '.join(near)}? " if near else ""
            hint = f"{guess}facets are {', '.join(FACETS)} and the items' metadata keys"
            raise ArgumentError("unknown-facet", f"there is no facet {name!r}", hint=hint, nearest=near)


def count_facets(reader: Reader, states: States, docs: Ints, wanted: Sequence[Wanted]) -> dict[str, Facet]:
    """Count the values of each facet among some live documents, ascending."""
    return {name: _facet(FACETS.get(name, name), reader, states, docs, most=most) for name, most in wanted}


def _facet(key: str, reader: Reader, states: States, docs: Ints, *, most: int) -> Facet:
    match key:
        case "type":
            types = np.concatenate([np.zeros(0, np.uint8), *(part.segment.types for part in reader.parts)])
            return _listed(_named(TYPE_NAMES, np.bincount(types[docs], minlength=len(TYPE_NAMES))), most)
        case "space":
            spaces = [str(part.root.space) for part in reader.parts]
            return _listed(_named(spaces, np.bincount(reader.part_numbers(docs), minlength=len(spaces))), most)
        case "verdict":
            counts = np.bincount(states.verdicts[docs], minlength=len(VERDICT_NAMES))
            return _listed(_named(VERDICT_NAMES, counts), most)
        case "signer":
            found = Counter(states.signers(docs))
            missing = found.pop("", 0)
            return _listed(found, most, missing)
    return _by_entry(key, reader, docs, most)


def _named(names: Sequence[str], counts: Ints) -> Counter[str]:
    """Return numbers by name, without zeros; one name may stand for several numbers."""
    found: Counter[str] = Counter()
    for at in np.flatnonzero(counts).tolist():
        found[names[at]] += int(counts[at])
    return found


def _listed(counts: Mapping[str, int], most: int, missing: int = 0) -> Facet:
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    rest = ordered[most:]
    return Facet(tuple(ordered[:most]), len(rest), sum(count for _, count in rest), missing)


def _by_entry(key: str, reader: Reader, docs: Ints, most: int) -> Facet:
    """Count by keyword entry; the same value in several segments is one.

    The segment with the most values stays an array, to which the few values that others have are added.
    """
    borders = np.searchsorted(docs, [*(part.base for part in reader.parts), reader.size])
    rows = []
    missing = 0
    for part, start, stop in zip(reader.parts, borders[:-1], borders[1:], strict=True):
        if start < stop:
            values = values_of(part.segment, key)
            counts, without = values.count(docs[start:stop] - part.base)
            rows.append((values, counts))
            missing += without
    if not rows:
        return Facet(())
    rows.sort(key=lambda row: -len(row[0].names))
    main, totals = rows[0]
    further: Counter[str] = Counter()
    for values, counts in rows[1:]:
        for name, count in _named(values.names, counts).items():
            at = main.place.get(name, -1)
            if at >= 0:
                totals[at] += count
            else:
                further[name] += count
    named = Counter({main.names[at]: int(totals[at]) for at in _greatest(totals, most)}) + further
    listed = _listed(named, most).values
    distinct = int(np.count_nonzero(totals)) + len(further)
    pairs = int(totals.sum()) + further.total() - sum(count for _, count in listed)
    return Facet(listed, distinct - len(listed), pairs, missing)


def _greatest(counts: Ints, most: int) -> list[int]:
    """Return the places of the greatest counts above 0; among equals the first."""
    if len(counts) > most:
        least = max(int(np.partition(counts, -most)[-most]), 1)
        above = np.flatnonzero(counts > least)
        level = np.flatnonzero(counts == least)[: most - len(above)]
        return [*above.tolist(), *level.tolist()]
    return np.flatnonzero(counts).tolist()


@dataclass(frozen=True, eq=False)
class Values:
    """The values of one key by document, which the index has by value.

    Attributes:
        names: The values, ascending.
        place: The place of each in ``names``.
        bounds: Shape ``(docs + 1,)``: the values of document d are ``numbers[bounds[d] : bounds[d + 1]]``.
        numbers: Places in ``names``.
    """

    names: list[str]
    place: Mapping[str, int]
    bounds: Ints
    numbers: Ints

    def of(self, doc: int) -> list[str]:
        """Return the values of one document."""
        return [self.names[number] for number in self.numbers[self.bounds[doc] : self.bounds[doc + 1]].tolist()]

    def count(self, docs: Ints) -> tuple[Ints, int]:
        """Return how many of some documents have each value, and how many have none."""
        starts, stops = self.bounds[docs], self.bounds[docs + 1]
        numbers = self.numbers[ranges(starts, stops)]
        return np.bincount(numbers, minlength=len(self.names)), int(np.count_nonzero(starts == stops))


_kept: WeakKeyDictionary[Segment, dict[str, Values]] = WeakKeyDictionary()


def values_of(segment: Segment, key: str) -> Values:
    """Return the values of a key by document, made once for each segment that is open."""
    kept = _kept.setdefault(segment, {})
    if key not in kept:
        first, borders, owners = segment.entries_of(key)
        numbers = np.repeat(np.arange(len(borders) - 1), np.diff(borders))
        bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(owners, minlength=segment.docs))])
        prefix = len(key) + len(SEPARATOR)
        names = [name[prefix:] for name in segment.entries.take(np.arange(first, first + len(borders) - 1))]
        place = dict(zip(names, range(len(names)), strict=True))
        kept[key] = Values(names, place, bounds, numbers[np.argsort(owners, kind="stable")])
    return kept[key]
