"""Reads any text as a query: what is wrong is repaired where it is met, and noted as a fault.

Strict parsing raises the first fault and suggests the repaired query; lenient parsing answers with the repaired query.
Each token of the lexer is looked at once and is fed to the parser, left out, or replaced by a few that are fed; so the
parser never fails, and reading takes a time linear in the text. What is repaired:

- Text: cut where it is too long, too deep or has too many parts; control characters become spaces.
- Structure: a missing operand is left out, with the operator before it; so is an operator or parenthesis that joins
  nothing. A group is closed at the end of the text. An exclusion between a field and its value moves before the field.
  ``&&``, ``||`` and ``!`` are read as operators.
- Quotes and escapes: a phrase without its end is closed in a suggestion and loses its mark in a search; a backslash at
  the end is left out.
- Marks: a number out of bounds is brought into them; a mark without a number is left out.
- Comparisons: signs of other languages are understood, spaces after a sign and wildcards left out. Without a value the
  comparison asks whether the field is there; without a field it is for the field of its group.
- Ranges: the same. A range without its end is closed, a missing end open; ``..`` and ``to`` mean TO; a list of values
  is read as a group joined by OR.
- NEAR: an exclusion or field at its start moves around it; if an operand without positions is left, AND joins all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar, NamedTuple, TypeAlias

from lark import Token

from rye.query import ast, limits
from rye.query.escaping import ODD_WORDS, quote, terminal, units
from rye.query.flaws import Fault
from rye.query.grammar import Part, join, meaning, parser, span
from rye.query.limits import MAX_CHARS, MAX_LEAVES, MAX_NESTING
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
    return ast.Parsed(text, tree, tuple(sorted(dropped, key=lambda each: each.position)))


def _read(text: str, *, lenient: bool) -> tuple[ast.Node, list[Fault]]:
    """Return the tree of any text, and its faults: those of NEAR last, the others in the order of the text."""
    source, faults = text, []
    if len(text) > MAX_CHARS:
        source = text[:MAX_CHARS]
        if not (text[MAX_CHARS].isspace() or source[-1].isspace()):
            source = source.removesuffix(source.split()[-1]) or source
        facts = {"length": len(text), "limit": MAX_CHARS}
        faults.append(Fault("too-long", len(source), text[len(source) : MAX_CHARS], facts))
    reader = _Reader(source, lenient=lenient)
    tree = reader.read() or ast.Everything()
    faults += reader.faults
    return _repair_near(tree, source, faults) if "NEAR" in source else tree, faults


def _suggest(text: str, repaired: ast.Node) -> str:
    """Return a query that parses: the repaired one, else the words of the text as a phrase, else every item."""
    words = re.findall(r"\w[\w./-]*", text)
    candidates = [str(repaired)] if repaired != ast.Everything() else []
    candidates += [quote(" ".join(words))] if words else []
    return next((each for each in candidates if not _read(each, lenient=False)[1]), "*")


_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]+")
_OPENERS = ("START", "LPAR", "AND", "OR", "NEAR", "NOT", "MINUS", "FIELD")
_FOREIGN_OPERATORS = {"&&": "AND", "||": "OR"}
_EXCLUDED_VALUE = re.compile(r"-(?![->0-9]|\Z)")
_COMPARISONS = (">=", "<=", ">", "<")
_FOREIGN_SIGNS = {"=>": ">=", "=<": "<=", **dict.fromkeys(("!", "!=", "!==", "<>"), "-")}
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_LIKE_A_NUMBER = re.compile(r"[0-9]+\.?[0-9]*|\.[0-9]+")
_USUAL_DISTANCE = 5

# Of a comparison or range all is looked at before any of it is fed, because what is wrong at its end can change how it
# begins. Nothing in these patterns can match the same text in two ways, and the atomic group never goes back.
_PHRASE, _BOUND = terminal("PHRASE"), terminal("BOUND")
_VALUE = re.compile(rf"(?:\s+(?=[0-9]))?(?P<value>{_PHRASE}|{terminal('_CHARS')})")
"""What follows the sign of a comparison."""
_PIECE = re.compile(rf"{_PHRASE}|{_BOUND}")
_RANGE = re.compile(
    rf"(?>(?:{_PHRASE}|{_BOUND}|\s)*)(?P<end>{terminal('CLOSE')})"
    rf"|(?:{_BOUND})?(?:\s+(?:TO|to)(?=\s|\Z)(?:\s+{_BOUND})?)?"
)
"""What follows the bracket of a range: all up to its end, else what can be the start of one."""

_START = Token("START", "", start_pos=0, end_pos=0)
_token = Token.new_borrow_pos
_Clause: TypeAlias = tuple[Token, Token]
"""The first and the last token of a comparison or range."""


def _match(kind: str, start: int, text: str) -> Token:
    """Return text of the query as a token: a phrase where it is quoted."""
    return Token("PHRASE" if text.startswith('"') else kind, text, start_pos=start, end_pos=start + len(text))


def _whole(digits: str, least: int, most: int) -> int | None:
    """Return a whole number brought into its bounds; None where there is none."""
    return int(max(least, min(float(digits), most))) if digits.isascii() and digits.isdecimal() else None


class _LimitReached(Exception):
    """Ends the reading at a limit: its error code, the token that exceeds it, and its value."""


class _Group(NamedTuple):
    """An open group: its parenthesis, how deep it is nested, and the field (with its colon) of it or one around it."""

    opening: Token
    depth: int
    field: str


class _Reader:
    """One pass over a text within the length limit.

    Its state is the last token that was fed, the open groups, the exclusions before the next operand, and the number of
    leaves. The invariant: all that has been fed is the beginning of a correct query. Every repair keeps it, because it
    feeds nothing, or a whole operand where one is wanted (a HOLE if there is none), or an operator directly behind an
    operand. So the parser can always go on, and at the end only open groups have to be closed.

    The lexer reads a token only when the one before has been handled. It is contextual, so it then knows what may come
    next in the repaired query: a range begins only after a field that was fed, never after one that was left out.
    """

    def __init__(self, source: str, *, lenient: bool) -> None:
        self.faults = [Fault("control-character", each.start(), each[0]) for each in _CONTROL.finditer(source)]
        self._source = source
        self._text = _CONTROL.sub(lambda each: " " * len(each[0]), source)
        self._lenient = lenient
        self._session = parser().parse_interactive(self._text)
        self._previous = _START
        self._condition = ""  # the name of what was just fed, if no ~ may follow it
        self._groups: list[_Group] = []
        self._exclusions = 0  # directly before the next operand, as in NOT NOT -a; each adds to the depth
        self._leaves = 0

    def read(self) -> Part:
        """Return the tree of the text; None where nothing is left of it."""
        stopped = False
        try:
            for token in self._session.lexer_thread.lex(self._session.parser_state):  # type: ignore[no-untyped-call]
                self._HANDLERS[token.type](self, token)
        except _LimitReached as reached:
            code, place, limit = reached.args
            self._fault(code, place, limit=limit)
            stopped = True
        self._complete(report=not stopped)
        for group in self._groups:
            if not stopped:
                self._fault("unclosed-paren", group.opening)
            self._session.feed_token(Token("RPAR", ")", start_pos=len(self._text), end_pos=len(self._text)))
        result: Part = self._session.feed_token(Token("$END", ""))
        return result

    def _feed(self, token: Token, condition: str = "") -> None:
        self._session.feed_token(token)
        self._previous, self._condition = token, condition
        if token.type not in ("NOT", "MINUS", "FIELD"):
            self._exclusions = 0

    def _fault(self, code: str, first: Token, last: Token | None = None, **facts: object) -> None:
        """Note what is wrong from the start of one token to the end of another."""
        start, end = span(first, last)
        self.faults.append(Fault(code, start, self._source[start:end], facts))

    def _written(self, token: Token) -> str:
        """Return the original text at the place of a token."""
        return self._source[token.start_pos : token.end_pos]

    def _continue_at(self, position: int) -> None:
        """Move the lexer: behind text that was read without it, or back to text that is to be read differently."""
        assert self._session.lexer_thread.state
        self._session.lexer_thread.state.line_ctr.char_pos = position

    @property
    def _wants_operand(self) -> bool:
        return self._previous.type in _OPENERS

    @property
    def _waiting_field(self) -> Token | None:
        """The field just fed, whose value is still missing."""
        return self._previous if self._previous.type == "FIELD" else None

    @property
    def _group_field(self) -> str:
        """The field, with its colon, of the innermost group that has one."""
        return self._groups[-1].field if self._groups else ""

    @property
    def _depth(self) -> int:
        return (self._groups[-1].depth if self._groups else 0) + self._exclusions

    # Structure: groups, operators, exclusions.

    def _open(self, token: Token) -> None:
        depth = self._depth + 1
        if depth > MAX_NESTING:
            raise _LimitReached("too-deep", token, MAX_NESTING)
        field = str(self._waiting_field or self._group_field)
        self._feed(token)
        self._groups.append(_Group(token, depth, field))

    def _close(self, token: Token) -> None:
        if not self._groups:
            if self._waiting_field:
                self._complete()
            self._fault("stray-paren", token)
            return
        if self._previous is self._groups[-1].opening:
            self._fault("empty-group", self._previous, token)
        self._complete()
        self._groups.pop()
        self._feed(token, "a group")

    def _complete(self, *, report: bool = True) -> None:
        """Fill the place of an operand that is missing here."""
        if self._wants_operand:
            field = self._waiting_field
            if report and self._previous.type not in ("START", "LPAR"):
                self._fault("field-without-value" if field else "missing-right-operand", self._previous)
            self._leaves += bool(field or self._group_field)  # a field without a value becomes a word
            end = self._previous.end_pos
            self._feed(Token("HOLE", "", start_pos=end, end_pos=end))

    def _operator(self, token: Token) -> None:
        if field := self._waiting_field:
            self._fault("operator-as-value", token, previous=self._written(field))
            self._leaf(_token("WORD", f"\\{self._written(token)}", token))
        elif self._previous.type in ("START", "LPAR"):
            self._fault("missing-left-operand", token)
        elif self._wants_operand:
            self._fault("doubled-operator", token, previous=self._written(self._previous))
        elif token.type == "NEAR":
            self._near(token)
        else:
            self._feed(token)

    def _near(self, token: Token) -> None:
        asked = token.removeprefix("NEAR").removeprefix("/")
        distance = _whole(asked, 1, limits.MAX_DISTANCE)
        reading = f"NEAR/{distance or _USUAL_DISTANCE}"
        if distance is None or float(asked) != distance:
            self._fault("bad-near-distance" if token[4:] else "near-without-distance", token, reading=reading)
        self._feed(_token("NEAR", reading, token))

    def _exclude(self, token: Token, *, report: bool = True) -> None:
        field = self._waiting_field
        deeper = 2 if field else 1  # moved before its field, it leaves a group behind
        if self._depth + deeper > MAX_NESTING:
            raise _LimitReached("too-deep", token, MAX_NESTING)
        if field and report:
            self._fault("exclusion-in-field", token, previous=self._written(field))
        self._feed(token)
        self._exclusions += deeper

    # Words and phrases.

    def _leaf(self, token: Token, condition: str = "") -> None:
        """Feed a word, a phrase or the end of a condition; or a field, whose value then is one of these."""
        if self._leaves >= MAX_LEAVES:
            raise _LimitReached("too-many-leaves", token, MAX_LEAVES)
        self._leaves += token.type != "FIELD"
        self._feed(token, condition)

    def _star(self, token: Token) -> None:
        """Take ``*``: every item; after a field, every item that has it."""
        self._leaf(_token("STAR", "*", token), "a field condition" if self._waiting_field else "")

    def _word(self, token: Token) -> None:
        if self._waiting_field and (_EXCLUDED_VALUE.match(token) or self._is_before_operand(token, "-")):
            self._exclude(_token("MINUS", "-", token))
            self._rest_of_word(token)
            return
        match next((code for code, look in ODD_WORDS.items() if look.match(token)), ""):
            case code if code == "foreign-operator" or self._is_before_operand(token, "!"):
                self._foreign(token)
            case "stray-suffix":
                self._fault("stray-suffix", token)
                if self._waiting_field:
                    self._rest_of_word(token)
            case "missing-field":
                self._without_field(token)
            case _:
                self._leaf(token)

    def _rest_of_word(self, token: Token) -> None:
        """Take a word without its first character, where anything is left of it."""
        if token[1:]:
            self._leaf(_token("WORD", token[1:], token))

    def _is_before_operand(self, token: Token, mark: str) -> bool:
        """Return whether a token is just this mark, directly before a group or phrase."""
        return token == mark and self._text.startswith(("(", '"'), token.end_pos)

    def _stands_alone(self, token: Token) -> bool:
        """Return whether nothing but white space or an opening parenthesis is directly before a token."""
        start = token.start_pos or 0
        return not start or self._text[start - 1].isspace() or self._text[start - 1] == "("

    def _without_field(self, token: Token) -> None:
        """Take a comparison or range without a field: for the field of its group, else as words."""
        field = self._group_field
        self._fault("missing-field", token, reading=f"for {field}" if field else "as words")
        if not field:
            for word in token.split():
                self._leaf(_token("WORD", word, token))
            return
        start = token.start_pos or 0
        self._leaf(Token("FIELD", field, start_pos=start, end_pos=start))
        self._continue_at(start)

    def _foreign(self, token: Token) -> None:
        """Take ``&&``, ``||`` and ``!``, which are operators elsewhere."""
        if operator := _FOREIGN_OPERATORS.get(token):
            self._fault("foreign-operator", token, reading=operator)
            self._operator(_token(operator, operator, token))
        elif not self._lenient and (token[1:] or self._is_before_operand(token, "!")):
            self._fault("foreign-operator", token, reading="NOT")
            self._exclude(_token("MINUS", "-", token))
            self._rest_of_word(token)
        else:
            self._fault("foreign-operator", token, reading="part of the word" if token[1:] else "nothing")
            if token[1:]:
                self._leaf(token)

    def _phrase(self, token: Token) -> None:
        if meaning(token).strip():
            self._leaf(token)
        else:
            self._fault("empty-phrase", token)
            self._complete(report=False)

    def _quote(self, mark: Token) -> None:
        """Take a quotation mark that is never closed: a suggestion closes it at the end, a search does without it."""
        if self._lenient:
            self._fault("unclosed-quote", mark)
        else:
            self._phrase(self._rest(mark))

    def _rest(self, mark: Token) -> Token:
        """Return all the rest of the text as a phrase."""
        self._fault("unclosed-quote", mark)
        self._continue_at(len(self._text))
        return _token("PHRASE", f'"{self._text[mark.end_pos :].strip()}"', mark)

    # Comparisons and ranges.

    def _comparison(self, sign: Token) -> None:
        """Take a sign and the value after it."""
        field, start = self._previous, sign.end_pos or 0
        found, value = _VALUE.match(self._text, start), _token("VALUE", "", sign)
        if not found and self._text.startswith('"', start):
            mark = Token("QUOTE", '"', start_pos=start, end_pos=start + 1)
            if self._lenient:
                self._fault("unclosed-quote", mark)
                start += 1
                self._continue_at(start)
                found = _VALUE.match(self._text, start)
            else:
                value = self._rest(mark)
        if found:
            value = _match("VALUE", found.start("value"), found["value"])
            self._continue_at(found.end())
        clause, read = (field, value), sign if sign in _COMPARISONS else _FOREIGN_SIGNS.get(sign, "")
        if not meaning(value).strip():
            self._fault("comparison-without-value", *clause)
            self._star(value)
        elif read not in _COMPARISONS:
            self._fault("bad-comparison", *clause, sign=sign, reading=f"{read}{field}{value}")
            if read:
                self._exclude(_token("MINUS", "-", sign), report=False)
            self._leaf(value if value.type == "PHRASE" else _token("WORD", value, value))
        else:
            if sign != read:
                self._fault("bad-comparison", *clause, sign=sign, reading=read)
            if found and found.start("value") != start:
                self._fault("comparison-space", *clause)
            if full := self._without_wildcards(value, clause):
                self._feed(_token("SIGN", read, sign))
                self._leaf(full, "a comparison")
            else:
                self._star(value)

    def _range(self, opening: Token) -> None:
        """Take a range up to its end: one value at each end, or a list of values."""
        field, start = self._previous, opening.end_pos or 0
        found = _RANGE.match(self._text, start)
        assert found
        self._continue_at(found.end())
        closing = Token("CLOSE", found["end"] or "]", start_pos=start, end_pos=found.end())
        clause = field, closing
        if not found["end"]:
            self._fault("unclosed-range", *clause)
        pieces = [_match("BOUND", each.start(), each[0]) for each in _PIECE.finditer(self._text, start, found.end())]
        if len(pieces) == 1 and ".." in pieces[0] and not pieces[0].startswith('"') and "\\" not in pieces[0]:
            self._fault("range-without-to", *clause, reading="a range from the one to the other")
            low, _, high = pieces[0].partition("..")
            pieces = [_token("BOUND", text, pieces[0]) for text in (low, "TO", high) if text]
        marks = [place for place, piece in enumerate(pieces) if piece.upper() == "TO"]
        if len(marks) == len(pieces):
            self._fault("empty-range", *clause)
            self._star(closing)
        elif not marks:
            self._list(pieces, clause)
        else:
            place = next((place for place in marks if pieces[place] == "TO"), None)
            if place is None:
                self._fault("range-lowercase-to", *clause)
                place = marks[0]
            ends = self._bound(pieces[:place], "before", clause), self._bound(pieces[place + 1 :], "after", clause)
            for token in (opening, ends[0], _token("TO", "TO", pieces[place]), ends[1]):
                self._feed(token)
            self._leaf(closing, "a range")

    def _bound(self, side: Sequence[Token], name: str, clause: _Clause) -> Token:
        """Return one end of a range, ``*`` where it is open."""
        if not "".join(map(meaning, side)).strip():
            self._fault("range-without-bound", *clause, side=name)
        elif len(side) > 1:
            self._fault("range-bound-words", *clause, bound=" ".join(side))
            return _token("PHRASE", quote(" ".join(map(meaning, side))), side[0])
        elif side[0] != "*" and (full := self._without_wildcards(side[0], clause)):
            return full
        return _token("BOUND", "*", side[0] if side else clause[1])

    def _without_wildcards(self, value: Token, clause: _Clause) -> Token | None:
        """Return a value or an end of a range as it is, or without its live wildcards where it has some."""
        word = [] if value.type == "PHRASE" else units(value)
        if not any(live for _, live in word):
            return value
        self._fault("bound-wildcard", *clause, bound=value)
        rest = "".join(char for char, live in word if not live).rstrip("-./_")
        return _token("PHRASE", quote(rest), value) if rest else None

    def _list(self, pieces: Sequence[Token], clause: _Clause) -> None:
        """Take a list of values, ``[api, mcp]``, as a group joined by OR."""
        words = [piece if piece.type == "PHRASE" else _token("WORD", piece.strip(",;"), piece) for piece in pieces]
        values = [word for word in words if word not in ("OR", "AND") and meaning(word).strip()]
        self._fault("range-without-to", *clause, reading=f"{clause[0]}({' OR '.join(values)})")
        if not values:
            self._star(clause[1])
            return
        self._open(_token("LPAR", "(", clause[1]))
        for value in values:
            if not self._wants_operand:
                self._feed(_token("OR", "OR", value))
            self._leaf(value)
        self._close(_token("RPAR", ")", clause[1]))

    # Marks behind a word, phrase or group.

    def _suffix(self, mark: Token) -> None:
        """Take ``~`` or ``^`` with what follows it, as a mark of what stands directly before it, else as a word."""
        previous = self._previous
        if self._wants_operand or previous.end_pos != mark.start_pos:
            if len(mark) == 1 and not self._stands_alone(mark):
                self._fault("stray-suffix", mark)
            else:
                self._word(_token("WORD", mark, mark))
        elif previous.type in (mark.type, "BOOST"):
            code = "repeated-suffix" if previous.type == mark.type else "suffix-order"
            self._fault(code, mark, previous=self._written(previous))
        elif mark.type == "BOOST":
            factor = min(float(mark[1:]), limits.MAX_BOOST) if _LIKE_A_NUMBER.fullmatch(mark[1:]) else 0
            self._number(mark, "bad-boost", factor if factor >= limits.MIN_BOOST else None, "")
        elif self._condition:
            self._fault("fuzzy-group", mark, what=self._condition)
        elif previous.type == "PHRASE":
            self._number(mark, "bad-slop", _whole(mark[1:], 0, limits.MAX_SLOP), "")
        elif any(live for _, live in units(previous)):
            self._fault("fuzzy-wildcard", mark, what=self._written(previous))
        elif mark[1:]:
            self._number(mark, "bad-fuzzy-distance", _whole(mark[1:], 0, limits.MAX_FUZZY), "~")
        else:
            self._feed(mark)

    def _number(self, mark: Token, code: str, number: float | None, otherwise: str) -> None:
        """Feed a mark with its number brought into its bounds; one without a number as ``otherwise`` or as a word."""
        digits, reading = mark[1:], otherwise if number is None else f"{mark[0]}{number}"
        if number is None and digits.strip("0123456789."):
            self._fault(code, mark, reading="a word of its own")
            self._word(_token("WORD", mark, mark))
            return
        if not _NUMBER.fullmatch(digits) or float(digits) != number:
            self._fault(code, mark, reading=reading.removesuffix(".0") or "nothing")
        if reading:
            self._feed(_token(mark.type, reading, mark))

    _HANDLERS: ClassVar[dict[str, Callable[[_Reader, Token], None]]] = {
        "AND": _operator,
        "BACKSLASH": lambda self, token: self._fault("trailing-backslash", token),
        "BARE_RANGE": _without_field,
        "BOOST": _suffix,
        "FIELD": _leaf,
        "FUZZY": _suffix,
        "LPAR": _open,
        "MINUS": _exclude,
        "NEAR": _operator,
        "NOT": _exclude,
        "OPEN": _range,
        "OR": _operator,
        "PHRASE": _phrase,
        "QUOTE": _quote,
        "RPAR": _close,
        "SIGN": _comparison,
        "STAR": _star,
        "WORD": _word,
    }


_WITHOUT_POSITIONS: dict[type[ast.Node], str] = {
    ast.And: "words joined by AND",
    ast.Boost: "something boosted",
    ast.Compare: "a comparison",
    ast.Everything: "*",
    ast.Exists: "a field condition",
    ast.Field: "a part with its own field",
    ast.Near: "another NEAR in parentheses",
    ast.Not: "an exclusion",
    ast.Range: "a range",
}
"""What NEAR cannot measure a distance to, as messages call it."""


def _repair_near(root: ast.Node, text: str, faults: list[Fault]) -> ast.Node:
    """Return a query with only measurable operands around every NEAR; add a fault for each NEAR that had others."""

    def repair(node: ast.Node, below: Sequence[ast.Node]) -> ast.Node:
        if isinstance(node, ast.And):
            return replace(join(ast.And, below) or node, span=node.span)
        node = ast.with_children(node, below)
        if not isinstance(node, ast.Near) or not (culprit := _unmeasurable(node.operands)):
            return node
        repaired = _without_unmeasurable(node)
        facts = {"what": _WITHOUT_POSITIONS[type(culprit)], "reading": repaired}
        met.append(Fault("near-operand", culprit.span[0], text[slice(*culprit.span)], facts))
        return repaired

    met: list[Fault] = []
    repaired = ast.fold(root, repair)
    faults += sorted(met, key=lambda fault: fault.position)
    return repaired


def _unmeasurable(operands: Sequence[ast.Node]) -> ast.Node | None:
    """Return the first part of these operands that has no positions of its own, or None."""
    parts = (part for each in operands for part in (each.operands if isinstance(each, ast.Or) else (each,)))
    return next((part for part in parts if type(part) in _WITHOUT_POSITIONS), None)


def _without_unmeasurable(near: ast.Near) -> ast.Node:
    """Move an exclusion or field that stands before NEAR around it; where that is not enough, join by AND."""
    operands: list[ast.Node] = []
    distances: list[int] = []
    for each, distance in zip(near.operands, (0, *near.distances), strict=True):
        inner = each.operand if isinstance(each, ast.Boost) else each
        chain = inner if isinstance(inner, ast.Near) else ast.Near((inner,), ())
        operands += chain.operands
        distances += (distance, *chain.distances)
    first, *others = operands
    bare = operands
    if isinstance(first, ast.Not):
        bare = [first.operand, *others]
    elif isinstance(first, ast.Field):
        bare = [each.operand if isinstance(each, ast.Field) and each.name == first.name else each for each in operands]
    if _unmeasurable(bare):
        return join(ast.And, operands) or near
    inside = replace(near, operands=tuple(bare), distances=tuple(distances[1:]))
    return replace(first, operand=inside, span=near.span) if isinstance(first, ast.Not | ast.Field) else inside
