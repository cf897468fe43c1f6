"""Sections of the items on this machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rye.index.arrays import Bools, Ints, unique
from rye.index.reader import Floats
from rye.search.backend import Order
from rye.search.bound import Bound
from rye.search.context import SearchContext
from rye.search.docset import Docs
from rye.search.fusion import keyword_score, reaches
from rye.search.local import LocalSearch
from rye.search.order import ranked
from rye.search.page import Hydrated
from rye.search.request import SectionRequest
from rye.search.sections import Considered, Place, SectionSearch
from rye.search.semantic import SemanticScores, SemanticSearch
from rye.spaces.signed import read_item


class LocalSections(SectionSearch[Docs, SemanticSearch, SemanticScores]):
    """One retrieval of sections from the index on this machine, and the files as they are now."""

    def __init__(self, request: SectionRequest, context: SearchContext) -> None:
        self._local = LocalSearch(request.for_items, context)
        super().__init__(request, self._local)

    def considered(self, query: Bound, found: Docs, scores: SemanticScores | None) -> Considered:
        """Return the best of some items by meaning and by words."""
        evaluation, docs = self._local.embedded.evaluation(query), found.numbers
        if scores is None:
            best = self._best(docs, keyword_score(evaluation.scores(docs), evaluation.coverage(docs)))
        else:
            at = np.searchsorted(scores.docs, docs)
            similarity = scores.fused.similarity[at]
            similarity = np.where(reaches(similarity, scores.threshold), similarity, 0.0)
            best = unique(self._best(docs, scores.fused.keyword[at]), self._best(docs, similarity))
        hydrator = self._local.page_builder(evaluation).hydrator._replace(read=read_item)
        return Considered(best, evaluation, scores, hydrator)

    def _best(self, docs: Ints, scores: Floats) -> Ints:
        """Return the best documents by score, those of the manual after all others."""
        docs, scores = docs[scores > 0], np.round(scores[scores > 0], 4)
        is_manual = self.is_manual(docs)
        chosen = docs[:0]
        for group in (~is_manual, is_manual):
            order = Order("score", 0, self.request.top_k - len(chosen), none := docs[:0], withdrawn_last=False)
            best = ranked(self._local.reader, docs[group], scores[group], order, withdrawn=none)
            chosen = np.concatenate([chosen, docs[group][best]])
        return np.sort(chosen)

    def is_manual(self, docs: Ints) -> Bools:
        """Return which documents are pages of the manual that come after all other hits."""
        if not self._local.manual_last:
            return np.zeros(len(docs), bool)
        others = self._local.embedded.without_manual(Docs(self._local.reader.size, numbers=docs))
        return ~np.isin(docs, others.numbers)

    def place(self, hydrated: Hydrated) -> Place:
        """Return where an item is."""
        file = hydrated.part.root.path / hydrated.path
        return Place(str(file), file.as_uri(), _modified(file))


def _modified(file: Path) -> float:
    """Return when a file was last written; 0 where it is gone again."""
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0
