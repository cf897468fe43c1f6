"""What an engine must offer to be measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

from rye.items.model import Item
from tests.benchmarks.asking import Query


class Answer(NamedTuple):
    """How many items match, and the numbers of those on the page, best first."""

    total: int
    page: tuple[int, ...]


Ask: TypeAlias = Callable[[Query], Answer]


class Engine(Protocol):
    """A search engine.

    Attributes:
        name: Of it.
        lacks: Kinds of query that it cannot answer, and why.
    """

    name: str
    lacks: dict[str, str]

    def prepare(self, items: Sequence[Item]) -> Any:
        """Turn items into what :meth:`build` reads, which is not timed: the texts, not their words."""

    def build(self, rows: Any, folder: Path) -> None:
        """Write an index into an empty folder."""

    def open(self, folder: Path) -> Ask:
        """Return what answers queries from the index in a folder."""
