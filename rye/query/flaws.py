"""Everything that can be wrong with a query: one table of codes, each with its words, its remedy and an example.

>>> FLAWS["unclosed-quote"].example
'title:"file sys'
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from rye.errors import QueryError
from rye.query import limits
from rye.query.ast import Dropped

_OPERANDS = ("a word", "a phrase", "a group in parentheses", "a field condition")
_VALUES = ("a word", "a phrase", "a group in parentheses", "a comparison", "a range", "*")


@dataclass(frozen=True, slots=True)
class Flaw:
    """One way a query can be wrong.

    Attributes:
        message: What is wrong; ``{names}`` are filled in where the flaw is met.
        hint: What the writer can do about it.
        fixed: What lenient parsing does instead.
        example: A query with this flaw and no other before it; empty where only length or depth makes one.
        expected: What could have stood there.
    """

    message: str
    hint: str
    fixed: str
    example: str
    expected: tuple[str, ...] = ()


FLAWS = {
    "too-long": Flaw(
        "the query is {length} characters long; the limit is {limit}",
        "shorten it to the words that matter",
        "only its first {limit} characters were read",
        "",
    ),
    "too-deep": Flaw(
        "groups and exclusions are nested more than {limit} deep",
        "take out parentheses that change nothing",
        "the query was read up to there",
        "",
    ),
    "too-many-leaves": Flaw(
        "the query has more than {limit} words and conditions",
        "split it into several searches",
        "the query was read up to there",
        "",
    ),
    "control-character": Flaw(
        "the query holds the control character {token}",
        "take it out; it cannot be searched for",
        "it was read as a space",
        "file\0system",
    ),
    "unclosed-quote": Flaw(
        "this quotation mark is never closed",
        'close the phrase with another ", or write \\" for the character itself',
        "the mark was left out",
        'title:"file sys',
        ('a closing "',),
    ),
    "unclosed-paren": Flaw(
        "this parenthesis is never closed",
        "add ) where the group ends, or write \\( for the character itself",
        "the group was read as closed at the end",
        "(file OR dir",
        ("a closing )",),
    ),
    "stray-paren": Flaw(
        "this ) closes nothing: no ( is open",
        "take it out, add the missing (, or write \\) for the character itself",
        "it was left out",
        "file) system",
    ),
    "empty-group": Flaw(
        "there is nothing between these parentheses",
        'put something between them or take them out; to find them as text, quote them with their word: "main()"',
        "they were left out",
        "main ()",
        _OPERANDS,
    ),
    "empty-phrase": Flaw(
        "there is nothing between these quotation marks",
        "put words between them or take them out",
        "they were left out",
        'file ""',
        ("words",),
    ),
    "missing-left-operand": Flaw(
        "{token} has nothing before it to join",
        'put a word before it or take it out; to search for the word itself, quote it: "{token}"',
        "it was left out",
        "AND file",
        _OPERANDS,
    ),
    "missing-right-operand": Flaw(
        "nothing follows {token}",
        'put a word after it or take it out; to search for the word itself, quote it: "{token}"',
        "it was left out",
        "file OR",
        _OPERANDS,
    ),
    "doubled-operator": Flaw(
        "{token} directly follows {previous}",
        'keep one of the two; to search for one as a word, quote it: "{token}"',
        "the second was left out",
        "file AND OR system",
        _OPERANDS,
    ),
    "foreign-operator": Flaw(
        "{token} is not an operator here",
        "write AND, OR, or NOT (or - directly before the word); to search for the text itself, quote it",
        "it was read as {reading}",
        "file && system",
        ("AND", "OR", "NOT", "-"),
    ),
    "near-without-distance": Flaw(
        "NEAR needs a distance",
        "write NEAR/5 for at most 5 positions apart, or quote it to search for the word itself",
        "it was read as {reading}",
        "file NEAR system",
        ("NEAR/n",),
    ),
    "bad-near-distance": Flaw(
        "{token} has no distance that NEAR can use",
        f"write a whole number from 1 to {limits.MAX_DISTANCE}, as in NEAR/5; quote the text to search for it",
        "it was read as {reading}",
        "file NEAR/x system",
        (f"a whole number from 1 to {limits.MAX_DISTANCE}",),
    ),
    "near-operand": Flaw(
        "NEAR cannot measure the distance to {what}",
        "put words, wildcards, fuzzy words, phrases or OR-groups of them on both sides; a field, exclusion or boost "
        "goes around the whole, as in title:(a NEAR/5 b)",
        "it was read as {reading}",
        "title:file NEAR/5 system",
        ("a word", "a phrase", "a group of those joined by OR"),
    ),
    "bad-fuzzy-distance": Flaw(
        "{token} is not a fuzzy distance",
        "write ~, ~0, ~1 or ~2; to search for the character itself, write \\~",
        "it was read as {reading}",
        "direcive~3",
        (f"a whole number from 0 to {limits.MAX_FUZZY}", "nothing"),
    ),
    "fuzzy-wildcard": Flaw(
        "{what} holds a wildcard and cannot be fuzzy as well",
        "keep either the wildcard or the ~, or write \\* or \\? for the character itself",
        "the {token} was left out",
        "direc*~1",
    ),
    "fuzzy-group": Flaw(
        "{token} cannot follow {what}",
        "put it on each word, as in (deploy~ OR release~), or on one phrase",
        "it was left out",
        "(file system)~2",
    ),
    "bad-slop": Flaw(
        "{token} is not a number of extra positions for a phrase",
        f'write a whole number from 0 to {limits.MAX_SLOP}, as in "file system"~3',
        "it was read as {reading}",
        '"file system"~x',
        (f"a whole number from 0 to {limits.MAX_SLOP}",),
    ),
    "bad-boost": Flaw(
        "{token} is not a boost",
        f"write a number from {limits.MIN_BOOST} to {limits.MAX_BOOST}, as in ^2; for the character itself write \\^",
        "it was read as {reading}",
        "file^high",
        (f"a number from {limits.MIN_BOOST} to {limits.MAX_BOOST}",),
    ),
    "repeated-suffix": Flaw(
        "{token} comes after {previous}, which says the same kind of thing",
        "keep one of the two",
        "the second was left out",
        "file^2^3",
    ),
    "suffix-order": Flaw(
        "{token} comes after the boost {previous}",
        "write the ~ first, then the boost, as in file~1^2",
        "it was left out",
        "file^2~1",
    ),
    "stray-suffix": Flaw(
        "there is nothing directly before {token} that it could change",
        "write it directly after a word, as in deploy~1 or deploy^2; for the text itself quote it",
        "it was left out",
        "file ^2",
    ),
    "trailing-backslash": Flaw(
        "the backslash at the end escapes nothing",
        "take it out, or write \\\\ for the character itself",
        "it was left out",
        "file\\",
    ),
    "field-without-value": Flaw(
        "{token} has no value directly after it",
        "write a value directly after the colon; to search for the text itself, quote it or put a space after it",
        "it was read as a word",
        "(title:)",
        _VALUES,
    ),
    "operator-as-value": Flaw(
        "{token} is an operator and no value for {previous}",
        'write a value after the colon; to search for the word itself, quote it: {previous}"{token}"',
        "it was read as a word",
        "title:OR draft",
        _VALUES,
    ),
    "exclusion-in-field": Flaw(
        "the exclusion stands between {previous} and its value",
        "write it before the field, as in -title:draft; quote the value if the text belongs to it",
        "it was read as standing before the field",
        "title:-draft",
        _VALUES,
    ),
    "missing-field": Flaw(
        "{token} says nothing about which field it is for",
        "write the field directly before it, as in version:>=2.0; to search for the text itself, quote it",
        "it was read {reading}",
        "version:(>=2.0)",
        ("a field and a colon",),
    ),
    "comparison-without-value": Flaw(
        "{token} compares with nothing",
        "write the value directly after it, as in version:>=2.0",
        "it was read as asking whether the field is there",
        "version:>=",
        ("a value",),
    ),
    "comparison-space": Flaw(
        "there is white space inside the comparison {token}",
        "write the value directly after the sign, as in version:>=2.0",
        "it was read without the space",
        "version:>= 2.0",
        ("a value",),
    ),
    "bad-comparison": Flaw(
        "{sign} is not a comparison",
        "use >=, <=, > or <; to ask for a value write name:value, to exclude it -name:value",
        "it was read as {reading}",
        "version:!=2.0",
        (">=", "<=", ">", "<"),
    ),
    "bound-wildcard": Flaw(
        "{bound} in {token} cannot hold a wildcard",
        "write a full value, as in version:>=2.0, or only the wildcard, as in version:2.*; for the character write \\*",
        "it was read without the wildcard",
        "version:>=2.*",
        ("a full value",),
    ),
    "unclosed-range": Flaw(
        "the range {token} is never closed",
        "end it with ] to include its last value or } to exclude it",
        "it was read as closed there",
        "created:[2026-01 TO 2026-03",
        ("]", "}"),
    ),
    "empty-range": Flaw(
        "there is nothing in the range {token}",
        "write both ends, as in created:[2026-01 TO 2026-03], or * for an open end",
        "it was read as asking whether the field is there",
        "created:[]",
        ("low TO high",),
    ),
    "range-without-to": Flaw(
        "the range {token} has no TO",
        "write created:[2026-01 TO 2026-03] for a range, tag:(api OR mcp) for one of several values",
        "it was read as {reading}",
        "tag:[api, mcp]",
        ("low TO high",),
    ),
    "range-lowercase-to": Flaw(
        "the range {token} has its TO in small letters",
        "write TO in capitals",
        "it was read as TO",
        "created:[2026-01 to 2026-03]",
        ("TO",),
    ),
    "range-without-bound": Flaw(
        "the range {token} has nothing {side} its TO",
        "write a value there, or * for an open end",
        "that end was read as open",
        "created:[2026-01 TO ]",
        ("a value", "*"),
    ),
    "range-bound-words": Flaw(
        "{bound} in {token} is more than one value",
        'put a value with spaces in quotes, as in created:["2026-01-01 10:00" TO *]',
        "it was read as one value",
        "created:[2026-01-01 10:00 TO *]",
        ("one value",),
    ),
}
"""Error code → its flaw, in the order in which the documentation lists them."""

_LONGEST = 40
_SLOT = re.compile(r"\{([a-z]+)\}")


@dataclass(frozen=True, slots=True)
class Fault:
    """A flaw at one place of a query: ``token`` is the offending text, ``facts`` fill the messages beside it."""

    code: str
    position: int
    token: str
    facts: Mapping[str, object] = field(default_factory=dict)

    def _fill(self, template: str) -> str:
        facts = {"token": self.token, **self.facts}
        return _SLOT.sub(lambda slot: _show(str(facts[slot[1]])), template)

    def dropped(self) -> Dropped:
        """Return what lenient parsing reports about it."""
        flaw = FLAWS[self.code]
        return Dropped(self.position, self.token, f"{self._fill(flaw.message)}; {self._fill(flaw.fixed)}")

    def error(self, text: str, suggestion: str) -> QueryError:
        """Return what strict parsing raises for it."""
        flaw = FLAWS[self.code]
        place = "" if self.code == "too-long" else f", at character {self.position + 1}"
        return QueryError(
            self.code,
            f"{self._fill(flaw.message)}{place}",
            text=text,
            position=self.position,
            token=self.token,
            expected=flaw.expected,
            hint=self._fill(flaw.hint),
            suggestion=suggestion,
        )


def _show(text: str) -> str:
    """Return ``text`` fit for one line of a message: short, and nothing in it that a terminal would obey."""
    short = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in short)
