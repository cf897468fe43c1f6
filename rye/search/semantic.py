"""A request in semantic or hybrid mode → the scores of all items that count, or the reason why keywords must do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from rapidfuzz.distance import OSA

from rye.embedding import Floats as Rows
from rye.errors import EnvironmentFault, UnavailableError
from rye.index import analysis
from rye.index.arrays import Bools, Ints, unique
from rye.index.reader import Floats, Reader
from rye.index.vectors import Meaning
from rye.items.model import Item, Symbol
from rye.query import ast
from rye.search.bind import searched_fields
from rye.search.docset import Docs
from rye.search.fields import TEXT_FIELDS, canonical
from rye.search.fusion import Blend, by_similarity, fuse, keyword_score, percent, reaching
from rye.search.plan import Plan
from rye.search.relax import Dictionary
from rye.search.request import Request
from rye.search.results import HybridMatch, LeafTrace
from rye.search.score import Evaluation

# -- What a search by meaning says of one hit of a page.
HEADER_LENGTH = 120
MEANING = "meaning"
"""The field of a trace that stands for similarity."""


@dataclass(frozen=True)
class Asked:
    """What was asked by meaning.

    Attributes:
        text: What was embedded.
        near: How many items reach the threshold.
        hybrid: Whether keyword scores count as well.
    """

    text: str
    near: int
    hybrid: bool

    @cached_property
    def words(self) -> frozenset[str]:
        """The parts of its words."""
        return frozenset(analysis.parts(self.text))


@dataclass(frozen=True, slots=True)
class Closeness:
    """How near one hit is, and why it has its score.

    Attributes:
        asked: To what.
        similarity: Its cosine; None without a vector.
        keyword: Its keyword score.
        by_meaning, by_words: What each gives its score.
        section: Ordinal of the nearest section; -1 without a vector.
    """

    asked: Asked
    similarity: float | None
    keyword: float
    by_meaning: float
    by_words: float
    section: int

    def match(self, item: Item) -> HybridMatch | None:
        """Return what a hybrid search tells of its hit."""
        if not self.asked.hybrid:
            return None
        symbols = [symbol for symbol in item.symbols if not self.asked.words.isdisjoint(analysis.parts(symbol.name))]
        return HybridMatch(
            total=percent(self.by_meaning + self.by_words),
            semantic=percent(max(self.similarity or 0.0, 0.0)),
            keyword=percent(self.keyword),
            header=self.header(item),
            matched_symbols=tuple(dict.fromkeys(symbol.name for symbol in symbols)),
            definition_lines=tuple(map(_lines, symbols)),
        )

    def header(self, item: Item) -> str:
        """Return the headings of the nearest section of the item, or its description where it has none."""
        path = item.sections[self.section].heading_path if 0 <= self.section < len(item.sections) else ()
        header = " ".join((" > ".join(path) or item.description).split())
        return header if len(header) <= HEADER_LENGTH else f"{header[: HEADER_LENGTH - 1]}…"

    def explain(self, traces: Iterable[LeafTrace]) -> tuple[LeafTrace, ...]:
        """Return what leaves and meaning contribute; it sums to the score.

        Args:
            traces: What each field gave each leaf of the keyword score.
        """
        known = tuple(traces)
        whole = sum(trace.contribution for trace in known)
        by_words = self.by_words / whole if whole > 0 else 0.0
        scaled = [
            replace(
                trace,
                contribution=trace.contribution * by_words,
                weight=trace.weight * by_words,
                unboosted=trace.unboosted * by_words,
            )
            for trace in known
            if by_words > 0
        ]
        near = self.similarity or 0.0
        most = self.by_meaning / near if near > 0 else 0.0
        text, df = self.asked.text, self.asked.near
        return (LeafTrace(text, MEANING, df, 1.0, 1.0, near, self.by_meaning, weight=most, unboosted=most), *scaled)


def _lines(symbol: Symbol) -> str:
    end = f"-L{symbol.end_line}" if symbol.end_line > symbol.line else ""
    return f"{symbol.name}@L{symbol.line}{end}"


# -- What a query says, what it demands, and how near the items are to what it says.
_WORD = re.compile(r"[^\W\d_]+")
_LIVE = re.compile(r"\\(.)|[*?]")
_LONG_ENOUGH = 6
"""Letters a word has that is taken for another one mistyped; shorter words are too near to each other."""


def demands(node: ast.Node) -> ast.Node:
    """Return what a query demands of an item, whatever the item means."""
    match node:
        case ast.Word() | ast.Fuzzy():
            return ast.Everything(node.span)
        case ast.Boost(operand=operand):
            return demands(operand)
        case ast.And(operands=operands):
            kept = tuple(one for one in map(demands, operands) if not isinstance(one, ast.Everything))
            if len(kept) < 2:
                return kept[0] if kept else ast.Everything(node.span)
            return replace(node, operands=kept)
        case ast.Or(operands=operands):
            choices = tuple(map(demands, operands))
            free = any(isinstance(one, ast.Everything) for one in choices)
            return ast.Everything(node.span) if free else replace(node, operands=choices)
        case _:
            return node


def says(node: ast.Node) -> Iterator[str]:
    """Yield the texts of a query in order, but for what is excluded and what is compared with keyword fields."""
    match node:
        case ast.Word(text=text) | ast.Fuzzy(text=text) | ast.Phrase(text=text):
            yield text
        case ast.Wildcard(pattern=pattern):
            yield _LIVE.sub(r"\1", pattern)
        case ast.And() | ast.Or() | ast.Near() | ast.Boost():
            for operand in ast.children(node):
                yield from says(operand)
        case ast.Field(name=name, operand=operand) if canonical(name) in TEXT_FIELDS:
            yield from says(operand)


def has_boost(node: ast.Node) -> bool:
    """Return whether part of a query is to count more or less than the rest."""
    return any(isinstance(one, ast.Boost) for one in ast.walk(node))


def any_of(words: Sequence[ast.Word], unknown: Callable[[str], bool]) -> ast.Node:
    """Return the query for any of some words; those that are unknown forgive typos."""
    choices = tuple(ast.Fuzzy(word.text, span=word.span) if unknown(word.text) else word for word in words)
    return choices[0] if len(choices) == 1 else ast.Or(choices)


def fixed(text: str, slips: Mapping[str, str]) -> str:
    """Return a text with the words that are slips replaced."""
    return _WORD.sub(lambda match: slips.get(match.group(), match.group()), text) if slips else text


def mistyped(words: Iterable[str], unknown: Callable[[str], bool], nearest: Callable[[str], str]) -> dict[str, str]:
    """Return words that no item has, each with the word one slip of the fingers away that begins with the same letter.

    Tokens of a mistyped word mean anything, so what it was meant to be is embedded instead.

    Args:
        words: The words of a query.
        unknown: Whether no item has a word.
        nearest: Returns the nearest word that items have, or nothing.
    """
    slips = {}
    for word in dict.fromkeys(words):
        if len(word) < _LONG_ENOUGH or not word.isalpha() or not unknown(word):
            continue
        folded, near = word.casefold(), nearest(word)
        if near[:1] == folded[0] and OSA.distance(folded, near, score_cutoff=1) == 1:
            slips[word] = near
    return slips


@dataclass(frozen=True, eq=False)
class Nearness:
    """How near the items of a reader are to a text.

    Attributes:
        meaning: The model and the vectors.
        query: Shape ``(dimensions,)``: the vector of the text.
        rows: Shape ``(rows of the vectors,)``: cosines; minus infinity for items that do not count.
    """

    meaning: Meaning
    query: Rows
    rows: Rows

    @classmethod
    def of(cls, meaning: Meaning, text: str, allowed: Bools) -> Nearness:
        """Ask the model.

        Raises:
            UnavailableError: It cannot be used now, or answers with what is no vector of length 1.
        """
        query = meaning.query(text)
        return cls(meaning, query, meaning.vectors.similarities(query, allowed))

    @cached_property
    def best(self) -> Floats:
        """Shape ``(documents,)``: the highest cosine of each; minus infinity where it has no vector."""
        best: Floats = self.meaning.vectors.best(self.rows).astype(np.float64)
        return best

    def section(self, doc: int) -> int:
        """Return the ordinal of the section that is nearest, the first among equals; -1 without vectors."""
        own = self.meaning.vectors.rows_of(doc)
        return int(self.meaning.vectors.sections[own[np.argmax(self.rows[own])]]) if len(own) else -1


@dataclass(frozen=True, eq=False)
class Near:
    """What is known of the items that count.

    Attributes:
        asked: What was asked by meaning.
        threshold: The similarity of a semantic match.
        nearness: How near the items are.
        evaluation: Where keyword scores and highlights come from: in semantic mode only what the query demands.
        docs: Shape ``(n,)``: the documents that count, ascending.
        blend: Their scores.
        lacking: Why there is no document that counts, if there is none.
    """

    asked: Asked
    threshold: float
    nearness: Nearness
    evaluation: Evaluation
    docs: Ints
    blend: Blend
    lacking: str = ""

    def scores(self, docs: Ints) -> Floats:
        """Return the scores of some of the documents."""
        spread = np.zeros(self.nearness.meaning.vectors.size)
        spread[self.docs] = self.blend.total
        found: Floats = spread[docs]
        return found

    def closeness(self, doc: int) -> Closeness:
        """Return what there is to say of one of the documents."""
        at = int(np.searchsorted(self.docs, doc))
        similarity = float(self.blend.similarity[at])
        return Closeness(
            asked=self.asked,
            similarity=round(similarity, 4) if np.isfinite(similarity) else None,
            keyword=float(self.blend.keyword[at]),
            by_meaning=float(self.blend.by_meaning[at]),
            by_words=float(self.blend.by_words[at]),
            section=self.nearness.section(doc),
        )

    @property
    def nothing(self) -> str:
        """Why there may be no hit."""
        best = self.blend.similarity.max(initial=-np.inf)
        if not len(self.docs):
            return self.lacking
        if not np.isfinite(best):
            return "no item that counts has a vector yet"
        return f"no item is as near as {self.threshold:g}; the nearest item is at {best:.2f}"


class ByMeaning:
    """One request by meaning.

    Args:
        request: Its mode is not keyword.
        reader: What is searched.
        plan: The query as planned.
        evaluate: Binds a query and prepares its evaluation.
        boosts: The user's own factors by source.

    Attributes:
        warnings: What to say of it.
    """

    def __init__(
        self,
        request: Request,
        reader: Reader,
        plan: Plan,
        evaluate: Callable[[ast.Node, Plan], Evaluation],
        *,
        boosts: Mapping[str, float],
    ) -> None:
        self.request = request
        self.reader = reader
        self.plan = plan
        self.evaluate = evaluate
        self.boosts = request.mode.factors(boosts)
        self.warnings: list[str] = []

    def near(self, meaning: Callable[[], Meaning], allowed: Docs) -> Near | None:
        """Return the scores of what is allowed and has what the query demands; None where keywords have to do.

        Raises:
            QueryError: The query names what does not exist.
        """
        mode, plan = self.request.mode, self.plan
        if self._slips:
            read = ", ".join(f"{word!r} as {near!r}" for word, near in self._slips.items())
            self.warnings.append(f"by meaning, {read}: no item has the word as written")
        wordless = sum(not analysis.parts(text) for text in self._said)
        if wordless:
            self.evaluate(self.worded, plan)  # which refuses them, or leaves them out
        if wordless == len(self._said):
            self.warnings.append(self.instead("the query has no word that means something"))
            return None
        evaluation = self.evaluate(self.demanded, plan)
        lacking = self._lacking(self.demanded, allowed)
        if plan.fixed or not isinstance(self.demanded, ast.Everything):
            allowed &= evaluation.docs()
        try:
            known = meaning()
            nearness = Nearness.of(known, self.text, allowed.mask)
        except (UnavailableError, EnvironmentFault) as error:
            self.warnings.append(self.instead(f"{error.message}; {error.hint}" if error.hint else error.message))
            return None
        self.warnings += [*known.warnings, *self._idle()]
        docs = allowed.numbers
        if mode.name == "hybrid":
            evaluation = self.evaluate(self.worded, plan)
        threshold = known.embedder.threshold if mode.threshold is None else mode.threshold
        blend = self._blend(evaluation, nearness.best[docs], docs, threshold)
        asked = Asked(self.text, int(reaching(blend.similarity, threshold).sum()), mode.name == "hybrid")
        return Near(asked, threshold, nearness, evaluation, docs, blend, lacking)

    def _lacking(self, demanded: ast.Node, allowed: Docs) -> str:
        """Say what leaves no item, if none is left: what is asked of all, or what the query demands of these."""
        if not allowed:
            return "scope, space and filters leave no item"
        own = [] if isinstance(demanded, ast.Everything) else [str(demanded)]
        also = [f"{name}:({parsed.text})" for name, parsed in self.plan.fixed]
        return f"no item has what the query demands: {' '.join(own + also)}"

    def apart(self, near: Near, doc: int) -> Near:
        """Return the scores with one document more, as if scope, filters and query let it count.

        Raises:
            UnavailableError: The embedder cannot be used now.
        """
        mask = np.zeros(self.reader.size, bool)
        mask[doc] = True
        alone = Nearness.of(near.nearness.meaning, near.asked.text, mask)
        docs = unique(near.docs, np.asarray([doc]))
        similarity = np.full(len(docs), alone.best[doc])
        similarity[np.searchsorted(docs, near.docs)] = near.blend.similarity
        blend = self._blend(near.evaluation, similarity, docs, near.threshold)
        return replace(near, nearness=alone, docs=docs, blend=blend)

    def instead(self, cause: str) -> str:
        """Return the sentence that says why keywords answer."""
        name = self.request.mode.name
        more = "" if self.request.mode.plain else "; options of that mode do not apply"
        return f"keyword results instead of {name} ones: {cause}{more}"

    @cached_property
    def demanded(self) -> ast.Node:
        """What of the query an item must have, whatever it means."""
        return ast.Everything() if self.plan.words else demands(self.plan.main)

    @cached_property
    def worded(self) -> ast.Node:
        """What keyword scores come from: any of the words, or the query as it is."""
        words = self.plan.words
        return any_of(words, self._unknown) if words else self.plan.main

    @cached_property
    def _slips(self) -> dict[str, str]:
        words = (word for text in self._said for word in text.split())
        return mistyped(words, self._unknown, self._nearest)

    @cached_property
    def _said(self) -> list[str]:
        return [word.text for word in self.plan.words] or list(says(self.plan.main))

    @cached_property
    def text(self) -> str:
        """What is embedded: a query of plain words as it is, else what it says; slips of the fingers fixed."""
        return fixed(self.request.query if self.plan.words else " ".join(self._said), self._slips)

    @property
    def suggestion(self) -> str:
        """The query with its slips fixed; empty where there is nothing to fix."""
        return fixed(self.request.query, self._slips) if self._slips else ""

    @cached_property
    def _dictionary(self) -> Dictionary:
        return Dictionary(self.reader, searched_fields(self.request.level))

    def _unknown(self, word: str) -> bool:
        return self.plan.forgiving and not self._dictionary.knows(word)

    def _nearest(self, word: str) -> str:
        parts = analysis.parts(word)
        return self._dictionary.nearest(parts[0])[0] if len(parts) == 1 else ""

    def _blend(self, evaluation: Evaluation, similarity: Floats, docs: Ints, threshold: float) -> Blend:
        mode = self.request.mode
        if mode.name == "semantic":
            factors = np.asarray([self.boosts[part.root.space] for part in self.reader.parts] or [1.0])
            return by_similarity(similarity, factors[self.reader.part_numbers(docs)], threshold)
        keyword = np.zeros(len(docs))
        if evaluation.scored():
            keyword = keyword_score(evaluation.scores(docs), evaluation.coverage(docs))
        if not self.request.relax:
            keyword *= evaluation.docs().mask[docs]
        return fuse(mode.fusion, similarity, keyword, threshold)

    def _idle(self) -> Iterator[str]:
        """Yield what of the request has no effect on similarities."""
        if self.request.mode.name == "semantic":
            request, main = self.request, self.plan.main
            forgiving = not request.fuzzy and any(isinstance(one, ast.Fuzzy) for one in ast.walk(main))
            idle = {"level": request.level, "fuzzy": request.fuzzy, "^": has_boost(main), "~": forgiving}
            yield from (f"{name} has no effect in semantic mode" for name, given in idle.items() if given)
