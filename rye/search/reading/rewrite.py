"""Plan a query: turn its text and options into the queries to try, before anything is evaluated.

A query that parses is taken literally. One that does not parse, or that names a field unlike any known field, is
searched as plain words, with a warning. Plain words are then tried in stages, from strict to broad; the first stage
with a hit answers. A query with operators that finds nothing as written is searched by its words, or as one phrase.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from rye import query
from rye._text import unseen, visible
from rye.errors import QueryError
from rye.index.storage.terms import escape
from rye.index.text import analysis
from rye.items.model import TYPE_NAMES
from rye.options.model import ParameterError
from rye.query import ast
from rye.query.escaping import pattern_units
from rye.query.limits import MAX_CHARS, MAX_FUZZY, MAX_LEAVES, MAX_PHRASE, cut
from rye.search.contract.fields import TEXT_FIELDS, canonical, text_leaves
from rye.search.contract.request import Request
from rye.search.matching.bind import Context, bind
from rye.search.reading.relax import FUNCTION_WORDS, Relaxed

ANY_LIMIT = 10
"""Most hits of the last stage, ``any``. A sentence continues to that stage if fewer items than this have all words."""

STAGES = ("all", "text", "fuzzy", "substring", "any", "literal")
"""The names of all stages, the strictest first; ``literal`` replaces ``any`` in a query that excludes."""

AS_WRITTEN = ("all", "text")
"""The first stage: every word as written, in a query or in plain words."""

_NONE_AS_WRITTEN = "no item matches the query as written"
_NO_WORDS = "no item contains every word; showing items"
_FEW = "few items contain"
"""Beginnings of the sentences on what the hits of a stage are."""

_UMLAUT = {"ae": "ä", "oe": "ö", "ue": "ü"}
_UMLAUTS = re.compile("[aou]e", re.IGNORECASE)

_LEAST_SPLIT, _MAX_SPLIT = 3, 40
"""To split a word in two: the least letters of each half, and the most letters of the word."""

SENTENCE = 4
"""More words than these are a sentence, which is not matched by parts of words: long items would match every time."""

REQUEST = 8
"""More words than these are a pasted request: its operators are punctuation if it finds nothing as written."""

AUTO_WORDS = 3
"""Plain words from which mode ``auto`` is hybrid; shorter queries are keyword searches."""

_WORD = re.compile(r"\S+")
_SYMBOL = re.compile(r"[/\\:=$&|<>{}()\[\]]|(?<!\S)-")

Keys: TypeAlias = Callable[[], frozenset[str]]
"""Returns the metadata keys of the items."""

_Cleaned: TypeAlias = tuple[ast.Node | None, tuple[ast.Dropped, ...]]


class Stage(NamedTuple):
    """One query to try.

    Attributes:
        name: Its label.
        ast: The query.
        enough: The least hits with which it answers; the last stage answers with any number.
        wider: The stage that answers instead if it has more hits.
        notes: Sentences on what its hits are, if it answers.
        few: The sentences instead, if the stage before it had hits, but too few to answer.
    """

    name: str
    ast: ast.Node
    enough: int = 1
    wider: Stage | None = None
    notes: tuple[str, ...] = ()
    few: tuple[str, ...] = ()


class Fallback(NamedTuple):
    """The search used when a query with operators finds nothing as written.

    Attributes:
        words: Search for any of these, with how often each occurs in the query; empty for a short query that excludes.
        conditions: Further conditions for hits: those of a short query, such as ``type:tool``.
        phrase: The text of a short query that excludes, as one phrase.
    """

    words: Mapping[ast.Word, int] = {}
    conditions: tuple[ast.Node, ...] = ()
    phrase: ast.Node | None = None


class Plan(NamedTuple):
    """The queries to evaluate.

    Attributes:
        main: The query as read.
        fixed: The entries of the ``fields`` option, by field; they never relax.
        bag: The words of a bag of words, or of a query that may be a question, with how often each occurs: they may
            name items. Empty for any other query.
        words: The words that may relax: none or all of them.
        forgiving: Whether typos in them may be forgiven.
        dropped: What lenient parsing left out.
        warnings: Options that had no effect, and entries of ``fields`` that are searched as plain words.
        prefixed: The query of the first stage, instead of ``main``, in a prefix search.
        fault: Why the query is searched as plain words, if it is.
        fallback: The search used when a query with operators finds nothing as written.
    """

    main: ast.Node
    fixed: tuple[tuple[str, ast.Parsed], ...]
    bag: Mapping[ast.Word, int]
    words: Mapping[ast.Word, int]
    forgiving: bool
    dropped: tuple[ast.Dropped, ...]
    warnings: tuple[str, ...]
    prefixed: ast.Node | None = None
    fault: QueryError | None = None
    fallback: Fallback | None = None

    @property
    def relaxing(self) -> Mapping[ast.Word, int]:
        """The words that stage ``any`` searches for."""
        return self.words or (self.fallback.words if self.fallback else {})

    def in_words(self) -> Plan:
        """Return the plan that searches for the words alone."""
        words = self.relaxing
        return self._replace(main=_and(words), words=words, bag=words, fallback=None)

    @property
    def may_be_words(self) -> bool:
        """Whether a query that is not prose may be searched by its words alone."""
        return bool(self.relaxing) and not (self.is_prose() or (self.fallback and self.fallback.conditions))

    def asks_by_meaning(self, request: Request) -> bool:
        """Return whether mode ``auto`` may be hybrid: for a sentence without an order, a prefix or a level.

        These depend on words, and semantic search would list items that are only slightly similar.
        """
        is_sentence = sum(self.words.values()) >= AUTO_WORDS and self.is_prose() and not self.fault
        return is_sentence and request.sort_by == "score" and request.level is None and not request.options["prefix"]

    def is_prose(self) -> bool:
        """Return whether the query consists only of words, quoted words and question marks."""
        return query.loosen(self.main) is not None

    def first_stage(self) -> Stage:
        """Return the query as read, without the function words of a bag."""
        main, enough = self.prefixed or self.main, ANY_LIMIT if len(self.words) > SENTENCE else 1
        return Stage("text" if self.fault else "all", _with_content(main) if self.words else main, enough)

    def any_stage(self, relaxed: Relaxed) -> Stage:
        """Return stage ``any``, given how it reads the words."""
        read = tuple(relaxed.messages())
        if self.fallback:
            note = f"{_NONE_AS_WRITTEN}; operators are read as words: showing the best partial matches"
            return Stage("any", _and([relaxed.query, *self.fallback.conditions]), notes=(*read, note))
        if len(self.words) == 1:
            note = "no item contains the whole word; showing items that contain a part of it"
            return Stage("any", relaxed.query, notes=(*read, note))
        none, few = (f"{how} every word; showing the best partial matches" for how in ("no item contains", _FEW))
        return Stage("any", relaxed.query, notes=(*read, none), few=(*read, few))

    def stages(self, unknown: Callable[[str], bool], relaxed: Callable[[], Relaxed]) -> Iterator[Stage]:
        """Yield the queries to try, from strict to broad; the first with enough hits answers.

        ``unknown`` returns whether no item has a word; ``relaxed`` returns how stage ``any`` reads the words.
        """
        sentence = len(self.words) > SENTENCE
        yield (first := self.first_stage())
        enough = first.enough
        if not self.words:
            if self.fallback and self.fallback.words:
                yield self.any_stage(relaxed())
            if self.fallback and self.fallback.phrase:
                note = f"{_NONE_AS_WRITTEN}; showing items with its text, in which operators are read as words"
                yield Stage("literal", self.fallback.phrase, notes=(note,))
            return
        if query.as_words(self.main) is None:
            note = f"{_NONE_AS_WRITTEN}; showing items with its words"
            yield Stage("text", _with_content(_and(self.words)), enough, notes=(note,))
        lacking = [word for word in self.words if unknown(word.text)]
        substring = None
        if not sentence:
            content = [word for word in self.words if not _is_function_word(word)] or [*self.words]
            if not any(analysis.has_signs(word.text) for word in content):
                pieces = [ast.Wildcard(f"*{escape(word.text)}*", span=word.span) for word in content]
                substring = Stage(
                    "substring", _and(pieces), notes=(f"{_NO_WORDS} that contain them as parts of words",)
                )
        if self.forgiving and (lacking or not sentence):
            targets = lacking or self.words
            # a number is never a typo: another number means something else
            slips = [word for word in targets if not any(map(str.isdigit, word.text))]
            words = [_with_slips(word, unknown) if word in slips else word for word in self.words]
            if slips:
                note = f"{_NO_WORDS} with similar words"
                yield Stage("fuzzy", _with_content(_and(words)), enough, substring, notes=(note,))
        if substring:
            yield substring
        if len(self.words) > 1 or any(_has_parts(word.text) for word in self.words):
            yield self.any_stage(relaxed())


def read_query(request: Request, keys: Keys = frozenset) -> Plan:
    """Parse a query and its ``fields``, ``fuzzy`` and ``proximity`` options into a plan.

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
        if request.relax and _is_request(request.query):
            bind(parsed.ast, Context(request.query, parsed.ast, keys))
    except QueryError as error:
        if not request.relax or (error.details.get("nearest") and not _is_request(request.query)):
            raise
        plain = _plain_words(request.query)
        return _plan(request, plain.ast, plain.dropped, keys)._replace(fault=error)
    plan = _read_parsed(request, parsed, keys)
    if request.relax and not plan.words:
        plan = plan._replace(fallback=_fallback(request.query, parsed.ast))
    return plan


