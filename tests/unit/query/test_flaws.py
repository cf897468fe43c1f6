"""The table of flaws, and how one that was met is reported."""

from __future__ import annotations

import re

import pytest

from rye.query.flaws import FLAWS, Fault


@pytest.mark.parametrize("code", FLAWS)
def test_each_flaw_is_described(code: str) -> None:
    """Message, hint and what lenient parsing does are sentences without a full stop; codes are kebab-case."""
    flaw = FLAWS[code]
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", code)
    for words in (flaw.message, flaw.hint, flaw.fixed):
        assert words
        assert words == words.strip(" .")
    assert all(flaw.expected)


def test_fault_fills_the_words_of_its_flaw() -> None:
    """Message and hint for an error, message and remedy for a report; long and invisible text is cut and escaped."""
    fault = Fault("missing-operand", 4, "OR", {"why": "directly follows {previous}", "previous": "x" * 50 + "\x1b"})
    error, dropped = fault.error("a AND OR b", "a b"), fault.dropped()
    assert error.message == f"OR directly follows {'x' * 39}…, at character 5"
    assert error.hint.endswith('quote it: "OR"')
    assert (dropped.position, dropped.text) == (4, "OR")
    assert dropped.reason == f"OR directly follows {'x' * 39}…; it was left out"
    assert "\\x1b" in Fault("misplaced-mark", 0, "~\x1b", {"why": "x"}).dropped().reason
