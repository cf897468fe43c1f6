"""Bulk requests to one index: several at once, refused documents are retried, and any other failure is an error."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, NamedTuple

from rye.cluster.client import SENDERS, Cluster
from rye.cluster.faults import reading, shown
from rye.errors import EnvironmentFault

_BYTES: Final = 4 << 20
"""Bytes of one request, unless one document has more."""

_DOCUMENTS: Final = 10_000
_TRIES: Final = 6

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Action(NamedTuple):
    """A document to write, as its fields or as JSON; without either, one to delete."""

    id: str
    source: Mapping[str, Any] | str | None

    def lines(self) -> str:
        """Return the action as lines of a bulk request."""
        if isinstance(self.source, str):
            return f'{{"index":{{"_id":"{self.id}"}}}}\n{self.source}\n'
        if self.source is None:
            return f'{{"delete":{{"_id":{json.dumps(self.id)}}}}}\n'
        return f'{{"index":{{"_id":{json.dumps(self.id)}}}}}\n{_json(self.source)}\n'


def _json(source: Mapping[str, Any]) -> str:
    """Return compact JSON; surrogates are escaped, because UTF-8 cannot hold them."""
    text = _encode(source)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(source)
    return text


def send(cluster: Cluster, alias: str, actions: Iterable[Action], done: Callable[[int], None] | None = None) -> int:
    """Write and delete documents; return how many there were.

    The index is named by an alias that has to exist. So a request that comes after the index was removed fails,
    whatever ``action.auto_create_index`` says, and never makes an index with mappings of its own.

    Args:
        cluster: Where to.
        alias: Of the index.
        actions: What to do; writing twice is the same as once.
        done: Called with how many are done.

    Raises:
        EnvironmentFault: The cluster refused a document, or could not be asked.
    """
    count, pending = 0, deque[Future[int]]()
    with ThreadPoolExecutor(SENDERS, thread_name_prefix="rye-bulk") as pool:
        try:
            for request in _requests(actions):
                if len(pending) >= 2 * SENDERS:
                    count += pending.popleft().result()
                    if done:
                        done(count)
                pending.append(pool.submit(_send, cluster, alias, request))
            while pending:
                count += pending.popleft().result()
                if done:
                    done(count)
        finally:
            for future in pending:
                future.cancel()
    return count


def _requests(actions: Iterable[Action]) -> Iterator[list[str]]:
    """Yield the lines of actions, as many as one request takes."""
    request, size = list[str](), 0
    for action in actions:
        lines = action.lines()
        if request and (size + len(lines) > _BYTES or len(request) >= _DOCUMENTS):
            yield request
            request, size = [], 0
        request.append(lines)
        size += len(lines)
    if request:
        yield request


def _send(cluster: Cluster, alias: str, request: list[str]) -> int:
    """Send one request, and retry what the cluster refused because it was busy."""
    left, params = request, {"require_alias": "true", "filter_path": "errors,items.*.status,items.*.error"}
    for attempt in range(_TRIES):
        with cluster.faults(), reading():
            answer = cluster.client.bulk(body="".join(left), index=alias, params=params)
            if not answer["errors"]:
                return len(request)
            rows = [next(iter(item.values())) for item in answer["items"]]
            wrong = [row for row in rows if row["status"] >= 300 and row["status"] not in (404, 429)]
            gone = [row for row in rows if row["status"] == 404 and "error" in row]  # the alias, not a document
            for row in (*gone, *wrong):
                raise _refused(cluster, row)
            left = [lines for lines, row in zip(left, rows, strict=True) if row["status"] == 429]
        if not left:
            return len(request)
        time.sleep(0.25 * 2**attempt)
    message = f"{cluster.address} refused {len(left)} documents again and again: it has too much to do"
    raise EnvironmentFault("cluster-busy", message, hint="try again later, or give its nodes more heap")


def _refused(cluster: Cluster, row: Mapping[str, Any]) -> EnvironmentFault:
    """Return the error of a document that was not written."""
    from rye.cluster.faults import of_answer

    error = row.get("error")
    kind = error.get("type") if isinstance(error, dict) else ""
    if kind == "index_not_found_exception":
        message = f"the unfinished index of {cluster.address} was removed while it was written"
        return EnvironmentFault("publish-busy", message, hint="publish again, and from one place at a time")
    return of_answer(cluster.address, row.get("status"), {"error": error}, shown(cluster.health()))