def _read_parsed(request: Request, parsed: ast.Parsed, keys: Keys) -> Plan:
    """Return the plan of a query that parses."""
    main = parsed.ast
    if not request.relax or _is_near(request, main) or query.as_words(main) is not None:
        return _plan(request, main, parsed.dropped, keys)
    question = _as_question(main, request)
    if _is_question(question, main, request):
        return _plan(request, question, parsed.dropped, keys)
    plan = _plan(request, main, parsed.dropped, keys)
    if question == main:
        return plan
    bag = _plan(request, question, (), keys).bag
    return plan._replace(bag=bag, words=bag)


def _is_request(text: str) -> bool:
    # the words and the spaces between them are more than twice as many characters
    return len(text) > 2 * REQUEST and len(_operands(_plain_words(text).ast)) > REQUEST


def _fallback(text: str, main: ast.Node) -> Fallback | None:
    """Return what to search for if a query with operators finds nothing as written; None if it has no word.

    Args:
        text: The query as written.
        main: The query as parsed.
    """
    if _is_request(text):
        return Fallback(_counted(_operands(_plain_words(text).ast)))
    if any(isinstance(node, ast.Not) for node in ast.walk(main)):
        return Fallback(phrase=ast.Phrase(text)) if 1 < len(analysis.parts(text)) <= MAX_PHRASE else None
    words = _counted(word for leaf in text_leaves(main) for word in _operands(_words_of(leaf)))
    return Fallback(words, tuple(node for node in _operands(main) if not any(text_leaves(node)))) if words else None


