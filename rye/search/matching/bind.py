"""Bind a syntax tree: names become fields, words become term queries, everything else becomes a filter."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import accumulate, chain, starmap
from typing import Any, NamedTuple

import numpy as np

from rye.errors import QueryError
from rye.index.storage.arrays import Bools
from rye.index.storage.terms import escape
from rye.index.text import analysis
from rye.index.text.schema import fold_value, number
from rye.items.model import TYPE_NAMES
from rye.query import ast, is_field_name
from rye.query.limits import MAX_PHRASE
from rye.search.contract.fields import (
    ALIASES,
    EXAMPLES,
    KEYWORD_FIELDS,
    RELATION_FIELDS,
    STATE_SYNONYMS,
    STATES,
    TEXT_FIELDS,
    UNORDERED,
    is_readable,
    kind_of,
    nearest,
    resolve,
)
from rye.search.matching import bound
from rye.search.matching.expand import How, Pattern, automatic_distance

APART = 0.05
"""The weight of an occurrence of the parts of an identifier that are not written together."""

_IDENTIFIER = re.compile(r"[_.]|[^\W\d_A-Z][A-Z]|[A-Z]{2}[a-z]{2}")
"""Matches in what is written together for a reason; ``time-sharing`` and ``and/or`` are as well written apart."""

_ATTACHED = re.compile(r"\w\*|\*\w|\w\?+\w")
_LITERAL = re.compile(r"[/=:&]")
_WILD = re.compile(r"[*?]")
_OTHER = re.compile(r"[^*?_\-./\\]")


class Context(NamedTuple):
    """The query to bind, and the options of the binding.

    Attributes:
        text: The query as written, for errors.
        root: The whole syntax tree, for suggestions in errors.
        metadata_keys: Returns the metadata keys in the index; called only for names that are not built in.
        level: 1, 2 or None: which text fields a word without a field searches.
        dropped: None for strict binding; lenient binding adds to it what it leaves out.
        record: If given, receives the bound form of each node, by the node's identity.
    """

    text: str
    root: ast.Node
    metadata_keys: Callable[[], frozenset[str]]
    level: int | None = None
    dropped: list[ast.Dropped] | None = None
    record: dict[int, bound.Bound | None] | None = None


class _BoundScope(NamedTuple):
    """The enclosing field of a node (empty if there is none) and the product of the boosts around it."""

    name: str = ""
    boost: float = 1.0


_UNBOUND = _BoundScope()


@lru_cache
def searched_fields(level: int | None) -> Bools:
    """Return a mask of the fields that a word without a field searches."""
    fields = np.asarray([level in (None, field.level) for field in TEXT_FIELDS.values()])
    fields.flags.writeable = False
    return fields


def bind(node: ast.Node, context: Context, scope: _BoundScope = _UNBOUND) -> bound.Bound | None:
    """Resolve the names and words of a query.

    Returns:
        The bound query; None if lenient binding dropped all of it.

    Raises:
        QueryError: ``unknown-field``, ``unknown-state``, ``nested-field``, ``no-searchable-text``, ``field-kind``,
            ``bad-bound``, ``too-long-phrase``.
    """
    result = _bind(node, context, scope)
    if context.record is not None:
        context.record[id(node)] = result
    return result


def _bind(node: ast.Node, context: Context, scope: _BoundScope) -> bound.Bound | None:
    match node:
        case ast.Word():  # most nodes are
            return _bind_text(node, scope, context)
        case ast.And(operands=operands) | ast.Or(operands=operands):
            parts = tuple(part for part in (bind(inner, context, scope) for inner in operands) if part is not None)
            if len(parts) < 2:
                return parts[0] if parts else None
            return bound.All(parts) if isinstance(node, ast.And) else bound.Any(parts)
        case ast.Not(operand=operand):
            inner = bind(operand, context, scope)
            return None if inner is None else bound.BoundNot(inner)
        case ast.Boost(operand=operand, factor=factor):
            return bind(operand, context, _BoundScope(scope.name, scope.boost * factor))
        case ast.Field(name=kind, operand=ast.Word(text=text)) if (
            scope.name in RELATION_FIELDS and kind.casefold() in TYPE_NAMES
        ):
            return bind(ast.Word(f"{kind}:{text}", node.span), context, scope)
        case ast.Field() | ast.Exists():
            return _bind_field(node, scope, context)
        case ast.Compare() | ast.Range():
            return _bind_range(node, scope, context)
        case ast.Everything():
            return _has(scope.name)
        case _:
            return _bind_text(node, scope, context)


def _bind_field(node: ast.Field | ast.Exists, scope: _BoundScope, context: Context) -> bound.Bound | None:
    """Bind a field. ``type:id`` always names an item, even if a metadata key is called like the type."""
    operand = node.operand if isinstance(node, ast.Field) else ast.Everything(node.span)
    if not scope.name and node.name.casefold() in TYPE_NAMES:
        own = bound.Glob("type", node.name.casefold())
        inner = bind(operand, context, _BoundScope("id", scope.boost))
        return own if inner is None or isinstance(operand, ast.Everything) else bound.All((own, inner))
    resolved = _resolve(node.name, node, context)
    if resolved is None:
        return bind(operand, context, scope)
    _refuse_nesting(resolved, scope, node, context)
    return bind(operand, context, _BoundScope(resolved, scope.boost))


def _has(name: str) -> bound.Has | bound.BoundEverything:
    """Bind ``*``. Outside a field it matches everything, and so does ``is:*``, because every item has a verdict."""
    return bound.BoundEverything() if name in {"", "is"} else bound.Has(name, text=name in TEXT_FIELDS)


def _refuse(context: Context, node: ast.Node, code: str, words: str, **more: Any) -> None:
    """Record a part that lenient binding drops, or raise its error with the place in the query.

    ``more`` holds ``hint`` and further details of the error: ``span`` if only a part of the node is at fault, and
    ``suggestion`` if there is a better one than leaving the node out.
    """
    start, end = more.pop("span", node.span)
    token = context.text[start:end]
    if context.dropped is not None:
        context.dropped.append(ast.Dropped(start, token, words))
        return
    suggestion = more.pop("suggestion", "") or bound.without(context.root, node)
    raise QueryError(code, words, text=context.text, position=start, token=token, suggestion=suggestion, **more)


def _refuse_nesting(name: str, scope: _BoundScope, node: ast.Node, context: Context) -> None:
    if scope.name and scope.name != name:
        hint = f"write the two side by side: {scope.name}:… {name}:…"
        words = f"field {name!r} stands inside field {scope.name!r}"
        _refuse(context, node, "nested-field", words, hint=hint)


def _resolve(name: str, node: ast.Node, context: Context) -> str | None:
    """Return the field that a name means; None if lenient binding drops an unknown name."""
    if known := resolve(name, frozenset()) or resolve(name, metadata := context.metadata_keys()):
        return known
    writable = filter(is_field_name, sorted(metadata))
    suggestions = nearest(name.casefold(), (*TEXT_FIELDS, *KEYWORD_FIELDS, *ALIASES, *writable), cutoff=0.7)
    first, last = node.span  # the span of the enclosing group, if there is one
    start = max(first, context.text.find(name, first, last))
    end = start + len(name)
    unquoted = " ".join(re.sub(r'["\\]', " ", context.text).split())
    guess = f"did you mean {' or '.join(suggestions)}? " if suggestions else ""
    listed = ", ".join((*TEXT_FIELDS, *KEYWORD_FIELDS))
    _refuse(
        context,
        node,
        "unknown-field",
        f"there is no field {name!r}",
        hint=f"{guess}fields are {listed} and the metadata keys of the items; to find the text itself put it in quotes",
        suggestion=f"{context.text[:start]}{suggestions[0]}{context.text[end:]}" if suggestions else f'"{unquoted}"',
        nearest=suggestions,
        span=(start, end),
    )
    return None


def _bind_range(node: ast.Compare | ast.Range, scope: _BoundScope, context: Context) -> bound.Bound | None:
    if node.name.casefold() in TYPE_NAMES:
        words = f"{node.name!r} is an item type and has no order to compare by"
        _refuse(context, node, "field-kind", words, hint=f"{node.name}:id names items; for a metadata key use a filter")
        return None
    name = _resolve(node.name, node, context)
    if name is None:
        return None
    _refuse_nesting(name, scope, node, context)
    if name in TEXT_FIELDS or name in UNORDERED:
        words = f"field {name!r} is text and has no order to compare by"
        hint = "ranges work on version, created, updated and metadata keys"
        start, end = node.span
        related = f"{context.text[:start]}{name}:*{context.text[end:]}" if name in RELATION_FIELDS else ""
        _refuse(context, node, "field-kind", words, hint=hint, suggestion=related)
        return None
    kind = kind_of(name)
    bounds = (node.low, node.high) if isinstance(node, ast.Range) else (node.value,)
    for limit in bounds:
        if limit is not None and not is_readable(kind, limit):
            words = f"{limit!r} is not a {kind}, and {name!r} is compared as one"
            if kind == "text":
                words = f"{limit!r} is too large a number to compare {name!r} with"
            _refuse(context, node, "bad-bound", words, hint=f"write it like {EXAMPLES[kind]}")
            return None
    if isinstance(node, ast.Range):
        return bound.Between(name, kind, node.low, node.high, node.include_low, node.include_high)
    return compared(name, node.op, node.value)


def _bind_text(node: ast.Node, scope: _BoundScope, context: Context) -> bound.Bound | None:
    if scope.name and scope.name not in TEXT_FIELDS:
        return _bind_keyword(node, scope.name, context)
    if _has_long_phrase(node):
        words = f"a phrase has at most {MAX_PHRASE} words"
        _refuse(context, node, "too-long-phrase", words, hint="shorten it: its rarest words in a row find it as well")
        return None
    pattern = _pattern(node)
    if isinstance(pattern, bound.BoundEverything):
        return _has(scope.name)
    if pattern is None:
        words = f"{context.text[slice(*node.span)]!r} has no letter or digit to search for"
        _refuse(context, node, "no-searchable-text", words, hint="leave it out; punctuation is not indexed")
        return None
    fields = searched_fields(context.level)
    if scope.name:
        fields = np.asarray([name == scope.name for name in TEXT_FIELDS])
    return bound.TermQuery(pattern, fields, scope.boost, scope.name, node, context.text)


def _has_long_phrase(node: ast.Node) -> bool:
    match node:
        case ast.Phrase(text=text):
            return len(text) > MAX_PHRASE and len(analysis.parts(text)) > MAX_PHRASE
        case ast.Near(operands=operands) | ast.Or(operands=operands):
            return any(map(_has_long_phrase, operands))
    return False


def _bind_keyword(node: ast.Node, name: str, context: Context) -> bound.Bound | None:
    """Bind a word, wildcard, fuzzy word or phrase on a keyword field, and refuse everything else."""
    match node:
        case ast.Word(text=text) | ast.Phrase(text=text, slop=None):
            glob = escape(fold_value(text))
        case ast.Wildcard(pattern=pattern):
            glob = fold_value(pattern)
        case ast.Fuzzy(text=text, distance=distance) if name not in UNORDERED:
            return bound.Similar(name, fold_value(text), distance)
        case _:
            words = f"field {name!r} is compared as a whole and cannot take {node}"
            _refuse(context, node, "field-kind", words, hint=f"use {name}:value, {name}:val*, or quotes")
            return None
    if not isinstance(node, ast.Wildcard):
        if condition := has_value(name, node.text):
            return condition
    elif name != "is":
        return bound.Refers(name, glob) if name in RELATION_FIELDS else bound.Glob(name, glob)
    elif states := [state for state in STATES if fnmatchcase(state, glob)]:
        conditions = tuple(bound.HasState(state) for state in states)
        return conditions[0] if len(conditions) == 1 else bound.Any(conditions)
    suggestions = [STATE_SYNONYMS[glob]] if glob in STATE_SYNONYMS else nearest(glob, STATES)
    start, end = node.span
    _refuse(
        context,
        node,
        "unknown-state",
        f"there is no state {glob!r}",
        hint=f"states are {', '.join(STATES)}",
        suggestion=f"{context.text[:start]}{suggestions[0]}{context.text[end:]}" if suggestions else "",
        nearest=suggestions,
    )
    return None


def compared(name: str, operator: str, limit: str) -> bound.Between:
    """Return the condition that a keyword field is ``>``, ``>=``, ``<`` or ``<=`` a limit."""
    low, high = (limit, None) if operator[0] == ">" else (None, limit)
    inclusive = operator.endswith("=")
    ends = inclusive or low is None, inclusive or high is None
    return bound.Between(name, kind_of(name), low, high, *ends)


def has_value(name: str, text: str) -> bound.Bound | None:
    """Return the condition that a keyword field has a value; None for a state that there is not.

    Numbers, dates and versions compare as in ranges.
    """
    if name in RELATION_FIELDS:
        return bound.Refers(name, escape(fold_value(text)))
    if name == "is":
        return bound.HasState(state) if (state := fold_value(text)) in STATES else None
    same, kind = bound.Glob(name, escape(fold_value(text))), kind_of(name)
    if not (is_readable(kind, text) and (kind != "text" or number(text) is not None)):
        return same
    return bound.Any((same, bound.Between(name, kind, text, text, include_low=True, include_high=True)))


def _pattern(node: ast.Node) -> bound.TextPattern | bound.BoundEverything | None:
    """Return the pattern of a term query; None if nothing is left to look for."""
    match node:
        case ast.Word(text=text):
            return _word_phrase(text, How.INFLECTED)
        case ast.Fuzzy(text=text, distance=distance):
            return _word_phrase(text, How.FUZZY, distance)
        case ast.Wildcard(pattern=pattern):
            return _glob_phrase(pattern)
        case ast.Phrase(text=text, slop=slop):
            words = analysis.parts(text)
            if not words or (len(text.split()) == 1 and analysis.has_signs(text)):
                return _word_phrase(text, How.EXACT)
            if slop is not None:
                return bound.SloppyPhrase(tuple(words), slop)
            patterns = tuple(pattern for word in text.split() for pattern in _in_phrase(word))
            return bound.BoundPhrase(patterns, tuple(range(len(patterns))))
        case ast.Near(operands=operands, distances=distances):
            return _near_pattern(operands, distances)
    message = f"{type(node).__name__} cannot be searched for"
    raise AssertionError(message)


def _in_phrase(word: str) -> list[Pattern]:
    """Return the patterns of a word in quotes. Wildcards work only beside letters, and not in an address or setting."""
    if _ATTACHED.search(word) and not _LITERAL.search(word):
        return [Pattern(piece, How.GLOB) for piece in analysis.glob_parts(word) if piece.strip("*?")]
    parts, signs = analysis.parts(word), _signs(word)
    return [Pattern(part, How.EXACT) for part in (signs if len(parts) == len(signs) == 1 else parts)]


def _signs(word: str) -> list[str]:
    """Return the term with signs that a word is, such as ``c++``, or its chunks if it has only signs."""
    chunks = analysis.chunks(analysis.normalize(word))
    if len(chunks) == 1 and (sign := analysis.sign_form(chunks[0])):
        return [sign]
    return [] if any(map(analysis.split_chunk, chunks)) else chunks


def _word_phrase(text: str, how: How, distance: int | None = None) -> bound.BoundPhrase | None:
    """Return the phrase for a word; None if it has nothing to search for. A word with signs is one term."""
    if analysis.is_plain(text):
        return bound.BoundPhrase((Pattern(text, how, distance),), (0,))
    if not analysis.searchable(text):
        return None
    if signs := _signs(text):
        return bound.BoundPhrase(tuple(Pattern(sign, How.EXACT) for sign in signs), (0,) * len(signs))
    pairs = [(chunk, analysis.split_chunk(chunk)) for chunk in analysis.chunks(analysis.normalize(text))]
    chunks = [(chunk, list(chain.from_iterable(segments))) for chunk, segments in pairs if segments]
    parts = list(chain.from_iterable([own for _, own in chunks]))
    patterns = tuple(Pattern(part, how, distance) for part in parts)
    offsets, misses = tuple(range(len(parts))), 0
    if len(parts) == 1:
        return bound.BoundPhrase(patterns, offsets)
    if how is How.FUZZY and all(map(analysis.is_unspaced, parts)):
        patterns = tuple(Pattern(part, How.EXACT) for part in parts)
        misses = automatic_distance(parts) if distance is None else distance
    apart = APART if any(starmap(_is_identifier, chunks)) else 1.0
    how = How.FUZZY if how is How.FUZZY else How.EXACT
    forms = tuple([Pattern(analysis.joined(own), how, distance) for _, own in chunks])
    joined: bound.BoundPhrase | None = None
    if len(chunks) == 1:
        joined = bound.BoundPhrase(forms, (0,))
    elif apart < 1.0:  # the parts in a row, and where a chunk begins its joined form
        begins = accumulate([len(own) for _, own in chunks[:-1]], initial=0)
        joined = bound.BoundPhrase((*patterns, *forms), (*offsets, *begins))
    return bound.BoundPhrase(patterns, offsets, joined, misses, apart)


def _is_identifier(chunk: str, parts: Sequence[str]) -> bool:
    """Return whether a chunk is an identifier of several parts, which apart are something else."""
    is_one = len(parts) > 1 and not parts[-1].isdecimal() and _IDENTIFIER.search(chunk)
    return bool(is_one) and not any(map(analysis.is_unspaced, parts))


def words_of(text: str) -> bound.BoundPhrase | None:
    """Return the phrase for a plain word; None if it has no letter, digit, operator or symbol."""
    return _word_phrase(text, How.INFLECTED)


def _glob_phrase(pattern: str) -> bound.BoundPhrase | bound.BoundEverything | None:
    pieces = analysis.glob_parts(pattern)
    stars = [not piece.strip("*") for piece in pieces]
    if all(stars):
        return bound.BoundEverything() if pieces and not _OTHER.search(pattern) else None
    if not any(map(str.isalnum, "".join(pieces))):
        return None
    first, last = stars.index(False), len(stars) - stars[::-1].index(False)
    kept = [offset for offset in range(first, last) if not stars[offset]]
    patterns = tuple(Pattern(pieces[offset], How.GLOB) for offset in kept)
    is_one = len(pieces) > 1 and not any(stars) and pattern.isascii() and _WILD.sub("", pattern).isalnum()
    form = bound.BoundPhrase((Pattern("".join(pieces), How.GLOB),), (0,)) if is_one else None
    return bound.BoundPhrase(patterns, tuple(offset - first for offset in kept), form)


def _near_pattern(operands: tuple[ast.Node, ...], distances: tuple[int, ...]) -> bound.BoundNear | None:
    groups = []
    for operand in operands:
        alternatives = operand.operands if isinstance(operand, ast.Or) else (operand,)
        phrases = tuple(
            phrase
            for phrase in map(_pattern, alternatives)
            if isinstance(phrase, (bound.BoundPhrase, bound.SloppyPhrase))
        )
        if len(phrases) != len(alternatives):
            return None
        groups.append(phrases)
    return bound.BoundNear(tuple(groups), distances)
