"""What a leaf of several parts finds: positions are read only where all parts meet, and only so many at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from rye.errors import QueryError
from rye.index.arrays import unique
from rye.index.reader import Floats, Part, Reader
from rye.index.schema import FIELD_BITS
from rye.index.segment import POSITION_BITS, Bools, Ints, Numbers, Segment
from rye.query import ast
from rye.search.docset import look_up
from rye.search.expand import How, Pattern, Terms
from rye.search.postings import Held, Rows, divided, least, shared, sum_by


# -- Vectorized position joins: phrases, windows and nearness as arithmetic on sorted arrays of position keys.
class Occurrences(NamedTuple):
    """Where something occurs in one segment.

    Attributes:
        starts, ends: Keys of first and last position; ascending by start, then end.
        weights: Weight of each occurrence.
    """

    starts: Ints
    ends: Ints
    weights: Floats

    def take(self, which: Bools | Ints) -> Occurrences:
        """Return some of the occurrences."""
        return Occurrences(self.starts[which], self.ends[which], self.weights[which])


def distinct(found: Occurrences, *, by_start: bool) -> Occurrences:
    """Keep one occurrence per start (or per start and end): the heaviest, among equals the longest."""
    order = np.lexsort((-found.ends, -found.weights, found.starts)) if by_start else np.lexsort(
        (-found.weights, found.ends, found.starts)
    )  # fmt: skip
    found = found.take(order)
    fresh = np.ones(len(found.starts), bool)
    fresh[1:] = found.starts[1:] != found.starts[:-1]
    if not by_start:
        fresh[1:] |= found.ends[1:] != found.ends[:-1]
    return found.take(fresh)


def union(several: Sequence[Occurrences], *, by_start: bool) -> Occurrences:
    """Return all occurrences of several kinds, without repetitions."""
    if len(several) == 1:
        return several[0]
    joined = Occurrences(*(np.concatenate(columns) for columns in zip(*several, strict=True)))
    return distinct(joined, by_start=by_start)


def consecutive(parts: Sequence[Occurrences], offsets: Sequence[int]) -> Occurrences:
    """Return where every part stands at its offset from the first; the weight is the least of the parts'.

    Starts from the rarest part and looks the others up by bisection.
    """
    rarest = min(range(len(parts)), key=lambda i: len(parts[i].starts))
    starts, weights = parts[rarest].starts - offsets[rarest], parts[rarest].weights
    for index, part in enumerate(parts):
        if index == rarest or not len(starts):
            continue
        at, hit = look_up(part.starts, starts + offsets[index])
        starts, weights = starts[hit], np.minimum(weights[hit], part.weights[at[hit]])
    return Occurrences(starts, starts + offsets[-1], weights)


def windowed(parts: Sequence[tuple[Ints, int]], width: int) -> list[Ints]:
    """Return, per word, its positions inside some window of ``width`` positions that holds all words often enough.

    Args:
        parts: Per distinct word its keys, ascending, and how often the window must hold it.
        width: Positions in a window.
    """
    begins = unique(*(keys for keys, _ in parts))
    for keys, times in parts:
        inside = np.searchsorted(keys, begins + width, side="left") - np.searchsorted(keys, begins, side="left")
        begins = begins[inside >= times]
    return [keys[_any_between(begins, keys - width + 1, keys)] for keys, _ in parts]


def _any_between(ordered: Ints, low: Ints, high: Ints) -> Bools:
    """Return per pair whether any of some ascending numbers lies in ``[low, high]``."""
    found: Bools = np.searchsorted(ordered, high, side="right") > np.searchsorted(ordered, low, side="left")
    return found


def _near(these: Occurrences, those: Occurrences, distance: int) -> Bools:
    """Return which of these have one of those before or after them, not overlapping, at most ``distance`` away."""
    after = _any_between(those.starts, these.ends + 1, these.ends + distance)
    before = _any_between(np.sort(those.ends), these.starts - distance, these.starts - 1)
    return after | before


def chained(operands: Sequence[Callable[[], Occurrences]], distances: Sequence[int]) -> Iterator[Occurrences]:
    """Yield per operand, from the last to the first, the occurrences that take part in a whole chain of neighbours.

    One pass forward and one back: on a chain, what survives both is exactly what some full choice uses. Between the two
    nothing is kept but which survive; the operands are asked for again.
    """
    kept = operands[0]()
    survive: list[Bools | None] = [None]
    for operand, distance in zip(operands[1:], distances, strict=True):
        these = operand()
        survive.append(mask := _near(these, kept, distance))
        kept = these.take(mask)
    yield kept
    for operand, those, distance in zip(operands[-2::-1], survive[-2::-1], distances[::-1], strict=True):
        these = operand() if those is None else operand().take(those)
        kept = these.take(_near(these, kept, distance))
        yield kept


# -- Scored leaves, and what they look for: parts in a row, words in a window, or neighbours.
@dataclass(frozen=True, slots=True)
class Run:
    """Parts at fixed offsets; one part is a plain word. ``joined`` matches the parts written as one term."""

    parts: tuple[Pattern, ...]
    offsets: tuple[int, ...]
    joined: Pattern | None = None

    @property
    def alone(self) -> bool:
        """Whether it is one part, so that positions do not matter."""
        return len(self.parts) == 1 and self.joined is None


@dataclass(frozen=True, slots=True)
class Window:
    """Words in any order within a window of as many positions as they are, plus ``slop``."""

    words: tuple[str, ...]
    slop: int


@dataclass(frozen=True, slots=True)
class Nearby:
    """Operands, each a choice, with the greatest distance between neighbours."""

    operands: tuple[tuple[Run | Window, ...], ...]
    distances: tuple[int, ...]


Sought: TypeAlias = tuple[Run | Window | Nearby, bytes]
"""A pattern and the fields it is bound to: what leaves that find the same have in common."""


def patterns(pattern: Run | Window | Nearby) -> Iterator[Pattern]:
    """Yield every part of it; one may recur, though not in a window, for which it is looked up once."""
    if isinstance(pattern, Run):
        yield from pattern.parts
        if pattern.joined is not None:
            yield pattern.joined
    elif isinstance(pattern, Window):
        yield from (Pattern(word, How.EXACT) for word in dict.fromkeys(pattern.words))
    else:
        for runs in pattern.operands:
            for run in runs:
                yield from patterns(run)


@dataclass(frozen=True, eq=False)
class Leaf:
    """One scored leaf bound to fields.

    Attributes:
        pattern: What to look for.
        fields: Shape ``(fields,)``: the fields it is bound to.
        boost: Product of the boosts around it.
        name: The field it was written for, else empty.
        node: As parsed.
        query: The whole query it stands in, for errors.
    """

    pattern: Run | Window | Nearby
    fields: Bools
    boost: float
    name: str
    node: ast.Node
    query: str = ""

    @property
    def sought(self) -> Sought:
        """What it looks for, and where."""
        return self.pattern, self.fields.tobytes()

    @property
    def label(self) -> str:
        """Canonical text, for explanations."""
        return f"{self.name}:{self.node}" if self.name else str(self.node)


# -- Where a leaf of several parts stands in some documents of one segment, and what it finds there.
class Stretch:
    """Some documents of a segment, whose positions are read when first needed, and kept as long as this is.

    Args:
        segment: The segment.
        pattern: What the leaf looks for.
        held: The postings of each of its parts.
        wanted: The slots to look at, ascending.
    """

    def __init__(
        self, segment: Segment, pattern: Run | Window | Nearby, held: Mapping[Pattern, Held], wanted: Numbers
    ) -> None:
        self._segment = segment
        self._pattern = pattern
        self._held = held
        self._wanted = wanted
        self._placed: dict[Pattern, Occurrences] = {}

    def rows(self) -> tuple[Ints, Floats]:
        """Return the slots in which the leaf stands, ascending, and how often, weighted."""
        pattern = self._pattern
        if isinstance(pattern, Run):
            run = self._occurrences(pattern)
            return sum_by(run.starts >> POSITION_BITS, run.weights)
        if isinstance(pattern, Window):
            times = Counter(pattern.words).values()
            survivors = zip(self._survivors(pattern), times, strict=True)
            return least([divided(sum_by(keys >> POSITION_BITS, np.ones(len(keys))), many) for keys, many in survivors])
        return least([sum_by(found.starts >> POSITION_BITS, found.weights) for found in self._chain(pattern)])

    def stands(self) -> list[Occurrences]:
        """Return where the leaf stands; of neighbours, where each of them does."""
        pattern = self._pattern
        return list(self._chain(pattern)) if isinstance(pattern, Nearby) else [self._occurrences(pattern)]

    def looked_at(self, times: Mapping[Pattern, int]) -> int:
        """Return how many positions were read, those of each part so many times."""
        return sum(len(found.starts) * times[pattern] for pattern, found in self._placed.items())

    def _positions(self, pattern: Pattern) -> Occurrences:
        found = self._placed.get(pattern)
        if found is None:
            held = self._held[pattern]
            postings, weights = held.picked(held.within(self._wanted))
            keys, of = self._segment.occurrences(postings)
            found = Occurrences(keys, keys, weights.take(of))
            if not held.single:
                found = distinct(found, by_start=True)
            self._placed[pattern] = found
        return found

    def _occurrences(self, run: Run | Window) -> Occurrences:
        if isinstance(run, Window):
            keys = unique(*self._survivors(run))
            return Occurrences(keys, keys, np.ones(len(keys)))
        if len(run.parts) == 1:
            placed = self._positions(run.parts[0])
        else:
            placed = consecutive([self._positions(pattern) for pattern in run.parts], run.offsets)
        if run.joined is None:
            return placed
        return union([placed, self._positions(run.joined)], by_start=True)

    def _survivors(self, window: Window) -> list[Ints]:
        """Return, per distinct word, its position keys that lie in some full window."""
        words = [
            (self._positions(Pattern(word, How.EXACT)).starts, times) for word, times in Counter(window.words).items()
        ]
        return windowed(words, len(window.words) + window.slop)

    def _chain(self, nearby: Nearby) -> Iterator[Occurrences]:
        return chained([partial(self._choice, runs) for runs in nearby.operands], nearby.distances)

    def _choice(self, runs: tuple[Run | Window, ...]) -> Occurrences:
        if len(runs) == 1:
            return self._occurrences(runs[0])
        return union([self._occurrences(run) for run in runs], by_start=False)


_FIELD_MASK = (1 << FIELD_BITS) - 1
_DOC_SHIFT = FIELD_BITS + POSITION_BITS

AT_ONCE = 1 << 20
"""Positions that are looked at together: about so many, or those of one document."""

MOST_PLACES = 10_000
"""Places of a phrase, or of a neighbour, that are told of one document."""

Postings = Mapping[Pattern, Held]


class Placed:
    """A leaf over a reader, by the positions of its parts. A position counts as often as its part recurs in the leaf.

    Args:
        reader: What to search.
        pattern: What the leaf looks for.
        terms: What each of its parts stands for.
        fields: Which fields count; None for all.
        spend: Is told of all positions that are looked at for the rows. Returns whether so few are to be kept; raises
            when they are too many, before they are read where they are more than :data:`AT_ONCE`.
    """

    def __init__(
        self,
        reader: Reader,
        pattern: Run | Window | Nearby,
        terms: Mapping[Pattern, Terms],
        fields: Bools | None,
        *,
        spend: Callable[[int], bool],
    ) -> None:
        self.reader = reader
        self._pattern = pattern
        self._terms = terms
        self._fields = fields
        self._spend = spend
        self._times: dict[Pattern, int] = {}
        for one in patterns(pattern):
            self._times[one] = self._times.get(one, 0) + 1
        self._held: dict[tuple[int, Pattern], Held] = {}
        self._kept: dict[int, Stretch] = {}

    def rows(self, index: int, part: Part) -> Rows:
        """Return what the leaf finds in a segment, by its index in the reader."""
        held = self._postings(index, part)
        wanted = _candidates(self._pattern, held)
        if sum([one.tokens * self._times[pattern] for pattern, one in held.items()]) > AT_ONCE:
            counts = self._counts(part, held, wanted)
            if (total := int(counts.sum())) > AT_ONCE:
                self._spend(total)
                return Rows(*self._by_stretches(part, held, wanted, counts))
        whole = Stretch(part.segment, self._pattern, held, wanted)
        found = whole.rows()
        if self._spend(whole.looked_at(self._times)):
            self._kept[index] = whole
        return Rows(*found)

    def _by_stretches(self, part: Part, held: Postings, wanted: Numbers, counts: Ints) -> tuple[Ints, Floats]:
        """Return slots and frequencies; of all positions, only those of one stretch are there at a time."""
        number = ((counts.cumsum() - counts) // AT_ONCE).take(wanted >> FIELD_BITS)
        several = np.split(wanted, np.flatnonzero(np.diff(number)) + 1)
        rows = [Stretch(part.segment, self._pattern, held, some).rows() for some in several]
        slots, tf = zip(*rows, strict=True)
        return np.concatenate(slots), np.concatenate(tf)

    def _counts(self, part: Part, held: Postings, wanted: Numbers) -> Ints:
        """Return how many positions there are to look at, per document."""
        counts = np.zeros(part.segment.docs)
        for pattern, one in held.items():
            postings, _ = one.picked(one.within(wanted))
            docs, tf = part.segment.posting_doc[postings], part.segment.frequencies(postings)
            counts += self._times[pattern] * np.bincount(docs, tf, len(counts))
        return counts.astype(np.int64)

    def stands(self, index: int, docs: Ints) -> list[Occurrences] | None:
        """Return where the leaf stands in those of some documents that are in a segment, and maybe in others.

        None where these have so many positions that they are not to be looked at together.
        """
        if index in self._kept:
            return self._kept[index].stands()
        part = self.reader.parts[index]
        first, last = docs.searchsorted([part.base, part.base + part.segment.docs])
        held = self._postings(index, part)
        wanted = (((docs[first:last] - part.base) << FIELD_BITS)[:, None] | np.arange(1 << FIELD_BITS)).ravel()
        if last - first > 1 and int(self._counts(part, held, wanted).sum()) > AT_ONCE:
            return None
        return Stretch(part.segment, self._pattern, held, wanted).stands()

    def postings(self, index: int, part: Part, pattern: Pattern) -> Held:
        """Return the postings of a part of the leaf, live and in the leaf's fields; kept, because every hit asks."""
        found = self._held.get((index, pattern))
        if found is None:
            found = self._held[index, pattern] = Held(part, self._terms[pattern].choices[index], self._fields)
        return found

    def _postings(self, index: int, part: Part) -> Postings:
        return {one: Held(part, self._terms[one].choices[index], self._fields) for one in self._times}


