"""Plan a search: parse its query, and say which queries to try in turn, from strict to relaxed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from rye import query
from rye.errors import QueryError
from rye.index import analysis
from rye.index.schema import TYPE_NAMES
from rye.index.terms import escape
from rye.parameters import ParameterError
from rye.query import ast, loosen
from rye.query.limits import MAX_FUZZY, MAX_PHRASE
from rye.search.fields import TEXT_FIELDS, canonical, looked_for
from rye.search.pasted import (
    as_text,
    is_copied,
    is_pasted,
    without_invisible,
    without_punctuation,
)
from rye.search.relax import FUNCTION_WORDS, Dictionary
from rye.search.request import Request


def _with_prefix(node: ast.Node, text: str) -> ast.Node | None:
    """Return a query that takes the word its text ends in also as a prefix; None where it ends in no word."""
    match node:
        case ast.And(operands=operands) | ast.Or(operands=operands) | ast.Near(operands=operands):
            last = _with_prefix(operands[-1], text)
            return last and replace(node, operands=(*operands[:-1], last))
        case ast.Field(name=name, operand=ast.Word(text=word, span=span)) if canonical(name) == "is":
            return replace(node, operand=ast.Wildcard(f"{escape(word)}*", span)) if span[1] == len(text) else None
        case ast.Field(operand=operand):
            last = _with_prefix(operand, text)
            return last and replace(node, operand=last)
        case ast.Word(text=word, span=span) if span[1] == len(text):
            return ast.Or((node, ast.Wildcard(f"{escape(word)}*", span)), span)
        case _:
            return None


ANY_LIMIT = 10
"""Hits that the last stage, ``any``, gives at most; a sentence of which fewer items have all words goes on to it."""

AS_WRITTEN = ("all", "text")
"""The first stage: every word as it is written, in a query or in a text."""

FEW = 2
"""At most this many hits may come from items that quote a word cut short, rather than from what was meant."""

_LEAST_CUT = 4
"""Letters of a word that may be one cut short."""

_FAR_MORE = 5
"""Times as many hits that the completed word must have to be suggested."""

SENTENCE = 4
"""More words than these are a sentence, which is not matched by parts of words: long items have all of them."""


class Stage(NamedTuple):
    """One query to try.

    Attributes:
        name: Its label.
        ast: The query.
        enough: The hits from which on it answers; the last stage answers with any.
        wider: The stage that answers in its place where it has more hits.
    """

    name: str
    ast: ast.Node
    enough: int = 1
    wider: Stage | None = None


class Plan(NamedTuple):
    """The queries to evaluate.

    Attributes:
        main: What the query says.
        fixed: What the ``fields`` dictionary adds, by field; it never relaxes.
        bag: The words of a bare bag of words, or of ``as_sentence``, which may name items, and how often each stands
            there; empty for any other query.
        words: Those that may relax: none or all of them.
        forgiving: Whether typos in them may be forgiven.
        dropped: What lenient parsing left out, and question marks that are punctuation.
        warnings: Options that had nothing to act on.
        as_sentence: The query with question marks and ``type:id`` read as words, in case it finds nothing as written.
        prefixed: What the first stage looks for instead of ``main`` in a prefix search.
        is_text: Whether no character of the query is read as an operator, though some could be.
    """

    main: ast.Node
    fixed: tuple[tuple[str, ast.Parsed], ...]
    bag: Mapping[ast.Word, int]
    words: Mapping[ast.Word, int]
    forgiving: bool
    dropped: tuple[ast.Dropped, ...]
    warnings: tuple[str, ...]
    as_sentence: Plan | None = None
    prefixed: ast.Node | None = None
    is_text: bool = False

    def stages(self, unknown: Callable[[str], bool], read: Callable[[], ast.Node]) -> Iterator[Stage]:
        """Yield the queries to try, from strict to broad; the first with enough hits answers.

        ``unknown`` says whether no item has a word; ``read`` returns what stage ``any`` looks for.
        """
        sentence = len(self.words) > SENTENCE
        enough = ANY_LIMIT if sentence else 1
        main = self.prefixed or self.main
        yield Stage("text" if self.is_text else "all", _with_content(main) if self.words else main, enough)
        if not self.words:
            return
        lacking = [word for word in self.words if unknown(word.text)]
        substring = None
        if not sentence:
            content = [word for word in self.words if not _is_function_word(word)] or [*self.words]
            if not any(analysis.has_signs(word.text) for word in content):
                pieces = [ast.Wildcard(f"*{escape(word.text)}*", span=word.span) for word in content]
                substring = Stage("substring", _and(pieces))
        if self.forgiving and (lacking or not sentence):
            targets = lacking or self.words
            # a number is no slip: another one means something else
            slips = [word for word in targets if not any(map(str.isdigit, word.text))]
            words = [ast.Fuzzy(word.text, span=word.span) if word in slips else word for word in self.words]
            if slips:
                yield Stage("fuzzy", _with_content(_and(words)), enough, wider=substring)
        if substring:
            yield substring
        if len(self.words) > 1 or any(_has_parts(word.text) for word in self.words):
            yield Stage("any", read())


def make_plan(request: Request) -> Plan:
    """Parse the query and apply the ``fields``, ``fuzzy`` and ``proximity`` dictionaries.

    A query that does not parse and may be pasted text is read as text. One that does is what it says.

    Raises:
        QueryError: The query, or one of ``fields``, does not parse.
        ArgumentError: ``proximity`` does not fit the query.
    """
    near = request.proximity is not None
    try:
        parsed = _parse(request.query, lenient=request.lenient)
    except QueryError as error:
        if not request.relax or error.code == "too-long" or not is_pasted(request.query):
            raise
        return read_as_text(text_plan(request), error.message)
    if near and len(list(looked_for(parsed.ast))) < 2:
        return _without_proximity(make_plan(request._replace(proximity=None)))
    words = query.as_words(parsed.ast)
    if words or near or not request.relax or not ("?" in request.query or ":" in request.query):
        return _plan(request, parsed.ast, parsed.dropped)
    return _sentence(request, parsed)


def _without_proximity(plan: Plan) -> Plan:
    """Return a plan with the warning that ``proximity`` had no effect, in its other reading too."""
    message = "proximity had no effect: the query has fewer than two words"
    other = plan.as_sentence and _without_proximity(plan.as_sentence)
    return plan._replace(warnings=(*plan.warnings, message), as_sentence=other)


def _parse(text: str, *, lenient: bool) -> ast.Parsed:
    """Parse a query, and leave out punctuation that stands alone and characters that nobody sees."""
    visible, unseen = without_invisible(text)
    parsed = query.parse(visible, lenient=lenient)
    main, dropped = without_punctuation(parsed.ast)
    left_out = (*unseen, *parsed.dropped, *dropped)
    return parsed._replace(ast=main, dropped=left_out) if left_out else parsed


def text_plan(request: Request) -> Plan:
    """Return the plan that reads a query as text."""
    words = as_text(request.query)
    if request.proximity is not None and not isinstance(words, ast.And):
        return _without_proximity(text_plan(request._replace(proximity=None)))
    return _plan(request, words, ())._replace(is_text=True)


def read_as_text(plan: Plan, why: str) -> Plan:
    """Return the plan of a text with the warning that it is read as one."""
    return plan._replace(warnings=(*plan.warnings, f"the query was read as text, without operators: {why}"))


def _sentence(request: Request, parsed: ast.Parsed) -> Plan:
    """Read a query that may be a question.

    Question marks at the ends of words are punctuation among more than :data:`SENTENCE` words, and by meaning; so is
    the only one at the end of several words, and one by itself. Among that many words and no operator, ``type:id`` is a
    word that names an item. Anything else is first taken as written, and as a sentence only where it finds nothing.
    """
    written = _plan(request, parsed.ast, parsed.dropped)
    plain, types = _without_types(parsed.ast)
    if len(_operands(plain)) < 2 or query.loosen(plain) is None:
        plain, types = parsed.ast, []
    bare, marks = query.without_question_marks(plain, request.query)
    if bare == parsed.ast or isinstance(bare, ast.Everything):
        return written
    asked = _plan(request, bare, (*parsed.dropped, *types, *marks))
    words = sum(isinstance(one, ast.Word) for one in _operands(bare))
    ended = len(marks) == 1 and words > 1 and request.query.rstrip().endswith("?")
    alone = len(_operands(bare)) < len(_operands(plain))
    if words > SENTENCE or alone or (not types and (ended or request.mode.name in ("semantic", "hybrid"))):
        return asked._replace(dropped=(*parsed.dropped, *marks))
    return written._replace(bag=asked.bag, as_sentence=asked)


def _operands(node: ast.Node) -> tuple[ast.Node, ...]:
    return node.operands if isinstance(node, ast.And) else (node,)


def _without_types(node: ast.Node) -> tuple[ast.Node, list[ast.Dropped]]:
    """Return a query with ``type:id`` among its words read as the id, and what that leaves out of it."""
    match node:
        case ast.And(operands=operands):
            read = [_without_types(operand) for operand in operands]
            return replace(node, operands=tuple(one for one, _ in read)), [each for _, left in read for each in left]
        case ast.Field(name=kind, operand=ast.Word() | ast.Wildcard()) if kind.casefold() in TYPE_NAMES:
            left = ast.Dropped(node.span[0], f"{kind}:", "no item of that type has all the rest")
            return replace(node.operand, span=node.span), [left]
        case _:
            return node, []


def _plan(request: Request, main: ast.Node, left_out: Sequence[ast.Dropped]) -> Plan:
    """Apply what else the request says to a query as it was read."""
    dropped, warnings = list(left_out), list[str]()
    prefixed = _with_prefix(main, request.query) if request.options["prefix"] else None
    bag: Mapping[ast.Word, int] = {}
    if request.proximity is not None:
        main, prefixed = _near(main, request.proximity), prefixed and _near(prefixed, request.proximity)
    elif not request.fuzzy:
        is_prose = sum(isinstance(one, ast.Word) for one in _operands(main)) > SENTENCE  # which may quote something
        found = query.loosen(main) if request.lenient or is_prose else query.as_words(main)
        bag = Counter(found or ())
    fixed = tuple((name, _field_query(request, name, text, warnings)) for name, text in request.fields.items())
    dropped += [one for _, more in fixed for one in more.dropped]
    if request.fuzzy:
        before, distance = (main, fixed), request.fuzzy_distance
        if distance is not None and distance > MAX_FUZZY:
            warnings.append(f"fuzzy forgives {MAX_FUZZY} letters at most: distance {distance} is read as {MAX_FUZZY}")
            distance = MAX_FUZZY
        main, prefixed = fuzzed(main, distance), prefixed and fuzzed(prefixed, distance)
        fixed = tuple((name, one._replace(ast=_fuzz_field(name, one.ast, distance))) for name, one in fixed)
        if (main, fixed) == before and (fixed or not isinstance(main, ast.Everything)):
            warnings.append("fuzzy had no effect: the query has no plain word in a text field")
    words = bag if request.relax else {}
    return Plan(main, fixed, bag, words, request.fuzzy is not False, tuple(dropped), tuple(warnings), prefixed=prefixed)


def _has_parts(text: str) -> bool:
    """Return whether a word may be looked for by its parts: it has several, or one and a sign."""
    return len(parts := analysis.parts(text)) > 1 or (bool(parts) and analysis.has_signs(text))


def _is_function_word(node: ast.Node) -> bool:
    return isinstance(node, ast.Word | ast.Fuzzy) and node.text.casefold() in FUNCTION_WORDS


def _with_content(node: ast.Node) -> ast.Node:
    """Return an AND of words without its function words, unless it has no others."""
    operands = node.operands if isinstance(node, ast.And) else (node,)
    content = [one for one in operands if not _is_function_word(one)]
    return _and(content) if content and len(content) < len(operands) else node


def _and(nodes: Iterable[ast.Node]) -> ast.Node:
    operands = tuple(nodes)
    return operands[0] if len(operands) == 1 else ast.And(operands)


def _field_query(request: Request, name: str, text: str, warnings: list[str]) -> ast.Parsed:
    """Parse one entry of ``fields``; an error names it, because its text is not the caller's query."""
    try:
        return _parse(text, lenient=request.lenient)
    except QueryError as error:
        in_field(error, name)
        if not (request.relax and canonical(name) in TEXT_FIELDS and is_pasted(text)) or error.code == "too-long":
            raise
        warnings.append(f"{error.message}; it was read as text, without operators")
        return ast.Parsed(text, as_text(text))


