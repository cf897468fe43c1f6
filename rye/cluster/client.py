"""A registry on an OpenSearch cluster: its address, and requests whose answers are whole or an error.

Nothing that a cluster says is trusted: answers have a greatest size, redirects are not followed, certificates are
verified, texts of the cluster are shown without control characters, and an answer that lacks a shard is no answer.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rye.cluster.conditions import Clause
from rye.cluster.documents import FORMAT
from rye.cluster.roots import ClusterRoot, read_roots
from rye.errors import ArgumentError, EnvironmentFault, NotFoundError, UnavailableError
from rye.index.reader import Floats
from rye.index.schema import TEXT_FIELDS

if TYPE_CHECKING:
    from opensearchpy import OpenSearch

MAX_ANSWER = 64 << 20
"""Bytes of one answer."""

TIMEOUT = 30.0
SENDERS = 4
"""Requests that are under way at once."""

_RETRIED = (429, 502, 503, 504)
_ADDRESS = re.compile(
    r"opensearch\+(?P<scheme>https?)://(?P<host>\[[0-9a-fA-F:]+\]|[A-Za-z0-9.-]+)(?::(?P<port>\d{1,5}))?/(?P<name>[^/?#@]+)/?"
)
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
_SHOWN = 200
_LOGIN = "RYE_INDEX_LOGIN"
_PEM_FILES = {"ca_certs": "RYE_INDEX_CA", "client_cert": "RYE_INDEX_CERT", "client_key": "RYE_INDEX_KEY"}


class Address(NamedTuple):
    """A registry on a cluster."""

    secure: bool
    host: str
    port: int
    name: str

    @classmethod
    def parse(cls, text: object) -> Address:
        """Read ``opensearch+https://host:9200/name``; ``http`` only for this machine.

        Raises:
            ArgumentError: ``bad-index``.
        """
        found = _ADDRESS.fullmatch(text) if isinstance(text, str) else None
        hint = "write it like opensearch+https://host:9200/registry"
        if found is None or not 0 < int(found["port"] or 9200) < 1 << 16:
            raise ArgumentError("bad-index", "index is no address of a cluster", hint=hint)
        if not _NAME.fullmatch(found["name"]):
            rest = "small letters, digits, dots, hyphens and underscores, at most 64"
            raise ArgumentError("bad-index", f"a registry on a cluster cannot be called {found['name']!r}", hint=rest)
        if found["scheme"] == "http" and found["host"] not in _LOOPBACK:
            message = f"http to {found['host']} would be neither encrypted nor authenticated"
            raise ArgumentError("bad-index", message, hint="use opensearch+https; http is for this machine alone")
        return cls(found["scheme"] == "https", found["host"], int(found["port"] or 9200), found["name"])

    def __str__(self) -> str:
        return f"opensearch+http{'s' * self.secure}://{self.host}:{self.port}/{self.name}"


def _credentials(address: Address) -> dict[str, Any]:
    """Return what the environment says of how to log in, as options of the client.

    Raises:
        ArgumentError: ``bad-index-login``.
    """
    found: dict[str, Any] = {}
    if login := os.environ.get(_LOGIN):
        name, colon, password = login.partition(":")
        if not colon:
            raise ArgumentError("bad-index-login", f"{_LOGIN} is no login", hint="write it as NAME:PASSWORD")
        found["http_auth"] = name, password
    for option, variable in _PEM_FILES.items():
        if path := os.environ.get(variable):
            if not Path(path).is_file():
                hint = "name a file in PEM"
                raise ArgumentError("bad-index-login", f"{variable} names no file: {path}", hint=hint)
            found[option] = path
    if ("client_cert" in found) != ("client_key" in found):
        hint = "one proves nothing without the other"
        raise ArgumentError("bad-index-login", "of RYE_INDEX_CERT and RYE_INDEX_KEY only one is set", hint=hint)
    if found and not address.secure:
        message = f"{address} would take a login in the clear"
        raise ArgumentError("bad-index-login", message, hint="use opensearch+https, or unset the variables RYE_INDEX_…")
    return found


def shown(text: object) -> str:
    """Return words of a cluster fit to be shown."""
    return "".join(ch if ch.isprintable() else "?" for ch in str(text))[:_SHOWN]


class Published(NamedTuple):
    """One generation of a registry, which never changes.

    Attributes:
        items, words: Its two indexes.
        size: How many items it holds.
        average: Shape ``(fields,)``: mean lengths.
        keys: The keys of the keyword terms.
        roots: Where its items were published from, by number; None for one that is no longer used.
        has_withdrawn: Whether some are superseded, deprecated or yanked.
        has_copies: Whether some have the same type and id.
    """

    items: str
    words: str
    size: int
    average: Floats
    keys: frozenset[str]
    roots: tuple[ClusterRoot | None, ...]
    has_withdrawn: bool
    has_copies: bool


class Cluster:
    """Sends requests to one cluster."""

    def __init__(self, address: Address) -> None:
        self.address = address

    @cached_property
    def client(self) -> OpenSearch:
        """The client; it is loaded when first needed.

        Raises:
            UnavailableError: It is not installed.
            ArgumentError: ``bad-index-login``.
        """
        try:
            from opensearchpy import OpenSearch
        except ImportError:
            hint = "install it: pip install 'rye-search[cluster]'"
            raise UnavailableError("no-cluster-client", "opensearch-py is not installed", hint=hint) from None
        address = self.address
        hosts = [{"host": address.host.strip("[]"), "port": address.port}]
        client = OpenSearch(
            hosts,
            use_ssl=address.secure,
            verify_certs=True,
            timeout=TIMEOUT,
            pool_maxsize=SENDERS,
            max_retries=3,
            retry_on_timeout=True,
            retry_on_status=_RETRIED,
            **_credentials(address),
        )
        for connection in client.transport.connection_pool.connections:
            _limit(connection)
        return client

    @contextmanager
    def faults(self) -> Iterator[None]:
        """Turn what can go wrong between here and the cluster into errors of rye; so is a missing client."""
        _ = self.client
        from opensearchpy.exceptions import ConnectionError as Unreachable
        from opensearchpy.exceptions import OpenSearchException, TransportError

        try:
            yield
        except Unreachable as error:
            message = f"{self.address} cannot be reached: {shown(error.error)}"
            hint = "is it running, and the address right?"
            raise EnvironmentFault("cluster-unreachable", message, hint=hint) from None
        except TransportError as error:
            message = f"{self.address} answered {shown(error.status_code)}: {shown(_reason(error.info))}"
            is_denied = error.status_code in (401, 403)
            hint = f"set {_LOGIN}, or RYE_INDEX_CERT and RYE_INDEX_KEY" if is_denied else self._health()
            raise EnvironmentFault("cluster-error", message, hint=hint) from None
        except (OpenSearchException, RecursionError, ValueError) as error:
            message = f"{self.address} gave an answer that cannot be read: {shown(error)}"
            raise EnvironmentFault("cluster-error", message, hint="is it OpenSearch 2.19 or newer?") from None

    def _health(self) -> str:
        """Return a sentence on the state of the cluster's shards."""
        from opensearchpy.exceptions import OpenSearchException

        try:
            found = self.client.cluster.health(params={"request_timeout": 5})
            lost = f"{shown(found['unassigned_shards'])} of its shards are unassigned"
            return f"the cluster is {shown(found['status'])}, {shown(found['number_of_nodes'])} nodes, {lost}"
        except (OpenSearchException, KeyError, TypeError, ValueError):
            return "the cluster does not say how it is"

    def search(self, index: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return a whole answer to one search.

        Raises:
            EnvironmentFault: ``cluster-incomplete``, ``cluster-unreachable`` or ``cluster-error``.
        """
        return self.searches(index, [body])[0]

    def searches(self, index: str, bodies: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return whole answers to several searches of one index, sent together."""
        if not bodies:
            return []
        header = {"index": index, "allow_partial_search_results": False}
        lines = [line for body in bodies for line in (header, body)]
        with self.faults():
            found = self.client.msearch(body="".join(json.dumps(line) + "\n" for line in lines))
            answers = found.get("responses") if isinstance(found, dict) else None
            if not isinstance(answers, list) or len(answers) != len(bodies):
                message = "not as many answers as questions"
                raise ValueError(message)
        for answer in answers:
            self._check(answer)
        return answers

    def _check(self, answer: Any) -> None:
        """Refuse an answer that is not whole."""
        if isinstance(answer, dict) and "error" not in answer:
            shards = answer.get("_shards")
            if answer.get("timed_out") is False and isinstance(shards, dict) and shards.get("failed") == 0:
                return
        why = _reason(answer) if isinstance(answer, dict) else "it is no object"
        message = f"{self.address} cannot answer in full: {shown(why)}"
        raise EnvironmentFault("cluster-incomplete", message, hint=self._health())

    def count(self, index: str, clauses: Sequence[Clause]) -> list[int]:
        """Return how many documents each clause matches."""
        whole = {"size": 0, "track_total_hits": True}
        answers = self.searches(index, [{"query": {"bool": {"filter": [clause]}}} | whole for clause in clauses])
        with self.faults(), reading():
            return [int(answer["hits"]["total"]["value"]) for answer in answers]

    def generation(self) -> tuple[str, dict[str, Any]] | None:
        """Return the index that the registry's name stands for, and what is noted there; None where there is none."""
        name = self.address.name
        with self.faults(), reading():
            answer = self.client.indices.get_mapping(index=name, params={"ignore": (404,)})
            if answer.get("status") == 404:
                return None
            ((index, found),) = answer.items()
            if index == name:
                message = f"{name} is an index, and no registry"
                raise ValueError(message)
            return str(index), dict(found["mappings"].get("_meta", {}).get("rye", {}))

    def snapshot(self) -> Published:
        """Return the generation that the registry's name stands for now.

        Raises:
            NotFoundError: ``no-registry``.
            EnvironmentFault: It was published by another version of rye.
        """
        found = self.generation()
        hint = f"rye publish {self.address}"
        if found is None:
            raise NotFoundError("no-registry", f"there is no registry {self.address}", hint=hint)
        index, meta = found
        if meta.get("format") != FORMAT:
            raise EnvironmentFault("cluster-format", f"{self.address} is of another version of rye", hint=hint)
        with self.faults(), reading():
            average = np.asarray(meta["average"], np.float64)
            if average.shape != (len(TEXT_FIELDS),) or not (average > 0).all():
                raise ValueError("average")
            roots = read_roots(meta["roots"], str(self.address))
            keys = frozenset(map(str, meta["keys"]))
            states = bool(meta["withdrawn"]), bool(meta["copies"])
            return Published(index, f"{index}-words", int(meta["count"]), average, keys, roots, *states)


@contextmanager
def reading() -> Iterator[None]:
    """Read an answer: what is not there, or is something else, is a ``ValueError``."""
    try:
        yield
    except (KeyError, TypeError, IndexError, AttributeError, ArithmeticError) as error:
        message = f"{type(error).__name__}: {error}"
        raise ValueError(message) from None


def _reason(info: Any) -> str:
    """Return the reason in an error of the cluster."""
    for _ in range(4):
        if not isinstance(info, dict):
            break
        if isinstance(info.get("reason"), str):
            inner = info.get("root_cause") or info.get("failed_shards")
            return f"{info['reason']} {_reason(inner[0]) if isinstance(inner, list) and inner else ''}".strip()
        info = info.get("error") or info.get("_shards") or info.get("failures") or info.get("reason")
        info = info[0] if isinstance(info, list) and info else info
    return str(info) if info else "some shards did not answer"


def _limit(connection: Any) -> None:
    """Let a connection read no more than :data:`MAX_ANSWER`, also of a compressed answer."""
    send = connection.pool.urlopen

    def urlopen(*given: Any, **options: Any) -> Any:
        response = send(*given, preload_content=False, **options)
        data = response.read(MAX_ANSWER + 1, decode_content=True)
        if len(data) > MAX_ANSWER:
            response.close()
            message = f"the answer has more than {MAX_ANSWER:,} bytes"
            raise ValueError(message)
        response.release_conn()
        response._body = data  # noqa: SLF001 - where `data`, which is read next, looks first
        return response

    connection.pool.urlopen = urlopen
