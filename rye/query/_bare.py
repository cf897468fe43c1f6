"""Bare words, or one phrase of such, without the grammar: what most queries are, and what needs no tables of Lark's.

A short command spends a fifth of its time on building the parser. Text of ASCII letters, digits and blanks alone can
hold no operator but the few words in :data:`OPERATORS`, and between two quotation marks not even these; everything else
is the grammar's. A test holds that both read such text alike.
"""

from __future__ import annotations

import re

from rye.query.ast import And, Parsed, Phrase, Word
from rye.query.limits import MAX_CHARS, MAX_LEAVES

OPERATORS = frozenset({"AND", "OR", "NOT", "NEAR", "TO"})

_BARE = re.compile(r" *[A-Za-z0-9]+(?: +[A-Za-z0-9]+)* *")
_PHRASE = re.compile(r' *("( *[A-Za-z0-9][A-Za-z0-9 ]*)") *')
_WORD = re.compile(r"[A-Za-z0-9]+")


def read_bare(text: str) -> Parsed | None:
    """Return what a text of bare words, or of one phrase, means; None where only the grammar can tell."""
    if text.isascii() and text.isalnum() and len(text) <= MAX_CHARS and text not in OPERATORS:
        return Parsed(text, Word(text, (0, len(text))))
    if len(text) > MAX_CHARS:
        return None
    if quoted := _PHRASE.fullmatch(text):
        return Parsed(text, Phrase(quoted[2], span=quoted.span(1)))
    if not _BARE.fullmatch(text):
        return None
    words = tuple(Word(match.group(), match.span()) for match in _WORD.finditer(text))
    if len(words) > MAX_LEAVES or not OPERATORS.isdisjoint(word.text for word in words):
        return None
    if len(words) == 1:
        return Parsed(text, words[0])
    return Parsed(text, And(words, (words[0].span[0], words[-1].span[1])))
