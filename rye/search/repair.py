"""A query with one of its parts taken out: what an error about that part suggests instead."""

from __future__ import annotations

from dataclasses import replace

from rye.query import ast


def without(root: ast.Node, bad: ast.Node) -> str:
    """Return the canonical text of a query without one of its nodes; ``*`` when nothing is left."""
    return str(_pruned(root, bad) or ast.Everything()) or "*"


def _pruned(node: ast.Node, bad: ast.Node) -> ast.Node | None:
    if node is bad:
        return None
    match node:
        case ast.And(operands=operands) | ast.Or(operands=operands):
            left = tuple(one for one in (_pruned(operand, bad) for operand in operands) if one is not None)
            return replace(node, operands=left) if len(left) > 1 else left[0] if left else None
        case ast.Not(operand=operand) | ast.Boost(operand=operand) | ast.Field(operand=operand):
            inner = _pruned(operand, bad)
            return None if inner is None else replace(node, operand=inner)
        case _:
            return node
