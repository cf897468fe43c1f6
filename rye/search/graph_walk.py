"""From one item along the relations: which of them are how many steps away, a level at a time as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from rye.index.arrays import unique
from rye.index.segment import Bools, Ints
from rye.search.graph import Graph

MAX_DEPTH = 32
"""Steps from the item asked about."""


class Direction(StrEnum):
    """Along which relations to go: to what the item refers to, to what refers to it, or both."""

    IN = "in"
    OUT = "out"
    BOTH = "both"


class Walk(NamedTuple):
    """What is reached.

    Attributes:
        edges: Numbers of references (:attr:`rye.search.graph.Edges.numbers`), nearest first, then as items stand.
        distances: Steps from the item to the farther end of each, from 1.
        items: Steps to each item that is reached.
    """

    edges: Ints
    distances: Ints
    items: Mapping[int, int]


def walk(graph: Graph, item: int, direction: Direction, depth: int) -> Walk:
    """Go from an item along the references of winning documents, each item and reference once, so cycles end."""
    nothing, frontier = np.empty(0, np.int64), np.asarray([item], np.int64)
    edges, items = [nothing], [frontier]
    reached, met = (np.zeros(size, bool) for size in graph.size)
    reached[item] = True
    for _ in range(depth):
        forth = graph.stated_by(graph.names.winning(frontier) if direction is not Direction.IN else nothing)
        back = graph.naming(frontier if direction is not Direction.OUT else nothing)
        edges.append(_new(np.concatenate([forth.numbers, back.numbers]), met))
        frontier = _new(np.concatenate([forth.named, graph.names.items_of(back.docs)]), reached)
        if not len(frontier):
            break
        items.append(frontier)
    distances = np.repeat(np.arange(len(edges)), list(map(len, edges)))
    steps = {one: step for step, some in enumerate(items) for one in some.tolist()}
    return Walk(np.concatenate(edges), distances, steps)


def _new(numbers: Ints, known: Bools) -> Ints:
    """Return those of some numbers that are not known, ascending, each once; they are known from then on."""
    found: Ints = unique(numbers[~known[numbers]])
    known[found] = True
    return found
