"""A second model puts the best hits in a new order, for as many of them as it has time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.embedding.protocol import Floats
from rye.index.vectors.digest_vectors import KEPT, DigestVectors
from rye.search.meaning.rerank import BY_MODEL, BY_SCORE, DEPTH, Reranked, Reranker

NOWHERE = DigestVectors(Path(os.devnull) / "nowhere", "angles", 2)
"""Keeps nothing."""


class Angles:
    """An embedder whose texts are angles in degrees; counts what it embeds."""

    model, threshold, dimensions = "angles", 0.0, 2

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return the direction of each angle."""
        self.embedded += texts
        radians = np.radians(np.asarray(texts, np.float64))
        return np.stack([np.cos(radians), np.sin(radians)], axis=1).astype(np.float32)

    def embed_query(self, text: str) -> Floats:
        """Return the direction of an angle."""
        return np.asarray(Angles().embed([text])[0], np.float32)


def digest_of(doc: int) -> str:
    """Return a digest for a document."""
    return f"{doc:064x}"


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 180)), max_size=2 * DEPTH))
def test_scores_are_those_of_the_formula(hits: list[tuple[float, int]]) -> None:
    """The best are compared, a negative cosine counts as none, and no hit overtakes one that was compared unfairly."""
    scores = np.asarray([score for score, _ in hits])
    docs = np.arange(len(hits)) + 7
    found = Reranker(Angles(), 60.0, NOWHERE).rerank(
        "0", docs, scores, digest=digest_of, may_embed=True, text=lambda doc: str(hits[doc - 7][1])
    )
    order = sorted(range(len(hits)), key=lambda at: -hits[at][0])
    expected = BY_SCORE * scores / (max(scores, default=0) or 1)
    for at in order[:DEPTH]:
        cosine = max(np.cos(np.radians(hits[at][1])), 0)
        expected[at] += BY_MODEL * cosine
        assert found.cosines[at + 7] == pytest.approx(cosine, abs=1e-6)
    assert found.scores == pytest.approx(expected, abs=1e-6)
    assert len(found.cosines) == min(len(hits), DEPTH)
    rest = [found.scores[at] for at in order[DEPTH:]]
    assert rest == sorted(rest, reverse=True)
    assert max(rest, default=0) <= min((found.scores[at] for at in order[:DEPTH]), default=0) + 1e-12


def test_a_later_page_takes_the_vectors_of_the_first(tmp_path: Path) -> None:
    """It makes none, also in another process: what was compared for the first page decides the order of all."""
    kept, model = DigestVectors(tmp_path, "angles", 2), Angles()

    def rerank(*, may_embed: bool) -> Reranked:
        scores = np.asarray([0.9, 0.8, 0.7])
        asked = Reranker(model, 60.0, kept)
        return asked.rerank("0", np.arange(3), scores, digest=digest_of, text=str, may_embed=may_embed)

    assert rerank(may_embed=False).cosines == {}
    first = rerank(may_embed=True)
    embedded = list(model.embedded)
    later = rerank(may_embed=False)
    assert later.scores == pytest.approx(first.scores, abs=1e-3)
    assert model.embedded == embedded == ["0", "1", "2"]


def test_vectors_are_appended_and_a_damaged_record_is_skipped(tmp_path: Path) -> None:
    """The file grows by what is new, to twice what is kept; a torn or changed record takes no other with it."""
    kept = DigestVectors(tmp_path, "angles", 2)
    vectors = {digest_of(number): np.asarray([1.0, number / 10_000], np.float32) for number in range(KEPT + 10)}
    sizes = []
    for digest, vector in list(vectors.items())[:3]:
        kept.add({digest: vector})
        sizes.append(kept.path.stat().st_size)
    assert sizes == [size * sizes[0] for size in (1, 2, 3)]
    data = bytearray(kept.path.read_bytes())
    data[sizes[0] + 5] ^= 1
    kept.path.write_bytes(data + b"torn")
    assert list(kept.read()) == [digest_of(0), digest_of(2)]
    for _ in range(3):
        kept.add(vectors)
    assert list(kept.read()) == list(vectors)[-KEPT:]
    assert kept.path.stat().st_size <= 3 * KEPT * sizes[0]
    assert not list(tmp_path.glob("*.tmp"))
    kept.path.unlink()
    kept.path.mkdir()
    kept.add(vectors)
    assert kept.read() == {}
