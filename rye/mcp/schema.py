"""The schemas of a tool: of its arguments, by the table of parameters, and of its answer; and reading the arguments.

The output schema is read off what the ``to_dict`` of the answer returns. A sample of the dataclass is made from its
annotations, once with everything in it and once with nothing; what ``to_dict`` makes of the two shows every key, its
type, and whether it may be missing or null.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from rye.errors import ArgumentError
from rye.parameters import Parameter, check, check_size, guess, parameters_of, spelled

_ENUM, _ANY, _KEY = "\0enum:", "\0any", "\0key"
_UNSAID = "string"
_NAMES = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}


def schema_of(shape: type, **more: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of what ``shape(…).to_dict()`` returns.

    No key is required, so the ``{"error": …}`` of a call that failed fits as well. It is read by models in every
    conversation, so it is kept small: all keys of the outermost level are named, with their types and lists of valid
    values; that the others are text goes without saying.

    Args:
        shape: A dataclass with a ``to_dict`` method, which returns the same keys always.
        more: Schemas of keys that are put beside those, or in their place; such a field must have a default.
    """
    full = _inferred(_sample(shape, full=True, without=more).to_dict())
    empty = _inferred(_sample(shape, full=False, without=more).to_dict())
    merged = _merged(full, empty)
    properties = {key: _small(each) for key, each in (merged["properties"] | more).items()}
    return {"type": "object", "properties": properties}


def _small(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema without deeper levels, and without what clients assume anyway."""
    small = {key: schema[key] for key in ("type", "enum") if key in schema}
    return {} if small.get("type") == _UNSAID else small


def _sample(hint: Any, *, full: bool, without: Container[str] = ()) -> Any:
    """Return a value of an annotated type: with every part of it, or as little as there may be, but for some fields."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (UnionType, Union):
        return _sample(next(part for part in parts if part is not NoneType), full=True) if full else None
    if origin in {tuple, Sequence}:
        inner = parts[:1] if parts[-1] is Ellipsis else parts
        return tuple(_sample(part, full=full) for part in inner)
    if origin is not None and issubclass(origin, Mapping):
        return {_KEY: _sample(parts[1], full=full)}
    if hint is Any:
        return _ANY
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _ENUM + "|".join(str(each.value) for each in hint)
    names = getattr(hint, "__dataclass_fields__", None) or getattr(hint, "_fields", ())
    if names:
        hints = get_type_hints(hint)
        return hint(**{name: _sample(hints[name], full=full) for name in names if name not in without})
    return getattr(hint, "__supertype__", hint)()


def _inferred(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        if any(key.startswith("\0") for key in value):  # a mapping, whose keys are not its own
            return {"type": "object", "additionalProperties": _inferred(next(iter(value.values())))}
        properties = {key: _inferred(each) for key, each in value.items()}
        return {"type": "object", "properties": properties, "required": list(properties)}
    if isinstance(value, list):
        return {"type": "array"} | ({"items": _inferred(value[0])} if value else {})
    if isinstance(value, str) and value.startswith(_ENUM):
        return {"enum": value.removeprefix(_ENUM).split("|")}
    return {} if value == _ANY else {"type": _NAMES[type(value)]}


def _merged(full: dict[str, Any], empty: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of both: keys that only one has may be missing, types that differ are alternatives."""
    if "properties" in full and "properties" in empty:
        properties = {
            key: _merged(each, empty["properties"][key]) if key in empty["properties"] else each
            for key, each in full["properties"].items()
        }
        return {"type": "object", "properties": properties, "required": empty["required"]}
    if "items" in full and "items" in empty:
        return full | {"items": _merged(full["items"], empty["items"])}
    if full.get("type") != empty.get("type") and "type" in empty:
        return full | {"type": [full["type"], empty["type"]]}
    return full


def input_schema(parameters: Mapping[str, Parameter]) -> dict[str, Any]:
    """Return the JSON Schema of the arguments of a tool."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            name: _value_schema(each) | {"description": _description(each)} for name, each in parameters.items()
        },
        "additionalProperties": False,
    }
    required = [name for name, each in parameters.items() if each.required]
    return schema | {"required": required} if required else schema


def _description(each: Parameter) -> str:
    return each.brief or f"{each.help.replace('`', '')}."


def _value_schema(each: Parameter) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": each.kind}
    if each.choices:
        schema["enum"] = list(each.choices)
    if each.default is not None and each.default != ():
        schema["default"] = each.default
    if each.low is not None:
        schema["exclusiveMinimum" if each.above else "minimum"] = each.low
    if each.high is not None:
        schema["maximum"] = each.high
    if each.kind == "string" and not each.choices:
        schema["maxLength"] = each.longest
    if each.kind == "array":
        schema |= {"items": {"type": "string", "maxLength": each.longest}, "maxItems": each.most}
    if each.parts and "{" not in each.brief:  # else the brief describes the parts in words, which are shorter
        parts = {name: _value_schema(part) for name, part in parameters_of(each.parts).items()}
        for name, part in parameters_of(each.parts).items():
            parts[name] |= {"description": _description(part)}
        schema["properties"] = parts
    return schema


def take_arguments(parameters: Mapping[str, Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was given, without nulls, which stand for the default; JSON's 10.0 is a whole number.

    Raises:
        ArgumentError: ``unknown-argument``, ``missing-argument``; ``bad-…`` when a value is too long.
    """
    names = list(parameters)
    for name in given:
        if name not in names:
            inside = [key for key, each in parameters.items() if each.parts and name in parameters_of(each.parts)]
            where = f"write it in {inside[0]}; " if inside else guess(name, names)
            hint = f"{where}valid are {', '.join(names)}"
            raise ArgumentError("unknown-argument", f"there is no argument {name!r}", hint=hint, valid=names)
    for name, each in parameters.items():
        if each.required and given.get(name) is None:
            hint = spelled(each.hint) or each.brief or each.help
            raise ArgumentError("missing-argument", f"the argument {name!r} is missing", hint=hint, valid=names)
    for name, value in given.items():
        check_size(parameters[name], value)
    whole = {name for name, each in parameters.items() if each.kind == "integer"}
    return {
        name: int(value) if name in whole and isinstance(value, float) and value.is_integer() else value
        for name, value in given.items()
        if value is not None
    }


def read_arguments(parameters: Mapping[str, Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of every parameter, its default where it was not given.

    Raises:
        ArgumentError: As :func:`take_arguments`; ``bad-…`` when a value is not valid.
    """
    taken = take_arguments(parameters, given)
    return {name: check(each, taken[name]) if name in taken else each.default for name, each in parameters.items()}
