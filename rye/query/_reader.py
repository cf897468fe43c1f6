"""One pass over a text that never fails: the parser is fed token by token, and what it would refuse is fixed first.

Fixing keeps a fault for each thing fixed. Strict parsing raises the first of them and offers the fixed query as its
suggestion; lenient parsing answers with the fixed query. Each token is looked at once and is fed, left out, or
replaced by a few that are fed, so the pass ends after a time linear in the text.

What is fixed in the structure: a missing operand becomes a hole, an operator or parenthesis that joins nothing is left
out, an open group is closed at the end. What is fixed in a leaf or mark, its own module says.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import ClassVar

from lark import Token

from rye.query._build import Part, parser
from rye.query._clauses import Fixed, fix_comparison, fix_range, split_comparison
from rye.query._faults import Fault
from rye.query._marks import fix_boost, fix_fuzzy, fix_near, fix_slop
from rye.query._text import ODD_WORDS, units, unquote
from rye.query.limits import MAX_LEAVES, MAX_NESTING

__all__ = ["Manner", "Reader"]

_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]+")
_EXCLUDED_VALUE = re.compile(r"-(?![->0-9]|\Z)")
_FOREIGN = {"&&": "AND", "||": "OR"}
_OPENERS = ("LPAR", "AND", "OR", "NEAR", "NOT", "MINUS", "FIELD")
_GROUPS = {"RPAR": "a group", "COMPARE": "a comparison", "RANGE": "a range", "EXISTS": "a field condition"}


@dataclass(frozen=True, slots=True)
class _Group:
    """An open group: its parenthesis, how deep it is nested, and the field (with its colon) of it or one around it."""

    opening: Token
    depth: int
    field: str


class Manner(Enum):
    """Who reads the fixed query: a writer who is shown it as a suggestion, or the search itself."""

    STRICT = auto()
    LENIENT = auto()


class Reader:
    """One pass over one text of a legal length."""

    def __init__(self, source: str, manner: Manner) -> None:
        self.faults = [Fault("control-character", each.start(), each[0]) for each in _CONTROL.finditer(source)]
        self.nears = 0
        self._source = source
        self._text = _CONTROL.sub(lambda each: " " * len(each[0]), source)
        self._manner = manner
        self._session = parser().parse_interactive(self._text)
        self._previous: Token | None = None
        self._groups: list[_Group] = []
        self._exclusions = 0
        self._leaves = 0
        self._stopped = False

    def read(self) -> Part:
        """Return what the text was read as; None where nothing is left of it."""
        session = self._session
        for token in session.lexer_thread.lex(session.parser_state):  # type: ignore[no-untyped-call]
            self._take(token)
            if self._stopped:
                break
        self._close_all()
        result: Part = session.feed_token(Token("$END", ""))
        return result

    def _take(self, token: Token) -> None:
        if not self._stopped:
            self._HANDLERS[token.type](self, token)

    def _take_fixed(self, fixed: Fixed, token: Token) -> None:
        """Report the flaws of a token and take what it was fixed to."""
        for code, facts in fixed.flaws:
            self._fault(code, token, **facts)
        for kind, text in fixed.tokens:
            self._take(Token.new_borrow_pos(kind, text, token))

    def _feed(self, token: Token) -> None:
        self._session.feed_token(token)
        self._previous = token
        if token.type not in ("NOT", "MINUS", "FIELD"):
            self._exclusions = 0

    def _fault(self, code: str, token: Token, **facts: object) -> None:
        self.faults.append(Fault(code, token.start_pos or 0, self._written(token), facts))

    def _written(self, token: Token) -> str:
        """Return what the writer wrote where ``token`` now stands."""
        return self._source[token.start_pos : token.end_pos]

    def _stop(self, code: str, token: Token, limit: int) -> None:
        self._fault(code, token, limit=limit)
        self._stopped = True

    @property
    def _wants_operand(self) -> bool:
        return self._previous is None or self._previous.type in _OPENERS

    @property
    def _waiting_field(self) -> Token | None:
        """The field that stands directly before, its value still missing."""
        return self._previous if self._previous is not None and self._previous.type == "FIELD" else None

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
            self._stop("too-deep", token, MAX_NESTING)
            return
        field = self._waiting_field or self._group_field
        self._feed(token)
        self._groups.append(_Group(token, depth, str(field)))

    def _close(self, token: Token) -> None:
        if not self._groups:
            self._do_without_value()
            self._fault("stray-paren", token)
            return
        if self._previous is self._groups[-1].opening:
            start = self._previous.start_pos or 0
            self.faults.append(Fault("empty-group", start, self._source[start : token.end_pos]))
        else:
            self._report_missing_operand()
        self._fill_hole()
        self._groups.pop()
        self._feed(token)

    def _close_all(self) -> None:
        """Fill the last hole and close what is open; where reading stopped early, none of that is a fault."""
        if not self._stopped:
            self._report_missing_operand()
            for group in self._groups:
                self._fault("unclosed-paren", group.opening)
        self._fill_hole()
        end = len(self._text)
        for _ in self._groups:
            self._session.feed_token(Token("RPAR", ")", start_pos=end, end_pos=end))

    def _report_missing_operand(self) -> None:
        if self._previous is not None and self._wants_operand and self._previous.type != "LPAR":
            code = "field-without-value" if self._previous.type == "FIELD" else "missing-right-operand"
            self._fault(code, self._previous)

    def _do_without_value(self) -> None:
        if self._waiting_field:
            self._report_missing_operand()
            self._fill_hole()

    def _fill_hole(self) -> None:
        if self._wants_operand:
            if self._waiting_field:
                self._leaves += 1  # its name becomes a word
            self._feed(Token("HOLE", "", start_pos=self._end_of_previous, end_pos=self._end_of_previous))

    @property
    def _end_of_previous(self) -> int:
        return 0 if self._previous is None else self._previous.end_pos or 0

    def _operator(self, token: Token) -> None:
        previous = self._previous
        if field := self._waiting_field:
            self._fault("operator-as-value", token, previous=self._written(field))
            self._leaf(Token.new_borrow_pos("WORD", f"\\{self._written(token)}", token))
        elif previous is None or previous.type == "LPAR":
            self._fault("missing-left-operand", token)
        elif self._wants_operand:
            self._fault("doubled-operator", token, previous=self._written(previous))
        elif token.type == "NEAR":
            fixed = fix_near(token)
            for code, facts in fixed.flaws:
                self._fault(code, token, **facts)
            self.nears += 1
            self._feed(Token.new_borrow_pos(*fixed.tokens[0], token))
        else:
            self._feed(token)

    def _exclude(self, token: Token) -> None:
        field = self._waiting_field
        deeper = 2 if field else 1  # moved before its field, it leaves a group behind
        if self._depth + deeper > MAX_NESTING:
            self._stop("too-deep", token, MAX_NESTING)
            return
        if field:
            self._fault("exclusion-in-field", token, previous=self._written(field))
        self._feed(token)
        self._exclusions += deeper

    def _field(self, token: Token) -> None:
        if self._leaves == MAX_LEAVES:
            self._stop("too-many-leaves", token, MAX_LEAVES)
        else:
            self._feed(token)

    # Leaves: words, phrases, conditions.

    def _leaf(self, token: Token) -> None:
        if self._stopped:
            return
        if self._leaves == MAX_LEAVES:
            self._stop("too-many-leaves", token, MAX_LEAVES)
            return
        self._leaves += 1
        self._feed(token)

    def _word(self, token: Token) -> None:
        if self._waiting_field and self._excludes_value(token):
            self._exclude(Token.new_borrow_pos("MINUS", "-", token))
            self._word_after(1, token)
            return
        match next((code for code, look in ODD_WORDS.items() if look.match(token)), ""):
            case "foreign-operator":
                self._foreign(token)
            case "stray-minus":
                self._fault("stray-minus", token)
            case "stray-suffix":
                self._fault("stray-suffix", token)
                if self._waiting_field:
                    self._word_after(1, token)
            case "missing-field":
                self._bare("COMPARE", token)
            case _:
                self._leaf(token)

    def _bare_range(self, token: Token) -> None:
        self._bare("RANGE", token)

    def _bare(self, kind: str, token: Token) -> None:
        """Take a comparison or range without a field: for the field of its group, else as words."""
        field = self._group_field
        self._fault("missing-field", token, reading=f"for {field}" if field else "as words")
        if field:
            self._take(Token.new_borrow_pos(kind, f"{field}{token}", token))
        else:
            for word in token.split():
                self._leaf(Token.new_borrow_pos("WORD", word, token))

    def _word_after(self, start: int, token: Token) -> None:
        """Take the rest of a word, without its first characters, where anything is left of it."""
        if token[start:]:
            self._leaf(Token.new_borrow_pos("WORD", token[start:], token))

    def _excludes_value(self, token: Token) -> bool:
        return bool(_EXCLUDED_VALUE.match(token)) or (token.value == "-" and self._opens_after(token))

    def _opens_after(self, token: Token) -> bool:
        """Return whether a group or phrase begins directly after ``token``."""
        return self._text[token.end_pos : (token.end_pos or 0) + 1] in ("(", '"')

    def _foreign(self, token: Token) -> None:
        """Take ``&&``, ``||`` and ``!``, which are operators elsewhere."""
        sign = token.value
        if sign in _FOREIGN:
            self._fault("foreign-operator", token, reading=_FOREIGN[sign])
            self._operator(Token.new_borrow_pos(_FOREIGN[sign], _FOREIGN[sign], token))
        elif self._manner is Manner.STRICT and (sign != "!" or self._opens_after(token)):
            self._fault("foreign-operator", token, reading="NOT")
            self._exclude(Token.new_borrow_pos("MINUS", "-", token))
            self._word_after(1, token)
        elif sign == "!":
            self._fault("foreign-operator", token, reading="nothing")
        else:
            self._fault("foreign-operator", token, reading="part of the word")
            self._leaf(token)

    def _phrase(self, token: Token) -> None:
        if unquote(token).strip():
            self._leaf(token)
        else:
            self._fault("empty-phrase", token)
            self._fill_hole()

    def _clause(self, token: Token) -> None:
        self._do_without_value()
        if token.type != "COMPARE":
            fixed = fix_range(token, closed=token.type == "RANGE")
        elif not split_comparison(token)[2] and self._text[token.end_pos : (token.end_pos or 0) + 1] == '"':
            self._compare_unclosed(token)
            return
        else:
            fixed = fix_comparison(token)
        if fixed.tokens == [(token.type, token.value)]:
            self._leaf(token)
        else:
            self._take_fixed(fixed, token)

    # Marks behind a leaf or group.

    def _fuzzy(self, token: Token) -> None:
        previous = self._marked_by(token)
        if previous is None:
            self._word(Token.new_borrow_pos("WORD", token, token))
        elif previous.type in ("FUZZY", "BOOST"):
            code = "repeated-suffix" if previous.type == "FUZZY" else "suffix-order"
            self._fault(code, token, previous=self._written(previous))
        elif previous.type in _GROUPS:
            self._fault("fuzzy-group", token, what=_GROUPS[previous.type])
        elif previous.type == "WORD" and any(live for _, live in units(previous)):
            self._fault("fuzzy-wildcard", token, what=self._written(previous))
        else:
            self._mark(fix_slop(token) if previous.type == "PHRASE" else fix_fuzzy(token), token)

    def _boost(self, token: Token) -> None:
        previous = self._marked_by(token)
        if previous is None:
            self._word(Token.new_borrow_pos("WORD", token, token))
        elif previous.type == "BOOST":
            self._fault("repeated-suffix", token, previous=self._written(previous))
        else:
            self._mark(fix_boost(token), token)

    def _marked_by(self, token: Token) -> Token | None:
        """Return the token that a mark follows directly, or None."""
        return None if self._wants_operand or self._end_of_previous != token.start_pos else self._previous

    def _mark(self, fixed: Fixed, token: Token) -> None:
        if fixed.flaws:
            self._take_fixed(fixed, token)
        else:
            self._feed(token)

    # What is left of something without its end.

    def _quote(self, token: Token) -> None:
        """Take a quotation mark that is never closed: a suggestion closes it at the end, a search does without it."""
        self._fault("unclosed-quote", token)
        if self._manner is Manner.STRICT:
            self._take_rest("PHRASE", "", token)

    def _compare_unclosed(self, token: Token) -> None:
        """Take a comparison with a value in quotes that are never closed; a search takes the field alone."""
        quote = Token("QUOTE", '"', start_pos=token.end_pos, end_pos=(token.end_pos or 0) + 1)
        if self._manner is Manner.STRICT:
            self._fault("unclosed-quote", quote)
            self._take_rest("COMPARE", token, quote)
        else:
            self._feed(Token.new_borrow_pos("FIELD", f"{split_comparison(token)[0]}:", token))

    def _take_rest(self, kind: str, before: str, quote: Token) -> None:
        """Take all the rest of the text as quoted, and stop."""
        rest = self._text[quote.end_pos :].strip()
        self._take(Token.new_borrow_pos(kind, f'{before}"{rest}"', quote))
        self._stopped = True

    def _backslash(self, token: Token) -> None:
        self._fault("trailing-backslash", token)

    _HANDLERS: ClassVar[dict[str, Callable[[Reader, Token], None]]] = {
        "AND": _operator,
        "BACKSLASH": _backslash,
        "BARE_RANGE": _bare_range,
        "BOOST": _boost,
        "COMPARE": _clause,
        "EXISTS": _leaf,
        "FIELD": _field,
        "FUZZY": _fuzzy,
        "LPAR": _open,
        "MINUS": _exclude,
        "NEAR": _operator,
        "NOT": _exclude,
        "OPEN_RANGE": _clause,
        "OR": _operator,
        "PHRASE": _phrase,
        "QUOTE": _quote,
        "RANGE": _clause,
        "RPAR": _close,
        "WORD": _word,
    }
