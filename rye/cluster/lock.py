"""The lock of a registry: a document on the cluster that keeps a second publisher out.

Whoever holds it changes it every few seconds. A publisher that finds it watches it: if it changes, somebody is at
work; if it stays as it is for :data:`LEASE` seconds, its holder is dead and it is taken over. So no clock of one
machine is compared with that of another. Every write names the version of the document that it replaces.
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
from rye.cluster.faults import reading, shown
from rye.errors import EnvironmentFault, RyeError

BEAT: Final = 3.0
"""Seconds between two changes of the document."""

LEASE: Final = 15.0
"""Seconds without a change after which the holder is taken to be dead."""

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
    """What a write has to name, so that it replaces only what was read."""

    number: int
    term: int

    def condition(self) -> dict[str, Any]:
        """Return the parameters of a write that replaces this version alone."""
        return {"if_seq_no": self.number, "if_primary_term": self.term}


class PublishLock:
    """Held while a registry is published, as a context manager.

    Args:
        cluster: The registry.
        owner: Whose items are published.
        beat, lease: Instead of :data:`BEAT` and :data:`LEASE`, in seconds.
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
        """Refuse to go on where another publisher has taken the lock.

        Raises:
            EnvironmentFault: ``publish-busy``.
        """
        if not self._lost:
            self._beat()
        if self._lost:
            message = f"the lock of {self._cluster.address} was lost: {self._lost}"
            raise EnvironmentFault("publish-busy", message, hint="nothing was changed; publish again")

    def _make_index(self) -> None:
        """Create the index of the document; it is only ever written to by its alias, so nothing else can create it."""
        client, index = self._cluster.client, f"{self._alias}-1"
        settings = {"number_of_shards": 1, "auto_expand_replicas": "0-1"}
        body = {"settings": settings, "mappings": _MAPPING, "aliases": {self._alias: {}}}
        with self._cluster.faults():
            if not client.indices.exists(index=index):
                client.indices.create(index=index, body=body, params={"ignore": 400})  # 400: it was made meanwhile

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
        """Return version and holder of the document that is there."""
        with self._cluster.faults(), reading():
            answer = self._cluster.client.get(index=self._alias, id=_ID, params={"ignore": (404,), "realtime": "true"})
            if not answer.get("found"):
                return None
            version = _Version(int(answer["_seq_no"]), int(answer["_primary_term"]))
            source = answer["_source"]
            return version, f"{shown(source['owner'])} on {shown(source['holder'])}"

    def _write(self, condition: dict[str, Any]) -> bool:
        """Write the document if the condition holds; return whether it did."""
        self._beats += 1
        params = condition | {"require_alias": "true", "ignore": (409,)}
        with self._cluster.faults(), reading():
            body = self._body | {"beat": self._beats}
            answer = self._cluster.client.index(index=self._alias, id=_ID, body=body, params=params)
            if answer.get("status") == 409:
                return False
            self._version = _Version(int(answer["_seq_no"]), int(answer["_primary_term"]))
            return True

    def _beat(self) -> None:
        """Say that the publisher is alive; note if another one has taken over."""
        with self._writing:  # of two writes at once, the second would find the version of the first
            version = self._version
            if version is None or self._lost:
                return
            with suppress(RyeError):  # the cluster does not answer: the next beat, or the last check, tells
                if not self._write(version.condition()):
                    document = self._read()
                    self._lost = f"{document[1] if document else 'somebody'} has it"

    def _keep(self) -> None:
        while not (self._lost or self._stop.wait(self._interval)):
            self._beat()
