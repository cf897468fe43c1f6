"""Verdicts for a reader: one line per item, then the counts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from rye.cli.render.parts import plural, remedy, source_label
from rye.cli.terminal import VERDICT_MARKS, Terminal
from rye.cli.text import cells, inline, pad
from rye.reports import VerifiedItem, VerifyReport

__all__ = ["render_problems", "render_verified"]

_VERDICT_WIDTH = max(len(verdict) for verdict in VERDICT_MARKS)


def render_verified(report: VerifyReport, well: Collection[str], terminal: Terminal, *, verbose: bool) -> Iterator[str]:
    """Yield a line per item that is not well (per item where ``verbose``) and the summary."""
    bad = [item for item in report.items if str(item.signature.verdict) not in well]
    yield from _lines(report.items if verbose else bad, terminal)
    yield _summary(report, len(bad), terminal)


def _summary(report: VerifyReport, bad: int, terminal: Terminal) -> str:
    counts = report.counts
    by_verdict = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICT_MARKS if counts.get(verdict))
    outcome = "nothing to verify" if not report.items else f"{bad} not well" if bad else "all well"
    if report.problems:
        outcome += f", {len(report.problems)} not checked"
    colour = "red" if bad or report.problems or not report.items else "green"
    counted = plural(len(report.items), "item") + (f": {by_verdict}" if by_verdict else "")
    return f"{counted} -- {terminal.style(outcome, colour)}"


def _lines(items: Sequence[VerifiedItem], terminal: Terminal) -> Iterator[str]:
    names = [inline(f"{item.type}:{item.id}") for item in items]
    sources = [source_label(item.space, item.bundle) for item in items]
    widest = max(map(cells, names), default=0), max(map(cells, sources), default=0)
    for item, name, source in zip(items, names, sources, strict=True):
        signature = item.signature
        reason = inline(signature.reason) + (f" [{inline(signature.code)}]" if signature.code else "")
        columns = (
            terminal.verdict(str(signature.verdict), width=_VERDICT_WIDTH),
            terminal.style(pad(name, widest[0]), "cyan"),
            pad(source, widest[1]),
            reason,
            terminal.dim(inline(item.path)),
        )
        yield "  ".join(columns)


def render_problems(report: VerifyReport, well: Collection[str], terminal: Terminal) -> Iterator[str]:
    """Yield what could not be checked, and for each reason that occurs what to do about it."""
    for text in report.problems:
        yield f"{terminal.style('not checked:', 'red')} {inline(text)}"
    for text in report.warnings:
        yield f"{terminal.style('warning:', 'yellow')} {inline(text)}"
    yield from _hints(report, well, terminal)


def _hints(report: VerifyReport, well: Collection[str], terminal: Terminal) -> Iterator[str]:
    bad = [item for item in report.items if str(item.signature.verdict) not in well]
    by_code: dict[str, list[VerifiedItem]] = {}
    for item in bad:
        if remedy(item.signature, item.space, ""):
            by_code.setdefault(item.signature.code, []).append(item)
    for code, items in by_code.items():
        ref = f"{items[0].type}:{items[0].id}" if len(items) == 1 else "TYPE:ID"
        text = remedy(items[0].signature, items[0].space, ref)
        yield f"{terminal.style(f'hint[{inline(code)}]:', 'cyan')} {text}"
