"""Re-ranking: a slower, more exact model compares the best hits of a semantic search with the query.

The score of each of the first :data:`DEPTH` hits, which the second model compares with the query, becomes::

    0.5 · cosine(query, title + description + beginning of the text) + 0.36 · score / best score

The score of any other hit is the second term alone, so these hits keep their order. Vectors are made only for the hits
compared, and are kept by the digest of their bytes, also for later processes. Time is limited: hits are embedded from
the first one on, and hits for which no time is left keep their places after the others.

The weights were chosen on labelled queries for tools and abstracts; ``tests/benchmarks/RANKING.md`` has the figures.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from rye.embedding.protocol import Embedder, query_vector
from rye.embedding.protocol import Floats as Rows
from rye.index.build.reader import Floats
from rye.index.storage.arrays import Ints
from rye.index.vectors.digest_vectors import KEPT, DigestVectors
from rye.items.model import Item, ItemType

DEPTH = 50
"""Most hits that are compared."""

CHARS = 1_000
"""Characters of an item that the second model reads."""

SECONDS = 0.4
"""Most time, approximately, that one search spends on making vectors."""

BY_MODEL, BY_SCORE = 0.5, 0.36
"""Weights of the cosine and of the first-stage score."""

RECIPE = "title, description, beginning: 1"
"""Version of :func:`text_of`. Change it with that function, so that all vectors are made anew."""

_AT_A_TIME = 16
"""Texts that are embedded before the time is checked."""


class Reranked(NamedTuple):
    """New scores of hits.

    Attributes:
        scores: Shape ``(hits,)``: in the order of the hits given.
        cosines: By document: the cosine of each that was compared; negative ones are 0.
        factor: The factor of the first-stage scores.
    """

    scores: Floats
    cosines: dict[int, float]
    factor: float


class Reranker:
    """Compares hits with a query by a second model; thread-safe.

    Args:
        embedder: The model.
        seconds: Time limit for embedding in one search, if less than :data:`SECONDS`.
        kept: The vectors that earlier processes have made.
    """

    def __init__(self, embedder: Embedder, seconds: float, kept: DigestVectors) -> None:
        self._embedder = embedder
        self._seconds = seconds
        self._kept = kept
        self._lock = threading.Lock()
        self._vectors: OrderedDict[str, Rows] = OrderedDict(kept.read())

    def rerank(
        self,
        query: str,
        docs: Ints,
        scores: Floats,
        *,
        digest: Callable[[int], str],
        text: Callable[[int], str],
        may_embed: bool,
    ) -> Reranked:
        """Return new scores of hits.

        Args:
            query: The text of the query.
            docs: Shape ``(hits,)``: the documents.
            scores: Shape ``(hits,)``: their scores, at least 0.
            digest: Returns the SHA-256 of the bytes of a document, in hexadecimal digits.
            text: Returns the text of a document for the model; empty if its file cannot be read.
            may_embed: Whether vectors may be made. A later page uses only the vectors that the first page made, so that
                its hits follow those of the first page.

        Raises:
            UnavailableError: The model cannot be used.
        """
        best = np.argsort(-scores, kind="stable")[:DEPTH]
        vector = query_vector(self._embedder, query)
        rows = self._embed(docs[best].tolist(), digest, text if may_embed else None)
        cosines = np.maximum(np.asarray([row @ vector for row in rows], np.float64), 0.0)
        factor = BY_SCORE / (float(scores.max(initial=0.0)) or 1.0)
        new = factor * scores
        new[best[: len(rows)]] += BY_MODEL * cosines
        return Reranked(new, dict(zip(docs[best].tolist(), cosines.tolist(), strict=False)), factor)

    def _embed(
        self, docs: Sequence[int], digest: Callable[[int], str], text: Callable[[int], str] | None
    ) -> list[Rows]:
        """Return the vectors of the first documents, up to the first that is neither known nor made in time.

        Without ``text`` none are made.
        """
        keys = [digest(doc) for doc in docs]
        with self._lock:
            known = {key: self._vectors[key] for key in keys if key in self._vectors}
        missing = [(key, doc) for key, doc in zip(keys, docs, strict=True) if key not in known]
        until = time.monotonic() + min(self._seconds, SECONDS)
        for at in range(0, len(missing) if text else 0, _AT_A_TIME):
            if text is None or time.monotonic() >= until:
                break
            batch = missing[at : at + _AT_A_TIME]
            known |= zip((key for key, _ in batch), self._embedder.embed([text(doc) for _, doc in batch]), strict=True)
        with self._lock:
            for key in keys:
                if key in known and known[key].any():  # zeros: the text was empty
                    self._vectors[key] = known[key]
                    self._vectors.move_to_end(key)
            while len(self._vectors) > KEPT:
                self._vectors.popitem(last=False)
        if new := {key: known[key] for key, _ in missing if key in known and known[key].any()}:
            self._kept.add(new)
        return [known[key] for key in takewhile(known.__contains__, keys)]


def text_of(item: Item) -> str:
    """Return the text of an item for the second model: title or name, description, and the beginning of the body.

    The body of a tool is left out, because it is code, which the model does not understand.
    """
    body = "" if item.type == ItemType.TOOL else item.body[:CHARS]
    return f"{item.title or item.name}\n{item.description}\n{body}"[:CHARS]
