"""The query language: parses text into an immutable AST, or into an error that says how to fix it.

This room knows the language (``grammar/query.lark``) but no schema: :mod:`rye.search` decides which fields exist and
what a word matches. Every text is read to its end, and each mistake is repaired and recorded. Strict parsing then
raises the first fault, with the repaired query as its suggestion. Lenient parsing returns the repaired query and a list
of the repairs.

    >>> from rye.query import parse
    >>> print(parse("deploy AND (title:k8s OR NOT draft)").ast)
    deploy (title:k8s OR -draft)
    >>> from rye.errors import QueryError
    >>> try:
    ...     parse("deploy AND (title:k8s OR")
    ... except QueryError as error:
    ...     print(error.code, "→", error.suggestion)
    missing-operand → deploy title:k8s
    >>> parse("deploy OR", lenient=True).dropped[0].reason
    'OR has nothing after it; it was left out'
"""

from __future__ import annotations

import re
from functools import lru_cache

from rye.errors import QueryError
from rye.query.ast import And, Everything, Parsed, Phrase, Word, children, fold, walk, with_children
from rye.query.escaping import OPERATORS, is_field_name
from rye.query.limits import MAX_CHARS, MAX_LEAVES
from rye.query.tree import as_words, dump, loosen, to_dict, without_question_marks

__all__ = [
    "OPERATORS",
    "Parsed",
    "as_words",
    "children",
    "dump",
    "fold",
    "is_field_name",
    "loosen",
    "parse",
    "to_dict",
    "walk",
    "with_children",
    "without_question_marks",
]

_STRAIGHT = dict.fromkeys(map(ord, "\u201c\u201d\u201e\u201f"), '"')
"""Typographic quotation marks, which word processors and phones insert instead of straight ones."""

_BARE_WORDS = re.compile(r" *[A-Za-z0-9]+(?: +[A-Za-z0-9]+)* *")
_WORD = re.compile(r"\S+")
_BARE_PHRASE = re.compile(r' *("( *[A-Za-z0-9][A-Za-z0-9 ]*)") *')


def parse(text: str, *, lenient: bool = False) -> Parsed:
    """Parse the text of a query.

    Args:
        text: The query as the user wrote it; blank means every item.
        lenient: Accept any text, and list the parts that were left out or read differently.

    Raises:
        QueryError: The text is not a correct query; never if ``lenient``.
    """
    if (straight := text if text.isascii() else text.translate(_STRAIGHT)) == text:
        return _parse_bare(text) or _parse(text, lenient)
    try:
        return _parse(straight, lenient)._replace(text=text)
    except QueryError as error:
        raise error.but(text=text) from None


def _parse_bare(text: str) -> Parsed | None:
    """Parse ASCII letters, digits and spaces, one phrase of them, or ``*`` without the grammar; None for other queries.

    Most queries are like that, and importing Lark and building its tables takes 70 ms, a tenth of a short command.
    """
    if len(text) > MAX_CHARS:
        return None
    if text.strip(" ") in ("", "*"):
        return Parsed(text, Everything())
    if quoted := _BARE_PHRASE.fullmatch(text):
        return Parsed(text, Phrase(quoted[2], span=quoted.span(1)))
    if not _BARE_WORDS.fullmatch(text):
        return None
    words = tuple(Word(match.group(), match.span()) for match in _WORD.finditer(text))
    if len(words) > MAX_LEAVES or not set(OPERATORS).isdisjoint(text.split()):
        return None
    return Parsed(text, words[0] if len(words) == 1 else And(words, (words[0].span[0], words[-1].span[1])))


@lru_cache(maxsize=256)
def _parse(text: str, lenient: bool) -> Parsed:  # noqa: FBT001 - a key of the cache
    """Parse by the grammar. Cached, because agents repeat a query for every page, and a tree is immutable."""
    from rye.query.recovery import parse_leniently, parse_strictly

    return parse_leniently(text) if lenient else parse_strictly(text)
