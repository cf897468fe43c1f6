"""Semantic and hybrid search: score all items for a request, or say why keywords answer instead."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import NamedTuple

import numpy as np

from rye.embedding.protocol import Embedder
from rye.embedding.protocol import Floats as Rows
from rye.errors import EnvironmentFault, UnavailableError
from rye.index.build.reader import Floats
from rye.index.storage.arrays import Bools, Ints, unique
from rye.index.text import analysis
from rye.items.model import Item, Symbol
from rye.query import ast
from rye.search.contract.fields import TEXT_FIELDS, canonical
from rye.search.contract.fusion import FusedScores, by_similarity, fuse, keyword_score, percent, reaches
from rye.search.contract.request import Request
from rye.search.contract.results import ClauseTrace, HybridMatch
from rye.search.matching.docset import Docs
from rye.search.meaning.meaning import Meaning
from rye.search.meaning.rerank import BY_MODEL, Reranked
from rye.search.reading.reading import Kind, Reading
from rye.search.reading.relax import Dictionary, Relaxed
from rye.search.scoring.score import Evaluation

_HEADER_LENGTH = 120
"""Most characters of the headings of a hybrid hit."""

_LIVE = re.compile(r"\\(.)|[*?]")


def required_part(node: ast.Node) -> ast.Node:
    """Return the part of a query that every hit must match; plain words need only be similar."""
    match node:
        case ast.Word() | ast.Fuzzy():
            return ast.Everything(node.span)
        case ast.Boost(operand=operand):
            return required_part(operand)
        case ast.And(operands=operands):
            kept = tuple(part for part in map(required_part, operands) if not isinstance(part, ast.Everything))
            if len(kept) < 2:
                return kept[0] if kept else ast.Everything(node.span)
            return replace(node, operands=kept)
        case ast.Or(operands=operands):
            choices = tuple(map(required_part, operands))
            free = any(isinstance(part, ast.Everything) for part in choices)
            return ast.Everything(node.span) if free else replace(node, operands=choices)
        case _:
            return node


def texts_of(node: ast.Node) -> Iterator[str]:
    """Yield the texts of a query in order, without excluded parts and conditions on keyword fields."""
    match node:
        case ast.Word(text=text) | ast.Fuzzy(text=text) | ast.Phrase(text=text):
            yield text
        case ast.Wildcard(pattern=pattern):
            yield _LIVE.sub(r"\1", pattern)
        case ast.And() | ast.Or() | ast.Near() | ast.Boost():
            for operand in ast.children(node):
                yield from texts_of(operand)
        case ast.Field(name=name, operand=operand) if canonical(name) in TEXT_FIELDS:
            yield from texts_of(operand)


def has_boost(node: ast.Node) -> bool:
    """Return whether a part of a query is boosted."""
    return any(isinstance(part, ast.Boost) for part in ast.walk(node))


def any_of(words: Sequence[ast.Word], unknown: Callable[[str], bool]) -> ast.Node:
    """Return the OR of the words; unknown words are searched with typos forgiven."""
    choices = tuple(ast.Fuzzy(word.text, span=word.span) if unknown(word.text) else word for word in words)
    return choices[0] if len(choices) == 1 else ast.Or(choices)


@dataclass(frozen=True, eq=False)
class Similarities:
    """The similarities of all items to a text.

    Attributes:
        meaning: The model and the vectors.
        query: Shape ``(dimensions,)``: the vector of the text as typed.
        rows: Shape ``(rows of the vectors,)``: cosines; minus infinity for items that are left out.
        best: Shape ``(documents,)``: the highest cosine of each; minus infinity without a vector.
        readings: The text as typed and as corrected, each with the weight of its cosines.
    """

    meaning: Meaning
    query: Rows
    rows: Rows
    best: Floats
    readings: Mapping[str, float] = field(default_factory=dict)

    def section(self, doc: int) -> int:
        """Return the ordinal of the most similar section, the first of equals; -1 without vectors."""
        own = self.meaning.vectors.rows_of(doc)
        return int(self.meaning.vectors.sections[own[np.argmax(self.rows[own])]]) if len(own) else -1


def similarities(
    meaning: Meaning, readings: Mapping[str, float], allowed: Bools, queries: Sequence[Rows] = ()
) -> Similarities:
    """Compare the readings of a text with the vectors of documents, taking the greatest weighted cosine.

    Args:
        meaning: The model and the vectors.
        readings: Texts, each with the weight of its cosines.
        allowed: Shape ``(documents,)``.
        queries: The vectors of the texts, if already made.

    Raises:
        UnavailableError: The model cannot be used now, or does not return vectors of length 1.
    """
    queries = queries or [meaning.query(text) for text in readings]
    products = zip(queries, readings.values(), strict=True)
    rows = reduce(np.maximum, (meaning.vectors.similarities(query, allowed) * weight for query, weight in products))
    return Similarities(meaning, queries[0], rows, meaning.vectors.best(rows).astype(np.float64), readings)


class SemanticScores(NamedTuple):
    """The scores of all items that scope, filters and query allow.

    Attributes:
        text: The text that was embedded, as explanations show it.
        hybrid: Whether keyword scores count as well.
        threshold: The similarity of a semantic match.
        similarities: The similarities of the items.
        evaluation: Gives keyword scores and highlights; in semantic mode, only for the required part of the query.
        docs: Shape ``(n,)``: the documents, ascending.
        fused: Their scores.
        none_left: Why there is no document, if there is none.
        reranked: The scores of a second model, if there is one.
        count_similar: How many items reach the threshold, if ``docs`` are only those of a page.
    """

    text: str
    hybrid: bool
    threshold: float
    similarities: Similarities
    evaluation: Evaluation
    docs: Ints
    fused: FusedScores
    none_left: str = ""
    reranked: Reranked | None = None
    count_similar: int | None = None

    def candidates(self) -> Docs:
        """Return all scored documents."""
        return Docs(self.similarities.meaning.vectors.size, numbers=self.docs)

    def hits(self) -> Docs:
        """Return the documents that meet all conditions."""
        return Docs(self.similarities.meaning.vectors.size, numbers=self.docs[self.fused.matched])

    def scores(self, docs: Ints) -> Floats:
        """Return the scores of the given documents."""
        result: Floats = self.fused.total[np.searchsorted(self.docs, docs)]
        return result

    def of(self, doc: int) -> HitScores:
        """Return the scores of one document."""
        at = int(np.searchsorted(self.docs, doc))
        similarity = float(self.fused.similarity[at])
        return HitScores(
            all_scores=self,
            similarity=round(similarity, 4) if np.isfinite(similarity) else None,
            keyword=float(self.fused.keyword[at]),
            by_meaning=float(self.fused.by_meaning[at]),
            by_words=float(self.fused.by_words[at]),
            section=self.similarities.section(doc),
            second=self.reranked.cosines.get(doc) if self.reranked else None,
        )

    def why_no_hit(self) -> str:
        """Return why there are no hits."""
        return self.why_none_is_near() if len(self.docs) else self.none_left

    def why_none_is_near(self) -> str:
        """Return why no document is a semantic match."""
        best = self.fused.similarity.max(initial=-np.inf)
        if not np.isfinite(best):
            return "no item that counts has a vector yet"
        return f"no item is as near as {self.threshold:g}; the nearest item is at {best:.2f}"


def _stems(text: str) -> frozenset[str]:
    """Return the stems of the parts of a text, which are equal for inflections of a word."""
    return frozenset(map(analysis.stem, analysis.parts(text)))


def header_of(item: Item, section: int) -> str:
    """Return the headings of a section of an item, or the name of its function, else the item's description."""
    path = item.sections[section].heading_path if 0 <= section < len(item.sections) else ()
    if not item.sections and 0 < section <= len(item.symbols):
        path = (item.symbols[section - 1].name,)
    header = " ".join((" > ".join(path) or item.description).split())
    return header if len(header) <= _HEADER_LENGTH else f"{header[: _HEADER_LENGTH - 1]}…"


