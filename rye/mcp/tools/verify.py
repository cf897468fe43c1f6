"""``rye_verify``: verdicts on items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rye._text import as_word
from rye.errors import ArgumentError, NotFoundError
from rye.items.model import TYPE_NAMES
from rye.mcp.text import (
    MAX_ENTRIES,
    Mark,
    judged,
    listed_notes,
    picked,
    reference,
    source,
    tidy,
    verdict,
    within_budget,
)
from rye.mcp.tools.tool import Tool, Work, read_target
from rye.surface.text import plural

if TYPE_CHECKING:
    from rye.registry.registry import Registry
    from rye.verify.report import VerifyReport

_LEFT_OUT = ("findings", "accepted", "unchecked", "status")
"""Keys that only matter with a policy, which a tool call does not have."""

_SIGNED_BY = ("owner", "signer")
_WORST_FIRST = ("tampered", "misplaced", "partial", "untrusted", "unsigned", "trusted")

_DESCRIPTION = """\
Verify one item, a namespace or, with signed lists, everything.
It returns counts, violations of lists, and items, the worst verdict first: tampered, misplaced (signed for another \
place), partial, untrusted (an unknown key), unsigned, trusted.
Example: {"item": "directive", "space": "project"}"""


def _answer(work: Work, registry: Registry, arguments: dict[str, Any]) -> dict[str, Any]:
    data = _page(_verify(work, registry, arguments), arguments["offset"], arguments["limit"])
    hide = work.projects.hide_paths
    for part in (data, *data["lists"]):
        part["problems"] = [hide(text) for text in tidy(part["problems"])]
        for finding in part.get("findings", ()):
            finding["message"] = hide(finding["message"])
    return data


def _verify(work: Work, registry: Registry, arguments: Mapping[str, Any]) -> VerifyReport:
    """Verify item by item, so that an abandoned call stops; return the worst verdicts first.

    If everything is verified, trusted items are only counted.
    """
    from dataclasses import replace

    from rye.trust.model import Verdict

    targets = _targets(registry, arguments["item"], arguments["space"])
    everything = targets == read_target("*")
    given, every = arguments["space"], () if everything else targets
    report = registry.verify(*every, space=given, each=lambda _: work.call.check())
    unchecked = tuple(verdict for verdict in report.unchecked if verdict.code != "no-match")
    if not report.items and not unchecked and not everything:
        if not {"*", "?"} & set(arguments["item"]):
            registry.resolve(arguments["item"], arguments["space"])  # names the nearest items
        message = f"nothing matches {arguments['item']!r} in space {arguments['space']}"
        raise NotFoundError("item-not-found", message, hint="rye_search lists what there is")
    order = {verdict: number for number, verdict in enumerate(map(Verdict, _WORST_FIRST))}
    counted = (item for item in report.items if item.path not in report.parts)
    listed = [item for item in counted if not everything or item.signature.verdict is not Verdict.TRUSTED]
    items = sorted(listed, key=lambda item: (order[item.signature.verdict], item.ref))
    return replace(report, items=tuple(items), unchecked=unchecked)


def _targets(registry: Registry, item: str, space: str) -> tuple[str, ...]:
    """Return references for a reference, a scope, or an id alone, which is looked up as in ``rye_load``."""
    try:
        return read_target(item)
    except ArgumentError:
        if ":" not in item and not {"*", "?"}.isdisjoint(item):
            return tuple(f"{kind}:{item}" for kind in TYPE_NAMES)
    return (registry.resolve(item, space),)


def _page(report: VerifyReport, offset: int, limit: int) -> dict[str, Any]:
    from dataclasses import replace

    data = replace(report, items=report.items[offset : offset + limit]).to_dict()
    listed = [
        picked(item, ("type", "id", "space", "path"), ("bundle", *_SIGNED_BY * (item["verdict"] == "trusted")))
        | judged(item)
        for item in map(tidy, data.pop("items"))
    ]
    listed = listed[: within_budget(listed)]
    end = offset + len(listed)
    for key in _LEFT_OUT:
        del data[key]
    beyond = len(report.problems) - MAX_ENTRIES
    if beyond > 0:
        data["warnings"].append(f"{beyond} more problems are not listed; verify a namespace at a time")
    for row, listed_space in zip(data["lists"], report.lists, strict=True):
        row["violations"] = len(listed_space.errors)
        if (beyond := len(row["findings"]) - MAX_ENTRIES) > 0:
            data["warnings"].append(f"{beyond} more findings of the list of {row['source']} are not listed")
    rest: dict[str, Any] = tidy(data)
    return rest | {
        "items": listed,
        "counts": _worst_first(report.counts),
        "total": len(report.items),
        "next_offset": end if end < len(report.items) else None,
    }


def _worst_first(counts: Mapping[str, int]) -> dict[str, int]:
    return {word: counts[word] for word in _WORST_FIRST if word in counts}


def _text(data: Mapping[str, Any], mark: Mark) -> str:
    violations = sum(row["violations"] for row in data["lists"])
    counted = [*data["counts"].items(), *([("violations of lists", violations)] if violations else [])]
    counts = ", ".join(f"{count} {word}" for word, count in counted) or "nothing to verify"
    verified = sum(data["counts"].values())
    listed = f"{len(data['items'])} of {data['total']} listed"
    lines = [f"[{plural(verified, 'item')} verified -- {counts} -- {listed}]", *_list_lines(data["lists"], mark)]
    for item in data["items"]:
        facts = f"{reference(item)}  {verdict(item)}  {source(item)}"
        signed = f"signed by {item.get('owner') or item.get('signer')}"
        lines.append(mark.line(f"{facts} ", item.get("reason", signed), 160))
    if data["total"] and not data["items"]:
        lines.append(f"nothing from this offset on; the last of {data['total']} is before it")
    lines += listed_notes(mark, "problem", data["problems"], "the structured answer lists them")
    lines += listed_notes(mark, "warning", data.get("warnings", ()), "the structured answer lists them")
    if data["next_offset"] is not None:
        lines.append(f"next page: offset {data['next_offset']}")
    return mark.answer(lines)


def _list_lines(lists: Sequence[Mapping[str, Any]], mark: Mark) -> Iterator[str]:
    for row in lists:
        name = as_word(row["source"])
        findings = [f"{name}: {finding['message']} [{finding['code']}]" for finding in row["findings"]]
        yield from listed_notes(mark, "violation", findings, "the structured answer lists them")
        what = f"number {row['number']}, {row['listed']} files" if row["number"] else "none"
        yield f"list of {name}: {what} -- violations: {row['violations']}"


TOOL = Tool(
    "rye_verify",
    "Verify signatures",
    _DESCRIPTION,
    _answer,
    _text,
)
