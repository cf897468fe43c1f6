"""The seam between the engine and the place where items are: an index on this machine, or a cluster.

The engine reads a query, tries its stages in turn and says what it did. A backend matches, ranks, fetches and counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

from rye.index.arrays import Ints
from rye.index.reader import Floats
from rye.query.ast import Word
from rye.search.bound import Bound
from rye.search.facets import Facet, Wanted
from rye.search.page import Hit
from rye.search.relax import Dictionary
from rye.search.results import SearchResult


class Matches(Protocol):
    """A set of live items of one backend."""

    def __len__(self) -> int:
        """Return how many there are."""

    def __bool__(self) -> bool:
        """Return whether there is any."""

    def __and__(self, other: Any, /) -> Self:
        """Return the items in both sets."""

    def __or__(self, other: Any, /) -> Self:
        """Return the items in either set."""

    def __invert__(self) -> Self:
        """Return the items that are not in the set."""


M = TypeVar("M", bound=Matches)


class Names(Protocol[M]):
    """The items by id and name. Items have numbers that are good for one search."""

    def having(self, key: str, value: str) -> Ints:
        """Return the live items with one exact keyword term, ascending."""

    def key_of(self, item: int) -> tuple[str, str]:
        """Return ``(type, id)`` of an item."""

    def path_of(self, item: int) -> str:
        """Return the path of an item below its root."""

    def as_matches(self, items: Ints) -> M:
        """Return items as a set."""

    def among(self, items: Ints, matches: M) -> Ints:
        """Return which of some items are in a set."""

    def why_hidden(self, items: Ints) -> Sequence[str]:
        """Return a sentence for each of some withdrawn items: why it is hidden, and what takes its place."""


class Order(NamedTuple):
    """The order of hits, and how many are needed.

    Attributes:
        sort_by: ``score``, ``date`` or ``name``.
        start, stop: The ranks of the page, from 0.
        exact: Items that the query names: by score, they come first.
        withdrawn_last: Whether superseded, deprecated and yanked items come last by score.
        reach: How many hits can be reached, None for all: the best by score.
        manual_last: Whether the pages of rye's own manual come after all other hits.
    """

    sort_by: str
    start: int
    stop: int
    exact: Ints
    withdrawn_last: bool
    reach: int | None = None
    manual_last: bool = False


class Top(NamedTuple, Generic[M]):
    """The first hits of a query, in order.

    Attributes:
        docs: Shape ``(n,)``: the hits up to the end of the page, by the numbers that ``fetch`` takes.
        scores: Shape ``(n,)``: their scores, rounded to four decimals.
        exact: Those that the query names.
        reachable: The set of hits that paging can reach.
        notes: Warnings about the evaluation.
    """

    docs: Ints
    scores: Floats
    exact: frozenset[int]
    reachable: M
    notes: tuple[str, ...] = ()


class Backend(Protocol[M]):
    """The place where the items are."""

    @property
    def has_withdrawn(self) -> bool:
        """Whether any item is superseded, deprecated or yanked."""

    @property
    def names(self) -> Names[M]:
        """The items by id and name."""

    def metadata_keys(self) -> frozenset[str]:
        """Return the metadata keys that items have."""

    def expect(self, query: str, words: Mapping[Word, int]) -> None:
        """Learn what will be asked for, so that what is far away can be looked up at once.

        Args:
            query: The query as written, which may be a name.
            words: Its words, where it is plain words.
        """

    def dictionary(self, level: int | None) -> Dictionary:
        """Return the words of the fields of a level; None for all fields."""

    def match(self, query: Bound) -> M:
        """Return the live items that match.

        Raises:
            QueryError: ``too-many-positions``.
        """

    def without_manual(self, matches: M) -> M:
        """Return items without the pages of rye's own manual."""

    def top(self, query: Bound, matches: M, order: Order) -> Top[M]:
        """Return the first of some items, scored by a query."""

    def fetch(
        self, query: Bound, hits: Sequence[Hit], *, explain: bool, on_verdicts: Sequence[Bound]
    ) -> tuple[tuple[SearchResult, ...], tuple[str, ...]]:
        """Return hits as results, verified at this moment, and warnings about those that changed or are gone.

        Args:
            query: What their scores are explained with.
            hits: The hits, in order.
            explain: Whether each result explains its score.
            on_verdicts: The queries and filters that depend on verdicts: a hit that meets them no longer is left out.
        """

    def facets(self, matches: M, wanted: Sequence[Wanted]) -> Mapping[str, Facet]:
        """Count the values of each facet among some items."""
