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


def test_attack_by_one_phrase_again_and_again_evaluates_it_once(tmp_path: Path) -> None:
    """Equal leaves are one to evaluate, and each of them counts with its own boost; other fields make another leaf."""
    over = reader(tmp_path, [item("y", body="a b a b c"), item("z", title="a b", body="c c")])
    many = evaluation(over, " OR ".join(['"a b"'] * 120 + ['"a b"^2', 'title:"a b"', "c"]))
    assert [matcher.query.label() for matcher in many.matchers()] == ['"a b"', 'title:"a b"', "c"]
    few = evaluation(over, '"a b"^122 OR title:"a b" OR c')
    docs = np.arange(2)
    assert many.scores(docs).tolist() == pytest.approx(few.scores(docs).tolist())
    assert [trace.boost for trace in many.explain(0) if trace.field == "content"][-2:] == [2.0, 1.0]
