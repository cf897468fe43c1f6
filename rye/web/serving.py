"""The application of a registry, and the server of its pages."""

from __future__ import annotations

import logging
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from rye.registry.registry import Registry
    from rye.surface.listener import Asgi, Callers, Http

    Use = Callable[[], AbstractContextManager[Registry]]


def app(registry: Registry) -> Asgi:
    """Return the ASGI application for a registry; the code that mounts it controls access."""
    from rye.registry.live import Live
    from rye.web.site import Site

    return Site(Live(lambda: registry).used).application()


def gated_app(use: Use, callers: Callers, token: str = "") -> Asgi:
    """Return the application for the registry that ``use`` yields, for these callers and this token, if any."""
    from rye.web.gate import gated
    from rye.web.site import Site

    return gated(Site(use).application(), callers, token)


def serve(open_registry: Callable[[], Registry], http: Http, *, is_opened: bool = False) -> None:
    """Serve the pages until interrupted, and index changes meanwhile.

    Args:
        open_registry: Opens the registry, at the start and whenever other folders hold items.
        http: Where to listen, and for whom.
        is_opened: Whether to open the browser.

    Raises:
        ArgumentError: The server would listen beyond this machine without a token.
        EnvironmentFault: The port cannot be used.
    """
    import anyio

    from rye.registry.live import Live
    from rye.surface.listener import serve_asgi

    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("rye.web").setLevel(logging.INFO)
    live = Live(open_registry, lambda _roots, _files: None)

    def started(port: int) -> None:
        address = f"http://{http.named}:{port}/"
        logging.getLogger("rye.web").info("rye serves %s", address)
        with live.used():
            pass  # from here on changes are indexed
        if is_opened:
            import webbrowser

            # a browser in the terminal returns only when it is left
            threading.Thread(target=webbrowser.open, args=(address,), name="rye-browser", daemon=True).start()

    async def run() -> None:
        await serve_asgi(
            lambda callers: gated_app(live.used, callers, http.token), http, started=started, stop=live.close
        )

    anyio.run(run)
