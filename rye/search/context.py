"""The parts that a search of the local index needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from rye.index.build.reader import Reader
from rye.index.text.schema import BUILT_IN_KEYS
from rye.search.contract.fields import Overrides
from rye.search.meaning.meaning import Embeddings, NoEmbeddings
from rye.spaces.signed import ReadItem, read_item
from rye.trust.trust_set import TrustSet


@dataclass(frozen=True, slots=True)
class SearchContext:
    """The spaces, settings and keys that a search uses.

    Attributes:
        reader: The spaces searched.
        everywhere: All spaces of the registry, to detect shadowing.
        trust: Returns the trusted keys.
        overrides: Field weights per root of ``reader``.
        now: The time at which verdicts are judged.
        embeddings: Makes and keeps the vectors of items.
        boosts: The user's similarity factors, by source.
        read: Reads the current content of an item that is shown in full.
        only_trusted: Whether the spaces hold trusted items only, so that a hit is left out once it is not.
    """

    reader: Reader
    everywhere: Reader
    trust: Callable[[], TrustSet]
    overrides: Sequence[Overrides]
    now: datetime
    embeddings: Embeddings = field(default_factory=NoEmbeddings)
    boosts: Mapping[str, float] = field(default_factory=dict)
    read: Callable[..., ReadItem] = read_item
    only_trusted: bool = False

    def metadata_keys(self) -> frozenset[str]:
        """Return the metadata keys that items have."""
        return self.reader.keys - frozenset(BUILT_IN_KEYS)
