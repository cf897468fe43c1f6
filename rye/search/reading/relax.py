"""The last relaxation stage, ``any``: the query used if no item has all words.

Words with little content are recognised by a list, by rarity, and by length. Frequent words are short (Zipf's law of
abbreviation). Descriptions lack many words that are frequent in questions, so rarity alone would overrate these. For
the same reason a short word that no item has is more likely a frequent word of the language than a typo.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np

from rye.index.build.reader import Reader
from rye.index.storage.arrays import Bools
from rye.index.text import analysis
from rye.query import ast
from rye.search.contract.fields import TEXT_FIELDS
from rye.search.matching.bind import words_of
from rye.search.matching.bound import TermQuery
from rye.search.matching.expand import How, Pattern, document_frequencies, edits, expand
from rye.search.matching.positions import PositionBudget
from rye.search.matching.term import Term
from rye.search.reading.reading import Reading
from rye.search.reading.words import FUNCTION_WORDS, is_function_word

FULL_LENGTH = 6
"""A word of this many letters has full weight, a shorter one its share. One typo per this many letters is corrected."""

LEAST_JOINED = 3
"""Least letters of two neighbouring words that are also searched as one word."""

MAX_PAIRS = 256
"""Most pairs of letters read from one run of text without spaces; longer runs cost no more."""

MAX_NAMED = 5
"""Most words that a warning names."""

FUNCTION_WEIGHT = 0.2
"""Weight of a function word in stage ``any``; with few items it may be as rare as a word with content."""

_WORD = re.compile(r"[^\w\s]{0,3}(\w+)[^\w\s]{0,3}")
"""A word with the punctuation beside it."""

_IDENTIFIER = re.compile(r"[^\W\d_]\d|\d[^\W\d_]|[a-z][A-Z]")
"""Marks a word as an identifier: a digit beside a letter, or a capital after a small letter."""


class Relaxed(NamedTuple):
    """Words as stage ``any`` searches for them.

    Attributes:
        query: Any of the words, boosted by their weights.
        corrected: Words that no item has → the words searched instead.
        certainty: The same words → the weight of the correction, from 0 to 1.
        missing: Words that no item has and that resemble none.
        words: The words as written.
    """

    query: ast.Node
    corrected: Mapping[str, str]
    certainty: Mapping[str, float]
    missing: tuple[str, ...]
    words: tuple[ast.Word, ...]

    def suggestion(self) -> str:
        """Return the words with the corrections applied; empty if there are none."""
        if not self.corrected:
            return ""
        read: list[str] = []
        for word in self.words:
            parts = analysis.parts(word.text)
            known = self.corrected.keys().isdisjoint(parts)
            read += [word.text] if known else [self.corrected.get(part, part) for part in parts]
        return " ".join(str(ast.Word(text)) for text in read)

    def reading(self, text: str, is_token: Callable[[str], bool], unknown: Callable[[str], bool]) -> tuple[str, float]:
        """Return a text with typos corrected and without unknown identifiers, and the least certainty of a correction.

        A word that is one token of the model is part of its vocabulary, so it is neither corrected nor left out.
        """
        slips = {word: correction for word, correction in self.corrected.items() if not is_token(word)}

        def instead(match: re.Match[str]) -> str:
            word = match[1]
            if word.lower() in slips:
                return match[0].replace(word, slips[word.lower()])
            return "" if _IDENTIFIER.search(word) and unknown(word) and not is_token(word) else match[0]

        read = _WORD.sub(instead, text)
        if read == text or not _WORD.search(read):
            return text, 1.0
        return " ".join(read.split()), min((self.certainty[word] for word in slips), default=1.0)

    def messages(self) -> list[str]:
        """Return a sentence on the corrected words, and one on the words that no item has."""
        read = [f"{word!r} as {replacement!r}" for word, replacement in self.corrected.items()]
        lacking = [repr(word) for word in self.missing]
        return [f"{start} {_listed(words)}" for start, words in (("read", read), ("no item has", lacking)) if words]


def _listed(words: Sequence[str]) -> str:
    more = f" and {len(words) - MAX_NAMED} more" if len(words) > MAX_NAMED else ""
    return ", ".join(words[:MAX_NAMED]) + more


class Dictionary:
    """The words of live items in the given fields, looked up on demand."""

    def __init__(self, reader: Reader, fields: Bools) -> None:
        self.reader = reader
        self._fields = fields
        self._known: dict[str, bool] = {}
        self._relaxed: dict[tuple[tuple[tuple[ast.Word, int], ...], bool], Relaxed] = {}
        self._effort = PositionBudget()

    def frequency(self, part: str, how: How = How.INFLECTED) -> int:
        """Return in how many items a part occurs, summed over the terms it expands to."""
        return expand(self.reader, Pattern(part, how)).frequency(self._fields)

    def within(self, field: str) -> Dictionary:
        """Return the dictionary of one text field."""
        return Dictionary(self.reader, np.asarray([name == field for name in TEXT_FIELDS]))

    def has(self, text: str) -> bool:
        """Return whether an item has a word in full: its parts in a row, maybe inflected, or its joined form."""
        run = words_of(text)
        if run is None:
            return False
        query = TermQuery(run, self._fields, 1.0, "", ast.Word(text))
        return bool(Term(self.reader, query, self._effort).docs)

    def knows(self, text: str) -> bool:
        """Return whether items have every part of a word at any place, maybe inflected, or its joined form."""
        if text not in self._known:
            run = words_of(text)
            together = run.joined.parts if run is not None and run.joined is not None else ()
            self._known[text] = (len(together) == 1 and self._has_exactly(together[0].text)) or all(
                self._has_exactly(part.text) or (part.how is not How.EXACT and self.frequency(part.text))
                for part in (run.parts if run is not None else ())
            )
        return self._known[text]

    def relaxed(self, reading: Reading) -> Relaxed:
        """Return the words of a query as stage ``any`` searches for them. Cached."""
        key = tuple(reading.words.items()), reading.forgiving
        if key not in self._relaxed:
            self._relaxed[key] = relax(reading.words, self, forgiving=reading.forgiving)
        return self._relaxed[key]

    def _has_exactly(self, part: str) -> bool:
        return self.frequency(part, How.EXACT) > 0

    def nearest(self, part: str, start: str = "") -> tuple[str, float]:
        """Return the nearest term to a part that begins with ``start``, the most frequent of equals, and its weight.

        Two letters that changed places count as one edit, because people often make that mistake. The weight is one
        minus the edits per letter; it is 0 if there is no term.
        """
        rows: dict[str, tuple[float, int]] = {}
        terms = expand(self.reader, Pattern(part, How.FUZZY, start=start))
        for reader_part, (ids, _) in zip(self.reader.parts, terms.choices, strict=True):
            counts = document_frequencies(reader_part, ids, self._fields)
            for term, df in zip(reader_part.segment.terms.take(ids), counts.tolist(), strict=True):
                rows[term] = (1.0 - edits(part, term) / len(part), rows.get(term, (0.0, 0))[1] + df)
        alive = [(weight, df, term) for term, (weight, df) in rows.items() if df]
        weight, _, term = max(alive, default=(0.0, 0, ""))
        return term, weight


_JOINED = 0.75
"""Weight of two neighbours as one word. Both already count by themselves, and so rare a term would outweigh them."""


def relax(words: Mapping[ast.Word, int], dictionary: Dictionary, *, forgiving: bool = True) -> Relaxed:
    """Return the query to try if no item has all words, or too few items have all words of a sentence.

    A word counts as often as it occurs in the query, because a long request repeats its topic.

    A word of several parts that no item has in full is read as its parts. A part that no item has is read as the
    nearest term with the same first letter, which typos seldom change, within one edit per six letters. Neighbours that
    some item writes as one word are also searched in that form.
    """
    loud = not any(ch.islower() for word in words for ch in word.text)
    weights: dict[str, float] = {}
    corrected: dict[str, str] = {}
    certainty: dict[str, float] = {}
    missing: list[str] = []
    spans: dict[str, ast.Span] = {}
    for word, times in words.items():
        capital = not loud and sum(ch.isupper() for ch in word.text) > 1
        for piece in _pieces(word.text, dictionary):
            read, weight = piece, 1.0
            if not dictionary.knows(piece):
                read, weight = _nearest_like(piece, dictionary) if forgiving else ("", 0.0)
            if not read:
                missing.append(piece)
                read, weight = piece, 1.0
            elif read != piece:
                corrected[piece], certainty[piece] = read, weight
            weights[read] = weights.get(read, 0.0) + weight * (1.0 if capital else _brevity(read)) * times
            spans.setdefault(read, word.span)
    for first, other in pairwise(words):
        if joined := _joined(first.text, other.text, dictionary):
            weights.setdefault(joined, _JOINED * _brevity(joined))
            spans.setdefault(joined, first.span)
    nodes = [
        ast.Word(text, spans[text]) if weight == 1.0 else ast.Boost(ast.Word(text, spans[text]), weight)
        for text, weight in ((text, round(weight, 2)) for text, weight in weights.items())
    ]
    return Relaxed(_any_of(nodes or [*words]), corrected, certainty, tuple(dict.fromkeys(missing)), tuple(words))


def _any_of(nodes: Sequence[ast.Node]) -> ast.Node:
    """Return the OR of some words. Words without content add to the score of an item that has another one."""
    small, words = list[ast.Node](), list[ast.Node]()
    for node in nodes:
        (small if is_function_word(node.operand if isinstance(node, ast.Boost) else node) else words).append(node)
    if not words or not small:
        return nodes[0] if len(nodes) == 1 else ast.Or(tuple(nodes))
    return ast.And((_any_of(words), ast.Or((ast.Everything(), *small))))


def _pieces(text: str, dictionary: Dictionary) -> list[str]:
    """Return the words to search for instead of a word: itself if it is simple or some item has it, else its parts.

    In text without spaces, every two neighbouring letters that items have are searched together, because most of its
    words have two.
    """
    parts = analysis.parts(text)
    if (len(parts) > 1 or analysis.has_signs(text)) and dictionary.has(text):
        return [text]
    pieces: list[str] = []
    for unspaced, run in groupby(parts, analysis.is_unspaced):
        several = list(run)
        pairs = ["".join(pair) for pair in pairwise(several[: MAX_PAIRS + 1])] if unspaced else []
        pieces += [pair for pair in pairs if dictionary.knows(pair)] or pairs or several
    return pieces


def _nearest_like(part: str, dictionary: Dictionary) -> tuple[str, float]:
    """Return the known word that an unknown word may be a typo of, with its weight; ``("", 0.0)`` if there is none.

    A number is never a typo: another number means something else.
    """
    if any(map(str.isdigit, part)):
        return "", 0.0
    term, weight = dictionary.nearest(part, start=part[0])
    is_slip = term and edits(part, term) * FULL_LENGTH <= max(len(part), len(term))
    return (term, weight) if is_slip else ("", 0.0)


def _brevity(text: str) -> float:
    """Return the weight of a word by its length. Words in scripts without small letters have full weight."""
    if text.casefold() in FUNCTION_WORDS:
        return FUNCTION_WEIGHT
    letters = "".join(analysis.parts(text))
    return min(1.0, len(letters) / FULL_LENGTH) if letters.islower() or letters.isdigit() else 1.0


def _joined(first: str, other: str, dictionary: Dictionary) -> str:
    """Return two words written as one, if both are plain and some item has that term; else an empty string."""
    parts = [analysis.parts(text) for text in (first, other)]
    if any(len(word_parts) != 1 or len(word_parts[0]) < LEAST_JOINED for word_parts in parts):
        return ""
    term = analysis.joined([parts[0][0], parts[1][0]])
    return term if dictionary.frequency(term, How.EXACT) else ""
