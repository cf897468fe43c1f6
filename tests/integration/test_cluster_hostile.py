"""A cluster is a stranger: what a server may answer, and what becomes of it here."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from rye import Registry
from rye.cluster import client as cluster
from rye.cluster.documents import FORMAT
from rye.cluster.vectors import Model
from rye.embedding.protocol import embed_with_probe
from rye.errors import ArgumentError, EnvironmentFault, UnavailableError
from rye.index.text.schema import TEXT_FIELDS
from tests.support.word_model import WordModel

pytest.importorskip("opensearchpy", reason="pip install '.[test]' brings it")

Reply = tuple[int, dict[str, str], bytes]
META = {
    "format": FORMAT,
    "count": 0,
    "average": [1.0] * len(TEXT_FIELDS),
    "owners": {"shop": {"count": 0, "digest": "", "keys": ["type"], "copies": False, "vectors": 0}},
    "roots": [["shop", "project", "", "", "", ""]],
    "withdrawn": False,
    "model": None,
    "lists": [],
}
WHOLE = {"timed_out": False, "_shards": {"failed": 0}, "hits": {"total": {"value": 0}, "hits": []}}
JSON = {"Content-Type": "application/json"}


def reply(answer: object, status: int = 200) -> Reply:
    """Return an answer in JSON."""
    return status, JSON, json.dumps(answer).encode()


class Server:
    """A server of one's own: answers what a test wants, and counts what it is asked."""

    def __init__(self, search: Callable[[int], Reply]) -> None:
        self.mapping: Reply = reply({"r-1": {"mappings": {"_meta": {"rye": META}}}})
        self.asked: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                outer.asked.append(self.path)
                status, headers, data = outer.mapping
                if "_msearch" in self.path:
                    status, headers, data = search(body.count(b"\n") // 2)
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(data))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = _answer  # noqa: N815 - as http.server names them

            def log_message(self, *_: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def address(self) -> str:
        """The registry on it."""
        return f"opensearch+http://127.0.0.1:{self.http.server_address[1]}/r"


@pytest.fixture
def serve() -> Iterator[Callable[[Callable[[int], Reply]], Server]]:
    """Return what starts a server; all are stopped."""
    servers: list[Server] = []

    def start(search: Callable[[int], Reply]) -> Server:
        servers.append(Server(search))
        return servers[-1]

    yield start
    for server in servers:
        server.http.shutdown()
        server.http.server_close()


def registry(tmp_path: Path, address: str, embedder: Any = None) -> Registry:
    """Return the registry on a server, seen from an empty project."""
    (tmp_path / "project" / ".ai").mkdir(parents=True, exist_ok=True)
    places: dict[str, Any] = {"user": tmp_path, "bundles": (), "cache_dir": tmp_path / "cache"}
    return Registry(tmp_path / "project", **places, index=address, embedder=embedder)


Serve = Callable[[Callable[[int], Reply]], Server]


def whole(count: int) -> Reply:
    """Return whole answers without a hit."""
    return reply({"responses": [WHOLE] * count})


FAULTS = {
    "a shard failed": WHOLE | {"_shards": {"failed": 1, "failures": [{"reason": {"reason": "node \x1b[31mlost"}}]}},
    "timed out": WHOLE | {"timed_out": True},
    "an error": {"error": {"reason": "all shards failed"}, "status": 503},
    "no shards named": {name: value for name, value in WHOLE.items() if name != "_shards"},
    "no object": ["hits"],
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_part_of_an_answer_is_no_answer(fault: str, serve: Serve, tmp_path: Path) -> None:
    """Also where one of several answers sent together is the incomplete one."""
    server = serve(lambda count: reply({"responses": [WHOLE] * (count - 1) + [FAULTS[fault]]}))
    with pytest.raises(EnvironmentFault) as raised:
        registry(tmp_path, server.address).search("deploy")
    assert raised.value.code == "cluster-incomplete"
    assert raised.value.hint
    assert "\x1b" not in str(raised.value)


BAD: dict[str, Callable[[int], Reply]] = {
    "too few answers": lambda _: reply({"responses": []}),
    "no JSON": lambda _: (200, JSON, b"{"),
    "deep JSON": lambda _: (200, JSON, b"[" * 100_000 + b"]" * 100_000),
    "another shape": lambda _: reply([1, 2]),
    "an error": lambda _: reply({"error": {"reason": "no \x07such index"}}, 404),
    "numbers as text": lambda count: reply({"responses": [WHOLE | {"hits": {"total": {"value": "x"}}}] * count}),
    "hits without fields": lambda count: reply(
        {"responses": [WHOLE | {"hits": {"total": {"value": 1}, "hits": [{"_id": "a"}]}}] * count}
    ),
}


@pytest.mark.parametrize("fault", BAD)
def test_nonsense_is_an_error_that_names_the_cluster(fault: str, serve: Serve, tmp_path: Path) -> None:
    """Never a traceback, and no control character of the server."""
    with pytest.raises(EnvironmentFault) as raised:
        registry(tmp_path, serve(BAD[fault]).address).search("deploy")
    assert raised.value.code == "cluster-error"
    assert str(raised.value).isprintable()


def test_a_redirect_is_not_followed(serve: Serve, tmp_path: Path) -> None:
    """Neither to another host nor to the same."""
    other = serve(whole)
    server = serve(lambda _: (302, {"Location": f"http://127.0.0.1:{other.http.server_address[1]}/_msearch"}, b""))
    with pytest.raises(EnvironmentFault):
        registry(tmp_path, server.address).search("deploy")
    assert not other.asked


def test_an_answer_has_a_greatest_size(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is beyond it is not read."""
    monkeypatch.setattr(cluster, "MAX_ANSWER", 10_000)
    server = serve(lambda _: (200, JSON, b" " * 20_000))
    with pytest.raises(EnvironmentFault, match="more than 10,000 bytes"):
        registry(tmp_path, server.address).search("deploy")


@pytest.mark.parametrize(
    ("meta", "error"),
    [
        (META | {"format": 99}, "cluster-format"),
        ({}, "cluster-format"),
        (META | {"lists": [["shop", "x", 1]]}, "cluster-error"),
        (META | {"roots": [["shop", "nowhere", "", "", "", ""]]}, "cluster-error"),
        (META | {"roots": [["shop", "project", "../../etc", "", "", ""]]}, "cluster-error"),
        (META | {"roots": [["shop", "project", "", "/etc", "skill", ""]]}, "cluster-error"),
    ],
)
def test_what_is_noted_of_a_generation_is_checked(
    meta: dict[str, Any], error: str, serve: Serve, tmp_path: Path
) -> None:
    """It decides over lists and origins."""
    server = serve(whole)
    server.mapping = reply({"r-1": {"mappings": {"_meta": {"rye": meta}}}})
    with pytest.raises(EnvironmentFault) as raised:
        registry(tmp_path, server.address).search("deploy")
    assert raised.value.code == error


def test_what_fuses_by_ranks_is_refused(serve: Serve, tmp_path: Path) -> None:
    """The ranks of all items would be needed."""
    model = WordModel()
    meta = META | {"model": Model("words", embed_with_probe(model)[0]).to_dict()}
    server = serve(whole)
    server.mapping = reply({"r-1": {"mappings": {"_meta": {"rye": meta}}}})
    with pytest.raises(UnavailableError) as raised:
        registry(tmp_path, server.address, model).search("undo", mode="hybrid", hybrid={"fusion": "rrf"})
    assert raised.value.code == "not-on-cluster"


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("x", {"facets": "verdict"}),
        ("is:tampered", {}),
        ("-is:trusted", {}),
    ],
)
def test_what_a_cluster_cannot_do_is_refused(query: str, options: dict[str, Any], serve: Serve, tmp_path: Path) -> None:
    """With an error that names it; nothing is left out silently."""
    with pytest.raises(UnavailableError) as raised:
        registry(tmp_path, serve(whole).address).search(query, **options)
    assert raised.value.code == "not-on-cluster"
    assert raised.value.hint


@pytest.mark.parametrize(
    ("variables", "problem"),
    [
        ({"RYE_INDEX_LOGIN": "secret"}, "is not a login"),
        ({"RYE_INDEX_LOGIN": "me:secret"}, "in the clear"),
        ({"RYE_INDEX_CA": "/nowhere.pem"}, "names no file"),
        ({"RYE_INDEX_KEY": __file__}, "only one is set"),
    ],
)
def test_a_login_that_cannot_be_used_is_an_error_that_does_not_show_it(
    variables: dict[str, str], problem: str, *, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is it sent where others could read it."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    server = serve(whole)
    with pytest.raises(ArgumentError, match=problem) as raised:
        registry(tmp_path, server.address).search("deploy")
    assert raised.value.code == "bad-index-login"
    assert "secret" not in f"{raised.value} {raised.value.hint}"
    assert server.asked == []


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda one: one.why("deploy", "knowledge:a"), "explain a hit"),
        (lambda one: one.similar("knowledge:a"), "find similar items"),
        (lambda one: one.stats(), "count its items"),
        (lambda one: one.skill("skill://project/a/SKILL.md"), "hand out the files of a skill"),
        (lambda one: one.refs("knowledge:a", depth=2), "follow references beyond one step"),
        (lambda one: one.publish("opensearch+http://127.0.0.1:9/s"), "be published to another one"),
    ],
)
def test_what_a_registry_on_a_cluster_cannot_do_is_refused_by_name(
    call: Callable[[Registry], object], words: str, tmp_path: Path
) -> None:
    """It is not done on the spaces instead: the answer would be of other items."""
    with pytest.raises(UnavailableError, match=f"a registry on a cluster cannot {words}") as raised:
        call(registry(tmp_path, "opensearch+http://127.0.0.1:9/r"))
    assert raised.value.code == "not-on-cluster"
    assert "--index none" in raised.value.hint
