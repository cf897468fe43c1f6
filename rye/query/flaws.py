"""All mistakes that a query can have: one table of codes, each with its message, remedy and example.

>>> FLAWS["unclosed-quote"].example
'title:"file sys'
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from rye.errors import QueryError
from rye.query.ast import Dropped

_OPERANDS = ("a word", "a phrase", "a group in parentheses", "a field condition")
_VALUES = ("a word", "a phrase", "a group in parentheses", "a comparison", "a range", "*")


@dataclass(frozen=True, slots=True)
class Flaw:
    """One kind of mistake in a query; mistakes that a writer would fix in the same way share a code.

    Attributes:
        message: What is wrong; ``{names}`` are filled in for each fault.
        hint: What the writer can do about it.
        fixed: What the repaired query does instead.
        example: A query whose first flaw is this one; empty if only length or depth causes it.
        expected: What could have been written there.
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
    "trailing-backslash": Flaw(
        "the backslash at the end escapes nothing",
        "take it out, or write \\\\ for the character itself",
        "it was left out",
        "file\\",
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
        "there is nothing between these {what}",
        'put something between them or take them out; to find them as text, quote them with their word: "main()"',
        "they were left out",
        "main ()",
        _OPERANDS,
    ),
    "missing-operand": Flaw(
        "{token} {why}",
        'put a word there or take the operator out; to search for the word itself, quote it: "{token}"',
        "it was left out",
        "file OR",
        _OPERANDS,
    ),
    "foreign-operator": Flaw(
        "{token} is not an operator here",
        "write AND, OR, or NOT (or - directly before the word); to search for the text itself, quote it",
        "it was read as {reading}",
        "file && system",
        ("AND", "OR", "NOT", "-"),
    ),
    "near-operand": Flaw(
        "NEAR cannot measure the distance to {token}",
        "put words, wildcards, fuzzy words, phrases or OR-groups of them on both sides; a field, exclusion or boost "
        "goes around the whole, as in title:(a NEAR/5 b)",
        "it was read as {reading}",
        "title:file NEAR/5 system",
        ("a word", "a phrase", "a group of those joined by OR"),
    ),
    "bad-number": Flaw(
        "{token} needs a {kind} from {least} to {most}",
        "write one, as in {example}; to search for the text itself, quote it",
        "it was read as {reading}",
        "file NEAR system",
        ("a {kind} from {least} to {most}",),
    ),
    "misplaced-mark": Flaw(
        "{token} {why}",
        "write ~ directly after a word without wildcards or a phrase, then ^ after anything, each at most once, as in "
        "deploy~1^2; to search for the text itself, quote it",
        "it was left out",
        "file^2~1",
    ),
    "missing-value": Flaw(
        "{token} {why}",
        "write a value directly after it, as in title:deploy or version:>=2.0; to search for the text itself, quote it",
        "it was read as {reading}",
        "(title:)",
        _VALUES,
    ),
    "exclusion-in-field": Flaw(
        "the exclusion stands between {previous} and its value",
        "write it before the field, as in -title:draft; quote the value if the text belongs to it",
        "the field was read as a word",
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
    "space-after-colon": Flaw(
        "there is white space between {previous} and its condition",
        "write the condition directly after the colon; to search for the text itself, quote it",
        "it was read as {reading}",
        "created: >2026-01",
    ),
    "bad-comparison": Flaw(
        "in {token}, {why}",
        "write >=, <=, > or < directly before the value; write name:value for that value, -name:value for all others",
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
    "bad-range": Flaw(
        "the range {token} {why}",
        "write [low TO high] with one value or * at each end, and quotes around a value with spaces; "
        "for one of several values write tag:(api OR mcp)",
        "it was read as {reading}",
        "created:[2026-01 to 2026-03]",
        ("[low TO high]",),
    ),
}
"""Error code → its flaw, in the order in which the documentation lists them."""

_LONGEST = 40
_SLOT = re.compile(r"\{([a-z]+)\}")


@dataclass(frozen=True, slots=True)
class QueryFault:
    """A flaw at one place of a query.

    Attributes:
        code: A key of :data:`FLAWS`.
        position: 0-based place in the query.
        token: The offending text.
        facts: Values for the slots of the messages. ``why`` may have slots itself; the others are shortened when shown.
    """

    code: str
    position: int
    token: str
    facts: Mapping[str, object] = field(default_factory=dict)

    def _fill(self, template: str) -> str:
        facts = {"token": self.token, **self.facts}
        template = template.replace("{why}", str(facts.get("why")))
        return _SLOT.sub(lambda slot: _show(str(facts[slot[1]])), template)

    def dropped(self) -> Dropped:
        """Return the report of lenient parsing."""
        flaw = FLAWS[self.code]
        return Dropped(self.position, self.token, f"{self._fill(flaw.message)}; {self._fill(flaw.fixed)}")

    def error(self, text: str, suggestion: str) -> QueryError:
        """Return the error of strict parsing."""
        flaw = FLAWS[self.code]
        place = "" if self.code == "too-long" else f", at character {self.position + 1}"
        return QueryError(
            self.code,
            f"{self._fill(flaw.message)}{place}",
            text=text,
            position=self.position,
            token=self.token,
            expected=tuple(map(self._fill, flaw.expected)),
            hint=self._fill(flaw.hint),
            suggestion=suggestion,
        )


def _show(text: str) -> str:
    """Return ``text`` for one line of a message: shortened, and without characters that a terminal would interpret."""
    short = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in short)
