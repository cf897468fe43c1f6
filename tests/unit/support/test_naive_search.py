"""The twin of search as a whole: scores by hand, fields, filters, scopes, order and relaxation."""

from __future__ import annotations

import math

import pytest

from rye.query.ast import (
    And,
    Boost,
    Fuzzy,
    Node,
    Not,
    Or,
    Word,
)
from tests.support.naive_helpers import doc, find

ALPHA = doc("alpha", title="file", body="file file text")
BETA = doc("beta", title="two words", body="one text")


def test_the_score_of_one_word_by_hand() -> None:
    """One leaf: its idf cancels, and what is left is tf~ / (k1 + tf~).

    In ``alpha`` the word is once in the title (length 1, mean 1.5, b 0.5, weight 7) and twice in the body (length 3,
    mean 2.5, b 0.75, weight 2.3).
    """
    tf = 7 * 1 / (1 - 0.5 + 0.5 * 1 / 1.5) + 2.3 * 2 / (1 - 0.75 + 0.75 * 3 / 2.5)
    assert tf == pytest.approx(8.4 + 4.6 / 1.15) == pytest.approx(12.4)
    answer = find([ALPHA, BETA], Word("file"))
    assert answer.ids == (("tool", "alpha", "project"),)
    assert list(answer.scores) == pytest.approx([tf / (9.0 + tf)])
    assert tf / (9.0 + tf) == pytest.approx(0.5794393)


def test_the_score_of_two_words_by_hand() -> None:
    """``file OR text^2``: of 2 items 1 has ``file``, both have ``text``; a leaf that is missing adds nothing."""
    idf_file = math.log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    idf_text = math.log(1 + (2 - 2 + 0.5) / (2 + 0.5))
    assert [idf_file, idf_text] == pytest.approx([math.log(2), math.log(1.2)])
    file_in_alpha = 8.4 + 4.6 / 1.15
    text_in_alpha = 2.3 / (0.25 + 0.75 * 3 / 2.5)
    text_in_beta = 2.3 / (0.25 + 0.75 * 2 / 2.5)
    most = idf_file + 2 * idf_text
    alpha = (
        idf_file * file_in_alpha / (9.0 + file_in_alpha) + 2 * idf_text * text_in_alpha / (9.0 + text_in_alpha)
    ) / most
    beta = 2 * idf_text * text_in_beta / (9.0 + text_in_beta) / most
    answer = find([BETA, ALPHA], Or((Word("file"), Boost(Word("text"), 2.0))))
    assert answer.ids == (("tool", "alpha", "project"), ("tool", "beta", "project"))
    assert list(answer.scores) == pytest.approx([alpha, beta])
    assert [alpha, beta] == pytest.approx([0.442371, 0.079684], abs=1e-6)


STAGES: list[tuple[Node, str, list[str]]] = [
    (Word("orchestrator"), "all", ["a"]),
    (Word("orchestrater"), "fuzzy", ["a"]),
    (And((Word("thread"), Word("orchestrater"))), "fuzzy", ["a"]),
    (And((Word("thread"), Word("filesystam"))), "fuzzy", ["b"]),
    (Word("orchest"), "substring", ["a"]),
    (And((Word("thread"), Word("esyst"))), "substring", ["b"]),
    (And((Word("orchestrator"), Word("filesystem"))), "any", ["a", "b"]),
    (And((Word("orchestrator"), Word("zzzzzz"))), "any", ["a"]),
    (And((Word("orchestrater"), Word("zzzzzz"))), "any", ["a"]),
    (Word("zzzzzz"), "all", []),
    (Fuzzy("zzzzzz"), "all", []),
    (Or((Word("orchest"), Word("zzzzzz"))), "all", []),
    (And((Word("orchest"), Not(Word("zzzzzz")))), "all", []),
]
