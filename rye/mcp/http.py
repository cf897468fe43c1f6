"""Serving over streamable HTTP, to clients that name an allowed host and show the token."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.types import Message, Receive, Scope, Send

from rye.mcp.server import App
from rye.mcp.startup import end_soon
from rye.surface.listener import Asgi, Callers, Http, guarded, serve_asgi

MAX_BODY = 1_048_576
"""Bytes of one request."""

MAX_SESSIONS = 250
"""Sessions of clients of the protocol of 2025."""

PLAIN_SESSIONS = 50
"""How many of these may belong to clients that accept JSON only."""

SESSION_SECONDS = 300
"""A session ends after this many seconds without a request."""

PATH = "/mcp"
"""Path of the endpoint."""

_EVENTS = frozenset({b"text/event-stream", b"text/*", b"*/*"})
_JSON = frozenset({b"application/json", b"application/*"})
"""Media types by which a client accepts an event stream, and JSON."""

_SESSION = b"mcp-session-id"

_LOG = logging.getLogger(__name__)


async def serve_http(app: App, http: Http) -> None:
    """Serve until interrupted.

    Raises:
        ArgumentError: ``token-needed``: without a token, the server listens to this machine only.
        EnvironmentFault: ``port-unavailable``.
    """

    def make(callers: Callers) -> Asgi:
        asgi = _of_both_forms(app, http, callers)
        return guarded(asgi, http.token) if http.token else asgi

    def stop() -> None:
        app.projects.abandon()
        end_soon()

    await serve_asgi(
        make,
        http,
        started=lambda port: _LOG.info("rye listens on http://%s:%d%s", http.named, port, PATH),
        stop=stop,
    )


class _BothForms:
    """Answers with an event stream, or with JSON if a client accepts only that; a session keeps its form.

    Args:
        events, plain: The application of each form.
    """

    def __init__(self, events: Starlette, plain: Starlette) -> None:
        self._events, self._plain = events, plain
        self._plain_sessions: deque[bytes] = deque(maxlen=PLAIN_SESSIONS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        headers = [(name, value) for name, value in scope["headers"] if name != b"accept"]
        accepted = _forms(value for name, value in scope["headers"] if name == b"accept")
        session = dict(headers).get(_SESSION)
        is_plain = session in self._plain_sessions if session else not accepted & _EVENTS and bool(accepted & _JSON)
        if accepted & (_EVENTS | _JSON):  # the SDK wants both forms by their names
            scope = {**scope, "headers": [*headers, (b"accept", b"application/json, text/event-stream")]}

        async def note(message: Message) -> None:
            if message["type"] == "http.response.start" and not session:
                self._plain_sessions += [value for name, value in message["headers"] if name == _SESSION]
            await send(message)

        await (self._plain(scope, receive, note) if is_plain else self._events(scope, receive, send))


def _forms(accepts: Iterable[bytes]) -> frozenset[bytes]:
    """Return the media types that a client accepts; every type if it names none."""
    rows = [row.strip().lower().split(b";") for accept in accepts for row in accept.split(b",") if row.strip()]
    known = frozenset(row[0].strip() for row in rows if b"q=0" not in (part.strip() for part in row[1:]))
    return known if rows else frozenset({b"*/*"})


def _of_both_forms(app: App, http: Http, callers: Callers) -> Asgi:
    """Return the application that answers each client in a form that it accepts."""
    events, plain = (
        app.server().streamable_http_app(
            streamable_http_path=PATH,
            json_response=json_response,
            host=http.host,
            max_request_body_size=MAX_BODY,
            max_sessions=sessions,
            session_idle_timeout=SESSION_SECONDS,
            transport_security=TransportSecuritySettings(allowed_hosts=callers.hosts, allowed_origins=callers.origins),
        )
        for json_response, sessions in ((False, MAX_SESSIONS - PLAIN_SESSIONS), (True, PLAIN_SESSIONS))
    )

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        async with events.router.lifespan_context(events), plain.router.lifespan_context(plain):
            yield

    return Starlette(routes=[Mount("/", app=_BothForms(events, plain))], lifespan=life)