def in_field(error: QueryError, name: str) -> QueryError:
    """Name the entry of ``fields`` in an error's message; its caret is drawn under that entry's text."""
    error.message = f"fields[{name!r}]: {error.message}"
    error.args = (error.message,)
    return error


def fuzzed(node: ast.Node, distance: int | None) -> ast.Node:
    """Make every plain word fuzzy, except on fields that are compared as a whole."""
    match node:
        case ast.Word(text=text, span=span):
            return ast.Fuzzy(text, distance, span)
        case ast.And(operands=operands) | ast.Or(operands=operands) | ast.Near(operands=operands):
            return replace(node, operands=tuple(fuzzed(operand, distance) for operand in operands))
        case ast.Field(name=name, operand=operand):
            return replace(node, operand=_fuzz_field(name, operand, distance))
        case ast.Not(operand=operand) | ast.Boost(operand=operand):
            return replace(node, operand=fuzzed(operand, distance))
        case _:
            return node


def _fuzz_field(name: str, node: ast.Node, distance: int | None) -> ast.Node:
    """Make every plain word that a field must match fuzzy, where the field is text."""
    return fuzzed(node, distance) if canonical(name) in TEXT_FIELDS else node


def _near(node: ast.Node, distance: int) -> ast.Node:
    """Turn the words, wildcards and phrases of an AND into a chain of NEAR; other conditions stay beside it."""
    allowed = (ast.Word, ast.Wildcard, ast.Fuzzy, ast.Phrase)
    operands = node.operands if isinstance(node, ast.And) else (node,)
    chained = tuple(one for one in operands if any(looked_for(one)))
    beside = tuple(one for one in operands if not any(looked_for(one)))
    choices = [operand.operands if isinstance(operand, ast.Or) else (operand,) for operand in chained]
    if len(chained) > 1 and all(isinstance(one, allowed) for choice in choices for one in choice):
        near = ast.Near(chained, (distance,) * (len(chained) - 1), node.span)
        return ast.And((near, *beside), node.span) if beside else near
    rest = f"at least two plain words, wildcards or phrases, not {str(node) or 'an empty query'!r}"
    raise ParameterError("bad-proximity", [("proximity",)], "needs", rest, hint="write NEAR into the query: a NEAR/5 b")


