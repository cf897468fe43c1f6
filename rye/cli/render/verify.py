"""Verdicts and manifests for a reader."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rye._text import column, inline
from rye.cli.render.parts import item_name, location, named_audience
from rye.cli.terminal import VERDICT_MARKS, Terminal, folded, note_line, warning_lines
from rye.registry import Finding, Fixes, Unchecked, Violation
from rye.surface.text import manifest_advice, plural, source_name

if TYPE_CHECKING:
    from rye.registry import ManifestReport, ManifestWritten, Verification, VerifiedItem

_VERDICT_WIDTH = max(len(verdict) for verdict in VERDICT_MARKS)


def render_text(
    run: Verification,
    terminal: Terminal,
    *,
    verbose: bool,
    complain: Callable[[str], None],
    keep: Callable[[Finding], None] | None = None,
) -> Iterator[str]:
    """Yield a line for each cause of findings, with their number and files, and the summary.

    Items that passed, where ``verbose``, come as they are verified; the findings come behind the last of them.

    Args:
        run: What is iterated over.
        terminal: What the lines are for.
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
        elif verbose:
            yield _head(entry, terminal)
    for alike in causes.values():
        yield from _finding(alike[0], terminal) if len(alike) == 1 else _findings(alike, terminal)
    for text in run.warnings:
        complain(note_line("warning", text, terminal))
    for report in run.manifests:
        yield outcome(report, terminal)
    yield _summary(run, terminal)


def _head(item: VerifiedItem | Violation, terminal: Terminal) -> str:
    columns = (
        terminal.verdict(item.verdict, width=_VERDICT_WIDTH),
        terminal.style(column(item.ref), "cyan"),
        source_name(item.space, item.bundle),
        location(item.path, item.line, terminal),
    )
    return "  ".join(columns)


def _finding(finding: Finding, terminal: Terminal) -> Iterator[str]:
    yield _head(finding.item, terminal)
    known = " (accepted)" if finding.accepted else ""
    text = inline(f"{finding.reason} [{finding.code}]{known}")
    yield f"    {folded(text, terminal, first='    ', others='    ')}"
    yield from (note_line(label, text, terminal, indent=4) for label, text in finding.advice.labelled())


def _findings(findings: Sequence[Finding], terminal: Terminal) -> Iterator[str]:
    """Yield a line for the cause that findings share, one for each of them, and what fixes them, or the first."""
    first = findings[0]
    known = " (accepted)" if first.accepted else ""
    verdict = first.item.verdict
    cause = f"{plural(len(findings), 'item')} of {first.item.source}: {first.reason} [{first.code}]{known}"
    text = folded(inline(cause), terminal, first=" " * (len(verdict) + 4), others="  ")
    yield f"{terminal.verdict(verdict)}  {text}"
    for each in findings:
        item = each.item
        yield f"    {item_name(item.ref, item.path, terminal)}  {location(item.path, item.line, terminal)}"
    advice = first.advice
    if any(each.advice != advice for each in findings):
        advice = advice._replace(words="; ".join(filter(None, [advice.words, "likewise for each of the others"])))
    yield from (note_line(label, text, terminal, indent=4) for label, text in advice.labelled())


def _summary(run: Verification, terminal: Terminal) -> str:
    by_verdict = ", ".join(f"{run.counts[each]} {each}" for each in VERDICT_MARKS if run.counts[each])
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


def render_written(report: ManifestWritten, terminal: Terminal) -> Iterator[str]:
    """Yield what is new against the manifest before, then what was written and what it still lacks."""
    for found in report.changes:
        yield f"was: {terminal.style(found.code, 'yellow')}  {inline(found.message)}"
    roles = ", ".join(map(inline, report.written)) or "signatures only"
    whose = f" for {inline(report.audience)}" if report.audience else ""
    yield f"{inline(report.source)}{whose}: version {report.version}, {plural(report.listed, 'item')} ({roles})"
    yield terminal.dim(inline(report.folder))
    if report.signed:
        yield f"it signs what can hold no signature and has none: {', '.join(map(inline, report.signed))}"
    root = str(Path(report.folder).parents[1])
    write = Fixes.find(audience=named_audience()).in_space("rye manifest write", report.source.partition(":")[0], root)
    for role, count in report.missing.items():
        yield f"{inline(role)} still needs {plural(count, 'signature')}: {inline(write)} --cosign"
    for role, count in report.pending.items():
        if count:
            yield f"{inline(role)} still needs {plural(count, 'signature')}: {inline(write)} --cosign"
        yield f"{inline(role)} keeps its old version until the holder of a key of the manifest runs: {inline(write)}"
    for role in report.waiting:
        yield f"{inline(role)} is unchanged: its own key lists it"


def render_checked(reports: Sequence[ManifestReport], terminal: Terminal) -> Iterator[str]:
    """Yield a line per finding and one per space."""
    if not reports:
        yield "no space has a manifest"
    for report in reports:
        for found in report.findings:
            colour = "red" if found in report.errors else "yellow"
            yield f"{terminal.style(inline(found.code), colour)}  {inline(report.source)}  {inline(found.message)}"
        yield outcome(report, terminal)
        if report.version:
            keys = ", ".join(map(inline, report.timestamp_keys))
            words = f"{keys} may sign the timestamp alone" if keys else "the same keys sign list and timestamp"
            yield terminal.dim(f"  {words}")


def outcome(report: ManifestReport, terminal: Terminal) -> str:
    """Return the line that sums a check up."""
    expires = f", valid until {report.expires.date().isoformat()}" if report.expires else ""
    whose = f"for {inline(report.audience)}" if report.audience else "for no audience"
    words = plural(len(report.errors), "violation") if report.errors else "no violations"
    words = terminal.style(words, "red" if report.errors else "green")
    if not report.version:
        return f"{inline(report.source)} has no manifest -- {words}"
    what = f"version {report.version}, {plural(report.listed, 'item')} listed{expires}, {whose}"
    return f"manifest of {inline(report.source)}: {what} -- {words}"


def render_hints(reports: Sequence[ManifestReport], warnings: Sequence[str], terminal: Terminal) -> Iterator[str]:
    """Yield what could not be checked, and for each code that occurs in a space the command that fixes it there."""
    for report in reports:
        for text in report.problems:
            yield note_line("not checked", text, terminal)
    yield from warning_lines(warnings, terminal)
    fixes = Fixes.find(audience=named_audience())
    hints = [hint for report in reports for hint in manifest_advice(report, fixes)]
    for code, advice in dict.fromkeys(hints):
        yield from (note_line(label, text, terminal) for label, text in advice.labelled(f"hint[{code}]"))


def checked_to_dict(report: ManifestReport) -> dict[str, Any]:
    """Return the JSON of a check, in which each finding has the command for its space, as a reader is shown it."""
    data, fixes = report.to_dict(), Fixes.find(audience=named_audience())
    for finding, (_, advice) in zip(data["findings"], manifest_advice(report, fixes), strict=True):
        finding["remedy"], finding["note"] = advice
    return data
