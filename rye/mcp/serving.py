"""Starting a server."""

from __future__ import annotations

import contextlib
import logging
import sys

from rye.mcp.options import Options

__all__ = ["serve"]


def serve(options: Options) -> None:
    """Serve until the client leaves, or over HTTP until interrupted.

    Raises:
        ArgumentError: The server would listen beyond this machine without a token.
        EnvironmentFault: The port cannot be used.
    """
    with contextlib.redirect_stdout(sys.stderr):
        import anyio

        from rye.mcp.server import App
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("rye.mcp").setLevel(logging.INFO)
    app = App(options)
    if options.http is None:
        from rye.mcp.stdio import serve_stdio

        anyio.run(serve_stdio, app)
    else:
        from rye.mcp.http import serve_http

        anyio.run(serve_http, app, options.http)
