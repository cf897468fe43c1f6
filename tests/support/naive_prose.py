"""The twin's reading of a bag of words: its stages of relaxation, and which items it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from rye.query import ast
from rye.search.reading.relax import FUNCTION_WEIGHT
from rye.search.reading.words import FUNCTION_WORDS
from tests.support.naive_analysis import (
    automatic_distance,
    can_be_searched,
    edits,
    fold,
    is_unspaced,
    join,
    joined_form,
    parts,
    raw_chunks,
    stem,
)
from tests.support.naive_bind import Binder
from tests.support.naive_docs import Corpus, NaiveDoc
from tests.support.naive_leaves import signs_of, wildcard_tokens

SENTENCE = 5
"""Words from which on a bag is a sentence."""

NAMING_LETTERS = 4
"""Letters of a plain word, and of the words beside it, from which on it can name an item."""


def bag_of(query: ast.Node) -> dict[ast.Word, int]:
    """Return the words of a query that is nothing but words, with how often each stands there; else nothing.

    A sentence may quote: the words of its phrases are words of the bag, and a question mark is a character.
    """
    operands = query.operands if isinstance(query, ast.And) else (query,)
    words = [one for one in operands if isinstance(one, ast.Word)]
    quoting = (ast.Word, ast.Phrase, ast.Wildcard) if len(words) >= SENTENCE else (ast.Word,)
    if not all(isinstance(one, quoting) for one in operands):
        return {}
    every: list[ast.Word] = []
    for one in operands:
        match one:
            case ast.Word():
                every.append(one)
            case ast.Phrase(text, None):
                every += [ast.Word(word) for word in text.split() if can_be_searched(word)]
            case ast.Wildcard(pattern) if ("*", True) not in wildcard_tokens(pattern):
                every.append(ast.Word("".join(token for token, _ in wildcard_tokens(pattern))))
            case _:
                return {}
    return {word: every.count(word) for word in every}


@dataclass(frozen=True, slots=True)
class Sentence:
    """A bag of words over a corpus.

    Attributes:
        words: The words.
        corpus: The searched items.
        fields: The text fields a leaf without field is bound to.
        dictionary: The terms of these fields, with the number of items that have each.
    """

    words: Mapping[ast.Word, int]
    corpus: Corpus
    fields: tuple[str, ...]
    dictionary: Mapping[str, int]

    def stages(self) -> Iterator[tuple[str, ast.Node]]:
        """Yield the stages after the first, each with its query."""
        long = len(self.words) >= SENTENCE
        content = [word for word in self.words if not is_function_word(word)] or list(self.words)
        unknown = [word for word in self.words if not self.is_known(word.text)]
        slips = [word for word in unknown or self.words if not has_digit(word.text)]
        if slips and (unknown or not long):
            fuzzy = [self.with_slips(word.text) if word in slips else word for word in self.words]
            yield "fuzzy", with_content(group(ast.And, fuzzy))
        if not long and not any(has_signs(word.text) for word in content):
            yield "substring", group(ast.And, [ast.Wildcard(f"*{escape(word.text)}*") for word in content])
        if len(self.words) > 1 or any(len(parts(word.text)) > 1 - has_signs(word.text) for word in self.words):
            yield "any", self.any()

    def with_slips(self, text: str) -> ast.Node:
        """Return a word with typos forgiven; one that no item has also as two that items have, or with umlauts."""
        choices: list[ast.Node] = [ast.Fuzzy(text)]
        if text.isascii() and text.isalpha() and len(text) <= 40 and not self.is_known(text):
            pairs = [(text[:at], text[at:]) for at in range(3, len(text) - 2)]
            choices += [ast.Phrase(f"{a} {b}") for a, b in pairs if self.is_known(a) and self.is_known(b)]
            umlauts = text
            for written, letter in {"ae": "ä", "oe": "ö", "ue": "ü"}.items():
                for spelled in {written, written.upper(), written.title(), written[0] + written[1].upper()}:
                    umlauts = umlauts.replace(spelled, letter)
            choices += [ast.Word(umlauts)] if umlauts != text and self.is_known(umlauts) else []
        return choices[0] if len(choices) == 1 else ast.Or(tuple(choices))

    def any(self) -> ast.Node:
        """Return any of the words, each as it is read and with what it counts for."""
        shouted = "".join(word.text for word in self.words)
        loud = shouted == "".join(letter for letter in shouted if not letter.islower())
        worth: dict[str, float] = {}
        for word, times in self.words.items():
            capital = not loud and len([letter for letter in word.text if letter.isupper()]) >= 2
            for text, weight in self.readings(word.text):
                worth[text] = worth.get(text, 0) + weight * (1 if capital else brevity(text)) * times
        for left, right in pairwise(self.words):
            sides = parts(left.text), parts(right.text)
            if all(len(side) == 1 and len(side[0]) >= 3 for side in sides):
                joined = join([*sides[0], *sides[1]])
                if joined in self.dictionary:
                    worth.setdefault(joined, 0.75 * brevity(joined))
        rounded = {text: round(value, 2) for text, value in worth.items()}
        nodes = [ast.Boost(ast.Word(text), value) if value != 1 else ast.Word(text) for text, value in rounded.items()]
        small = [node for node in nodes if is_function_word(node.operand if isinstance(node, ast.Boost) else node)]
        content = [node for node in nodes if node not in small]
        if small and content:
            return ast.And((group(ast.Or, content), ast.Or((ast.Everything(), *small))))
        return group(ast.Or, nodes or list(self.words))

    def readings(self, text: str) -> Iterator[tuple[str, float]]:
        """Yield what is looked for in place of a word, with its weight."""
        if len(parts(text)) > 1 or has_signs(text):
            whole = Binder(self.corpus, self.fields).bind(ast.Word(text))
            if any(whole.matches(number) for number in range(len(self.corpus.docs))):
                yield text, 1.0
                return
        for run in pieces(text):
            known = [piece for piece in run if self.is_known(piece)]
            for piece in known if len(parts(run[0])) > 1 and known else run:
                yield from self.corrections(piece) if not self.is_known(piece) else [(piece, 1.0)]

    def corrections(self, part: str) -> list[tuple[str, float]]:
        """Return the nearest term that begins alike, if near enough, else the part itself."""
        near = []
        for term, count in self.dictionary.items() if not has_digit(part) else ():
            if term[0] == part[0] and edits(part, term) <= automatic_distance(part):
                near.append((1 - edits(part, term) / len(part), count, term))
        weight, _, term = max(near, default=(0.0, 0, ""))
        if term and edits(part, term) * 6 <= max(len(part), len(term)):
            return [(term, weight)]
        return [(part, 1.0)]

    def count(self, part: str) -> int:
        """Return the items that have a word of its stem, added up over these."""
        return sum(count for term, count in self.dictionary.items() if stem(term) == stem(part))

    def is_known(self, text: str) -> bool:
        """Tell whether the dictionary has all parts of a word, each maybe inflected, or its joined form."""
        if signs_of(text):
            return all(sign in self.dictionary for sign in signs_of(text))
        return joined_form(text) in self.dictionary or all(map(self.count, parts(text)))

    def names(self, doc: NaiveDoc) -> bool:
        """Tell whether one of several words, or a part of one that is a path, is the id or name of an item."""
        known = {fold(doc.item.id), fold(doc.item.name)}
        for word in self.words if len(self.words) > 1 else ():
            runs = [run for run, _ in raw_chunks(word.text)]
            for text in {word.text, *runs, *(part for run in runs if "/" in run for part in run.split("/"))}:
                if fold(text.strip()) in known and (is_identifier(text) or self._stands_out(text)):
                    return True
        return False

    def _stands_out(self, text: str) -> bool:
        """Tell whether no long word of a sentence that items have is rarer than a long plain word."""
        if len(self.words) < SENTENCE or len(text) < NAMING_LETTERS or text.isdecimal():
            return False
        others = {part for word in self.words for part in parts(word.text) if len(part) >= NAMING_LETTERS}
        counts = [self.count(part) for part in others if self.count(part)]
        return all(self.count(part) <= min(counts, default=0) for part in parts(text))


def without_punctuation(node: ast.Node) -> ast.Node | None:
    """Return a query without words that have no letter or digit; None where nothing is left."""
    match node:
        case ast.Word(text) | ast.Wildcard(text):
            return node if can_be_searched(text) else None
        case ast.And(operands) | ast.Or(operands):
            kept = [one for one in map(without_punctuation, operands) if one is not None]
            return group(type(node), kept) if kept else None
        case ast.Not(operand) | ast.Boost(operand):
            inner = without_punctuation(operand)
            return inner and replace(node, operand=inner)
        case ast.Field(_, operand):
            return replace(node, operand=without_punctuation(operand) or operand)
        case _:
            return node


def has_signs(text: str) -> bool:
    """Tell whether a word has a sign that is part of a name, or no part."""
    return not parts(text) or any(sign for _, sign in raw_chunks(text))


def has_digit(text: str) -> bool:
    """Tell whether a text has a digit."""
    return any(character.isdigit() for character in text)


def is_identifier(text: str) -> bool:
    """Tell whether a text has several parts, and not only because its script has no blanks between words."""
    return len(parts(text)) > 1 and not all(is_unspaced(part[0]) for part in parts(text))


def pieces(text: str) -> list[list[str]]:
    """Return the parts of a word; where letters without blanks stand side by side, every two of them, run by run."""
    runs: list[list[str]] = []
    for part in parts(text):
        if is_unspaced(part[0]) and runs and is_unspaced(runs[-1][0][0]):
            runs[-1].append(part)
        else:
            runs.append([part])
    return [[left + right for left, right in pairwise(run)] or run for run in runs]


def brevity(text: str) -> float:
    """Return what a word counts for by its letters: six or more in full."""
    if text.casefold() in FUNCTION_WORDS:
        return FUNCTION_WEIGHT
    letters = "".join(parts(text))
    return min(1.0, len(letters) / 6) if letters.islower() or letters.isdigit() else 1.0


def escape(text: str) -> str:
    """Return a wildcard pattern that stands for the text itself."""
    return "".join(f"\\{character}" if character in "*?\\" else character for character in text)


def is_function_word(node: ast.Node) -> bool:
    """Tell whether a word has no content."""
    return isinstance(node, ast.Word | ast.Fuzzy) and node.text.casefold() in FUNCTION_WORDS


def with_content(node: ast.Node) -> ast.Node:
    """Return an AND of words without its function words, unless it has no others."""
    if not isinstance(node, ast.And) or all(map(is_function_word, node.operands)):
        return node
    return group(ast.And, [one for one in node.operands if not is_function_word(one)])


def group(kind: type[ast.And | ast.Or], operands: Sequence[ast.Node]) -> ast.Node:
    """Return a flat group, or its only operand."""
    return operands[0] if len(operands) == 1 else kind(tuple(operands))
