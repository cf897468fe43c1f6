"""The twin of search by meaning: every text of every item is compared with the query in float64, one by one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rye.embedding import Embedder
from rye.index.chunks import chunks_of
from rye.query import ast
from tests.support.naive_analysis import fold
from tests.support.naive_bind import Binder, TextLeaf, score, scored_leaves
from tests.support.naive_docs import WEIGHTS, NaiveDoc, read_corpus, withdrawn
from tests.support.naive_prose import SENTENCE, Sentence, group

__all__ = ["NaiveHit", "fused", "semantic", "similar"]

BOOSTS = {"project": 1.2, "user": 1.1, "system": 0.85}
Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class NaiveHit:
    """One item with its scores, none of them rounded."""

    doc: NaiveDoc
    score: float
    similarity: float
    keyword: float = 0.0
    exact: bool = False

    @property
    def key(self) -> tuple[str, str, str]:
        """Type, id and source."""
        return str(self.doc.item.type), str(self.doc.item.id), self.doc.source


def cosine(one: Doubles, other: Doubles) -> float:
    """Return the cosine of two vectors, 0 where one has no length."""
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / lengths if lengths else 0.0


def similarity(doc: NaiveDoc, query: Doubles, embedder: Embedder) -> float:
    """Return the highest cosine of any text of an item."""
    rows = embedder.embed([chunk.text for chunk in chunks_of(doc.item)]).astype(np.float64)
    return max(cosine(row, query) for row in rows)


def listed(hits: Sequence[NaiveHit]) -> list[NaiveHit]:
    """Return hits in order: those that the query names first, then by score to four decimals, then source and id."""

    def place(hit: NaiveHit) -> tuple[Any, ...]:
        item = hit.doc.item
        return not hit.exact, -round(hit.score, 4), hit.doc.priority, item.id, str(item.type), hit.doc.path

    return sorted(hits, key=place)


def equals(doc: NaiveDoc, text: str) -> bool:
    """Return whether a query is the id or name of an item."""
    return fold(text.strip()) in {fold(doc.item.id), fold(doc.item.name)}


def semantic(
    docs: Sequence[NaiveDoc], text: str, embedder: Embedder, boosts: Mapping[str, float] = BOOSTS
) -> list[NaiveHit]:
    """Return all items in the order of their similarity times the boost of their source."""
    query = embedder.embed([text])[0].astype(np.float64)
    hits = []
    for doc in docs:
        if withdrawn(doc):
            continue
        near = similarity(doc, query, embedder)
        score = max(near, 0.0) * boosts[doc.source.partition(":")[0]]
        hits.append(NaiveHit(doc, score, near, exact=equals(doc, text)))
    return listed(hits)


def similar(docs: Sequence[NaiveDoc], item: NaiveDoc, embedder: Embedder) -> list[NaiveHit]:
    """Return all items in the order of their similarity to the mean of the vectors of one, without its copies."""
    texts = [chunk.text for chunk in chunks_of(item.item)]
    mean = embedder.embed(texts).astype(np.float64).mean(axis=0)
    named = item.item.type, item.item.id
    others = [doc for doc in docs if not withdrawn(doc) and (doc.item.type, doc.item.id) != named]
    near = [(doc, similarity(doc, mean, embedder)) for doc in others]
    return listed([NaiveHit(doc, max(cosine, 0.0), cosine) for doc, cosine in near])


def fused(docs: Sequence[NaiveDoc], text: str, embedder: Embedder, *, rrf: bool = False) -> list[NaiveHit]:
    """Return all items in the order of the fused score, weighted as by default or by reciprocal ranks."""
    query = embedder.embed([text])[0].astype(np.float64)
    corpus = read_corpus(docs, "all")
    words = Counter(map(ast.Word, text.split()))
    fields = tuple(WEIGHTS)
    sentence = Sentence(words, corpus, fields, corpus.document_frequencies(fields))
    few = [word if sentence.is_known(word.text) else ast.Fuzzy(word.text) for word in words]
    worded = sentence.any() if len(words) >= SENTENCE else group(ast.Or, few)
    leaves = scored_leaves(Binder(corpus).bind(worded))
    near = {number: max(similarity(doc, query, embedder), 0.0) for number, doc in enumerate(corpus.docs)}
    scores = {number: keyword(leaves, number) for number in near}
    hits = []
    for number, doc in enumerate(corpus.docs):
        if rrf:
            total = (61 / 2) * (reciprocal(near, number) + reciprocal(scores, number))
        else:
            total = (0.72 * near[number] + 0.28 * 5 * scores[number]) / (0.72 + 0.28 * 5)
        exact = equals(doc, text) or sentence.names(doc)
        hits.append(NaiveHit(doc, total, near[number], scores[number], exact))
    return listed([hit for hit in hits if not withdrawn(hit.doc)])


def keyword(leaves: Sequence[TextLeaf], number: int) -> float:
    """Return the geometric mean of the BM25F score and the share of the query's worth that an item has."""
    most = math.fsum(leaf.boost * leaf.idf for leaf in leaves)
    found = math.fsum(leaf.boost * leaf.idf for leaf in leaves if leaf.pseudo_frequency(number) > 0)
    return math.sqrt(score(leaves, number) * found / most)


def reciprocal(values: Mapping[int, float], number: int) -> float:
    """Return 1 / (60 + rank) among all values, nothing for none."""
    if values[number] <= 0:
        return 0.0
    return 1 / (60 + 1 + sum(other > values[number] for other in values.values()))
