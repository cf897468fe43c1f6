"""What is answered to a line that is no message of the protocol, as JSON-RPC 2.0 has it (section 5)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from json import JSONDecodeError, loads
from typing import Any

from mcp import types

__all__ = ["refusal_of"]

_TOKEN = re.compile(r'"(?:[^"\\]+|\\.)*"?|[{}\[\]:,]|[^\s"{}\[\]:,]+', re.DOTALL)
_NUMBER = re.compile(r"-?\d{1,18}", re.ASCII)
_TOO_DEEP = "recursion limit"
"""What pydantic says of more than 200 levels."""


def refusal_of(fault: Any) -> types.JSONRPCError | None:
    """Return the error that answers a line; None for a blank one, a notification or an answer, which get none.

    Args:
        fault: What pydantic says of the line.
    """
    try:
        found = fault.errors(include_url=False)
    except (AttributeError, TypeError):
        return None
    if found[0]["type"] == "json_invalid":
        line = str(found[0]["input"])
        if not line.strip():
            return None
        deep = _TOO_DEEP in found[0]["msg"]
        code = types.INVALID_REQUEST if deep else types.PARSE_ERROR
        said = "the request is nested too deep: 200 levels at most" if deep else "the request cannot be read as JSON"
        return _error(_outermost(line), code, said)
    whole = next((each["input"] for each in found if each["type"] == "missing" and len(each["loc"]) == 2), None)
    return _error(whole if isinstance(whole, dict) else {}, types.INVALID_REQUEST, "the line is no JSON-RPC request")


def _error(message: Mapping[str, Any], code: int, said: str) -> types.JSONRPCError | None:
    if {"result", "error"} & set(message) or ("method" in message and "id" not in message):
        return None
    wanted = message.get("id")
    right = isinstance(wanted, int) and not isinstance(wanted, bool)
    if isinstance(wanted, str):
        right = wanted.isprintable()  # half a surrogate pair cannot be sent back
    return types.JSONRPCError(
        jsonrpc="2.0", id=wanted if right else None, error=types.ErrorData(code=code, message=said)
    )


def _outermost(line: str) -> dict[str, Any]:
    """Return the keys of the outermost object with their values, as far as those are plain, however deep it goes."""
    found: dict[str, Any] = {}
    for key, value in _pairs(line):
        if value.startswith('"'):
            try:
                found[key] = loads(value)
            except JSONDecodeError:
                found[key] = None
        else:
            found[key] = int(value) if _NUMBER.fullmatch(value) else None
    return found


def _pairs(line: str) -> Iterator[tuple[str, str]]:
    """Yield the keys of the outermost object, each with the first token of its value."""
    depth, last, key = 0, "", ""
    for part in (match[0] for match in _TOKEN.finditer(line)):
        if key:
            yield key, part
            key = ""
        if part in {"{", "["}:
            depth += 1
        elif part in {"}", "]"}:
            depth -= 1
        elif part == ":" and depth == 1 and line.lstrip().startswith("{"):
            key = last.strip('"')
        last = part
