"""The parser of ``grammar/query.lark``: Lark's tables, and one method per rule that makes its part of the AST.

The tokens come from :mod:`rye.query.recovery`, which has checked them, so nothing here can fail. ``None`` is a hole, a
missing operand: a node is built without it, or becomes a hole itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from typing import TypeAlias

from lark import Lark, Token, Transformer, v_args
from lark.lark import PostLex

from rye import _resources
from rye.query import ast
from rye.query.escaping import pattern, plain, units, unquote

Part: TypeAlias = ast.Node | None
"""A part of the AST; None for a hole."""


class _KeepTokens(PostLex):
    """Makes the lexer yield these tokens wherever they stand; recovery reports one that is misplaced."""

    always_accept = ("AND", "OR", "NOT", "NEAR", "RPAR", "FUZZY", "BOOST", "QUOTE", "BACKSLASH", "BARE_RANGE")

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        return stream


def span(first: Token, last: Token | ast.Node | None = None) -> ast.Span:
    """Return the characters from the start of ``first`` to the end of ``last``."""
    end = last.end_pos if isinstance(last, Token) else last.span[1] if last else first.end_pos
    return first.start_pos or 0, end or 0


def join(kind: type[ast.And | ast.Or], parts: Iterable[Part | Token]) -> Part:
    """Join parts into one flat node, without holes and operators; a single part is returned as it is."""
    flat: list[ast.Node] = []
    for part in parts:
        if isinstance(part, kind):
            flat.extend(part.operands)
        elif part is not None and not isinstance(part, Token):
            flat.append(part)
    if len(flat) < 2:
        return flat[0] if flat else None
    return kind(tuple(flat), (flat[0].span[0], flat[-1].span[1]))


def meaning(value: Token) -> str:
    """Return the text that a value or an end of a range means, quoted or not."""
    return unquote(value) if value.type == "PHRASE" else plain(value)


@v_args(inline=True)
class _Builder(Transformer[Token, Part]):
    """One method per rule of the grammar; Lark calls it while it parses."""

    def hole(self, _token: Token) -> None:
        return None

    def word(self, token: Token) -> ast.Node:
        word = units(token)
        if all(live and char == "*" for char, live in word):
            return ast.Everything(span(token))
        if any(live for _, live in word):
            return ast.Wildcard(pattern(word), span(token))
        return ast.Word(plain(token), span(token))

    def fuzzy(self, token: Token, mark: Token) -> ast.Node:
        return ast.Fuzzy(plain(token), int(mark[1:]) if mark[1:] else None, span(token, mark))

    def phrase(self, token: Token) -> ast.Node:
        return ast.Phrase(unquote(token), None, span(token))

    def slop(self, token: Token, mark: Token) -> ast.Node:
        return ast.Phrase(unquote(token), int(mark[1:]), span(token, mark))

    def group(self, opening: Token, part: Part, closing: Token) -> Part:
        return part and replace(part, span=span(opening, closing))

    def field(self, field: Token, operand: Part) -> ast.Node:
        match operand:
            case None:
                return ast.Word(field[:-1], span(field))
            case ast.Everything():
                return ast.Exists(field[:-1], span(field, operand))
            case _:
                return ast.Field(field[:-1], operand, span(field, operand))

    def exists(self, field: Token, star: Token) -> ast.Node:
        return ast.Exists(field[:-1], span(field, star))

    def comparison(self, field: Token, sign: Token, value: Token) -> ast.Node:
        return ast.Compare(field[:-1], str(sign), meaning(value), span(field, value))

    def range(self, field: Token, opening: Token, low: Token, _to: Token, high: Token, closing: Token) -> ast.Node:  # noqa: PLR0917 - as the rule has it
        least, most = (None if end == "*" else meaning(end) for end in (low, high))
        return ast.Range(field[:-1], least, most, opening == "[", closing == "]", span(field, closing))

    def excluded_field(self, field: Token, exclusion: Part) -> ast.Node:
        if not isinstance(exclusion, ast.Not):
            return self.field(field, None)
        inner = self.field(field, exclusion.operand)
        return ast.Not(inner, inner.span)

    def boost(self, operand: Part, mark: Token) -> Part:
        return operand and ast.Boost(operand, float(mark[1:]), (operand.span[0], span(mark)[1]))

    def negation(self, mark: Token, operand: Part) -> Part:
        return operand and ast.Not(operand, span(mark, operand))

    def proximity(self, first: Part, *others: Part | Token) -> Part:
        operands, distances = [first] if first else [], []
        for mark, operand in zip(others[::2], others[1::2], strict=True):
            if operand is not None and not isinstance(operand, Token):
                if operands:
                    distances.append(int(str(mark).removeprefix("NEAR/")))
                operands.append(operand)
        if not distances:
            return operands[0] if operands else None
        return ast.Near(tuple(operands), tuple(distances), (operands[0].span[0], operands[-1].span[1]))

    def conjunction(self, *parts: Part | Token) -> Part:
        return join(ast.And, parts)

    def disjunction(self, *parts: Part | Token) -> Part:
        return join(ast.Or, parts)


@cache
def parser() -> Lark:
    """Return the one parser of the process, built when first needed; it keeps nothing between texts."""
    return Lark(
        _resources.grammar_text(), parser="lalr", lexer="contextual", transformer=_Builder(), postlex=_KeepTokens()
    )
