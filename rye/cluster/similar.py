"""Items similar to an item of a registry: by its key terms, or by the vectors that it has, as at home.

The item is read from the bytes that the cluster has of it, and how many items have each of its terms is looked up in
the dictionary. Its mean direction is compared with all vectors by the script that compares a query.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rye.cluster.conditions import cannot, none_of
from rye.cluster.generation import Found
from rye.cluster.hits import FetchedHits
from rye.cluster.meaning import Asked, ClusterScores, ClusterSearch
from rye.cluster.vectors import vectors_of
from rye.embedding.protocol import Embedder
from rye.errors import EnvironmentFault, UnavailableError
from rye.index.reader import Part, Reader
from rye.index.schema import SEPARATOR, TYPE_NAMES, clean
from rye.query import ast
from rye.search.bound import Bound
from rye.search.fields import Overrides
from rye.search.request import BOOSTS, Request
from rye.search.results import SearchResponse
from rye.search.semantic import MeaningQuery
from rye.search.similar import INSTEAD, distinguishing, shared_words, term_shares, weights_alike

Find = Callable[[FetchedHits], tuple[Reader, Part, int]]
"""Fetches an item: returns an index of it and of its copies, and its segment and number there."""


class LikeItem(MeaningQuery):
    """What is asked for in place of a text: what has the meaning of an item."""

    def __init__(self, request: Request, item: str) -> None:
        self.request, self.text, self.warnings = request, f"like {item}", []
        self.boosts = dict.fromkeys(BOOSTS, 1.0)
        self.required = ast.Everything()


class SimilarItems(ClusterSearch):
    """A search for items similar to one; its request has no query."""

    @staticmethod
    def weights(chosen: Overrides) -> Overrides:
        """Return the weights of fields by which items are compared, given those that were chosen for a search."""
        return weights_alike(chosen)

    def similar_to(self, find: Find) -> SearchResponse:
        """Return the items most similar to one, without its own copies.

        Raises:
            UnavailableError: ``not-on-cluster``: both meaning and words are asked for.
            NotFoundError, ArgumentError: What ``find`` raises.
        """
        mode = self.request.mode.name
        if mode == "hybrid":
            raise cannot("fuse by ranks", "ask for --mode semantic, or for keyword")
        semantic = LikeItem(self.request, "the item")
        embedder = self._opened(semantic) if mode == "semantic" else None
        reader, part, local = find(self._cluster.hits)
        kind, item_id = TYPE_NAMES[part.segment.types[local]], part.segment.ids[local]
        name = f"{kind}:{item_id}"
        query = self._words(part, local)
        own = none_of({"term": {"entry": f"key{SEPARATOR}{clean(name)}"}})
        allowed = self.allowed() & Found(self._of, own)
        scores = None
        if embedder is not None:
            semantic.text = f"like {name}"
            direction = vectors_of(reader, self._cluster.hits.vectors).direction(part.base + local)
            if direction is None:
                self._warnings.append(f"{INSTEAD}{name} has no vector yet, or none with a direction")
            else:
                self._warnings += semantic.warnings
                asked = Asked(embedder, {semantic.text: 1.0}, [direction])
                scores = ClusterScores(
                    self._of, self._cluster, semantic, asked, query=query, items=allowed, none_left=str
                )
        if scores:
            answer = self.ordered_by(scores, scores.hits(), np.empty(0, np.int64))
        else:
            answer = self.ordered("similar", query, self._cluster.match(query) & allowed, np.empty(0, np.int64))
        return self.respond(answer, name, "similar", self._warnings)

    def _opened(self, semantic: MeaningQuery) -> Embedder | None:
        """Return the embedder; None, with a warning, where shared words have to answer."""
        try:
            return self.embedder(semantic)
        except (UnavailableError, EnvironmentFault) as error:
            self._warnings.append(f"{INSTEAD}{error.message}; {error.hint}" if error.hint else INSTEAD + error.message)
            return None

    def _words(self, part: Part, local: int) -> Bound:
        """Return the query for items that share key terms of a document."""
        terms, shares = term_shares(self._of.weights, part, local)
        texts = part.segment.terms.take(terms)
        size = self._of.snapshot.size
        counts = [min(count, size) for count in self._of.lists.frequencies(texts)]  # whatever the cluster says
        return shared_words(distinguishing(texts, shares.tolist(), counts, size))
