"""Suggest corrections that find more, and warn about likely mistakes in a query."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from rye.errors import ArgumentError, QueryError
from rye.index.text import analysis
from rye.items.clients import FORMATS
from rye.items.model import TYPE_NAMES
from rye.items.scope import EVERY_SCOPE, parse_scope
from rye.options.model import parameters_of
from rye.options.search import SearchOptions
from rye.query import ast, loosen, walk
from rye.query.limits import MAX_CORRECTED, MAX_PHRASE
from rye.search.contract.fields import TEXT_FIELDS, canonical, nearest, text_leaves
from rye.search.contract.request import Request
from rye.search.matching.bound import Bound, Within
from rye.search.reading.binder import Condition, all_of
from rye.search.reading.reading import Reading
from rye.search.reading.relax import Dictionary

FEW = 2
"""Up to this many hits may come from items that quote a truncated word, rather than from the intended word."""

_OPTION = re.compile(r"(?<!\S)--?[A-Za-z0-9][\w-]*(?![\w:-])")
"""An option of a shell command, which the query language reads as an exclusion."""

_SPACES = tuple(name for name in parameters_of(SearchOptions)["space"].choices if name != "all")
_VALUES = {"type": tuple(TYPE_NAMES), "space": _SPACES}
"""Keyword fields whose values are all known."""

_QUOTED_OPERATOR = re.compile(r"\w(?:~\d?|\*)(?!\S)")
"""A wildcard or ``~`` after a word; inside a phrase it is text."""

_COMPARED = re.compile("[<>]")
_SCOPE = re.compile(rf"(?:rye\.search\.)?(?P<type>{'|'.join(TYPE_NAMES)})\.(?P<path>[\w.-]+\.\*)")


@dataclass(frozen=True, slots=True)
class Notes:
    """Warnings about likely mistakes in the query, scope or filters of an answered search.

    Attributes:
        request: The request.
        reading: How the query was read.
        total: How many hits it has.
        conditions: Scope and filters.
        count: Returns how many hits a query has under the same scope and filters.
        passing: Returns how many items meet some conditions.
    """

    request: Request
    reading: Reading
    total: int
    conditions: Sequence[Condition]
    count: Callable[[ast.Node, Reading], int]
    passing: Callable[[Bound], int]

    def __iter__(self) -> Iterator[str]:
        """Yield each warning as a sentence."""
        yield from self._values()
        yield from self._quoted_operators()
        if match := _SCOPE.fullmatch(self.request.query.strip()):
            path = match["path"].replace(".", "/")
            yield f"a scope is not a query: give it as the scope, or search for {match['type']}:{path}"
        if not self.total:
            yield from self._scopes()
            yield from self._filters()

    def _values(self) -> Iterator[str]:
        """Yield a warning for each value that no item can have."""
        conditions: list[tuple[str, ast.Node]] = [
            (node.name, node) for node in walk(self.reading.main) if isinstance(node, ast.Field)
        ]
        conditions += [(name, parsed.ast) for name, parsed in self.reading.fixed]
        texts = [
            (name, leaf.text)
            for name, node in conditions
            for leaf in walk(node)
            if isinstance(leaf, ast.Word | ast.Phrase)
        ]
        for name, setting in self.request.filters.items():
            several = setting if isinstance(setting, (list, tuple, set, frozenset)) else [setting]
            texts += [(name, value.removeprefix("!")) for value in several if isinstance(value, str)]
        for given, text in dict.fromkeys(texts):
            name, folded = canonical(given), text.casefold()
            valid = _VALUES.get(name, ())
            if folded in valid or not valid or _COMPARED.match(text):
                continue
            suggestions = [choice for choice in valid if choice.startswith(folded)] or nearest(folded, valid)
            meant = f"did you mean {name}:{suggestions[0]}? " if suggestions else ""
            meant = f"did you mean format:{folded}? " if name == "type" and folded in FORMATS else meant
            yield f"no item has the {name} {text!r}: {meant}valid are {', '.join(valid)}"

    def _quoted_operators(self) -> Iterator[str]:
        for node in walk(self.reading.main):
            if isinstance(node, ast.Phrase) and (match := _QUOTED_OPERATOR.search(node.text)):
                sign = match[0][1]
                yield f"{sign} in {node} is text inside quotes; outside quotes it works, as in serv* NEAR/3 deploy"

    def _filters(self) -> Iterator[str]:
        """Yield a warning about filters and fields that exclude every item, by themselves or in combination."""
        fixed, filters = self.reading.fixed, [each for each in self.conditions if each.kind == "filter"]
        if not (fixed or filters) or self.count(ast.Everything(), self.reading):
            return
        within = [each.query for each in self.conditions if each.kind == "scope"]
        counts = {each.text: self.passing(all_of([*within, each.query])) for each in filters}
        for name, parsed in fixed:
            counts[f"{name}:{parsed.text}"] = self.count(
                ast.Everything(), self.reading._replace(fixed=((name, parsed),))
            )
        alone = [label for label, count in counts.items() if not count or len(counts) == 1]
        kind = " and ".join(name for name, given in (("filters", filters), ("fields", fixed)) if given)
        yield f"no item in scope passes {'the' if alone else 'all of the'} {kind}: {', '.join(alone or counts)}"

    def _scopes(self) -> Iterator[str]:
        for scope in self.request.scopes if self.request.scopes is not EVERY_SCOPE else ():
            if self.passing(Within(scope)):
                continue
            meant = parse_scope(str(scope).casefold())[0]
            is_meant = meant != scope and self.passing(Within(meant))
            guess = f"; did you mean {meant}? case matters there" if is_meant else ""
            yield f"the scope {scope} holds no item{guess}"


def answerable(error: QueryError, check: Callable[[str], None]) -> None:
    """Set a suggestion that parses: the error's own, else the words as a phrase; none for a long query.

    Every item is no suggestion: it is what is left if the only condition is at fault.

    Args:
        error: The error of a query; a query may have several faults, and its suggestion fixes only the first.
        check: Raises the error of a query, if it has one.
    """
    if len(error.text) > MAX_CORRECTED:
        error.suggestion = ""
        return
    words = re.findall(r"\w+", error.text)
    for candidate in (error.suggestion, str(ast.Phrase(" ".join(words)))):
        try:
            check(candidate)
        except (QueryError, ArgumentError):
            continue
        if candidate not in {"", "*"}:
            error.suggestion = candidate
            return
    error.suggestion = ""


def did_you_mean(
    text: str, reading: Reading, dictionary: Dictionary, *, total: int, count: Callable[[ast.Node, Reading], int]
) -> str:
    """Return a query that finds more than ``total`` hits, a quoted command that finds any, or an empty string.

    ``count`` returns how many hits a query has under the same scope and filters. The options of a pasted command are
    exclusions in the query language: ``df -h`` finds no item with an ``h``.
    """
    quoted = ast.Phrase(text)
    if (
        not reading.is_bag
        and _OPTION.search(text)
        and 1 < len(analysis.parts(text)) <= MAX_PHRASE
        and count(quoted, reading)
    ):
        return str(quoted)
    corrected = _corrected(reading.main, dictionary)
    if corrected != reading.main and count(corrected, reading) > total:
        return str(corrected)
    return "" if reading.is_bag or total else _in_words(text, reading, count)


def _in_words(text: str, reading: Reading, count: Callable[[ast.Node, Reading], int]) -> str:
    """Return a query with operators as plain words without its exclusions, if these find anything.

    In a pasted command the options are words too, which the query language reads as exclusions.
    """
    words = loosen(reading.main) or tuple(map(ast.Word, analysis.parts(text) if _OPTION.search(text) else ()))
    words = words or tuple(node for node in text_leaves(reading.main) if isinstance(node, ast.Word))
    distinct = tuple(dict.fromkeys(words))
    if len(distinct) == 1 < len(words):
        return ""  # the query asks for a word and excludes it
    return " ".join(map(str, distinct)) if distinct and count(ast.Or(distinct), reading) else ""


def _corrected(node: ast.Node, dictionary: Dictionary) -> ast.Node:
    match node:
        case ast.Word(text=text) if not dictionary.knows(text):
            parts = analysis.parts(text)
            correction = dictionary.nearest(parts[0])[0] if len(parts) == 1 else ""
            return replace(node, text=correction) if correction else node
        case ast.And(operands=operands) | ast.Or(operands=operands) | ast.Near(operands=operands):
            return replace(node, operands=tuple(_corrected(operand, dictionary) for operand in operands))
        case ast.Not(operand=operand) | ast.Boost(operand=operand):
            return replace(node, operand=_corrected(operand, dictionary))
        case ast.Field(name=name, operand=operand) if canonical(name) in TEXT_FIELDS:
            return replace(node, operand=_corrected(operand, dictionary.within(canonical(name))))
        case _:
            return node
