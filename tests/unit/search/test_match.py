"""What each kind of leaf counts, by example; the twin in ``tests/property/test_positions_leaves.py`` has the rest."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rye.index.schema import TEXT_FIELDS
from tests.unit.index.segments import item, reader
from tests.unit.search.asking import all_slots, evaluation


def counts(tmp_path: Path, body: str, asked: str) -> float:
    """Return tf of a leaf in the body of one item."""
    slots = all_slots(evaluation(reader(tmp_path, [item("z", body=body)]), asked))
    found = dict(zip(slots.fields.tolist(), slots.tf.tolist(), strict=True))
    return float(found.get(TEXT_FIELDS.index("content"), 0.0))


@pytest.mark.parametrize(
    ("body", "asked", "tf"),
    [
        ("sign the file", "sign", 1),
        ("sign, signs, signed, signal", "sign", 2.2),
        ("file system", "file-system", 1),
        ("files systems", "file-system", 0.6),
        ("filesystem", "file-system", 1),
        ("fileSystem file-system", "file_system", 2),
        ("file x system", "file-system", 0),
        ("filesystem", "file", 0),
        ("file filesystem", "file*", 2),
        ("rye/core/read", "rye/*/read", 1),
        ("rye/core/read rye/read", "rye/*/read", 1),
        ("e.g. this", "e.g", 1),
        ("direcive directive", "directive~", 1 + 8 / 9),
        ("fle-system", "file-system~", 0.9),
        ("fle-systen", "file-system~", 0.8),
        ("fle y system", "file-system~", 0),
        ("filesistem", "file-system~", 0.9),
        ("a b c a b", '"a b"', 2),
        ("a b c a b", '"b a"', 0),
        ("signs it", '"sign it"', 0),
        ("b x a", '"a b"~1', 1),
        ("b x y a", '"a b"~1', 0),
        ("a a b", '"a a b"~0', 1),
        ("a b", '"a a b"~3', 0),
        ("a x b", "a NEAR/2 b", 1),
        ("b x a", "a NEAR/2 b", 1),
        ("a x y b", "a NEAR/2 b", 0),
        ("a a b", "a NEAR/1 b", 1),
        ("a b c", "a NEAR/1 c", 0),
        ("a b c", "a NEAR/1 b NEAR/1 c", 1),
        ("a b x c", "a NEAR/1 b NEAR/1 c", 0),
        ("signs b", "sign NEAR/1 b", 0.6),
        ("a y", "(a OR x) NEAR/1 (y OR z)", 1),
        ('x "a b" y', '"a b" NEAR/1 y', 1),
        ("x a b y", '"a b" NEAR/1 x', 1),
        ("aa bb aa", '"aa bb" NEAR/2 aa', 1),
    ],
)
def test_a_term_query_counts_its_occurrences(tmp_path: Path, body: str, asked: str, tf: float) -> None:
    """Inflections count 0.6, joined forms and their parts once, a typo by its share; positions decide the rest."""
    assert counts(tmp_path, body, asked) == pytest.approx(tf)


def test_a_window_near_a_word_counts_each_place_once(tmp_path: Path) -> None:
    """Two words of the window that stand at one position, a part and its joined form, are one occurrence there."""
    assert counts(tmp_path, "file-system x x", '"file filesystem"~1 NEAR/3 x') == 1


def test_fields_are_apart(tmp_path: Path) -> None:
    """No phrase, window or nearness spans two fields, nor two values of one field."""
    one = item("b", title="a", tags=("a", "b"), body="a")
    over = reader(tmp_path, [one])
    for asked in ('"a b"', '"a b"~50', "a NEAR/50 b", 'tags:"a b"', "tags:(a NEAR/99 b)"):
        assert not evaluation(over, asked).docs().mask.any()
    assert evaluation(over, "tags:(a NEAR/101 b)").docs().mask.all()


def test_a_term_query_counts_only_in_its_fields(tmp_path: Path) -> None:
    """A field bounds a leaf, and so does a level."""
    over = reader(tmp_path, [item("z", title="deploy", body="deploy deploy")])
    names = {
        asked: [TEXT_FIELDS[number] for number in all_slots(evaluation(over, asked)).fields.tolist()]
        for asked in ("deploy", "title:deploy", "body:deploy", "tag:deploy")
    }
    assert names == {
        "deploy": ["title", "content"],
        "title:deploy": ["title"],
        "body:deploy": ["content"],
        "tag:deploy": [],
    }
    slots = all_slots(evaluation(over, "deploy", level=2))
    assert [TEXT_FIELDS[number] for number in slots.fields.tolist()] == ["content"]


def test_places_are_the_positions_of_what_matched(tmp_path: Path) -> None:
    """A phrase gives first and last position, a window and a chain each part that survives."""
    over = reader(tmp_path, [item("y", body="b")], [item("z", body="a b c a x b")])
    content = TEXT_FIELDS.index("content")

    def places(asked: str, doc: int) -> dict[int, list[tuple[int, int]]]:
        spans = evaluation(over, asked).matchers()[0].spans(np.arange(2))[doc]
        return {field: [(first, last) for first, last in some.tolist()] for field, some in spans.items()}

    assert places('"a b"', 1) == {content: [(0, 1)]}
    assert sorted(places("a NEAR/2 b", 1)[content]) == [(0, 0), (1, 1), (3, 3), (5, 5)]
    assert places('"b a"~1', 1) == {content: [(0, 0), (1, 1), (3, 3), (5, 5)]}
    assert places('"a b"', 0) == {}


def test_attack_by_one_phrase_again_and_again_evaluates_it_once(tmp_path: Path) -> None:
    """Equal leaves are one to evaluate, and each of them counts with its own boost; other fields make another leaf."""
    over = reader(tmp_path, [item("y", body="a b a b c"), item("z", title="a b", body="c c")])
    many = evaluation(over, " OR ".join(['"a b"'] * 120 + ['"a b"^2', 'title:"a b"', "c"]))
    assert [matcher.query.label() for matcher in many.matchers()] == ['"a b"', 'title:"a b"', "c"]
    few = evaluation(over, '"a b"^122 OR title:"a b" OR c')
    docs = np.arange(2)
    assert many.scores(docs).tolist() == pytest.approx(few.scores(docs).tolist())
    assert [trace.boost for trace in many.explain(0) if trace.field == "content"][-2:] == [2.0, 1.0]


@pytest.mark.parametrize("asked", ["common", "shared", "rare"])
def test_few_documents_are_looked_up_as_all_are(tmp_path: Path, asked: str) -> None:
    """One term in most documents, several terms, or a rare one: what a document has does not depend on the others."""
    texts = [f"common {'shared' if number % 2 else 'sharing'} " * (1 + number % 3) for number in range(300)]
    items = [item(f"i{number:03}", title="common", body=text) for number, text in enumerate(texts)]
    mine = evaluation(reader(tmp_path, [*items, item("z", body="rare common")]), asked)
    ((matcher, weights),) = [(row.matcher, mine.weights) for row in mine.scored()]
    every, few = np.arange(301), np.asarray([7, 299, 300])
    assert matcher.weigh(few, weights).tolist() == matcher.weigh(every, weights).take(few).tolist()
    whole, some = matcher.slots_of(every), matcher.slots_of(few)
    for column, every_column in zip(some, whole, strict=True):
        assert column.tolist() == every_column[np.isin(whole.docs, few)].tolist()
