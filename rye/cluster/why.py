"""Why an item of a registry is a hit of a query, at which rank, or why it is not.

The cluster says whether it is a hit, and counts those that come before it; the hits around it are fetched. The query is
taken apart here, over the bytes of the item.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from rye.cluster.backend import Ranking, refuse
from rye.cluster.conditions import EVERYTHING, NOTHING, Clause, all_of, any_of, filter_clause, none_of
from rye.cluster.faults import reading
from rye.cluster.generation import Found, Generation, marked
from rye.cluster.hits import TIES, FetchedHits, Row
from rye.cluster.meaning import ClusterScores, ClusterSearch
from rye.errors import UnavailableError
from rye.index.arrays import Bools, Ints
from rye.index.reader import Part, Reader
from rye.index.schema import TYPE_NAMES
from rye.items.model import Item
from rye.search import bound
from rye.search.bound import Bound
from rye.search.engine import Answer
from rye.search.explain import Explaining, Why
from rye.search.graph import Graph
from rye.search.predicates import States
from rye.search.score import Evaluation
from rye.search.semantic import MeaningQuery, SemanticScores
from rye.trust.trust_set import TrustSet

_AROUND = 10
"""Hits that are fetched on either side of an item: scores that are nearly equal are put in order here."""

_EARLIEST = -1e300
"""Before every date, in seconds since 1970."""


class ItemStates(States):
    """The states of one item; its relations, and what it shadows, are those in its whole registry."""

    generation: Generation
    mark: str

    def having(self, state: str) -> Bools:
        """Return whether it is in a state, shape ``(1,)``."""
        if state in {"shadowed", "shadowing"}:
            said = filter_clause(bound.HasState(state), TrustSet())
            return np.asarray([self.generation.counts([all_of([marked([self.mark]), said])])[0] > 0])
        try:
            return super().having(state)
        except UnavailableError:  # relations that a query does not ask for, or it would have been refused
            return np.zeros(1, bool)

    def graph(self) -> Graph:
        """Return the relations between all items of the registry."""
        return self.generation.relations.graph

    def there(self, doc: int) -> int:  # noqa: ARG002 - there is one
        """Return the number of the item among all."""
        return self.generation.relations.graph.numbers[self.mark]

    def here(self, mask: Bools) -> Bools:
        """Return of a mask of all items what it says of this one, shape ``(1,)``."""
        return mask[[self.there(0)]]


class ClusterExplainer(Explaining[Found, MeaningQuery, ClusterScores], ClusterSearch):
    """A search of a registry, asked about single items; its reader has the one that is asked about alone."""

    _row: Row
    _scores: ClusterScores

    @property
    def hits(self) -> FetchedHits:
        """What fetches items."""
        return self._cluster.hits

    def explain(self, part: Part, local: int) -> Why:
        """Return why one document is a hit, or why it is not; a warning says where its bytes do not show that."""
        found = super().explain(part, local)
        if found.found or found.reasons:
            return found
        told = f"by its bytes {found.type}:{found.id} is a hit, and {self._of.cluster.address} leaves it out"
        return replace(found, warnings=(*found.warnings, told))

    def ordered_by(self, scores: ClusterScores, matches: Found, exact: Ints) -> Answer[Found]:
        """Return hits in the order of their scores, which are kept."""
        self._scores = scores
        return super().ordered_by(scores, matches, exact)

    def locate(self, part: Part, local: int) -> int:
        """Fetch an item, with its vectors where they are compared."""
        kind, item_id, path = TYPE_NAMES[part.segment.types[local]], part.segment.ids[local], part.segment.paths[local]
        rows = self.hits.named(f"{kind}:{item_id}")
        with self._of.cluster.faults(), reading():
            self._row = {(row.root.source, row.path): row for row in rows}[part.root.source, path]
        self.number = self._cluster.names.number((self._row.mark, kind, item_id, path))
        self.reader, _ = self.hits.indexed([self._row])
        self.states = states = ItemStates(self.reader, self.reader, *self._cluster.judged_by)
        states.generation, states.mark = self._of, self._row.mark
        return 0

    def rank(self, doc: int) -> int | None:  # noqa: ARG002 - there is one
        """Return the rank of the item, from 0, and fetch the hits around it; None for no hit."""
        found, how = self.found, self._cluster.rankings.get(id(self.found.query))
        if how is None:
            return None
        own = {"bool": {"must": [how.clause], "filter": [marked([self._row.mark])]}}
        rows, _ = self.hits.ranked(own, how.sort, 0, 1)
        if not rows:
            return None
        at, reach = self._before(rows[0], how), how.order.reach
        if reach is not None and at >= reach:
            return at
        start, stop = (0, reach) if reach is not None else (max(at - _AROUND, 0), at + _AROUND + 1)
        refuse(self.request._replace(offset=start, limit=stop - start))
        top = self._cluster.top(found.query, found.matches, how.order._replace(start=start, stop=stop), how.by)
        evaluation = self._cluster.page(found.query)
        similar = self._scores.on_page(evaluation) if found.similar else None
        self.found = found._replace(top=top, similar=similar)
        with self._of.cluster.faults(), reading():
            return list(self._marks(evaluation.reader, top.docs)).index(self._row.mark)

    def _marks(self, reader: Reader, docs: Ints) -> Iterator[str]:
        """Yield the mark of each hit up to the end of a page; nothing for those before it."""
        for doc in docs.tolist():
            part, local = reader.locate(max(doc, 0))
            yield self.hits.marks[part.root.source, part.segment.paths[local]] if doc >= 0 else ""

    def _before(self, row: Row, how: Ranking) -> int:
        """Return how many hits come before one."""
        names = [*zip(TIES, row.tie, strict=True)]
        tied = NOTHING
        for name, value in reversed([("by_name", row.by_name), *names] if how.first == "name" else names):
            tied = any_of([{"range": {name: {"lt": value}}}, all_of([{"range": {name: {"lte": value}}}, tied])])
        counted: list[tuple[Clause, dict[str, int]]] = [(tied, {})]
        if how.first == "score":  # a whole number
            counted = [(tied, {"min_score": row.score}), (none_of(tied), {"min_score": row.score + 1})]
        elif how.first == "date":
            later = {"range": {"time": {"gt": max(row.time, _EARLIEST)}}}
            same: Clause = {"range": {"time": {"gte": row.time}}} if row.time > _EARLIEST else EVERYTHING
            counted = [(any_of([later, all_of([same, tied])]), {})]
        bodies = [
            {"query": {"bool": {"must": [how.clause], "filter": [clause]}}, "size": 0, "track_total_hits": True} | least
            for clause, least in counted
        ]
        cluster = self._of.cluster
        answers = cluster.searches(self._of.snapshot.items, bodies)
        with cluster.faults(), reading():
            return sum(int(answer["hits"]["total"]["value"]) for answer in answers)

    def evaluation(self, query: Bound) -> Evaluation:
        """Return the evaluation of a query over the item, with the words that it stands for in the registry."""
        evaluation = self._cluster.weigher(query)(self.reader)
        evaluation.states = self.states
        return evaluation

    def scores_with(self, doc: int) -> SemanticScores | None:  # noqa: ARG002 - there is one
        """Return the scores by meaning of the item."""
        return self._scores.on_page(self._scores.weigh(self.reader)) if self.found.similar else None

    def item_of(self, part: Part, local: int) -> Item:
        """Return the item."""
        return self.hits.read(part.root, part.segment.paths[local]).item
