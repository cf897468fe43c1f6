"""Serving over HTTP: access control, limits of time and connections; shared by all servers of rye."""

from __future__ import annotations

import base64
import binascii
import hmac
import logging
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from types import FrameType
from typing import Any, NamedTuple

import anyio
import uvicorn

from rye._text import block, inline
from rye.errors import ArgumentError, EnvironmentFault

MAX_CONNECTIONS = 500
"""Most connections at once; further requests are answered with status 503."""

BROWSER = 'Basic realm="rye", charset="UTF-8"'
"""The challenge that makes a browser ask its user for the token, as a password."""

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_LOG = logging.getLogger(__name__)
_DEFAULT_PORT = 80
"""The default port of HTTP, which clients omit from ``Host`` and ``Origin``."""

_LEFT = (anyio.ClosedResourceError, anyio.BrokenResourceError)
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Http:
    """The address of a server over HTTP, and the callers that it admits.

    Attributes:
        host: Address to listen on.
        port: Port; 0 takes a free one, which is printed on standard error.
        token: What callers must send as ``Authorization: Bearer …``; empty admits anyone who reaches the port.
        allowed_hosts: Further names by which callers may address it in ``Host`` and ``Origin``.
        token_variable: The environment variable that may hold a token, for the error that asks for one.
    """

    host: str = "127.0.0.1"
    port: int = 8642
    token: str = ""
    allowed_hosts: tuple[str, ...] = ()
    token_variable: str = "RYE_MCP_TOKEN"  # noqa: S105 - the name of a variable

    @property
    def named(self) -> str:
        """The host as written in a URL."""
        return f"[{self.host}]" if ":" in self.host else self.host


class Callers(NamedTuple):
    """The allowed values of ``Host`` and ``Origin``, which protect against requests from web pages elsewhere."""

    hosts: list[str]
    origins: list[str]


async def serve_asgi(
    make: Callable[[Callers], Asgi], http: Http, *, started: Callable[[int], None], stop: Callable[[], None]
) -> None:
    """Serve an application until interrupted.

    Args:
        make: Makes the application, given the allowed callers.
        http: Where to listen.
        started: Called with the port once it listens.
        stop: Called on a signal to end, before the connections are closed.

    Raises:
        ArgumentError: ``token-needed``: without a token, the address must be reachable only from this machine.
        EnvironmentFault: ``port-unavailable``.
    """
    listening = _listen(http)
    port = listening.getsockname()[1]
    config = uvicorn.Config(
        make(_callers(http, port)),
        http="h11",
        limit_concurrency=MAX_CONNECTIONS,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    started(port)
    for handler in logging.getLogger().handlers:
        handler.addFilter(escape)
    await _Server(config, stop).serve(sockets=[listening])


def escape(record: logging.LogRecord) -> bool:
    """Escape text from callers in a log record, in the message and in the traceback."""
    record.msg, record.args = inline(record.getMessage()), ()
    fault = record.exc_info[1] if record.exc_info else None
    if isinstance(fault, _LEFT) or (fault is not None and isinstance(fault.__context__, _LEFT)):
        record.msg, record.args, record.exc_info = "a client left during its request", (), None
    if record.exc_info:
        record.exc_text = block(logging.Formatter().formatException(record.exc_info))
    return True


class _Server(uvicorn.Server):
    """Stops running work on a signal and then exits normally, instead of by the signal."""

    def __init__(self, config: uvicorn.Config, stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._stop = stop

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - the signature is uvicorn's
        """Stop; a second signal does not wait for connections to close."""
        self.force_exit = self.should_exit
        self.should_exit = True
        self._stop()


def _listen(http: Http) -> socket.socket:
    family = socket.AF_INET6 if ":" in http.host else socket.AF_INET
    try:
        info = socket.getaddrinfo(http.host, http.port, family, socket.SOCK_STREAM)[0]
        address = info[4]
        if not http.token and not str(address[0]).startswith("127.") and address[0] != "::1":
            message = f"{http.host} is a public address, and rye listens there only with a token"
            raise ArgumentError("token-needed", message, hint=f"give --token-file, or set {http.token_variable}")
        listening = socket.create_server(address[:2], family=family)
        # Connections inherit this. asyncio sets it only on sockets with an explicit protocol, unlike these. Without it
        # the body of each answer after the first waits 40 ms, until the caller's system acknowledges the headers.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listening
    except OSError as error:
        message = f"cannot listen on {http.host} port {http.port}: {error.strerror}"
        raise EnvironmentFault("port-unavailable", message, hint="choose another with --port; 0 takes any") from None


def _callers(http: Http, port: int) -> Callers:
    own = dict.fromkeys((*_LOOPBACK, http.named))
    hosts = [*(f"{name}:{port}" for name in own), *(own if port == _DEFAULT_PORT else ())]
    for name in http.allowed_hosts:
        hosts += [name, f"{name}:{port}"]
    return Callers(hosts, [f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")])


def guarded(asgi: Asgi, token: str, *, challenge: str = "Bearer") -> Asgi:
    """Return an application that answers only requests with the token, as a bearer token or as a browser's password.

    Args:
        asgi: The application to protect.
        token: The token.
        challenge: The challenge sent if the token is missing: a bearer token, or :data:`BROWSER` to allow a password
            too.
    """
    expected = token.encode("ascii")

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            shown = [value for name, value in scope["headers"] if name == b"authorization"]
            if len(shown) != 1 or not hmac.compare_digest(_shown_token(shown[0], challenge), expected):
                _LOG.warning("a request without the right token was refused")
                headers = [(b"www-authenticate", challenge.encode("ascii")), (b"content-type", b"text/plain")]
                await send({"type": "http.response.start", "status": 401, "headers": headers})
                await send({"type": "http.response.body", "body": b"a bearer token is needed\n"})
                return
        await asgi(scope, receive, send)

    return guard


def _shown_token(header: bytes, challenge: str) -> bytes:
    """Return the token of an ``Authorization`` header; empty if it has none."""
    scheme, _, given = header.partition(b" ")
    if scheme.lower() == b"bearer":
        return given.strip(b" ")
    if scheme.lower() != b"basic" or not challenge.startswith("Basic"):
        return b""
    try:
        return base64.b64decode(given, validate=True).partition(b":")[2]
    except binascii.Error:
        return b""
