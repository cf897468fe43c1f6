"""The MCP server: arguments in, text and JSON out; no logic of its own.

Tools find, read, verify and sign items, resources are items, prompts are directives. Importing this room loads
neither the protocol's library nor the registry; serving loads the first, a call the second.

    >>> from rye.mcp import Options, client_config
    >>> print(client_config("claude", Options(), command=("rye",)))
    {
      "mcpServers": {
        "rye": {
          "command": "rye",
          "args": [
            "mcp"
          ]
        }
      }
    }
"""

import logging
import sys

from rye.mcp.clients import CLIENTS, client_config
from rye.mcp.startup import Options, take_wire

__all__ = ["CLIENTS", "Options", "client_config", "serve"]


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
