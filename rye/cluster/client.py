"""The client of a registry on OpenSearch: its address, and requests that return a complete answer or raise an error.

The cluster is not trusted. Answers have a maximum size, redirects are not followed, certificates are verified, texts
of the cluster are shown without control characters, and an answer that lacks a shard is an error.
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

from rye.cluster.faults import LOGIN, TOO_MANY, answer_error, connection_error, parsing, reason_of, shown
from rye.errors import ArgumentError, EnvironmentFault, UnavailableError

if TYPE_CHECKING:
    from opensearchpy import OpenSearch

MAX_ANSWER = 64 << 20
"""Maximum bytes of one answer."""

TIMEOUT = 30.0
"""Seconds to wait for an answer."""

SENDERS = 4
"""Requests that may run at once."""

_OLDEST = (2, 11)
_RETRIED = (429, 502, 503, 504)
_HOST = r"(?:\[[0-9a-fA-F:]+\]|[A-Za-z0-9.-]+)(?::\d{1,5})?"
_ADDRESS = re.compile(rf"opensearch\+(?P<scheme>https?)://(?P<hosts>{_HOST}(?:,{_HOST})*)/(?P<name>[^/?#@]+)/?")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
_PORT = 9200
_PEM_FILES = {"ca_certs": "RYE_INDEX_CA", "client_cert": "RYE_INDEX_CERT", "client_key": "RYE_INDEX_KEY"}


class Address(NamedTuple):
    """The address of a registry on a cluster.

    Attributes:
        secure: Whether to use TLS.
        hosts: Host and port of each node to ask.
        name: The name of the registry.
    """

    secure: bool
    hosts: tuple[tuple[str, int], ...]
    name: str

    @classmethod
    def parse(cls, text: object) -> Address:
        """Parse ``opensearch+https://host:9200,other:9200/name``; accept ``http`` only for this machine.

        Raises:
            ArgumentError: ``bad-index``.
        """
        if isinstance(text, str) and text.count("opensearch+") > 1:
            raise ArgumentError("bad-index", "index names several registries", hint="name one of them")
        match = _ADDRESS.fullmatch(text) if isinstance(text, str) else None
        hosts = [_split_host(host) for host in match["hosts"].split(",")] if match else []
        if match is None or not all(0 < port < 1 << 16 for _, port in hosts):
            hint = "write it like opensearch+https://host:9200/registry; several hosts are separated by commas"
            raise ArgumentError("bad-index", "index is not the address of a cluster", hint=hint)
        if not _NAME.fullmatch(match["name"]):
            rest = "small letters, digits, dots, hyphens and underscores, at most 64"
            raise ArgumentError("bad-index", f"a registry on a cluster cannot be called {match['name']!r}", hint=rest)
        remote = [host for host, _ in hosts if host not in _LOOPBACK]
        if match["scheme"] == "http" and remote:
            message = f"http to {remote[0]} would be neither encrypted nor authenticated"
            raise ArgumentError("bad-index", message, hint="use opensearch+https; http is for this machine alone")
        return cls(match["scheme"] == "https", tuple(hosts), match["name"])

    def __str__(self) -> str:
        hosts = ",".join(f"{host}:{port}" for host, port in self.hosts)
        return f"opensearch+http{'s' * self.secure}://{hosts}/{self.name}"


def _split_host(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":") if not text.endswith("]") else (text, "", "")
    return (host, int(port)) if colon else (text, _PORT)


def _credentials(address: Address) -> dict[str, Any]:
    """Return the client's login options from the environment variables.

    Raises:
        ArgumentError: ``bad-index-login``.
    """
    options: dict[str, Any] = {}
    if login := os.environ.get(LOGIN):
        name, colon, password = login.partition(":")
        if not colon:
            raise ArgumentError("bad-index-login", f"{LOGIN} is not a login", hint="write it as NAME:PASSWORD")
        options["http_auth"] = name, password
    for option, variable in _PEM_FILES.items():
        if path := os.environ.get(variable):
            if not Path(path).is_file():
                hint = "name a file in PEM"
                raise ArgumentError("bad-index-login", f"{variable} names no file: {path}", hint=hint)
            options[option] = path
    if ("client_cert" in options) != ("client_key" in options):
        hint = "one proves nothing without the other"
        raise ArgumentError("bad-index-login", "of RYE_INDEX_CERT and RYE_INDEX_KEY only one is set", hint=hint)
    if options and not address.secure:
        message = f"{address} would take a login in the clear"
        raise ArgumentError("bad-index-login", message, hint="use opensearch+https, or unset the variables RYE_INDEX_…")
    return options


class Cluster:
    """Sends requests to one cluster."""

    def __init__(self, address: Address) -> None:
        self.address = address

    @cached_property
    def client(self) -> OpenSearch:
        """The OpenSearch client, created on first use.

        Raises:
            UnavailableError: It is not installed.
            ArgumentError: ``bad-index-login``.
        """
        try:
            from opensearchpy import OpenSearch
            from opensearchpy.serializer import JSONSerializer
        except ImportError:
            hint = "install it: pip install 'rye-search[cluster]'"
            raise UnavailableError("no-cluster-client", "opensearch-py is not installed", hint=hint) from None

        class Serializer(JSONSerializer):
            def dumps(self, data: Any) -> str:
                """Return JSON; escape lone surrogates, which UTF-8 cannot encode."""
                text = str(super().dumps(data))
                try:
                    text.encode("utf-8")
                except UnicodeEncodeError:
                    return json.dumps(data)
                return text

        client = OpenSearch(
            [{"host": host.strip("[]"), "port": port} for host, port in self.address.hosts],
            use_ssl=self.address.secure,
            verify_certs=True,
            timeout=TIMEOUT,
            serializer=Serializer(),
            pool_maxsize=2 * SENDERS,
            max_retries=max(3, len(self.address.hosts)),
            retry_on_timeout=True,
            retry_on_status=_RETRIED,
            **_credentials(self.address),
        )
        for connection in client.transport.connection_pool.connections:
            _limit(connection)
        return client

    @contextmanager
    def faults(self) -> Iterator[None]:
        """Turn failed requests and a missing client library into errors of rye."""
        _ = self.client
        from opensearchpy.exceptions import ConnectionError as Unreachable
        from opensearchpy.exceptions import ConnectionTimeout, OpenSearchException, SSLError, TransportError

        try:
            yield
        except Unreachable as error:
            late, tls = isinstance(error, ConnectionTimeout), isinstance(error, SSLError)
            raise connection_error(self.address, str(error.error), is_tls=tls, is_late=late) from None
        except TransportError as error:
            is_theirs = not isinstance(error.status_code, int) or error.status_code >= 500
            health = self.health() if is_theirs else "rye help web-and-cluster says what a cluster needs"
            raise answer_error(self.address, error.status_code, error.info, health) from None
        except (OpenSearchException, RecursionError, ValueError) as error:
            message = f"{self.address} gave an answer that cannot be read: {shown(error)}"
            raise EnvironmentFault("cluster-error", message, hint="is it OpenSearch 2.19 or newer?") from None

    def status(self, index: str) -> str:
        """Return the health of an index, ``green``, ``yellow`` or ``red``; empty if the cluster does not say."""
        from opensearchpy.exceptions import OpenSearchException

        try:
            health = self.client.cluster.health(index=index, params={"request_timeout": 5, "timeout": "1s"})
            return shown(health["status"])
        except (OpenSearchException, KeyError, TypeError, ValueError):
            return ""

    def health(self) -> str:
        """Return a sentence on the health of the cluster."""
        from opensearchpy.exceptions import OpenSearchException

        try:
            health = self.client.cluster.health(params={"request_timeout": 5})
            lost = f"{shown(health['unassigned_shards'])} of its shards are unassigned"
            return f"the cluster is {shown(health['status'])}, {shown(health['number_of_nodes'])} nodes, {lost}"
        except (OpenSearchException, KeyError, TypeError, ValueError):
            return "the cluster does not say how it is"

    def check_version(self) -> None:
        """Raise an error if the server is not OpenSearch or is too old.

        Raises:
            EnvironmentFault: ``cluster-version``.
        """
        with self.faults(), parsing():
            version = self.client.info()["version"]
            number, name = str(version["number"]), str(version.get("distribution", "another server"))
            known = re.match(r"(\d+)\.(\d+)", number)
        if name != "opensearch" or known is None or (int(known[1]), int(known[2])) < _OLDEST:
            message = f"{self.address} is {shown(name)} {shown(number)}"
            hint = f"use OpenSearch {'.'.join(map(str, _OLDEST))} or newer; 2.19 is what rye is tested with"
            raise EnvironmentFault("cluster-version", message, hint=hint)

    def search(self, index: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the complete answer to one search.

        Raises:
            EnvironmentFault: The answer is incomplete.
        """
        return self.searches(index, [body])[0]

    def searches(self, index: str, bodies: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Send several searches of one index in one request; return their complete answers."""
        head = {"index": index, "allow_partial_search_results": False}
        with self.faults():
            answer = self.client.msearch(body="".join(f"{json.dumps(head)}\n{json.dumps(body)}\n" for body in bodies))
            answers = answer.get("responses") if isinstance(answer, dict) else None
            if not isinstance(answers, list) or len(answers) != len(bodies):
                message = "not as many answers as questions"
                raise ValueError(message)
        for answer in answers:
            self._check(index, answer)
        return answers

    def _check(self, index: str, answer: Any) -> None:
        """Raise an error if an answer is incomplete."""
        if isinstance(answer, dict) and "error" not in answer:
            shards = answer.get("_shards")
            if answer.get("timed_out") is False and isinstance(shards, dict) and shards.get("failed") == 0:
                return
        status = answer.get("status") if isinstance(answer, dict) else None
        why = (reason_of(answer) if isinstance(answer, dict) else "it is not an object") or "some shards did not answer"
        if status in (401, 403, 429) or TOO_MANY in why:
            raise answer_error(self.address, status, answer, "")
        if self.status(index) == "red":
            message = f"{self.address} is red, a part of it is on no node: {shown(why)}"
            hint = f"{self.health()}; start the node that is missing, or restore a snapshot"
            raise EnvironmentFault("cluster-red", message, hint=hint)
        message = f"{self.address} cannot answer in full: {shown(why)}"
        raise EnvironmentFault("cluster-incomplete", message, hint=self.health())

    def count(self, index: str, clauses: Sequence[Mapping[str, Any]]) -> list[int]:
        """Return how many documents each clause matches."""
        counting = {"size": 0, "track_total_hits": True}
        answers = self.searches(index, [{"query": {"bool": {"filter": [clause]}}} | counting for clause in clauses])
        with self.faults(), parsing():
            return [int(answer["hits"]["total"]["value"]) for answer in answers]


def _limit(connection: Any) -> None:
    """Let a connection read at most :data:`MAX_ANSWER` bytes of an answer, counted after decompression."""
    send = connection.pool.urlopen

    def urlopen(*given: Any, **options: Any) -> Any:
        """Send a request as urllib3 does; raise ``ValueError`` if the answer is too large."""
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
