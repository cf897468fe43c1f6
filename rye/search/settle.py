"""Settles how a query is read, and which mode ``auto`` is for it.

It is read as written, or as a sentence or text where that finds nothing or an item has it word for word.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from rye import query
from rye.errors import QueryError
from rye.query import ast
from rye.search.docset import Docs
from rye.search.fields import TEXT_FIELDS, canonical
from rye.search.pasted import as_text, has_marks, is_pasted, may_be_verbatim, may_name_no_field, verbatim, why_text
from rye.search.plan import Plan, fuzzed, read_as_text, text_plan
from rye.search.request import Request
from rye.search.score import Evaluation

AUTO_WORDS = 3
"""Plain words from which on mode ``auto`` is hybrid: fewer are looked up."""

MOST_READ = 20
"""Files that are read to see whether one has a text with its signs."""


def as_misnamed(request: Request, plan: Plan, error: QueryError, fields: Container[str]) -> Plan:
    """Return a plan that reads a query as text where a field in it is unknown and like no other: ``localhost:8080``.

    Raises:
        QueryError: The error, where the field may be misspelt, or the query holds more of the language than fields.
    """
    if plan.as_sentence and plan.as_sentence.is_text:
        return plan
    unknown = error.code == "unknown-field" and error.text == request.query and not error.details["nearest"]
    if unknown and request.relax and may_name_no_field(plan.main, fields):
        return read_as_text(text_plan(request), error.message)
    raise error


class Settler(NamedTuple):
    """Tries the readings of a query on the items.

    Attributes:
        request: What was asked.
        evaluate: Returns the evaluation of a query, together with the ``fields`` of a plan.
        allowed: What scope and filters let through.
        texts: Yields the texts of the first of some items.
    """

    request: Request
    evaluate: Callable[[ast.Node, Plan], Evaluation]
    allowed: Docs
    texts: Callable[[Docs], Iterator[str]]

    def settle(self, plan: Plan) -> Plan:
        """Return a plan, or its other reading where the query finds nothing as written.

        Text is read as text also where the query is an error, or an item surely has it word for word.
        """
        plan = self._settle_fields(plan) if plan.fixed else plan
        other, finds = plan.as_sentence, partial(self._finds, plan)
        if not other:
            return plan
        try:
            found = finds(plan.main)
        except QueryError as error:
            if other.is_text and other.tried:
                return read_as_text(other, error.message)
            raise
        if not other.is_text:
            return plan if found else other
        why = why_text(self.request.query, found=found, tried=other.tried, has=finds)
        return read_as_text(other, why) if why else plan

    def in_mode(self, plan: Plan, can_embed: Callable[[], bool]) -> Request:
        """Return the request in the mode that answers: ``auto`` is hybrid for a sentence where there is an embedder.

        Else it is keyword. A pasted command or address is no sentence, nor is what an item has word for word. Other
        orders, a prefix and a level are about words: of what is a little near they would show anything.
        """
        request = self.request
        if not request.is_auto:
            return request
        name = "keyword"
        is_sentence = sum(plan.words.values()) >= AUTO_WORDS and not plan.is_text
        about_words = request.sort_by != "score" or request.level is not None or request.options["prefix"]
        if is_sentence and not about_words and can_embed():
            phrase = verbatim(request.query)
            if not phrase or not self.evaluate(phrase, plan).docs() & self.allowed:
                name = "hybrid"
        return request._replace(mode=request.mode._replace(name=name))

    def _settle_fields(self, plan: Plan) -> Plan:
        """Return a plan with those of its ``fields`` read as text that are pasted text, by the rule of queries."""
        fixed, warnings, request = list(plan.fixed), list(plan.warnings), self.request
        for at, (name, parsed) in enumerate(fixed if request.relax else ()):
            if canonical(name) not in TEXT_FIELDS or query.as_words(parsed.ast):
                continue
            tried = is_pasted(parsed.text, parsed.ast)
            if not (tried or may_be_verbatim(parsed.ast)):
                continue
            finds = partial(self._finds, plan._replace(fixed=()), field=name)
            if why := why_text(parsed.text, found=finds(parsed.ast), tried=tried, has=finds):
                words = as_text(parsed.text)
                words = fuzzed(words, request.fuzzy_distance) if request.fuzzy else words
                fixed[at] = name, parsed._replace(ast=words)
                warnings.append(f"fields[{name!r}] was read as text, without operators: {why}")
        settled, other = plan._replace(fixed=tuple(fixed), warnings=tuple(warnings)), plan.as_sentence
        return settled._replace(as_sentence=other and other._replace(fixed=settled.fixed, warnings=settled.warnings))

    def _finds(self, plan: Plan, node: ast.Node, marks: Sequence[str] = (), *, field: str = "") -> bool:
        """Return whether a query finds anything that has some words as they are written.

        Signs are in no index, so of the first hits that have the rest the files are read.
        """
        docs = self.evaluate(ast.Field(field, node) if field else node, plan).docs() & self.allowed
        if not docs or not marks:
            return bool(docs)
        return any(has_marks(text, marks) for text in self.texts(docs))
