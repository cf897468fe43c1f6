"""The JSON Schema of a tool's arguments, made from their parameters, and how arguments are read."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any

from rye.errors import ArgumentError, ItemError
from rye.items.guarded import load_json
from rye.options.model import Parameter, check, check_size, guess, parameters_of, spelled

_CLIENTS_OWN = frozenset({"toolcallid", "tooluseid", "requestid", "sessionid"})
"""Arguments that some clients add to every call, in lower case and without underscores."""

_NAMES = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}


def input_schema(parameters: Mapping[str, Parameter], said: Mapping[str, Parameter] = {}) -> dict[str, Any]:
    """Return the JSON Schema of the arguments of a tool.

    Models read it in every conversation. So a description that another tool has for the same argument is left out, as
    are bounds, which errors state, and defaults that are the first choice, or false.

    Args:
        parameters: The parameters of the tool.
        said: The parameters of the tool that is listed first.
    """
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    for name, parameter in parameters.items():
        value, words = _value_schema(parameter), _description(parameter)
        is_said = name in said and _description(said[name]) == words
        schema["properties"][name] = value if is_said else value | {"description": words}
    required = [name for name, parameter in parameters.items() if parameter.required]
    return schema | {"required": required} if required else schema


def _description(parameter: Parameter) -> str:
    return parameter.brief or f"{parameter.help.replace('`', '')}."


def _value_schema(parameter: Parameter) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": parameter.kind}
    if parameter.choices:
        schema["enum"] = list(parameter.choices)
    if parameter.default not in (None, (), False, *parameter.choices[:1]):
        schema["default"] = parameter.default
    if parameter.kind == "array":
        schema["items"] = {"type": "string"}
    return schema


_READ_FROM_TEXT: Mapping[str, type | tuple[type, ...]] = {
    "integer": (int, float),
    "number": (int, float),
    "boolean": bool,
    "object": dict,
    "array": list,
}


def is_clients_own(name: str) -> bool:
    """Return whether an argument is one that some clients add to every call, such as ``_meta``."""
    return name.startswith("_") or name.replace("_", "").casefold() in _CLIENTS_OWN


def _as_meant(parameter: Parameter, value: Any) -> Any:
    """Convert numbers, booleans and mappings that a model wrote as text; return None for an empty value.

    A text that cannot be converted is returned unchanged; the check of the argument refuses it.
    """
    if isinstance(value, str):
        text = value.strip()
        if not text and not parameter.required:
            return None
        if kinds := _READ_FROM_TEXT.get(parameter.kind):
            try:
                read = load_json(text.casefold() if parameter.kind == "boolean" else text)
            except ItemError:
                return value
            value = read if isinstance(read, kinds) else value
        elif parameter.choices:
            return next((choice for choice in parameter.choices if choice == text.casefold()), value)
    if value in ({}, []) and not parameter.required:
        return None
    if parameter.parts is not None and isinstance(value, Mapping):
        parts = parameters_of(parameter.parts)
        read_parts = ((name, _as_meant(parts[name], part) if name in parts else part) for name, part in value.items())
        return {name: part for name, part in read_parts if part is not None}
    return int(value) if parameter.kind == "integer" and isinstance(value, float) and value.is_integer() else value


def take_arguments(parameters: Mapping[str, Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments converted from text, without empty ones, which mean the default.

    Raises:
        ArgumentError: ``unknown-argument``, ``missing-argument``; ``bad-…`` if a value is too long.
    """
    names = list(parameters)
    for name in given:
        if name not in names:
            inside = [
                key
                for key, parameter in parameters.items()
                if parameter.parts and name in parameters_of(parameter.parts)
            ]
            where = f"write it in {inside[0]}; " if inside else guess(name, names)
            hint = f"{where}valid are {', '.join(names)}"
            raise ArgumentError("unknown-argument", f"there is no argument {name!r}", hint=hint, valid=names)
    for name, parameter in parameters.items():
        if parameter.required and given.get(name) is None:
            hint = spelled(parameter.hint) or parameter.brief or parameter.help
            raise ArgumentError("missing-argument", f"the argument {name!r} is missing", hint=hint, valid=names)
    for name, value in given.items():
        check_size(parameters[name], value)
    meant = {name: _as_meant(parameters[name], value) for name, value in given.items()}
    return {name: value for name, value in meant.items() if value is not None}


def read_arguments(parameters: Mapping[str, Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of every parameter, or its default.

    Raises:
        ArgumentError: As :func:`take_arguments`; ``bad-…`` if a value is not valid.
    """
    taken = take_arguments(parameters, given)
    return {
        name: check(parameter, taken[name]) if name in taken else parameter.default
        for name, parameter in parameters.items()
    }
