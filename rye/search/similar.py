"""Items like an item: those that share its rarest words, by the evaluator that answers queries.

The words that tell an item best from others, by BM25F, become a query of which any part will do; each is boosted by
what it gives the item itself. There is no list of words to leave out: what all items have tells nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from rye.errors import EnvironmentFault, ItemError, UnavailableError
from rye.index.arrays import Ints
from rye.index.postings import slot_keys
from rye.index.reader import Part, Reader
from rye.index.schema import TYPE_NAMES
from rye.items import ItemType
from rye.query import ast
from rye.search import bound
from rye.search.bind import searched_fields
from rye.search.docset import Docs
from rye.search.engine import Search
from rye.search.expand import How, Pattern, document_frequencies
from rye.search.fields import K1, Weights, weights_for
from rye.search.fusion import Fusion, by_similarity, fuse
from rye.search.results import SearchResponse
from rye.search.score import Evaluation, idf
from rye.search.semantic import SemanticScores, similarities
from rye.spaces.read import read_item

MAX_TELLING = 25
"""Words of an item that similar ones are looked for by."""

_LEAST = 10
"""How many times less than the best word one may tell."""

_SAID = 4_000
"""Characters of an item by which items that mean the same are found."""

_PERHAPS = 8 * MAX_TELLING
"""Words that are counted in all segments, those first that tell most in the item's own."""


class Telling(NamedTuple):
    """A word of an item, what it gives the item (``tf~ / (k1 + tf~)``), and how rare it is."""

    text: str
    share: float
    idf: float


def telling_words(reader: Reader, part: Part, local: int) -> list[Telling]:
    """Return the words that tell a document best from others, best first; another document has each of them, too.

    Args:
        reader: All documents.
        part: The part of it that has the document.
        local: Its number there.
    """
    terms, shares = _shares(part, local, weights_for(reader))
    own = np.log1p((part.segment.docs + 0.5) / (part.segment.term_docs[terms] + 0.5)) * shares
    best = np.argsort(-own, kind="stable")[:_PERHAPS]
    words, shares = part.segment.terms.take(terms[best]), shares[best].tolist()
    counts = _frequencies(reader, words)
    found = [
        Telling(word, share, idf(reader.count, df))
        for word, share, df in zip(words, shares, counts, strict=True)
        if df > 1
    ]
    found.sort(key=lambda word: (-word.share * word.idf, word.text))
    return [word for word in found[:MAX_TELLING] if word.share * word.idf * _LEAST >= found[0].share * found[0].idf]


def _shares(part: Part, local: int, weights: Weights) -> tuple[Ints, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Return the terms of a document, ascending, and ``tf~ / (k1 + tf~)`` of each."""
    segment = part.segment
    postings = np.flatnonzero(segment.posting_doc[:] == local)
    slots = slot_keys(np.full(len(postings), local), segment.posting_field[postings])
    tf = segment.frequencies(postings) * weights.normalized(part, slots)
    numbers = np.searchsorted(segment.term_postings, postings.astype(segment.term_postings.dtype), side="right") - 1
    terms, which = np.unique(numbers, return_inverse=True)
    total = np.bincount(which, tf, len(terms))
    return terms, total / (K1 + total)


def _frequencies(reader: Reader, words: Sequence[str]) -> list[int]:
    """Return in how many live documents each word occurs."""
    counts = np.zeros(len(words), np.int64)
    fields = searched_fields(None)
    for part in reader.parts:
        numbers = np.asarray([part.segment.terms.find(word) for word in words], np.int64)
        known = np.flatnonzero(numbers >= 0)
        order = known[np.argsort(numbers[known])]
        counts[order] += document_frequencies(part, numbers[order], fields)
    return [int(count) for count in counts]


class Likeness(Search):
    """A search for items like one; its request says where to look, by what, and which page, and has no query."""

    def like(self, part: Part, local: int) -> SearchResponse:
        """Return the items most like a document of ``context.everywhere``, without its own copies."""
        kind, item_id = TYPE_NAMES[part.segment.types[local]], part.segment.ids[local]
        words = telling_words(self.context.everywhere, part, local)
        evaluation = Evaluation(self.reader, _query(words), self.weights, self.states)
        own = [other.base + doc for other, doc in self.reader.having_key(kind, item_id)]
        allowed = self.allowed() & ~Docs(self.reader.size, numbers=np.asarray(sorted(own), np.int64))
        near = self._near(part, local, allowed, evaluation) if self.request.mode.name != "keyword" else None
        found = near.hits() if near else evaluation.docs() & allowed
        answer = self._ordered("similar", evaluation, found, exact=np.empty(0, np.int64), near=near)
        method = "rrf" if near and near.hybrid else self.method(near)
        page = self.respond(answer, f"{kind}:{item_id}", "similar", method=method)
        return replace(page, warnings=(*self._warnings, *page.warnings))

    def _near(self, part: Part, local: int, allowed: Docs, evaluation: Evaluation) -> SemanticScores | None:
        """Return how near the items are to what one says; None where only words can tell, which becomes a warning."""
        path, kind = part.segment.paths[local], ItemType(TYPE_NAMES[part.segment.types[local]])
        try:
            item = read_item(part.root, path, kind, part.segment.ids[local]).item
            text = "\n".join((item.title or item.name, item.description, item.body))[:_SAID]
            meaning = self.context.meaning()
            found = similarities(meaning, text, allowed.mask)
        except (UnavailableError, EnvironmentFault, ItemError) as error:
            why = f"{error.message}; {error.hint}" if error.hint else error.message
            self._warnings.append(f"items that share words instead of such that mean the same: {why}")
            return None
        self._warnings += meaning.warnings
        docs, threshold = allowed.numbers, meaning.embedder.threshold
        similarity, hybrid = found.best[docs], self.request.mode.name == "hybrid"
        if hybrid:
            shared = evaluation.scores(docs) if evaluation.scored() else np.zeros(len(docs))
            fused = fuse(Fusion("rrf"), similarity, shared, threshold)
        else:
            fused = by_similarity(similarity, np.ones(len(docs)), threshold)
        return SemanticScores(f"like {kind}:{item.id}", hybrid, threshold, found, evaluation, docs, fused)


def _query(words: Sequence[Telling]) -> bound.Bound:
    fields = searched_fields(None)
    leaves = [
        bound.TermQuery(
            bound.Phrase((Pattern(word.text, How.EXACT),), (0,)), fields, word.share, "", ast.Word(word.text)
        )
        for word in words
    ]
    return bound.Any(tuple(leaves)) if leaves else bound.Not(bound.Everything())