def _counted(nodes: Iterable[ast.Node]) -> Mapping[ast.Word, int]:
    return Counter(node for node in nodes if isinstance(node, ast.Word))


def _words_of(leaf: ast.Node) -> ast.Node:
    match leaf:
        case ast.Wildcard(pattern=pattern):
            return _plain_words("".join(" " if is_wild else char for char, is_wild in pattern_units(pattern))).ast
        case ast.Word(text=text) | ast.Fuzzy(text=text) | ast.Phrase(text=text):
            return _plain_words(text).ast
    return ast.Everything()


def _check_fields(text: str, node: ast.Node, keys: Keys) -> None:
    """Raise the error of an unknown field. Other faults are raised when the query is evaluated."""
    try:
        bind(node, Context(text, node, keys))
    except QueryError as error:
        if error.code == "unknown-field":
            raise


def visible_query(text: str, *, shorten: bool) -> tuple[str, list[ast.Dropped], list[str]]:
    """Return a query without invisible characters, cut if it is too long; also reports and warnings about that."""
    text, unseen_ones = _without_invisible(text)
    kept = cut(text) if shorten else text
    if kept == text:
        return text, [*unseen_ones], []
    warning = f"the query has {len(text):,} characters; only the first {len(kept):,} were searched"
    return kept, [*unseen_ones], [warning]


