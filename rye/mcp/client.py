"""The client's side of the skills extension: reads every skill of a server, one after the other, and has it checked."""

from __future__ import annotations

import logging
import os
from base64 import b64decode
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import anyio
import httpx2
from mcp import Client, types
from mcp.client import advertise
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.exceptions import MCPError

from rye._text import inline
from rye.errors import ArgumentError, EnvironmentFault, ItemError, RyeError
from rye.mcp.skills import EXTENSION

if TYPE_CHECKING:
    from rye.registry import ServerCheck, ServerSkill

MAX_PAGES: Final = 1_000
MAX_SKILLS: Final = 10_000
"""How many pages and skills of one server are read."""

MAX_ANSWER: Final = 64 << 20
"""Bytes of one answer over HTTP."""

MAX_BYTES: Final = 1 << 30
"""Bytes of all skills of one server together."""

MAX_SECONDS: Final = 900
"""Seconds in which all of them must be read."""

_PATIENCE: Final = 60
"""Seconds until an answer must be there."""


class _Request(types.Request[dict[str, Any], str]):
    """A request of the extension."""

    method: str
    params: dict[str, Any]


class _Page(types.PaginatedResult):
    """A page of skills; what stands in each is judged by the check."""

    skills: list[Any]


def check_server(server: str, command: Sequence[str], check: ServerCheck, token: str = "") -> list[ServerSkill]:
    """Read every skill of a server and return what the check says of each, and of those that are gone.

    Args:
        server: Its URL; ``-`` for the one that the command starts.
        command: The program and its arguments; empty for a URL.
        check: Decides, and remembers what is accepted.
        token: What a server at a URL is shown; it is sent nowhere else, also where the server redirects.

    Raises:
        ArgumentError: ``bad-server``.
        EnvironmentFault: ``server-unreadable``: there is none, it serves no skills, or it ends before all is read.
    """
    if not command and not server.startswith(("http://", "https://")):
        hint = "write http://HOST:PORT/PATH, or - and the command after --"
        raise ArgumentError("bad-server", f"{server!r} is no URL of a server", hint=hint)
    logging.getLogger("mcp").addHandler(logging.NullHandler())  # else its log writes raw what a server sends
    try:
        if not command:
            return anyio.run(_check_url, server, token, check)
        return anyio.run(_check_started, StdioServerParameters(command=command[0], args=list(command[1:])), check)
    except Exception as error:  # noqa: BLE001 - whatever a server or the connection to it does
        fault: BaseException = error
        while isinstance(fault, BaseExceptionGroup):
            fault = fault.exceptions[0]
        if isinstance(fault, RyeError):
            raise fault from None
        if isinstance(fault, TimeoutError):
            fault = _without_end(f"takes more than {MAX_SECONDS} seconds")
            raise fault from None
        message = f"the server cannot be read: {inline(str(fault)[:500]) or type(fault).__name__}"
        hint = "check that it runs and speaks MCP; a server that asks for a token is shown that in RYE_VERIFY_TOKEN"
        raise EnvironmentFault("server-unreadable", message.replace(token or "\0", "***"), hint=hint) from None


class _Bounded(httpx2.AsyncByteStream):
    """The body of an answer, which may not be larger than a verification can hold."""

    def __init__(self, body: httpx2.AsyncByteStream) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._body:
            size += len(chunk)
            if size > MAX_ANSWER:
                raise _too_large()
            yield chunk

    async def aclose(self) -> None:
        await self._body.aclose()


def _too_large() -> EnvironmentFault:
    message = f"an answer of the server is compressed or longer than {MAX_ANSWER:,} bytes"
    return EnvironmentFault("server-unreadable", message, hint="ask who runs it")


async def _bound(response: httpx2.Response) -> None:
    if response.headers.get("content-encoding", "identity") != "identity":
        raise _too_large()  # it was not asked for, and a small one may become any size
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _Bounded(response.stream)


async def _check_url(url: str, token: str, check: ServerCheck) -> list[ServerSkill]:
    headers = {"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {token}"} if token else {})
    async with create_mcp_http_client(headers=headers) as own:
        own.event_hooks = {"response": [_bound]}
        return await _check(streamable_http_client(url, http_client=own), check)


async def _check_started(program: StdioServerParameters, check: ServerCheck) -> list[ServerSkill]:
    with open(os.devnull, "w", encoding="utf-8") as nowhere:  # noqa: PTH123, ASYNC230 - its words would pass for ours
        return await _check(stdio_client(program, errlog=nowhere), check)


async def _check(where: Any, check: ServerCheck) -> list[ServerSkill]:
    with anyio.fail_after(MAX_SECONDS):
        return await _check_all(where, check)


async def _check_all(where: Any, check: ServerCheck) -> list[ServerSkill]:
    found: list[ServerSkill] = []
    async with Client(where, read_timeout_seconds=_PATIENCE, extensions=[advertise(EXTENSION)], cache=None) as client:
        if EXTENSION not in (client.server_capabilities.extensions or {}):
            message = "the server does not declare the extension io.modelcontextprotocol/skills"
            raise EnvironmentFault("server-unreadable", message, hint="only servers that declare it serve skills")
        cursor = None
        for _ in range(MAX_PAGES):
            request = _Request(method="skills/list", params={"cursor": cursor} if cursor else {})
            page = await client.session.send_request(request, _Page)
            if len(found) + len(page.skills) > MAX_SKILLS:
                break
            found += [await _checked(client, entry, check) for entry in page.skills]
            cursor = page.next_cursor
            if cursor is None:
                return found + check.finish()
    raise _without_end(f"lists more than {MAX_SKILLS:,} skills, or pages without end")


def _without_end(what: str) -> EnvironmentFault:
    return EnvironmentFault("server-unreadable", f"the server {what}", hint="ask who runs it")


async def _checked(client: Client, entry: Any, check: ServerCheck) -> ServerSkill:
    """Read the files of a skill once its entry is found to be one, and have them checked."""
    uri = str(entry.get("uri", ""))[:300] if isinstance(entry, Mapping) else ""
    try:
        uri, files = check.wanted(entry)
        if check.size > MAX_BYTES:
            raise _without_end(f"has skills of more than {MAX_BYTES:,} bytes together")
        return check.check(entry, files, {name: await _read(client, name) for name in files})
    except ItemError as error:
        return check.refused(uri, error)


async def _read(client: Client, uri: str) -> bytes:
    """Return the bytes of a resource.

    Raises:
        ItemError: ``not-a-skill``: the server gives none, or not just one.
    """
    try:
        (content,) = (await client.read_resource(uri)).contents
        return content.text.encode() if isinstance(content, types.TextResourceContents) else b64decode(content.blob)
    except (MCPError, ValueError) as error:
        why = inline(str(error)[:300])
        raise ItemError("not-a-skill", f"{uri} cannot be read: {why}", hint="ask who runs the server") from None
