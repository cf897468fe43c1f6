"""How a hit got its score, drawn: what each part of the query gave, in which words, and what sets hits apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

from rye.cli.render.bars import bar
from rye.cli.render.parts import plural
from rye.cli.terminal import Terminal
from rye.cli.text import cells, inline, pad
from rye.search.explanation import Contrast
from rye.search.results import LeafTrace, SearchResult

__all__ = ["contrast_line", "render_explained", "words_line"]

_BAR = 24
_LONGEST = 32
_LISTED = 6
_DECIDED = {
    "exact": "its id or name is the query",
    "withdrawn": "what is superseded, deprecated or yanked comes last",
    "date": "by date",
    "name": "by name",
    "space": "{} are equal, and its space comes first",
    "id": "{} are equal, so the id decides",
}
_COMPARED = {"score": "scores", "date": "dates", "name": "names"}


def render_explained(hit: SearchResult, terminal: Terminal, indent: str) -> Iterator[str]:
    """Yield for each part of the query that matched a bar, and below it the fields and words that it is made of."""
    traces = hit.explain or ()
    if not traces:
        yield indent + terminal.dim(f"no part of the query gives a score: {hit.score:.4f}")
        return
    leaves = [(leaf, list(group)) for leaf, group in groupby(traces, lambda trace: trace.leaf)]
    width = max(cells(_short(leaf)) for leaf, _ in leaves)
    for leaf, fields in leaves:
        yield from _leaf(pad(_short(leaf), width), fields, terminal, indent)


def _leaf(name: str, fields: list[LeafTrace], terminal: Terminal, indent: str) -> Iterator[str]:
    given, first = sum(trace.contribution for trace in fields), fields[0]
    drawn = bar(given, _BAR, terminal)
    room = bar(first.weight, _BAR, terminal)
    rest = "".join(("░" if terminal.unicode else ".") for _ in range(max(len(room) - len(drawn), 0)))
    facts = f"of {first.weight:.4f}, in {plural(first.df, 'item')}"
    if first.boost != 1:
        facts += f", boost {first.boost:g}: without boosts of {first.unboosted:.4f}"
    yield f"{indent}{name}  {given:.4f}  {terminal.style(drawn, 'green')}{terminal.dim(rest)}  {terminal.dim(facts)}"
    for trace in sorted(fields, key=lambda trace: -trace.contribution):
        share = f"{trace.contribution:.4f}"
        said = words_line(trace.words, terminal)
        yield f"{indent}{' ' * cells(name)}  {terminal.dim(f'{share}  {inline(trace.field)}: ')}{said}".rstrip()


def words_line(words: Mapping[str, int], terminal: Terminal) -> str:
    """Return words with how often each occurs, the first few of them."""
    times = "×" if terminal.unicode else "x"
    shown = [_short(word) + (f" {times}{count}" if count > 1 else "") for word, count in list(words.items())[:_LISTED]]
    return ", ".join([*shown, *([f"and {len(words) - _LISTED} more"] if len(words) > _LISTED else [])])


def contrast_line(found: Contrast, *, sort_by: str = "score") -> str:
    """Return why one hit comes before another in the order that was asked for."""
    if found.because != "score":
        return _DECIDED[found.because].format(_COMPARED[sort_by])
    shares = [f"{_short(leaf)} in {inline(field)} {gap:+.4f}" for leaf, field, gap in found.shares]
    return f"{found.gap:+.4f}" + (f": {', '.join(shares)}" if shares else "")


def _short(text: str) -> str:
    shown = inline(text)
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"
