"""Matching and scoring by example and by formula; ``tests/property/test_term_queries.py`` has the rest."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rye.search.matching.docset import Docs
from tests.unit.index.segments import item, reader
from tests.unit.search.asking import evaluation


def test_the_first_hits_are_among_the_best(tmp_path: Path) -> None:
    """Leaving out what common words cannot lift to the top loses no hit of the first page, however ranks tie."""
    rng = np.random.default_rng(5)
    words = [f"w{number}x" for number in range(40)]
    chances = 1 / np.arange(1, len(words) + 1)
    texts = [" ".join(rng.choice(words, 12, p=chances / chances.sum())) for _ in range(3_000)]
    items = [item(f"i{number:04}", title=text[:20], body=text) for number, text in enumerate(texts)]
    reader_ = reader(tmp_path, items[:2_000], items[2_000:], gone={(0, 7)})
    spared = 0
    for _ in range(20):
        asked = " OR ".join(rng.choice(words, 6, replace=False))
        for wanted in (1, 10, 60):
            found = evaluation(reader_, asked)
            docs = found.docs()
            if wanted == 10:  # as filters do
                docs &= Docs(reader_.size, mask=np.arange(reader_.size) % 3 > 0)
            every = docs.numbers
            some, values = found.best(docs, wanted)
            assert np.isin(some, every).all()
            assert np.all(np.diff(some) > 0)
            scores = np.round(found.scores(every), 4)
            least = np.sort(scores)[-wanted]
            assert np.isin(every[scores >= least], some).all()
            assert values == pytest.approx(found.scores(every)[np.isin(every, some)])
            spared += len(some) < len(every)
    assert spared > 20, "the rule is put to the test"
