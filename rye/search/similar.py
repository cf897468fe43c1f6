"""Find items similar to an item, by shared key terms or by vectors.

The terms with the highest BM25F scores in an item become an OR query, each boosted by its share of that score, which
the usual evaluator answers. There is no list of stop words: terms that all items have get no weight.

By vectors, the mean direction of the item's vectors is compared with each vector of the others. Nothing is embedded,
and the item's file is not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from rye.errors import EnvironmentFault, UnavailableError
from rye.index.build.reader import Floats, Part, Reader
from rye.index.storage.arrays import Ints
from rye.items.model import TYPE_NAMES, TYPE_NUMBER
from rye.query import ast
from rye.search.context import SearchContext
from rye.search.contract.fields import K1, TEXT_FIELDS, Weights, weights_for
from rye.search.contract.fusion import by_similarity
from rye.search.contract.request import Request
from rye.search.contract.results import SearchResponse
from rye.search.engine import Search
from rye.search.matching import bound
from rye.search.matching.bind import searched_fields
from rye.search.matching.docset import Docs
from rye.search.matching.expand import How, Pattern, document_frequencies
from rye.search.meaning.semantic import SemanticScores, Similarities
from rye.search.scoring.score import Evaluation, idf

MAX_KEY_TERMS = 25
"""Most terms of an item that are searched for."""

_CANDIDATES = 8 * MAX_KEY_TERMS
"""Terms whose document frequency is counted in all segments: those with the highest scores in the item's segment."""

_SCORE_RANGE = 10
"""A key term scores at least the best term's score divided by this."""


_FACTORS = np.asarray([0.25 if name == "content" else 1.0 for name in TEXT_FIELDS])
"""Content counts less than in a search: items are alike by their names and titles, not by repeated words of a text."""


class KeyTerm(NamedTuple):
    """A term of an item, its share of the score (``tf~ / (k1 + tf~)``), and its inverse document frequency."""

    text: str
    share: float
    idf: float


def key_terms(reader: Reader, part: Part, local: int) -> list[KeyTerm]:
    """Return the most distinctive terms of a document, best first. Each also occurs in another document."""
    segment = part.segment
    terms, shares = _term_shares(weights_for(reader), part, local)
    scores = np.log1p((segment.docs + 0.5) / (segment.term_docs[terms] + 0.5)) * shares
    # Frequencies in the item's own segment select candidates; only these are counted in all segments.
    best = np.argsort(-scores, kind="stable")[:_CANDIDATES]
    texts = segment.terms.take(terms[best])
    counts = np.zeros(len(texts), np.int64)
    for other in reader.parts:
        numbers = np.asarray([other.segment.terms.find(text) for text in texts], np.int64)
        known = np.flatnonzero(numbers >= 0)
        order = known[np.argsort(numbers[known])]
        counts[order] += document_frequencies(other, numbers[order], searched_fields(None))
    rows = zip(texts, shares[best].tolist(), counts.tolist(), strict=True)
    ranked = [KeyTerm(text, share, idf(reader.count, count)) for text, share, count in rows if count > 1]
    ranked.sort(key=lambda term: (-term.share * term.idf, term.text))
    return [
        candidate
        for candidate in ranked[:MAX_KEY_TERMS]
        if candidate.share * candidate.idf * _SCORE_RANGE >= ranked[0].share * ranked[0].idf
    ]


def _term_shares(weights: Weights, part: Part, local: int) -> tuple[Ints, Floats]:
    """Return the terms of a document, ascending, and ``tf~ / (k1 + tf~)`` of each."""
    segment = part.segment
    postings = np.flatnonzero(segment.places(slice(None))[0] == local)
    tf = segment.frequencies(postings) * _alike(weights).normalized(part, segment.slots(postings))
    # Postings are ordered by term: the term of a posting is the last one whose postings begin at or before it.
    numbers = np.searchsorted(segment.term_postings, postings.astype(segment.term_postings.dtype), side="right") - 1
    terms, which = np.unique(numbers, return_inverse=True)
    total = np.bincount(which, tf, len(terms))
    return terms, total / (K1 + total)


def _alike(weights: Weights) -> Weights:
    """Return the weights of knowledge for items of every type, with less for content."""
    of_knowledge = weights.w[TYPE_NUMBER["knowledge"] :: len(TYPE_NAMES)]
    return replace(weights, w=np.repeat(of_knowledge, len(TYPE_NAMES), axis=0) * _FACTORS)


def _shared_words(terms: Sequence[KeyTerm]) -> bound.Bound:
    fields = searched_fields(None)
    queries = [
        bound.TermQuery(
            bound.BoundPhrase((Pattern(term.text, How.EXACT),), (0,)), fields, term.share, "", ast.Word(term.text)
        )
        for term in terms
    ]
    return bound.Any(tuple(queries)) if queries else bound.BoundNot(bound.BoundEverything())


class SimilarSearch:
    """A search for items similar to one item; its request has no query."""

    def __init__(self, request: Request, context: SearchContext) -> None:
        self._search, self._context = Search(request, context), context
        self._warnings: list[str] = []

    def similar_to(self, part: Part, local: int) -> SearchResponse:
        """Return the items most similar to a document of ``context.everywhere``, without its own copies."""
        search, context = self._search, self._context
        kind, item_id = TYPE_NAMES[part.segment.types[local]], part.segment.ids[local]
        query = _shared_words(key_terms(context.everywhere, part, local))
        evaluation = Evaluation(search.reader, query, _alike(search.weights), search.states)
        own = [other.base + doc for other, doc in context.reader.having_key(kind, item_id)]
        allowed = search.allowed() & ~Docs(search.reader.size, numbers=np.asarray(sorted(own), np.int64))
        scores = None if search.request.mode.name == "keyword" else self._scores(part, local, allowed, evaluation)
        docs = scores.hits() if scores else evaluation.docs() & allowed
        answer = search.ordered(
            search.matched("similar", evaluation, docs, similar=scores), search.request, search.read()
        )
        return search.respond(answer, f"{kind}:{item_id}", "similar", self._warnings)

    def _scores(self, part: Part, local: int, allowed: Docs, evaluation: Evaluation) -> SemanticScores | None:
        """Return the similarity scores; None, with a warning, if shared words have to answer."""
        name = ":".join(self._context.everywhere.key_of(part.base + local))
        try:
            everywhere = self._context.embeddings.meaning(self._context.everywhere)
            query = everywhere.vectors.direction(part.base + local)
            meaning = self._context.embeddings.meaning(self._context.reader)
        except (UnavailableError, EnvironmentFault) as error:
            self._warn(f"{error.message}; {error.hint}" if error.hint else error.message)
            return None
        if query is None or len(query) != (meaning.vectors.dimensions or len(query)):
            self._warn(f"{name} has no vector yet, or none with a direction")
            return None
        self._warnings += dict.fromkeys((*everywhere.warnings, *meaning.warnings))
        rows = meaning.vectors.similarities(query, allowed.mask)
        similarities = Similarities(meaning, query, rows, meaning.vectors.best(rows).astype(np.float64))
        docs, threshold = allowed.numbers, meaning.embedder.threshold
        fused = by_similarity(similarities.best[docs], np.ones(len(docs)), threshold)
        return SemanticScores(f"like {name}", False, threshold, similarities, evaluation, docs, fused)

    def _warn(self, why: str) -> None:
        self._warnings.append(f"items that share words instead of such that mean the same: {why}")
