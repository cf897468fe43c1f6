"""Matching and scoring by example and by formula; ``tests/property/test_term_queries.py`` has the rest."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rye.index.reader import Reader
from rye.search.docset import Docs
from rye.search.positions import Effort
from rye.search.score import idf
from tests.unit.index.segments import item, reader
from tests.unit.search.asking import evaluation, ids


@pytest.fixture
def over(tmp_path: Path) -> Reader:
    """Return a reader over four items in two segments, a fifth deleted."""
    first = [item("a", title="deploy files", body="one two"), item("b", title="deploy", body="files deploy")]
    second = [item("c", body="files"), item("gone", title="deploy deploy"), item("d", title="other")]
    return reader(tmp_path, first, second, gone={(1, 1)})


def test_explanations_say_where_a_score_comes_from(over: Reader) -> None:
    """One trace per term query and field that occurs, with df, idf, boost and tf~; they sum to the score."""
    mine = evaluation(over, "deploy^2 OR files OR never")
    traces = mine.explain(1)
    assert [(trace.clause, trace.field, trace.df, trace.boost) for trace in traces] == [
        ("deploy", "title", 2, 2.0),
        ("deploy", "content", 2, 2.0),
        ("files", "content", 3, 1.0),
    ]
    assert traces[0].idf == idf(4, 2)
    assert sum(trace.contribution for trace in traces) == pytest.approx(mine.scores(np.asarray([1]))[0])
    assert mine.explain(4) == ()
    assert evaluation(over, "-deploy").explain(2) == ()


@pytest.mark.parametrize("asked", ["-*e*", "-title:*e*", "-deploz~2", "-(*e* *o*)", "NOT NOT -*e*", "-(f* NEAR/1 d*)"])
def test_an_excluded_term_query_is_not_cut(over: Reader, asked: str) -> None:
    """However many terms it stands for, no item that has one of them is found, and there is no warning."""
    whole = ids(over, asked)
    assert ids(over, asked, effort=Effort(terms=1)) == whole
    mine = evaluation(over, asked, Effort(terms=1))
    assert len(mine.docs()) == len(whole)
    assert not any(found.cut() for found in mine.matchers())


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
