"""The index during one search: matching, ranking, fetching and counting."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from rye.index.build.reader import Floats
from rye.index.storage.arrays import Ints, unique
from rye.index.text.schema import BUILT_IN_KEYS
from rye.search.context import SearchContext
from rye.search.contract.fields import Weights, weights_for
from rye.search.contract.request import FacetRequest
from rye.search.contract.results import Facet
from rye.search.matching.bind import searched_fields
from rye.search.matching.bound import Bound, has_relations
from rye.search.matching.docset import Docs
from rye.search.matching.predicates import States
from rye.search.page.page import Hydrator, PageBuilder
from rye.search.reading.relax import Dictionary
from rye.search.scoring.facets import count_facets
from rye.search.scoring.order import Order, Top, ranked
from rye.search.scoring.score import Evaluation, KnownTerms

_NOTHING: Ints = np.empty(0, np.int64)


class Backend:
    """One reader during one search. Keeps the evaluated queries for later stages."""

    def __init__(self, context: SearchContext) -> None:
        self.context, self.reader = context, context.reader
        self.states = States(context.reader, context.everywhere, context.trust, context.now)
        self.weights = weights_for(context.reader, context.overrides)
        self.has_withdrawn = bool(len(self.reader.withdrawn))
        self._known: KnownTerms = {}
        self._evaluations: dict[int, Evaluation] = {}

    def metadata_keys(self) -> frozenset[str]:
        """Return the metadata keys that items have."""
        return self.reader.keys - frozenset(BUILT_IN_KEYS)

    def dictionary(self, level: int | None) -> Dictionary:
        """Return the words of the fields of a level, or of all fields if it is None."""
        return Dictionary(self.reader, searched_fields(level))

    def evaluation(self, query: Bound, weights: Weights | None = None) -> Evaluation:
        """Return the evaluation of a query, cached by object identity. The first call may set the weights."""
        evaluation = self._evaluations.get(id(query))
        if evaluation is None:
            weights = weights or self.weights
            evaluation = Evaluation(self.reader, query, weights, self.states, known=self._known)
            self._evaluations[id(query)] = evaluation
        return evaluation

    def match(self, query: Bound) -> Docs:
        """Return the live documents that match.

        Raises:
            QueryError: ``too-many-positions``.
        """
        return self.evaluation(query).docs()

    def as_docs(self, items: Ints) -> Docs:
        """Return the documents as a set."""
        return Docs(self.reader.size, numbers=items)

    def among(self, items: Ints, matches: Docs) -> Ints:
        """Return the documents that are in a set."""
        return (self.as_docs(items) & matches).numbers

    def top(self, query: Bound, matches: Docs, order: Order, *, similar: Callable[[Ints], Floats] | None = None) -> Top:
        """Return the first documents in order.

        Args:
            query: What the documents are scored by, unless ``similar`` is given.
            matches: The documents.
            order: Their order.
            similar: Returns the similarity scores of documents.
        """
        evaluation, exact = self.evaluation(query), self.among(order.exact, matches)
        withdrawn = self.reader.withdrawn if order.withdrawn_last else _NOTHING
        if similar is not None or len(withdrawn) or order.sort_by != "score":
            docs = matches.numbers
            scores = (similar or evaluation.scores)(docs)
        else:
            docs, scores = evaluation.best(matches, max(order.stop, order.reach or 0))
            if len(exact) and len(several := unique(docs, exact)) > len(docs):
                docs, scores = several, evaluation.scores(several)
        scores = scores.round(4)
        best = ranked(self.reader, docs, scores, order, withdrawn=withdrawn)
        reachable = matches
        if order.reach is not None and order.reach < len(matches):
            reachable = self.as_docs(np.sort(docs[best[: order.reach]]))
        best = best[: order.stop]
        return Top(docs[best], scores[best], frozenset(order.exact.tolist()), reachable, tuple(self._notes(evaluation)))

    def _notes(self, evaluation: Evaluation) -> Iterator[str]:
        for term in evaluation.terms():
            if term.is_cut():
                yield f"{term.query.label()} stands for too many terms; the most frequent were kept"

    def unknown_references(self, queries: Sequence[Bound]) -> list[str]:
        """Return a warning if the queries ask for relations and the references of some items are unknown."""
        unknown = self.states.graph().unknown if any(map(has_relations, queries)) else ""
        return [unknown] if unknown else []

    def page_builder(self, query: Bound, *, explain: bool, verdicts_matter: bool) -> PageBuilder:
        """Return the builder that turns hits into results."""
        only_trusted, matters = self.context.only_trusted, verdicts_matter or self.context.only_trusted
        hydrator = Hydrator(self.reader, self.states, self.context.trust(), self.context.now, matters)
        return PageBuilder(self.evaluation(query), hydrator, explain, names_files=not only_trusted)

    def facets(self, matches: Docs, requests: Sequence[FacetRequest]) -> Mapping[str, Facet]:
        """Count the values of each facet in the documents."""
        return count_facets(self.reader, self.states, matches.numbers, requests)
