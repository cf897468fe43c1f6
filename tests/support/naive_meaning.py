"""The twin of search by meaning: every text of every item is compared with the query in float64, one by one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from rye.embedding.protocol import Embedder
from rye.index.text.chunks import chunks_of
from rye.query import ast
from tests.support.naive_analysis import fold, parts
from tests.support.naive_bind import Binder, TextLeaf, score, scored_leaves
from tests.support.naive_docs import WEIGHTS, Corpus, NaiveDoc, read_corpus, withdrawn
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


def similarity(doc: NaiveDoc, queries: Sequence[tuple[Doubles, float]], embedder: Embedder) -> float:
    """Return the highest cosine of any text of an item with a reading of the query, times what that counts for."""
    rows = embedder.embed([chunk.text for chunk in chunks_of(doc.item)]).astype(np.float64)
    return max(weight * cosine(row, query) for row in rows for query, weight in queries)


def readings(text: str, sentence: Sentence, embedder: Embedder) -> list[tuple[Doubles, float]]:
    """Return the vectors of a query of plain words as typed and as read, each with what it counts for."""
    read, sure = list[str](), 1.0
    for word in text.split():
        is_token = getattr(embedder, "is_token", lambda _: True)
        if sentence.is_known(word) or is_token(word):
            read.append(word)
            continue
        found = list(sentence.readings(word))
        if len(parts(word)) == len(found) == 1 and found != [(word, 1.0)]:
            sure = min(sure, found[0][1])
            read.append(found[0][0])
        elif not any(one.isdigit() != other.isdigit() for one, other in pairwise(word)):
            read.append(word)
    texts = [(text, 1.0)] + [(" ".join(read), sure)] * bool(read)
    return [(embedder.embed([one])[0].astype(np.float64), weight) for one, weight in texts]


def sentence_of(text: str, corpus: Corpus) -> Sentence:
    """Return a query of plain words over a corpus."""
    fields = tuple(WEIGHTS)
    return Sentence(Counter(map(ast.Word, text.split())), corpus, fields, corpus.document_frequencies(fields))


def listed(hits: Sequence[NaiveHit]) -> list[NaiveHit]:
    """Return hits in order: those that the query names first, then by score to four decimals, then source and id."""

    def place(hit: NaiveHit) -> tuple[Any, ...]:
        item = hit.doc.item
        return not hit.exact, -round(hit.score, 4), hit.doc.priority, item.id, str(item.type), hit.doc.path

    return sorted(hits, key=place)


def equals(doc: NaiveDoc, text: str) -> bool:
    """Return whether a query is the id, name or title of an item."""
    title = "" if withdrawn(doc) else fold(doc.item.title)
    return fold(text.strip()) in {fold(doc.item.id), fold(doc.item.name), title or None}


def semantic(
    docs: Sequence[NaiveDoc], text: str, embedder: Embedder, boosts: Mapping[str, float] = BOOSTS
) -> list[NaiveHit]:
    """Return all items in the order of their similarity times the boost of their source."""
    queries = readings(text, sentence_of(text, read_corpus(docs, "all")), embedder)
    hits = []
    for doc in docs:
        if withdrawn(doc):
            continue
        near = similarity(doc, queries, embedder)
        score = max(near, 0.0) * boosts[doc.source.partition(":")[0]]
        hits.append(NaiveHit(doc, score, near, exact=equals(doc, text)))
    return listed(hits)


def similar(docs: Sequence[NaiveDoc], item: NaiveDoc, embedder: Embedder) -> list[NaiveHit]:
    """Return all items in the order of their similarity to the mean of the vectors of one, without its copies."""
    texts = [chunk.text for chunk in chunks_of(item.item)]
    mean = embedder.embed(texts).astype(np.float64).mean(axis=0)
    named = item.item.type, item.item.id
    others = [doc for doc in docs if not withdrawn(doc) and (doc.item.type, doc.item.id) != named]
    near = [(doc, similarity(doc, [(mean, 1.0)], embedder)) for doc in others]
    return listed([NaiveHit(doc, max(cosine, 0.0), cosine) for doc, cosine in near])


def fused(docs: Sequence[NaiveDoc], text: str, embedder: Embedder, *, rrf: bool = False) -> list[NaiveHit]:
    """Return all items in the order of the fused score, weighted as by default or by reciprocal ranks."""
    corpus = read_corpus(docs, "all")
    sentence = sentence_of(text, corpus)
    words, queries = sentence.words, readings(text, sentence, embedder)
    few = [word if sentence.is_known(word.text) else ast.Fuzzy(word.text) for word in words]
    worded = sentence.any() if len(words) >= SENTENCE else group(ast.Or, few)
    leaves = scored_leaves(Binder(corpus).bind(worded))
    near = {number: max(similarity(doc, queries, embedder), 0.0) for number, doc in enumerate(corpus.docs)}
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
