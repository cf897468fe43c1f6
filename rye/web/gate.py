"""The gate before the pages: allowed hosts and origins, the token, and the headers of every answer."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import PlainTextResponse

from rye.surface.listener import BROWSER, Asgi, Callers, Receive, Scope, Send, guarded
from rye.web.address import ROOT

SAFE_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
"""Headers of every answer: no inline script, nothing loaded from other origins, no framing."""

_COMPRESSED_FROM = 1_000
"""Bytes from which an answer is compressed."""


def gated(asgi: Asgi, callers: Callers, token: str) -> Asgi:
    """Return an application that answers callers who name an allowed host and show the token, if there is one."""
    inner = guarded(asgi, token, challenge=BROWSER) if token else asgi
    return _Gate(inner, callers)


def hardened(asgi: Asgi) -> Asgi:
    """Return an application that adds the safe headers, compresses long answers, and accepts no request body."""
    return _Hardened(GZipMiddleware(asgi, minimum_size=_COMPRESSED_FROM, compresslevel=4))


class _Gate:
    """Refuses other hosts and origins, so that no web page elsewhere can read an answer."""

    def __init__(self, asgi: Asgi, callers: Callers) -> None:
        self._asgi, self._callers = asgi, callers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._asgi(scope, receive, send)
            return
        headers = Headers(scope=scope)
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or not _is_among(hosts[0], self._callers.hosts):
            text = "the host name is not allowed; allow it with --allow-host NAME\n"
            await PlainTextResponse(text, 421)(scope, receive, send)
        elif any(not _is_among(origin, self._callers.origins) for origin in origins):
            await PlainTextResponse("pages of other servers may not ask this one\n", 403)(scope, receive, send)
        else:
            await self._asgi(scope, receive, send)


def _is_among(value: str, allowed: Sequence[str]) -> bool:
    return value.lower() in {name.lower() for name in allowed}


class _Hardened:
    def __init__(self, asgi: Asgi) -> None:
        self._asgi = asgi

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that only reads; refuse one that brings a body."""
        if scope["type"] != "http":
            await self._asgi(scope, receive, send)
            return

        ROOT.set(quote(scope.get("root_path", "")))

        async def send_safely(message: Scope) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message.setdefault("headers", []))
                headers.update(SAFE_HEADERS)
            await send(message)

        given = Headers(scope=scope)
        if given.get("content-length", "0") != "0" or "transfer-encoding" in given:
            refusal = PlainTextResponse("requests have no body here\n", 413, {"connection": "close"})
            await refusal(scope, receive, send_safely)
            return
        await self._asgi(scope, receive, send_safely)