def verbatim(text: str) -> ast.Node | None:
    """Return a search for the words exactly as in a text; items that match it score higher.

    Returns None for a few plain words, which need not belong together. A path is searched in the joined forms of paths.
    """
    parts = analysis.parts(text)
    if not 1 < len(parts) <= MAX_PHRASE:
        return None
    words = text.split()
    if len(words) == 1 and len(analysis.chunks(analysis.normalize(text))) == 1:
        return ast.Wildcard(f"*{escape(analysis.joined(parts))}*") if "/" in text else None
    return ast.Phrase(text) if len(words) > SENTENCE or _SYMBOL.search(text) else None


def _parse(text: str, request: Request, keys: Keys) -> ast.Parsed:
    """Parse a query, and leave out invisible characters and punctuation that stands alone.

    Raises:
        QueryError: It does not parse, or names an unknown field.
    """
    shown, unseen_ones = _without_invisible(text)
    parsed = query.parse(shown, lenient=request.lenient)
    if ":" in shown and not request.lenient:
        _check_fields(shown, parsed.ast, keys)
    main, dropped = _without_punctuation(parsed.ast)
    left_out = (*unseen_ones, *parsed.dropped, *dropped)
    return parsed._replace(ast=main, dropped=left_out) if left_out else parsed


def _without_invisible(text: str) -> tuple[str, tuple[ast.Dropped, ...]]:
    if text.isascii() or not (places := list(unseen(text))):
        return text, ()
    characters = "".join(dict.fromkeys(char for _, char in places))
    names = ", ".join(unicodedata.name(char, f"U+{ord(char):04X}").lower() for char in characters)
    return visible(text), (ast.Dropped(places[0][0], characters, f"{names} was removed, because it is invisible"),)


def _without_punctuation(node: ast.Node) -> tuple[ast.Node, tuple[ast.Dropped, ...]]:
    """Leave out words that are only punctuation, with a report on each. If nothing is left, match nothing.

    The value of a field and an operand of NEAR are explicit, so these stay.
    """
    if (words := query.as_words(node)) and all(word.text.isalnum() for word in words):
        return node, ()
    cleaned, dropped = ast.fold(node, _clean)
    return cleaned or ast.Not(ast.Everything()), dropped


def _clean(node: ast.Node, below: Sequence[_Cleaned]) -> _Cleaned:
    kept = [child for child, _ in below if child is not None]
    dropped = tuple(report for _, left in below for report in left)
    match node:
        case ast.Word(text=text) | ast.Wildcard(pattern=text) if not (text.isalnum() or analysis.searchable(text)):
            return None, (ast.Dropped(node.span[0], text, "punctuation alone cannot be searched"),)
        case ast.And() | ast.Or() if len(kept) < 2:
            return (kept[0] if kept else None), dropped
        case ast.And() | ast.Or():
            return replace(node, operands=tuple(kept)), dropped
        case ast.Not() | ast.Boost() if not kept:
            return None, dropped
        case _ if len(kept) < len(below):
            return node, ()
        case _:
            return query.with_children(node, kept), dropped


def _plain_words(text: str) -> ast.Parsed:
    """Return the words of a text, without any operator, and a report if there are too many."""
    candidates = (ast.Word(match[0], match.span()) for match in _WORD.finditer(text[:MAX_CHARS]))
    words = [word for word in candidates if analysis.searchable(word.text)]
    left_out = (
        [ast.Dropped(words[MAX_LEAVES].span[0], "…", f"{MAX_LEAVES} words at most")] if words[MAX_LEAVES:] else []
    )
    return ast.Parsed(text, _and(words[:MAX_LEAVES]) if words else ast.Everything(), tuple(left_out))


