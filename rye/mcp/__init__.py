"""The MCP server: arguments in, text and JSON out; no logic of its own.

Tools find, read and verify items, resources are items, prompts are directives. Importing ``serving`` loads neither
the protocol's library nor the registry; serving loads the first, a call the second.

    >>> from rye.mcp.clients import client_config
    >>> from rye.mcp.startup import Options
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
