"""``rye_refs``: what an item refers to, and what refers to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rye.mcp.redact import is_offered
from rye.mcp.schema import read_arguments, schema_of
from rye.mcp.text import said_of, short, tidy
from rye.mcp.tools.load import require_trusted
from rye.mcp.tools.tool import Effect, Tool, ToolAnswer, Work
from rye.surface.text import header, standing

if TYPE_CHECKING:
    from rye.registry import Registry

_DESCRIPTION = """\
List what an item refers to, and what refers to it.
Use it to see what it needs or what depends on it; to find items, rye_search. Read-only.
Answers "item -kind-> target  line" (dangling: not there), then the items with verdicts.
Errors: code and nearest ids.
Examples: {"item": "knowledge:rye/ci"}; {"item": "tool:demo/deploy", "direction": "in", "depth": 3}"""


def _output() -> dict[str, Any]:
    from rye.registry import Relations

    return schema_of(Relations)


def _run(work: Work, given: Mapping[str, Any]) -> ToolAnswer:
    arguments = read_arguments(TOOL.parameters(work.options), given)
    project = work.project(arguments)
    item, limit = arguments.pop("item"), arguments["limit"]
    del arguments["project_path"]
    with project.used_by(work.call) as registry:
        if work.options.only_trusted:
            from rye.registry import MAX_RELATIONS

            require_trusted(work.options, registry.get(item))
            arguments["limit"] = MAX_RELATIONS
        found = registry.refs(item, **arguments).to_dict()
        if work.options.only_trusted:
            _leave_out(registry, found, limit)
    listed = {name: [tidy(each) for each in found.pop(name)] for name in ("relations", "items")}
    data = tidy(found) | listed
    data["warnings"] = [work.projects.hide_paths(text) for text in data["warnings"]]
    return ToolAnswer(_text(data), data)


def _leave_out(registry: Registry, found: dict[str, Any], limit: int) -> None:
    """Leave out items that are not trusted, what refers to or from them, and all that names them."""
    trusted = {f"{each['type']}:{each['id']}" for each in found["items"] if each["verdict"] == "trusted"}
    kept = [
        each for each in found["relations"] if each["item"] in trusted and (each["target"] or each["item"]) in trusted
    ]
    for each in kept:
        each["candidates"] = [name for name in each["candidates"] if is_offered(registry, name)]
    shown = kept[:limit]
    named = {found["item"], *(name for each in shown for name in (each["item"], each["target"]))}
    found["items"] = [each for each in found["items"] if f"{each['type']}:{each['id']}" in named & trusted]
    for each in found["items"]:
        each["successor"] = each["successor"] if is_offered(registry, each["successor"]) else ""
    more = found["truncated"] or len(kept) > limit
    found |= {"relations": shown, "total": len(kept), "truncated": more, "warnings": []}


def _text(data: Mapping[str, Any]) -> str:
    shown = data["relations"]
    lines = [header(len(shown), data["total"], "relations", f"{data['direction']}, depth {data['depth']}")]
    for each in shown:
        meant = f": {short(', '.join(each['candidates']))}" if each["candidates"] else ""
        target = short(each["target"]) or f"{short(each['written'])} ({each['state']}{meant})"
        written = f", as {short(each['written'])}" if each["target"] not in {"", each["written"]} else ""
        lines.append(f"{short(each['item'])} -{each['kind']}-> {target}  line {each['line']}{written}")
    for item in data["items"]:
        state = f"  {standing(item['states'], item['successor'])}" if item["states"] else ""
        name = f"{item['type']}:{short(item['id'])}"
        lines.append(
            f"{name}  {item['verdict'] or 'unreadable'}  {short(item['source'])}{state} | {short(item['title'])}"
        )
    lines += said_of("warning", data["warnings"], "the structured answer lists them")
    return "\n".join(lines)


TOOL = Tool(
    name="rye_refs",
    description=_DESCRIPTION,
    output=_output,
    effect=lambda _options: Effect(),
    run=_run,
)
