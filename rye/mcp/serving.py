"""Start of a server, over standard input and output or over HTTP."""

import logging
import sys

from rye.mcp.startup import Options, take_wire


def serve(options: Options) -> None:
    """Serve until the client leaves, or over HTTP until interrupted.

    Raises:
        ArgumentError: The server would listen beyond this machine without a token.
        EnvironmentFault: The port cannot be used, or there is no pipe to a client.
    """
    wire = take_wire() if options.http is None else None  # before anything that is loaded might print
    import anyio

    from rye.mcp.server import App

    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("rye.mcp").setLevel(logging.INFO)
    app = App(options)
    if wire is not None:
        from rye.mcp.transport import serve_stdio

        anyio.run(serve_stdio, app, *wire)
    elif options.http is not None:
        from rye.mcp.http import serve_http

        anyio.run(serve_http, app, options.http)
