"""Question marks in prose: ``what's new?`` asks, it does not mean a word with one more letter."""

from __future__ import annotations

from dataclasses import replace

from rye.query._text import Units, pattern, pattern_units
from rye.query.ast import And, Dropped, Everything, Node, Wildcard, Word

__all__ = ["without_question_marks"]


def without_question_marks(ast: Node, text: str) -> tuple[Node, list[Dropped]]:
    """Take the question marks at the end of words as punctuation, but not inside of groups and fields.

    Returns:
        The AST without them, and one report for each word that lost some.
    """
    kept: list[Node] = []
    dropped: list[Dropped] = []
    for operand in ast.operands if isinstance(ast, And) else (ast,):
        settled = _settle(operand)
        if settled is not operand:
            start, end = operand.span
            dropped.append(
                Dropped(text.rindex("?", start, end), "?", "a question mark at the end of a word is punctuation here")
            )
        if settled is not None:
            kept.append(settled)
    if len(kept) > 1:
        return And(tuple(kept), ast.span), dropped
    return kept[0] if kept else Everything(), dropped


def _settle(node: Node) -> Node | None:
    """Return ``node`` as it is, or without its last question marks; None when it is nothing but those."""
    if not isinstance(node, Wildcard):
        return node
    word = pattern_units(node.pattern)
    last = max((index for index, (char, live) in enumerate(word) if char.isalnum() and not live), default=-1)
    rest = [unit for index, unit in enumerate(word) if index < last or unit != ("?", True)]
    return node if rest == word else _word(rest, node)


def _word(word: Units, node: Wildcard) -> Node | None:
    if any(live for _, live in word):
        return replace(node, pattern=pattern(word))
    return Word("".join(char for char, _ in word), node.span) if word else None
