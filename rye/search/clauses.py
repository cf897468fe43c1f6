"""A query taken apart for one item: which of its parts the item matches, in which words, and what it has instead.

Every part is bound and evaluated by itself, as if it were the whole query, within the fields and NOTs around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rye.index.reader import Reader
from rye.index.verdicts import VERDICT_NAMES
from rye.query import ast
from rye.search import bound
from rye.search.bind import Context, bind
from rye.search.effort import Effort
from rye.search.evaluate import Evaluation
from rye.search.fields import RELATION_FIELDS, STATES, TEXT_FIELDS, canonical
from rye.search.leaves import Found, Leaf, Run
from rye.search.states import States
from rye.search.values import values_of
from rye.search.weights import Weights
from rye.search.why_results import Clause

Wrap = Callable[[ast.Node], ast.Node]

_NAMES = tuple(TEXT_FIELDS)
_LISTED = 5


@dataclass(frozen=True, slots=True)
class Anatomy:
    """What taking queries apart needs.

    Attributes:
        reader, weights, states: As of the search.
        context: Returns what binding a node needs; what lenient binding drops is not noted.
        doc: The item.
    """

    reader: Reader
    weights: Weights
    states: States
    context: Callable[[ast.Node], Context]
    doc: int

    def of(self, node: ast.Node, around: Wrap = lambda inner: inner, *, negated: bool = False) -> Clause:
        """Return a part of a query as a clause.

        Args:
            node: The part.
            around: Puts a node into the fields that the part stands in.
            negated: Whether an odd number of NOTs surrounds it.
        """
        match node:
            case ast.And(operands=operands) | ast.Or(operands=operands):
                below = tuple(self.of(operand, around, negated=negated) for operand in operands)
                alive = [clause.matched for clause in below if clause.kind != "dropped"]
                kind = "and" if isinstance(node, ast.And) else "or"
                matched = all(alive) if kind == "and" else any(alive)
                return Clause(_text(around(node)), kind if alive else "dropped", matched and bool(alive), clauses=below)
            case ast.Not(operand=operand):
                inner = self.of(operand, around, negated=not negated)
                kind = "dropped" if inner.kind == "dropped" else "not"
                return Clause(_text(around(node)), kind, kind == "not" and not inner.matched, clauses=(inner,))
            case ast.Boost(operand=operand):
                return replace(self.of(operand, around, negated=negated), text=_text(around(node)))
            case ast.Field(operand=ast.And() | ast.Or() | ast.Not() | ast.Boost() | ast.Field() as operand):
                return self.of(operand, lambda inner: around(replace(node, operand=inner)), negated=negated)
        return self._leaf(around(node), negated=negated)

    def matches(self, node: bound.Bound) -> bool:
        """Return whether the item matches a bound query."""
        return bool(Evaluation(self.reader, node, self.weights, self.states).docs.mask[self.doc])

    def _leaf(self, node: ast.Node, *, negated: bool) -> Clause:
        part = bind(node, self.context(node))
        if part is None:
            return Clause(_text(node), "dropped", matched=False, note="left out")
        evaluation = Evaluation(self.reader, bound.Not(part) if negated else part, self.weights, self.states)
        matched = bool(evaluation.docs.mask[self.doc]) != negated
        if isinstance(part, Leaf):
            (found,) = evaluation.found()
            fields = set(found.slots_of(np.asarray([self.doc])).fields.tolist()) if matched else set()
            words = found.words_in(self.doc) if matched else {}
            named = {_NAMES[field]: terms for field, terms in sorted(words.items()) if field in fields}
            return Clause(_text(node), "text", matched, named, "" if matched else self._lacking(found))
        kind = "everything" if isinstance(part, bound.Everything) else "condition"
        return Clause(_text(node), kind, matched, note=self.has(part))

    def _lacking(self, found: Found) -> str:
        """Return what keeps a leaf of text from matching."""
        leaf = found.leaf
        parts = found.terms_in(self.doc)
        lacking = [pattern.text for pattern, fields in parts.items() if not fields]
        joined = leaf.pattern.joined if isinstance(leaf.pattern, Run) else None
        lacking = [text for text in lacking if joined is None or text != joined.text]
        if not lacking:
            return "its words are there, but not next to each other or near enough in one field"
        said = f"no word for {', '.join(map(repr, lacking[:_LISTED]))}"
        if not leaf.fields.all():
            everywhere = replace(leaf, fields=np.ones(len(_NAMES), bool))
            elsewhere = type(found)(self.reader, everywhere, Effort()).words_in(self.doc)
            names = ", ".join(_NAMES[field] for field in sorted(elsewhere))
            said += f" in {leaf.name or 'the fields of this level'}" + (f"; there is in {names}" if names else "")
        if found.cut:
            said += "; it stands for too many words, of which the most frequent were looked up"
        return said if found.df else f"{said}; no searched item matches"

    def has(self, node: bound.Bound) -> str:
        """Return what the item has in the fields that a condition is about."""
        names = dict.fromkeys(_names(node))
        return "; ".join(self._states() if name == "state" else f"{name} is {self._value(name)}" for name in names)

    def _states(self) -> str:
        names = [name for name in STATES if name not in VERDICT_NAMES and name != "signed"]
        found = [name for name in names if self.states.having(name)[self.doc]]
        return f"it is {', '.join(found)}" if found else "it is in no such state"

    def _value(self, name: str) -> str:
        part, local = self.reader.locate(self.doc)
        if name in RELATION_FIELDS:
            return self._related(name)
        if name in {"is", "verdict"}:
            return VERDICT_NAMES[int(self.states.verdicts[self.doc])]
        if name == "signer":
            found = [name for name in self.states.signers(np.asarray([self.doc])) if name]
        elif name == "updated" and not values_of(part.segment, name).of(local):
            found = values_of(part.segment, "created").of(local)
        else:
            found = values_of(part.segment, name).of(local)
        return _listed(found)

    def _related(self, name: str) -> str:
        """Return what the item refers to, in its own words; of those that refer to it only how many there are."""
        graph, doc = self.states.graph, self.states.there(self.doc)
        if name == "references":
            return _listed(graph.written_in(doc))
        others = graph.naming(np.asarray([doc])).docs
        count = len(set(graph.names.items_of(others).tolist()))
        return f"{count} item{'s' * (count != 1)}, as rye refs tells" if count else "missing"


def _listed(found: Sequence[str]) -> str:
    more = [f"and {len(found) - _LISTED} more"] if len(found) > _LISTED else []
    return ", ".join([*found[:_LISTED], *more]) or "missing"


def _text(node: ast.Node) -> str:
    return str(node) or "*"


def _names(node: bound.Bound) -> Iterator[str]:
    """Yield the names of the fields that a condition is about."""
    match node:
        case bound.Has(name=name) | bound.Glob(name=name) | bound.Similar(name=name) | bound.Between(name=name):
            yield canonical(name)
        case bound.State(name=name):
            yield "verdict" if name == "signed" or name in VERDICT_NAMES else "state"
        case bound.Refers(name=name):
            yield name
        case bound.Changed():
            yield "updated"
        case bound.Not(operand=operand):
            yield from _names(operand)
        case bound.All(operands=operands) | bound.Any(operands=operands):
            for operand in operands:
                yield from _names(operand)


def blamed(clause: Clause, *, wanted: bool = True) -> Iterator[tuple[Clause, str]]:
    """Yield the smallest parts for which a clause is not what is wanted, each with ``no-match`` or ``excluded``.

    Args:
        clause: One that matches when it should not, or the other way round.
        wanted: Whether it should match.
    """
    if clause.kind == "dropped" or clause.matched == wanted:
        return
    if clause.kind == "not":
        yield from blamed(clause.clauses[0], wanted=not wanted)
    elif clause.clauses:
        for below in clause.clauses:
            yield from blamed(below, wanted=wanted)
    else:
        yield clause, "no-match" if wanted else "excluded"
