"""A cluster in memory: as much of OpenSearch as publishing and searches ask for, with versions, aliases and clones.

It stands in for the client, so that publishing is tested wherever the tests run. What it knows was compared with a
real cluster by the tests that are marked for one.
"""
# ruff: noqa: D102 - the methods are named and do as those of the client

from __future__ import annotations

import copy
import json
import threading
from types import SimpleNamespace
from typing import Any

from opensearchpy.exceptions import ConflictError, NotFoundError, RequestError
from opensearchpy.serializer import JSONSerializer

from rye.cluster.client import Address, Cluster
from tests.support import fake_queries


class Index:
    """One index: settings, mapping and documents."""

    def __init__(self, body: dict[str, Any]) -> None:
        settings = body.get("settings", {})
        self.settings: dict[str, Any] = {
            **settings.get("index", {}),
            **{k: v for k, v in settings.items() if k != "index"},
        }
        self.mappings: dict[str, Any] = copy.deepcopy(body.get("mappings", {}))
        self.aliases = set(body.get("aliases", ()))
        self.documents: dict[str, dict[str, Any]] = {}
        self.versions: dict[str, int] = {}


class FakeCluster:
    """The client of a cluster in memory, with the names that ``opensearchpy.OpenSearch`` has.

    Attributes:
        held: The indexes by name.
        auto_create: What ``action.auto_create_index`` says.
        requests: The name of every request, in order.
        before: By the name of a request, what is called before it is done.
    """

    def __init__(self) -> None:
        self.held: dict[str, Index] = {}
        self.auto_create = True
        self.requests: list[str] = []
        self.before: dict[str, Any] = {}
        self.health_status = "green"
        self.version = {"distribution": "opensearch", "number": "2.19.4"}
        self._lock = threading.RLock()
        self._sequence = 0
        self.indices = self.cluster = self
        self.transport = SimpleNamespace(serializer=JSONSerializer())

    def registry(self, name: str = "r") -> Cluster:
        """Return a registry on this cluster."""
        cluster = Cluster(Address.parse(f"opensearch+http://127.0.0.1:9/{name}"))
        cluster.__dict__["client"] = self
        return cluster

    def documents(self, index: str) -> dict[str, dict[str, Any]]:
        """Return the documents of an index, or of the one that an alias stands for."""
        return self._named(index).documents

    def _note(self, name: str) -> None:
        with self._lock:
            self.requests.append(name)
        if hook := self.before.pop(name, None):
            hook()

    def _named(self, name: str, *, alias_only: bool = False) -> Index:
        found = [index for index in self.held.values() if name in index.aliases]
        if name in self.held and not alias_only:
            found = [self.held[name]]
        if not found:
            raise NotFoundError(404, "index_not_found_exception", {"error": {"reason": f"no such index [{name}]"}})
        return found[0]

    # indexes

    def info(self) -> dict[str, Any]:
        return {"version": self.version}

    def health(self, **_: Any) -> dict[str, Any]:
        self._note("health")
        return {"status": self.health_status, "unassigned_shards": 0, "number_of_nodes": 3}

    def put_script(self, **_: Any) -> None:
        self._note("put_script")

    def exists(self, *, index: str) -> bool:
        return index in self.held

    def create(self, *, index: str, body: dict[str, Any], **_: Any) -> None:
        self._note("create")
        if index in self.held:
            raise RequestError(400, "resource_already_exists_exception", {})
        self.held[index] = Index(body)

    def clone(self, *, index: str, target: str, body: dict[str, Any]) -> None:
        self._note("clone")
        source = self.held[index]
        assert source.settings.get("index.blocks.write"), "a clone needs a source that nobody writes to"
        self.held[target] = Index(body)
        copies = body["settings"]["index.number_of_replicas"]
        self.held[target].settings = {**source.settings, "number_of_replicas": copies, "index.blocks.write": None}
        self.held[target].mappings = copy.deepcopy(source.mappings)
        self.held[target].documents = copy.deepcopy(source.documents)

    def reindex(self, *, body: dict[str, Any], **_: Any) -> dict[str, Any]:
        self._note("reindex")
        source = self._named(body["source"]["index"])
        self.held[body["dest"]["index"]].documents = copy.deepcopy(source.documents)
        return {"failures": []}

    def put_settings(self, *, index: str, body: dict[str, Any]) -> None:
        self._note("put_settings")
        for name in index.split(","):
            self._named(name).settings.update(body.get("index", body))

    def get_settings(self, *, index: str) -> dict[str, Any]:
        return {index: {"settings": {"index": self.held[index].settings}}}

    def put_mapping(self, *, index: str, body: dict[str, Any]) -> None:
        self._note("put_mapping")
        self.held[index].mappings.update(copy.deepcopy(body))

    def get_mapping(self, *, index: str, **_: Any) -> dict[str, Any]:
        if index in self.held:
            return {index: {"mappings": self.held[index].mappings}}
        held = [(name, one) for name, one in self.held.items() if index in one.aliases]
        found: dict[str, Any] = {name: {"mappings": one.mappings} for name, one in held}
        return found or {"status": 404}

    def refresh(self, **_: Any) -> None:
        self._note("refresh")

    def forcemerge(self, **_: Any) -> None:
        self._note("forcemerge")

    def flush(self, **_: Any) -> None:
        self._note("flush")

    def update_aliases(self, *, body: dict[str, Any]) -> None:
        self._note("update_aliases")
        for action in body["actions"]:
            ((kind, row),) = action.items()
            aliases = self.held[row["index"]].aliases
            if kind == "remove" and row.get("must_exist") and row["alias"] not in aliases:
                raise NotFoundError(404, "aliases_not_found_exception", {"error": {"reason": "aliases missing"}})
            (aliases.add if kind == "add" else aliases.discard)(row["alias"])

    def delete(self, *, index: str, id: str | None = None, params: Any = None) -> None:  # noqa: A002
        if id is None:
            self._note("delete_index")
            for name in index.split(","):
                self.held.pop(name, None)
            return
        self._note("delete")
        one = self._named(index)
        if one.versions.get(id) == (params or {}).get("if_seq_no"):
            del one.documents[id], one.versions[id]

    # documents

    def get(self, *, index: str, id: str | None = None, **_: Any) -> dict[str, Any]:  # noqa: A002
        if id is None:
            return {name: {} for name in self.held if name.startswith(index.rstrip("*"))}
        one = self._named(index)
        if id not in one.documents:
            return {"found": False}
        return {"found": True, "_source": one.documents[id], "_seq_no": one.versions[id], "_primary_term": 1}

    def index(self, *, index: str, id: str, body: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:  # noqa: A002
        with self._lock:
            one = self._named(index, alias_only=params.get("require_alias") == "true")
            known = one.versions.get(id)
            wrong = params.get("op_type") == "create" and known is not None
            if wrong or ("if_seq_no" in params and params["if_seq_no"] != known):
                if 409 in params["ignore"]:
                    return {"status": 409}
                raise ConflictError(409, "version_conflict_engine_exception", {})
            self._sequence += 1
            one.documents[id], one.versions[id] = dict(body), self._sequence
            return {"_seq_no": self._sequence, "_primary_term": 1}

    def bulk(self, body: str, *, index: str, require_alias: str = "") -> dict[str, Any]:
        self._note("bulk")
        try:
            one = self._named(index, alias_only=require_alias == "true")
        except NotFoundError:
            if require_alias != "true" and self.auto_create:
                one = self.held[index] = Index({"mappings": {"dynamic": "true"}})
            else:
                row = {"status": 404, "error": {"type": "index_not_found_exception", "reason": "no such index"}}
                return {"errors": True, "items": [{"index": row}]}
        lines, items = iter(body.splitlines()), []
        for line in lines:
            ((kind, row),) = json.loads(line).items()
            with self._lock:
                if kind == "delete":
                    status = 200 if one.documents.pop(row["_id"], None) else 404
                else:
                    one.documents[row["_id"]], status = json.loads(next(lines)), 201
            items.append({kind: {"_id": row["_id"], "status": status}})
        return {"errors": False, "items": items}

    def mget(self, *, index: str, body: dict[str, Any], **_: Any) -> dict[str, Any]:
        held = self._named(index).documents
        return {"docs": [{"found": id_ in held, "_source": held.get(id_)} for id_ in body["ids"]]}

    # searches

    def msearch(self, *, body: str) -> dict[str, Any]:
        lines = [json.loads(line) for line in body.splitlines()]
        return {"responses": [self._search(*pair) for pair in zip(lines[::2], lines[1::2], strict=True)]}

    def _search(self, header: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
        self._note("search")
        every = {id_: row for name in header["index"].split(",") for id_, row in self._named(name).documents.items()}
        query, after = body.get("query"), body.get("search_after")
        found = [(id_, source) for id_, source in every.items() if fake_queries.matches(query, id_, source)]
        points = {id_: fake_queries.score(query, id_, source) for id_, source in found}
        counted = found
        found = [row for row in found if fake_queries.matches(body.get("post_filter"), *row)]
        sort = body.get("sort", ["mark"])
        rows = sorted(found, key=lambda row: fake_queries.order(sort, row[0], row[1], points[row[0]]))
        rows = [row for row in rows if after is None or str(row[1].get("mark", row[0])) > after[-1]]
        rows = rows[body.get("from", 0) :][: body.get("size", 10)]
        stored = body.get("stored_fields", ())
        asked = [*body.get("docvalue_fields", ()), *(stored if isinstance(stored, list) else ())]
        hits = [
            {
                "_id": id_,
                "_source": source,
                "_score": points[id_],
                "matched_queries": fake_queries.names(query, id_, source),
                "sort": [source.get("mark", id_)],
                "fields": {name: values for name in asked if (values := fake_queries.values(source, name))},
            }
            for id_, source in rows
        ]
        answer = {"timed_out": False, "_shards": {"failed": 0}, "hits": {"total": {"value": len(found)}, "hits": hits}}
        return answer | {"aggregations": dict(fake_queries.aggregated(body.get("aggs", {}), counted))}
