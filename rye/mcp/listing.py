"""The table of tools as the protocol lists them."""

from __future__ import annotations

from collections.abc import Iterable

from mcp import types

from rye.mcp.options import Options
from rye.mcp.parameters import input_schema
from rye.mcp.tools.tool import Tool

__all__ = ["list_tools"]


def list_tools(tools: Iterable[Tool], options: Options) -> types.ListToolsResult:
    """Return every tool with its schemas and what it does to the world."""
    return types.ListToolsResult(tools=[_listed(tool, options) for tool in tools])


def _listed(tool: Tool, options: Options) -> types.Tool:
    effect = tool.effect(options)
    given, answered = input_schema(tool.parameters(options)), tool.output()
    named = {key: schema for key, schema in answered["properties"].items() if key not in given["properties"]}
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=given,
        output_schema=answered | {"properties": named},  # what repeats an argument goes without saying
        annotations=types.ToolAnnotations(
            read_only_hint=not effect.writes,
            destructive_hint=effect.destroys,
            idempotent_hint=effect.idempotent,
            open_world_hint=False,
        ),
    )
