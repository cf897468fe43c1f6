"""Sections of the items of a registry on a cluster.

The cluster orders all items by words and by meaning, exactly. The first of both come with their bytes and vectors, and
the sections of these are scored here, by the code that scores them at home.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from urllib.parse import quote

import numpy as np

from rye.cluster.backend import BY_SCORE
from rye.cluster.conditions import NOTHING, WITHDRAWN, all_of, none_of
from rye.cluster.generation import Found
from rye.cluster.meaning import ClusterScores, ClusterSearch, by_keywords, keywords
from rye.index.arrays import Bools, Ints
from rye.search.bound import Bound
from rye.search.page import Hydrated
from rye.search.request import Request, SectionRequest
from rye.search.results import SectionResponse
from rye.search.sections import Considered, Place, SectionSearch
from rye.search.semantic import MeaningQuery


class ClusterSections(SectionSearch[Found, MeaningQuery, ClusterScores]):
    """One retrieval of sections from a generation of a registry.

    Args:
        request: What is asked for.
        search: Makes a search of the generation.
    """

    def __init__(self, request: SectionRequest, search: Callable[[Request], ClusterSearch]) -> None:
        made = search(request.for_items)
        super().__init__(request, made)
        self._backend, self._on_verdicts = made.backend, made.on_verdicts
        self._not_as_listed: dict[str, str] = {}

    def run(self) -> SectionResponse:
        """Return the response; each item shown that is not as its signed list says has a warning."""
        found = super().run()
        listed = filter(None, dict.fromkeys(self._not_as_listed[hit.path] for hit in found.results))
        return replace(found, warnings=(*found.warnings, *listed, *dict.fromkeys(self._backend.hits.left_out)))

    def considered(self, query: Bound, found: Found, scores: ClusterScores | None) -> Considered:
        """Return the best of some items by meaning and by words, as the cluster orders them."""
        hits, among, rankings = self._backend.hits, found.clause, []
        if scores is not None:
            # what is nearest and what has a word are hits: to compare all vectors once more finds the same
            hides = self._backend.has_withdrawn and not self.request.search.include_superseded
            among = all_of([scores.asked().clause, *([none_of(WITHDRAWN)] if hides else [])])
            rankings = [scores.nearest(among)]
        if scores is None or scores.hybrid:
            words = keywords(self._backend, query, relax=self.request.search.relax)
            rankings += [by_keywords(among, words)] if words.clause != NOTHING else []
        pages = hits.pages_of(rankings, BY_SCORE, 0, self.request.top_k)
        rows = list({row.mark: row for page, _ in pages for row in page}.values())
        reader, numbers = hits.indexed([*rows, *hits.copies(rows)])
        hydrator = self._backend.judging(reader)
        best = sorted(numbers[row.mark] for row in rows)
        docs = self._backend.holding(best, hydrator, self._on_verdicts(query), self._warnings)
        evaluation = (scores.weigh if scores else self._backend.weigher(query))(reader)
        near = scores.on_page(evaluation) if scores else None
        return Considered(np.asarray(docs, np.int64), evaluation, near, hydrator)

    def is_manual(self, docs: Ints) -> Bools:
        """Return none: rye's own items are not published."""
        return np.zeros(len(docs), bool)

    def place(self, hydrated: Hydrated) -> Place:
        """Return the address of an item; when its file was written is not known."""
        root = hydrated.part.root
        address = self._backend.address_of(str(root.path / hydrated.path))
        self._not_as_listed[address] = self._backend.hits.not_as_listed[root.source, hydrated.path]
        return Place(address, quote(address, safe=":/,[]+@", errors="surrogatepass"), 0.0)
