"""Embedders over HTTP: Ollama's ``/api/embed``, and OpenAI's ``/embeddings``, which many servers offer.

Servers are not trusted: their answers are limited in time and size, and checked before use.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Mapping, Sequence
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit

import numpy as np

from rye._text import inline
from rye.embedding.choice import Choice
from rye.embedding.http import OK, post
from rye.embedding.protocol import Floats, RefusedError, failed, unit_rows
from rye.errors import UnavailableError

THRESHOLD: Final = 0.35
"""The threshold if the choice sets none."""

ATTEMPTS: Final = 3
"""Most attempts for a request that was refused at once, or whose status invites a retry."""

PAUSE: Final = 0.25
"""Seconds before the second attempt; doubled before each further one."""

MAX_ANSWER: Final = 64 << 20
"""Most bytes of an answer."""

_MAX_SHOWN: Final = 200
_AGAIN: Final = frozenset({429, 500, 502, 503, 504})
_REFUSES: Final = frozenset({400, 413, 422, 500})
"""Statuses for a text that is too long or cannot be embedded; llama.cpp and Ollama use 500."""


def _read_openai(answer: Any) -> Any:
    """Return the vectors in the order of the texts, by their ``index``."""
    rows = {row["index"]: row["embedding"] for row in answer["data"]}
    return [rows[number] for number in range(len(answer["data"]))]


_DIALECTS: Final[Mapping[str, tuple[str, Callable[[Any], Any]]]] = {
    "ollama": ("/api/embed", lambda answer: answer["embeddings"]),
    "openai": ("/embeddings", _read_openai),
}
"""The path of each kind of server, and the function that extracts the vectors from its answer."""


class ServerEmbedder:
    """Gets vectors from a server over HTTP. Thread-safe: each request has its own connection.

    Args:
        choice: The server, the model and the request settings.
        key: Sent as a bearer token if not empty.

    Raises:
        UnavailableError: ``embedder-insecure``: the key would be sent unencrypted to another machine.
    """

    def __init__(self, choice: Choice, key: str = "") -> None:
        self._choice = choice
        path, self._vectors_of = _DIALECTS[choice.kind]
        self._url = f"{choice.url}{path}"
        self._name = f"{choice.kind}:{inline(choice.model)}"
        self._headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "rye"}
        if key:
            _check_key(choice, self._name, key)
            self._headers["Authorization"] = f"Bearer {key}"
        prefix = f" after {choice.document_prefix!r}" if choice.document_prefix else ""
        self.chunk_chars, self.overlap_chars, chunks = choice.chunks()
        self.model = f"{choice.kind}:{choice.model}@{choice.url}{prefix}{chunks}"
        self.threshold = THRESHOLD if choice.threshold is None else choice.threshold
        self.batch = choice.batch
        self._dimensions = 0

    @property
    def dimensions(self) -> int:
        """Length of a vector, as in the server's first answer."""
        if not self._dimensions:
            self._dimensions = self._ask(["dimensions"], is_patient=False).shape[1]
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> Floats:
        """See :class:`rye.embedding.protocol.Embedder`; for the texts of items.

        Raises:
            UnavailableError: ``embedder-unreachable``, ``model-missing`` or ``embedder-failed``.
        """
        return self._embed_all([self._choice.document_prefix + text for text in texts])

    def embed_query(self, text: str) -> Floats:
        """Return the vector of a query, shape ``(dimensions,)``; otherwise like :meth:`embed`."""
        vector: Floats = self._embed_all([self._choice.query_prefix + text])[0]
        if not vector.any():
            raise failed(self._name, "refuses the query, or answers it with zeros")
        return vector

    def _embed_all(self, texts: Sequence[str]) -> Floats:
        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        starts = range(0, len(texts), self.batch)
        rows = self._joined([self._embed_some(texts[start : start + self.batch]) for start in starts])
        self._dimensions = rows.shape[1]
        return rows

    def _joined(self, parts: Sequence[Floats]) -> Floats:
        if len({rows.shape[1] for rows in parts}) > 1:
            raise failed(self._name, "answered with vectors of different lengths")
        return np.concatenate(parts)

    def _embed_some(self, texts: Sequence[str]) -> Floats:
        """Return vectors. If the server refuses the request, send each text alone; a text refused again gets zeros.

        A server that also refuses a short text refuses everything, which is an error.
        """
        try:
            return self._ask(texts, is_patient=True)
        except RefusedError as refused:
            try:
                none = np.zeros((1, self.dimensions), np.float32)
            except RefusedError:
                raise refused from None
        if len(texts) == 1:
            return none
        rows = []
        for text in texts:
            try:
                rows.append(self._ask([text], is_patient=False))
            except RefusedError:
                rows.append(none)
        return self._joined(rows)

    def _ask(self, texts: Sequence[str], *, is_patient: bool) -> Floats:
        """Send one request and return the vectors. ``is_patient`` also retries a status that may be a refusal."""
        sendable = [text.encode("utf-8", "replace").decode() or " " for text in texts]
        body = json.dumps({"model": self._choice.model, "input": sendable}).encode()
        deadline = time.monotonic() + self._choice.timeout  # for all attempts together
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(max(min(PAUSE * 2 ** (attempt - 1), deadline - time.monotonic()), 0))
            try:
                status, data = self._exchange(body, deadline)
            except UnavailableError as error:
                fault = error
                if error.code != "embedder-unreachable":
                    break
            else:
                if status == OK:
                    return self._read(data, len(texts))
                fault = self._fault(status, f"HTTP status {status}: {_excerpt(data)}")
                if status not in _AGAIN or (status in _REFUSES and not is_patient):
                    break
            if time.monotonic() >= deadline:
                break
        raise fault

    def _exchange(self, body: bytes, deadline: float) -> tuple[int, bytes]:
        try:
            status, data = post(self._url, self._headers, body, deadline=deadline, limit=MAX_ANSWER)
        except TimeoutError:
            problem = f"no answer within {self._choice.timeout:g} seconds"
        except (OSError, http.client.HTTPException, ValueError) as error:
            problem = inline(getattr(error, "strerror", None) or str(error) or type(error).__name__)[:_MAX_SHOWN]
        else:
            if status == OK and len(data) > MAX_ANSWER:
                raise failed(self._name, f"answered with more than {MAX_ANSWER >> 20} MiB")
            return status, data
        message = f"the embedder {self._name} at {self._choice.url} cannot be reached: {problem}"
        hint = "start the server, or choose another embedder with RYE_EMBEDDER"
        raise UnavailableError("embedder-unreachable", message, hint=hint, embedder=self._name) from None

    def _read(self, data: bytes, count: int) -> Floats:
        """Return the vectors in the body of an answer, shape ``(count, dimensions)``."""
        try:
            rows = self._vectors_of(json.loads(data))
        except (KeyError, TypeError, IndexError):
            raise failed(self._name, "answered with something other than vectors") from None
        except (ValueError, RecursionError):
            raise failed(self._name, f"answered with something other than JSON: {_excerpt(data)}") from None
        if isinstance(rows, list) and any(bool in map(type, row) for row in rows if isinstance(row, list)):
            raise failed(self._name, "answered with truth values, not numbers")  # NumPy would read true as 1
        return unit_rows(self._name, rows, (count, 0))

    def _fault(self, status: int, problem: str) -> UnavailableError:
        """Return the error for an error status."""
        name, choice, model = self._name, self._choice, inline(self._choice.model)
        if 300 <= status < 400:
            return failed(name, f"redirects ({problem}), which is not followed; give the URL that it redirects to")
        if status in {401, 403}:
            hint = f"set {choice.key_variable} to a key that it accepts"
            return failed(name, f"rejects the key, or requires one ({problem})", hint=hint)
        if status == 404:
            hint = f"for Ollama: ollama pull {model}" if choice.kind == "ollama" else "check model and URL"
            message = f"the server at {choice.url} does not have the model {model} ({problem})"
            return UnavailableError("model-missing", message, hint=hint, embedder=name)
        if status == 429:
            return failed(name, f"gets too many requests ({problem})", hint="try again later")
        fault = failed(name, f"answered with {problem}")
        return RefusedError(fault) if status in _REFUSES else fault


def _check_key(choice: Choice, name: str, key: str) -> None:
    """Refuse a key that others could read in transit, or that would break out of its header."""
    place = urlsplit(choice.url)
    if place.scheme == "http" and not _is_this_machine(place.hostname or ""):
        message = f"the key of {name} would be sent unencrypted to {place.hostname}"
        raise UnavailableError("embedder-insecure", message, hint="use https, or unset the variable of the key")
    if not (key.isascii() and key.isprintable()):
        message = f"the variable {choice.key_variable} holds no key: it has characters that no key has"
        raise UnavailableError("embedder-insecure", message, hint="set it to the key and nothing else")


def _is_this_machine(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _excerpt(data: bytes) -> str:
    text = inline(data[: 4 * _MAX_SHOWN].decode("utf-8", "replace"))
    return f"{text[:_MAX_SHOWN]}…" if len(text) > _MAX_SHOWN else text or "nothing"
