"""Why an item is among the hits of a query, or what keeps it from being one: asked of the search itself.

What is said of a part of the query is what the evaluator says of that part; rank and score are those of the search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rye.errors import ItemError
from rye.index.reader import Part, Reader
from rye.index.schema import TYPE_NAMES
from rye.index.verdict_cache import VERDICT_NAMES
from rye.items.model import ItemType
from rye.items.scope import Scope
from rye.query import ast
from rye.search import bound
from rye.search.bind import Context, bind
from rye.search.engine import Answer, Search, SearchContext
from rye.search.explanation import Clause, Meant, Neighbour, Reason, Why, contrast
from rye.search.facets import values_of
from rye.search.fields import RELATION_FIELDS, STATES, TEXT_FIELDS, Weights, canonical
from rye.search.match import Matcher
from rye.search.phrase import Effort
from rye.search.plan import make_plan, named_by
from rye.search.predicates import States
from rye.search.request import Request, bind_filters
from rye.search.results import SearchResult
from rye.search.score import Evaluation
from rye.search.semantic import ByMeaning, Closeness, Near
from rye.spaces.read import read_item

# -- A query taken apart for one item: which of its parts the item matches, in which words, and what it has
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
        return bool(Evaluation(self.reader, node, self.weights, self.states).docs().mask[self.doc])

    def _leaf(self, node: ast.Node, *, negated: bool) -> Clause:
        part = bind(node, self.context(node))
        if part is None:
            return Clause(_text(node), "dropped", matched=False, note="left out")
        evaluation = Evaluation(self.reader, bound.Not(part) if negated else part, self.weights, self.states)
        matched = bool(evaluation.docs().mask[self.doc]) != negated
        if isinstance(part, bound.TermQuery):
            (found,) = evaluation.matchers()
            fields = set(found.slots_of(np.asarray([self.doc])).fields.tolist()) if matched else set()
            words = found.words_in(self.doc) if matched else {}
            named = {_NAMES[field]: terms for field, terms in sorted(words.items()) if field in fields}
            return Clause(_text(node), "text", matched, named, "" if matched else self._lacking(found))
        kind = "everything" if isinstance(part, bound.Everything) else "condition"
        return Clause(_text(node), kind, matched, note=self.has(part))

    def _lacking(self, found: Matcher) -> str:
        """Return what keeps a leaf of text from matching."""
        leaf = found.query
        parts = found.terms_in(self.doc)
        lacking = [pattern.text for pattern, fields in parts.items() if not fields]
        joined = leaf.pattern.joined if isinstance(leaf.pattern, bound.Phrase) else None
        lacking = [text for text in lacking if joined is None or text != joined.text]
        if not lacking:
            return "its words are there, but not next to each other or near enough in one field"
        said = f"no word for {', '.join(map(repr, lacking[:_LISTED]))}"
        if not leaf.fields.all():
            everywhere = replace(leaf, fields=np.ones(len(_NAMES), bool))
            elsewhere = Matcher(self.reader, everywhere, Effort(), excluded=found.excluded).words_in(self.doc)
            names = ", ".join(_NAMES[field] for field in sorted(elsewhere))
            said += f" in {leaf.name or 'the fields of this level'}" + (f"; there is in {names}" if names else "")
        if found.cut():
            said += "; it stands for too many words, of which the most frequent were looked up"
        return said if found.docs() else f"{said}; no searched item matches"

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
            return VERDICT_NAMES[int(self.states.verdicts()[self.doc])]
        if name == "signer":
            found = [name for name in self.states.signers(np.asarray([self.doc])) if name]
        elif name == "updated" and not values_of(part.segment, name).of(local):
            found = values_of(part.segment, "created").of(local)
        else:
            found = values_of(part.segment, name).of(local)
        return _listed(found)

    def _related(self, name: str) -> str:
        """Return what the item refers to, in its own words; of those that refer to it only how many there are."""
        graph, doc = self.states.graph(), self.states.there(self.doc)
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


# -- How near one item is in a search by meaning, and what of that keeps it from being a hit.
class Measured:
    """One item among the scores of a search by meaning.

    Args:
        asking: The search.
        near: Its scores.
        doc: The item; where scope, filters or query leave it out, its scores are those it would have.

    Raises:
        UnavailableError: The embedder cannot be used any more.
    """

    def __init__(self, asking: ByMeaning, near: Near, doc: int) -> None:
        self._asking = asking
        self._near = near if doc in near.docs else asking.apart(near, doc)
        self._doc = doc

    def told(self) -> Meant:
        """Return what there is to say of it."""
        close = self._near.closeness(self._doc)
        return Meant(
            text=close.asked.text,
            similarity=close.similarity,
            section=self._section(close),
            threshold=self._near.threshold,
            by_meaning=round(close.by_meaning, 4),
            by_words=round(close.by_words, 4),
            keyword=round(close.keyword, 4),
            method=self._asking.request.mode.fusion.fusion if close.asked.hybrid else "embedding",
        )

    def _section(self, close: Closeness) -> str:
        part, local = self._asking.reader.locate(self._doc)
        kind = ItemType(TYPE_NAMES[part.segment.types[local]])
        try:
            return close.header(read_item(part.root, part.segment.paths[local], kind, part.segment.ids[local]).item)
        except ItemError:
            return ""

    def reasons(self) -> Iterator[Reason]:
        """Yield what of its scores keeps it from being a hit, by the conditions of :mod:`rye.search.fusion`."""
        request, blend, threshold = self._asking.request, self._near.blend, self._near.threshold
        at = int(np.searchsorted(self._near.docs, self._doc))
        similarity, keyword = float(blend.similarity[at]), float(blend.keyword[at])
        near, worded = similarity >= threshold, keyword > 0
        said = f"its nearest section is at {similarity:.4f}" if np.isfinite(similarity) else "it has no vector"
        words = "it has no word of the query" if request.relax else "its words do not match the query as it is"
        if not near and not worded:
            also = f", and {words}" if self._near.asked.hybrid else ""
            yield Reason("threshold", f"threshold={threshold:g}", f"{said}{also}")
        if not self._near.asked.hybrid:
            return
        fusion = request.mode.fusion
        for name, least, score in (
            ("min_semantic_score", fusion.min_semantic_score, max(similarity, 0.0)),
            ("min_keyword_score", fusion.min_keyword_score, keyword),
            ("min_combined_score", fusion.min_combined_score, float(blend.total[at])),
        ):
            if score < least:
                yield Reason("fusion", f"{name}={least:g}", f"its score is {score:.4f}")
        if fusion.require_keyword_match and not worded:
            yield Reason("fusion", "require_keyword_match", words)
        if fusion.require_semantic_match and not near:
            yield Reason("fusion", "require_semantic_match", f"{said}; the threshold is {threshold:g}")


class Inquiry(Search):
    """One search, asked about single items.

    Args:
        request: The search; its page does not matter.
        context: What it runs in.
    """

    def __init__(self, request: Request, context: SearchContext) -> None:
        super().__init__(replace(request, offset=0, limit=max(context.reader.size, 1), explain=True), context)
        self.plan = self.settled(make_plan(self.request), self.allowed())

    def about(self, part: Part, local: int) -> Why:
        """Return why one document of the reader is a hit, or is none.

        Raises:
            QueryError: As a search.
            ArgumentError: As a search.
        """
        doc = part.base + local
        allowed = self.allowed()
        answer = self.answer(self.plan, allowed)
        total = answer.reachable()
        measured = Measured(self._asking, answer.near, doc) if answer.near else None
        place = np.flatnonzero(answer.docs == doc)
        rank = int(place[0]) if len(place) else None
        clauses = tuple(self._clauses(answer, doc))
        reasons = self._reasons(answer, clauses, measured, doc) if rank is None else self._beyond(answer, rank, total)
        shown: list[SearchResult | None] = [None] * 3
        if rank is not None and not reasons:
            shown = [self._shown(answer, at) if 0 <= at < total else None for at in range(rank - 1, rank + 2)]
            if shown[1] is None:
                reasons = [Reason("unreadable", "", self._warnings[-1])]
        self._explain_stage(answer, self.plan, total)
        self._note_cuts(answer.evaluation)
        before, hit, after = shown if not reasons else (None, None, None)
        sort_by, place_ = self.request.sort_by, rank or 0
        return Why(
            type=TYPE_NAMES[part.segment.types[local]],
            id=part.segment.ids[local],
            source=part.root.source,
            query=self.request.query,
            stage=answer.stage,
            total=total,
            rank=None if hit is None else place_ + 1,
            hit=hit,
            clauses=clauses,
            reasons=tuple(reasons),
            above=Neighbour(before, place_, contrast(before, hit, sort_by=sort_by)) if before and hit else None,
            below=Neighbour(after, place_ + 2, contrast(hit, after, sort_by=sort_by)) if after and hit else None,
            warnings=tuple(self.warnings(self.plan)),
            search_type=self.request.mode.name if answer.near else "keyword",
            meaning=measured.told() if measured else None,
        )

    def counted(self) -> tuple[str, int]:
        """Return the stage that answers, and how many hits paging can reach."""
        answer = self.answer(self.plan, self.allowed())
        return answer.stage, answer.reachable()

    def _anatomy(self, doc: int) -> Anatomy:
        dropped: list[ast.Dropped] | None = [] if self.request.lenient else None

        def context(node: ast.Node) -> Context:
            return Context(self.request.query, node, self._metadata_keys, self.request.level, dropped)

        return Anatomy(self.reader, self.weights, self.states, context, doc)

    @cached_property
    def _asking(self) -> ByMeaning:
        return self.asking(self.plan)

    def _clauses(self, answer: Answer, doc: int) -> Iterator[Clause]:
        """Yield the query as it was read taken apart, then the entries of ``fields``."""
        anatomy = self._anatomy(doc)
        if answer.near:
            yield anatomy.of(self._asking.worded if answer.near.asked.hybrid else self._asking.demanded)
        yield from (anatomy.of(stage.ast) for stage in self._stages(self.plan) if stage.name == answer.stage)
        for field, parsed in self.plan.fixed:
            yield anatomy.of(ast.Field(field, parsed.ast))

    def _reasons(
        self, answer: Answer, clauses: tuple[Clause, ...], measured: Measured | None, doc: int
    ) -> list[Reason]:
        """Return everything that keeps a document out of an answer."""
        main, *further = clauses
        if measured:
            main = self._anatomy(doc).of(self._asking.demanded)
        exact = answer.stage == "all" and self._is_named(doc)
        unmatched = [] if exact else [Reason(code, part.text, _message(part, code)) for part, code in blamed(main)]
        for clause in further:
            unmatched += [Reason("field", part.text, _message(part, code)) for part, code in blamed(clause)]
        outside = [*self._outside(doc), *self._hidden(doc)]
        if measured:
            return [*unmatched, *outside, *measured.reasons()]
        return [*unmatched, *outside, *([] if outside else self._looser(answer, doc))]

    def _is_named(self, doc: int) -> bool:
        return doc in named_by(self.reader, self.request.query)

    def _outside(self, doc: int) -> Iterator[Reason]:
        """Yield the scope and the filters that do not let a document through."""
        kind, item_id = self.reader.key_of(doc)
        if self.request.scopes != (Scope(""),) and not any(each.holds(kind, item_id) for each in self.request.scopes):
            yield Reason("scope", self.request.scope, f"{kind}:{item_id} lies outside the scope")
        anatomy = self._anatomy(doc)
        for name, wanted in self.request.filters.items():
            (node,) = bind_filters({name: wanted}, self._metadata_keys())
            if not anatomy.matches(node):
                yield Reason("filter", f"{name}={wanted}", anatomy.has(node))

    def _hidden(self, doc: int) -> Iterator[Reason]:
        if not self.request.include_superseded:
            for state, docs in self.reader.hidden.items():
                if doc in docs:
                    message = f"the item is {state}; include_superseded shows such items"
                    yield Reason("hidden", f"is:{state}", message)

    def _looser(self, answer: Answer, doc: int) -> Iterator[Reason]:
        """Yield the first looser stage that finds a document, unless all stages were tried."""
        stages = list(self._stages(self.plan))
        names = [stage.name for stage in stages]
        for stage in stages[names.index(answer.stage) + 1 :] if answer.total else ():
            if self.evaluate(stage.ast, self.plan).docs().mask[doc]:
                found = f"stage {answer.stage!r} found {answer.total}, so that no looser one was tried"
                yield Reason("stage", f"stage {stage.name}", f"stage {stage.name!r} would find it, but {found}")
                return

    def _beyond(self, answer: Answer, rank: int, total: int) -> list[Reason]:
        if rank < total:
            return []
        message = f"it is hit {rank + 1} of {answer.total}; of stage {answer.stage!r} the first {total} are listed"
        return [Reason("limit", f"stage {answer.stage}", message)]

    def _shown(self, answer: Answer, at: int) -> SearchResult | None:
        """Return a hit as a page shows it; None where it cannot be shown, which becomes a warning."""
        results, warnings = self.page_builder(answer.evaluation).build(answer.hits(at, at + 1))
        self._warnings += warnings
        return results[0] if results else None


def _message(part: Clause, code: str) -> str:
    if code == "no-match":
        return part.note or "does not match"
    words = "; ".join(f"{', '.join(terms)} in {field}" for field, terms in part.words.items())
    return f"{f'the item has {words}' if words else part.note or 'every item matches'}, which is excluded"
