"""Serving over standard input and output."""

from __future__ import annotations

import logging
from typing import Any, BinaryIO, cast

import anyio
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from rye.mcp.ending import end_soon, signalled
from rye.mcp.lines import Lines
from rye.mcp.server import App
from rye.mcp.unreadable import refusal_of
from rye.mcp.wire import text_of

__all__ = ["serve_stdio"]

_LOG = logging.getLogger(__name__)


async def serve_stdio(app: App, reading: BinaryIO, writing: BinaryIO) -> None:
    """Serve the client at the other end of the wire until it closes its end, or a signal ends the server."""
    async with anyio.create_task_group() as group:
        group.start_soon(_serve, app, reading, writing, group.cancel_scope)
        await signalled()
        end_soon()
        group.cancel_scope.cancel()


async def _serve(app: App, reading: BinaryIO, writing: BinaryIO, whole: anyio.CancelScope) -> None:
    server = app.server()
    stdin, stdout = cast("anyio.AsyncFile[str]", Lines(reading)), anyio.wrap_file(text_of(writing))
    try:
        async with stdio_server(stdin, stdout) as (incoming, outgoing), anyio.create_task_group() as group:
            send, receive = anyio.create_memory_object_stream[SessionMessage | Exception](0)
            group.start_soon(_readable, incoming, send, outgoing)
            await server.run(receive, outgoing, server.create_initialization_options())
            group.cancel_scope.cancel()
    except* BrokenPipeError:
        _LOG.info("the client has gone without a word")
    whole.cancel()


async def _readable(incoming: Any, send: Any, outgoing: Any) -> None:
    """Hand on what can be read, and answer the rest, for which a client would wait for ever."""
    async with send:
        async for message in incoming:
            if not isinstance(message, ValueError):
                await send.send(message)
            elif (answer := refusal_of(message)) is not None:
                await outgoing.send(SessionMessage(answer))