def symbols_in(item: Item, text: str) -> list[Symbol]:
    """Return the symbols whose names contain words of a text, maybe inflected; symbols with the most words first."""
    words = _stems(text)
    shared = [(len(words & _stems(symbol.name)), symbol) for symbol in item.symbols]
    return [symbol for count, symbol in sorted(shared, key=lambda pair: -pair[0]) if count]


def hybrid_match(  # noqa: PLR0917 - in the order of the fields
    item: Item, text: str, section: int, total: float, similarity: float, keyword: float
) -> HybridMatch:
    """Return the scores and places behind a hit of a hybrid search."""
    symbols = symbols_in(item, text)
    return HybridMatch(
        total=percent(total),
        semantic=percent(max(similarity, 0.0)),
        keyword=percent(keyword),
        header=header_of(item, section),
        matched_symbols=tuple(dict.fromkeys(symbol.name for symbol in symbols)),
        definition_lines=tuple(
            f"{row.name}@L{row.line}" + (f"-L{row.end_line}" if row.end_line > row.line else "") for row in symbols
        ),
    )


class HitScores(NamedTuple):
    """The scores of one item.

    Attributes:
        all_scores: The scores of all items.
        similarity: Its cosine; None without a vector.
        keyword: Its keyword score.
        by_meaning, by_words: What similarity and words contribute to its score.
        section: Ordinal of the most similar section; -1 without a vector.
        second: Its cosine by the second model; None if that did not compare it.
    """

    all_scores: SemanticScores
    similarity: float | None
    keyword: float
    by_meaning: float
    by_words: float
    section: int
    second: float | None = None

    def hybrid_match(self, item: Item) -> HybridMatch | None:
        """Return the scores and places behind a hit of a hybrid search; None in semantic mode."""
        if not self.all_scores.hybrid:
            return None
        return hybrid_match(
            item,
            self.all_scores.text,
            self.section,
            self.by_meaning + self.by_words,
            self.similarity or 0.0,
            self.keyword,
        )

    def matched_symbols(self, item: Item) -> list[Symbol]:
        """Return the symbols whose names contain words of the query, maybe inflected; those with most words first."""
        return symbols_in(item, self.all_scores.text)

    def header(self, item: Item) -> str:
        """Return the headings of the item's most similar section, or the name of its function, else its description."""
        return header_of(item, self.section)

    def explain(self, traces: Sequence[ClauseTrace]) -> tuple[ClauseTrace, ...]:
        """Return the contributions of similarity and of the term queries; they sum to the score.

        Args:
            traces: The traces of the keyword score, which are scaled to its contribution.
        """
        reranked = self.all_scores.reranked
        factor = reranked.factor if reranked else 1.0
        sum_of_words = sum(trace.contribution for trace in traces)
        share = factor * self.by_words / sum_of_words if sum_of_words > 0 else 0.0
        scaled = [
            replace(
                trace,
                contribution=trace.contribution * share,
                weight=trace.weight * share,
                unboosted=trace.unboosted * share,
            )
            for trace in traces
            if share > 0
        ]
        similarity, scores = self.similarity or 0.0, self.all_scores
        part = factor * self.by_meaning
        most = part / similarity if similarity > 0 else 0.0
        count = scores.count_similar
        if count is None:
            count = int(reaches(scores.fused.similarity, scores.threshold).sum())
        by_meaning = ClauseTrace(scores.text, "meaning", count, 1.0, 1.0, similarity, part, most, most)
        if reranked is None or self.second is None:
            return (by_meaning, *scaled)
        compared, weight = len(reranked.cosines), BY_MODEL
        second = ClauseTrace(
            scores.text, "second model", compared, 1.0, 1.0, self.second, weight * self.second, weight, weight
        )
        return (second, by_meaning, *scaled)