def did_you_mean(
    text: str, plan: Plan, dictionary: Dictionary, *, total: int, count: Callable[[ast.Node, Plan], int]
) -> str:
    """Return a query that finds more than ``total`` hits, or a copied text in quotes that finds any, or nothing.

    ``count`` returns how many hits a query has under the same scope and filters. The options of a command are
    exclusions in the language: ``df -h`` finds no item with an ``h``.
    """
    quoted = ast.Phrase(text)
    if not plan.words and is_copied(text) and 1 < len(analysis.parts(text)) <= MAX_PHRASE and count(quoted, plan):
        return str(quoted)
    corrected = _corrected(plan.main, dictionary)
    if corrected != plan.main and count(corrected, plan) > total:
        return str(corrected)
    if plan.words or total:
        return _completed(plan, total, count)
    return _in_words(text, plan, count)


def _completed(plan: Plan, total: int, count: Callable[[ast.Node, Plan], int]) -> str:
    """Return a word with a wildcard behind it where that finds far more: few items quote a word that was cut short."""
    word = plan.main.text if isinstance(plan.main, ast.Word) else ""
    if not (word.isalpha() and len(word) >= _LEAST_CUT and 0 < total <= FEW):
        return ""
    completed = ast.Wildcard(f"{word}*")
    return str(completed) if count(completed, plan) > _FAR_MORE * total else ""


