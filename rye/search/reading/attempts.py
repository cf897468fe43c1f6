"""What is tried in turn for a query, from strict to broad: :data:`ATTEMPTS`.

The first attempt with enough hits answers. A sentence goes on to the last if few items have all its words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from rye import query
from rye.index.storage.terms import escape
from rye.index.text import analysis
from rye.query import ast
from rye.search.reading.reading import BAG, FEW, NO_MATCH, Kind, Reading
from rye.search.reading.relax import Dictionary
from rye.search.reading.words import all_of, is_function_word, with_content

ANY_LIMIT = 10
"""Most hits of the last stage, ``any``. A sentence goes on to that stage if fewer items than this have all words."""

_UMLAUT = {"ae": "ä", "oe": "ö", "ue": "ü"}
_UMLAUTS = re.compile("[aou]e", re.IGNORECASE)

_LEAST_SPLIT, _MAX_SPLIT = 3, 40
"""To split a word in two: the least letters of each half, and the most letters of the word."""


class Attempt(NamedTuple):
    """One way to try a query.

    Attributes:
        stage: Its name, as answers show it.
        kinds: The kinds of queries it is for.
        query: Returns what to search for; None if it would find no more than the attempts before it.
        note: A sentence on what its hits are.
        few: The sentence instead, if the attempt before it had hits, but too few.
        wider: The attempt that answers instead if it has more hits.
    """

    stage: str
    kinds: tuple[Kind, ...]
    query: Callable[[Reading, Dictionary], ast.Node | None]
    note: str = ""
    few: str = ""
    wider: Attempt | None = None


class Stage(NamedTuple):
    """One query to try.

    Attributes:
        name: Its label.
        ast: The query.
        notes: Sentences on how words are read and what its hits are, if it answers.
        few: The sentences instead, if the stage before it had hits, but too few to answer.
        wider: The stage that answers instead if it has more hits.
    """

    name: str
    ast: ast.Node
    notes: tuple[str, ...] = ()
    few: tuple[str, ...] = ()
    wider: Stage | None = None


def enough_for(reading: Reading) -> int:
    """Return the least hits with which a stage answers; the last answers with any number."""
    return ANY_LIMIT if reading.kind is Kind.SENTENCE else 1


def stages(reading: Reading, dictionary: Dictionary) -> Iterator[Stage]:
    """Yield the queries to try. Each is made when it is asked for, because that may look words up."""
    for attempt in ATTEMPTS:
        if stage := _stage(attempt, reading, dictionary):
            yield stage


def first_stage(reading: Reading, dictionary: Dictionary) -> Stage:
    """Return the query as written."""
    return next(stages(reading, dictionary))


def any_stage(reading: Reading, dictionary: Dictionary) -> Stage:
    """Return the query for any of the words, of which there must be at least one, with typos corrected."""
    attempt = next(attempt for attempt in ATTEMPTS if attempt.stage == "any" and reading.kind in attempt.kinds)
    return Stage(attempt.stage, _any_word(reading, dictionary), *_notes(attempt, reading, dictionary))


def _stage(attempt: Attempt, reading: Reading, dictionary: Dictionary) -> Stage | None:
    if reading.kind not in attempt.kinds or (node := attempt.query(reading, dictionary)) is None:
        return None
    wider = attempt.wider and _stage(attempt.wider, reading, dictionary)
    return Stage(attempt.stage, node, *_notes(attempt, reading, dictionary), wider)


def _notes(attempt: Attempt, reading: Reading, dictionary: Dictionary) -> tuple[tuple[str, ...], tuple[str, ...]]:
    read = dictionary.relaxed(reading).messages() if attempt.stage == "any" else ()
    return (*read, attempt.note) if attempt.note else (), (*read, attempt.few) if attempt.few else ()


def _as_written(reading: Reading, _dictionary: Dictionary) -> ast.Node | None:
    """Return the query as read; of plain words without those that have no content."""
    main = reading.prefixed or reading.main
    return with_content(main) if reading.is_bag else main


def _unless_faulty(reading: Reading, dictionary: Dictionary) -> ast.Node | None:
    return None if reading.fault else _as_written(reading, dictionary)


def _if_faulty(reading: Reading, dictionary: Dictionary) -> ast.Node | None:
    return _as_written(reading, dictionary) if reading.fault else None


def _its_words(reading: Reading, _dictionary: Dictionary) -> ast.Node | None:
    """Return the words of a query that may be a question."""
    return with_content(all_of(reading.words)) if query.as_words(reading.main) is None else None


def _similar_words(reading: Reading, dictionary: Dictionary) -> ast.Node | None:
    """Return the words with typos forgiven: in those that no item has, or else in all words, unless they are many."""
    lacking = [word for word in reading.words if not dictionary.knows(word.text)]
    if not reading.forgiving or not (lacking or reading.kind in FEW):
        return None
    # a number is never a typo: another number means something else
    slips = [word for word in lacking or reading.words if not any(map(str.isdigit, word.text))]
    words = [_with_slips(word, dictionary) if word in slips else word for word in reading.words]
    return with_content(all_of(words)) if slips else None


def _parts_of_words(reading: Reading, _dictionary: Dictionary) -> ast.Node | None:
    """Return the words as parts of words, unless one has a sign."""
    content = [word for word in reading.words if not is_function_word(word)] or [*reading.words]
    if any(analysis.has_signs(word.text) for word in content):
        return None
    return all_of(ast.Wildcard(f"*{escape(word.text)}*", span=word.span) for word in content)


def _any_part(reading: Reading, dictionary: Dictionary) -> ast.Node | None:
    """Return any part of a single word; None if it has no parts."""
    return _any_word(reading, dictionary) if any(_has_parts(word.text) for word in reading.words) else None


def _any_word(reading: Reading, dictionary: Dictionary) -> ast.Node:
    return all_of([dictionary.relaxed(reading).query, *reading.conditions])


def _whole_text(reading: Reading, _dictionary: Dictionary) -> ast.Node | None:
    """Return the text as one phrase."""
    return ast.Phrase(reading.text)


def _with_slips(word: ast.Word, dictionary: Dictionary) -> ast.Node:
    """Return a word with typos forgiven, or as items write it: in two words, or with umlauts."""
    spellings = list[ast.Node]()
    text = word.text
    if text.isascii() and text.isalpha() and len(text) <= _MAX_SPLIT and not dictionary.knows(text):
        for at in range(_LEAST_SPLIT, len(text) - _LEAST_SPLIT + 1):
            if dictionary.knows(text[:at]) and dictionary.knows(text[at:]):
                spellings.append(ast.Phrase(f"{text[:at]} {text[at:]}", span=word.span))
        umlauts = _UMLAUTS.sub(lambda match: _UMLAUT[match[0].lower()], text)
        spellings += [ast.Word(umlauts, word.span)] if umlauts != text and dictionary.knows(umlauts) else []
    fuzzy = ast.Fuzzy(text, span=word.span)
    return ast.Or((fuzzy, *spellings), word.span) if spellings else fuzzy


def _has_parts(text: str) -> bool:
    """Return whether a word may be searched by its parts: it has several, or one and a sign."""
    return len(parts := analysis.parts(text)) > 1 or (bool(parts) and analysis.has_signs(text))


_PARTIAL = "every word; showing the best partial matches"

_PARTS = Attempt(
    "substring",
    FEW,
    _parts_of_words,
    "no item contains every word; showing items that contain them as parts of words",
)

ATTEMPTS = (
    Attempt("all", tuple(Kind), _unless_faulty),
    Attempt("text", tuple(Kind), _if_faulty),
    Attempt("text", BAG, _its_words, f"{NO_MATCH}; showing items with its words"),
    Attempt(
        "fuzzy",
        BAG,
        _similar_words,
        "no item contains every word; showing items with similar words",
        wider=_PARTS,
    ),
    _PARTS,
    Attempt("any", (Kind.WORD,), _any_part, "no item contains the whole word; showing items that contain a part of it"),
    Attempt(
        "any",
        (Kind.WORDS, Kind.SENTENCE),
        _any_word,
        f"no item contains {_PARTIAL}",
        few=f"few items contain {_PARTIAL}",
    ),
    Attempt(
        "any",
        (Kind.EXPRESSION,),
        _any_word,
        f"{NO_MATCH}; operators are read as words: showing the best partial matches",
    ),
    Attempt(
        "literal",
        (Kind.EXCLUDING,),
        _whole_text,
        f"{NO_MATCH}; showing items with its text, in which operators are read as words",
    ),
)
"""What is tried, from strict to broad."""

STAGES = tuple(dict.fromkeys(attempt.stage for attempt in ATTEMPTS))
"""The names of all stages, the strictest first."""

AS_WRITTEN = ("all", "text")
"""The first stages: every word as written, in a query or in plain words."""