class SemanticSearch:
    """One request in semantic or hybrid mode over a reader.

    Attributes:
        required: The part of the query that every hit must match.
        worded: The query of keyword scores. For plain words, any of them, relaxed as in stage ``any`` if they are a
            sentence; else the query itself.
        text: The text to embed: a query of plain words as it was typed, else its texts.
    """

    def __init__(
        self,
        request: Request,
        reading: Reading,
        evaluate: Callable[[ast.Node, Reading], Evaluation],
        dictionary: Dictionary,
        *,
        boosts: Mapping[str, float],
    ) -> None:
        self.request, self.reading, self.evaluate = request, reading, evaluate
        self.boosts = request.mode.factors(boosts)
        self._dictionary, self.reader = dictionary, dictionary.reader
        words = tuple(reading.words) if reading.is_bag and reading.is_prose() else ()
        self._is_sentence = bool(words) and reading.kind is Kind.SENTENCE
        self.required = ast.Everything() if words else required_part(reading.main)
        self.worded = reading.main
        if words:
            forgiven = self._is_unknown if reading.forgiving else lambda _: False
            self.worded = self._relaxed().query if self._is_sentence else any_of(words, forgiven)
        self._texts = [word.text for word in reading.bag] or list(texts_of(reading.main))
        self.text = request.query if reading.bag else " ".join(self._texts)

    def _is_unknown(self, word: str) -> bool:
        return not self._dictionary.knows(word)

    def _relaxed(self) -> Relaxed:
        return self._dictionary.relaxed(self.reading)

    def run(self, load: Callable[[], Meaning], allowed: Docs) -> tuple[SemanticScores | None, tuple[str, ...]]:
        """Score the allowed items that match the required part; None if keywords have to answer. Also return notes.

        Raises:
            QueryError: The query names something that does not exist.
        """
        reading = self.reading
        if not self._has_words():
            return None, (self.fallback("the query has no word that means something"),)
        # The required part is matched exactly; similarity ranks the remaining items.
        evaluation = self.evaluate(self.required, reading)
        none_left = self.why_none_left(is_empty=not allowed)
        if reading.fixed or not isinstance(self.required, ast.Everything):
            allowed &= evaluation.docs()
        notes: tuple[str, ...] = ()
        try:
            meaning = load()
            notes = meaning.warnings
            similar = similarities(meaning, self.readings(meaning.embedder), allowed.mask)
        except (UnavailableError, EnvironmentFault) as error:
            return None, (*notes, self.fallback(f"{error.message}; {error.hint}" if error.hint else error.message))
        # In hybrid mode any of the words can score, so that a missing word excludes nothing.
        hybrid, docs = self.request.mode.name == "hybrid", allowed.numbers
        if hybrid:
            evaluation = self.evaluate(self.worded, reading)
        threshold = self.threshold(meaning.embedder)
        fused = self.fuse(evaluation, similar.best[docs], docs, threshold)
        scores = SemanticScores(self.text, hybrid, threshold, similar, evaluation, docs, fused, none_left)
        return scores, (*notes, *self.notes(), *filter(None, [fused.why_none_matched()]))

    def with_item(self, scores: SemanticScores, doc: int) -> SemanticScores:
        """Return the scores including one document that scope, filters or query left out.

        Raises:
            UnavailableError: The embedder cannot be used now.
        """
        mask = np.zeros(self.reader.size, bool)
        mask[doc] = True
        alone = similarities(scores.similarities.meaning, scores.similarities.readings, mask)
        docs = unique(scores.docs, np.asarray([doc]))
        similarity = np.full(len(docs), alone.best[doc])
        similarity[np.searchsorted(docs, scores.docs)] = scores.fused.similarity
        fused = self.fuse(scores.evaluation, similarity, docs, scores.threshold)
        return scores._replace(similarities=alone, docs=docs, fused=fused)

    def _has_words(self) -> bool:
        """Return whether there is a text to embed. A text without words is an error of the query, unless dropped."""
        wordless = sum(not analysis.parts(text) for text in self._texts)
        if wordless:
            self.evaluate(self.reading.main, self.reading)
        return wordless < len(self._texts)

    def readings(self, embedder: Embedder) -> dict[str, float]:
        """Return the text as typed and, if the model's tokens are known, as corrected, each with its weight."""
        readings, is_token = {self.text: 1.0}, getattr(embedder, "is_token", None)
        if is_token and self.reading.is_bag and self.reading.forgiving:
            read, certainty = self._relaxed().reading(self.text, is_token, self._is_unknown)
            readings.setdefault(read, certainty)
        return readings

    def threshold(self, embedder: Embedder) -> float:
        """Return the similarity of a semantic match."""
        return embedder.threshold if self.request.mode.threshold is None else self.request.mode.threshold

    def why_none_left(self, *, is_empty: bool) -> str:
        """Return why no item is left; ``is_empty`` means that scope, space and filters alone leave none."""
        if is_empty:
            return "scope, space and filters leave no item"
        own = [] if isinstance(self.required, ast.Everything) else [str(self.required)]
        also = [f"{name}:({parsed.text})" for name, parsed in self.reading.fixed]
        return f"no item matches the required parts of the query: {' '.join(own + also)}"

    def fallback(self, cause: str) -> str:
        """Return the warning that says why keywords answer."""
        mode = self.request.mode
        more = "" if mode.plain else "; options of that mode do not apply"
        return f"keyword results instead of {mode.name} ones: {cause}{more}"

    def fuse(self, evaluation: Evaluation, similarity: Floats, docs: Ints, threshold: float) -> FusedScores:
        """Return the fused scores of documents, given their similarities."""
        mode, reader = self.request.mode, evaluation.reader
        if mode.name == "semantic":
            factors = np.asarray([self.boosts[part.root.space] for part in reader.parts] or [1.0])
            return by_similarity(similarity, factors[reader.part_numbers(docs)], threshold)
        keyword = np.zeros(len(docs))
        if evaluation.scored():
            keyword = keyword_score(evaluation.scores(docs), evaluation.coverage(docs))
        keyword *= evaluation.docs().mask[docs]
        return fuse(mode.fusion, similarity, keyword, threshold)

    def notes(self) -> Iterator[str]:
        """Yield a warning for each part of the request that has no effect, and for how words are read."""
        if self.request.mode.name == "hybrid":
            messages = self._relaxed().messages() if self._is_sentence else ()
            yield from (f"by words: {message}" for message in messages)
            return
        request, main = self.request, self.reading.main
        forgiving = not request.fuzzy and any(isinstance(part, ast.Fuzzy) for part in ast.walk(main))
        in_fields = any(
            isinstance(part, ast.Fuzzy) for _, parsed in self.reading.fixed for part in ast.walk(parsed.ast)
        )
        fuzzy = request.fuzzy and not in_fields
        given = {"level": request.level, "fuzzy": fuzzy, "^": has_boost(main), "~": forgiving}
        yield from (f"{name} has no effect in semantic mode" for name, is_given in given.items() if is_given)
