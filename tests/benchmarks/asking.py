"""The queries that benchmarks ask: of each kind as many as wanted, from words of given frequency, always the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rye.items.model import Item
from tests.benchmarks.corpus import SEED, Vocabulary

BANDS = {"common": (0.05, 0.15), "medium": (0.005, 0.02), "rare": (0.0001, 0.0008)}
"""In which share of the items a word occurs."""

KINDS = (
    *("term common", "term medium", "term rare", "and", "or3", "phrase"),
    *("near", "prefix", "infix", "fuzzy", "filter", "page"),
)
SENTENCE = "sentence"
"""A further kind, for whole searches: function words, others of every frequency, and one misspelt."""

DISTANCE = 5
"""Of NEAR, in words."""

DEEP = 1_000
"""Offset of paging."""

SAMPLE = 20_000
"""Items among which frequencies are counted."""

COLUMNS = ("title", "name", "description", "category", "tags", "body")
"""The texts of an item that plain engines are given."""

_SENTENCE = (*("function",) * 4, "common", "common", "medium", "rare")

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Query:
    """One question, which each engine puts in its own language.

    Attributes:
        kind: One of :data:`KINDS`, or :data:`SENTENCE`.
        words: The words; for ``prefix`` and ``infix`` the piece of one, for ``fuzzy`` a word with two typos.
        item_type: What the items must be, for ``filter``.
        offset: Hits to skip.
    """

    kind: str
    words: tuple[str, ...]
    item_type: str = ""
    offset: int = 0


def words_of(text: str) -> list[str]:
    """Return the words as plain engines see them: runs of letters and digits, in lower case."""
    return _WORD.findall(text.lower())


def values_of(item: Item) -> tuple[str, ...]:
    """Return the texts of an item that plain engines are given, one for each of :data:`COLUMNS`."""
    return item.title, item.name, item.description, item.category, " ".join(item.tags), item.body


def queries(items: Sequence[Item], vocabulary: Vocabulary, each: int, kinds: Sequence[str] = KINDS) -> list[Query]:
    """Return queries, ``each`` of every kind, about words that occur in the items."""
    sample = items[:SAMPLE]
    bags = [[word for value in values_of(item) for word in words_of(value)] for item in sample]
    plain = [word for word in vocabulary.words[vocabulary.functions :] if word.isalpha() and word.islower()]
    counts = dict.fromkeys(plain, 0)
    for bag in bags:
        for word in set(bag):
            if word in counts:
                counts[word] += 1
    bands = {
        name: [word for word in plain if low * len(sample) <= counts[word] <= max(high * len(sample), 2)]
        for name, (low, high) in BANDS.items()
    }
    bands["rare"] = [word for word in bands["rare"] if counts[word]]
    bands["function"] = list(vocabulary.words[: vocabulary.functions])
    every = (*KINDS, SENTENCE)
    return [query for kind in kinds for query in _of_kind(kind, _Picker(bands, bags, every.index(kind)), each)]


class _Picker:
    """Draws words of given frequency, one stream for each kind of query."""

    def __init__(self, bands: dict[str, list[str]], bags: list[list[str]], stream: int) -> None:
        self.bands = bands
        self.bags = bags
        self.rng = np.random.default_rng([SEED, stream])

    def some(self, *bands: str) -> tuple[str, ...]:
        """Return different words, one of each band."""
        while True:
            drawn = tuple(str(self.rng.choice(self.bands[band])) for band in bands)
            if len(set(drawn)) == len(drawn):
                return drawn

    def piece(self, length: int, *, start: bool) -> str:
        """Return the beginning or a middle part of a medium word."""
        word = next(word for word in iter(lambda: self.some("medium")[0], "") if len(word) > length + 1)
        return word[:length] if start else word[1 : length + 1]

    def misspelt(self) -> str:
        """Return a word of six letters or more with one letter left out and one changed."""
        word = next(word for word in iter(lambda: self.some("medium")[0], "") if len(word) >= 6)
        middle = len(word) // 2
        return word[:middle] + word[middle + 1 : -1] + ("x" if word[-1] != "x" else "z")

    def neighbours(self) -> tuple[str, str]:
        """Return two words that stand side by side in some item, one of them of medium or greater frequency."""
        known = {*self.bands["common"], *self.bands["medium"]}
        while True:
            bag = self.bags[int(self.rng.integers(0, len(self.bags)))]
            pairs = [pair for pair in pairwise(bag) if known.issuperset(pair) and pair[0] != pair[1]]
            if pairs:
                return pairs[int(self.rng.integers(0, len(pairs)))]


def _of_kind(kind: str, pick: _Picker, each: int) -> list[Query]:
    types = ("knowledge", "directive", "tool")
    makers: dict[str, Callable[[int], Query]] = {
        "and": lambda n: Query(kind, pick.some("common", "medium" if n % 2 else "common")),
        "or3": lambda _: Query(kind, pick.some("common", "common", "common")),
        "phrase": lambda _: Query(kind, pick.neighbours()),
        "near": lambda n: Query(kind, pick.some("common", "medium" if n % 2 else "common")),
        "prefix": lambda n: Query(kind, (pick.piece(3 + n % 2, start=True),)),
        "infix": lambda n: Query(kind, (pick.piece(3 + n % 3, start=False),)),
        "fuzzy": lambda _: Query(kind, (pick.misspelt(),)),
        "filter": lambda n: Query(kind, pick.some("common"), types[n % 3]),
        SENTENCE: lambda _: Query(kind, (*pick.some(*_SENTENCE), pick.misspelt())),
        "page": lambda _: Query(kind, pick.some("common"), offset=DEEP),
    }
    make = makers.get(kind) or (lambda _: Query(kind, pick.some(kind.removeprefix("term "))))
    return [make(n) for n in range(each)]
