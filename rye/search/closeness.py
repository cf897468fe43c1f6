"""What a search by meaning says of one hit of a page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from rye.index import analysis
from rye.items.model import Item, Symbol
from rye.search.fusion import percent
from rye.search.results import HybridMatch, LeafTrace

HEADER_LENGTH = 120
MEANING = "meaning"
"""The field of a trace that stands for similarity."""


@dataclass(frozen=True)
class Asked:
    """What was asked by meaning.

    Attributes:
        text: What was embedded.
        near: How many items reach the threshold.
        hybrid: Whether keyword scores count as well.
    """

    text: str
    near: int
    hybrid: bool

    @cached_property
    def words(self) -> frozenset[str]:
        """The parts of its words."""
        return frozenset(analysis.parts(self.text))


@dataclass(frozen=True, slots=True)
class Closeness:
    """How near one hit is, and why it has its score.

    Attributes:
        asked: To what.
        similarity: Its cosine; None without a vector.
        keyword: Its keyword score.
        by_meaning, by_words: What each gives its score.
        section: Ordinal of the nearest section; -1 without a vector.
    """

    asked: Asked
    similarity: float | None
    keyword: float
    by_meaning: float
    by_words: float
    section: int

    def match(self, item: Item) -> HybridMatch | None:
        """Return what a hybrid search tells of its hit."""
        if not self.asked.hybrid:
            return None
        symbols = [symbol for symbol in item.symbols if not self.asked.words.isdisjoint(analysis.parts(symbol.name))]
        return HybridMatch(
            total=percent(self.by_meaning + self.by_words),
            semantic=percent(max(self.similarity or 0.0, 0.0)),
            keyword=percent(self.keyword),
            header=self.header(item),
            matched_symbols=tuple(dict.fromkeys(symbol.name for symbol in symbols)),
            definition_lines=tuple(map(_lines, symbols)),
        )

    def header(self, item: Item) -> str:
        """Return the headings of the nearest section of the item, or its description where it has none."""
        path = item.sections[self.section].heading_path if 0 <= self.section < len(item.sections) else ()
        header = " ".join((" > ".join(path) or item.description).split())
        return header if len(header) <= HEADER_LENGTH else f"{header[: HEADER_LENGTH - 1]}…"

    def explain(self, traces: Iterable[LeafTrace]) -> tuple[LeafTrace, ...]:
        """Return what leaves and meaning contribute; it sums to the score.

        Args:
            traces: What each field gave each leaf of the keyword score.
        """
        known = tuple(traces)
        whole = sum(trace.contribution for trace in known)
        by_words = self.by_words / whole if whole > 0 else 0.0
        scaled = [
            replace(
                trace,
                contribution=trace.contribution * by_words,
                weight=trace.weight * by_words,
                unboosted=trace.unboosted * by_words,
            )
            for trace in known
            if by_words > 0
        ]
        near = self.similarity or 0.0
        most = self.by_meaning / near if near > 0 else 0.0
        text, df = self.asked.text, self.asked.near
        return (LeafTrace(text, MEANING, df, 1.0, 1.0, near, self.by_meaning, weight=most, unboosted=most), *scaled)


def _lines(symbol: Symbol) -> str:
    end = f"-L{symbol.end_line}" if symbol.end_line > symbol.line else ""
    return f"{symbol.name}@L{symbol.line}{end}"
