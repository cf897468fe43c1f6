"""Bounds on what positions cost, and long repetitive bodies that try them."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from rye import query
from rye.errors import QueryError
from rye.index.build.reader import Reader
from rye.search.matching.positions import MOST_SPANS, PositionBudget
from tests.unit.index.segments import item, reader
from tests.unit.search.asking import evaluation

TIMES = 8_000
"""How often the words stand in each body."""


@pytest.fixture(scope="session")
def repetitive(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    """Twelve items of two words, again and again."""
    return reader(tmp_path_factory.mktemp("long"), [item(f"d{number}", body="a b " * TIMES) for number in range(12)])


def refused(over: Reader, asked: str, effort: PositionBudget | None = None) -> QueryError:
    """Return why a query is refused."""
    with pytest.raises(QueryError) as caught:
        evaluation(over, asked, effort).docs()
    return caught.value


@pytest.mark.parametrize(
    ("asked", "part"),
    [
        (" NEAR/9 ".join("ab" * 120), " NEAR/9 ".join("ab" * 120)),
        (f'"{"a b " * 120}"', f'"{"a b " * 120}"'),
        ("x OR " + "-".join("ab" * 120), "-".join("ab" * 120)),
    ],
    ids=["near", "phrase", "word"],
)
def test_attack_by_positions_ends_in_an_error(repetitive: Reader, asked: str, part: str) -> None:
    """What would look at more positions than a query may is refused; the error shows the part, and what to do."""
    error = refused(repetitive, asked)
    assert error.code == "too-many-positions"
    assert error.token == asked[error.position :][: len(error.token)]
    assert error.token.strip() == part.strip()
    assert "rarer or fewer" in error.hint
    if error.suggestion:
        query.parse(error.suggestion)


def test_attack_by_several_parts_that_are_together_too_many(repetitive: Reader) -> None:
    """What each of them looks at adds up; the error shows the part with which it is too much."""
    asked = " OR ".join(f'"a b"~{slop}' for slop in range(9))
    each = 2 * TIMES * 12
    assert refused(repetitive, asked, PositionBudget(positions=5 * each)).token.strip() == '"a b"~5'


def test_attack_by_positions_reads_none_of_many(repetitive: Reader) -> None:
    """Where there are more positions than are looked at together, it is known before that they are too many."""
    little = PositionBudget(positions=1 << 14, at_once=1 << 10)
    tracemalloc.start()
    try:
        assert refused(repetitive, '"a b"', little).suggestion == "(a b)"
        assert tracemalloc.get_traced_memory()[1] < 8 * TIMES * 12
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("asked", ['"a b"', '"b a"~5', "a NEAR/9 b NEAR/9 a NEAR/9 b", '"a b" NEAR/3 "a b"'])
def test_attack_by_long_bodies_takes_memory_for_some_of_them_at_a_time(repetitive: Reader, asked: str) -> None:
    """Of twelve bodies one is looked at after the other, scored as all of them together, and shown as they are."""

    def peak(effort: PositionBudget) -> tuple[int, list[float], list[int]]:
        tracemalloc.start()
        try:
            found = evaluation(repetitive, asked, effort)
            docs = found.docs().numbers
            scores = found.scores(docs).tolist()
            places = found.terms()[0].spans(docs)
            shown = [sum(map(len, places[doc].values())) for doc in (0, 11)]
            return tracemalloc.get_traced_memory()[1], scores, shown
        finally:
            tracemalloc.stop()

    together, one_by_one = peak(PositionBudget()), peak(PositionBudget(at_once=1 << 10))
    assert one_by_one[1:] == together[1:]
    assert len(together[1]) == 12
    assert one_by_one[0] * 2 < together[0]


def test_attack_by_highlights_of_one_phrase_marks_the_first_of_them(tmp_path: Path) -> None:
    """A body that is a phrase over and over has the first places marked."""
    over = reader(tmp_path, [item("z", body="a b " * (MOST_SPANS + 5))])
    found = evaluation(over, '"a b"')
    (places,) = found.terms()[0].spans(found.docs().numbers)[0].values()
    assert len(places) == MOST_SPANS
    assert places[:2].tolist() == [[0, 1], [2, 3]]
