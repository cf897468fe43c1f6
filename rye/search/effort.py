"""How much the leaves of one query look at."""

from __future__ import annotations

KEPT = 1 << 18
"""Positions that a query keeps from scoring to highlighting; beyond these, those of a page are read again."""


class Effort:
    """The positions that the leaves of a query have looked at so far."""

    def __init__(self) -> None:
        self._spent = 0

    def spend(self, positions: int) -> bool:
        """Count positions; return whether so few were looked at so far that they are to be kept."""
        self._spent += positions
        return self._spent <= KEPT
