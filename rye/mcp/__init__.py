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

from rye.mcp.clients import CLIENTS, client_config
from rye.mcp.options import Http, Options
from rye.mcp.serving import serve

__all__ = ["CLIENTS", "Http", "Options", "client_config", "serve"]
