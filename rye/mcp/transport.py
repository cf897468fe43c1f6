"""Serving over standard input and output: lines of the client, answers to unreadable ones, and a prompt end."""

from __future__ import annotations

import asyncio
import logging
import re
import signal
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import suppress
from json import JSONDecodeError, loads
from typing import Any, BinaryIO, cast

import anyio
from mcp import types
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from rye.mcp.server import App
from rye.mcp.startup import end_soon, text_of

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


async def signalled() -> None:
    """Wait for SIGTERM or SIGINT; for ever where the platform cannot wait: there they end the process themselves."""
    try:
        with anyio.open_signal_receiver(*_SIGNALS) as signals:
            async for _ in signals:
                return
    except NotImplementedError:
        await anyio.sleep_forever()


_AHEAD = 16
"""Lines that are read ahead."""


class Lines:
    """The lines of a pipe. Made in the event loop that takes them.

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
            end_soon()
            self._loop.call_soon_threadsafe(self._lines.put_nowait, None)

    async def __aiter__(self) -> AsyncIterator[str]:
        while (line := await self._lines.get()) is not None:
            self._room.release()
            yield line


_TOKEN = re.compile(r'"(?:[^"\\]+|\\.)*"?|[{}\[\]:,]|[^\s"{}\[\]:,]+', re.DOTALL)
_NUMBER = re.compile(r"-?\d{1,18}", re.ASCII)
_TOO_DEEP = "recursion limit"
"""Part of the message of pydantic for more than 200 levels."""


def refusal_of(fault: Any) -> types.JSONRPCError | None:
    """Return the error that answers a line; None for a blank one, a notification or an answer, which get none.

    Args:
        fault: The error of pydantic for the line.
    """
    try:
        found = fault.errors(include_url=False)
    except (AttributeError, TypeError):
        return None
    if found[0]["type"] == "json_invalid":
        line = str(found[0]["input"])
        if not line.strip():
            return None
        deep = _TOO_DEEP in found[0]["msg"]
        code = types.INVALID_REQUEST if deep else types.PARSE_ERROR
        message = "the request is nested too deep: 200 levels at most" if deep else "the request cannot be read as JSON"
        return _error(_outermost(line), code, message)
    whole = next((each["input"] for each in found if each["type"] == "missing" and len(each["loc"]) == 2), None)
    return _error(whole if isinstance(whole, dict) else {}, types.INVALID_REQUEST, "the line is no JSON-RPC request")


def _error(request: Mapping[str, Any], code: int, message: str) -> types.JSONRPCError | None:
    if {"result", "error"} & set(request) or ("method" in request and "id" not in request):
        return None
    wanted = request.get("id")
    right = isinstance(wanted, int) and not isinstance(wanted, bool)
    if isinstance(wanted, str):
        right = wanted.isprintable()  # half a surrogate pair cannot be sent back
    return types.JSONRPCError(
        jsonrpc="2.0", id=wanted if right else None, error=types.ErrorData(code=code, message=message)
    )


def _outermost(line: str) -> dict[str, Any]:
    """Return the plain values of the outermost object of a line, however deeply the line is nested."""
    found: dict[str, Any] = {}
    for key, value in _pairs(line):
        if value.startswith('"'):
            try:
                found[key] = loads(value)
            except JSONDecodeError:
                found[key] = None
        else:
            found[key] = int(value) if _NUMBER.fullmatch(value) else None
    return found


def _pairs(line: str) -> Iterator[tuple[str, str]]:
    """Yield the keys of the outermost object, each with the first token of its value."""
    depth, last, key = 0, "", ""
    for part in (match[0] for match in _TOKEN.finditer(line)):
        if key:
            yield key, part
            key = ""
        if part in {"{", "["}:
            depth += 1
        elif part in {"}", "]"}:
            depth -= 1
        elif part == ":" and depth == 1 and line.lstrip().startswith("{"):
            key = last.strip('"')
        last = part


_LOG = logging.getLogger(__name__)


async def serve_stdio(app: App, reading: BinaryIO, writing: BinaryIO) -> None:
    """Serve the client at the other end of the wire until it closes its end, or a signal ends the server."""
    async with anyio.create_task_group() as group:
        group.start_soon(_serve, app, reading, writing, group.cancel_scope)
        await signalled()
        end_soon()
        group.cancel_scope.cancel()


async def _serve(app: App, reading: BinaryIO, writing: BinaryIO, whole: anyio.CancelScope) -> None:
    server = app.server()
    stdin = cast("anyio.AsyncFile[str]", Lines(reading))
    send, receive = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    try:
        with text_of(writing) as output:
            async with (
                stdio_server(stdin, anyio.wrap_file(output)) as (incoming, outgoing),
                incoming,
                outgoing,
                send,
                receive,
                anyio.create_task_group() as group,
            ):
                group.start_soon(_readable, incoming, send, outgoing)
                await server.run(receive, outgoing, server.create_initialization_options())
                group.cancel_scope.cancel()
    except* BrokenPipeError:
        _LOG.info("the client closed its end of the pipe")
    whole.cancel()


async def _readable(incoming: Any, send: Any, outgoing: Any) -> None:
    """Forward valid messages and answer invalid lines: a client would wait for ever for that answer."""
    async with send:
        async for message in incoming:
            if not isinstance(message, ValueError):
                await send.send(message)
            elif (answer := refusal_of(message)) is not None:
                await outgoing.send(SessionMessage(answer))
