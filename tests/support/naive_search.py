"""The twin of search: every item is read in full and asked about everything, one after the other."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from rye.query import ast
from tests.support.naive_analysis import fold
from tests.support.naive_bind import Binder, score, scored_leaves
from tests.support.naive_docs import LEVELS, WEIGHTS, Corpus, NaiveDoc, read_corpus, withdrawn
from tests.support.naive_filters import check_filters, passes, scope_test
from tests.support.naive_pasted import as_text, is_misnamed, may_be_text, phrase_of, verbatim, visible
from tests.support.naive_prose import SENTENCE, Sentence, bag_of, without_punctuation
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


def search(docs: Sequence[NaiveDoc], query: ast.Node | None, *, options: NaiveOptions) -> NaiveAnswer:
    """Search all items by brute force; the query is None where its text is an error in the language.

    Raises:
        QueryError: As binding does.
        ArgumentError: ``bad-scope`` or ``bad-filter``.
    """
    corpus = read_corpus(docs, options.space)
    options = replace(options, text=visible(options.text))
    in_scope = scope_test(options.scope)
    check_filters(corpus, options.filters)
    reached = [
        in_scope(doc) and passes(values, options.filters)
        for doc, values in zip(corpus.docs, corpus.values, strict=True)
    ]
    allowed = [
        reach and (options.include_superseded or not withdrawn(doc))
        for doc, reach in zip(corpus.docs, reached, strict=True)
    ]
    fields = default_fields(options)
    written = query and (without_punctuation(query) or ast.Everything())
    stage, main = settled(corpus, written, reached, options)
    sentence = Sentence(bag_of(main), corpus, fields, corpus.document_frequencies(fields))
    named = [sentence.names(doc) for doc in corpus.docs]
    exact = referred_to(corpus, options)
    hits = find(corpus, main, allowed, options, named=named, exact=exact)
    complete: list[NaiveDoc] = []
    if sentence.words and options.relax and (phrase := verbatim(options.text)):
        binder = Binder(corpus, fields)
        both = [binder.bind(main), binder.bind(phrase)]
        complete = [doc for number, doc in enumerate(corpus.docs) if all(bound.matches(number) for bound in both)]
    enough = ANY_CAP if len(sentence.words) >= SENTENCE else 1
    if len(hits) < enough and options.relax and sentence.words:
        for name, relaxed in sentence.stages():
            if len(hits) >= enough and (stage, name) != ("fuzzy", "substring"):
                break
            found = find(corpus, relaxed, allowed, options, named=named, exact=exact)
            if len(found) > (len(hits) if name == "substring" else 0):
                complete = [hit.doc for hit in hits if name == "any"]
                stage, hits = name, found
    hits.sort(key=lambda hit: order(hit, options.sort_by, complete))
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


def settled(
    corpus: Corpus, query: ast.Node | None, reached: Sequence[bool], options: NaiveOptions
) -> tuple[str, ast.Node]:
    """Return the first stage and its query: as written, or as text where that finds nothing or text is surely there."""
    words = query is not None and bag_of(query)
    if query is not None and options.relax and is_misnamed(query, corpus.metadata_keys):
        return "text", as_text(options.text)
    if query is not None and (words or not options.relax or not may_be_text(options.text, query)):
        return "all", query
    if query is None and not may_be_text(options.text, None):
        message = "the query is an error, and no text"
        raise ValueError(message)
    text, phrase = as_text(options.text), phrase_of(options.text)
    if query is None or not find(corpus, query, reached, options):
        return "text", text
    return ("text", text) if phrase and find(corpus, phrase, reached, options) else ("all", query)


def default_fields(options: NaiveOptions) -> tuple[str, ...]:
    """Return the text fields that a leaf without field is bound to."""
    return tuple(name for name in WEIGHTS if options.level is None or name in LEVELS[options.level])


def find(
    corpus: Corpus,
    query: ast.Node,
    allowed: Sequence[bool],
    options: NaiveOptions,
    *,
    named: Sequence[bool] = (),
    exact: Container[int] = (),
) -> list[Hit]:
    """Return everything that the query or the exact rules find, in no order.

    An item that a word of a sentence names is found where anything is and the words may relax.
    """
    binder = Binder(corpus, default_fields(options))
    main = binder.bind(query)
    further = [binder.bind(ast.Field(name, operand)) for name, operand in options.fields.items()]
    leaves = [leaf for bound in (main, *further) for leaf in scored_leaves(bound)]
    named = named or [False] * len(corpus.docs)
    hits = []
    left_out = []
    for number, doc in enumerate(corpus.docs):
        hit = Hit(doc, score(leaves, number), number in exact or named[number])
        if allowed[number] and all(bound.matches(number) for bound in further):
            if number in exact or main.matches(number):
                hits.append(hit)
            elif named[number]:
                left_out.append(hit)
    return hits + left_out if hits and options.relax else hits


def referred_to(corpus: Corpus, options: NaiveOptions) -> list[int]:
    """Return the items that the text names as a whole, else those that it refers to as people write references."""
    text = options.text.strip()
    choices = [(text, ""), (text.rstrip("?!.,;: "), "")]
    if options.relax:
        name = text.removeprefix("@")
        head = name.split("#")[0]
        stem, dot, end = head.rpartition(".")
        read = [(name, ""), (head, ""), *([(stem, f"{dot}{end}")] if end in EXTENSIONS else [])]
        types = ("tool:", "directive:", "knowledge:")
        choices += [each for each in read if "/" in each[0].strip("/") or each[0].startswith(types)]
    for wanted, suffix in choices:
        found = [
            number
            for number, doc in enumerate(corpus.docs)
            if fold(wanted) in map(fold, (doc.item.id, doc.item.name, f"{doc.item.type}:{doc.item.id}"))
            and doc.path.endswith(suffix)
        ]
        if found:
            return found
    return []


EXTENSIONS = {"md", "py", "yaml", "yml", "json", "toml", "js", "ts", "mjs", "cjs", "sh"}


def order(hit: Hit, sort_by: str, complete: Sequence[NaiveDoc]) -> tuple[Any, ...]:
    """Return what a hit is sorted by."""
    item = hit.doc.item
    tie = (hit.doc.priority, item.id, str(item.type), hit.doc.path)
    if sort_by == "name":
        return item.name.casefold(), *tie
    if sort_by == "date":
        moment = read_date(item.updated or item.created)
        age = datetime.max.replace(tzinfo=UTC) - moment if moment else timedelta.max
        return age, *tie
    return not hit.exact, bool(withdrawn(hit.doc)), hit.doc not in complete, -round(hit.score, 4), *tie
