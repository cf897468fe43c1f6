"""Showing and classifying an AST.

A dump gives each node a line, below the node that holds it:

    >>> from rye.query import parse
    >>> print(dump(parse('title:(deploy OR "roll out")').ast))
    Field title
      Or
        Word "deploy"
        Phrase "roll out"
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

from rye.query._text import pattern_units
from rye.query.ast import (
    And,
    Boost,
    Compare,
    Exists,
    Field,
    Fuzzy,
    Near,
    Node,
    Phrase,
    Range,
    Wildcard,
    Word,
    children,
    fold,
    walk,
)

__all__ = ["as_words", "dump", "leaves", "loosen", "to_dict"]


def leaves(node: Node) -> Iterator[Node]:
    """Yield what has nothing below it: words, wildcards, fuzzy words, phrases, conditions and everything."""
    return (each for each in walk(node) if not children(each))


def as_words(node: Node) -> tuple[Word, ...] | None:
    """Return the words of a bare bag of words, or None when the query is anything more."""
    operands = node.operands if isinstance(node, And) else (node,)
    words = [operand for operand in operands if isinstance(operand, Word)]
    return tuple(words) if len(words) == len(operands) else None


def loosen(node: Node) -> tuple[Word, ...] | None:
    """Return the words of a query that may be prose, or None when it holds any operator.

    Prose is made of words, quoted words and question marks: a phrase gives its words, ``?`` is a plain character.
    """
    words: list[Word] = []
    for operand in node.operands if isinstance(node, And) else (node,):
        match operand:
            case Word():
                words.append(operand)
            case Phrase(text, None):
                words.extend(Word(word, operand.span) for word in text.split())
            case Wildcard(pattern) if ("*", True) not in pattern_units(pattern):
                words.append(Word("".join(char for char, _ in pattern_units(pattern)), operand.span))
            case _:
                return None
    return tuple(words)


def dump(node: Node) -> str:
    """Return the tree as indented lines, one node each: its kind, its values, and below it what it holds."""
    lines: list[str] = []
    waiting = [(node, 0)]
    while waiting:
        current, depth = waiting.pop()
        lines.append("  " * depth + _label(current))
        waiting.extend((child, depth + 1) for child in reversed(children(current)))
    return "\n".join(lines)


def _label(node: Node) -> str:
    """Return the kind of a node and what it itself says."""
    kind = type(node).__name__
    match node:
        case Word(text) | Wildcard(text) | Fuzzy(text, None) | Phrase(text, None):
            return f"{kind} {_quoted(text)}"
        case Fuzzy(text, number) | Phrase(text, number):
            return f"{kind} {_quoted(text)} ~{number}"
        case Near():
            return f"{kind} {' '.join(map(str, node.distances))}"
        case Field(name) | Exists(name):
            return f"{kind} {name}"
        case Compare():
            return f"{kind} {node.name} {node.op} {_quoted(node.value)}"
        case Range():
            opening, closing = "[" if node.include_low else "{", "]" if node.include_high else "}"
            return f"{kind} {node.name} {opening}{_quoted(node.low)} TO {_quoted(node.high)}{closing}"
        case Boost():
            return f"{kind} {node.factor:g}"
        case _:
            return kind


def _quoted(text: str | None) -> str:
    return "*" if text is None else json.dumps(text, ensure_ascii=not text.isprintable())


def to_dict(node: Node) -> dict[str, Any]:
    """Return the tree as JSON-able values: ``type``, the node's own fields, ``span``, and what is below it."""
    return fold(node, _to_dict)


def _to_dict(node: Node, below: Sequence[dict[str, Any]]) -> dict[str, Any]:
    data: dict[str, Any] = {"type": type(node).__name__.lower()}
    for each in fields(node):
        value = getattr(node, each.name)
        match each.name:
            case "operand":
                data["operand"] = below[0]
            case "operands":
                data["operands"] = list(below)
            case _:
                data[each.name] = list(value) if isinstance(value, tuple) else value
    return data
