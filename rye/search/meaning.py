"""What a query says, what it demands, and how near the items are to what it says.

Plain words are what is searched by meaning: they demand nothing. Whatever else a query has, phrases, wildcards, NEAR,
fields, ranges, states and exclusions, it demands as ever; what of that is text is also part of what it says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from rapidfuzz.distance import OSA

from rye.embedding import Floats as Rows
from rye.index.meaning import Meaning
from rye.index.reader import Floats
from rye.index.segment import Bools
from rye.query import ast
from rye.search.fields import TEXT_FIELDS, canonical

_WORD = re.compile(r"[^\W\d_]+")
_LIVE = re.compile(r"\\(.)|[*?]")
_LONG_ENOUGH = 6
"""Letters a word has that is taken for another one mistyped; shorter words are too near to each other."""


def demands(node: ast.Node) -> ast.Node:
    """Return what a query demands of an item, whatever the item means."""
    match node:
        case ast.Word() | ast.Fuzzy():
            return ast.Everything(node.span)
        case ast.Boost(operand=operand):
            return demands(operand)
        case ast.And(operands=operands):
            kept = tuple(one for one in map(demands, operands) if not isinstance(one, ast.Everything))
            if len(kept) < 2:
                return kept[0] if kept else ast.Everything(node.span)
            return replace(node, operands=kept)
        case ast.Or(operands=operands):
            choices = tuple(map(demands, operands))
            free = any(isinstance(one, ast.Everything) for one in choices)
            return ast.Everything(node.span) if free else replace(node, operands=choices)
        case _:
            return node


def says(node: ast.Node) -> Iterator[str]:
    """Yield the texts of a query in order, but for what is excluded and what is compared with keyword fields."""
    match node:
        case ast.Word(text=text) | ast.Fuzzy(text=text) | ast.Phrase(text=text):
            yield text
        case ast.Wildcard(pattern=pattern):
            yield _LIVE.sub(r"\1", pattern)
        case ast.And() | ast.Or() | ast.Near() | ast.Boost():
            for operand in ast.children(node):
                yield from says(operand)
        case ast.Field(name=name, operand=operand) if canonical(name) in TEXT_FIELDS:
            yield from says(operand)


def has_boost(node: ast.Node) -> bool:
    """Return whether part of a query is to count more or less than the rest."""
    return any(isinstance(one, ast.Boost) for one in ast.walk(node))


def any_of(words: Sequence[ast.Word], unknown: Callable[[str], bool]) -> ast.Node:
    """Return the query for any of some words; those that are unknown forgive typos."""
    choices = tuple(ast.Fuzzy(word.text, span=word.span) if unknown(word.text) else word for word in words)
    return choices[0] if len(choices) == 1 else ast.Or(choices)


def fixed(text: str, slips: Mapping[str, str]) -> str:
    """Return a text with the words that are slips replaced."""
    return _WORD.sub(lambda match: slips.get(match.group(), match.group()), text) if slips else text


def mistyped(words: Iterable[str], unknown: Callable[[str], bool], nearest: Callable[[str], str]) -> dict[str, str]:
    """Return words that no item has, each with the word one slip of the fingers away that begins with the same letter.

    Tokens of a mistyped word mean anything, so what it was meant to be is embedded instead.

    Args:
        words: The words of a query.
        unknown: Whether no item has a word.
        nearest: Returns the nearest word that items have, or nothing.
    """
    slips = {}
    for word in dict.fromkeys(words):
        if len(word) < _LONG_ENOUGH or not word.isalpha() or not unknown(word):
            continue
        folded, near = word.casefold(), nearest(word)
        if near[:1] == folded[0] and OSA.distance(folded, near, score_cutoff=1) == 1:
            slips[word] = near
    return slips


@dataclass(frozen=True, eq=False)
class Nearness:
    """How near the items of a reader are to a text.

    Attributes:
        meaning: The model and the vectors.
        query: Shape ``(dimensions,)``: the vector of the text.
        rows: Shape ``(rows of the vectors,)``: cosines; minus infinity for items that do not count.
    """

    meaning: Meaning
    query: Rows
    rows: Rows

    @classmethod
    def of(cls, meaning: Meaning, text: str, allowed: Bools) -> Nearness:
        """Ask the model.

        Raises:
            UnavailableError: It cannot be used now, or answers with what is no vector of length 1.
        """
        query = meaning.query(text)
        return cls(meaning, query, meaning.vectors.similarities(query, allowed))

    @cached_property
    def best(self) -> Floats:
        """Shape ``(documents,)``: the highest cosine of each; minus infinity where it has no vector."""
        best: Floats = self.meaning.vectors.best(self.rows).astype(np.float64)
        return best

    def section(self, doc: int) -> int:
        """Return the ordinal of the section that is nearest, the first among equals; -1 without vectors."""
        own = self.meaning.vectors.rows_of(doc)
        return int(self.meaning.vectors.sections[own[np.argmax(self.rows[own])]]) if len(own) else -1
