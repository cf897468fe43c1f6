"""The nodes of a bound query: names are resolved to fields, and words to term queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeGuard

from rye.index.storage.arrays import Bools
from rye.items.scope import Scope
from rye.query import ast
from rye.search.matching.expand import How, Pattern
from rye.trust.model import Verdict


@dataclass(frozen=True, slots=True)
class BoundPhrase:
    """Parts at fixed offsets; a single part is a plain word.

    Attributes:
        joined: Matches the parts written together, as in an identifier.
        misses: How many parts may differ; the first must always match.
        apart: The weight of an occurrence whose parts are not written together.
    """

    parts: tuple[Pattern, ...]
    offsets: tuple[int, ...]
    joined: BoundPhrase | None = None
    misses: int = 0
    apart: float = 1.0

    @property
    def is_single(self) -> bool:
        """Whether there is only one part, so that positions do not matter."""
        return len(self.parts) == 1 and self.joined is None


@dataclass(frozen=True, slots=True)
class SloppyPhrase:
    """Words in any order, within a window of as many positions as there are words plus ``slop``."""

    words: tuple[str, ...]
    slop: int


@dataclass(frozen=True, slots=True)
class BoundNear:
    """Operands, each with alternatives, and the greatest distance between neighbours."""

    operands: tuple[tuple[BoundPhrase | SloppyPhrase, ...], ...]
    distances: tuple[int, ...]


TextPattern: TypeAlias = BoundPhrase | SloppyPhrase | BoundNear


def patterns(pattern: TextPattern) -> Iterator[Pattern]:
    """Yield every part. A part may occur twice, but a word of a sloppy phrase is yielded once."""
    if isinstance(pattern, BoundPhrase):
        yield from pattern.parts
        if pattern.joined is not None:
            yield from pattern.joined.parts
    elif isinstance(pattern, SloppyPhrase):
        yield from (Pattern(word, How.EXACT) for word in dict.fromkeys(pattern.words))
    else:
        for choice in pattern.operands:
            for alternative in choice:
                yield from patterns(alternative)


@dataclass(frozen=True, eq=False)
class TermQuery:
    """One scored clause of a query: a text pattern bound to fields.

    Attributes:
        pattern: What to look for.
        fields: Shape ``(fields,)``: the fields it searches.
        boost: Product of the boosts around it.
        name: The field written in the query, or empty.
        node: As parsed.
        text: The whole query, for errors.
    """

    pattern: TextPattern
    fields: Bools
    boost: float
    name: str
    node: ast.Node
    text: str = ""

    def label(self) -> str:
        """Return its canonical text, for explanations."""
        return f"{self.name}:{self.node}" if self.name else str(self.node)


@dataclass(frozen=True, slots=True)
class BoundEverything:
    """Matches every item."""


@dataclass(frozen=True, slots=True)
class Has:
    """Items in which a field has a value; ``text`` says whether it is a text field or a keyword field."""

    name: str
    text: bool


@dataclass(frozen=True, slots=True)
class Glob:
    """Items with a keyword value that matches a glob."""

    name: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Similar:
    """Items with a keyword value at most ``distance`` edits from a text; None chooses the distance by its length."""

    name: str
    text: str
    distance: int | None


@dataclass(frozen=True, slots=True)
class Between:
    """Items with a keyword value between two bounds, compared as ``kind`` says; None leaves a bound open."""

    name: str
    kind: str
    low: str | None
    high: str | None
    include_low: bool
    include_high: bool


@dataclass(frozen=True, slots=True)
class Changed:
    """Items last changed in a half-open time span, in seconds since 1970; None leaves a bound open."""

    since: float | None
    before: float | None


@dataclass(frozen=True, slots=True)
class HasState:
    """Items in a state of :data:`rye.search.contract.fields.STATES`."""

    name: str


@dataclass(frozen=True, slots=True)
class Refers:
    """Items that refer to, or are referred to by, an item that matches a glob; ``name`` is the relation field."""

    name: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Within:
    """Items in one part of a scope."""

    scope: Scope


@dataclass(frozen=True, slots=True)
class BoundNot:
    """Items that the operand does not match."""

    operand: Bound


@dataclass(frozen=True, slots=True)
class All:
    """Items that all operands match."""

    operands: tuple[Bound, ...]


@dataclass(frozen=True, slots=True)
class Any:
    """Items that any operand matches."""

    operands: tuple[Bound, ...]


Filter: TypeAlias = Has | Glob | Similar | Between | Changed | HasState | Refers | Within
"""Conditions that include or exclude items without being scored."""

Relation: TypeAlias = HasState | Has | Refers

Bound: TypeAlias = BoundEverything | Filter | TermQuery | BoundNot | All | Any


def nodes(node: Bound, *, excluded: bool = False) -> Iterator[tuple[Bound, bool]]:
    """Yield a query and all its parts, each with whether it is under an odd number of NOTs."""
    yield node, excluded
    match node:
        case BoundNot(operand=operand):
            yield from nodes(operand, excluded=not excluded)
        case All(operands=operands) | Any(operands=operands):
            for operand in operands:
                yield from nodes(operand, excluded=excluded)


def has_verdict(query: Bound) -> bool:
    """Return whether the matches of a query depend on verdicts, and so on the keys trusted now."""
    return any(
        node.name == "signed" or node.name in set(Verdict)
        if isinstance(node, HasState)
        else isinstance(node, (Has, Glob)) and node.name == "signer"
        for node, _ in nodes(query)
    )


def has_relations(query: Bound) -> bool:
    """Return whether the matches of a query depend on references between items."""
    return any(is_relation(node) for node, _ in nodes(query))


def is_relation(node: Bound) -> TypeGuard[Relation]:
    """Return whether a node is a condition on references between items."""
    names = {"orphan", "dangling", "references", "referenced-by"}
    return isinstance(node, Refers) or (isinstance(node, (HasState, Has)) and node.name in names)


def without(root: ast.Node, bad: ast.Node) -> str:
    """Return the canonical text of a query without one of its nodes; ``*`` when nothing is left."""

    def visit(node: ast.Node, below: Sequence[ast.Node | None]) -> ast.Node | None:
        kept = [child for child in below if child is not None]
        if node is bad or (below and not kept):
            return None
        if isinstance(node, ast.And | ast.Or):
            # without the bad operand, an AND may stand directly in an AND, or an OR in an OR: the two become one
            left = tuple(part for child in kept for part in (child.operands if type(child) is type(node) else (child,)))
            return replace(node, operands=left) if len(left) > 1 else left[0]
        return node if len(kept) < len(below) else ast.with_children(node, kept)

    return str(ast.fold(root, visit) or ast.Everything()) or "*"
