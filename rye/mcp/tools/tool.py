"""What a tool is: how it is described, what it takes, what it answers, and the function that works."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rye.mcp.calls import Call
from rye.mcp.options import Options
from rye.mcp.parameters import Parameter
from rye.mcp.projects import Project, Projects

__all__ = ["ITEM_SPACES", "PROJECT_PATH", "SPACE", "THRESHOLD", "Answer", "Effect", "Tool", "Work"]

ITEM_SPACES = ("all", "project", "user", "system")

PROJECT_PATH = Parameter("project_path", "Absolute; default: the server's.")
SPACE = Parameter(
    "space",
    "Where to look.",
    {"enum": list(ITEM_SPACES), "type": "string", "default": "all"},
)
THRESHOLD = Parameter(
    "threshold", "Least similarity; default: by model.", {"type": "number", "minimum": 0, "maximum": 1}
)


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
class Answer:
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
        parameters: Its arguments, given the options of the server.
        output: Returns the JSON Schema of its answer; made when first asked for, as that imports the registry.
        effect: What it does to the world, given the options of the server.
        run: Works in a thread; raises a :class:`rye.errors.RyeError` for a call that cannot be answered.
        needs_writing: Whether it is left out where nothing may be written.
    """

    name: str
    description: str
    parameters: Callable[[Options], tuple[Parameter, ...]]
    output: Callable[[], dict[str, Any]]
    effect: Callable[[Options], Effect]
    run: Callable[[Work, Mapping[str, Any]], Answer]
    needs_writing: bool = False
