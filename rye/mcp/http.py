"""Serving over streamable HTTP, to clients that name an allowed host and show the token."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.types import Receive, Scope, Send

from rye.mcp.server import App
from rye.mcp.startup import end_soon
from rye.surface.listener import Asgi, Callers, Http, guarded, serve_asgi

MAX_BODY = 1_048_576
"""Bytes of one request."""

MAX_SESSIONS = 250
"""Sessions of clients of the protocol of 2025."""

SESSION_SECONDS = 300
"""A session in which nothing was asked for so long ends."""

PATH = "/mcp"
"""The path at which the server answers."""

_EVENTS = (b"text/event-stream", b"text/*", b"*/*")
_JSON = (b"application/json", b"application/*")
"""Values of ``Accept`` with which a client takes a stream of events, and JSON."""

_LOG = logging.getLogger(__name__)


async def serve_http(app: App, http: Http) -> None:
    """Serve until interrupted.

    Raises:
        ArgumentError: ``token-needed``: without a token, only this machine may reach it.
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


def _of_both_forms(app: App, http: Http, callers: Callers) -> Asgi:
    """Return an application that answers with events, and clients that accept JSON alone with JSON."""
    events, plain = (
        app.server().streamable_http_app(
            streamable_http_path=PATH,
            json_response=json_response,
            host=http.host,
            max_request_body_size=MAX_BODY,
            max_sessions=MAX_SESSIONS,
            session_idle_timeout=SESSION_SECONDS,
            transport_security=TransportSecuritySettings(allowed_hosts=callers.hosts, allowed_origins=callers.origins),
        )
        for json_response in (False, True)
    )

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        async with events.router.lifespan_context(events), plain.router.lifespan_context(plain):
            yield

    async def choose(scope: Scope, receive: Receive, send: Send) -> None:
        accepted = b",".join(value for name, value in scope["headers"] if name == b"accept") or b"*/*"
        takes_events, takes_json = (any(form in accepted for form in forms) for forms in (_EVENTS, _JSON))
        if takes_events or takes_json:  # the SDK wants both forms by their names
            others = [(name, value) for name, value in scope["headers"] if name != b"accept"]
            scope = {**scope, "headers": [*others, (b"accept", b"application/json, text/event-stream")]}
        is_plain = scope["method"] == "POST" and takes_json and not takes_events
        await (plain if is_plain else events)(scope, receive, send)

    return Starlette(routes=[Mount("/", app=choose)], lifespan=life)
