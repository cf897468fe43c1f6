"""Scored leaves, and what they look for: parts in a row, words in a window, or neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from rye.index.segment import Bools
from rye.query import ast
from rye.search.expand import How, Pattern


@dataclass(frozen=True, slots=True)
class Run:
    """Parts at fixed offsets; one part is a plain word. ``joined`` matches the parts written as one term."""

    parts: tuple[Pattern, ...]
    offsets: tuple[int, ...]
    joined: Pattern | None = None

    @property
    def alone(self) -> bool:
        """Whether it is one part, so that positions do not matter."""
        return len(self.parts) == 1 and self.joined is None


@dataclass(frozen=True, slots=True)
class Window:
    """Words in any order within a window of as many positions as they are, plus ``slop``."""

    words: tuple[str, ...]
    slop: int


@dataclass(frozen=True, slots=True)
class Nearby:
    """Operands, each a choice, with the greatest distance between neighbours."""

    operands: tuple[tuple[Run | Window, ...], ...]
    distances: tuple[int, ...]


Sought: TypeAlias = tuple[Run | Window | Nearby, bytes]
"""A pattern and the fields it is bound to: what leaves that find the same have in common."""


def patterns(pattern: Run | Window | Nearby) -> Iterator[Pattern]:
    """Yield every part of it; one may recur, though not in a window, for which it is looked up once."""
    if isinstance(pattern, Run):
        yield from pattern.parts
        if pattern.joined is not None:
            yield pattern.joined
    elif isinstance(pattern, Window):
        yield from (Pattern(word, How.EXACT) for word in dict.fromkeys(pattern.words))
    else:
        for runs in pattern.operands:
            for run in runs:
                yield from patterns(run)


@dataclass(frozen=True, eq=False)
class Leaf:
    """One scored leaf bound to fields.

    Attributes:
        pattern: What to look for.
        fields: Shape ``(fields,)``: the fields it is bound to.
        boost: Product of the boosts around it.
        name: The field it was written for, else empty.
        node: As parsed.
        query: The whole query it stands in, for errors.
    """

    pattern: Run | Window | Nearby
    fields: Bools
    boost: float
    name: str
    node: ast.Node
    query: str = ""

    @property
    def sought(self) -> Sought:
        """What it looks for, and where."""
        return self.pattern, self.fields.tobytes()

    @property
    def label(self) -> str:
        """Canonical text, for explanations."""
        return f"{self.name}:{self.node}" if self.name else str(self.node)
