"""What a search of the index on this machine uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from rye.index.reader import Reader
from rye.search.fields import Overrides
from rye.search.meaning import Meaning, no_meaning
from rye.search.rerank import Reranker
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
        boosts: The user's own factors of similarities, by source.
        now: The moment verdicts are judged at.
        can_embed: Returns whether there is an embedder, for mode ``auto``.
        meaning: Returns the vectors of ``reader``; raises :class:`rye.errors.UnavailableError`.
        meaning_at_once: Likewise, for mode ``auto``; raises also where too many vectors are missing.
        meaning_everywhere: Likewise those of ``everywhere``.
        reranker: Returns what re-ranks hits by meaning; None where no second model is installed.
        read: Reads an item that is shown whole, as it is at this moment.
    """

    reader: Reader
    everywhere: Reader
    trust: Callable[[], TrustSet]
    overrides: Sequence[Overrides]
    now: datetime
    can_embed: Callable[[], bool] = lambda: False
    meaning: Callable[[], Meaning] = no_meaning
    meaning_at_once: Callable[[], Meaning] = no_meaning
    meaning_everywhere: Callable[[], Meaning] = no_meaning
    boosts: Mapping[str, float] = field(default_factory=dict)
    reranker: Callable[[], Reranker | None] = lambda: None
    read: Callable[..., ReadItem] = read_item
