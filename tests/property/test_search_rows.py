"""However postings are added up, and however few documents are looked at, the answer is the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.query import ast
from rye.search import leaf
from rye.search import score as evaluate
from tests.property.test_term_queries import Collection, collections, opened, text_queries
from tests.unit.search.asking import evaluation

SPARSE, DENSE = 0, 1 << 40


@settings(max_examples=30)
@given(collections(), st.lists(text_queries(), min_size=2, max_size=4), st.integers(1, 4))
def test_sparse_and_dense_postings_say_the_same(
    tmp_path_factory: pytest.TempPathFactory, found: Collection, asked: Sequence[ast.Node], wanted: int
) -> None:
    """Which items match, how well, and which are the first; with documents left out early and without."""
    over, live, _ = opened(tmp_path_factory, found)
    for node in asked:
        answers = []
        for dense in (SPARSE, DENSE):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(leaf, "DENSE", dense)
                patch.setattr(evaluate, "_GROUPS", 1)
                mine = evaluation(over, node)
                docs = mine.docs().numbers
                scores = mine.scores(docs)
                first, values = mine.best(mine.docs(), wanted)
                of_all = dict(zip(docs.tolist(), scores.tolist(), strict=True))
                assert dict(zip(first.tolist(), values.tolist(), strict=True)) == pytest.approx(
                    {doc: of_all[doc] for doc in first.tolist()}
                )
                least = sorted(scores, reverse=True)[:wanted][-1:]
                assert {doc for doc, score in of_all.items() if score > min(least, default=0)} <= {*first.tolist()}
                answers.append((docs.tolist(), mine.scores(np.asarray(live, np.int64)).tolist()))
        for docs, scores in answers[1:]:
            assert docs == answers[0][0], str(node)
            assert scores == pytest.approx(answers[0][1]), str(node)
