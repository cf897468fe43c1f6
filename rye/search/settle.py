"""Settles how a query is read, and which mode ``auto`` is for it.

It is read as written, or as a question where that finds nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import NamedTuple

from rye.errors import QueryError
from rye.query import ast
from rye.search.docset import Docs
from rye.search.pasted import may_name_no_field, verbatim
from rye.search.plan import Plan, read_as_text, text_plan
from rye.search.request import Request
from rye.search.score import Evaluation

AUTO_WORDS = 3
"""Plain words from which on mode ``auto`` is hybrid: fewer are looked up."""


def as_misnamed(request: Request, plan: Plan, error: QueryError, fields: Container[str]) -> Plan:
    """Return a plan that reads a query as text where a field in it is unknown and like no other: ``localhost:8080``.

    Raises:
        QueryError: The error, where the field may be misspelt, or the query holds more of the language than fields.
    """
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
    """

    request: Request
    evaluate: Callable[[ast.Node, Plan], Evaluation]
    allowed: Docs

    def settle(self, plan: Plan) -> Plan:
        """Return a plan, or its reading as a sentence where the query finds nothing as written."""
        if plan.as_sentence and not self.evaluate(plan.main, plan).docs() & self.allowed:
            return plan.as_sentence
        return plan

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
