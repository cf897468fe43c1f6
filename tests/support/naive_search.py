"""The twin of search: every item is read in full and asked about everything, one after the other."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from rye.errors import QueryError
from rye.query import ast
from tests.support.naive_analysis import fold, visible
from tests.support.naive_bind import Binder, score, scored_leaves
from tests.support.naive_docs import LEVELS, WEIGHTS, Corpus, NaiveDoc, read_corpus, withdrawn
from tests.support.naive_filters import check_filters, passes, scope_test
from tests.support.naive_pasted import (
    REQUEST,
    as_text,
    fallback_of,
    is_misnamed,
    verbatim,
    words_of,
)
from tests.support.naive_prose import SENTENCE, Sentence, bag_of, group, with_content, without_punctuation
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


def _seen(node: ast.Node) -> ast.Node:
    """Return a query without what nobody sees in its words."""
    match node:
        case ast.Word(text):
            return replace(node, text=visible(text))
        case ast.And(operands) | ast.Or(operands):
            return replace(node, operands=tuple(map(_seen, operands)))
        case ast.Not(operand) | ast.Boost(operand) | ast.Field(_, operand):
            return replace(node, operand=_seen(operand))
        case _:
            return node


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
    nothing = ast.Not(ast.Everything())
    further = {name: without_punctuation(node) or nothing for name, node in options.fields.items()}
    options = replace(options, fields=further)
    fields = default_fields(options)
    written = query and (without_punctuation(_seen(query)) or nothing)
    stage, main = settled(corpus, written, options)
    sentence = Sentence(bag_of(main), corpus, fields, corpus.document_frequencies(fields))
    named = [sentence.names(doc) for doc in corpus.docs]
    exact = referred_to(corpus, options)

    def find_stage(node: ast.Node) -> list[Hit]:
        if sentence.words and options.relax and holds_phrase(corpus, node, reached, options):
            phrase = ast.Boost(verbatim(options.text) or ast.Everything(), float(len(sentence.words)))
            node = ast.And((node, ast.Or((ast.Everything(), phrase))))
        return find(corpus, node, allowed, options, named=named, exact=exact)

    hits = find_stage(with_content(main) if sentence.words and options.relax else main)
    enough = ANY_CAP if len(sentence.words) >= SENTENCE else 1
    if len(hits) < enough and options.relax and sentence.words:
        for name, relaxed in sentence.stages():
            if len(hits) >= enough and (stage, name) != ("fuzzy", "substring"):
                break
            found = find_stage(relaxed)
            if len(found) > (len(hits) if name == "substring" else 0):
                stage, hits = name, found
    if not hits and options.relax and stage == "all" and not sentence.words:
        fallback = fallback_of(written or nothing, options.text)
        naming = replace(sentence, words=fallback.words)
        named = [naming.names(doc) for doc in corpus.docs]
        loose = group(ast.And, [naming.any(), *fallback.conditions]) if fallback.words else fallback.phrase
        hits = find(corpus, loose, allowed, options, named=named) if loose else []
        stage = ("any" if fallback.words else "literal") if hits else stage
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


def holds_phrase(corpus: Corpus, node: ast.Node, reached: Sequence[bool], options: NaiveOptions) -> bool:
    """Tell whether an item that a query finds has the text word for word."""
    phrase = verbatim(options.text)
    if phrase is None:
        return False
    matches = [{id(hit.doc) for hit in find(corpus, one, reached, options)} for one in (node, phrase)]
    return bool(set.intersection(*matches))


def settled(corpus: Corpus, query: ast.Node | None, options: NaiveOptions) -> tuple[str, ast.Node]:
    """Return the first stage and its query: as plain words where it is an error or names no field, else as written."""
    if query is None or (options.relax and is_misnamed(query, corpus.metadata_keys)):
        return "text", as_text(options.text)
    if options.relax and len(words_of(as_text(options.text))) > REQUEST:
        try:
            Binder(corpus, default_fields(options)).bind(query)
        except QueryError:
            return "text", as_text(options.text)
    return "all", query


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
    words = text.rstrip("?!.,;: ").split()
    if 2 <= len(words) < SENTENCE and all(word.isalnum() for word in words):
        choices += [("-".join(words), ""), ("_".join(words), "")]
    if options.relax:
        choices += list(readings(text))
    for at, (wanted, suffix) in enumerate(choices):
        found = [
            number
            for number, doc in enumerate(corpus.docs)
            if fold(wanted) in map(fold, (doc.item.id, doc.item.name, f"{doc.item.type}:{doc.item.id}"))
            or (at < 2 and wanted and fold(wanted) == fold(doc.item.title) and not withdrawn(doc))
            if doc.path.endswith(suffix)
        ]
        if found:
            return found
    return []


def readings(text: str) -> Iterator[tuple[str, str]]:
    """Yield each id or ``type:id`` that a reference may mean, with the extension that the item's file must have."""
    name = text.lstrip(QUOTES).rstrip(QUOTES + ".,;:!?").removeprefix("@")
    head = name.split("#")[0]
    places = head.replace("-", ":").split(":")
    lines = 2 if len(places) > 2 and places[-1].isdecimal() and places[-2].isdecimal() else int(places[-1].isdecimal())
    at = len(head) - sum(len(place) + 1 for place in places[-lines:]) if lines else len(head)
    if lines == 2 and head[at : at + 1] == "-":
        at = len(head) - len(places[-1]) - 1
    path = head[:at] if head[at : at + 1] == ":" else head
    stem, dot, end = path.rpartition(".")
    for read, suffix in [(name, ""), (head, ""), (path, ""), *([(stem, f"{dot}{end}")] if end in EXTENSIONS else [])]:
        if "/" in read.strip("/") or read.startswith(("tool:", "directive:", "knowledge:")):
            yield read, suffix
        for kind, folder in (("directive", "directives"), ("tool", "tools"), ("knowledge", "knowledge")):
            before, slash, after = read.partition(f"{folder}/")
            if slash and after and (before in {"", "./", ".ai/"} or before.endswith("/.ai/")):
                yield f"{kind}:{after}", suffix


QUOTES = "`'()[]<>"
EXTENSIONS = {"md", "py", "yaml", "yml", "json", "toml", "js", "ts", "mjs", "cjs", "sh"}


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
