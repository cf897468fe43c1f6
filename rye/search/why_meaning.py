"""How near one item is in a search by meaning, and what of that keeps it from being a hit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rye.errors import ItemError
from rye.index.reading import read_item
from rye.index.schema import TYPE_NAMES
from rye.items.model import ItemType
from rye.search.by_meaning import ByMeaning, Near
from rye.search.closeness import Closeness
from rye.search.why_results import Meant, Reason


class Measured:
    """One item among the scores of a search by meaning.

    Args:
        asking: The search.
        near: Its scores.
        doc: The item; where scope, filters or query leave it out, its scores are those it would have.

    Raises:
        UnavailableError: The embedder cannot be used any more.
    """

    def __init__(self, asking: ByMeaning, near: Near, doc: int) -> None:
        self._asking = asking
        self._near = near if doc in near.docs else asking.apart(near, doc)
        self._doc = doc

    def told(self) -> Meant:
        """Return what there is to say of it."""
        close = self._near.closeness(self._doc)
        return Meant(
            text=close.asked.text,
            similarity=close.similarity,
            section=self._section(close),
            threshold=self._near.threshold,
            by_meaning=round(close.by_meaning, 4),
            by_words=round(close.by_words, 4),
            keyword=round(close.keyword, 4),
            method=self._asking.request.mode.fusion.fusion if close.asked.hybrid else "embedding",
        )

    def _section(self, close: Closeness) -> str:
        part, local = self._asking.reader.locate(self._doc)
        kind = ItemType(TYPE_NAMES[part.segment.types[local]])
        try:
            return close.header(read_item(part.root, part.segment.paths[local], kind, part.segment.ids[local]).item)
        except ItemError:
            return ""

    def reasons(self) -> Iterator[Reason]:
        """Yield what of its scores keeps it from being a hit, by the conditions of :mod:`rye.search.fusion`."""
        request, blend, threshold = self._asking.request, self._near.blend, self._near.threshold
        at = int(np.searchsorted(self._near.docs, self._doc))
        similarity, keyword = float(blend.similarity[at]), float(blend.keyword[at])
        near, worded = similarity >= threshold, keyword > 0
        said = f"its nearest section is at {similarity:.4f}" if np.isfinite(similarity) else "it has no vector"
        words = "it has no word of the query" if request.relax else "its words do not match the query as it is"
        if not near and not worded:
            also = f", and {words}" if self._near.asked.hybrid else ""
            yield Reason("threshold", f"threshold={threshold:g}", f"{said}{also}")
        if not self._near.asked.hybrid:
            return
        fusion = request.mode.fusion
        for name, least, score in (
            ("min_semantic_score", fusion.min_semantic_score, max(similarity, 0.0)),
            ("min_keyword_score", fusion.min_keyword_score, keyword),
            ("min_combined_score", fusion.min_combined_score, float(blend.total[at])),
        ):
            if score < least:
                yield Reason("fusion", f"{name}={least:g}", f"its score is {score:.4f}")
        if fusion.require_keyword_match and not worded:
            yield Reason("fusion", "require_keyword_match", words)
        if fusion.require_semantic_match and not near:
            yield Reason("fusion", "require_semantic_match", f"{said}; the threshold is {threshold:g}")
