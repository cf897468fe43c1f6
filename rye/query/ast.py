r"""The immutable AST of a query. ``str(node)`` is its canonical text, which parses back to an equal node.

The canonical text writes AND as a space and NOT as ``-``, with as few parentheses and escapes as possible.

    >>> print(And((Word("deploy"), Or((Field("title", Phrase("k 8")), Not(Word("-x")))))))
    deploy (title:"k 8" OR -\-x)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias, TypeVar, cast

from rye.query import escaping

T = TypeVar("T")

Span: TypeAlias = tuple[int, int]
"""0-based half-open character range of a node in the query text; not part of a node's identity."""


def _span() -> Span:
    return field(default=(0, 0), compare=False, repr=False)


class _Printed:
    """Gives every node its canonical text."""

    __slots__ = ()

    def __str__(self) -> str:
        return fold(cast("Node", self), _print)


@dataclass(frozen=True, slots=True)
class Everything(_Printed):
    """Matches every item: the empty query or a lone ``*``."""

    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Word(_Printed):
    """One plain word, unescaped. Hyphens, dots and slashes inside are part of it."""

    text: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Wildcard(_Printed):
    r"""A word with ``*`` or ``?``. Literal ``*``, ``?`` and ``\`` are escaped by a backslash in ``pattern``."""

    pattern: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Fuzzy(_Printed):
    """``word~`` (``distance`` None: chosen by length) or ``word~n`` with n of 0, 1, 2."""

    text: str
    distance: int | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Phrase(_Printed):
    """Quoted text, unescaped. ``slop`` None: exact contiguous words in order; a number: the ``"…"~n`` form."""

    text: str
    slop: int | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Near(_Printed):
    """``operands[i] NEAR/distances[i] operands[i+1]``; operands are Word, Wildcard, Fuzzy, Phrase or Or of those."""

    operands: tuple[Node, ...]
    distances: tuple[int, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Field(_Printed):
    """``name:operand`` on one atom or group. ``name`` is as written; the search room resolves it."""

    name: str
    operand: Node
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Exists(_Printed):
    """``name:*``: items that have the field."""

    name: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Compare(_Printed):
    """``name:>=value``; ``op`` is one of ``>= <= > <``."""

    name: str
    op: str
    value: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Range(_Printed):
    """``name:[low TO high}``. A bound of None is open (written ``*``). Square brackets include, curly ones exclude."""

    name: str
    low: str | None
    high: str | None
    include_low: bool = True
    include_high: bool = True
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Boost(_Printed):
    """``operand^factor`` with 0 < factor ≤ 1000."""

    operand: Node
    factor: float
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Not(_Printed):
    """``NOT operand`` or ``-operand``."""

    operand: Node
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class And(_Printed):
    """All operands; flat: no operand is itself an And."""

    operands: tuple[Node, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Or(_Printed):
    """Any operand; flat: no operand is itself an Or."""

    operands: tuple[Node, ...]
    span: Span = _span()


Node: TypeAlias = (
    Everything | Word | Wildcard | Fuzzy | Phrase | Near | Field | Exists | Compare | Range | Boost | Not | And | Or
)


class Dropped(NamedTuple):
    """One part that lenient parsing left out or read differently: its place, its text, and the reason."""

    position: int
    text: str
    reason: str


class Parsed(NamedTuple):
    """The result of :func:`rye.query.parse`: the AST, and (lenient only) the parts that were dropped."""

    text: str
    ast: Node
    dropped: tuple[Dropped, ...] = ()


def children(node: Node) -> tuple[Node, ...]:
    """Return the nodes directly below ``node``, in order; empty for a leaf."""
    match node:
        case And(operands) | Or(operands) | Near(operands):
            return operands
        case Not(operand) | Boost(operand) | Field(operand=operand):
            return (operand,)
        case _:
            return ()


def with_children(node: Node, below: Sequence[Node]) -> Node:
    """Return ``node`` with its children replaced, as many as it has."""
    match node:
        case And() | Or() | Near():
            return replace(node, operands=tuple(below))
        case Not() | Boost() | Field():
            return replace(node, operand=below[0])
        case _:
            return node


def walk(node: Node) -> Iterator[Node]:
    """Yield ``node`` and all its descendants, parents first, in the order of the text."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(reversed(children(current)))


def fold(node: Node, visit: Callable[[Node, Sequence[T]], T]) -> T:
    """Compute a value from the leaves up, without recursion.

    Args:
        node: The root.
        visit: Returns the value of a node, given the node and the values of its children in order.
    """
    values: list[T] = []
    for current in reversed(list(walk(node))):
        below = [values.pop() for _ in children(current)]
        values.append(visit(current, below))
    return values.pop()


_BINDING: dict[type[Node], int] = {Or: 0, And: 1, Near: 2, Not: 3, Boost: 4, Field: 5}
"""How tightly the text of a node binds. Nodes not listed are atoms and never need parentheses."""
_ATOM = 6


def _print(node: Node, inside: Sequence[str]) -> str:
    """Return the canonical text of a node, given the texts of its children."""
    match node:
        case And():
            return " ".join(_parts(node, inside, _BINDING[Near]))
        case Or():
            return " OR ".join(_parts(node, inside, _BINDING[And]))
        case Near():
            first, *rest = _parts(node, inside, _ATOM)
            steps = zip(node.distances, rest, strict=True)
            return " ".join((first, *(f"NEAR/{distance} {other}" for distance, other in steps)))
        case Not():
            (operand,) = _parts(node, inside, _BINDING[Not])
            return f"NOT {operand}" if operand[0] in escaping.NOT_AFTER_MINUS else f"-{operand}"
        case Boost():
            (operand,) = _parts(node, inside, _BINDING[Field])
            return f"{escaping.guard_colons(operand)}^{str(node.factor).removesuffix('.0')}"
        case Field(name, operand):
            return f"{name}:{_print_atom(operand, escaping.VALUE) or escaping.group(inside[0])}"
        case _:
            return _print_atom(node, escaping.WORD) or _print_condition(node)


def _parts(node: Node, inside: Sequence[str], least: int) -> list[str]:
    """Return the texts of the children, in parentheses if they bind less tightly than ``least``."""
    pairs = zip(children(node), inside, strict=True)
    return [text if _BINDING.get(type(child), _ATOM) >= least else escaping.group(text) for child, text in pairs]


def _print_atom(node: Node, hazard: re.Pattern[str]) -> str:
    """Print a node that may come directly after ``name:``; return an empty string for any other."""
    match node:
        case Word(text):
            return escaping.spell(escaping.literal(text), hazard)
        case Wildcard(pattern):
            return escaping.spell(escaping.pattern_units(pattern), hazard)
        case Fuzzy(text, distance):
            word = escaping.guard_colons(escaping.spell(escaping.literal(text), hazard))
            return f"{word}~" if distance is None else f"{word}~{distance}"
        case Phrase(text, slop):
            return escaping.quote(text) if slop is None else f"{escaping.quote(text)}~{slop}"
        case _:
            return ""


def _print_condition(node: Node) -> str:
    match node:
        case Exists(name):
            return f"{name}:*"
        case Compare(name, op, value):
            return f"{name}:{op}{escaping.spell_value(value, escaping.COMPARED)}"
        case Range(name, low, high):
            opening, closing = "[" if node.include_low else "{", "]" if node.include_high else "}"
            ends = ("*" if bound is None else escaping.spell_value(bound, escaping.BOUND) for bound in (low, high))
            return f"{name}:{opening}{' TO '.join(ends)}{closing}"
        case _:
            return "*"
