"""The arguments of a tool: what they may be, as JSON Schema, and the refusal of those that are not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from rye.errors import ArgumentError

__all__ = ["Parameter", "input_schema", "read_arguments", "take_arguments"]

_KINDS: Mapping[str, type | tuple[type, ...]] = {"string": str, "integer": int, "boolean": bool}
_WORDS = {"string": "text", "integer": "a whole number", "boolean": "true or false"}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument.

    Attributes:
        name: Its key.
        description: Its meaning and form.
        schema: Type, default, range and valid values, as JSON Schema.
        required: Whether a call without it is refused.
        hint: What a refused call is told; the description where there is none.
    """

    name: str
    description: str
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string"})
    required: bool = False
    hint: str = ""


def input_schema(parameters: Sequence[Parameter]) -> dict[str, Any]:
    """Return the JSON Schema of the arguments of a tool."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {each.name: {**each.schema, "description": each.description} for each in parameters},
        "additionalProperties": False,
    }
    required = [each.name for each in parameters if each.required]
    return schema | {"required": required} if required else schema


def take_arguments(parameters: Sequence[Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was given, without nulls, which stand for the default; JSON's 10.0 is a whole number.

    Raises:
        ArgumentError: ``unknown-argument``, ``missing-argument``.
    """
    names = [each.name for each in parameters]
    for name in given:
        if name not in names:
            near = get_close_matches(name, names, 1)
            guess = f"did you mean {near[0]!r}? " if near else ""
            hint = f"{guess}valid are {', '.join(names)}"
            raise ArgumentError("unknown-argument", f"there is no argument {name!r}", hint=hint, valid=names)
    for each in parameters:
        if each.required and given.get(each.name) is None:
            message = f"the argument {each.name!r} is missing"
            raise ArgumentError("missing-argument", message, hint=each.hint or each.description, valid=names)
    whole = {each.name for each in parameters if each.schema["type"] == "integer"}
    return {
        name: int(value) if name in whole and isinstance(value, float) and value.is_integer() else value
        for name, value in given.items()
        if value is not None
    }


def read_arguments(parameters: Sequence[Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of every parameter, its default where it was not given.

    Raises:
        ArgumentError: As :func:`take_arguments`; ``bad-…`` when a value is not what the schema says.
    """
    taken = take_arguments(parameters, given)
    for each in parameters:
        if each.name in taken:
            _check(each, taken[each.name])
    return {each.name: taken.get(each.name, each.schema.get("default")) for each in parameters}


def _check(parameter: Parameter, value: Any) -> None:
    name, schema = parameter.name, parameter.schema
    kind = schema["type"]
    hint = f"use {_WORDS[kind]}"
    right = isinstance(value, _KINDS[kind]) and (kind == "boolean" or not isinstance(value, bool))
    if "enum" in schema:
        right, hint = right and value in schema["enum"], f"valid are {', '.join(schema['enum'])}"
    if "maximum" in schema:
        low, high = schema["minimum"], schema["maximum"]
        right, hint = right and low <= value <= high, f"use a whole number from {low} to {high}"
    if not right:
        valid = list(schema.get("enum", ())) or [schema[end] for end in ("minimum", "maximum") if end in schema]
        raise ArgumentError(
            f"bad-{name.replace('_', '-')}",
            f"{name} is {value!r}",
            hint=f"{hint}: {parameter.description}",
            valid=valid,
        )
