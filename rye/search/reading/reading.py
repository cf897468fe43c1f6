"""Read a query: turn its text and options into a :class:`Reading`, before anything is evaluated.

A query that parses is taken literally. One that does not parse, or that names a field unlike any known field, is read
as plain words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import Enum, auto
from typing import NamedTuple, TypeAlias

from rye import query
from rye.errors import QueryError
from rye.index.text import analysis
from rye.items.model import TYPE_NAMES
from rye.query import ast
from rye.query.limits import MAX_FUZZY, MAX_PHRASE
from rye.search.contract.fields import TEXT_FIELDS, canonical, text_leaves
from rye.search.contract.request import Request
from rye.search.matching.bind import Context, bind
from rye.search.reading.options import chain_near, fuzz_field, fuzzed, is_near, with_prefix
from rye.search.reading.words import (
    AUTO_WORDS,
    SENTENCE,
    all_of,
    counted,
    is_request,
    operands_of,
    plain_words,
    without_invisible,
    without_punctuation,
    words_in,
)

NO_MATCH = "no item matches the query as written"

Keys: TypeAlias = Callable[[], frozenset[str]]
"""Returns the metadata keys of the items."""


class Kind(Enum):
    """What a query is, which decides what is tried if it finds nothing as written."""

    LITERAL = auto()
    """Nothing else is tried: the query has no words, or must not relax."""
    WORD = auto()
    """One plain word."""
    WORDS = auto()
    """Several plain words."""
    SENTENCE = auto()
    """More plain words than :data:`~rye.search.reading.words.SENTENCE`."""
    EXPRESSION = auto()
    """A query with operators, of which the words may be searched alone."""
    EXCLUDING = auto()
    """A short query that excludes; its text may be searched as one phrase."""


FEW = (Kind.WORD, Kind.WORDS)
"""Plain words that are not a sentence."""

BAG = (*FEW, Kind.SENTENCE)
"""Plain words that may relax."""


class Reading(NamedTuple):
    """How a query is read.

    Attributes:
        text: The query as typed.
        main: The query as parsed.
        kind: What it is.
        words: The words that may be searched loosely, with how often each occurs; empty if nothing may.
        bag: The words of a bag of words, or of a query that may be a question, with how often each occurs: they may
            name items. Empty for any other query.
        fixed: The entries of the ``fields`` option, by field; they never relax.
        forgiving: Whether typos in ``words`` may be forgiven.
        dropped: What lenient parsing left out.
        warnings: Options that had no effect, and entries of ``fields`` that are searched as plain words.
        prefixed: The query that is tried first instead of ``main``, in a prefix search.
        conditions: The conditions of an expression, such as ``type:tool``; they hold for its words, too.
        fault: Why the query is read as plain words, if it is.
    """

    text: str
    main: ast.Node
    kind: Kind
    words: Mapping[ast.Word, int]
    bag: Mapping[ast.Word, int]
    fixed: tuple[tuple[str, ast.Parsed], ...]
    forgiving: bool
    dropped: tuple[ast.Dropped, ...]
    warnings: tuple[str, ...]
    prefixed: ast.Node | None = None
    conditions: tuple[ast.Node, ...] = ()
    fault: QueryError | None = None

    @property
    def is_bag(self) -> bool:
        """Whether the query is plain words that may relax."""
        return self.kind in BAG

    def is_prose(self) -> bool:
        """Return whether the query consists only of words, quoted words and question marks."""
        return query.loosen(self.main) is not None

    def asks_by_meaning(self, request: Request) -> bool:
        """Return whether mode ``auto`` may be hybrid: for a sentence without an order, a prefix or a level.

        These depend on words, and semantic search would list items that are only slightly similar.
        """
        is_long = self.is_bag and sum(self.words.values()) >= AUTO_WORDS and self.is_prose() and not self.fault
        return is_long and request.sort_by == "score" and request.level is None and not request.options["prefix"]


def request_in(reading: Reading) -> Reading | None:
    """Return the reading of a pasted request as plain words, whose operators are punctuation; None for other queries.

    It holds only if the query finds nothing as written.
    """
    if reading.kind is not Kind.EXPRESSION or reading.conditions or not is_request(reading.text):
        return None
    note = f"{NO_MATCH}; operators are read as words"
    warnings = (*reading.warnings, note)
    return reading._replace(main=all_of(reading.words), kind=Kind.SENTENCE, bag=reading.words, warnings=warnings)


def _kind_of(words: Mapping[ast.Word, int]) -> Kind:
    few = {0: Kind.LITERAL, 1: Kind.WORD}.get(len(words), Kind.WORDS)
    return Kind.SENTENCE if len(words) > SENTENCE else few


def read(request: Request, keys: Keys = frozenset) -> Reading:
    """Parse a query, and apply its ``fields``, ``fuzzy``, ``prefix`` and ``proximity`` options.

    Args:
        request: The request.
        keys: Returns the metadata keys of the items.

    Raises:
        QueryError: An unknown field similar to a known one, another fault in the value of a field, or any fault if
            ``relax`` is off.
        ArgumentError: ``proximity`` does not fit the query.
    """
    try:
        parsed = _parse(request.query, request, keys)
        if request.relax and is_request(request.query):
            bind(parsed.ast, Context(request.query, parsed.ast, keys))
    except QueryError as error:
        if not request.relax or (error.details.get("nearest") and not is_request(request.query)):
            raise
        plain = plain_words(request.query)
        return _with_options(request, plain.ast, plain.dropped, keys)._replace(fault=error)
    reading = _read_parsed(request, parsed, keys)
    return _with_fallback(reading, parsed.ast) if request.relax and not reading.words else reading


def _read_parsed(request: Request, parsed: ast.Parsed, keys: Keys) -> Reading:
    """Return the reading of a query that parses: of the question in it, if it is one."""
    main = parsed.ast
    if not request.relax or is_near(request, main) or query.as_words(main) is not None:
        return _with_options(request, main, parsed.dropped, keys)
    question = _as_question(main, request)
    if _is_question(question, main, request):
        return _with_options(request, question, parsed.dropped, keys)
    reading = _with_options(request, main, parsed.dropped, keys)
    if question == main:
        return reading
    bag = _with_options(request, question, (), keys).bag
    return reading._replace(kind=_kind_of(bag), words=bag, bag=bag)


def _with_fallback(reading: Reading, main: ast.Node) -> Reading:
    """Return the reading of a query with operators, with what else may be searched.

    ``main`` is the query as parsed, without its options.
    """
    text = reading.text
    if is_request(text):
        return reading._replace(kind=Kind.EXPRESSION, words=counted(operands_of(plain_words(text).ast)))
    if any(isinstance(node, ast.Not) for node in ast.walk(main)):
        return reading._replace(kind=Kind.EXCLUDING) if 1 < len(analysis.parts(text)) <= MAX_PHRASE else reading
    if words := counted(word for leaf in text_leaves(main) for word in words_in(leaf)):
        conditions = tuple(node for node in operands_of(main) if not any(text_leaves(node)))
        return reading._replace(kind=Kind.EXPRESSION, words=words, conditions=conditions)
    return reading


def _check_fields(text: str, node: ast.Node, keys: Keys) -> None:
    """Raise the error of an unknown field. Other faults are raised when the query is evaluated."""
    try:
        bind(node, Context(text, node, keys))
    except QueryError as error:
        if error.code == "unknown-field":
            raise


def _parse(text: str, request: Request, keys: Keys) -> ast.Parsed:
    """Parse a query, and leave out invisible characters and punctuation that stands alone.

    Raises:
        QueryError: It does not parse, or names an unknown field.
    """
    shown, unseen_ones = without_invisible(text)
    parsed = query.parse(shown, lenient=request.lenient)
    if ":" in shown and not request.lenient:
        _check_fields(shown, parsed.ast, keys)
    main, dropped = without_punctuation(parsed.ast)
    left_out = (*unseen_ones, *parsed.dropped, *dropped)
    return parsed._replace(ast=main, dropped=left_out) if left_out else parsed


def _as_question(node: ast.Node, request: Request) -> ast.Node:
    """Return a query without the question marks after its words; beside other words, ``type:id`` is read as the id."""
    plain = _without_types(node)
    if len(operands_of(plain)) < 2 or query.loosen(plain) is None:
        plain = node
    bare, _ = query.without_question_marks(plain, request.query)
    return node if isinstance(bare, ast.Everything) else bare


def _is_question(question: ast.Node, written: ast.Node, request: Request) -> bool:
    """Return whether a query is a question; if not, it is first tried as written.

    A query of more than :data:`SENTENCE` words is one. In a shorter query, a question mark is a wildcard, unless it
    stands alone, the mode is semantic or hybrid, or it is the only one and ends several words.
    """
    words = sum(isinstance(operand, ast.Word) for operand in operands_of(question))
    if words > SENTENCE:
        return True
    _, marks = query.without_question_marks(written, request.query)
    ended = len(marks) == 1 and words > 1 and request.query.rstrip().endswith("?")
    by_meaning = request.mode.name in ("semantic", "hybrid")
    has_types = len(operands_of(written)) > 1 and _without_types(written) != written
    alone = len(operands_of(question)) < len(operands_of(written))
    return alone or (bool(marks) and not has_types and (ended or by_meaning))


def _without_types(node: ast.Node) -> ast.Node:
    """Return a query with ``type:id`` among its words read as the id."""
    match node:
        case ast.And(operands=operands):
            return replace(node, operands=tuple(map(_without_types, operands)))
        case ast.Field(name=kind, operand=ast.Word() | ast.Wildcard()) if kind.casefold() in TYPE_NAMES:
            return replace(node.operand, span=node.span)
        case _:
            return node


def _with_options(request: Request, main: ast.Node, left_out: Sequence[ast.Dropped], keys: Keys) -> Reading:
    """Apply the other options of the request to a query."""
    dropped, warnings = list(left_out), list[str]()
    proximity = request.proximity if is_near(request, main) else None
    if proximity is None and request.proximity is not None:
        warnings.append("proximity had no effect: the query has fewer than two words")
    prefixed = with_prefix(main, request.query) if request.options["prefix"] else None
    bag: Mapping[ast.Word, int] = {}
    if proximity is not None:
        main, prefixed = chain_near(main, proximity), prefixed and chain_near(prefixed, proximity)
    elif not request.fuzzy:
        is_prose = sum(isinstance(operand, ast.Word) for operand in operands_of(main)) > SENTENCE
        plain = query.loosen(main) if request.lenient or is_prose else query.as_words(main)
        bag = Counter(word for word in plain or () if word.text.isalnum() or analysis.searchable(word.text))
    fixed = tuple(
        (name, _field_query(request, name, text, keys, warnings=warnings)) for name, text in request.fields.items()
    )
    dropped += [part for _, parsed in fixed for part in parsed.dropped]
    if request.fuzzy:
        before, distance = (main, fixed), request.fuzzy_distance
        if distance is not None and distance > MAX_FUZZY:
            warnings.append(f"fuzzy forgives {MAX_FUZZY} letters at most: distance {distance} is read as {MAX_FUZZY}")
            distance = MAX_FUZZY
        main, prefixed = fuzzed(main, distance), prefixed and fuzzed(prefixed, distance)
        fixed = tuple((name, parsed._replace(ast=fuzz_field(name, parsed.ast, distance))) for name, parsed in fixed)
        if (main, fixed) == before and (fixed or not isinstance(main, ast.Everything)):
            warnings.append("fuzzy had no effect: the query has no plain word in a text field")
    words = bag if request.relax else {}
    return Reading(
        text=request.query,
        main=main,
        kind=_kind_of(words),
        words=words,
        bag=bag,
        fixed=fixed,
        forgiving=request.fuzzy is not False,
        dropped=tuple(dropped),
        warnings=tuple(warnings),
        prefixed=prefixed,
    )


def _field_query(request: Request, name: str, text: str, keys: Keys, *, warnings: list[str]) -> ast.Parsed:
    """Parse one entry of ``fields``. Errors name the entry, because its text is not the caller's query."""
    try:
        return _parse(text, request, keys)
    except QueryError as error:
        error = in_field(error, name)
        if not (request.relax and canonical(name) in TEXT_FIELDS) or error.details.get("nearest"):
            raise error from None
        warnings.append(f"{error.message}; it is searched as plain words")
        return plain_words(text)


def in_field(error: QueryError, name: str) -> QueryError:
    """Return an error that names the entry of ``fields``; its caret is drawn under the text of that entry."""
    return error.preceded(f"fields[{name!r}]: ")
