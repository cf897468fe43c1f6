"""What there is in the spaces of a registry, in figures."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from heapq import nlargest
from typing import TYPE_CHECKING, Any

from rye._report import Report
from rye.index.reader import Reader
from rye.search.facets import Figures, figures_of
from rye.search.predicates import States
from rye.spaces.model import Root
from rye.trust.trust_store import system_clock

if TYPE_CHECKING:
    from rye.registry.state import State

_LISTED = 10


@dataclass(frozen=True, slots=True)
class SpaceStats(Report):
    """One space root in figures.

    Attributes:
        source, root: Which, and where.
        figures: Of its items.
        files, file_bytes: Files that are items by their name, and their size.
        largest: Items of the largest files, as ``type:id``, with their bytes.
        newest: Items of the files that changed last, as ``type:id``, with the moment.
        unreadable: How many of these are no items, or could not be read.
        index_bytes: Size of its index.
        index_age: Seconds since the index last changed.
    """

    source: str
    root: str
    figures: Figures
    files: int
    file_bytes: int
    largest: Mapping[str, int]
    newest: Mapping[str, str]
    unreadable: int
    index_bytes: int
    index_age: float

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes, those of the figures beside the others."""
        found = Report.to_dict(self)
        figures: dict[str, Any] = found.pop("figures")
        return found | figures


@dataclass(frozen=True, slots=True)
class Stats(Report):
    """All spaces in figures: each by itself, and together, where a term, a tag or a copy counts across spaces.

    ``registry`` is the address of the registry on a cluster that was counted; else it is empty. There verdicts,
    signers, terms, files, sizes, and items with the same bytes or name are not counted: these figures are empty or 0.
    """

    spaces: tuple[SpaceStats, ...]
    total: Figures
    registry: str = ""
    stale: bool = False
    warnings: tuple[str, ...] = ()


def stats_of(state: State, space: str, *, only_trusted: bool = False) -> Stats:
    """Count what a state of the indexes holds in one space or all, or of its trusted items, as if alone."""
    now, everywhere = system_clock(), state.everywhere

    def states(reader: Reader) -> States:
        return States(reader, everywhere, lambda: state.trust.trust, now)

    if only_trusted:
        everywhere = everywhere.only(states(everywhere).having("trusted"))
    reader = Reader([(root, each) for root, each in everywhere.snapshots if space in ("all", root.space)])
    spaces = []
    for root, snapshot in reader.snapshots:
        if only_trusted and not snapshot.count:
            continue
        own = Reader([(root, snapshot)])
        files, problems = snapshot.file_list.files, snapshot.file_list.problems
        sizes, changed = (dict(zip(files.paths, each, strict=True)) for each in (files.sizes(), files.changed()))
        if only_trusted:
            kept = {*own.all_paths()}
            sizes, changed = ({path: each[path] for path in each if path in kept} for each in (sizes, changed))
            problems = ()
        for problem in problems:
            changed.pop(problem.path, None)
        spaces.append(
            SpaceStats(
                source=root.source,
                root=str(root.path),
                figures=figures_of(own, states(own)),
                files=len(sizes),
                file_bytes=sum(sizes.values()),
                largest=_greatest(root, {path: size for path, size in sizes.items() if path in changed}),
                newest={item: _moment(at, now) for item, at in _greatest(root, changed).items()},
                unreadable=len(problems),
                index_bytes=sum(path.stat().st_size for path in snapshot.folder.glob("*") if path.is_file()),
                index_age=round(max(time.time() - snapshot.written, 0.0), 3),
            )
        )
    total = figures_of(reader, states(reader))
    return Stats(tuple(spaces), total, stale=state.stale(space), warnings=(*state.warnings, *state.empty(space)))


def _moment(nanoseconds: int, now: datetime) -> str:
    """Return the time of a file as ISO 8601 has it, whatever whoever made it set: after 1970, and not to come."""
    return datetime.fromtimestamp(min(max(nanoseconds // 10**9, 0), now.timestamp()), UTC).isoformat(timespec="seconds")


def _greatest(root: Root, numbers: Mapping[str, int]) -> dict[str, int]:
    """Return the items whose files have the greatest of these numbers, the greatest first."""
    greatest: dict[str, int] = {}
    for path, number in nlargest(_LISTED, numbers.items(), key=lambda each: (each[1], each[0])):
        file = root.file(path)
        greatest.setdefault(f"{file.item_type}:{file.item_id}", number)
    return greatest
