"""The report of ``rye doctor``: for people on one screen, and as SARIF."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from rye._text import inline
from rye.cli.render.machine import sarif
from rye.cli.terminal import Terminal, folded
from rye.surface.text import plural

if TYPE_CHECKING:
    from rye.registry.diagnosis import Diagnosis, DoctorReport, ListingReport

_SHOWN = 4
"""Findings of one code that are shown in full; the others are only named."""

_NAMED = 6


def render_doctor(report: DoctorReport, terminal: Terminal) -> Iterator[str]:
    """Yield the counts, a line for each client, and the findings with their fixes."""
    verdicts = ", ".join(f"{count:,} {verdict}" for verdict, count in report.verdicts.items())
    yield f"{plural(report.skills, 'skill')}, {plural(report.items, 'item')}{f': {verdicts}' if verdicts else ''}"
    if report.listings:
        yield ""
        yield from (_listing_line(listing, terminal) for listing in report.listings)
    yield ""
    if not report.findings:
        yield "no findings"
        return
    counts = defaultdict[str, int](int)
    for finding in report.findings:
        counts[finding.code] += 1
    named = ", ".join(f"{count} {code}" for code, count in counts.items())
    yield folded(f"{plural(len(report.findings), 'finding')}: {named}", terminal)
    for _, several in groupby(sorted(report.findings, key=_place), key=attrgetter("code")):
        yield from _of_code(list(several), terminal)


def _place(finding: Diagnosis) -> int:
    from rye.registry.diagnosis import CODES

    return [*CODES].index(finding.code)


def _listing_line(listing: ListingReport, terminal: Terminal) -> str:
    size = f"{listing.characters:,} characters"
    if listing.budget is not None:
        size = f"{listing.characters:,} of {listing.budget:,} characters"
    cut = ""
    if listing.cut:
        cut = f"  {len(listing.cut)} cut" if listing.room else f"  {len(listing.cut)} cut or by name only"
    line = f"  {listing.client:<12} {plural(listing.skills, 'skill'):<11} {size}"
    return f"{line}{terminal.style(cut, 'yellow')}"


def _of_code(findings: list[Diagnosis], terminal: Terminal) -> Iterator[str]:
    """Yield the findings of one code: the first in full, then how many more there are, then the fix."""
    yield ""
    code = findings[0].code
    for finding in findings[:_SHOWN]:
        about = "" if _names_them(finding) else _named(finding.items)
        text = f"{inline(finding.message)}{about}"
        begun = " " * (len(code) + 2)
        yield f"{terminal.style(code, 'yellow')}  {folded(text, terminal, first=begun, following='  ')}"
    if len(findings) > _SHOWN:
        rest = [item for finding in findings[_SHOWN:] for item in finding.items[:1]]
        yield "  " + folded(f"and {len(findings) - _SHOWN} more{_named(rest)}", terminal, first="  ", following="  ")
    arrow = "→" if terminal.unicode else "->"
    yield f"  {arrow} {folded(inline(findings[0].fix), terminal, first='    ', following='    ')}"


def _names_them(finding: Diagnosis) -> bool:
    return all(item in finding.message for item in finding.items)


def _named(items: tuple[str, ...] | list[str]) -> str:
    names = ", ".join(inline(item.removeprefix("directive:")) for item in items[:_NAMED])
    return f": {names}{f' and {len(items) - _NAMED} more' if len(items) > _NAMED else ''}" if items else ""


def render_sarif(report: DoctorReport) -> Iterator[str]:
    """Yield SARIF 2.1.0: a rule for each code, a result for each finding."""
    from rye.registry.diagnosis import CODES

    rules = [{"id": code, "shortDescription": {"text": text}} for code, text in CODES.items()]
    rows = [
        {
            "code": finding.code,
            "path": finding.path,
            "line": finding.line,
            "message": f"{finding.message}; {finding.fix}",
        }
        for finding in report.findings
    ]
    yield from sarif(rules, rows, report.warnings)
