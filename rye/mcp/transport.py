"""Serving over standard input and output: lines of the client, answers to unreadable lines, and a quick end."""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, BinaryIO, cast

import anyio
from mcp import types
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from rye.mcp.server import App
from rye.mcp.startup import end_soon, text_of

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


async def signalled() -> None:
    """Wait for SIGTERM or SIGINT; forever on platforms that cannot wait, where a signal ends the process itself."""
    try:
        with anyio.open_signal_receiver(*_SIGNALS) as signals:
            async for _ in signals:
                return
    except NotImplementedError:
        await anyio.sleep_forever()


_AHEAD = 16
"""Lines that are read ahead."""

_LAST_ANSWERS = 60.0
"""Seconds in which requests are still answered after the client has closed its end of the pipe."""


class Lines:
    """The lines of a pipe. Create it in the event loop that reads them.

    Args:
        reading: The pipe.
    """

    def __init__(self, reading: BinaryIO) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._room = threading.Semaphore(_AHEAD)
        threading.Thread(target=self._read, args=(reading,), name="rye-lines", daemon=True).start()

    def _read(self, reading: BinaryIO) -> None:
        with suppress(RuntimeError):  # the loop has ended
            with suppress(OSError), text_of(reading) as lines:
                for line in lines:
                    self._room.acquire()
                    self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
            self._loop.call_soon_threadsafe(self._lines.put_nowait, None)

    async def __aiter__(self) -> AsyncIterator[str]:
        while (line := await self._lines.get()) is not None:
            self._room.release()
            yield line


_LOG = logging.getLogger(__name__)


async def serve_stdio(app: App, reading: BinaryIO, writing: BinaryIO) -> None:
    """Serve the client until it closes its end of the pipe, or until a signal ends the server."""
    async with anyio.create_task_group() as group:
        group.start_soon(_serve, app, reading, writing, group.cancel_scope)
        await signalled()
        end_soon()
        group.cancel_scope.cancel()


class Unanswered:
    """Requests that were read and not answered yet."""

    def __init__(self) -> None:
        self._ids = set[str]()
        self._none = anyio.Event()
        self._none.set()

    def read(self, message: SessionMessage) -> None:
        """Note a request, or its cancellation, which gets no answer."""
        match message.message:
            case types.JSONRPCRequest(id=request_id):
                self._ids.add(str(request_id))
                self._none = anyio.Event()
            case types.JSONRPCNotification(
                method="notifications/cancelled", params={"requestId": str() | int() as request_id}
            ):
                self._forget(request_id)

    def answered(self, message: SessionMessage) -> None:
        """Note an answer."""
        if isinstance(message.message, types.JSONRPCResponse | types.JSONRPCError):
            self._forget(message.message.id)

    def _forget(self, request_id: object) -> None:
        self._ids.discard(str(request_id))  # as the SDK takes 7 and "7" for one
        if not self._ids:
            self._none.set()

    async def wait(self) -> None:
        """Wait until every request is answered, at most :data:`_LAST_ANSWERS` seconds."""
        with anyio.move_on_after(_LAST_ANSWERS):
            await self._none.wait()


async def _serve(app: App, reading: BinaryIO, writing: BinaryIO, serving: anyio.CancelScope) -> None:
    server, unanswered = app.server(), Unanswered()
    stdin = cast("anyio.AsyncFile[str]", Lines(reading))
    send, receive = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    answer, answers = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        with text_of(writing) as output:
            async with (
                stdio_server(stdin, anyio.wrap_file(output)) as (incoming, outgoing),
                incoming,
                outgoing,
                send,
                receive,
                answers,
                anyio.create_task_group() as group,
            ):
                group.start_soon(_readable, incoming, send, outgoing, unanswered)
                group.start_soon(_written, answers, outgoing, unanswered)
                await server.run(receive, answer, server.create_initialization_options())
                group.cancel_scope.cancel()
    except* BrokenPipeError:
        _LOG.info("the client closed its end of the pipe")
    end_soon()
    serving.cancel()


async def _readable(incoming: Any, send: Any, outgoing: Any, unanswered: Unanswered) -> None:
    """Forward valid messages and answer invalid lines; at the end of the pipe, wait for the last answers."""
    async with send:
        async for message in incoming:
            if isinstance(message, ValueError):
                is_json = "Invalid JSON" not in str(message)  # as the SDK's models say of a line that is none
                code = types.INVALID_REQUEST if is_json else types.PARSE_ERROR
                error = types.ErrorData(code=code, message="the line is not a JSON-RPC message")
                await outgoing.send(SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=None, error=error)))
            else:
                unanswered.read(message)
                await send.send(message)
        await unanswered.wait()


async def _written(answers: Any, outgoing: Any, unanswered: Unanswered) -> None:
    async for message in answers:
        await outgoing.send(message)
        unanswered.answered(message)
