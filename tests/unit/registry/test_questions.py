"""Files of questions in every form that people keep them in, and what is said of those that cannot be read."""

from __future__ import annotations

import json

import pytest

from rye.errors import ItemError
from rye.registry.questions import MAX_QUESTIONS, read_questions

ASK = "How do I undo a deploy?"
YES, NO, UNKNOWN = ("rollback", True), ("rollback", False), ("", False)


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ([{"question": ASK, "expected_skill": "rollback"}], YES),
        ([{"question": ASK, "expected_skill": "other", "should_trigger": True}], ("other", True)),
        ([{"question": ASK, "expected_skill": "other", "should_trigger": False}], ("other", False)),
        ([{"question": ASK, "expected_skill": None, "ground_truth": "nothing to do"}], NO),
        ([{"question": ASK, "expected_skill": ""}], NO),
        ([{"query": ASK, "should_trigger": True}], YES),
        ([{"query": ASK, "should_trigger": False}], NO),
        ({"skill_name": "undo", "evals": [{"prompt": ASK, "files": [], "assertions": ["x"]}]}, ("undo", True)),
        ({"skill": "undo", "cases": [{"question": ASK, "expected_skill": None}]}, ("undo", False)),
        ({"question": ASK, "expected_skill": "rollback", "id": 7}, YES),
        ([{"prompt": "  ", "input": ASK, "expected_item": "knowledge:ops/undo"}], ("knowledge:ops/undo", True)),
    ],
)
def test_json_says_which_item_is_expected_or_must_not_be_found(document: object, expected: tuple[str, bool]) -> None:
    """An item that is named is expected; null, or false, means that the skill must not be found."""
    (found,) = read_questions(json.dumps(document).encode(), "evals.json", skill="rollback")
    assert (found.text, found.item, found.is_answer) == (ASK, *expected)
    assert found.place == ("evals.json 7" if isinstance(document, dict) and "id" in document else "evals.json 1")


def test_a_question_without_an_item_outside_of_a_skill_is_about_none() -> None:
    """There is nothing that must not be found."""
    (found,) = read_questions(json.dumps([{"query": ASK, "expected_skill": None}]).encode(), "evals.json")
    assert found[1:3] == UNKNOWN


@pytest.mark.parametrize("head", ["", "Question,Expected item\n", "query;1,x\n"])
def test_a_table_has_two_columns_with_or_without_a_header(head: str) -> None:
    """A question with a comma stands in quotes; empty lines and a byte order mark are no questions."""
    data = f'\ufeff{head}{ASK},ops/undo\r\n\r\n"A, or b?","tool:demo/deploy"\r\n'.encode()
    found = read_questions(data, "ops.csv")[-2:]
    assert [each[:3] for each in found] == [(ASK, "ops/undo", True), ("A, or b?", "tool:demo/deploy", True)]


FAULTS = {
    "no JSON": (b"[", "e.json", "unparsable", "line 1"),
    "no list": (b'"text"', "e.json", "bad-questions", "it is not a list of questions"),
    "an entry of text": (b'["text"]', "e.json", "bad-questions", "entry 1 has no text under 'question'"),
    "no question": (b'[{"expected_skill": "a"}]', "e.json", "bad-questions", "entry 1 has no text under 'question'"),
    "two items": (b'[{"query": "a", "expected_skill": ["b"]}]', "e.json", "bad-questions", "is not text"),
    "too deep": (b"[" * 5_000, "e.json", "too-deep", "deeper than 64"),
    "too long": (b" " * (1 << 20) + b"[]", "e.json", "too-large", "JSON of"),
    "a long table": (b"a,b\n" * (1 << 19), "e.csv", "too-large", "CSV of"),
    "too many": (b"a,b\n" * (MAX_QUESTIONS + 1), "e.csv", "bad-questions", "there are 10,001 questions"),
    "one column": (b"a,b\nc\n", "e.csv", "bad-questions", "line 2 has 1 columns"),
    "three columns": (b"a, or b?,c\n", "e.csv", "bad-questions", "line 1 has 3 columns"),
    "an open quote": (b'"a,b\n', "e.csv", "bad-questions", "line 1: unexpected end"),
    "no text": (b"\xff", "e.csv", "not-utf8", "byte 0"),
}


@pytest.mark.parametrize("what", FAULTS)
def test_a_bad_file_is_named_with_what_is_wrong_and_what_to_do(what: str) -> None:
    """The message begins with the name of the file; there is a hint."""
    data, name, code, message = FAULTS[what]
    with pytest.raises(ItemError) as caught:
        read_questions(data, name)
    assert caught.value.code == code
    assert caught.value.message.startswith(f"{name}: ")
    assert message in caught.value.message
    assert caught.value.hint
