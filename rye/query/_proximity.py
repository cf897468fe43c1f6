"""What may stand around NEAR. The grammar takes anything; this finds what has no positions to measure, and fixes it."""

from __future__ import annotations

from dataclasses import replace

from rye.query._build import conjunction
from rye.query._faults import Fault
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
    Wildcard,
    Word,
)

__all__ = ["fix_proximity"]

_NAMES: dict[type[Node], str] = {
    And: "words joined by AND",
    Boost: "something boosted",
    Compare: "a comparison",
    Everything: "*",
    Exists: "a field condition",
    Field: "a part with its own field",
    Near: "another NEAR in parentheses",
    Not: "an exclusion",
    Range: "a range",
}


def fix_proximity(node: Node, text: str) -> tuple[Node, list[Fault]]:
    """Return ``node`` with only measurable operands around every NEAR, and a fault for each NEAR that had others."""
    faults: list[Fault] = []
    return _visit(node, text, faults), faults


def _visit(node: Node, text: str, faults: list[Fault]) -> Node:
    match node:
        case And():
            joined = conjunction(_visit(operand, text, faults) for operand in node.operands)
            return replace(joined, span=node.span) if joined else node
        case Or():
            return replace(node, operands=tuple(_visit(operand, text, faults) for operand in node.operands))
        case Not() | Boost() | Field():
            return replace(node, operand=_visit(node.operand, text, faults))
        case Near():
            whole = replace(node, operands=tuple(_visit(operand, text, faults) for operand in node.operands))
            return _check(whole, text, faults)
        case _:
            return node


def _check(near: Near, text: str, faults: list[Fault]) -> Node:
    culprits = [culprit for operand in near.operands if (culprit := _unmeasurable(operand))]
    if not culprits:
        return near
    fixed = _fix(near)
    start, end = culprits[0].span
    facts: dict[str, object] = {"what": _NAMES[type(culprits[0])], "reading": str(fixed)}
    faults.append(Fault("near-operand", start, text[start:end], facts))
    return fixed


def _unmeasurable(operand: Node) -> Node | None:
    """Return the part of an operand that has no positions of its own, or None."""
    if isinstance(operand, Or):
        return next((part for part in map(_unmeasurable, operand.operands) if part), None)
    return None if isinstance(operand, Word | Wildcard | Fuzzy | Phrase) else operand


def _fix(near: Near) -> Node:
    """Move an exclusion or field that stands before NEAR around it; where that is not enough, join by AND."""
    chain = _flatten(near)
    first, *others = chain.operands
    bare: list[Node] = list(chain.operands)
    if isinstance(first, Not):
        bare = [first.operand, *others]
    elif isinstance(first, Field):
        bare = [
            part.operand if isinstance(part, Field) and part.name == first.name else part for part in chain.operands
        ]
    if any(_unmeasurable(part) for part in bare):
        return conjunction(chain.operands) or near
    inner = replace(chain, operands=tuple(bare))
    return replace(first, operand=inner, span=near.span) if isinstance(first, Not | Field) else inner


def _flatten(near: Near) -> Near:
    """Return the chain without boosts on its operands, and with the operands of a nested chain in their places."""
    operands: list[Node] = []
    distances: list[int] = []
    for operand, distance in zip(near.operands, (0, *near.distances), strict=True):
        inner = operand.operand if isinstance(operand, Boost) else operand
        distances.append(distance)
        if isinstance(inner, Near):
            operands.extend(inner.operands)
            distances.extend(inner.distances)
        else:
            operands.append(inner)
    return replace(near, operands=tuple(operands), distances=tuple(distances[1:]))
