"""The options ``prefix``, ``fuzzy`` and ``proximity``, applied to the tree of a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rye import query
from rye.index.storage.terms import escape
from rye.options.model import ParameterError
from rye.query import ast
from rye.search.contract.fields import TEXT_FIELDS, canonical, text_leaves
from rye.search.contract.request import Request
from rye.search.reading.words import operands_of


def is_near(request: Request, node: ast.Node) -> bool:
    """Return whether the option ``proximity`` applies to a query."""
    return request.proximity is not None and len(list(text_leaves(node))) > 1


def with_prefix(node: ast.Node, text: str) -> ast.Node | None:
    """Return a query that also takes its last word as a prefix; None if its text does not end in a word."""
    match node:
        case ast.And(operands=operands) | ast.Or(operands=operands) | ast.Near(operands=operands):
            last = with_prefix(operands[-1], text)
            return last and replace(node, operands=(*operands[:-1], last))
        case ast.Field(name=name, operand=ast.Word(text=word, span=span)) if canonical(name) == "is":
            return replace(node, operand=ast.Wildcard(f"{escape(word)}*", span)) if span[1] == len(text) else None
        case ast.Field(operand=operand):
            last = with_prefix(operand, text)
            return last and replace(node, operand=last)
        case ast.Word(text=word, span=span) if span[1] == len(text):
            return ast.Or((node, ast.Wildcard(f"{escape(word)}*", span)), span)
        case _:
            return None


def fuzzed(node: ast.Node, distance: int | None) -> ast.Node:
    """Make every plain word fuzzy, except on keyword fields."""

    def visit(current: ast.Node, below: Sequence[ast.Node]) -> ast.Node:
        match current:
            case ast.Word(text=text, span=span):
                return ast.Fuzzy(text, distance, span)
            case ast.Field(name=name) if canonical(name) not in TEXT_FIELDS:
                return current
            case _:
                return query.with_children(current, below)

    return ast.fold(node, visit)


def fuzz_field(name: str, node: ast.Node, distance: int | None) -> ast.Node:
    """Make every plain word of an entry of ``fields`` fuzzy, unless its field is compared as a whole."""
    return fuzzed(node, distance) if canonical(name) in TEXT_FIELDS else node


def chain_near(node: ast.Node, distance: int) -> ast.Node:
    """Turn the words, wildcards and phrases of an AND into a chain of NEAR; other conditions stay beside it."""
    allowed = (ast.Word, ast.Wildcard, ast.Fuzzy, ast.Phrase)
    chained = tuple(part for part in operands_of(node) if any(text_leaves(part)))
    beside = tuple(part for part in operands_of(node) if not any(text_leaves(part)))
    choices = [operand.operands if isinstance(operand, ast.Or) else (operand,) for operand in chained]
    if len(chained) > 1 and all(isinstance(part, allowed) for choice in choices for part in choice):
        chain = ast.Near(chained, (distance,) * (len(chained) - 1), node.span)
        return ast.And((chain, *beside), node.span) if beside else chain
    rest = f"at least two plain words, wildcards or phrases, not {str(node) or 'an empty query'!r}"
    raise ParameterError("bad-proximity", [("proximity",)], "needs", rest, hint="write NEAR into the query: a NEAR/5 b")
