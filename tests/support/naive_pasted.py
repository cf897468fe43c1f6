"""The twin's reading of queries as plain words, and of where they stand word for word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from rye.query import ast, walk
from tests.support.naive_analysis import can_be_searched, join, parts, raw_chunks, visible
from tests.support.naive_docs import ALIASES, KEYWORD_FIELDS, WEIGHTS
from tests.support.naive_leaves import wildcard_tokens

SYMBOLS = "/\\:=$&|<>{}()[]"
"""Characters that few words of a query have where they are a path, a setting or code."""

REQUEST = 8
"""Words up to which a query with operators is no pasted request."""

FEW = 4
"""Words up to which a query is no running text."""


def as_text(text: str) -> ast.Node:
    """Return the words of a text, without any operator."""
    words = [ast.Word(visible(word)) for word in text.split() if can_be_searched(visible(word))]
    if len(words) > 1:
        return ast.And(tuple(words))
    return words[0] if words else ast.Everything()


@dataclass(frozen=True, slots=True)
class Fallback:
    """What a query with operators is searched for that finds nothing as written: any of the words, or the phrase."""

    words: dict[ast.Word, int] = field(default_factory=dict)
    conditions: tuple[ast.Node, ...] = ()
    phrase: ast.Node | None = None


def words_of(node: ast.Node) -> list[ast.Word]:
    """Return the words of an AND of words, or of one word."""
    return [one for one in (node.operands if isinstance(node, ast.And) else (node,)) if isinstance(one, ast.Word)]


def fallback_of(query: ast.Node, text: str) -> Fallback:
    """Return what a query with operators falls back to."""
    every = words_of(as_text(text))
    if len(every) > REQUEST:
        return Fallback({word: every.count(word) for word in every})
    if any(isinstance(node, ast.Not) for node in walk(query)):
        return Fallback(phrase=ast.Phrase(text)) if 2 <= len(parts(text)) <= 256 else Fallback()
    found = [word for leaf in text_leaves(query) for word in words_of(as_text(leaf))]
    operands = query.operands if isinstance(query, ast.And) else (query,)
    conditions = tuple(one for one in operands if not list(text_leaves(one)))
    return Fallback({word: found.count(word) for word in found}, conditions)


def text_leaves(node: ast.Node) -> Iterator[str]:
    """Yield the texts of the words, wildcards and phrases that are looked for in the texts of items."""
    match node:
        case ast.Word(text) | ast.Fuzzy(text) | ast.Phrase(text):
            yield text
        case ast.Wildcard(pattern):
            yield "".join(" " if is_wild else token for token, is_wild in wildcard_tokens(pattern))
        case ast.And(operands) | ast.Or(operands) | ast.Near(operands):
            for operand in operands:
                yield from text_leaves(operand)
        case ast.Boost(operand):
            yield from text_leaves(operand)
        case ast.Field(name, operand) if ALIASES.get(name.lower(), name.lower()) in WEIGHTS:
            yield from text_leaves(operand)


def is_misnamed(query: ast.Node, keys: Iterable[str]) -> bool:
    """Tell whether a query asks for a field that is unknown and no slip of another, before any that is a slip."""
    names = {*WEIGHTS, *KEYWORD_FIELDS, *ALIASES, "directive", "tool", "knowledge", *keys}
    asked = (one.name for one in walk(query) if isinstance(one, ast.Field | ast.Compare | ast.Range | ast.Exists))
    unknown = next((name for name in asked if name not in keys and name.lower() not in names), None)
    if unknown is None:
        return False
    return not any(SequenceMatcher(None, name, unknown.lower()).ratio() >= 0.7 for name in names)


def verbatim(text: str) -> ast.Node | None:
    """Return a search for a text as it stands; None where nothing says that its words belong together."""
    found = parts(text)
    if not 2 <= len(found) <= 256:
        return None
    words = text.split()
    if len(words) == 1:
        is_path = "/" in text and len(list(raw_chunks(text))) == 1
        return ast.Wildcard(f"*{join(found)}*") if is_path else None
    marked = any(character in SYMBOLS for character in text) or any(word.startswith("-") for word in words)
    return ast.Phrase(text) if marked or len(words) > FEW else None
