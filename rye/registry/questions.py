r"""Reads questions and their expected items from the files in which people keep them; bytes in, questions out.

Three formats are read: ``evals.json``, ``trigger_eval.json`` and a table with two columns (CSV).

    >>> read_questions(b'[{"query": "Undo a deploy", "should_trigger": true}]', "trigger_eval.json", skill="rollback")
    [Question(text='Undo a deploy', item='rollback', is_answer=True, place='trigger_eval.json 1')]
    >>> read_questions(b"question,expected\nUndo a deploy,ops/rollback\n", "ops.csv")
    [Question(text='Undo a deploy', item='ops/rollback', is_answer=True, place='ops.csv 2')]
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rye.errors import ItemError
from rye.items.guarded import MAX_CHARS, load_json, refuse_long
from rye.items.values import decode

MAX_QUESTIONS = 10_000
"""Maximum number of questions in one file, and in all files that are measured together."""

_LISTS = ("evals", "cases", "questions", "tests", "expects")
_TEXTS = ("question", "prompt", "query", "input")
_ITEMS = ("expected_skill", "expected_item")
_SKILLS = ("skill_name", "skill")
_EXAMPLE = '[{"question": "…", "expected_skill": "…"}]'


class Question(NamedTuple):
    """A question, and the item that should be its first hit.

    Attributes:
        text: The search text.
        item: The name of the item; empty if no item is expected and none is excluded.
        is_answer: Whether the item should be the first hit; else it must not be.
        place: The file, and the id or number of the question in it.
    """

    text: str
    item: str
    is_answer: bool
    place: str


def read_questions(data: bytes, name: str, *, skill: str = "") -> list[Question]:
    """Return the questions of a file.

    Args:
        data: Its bytes.
        name: The name of the file in errors; a name that ends with ``.csv`` means a table.
        skill: The skill whose folder contains it; empty for none.

    Raises:
        ItemError: ``bad-questions``, or the file cannot be read at all.
    """
    try:
        text = decode(data)
        entries = _rows(text) if name.endswith(".csv") else _entries(load_json(text), skill)
        questions = [Question(*entry[:3], f"{name} {entry[3]}") for entry in entries]
        if len(questions) > MAX_QUESTIONS:
            raise _bad(f"there are {len(questions):,} questions", f"split it; a file may have {MAX_QUESTIONS:,}")
    except ItemError as error:
        raise error.preceded(f"{name}: ") from None
    return questions


_Entry = tuple[str, str, bool, object]
"""The fields of a question, with its id or number instead of its place."""


def _entries(document: Any, skill: str) -> Iterator[_Entry]:
    """Yield the questions of a JSON document: a list, an object that contains a list, or one question."""
    entries = document
    if isinstance(document, Mapping):
        skill = _first(document, _SKILLS) or skill
        lists = [document[key] for key in _LISTS if isinstance(document.get(key), Sequence)]
        entries = lists[0] if lists else [document]
    if not isinstance(entries, list):
        raise _bad("it is not a list of questions", f"write {_EXAMPLE}")
    for number, entry in enumerate(entries, 1):
        text = _first(entry, _TEXTS) if isinstance(entry, Mapping) else ""
        if not text:
            raise _bad(f"entry {number} has no text under {', '.join(map(repr, _TEXTS))}", f"write {_EXAMPLE}")
        key = next((key for key in _ITEMS if key in entry), "")
        named = entry[key] if key else skill
        if not isinstance(named, str | None):
            raise _bad(f"{key!r} of entry {number} is not text", "name one item, or null for none")
        is_answer = bool(named) and entry.get("should_trigger") is not False
        own = entry.get("id")
        yield text, (named or skill).strip(), is_answer, own if isinstance(own, str | int) else number


def _rows(text: str) -> Iterator[_Entry]:
    """Yield the questions of a table; its first row may name the columns."""
    refuse_long(text, "CSV", MAX_CHARS)
    reader = csv.reader(text.splitlines(keepends=True), strict=True)
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if not any(cells) or (reader.line_num == 1 and cells[0].casefold() in _TEXTS):
                continue
            if len(cells) != 2 or not all(cells):
                problem = f"line {reader.line_num} has {len([*filter(None, cells)])} columns with text"
                raise _bad(problem, "write question,item; put a question that has a comma into double quotes")
            yield cells[0], cells[1], True, reader.line_num
    except csv.Error as error:
        raise _bad(f"line {reader.line_num}: {error}", "fix the quotes there") from None


def _first(entry: Mapping[str, Any], keys: Sequence[str]) -> str:
    return next((text for key in keys if isinstance(text := entry.get(key), str) and text.strip()), "")


def _bad(problem: str, hint: str) -> ItemError:
    return ItemError("bad-questions", problem, hint=hint)
