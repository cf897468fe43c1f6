"""The twin of search: every item is read in full and asked about everything, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from rye.query import ast
from tests.support.naive_analysis import fold, joined_form, parts, stem
from tests.support.naive_bind import Binder, score, scored_leaves
from tests.support.naive_docs import LEVELS, WEIGHTS, Corpus, NaiveDoc, read_corpus, withdrawn
from tests.support.naive_filters import check_filters, passes, scope_test
from tests.support.naive_values import read_date

ANY_CAP = 10
"""Hits that the last stage of relaxation shows at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NaiveOptions:
    """What a search is told besides its query.

    Attributes:
        text: The raw query, for the rule that an item of exactly that id or name comes first.
        fields: Further queries, each bound to the field it stands under.
        filters: Exact values, lists of which any will do, ``!x``, ``>= <= > <``, ``date_from`` and ``date_to``.
    """

    text: str = ""
    scope: str = "*"
    space: str = "all"
    limit: int = 10
    offset: int = 0
    sort_by: str = "score"
    fields: Mapping[str, ast.Node] = field(default_factory=dict)
    filters: Mapping[str, Any] = field(default_factory=dict)
    level: int | None = None
    relax: bool = True
    include_superseded: bool = False


@dataclass(frozen=True, slots=True)
class NaiveAnswer:
    """The page that a search must give.

    Attributes:
        ids: Type, id and source of each hit, in order.
        total: Hits that paging can reach.
        scores: The scores of the hits on the page, not rounded.
        stage: Which relaxation answered; ``all`` where none found anything.
        docs: The hits on the page.
        exact: For each hit on the page whether its id or name is the query.
    """

    ids: tuple[tuple[str, str, str], ...]
    total: int
    scores: tuple[float, ...]
    stage: str
    docs: tuple[NaiveDoc, ...]
    exact: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Hit:
    """One item that is found."""

    doc: NaiveDoc
    score: float
    exact: bool


def search(docs: Sequence[NaiveDoc], query: ast.Node, *, options: NaiveOptions) -> NaiveAnswer:
    """Search all items by brute force.

    Raises:
        QueryError: As binding does.
        ArgumentError: ``bad-scope`` or ``bad-filter``.
    """
    corpus = read_corpus(docs, options.space)
    in_scope = scope_test(options.scope)
    check_filters(corpus, options.filters)
    allowed = [
        in_scope(doc) and passes(values, options.filters) and (options.include_superseded or not withdrawn(doc))
        for doc, values in zip(corpus.docs, corpus.values, strict=True)
    ]
    stage, hits = "all", find(corpus, query, allowed, options)
    if not hits:
        for name, relaxed in relaxations(corpus, query, options):
            if found := find(corpus, relaxed, allowed, options):
                stage, hits = name, found
                break
    hits.sort(key=lambda hit: order(hit, options.sort_by))
    if stage == "any":
        hits = hits[:ANY_CAP]
    page = hits[options.offset : options.offset + options.limit]
    return NaiveAnswer(
        tuple((str(hit.doc.item.type), str(hit.doc.item.id), hit.doc.source) for hit in page),
        len(hits),
        tuple(hit.score for hit in page),
        stage,
        tuple(hit.doc for hit in page),
        tuple(hit.exact for hit in page),
    )


def default_fields(options: NaiveOptions) -> tuple[str, ...]:
    """Return the text fields that a leaf without field is bound to."""
    return tuple(name for name in WEIGHTS if options.level is None or name in LEVELS[options.level])


def find(corpus: Corpus, query: ast.Node, allowed: Sequence[bool], options: NaiveOptions) -> list[Hit]:
    """Return everything that the query or the exact rule finds, in no order."""
    binder = Binder(corpus, default_fields(options))
    main = binder.bind(query)
    further = [binder.bind(ast.Field(name, operand)) for name, operand in options.fields.items()]
    leaves = [leaf for bound in (main, *further) for leaf in scored_leaves(bound)]
    wanted = fold(options.text.strip())
    hits = []
    for number, doc in enumerate(corpus.docs):
        exact = wanted in {fold(doc.item.id), fold(doc.item.name)}
        found = (exact or main.matches(number)) and all(bound.matches(number) for bound in further)
        if allowed[number] and found:
            hits.append(Hit(doc, score(leaves, number), exact))
    return hits


def order(hit: Hit, sort_by: str) -> tuple[Any, ...]:
    """Return what a hit is sorted by."""
    item = hit.doc.item
    tie = (hit.doc.priority, item.id, str(item.type), hit.doc.path)
    if sort_by == "name":
        return item.name.casefold(), *tie
    if sort_by == "date":
        moment = read_date(item.updated or item.created)
        age = datetime.max.replace(tzinfo=UTC) - moment if moment else timedelta.max
        return age, *tie
    return not hit.exact, bool(withdrawn(hit.doc)), -round(hit.score, 4), *tie


def relaxations(corpus: Corpus, query: ast.Node, options: NaiveOptions) -> Iterator[tuple[str, ast.Node]]:
    """Yield the further stages, each with its query; only a bare bag of words has any."""
    words = query.operands if isinstance(query, ast.And) else (query,)
    bag = [word for word in dict.fromkeys(words) if isinstance(word, ast.Word)]
    if not options.relax or len(bag) < len(set(words)):
        return
    dictionary = corpus.document_frequencies(default_fields(options))
    fuzzy = [ast.Fuzzy(word.text) for word in bag]
    lenient = [word if is_known(word.text, dictionary) else ast.Fuzzy(word.text) for word in bag]
    yield "fuzzy", _group(ast.And, fuzzy if lenient == bag else lenient)
    yield "substring", _group(ast.And, [ast.Wildcard(f"*{escape(word.text)}*") for word in bag])
    yield "any", _group(ast.Or, lenient)


def is_known(text: str, dictionary: Mapping[str, int]) -> bool:
    """Tell whether the dictionary has all parts of a word, each maybe inflected, or its joined form."""
    form = joined_form(text)
    stems = {stem(term) for term in dictionary}
    return form in dictionary or all(stem(part) in stems for part in parts(text))


def escape(text: str) -> str:
    """Return a wildcard pattern that stands for the text itself."""
    return "".join(f"\\{character}" if character in "*?\\" else character for character in text)


def _group(kind: type[ast.And | ast.Or], operands: Sequence[ast.Node]) -> ast.Node:
    return operands[0] if len(operands) == 1 else kind(tuple(operands))
