"""Replace NEAR by AND if an operand has no positions, such as a field or an exclusion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rye.query import ast
from rye.query.flaws import QueryFault
from rye.query.grammar import join

_MEASURABLE = (ast.Word, ast.Wildcard, ast.Fuzzy, ast.Phrase)


def repair_near(root: ast.Node, text: str) -> tuple[ast.Node, list[QueryFault]]:
    """Return a query whose NEARs have only operands with positions, and a fault for each NEAR that was replaced."""
    faults: list[QueryFault] = []

    def repair(node: ast.Node, below: Sequence[ast.Node]) -> ast.Node:
        if isinstance(node, ast.And):
            return replace(join(ast.And, below), span=node.span)
        node = ast.with_children(node, below)
        if not isinstance(node, ast.Near) or not (culprit := _unmeasurable(node.operands)):
            return node
        repaired = join(ast.And, node.operands)
        faults.append(QueryFault("near-operand", culprit.span[0], text[slice(*culprit.span)], {"reading": repaired}))
        return repaired

    tree = ast.fold(root, repair) if "NEAR" in text else root
    return tree, sorted(faults, key=lambda fault: fault.position)


def _unmeasurable(operands: Sequence[ast.Node]) -> ast.Node | None:
    parts = (part for operand in operands for part in (operand.operands if isinstance(operand, ast.Or) else (operand,)))
    return next((part for part in parts if not isinstance(part, _MEASURABLE)), None)
