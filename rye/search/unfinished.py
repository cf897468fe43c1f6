"""A query that somebody is still typing: the word that it ends in may go on."""

from __future__ import annotations

from dataclasses import replace

from rye.index import strings
from rye.query import ast


class Unfinished(str):
    """The text of a query whose last word is that word or the beginning of one; it names what it names as it is."""

    __slots__ = ()


def going_on(node: ast.Node, text: str) -> ast.Node | None:
    """Return a query in which the word that its text ends in may go on; None where it ends in none."""
    operands = node.operands if isinstance(node, ast.And) else (node,)
    last = operands[-1]
    word = last.operand if isinstance(last, ast.Field) else last
    if not isinstance(word, ast.Word) or word.span[1] != len(text):
        return None
    open_end: ast.Node = ast.Or((word, ast.Wildcard(f"{strings.escape(word.text)}*", word.span)), word.span)
    if isinstance(last, ast.Field):
        open_end = replace(last, operand=open_end)
    return replace(node, operands=(*operands[:-1], open_end)) if isinstance(node, ast.And) else open_end
