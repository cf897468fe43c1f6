"""One part of a leaf → the terms of the dictionary it stands for, each with its weight, per segment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rye.index.reader import Floats, Part, Reader
from rye.index.segment import Ints
from rye.index.stems import stem

MAX_EXPANSIONS = 1_024
"""Terms one part of a leaf may stand for; the most frequent are kept."""

INFLECTION_WEIGHT = 0.5

Choice = tuple[Ints, Floats]
"""Term numbers of one segment, ascending, and their weights."""


class How(Enum):
    """How a part finds its terms."""

    EXACT = "exact"
    INFLECTED = "inflected"
    GLOB = "glob"
    FUZZY = "fuzzy"


@dataclass(frozen=True, slots=True)
class Pattern:
    """One part as written: folded text or a glob, how it expands, and how far when fuzzy (None: automatic)."""

    text: str
    how: How
    distance: int | None = None


def automatic_distance(term: str) -> int:
    """Return how many edits a fuzzy word of this length may be away: up to 2 characters none, up to 5 one, else two."""
    return 0 if len(term) <= 2 else 1 if len(term) <= 5 else 2


class Terms:
    """What a pattern stands for in a reader.

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

    def alive(self, fields: npt.NDArray[np.bool_]) -> bool:
        """Return whether any such term occurs in one of the fields of a live document."""
        pairs = zip(self._reader.parts, self.choices, strict=True)
        return any(document_frequencies(part, ids, fields).any() for part, (ids, _) in pairs)


def expand(reader: Reader, pattern: Pattern, fields: npt.NDArray[np.bool_]) -> Terms:
    """Return the terms a pattern stands for, at most :data:`MAX_EXPANSIONS` different ones.

    Args:
        reader: What to search.
        pattern: The part as written.
        fields: Shape ``(fields,)``: in which fields a term's document frequency counts when terms must be left out.
    """
    choose = _CHOOSERS[pattern.how]
    choices = tuple(choose(part, pattern) for part in reader.parts)
    if sum(len(ids) for ids, _ in choices) <= MAX_EXPANSIONS:
        return Terms(reader, choices)
    return _cut(reader, choices, pattern.text, fields)


def _exact(part: Part, pattern: Pattern) -> Choice:
    number = part.segment.terms.find(pattern.text)
    ids = np.asarray([number] if number >= 0 else [], np.int64)
    return ids, np.ones(len(ids))


def _inflected(part: Part, pattern: Pattern) -> Choice:
    ids = part.segment.terms_of_stem(stem(pattern.text))
    itself = part.segment.terms.find(pattern.text)
    return ids, np.where(ids == itself, 1.0, INFLECTION_WEIGHT)


def _glob(part: Part, pattern: Pattern) -> Choice:
    ids = part.segment.terms.matching(pattern.text)
    return ids, np.ones(len(ids))


def similar(text: str, choices: Sequence[str], distance: int | None) -> dict[int, int]:
    """Return index → edits of the choices at most so many edits from a text, ascending; None counts by its length."""
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import extract

    limit = automatic_distance(text) if distance is None else distance
    found = extract(text, choices, scorer=Levenshtein.distance, score_cutoff=limit, limit=None)
    return {index: edits for _, edits, index in sorted(found, key=lambda row: row[2])}


def _fuzzy(part: Part, pattern: Pattern) -> Choice:
    if (automatic_distance(pattern.text) if pattern.distance is None else pattern.distance) == 0:
        return _exact(part, pattern)
    found = similar(pattern.text, part.segment.terms.everything, pattern.distance)
    ids = np.fromiter(found.keys(), np.int64, len(found))
    distances = np.fromiter(found.values(), np.float64, len(found))
    weights = 1.0 - distances / max(len(pattern.text), 1)
    return ids[weights > 0], weights[weights > 0]


_CHOOSERS: dict[How, Callable[[Part, Pattern], Choice]] = {
    How.EXACT: _exact,
    How.INFLECTED: _inflected,
    How.GLOB: _glob,
    How.FUZZY: _fuzzy,
}


def _cut(reader: Reader, choices: tuple[Choice, ...], itself: str, fields: npt.NDArray[np.bool_]) -> Terms:
    """Keep the word itself and the terms of greatest live document frequency over all segments; ties by term."""
    frequency: dict[str, int] = {}
    words = []
    for part, (ids, _) in zip(reader.parts, choices, strict=True):
        words.append(part.segment.terms.take(ids))
        for word, df in zip(words[-1], document_frequencies(part, ids, fields).tolist(), strict=True):
            if df:
                frequency[word] = frequency.get(word, 0) + df
    if len(frequency) <= MAX_EXPANSIONS:
        return Terms(reader, choices)
    ranked = sorted(frequency, key=lambda word: (word != itself, -frequency[word], word))
    kept = frozenset(ranked[:MAX_EXPANSIONS])
    cut = []
    for (ids, weights), names in zip(choices, words, strict=True):
        keep = np.fromiter((name in kept for name in names), bool, len(names))
        cut.append((ids[keep], weights[keep]))
    return Terms(reader, tuple(cut), cut=True)


def document_frequencies(part: Part, ids: Ints, fields: npt.NDArray[np.bool_]) -> Ints:
    """Return in how many live documents of one segment each term occurs in any of the fields."""
    postings, owner = part.segment.postings(ids)
    docs = part.segment.posting_doc[postings]
    keep = fields[part.segment.posting_field[postings]] & part.live[docs]
    docs, owner = docs[keep], owner[keep]
    fresh = np.ones(len(docs), bool)
    fresh[1:] = (docs[1:] != docs[:-1]) | (owner[1:] != owner[:-1])
    counts: Ints = np.bincount(owner[fresh], minlength=len(ids))
    return counts
