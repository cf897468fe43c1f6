"""The MCP server, in this process or as a process of its own, and the protocol's client to talk to it."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, types
from mcp.client.stdio import StdioServerParameters, stdio_client

from rye.errors import RyeError
from rye.mcp.server import App
from rye.mcp.startup import Options
from rye.mcp.text import NOTICE
from rye.registry.where import Where
from tests.support.spacesim import SpaceSim

__all__ = [
    "ERAS",
    "ROOT",
    "Session",
    "arguments",
    "called",
    "connected",
    "environment",
    "refused",
    "session",
    "started",
    "text_of",
    "with_client",
    "with_process",
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


class _Faults(logging.Handler):
    """Keeps the exceptions that the server logs."""

    def __init__(self) -> None:
        super().__init__()
        self.logged: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record that shows a traceback."""
        if record.exc_info:
            self.logged.append(logging.Formatter().format(record))


@contextmanager
def _user_of(sim: SpaceSim, env: Mapping[str, str]) -> Iterator[None]:
    """Make the user of ``sim`` the user of this process, and check at the end that no exception was logged."""
    faults = _Faults()
    logging.getLogger().addHandler(faults)
    try:
        with pytest.MonkeyPatch.context() as patch:
            for name in ("HOME", "USER_SPACE"):
                patch.setenv(name, str(sim.user))
            patch.setenv("RYE_CACHE_DIR", str(sim.cache))
            for name, value in env.items():
                patch.setenv(name, value)
            yield
    finally:
        logging.getLogger().removeHandler(faults)
    assert not faults.logged, "\n".join(faults.logged)


@asynccontextmanager
async def connected(
    sim: SpaceSim, *, mode: str = "auto", client: Mapping[str, Any] | None = None, **options: Any
) -> AsyncIterator[Client]:
    """Connect to a server in this process.

    Args:
        sim: The spaces that it searches.
        mode: How the client begins, see :data:`ERAS`.
        client: Further arguments of the client.
        **options: Fields of :class:`rye.mcp.startup.Options`, and of its ``where``.
    """
    given = {"projects": (sim.project,), "bundles": tuple(sim.bundles.values())} | options
    where = {name: given.pop(name) for name in Where.__slots__ if name in given}
    app = App(Options(where=Where(**where, may_choose_index=True), **given))
    async with Client(app.server(), mode=mode, **(client or {})) as opened:
        if given["projects"]:
            with suppress(RyeError):  # the first call reports it
                await anyio.to_thread.run_sync(app.projects.find)  # it reads the environment
        yield opened


@asynccontextmanager
async def started(
    sim: SpaceSim, *more: str, env: Mapping[str, str] | None = None, mode: str = "auto", **options: Any
) -> AsyncIterator[Client]:
    """Start a server as a process, connect to it, and check at the end that it has logged no exception.

    Only what a process adds needs this: the pipe, signals, the environment and the words of the command line.
    """
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
        logged = log.read()
        assert "Traceback" not in logged, logged


def with_client(
    sim: SpaceSim,
    talk: Callable[[Client], Awaitable[_Answer]],
    *,
    env: Mapping[str, str] | None = None,
    **options: Any,
) -> _Answer:
    """Return the result of a conversation with a server in this process; options as of :func:`connected`."""

    async def run() -> _Answer:
        with anyio.fail_after(60):
            async with connected(sim, **options) as client:
                return await talk(client)

    with _user_of(sim, env or {}):
        return anyio.run(run)


def with_process(sim: SpaceSim, talk: Callable[[Client], Awaitable[_Answer]], *more: str, **options: Any) -> _Answer:
    """Return the result of a conversation with a server process; options as of :func:`started`."""

    async def run() -> _Answer:
        with anyio.fail_after(60):
            async with started(sim, *more, **options) as client:
                return await talk(client)

    return anyio.run(run)


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
    """A server in this process and a client, for tests that run no event loop of their own."""

    def __init__(
        self, portal: BlockingPortal, client: Client, user: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self._portal = portal
        self._client = client
        self._user = user

    def run(self, talk: Callable[[Client], Awaitable[_Answer]]) -> _Answer:
        """Return what comes out of talking to the server."""

        async def bounded() -> _Answer:
            with anyio.fail_after(60):
                return await talk(self._client)

        with self._user():
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
def session(sim: SpaceSim, *, env: Mapping[str, str] | None = None, **options: Any) -> Iterator[Session]:
    """Keep a server in this process and a client for a while; options as of :func:`connected`."""
    user = partial(_user_of, sim, env or {})
    with start_blocking_portal() as portal:
        opened = portal.wrap_async_context_manager(connected(sim, **options))
        with ExitStack() as stack:
            with user():
                client = stack.enter_context(opened)
            yield Session(portal, client, user)