class Places:
    """Where a leaf stands in the documents of a page.

    Args:
        placed: The leaf.
        docs: The documents, ascending.
    """

    def __init__(self, placed: Placed, docs: Ints) -> None:
        self._placed = placed
        self._docs = docs
        self._stands: dict[int, list[Occurrences] | None] = {}

    def of(self, doc: int) -> dict[int, list[tuple[int, int]]]:
        """Return per field number the ``(first, last)`` positions where the leaf occurs in one of the documents.

        At most the first :data:`MOST_PLACES` of them, of neighbours of each. A plain word is found by its terms instead
        (see :attr:`rye.search.match.Found.words`), so it has no places.
        """
        reader = self._placed.reader
        part, local = reader.locate(doc)
        index = reader.parts.index(part)
        if index not in self._stands:
            self._stands[index] = self._placed.stands(index, self._docs)
        several = self._stands[index]
        if several is None:
            several = self._placed.stands(index, np.asarray([doc])) or []
        places: dict[int, list[tuple[int, int]]] = {}
        bounds, mask = [local << _DOC_SHIFT, (local + 1) << _DOC_SHIFT], (1 << POSITION_BITS) - 1
        for found in several:
            first, last = np.searchsorted(found.starts, bounds)
            these = slice(first, min(last, first + MOST_PLACES))
            for start, end in zip(found.starts[these].tolist(), found.ends[these].tolist(), strict=True):
                places.setdefault((start >> POSITION_BITS) & _FIELD_MASK, []).append((start & mask, end & mask))
        return places


