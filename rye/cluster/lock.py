"""The lock of a registry: a document on the cluster that keeps a second publisher out.

The holder changes the document every few seconds. Another publisher watches it: if it changes, the holder is alive; if
it does not change for :data:`LEASE` seconds, the holder is considered dead and the lock is taken over. So the clocks of
two machines are never compared. Every write names the version of the document that it replaces.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from rye.cluster.client import Cluster
from rye.cluster.faults import parsing, shown
from rye.errors import EnvironmentFault, RyeError

BEAT: Final = 3.0
"""Seconds between two changes of the document."""

LEASE: Final = 15.0
"""Seconds without a change after which the holder is considered dead."""

_ID: Final = "publish"
_MAPPING: Final = {
    "dynamic": "strict",
    "properties": {
        "holder": {"type": "keyword"},
        "owner": {"type": "keyword"},
        "token": {"type": "keyword"},
        "beat": {"type": "long"},
    },
}


class _Version(NamedTuple):
    """The version of the document that a write may replace."""

    number: int
    term: int

    def condition(self) -> dict[str, Any]:
        """Return the parameters of a write that replaces only this version."""
        return {"if_seq_no": self.number, "if_primary_term": self.term}


class PublishLock:
    """A context manager that holds the lock while a registry is published.

    Args:
        cluster: The registry.
        owner: The owner whose items are published.
        beat, lease: Replace :data:`BEAT` and :data:`LEASE`, in seconds.
    """

    def __init__(self, cluster: Cluster, owner: str, *, beat: float = BEAT, lease: float = LEASE) -> None:
        self._cluster = cluster
        self._alias = f"{cluster.address.name}-lock"
        self._body = {"holder": f"{socket.gethostname()}, process {os.getpid()}", "owner": owner}
        self._body["token"] = secrets.token_hex(8)
        self._beats = 0
        self._interval, self._lease = beat, lease
        self._version: _Version | None = None
        self._lost = ""
        self._writing = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="rye-publish-lock", daemon=True)

    def __enter__(self) -> Self:
        self._make_index()
        self._acquire()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join()
        if self._version is None or self._lost:
            return
        with suppress(RyeError), self._cluster.faults():
            params = self._version.condition() | {"ignore": (404, 409)}
            self._cluster.client.delete(index=self._alias, id=_ID, params=params)

    def check(self) -> None:
        """Raise an error if another publisher has taken the lock.

        Raises:
            EnvironmentFault: ``publish-busy``.
        """
        if not self._lost:
            self._beat()
        if self._lost:
            message = f"the lock of {self._cluster.address} was lost: {self._lost}"
            raise EnvironmentFault("publish-busy", message, hint="nothing was changed; publish again")

    def _make_index(self) -> None:
        """Create the index of the document. Writes only use its alias, so no write can create the index by accident."""
        client, index = self._cluster.client, f"{self._alias}-1"
        settings = {"number_of_shards": 1, "auto_expand_replicas": "0-1"}
        body = {"settings": settings, "mappings": _MAPPING, "aliases": {self._alias: {}}}
        with self._cluster.faults():
            if not client.indices.exists(index=index):
                client.indices.create(index=index, body=body, params={"ignore": 400})  # 400: already created

    def _acquire(self) -> None:
        until, seen = 0.0, (-1, -1)
        while not self._write({"op_type": "create"}):
            document = self._read()
            if document is None:  # released just now
                continue
            version, holder = document
            if version != seen:
                if seen != (-1, -1):
                    message = f"{self._cluster.address} is being published by {holder}"
                    hint = f"wait for it; if it was killed, its lock ends after {self._lease:.0f} seconds"
                    raise EnvironmentFault("publish-busy", message, hint=hint)
                seen, until = version, time.monotonic() + self._lease
            elif time.monotonic() > until and self._write(
                {"if_seq_no": version.number, "if_primary_term": version.term}
            ):
                return
            time.sleep(self._interval / 6)

    def _read(self) -> tuple[_Version, str] | None:
        """Return version and holder of the document; None if there is none."""
        with self._cluster.faults(), parsing():
            answer = self._cluster.client.get(index=self._alias, id=_ID, params={"ignore": (404,), "realtime": "true"})
            if not answer.get("found"):
                return None
            version = _Version(int(answer["_seq_no"]), int(answer["_primary_term"]))
            source = answer["_source"]
            return version, f"{shown(source['owner'])} on {shown(source['holder'])}"

    def _write(self, condition: dict[str, Any]) -> bool:
        """Write the document if the condition holds; return whether it was written."""
        self._beats += 1
        params = condition | {"require_alias": "true", "ignore": (409,)}
        with self._cluster.faults(), parsing():
            body = self._body | {"beat": self._beats}
            answer = self._cluster.client.index(index=self._alias, id=_ID, body=body, params=params)
            if answer.get("status") == 409:
                return False
            self._version = _Version(int(answer["_seq_no"]), int(answer["_primary_term"]))
            return True

    def _beat(self) -> None:
        """Renew the lock; note if another publisher has taken it."""
        with self._writing:  # two writes at once: the second would see the version of the first
            version = self._version
            if version is None or self._lost:
                return
            with suppress(RyeError):  # if the cluster does not answer, the next beat or the last check finds out
                if not self._write(version.condition()):
                    document = self._read()
                    self._lost = f"{document[1] if document else 'somebody'} has it"

    def _keep(self) -> None:
        while not (self._lost or self._stop.wait(self._interval)):
            self._beat()
