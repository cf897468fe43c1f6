"""Random arguments of every type for every tool: a result or a well-formed error comes back, and the server lives."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Iterator
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp import Client, MCPError, types

from rye.mcp.arguments import TOOLS
from tests.support.mcp_server import Session, session, text_of
from tests.support.spacesim import SpaceSim, furnish

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=8,
)
ARGUMENTS = {tool: sorted(parameters) for tool, parameters in TOOLS.items()}
NEARLY = st.sampled_from(
    [
        "*",
        "read",
        "tool",
        "tool:rye/file-system/read",
        "knowledge:*",
        "tool.rye.*",
        "project",
        "user",
        "system",
        "score",
        "title:x OR (",
        '"thread directive"~3 NEAR/5 x',
        "/etc/passwd",
        "../..",
        1,
        10,
        0,
        True,
        False,
        {"enabled": True, "max_distance": 2},
        {"is": "trusted"},
        {"category": "core"},
        {"version": ">=1"},
    ]
)
OPTIONS = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Return a tool and what it might be given: known and unknown names, values that fit and others."""
    tool = draw(st.sampled_from(sorted(ARGUMENTS)))
    names = st.sampled_from(ARGUMENTS[tool]) | st.text(max_size=12)
    given_ = draw(st.dictionaries(names, NEARLY | JSON, max_size=6))
    return tool, given_


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """Keep one server for all examples: none may hurt it for the next."""
    sim = SpaceSim(tmp_path_factory.mktemp("sim"))
    furnish(sim)
    sim.save_user_key()
    with session(sim) as found:
        yield found


@pytest.fixture(scope="session")
def schemas(shared: Session) -> dict[str, jsonschema.Draft202012Validator]:
    """Return what checks the answers of each tool."""

    async def talk(client: Client) -> list[types.Tool]:
        return (await client.list_tools()).tools

    tools = shared.run(talk)
    assert {tool.name: sorted(tool.input_schema["properties"]) for tool in tools} == ARGUMENTS
    return {tool.name: jsonschema.Draft202012Validator(tool.output_schema or {}) for tool in tools}


@OPTIONS
@given(call=calls())
def test_any_call_is_answered_or_refused_in_due_form(
    shared: Session, schemas: dict[str, jsonschema.Draft202012Validator], call: tuple[str, dict[str, Any]]
) -> None:
    """The answer fits the schema; an error has code, message and hint, is no internal one, and has no traceback."""
    tool, arguments = call
    result = shared.call(tool, **arguments)
    schemas[tool].validate(result.structured_content)
    text = text_of(result)
    assert "Traceback" not in text
    if result.is_error:
        error = result.structured_content["error"]
        assert set(error) >= {"code", "message", "hint"}
        assert error["code"] not in {"internal", "system"}, json.dumps(error)
        assert text.startswith(f"error[{error['code']}]: ")


async def failing(asked: Awaitable[object]) -> MCPError | None:
    """Return the error of the protocol that a request ends in, if it does."""
    try:
        await asked
    except MCPError as error:
        return error
    return None


@OPTIONS
@given(uri=st.text(max_size=60) | st.text(max_size=30).map(lambda end: f"rye://project/knowledge/{end}"))
def test_any_uri_is_read_or_refused(shared: Session, uri: str) -> None:
    """A made-up address is an error of the protocol, with a code of rye's."""
    error = shared.run(lambda client: failing(client.read_resource(uri)))
    assert error is None or error.code == types.INVALID_PARAMS
    assert error is None or error.data["code"] in {"bad-uri", "item-not-found"}


@OPTIONS
@given(
    name=st.text(max_size=20) | st.just("agents/create_thread"),
    arguments=st.dictionaries(st.text(max_size=10), st.text(max_size=10), max_size=3),
)
def test_any_prompt_is_answered_or_refused(shared: Session, name: str, arguments: dict[str, str]) -> None:
    """A prompt that is none is refused."""

    async def talk(client: Client) -> None:
        error = await failing(client.get_prompt(name, arguments))
        assert error is None or error.data["code"] in {"item-not-found", "unknown-argument"}

    shared.run(talk)
