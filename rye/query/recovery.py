"""Read any text as a query: repair every mistake where it occurs, and record it as a fault.

Strict parsing raises the first fault and suggests the repaired query; lenient parsing returns the repaired query.
Three steps, each linear in the length of the text:

1. Characters. The text is cut to the length limit, control characters become spaces, and a backslash at the end is left
   out. A phrase without its end is closed at the end of the text; lenient parsing ignores its quotation mark.
2. Tokens. The lexer splits the text, and :class:`_Repair` turns the tokens into those of a correct query. An operator,
   mark or parenthesis without its partner is left out, a group is closed at the end of the text, a field without a
   value becomes a word, and ``&&``, ``||`` and ``!`` become operators. Numbers are clamped to their bounds. A
   comparison or range is one token and is rewritten.
3. Tree. The parser cannot fail on these tokens. Operands of NEAR without positions are joined by AND instead.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, NamedTuple

from lark import Token

from rye.query import ast, limits
from rye.query.conditions import repair_comparison, repair_range
from rye.query.escaping import FOREIGN, quote, units
from rye.query.flaws import QueryFault
from rye.query.grammar import meaning, parse_tokens, span, split
from rye.query.limits import MAX_CHARS, MAX_CORRECTED, MAX_LEAVES, MAX_NESTING
from rye.query.near import repair_near
from rye.query.tree import loosen, without_question_marks


def parse_strictly(text: str) -> ast.Parsed:
    """Parse a correct query.

    Raises:
        QueryError: For the first fault, with a suggestion that itself parses strictly.
    """
    tree, faults = _read(text, lenient=False)
    if faults:
        raise faults[0].error(text[: 2 * MAX_CHARS], _suggest(text, tree))
    return ast.Parsed(text, tree)


def parse_leniently(text: str) -> ast.Parsed:
    """Parse any text, and list the repairs in the order of the text."""
    tree, faults = _read(text, lenient=True)
    dropped = [fault.dropped() for fault in faults]
    if loosen(tree) is not None:
        tree, marks = without_question_marks(tree, text)
        dropped += marks
    return ast.Parsed(text, tree, tuple(sorted(dropped, key=lambda drop: drop.position)))


def _suggest(text: str, repaired: ast.Node) -> str:
    """Return a query that parses: the repaired one, else the words of the text as a phrase, else every item.

    A long text gets none.
    """
    if len(text) > MAX_CORRECTED:
        return ""
    words = re.findall(r"\w[\w./-]*", text)
    candidates = [str(repaired)] if repaired != ast.Everything() else []
    candidates += [quote(" ".join(words))] if words else []
    return next((query for query in candidates if not _read(query, lenient=False)[1]), "*")


def _read(text: str, *, lenient: bool) -> tuple[ast.Node, list[QueryFault]]:
    """Return the tree of any text, and its faults.

    The faults are ordered by kind: of characters, of tokens, of unclosed groups, of NEAR.
    """
    source, too_long = _cut(text)
    readable, faults = _readable(source, lenient=lenient)
    repair = _Repair(source, lenient=lenient)
    tokens = repair.run(split(readable))
    tree = parse_tokens(tokens) if tokens else ast.Everything()
    tree, near_faults = repair_near(tree, source)
    return tree, [*too_long, *faults, *repair.faults, *repair.unclosed, *near_faults]


# 1. Characters

_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]+")
_UNFINISHED = re.compile(r'\\[\s\S]|"(?:[^"\\]|\\[\s\S])*"|["\\]')
"""An escape, a phrase, or a single quotation mark or final backslash without its partner."""


def _cut(text: str) -> tuple[str, list[QueryFault]]:
    kept = limits.cut(text)
    if kept == text:
        return text, []
    facts = {"length": len(text), "limit": MAX_CHARS}
    return kept, [QueryFault("too-long", len(kept), text[len(kept) : MAX_CHARS], facts)]


def _readable(source: str, *, lenient: bool) -> tuple[str, list[QueryFault]]:
    """Return a text that the lexer can split, with all characters at their places, and its faults."""
    faults = [QueryFault("control-character", match.start(), match[0]) for match in _CONTROL.finditer(source)]
    text = _CONTROL.sub(lambda match: " " * len(match[0]), source)
    alone = {match[0]: match.start() for match in _UNFINISHED.finditer(text) if match[0] in ('"', "\\")}
    if "\\" in alone:
        faults.append(QueryFault("trailing-backslash", alone["\\"], "\\"))
        text = text[:-1]
    if '"' in alone:
        faults.append(QueryFault("unclosed-quote", alone['"'], '"'))
        text += "" if lenient else '"'
    return text, faults


# 2. Tokens

_JOINING = ("AND", "OR", "NEAR")
_PREFIXES = ("NOT", "MINUS", "FIELD")
_OPENERS = ("START", "LPAR", *_JOINING, *_PREFIXES)
_FOREIGN_OPERATORS = {"&&": "AND", "||": "OR"}
_NUMBER = {"whole number": re.compile(r"[0-9]+"), "number": re.compile(r"[0-9]+(?:\.[0-9]+)?")}
_LIKE_A_NUMBER = re.compile(r"[0-9]+\.?[0-9]*|\.[0-9]+")
_START = Token("START", "", start_pos=0, end_pos=0)
_token = Token.new_borrow_pos


class _Bounds(NamedTuple):
    """The numbers that may follow a mark, an example, and the reading used without a number."""

    kind: str
    least: float
    most: float
    example: str
    otherwise: str

    def nearest(self, text: str) -> str:
        """Return the number within the bounds nearest to a text; empty if the text is not a number."""
        if not _LIKE_A_NUMBER.fullmatch(text):
            return ""
        number = max(self.least, min(float(text), self.most))
        return str(number if self.kind == "number" else math.ceil(number)).removesuffix(".0")


_NEAR = _Bounds("whole number", 1, limits.MAX_DISTANCE, "NEAR/5", "NEAR/5")
_FUZZY = _Bounds("whole number", 0, limits.MAX_FUZZY, "deploy~ or deploy~1", "~")
_SLOP = _Bounds("whole number", 0, limits.MAX_SLOP, '"file system"~3', "")
_BOOST = _Bounds("number", limits.MIN_BOOST, limits.MAX_BOOST, "deploy^2", "")


class _LimitReached(Exception):
    """Stops reading at a limit. The arguments are its error code, the token that exceeds it, and its value."""


class _Group(NamedTuple):
    """An open group: its parenthesis, its depth, and the field (with its colon) it is in."""

    opening: Token
    depth: int
    field: str


class _Repair:
    """One pass over the tokens of a text.

    The invariant: ``tokens`` is the beginning of a correct query. So a token is appended only if it may follow the last
    one, and only tokens that lack an operand are ever removed. Each token is appended and removed at most once.

    Attributes:
        tokens: The tokens of the repaired query.
        faults: The repairs, except ``unclosed``.
        unclosed: The groups that are open at the end.
    """

    def __init__(self, source: str, *, lenient: bool) -> None:
        self.tokens: list[Token] = []
        self.faults: list[QueryFault] = []
        self.unclosed: list[QueryFault] = []
        self._source = source
        self._lenient = lenient
        self._groups: list[_Group] = []
        self._leaves = 0

    def run(self, tokens: Iterable[Token]) -> list[Token]:
        """Repair all tokens of a text and return them; empty if none is left."""
        try:
            for token in tokens:
                self._HANDLERS[token.type](self, token)
            self._take_back(_JOINING + _PREFIXES, report=True)
            self.unclosed = [QueryFault("unclosed-paren", span(group.opening)[0], "(") for group in self._groups]
        except _LimitReached as reached:
            code, place, limit = reached.args
            self._fault(code, place, limit=limit)
        while self._groups:
            self._end_group(Token("RPAR", ")", start_pos=len(self._source), end_pos=len(self._source)))
        self._take_back(_JOINING + _PREFIXES)
        return self.tokens

    @property
    def _last(self) -> Token:
        return self.tokens[-1] if self.tokens else _START

    def _fault(self, code: str, first: Token, last: Token | None = None, **facts: object) -> None:
        """Record a fault from the start of one token to the end of another."""
        start, end = span(first, last)
        self.faults.append(QueryFault(code, start, self._source[start:end], facts))

    def _written(self, token: Token) -> str:
        """Return the original text at the place of a token."""
        return self._source[token.start_pos : token.end_pos]

    def _take_back(self, kinds: Sequence[str], *, report: bool = False) -> None:
        """Remove operators at the end that have no operand; a field becomes a word."""
        while self._last.type in kinds:
            token = self.tokens.pop()
            is_field = token.type == "FIELD"
            if report and is_field:
                self._fault("missing-value", token, why="has no value directly after it", reading="a word")
            elif report:
                self._fault("missing-operand", token, why="has nothing after it")
            if is_field:
                self._leaf(_token("WORD", token[:-1], token))
            report = False

    # Groups and operators

    def _deeper(self, token: Token) -> int:
        """Return the nesting depth inside a group or exclusion that begins with this token."""
        depth = self._groups[-1].depth if self._groups else 0
        for previous in reversed(self.tokens):
            if previous.type not in _PREFIXES:
                break
            depth += previous.type != "FIELD"
        if depth >= MAX_NESTING:
            raise _LimitReached("too-deep", token, MAX_NESTING)
        return depth + 1

    def _open(self, token: Token) -> None:
        depth = self._deeper(token)
        around = self._groups[-1].field if self._groups else ""
        self._groups.append(_Group(token, depth, str(self._last) if self._last.type == "FIELD" else around))
        self.tokens.append(token)

    def _close(self, token: Token) -> None:
        if not self._groups:
            self._take_back(("FIELD",), report=True)
            self._fault("stray-paren", token)
            return
        if self._last is self._groups[-1].opening:
            self._fault("empty-group", self._last, token, what="parentheses")
        self._take_back(_JOINING + _PREFIXES, report=True)
        self._end_group(token)

    def _end_group(self, closing: Token) -> None:
        """Close the innermost group. If it is empty, remove it and the operators that apply only to it."""
        self._groups.pop()
        self._take_back(_JOINING + _PREFIXES)
        if self._last.type == "LPAR":
            self.tokens.pop()
            self._take_back(_PREFIXES)
        else:
            self.tokens.append(closing)

    def _operator(self, token: Token) -> None:
        last, word = self._last, self._written(token)
        if last.type == "FIELD":
            why = "is an operator and no value for {previous}"
            self._fault("missing-value", token, why=why, previous=self._written(last), reading="a word")
            self._leaf(_token("WORD", f"\\{word}", token))
        elif last.type in _OPENERS:
            begins = last.type in ("START", "LPAR")
            why = "has nothing before it to join" if begins else "directly follows {previous}"
            self._fault("missing-operand", token, why=why, previous=self._written(last))
        elif token.type == "NEAR":
            self._number(token, word.removeprefix("NEAR").removeprefix("/"), "NEAR/", _NEAR)
        else:
            self.tokens.append(token)

    def _exclude(self, token: Token) -> None:
        self._deeper(token)
        if self._last.type == "FIELD":
            self._fault("exclusion-in-field", token, previous=self._written(self._last))
            self._take_back(("FIELD",))
        self.tokens.append(token)

    # Words, phrases, fields

    def _leaf(self, token: Token) -> None:
        """Append a word, phrase or condition, or a field that precedes one."""
        if self._leaves >= MAX_LEAVES:
            raise _LimitReached("too-many-leaves", token, MAX_LEAVES)
        self._leaves += token.type != "FIELD"
        self.tokens.append(token)

    def _field(self, token: Token) -> None:
        self._take_back(("FIELD",), report=True)  # the field before lost its value
        self._leaf(token)

    def _word(self, token: Token) -> None:
        if not (FOREIGN.match(token) or self._source.startswith(('!"', "!("), token.start_pos)):
            self._leaf(token)
            return
        operator = _FOREIGN_OPERATORS.get(token, "NOT")
        is_text = operator == "NOT" and self._lenient  # as in `wow !important`
        self._fault("foreign-operator", token, reading="text" if is_text else operator)
        if operator != "NOT":
            self._operator(_token(operator, operator, token))
        elif not is_text:
            self._exclude(_token("MINUS", "-", token))
        if token[0] == "!" and token[1:]:
            self._leaf(_token("WORD", token if is_text else token[1:], token))

    def _phrase(self, token: Token) -> None:
        if text := meaning(token).strip():
            is_closed = span(token)[1] <= len(self._source)
            self._leaf(token if is_closed else _token("PHRASE", quote(text), token))
        else:
            self._fault("empty-group", token, what="quotation marks")
            self._take_back(_PREFIXES)

    def _condition(self, token: Token) -> None:
        """Append a comparison or range. Without a field, it gets the field of its group, or becomes words."""
        if self._ends_in_name():
            name = self.tokens.pop()
            self._leaves -= 1
            self._fault("space-after-colon", name, token, previous=str(name), reading=f"{name}{token}")
            self._leaf(_token("FIELD", name, name))
        elif self._last.type != "FIELD":
            around = self._groups[-1].field if self._groups else ""
            self._fault("missing-field", token, reading=f"for {around}" if around else "as words")
            if not around:
                for word in token.split():
                    self._leaf(_token("WORD", word, token))
                return
            self._leaf(Token("FIELD", around, start_pos=token.start_pos, end_pos=token.start_pos))
        field = self._last
        repaired = (repair_comparison if token.type == "COMPARISON" else repair_range)(field, token)
        if not repaired.code:
            self._leaf(token)
            return
        self._fault(repaired.code, field, token, reading=repaired.text, **repaired.facts)
        self.tokens.pop()
        start, end = span(field, token)
        for part in split(repaired.text):
            self._HANDLERS[part.type](self, Token(part.type, str(part), start_pos=start, end_pos=end))

    def _ends_in_name(self) -> bool:
        """Return whether the last word is a field name with its colon, as in ``created: >2026-01``."""
        is_value = len(self.tokens) > 1 and self.tokens[-2].type == "FIELD"
        if is_value or self._last.type != "WORD" or not self._last.endswith(":"):
            return False
        first = next(iter(split(f"{self._last}x")))  # how the lexer reads it directly before a value
        return first.type == "FIELD" and len(first) == len(self._last)

    # Marks after a word, phrase or group

    def _mark(self, mark: Token) -> None:
        """Append ``~`` or ``^`` with its number as a mark of the token directly before it, else as a word."""
        last, kind = self._last, mark.type
        if last.type in _OPENERS or last.end_pos != mark.start_pos:
            self._mark_of_nothing(mark)
        elif last.type in (kind, "BOOST"):
            self._fault("misplaced-mark", mark, why="cannot follow {previous}", previous=self._written(last))
        elif kind == "BOOST":
            self._number(mark, mark[1:], "^", _BOOST)
        elif last.type == "PHRASE":
            self._number(mark, mark[1:], "~", _SLOP)
        elif last.type != "WORD" or any(live for _, live in units(last)):
            self._fault("misplaced-mark", mark, why="can only follow a word without wildcards, or a phrase")
        elif len(mark) == 1:
            self.tokens.append(mark)
        else:
            self._number(mark, mark[1:], "~", _FUZZY)

    def _mark_of_nothing(self, mark: Token) -> None:
        """Handle a mark that follows nothing directly: keep a word such as ``~/.ssh``, leave out a plain mark."""
        before = self._source[: mark.start_pos][-1:]
        if mark[1:].strip("0123456789.") or (len(mark) == 1 and (before in ("", "(") or before.isspace())):
            self._leaf(_token("WORD", mark, mark))
            return
        self._fault("misplaced-mark", mark, why="has nothing directly before it")
        if mark[1:] and self._last.type == "FIELD":  # `version:^1.0`
            self._leaf(_token("WORD", mark[1:], mark))

    def _number(self, mark: Token, number: str, sign: str, bounds: _Bounds) -> None:
        """Append a mark with its number clamped to the bounds; other text after ~ or ^ makes it a word."""
        is_word = mark.type != "NEAR" and bool(number.strip("0123456789."))
        nearest = "" if is_word else bounds.nearest(number)
        reading = f"{sign}{nearest}" if nearest else bounds.otherwise
        if not _NUMBER[bounds.kind].fullmatch(number) or float(nearest) != float(number):
            self._fault("bad-number", mark, reading="a word" if is_word else reading or "nothing", **bounds._asdict())
        if is_word:
            self._leaf(_token("WORD", mark, mark))
        elif reading:
            self.tokens.append(_token(mark.type, reading, mark))

    _HANDLERS: ClassVar[dict[str, Callable[[_Repair, Token], None]]] = {
        "AND": _operator,
        "BOOST": _mark,
        "COMPARISON": _condition,
        "FIELD": _field,
        "FUZZY": _mark,
        "LPAR": _open,
        "MINUS": _exclude,
        "NEAR": _operator,
        "NOT": _exclude,
        "OR": _operator,
        "PHRASE": _phrase,
        "RANGE": _condition,
        "RPAR": _close,
        "STAR": _leaf,
        "WORD": _word,
    }
