"""The nodes of a bound query: what a query means once its names are fields and its words are leaves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from rye.query import ast
from rye.search.phrase import Leaf
from rye.signing import Verdict


@dataclass(frozen=True, slots=True)
class Everything:
    """Matches every item."""


@dataclass(frozen=True, slots=True)
class Has:
    """Items in which a field has a value; ``text`` says which of the two kinds of field it is."""

    name: str
    text: bool


@dataclass(frozen=True, slots=True)
class Glob:
    """Items with a keyword value that matches a glob."""

    name: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Similar:
    """Items with a keyword value at most ``distance`` edits from a text; None counts by its length."""

    name: str
    text: str
    distance: int | None


@dataclass(frozen=True, slots=True)
class Between:
    """Items with a keyword value between two bounds, read as ``kind`` says; None is open."""

    name: str
    kind: str
    low: str | None
    high: str | None
    include_low: bool
    include_high: bool


@dataclass(frozen=True, slots=True)
class Changed:
    """Items last changed in a half-open time span, in seconds since 1970; None is open."""

    since: float | None
    before: float | None


@dataclass(frozen=True, slots=True)
class State:
    """Items in a state of :data:`rye.search.fields.STATES`."""

    name: str


@dataclass(frozen=True, slots=True)
class Refers:
    """Items that refer to one that a glob names, or are referred to by it; ``name`` is the field that says which."""

    name: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Not:
    """What the operand does not match."""

    operand: Bound


@dataclass(frozen=True, slots=True)
class All:
    """What all operands match."""

    operands: tuple[Bound, ...]


@dataclass(frozen=True, slots=True)
class Any:
    """What any operand matches."""

    operands: tuple[Bound, ...]


Filter: TypeAlias = Has | Glob | Similar | Between | Changed | State | Refers
"""What includes or excludes without being scored."""

Bound: TypeAlias = Everything | Filter | Leaf | Not | All | Any


def asks_verdict(node: Bound) -> bool:
    """Return whether what a query matches depends on verdicts, and so on the keys of the moment."""
    match node:
        case State(name=name):
            return name == "signed" or name in set(Verdict)
        case Has(name=name) | Glob(name=name):
            return name == "signer"
        case Not(operand=operand):
            return asks_verdict(operand)
        case All(operands=operands) | Any(operands=operands):
            return any(map(asks_verdict, operands))
        case _:
            return False


def asks_relations(node: Bound) -> bool:
    """Return whether what a query matches depends on what items refer to."""
    match node:
        case Refers():
            return True
        case State(name=name) | Has(name=name):
            return name in {"orphan", "dangling", "references", "referenced-by"}
        case Not(operand=operand):
            return asks_relations(operand)
        case All(operands=operands) | Any(operands=operands):
            return any(map(asks_relations, operands))
        case _:
            return False


# -- A query with one of its parts taken out: what an error about that part suggests instead.
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
