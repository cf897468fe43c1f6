"""What the texts of references name: some nodes each, and of those that name too many the range that they lie in."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rye.index.segment import Bools, Ints
from rye.index.strings import ranges

Smalls = npt.NDArray[np.int32]


class Cut(NamedTuple):
    """Targets that may name all at the places from ``low`` to ``high`` of a table of nodes, of which a few are kept."""

    targets: Ints
    low: Ints
    high: Ints

    def _of(self, targets: Ints) -> tuple[Ints, Ints, Ints]:
        """Return which targets are among these, and from where to where they reach."""
        rows = np.flatnonzero(np.isin(targets, self.targets)) if len(self.targets) else np.empty(0, np.int64)
        order = np.argsort(self.targets)
        at = order[np.searchsorted(self.targets, targets[rows], sorter=order)]
        return rows, self.low[at], self.high[at]

    def holds(self, targets: Ints, places: Ints) -> Bools:
        """Return for each of some targets whether it is among these and may name what is at a place."""
        rows, low, high = self._of(targets)
        found = np.zeros(len(targets), bool)
        found[rows] = (low <= places[rows]) & (places[rows] < high)
        return found

    def covering(self, targets: Ints, places: Ints, size: int) -> Bools:
        """Return which places of a table references may name, leaving out of each who refers.

        Args:
            targets: Shape ``(r,)``: of the references.
            places: Shape ``(r,)``: of those who refer.
            size: Of the table.
        """
        rows, low, high = self._of(targets)
        steps = np.bincount(low, minlength=size + 1) - np.bincount(high, minlength=size + 1)
        own = places[rows][self.holds(targets[rows], places[rows])]
        found: Bools = np.cumsum(steps)[:size] > np.bincount(own, minlength=size)[:size]
        return found


class Resolved(NamedTuple):
    """What all targets name: how many nodes each, where they begin among ``nodes``, and whether by their name.

    ``first`` is the first of the nodes, and nothing in particular where there are none. Of targets that name too many,
    by id and by name, ``cut`` has the places of all.
    """

    counts: Smalls
    starts: Ints
    nodes: Ints
    by_name: Bools
    first: Smalls
    cut: tuple[Cut, Cut]

    def of(self, targets: Ints) -> tuple[Ints, Ints]:
        """Return where the nodes that some targets name begin, and the nodes."""
        counts = self.counts[targets]
        starts = ends(counts)
        nodes: Any = np.repeat(self.first[targets], counts)
        several = np.flatnonzero(counts > 1)  # seldom any
        at = targets[several]
        nodes[ranges(starts[several], starts[several + 1])] = self.nodes[ranges(self.starts[at], self.starts[at + 1])]
        return starts, nodes

    def naming(self, targets: Ints, nodes: Ints) -> Bools:
        """Return which of some targets may name the node beside them."""
        counts = self.counts[targets]
        found: Bools = (counts > 0) & (self.first[targets] == nodes)
        several = np.flatnonzero(counts > 1)
        starts, named = self.of(targets[several])
        owners = np.repeat(several, np.diff(starts))
        found[owners[named == nodes[owners]]] = True
        return found


def ends(counts: npt.NDArray[np.integer[Any]]) -> Ints:
    """Return where each of several runs begins and the last one ends, given how long they are."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
