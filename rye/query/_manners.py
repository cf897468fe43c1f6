"""The two manners of parsing: insist on a correct query, or forgive whatever can be fixed."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rye.query._faults import Fault
from rye.query._prose import without_question_marks
from rye.query._proximity import fix_proximity
from rye.query._reader import Manner, Reader
from rye.query._text import quote
from rye.query.ast import Everything, Node, Parsed
from rye.query.limits import MAX_CHARS
from rye.query.tree import loosen

__all__ = ["forgive", "insist"]

_WORD = re.compile(r"\w[\w./-]*")


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What a text was read as, and everything that had to be fixed for it, in the order in which it was met."""

    ast: Node
    faults: tuple[Fault, ...]


def _read(text: str, manner: Manner) -> _Outcome:
    """Read any text whatever."""
    source = text if len(text) <= MAX_CHARS else _cut(text)
    facts: dict[str, object] = {"length": len(text), "limit": MAX_CHARS}
    too_long = [] if source == text else [Fault("too-long", len(source), text[len(source) : MAX_CHARS], facts)]
    reader = Reader(source, manner)
    ast = reader.read() or Everything()
    ast, misplaced = fix_proximity(ast, source) if reader.nears else (ast, [])
    return _Outcome(ast, (*too_long, *reader.faults, *misplaced))


def _cut(text: str) -> str:
    """Return the part of a text that is within the limit, ending between two words where there are any."""
    inside = text[:MAX_CHARS]
    if text[MAX_CHARS].isspace() or inside[-1].isspace():
        return inside
    return inside[: len(inside) - len(inside.split()[-1])] or inside


def insist(text: str) -> Parsed:
    """Parse strictly.

    Raises:
        QueryError: For the first fault, with a suggestion that itself parses strictly.
    """
    outcome = _read(text, Manner.STRICT)
    if outcome.faults:
        raise outcome.faults[0].error(text[: 2 * MAX_CHARS], _suggest(text, outcome))
    return Parsed(text, outcome.ast)


def forgive(text: str) -> Parsed:
    """Parse anything, and list what was fixed in the order of the text."""
    outcome = _read(text, Manner.LENIENT)
    plain = loosen(outcome.ast) is not None
    ast, question_marks = without_question_marks(outcome.ast, text) if plain else (outcome.ast, [])
    dropped = [*(fault.dropped() for fault in outcome.faults), *question_marks]
    return Parsed(text, ast, tuple(sorted(dropped, key=lambda each: each.position)))


def _suggest(text: str, outcome: _Outcome) -> str:
    """Return a query that parses: the fixed one, else the words of the text as a phrase, else every item."""
    fixed = [] if outcome.ast == Everything() else [str(outcome.ast)]
    words = _WORD.findall(text)
    phrase = [quote(" ".join(words))] if words else []
    candidates = (*fixed, *phrase, "*")
    return next(candidate for candidate in candidates if not _read(candidate, Manner.STRICT).faults)
