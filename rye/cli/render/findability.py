"""Findability as text: the figures, then every question that fails and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rye._text import column, inline
from rye.cli.terminal import Terminal, cut, folded
from rye.surface.text import plural

if TYPE_CHECKING:
    from rye.registry.findability import Findability, Outcome
    from rye.registry.shares import Share

_INDENT = "    "
_QUESTION = 300
"""Characters of a question that are shown."""
_PART = 32
_FALLBACK = "keyword_fallback"


def render_findability(findability: Findability, terminal: Terminal) -> Iterator[str]:
    """Yield the figures, then failing questions, wrong first hits, and questions that were not measured."""
    figures = f"hit@1 {findability.hit_at_1:.3f}  hit@3 {findability.hit_at_3:.3f}  MRR {findability.mrr:.3f}"
    yield f"{terminal.style(figures, bold=True)}  {plural(findability.questions, 'question')}"
    if findability.negatives:
        wrong = f"{len(findability.false_hits):,} of {plural(findability.negatives, 'question')}"
        yield f"{wrong} that an item must not answer have it as the first hit"
    if findability.skipped:
        yield f"{plural(findability.skipped, 'question')} left out, because no item is named for them"
    if count := findability.methods.get(_FALLBACK):
        yield f"{plural(count, 'question')} searched by words alone, not by meaning; rye search says why"
    yield from _section("failed", findability.failures, terminal)
    yield from _section("must not be the first hit", findability.false_hits, terminal)
    if findability.errors:
        yield from ("", terminal.style(f"not measured: {len(findability.errors):,}", "red", bold=True))
    for error in findability.errors:
        yield from _question(error.question, error.place, terminal)
        yield _line(inline(error.message), terminal)


def _section(title: str, failures: Sequence[Outcome], terminal: Terminal) -> Iterator[str]:
    if failures:
        yield from ("", terminal.style(f"{title}: {len(failures):,}", bold=True))
    for failure in failures:
        yield from _question(failure.question, failure.place, terminal)
        is_found = "no hit" if failure.rank is None else f"hit {failure.rank}"
        yield _line(f"{column(failure.expected)}: {is_found}", terminal)
        if failure.rank != 1:
            yield _line(f"first: {terminal.style(column(failure.winner) or 'nothing', 'cyan')}", terminal)
        yield from (_line(_share(share), terminal, "      ") for share in failure.decided_by)
        yield from (_line(inline(reason), terminal) for reason in failure.reasons)


def _question(text: str, place: str, terminal: Terminal) -> Iterator[str]:
    """Yield a question and its place."""
    yield ""
    if text:
        yield folded(cut(inline(text), _QUESTION), terminal)
    if place:
        yield _INDENT + terminal.dim(cut(inline(place), terminal.width and terminal.width - len(_INDENT)))


def _share(share: Share) -> str:
    return f"{cut(inline(share.part), _PART)}  {share.winner:.4f}, expected item {share.expected:.4f}"


def _line(text: str, terminal: Terminal, indent: str = _INDENT) -> str:
    return indent + folded(text, terminal, first=indent, following=f"{indent}  ")
