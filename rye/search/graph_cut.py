"""References that may name more items than are kept of them: by ranges, however many these are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rye.index.segment import Bools, Ints


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
