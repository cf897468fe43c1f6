"""The twin's reading of a whole query: what each leaf is bound to, which items match, and their scores."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from rye.errors import QueryError
from rye.query import ast
from tests.support import naive_leaves
from tests.support.naive_analysis import automatic_distance, edits, fold
from tests.support.naive_docs import (
    ALIASES,
    K1,
    KEYWORD_FIELDS,
    LENGTH_NORMALISATION,
    OTHER_B,
    SHORT_WEIGHTS,
    WEIGHTS,
    Corpus,
)
from tests.support.naive_values import in_range


@dataclass(frozen=True)
class TextLeaf:
    """A leaf bound to text fields; only these are scored, unless they are excluded."""

    leaf: naive_leaves.Leaf
    fields: tuple[str, ...]
    boost: float
    excluded: bool
    corpus: Corpus

    @cached_property
    def frequencies(self) -> tuple[Mapping[str, float], ...]:
        """For each item the fields in which the leaf occurs, and how often."""
        found = [
            {field: naive_leaves.frequency(self.leaf, texts[field]) for field in self.fields}
            for texts in self.corpus.texts
        ]
        return tuple({field: tf for field, tf in one.items() if tf > 0} for one in found)

    def matches(self, number: int) -> bool:
        """Tell whether the leaf occurs in an item."""
        return bool(self.frequencies[number])

    @cached_property
    def idf(self) -> float:
        """How much the leaf tells: ln(1 + (N - df + 1/2) / (df + 1/2))."""
        df = sum(1 for found in self.frequencies if found)
        return math.log(1 + (len(self.corpus.docs) - df + 0.5) / (df + 0.5))

    def pseudo_frequency(self, number: int) -> float:
        """Return tf~ of BM25F: the frequencies over the fields, by weight and against the field's length."""
        total = 0.0
        for field, tf in self.frequencies[number].items():
            b = LENGTH_NORMALISATION.get(field, OTHER_B)
            length = self.corpus.texts[number][field].length
            weights = WEIGHTS if self.corpus.docs[number].item.type == "knowledge" else SHORT_WEIGHTS
            total += weights[field] * tf / (1 - b + b * length / self.corpus.average_length(field))
        return total


@dataclass(frozen=True)
class Condition:
    """A leaf that only includes or excludes."""

    matches: Callable[[int], bool]


@dataclass(frozen=True)
class Group:
    """All, any or not any of its operands."""

    kind: type[ast.And | ast.Or | ast.Not]
    operands: tuple[Bound, ...]

    def matches(self, number: int) -> bool:
        """Tell whether an item is in the group."""
        inside = [operand.matches(number) for operand in self.operands]
        return {ast.And: all(inside), ast.Or: any(inside), ast.Not: not any(inside)}[self.kind]


Bound: TypeAlias = TextLeaf | Condition | Group


