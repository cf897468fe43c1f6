"""Counts of the items of a registry: by space, type and verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rye._report import Report
from rye.index.build.reader import Reader
from rye.search.contract.request import FacetRequest
from rye.search.scoring.facets import count_all
from rye.search.states.states import States
from rye.trust.trust_store import system_clock

if TYPE_CHECKING:
    from rye.registry.state import State

_EVERY_VALUE = 100


@dataclass(frozen=True, slots=True)
class Figures(Report):
    """How many items there are, also by type and by verdict, without zeros."""

    items: int
    types: Mapping[str, int]
    verdicts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class SpaceStats(Report):
    """The source and folder of one space root, and the figures of its items."""

    source: str
    root: str
    figures: Figures

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes, with those of the figures at the same level."""
        return {"source": self.source, "root": self.root} | self.figures.to_dict()


@dataclass(frozen=True, slots=True)
class Stats(Report):
    """The figures of each space root, and their total."""

    spaces: tuple[SpaceStats, ...]
    total: Figures
    stale: bool = False
    warnings: tuple[str, ...] = ()


def stats_of(state: State, space: str) -> Stats:
    """Count the items of one space or of all in a state of the indexes."""
    reader = state.reader(space)
    rows = [(root, _figures(Reader([(root, snapshot)]), state)) for root, snapshot in reader.snapshots]
    return Stats(
        tuple(SpaceStats(root.source, str(root.path), row) for root, row in rows),
        _figures(reader, state),
        stale=state.stale(space),
        warnings=(*state.warnings, *state.empty(space)),
    )


def _figures(reader: Reader, state: State) -> Figures:
    states = States(reader, state.with_own, lambda: state.trust.trust, system_clock())
    facets = count_all(reader, states, [FacetRequest(name, _EVERY_VALUE) for name in ("type", "verdict")])
    return Figures(reader.count, dict(facets["type"].values), dict(facets["verdict"].values))
