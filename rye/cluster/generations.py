"""The generations of a registry. Each is an index named ``NAME-DIGITS``, built beside the live one and swapped in.

While an index is written, it has an alias that ends with ``-write``. Requests name that alias and require that it
exists. Before the index goes live, writes to it are blocked for good.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Collection
from contextlib import suppress
from typing import Any, Final

from rye.cluster.client import Cluster
from rye.cluster.documents import settings
from rye.cluster.faults import parsing, shown
from rye.cluster.published import PublishedNotes
from rye.errors import EnvironmentFault, RyeError

WAIT: Final = 60.0
"""Seconds to wait for the replicas of a new generation."""

_REINDEX: Final = 3_600
"""Seconds that the cluster may take to copy documents to another number of shards, or to merge segments."""


class Generations:
    """Makes and removes the generations of one registry.

    Attributes:
        unfinished: A sentence if replicas are still being made, else empty.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._name = cluster.address.name
        self._own = re.compile(rf"{re.escape(self._name)}-[0-9a-f]{{16}}")
        self.unfinished = ""

    def new_name(self) -> str:
        """Return a name for a new generation: milliseconds since 1970 and a random part, in hex."""
        return f"{self._name}-{time.time_ns() // 1_000_000:011x}{secrets.token_hex(3)[:5]}"

    def shards(self, index: str) -> int:
        """Return the number of shards of an index."""
        return self._sizes(index)[0]

    def _sizes(self, index: str) -> tuple[int, int]:
        """Return the numbers of shards and of replicas of an index."""
        with self._cluster.faults(), parsing():
            sizes = self._cluster.client.indices.get_settings(index=index)[index]["settings"]["index"]
            return int(sizes["number_of_shards"]), int(sizes["number_of_replicas"])

    def make(self, new: str, base: str, *, shards: int | None, replicas: int | None) -> None:
        """Create the index of a generation with all documents of the previous one.

        Args:
            new: The name of the new index.
            base: The index of the previous generation; empty for none.
            shards: The number of shards; None for as many as before, or 1.
            replicas: The number of replicas; None for as many as before. If the index is not a clone, its replicas are
                added at the end.
        """
        before, copies = self._sizes(base) if base else (0, 0)
        if base and shards in (None, before):
            self._clone(base, new, copies if replicas is None else replicas)
            return
        self._create(new, settings(shards or before or 1, 0))
        if base:
            self._copy(base, new)

    def _create(self, index: str, shape: dict[str, Any]) -> None:
        with self._cluster.faults():
            self._cluster.client.indices.create(index=index, body=shape | {"aliases": {f"{index}-write": {}}})

    def _clone(self, old: str, new: str, replicas: int) -> None:
        """Clone an index: the cluster hard-links its files, which takes no space, and makes the replicas meanwhile."""
        client = self._cluster.client
        body: dict[str, Any] = {"settings": {"index.number_of_replicas": replicas, "index.blocks.write": None}}
        with self._cluster.faults():
            client.indices.put_settings(index=old, body={"index.blocks.write": True})
            client.indices.clone(index=old, target=new, body=body | {"aliases": {f"{new}-write": {}}})

    def _copy(self, old: str, new: str) -> None:
        """Copy all documents to an index with another number of shards."""
        body = {"source": {"index": old, "size": 500}, "dest": {"index": new}}
        with self._cluster.faults(), parsing():
            answer = self._cluster.client.reindex(body=body, params={"timeout": "5m", "request_timeout": _REINDEX})
            if answer["failures"]:
                raise ValueError(shown(answer["failures"][0]))

    def merge(self, index: str) -> None:
        """Merge each shard of a generation into one segment, which halves the time of a search."""
        with self._cluster.faults():
            self._cluster.client.indices.forcemerge(
                index=index, params={"max_num_segments": 1, "request_timeout": _REINDEX}
            )
            self._cluster.client.indices.refresh(index=index)

    def note(self, index: str, notes: PublishedNotes) -> None:
        """Write the notes of a generation."""
        with self._cluster.faults():
            self._cluster.client.indices.put_mapping(index=index, body={"_meta": {"rye": notes.to_dict()}})

    def set_replicas(self, index: str, replicas: int | None, *, like: str | None = None) -> None:
        """Set the number of replicas of a generation.

        Args:
            index: The index of the generation.
            replicas: The number; None for as many as the generation ``like`` has, else 1.
            like: Another generation; if both are None, nothing changes.
        """
        if replicas is None and like is None:
            return
        count = replicas if replicas is not None else self._sizes(like)[1] if like else 1
        if count == self._sizes(index)[1]:
            return
        body = {"index": {"number_of_replicas": count}}
        with self._cluster.faults():
            self._cluster.client.indices.put_settings(index=index, body=body)
        if like is None:
            self.wait(index)

    def wait(self, index: str) -> None:
        """Wait until all replicas of a generation exist, for at most :data:`WAIT` seconds.

        Raises:
            EnvironmentFault: ``cluster-red``: no node has a part of it.
        """
        until = time.monotonic() + WAIT
        while (status := self._cluster.status(index)) != "green" and time.monotonic() < until:
            time.sleep(0.1)
        if status in ("red", ""):
            message = f"a part of the new generation of {self._cluster.address} is on no node"
            hint = f"{self._cluster.health()}; the generation before serves on"
            raise EnvironmentFault("cluster-red", message, hint=hint)
        if status != "green":
            self.unfinished = f"the new generation is {status}: not all of its copies are made yet"

    def serve(self, old: str, new: str) -> None:
        """Point the registry's name at the new generation, in one atomic step, if it still points at the old one."""
        client = self._cluster.client
        actions: list[dict[str, Any]] = [
            {"add": {"index": new, "alias": self._name}},
            {"remove": {"index": new, "alias": f"{new}-write"}},
        ]
        if old:
            actions.insert(0, {"remove": {"index": old, "alias": self._name, "must_exist": True}})
        with self._cluster.faults():
            client.indices.flush(index=new, params={"wait_if_ongoing": "true"})
            client.indices.put_settings(index=new, body={"index.blocks.write": True})
            client.indices.update_aliases(body={"actions": actions})

    def discard(self, new: str) -> None:
        """Remove an unfinished generation; ignore errors of the cluster."""
        with suppress(RyeError), self._cluster.faults():
            params = {"ignore_unavailable": "true", "ignore": (404,)}
            self._cluster.client.indices.delete(index=new, params=params)

    def sweep(self, kept: Collection[str]) -> None:
        """Remove all generations except ``kept``, including those that killed publishers left behind."""
        with self._cluster.faults():
            indexes = self._cluster.client.indices.get(
                index=f"{self._name}-*", params={"filter_path": "*.settings.index.uuid"}
            )
            obsolete = [index for index in indexes if self._own.fullmatch(index) and index not in kept]
            if obsolete:
                self._cluster.client.indices.delete(index=",".join(obsolete))
