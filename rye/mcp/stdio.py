"""Serving over standard input and output."""

from __future__ import annotations

import contextlib
import sys

from mcp.server.lowlevel import NotificationOptions
from mcp.server.stdio import stdio_server

from rye.mcp.server import App

__all__ = ["CHANGES", "serve_stdio"]

CHANGES = NotificationOptions(prompts_changed=True, resources_changed=True)
"""What clients are told of without asking."""


async def serve_stdio(app: App) -> None:
    """Serve one client until its end of the pipe closes; what anything prints meanwhile goes to standard error."""
    server = app.server()
    async with stdio_server() as (read, write):
        with contextlib.redirect_stdout(sys.stderr):
            await server.run(read, write, server.create_initialization_options(CHANGES))
