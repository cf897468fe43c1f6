"""What the log of a server over HTTP says, and how long it waits for a request."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import sys
from typing import Any

import anyio
import pytest
import uvicorn
from uvicorn.server import ServerState

from rye.surface import listener
from rye.surface.listener import Connection, LogFilter


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
    assert LogFilter().filter(record)
    assert (record.exc_info is not None) == reported


def test_a_record_is_logged_a_few_times_in_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fifth says that there will be no more; the first of the next minute, how many there were."""
    now = [0.0]
    monkeypatch.setattr("rye.surface.listener.time.monotonic", lambda: now[0])
    found = LogFilter()

    def log() -> str:
        record = logging.LogRecord("rye", logging.WARNING, "a.py", 1, "refused %s", ("a\x1b[2J\nb",), None)
        return record.getMessage() if found.filter(record) else ""

    said = [log() for _ in range(8)]
    assert said[:4] == ["refused a\\x1b[2J b"] * 4
    assert said[4:] == ["refused a\\x1b[2J b; the next ones within a minute are not logged", "", "", ""]
    now[0] = 61.0
    assert log() == "refused a\\x1b[2J b (3 like it were not logged)"


def test_two_handlers_log_a_record_alike() -> None:
    """It counts once, and what is added stands in it once."""
    found = LogFilter()
    records = [logging.LogRecord("rye", logging.WARNING, "a.py", 1, "refused", (), None) for _ in range(8)]
    said = [[record.getMessage() if found.filter(record) else "" for _ in range(2)] for record in records]
    last = "refused; the next ones within a minute are not logged"
    assert said == [[text, text] for text in (*["refused"] * 4, last, "", "", "")]


def test_no_answer_waits_for_an_acknowledgement() -> None:
    """A connection sends at once, however small the piece: bodies came 40 ms late on connections that are kept."""
    with (
        listener._listen(listener.Http(port=0)) as listening,
        socket.create_connection(listening.getsockname()),
        listening.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost:",
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET",
        b"PUT / HTTP/1.1\r\nContent-Length: 9\r\n\r\n",
    ],
)
def test_a_request_that_does_not_arrive_is_not_waited_for(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection is closed in time, whatever part of the request is missing."""
    monkeypatch.setattr(listener, "REQUEST_SECONDS", 0.05)

    async def app(_scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"ok"})

    async def run() -> None:
        config = uvicorn.Config(app, http=Connection, log_config=None)
        config.load()
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Connection(config, ServerState(), {}), "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(sent)
        with contextlib.suppress(ConnectionResetError):
            await asyncio.wait_for(reader.read(), 20)
        writer.close()
        server.close()

    asyncio.run(run())


@pytest.mark.parametrize(("port", "is_named_without"), [(80, True), (8642, False)])
def test_the_port_of_http_is_left_out(port: int, *, is_named_without: bool) -> None:
    """A browser names ``localhost`` for port 80, and ``localhost:8642`` for any other."""
    callers = listener._callers(listener.Http(port=port), port)
    assert ("localhost" in callers.hosts) == ("http://[::1]" in callers.origins) == is_named_without
    assert f"localhost:{port}" in callers.hosts
