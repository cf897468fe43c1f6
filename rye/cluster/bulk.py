"""Write documents in bulk.

A document that the cluster refuses is an error, unless the cluster was only busy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, Final, NamedTuple

from rye.cluster.client import Cluster
from rye.cluster.faults import answer_error, shown
from rye.errors import EnvironmentFault

_BYTES: Final = 4 << 20
_DOCUMENTS: Final = 1_000
"""Limits of one request. A single document may have more bytes."""

_AHEAD: Final = 200
"""Documents that are built while earlier ones are sent."""

_TRIES: Final = 6


class Action(NamedTuple):
    """A document to write, or to delete if it has no ``source``."""

    id: str
    source: Mapping[str, Any] | None


def send(cluster: Cluster, alias: str, actions: Iterable[Action], done: Callable[[int], None] | None = None) -> int:
    """Write and delete documents; return how many there were.

    Requests name the index by an alias and require that it exists. If the index was removed, they fail, whatever
    ``action.auto_create_index`` says, and never create an index with default mappings.

    Args:
        cluster: The cluster to write to.
        alias: The alias of the index.
        actions: The documents; writing one twice is harmless.
        done: Called with the number of documents done.

    Raises:
        EnvironmentFault: The cluster refused a document or did not answer.
    """
    from opensearchpy.helpers import streaming_bulk

    rows = (
        {"_op_type": "delete", "_id": action.id}
        if action.source is None
        else {"_op_type": "index", "_id": action.id, "_source": action.source}
        for action in _ahead(iter(actions))
    )
    count = 0
    with cluster.faults():
        for count, (_, answer) in enumerate(
            streaming_bulk(
                cluster.client,
                rows,
                chunk_size=_DOCUMENTS,
                max_chunk_bytes=_BYTES,
                raise_on_error=False,
                max_retries=_TRIES,
                initial_backoff=1,
                index=alias,
                require_alias="true",
            ),
            1,
        ):
            _check(cluster, next(iter(answer.values())))
            if done:
                done(count)
    return count


def _ahead(actions: Iterator[Action]) -> Iterator[Action]:
    """Yield actions; build the next batch in a thread while the caller sends this one."""
    with ThreadPoolExecutor(1, "rye-documents") as pool:
        future = pool.submit(list, islice(actions, _AHEAD))
        while batch := future.result():
            future = pool.submit(list, islice(actions, _AHEAD))
            yield from batch


def _check(cluster: Cluster, row: Mapping[str, Any]) -> None:
    """Raise an error if the answer says that a document was not written, or is malformed."""
    status, error = row.get("status"), row.get("error")
    if not error and isinstance(status, int) and (status < 300 or status == 404):  # a document to delete may be gone
        return
    kind = error.get("type") if isinstance(error, dict) else ""
    if kind == "index_not_found_exception":
        message = f"the unfinished index of {cluster.address} was removed while it was written"
        raise EnvironmentFault("publish-busy", message, hint="publish again, and from one place at a time")
    if status == 429:
        message = f"{cluster.address} refused a document again and again: it has too much to do"
        raise EnvironmentFault("cluster-busy", message, hint="try again later, or give its nodes more heap")
    raise answer_error(cluster.address, status, {"error": error}, shown(cluster.health()))
