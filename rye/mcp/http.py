"""Serving over streamable HTTP, to clients that name an allowed host and show the token."""

from __future__ import annotations

import logging
from collections.abc import Callable, MutableMapping
from typing import Any

import anyio
import anyio.to_thread
from mcp.server.transport_security import TransportSecuritySettings

from rye.mcp.calls import Call
from rye.mcp.server import App
from rye.mcp.startup import end_soon
from rye.surface.listener import (
    BROWSER,
    MAX_CONNECTIONS,
    Asgi,
    Callers,
    Http,
    Receive,
    Scope,
    Send,
    guarded,
    serve_asgi,
)

MAX_BODY = 1_048_576
"""Bytes of one request."""

MAX_SESSIONS = 250
"""Sessions of clients of the protocol of 2025; one more ends that which was unused for longest."""

SESSION_SECONDS = 300
"""A session in which nothing was asked for so long ends."""

PATH = "/mcp"
"""The path at which the server answers."""

_SESSION = b"mcp-session-id"
_LOG = logging.getLogger(__name__)


async def serve_http(app: App, http: Http) -> None:
    """Serve until interrupted.

    Raises:
        ArgumentError: ``token-needed``: without a token, only this machine may reach it.
        EnvironmentFault: ``port-unavailable``.
    """

    def make(callers: Callers) -> Asgi:
        asgi: Asgi = app.server().streamable_http_app(
            streamable_http_path=PATH,
            host=http.host,
            max_request_body_size=MAX_BODY,
            max_sessions=MAX_SESSIONS + MAX_CONNECTIONS,  # none ends while a request of it is answered
            session_idle_timeout=SESSION_SECONDS,
            transport_security=TransportSecuritySettings(allowed_hosts=callers.hosts, allowed_origins=callers.origins),
        )
        bounded: Asgi = _Sessions(asgi)
        if (pages := app.options.pages) is not None:
            bounded = _with_pages(bounded, lambda: pages(lambda: app.projects.find().used_by(Call()), callers))
        challenge = "Bearer" if pages is None else BROWSER
        return guarded(bounded, http.token, challenge=challenge) if http.token else bounded

    def stop() -> None:
        app.projects.abandon()
        end_soon()

    await serve_asgi(
        make,
        http,
        started=lambda port: _LOG.info("rye listens on http://%s:%d%s", http.named, port, PATH),
        stop=stop,
    )


def _with_pages(asgi: Asgi, make: Callable[[], Asgi]) -> Asgi:
    """Return an application that answers at every path but :data:`PATH` with another one, made when first asked for."""
    made: list[Asgi] = []
    making = anyio.Lock()

    async def choose(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] == PATH:
            await asgi(scope, receive, send)
            return
        async with making:
            if not made:
                made.append(await anyio.to_thread.run_sync(make))
        await made[0](scope, receive, send)

    return choose


class _Sessions:
    """An application that deletes the session unused for longest, as its client would, where a new one is too many.

    Sessions with requests that are not answered yet, such as an open stream, are in use.
    """

    def __init__(self, asgi: Asgi) -> None:
        self._asgi = asgi
        self._open: dict[bytes, int] = {}  # session: its requests that are not answered, in the order of their last

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
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
