"""Serving over standard input and output."""

from __future__ import annotations

import logging
from typing import BinaryIO

import anyio
from mcp.server.lowlevel import NotificationOptions
from mcp.server.stdio import stdio_server

from rye.mcp.server import App
from rye.mcp.wire import text_of

__all__ = ["serve_stdio"]

_LOG = logging.getLogger(__name__)
_CHANGES = NotificationOptions(prompts_changed=True, resources_changed=True)


async def serve_stdio(app: App, reading: BinaryIO, writing: BinaryIO) -> None:
    """Serve the client at the other end of the wire until it closes its end."""
    server = app.server()
    options = server.create_initialization_options(_CHANGES)
    stdin, stdout = anyio.wrap_file(text_of(reading)), anyio.wrap_file(text_of(writing))
    try:
        async with stdio_server(stdin, stdout) as (incoming, outgoing):
            await server.run(incoming, outgoing, options)
    except* BrokenPipeError:
        _LOG.info("the client has gone without a word")
