"""Serving over streamable HTTP, to clients that name an allowed host and show the token."""

from __future__ import annotations

import asyncio
import hmac
import logging
import math
import socket
import sys
import time
from collections.abc import Awaitable, Callable, MutableMapping
from types import FrameType
from typing import Any, cast

import anyio
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from rye._text import block, inline
from rye.errors import ArgumentError, EnvironmentFault
from rye.mcp.server import App
from rye.mcp.startup import Http
from rye.mcp.transport import end_soon

MAX_BODY = 1_048_576
"""Bytes of one request."""

MAX_CONNECTIONS = 500
"""Connections at once; fewer where the system lets a process open fewer than three times as many files."""

MAX_SESSIONS = 250
"""Sessions of clients of the protocol of 2025; one more ends that which was unused for longest."""

SESSION_SECONDS = 300
"""A session in which nothing was asked for so long ends."""

REQUEST_SECONDS = 20
"""How long a request may take to arrive."""

PATH = "/mcp"
"""The path at which the server answers."""

_SESSION = b"mcp-session-id"
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_LOG = logging.getLogger(__name__)
_BACKLOG = 32
"""Connections accepted in one go, so that surplus connections are closed before more are accepted."""

_ALIKE = 5
"""Records of one line of code that are logged in a minute."""

_MARK = "rye_is_logged"
"""The attribute of a record that a filter has decided on."""

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
        max_sessions=MAX_SESSIONS + MAX_CONNECTIONS,  # none ends while a request of it is answered
        session_idle_timeout=SESSION_SECONDS,
        transport_security=_security(http, port),
    )
    bounded = _Sessions(asgi)
    config = uvicorn.Config(
        guarded(bounded, http.token) if http.token else bounded,
        http=_Connection,
        backlog=_BACKLOG,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    host = f"[{http.host}]" if ":" in http.host else http.host
    _LOG.info("rye listens on http://%s:%d%s", host, port, PATH)
    log_filter = _LogFilter()
    for handler in logging.getLogger().handlers:
        handler.addFilter(log_filter)
    await _Server(config, app).serve(sockets=[listening])


class _LogFilter(logging.Filter):
    """Escapes what callers can put into the log, and leaves out what would be said again and again.

    All handlers share one: it decides on a record once, and marks it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[tuple[str, int], tuple[float, int]] = {}  # line of code: start of its minute, records since

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is logged; shorten that of a client that left, which needs no traceback."""
        if _MARK not in vars(record):
            vars(record)[_MARK] = self._decided(record)
        return bool(vars(record)[_MARK])

    def _decided(self, record: logging.LogRecord) -> bool:
        line, now = (record.pathname, record.lineno), time.monotonic()
        began, count = self._seen.get(line, (now, 0))
        if now - began >= 60:
            began, count, unsaid = now, 0, max(count - _ALIKE, 0)
        else:
            unsaid = 0
        self._seen[line] = began, count + 1
        if count >= _ALIKE:
            return False
        fault = record.exc_info[1] if record.exc_info else None
        if isinstance(fault, _LEFT) or (fault is not None and isinstance(fault.__context__, _LEFT)):
            record.msg, record.args, record.exc_info = "a client left during its request", (), None
        more = "; the next ones within a minute are not logged" if count == _ALIKE - 1 else ""
        more += f" ({unsaid} like it were not logged)" if unsaid else ""
        record.msg, record.args = f"{inline(record.getMessage())}{more}", ()
        if record.exc_info:
            record.exc_text = block(logging.Formatter().formatException(record.exc_info))
        return True


class _Connection(H11Protocol):
    """A connection that is closed when its request takes too long to arrive, or when its place is needed.

    The place is that of the connection that has waited longest for a request: whoever has one ready is served,
    however many others keep connections open.
    """

    waiting_since = 0.0
    """By the clock of the event loop; infinite while a request is there whole and not answered."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a place; where there is none, that of the connection that has waited longest."""
        super().connection_made(transport)
        self._watch()
        if len(self.connections) > _most_connections():
            oldest = min(cast("set[_Connection]", self.connections), key=lambda each: each.waiting_since)
            self.connections.discard(oldest)
            oldest.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Read on; a request that is there whole is no longer waited for."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadline."""
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)

    def _watch(self) -> None:
        cycle: RequestResponseCycle | None = self.cycle
        is_waiting = cycle is None or cycle.response_complete or cycle.more_body
        if not is_waiting or self.transport.is_closing():
            if self._deadline is not None:
                self._deadline.cancel()
            self.waiting_since, self._deadline = math.inf, None
        elif self._deadline is None:
            self.waiting_since = self.loop.time()
            self._deadline = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)


def _most_connections() -> int:
    """Return how many connections there may be, so that files can be opened beside them."""
    if sys.platform == "win32":
        return MAX_CONNECTIONS
    import resource

    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_CONNECTIONS if files == resource.RLIM_INFINITY else max(min(MAX_CONNECTIONS, files // 3), 1)


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


class _Sessions:
    """An application that deletes the session unused for longest, as its client would, where a new one is too many.

    Sessions with requests that are not answered yet, such as an open stream, are in use.
    """

    def __init__(self, asgi: _Asgi) -> None:
        self._asgi = asgi
        self._open: dict[bytes, int] = {}  # session: its requests that are not answered, in the order of their last

    async def __call__(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        """Answer a request, and make room once it has opened a session."""
        headers = dict(scope["headers"]) if scope["type"] == "http" else {}
        session = headers.get(_SESSION, b"")

        async def note(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start" and message["status"] == 404:
                self._open.pop(session, None)
            elif message["type"] == "http.response.start" and not session and message["status"] < 400:
                self._open |= {value: 0 for name, value in message["headers"] if name == _SESSION}
            await send(message)

        self._count(session, 1)
        try:
            await self._asgi(scope, receive, note)
        finally:
            self._count(session, -1)
        while len(self._open) > MAX_SESSIONS and (
            idle := [key for key, requests in self._open.items() if not requests]
        ):
            del self._open[idle[0]]
            named = [*(each for each in scope["headers"] if each[0] == b"host"), (_SESSION, idle[0])]
            await self._asgi({**scope, "method": "DELETE", "headers": named}, _nothing, _unheard)

    def _count(self, session: bytes, requests: int) -> None:
        """Note that a request of a session has come, or was answered: it is the last that was used."""
        if session in self._open:
            self._open[session] = self._open.pop(session) + requests


async def _nothing() -> MutableMapping[str, Any]:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _unheard(_message: MutableMapping[str, Any]) -> None:
    pass


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
