"""Manifests for a reader: what was written, and what a check found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rye.cli.render.parts import plural
from rye.cli.terminal import Terminal
from rye.cli.text import inline
from rye.keys.manifests import ManifestReport, ManifestWritten

__all__ = ["outcome", "render_checked", "render_hints", "render_written"]


def render_written(report: ManifestWritten, terminal: Terminal) -> Iterator[str]:
    """Yield what is new against the manifest before, then what was written and what it still lacks."""
    for found in report.changes:
        yield f"was: {terminal.style(found.code, 'yellow')}  {inline(found.message)}"
    roles = ", ".join(map(inline, report.written)) or "signatures only"
    yield f"{inline(report.source)}: version {report.version}, {plural(report.listed, 'item')} ({roles})"
    yield terminal.dim(inline(report.folder))
    for role, count in report.missing.items():
        yield f"{inline(role)} still needs {plural(count, 'signature')}: rye manifest write --cosign"
    for role, count in report.pending.items():
        if count:
            yield f"{inline(role)} still needs {plural(count, 'signature')}: rye manifest write --cosign"
        yield f"{inline(role)} counts as it was until who has a key of the manifest runs: rye manifest write"
    for role in report.waiting:
        yield f"{inline(role)} stays as it was: its own key lists it"


def render_checked(reports: Sequence[ManifestReport], terminal: Terminal) -> Iterator[str]:
    """Yield a line per finding and one per space."""
    if not reports:
        yield "no space has a manifest"
    for report in reports:
        for found in report.check.findings:
            colour = "red" if found in report.errors else "yellow"
            yield f"{terminal.style(inline(found.code), colour)}  {inline(report.source)}  {inline(found.message)}"
        yield outcome(report, terminal)


def outcome(report: ManifestReport, terminal: Terminal) -> str:
    """Return the line that sums a check up."""
    check = report.check
    expires = f", valid until {check.expires.date().isoformat()}" if check.expires else ""
    words = f"{len(report.errors)} not well" if report.errors else "all well"
    words = terminal.style(words, "red" if report.errors else "green")
    what = f"version {check.version}, {plural(check.listed, 'item')} listed{expires}" if check.version else "none"
    return f"manifest of {inline(report.source)}: {what} -- {words}"


def render_hints(reports: Sequence[ManifestReport], warnings: Sequence[str], terminal: Terminal) -> Iterator[str]:
    """Yield what could not be checked, and for each code that occurs what to do about it."""
    for report in reports:
        for text in report.problems:
            yield f"{terminal.style('not checked:', 'red')} {inline(text)}"
    for text in warnings:
        yield f"{terminal.style('warning:', 'yellow')} {inline(text)}"
    remedies = {found.code: found.remedy for report in reports for found in report.check.findings}
    for code, text in remedies.items():
        yield f"{terminal.style(f'hint[{code}]:', 'cyan')} {text}"
