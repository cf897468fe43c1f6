"""The configuration printed for each client is well formed, and holds no secret."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from rye.mcp.clients import CLIENTS, client_config
from rye.mcp.startup import Options
from rye.registry.where import Where
from rye.surface.listener import Http

OPTIONS = Options(
    projects=(Path("/a b"), Path("/c")),
    where=Where(
        only_trusted=True, audience="acme", bundles=(Path("/b"),), clients=("claude",), index="opensearch://x/y"
    ),
)
WORDS = ["mcp", "--project", "/a b", "--project", "/c", "--bundle", "/b", "--audience", "acme", "--client", "claude"]
WORDS += ["--index", "opensearch://x/y", "--require", "trusted"]


def read(client: str, text: str) -> dict[str, Any]:
    """Return the server's entry in a configuration."""
    found = tomllib.loads(text) if client == "codex" else json.loads(text)
    servers = {"claude": "mcpServers", "cursor": "mcpServers", "vscode": "servers", "codex": "mcp_servers"}
    entry: dict[str, Any] = found[servers[client]]["rye"]
    return entry


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_starts_the_server_with_its_options(client: str) -> None:
    """Command and words, whatever is in a path."""
    entry = read(client, client_config(client, OPTIONS, command=('/bin/"py"', "-m", "rye")))
    assert entry["command"] == '/bin/"py"'
    assert entry["args"] == ["-m", "rye", *WORDS]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_finds_a_server_that_listens(client: str) -> None:
    """By its address; the token is read from where the user keeps it, and never printed."""
    text = client_config(client, Options(http=Http("::1", 99, "secret")), command=("rye",))
    assert "secret" not in text
    assert read(client, text)["url"] == "http://[::1]:99/mcp"
    assert "RYE_MCP_TOKEN" in text or "input:rye-token" in text
    without = client_config(client, Options(http=Http()), command=("rye",))
    assert "Authorization" not in without
    assert "TOKEN" not in without
