"""What the log of a server over HTTP says, and who may call it."""

from __future__ import annotations

import logging
import socket
import sys

import anyio
import pytest

from rye.surface import listener
from rye.surface.listener import escape


@pytest.mark.parametrize(("fault", "reported"), [(anyio.ClosedResourceError(), False), (ValueError("odd"), True)])
@pytest.mark.parametrize("answered", [False, True])
def test_a_client_that_leaves_is_no_fault(fault: Exception, *, reported: bool, answered: bool) -> None:
    """It is logged in one line, also where the library then fails to answer it; any other fault keeps its traceback."""
    try:
        try:
            raise fault  # noqa: TRY301 - to be handled, as in the library
        except Exception:
            if answered:
                raise RuntimeError("the response is completed")  # noqa: B904 - as the library does
            raise
    except Exception:  # noqa: BLE001 - whichever it is
        record = logging.LogRecord("uvicorn.error", logging.ERROR, "", 0, "failed", None, sys.exc_info())
    assert escape(record)
    assert (record.exc_info is not None) == reported


def test_what_callers_send_is_escaped() -> None:
    """It can neither draw on a terminal nor begin a line."""
    record = logging.LogRecord("rye", logging.WARNING, "a.py", 1, "refused %s", ("a\x1b[2J\nb",), None)
    assert escape(record)
    assert record.getMessage() == "refused a\\x1b[2J b"


def test_no_answer_waits_for_an_acknowledgement() -> None:
    """A connection sends at once, however small the piece: bodies came 40 ms late on connections that are kept."""
    with (
        listener._listen(listener.Http(port=0)) as listening,
        socket.create_connection(listening.getsockname()),
        listening.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize(("port", "is_named_without"), [(80, True), (8642, False)])
def test_the_port_of_http_is_left_out(port: int, *, is_named_without: bool) -> None:
    """A browser names ``localhost`` for port 80, and ``localhost:8642`` for any other."""
    callers = listener._callers(listener.Http(port=port), port)
    assert ("localhost" in callers.hosts) == ("http://[::1]" in callers.origins) == is_named_without
    assert f"localhost:{port}" in callers.hosts
