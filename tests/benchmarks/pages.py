"""What a page costs: ``python -m tests.benchmarks.pages [ITEMS]``.

Measures the median time until the first and the last byte of a page of ``rye serve``, by a new connection and by one
that is kept as browsers do, against that of the same ``Registry.search`` in this process, interleaved in one run; then
64 readers at once.
"""

from __future__ import annotations

import http.client
import math
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from tests.benchmarks.asking import queries
from tests.benchmarks.corpus import Corpus
from tests.benchmarks.laying import Laid, lay

EACH = 20
READERS, PAGES_EACH = 64, 10
KINDS = ("term common", "term medium", "term rare", "and", "or3")
SHOWN = {"facets": "type,verdict,tag,signer,bundle,client"}
"""What the page asks for besides the query."""


@contextmanager
def served(laid: Laid) -> Iterator[int]:
    """Serve a project and yield the port."""
    words = [sys.executable, "-m", "rye", "serve", *laid.arguments(), "--port", "0"]
    with subprocess.Popen(words, env=laid.environment(), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        found = re.search(r":(\d+)/", process.stderr.readline())
        assert found
        try:
            yield int(found[1])
        finally:
            process.terminate()


def opened(port: int) -> http.client.HTTPConnection:
    """Return a connection, which is made by its first request."""
    return http.client.HTTPConnection("127.0.0.1", port, timeout=120)


def page(connection: http.client.HTTPConnection, text: str) -> tuple[float, float, int]:
    """Return the seconds until the first and the last byte of a page, and its size."""
    began = time.perf_counter()
    try:
        connection.request("GET", f"/search?q={quote(text)}")
        response = connection.getresponse()
    except http.client.RemoteDisconnected:
        connection.close()
        return page(connection, text)
    first = time.perf_counter() - began
    size = len(response.read())
    assert response.status == 200
    return first, time.perf_counter() - began, size


def main() -> None:
    """Measure and print."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    corpus = Corpus()
    items = corpus.items(count)
    asked = [
        " OR ".join(each.words) if each.kind == "or3" else " ".join(each.words)
        for each in queries(items, corpus.vocabulary, EACH, KINDS)
    ]
    with tempfile.TemporaryDirectory() as folder:
        laid = lay(items, Path(folder))
        laid.registry().refresh()
        registry = laid.registry(max_staleness=math.inf)
        with served(laid) as port:
            kept = opened(port)
            for text in asked:
                registry.search(text)
                page(kept, text)
            rows = []
            for text in asked:
                began = time.perf_counter()
                registry.search(text)
                between = time.perf_counter()
                registry.search(text, **SHOWN)  # type: ignore[arg-type]
                searches = (between - began, time.perf_counter() - between)
                page(kept, text)  # may open it again: the server closes a connection that waits for seconds
                rows.append((*searches, *page(opened(port), text), *page(kept, text)))
            columns = (statistics.median(column) * 1e3 for column in zip(*rows, strict=True))
            plain, shown, first, last, _, again, whole, _ = columns
            most = max(row[-1] for row in rows)
            print(f"{count:,} items, p50: search {plain:.2f} ms, with what a page shows {shown:.2f} ms")
            print(f"page: first byte {first:.2f} ms, last {last:.2f} ms; {most:,} bytes at most")
            print(f"page by a kept connection: first byte {again:.2f} ms, last {whole:.2f} ms")
            began = time.perf_counter()
            with ThreadPoolExecutor(READERS) as pool:
                list(pool.map(lambda text: page(opened(port), text), (asked * READERS)[: READERS * PAGES_EACH]))
            took = time.perf_counter() - began
            print(f"{READERS} readers at once: {READERS * PAGES_EACH / took:.0f} pages a second")


if __name__ == "__main__":
    main()