def _in_words(text: str, plan: Plan, count: Callable[[ast.Node, Plan], int]) -> str:
    """Return a query with operators as plain words, where a search for these finds anything.

    Whoever quotes part of a sentence asks for a phrase and does not know it, and who pastes a command excludes.
    """
    words = loosen(plan.main) or tuple(map(ast.Word, analysis.parts(text) if is_copied(text) else ()))
    return " ".join(map(str, words)) if len(words) > 1 and count(ast.Or(words), plan) else ""


def _corrected(node: ast.Node, dictionary: Dictionary) -> ast.Node:
    match node:
        case ast.Word(text=text) if not dictionary.knows(text):
            parts = analysis.parts(text)
            near = dictionary.nearest(parts[0])[0] if len(parts) == 1 else ""
            return replace(node, text=near) if near else node
        case ast.And(operands=operands) | ast.Or(operands=operands) | ast.Near(operands=operands):
            return replace(node, operands=tuple(_corrected(operand, dictionary) for operand in operands))
        case ast.Not(operand=operand) | ast.Boost(operand=operand):
            return replace(node, operand=_corrected(operand, dictionary))
        case ast.Field(name=name, operand=operand) if canonical(name) in TEXT_FIELDS:
            return replace(node, operand=_corrected(operand, dictionary.within(canonical(name))))
        case _:
            return node
