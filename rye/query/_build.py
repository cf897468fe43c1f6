"""Tokens → AST: the transformer that Lark runs while it parses, and the one parser that carries it.

Every token that arrives here has been checked by the reader, so nothing here can fail. ``None`` stands for a hole, an
operand that was missing: whatever takes one does without it, or becomes a hole itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from typing import TypeAlias

from lark import Lark, Token, Transformer, v_args
from lark.lark import PostLex

from rye import _resources
from rye.query._clauses import split_comparison, split_range, value
from rye.query._text import pattern, plain, units, unquote
from rye.query.ast import (
    And,
    Boost,
    Compare,
    Everything,
    Exists,
    Field,
    Fuzzy,
    Near,
    Node,
    Not,
    Or,
    Phrase,
    Range,
    Span,
    Wildcard,
    Word,
)

__all__ = ["Hole", "Part", "conjunction", "parser"]

Hole: TypeAlias = None
Part: TypeAlias = Node | Hole


_RANGES = ("OPEN_RANGE", "BARE_RANGE")


class _KeepTokens(PostLex):
    """Makes the lexer yield these tokens wherever they stand; the reader says what is wrong with a misplaced one."""

    always_accept = ("AND", "OR", "NOT", "NEAR", "RPAR", "FUZZY", "BOOST", "QUOTE", "BACKSLASH", *_RANGES)

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        return stream


def _span(token: Token) -> Span:
    return token.start_pos or 0, token.end_pos or 0


def _join(kind: type[And | Or], parts: Iterable[Part]) -> Part:
    """Join the parts that are there into one flat node; one part alone is itself."""
    flat: list[Node] = []
    for part in parts:
        if isinstance(part, kind):
            flat.extend(part.operands)
        elif part is not None:
            flat.append(part)
    if len(flat) < 2:
        return flat[0] if flat else None
    return kind(tuple(flat), (flat[0].span[0], flat[-1].span[1]))


def conjunction(parts: Iterable[Part]) -> Part:
    """Join ``parts`` by AND, flat; holes are left out."""
    return _join(And, parts)


@v_args(inline=True)
class _Builder(Transformer[Token, Part]):
    """One method per rule of the grammar."""

    def hole(self, _token: Token) -> Hole:
        return None

    def word(self, token: Token) -> Node:
        word = units(token)
        if all(live and char == "*" for char, live in word):
            return Everything(_span(token))
        if any(live for _, live in word):
            return Wildcard(pattern(word), _span(token))
        return Word(plain(token), _span(token))

    def fuzzy(self, token: Token, mark: Token) -> Node:
        distance = int(mark[1:]) if mark[1:] else None
        return Fuzzy(plain(token), distance, (_span(token)[0], _span(mark)[1]))

    def phrase(self, token: Token) -> Node:
        return Phrase(unquote(token), None, _span(token))

    def slop(self, token: Token, mark: Token) -> Node:
        return Phrase(unquote(token), int(mark[1:]), (_span(token)[0], _span(mark)[1]))

    def group(self, opening: Token, part: Part, closing: Token) -> Part:
        return part and replace(part, span=(_span(opening)[0], _span(closing)[1]))

    def field(self, token: Token, operand: Part) -> Node:
        name = token[:-1]
        start, end = _span(token)
        match operand:
            case None:
                return Word(name, (start, end))
            case Everything():
                return Exists(name, (start, operand.span[1]))
            case _:
                return Field(name, operand, (start, operand.span[1]))

    def excluded_field(self, token: Token, exclusion: Part) -> Node:
        if not isinstance(exclusion, Not):
            return self.field(token, None)
        inner = self.field(token, exclusion.operand)
        return Not(inner, inner.span)

    def exists(self, token: Token) -> Node:
        return Exists(token.partition(":")[0], _span(token))

    def compare(self, token: Token) -> Node:
        name, sign, raw = split_comparison(token)
        return Compare(name, sign, value(raw), _span(token))

    def range(self, token: Token) -> Node:
        name, inside = split_range(token)
        low, _, high = (None if piece == "*" else value(piece) for piece in inside)
        include_low = token[len(name) + 1] == "["
        return Range(name, low, high, include_low, token.endswith("]"), _span(token))

    def boost(self, operand: Part, mark: Token) -> Part:
        return operand and Boost(operand, float(mark[1:]), (operand.span[0], _span(mark)[1]))

    def negation(self, mark: Token, operand: Part) -> Part:
        return operand and Not(operand, (_span(mark)[0], operand.span[1]))

    def proximity(self, first: Part, *others: Part | Token) -> Part:
        operands, distances = [first] if first else [], []
        for mark, operand in zip(others[::2], others[1::2], strict=True):
            if operand is not None and not isinstance(operand, Token):
                if operands:
                    distances.append(int(str(mark).removeprefix("NEAR/")))
                operands.append(operand)
        if not distances:
            return operands[0] if operands else None
        return Near(tuple(operands), tuple(distances), (operands[0].span[0], operands[-1].span[1]))

    def conjunction(self, *parts: Part | Token) -> Part:
        return _join(And, (part for part in parts if not isinstance(part, Token)))

    def disjunction(self, *parts: Part | Token) -> Part:
        return _join(Or, (part for part in parts if not isinstance(part, Token)))


@cache
def parser() -> Lark:
    """Return the one parser of the process, built when first needed; it keeps nothing between texts."""
    return Lark(
        _resources.grammar_text(), parser="lalr", lexer="contextual", transformer=_Builder(), postlex=_KeepTokens()
    )
