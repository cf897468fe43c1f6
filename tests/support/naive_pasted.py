"""The twin's reading of queries as plain words, and of where they stand word for word."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

from rye.query import ast, walk
from tests.support.naive_analysis import can_be_searched, join, parts, raw_chunks, visible
from tests.support.naive_docs import ALIASES, KEYWORD_FIELDS, WEIGHTS

SYMBOLS = "/\\:=$&|<>{}()[]"
"""Characters that few words of a query have where they are a path, a setting or code."""

FEW = 4
"""Words up to which a query is no running text."""


def as_text(text: str) -> ast.Node:
    """Return the words of a text, without any operator."""
    words = [ast.Word(visible(word)) for word in text.split() if can_be_searched(visible(word))]
    if len(words) > 1:
        return ast.And(tuple(words))
    return words[0] if words else ast.Everything()


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
    if len(words) == 1 and len(list(raw_chunks(text))) == 1:
        return ast.Wildcard(f"*{join(found)}*") if "/" in text else None
    marked = any(character in SYMBOLS for character in text) or any(word.startswith("-") for word in words)
    return ast.Phrase(text) if marked or len(words) > FEW else None
