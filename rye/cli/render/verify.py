"""Verdicts for a reader: a finding in three lines as soon as it is known, then the counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rye.cli.render.manifest import outcome
from rye.cli.render.parts import plural, source_label
from rye.cli.render.places import shown_path
from rye.cli.terminal import VERDICT_MARKS, Terminal
from rye.cli.text import inline
from rye.verify.manifests import Amiss
from rye.verify.reports import Unchecked, VerifiedItem
from rye.verify.run import Finding, Run

__all__ = ["render_text"]

_VERDICT_WIDTH = max(len(verdict) for verdict in VERDICT_MARKS)


def render_text(
    run: Run,
    terminal: Terminal,
    *,
    verbose: bool,
    complain: Callable[[str], None],
    keep: Callable[[Finding], None] | None = None,
) -> Iterator[str]:
    """Yield the lines of each finding (of each item where ``verbose``) and the summary.

    Args:
        run: What is iterated over.
        terminal: What the lines are for.
        verbose: Whether items that are well, and findings that the baseline accepts, are listed too.
        complain: Takes a line on what could not be checked, and the warnings.
        keep: Takes each finding.
    """
    for entry in run:
        if isinstance(entry, Unchecked):
            complain(f"{terminal.style('not checked:', 'red')} {inline(entry.message)}")
        elif isinstance(entry, Finding):
            if keep is not None:
                keep(entry)
            if verbose or not entry.known:
                yield from _finding(entry, terminal)
        elif verbose:
            yield _head(entry, terminal)
    for text in run.warnings:
        complain(f"{terminal.style('warning:', 'yellow')} {inline(text)}")
    for report in run.reports:
        yield outcome(report, terminal)
    yield _summary(run, terminal)


def _head(item: VerifiedItem | Amiss, terminal: Terminal) -> str:
    state = item.state if isinstance(item, Amiss) else item.signature.verdict.value
    columns = (
        terminal.verdict(state, width=_VERDICT_WIDTH),
        terminal.style(inline(item.ref), "cyan"),
        source_label(item.space, item.bundle),
        terminal.dim(f"{inline(shown_path(item.path))}:{item.line}"),
    )
    return "  ".join(columns)


def _finding(finding: Finding, terminal: Terminal) -> Iterator[str]:
    yield _head(finding.item, terminal)
    known = " (known)" if finding.known else ""
    yield f"    {inline(finding.reason)} [{inline(finding.code)}]{known}"
    yield f"    {terminal.style('fix:', 'cyan')} {inline(finding.fix)}"


def _summary(run: Run, terminal: Terminal) -> str:
    tally = run.tally
    by_verdict = ", ".join(f"{tally.verdicts[each]} {each}" for each in VERDICT_MARKS if tally.verdicts[each])
    words = "all well"
    if not tally.items:
        words = "nothing has changed" if run.checking.passed_over else "nothing to verify"
    if tally.findings:
        words = f"{tally.findings} not well" if tally.items else f"{words}, {tally.findings} not well"
    if tally.known:
        words += f", {tally.known} known"
    if tally.unchecked:
        words += f", {tally.unchecked} not checked"
    counted = plural(tally.items, "item") + (f": {by_verdict}" if by_verdict else "")
    return f"{counted} -- {terminal.style(words, 'red' if run.status else 'green')}"
