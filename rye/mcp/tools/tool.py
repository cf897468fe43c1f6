"""What a tool is: its description, parameters, answer and function; and how the protocol lists it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mcp import types

from rye.errors import ArgumentError
from rye.mcp.calls import Call
from rye.mcp.projects import Project, Projects
from rye.mcp.schema import input_schema
from rye.mcp.startup import Options
from rye.parameters import Parameter
from rye.parameters.tools import TOOLS as PARAMETERS

_WRITING = frozenset({"copy_to"})


@dataclass(frozen=True, slots=True)
class Effect:
    """What a tool does to the world, as clients are told.

    Attributes:
        writes: Whether it may change files.
        destroys: Whether it may change what is there, rather than only add.
        idempotent: Whether the same call again changes nothing more.
    """

    writes: bool = False
    destroys: bool = False
    idempotent: bool = True


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a tool answers: compact text for the model, and the same in full as JSON."""

    text: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Work:
    """What a tool works with: the open projects, the options of the server, and the call."""

    projects: Projects
    options: Options
    call: Call

    def project(self, arguments: Mapping[str, Any]) -> Project:
        """Return the project that the arguments name."""
        named = arguments.get("project_path")
        return self.projects.find(named)


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool.

    Attributes:
        name: Its name.
        description: For the model: purpose first, when to use it and when another, what it touches, errors, examples.
        output: Returns the JSON Schema of its answer; made when first asked for, as that imports the registry.
        effect: What it does to the world, given the options of the server.
        run: Works in a thread; raises a :class:`rye.errors.RyeError` for a call that cannot be answered.
        needs_writing: Whether it is left out where nothing may be written.
    """

    name: str
    description: str
    output: Callable[[], dict[str, Any]]
    effect: Callable[[Options], Effect]
    run: Callable[[Work, Mapping[str, Any]], ToolAnswer]
    needs_writing: bool = False

    def parameters(self, options: Options) -> Mapping[str, Parameter]:
        """Return its parameters, without those that write where nothing may be written."""
        every = PARAMETERS[self.name]
        return every if options.may_write else {name: each for name, each in every.items() if name not in _WRITING}


_GLOB = re.compile(r"[\[\]*?]")


def read_target(text: str) -> tuple[str, ...]:
    """Return ``type:id`` references, where the id may hold ``*`` and ``?``, for such a reference or for a scope.

    Raises:
        ArgumentError: ``bad-scope``, ``bad-target``.
    """
    from rye.registry import TYPE_NAMES, parse_scope

    kind, colon, item_id = text.partition(":")
    if colon:
        if kind not in TYPE_NAMES or not item_id:
            hint = f"use TYPE:ID with a type of {', '.join(TYPE_NAMES)}, or a scope such as tool.rye.*"
            raise ArgumentError("bad-target", f"target is {text!r}", hint=hint, valid=list(TYPE_NAMES))
        return (text,)
    found = []
    for scope in parse_scope(text):
        kinds = (scope.item_type,) if scope.item_type else TYPE_NAMES
        found += [f"{kind}:{_escaped(scope.prefix)}*" for kind in kinds]
        found += [f"{scope.item_type}:{_escaped(scope.itself)}"] if scope.itself else []
    return tuple(found)


def _escaped(text: str) -> str:
    return _GLOB.sub(lambda match: f"[{match[0]}]", text)


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
