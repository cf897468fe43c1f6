"""From one item along the relations: which of them are how many steps away, a level at a time as arrays."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import numpy as np

from rye.index.arrays import unique
from rye.index.segment import Ints
from rye.index.strings import ranges
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
        edges: Numbers of references in :attr:`rye.search.graph.Graph.edges`, nearest first, then as items stand.
        distances: Steps from the item to the farther end of each, from 1.
        nodes: Shape ``(n,)``: steps to each node, -1 where it is not reached.
    """

    edges: Ints
    distances: Ints
    nodes: Ints


def walk(graph: Graph, node: int, direction: Direction, depth: int) -> Walk:
    """Go from a node along the references of winning documents, each node and reference once, so cycles end."""
    edges, outward, inward = graph.edges, graph.outward, graph.inward
    sources = graph.nodes.of_doc[edges.docs]
    distance, seen = np.full(len(graph.nodes.keys), -1, np.int64), np.zeros(len(edges.docs), bool)
    distance[node] = 0
    frontier = np.asarray([node], np.int64)
    found: list[Ints] = [np.empty(0, np.int64)]
    steps: list[Ints] = [np.empty(0, np.int64)]
    for step in range(1, depth + 1):
        forth = outward.of(frontier) if direction is not Direction.IN else frontier[:0]
        back = inward.of(frontier) if direction is not Direction.OUT else frontier[:0]
        fresh = unique(forth, back)
        fresh = fresh[~seen[fresh]]
        seen[fresh] = True
        found.append(fresh)
        steps.append(np.full(len(fresh), step))
        ends = np.concatenate([edges.named[ranges(edges.starts[forth], edges.starts[forth + 1])], sources[back]])
        frontier = unique(ends[distance[ends] < 0])
        if not len(frontier):
            break
        distance[frontier] = step
    return Walk(np.concatenate(found), np.concatenate(steps), distance)
