"""Serving over standard input and output."""

from __future__ import annotations

import json
import logging
from typing import Any, BinaryIO, cast

import anyio
from mcp import types
from mcp.server.lowlevel import NotificationOptions
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from rye.mcp.ending import end_soon, signalled
from rye.mcp.lines import Lines
from rye.mcp.server import App
from rye.mcp.wire import text_of

__all__ = ["serve_stdio"]

_LOG = logging.getLogger(__name__)
_CHANGES = NotificationOptions(prompts_changed=True, resources_changed=True)
_DIGITS = 18


async def serve_stdio(app: App, reading: BinaryIO, writing: BinaryIO) -> None:
    """Serve the client at the other end of the wire until it closes its end, or a signal ends the server."""
    async with anyio.create_task_group() as group:
        group.start_soon(_serve, app, reading, writing, group.cancel_scope)
        await signalled()
        end_soon()
        group.cancel_scope.cancel()


async def _serve(app: App, reading: BinaryIO, writing: BinaryIO, whole: anyio.CancelScope) -> None:
    server = app.server()
    options = server.create_initialization_options(_CHANGES)
    stdin, stdout = cast("anyio.AsyncFile[str]", Lines(reading)), anyio.wrap_file(text_of(writing))
    try:
        async with stdio_server(stdin, stdout) as (incoming, outgoing), anyio.create_task_group() as group:
            send, receive = anyio.create_memory_object_stream[SessionMessage | Exception](0)
            group.start_soon(_readable, incoming, send, outgoing)
            await server.run(receive, outgoing, options)
            group.cancel_scope.cancel()
    except* BrokenPipeError:
        _LOG.info("the client has gone without a word")
    whole.cancel()


async def _readable(incoming: Any, send: Any, outgoing: Any) -> None:
    """Hand on what can be read, and answer requests that cannot, for which their client would wait for ever."""
    async with send:
        async for message in incoming:
            unread = _request_id(message) if isinstance(message, ValueError) else None
            if unread is None:
                await send.send(message)
                continue
            error = types.ErrorData(code=types.PARSE_ERROR, message="the request cannot be read as JSON-RPC")
            await outgoing.send(SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=unread, error=error)))


def _request_id(fault: Any) -> str | int | None:
    """Return the id of a request that could not be read, as pydantic tells of it; None where there is none."""
    try:
        line = fault.errors(include_url=False)[0]["input"]
        found = json.loads(line, parse_int=lambda text: int(text) if len(text) <= _DIGITS else float(text))
    except (AttributeError, TypeError, ValueError, RecursionError):
        return None
    wanted = found.get("id") if isinstance(found, dict) and "method" in found else None
    if isinstance(wanted, str):
        return wanted if wanted.isprintable() else None  # half a surrogate pair cannot be sent back
    return wanted if isinstance(wanted, int) and not isinstance(wanted, bool) else None
