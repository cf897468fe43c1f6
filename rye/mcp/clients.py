"""The client configuration that starts the server, or connects to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rye.mcp.startup import Options

if TYPE_CHECKING:
    from rye.surface.listener import Http

TOKEN_VARIABLE = "RYE_MCP_TOKEN"  # noqa: S105 - the name of a variable
"""Environment variable with the token of an HTTP server."""


def client_config(client: str, options: Options, *, command: Sequence[str]) -> str:
    """Return the configuration of a client. It never holds a token, only the place that the token is read from.

    Args:
        client: One of :data:`CLIENTS`.
        options: Options of the server.
        command: The words that call ``rye``.
    """
    if options.http is not None:
        return CLIENTS[client](_remote(options.http))
    return CLIENTS[client]({"command": command[0], "args": [*command[1:], "mcp", *_words(options)]})


def _words(options: Options) -> list[str]:
    where, words = options.where, list[str]()
    for option, folders in (("--project", options.projects), ("--bundle", where.bundles), ("--trust", where.trust)):
        words += [word for folder in folders for word in (option, str(folder.absolute()))]
    words += ["--audience", where.audience] if where.audience is not None else []
    words += [word for client in where.clients for word in ("--client", client)]
    words += ["--index", where.index] if where.index is not None else []
    return words + (["--require", "trusted"] if where.only_trusted else [])


def _remote(http: Http) -> dict[str, Any]:
    return {"url": f"http://{http.named}:{http.port}/mcp", "token": bool(http.token)}


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _remote_json(server: Mapping[str, Any], variable: str) -> dict[str, Any]:
    if "url" not in server:
        return dict(server)
    headers = {"headers": {"Authorization": f"Bearer {variable}"}} if server["token"] else {}
    return {"url": server["url"], **headers}


def _claude(server: Mapping[str, Any]) -> str:
    kind = {"type": "http"} if "url" in server else {}
    return _json({"mcpServers": {"rye": kind | _remote_json(server, f"${{{TOKEN_VARIABLE}}}")}})


def _cursor(server: Mapping[str, Any]) -> str:
    return _json({"mcpServers": {"rye": _remote_json(server, f"${{env:{TOKEN_VARIABLE}}}")}})


def _vscode(server: Mapping[str, Any]) -> str:
    has_question = "url" in server and server["token"]
    entry = {"type": "http" if "url" in server else "stdio", **_remote_json(server, "${input:rye-token}")}
    question = {"type": "promptString", "id": "rye-token", "description": "Token of the rye server", "password": True}
    return _json(({"inputs": [question]} if has_question else {}) | {"servers": {"rye": entry}})


def _codex(server: Mapping[str, Any]) -> str:
    lines = ["[mcp_servers.rye]"]
    if "url" in server:
        lines.append(f"url = {json.dumps(server['url'])}")
        lines += [f"bearer_token_env_var = {json.dumps(TOKEN_VARIABLE)}"] if server["token"] else []
    else:
        words = ", ".join(json.dumps(word) for word in server["args"])
        lines += [f"command = {json.dumps(server['command'])}", f"args = [{words}]"]
    return "\n".join(lines)


CLIENTS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "claude": _claude,
    "cursor": _cursor,
    "vscode": _vscode,
    "codex": _codex,
}
"""Name of each supported client to the function that writes its configuration."""
