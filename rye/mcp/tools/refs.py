"""``rye_refs``: what an item refers to, and what refers to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rye.mcp.parameters import Parameter, read_arguments
from rye.mcp.shapes import schema_of
from rye.mcp.text import said_of, short, tidy
from rye.mcp.tools.tool import PROJECT_PATH, Answer, Effect, Tool, Work

__all__ = ["TOOL"]

_PARAMETERS = (
    Parameter("item", "type:id; or id, if only one type has it.", required=True),
    PROJECT_PATH,
    Parameter(
        "direction",
        "out: from the item; in: to it.",
        {"type": "string", "enum": ["both", "out", "in"], "default": "both"},
    ),
    Parameter("depth", "Steps to go.", {"type": "integer", "default": 1, "minimum": 1, "maximum": 32}),
    Parameter("limit", "Relations listed.", {"type": "integer", "default": 100, "minimum": 1, "maximum": 1000}),
)

_DESCRIPTION = """\
List what an item refers to, and what refers to it.
Use it to see what it needs or what depends on it; to find items, rye_search. Read-only.
Answers "item -kind-> target  line" (dangling: not there), then the items with verdicts.
Errors give a code and the nearest ids.
Examples: {"item": "knowledge:rye/ci"}; {"item": "tool:demo/deploy", "direction": "in", "depth": 3}"""


def _output() -> dict[str, Any]:
    from rye.relations import Relations

    return schema_of(Relations)


def _run(work: Work, given: Mapping[str, Any]) -> Answer:
    arguments = read_arguments(_PARAMETERS, given)
    project = work.project(arguments)
    del arguments["project_path"]
    with project.used_by(work.call) as registry:
        if work.options.only_trusted:
            from rye.mcp.tools.load import require_trusted
            from rye.naming import load_named

            require_trusted(work.options, load_named(registry, arguments["item"]))
        found = registry.refs(arguments.pop("item"), **arguments).to_dict()
    withheld = _withhold(found) if work.options.only_trusted else 0
    listed = {name: [tidy(each) for each in found.pop(name)] for name in ("relations", "items")}
    data = tidy(found) | listed | {"withheld": withheld}
    data["warnings"] = [work.projects.hide_paths(text) for text in data["warnings"]]
    return Answer(_text(data), data)


def _withhold(found: dict[str, Any]) -> int:
    """Leave out items that are not trusted, and what refers to or from them; return how many relations that were."""
    found["items"] = [each for each in found["items"] if each["verdict"] == "trusted"]
    known = {f"{each['type']}:{each['id']}" for each in found["items"]}
    kept = [each for each in found["relations"] if each["item"] in known and (each["target"] or each["item"]) in known]
    withheld = len(found["relations"]) - len(kept)
    found["relations"] = kept
    return withheld


def _text(data: Mapping[str, Any]) -> str:
    shown = data["relations"]
    lines = [f"[{len(shown)} of {data['total']} relations -- {data['direction']}, depth {data['depth']}]"]
    for each in shown:
        target = short(each["target"]) or f"{short(each['written'])} ({each['state']})"
        lines.append(f"{short(each['item'])} -{each['kind']}-> {target}  line {each['line']}")
    for item in data["items"]:
        instead = f", see {short(item['successor'])}" if item["successor"] else ""
        state = f"  {', '.join(item['states'])}{instead}" if item["states"] else ""
        name = f"{item['type']}:{short(item['id'])}"
        lines.append(
            f"{name}  {item['verdict'] or 'unreadable'}  {short(item['source'])}{state} | {short(item['title'])}"
        )
    if data["withheld"]:
        lines.append(f"withheld: {data['withheld']} with items that are not trusted")
    lines += said_of("warning", data["warnings"], "the structured answer lists them")
    return "\n".join(lines)


TOOL = Tool(
    name="rye_refs",
    description=_DESCRIPTION,
    parameters=lambda _options: _PARAMETERS,
    output=_output,
    effect=lambda _options: Effect(),
    run=_run,
)