def _as_question(node: ast.Node, request: Request) -> ast.Node:
    """Return a query without the question marks after its words; beside other words, ``type:id`` is read as the id."""
    plain = _without_types(node)
    if len(_operands(plain)) < 2 or query.loosen(plain) is None:
        plain = node
    bare, _ = query.without_question_marks(plain, request.query)
    return node if isinstance(bare, ast.Everything) else bare


def _is_question(question: ast.Node, written: ast.Node, request: Request) -> bool:
    """Return whether a query is a question; if not, it is first tried as written.

    A query of more than :data:`SENTENCE` words is one. In a shorter query, a question mark is a wildcard, unless it
    stands alone, the mode is semantic or hybrid, or it is the only one and ends several words.
    """
    words = sum(isinstance(operand, ast.Word) for operand in _operands(question))
    if words > SENTENCE:
        return True
    _, marks = query.without_question_marks(written, request.query)
    ended = len(marks) == 1 and words > 1 and request.query.rstrip().endswith("?")
    by_meaning = request.mode.name in ("semantic", "hybrid")
    has_types = len(_operands(written)) > 1 and _without_types(written) != written
    alone = len(_operands(question)) < len(_operands(written))
    return alone or (bool(marks) and not has_types and (ended or by_meaning))


def _is_near(request: Request, node: ast.Node) -> bool:
    return request.proximity is not None and len(list(text_leaves(node))) > 1


def _operands(node: ast.Node) -> tuple[ast.Node, ...]:
    return node.operands if isinstance(node, ast.And) else (node,)


def _without_types(node: ast.Node) -> ast.Node:
    """Return a query with ``type:id`` among its words read as the id."""
    match node:
        case ast.And(operands=operands):
            return replace(node, operands=tuple(map(_without_types, operands)))
        case ast.Field(name=kind, operand=ast.Word() | ast.Wildcard()) if kind.casefold() in TYPE_NAMES:
            return replace(node.operand, span=node.span)
        case _:
            return node


def _plan(request: Request, main: ast.Node, left_out: Sequence[ast.Dropped], keys: Keys) -> Plan:
    """Apply the other options of the request to a query."""
    dropped, warnings = list(left_out), list[str]()
    proximity = request.proximity if _is_near(request, main) else None
    if proximity is None and request.proximity is not None:
        warnings.append("proximity had no effect: the query has fewer than two words")
    prefixed = _with_prefix(main, request.query) if request.options["prefix"] else None
    bag: Mapping[ast.Word, int] = {}
    if proximity is not None:
        main, prefixed = _chain_near(main, proximity), prefixed and _chain_near(prefixed, proximity)
    elif not request.fuzzy:
        is_prose = sum(isinstance(operand, ast.Word) for operand in _operands(main)) > SENTENCE
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
        fixed = tuple((name, parsed._replace(ast=_fuzz_field(name, parsed.ast, distance))) for name, parsed in fixed)
        if (main, fixed) == before and (fixed or not isinstance(main, ast.Everything)):
            warnings.append("fuzzy had no effect: the query has no plain word in a text field")
    words = bag if request.relax else {}
    return Plan(main, fixed, bag, words, request.fuzzy is not False, tuple(dropped), tuple(warnings), prefixed)


def _with_prefix(node: ast.Node, text: str) -> ast.Node | None:
    """Return a query that also takes its last word as a prefix; None if its text does not end in a word."""
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


