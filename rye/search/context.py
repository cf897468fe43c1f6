"""What a search of the index on this machine uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from rye.index.reader import Reader
from rye.search.fields import Overrides
from rye.search.meaning import Embeddings, NoEmbeddings
from rye.spaces.signed import ReadItem, read_item
from rye.trust.trust_set import TrustSet


@dataclass(frozen=True, slots=True)
class SearchContext:
    """The spaces, settings and keys that a search uses.

    Attributes:
        reader: The spaces searched.
        everywhere: All spaces of the registry, for shadowing.
        trust: Returns the trusted keys.
        overrides: Field weights per root of ``reader``.
        now: The moment verdicts are judged at.
        embeddings: What makes and keeps the vectors of items.
        boosts: The user's own factors of similarities, by source.
        read: Reads an item that is shown whole, as it is at this moment.
    """

    reader: Reader
    everywhere: Reader
    trust: Callable[[], TrustSet]
    overrides: Sequence[Overrides]
    now: datetime
    embeddings: Embeddings = field(default_factory=NoEmbeddings)
    boosts: Mapping[str, float] = field(default_factory=dict)
    read: Callable[..., ReadItem] = read_item
