"""Repairs NEAR with operands that have no positions, such as a field or an exclusion, on the tree of a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rye.query import ast
from rye.query.flaws import Fault
from rye.query.grammar import join

_MEASURABLE = (ast.Word, ast.Wildcard, ast.Fuzzy, ast.Phrase)


def repair_near(root: ast.Node, text: str) -> tuple[ast.Node, list[Fault]]:
    """Return a query with only measurable operands around every NEAR, and a fault for each NEAR that had others."""
    faults: list[Fault] = []

    def repair(node: ast.Node, below: Sequence[ast.Node]) -> ast.Node:
        if isinstance(node, ast.And):
            return replace(join(ast.And, below), span=node.span)
        node = ast.with_children(node, below)
        if not isinstance(node, ast.Near) or not (culprit := _unmeasurable(node.operands)):
            return node
        repaired = _without_unmeasurable(node)
        faults.append(Fault("near-operand", culprit.span[0], text[slice(*culprit.span)], {"reading": repaired}))
        return repaired

    tree = ast.fold(root, repair) if "NEAR" in text else root
    return tree, sorted(faults, key=lambda fault: fault.position)


def _unmeasurable(operands: Sequence[ast.Node]) -> ast.Node | None:
    """Return the first part of these operands that has no positions of its own, or None."""
    parts = (part for operand in operands for part in (operand.operands if isinstance(operand, ast.Or) else (operand,)))
    return next((part for part in parts if not isinstance(part, _MEASURABLE)), None)


def _without_unmeasurable(near: ast.Near) -> ast.Node:
    """Move an exclusion or field that stands before NEAR around it; where that is not enough, join by AND."""
    operands: list[ast.Node] = []
    distances: list[int] = []
    for operand, distance in zip(near.operands, (0, *near.distances), strict=True):
        inner = operand.operand if isinstance(operand, ast.Boost) else operand
        chain = inner if isinstance(inner, ast.Near) else ast.Near((inner,), ())
        operands += chain.operands
        distances += (distance, *chain.distances)
    first, bare = operands[0], operands
    if isinstance(first, ast.Not):
        bare = [first.operand, *operands[1:]]
    elif isinstance(first, ast.Field):
        bare = [part.operand if isinstance(part, ast.Field) and part.name == first.name else part for part in operands]
    if _unmeasurable(bare):
        return join(ast.And, operands)
    inside = replace(near, operands=tuple(bare), distances=tuple(distances[1:]))
    return replace(first, operand=inside, span=near.span) if isinstance(first, ast.Not | ast.Field) else inside
