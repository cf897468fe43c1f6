"""``rye mcp`` as a real process, and the protocol's own client to talk to it."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, types
from mcp.client.stdio import StdioServerParameters, stdio_client

from rye.mcp.text import NOTICE
from rye.parameters.tools import TOOLS
from tests.support.spacesim import SpaceSim

__all__ = [
    "ERAS",
    "ROOT",
    "Session",
    "arguments",
    "asking",
    "called",
    "connected",
    "environment",
    "refused",
    "session",
    "text_of",
    "with_client",
]

ROOT = Path(__file__).resolve().parents[2]
ERAS = ("legacy", "auto")
"""How a client may begin: with the handshake of 2025, or in the form of 2026."""

_Answer = TypeVar("_Answer")


def environment(sim: SpaceSim, **more: str) -> dict[str, str]:
    """Return the environment of a server that knows the spaces of ``sim`` and nothing else."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("RYE_", "PYTHON"))}
    env |= {"HOME": str(sim.user), "USER_SPACE": str(sim.user), "RYE_CACHE_DIR": str(sim.cache)}
    return env | {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", "PYTHONWARNINGS": "default"} | more


def arguments(sim: SpaceSim, *more: str) -> list[str]:
    """Return the words after ``python`` that start a server for the project of ``sim`` and its bundles."""
    bundles = [word for folder in sim.bundles.values() for word in ("--bundle", str(folder))]
    return ["-m", "rye", "mcp", "--project", str(sim.project), *bundles, *more]


@asynccontextmanager
async def connected(
    sim: SpaceSim, *more: str, env: Mapping[str, str] | None = None, mode: str = "auto", **options: Any
) -> AsyncIterator[Client]:
    """Start a server, connect to it, and see at the end that it has logged no fault."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        parameters = StdioServerParameters(
            command=sys.executable,
            args=arguments(sim, *more),
            env=environment(sim, **(env or {})),
            cwd=str(sim.folder),
        )
        async with Client(stdio_client(parameters, errlog=log), mode=mode, **options) as client:
            yield client
        log.seek(0)
        said = log.read()
        assert "Traceback" not in said, said


def with_client(sim: SpaceSim, talk: Callable[[Client], Awaitable[_Answer]], *more: str, **options: Any) -> _Answer:
    """Return what comes out of talking to a server over standard input and output."""

    async def run() -> _Answer:
        with anyio.fail_after(60):
            async with connected(sim, *more, **options) as client:
                return await talk(client)

    return anyio.run(run)


def asking(**given: Any) -> dict[str, Any]:
    """Return the arguments of ``rye_search``, the rarer ones in ``options``, for an answer with every field."""
    options = {name: value for name, value in given.items() if name not in TOOLS["rye_search"]}
    return {name: given[name] for name in given.keys() - options.keys()} | {"options": {"detail": "full", **options}}


async def called(client: Client, tool: str, /, **given: Any) -> dict[str, Any]:
    """Call a tool that answers, and return its structured answer without the notice that all begin with."""
    result = await client.call_tool(tool, given)
    assert not result.is_error, text_of(result)
    found: dict[str, Any] = result.structured_content
    assert found.pop("notice") == NOTICE
    return found


async def refused(client: Client, tool: str, /, **given: Any) -> dict[str, Any]:
    """Call a tool that refuses, and return its error."""
    result = await client.call_tool(tool, given)
    assert result.is_error, text_of(result)
    found: dict[str, Any] = result.structured_content["error"]
    assert text_of(result).startswith(f"error[{found['code']}]: ")
    return found


def text_of(result: types.CallToolResult) -> str:
    """Return the one text of a result."""
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


class Session:
    """A server and a client that several tests may use one after the other, without a loop of their own."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal = portal
        self._client = client

    def run(self, talk: Callable[[Client], Awaitable[_Answer]]) -> _Answer:
        """Return what comes out of talking to the server."""

        async def bounded() -> _Answer:
            with anyio.fail_after(60):
                return await talk(self._client)

        return self._portal.call(bounded)

    def call(self, tool: str, /, **given: Any) -> types.CallToolResult:
        """Call a tool and return the whole result."""
        return self.run(lambda client: client.call_tool(tool, given))

    def answer(self, tool: str, /, **given: Any) -> dict[str, Any]:
        """Call a tool that answers, and return its structured answer."""
        return self.run(lambda client: called(client, tool, **given))

    def refused(self, tool: str, /, **given: Any) -> dict[str, Any]:
        """Call a tool that refuses, and return its error."""
        return self.run(lambda client: refused(client, tool, **given))


@contextmanager
def session(sim: SpaceSim, *more: str, **options: Any) -> Iterator[Session]:
    """Keep a server and a client for a while."""
    with start_blocking_portal() as portal:
        opened = portal.wrap_async_context_manager(connected(sim, *more, **options))
        with opened as client:
            yield Session(portal, client)
