"""Filters: conditions on the values and states of items, tested once per distinct value."""

from __future__ import annotations

import math

import numpy as np

from rye.index.build.reader import Reader
from rye.index.storage.arrays import Bools
from rye.index.text.schema import FIELD_NUMBER
from rye.items.model import TYPE_NUMBER
from rye.items.scope import Scope
from rye.search.contract.fields import between
from rye.search.matching import bound
from rye.search.matching.expand import similar
from rye.search.states.graph import Graph
from rye.search.states.states import States


def accepted(reader: Reader, node: bound.Filter, states: States) -> Bools:
    """Return a mask of the documents that a filter accepts. It may include deleted documents."""
    match node:
        case bound.HasState(name=name):
            return states.having(name)
        case bound.Within(scope=scope):
            return in_scope(reader, scope)
        case bound.Changed(since=since, before=before):
            after = reader.times >= (-math.inf if since is None else since)
            return after & (reader.times < (math.inf if before is None else before))
        case bound.Has(name=name, text=True):
            lengths = [part.segment.lengths[FIELD_NUMBER[name]] > 0 for part in reader.parts]
            return np.concatenate([np.zeros(0, bool), *lengths])
        case bound.Has(name="signer"):
            return states.signed_by("*")
        case bound.Glob(name="signer", pattern=pattern):
            return states.signed_by(pattern)
        case bound.Has(name="installed-from"):
            return states.installed_from("*")
        case bound.Glob(name="installed-from", pattern=pattern):
            return states.installed_from(pattern)
        case bound.Has(name="references" | "referenced-by") | bound.Refers():
            return states.from_all_spaces(related(states.graph(), node))
    return _by_value(reader, node)


def related(graph: Graph, node: bound.Relation) -> Bools:
    """Return a mask, over all spaces, of the documents that a condition on relations accepts."""
    match node:
        case bound.Refers(name="references", pattern=pattern):
            return graph.referring_to(pattern)
        case bound.Refers(pattern=pattern):
            return graph.referred_to_by(pattern)
        case bound.Has(name=name):
            return graph.mask("referring" if name == "references" else "referred")
    return graph.mask(node.name)


def in_scope(reader: Reader, scope: Scope) -> Bools:
    """Return a mask of the documents in one part of a scope."""
    masks = [np.zeros(0, bool)]
    for part in reader.parts:
        mask = part.segment.types == TYPE_NUMBER[scope.item_type]
        if scope.prefix:
            below = np.zeros(part.segment.docs, bool)
            below[part.segment.below(scope.prefix)] = True
            if scope.itself:
                below[part.segment.with_id(scope.itself)] = True
            mask &= below
        masks.append(mask)
    return np.concatenate(masks)


def _by_value(reader: Reader, node: bound.Has | bound.Glob | bound.Similar | bound.Between) -> Bools:
    """Return a mask of the live documents with a keyword value that the node accepts."""
    docs_by_part = []
    for part in reader.parts:
        values = part.segment.values(node.name)
        numbers = np.arange(values.size)
        match node:
            case bound.Glob(pattern=pattern):
                numbers = values.matching(pattern)
            case bound.Similar(text=text, distance=distance):
                numbers = np.asarray(list(similar(text, values.names(numbers), distance)), np.int64)
            case bound.Between():
                accepts = between(node.kind, node.low, node.high, include=(node.include_low, node.include_high))
                numbers = np.asarray([at for at, name in enumerate(values.names(numbers)) if accepts(name)], np.int64)
        docs_by_part.append(values.docs(numbers))
    return reader.mark(docs_by_part)
