"""Embedders that need no model, and servers that answer as embedders do, well or badly."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import numpy.typing as npt

from rye.errors import UnavailableError

__all__ = ["Broken", "Hashed", "Request", "answered", "serving"]

Floats = npt.NDArray[np.float32]


class Hashed:
    """Each word is a random direction; a text is the sum of its words. Deterministic, and near where words are shared.

    Args:
        model: Another name is another model: other directions.
        dimensions: Length of a vector.
    """

    threshold = 0.1

    def __init__(self, model: str = "hashed:1", dimensions: int = 48) -> None:
        self.model = model
        self.directions = model
        self.dimensions = dimensions
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return unit rows, and remember what was asked."""
        self.texts += texts
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in enumerate(texts):
            for word in "".join(ch if ch.isalnum() else " " for ch in text.casefold()).split():
                seed = hashlib.sha256(f"{self.directions}\0{word}".encode()).digest()[:8]
                rows[row] += np.random.default_rng(int.from_bytes(seed, "little")).standard_normal(self.dimensions)
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        np.divide(rows, norms, out=rows, where=norms > 0)
        return rows


class Broken(Hashed):
    """Fails after so many calls."""

    def __init__(self, calls: int) -> None:
        super().__init__()
        self.calls = calls

    def embed(self, texts: Sequence[str]) -> Floats:
        """Answer, or say that it is not possible any more."""
        self.calls -= 1
        if self.calls < 0:
            raise UnavailableError("embedder-unreachable", "the embedder went away", hint="start it")
        return super().embed(texts)


Request = tuple[str, dict[str, str], Any]
"""Path, headers in lower case, and JSON of a request."""

Answer = Callable[[Any], tuple[int, bytes] | None]
"""From the JSON of a request to status and body; None hangs until the server ends."""


def answered(texts: Sequence[str], kind: str, embedder: Hashed | None = None) -> bytes:
    """Return the body with which an honest server answers."""
    rows = (embedder or Hashed()).embed(texts).tolist()
    if kind == "ollama":
        return json.dumps({"model": "m", "embeddings": rows}).encode()
    data = [{"object": "embedding", "index": at, "embedding": row} for at, row in enumerate(rows)]
    return json.dumps({"object": "list", "data": data[::-1]}).encode()


@contextmanager
def serving(answer: Answer, *, location: str = "", cut: int = 0) -> Iterator[tuple[str, list[Request]]]:
    """Run a server on this machine; yields its URL and the requests it got.

    Args:
        answer: What it answers.
        location: Where a redirect leads.
        cut: Bytes of the answer that are promised and never sent.
    """
    requests: list[Request] = []
    ended = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            found = answer(body)
            if found is None:
                ended.wait(30)
                return
            status, data = found
            self.send_response(status)
            if location:
                self.send_header("Location", location)
            self.send_header("Content-Length", str(len(data) + cut))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

        def handle(self) -> None:
            try:
                super().handle()
            except OSError:
                self.close_connection = True

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: Any) -> None:
            """A client that went away is no error here."""

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", requests
    finally:
        ended.set()
        server.shutdown()
        server.server_close()
        thread.join()
