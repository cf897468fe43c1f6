"""The parser of ``grammar/query.lark``: Lark's tables, and one method per rule that builds its part of the AST.

The tokens come from :mod:`rye.query.recovery`, which has checked them, so nothing here can fail.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache

from lark import Lark, Token, Transformer, v_args

from rye import _resources
from rye.query import ast
from rye.query.escaping import pattern, plain, terminal, units, unquote

_COMPARISON = re.compile(rf'([<>=!]+)(\s*)(?:({terminal("PHRASE")})|"?({terminal("_CHARS")}))?')
PIECE = re.compile(rf"{terminal('PHRASE')}|{terminal('_BOUND')}")
"""A value of a RANGE, or its TO."""


def span(first: Token, last: Token | ast.Node | None = None) -> ast.Span:
    """Return the characters from the start of ``first`` to the end of ``last``."""
    end = last.end_pos if isinstance(last, Token) else last.span[1] if last else first.end_pos
    return first.start_pos or 0, end or 0


def join(kind: type[ast.And | ast.Or], parts: Iterable[ast.Node | Token]) -> ast.Node:
    """Join parts into one flat node, without the operators; a single part is returned unchanged."""
    flat: list[ast.Node] = []
    for part in parts:
        if isinstance(part, kind):
            flat.extend(part.operands)
        elif not isinstance(part, Token):
            flat.append(part)
    return flat[0] if len(flat) == 1 else kind(tuple(flat), (flat[0].span[0], flat[-1].span[1]))


def meaning(value: str) -> str:
    """Return the text of a value or an end of a range, quoted or not."""
    return unquote(value) if value.startswith('"') else plain(value)


def split_comparison(token: str) -> tuple[str, str, str]:
    """Return the sign of a COMPARISON, the white space after it, and its value, quoted or not."""
    match = _COMPARISON.match(token)
    assert match
    return match[1], match[2], match[3] or match[4] or ""


@v_args(inline=True)
class _Builder(Transformer[Token, ast.Node]):
    """One method per rule of the grammar, called by Lark while it parses."""

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

    def group(self, opening: Token, part: ast.Node, closing: Token) -> ast.Node:
        return replace(part, span=span(opening, closing))

    def field(self, field: Token, operand: ast.Node) -> ast.Node:
        if isinstance(operand, ast.Everything):
            return ast.Exists(field[:-1], span(field, operand))
        return ast.Field(field[:-1], operand, span(field, operand))

    def exists(self, field: Token, star: Token) -> ast.Node:
        return ast.Exists(field[:-1], span(field, star))

    def comparison(self, field: Token, token: Token) -> ast.Node:
        sign, _space, value = split_comparison(token)
        return ast.Compare(field[:-1], sign, meaning(value), span(field, token))

    def range(self, field: Token, token: Token) -> ast.Node:
        low, _to, high = PIECE.findall(token)
        least, most = (None if end == "*" else meaning(end) for end in (low, high))
        return ast.Range(field[:-1], least, most, token[0] == "[", token[-1] == "]", span(field, token))

    def boost(self, operand: ast.Node, mark: Token) -> ast.Node:
        return ast.Boost(operand, float(mark[1:]), (operand.span[0], span(mark)[1]))

    def negation(self, mark: Token, operand: ast.Node) -> ast.Node:
        return ast.Not(operand, span(mark, operand))

    def proximity(self, first: ast.Node, *rest: ast.Node | Token) -> ast.Node:
        operands = (first, *(part for part in rest if not isinstance(part, Token)))
        distances = tuple(int(part.removeprefix("NEAR/")) for part in rest if isinstance(part, Token))
        return ast.Near(operands, distances, (first.span[0], operands[-1].span[1]))

    def conjunction(self, *parts: ast.Node | Token) -> ast.Node:
        return join(ast.And, parts)

    def disjunction(self, *parts: ast.Node | Token) -> ast.Node:
        return join(ast.Or, parts)


@cache
def parser() -> Lark:
    """Return the parser, built on first use and shared by the process; it keeps no state between texts."""
    return Lark(_resources.grammar_text(), parser="lalr", lexer="basic", transformer=_Builder())


def split(text: str) -> Iterator[Token]:
    """Yield the tokens of any text, with the lexer that the parser keeps; ``Lark.lex`` builds one for each text."""
    tokens: Iterator[Token] = parser().parse_interactive(text).lexer_thread.lex(None)  # type: ignore[no-untyped-call]
    return tokens


def parse_tokens(tokens: Iterable[Token]) -> ast.Node:
    """Return the tree of the tokens of a correct query; there must be at least one token."""
    session = parser().parse_interactive("")
    for token in tokens:
        session.feed_token(token)
    tree: ast.Node = session.feed_token(Token("$END", ""))
    return tree
