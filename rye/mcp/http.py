"""Serving over streamable HTTP, to clients that name an allowed host and show the token."""

from __future__ import annotations

import logging

from mcp.server.transport_security import TransportSecuritySettings

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
            max_sessions=MAX_SESSIONS,
            session_idle_timeout=SESSION_SECONDS,
            transport_security=TransportSecuritySettings(allowed_hosts=callers.hosts, allowed_origins=callers.origins),
        )
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
