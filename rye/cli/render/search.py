"""Answers to a query as text: hits, facets, explanations, sections, and how the query was read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING

from rye._text import block, column, inline
from rye.cli.render.parts import (
    item_name,
    location,
    passage,
    standing_label,
    verdict_label,
)
from rye.cli.terminal import PLAIN, Terminal, bar, cells, cut, folded, note_line, pad, warning_lines
from rye.surface.hits import HitView, Passage, hiding, is_markdown_file, view_of, without_marks
from rye.surface.text import counted, plural, search_notes, source_name

if TYPE_CHECKING:
    from rye.search.clauses import Clause
    from rye.search.contract.results import (
        ClauseTrace,
        Facet,
        SearchResponse,
        SearchResult,
        SectionHit,
        SectionResponse,
    )
    from rye.search.explain import QueryReading, SimilarityReport, Why

_INDENT = "    "
_BAR = 24
"""Cells of a bar in an explanation."""

_HOW = {
    "hybrid": ", the best by meaning and words",
    "semantic": ", the best by meaning",
    "similar": ", the most similar first",
    "fuzzy": ", with similar words",
    "substring": ", with parts of words",
    "any": ", with some of the words",
    "literal": ", with the whole text",
}
"""A stage or mode in words."""

_SHARED_WORDS = 10
_LISTED_WORDS = 6


def render_search(response: SearchResponse, terminal: Terminal, *, shared_words: bool = False) -> Iterator[str]:
    """Yield how many results there are, every hit of the page and the facets.

    A hit has two or three lines. An explained one also shows its scores and their parts; with ``shared_words`` only the
    words that it shares with the item that it is similar to.
    """
    hits = response.results
    yield terminal.style(_head(response, "result", response.stage), bold=True)
    digits = len(str(response.offset + len(hits)))
    for rank, hit in enumerate(hits, response.offset + 1):
        yield ""
        yield from _hit(f"{rank:>{digits}}.", hit, terminal, scores=hit.explain is not None and not shared_words)
        if shared_words:
            yield from _shared_words(hit, terminal)
        elif hit.explain is not None:
            yield from _explained(hit, terminal, _INDENT)
    for name, facet in response.facets.items():
        yield ""
        yield terminal.style(inline(name), bold=True)
        yield from _values(facet, terminal, longest=17 if name == "signer" else 48)


def _head(response: SearchResponse | SectionResponse, noun: str, how: str) -> str:
    """Return how many hits there are and how they were found: ``4 results``, ``10 of 25 results, with similar words``.

    The normal case, every word as written, is not mentioned.
    """
    return f"{counted(len(response.results), response.total, noun)}{_HOW.get(how, '')}"


def _shared_words(hit: SearchResult, terminal: Terminal) -> Iterator[str]:
    gains: defaultdict[str, float] = defaultdict(float)
    for trace in hit.explain or ():
        gains[trace.clause] += trace.contribution if trace.words else 0.0
    best = sorted(filter(gains.get, gains), key=lambda clause: -gains[clause])[:_SHARED_WORDS]
    if best:
        yield f"{_INDENT}{terminal.dim('shares')} {', '.join(map(inline, best))}"


def render_ids(response: SearchResponse, _terminal: Terminal = PLAIN) -> Iterator[str]:
    """Yield ``type:id`` of every hit."""
    for hit in response.results:
        yield f"{inline(hit.type)}:{inline(hit.id)}"


def render_notes(response: SearchResponse | SectionResponse, terminal: Terminal) -> Iterator[str]:
    """Yield the messages about the search: warnings, hidden hits, a suggestion, the next page."""
    yield from warning_lines(response.warnings, terminal, stale=response.stale)
    yield from (note_line(label, text, terminal) for label, text in search_notes(response.to_dict(), "cli"))


def render_reading_notes(reading: QueryReading, terminal: Terminal) -> Iterator[str]:
    """Yield the warnings of a search, and a suggested query."""
    yield from warning_lines(reading.warnings, terminal)
    if reading.did_you_mean:
        yield note_line("did you mean", reading.did_you_mean, terminal)


def _facts(hit: SearchResult, view: HitView, terminal: Terminal, *, scores: bool) -> list[str]:
    """Return the name, verdict and place of a hit, and its scores if they are asked for."""
    facts = [
        item_name(view.name, hit.path, terminal),
        verdict_label(hit.signature, terminal),
        location(hit.path, hit.line, terminal),
        terminal.style("exact" if hit.exact else "", "green"),
        *((f"{hit.score:.4f}", view.similarity) if scores else ()),
    ]
    return [*filter(None, facts)]


def _hit(rank: str, hit: SearchResult, terminal: Terminal, *, scores: bool) -> Iterator[str]:
    view = view_of(hit.to_dict())
    facts, plain = _facts(hit, view, terminal, scores=scores), "  ".join(_facts(hit, view, PLAIN, scores=scores))
    first = len(facts)
    if terminal.width is not None and cells(rank) + 1 + cells(plain) > terminal.width:
        first = 2  # name and verdict
    yield f"{rank} {'  '.join(facts[:first])}"
    if facts[first:]:
        yield _INDENT + "  ".join(facts[first:])
    for text in (view.texts if len(view.texts) > 1 else view.passages)[:2]:
        yield from _one_line(text, terminal)
    for line in view.reasons if scores else ():
        yield _INDENT + folded(line, terminal, first=_INDENT, following=_INDENT)
    yield from (cut(_INDENT + line, terminal.width) for line in view.symbols)
    yield from _magenta((*view.hiding, view.lifecycle), terminal)


def _magenta(notes: Iterable[str], terminal: Terminal) -> Iterator[str]:
    yield from (_INDENT + terminal.style(inline(note), "magenta") for note in notes if note)


def _one_line(text: Passage, terminal: Terminal) -> Iterator[str]:
    """Yield as much of a text as fits the terminal."""
    width = None if terminal.width is None else terminal.width - cells(f"{_INDENT} …")
    line, *more = passage(text.text, text.spans, light=terminal.light, width=width) or [""]
    yield f"{_INDENT}{line}{(' …' if terminal.unicode else ' ...') if more else ''}"


def _values(facet: Facet, terminal: Terminal, *, longest: int) -> Iterator[str]:
    rows = [(_short(value, longest), count) for value, count in facet.values]
    if not rows:
        yield f"  {terminal.dim('no match has a value')}"
        return
    width, digits = max(cells(value) for value, _ in rows), len(str(rows[0][1]))
    for value, count in rows:
        drawn = terminal.style(bar(count / rows[0][1], 20, terminal), "cyan")
        yield f"  {pad(value, width)}  {count:>{digits}}  {drawn}"
    if facet.other_values:
        yield terminal.dim(f"  and {facet.other_values} more, {facet.others} together")
    if facet.missing:
        yield terminal.dim(f"  none: {facet.missing}")


def _explained(hit: SearchResult, terminal: Terminal, indent: str) -> Iterator[str]:
    """Yield a bar for each matching part of the query, and below it its share by field and word."""
    traces = hit.explain or ()
    if not traces:
        yield indent + terminal.dim(f"no part of the query contributes to the score: {hit.score:.4f}")
        return
    clauses = [(clause, list(group)) for clause, group in groupby(traces, lambda trace: trace.clause)]
    width = max(cells(_short(clause)) for clause, _ in clauses)
    for clause, fields in clauses:
        yield from _clause_bar(pad(_short(clause), width), fields, terminal, indent)


def _clause_bar(name: str, fields: list[ClauseTrace], terminal: Terminal, indent: str) -> Iterator[str]:
    given, first = sum(trace.contribution for trace in fields), fields[0]
    drawn = bar(given, _BAR, terminal)
    room = bar(first.weight, _BAR, terminal)
    rest = ("░" if terminal.unicode else ".") * (len(room) - len(drawn))
    facts = f"of at most {first.weight:.4f}, in {plural(first.df, 'item')}"
    if first.boost != 1:
        facts += f", boost {first.boost:g}; {first.unboosted:.4f} without boosts"
    yield f"{indent}{name}  {given:.4f}  {terminal.style(drawn, 'green')}{terminal.dim(rest)}  {terminal.dim(facts)}"
    for trace in sorted(fields, key=lambda trace: -trace.contribution):
        share = f"{trace.contribution:.4f}"
        words = _words(trace.words, terminal)
        yield f"{indent}{' ' * cells(name)}  {terminal.dim(f'{share}  {inline(trace.field)}: ')}{words}".rstrip()


def _words(words: Mapping[str, int], terminal: Terminal) -> str:
    times = "×" if terminal.unicode else "x"
    shown = [
        _short(word) + (f" {times}{count}" if count > 1 else "") for word, count in list(words.items())[:_LISTED_WORDS]
    ]
    return ", ".join([*shown, *([f"and {len(words) - _LISTED_WORDS} more"] if len(words) > _LISTED_WORDS else [])])


def _short(text: str, longest: int = 32) -> str:
    shown = inline(text)
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"


def render_why(why: Why, terminal: Terminal) -> Iterator[str]:
    """Yield whether the item is a hit, then every part of the query, then the parts of its score."""
    name = terminal.style(column(f"{why.type}:{why.id}"), "cyan", bold=True)
    hit = why.hit
    if hit is not None:
        place = f"hit {why.rank} of {why.total} -- {inline(why.stage)}"
        label = f"{verdict_label(hit.signature, terminal)}  {source_name(hit.source, hit.bundle, hit.folder)}"
        exact = f"  {terminal.style('exact', 'green')}" if hit.exact else ""
        yield f"{name}  {hit.score:.4f}  {label}{exact}"
        yield terminal.style(place, "green", bold=True)
    else:
        yield f"{name}  {inline(why.source)}"
        place = f"not among the {plural(why.total, 'hit')}" if why.total else "no hit"
        yield terminal.style(f"{place} -- {inline(why.stage)}", "red", bold=True)
        for reason in why.reasons:
            part = terminal.style(inline(reason.clause), bold=True)
            yield f"  {part}{': ' if reason.clause else ''}{inline(reason.message)} [{inline(reason.code)}]"
    for clause in why.clauses:
        yield ""
        yield from _clause(clause, terminal, "  ")
    if why.meaning is not None:
        yield ""
        yield "  " + _meaning(why.meaning, terminal)
    if hit is not None:
        yield ""
        yield from _explained(hit, terminal, "  ")
    if hit is not None and hit.shadowed_by:
        yield terminal.style(f"shadowed by {inline(', '.join(hit.shadowed_by))}", "magenta")


def _clause(clause: Clause, terminal: Terminal, indent: str) -> Iterator[str]:
    yes, no, left = ("✓", "✗", "–") if terminal.unicode else ("+", "x", "-")
    mark, colour = (yes, "green") if clause.matched else (no, "red")
    if clause.kind == "dropped":
        mark, colour = left, "yellow"
    occurrences = "; ".join(f"{inline(field)}: {_words(words, terminal)}" for field, words in clause.words.items())
    note = terminal.dim(f"  {occurrences or inline(clause.note)}") if occurrences or clause.note else ""
    yield f"{indent}{terminal.style(mark, colour)} {inline(clause.text)}{note}"
    for below in clause.clauses:
        yield from _clause(below, terminal, f"{indent}  ")


def _meaning(report: SimilarityReport, terminal: Terminal) -> str:
    """Return the similarity of the item, and the contributions of similarity and keywords to its score."""
    similarity = "no vector" if report.similarity is None else f"similarity {report.similarity:.4f}"
    where = f" at {inline(report.section)}" if report.section else ""
    gives = f", threshold {report.threshold:g}, contributes {report.by_meaning:.4f}"
    if report.method != "embedding":
        gives += f"; keyword score {report.keyword:.4f} contributes {report.by_words:.4f}"
    return f"{similarity}{where}{terminal.dim(gives)}"


def render_sections(response: SectionResponse, terminal: Terminal, *, snippets: bool) -> Iterator[str]:
    """Yield the header and every section."""
    yield terminal.style(_head(response, "section", response.search_type), bold=True)
    width = len(str(response.offset + len(response.results)))
    for rank, hit in enumerate(response.results, start=response.offset + 1):
        yield ""
        yield from _section(f"{rank:>{width}}.", hit, terminal, snippets=snippets)


def _section(rank: str, hit: SectionHit, terminal: Terminal, *, snippets: bool) -> Iterator[str]:
    facts = [
        item_name(f"{hit.type}:{hit.id}", hit.path, terminal),
        f"{hit.score:.4f}",
        verdict_label(hit.signature, terminal),
        inline(hit.source_handle),
        standing_label(hit, terminal),
    ]
    yield f"{rank} {'  '.join(filter(None, facts))}"
    yield _INDENT + terminal.style(inline(" > ".join(hit.heading_path)), bold=True)
    yield _INDENT + terminal.dim(f"{inline(hit.path)}:{hit.line}-{hit.end_line}  anchor {hit.anchor[:12]}")
    yield from _magenta(hiding(hit.to_dict()), terminal)
    if hit.copies:
        yield _INDENT + terminal.dim(inline(f"the same in {', '.join(hit.copies)}"))
    snippet = without_marks(hit.snippet).text if is_markdown_file(hit.path) else hit.snippet
    for line in [inline(snippet)] if snippets else block(hit.text).splitlines():
        yield f"{_INDENT}{line}".rstrip()
    if hit.truncated:
        yield _INDENT + terminal.dim(f"… {hit.original_chars - len(hit.text):,} more characters")


def render_reading(reading: QueryReading, terminal: Terminal) -> Iterator[str]:
    """Yield the canonical form of a query, its tree, and the stages that were tried."""
    yield terminal.style(inline(reading.canonical) or "*", bold=True)
    yield ""
    yield block(reading.tree.rstrip("\n"))
    yield ""
    for stage, text in reading.stages if len(reading.stages) > 1 else ():
        yield f"  {inline(stage):<10}{inline(text)}"
    answered = reading.stages[-1][0] if reading.stages else reading.search_type
    yield terminal.style(f"{plural(reading.total, 'hit')} -- {inline(answered)}", "green" if reading.total else "red")
