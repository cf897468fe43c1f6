"""Embedders behind HTTP: Ollama's ``/api/embed`` and the ``/embeddings`` of OpenAI, which many servers speak.

A server is not believed: a request has an end however slowly it is answered, an answer has a largest size, a redirect
is not followed (it would carry the key and the texts elsewhere), and what comes is checked before it is used.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit

import numpy as np

from rye._text import inline
from rye.embedding.choice import Choice
from rye.embedding.protocol import Bools, Floats, RefusedError, failed, unit_rows
from rye.errors import UnavailableError

THRESHOLD: Final = 0.35
"""The similarity below which nothing is found, for a model that the choice gives none for."""

ATTEMPTS: Final = 3
"""How often a request is sent that was refused at once, or answered as one to send again."""

PAUSE: Final = 0.25
"""Seconds before the second attempt; twice as many before each further one."""

MAX_ANSWER: Final = 64 << 20
"""Bytes of an answer."""

_MAX_SHOWN = 200
_ERROR_BYTES = 4096
_AGAIN = frozenset({429, 500, 502, 503, 504})
_REFUSES = frozenset({400, 413, 422, 500})
"""How servers answer a text that is too long for them, or that they cannot embed: llama.cpp and Ollama with 500."""

_SHORT: Final = 64
"""Characters of a text that is not shortened any more."""


def _read_openai(answer: Any) -> Any:
    """Return the vectors in the order of the texts: each says to which of them it belongs."""
    rows = {row["index"]: row["embedding"] for row in answer["data"]}
    return [rows[number] for number in range(len(answer["data"]))]


_DIALECTS: Final[Mapping[str, tuple[str, Callable[[Any], Any]]]] = {
    "ollama": ("/api/embed", lambda answer: answer["embeddings"]),
    "openai": ("/embeddings", _read_openai),
}
"""The path of each kind of server, and the function that takes the vectors out of its answer."""


class _Unreachable(Exception):
    """The server cannot be reached or is busy: the request may be sent again."""


class ServerEmbedder:
    """Gets vectors from a server over HTTP. Safe to use from several threads: each request has a connection of its own.

    Args:
        choice: Which server, which model, and how to ask.
        key: Sent as a bearer token if there is one.
        pause: Seconds before the second attempt; twice as many before each further one.
        max_answer: Bytes of an answer that are read.

    Raises:
        UnavailableError: ``embedder-insecure``: the key would go over an open connection to another machine.
    """

    def __init__(self, choice: Choice, key: str = "", *, pause: float = PAUSE, max_answer: int = MAX_ANSWER) -> None:
        self._choice = choice
        self._pause, self._max_answer = pause, max_answer
        self._path, self._vectors = _DIALECTS[choice.kind]
        self._place = urlsplit(choice.url)
        self._name = f"{choice.kind}:{inline(choice.model)}"
        self._late = f"no answer within {choice.timeout:g} seconds"
        self._headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "rye"}
        if key and self._place.scheme == "http" and not _is_here(self._place.hostname or ""):
            message = f"the key of {self._name} would be sent unencrypted to {self._place.hostname}"
            raise UnavailableError("embedder-insecure", message, hint="use https, or unset the variable of the key")
        if not (key.isascii() and key.isprintable()):
            message = f"the variable {choice.key_variable} holds no key: it has characters that no key has"
            raise UnavailableError("embedder-insecure", message, hint="set it to the key alone")
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self.model = f"{choice.kind}:{choice.model}@{choice.url}"
        if choice.document_prefix:
            self.model += f" after {choice.document_prefix!r}"
        self.chunk_chars, self.overlap_chars, chunks = choice.chunks()
        self.model += chunks
        self.threshold = THRESHOLD if choice.threshold is None else choice.threshold
        self.batch = choice.batch
        self._dimensions = 0

    @property
    def dimensions(self) -> int:
        """Length of a vector, as in the server's first answer."""
        return self._dimensions or int(self.embed(["dimensions"]).shape[1])

    def embed(self, texts: Sequence[str]) -> Floats:
        """See :class:`rye.embedding.Embedder`; the texts are those of items.

        Raises:
            UnavailableError: ``embedder-unreachable``, ``model-missing`` or ``embedder-failed``.
        """
        return self.embed_shortened(texts)[0]

    def embed_shortened(self, texts: Sequence[str]) -> tuple[Floats, Bools]:
        """Embed texts as :meth:`embed`; return also which of the rows are of the beginning of a text alone."""
        whole, shortened = [self._choice.document_prefix + text for text in texts], set[str]()
        rows = self._embed_all(whole, shortened)
        return rows, np.asarray([text in shortened for text in whole], np.bool_)

    def embed_query(self, text: str) -> Floats:
        """Return the vector of a query; otherwise as :meth:`embed`."""
        found: Floats = self._embed_all([self._choice.query_prefix + text], set())[0]
        if not found.any():
            raise failed(self._name, "refuses the query, or answers it with zeros")
        return found

    def _embed_all(self, texts: Sequence[str], shortened: set[str]) -> Floats:
        size = self._choice.batch
        found = [self._embed_some(texts[start : start + size], shortened) for start in range(0, len(texts), size)]
        if len({rows.shape[1] for rows in found}) > 1:
            raise failed(self._name, "answered with vectors of different lengths")
        if not found:
            return np.zeros((0, self.dimensions), np.float32)
        self._dimensions = found[0].shape[1]
        return np.concatenate(found)

    def _embed_some(self, texts: Sequence[str], shortened: set[str], width: int = 0) -> Floats:
        """Return vectors; where the server refuses, by halves, then of the beginning of a text, at last zeros.

        Args:
            texts: Those of one request.
            shortened: The texts of which only the beginning was embedded are added to it.
            width: Length of a vector, once the server has refused something and taken something else.
        """
        try:
            return self._embed(texts, patient=not width)
        except RefusedError as refused:
            width = width or self._width(refused)
            if half := len(texts) // 2:
                rows = [self._embed_some(some, shortened, width) for some in (texts[:half], texts[half:])]
                if rows[0].shape[1] != rows[1].shape[1]:
                    raise failed(self._name, "answered with vectors of different lengths") from None
                return np.concatenate(rows)
            if len(texts[0]) > _SHORT:
                shortened.add(texts[0])
                return self._embed_some([texts[0][: len(texts[0]) // 2]], shortened, width)
            return np.zeros((1, width), np.float32)

    def _width(self, refused: RefusedError) -> int:
        """Return the length of a vector.

        Raises:
            RefusedError: The server refuses a short text as well, so it refuses everything.
            UnavailableError: It fails otherwise.
        """
        try:
            return int(self._embed(["dimensions"], patient=False).shape[1])
        except RefusedError:
            raise refused from None

    def _embed(self, texts: Sequence[str], *, patient: bool) -> Floats:
        sendable = [text.encode("utf-8", "replace").decode() or " " for text in texts]
        answer = self._asked(json.dumps({"model": self._choice.model, "input": sendable}).encode(), patient=patient)
        try:
            rows = self._vectors(answer)
        except (KeyError, TypeError, IndexError):
            raise failed(self._name, "answered with something other than vectors") from None
        return unit_rows(self._name, rows, len(texts))

    def _asked(self, body: bytes, *, patient: bool) -> Any:
        """Send one request, again where that may help, and return the JSON of its answer.

        Args:
            body: What is sent.
            patient: Whether what may be a refusal is asked for again.
        """
        until = time.monotonic() + self._choice.timeout  # for all attempts together
        pause, problem, status = self._pause, "", 0
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(min(pause, max(until - time.monotonic(), 0)))
                pause *= 2
            try:
                status, data = self._exchange(body, until)
            except _Unreachable as error:
                problem, status = str(error), 0
            else:
                if status == http.client.OK:
                    try:
                        return json.loads(data)
                    except (ValueError, RecursionError):
                        problem = f"answered with something other than JSON: {_excerpt(data)}"
                        raise failed(self._name, problem) from None
                problem = f"HTTP status {status}: {_excerpt(data)}"
                if status not in _AGAIN or (status in _REFUSES and not patient):
                    raise self._fault(status, problem)
            if time.monotonic() >= until:
                break
        raise self._fault(status, problem) if status else self._unreachable(problem)

    def _exchange(self, body: bytes, until: float) -> tuple[int, bytes]:
        """Return status and body of one answer; when the time is up the connection is cut, whatever it waits for."""
        left = until - time.monotonic()
        if left <= 0:
            raise _Unreachable("the time is up")
        connection = self._connection(left)
        cutter = _Cutter(connection)
        # timeouts of sockets count from byte to byte: a server that sends one now and then would never run into them
        timer = threading.Timer(left, cutter.cut)
        timer.daemon = True
        timer.start()
        try:
            connection.connect()
            cutter.socket = connection.sock
            connection.request("POST", f"{self._place.path}{self._path}", body, self._headers)
            with connection.getresponse() as answer:
                # one byte more than is allowed tells a longer answer from one of just that length
                most = self._max_answer if answer.status == http.client.OK else _ERROR_BYTES
                data = answer.read(most + 1)
                cut_short = answer.status == http.client.OK and len(data) <= most and (answer.length or 0) > 0
        except (OSError, http.client.HTTPException, ValueError) as error:
            late = cutter.is_cut or isinstance(error, TimeoutError)
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise _Unreachable(self._late if late else inline(reason)[:_MAX_SHOWN]) from None
        finally:
            timer.cancel()
            connection.close()
        if cutter.is_cut:
            raise _Unreachable(self._late)
        if cut_short:
            raise _Unreachable("the server closed the connection in the middle of its answer")
        if answer.status == http.client.OK and len(data) > most:
            raise failed(self._name, f"answered with more than {self._max_answer >> 20} MiB")
        return answer.status, data

    def _connection(self, timeout: float) -> http.client.HTTPConnection:
        host, port = self._place.hostname or "", self._place.port
        if self._place.scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=timeout, context=ssl.create_default_context())
        return http.client.HTTPConnection(host, port, timeout=timeout)

    def _fault(self, status: int, problem: str) -> UnavailableError:
        if 300 <= status < 400:
            return failed(
                self._name, f"redirects ({problem}), which is not followed; give the URL that it redirects to"
            )
        if status in {401, 403}:
            hint = f"set {self._choice.key_variable} to a key that it accepts"
            message = f"the embedder {self._name} rejects the key, or requires one ({problem})"
            return UnavailableError("embedder-failed", message, hint=hint, embedder=self._name)
        if status == 404:
            hint = f"for Ollama: ollama pull {inline(self._choice.model)}" if self._choice.kind == "ollama" else ""
            message = (
                f"the server at {self._choice.url} does not have the model {inline(self._choice.model)} ({problem})"
            )
            hint = hint or "check model and URL"
            return UnavailableError("model-missing", message, hint=hint, embedder=self._name)
        if status == http.client.TOO_MANY_REQUESTS:
            message, hint = f"the embedder {self._name} gets too many requests ({problem})", "try again later"
            return UnavailableError("embedder-failed", message, hint=hint, embedder=self._name)
        fault = failed(self._name, f"answered with {problem}")
        if status in _REFUSES:
            return RefusedError(fault.code, fault.message, hint=fault.hint, embedder=self._name)
        return fault

    def _unreachable(self, problem: str) -> UnavailableError:
        message = f"the embedder {self._name} at {self._choice.url} cannot be reached: {problem}"
        hint = "start the server, or choose another embedder with RYE_EMBEDDER"
        return UnavailableError("embedder-unreachable", message, hint=hint, embedder=self._name)


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


class _Cutter:
    """Ends a connection from another thread.

    It keeps the socket, because the connection lets go of it while an answer is still being read.
    """

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self._connection = connection
        self.socket: socket.socket | None = None
        self.is_cut = False

    def cut(self) -> None:
        """Close both directions: whatever waits for the server fails at once."""
        self.is_cut = True
        line = self.socket or self._connection.sock
        if line is not None:
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)


def _excerpt(data: bytes) -> str:
    """Return the beginning of a server's answer, safe to show."""
    text = inline(data[:_ERROR_BYTES].decode("utf-8", "replace"))
    return f"{text[:_MAX_SHOWN]}…" if len(text) > _MAX_SHOWN else text or "nothing"
