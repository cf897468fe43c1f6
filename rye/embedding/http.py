"""One HTTP request with a deadline, however slowly the server answers, and a limit of bytes.

Socket timeouts, also those of ``httpx``, restart with every byte, so a server that sends one byte now and then never
triggers them. Here each read and write of the connection may take only the time left until the deadline.
"""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import time
from collections.abc import Mapping
from contextlib import closing
from typing import Any, Final, cast
from urllib.parse import SplitResult, urlsplit

OK: Final = 200
_ERROR_BYTES: Final = 4096
"""Bytes read of an error response."""


def post(url: str, headers: Mapping[str, str], body: bytes, *, deadline: float, limit: int) -> tuple[int, bytes]:
    """Send one POST request; return status and body of the response.

    Redirects are not followed, because they would carry the key and the texts elsewhere.

    Args:
        url: An ``http`` or ``https`` URL.
        headers: Sent unchanged.
        body: The request body.
        deadline: The deadline, by ``time.monotonic()``.
        limit: Most bytes of the response body. Of a longer body one more byte is returned; if the status is not 200,
            only its beginning.

    Raises:
        TimeoutError: The deadline has passed.
        OSError: There is no connection, or it ended before the response did.
        http.client.HTTPException, ValueError: The response is not valid HTTP.
    """
    parts = urlsplit(url)
    connection, sock = _connected(parts, deadline)
    with closing(sock):
        connection.request("POST", parts.path, body, headers)
        with connection.getresponse() as answer:
            data = answer.read(limit + 1 if answer.status == OK else _ERROR_BYTES)
            if answer.status == OK and len(data) <= limit and answer.length:
                message = "the server closed the connection in the middle of its answer"
                raise ConnectionError(message)
        return answer.status, data


def _connected(parts: SplitResult, deadline: float) -> tuple[http.client.HTTPConnection, socket.socket]:
    """Open a connection. Also return its socket, which closing the connection does not close."""
    host, is_secure = parts.hostname or "", parts.scheme == "https"
    port = parts.port or (443 if is_secure else 80)
    sock = socket.create_connection((host, port), _left(deadline))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection = http.client.HTTPConnection(host, port)
    if is_secure:
        context = ssl.create_default_context()
        sock.settimeout(_left(deadline))
        sock = context.wrap_socket(sock, server_hostname=host)
        connection = http.client.HTTPSConnection(host, port, context=context)
    connection.sock = cast("socket.socket", _TimedSocket(sock, deadline))
    return connection, sock


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


class _TimedSocket(io.RawIOBase):
    """The part of a socket that ``http.client`` uses. Each read and write may take the time left until the deadline."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self._sock, self._deadline = sock, deadline

    def _ready(self) -> socket.socket:
        self._sock.settimeout(_left(self._deadline))
        return self._sock

    def sendall(self, data: bytes) -> None:
        self._ready().sendall(data)

    def makefile(self, *_: object) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._ready().recv_into(buffer)

    def close(self) -> None:
        """Do nothing: ``http.client`` closes the socket while it still reads the response."""
