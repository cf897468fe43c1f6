"""Why an item is a hit or is none: rank, the query taken apart, the reasons, and the neighbours."""

from __future__ import annotations

from collections.abc import Iterator

from rye.cli.render.explain import contrast_line, render_explained, words_line
from rye.cli.render.parts import source_label, verdict_label
from rye.cli.terminal import Terminal
from rye.cli.text import inline
from rye.search.explanation import Clause, Meant, Neighbour, Why

__all__ = ["render_why"]

_INDENT = "  "


def render_why(why: Why, terminal: Terminal) -> Iterator[str]:
    """Yield whether the item is a hit, then every part of the query, then what sets it apart from its neighbours."""
    name = terminal.style(inline(f"{why.type}:{why.id}"), "cyan", bold=True)
    hit = why.hit
    if hit is not None:
        place = f"hit {why.rank} of {why.total} -- {inline(why.stage)}"
        label = f"{verdict_label(hit.signature, terminal)}  {source_label(hit.source, hit.bundle)}"
        exact = f"  {terminal.style('exact', 'green')}" if hit.exact else ""
        yield f"{name}  {hit.score:.4f}  {label}{exact}"
        yield terminal.style(place, "green", bold=True)
    else:
        yield f"{name}  {inline(why.source)}"
        yield terminal.style(f"no hit; there are {why.total} -- {inline(why.stage)}", "red", bold=True)
        for reason in why.reasons:
            part = terminal.style(inline(reason.clause), bold=True)
            yield f"{_INDENT}{part}{': ' if reason.clause else ''}{inline(reason.message)} [{inline(reason.code)}]"
    for clause in why.clauses:
        yield ""
        yield from _clause(clause, terminal, _INDENT)
    if why.meaning is not None:
        yield ""
        yield _INDENT + _meaning(why.meaning, terminal)
    if hit is not None:
        yield ""
        yield from render_explained(hit, terminal, _INDENT)
        yield from _neighbours(why, terminal)
    if hit is not None and hit.shadowed_by:
        yield terminal.style(f"shadowed by {inline(', '.join(hit.shadowed_by))}", "magenta")


def _clause(clause: Clause, terminal: Terminal, indent: str) -> Iterator[str]:
    yes, no, left = ("✓", "✗", "–") if terminal.unicode else ("+", "x", "-")
    mark, colour = (yes, "green") if clause.matched else (no, "red")
    if clause.kind == "dropped":
        mark, colour = left, "yellow"
    said = "; ".join(f"{inline(field)}: {words_line(words, terminal)}" for field, words in clause.words.items())
    note = terminal.dim(f"  {said or inline(clause.note)}") if said or clause.note else ""
    yield f"{indent}{terminal.style(mark, colour)} {inline(clause.text)}{note}"
    for below in clause.clauses:
        yield from _clause(below, terminal, indent + _INDENT)


def _meaning(meant: Meant, terminal: Terminal) -> str:
    """Return how near the item is, and what similarity and words give its score."""
    near = "no vector" if meant.similarity is None else f"similarity {meant.similarity:.4f}"
    where = f" at {inline(meant.section)}" if meant.section else ""
    gives = f", near from {meant.threshold:g} on, gives {meant.by_meaning:.4f}"
    words = "" if meant.method == "embedding" else f"; keyword score {meant.keyword:.4f} gives {meant.by_words:.4f}"
    return f"{near}{where}{terminal.dim(gives)}{terminal.dim(words)}"


def _neighbours(why: Why, terminal: Terminal) -> Iterator[str]:
    rows = (("before it", why.above), ("after it", why.below))
    if any(neighbour for _, neighbour in rows):
        yield ""
    for word, neighbour in rows:
        if neighbour is not None:
            yield f"{terminal.dim(f'{word:<9}')}  {_neighbour(neighbour)}"


def _neighbour(neighbour: Neighbour) -> str:
    hit = neighbour.hit
    return f"{neighbour.rank}. {inline(f'{hit.type}:{hit.id}')}  {hit.score:.4f}  {contrast_line(neighbour.contrast)}"
