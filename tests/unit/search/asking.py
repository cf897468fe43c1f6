"""Queries bound and evaluated over items in memory, below the façade."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from rye import query
from rye.index.build.reader import Reader
from rye.query import ast
from rye.search.contract.fields import weights_for
from rye.search.contract.request import Request, make_request
from rye.search.matching import bound
from rye.search.matching.bind import Context, bind
from rye.search.matching.positions import PositionBudget
from rye.search.scoring.score import Evaluation
from rye.search.states.states import States
from rye.trust.trust_set import TrustSet
from tests.support.signed import NOW


def request(text: str = "", **options: Any) -> Request:
    """Return a request with these options."""
    return make_request(text, options)


def bound_query(asked: str | ast.Node, keys: Iterable[str] = (), **more: Any) -> bound.Bound | None:
    """Bind a query; ``keys`` are the metadata keys there are."""
    node = query.parse(asked).ast if isinstance(asked, str) else asked
    text = asked if isinstance(asked, str) else str(asked)
    return bind(node, Context(text, node, lambda: frozenset(keys), **more))


def states(reader: Reader) -> States:
    """Return the states of a reader's items when no key is trusted."""
    return States(reader, reader, TrustSet, NOW)


def evaluation(reader: Reader, asked: str | ast.Node, effort: PositionBudget | None = None, **more: Any) -> Evaluation:
    """Bind a query and prepare its evaluation over a reader; ``effort`` is what it may cost."""
    node = bound_query(asked, reader.keys, **more)
    return Evaluation(reader, node or bound.BoundEverything(), weights_for(reader), states(reader), effort=effort)


def ids(reader: Reader, asked: str | ast.Node, **more: Any) -> list[str]:
    """Return the ids of the items that match a query, sorted."""
    found = np.flatnonzero(evaluation(reader, asked, **more).docs().mask).tolist()
    return sorted(reader.key_of(doc)[1] for doc in found)
