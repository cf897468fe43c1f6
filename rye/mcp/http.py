"""Serving over streamable HTTP, to clients that name an allowed host and show the token."""

from __future__ import annotations

import hmac
import logging
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from types import FrameType
from typing import Any

import anyio
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from rye.errors import ArgumentError, EnvironmentFault
from rye.mcp.server import App
from rye.mcp.startup import Http
from rye.mcp.transport import end_soon

MAX_BODY = 1_048_576
"""Bytes of one request."""

PATH = "/mcp"
"""The path at which the server answers."""

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_LOG = logging.getLogger(__name__)
_LEFT = (anyio.ClosedResourceError, anyio.BrokenResourceError)
_Scope = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
_Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_Asgi = Callable[[_Scope, _Receive, _Send], Awaitable[None]]


async def serve_http(app: App, http: Http) -> None:
    """Serve until interrupted.

    Raises:
        ArgumentError: ``token-needed``: without a token, only this machine may reach it.
        EnvironmentFault: ``port-unavailable``.
    """
    listening = _listen(http)
    port = listening.getsockname()[1]
    asgi: _Asgi = app.server().streamable_http_app(
        streamable_http_path=PATH,
        host=http.host,
        max_request_body_size=MAX_BODY,
        max_sessions=1_000,
        transport_security=_security(http, port),
    )
    config = uvicorn.Config(
        guarded(asgi, http.token) if http.token else asgi,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    host = f"[{http.host}]" if ":" in http.host else http.host
    _LOG.info("rye listens on http://%s:%d%s", host, port, PATH)
    for name in ("mcp.server.streamable_http", "uvicorn.error"):
        logging.getLogger(name).addFilter(_shorten_disconnect)
    await _Server(config, app).serve(sockets=[listening])


def _shorten_disconnect(record: logging.LogRecord) -> bool:
    """Shorten the log record of a client that left during its request to one line: that needs no traceback."""
    fault = record.exc_info[1] if record.exc_info else None
    if isinstance(fault, _LEFT) or (fault is not None and isinstance(fault.__context__, _LEFT)):
        record.msg, record.args, record.exc_info = "a client left during its request", (), None
    return True


class _Server(uvicorn.Server):
    """Cancels all calls on a signal and then exits normally, rather than by the signal."""

    def __init__(self, config: uvicorn.Config, app: App) -> None:
        super().__init__(config)
        self._app = app

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - the signature is uvicorn's
        """Stop; a second signal does not wait for connections to close."""
        self.force_exit = self.should_exit
        self.should_exit = True
        self._app.projects.abandon()
        end_soon()


def _listen(http: Http) -> socket.socket:
    family = socket.AF_INET6 if ":" in http.host else socket.AF_INET
    try:
        found = socket.getaddrinfo(http.host, http.port, family, socket.SOCK_STREAM)[0]
        address = found[4]
        if not http.token and not str(address[0]).startswith("127.") and address[0] != "::1":
            message = f"{http.host} can be reached from other machines, and no token is demanded"
            raise ArgumentError("token-needed", message, hint="give --token-file, or set RYE_MCP_TOKEN")
        return socket.create_server(address[:2], family=family)
    except OSError as error:
        message = f"cannot listen on {http.host} port {http.port}: {error.strerror}"
        raise EnvironmentFault("port-unavailable", message, hint="choose another with --port; 0 takes any") from None


def _security(http: Http, port: int) -> TransportSecuritySettings:
    """Return which ``Host`` and ``Origin`` are let through: a web page elsewhere can name neither."""
    own = f"[{http.host}]" if ":" in http.host else http.host
    hosts = [f"{name}:{port}" for name in dict.fromkeys((*_LOOPBACK, own))]
    for name in http.allowed_hosts:
        hosts += [name, f"{name}:{port}"]
    origins = [f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")]
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)


def guarded(asgi: _Asgi, token: str) -> _Asgi:
    """Return an application that answers only requests with the token."""
    expected = token.encode("ascii")

    async def guard(scope: _Scope, receive: _Receive, send: _Send) -> None:
        if scope["type"] == "http":
            shown = [value for name, value in scope["headers"] if name == b"authorization"]
            scheme, _, given = shown[0].partition(b" ") if len(shown) == 1 else (b"", b"", b"")
            if scheme.lower() != b"bearer" or not hmac.compare_digest(given.strip(b" "), expected):
                _LOG.warning("a request without the right token was refused")
                headers = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain")]
                await send({"type": "http.response.start", "status": 401, "headers": headers})
                await send({"type": "http.response.body", "body": b"a bearer token is needed\n"})
                return
        await asgi(scope, receive, send)

    return guard
