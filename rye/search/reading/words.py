"""The words of a text, without any operator, and what of a text is not searched."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from rye import query
from rye._text import unseen, visible
from rye.index.storage.terms import escape
from rye.index.text import analysis
from rye.query import ast
from rye.query.escaping import pattern_units
from rye.query.limits import MAX_CHARS, MAX_LEAVES, MAX_PHRASE, cut

SENTENCE = 4
"""More words than these are a sentence, which is not matched by parts of words: long items would match every time."""

REQUEST = 8
"""More words than these are a pasted request: its operators are punctuation if it finds nothing as written."""

AUTO_WORDS = 3
"""Plain words from which mode ``auto`` is hybrid; shorter queries are keyword searches."""

_FUNCTION_WORDS = (
    "a about all am an and any are as at be by can could did do does for from had has have her his how i if in into is "
    "it its me my of on or our please she should so some that the their them then there these they this those to us "
    "was we were what when where which who whom whose why will with would you your"
)
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
"""English words without content: in a bag of words, items need not have them if they have the others."""

_WORD = re.compile(r"\S+")
_SYMBOL = re.compile(r"[/\\:=$&|<>{}()\[\]]|(?<!\S)-")

_Cleaned: TypeAlias = tuple[ast.Node | None, tuple[ast.Dropped, ...]]


def visible_query(text: str, *, shorten: bool) -> tuple[str, list[ast.Dropped], list[str]]:
    """Return a query without invisible characters, cut if it is too long; also reports and warnings about that."""
    text, unseen_ones = without_invisible(text)
    kept = cut(text) if shorten else text
    if kept == text:
        return text, [*unseen_ones], []
    warning = f"the query has {len(text):,} characters; only the first {len(kept):,} were searched"
    return kept, [*unseen_ones], [warning]


def verbatim(text: str) -> ast.Node | None:
    """Return a search for the words exactly as in a text; items that match it score higher.

    Returns None for a few plain words, which need not belong together. A path is searched in the joined forms of paths.
    """
    parts = analysis.parts(text)
    if not 1 < len(parts) <= MAX_PHRASE:
        return None
    words = text.split()
    if len(words) == 1:  # its parts are searched in a row anyway
        is_path = "/" in text and len(analysis.chunks(analysis.normalize(text))) == 1
        return ast.Wildcard(f"*{escape(analysis.joined(parts))}*") if is_path else None
    return ast.Phrase(text) if len(words) > SENTENCE or _SYMBOL.search(text) else None


def without_invisible(text: str) -> tuple[str, tuple[ast.Dropped, ...]]:
    """Leave out invisible characters, with a report on them."""
    if text.isascii() or not (places := list(unseen(text))):
        return text, ()
    characters = "".join(dict.fromkeys(char for _, char in places))
    names = ", ".join(unicodedata.name(char, f"U+{ord(char):04X}").lower() for char in characters)
    return visible(text), (ast.Dropped(places[0][0], characters, f"{names} was removed, because it is invisible"),)


def without_punctuation(node: ast.Node) -> tuple[ast.Node, tuple[ast.Dropped, ...]]:
    """Leave out words that are only punctuation, with a report on each. If nothing is left, match nothing.

    The value of a field and an operand of NEAR are explicit, so these stay.
    """
    if (words := query.as_words(node)) and all(word.text.isalnum() for word in words):
        return node, ()
    cleaned, dropped = ast.fold(node, _clean)
    return cleaned or ast.Not(ast.Everything()), dropped


def _clean(node: ast.Node, below: Sequence[_Cleaned]) -> _Cleaned:
    kept = [child for child, _ in below if child is not None]
    dropped = tuple(report for _, left in below for report in left)
    match node:
        case ast.Word(text=text) | ast.Wildcard(pattern=text) if not (text.isalnum() or analysis.searchable(text)):
            return None, (ast.Dropped(node.span[0], text, "punctuation alone cannot be searched"),)
        case ast.And() | ast.Or() if len(kept) < 2:
            return (kept[0] if kept else None), dropped
        case ast.And() | ast.Or():
            return replace(node, operands=tuple(kept)), dropped
        case ast.Not() | ast.Boost() if not kept:
            return None, dropped
        case _ if len(kept) < len(below):
            return node, ()
        case _:
            return query.with_children(node, kept), dropped


def plain_words(text: str) -> ast.Parsed:
    """Return the words of a text, without any operator, and a report if there are too many."""
    candidates = (ast.Word(match[0], match.span()) for match in _WORD.finditer(text[:MAX_CHARS]))
    words = [word for word in candidates if analysis.searchable(word.text)]
    left_out = (
        [ast.Dropped(words[MAX_LEAVES].span[0], "…", f"{MAX_LEAVES} words at most")] if words[MAX_LEAVES:] else []
    )
    return ast.Parsed(text, all_of(words[:MAX_LEAVES]) if words else ast.Everything(), tuple(left_out))


def words_in(leaf: ast.Node) -> tuple[ast.Node, ...]:
    """Return the words of one word, pattern or phrase."""
    match leaf:
        case ast.Wildcard(pattern=pattern):
            text = "".join(" " if is_wild else char for char, is_wild in pattern_units(pattern))
            return operands_of(plain_words(text).ast)
        case ast.Word(text=text) | ast.Fuzzy(text=text) | ast.Phrase(text=text):
            return operands_of(plain_words(text).ast)
        case _:
            return ()


def counted(nodes: Iterable[ast.Node]) -> Mapping[ast.Word, int]:
    """Return the words among some nodes, with how often each occurs."""
    return Counter(node for node in nodes if isinstance(node, ast.Word))


def is_request(text: str) -> bool:
    """Return whether a text is a pasted request, by the number of its words."""
    # the words and the spaces between them are more than twice as many characters
    return len(text) > 2 * REQUEST and len(operands_of(plain_words(text).ast)) > REQUEST


def operands_of(node: ast.Node) -> tuple[ast.Node, ...]:
    """Return the operands of an AND; a query of another kind is its own only operand."""
    return node.operands if isinstance(node, ast.And) else (node,)


def all_of(nodes: Iterable[ast.Node]) -> ast.Node:
    """Return the AND of one or more queries."""
    operands = tuple(nodes)
    return operands[0] if len(operands) == 1 else ast.And(operands, (operands[0].span[0], operands[-1].span[1]))


def is_function_word(node: ast.Node) -> bool:
    """Return whether a query is a word without content."""
    return isinstance(node, ast.Word | ast.Fuzzy) and node.text.casefold() in FUNCTION_WORDS


def with_content(node: ast.Node) -> ast.Node:
    """Return an AND without its function words, unless it has no others."""
    content = [operand for operand in operands_of(node) if not is_function_word(operand)]
    return all_of(content) if content and len(content) < len(operands_of(node)) else node
