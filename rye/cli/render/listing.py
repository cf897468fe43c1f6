"""Items as lines of a table, and the figures of all spaces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rye.cli.render.parts import plural, size, source_label, standing
from rye.cli.render.table import table
from rye.cli.terminal import PLAIN, VERDICT_MARKS, Terminal
from rye.cli.text import cells, inline, pad
from rye.registry.stats import SpaceStats, Stats
from rye.search.results import SearchResponse, SearchResult

__all__ = ["render_list", "render_stats"]

_LONGEST = 60
_LEAST = 20
_SHOWN_SIGNERS = 5


def render_list(response: SearchResponse, terminal: Terminal) -> Iterator[str]:
    """Yield a line for each item, cut where the terminal ends."""
    rows = [_columns(hit) for hit in response.results]
    widths = [min(max(map(cells, column)), _LONGEST) for column in zip(*rows, strict=True)]
    marks = max((len(word) for word in VERDICT_MARKS), default=0)
    for hit, (name, version, source, said) in zip(response.results, rows, strict=True):
        shown = terminal.style(pad(name, widths[0]), "cyan", bold=True)
        verdict = terminal.verdict(str(hit.signature.verdict), width=marks)
        used = max(cells(name), widths[0]) + widths[1] + widths[2] + marks + 2 + 8
        state = standing(hit.states, hit.successor, PLAIN)
        used += cells(state) + 2 if state else 0
        room = None if terminal.width is None else max(terminal.width - used, _LEAST)
        facts = [pad(version, widths[1]), verdict, pad(source, widths[2]), terminal.style(state, "magenta")]
        yield "  ".join([shown, *facts[: None if state else 3], _cut(said, room)]).rstrip()


def _columns(hit: SearchResult) -> tuple[str, str, str, str]:
    name = inline(f"{hit.type}:{hit.id}")
    return name, inline(hit.version), source_label(hit.source, hit.bundle), inline(hit.description or hit.title)


def _cut(text: str, room: int | None) -> str:
    """Return as much of a text as fits into so many cells."""
    if room is None or cells(text) <= room:
        return text
    kept = text[:room]
    while cells(kept) > room - 1:
        kept = kept[:-1]
    return f"{kept}…"


def render_stats(stats: Stats, terminal: Terminal) -> Iterator[str]:
    """Yield a table with a line per space, then what all of them hold together."""
    head = ("source", "items", "directives", "tools", "knowledge", "files", "index", "changed")
    rows = [_space_row(space) for space in stats.spaces]
    lines = table(head, rows, numbers=len(head) - 1)
    yield terminal.style(next(lines), bold=True)
    yield from lines
    yield ""
    total = stats.total
    verdicts = "  ".join(f"{terminal.verdict(name)} {count}" for name, count in total.verdicts.items())
    facts = {
        "items": str(total.items),
        "verdicts": verdicts or "none",
        "signers": _signers(total.signers),
        "text": f"{total.words:,} words, {total.terms:,} terms, {total.categories} categories, {total.tags} tags",
        "hidden": f"{total.superseded} superseded, {total.deprecated} deprecated, {total.yanked} yanked",
        "shadows": f"{total.shadowing} hide others, {total.shadowed} are hidden",
        "copies": f"{total.copies} items have the bytes of another, {total.twins} share type and id in one source",
        "unreadable": plural(sum(space.unreadable for space in stats.spaces), "file"),
    }
    width = max(map(len, facts))
    for name, value in facts.items():
        yield f"{terminal.dim(name.ljust(width))}  {value}"


def _signers(signers: Mapping[str, int]) -> str:
    shown = [f"{inline(name[:16])} {count}" for name, count in list(signers.items())[:_SHOWN_SIGNERS]]
    more = len(signers) - len(shown)
    return ", ".join([*shown, *([f"and {more} more"] if more else [])]) or "nobody"


def _space_row(space: SpaceStats) -> tuple[str, ...]:
    types = [str(space.figures.types.get(name, 0)) for name in ("directive", "tool", "knowledge")]
    files = f"{space.files} ({size(space.file_bytes)})"
    return (inline(space.source), str(space.figures.items), *types, files, size(space.index_bytes), _ago(space))


def _ago(space: SpaceStats) -> str:
    seconds = space.index_age
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length:
            return f"{plural(int(seconds // length), unit)} ago"
    return f"{plural(int(seconds), 'second')} ago"
