"""What the caller may have meant: the query with words the dictionary lacks replaced by the nearest that it has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from rye.index.reader import Reader
from rye.index.schema import TEXT_FIELDS
from rye.index.segment import Bools
from rye.query import ast
from rye.search.bind import words_of
from rye.search.evaluate import Evaluation
from rye.search.expand import How, Pattern, document_frequencies, expand
from rye.search.query_plan import Plan

_ALL_FIELDS = np.ones(len(TEXT_FIELDS), bool)


def is_unknown(reader: Reader, text: str, fields: Bools = _ALL_FIELDS) -> bool:
    """Return whether no live item has a term, not even an inflection, for some part of a word in these fields."""
    run = words_of(text)
    if run is None:
        return False
    if run.joined is not None and expand(reader, run.joined, fields).alive(fields):
        return False
    return not all(expand(reader, pattern, fields).alive(fields) for pattern in run.parts)


def did_you_mean(plan: Plan, evaluation: Evaluation, total: int, count: Callable[[ast.Node, Plan], int]) -> str:
    """Return a query that finds more than ``total``, or nothing.

    Args:
        plan: The query as planned.
        evaluation: The one that answered; its reader is asked for nearest terms.
        total: How many hits there were.
        count: Counts the hits of a query under the same scope and filters.
    """
    corrected = _corrected(plan.main, evaluation.reader)
    if corrected == plan.main or count(corrected, plan) <= (total if len(plan.words) < 1 else 0):
        return ""
    return str(corrected)


def _corrected(node: ast.Node, reader: Reader) -> ast.Node:
    match node:
        case ast.Word(text=text) if is_unknown(reader, text):
            near = nearest_term(text, reader)
            return replace(node, text=near) if near else node
        case ast.And(operands=operands) | ast.Or(operands=operands) | ast.Near(operands=operands):
            return replace(node, operands=tuple(_corrected(operand, reader) for operand in operands))
        case ast.Not(operand=operand) | ast.Boost(operand=operand):
            return replace(node, operand=_corrected(operand, reader))
        case _:
            return node


def nearest_term(text: str, reader: Reader) -> str:
    """Return the dictionary's term nearest to a word of one part, the most frequent among equals; empty if none."""
    run = words_of(text)
    if run is None or len(run.parts) != 1:
        return ""
    word = run.parts[0].text
    best: dict[str, tuple[float, int]] = {}
    found = expand(reader, Pattern(word, How.FUZZY), _ALL_FIELDS)
    for part, (ids, weights) in zip(reader.parts, found.choices, strict=True):
        counts = document_frequencies(part, ids, _ALL_FIELDS)
        for term, weight, df in zip(part.segment.terms.take(ids), weights.tolist(), counts.tolist(), strict=True):
            best[term] = (weight, best.get(term, (0.0, 0))[1] + df)
    alive = [term for term, (_, df) in best.items() if df > 0]
    return max(alive, key=lambda term: (*best[term], term), default="")
