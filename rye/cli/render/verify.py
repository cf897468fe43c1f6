"""Verdicts and lists as text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rye._text import column, inline
from rye.cli.render.parts import item_name, location
from rye.cli.terminal import VERDICT_MARKS, Terminal, folded, note_line
from rye.surface.text import plural, source_name
from rye.verify.report import Finding, Unchecked, Violation

if TYPE_CHECKING:
    from rye.spaces.lists import ListReport
    from rye.verify.report import NestedRepository, VerifiedItem
    from rye.verify.run import Verification

_VERDICT_WIDTH = max(len(verdict) for verdict in VERDICT_MARKS)


def render_text(
    run: Verification,
    terminal: Terminal,
    *,
    verbose: bool,
    complain: Callable[[str], None],
    keep: Callable[[Finding], None] | None = None,
) -> Iterator[str]:
    """Yield a line for each cause of findings with their number and files, and the summary.

    With ``verbose``, items that passed come as they are verified; findings come after the last of them.

    Args:
        run: The verification to iterate over.
        terminal: The terminal.
        verbose: Also list the items that passed and the findings that the policy accepts.
        complain: Takes a line on what could not be checked, and the warnings.
        keep: Takes each finding.
    """
    causes: defaultdict[tuple[str, ...], list[Finding]] = defaultdict(list)
    for entry in run:
        if isinstance(entry, Unchecked):
            complain(note_line("not checked", entry.message, terminal))
        elif isinstance(entry, Finding):
            if keep is not None:
                keep(entry)
            if verbose or not entry.accepted:
                alike = causes[(entry.item.verdict, entry.item.source, entry.code, entry.reason, str(entry.accepted))]
                alike.append(entry)
        elif verbose and not run.is_part(entry):
            yield _head(entry, terminal)
    for alike in causes.values():
        yield from _finding(alike[0], terminal) if len(alike) == 1 else _findings(alike, terminal)
    for text in run.warnings:
        complain(note_line("warning", text, terminal))
    for report in run.lists:
        yield outcome(report, terminal)
    yield from (_nested(repository, terminal) for repository in run.nested)
    yield _summary(run, terminal)


def _nested(nested: NestedRepository, terminal: Terminal) -> str:
    failed = f" -- {terminal.style(f'{nested.findings} failed', 'red')}" if nested.findings else ""
    return f"{inline(nested.path)}: a repository of its own: {_by_verdict(nested.counts) or 'no items'}{failed}"


def _head(item: VerifiedItem | Violation, terminal: Terminal, *, failed: bool = False) -> str:
    columns = (
        terminal.verdict(item.verdict, width=_VERDICT_WIDTH, failed=failed),
        terminal.style(column(item.ref), "cyan"),
        source_name(item.space, item.bundle),
        location(item.path, item.line, terminal),
    )
    return "  ".join(columns)


def _finding(finding: Finding, terminal: Terminal) -> Iterator[str]:
    yield _head(finding.item, terminal, failed=not finding.accepted)
    known = " (accepted)" if finding.accepted else ""
    text = inline(f"{finding.reason} [{finding.code}]{known}")
    yield f"    {folded(text, terminal, first='    ', following='    ')}"
    yield from (note_line(label, text, terminal, indent=4) for label, text in finding.advice.labelled())


def _findings(findings: Sequence[Finding], terminal: Terminal) -> Iterator[str]:
    """Yield a line for the common cause of findings, a line for each finding, and the fix of all or of the first."""
    first = findings[0]
    known = " (accepted)" if first.accepted else ""
    verdict = first.item.verdict
    cause = f"{plural(len(findings), 'item')} of {first.item.source}: {first.reason} [{first.code}]{known}"
    text = folded(inline(cause), terminal, first=" " * (len(verdict) + 4), following="  ")
    yield f"{terminal.verdict(verdict, failed=not first.accepted)}  {text}"
    for finding in findings:
        item = finding.item
        yield f"    {item_name(item.ref, item.path, terminal)}  {location(item.path, item.line, terminal)}"
    advice = first.advice
    if any(finding.advice != advice for finding in findings):
        advice = advice._replace(words="; ".join(filter(None, [advice.words, "likewise for each of the others"])))
    yield from (note_line(label, text, terminal, indent=4) for label, text in advice.labelled())


def _by_verdict(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICT_MARKS if counts.get(verdict))


def _summary(run: Verification, terminal: Terminal) -> str:
    by_verdict = _by_verdict(run.counts)
    words = "all passed"
    if not run.items:
        words = "nothing to verify"
    if run.findings:
        words = f"{run.findings} failed" if run.items else f"{words}, {run.findings} failed"
    if run.accepted:
        words += f", {run.accepted} accepted"
    if run.unchecked:
        words += f", {len(run.unchecked)} not checked"
    counted = plural(run.items, "item") + (f": {by_verdict}" if by_verdict else "")
    return f"{counted} -- {terminal.style(words, 'red' if run.status else 'green')}"


def outcome(report: ListReport, terminal: Terminal) -> str:
    """Return the line that sums up how a folder differs from its list."""
    words = plural(len(report.errors), "violation") if report.errors else "no violations"
    words = terminal.style(words, "red" if report.errors else "green")
    if report.expires is None:
        return f"{inline(report.source)} has no list that can be read -- {words}"
    what = f"number {report.number}, {plural(report.listed, 'file')}, valid until {report.expires:%Y-%m-%d}"
    return f"list of {inline(report.source)}: {what} -- {words}"
