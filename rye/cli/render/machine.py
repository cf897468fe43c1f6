"""Verdicts for programs: JSON as one document or in lines, SARIF and JUnit."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from tempfile import SpooledTemporaryFile
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from rye._text import inline
from rye.cli.render.parts import shown_path
from rye.cli.terminal import file_uri, json_text
from rye.trust.model import Verdict
from rye.trust.reasons import LIST_REMEDIES, POLICY_REMEDIES, REASONS
from rye.verify.report import Finding, Unchecked, VerifiedItem
from rye.verify.run import Verification

_MEMORY = 1 << 20
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def _compact(value: Any) -> str:
    return json_text(value, indent=None, ascii_only=True)


def _elements(values: Iterable[Any]) -> Iterator[str]:
    """Yield the elements of a JSON array, one on each line, without holding the whole answer in memory."""
    before = ""
    for value in values:
        if before:
            yield f"  {before},"
        before = _compact(value)
    if before:
        yield f"  {before}"


def render_json(run: Verification) -> Iterator[str]:
    """Yield one JSON object with an item or finding on each line."""
    entries = (entry for entry in run if not isinstance(entry, Unchecked))
    yield '{"items": ['
    yield from _elements(entry.to_dict() for entry in entries)
    rest = {key: value for key, value in run.report().to_dict().items() if key != "items"}
    yield f"], {_compact(rest)[1:]}"


def render_jsonl(run: Verification) -> Iterator[str]:
    """Yield an object for each item, finding and unchecked file, and the counts last."""
    for entry in run:
        kind = {VerifiedItem: "item", Finding: "finding", Unchecked: "unchecked"}[type(entry)]
        yield _compact({"kind": kind} | entry.to_dict())
    report = run.report().to_dict()
    counts = {"items": run.items, "verdicts": report["counts"], "unchecked": len(run.unchecked)}
    rest = ("repositories", "warnings", "status", "findings", "accepted")
    yield _compact({"kind": "summary"} | counts | {name: report[name] for name in rest})


def _advised(finding: Finding) -> Iterator[str]:
    return (f"{label}: {text}" for label, text in finding.advice.labelled())


def render_sarif(run: Verification) -> Iterator[str]:
    """Yield SARIF 2.1.0: a rule for each code, a result for each finding; accepted findings are suppressed."""
    codes = [code for code, reason in REASONS.items() if reason.verdict is not Verdict.TRUSTED]
    codes += [*POLICY_REMEDIES, *LIST_REMEDIES]
    codes = [*dict.fromkeys(codes)]
    driver = {"name": "rye", "rules": [_rule(code) for code in codes]}
    yield f'{{"$schema": {_compact(_SCHEMA)}, "version": "2.1.0", "runs": [{{'
    yield f'"tool": {_compact({"driver": driver})},'
    yield f'"originalUriBaseIds": {_compact({"ROOT": {"uri": folder_uri()}})},'
    yield '"columnKind": "unicodeCodePoints",'
    yield '"results": ['
    yield from _elements(_result(entry, codes) for entry in run if isinstance(entry, Finding))
    notices = [_notice(entry) for entry in run.unchecked]
    notices += [{"level": "warning", "message": {"text": inline(text)}} for text in run.warnings]
    done = {"executionSuccessful": run.status != 2, "exitCode": run.status, "toolExecutionNotifications": notices}
    yield f'], "invocations": [{_compact(done)}]}}]}}'


def sarif(rules: Sequence[Any], rows: Iterable[Mapping[str, Any]], warnings: Iterable[str]) -> Iterator[str]:
    """Yield SARIF 2.1.0 for findings of level warning.

    Args:
        rules: The rules in SARIF's form.
        rows: ``code``, ``message``, ``path`` (empty for none) and 1-based ``line`` of each finding.
        warnings: Further notifications.
    """
    yield f'{{"$schema": {_compact(_SCHEMA)}, "version": "2.1.0", "runs": [{{'
    yield f'"tool": {_compact({"driver": {"name": "rye", "rules": [*rules]}})},'
    yield f'"originalUriBaseIds": {_compact({"ROOT": {"uri": folder_uri()}})},'
    yield '"results": ['
    yield from _elements(map(_warning, rows))
    notices = [{"level": "warning", "message": {"text": inline(text)}} for text in warnings]
    done = {"executionSuccessful": True, "toolExecutionNotifications": notices}
    yield f'], "invocations": [{_compact(done)}]}}]}}'


def _warning(row: Mapping[str, Any]) -> dict[str, Any]:
    place = {"artifactLocation": _artifact(row["path"]), "region": {"startLine": row["line"]}}
    result = {"ruleId": row["code"], "level": "warning", "message": {"text": inline(row["message"])}}
    return result | ({"locations": [{"physicalLocation": place}]} if row["path"] else {})


def _rule(code: str) -> dict[str, Any]:
    """Return the SARIF rule for a reason code."""
    reason = REASONS.get(code)
    page, text = ("ci", "The policy is not met") if code in POLICY_REMEDIES else ("trust", "The list is violated")
    if reason:
        page, text = "signing", f"The item is {reason.verdict}"
    return {
        "id": code,
        "shortDescription": {"text": f"{text} ({code})"},
        "help": {"text": f"rye show knowledge:rye/{page}"},
        "defaultConfiguration": {"level": "error"},
    }


def _result(finding: Finding, codes: list[str]) -> dict[str, Any]:
    item = finding.item
    location = {
        "physicalLocation": {"artifactLocation": _artifact(item.path), "region": {"startLine": item.line}},
        "logicalLocations": [{"fullyQualifiedName": inline(item.ref), "kind": "resource"}],
    }
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": "error",
        "message": {"text": inline("; ".join((f"{item.ref} is {item.verdict}: {finding.reason}", *_advised(finding))))},
        "locations": [location],
        "partialFingerprints": {"ryeFinding/v1": finding.identity.key} if finding.identity else {},
        "properties": {"verdict": item.verdict, "fix": finding.fix, "note": finding.note},
    }
    if finding.accepted:
        result["suppressions"] = [{"kind": "external", "justification": "accepted by the policy"}]
    return result


def _artifact(path: str) -> dict[str, str]:
    uri = uri_of(path)
    return {"uri": uri} if uri.startswith("file:") else {"uri": uri, "uriBaseId": "ROOT"}


def _notice(entry: Unchecked) -> dict[str, Any]:
    notice: dict[str, Any] = {"level": "error", "message": {"text": inline(entry.message)}}
    if entry.code:
        notice["descriptor"] = {"id": entry.code}
    if entry.path:
        notice["locations"] = [{"physicalLocation": {"artifactLocation": _artifact(entry.path)}}]
    return notice


def render_junit(run: Verification) -> Iterator[str]:
    """Yield JUnit XML with a test case for each item. Counts come first, so the cases wait in a temporary file."""
    with SpooledTemporaryFile(_MEMORY, "w+", encoding="ascii") as cases:
        skipped = 0
        for entry in run:
            case = _case(entry)
            skipped += "<skipped" in case
            cases.write(case)
        cases_in_all = run.items + run.violations + len(run.unchecked)
        counts = f'tests="{cases_in_all}" failures="{run.findings}" errors="{len(run.unchecked)}"'
        yield '<?xml version="1.0" encoding="UTF-8"?>'
        yield f'<testsuites name="rye verify" {counts}>'
        yield f'<testsuite name="rye verify" {counts} skipped="{skipped}">'
        cases.seek(0)
        for line in cases:
            yield line.removesuffix("\n")
        if run.warnings:
            yield f"<system-err>{_xml(chr(10).join(map(inline, run.warnings)))}</system-err>"
        yield "</testsuite>"
        yield "</testsuites>"


def _case(entry: VerifiedItem | Finding | Unchecked) -> str:
    if isinstance(entry, Unchecked):
        name = shown_path(entry.path) or entry.message
        inner = f"<error{_attributes(type=entry.code or 'unchecked', message=entry.message)}/>"
        return f"<testcase{_attributes(classname='rye', name=name)}>{inner}</testcase>\n"
    item = entry.item if isinstance(entry, Finding) else entry
    place = _attributes(classname=f"rye.{item.source}", name=item.ref, file=shown_path(item.path), line=str(item.line))
    if not isinstance(entry, Finding):
        if entry.verdict != Verdict.TRUSTED:
            return f"<testcase{place}><skipped{_attributes(message='see the finding of its skill')}/></testcase>\n"
        return f"<testcase{place}/>\n"
    if entry.accepted:
        return f"<testcase{place}><skipped{_attributes(message='accepted by the policy')}/></testcase>\n"
    text = "; ".join((f"{item.verdict}: {entry.reason}", *_advised(entry)))
    failure = f"<failure{_attributes(type=entry.code, message=entry.reason)}>{_xml(inline(text))}</failure>"
    return f"<testcase{place}>{failure}</testcase>\n"


def _attributes(**facts: str) -> str:
    return "".join(f" {key}={_ascii(quoteattr(_legal(inline(value))))}" for key, value in facts.items())


def _xml(text: str) -> str:
    return _ascii(escape(_legal(text)))


def _legal(text: str) -> str:
    return text.replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")


def _ascii(text: str) -> str:
    return text.encode("ascii", "xmlcharrefreplace").decode("ascii")


def uri_of(path: str) -> str:
    """Return a path as a URI reference for SARIF: relative below the working directory, else absolute."""
    shown = shown_path(path)
    if os.path.isabs(shown):  # noqa: PTH117 - text
        return file_uri(shown.replace(os.sep, "/"))
    try:
        raw = quote(os.fsencode(shown.replace(os.sep, "/")), safe="/")
    except UnicodeEncodeError:  # a lone surrogate, which no name on disk can hold
        raw = quote(shown.encode("utf-8", "backslashreplace"), safe="/")
    return raw if ":" not in raw.partition("/")[0] else f"./{raw}"


def folder_uri() -> str:
    """Return the URI of the working directory with a slash at its end."""
    return f"{file_uri(os.getcwd().replace(os.sep, '/')).rstrip('/')}/"  # noqa: PTH109 - text


FORMATS: Mapping[str, Callable[[Verification], Iterator[str]]] = {
    "json": render_json,
    "jsonl": render_jsonl,
    "sarif": render_sarif,
    "junit": render_junit,
}
"""Value of ``--format`` to the function for that machine-readable format."""
