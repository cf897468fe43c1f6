"""Report for each clause of a query whether one item matches it, using the evaluator of the search itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rye._report import Report
from rye.query import ast
from rye.search.contract.fields import RELATION_FIELDS, STATES, TEXT_FIELDS, canonical
from rye.search.engine import Search
from rye.search.matching import bound
from rye.search.matching.bind import bind
from rye.search.matching.positions import PositionBudget
from rye.search.matching.term import Term
from rye.search.states.verdicts import VERDICT_NAMES

_FIELD_NAMES = tuple(TEXT_FIELDS)
_LISTED = 5


@dataclass(frozen=True, slots=True)
class Clause(Report):
    """One part of a query, and whether the item matches it.

    Attributes:
        text: Canonical text.
        kind: ``and``, ``or``, ``not``, ``text`` (found in texts), ``condition`` (compared as a whole), ``everything``,
            or ``dropped`` by lenient parsing.
        matched: Whether the item matches. A dropped part counts neither way.
        words: For ``text``: the words of the item that matched, by field, with how often each occurs.
        note: If the part does not match as required: what the item has instead.
        clauses: The parts of this clause.
    """

    text: str
    kind: str
    matched: bool
    words: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    note: str = ""
    clauses: tuple[Clause, ...] = ()


def culprits(clause: Clause, *, expected: bool = True) -> Iterator[tuple[Clause, str]]:
    """Yield the smallest parts that keep a clause from matching as wanted, each with ``no-match`` or ``excluded``."""
    if clause.kind == "dropped" or clause.matched == expected:
        return
    if clause.kind == "not":
        yield from culprits(clause.clauses[0], expected=not expected)
    elif clause.clauses:
        for below in clause.clauses:
            yield from culprits(below, expected=expected)
    else:
        yield clause, "no-match" if expected else "excluded"


class ClauseExplainer:
    """Explains one query for one item, clause by clause.

    Args:
        search: The search.
        node: The query, or a part of it.
        doc: The document number of the item.
    """

    def __init__(self, search: Search, node: ast.Node, doc: int) -> None:
        self.search, self.doc = search, doc
        self._node, self._bound = node, dict[int, bound.Bound | None]()
        query = bind(node, search.binder.context(search.request.query, node)._replace(record=self._bound))
        self._evaluation = search.evaluation(query or bound.BoundEverything())

    def clause(self) -> Clause:
        """Return the query as a clause."""
        return self._explain(self._node, lambda node: node)

    def _explain(self, node: ast.Node, in_field: Callable[[ast.Node], ast.Node]) -> Clause:
        """Return a part of the query as a clause; ``in_field`` wraps a node in the enclosing field."""
        match node:
            case ast.And(operands=operands) | ast.Or(operands=operands):
                below = tuple(self._explain(operand, in_field) for operand in operands)
                matched = [clause.matched for clause in below if clause.kind != "dropped"]
                kind, combine = ("and", all) if isinstance(node, ast.And) else ("or", any)
                if not matched:
                    kind, combine = "dropped", any
                return Clause(_text(in_field(node)), kind, combine(matched), clauses=below)
            case ast.Not(operand=operand):
                inner = self._explain(operand, in_field)
                kind = "dropped" if inner.kind == "dropped" else "not"
                return Clause(_text(in_field(node)), kind, kind == "not" and not inner.matched, clauses=(inner,))
            case ast.Boost(operand=operand):
                return replace(self._explain(operand, in_field), text=_text(in_field(node)))
            case ast.Field(operand=ast.And() | ast.Or() | ast.Not() | ast.Boost() | ast.Field() as operand):
                inner = self._explain(operand, lambda inner: in_field(replace(node, operand=inner)))
                match self._bound[id(node)]:  # `tool:(a OR b)` also asks for the type
                    case bound.All(operands=(bound.Glob(name="type", pattern=kind) as own, _)):
                        own_type = self._condition(f"type:{kind}", own)
                        return Clause(inner.text, "and", own_type.matched and inner.matched, clauses=(own_type, inner))
                return inner
        text, part = _text(in_field(node)), self._bound[id(node)]
        if part is None:
            return Clause(text, "dropped", matched=False, note="left out")
        return self._of_term(text, part) if isinstance(part, bound.TermQuery) else self._condition(text, part)

    def _is_match(self, part: bound.Bound) -> bool:
        return bool(self._evaluation.matching(part).mask[self.doc])

    def _condition(self, text: str, part: bound.Bound) -> Clause:
        kind = "everything" if isinstance(part, bound.BoundEverything) else "condition"
        return Clause(text, kind, self._is_match(part), note=self.values(part))

    def _of_term(self, text: str, part: bound.TermQuery) -> Clause:
        term = self._evaluation.term(part)
        if not self._is_match(part):
            return Clause(text, "text", matched=False, note=self._why_no_match(term))
        matches = term.matches(self.doc, self.search.weights)
        words = {_FIELD_NAMES[match.field]: match.words for match in matches if match.words}
        return Clause(text, "text", matched=True, words=words)

    def _why_no_match(self, term: Term) -> str:
        query = term.query
        joined = query.pattern.joined if isinstance(query.pattern, bound.BoundPhrase) else None
        together = {pattern.text for pattern in joined.parts} if joined else set()
        missing = [pattern.text for pattern, fields in term.terms_in(self.doc).items() if not fields]
        # The joined form of a compound is another way to match it, so it is not missing.
        missing = [text for text in missing if text not in together]
        if not missing:
            return "its words are there, but not next to each other or near enough in one field"
        note = f"it does not have {', '.join(map(repr, missing[:_LISTED]))}"
        if not query.fields.all():
            everywhere = replace(query, fields=np.ones(len(_FIELD_NAMES), bool))
            elsewhere = Term(self.search.reader, everywhere, PositionBudget(), excluded=term.excluded).words_in(
                self.doc
            )
            names = ", ".join(_FIELD_NAMES[number] for number in sorted(elsewhere))
            note += f" in {query.name or 'the fields of this level'}" + (f", but in {names}" if names else "")
        if term.is_cut():
            note += "; it stands for too many words, of which the most frequent were looked up"
        return note if self.search.evaluation(query).docs() else f"{note}; no searched item matches"

    def values(self, node: bound.Bound) -> str:
        """Return the values that the item has in the fields of a condition."""
        return "; ".join(dict.fromkeys(self._facts(node)))

    def _facts(self, node: bound.Bound) -> Iterator[str]:
        for part, _ in bound.nodes(node):
            match part:
                case bound.Has(name=name) | bound.Glob(name=name) | bound.Similar(name=name) | bound.Between(name=name):
                    yield self._field(canonical(name))
                case bound.Within():
                    yield f"{':'.join(self.search.reader.key_of(self.doc))} lies outside the scope"
                case bound.HasState(name=name):
                    yield self._field("verdict") if name == "signed" or name in VERDICT_NAMES else self._states()
                case bound.Refers(name=name):
                    yield self._field(name)
                case bound.Changed():
                    part_of, local = self.search.reader.locate(self.doc)
                    yield self._field("updated" if part_of.segment.values("updated").of(local) else "created")

    def _field(self, name: str) -> str:
        return f"{name} is {self._value(name)}"

    def _states(self) -> str:
        names = [name for name in STATES if name not in VERDICT_NAMES and name != "signed"]
        states = [name for name in names if self.search.states.having(name)[self.doc]]
        return f"it is {', '.join(states)}" if states else "it is in no such state"

    def _value(self, name: str) -> str:
        if name in RELATION_FIELDS:
            return self._related(name)
        if name in {"is", "verdict"}:
            return VERDICT_NAMES[int(self.search.states.verdicts()[self.doc])]
        if name == "signer":
            return _listed([name for name in self.search.states.signers(np.asarray([self.doc])) if name])
        part, local = self.search.reader.locate(self.doc)
        if name == "installed-from":
            folder = part.segment.ids[local].partition("/")[0]
            return self.search.states.sources(part.root).get(folder, "missing")
        return _listed(part.segment.values(name).of(local))

    def _related(self, name: str) -> str:
        """Return the item's references as written; for items that refer to it, only their number."""
        graph, doc = self.search.states.graph(), self.search.states.to_all_spaces(self.doc)
        if name == "references":
            return _listed(graph.written_in(doc))
        referrers = graph.naming(np.asarray([doc])).docs
        count = len(set(graph.items_of(referrers).tolist()))
        return f"{count} item{'s' * (count != 1)}, listed by rye refs" if count else "missing"


def _listed(values: Sequence[str]) -> str:
    more = [f"and {len(values) - _LISTED} more"] if len(values) > _LISTED else []
    return ", ".join([*values[:_LISTED], *more]) or "missing"


def _text(node: ast.Node) -> str:
    return str(node) or "*"
