"""A tool: description, parameters, answer and function, and its entry in the protocol's list."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp import types

from rye._text import from_word
from rye.errors import ArgumentError
from rye.mcp.arguments import TOOLS as PARAMETERS
from rye.mcp.calls import Call
from rye.mcp.projects import Projects
from rye.mcp.schema import input_schema, is_clients_own, read_arguments
from rye.mcp.text import NOTICE, Mark, for_client, short
from rye.options.model import Parameter

if TYPE_CHECKING:
    from rye.registry.registry import Registry

_NAMING = ("item", "like", "why")
"""Arguments that name items; they may be written as an answer showed them."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a tool works with: the open projects, and the call."""

    projects: Projects
    call: Call


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool.

    Attributes:
        name: Its name.
        title: Its name for people.
        description: For the model: purpose, when to use it and when another tool, effects, errors, examples.
        answer: Runs in a thread and returns the answer as escaped, bounded JSON; raises a
            :class:`rye.errors.RyeError` if the call cannot be answered.
        text: Returns the same answer as text for the model.
        read: Validates the arguments; without defaults if the registry knows them.
    """

    name: str
    title: str
    description: str
    answer: Callable[[Work, Registry, dict[str, Any]], dict[str, Any]]
    text: Callable[[Mapping[str, Any], Mark], str]
    read: Callable[[Mapping[str, Parameter], Mapping[str, Any]], dict[str, Any]] = read_arguments

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """Its parameters."""
        return PARAMETERS[self.name]

    def run(self, work: Work, given: Mapping[str, Any]) -> types.CallToolResult:
        """Answer a call.

        Raises:
            RyeError: It cannot be answered.
        """
        ignored = [name for name in given if name not in self.parameters and is_clients_own(name)]
        arguments = self.read(self.parameters, {name: value for name, value in given.items() if name not in ignored})
        arguments |= {key: from_word(arguments[key]) for key in _NAMING if isinstance(arguments.get(key), str)}
        project = work.projects.find(arguments.pop("project_path", None))
        with project.used_by(work.call) as registry:
            data = {"notice": NOTICE} | self.answer(work, registry, arguments)
        said = [f"the argument {short(name)} is none of this tool and was ignored" for name in ignored]
        warnings = [*(for_client(work.projects.hide_paths(text)) for text in data.pop("warnings", ())), *said]
        data |= {"warnings": warnings} if warnings else {}
        return types.CallToolResult(content=[types.TextContent(text=self.text(data, Mark()))], structured_content=data)

    def listed(self) -> types.Tool:
        """Return its description, schema and annotations, as the protocol lists it."""
        return types.Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=input_schema(self.parameters, PARAMETERS["rye_search"] if self.name != "rye_search" else {}),
            annotations=types.ToolAnnotations(
                read_only_hint=True,
                open_world_hint=False,
            ),
        )


_GLOB = re.compile(r"[\[\]*?]")


def read_target(text: str) -> tuple[str, ...]:
    """Return the ``type:id`` references of a target, which is such a reference or a scope.

    An id in a reference may contain ``*`` and ``?``.

    Raises:
        ArgumentError: ``bad-scope``, ``bad-target``.
    """
    from rye.items.model import TYPE_NAMES
    from rye.items.names import read_reference
    from rye.items.scope import parse_scope

    reference = read_reference(text)
    if reference.form == "item" and reference.ids[0]:
        return (text,)
    if reference.form != "text":
        hint = f"use TYPE:ID with a type of {', '.join(TYPE_NAMES)}, or a scope such as tool.rye.*"
        raise ArgumentError("bad-target", f"target is {text!r}", hint=hint, valid=list(TYPE_NAMES))
    references = []
    for scope in parse_scope(text):
        kinds = (scope.item_type,) if scope.item_type else TYPE_NAMES
        references += [f"{kind}:{_escaped(scope.prefix)}*" for kind in kinds]
        references += [f"{scope.item_type}:{_escaped(scope.itself)}"] if scope.itself else []
    return tuple(references)


def _escaped(text: str) -> str:
    return _GLOB.sub(lambda match: f"[{match[0]}]", text)