@dataclass(frozen=True, slots=True)
class Binder:
    """Binds a query to a corpus.

    Attributes:
        corpus: The searched items.
        default_fields: The text fields a leaf without field is bound to.
        field: The field a surrounding group names, or empty.
        boost: The product of the surrounding boosts.
        excluded: Whether an odd number of NOTs surrounds.
    """

    corpus: Corpus
    default_fields: tuple[str, ...] = tuple(WEIGHTS)
    field: str = ""
    boost: float = 1.0
    excluded: bool = False

    def bind(self, node: ast.Node) -> Bound:
        """Return the query with every leaf bound.

        Raises:
            QueryError: ``unknown-field``, ``nested-field``, ``no-searchable-text`` or ``not-positional``.
        """
        match node:
            case ast.And(operands) | ast.Or(operands):
                return Group(type(node), tuple(map(self.bind, operands)))
            case ast.Not(operand):
                return Group(ast.Not, (replace(self, excluded=not self.excluded).bind(operand),))
            case ast.Boost(operand, factor):
                return replace(self, boost=self.boost * factor).bind(operand)
            case ast.Field(name, operand):
                return replace(self, field=self.resolve(name, node)).bind(operand)
            case ast.Exists(name):
                return self._exists(self.resolve(name, node))
            case ast.Compare(name, op, value):
                return self._values(
                    self.resolve(name, node), lambda field, text: in_range(field, text, (op, value), None)
                )
            case ast.Range(name, _, _):
                return self._range(self.resolve(name, node), node)
        return self._leaf(node)

    def resolve(self, name: str, node: ast.Node) -> str:
        """Return the field a name stands for."""
        field = ALIASES.get(name, name)
        known = [*WEIGHTS, *KEYWORD_FIELDS, *self.corpus.metadata_keys]
        if field not in known:
            nearest = difflib.get_close_matches(name, known)
            raise QueryError("unknown-field", f"no field {name}", text=name, position=node.span[0], nearest=nearest)
        if self.field and field != self.field:
            raise QueryError("nested-field", f"{name} inside {self.field}", text=name, position=node.span[0])
        return field

    def _leaf(self, node: ast.Node) -> Bound:
        if isinstance(node, ast.Everything) or (
            isinstance(node, ast.Wildcard) and not naive_leaves.wildcard_parts(node.pattern)
        ):
            return self._exists(self.field) if self.field else Condition(lambda _: True)
        if self.field and self.field not in WEIGHTS:
            return self._values(self.field, lambda field, value: keyword_matches(node, field, value))
        fields = (self.field,) if self.field else self.default_fields
        leaf = naive_leaves.compile_leaf(node, self.corpus.document_frequencies(fields), excluded=self.excluded)
        return TextLeaf(leaf, fields, self.boost, self.excluded, self.corpus)

    def _exists(self, field: str) -> Condition:
        if field in WEIGHTS:
            return Condition(lambda number: self.corpus.texts[number][field].length > 0)
        return self._values(field, lambda _, __: True)

    def _range(self, field: str, node: ast.Node) -> Condition:
        assert isinstance(node, ast.Range)
        low = None if node.low is None else (">=" if node.include_low else ">", node.low)
        high = None if node.high is None else ("<=" if node.include_high else "<", node.high)
        return self._values(field, lambda name, value: in_range(name, value, low, high))

    def _values(self, field: str, holds: Callable[[str, str], bool]) -> Condition:
        """Return the test that some value of the field passes."""
        return Condition(lambda number: any(holds(field, value) for value in self.corpus.values[number].get(field, ())))


def keyword_matches(node: ast.Node, field: str, value: str) -> bool:
    """Tell whether a leaf stands for the whole of one value.

    Raises:
        QueryError: ``not-positional`` for NEAR: a value has no positions.
    """
    mine = fold(value)
    match node:
        case ast.Word(text) | ast.Phrase(text, None):
            return is_equal(field, value, text)
        case ast.Fuzzy(text, distance):
            wanted = fold(text)
            return edits(wanted, mine) <= (automatic_distance(wanted) if distance is None else distance)
        case ast.Wildcard(pattern):
            return naive_leaves.whole_pattern(pattern).fullmatch(mine) is not None
    raise QueryError("not-positional", "NEAR needs a text field", text=value, position=node.span[0])


def is_equal(field: str, value: str, text: str) -> bool:
    """Tell whether a value is a text, or the number, date or version that the text is."""
    return fold(value) == fold(text) or in_range(field, value, (">=", text), ("<=", text))


def scored_leaves(bound: Bound) -> list[TextLeaf]:
    """Return the leaves that take part in the score."""
    if isinstance(bound, Group):
        return [leaf for operand in bound.operands for leaf in scored_leaves(operand)]
    return [bound] if isinstance(bound, TextLeaf) and not bound.excluded else []


def score(leaves: Sequence[TextLeaf], number: int) -> float:
    """Return the score of one item: the boosted leaves' share of what they could reach at most."""
    if not leaves:
        return 1.0
    reached = 0.0
    most = 0.0
    for leaf in leaves:
        tf = leaf.pseudo_frequency(number)
        reached += leaf.boost * leaf.idf * tf / (K1 + tf)
        most += leaf.boost * leaf.idf
    return reached / most if most else 0.0
