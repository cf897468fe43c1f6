"""What the caller may have meant: the query with words the dictionary lacks replaced by the nearest that it has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from rye.index import analysis
from rye.index.schema import TEXT_FIELDS
from rye.query import ast, loosen
from rye.search.evaluate import Evaluation
from rye.search.prose import Dictionary
from rye.search.query_plan import Plan

_ALL_FIELDS = np.ones(len(TEXT_FIELDS), bool)


def did_you_mean(plan: Plan, evaluation: Evaluation, total: int, count: Callable[[ast.Node, Plan], int]) -> str:
    """Return a query that finds more than ``total``, or nothing.

    Args:
        plan: The query as planned.
        evaluation: The one that answered; its reader is asked for nearest terms.
        total: How many hits there were.
        count: Counts the hits of a query under the same scope and filters.
    """
    corrected = _corrected(plan.main, Dictionary(evaluation.reader, _ALL_FIELDS))
    if corrected != plan.main and count(corrected, plan) > (total if len(plan.words) < 1 else 0):
        return str(corrected)
    return "" if plan.words or total else _in_words(plan, count)


def _in_words(plan: Plan, count: Callable[[ast.Node, Plan], int]) -> str:
    """Return what a query with operators says, in plain words, where a search for these finds anything.

    Whoever quotes part of a sentence asks for a phrase and does not know it.
    """
    words = loosen(plan.main) or ()
    return " ".join(map(str, words)) if len(words) > 1 and count(ast.Or(words), plan) else ""


def _corrected(node: ast.Node, dictionary: Dictionary) -> ast.Node:
    match node:
        case ast.Word(text=text) if not dictionary.knows(text):
            parts = analysis.parts(text)
            near = dictionary.nearest(parts[0])[0] if len(parts) == 1 else ""
            return replace(node, text=near) if near else node
        case ast.And(operands=operands) | ast.Or(operands=operands) | ast.Near(operands=operands):
            return replace(node, operands=tuple(_corrected(operand, dictionary) for operand in operands))
        case ast.Not(operand=operand) | ast.Boost(operand=operand):
            return replace(node, operand=_corrected(operand, dictionary))
        case _:
            return node