def _candidates(pattern: Run | Window | Nearby, held: Postings) -> Numbers:
    """Return the slots that have all it takes, wherever it stands."""
    if isinstance(pattern, Nearby):
        choices = dict.fromkeys(pattern.operands)
        return shared([unique(*(_candidates(run, held) for run in runs)) for runs in choices])
    if isinstance(pattern, Window):
        return shared([held[Pattern(word, How.EXACT)].distinct for word in dict.fromkeys(pattern.words)])
    parts = shared([held[one].distinct for one in dict.fromkeys(pattern.parts)])
    return parts if pattern.joined is None else unique(parts, held[pattern.joined].distinct)


# -- How much the leaves of one query look at.
MOST = 20_000_000
"""Positions that phrases, windows, neighbours and words of several parts may look at in one query."""

KEPT = 1 << 18
"""Positions that a query keeps from scoring to highlighting; beyond these, those of a page are read again."""

_SUGGESTED = 16
"""Words that an error suggests."""


class Effort:
    """The positions that the leaves of a query have looked at so far."""

    def __init__(self) -> None:
        self._spent = 0

    def spend(self, positions: int, leaf: Leaf) -> bool:
        """Count positions that a leaf looks at; return whether so few were looked at so far that they are to be kept.

        Raises:
            QueryError: ``too-many-positions``.
        """
        self._spent += positions
        if self._spent > MOST:
            raise _too_much(leaf)
        return self._spent <= KEPT


def _too_much(leaf: Leaf) -> QueryError:
    text = leaf.query or leaf.label
    start, end = leaf.node.span if leaf.query else (0, len(text))
    several = [ast.Word(pattern.text) for pattern in dict.fromkeys(patterns(leaf.pattern))][:_SUGGESTED]
    words = "" if isinstance(leaf.node, ast.Word) else f"({' '.join(map(str, several))})"
    return QueryError(
        "too-many-positions",
        f"the words of this part stand in so many places that more than {MOST:,} would have to be compared",
        text=text,
        position=start,
        token=text[start:end],
        hint='use rarer or fewer words in "…", "…"~n, NEAR and words with hyphens, or search a single space',
        suggestion=f"{text[:start]}{words}{text[end:]}" if words else "",
    )
