"""Show and classify an AST.

A dump has one line per node, indented below its parent:

    >>> from rye.query import parse
    >>> print(dump(parse('title:(deploy OR "roll out")').ast))
    Field title
      Or
        Word "deploy"
        Phrase "roll out"
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from rye.query import ast
from rye.query.escaping import pattern, pattern_units


def as_words(node: ast.Node) -> tuple[ast.Word, ...] | None:
    """Return the words of a bare bag of words; None if the query is anything else."""
    operands = node.operands if isinstance(node, ast.And) else (node,)
    words = [operand for operand in operands if isinstance(operand, ast.Word)]
    return tuple(words) if len(words) == len(operands) else None


def loosen(node: ast.Node) -> tuple[ast.Word, ...] | None:
    """Return the words of a query that may be prose; None if it has any operator.

    Prose has only words, quoted words and question marks. A phrase gives its words, and ``?`` is a plain character.
    """
    words: list[ast.Word] = []
    for operand in node.operands if isinstance(node, ast.And) else (node,):
        match operand:
            case ast.Word():
                words.append(operand)
            case ast.Phrase(text, None):
                words.extend(ast.Word(word, operand.span) for word in text.split())
            case ast.Wildcard(pattern) if ("*", True) not in pattern_units(pattern):
                words.append(ast.Word("".join(char for char, _ in pattern_units(pattern)), operand.span))
            case _:
                return None
    return tuple(words)


def without_question_marks(node: ast.Node, text: str) -> tuple[ast.Node, list[ast.Dropped]]:
    """Remove question marks at the end of words as punctuation, except in groups and fields.

    ``what's new?`` is a question; it does not search for words with one more letter.

    Returns:
        The query without them, and one report for each word that lost some.
    """
    kept: list[ast.Node] = []
    dropped: list[ast.Dropped] = []
    for operand in node.operands if isinstance(node, ast.And) else (node,):
        bare = _without_last_marks(operand) if isinstance(operand, ast.Wildcard) else operand
        if bare != operand:
            place = text.rindex("?", *operand.span)
            dropped.append(ast.Dropped(place, "?", "a question mark at the end of a word is punctuation here"))
        if bare is not None:
            kept.append(bare)
    if len(kept) > 1:
        return ast.And(tuple(kept), node.span), dropped
    return kept[0] if kept else ast.Everything(), dropped


def _without_last_marks(node: ast.Wildcard) -> ast.Node | None:
    """Return a word without its trailing question marks; None if it has nothing else."""
    word = pattern_units(node.pattern)
    last = max((index for index, (char, live) in enumerate(word) if char.isalnum() and not live), default=-1)
    rest = [unit for index, unit in enumerate(word) if index < last or unit != ("?", True)]
    if any(live for _, live in rest):
        return replace(node, pattern=pattern(rest))
    return ast.Word("".join(char for char, _ in rest), node.span) if rest else None


def dump(node: ast.Node) -> str:
    """Return the tree as indented lines, one per node, with its kind and values."""
    lines: list[str] = []
    waiting = [(node, 0)]
    while waiting:
        current, depth = waiting.pop()
        lines.append("  " * depth + _label(current))
        waiting.extend((child, depth + 1) for child in reversed(ast.children(current)))
    return "\n".join(lines)


def _label(node: ast.Node) -> str:
    """Return the kind of a node and its own values."""
    kind = type(node).__name__
    match node:
        case ast.Word(text) | ast.Wildcard(text) | ast.Fuzzy(text, None) | ast.Phrase(text, None):
            return f"{kind} {_quoted(text)}"
        case ast.Fuzzy(text, number) | ast.Phrase(text, number):
            return f"{kind} {_quoted(text)} ~{number}"
        case ast.Near():
            return f"{kind} {' '.join(map(str, node.distances))}"
        case ast.Field(name) | ast.Exists(name):
            return f"{kind} {name}"
        case ast.Compare():
            return f"{kind} {node.name} {node.op} {_quoted(node.value)}"
        case ast.Range():
            opening, closing = "[" if node.include_low else "{", "]" if node.include_high else "}"
            return f"{kind} {node.name} {opening}{_quoted(node.low)} TO {_quoted(node.high)}{closing}"
        case ast.Boost():
            return f"{kind} {node.factor:g}"
        case _:
            return kind


def _quoted(text: str | None) -> str:
    return "*" if text is None else json.dumps(text, ensure_ascii=not text.isprintable())


def to_dict(node: ast.Node) -> dict[str, Any]:
    """Return the tree as JSON-able values: ``type``, the node's own fields, ``span``, and its children."""
    return ast.fold(node, _to_dict)


def _to_dict(node: ast.Node, below: Sequence[dict[str, Any]]) -> dict[str, Any]:
    data: dict[str, Any] = {"type": type(node).__name__.lower()}
    for attribute in fields(node):
        value = getattr(node, attribute.name)
        match attribute.name:
            case "operand":
                data["operand"] = below[0]
            case "operands":
                data["operands"] = list(below)
            case _:
                data[attribute.name] = list(value) if isinstance(value, tuple) else value
    return data