def _with_slips(word: ast.Word, unknown: Callable[[str], bool]) -> ast.Node:
    """Return a word with typos forgiven, or as items write it: in two words, or with umlauts."""
    spellings = list[ast.Node]()
    text = word.text
    if text.isascii() and text.isalpha() and len(text) <= _MAX_SPLIT and unknown(text):
        for at in range(_LEAST_SPLIT, len(text) - _LEAST_SPLIT + 1):
            if not (unknown(text[:at]) or unknown(text[at:])):
                spellings.append(ast.Phrase(f"{text[:at]} {text[at:]}", span=word.span))
        umlauts = _UMLAUTS.sub(lambda match: _UMLAUT[match[0].lower()], text)
        spellings += [ast.Word(umlauts, word.span)] if umlauts != text and not unknown(umlauts) else []
    fuzzy = ast.Fuzzy(text, span=word.span)
    return ast.Or((fuzzy, *spellings), word.span) if spellings else fuzzy


def _has_parts(text: str) -> bool:
    """Return whether a word may be searched by its parts: it has several, or one and a sign."""
    return len(parts := analysis.parts(text)) > 1 or (bool(parts) and analysis.has_signs(text))


def _is_function_word(node: ast.Node) -> bool:
    return isinstance(node, ast.Word | ast.Fuzzy) and node.text.casefold() in FUNCTION_WORDS


def _with_content(node: ast.Node) -> ast.Node:
    """Return an AND without its function words, unless it has no others."""
    content = [operand for operand in _operands(node) if not _is_function_word(operand)]
    return _and(content) if content and len(content) < len(_operands(node)) else node


def _and(nodes: Iterable[ast.Node]) -> ast.Node:
    operands = tuple(nodes)
    return operands[0] if len(operands) == 1 else ast.And(operands, (operands[0].span[0], operands[-1].span[1]))


def _field_query(request: Request, name: str, text: str, keys: Keys, *, warnings: list[str]) -> ast.Parsed:
    """Parse one entry of ``fields``. Errors name the entry, because its text is not the caller's query."""
    try:
        return _parse(text, request, keys)
    except QueryError as error:
        error = in_field(error, name)
        if not (request.relax and canonical(name) in TEXT_FIELDS) or error.details.get("nearest"):
            raise error from None
        warnings.append(f"{error.message}; it is searched as plain words")
        return _plain_words(text)


def in_field(error: QueryError, name: str) -> QueryError:
    """Return an error that names the entry of ``fields``; its caret is drawn under the text of that entry."""
    return error.preceded(f"fields[{name!r}]: ")


def fuzzed(node: ast.Node, distance: int | None) -> ast.Node:
    """Make every plain word fuzzy, except on keyword fields."""

    def visit(current: ast.Node, below: Sequence[ast.Node]) -> ast.Node:
        match current:
            case ast.Word(text=text, span=span):
                return ast.Fuzzy(text, distance, span)
            case ast.Field(name=name) if canonical(name) not in TEXT_FIELDS:
                return current
            case _:
                return query.with_children(current, below)

    return ast.fold(node, visit)


def _fuzz_field(name: str, node: ast.Node, distance: int | None) -> ast.Node:
    return fuzzed(node, distance) if canonical(name) in TEXT_FIELDS else node


def _chain_near(node: ast.Node, distance: int) -> ast.Node:
    """Turn the words, wildcards and phrases of an AND into a chain of NEAR; other conditions stay beside it."""
    allowed = (ast.Word, ast.Wildcard, ast.Fuzzy, ast.Phrase)
    chained = tuple(part for part in _operands(node) if any(text_leaves(part)))
    beside = tuple(part for part in _operands(node) if not any(text_leaves(part)))
    choices = [operand.operands if isinstance(operand, ast.Or) else (operand,) for operand in chained]
    if len(chained) > 1 and all(isinstance(part, allowed) for choice in choices for part in choice):
        chain = ast.Near(chained, (distance,) * (len(chained) - 1), node.span)
        return ast.And((chain, *beside), node.span) if beside else chain
    rest = f"at least two plain words, wildcards or phrases, not {str(node) or 'an empty query'!r}"
    raise ParameterError("bad-proximity", [("proximity",)], "needs", rest, hint="write NEAR into the query: a NEAR/5 b")
