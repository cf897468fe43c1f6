"""Expand one part of a term query to the dictionary terms it matches, each with its weight, per segment."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from enum import StrEnum
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np

from rye.index.build.reader import Floats, Part, Reader
from rye.index.storage.arrays import Bools, Ints, group_starts

MAX_EXPANSIONS = 1_024
"""Most terms that one part of a term query expands to, unless it is excluded; the most frequent are kept."""

INFLECTION_WEIGHT = 0.6

Choice = tuple[Ints, Floats]
"""Term numbers of one segment, ascending, and their weights."""


class How(StrEnum):
    """The ways in which a part is expanded to terms."""

    EXACT = "exact"
    INFLECTED = "inflected"
    GLOB = "glob"
    FUZZY = "fuzzy"


class Pattern(NamedTuple):
    """One part as written, folded text or a glob, and how it expands.

    Attributes:
        text: The part.
        how: How it expands.
        distance: The edit distance of a fuzzy part; None chooses it by length.
        start: A prefix that the terms of a fuzzy part must also have.
    """

    text: str
    how: How
    distance: int | None = None
    start: str = ""


def automatic_distance(term: Sized) -> int:
    """Return the edit distance for a fuzzy word: 0 up to 2 characters, 1 up to 5, else 2."""
    return 0 if len(term) <= 2 else 1 if len(term) <= 5 else 2


class Terms:
    """The terms that a pattern expands to in a reader.

    Attributes:
        choices: Per part of the reader, the term numbers and weights.
        cut: Whether terms were left out because there were too many.
    """

    def __init__(self, reader: Reader, choices: tuple[Choice, ...], *, cut: bool = False) -> None:
        self._reader = reader
        self.choices = choices
        self.cut = cut

    @cached_property
    def words(self) -> frozenset[str]:
        """The terms themselves, for highlighting."""
        pairs = zip(self._reader.parts, self.choices, strict=True)
        return frozenset(word for part, (ids, _) in pairs for word in part.segment.terms.take(ids))

    def frequency(self, fields: Bools) -> int:
        """Return the sum over the terms of the number of live documents that have the term in any of the fields."""
        pairs = zip(self._reader.parts, self.choices, strict=True)
        return sum(int(document_frequencies(part, ids, fields).sum()) for part, (ids, _) in pairs)


def expand(reader: Reader, pattern: Pattern, most: int | None = MAX_EXPANSIONS) -> Terms:
    """Return the terms that a pattern matches; if there are more than ``most``, the most frequent. None keeps all."""
    choices = tuple([_choose(part, pattern) for part in reader.parts])
    if most is None or sum([len(ids) for ids, _ in choices]) <= most:
        return Terms(reader, choices)
    return _cut(reader, choices, pattern.text, most=most)


def _choose(part: Part, pattern: Pattern) -> Choice:
    """Return the terms of one segment that a pattern matches, with their weights."""
    terms = part.segment.terms
    match pattern.how:
        case How.FUZZY:
            return _fuzzy(part, pattern)
        case How.INFLECTED:
            numbers, exact = part.segment.inflections(pattern.text)
            weights = [1.0 if number == exact else INFLECTION_WEIGHT for number in numbers]
            return np.asarray(numbers, np.int64), np.asarray(weights, np.float64)
        case How.GLOB:
            ids = terms.matching(pattern.text)
        case How.EXACT:
            number = terms.find(pattern.text)
            ids = np.asarray([number] if number >= 0 else [], np.int64)
    return ids, np.ones(len(ids))


def edits(word: str, other: str) -> int:
    """Return the edits between two words; two neighbouring letters that changed places are one edit.

    This is optimal string alignment.
    """
    from rapidfuzz.distance import OSA

    return OSA.distance(word, other)


def similar(text: str, choices: Sequence[str], distance: int | None) -> dict[int, int]:
    """Return index → edits of the choices within an edit distance of a text, ascending; None chooses it by length.

    Edits are those of :func:`edits`.
    """
    from rapidfuzz.distance import OSA
    from rapidfuzz.process import extract

    limit = automatic_distance(text) if distance is None else distance
    matches = extract(text, choices, scorer=OSA.distance, score_cutoff=limit, limit=None)
    return {index: edits for _, edits, index in sorted(matches, key=lambda row: row[2])}


def _fuzzy(part: Part, pattern: Pattern) -> Choice:
    """Return the terms within an edit distance. The weight of a term falls with the share of its letters that differ.

    The idea: distances are computed only for terms that pass a filter on two columns of the dictionary: length, and a
    bit for each letter. The invariant: no term within the distance is filtered out, because an edit changes the length
    by one at most, and two of these bits at most. The source: signature filters (Boytsov, Indexing Methods for
    Approximate Dictionary Searching, 2011).
    """
    distance = automatic_distance(pattern.text) if pattern.distance is None else pattern.distance
    if distance == 0:
        return _choose(part, pattern._replace(how=How.EXACT))
    candidates = part.segment.terms_perhaps_near(pattern.text, distance, pattern.start)
    matches = similar(pattern.text, part.segment.terms.take(candidates), distance)
    ids = candidates[np.fromiter(matches.keys(), np.int64, len(matches))]
    distances = np.fromiter(matches.values(), np.float64, len(matches))
    weights = 1.0 - distances / max(len(pattern.text), 1)
    return ids[weights > 0], weights[weights > 0]


def _cut(reader: Reader, choices: tuple[Choice, ...], word: str, *, most: int) -> Terms:
    """Keep the word itself and the terms in most documents. Deleted documents count, in any field; ties go by term."""
    numbers, own = _numbered(reader, choices, word)
    counts = np.zeros(1 + max(int(of.max(initial=-1)) for of in numbers), np.int64)
    for part, (ids, _), of in zip(reader.parts, choices, numbers, strict=True):
        counts[of] += part.segment.term_docs[ids]
    if len(counts) <= most:
        return Terms(reader, choices)
    if own >= 0:
        counts[own] = counts.max() + 1
    keep = np.zeros(len(counts), bool)
    keep[np.argsort(-counts, kind="stable")[:most]] = True
    cut = [(ids[keep[of]], weights[keep[of]]) for (ids, weights), of in zip(choices, numbers, strict=True)]
    return Terms(reader, tuple(cut), cut=True)


def _numbered(reader: Reader, choices: tuple[Choice, ...], text: str) -> tuple[list[Ints], int]:
    """Number the chosen terms of all segments together, in term order. Also return the number of a word, or -1."""
    if len(choices) == 1:
        ids = choices[0][0]
        own = np.flatnonzero(ids == reader.parts[0].segment.terms.find(text))
        return [np.arange(len(ids))], int(own[0]) if len(own) else -1
    words = [part.segment.terms.take(ids) for part, (ids, _) in zip(reader.parts, choices, strict=True)]
    # The same word in several segments gets one number.
    number_of = {word: number for number, word in enumerate(sorted({*chain.from_iterable(words)}))}
    numbers = [np.fromiter(map(number_of.__getitem__, row), np.int64, len(row)) for row in words]
    return numbers, number_of.get(text, -1)


def document_frequencies(part: Part, ids: Ints, fields: Bools) -> Ints:
    """Return in how many live documents of one segment each term occurs in any of the fields."""
    if part.intact and fields.all():
        return part.segment.term_docs[ids].astype(np.int64)
    postings, owner = part.segment.postings(ids)
    docs, numbers = part.segment.places(postings)
    keep = fields[numbers] & part.live[docs]
    docs, owner = docs[keep], owner[keep]  # count a document once for all its fields
    counts: Ints = np.bincount(owner[group_starts(docs) | group_starts(owner)], minlength=len(ids))
    return counts
