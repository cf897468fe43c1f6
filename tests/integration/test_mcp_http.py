"""``rye mcp --http`` as a real process: who may speak to it, and of what."""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from tests.support.mcp_server import ERAS, arguments, called, environment, refused
from tests.support.spacesim import SpaceSim, furnish

TOKEN = "a-long-token-of-letters"  # noqa: S105 - of a server that lives for a test
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}


class Service:
    """A server that listens.

    Attributes:
        port: Where.
        log: The file of its standard error.
    """

    def __init__(self, port: int, log: Path) -> None:
        self.port = port
        self.log = log
        self.url = f"http://127.0.0.1:{port}/mcp"

    def post(self, body: object = INITIALIZE, /, **headers: str) -> tuple[int, str]:
        """Send one request with these headers, ``Host`` among them, and return status and body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            sent = {"Host": f"127.0.0.1:{self.port}", "Accept": "application/json, text/event-stream"} | named
            data = json.dumps(body).encode()
            connection.putrequest("POST", "/mcp", skip_host=True, skip_accept_encoding=True)
            for name, value in ({"Content-Type": "application/json", "Content-Length": str(len(data))} | sent).items():
                connection.putheader(name, value)
            connection.endheaders(data)
            response = connection.getresponse()
            is_whole = response.status != 200 or response.getheader("content-type") == "application/json"
            return response.status, response.read(100_000).decode() if is_whole else ""
        finally:
            connection.close()

    def talk(self, conversation: Callable[[Client], Any], *, mode: str = "auto", token: str = "") -> Any:
        """Return what comes out of talking to it with the protocol's own client."""

        async def run() -> Any:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            async with create_mcp_http_client(headers=headers) as own:
                transport = streamable_http_client(self.url, http_client=own)
                with anyio.fail_after(60):
                    async with Client(transport, mode=mode) as client:
                        return await conversation(client)

        return anyio.run(run)


@contextmanager
def service(sim: SpaceSim, *more: str, before: Sequence[str] = (), **env: str) -> Iterator[Service]:
    """Start a server on a free port, and stop it at the end, which it must not mind."""
    words = [*before, sys.executable, *arguments(sim, "--http", "--port", "0", *more)]
    log = sim.folder / f"server-{time.monotonic_ns()}.log"
    with log.open("wb") as errors:
        process = subprocess.Popen(
            words, env=environment(sim, **env), cwd=sim.folder, stdout=subprocess.PIPE, stderr=errors
        )
        try:
            port = None
            deadline = time.monotonic() + 30
            while port is None and time.monotonic() < deadline and process.poll() is None:
                port = re.search(r"listens on http://\S+?:(\d+)/mcp", log.read_text(errors="replace"))
                time.sleep(0.02)
            assert port, log.read_text(errors="replace")
            yield Service(int(port[1]), log)
        finally:
            process.terminate()
            out, _ = process.communicate(timeout=20)
    assert out == b""
    assert "Traceback" not in log.read_text(errors="replace")


@pytest.fixture(scope="session")
def sim(tmp_path_factory: pytest.TempPathFactory) -> SpaceSim:
    """Lay the furnished spaces."""
    found = SpaceSim(tmp_path_factory.mktemp("sim"))
    furnish(found)
    found.save_user_key()
    return found


@pytest.fixture(scope="session")
def open_service(sim: SpaceSim) -> Iterator[Service]:
    """Keep a server without a token."""
    with service(sim) as found:
        yield found


@pytest.fixture(scope="session")
def closed_service(sim: SpaceSim) -> Iterator[Service]:
    """Keep a server that demands a token from a file, and is also reached by another name."""
    path = sim.folder / "token.txt"
    path.write_text(f"{TOKEN}\n", encoding="utf-8")
    path.chmod(0o600)
    with service(sim, "--token-file", str(path), "--allow-host", "rye.example") as found:
        yield found


@pytest.mark.parametrize("mode", ERAS)
def test_a_client_searches_and_loads_over_http(open_service: Service, mode: str) -> None:
    """The protocol's own client finds and reads an item, in both forms of the protocol."""

    async def talk(client: Client) -> tuple[str, str, list[str]]:
        hit = (await called(client, "rye_search", query="new notes", space="user"))["results"][0]
        item = await called(client, "rye_load", item=f"{hit['type']}:{hit['id']}")
        return item["id"], item["verdict"], [tool.name for tool in (await client.list_tools()).tools]

    found = open_service.talk(talk, mode=mode)
    assert found == ("notes/new", "trusted", ["rye_search", "rye_sections", "rye_load", "rye_verify"])


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:{port}"}, 200),
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example:{port}"}, 421),
        ({"Host": "127.0.0.1.evil.example:{port}"}, 421),
        ({"Host": "127.0.0.1:1"}, 421),
        ({"Host": ""}, 421),
        ({"Origin": "http://127.0.0.1:{port}"}, 200),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1.evil.example:{port}"}, 403),
        ({"Content_Type": "text/plain"}, 400),
    ],
)
def test_a_web_page_elsewhere_cannot_reach_it(open_service: Service, headers: Mapping[str, str], status: int) -> None:
    """A wrong ``Host``, as after rebinding a name, and a wrong ``Origin`` are refused."""
    sent = {name: value.format(port=open_service.port) for name, value in headers.items()}
    assert open_service.post(**sent)[0] == status


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer"}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": f"Bearer {TOKEN}x"}, 401),
        ({"Authorization": f"Bearer {TOKEN[:-1]}"}, 401),
        ({"Authorization": f"Basic {TOKEN}"}, 401),
        ({"Authorization": TOKEN}, 401),
        ({"Authorization": f"Bearer {TOKEN}"}, 200),
        ({"Authorization": f"bearer {TOKEN}"}, 200),
        ({"Authorization": f"bearer  {TOKEN} x"}, 401),
        ({"Authorization": f"Bearer {TOKEN}", "Host": "rye.example"}, 200),
        ({"Authorization": f"Bearer {TOKEN}", "Origin": "https://rye.example"}, 200),
        ({"Authorization": f"Bearer {TOKEN}", "Host": "evil.example"}, 421),
        ({"Authorization": f"Bearer {TOKEN}", "Origin": "https://evil.example"}, 403),
    ],
)
def test_only_the_right_token_is_let_through(closed_service: Service, headers: Mapping[str, str], status: int) -> None:
    """No token, part of one, one with more, and one in another form are refused; the token alone is not enough."""
    found, body = closed_service.post(**headers)
    assert found == status
    assert TOKEN not in body


def test_a_token_in_the_environment_is_demanded(sim: SpaceSim) -> None:
    """``RYE_MCP_TOKEN`` does as well as a file."""
    with service(sim, RYE_MCP_TOKEN=TOKEN) as found:
        assert found.post()[0] == 401
        assert found.post(Authorization=f"Bearer {TOKEN}")[0] == 200


def test_a_project_that_was_not_named_at_the_start_is_refused(open_service: Service, tmp_path: Path) -> None:
    """Whether another folder exists, holds items or not, the answer is the same and says nothing of it."""
    (tmp_path / "other" / ".ai" / "knowledge").mkdir(parents=True)
    (tmp_path / "other" / ".ai" / "knowledge" / "secret.md").write_text("# Secret\n", encoding="utf-8")

    async def talk(client: Client) -> list[dict[str, Any]]:
        places = [str(tmp_path / "other"), str(tmp_path / "none"), "/", "/etc"]
        tools: list[tuple[str, dict[str, str]]] = [("rye_search", {"query": "secret"}), ("rye_verify", {})]
        tools.append(("rye_load", {"item": "knowledge:secret"}))
        return [await refused(client, name, project_path=place, **given) for place in places for name, given in tools]

    errors = open_service.talk(talk)
    assert {json.dumps(error) for error in errors} == {json.dumps(errors[0])}
    assert errors[0]["code"] == "project-refused"


TRAVERSALS = (
    "rye://project/knowledge/../../../../etc/passwd",
    "rye://project/knowledge/..%2f..%2f..%2fetc%2fpasswd",
    "rye://project/knowledge/%2e%2e/%2e%2e/secret",
    "rye://project/knowledge//etc/passwd",
    "rye://project/knowledge/a\\..\\b",
    "rye://project/knowledge/x%00y",
    "rye://elsewhere/knowledge/notes/new",
    "rye://project/secrets/notes/new",
    "file:///etc/passwd",
    "rye:///etc/passwd",
)


def test_a_path_in_an_id_or_uri_leads_nowhere(open_service: Service, sim: SpaceSim) -> None:
    """Ids are looked up among the items there are; what climbs out of a space is no id of any."""
    (sim.folder / "secret.md").write_text("# Secret\n", encoding="utf-8")

    async def talk(client: Client) -> list[str]:
        said = []
        for uri in TRAVERSALS:
            with pytest.raises(Exception, match=r"item-not-found|bad-uri") as raised:
                await client.read_resource(uri)
            said.append(str(raised.value))
        for item in ("knowledge:../../../secret", "knowledge:/etc/passwd", "../../secret", "knowledge:..%2fsecret"):
            error = await refused(client, "rye_load", item=item)
            assert error["code"] == "item-not-found"
            said.append(json.dumps(error))
        return said

    assert "root:" not in "".join(open_service.talk(talk))


async def find(client: Client) -> str:
    """Return the first hit of a search."""
    return str((await called(client, "rye_search", query="new notes", space="user"))["results"][0]["id"])


# The attack below is played by its row of the table: see test_attack_table.py


def a_log_full_of_what_callers_send(sim: SpaceSim) -> None:
    """Headers of refused requests can neither draw nor begin a line."""
    with service(sim, RYE_MCP_TOKEN=TOKEN) as found:
        for number in range(60):
            assert found.post()[0] == 401
            hostile = f"evil{number}\x9b31m\x85ERROR rye: forged"
            assert found.post(Host=hostile, Authorization=f"Bearer {TOKEN}")[0] == 421
            with socket.create_connection(("127.0.0.1", found.port), timeout=20) as connection:
                connection.sendall(b"\x00nonsense\r\n\r\n")
        text = found.log.read_text()
    assert not any(line.startswith("ERROR rye: forged") for line in text.splitlines())
    assert "\\x9b31m" in text
    assert "\x9b" not in text


def start(sim: SpaceSim, *more: str, **env: str) -> tuple[int, str]:
    """Start a server that cannot, and return its status and what it says."""
    words = [sys.executable, *arguments(sim, "--http", *more)]
    done = subprocess.run(
        words, env=environment(sim, **env), cwd=sim.folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


def test_a_server_for_other_machines_needs_a_token(sim: SpaceSim) -> None:
    """It does not start to listen beyond this machine for just anyone."""
    status, said = start(sim, "--host", "0.0.0.0", "--port", "0")  # noqa: S104 - it must not start
    assert status == 2
    assert "error[token-needed]" in said


def test_a_port_in_use_is_an_error(open_service: Service, sim: SpaceSim) -> None:
    """The error names host and port."""
    status, said = start(sim, "--port", str(open_service.port))
    assert status == 2
    assert f"error[port-unavailable]: cannot listen on 127.0.0.1 port {open_service.port}" in said


def test_an_empty_token_file_is_refused(sim: SpaceSim) -> None:
    """A server that was to be closed does not open because of an empty file."""
    empty = sim.folder / "empty.txt"
    empty.write_text("\n", encoding="utf-8")
    empty.chmod(0o600)
    status, said = start(sim, "--port", "0", "--token-file", str(empty))
    assert status == 2
    assert "holds no token" in said


def test_attack_a_token_that_others_may_read(sim: SpaceSim) -> None:
    """It is refused as a private key is; and nobody waits for a pipe."""
    path, pipe = sim.folder / "open token.txt", sim.folder / "pipe"
    path.write_text(f"{TOKEN}\n", encoding="utf-8")
    os.mkfifo(pipe, 0o600)
    for mode in (0o644, 0o640):
        path.chmod(mode)
        status, said = start(sim, "--port", "0", "--token-file", str(path))
        assert status == 2
        assert f"is open to others (mode {mode:o}); a token there is not used" in said
        assert f"hint: chmod 600 '{path}'" in said
    status, said = start(sim, "--port", "0", "--token-file", str(pipe))
    assert (status, "is not a regular file" in said) == (2, True)


def test_a_large_request_is_refused(open_service: Service) -> None:
    """A body above the limit is not read."""
    assert open_service.post({"x": "y" * 1_100_000})[0] == 413


@pytest.mark.parametrize(
    ("accept", "status", "is_json"),
    [
        ("application/json, text/event-stream", 200, False),
        ("application/json", 200, True),
        ("application/*", 200, True),
        ("text/event-stream", 200, False),
        ("*/*", 200, False),
        ("", 200, False),
        ("Application/JSON", 200, True),
        ("application/json, text/event-stream;q=0", 200, True),
        ("application/jsonp", 406, True),
        ("text/html", 406, True),
    ],
)
def test_a_client_gets_the_form_that_it_accepts(
    open_service: Service, accept: str, status: int, *, is_json: bool
) -> None:
    """One JSON body, or a stream of events; what accepts neither is refused."""
    found, body = open_service.post(Accept=accept)
    assert (found, bool(body)) == (status, is_json)
    if is_json and status == 200:
        assert json.loads(body)["result"]["serverInfo"]["name"] == "rye"


def test_a_session_goes_on_in_the_form_that_it_began_with(open_service: Service) -> None:
    """Whatever a later request accepts, and its end is that of the session."""
    host = {"Host": f"127.0.0.1:{open_service.port}", "Content-Type": "application/json"}

    def ask(method: str, body: object = None, **headers: str) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", open_service.port, timeout=20)
        sent = host | {name.replace("_", "-"): value for name, value in headers.items()}
        with closing(connection):
            connection.request(method, "/mcp", json.dumps(body) if body else None, sent)
            response = connection.getresponse()
            response.read()
        return response

    session = ask("POST", INITIALIZE, Accept="application/json").getheader("mcp-session-id") or ""
    assert session
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
    for accept in ("application/json", "application/json, text/event-stream", "*/*"):
        answer = ask("POST", listing, Accept=accept, Mcp_Session_Id=session)
        assert (answer.status, answer.getheader("content-type")) == (200, "application/json")
    assert ask("DELETE", Accept="application/json", Mcp_Session_Id=session).status == 200
    assert ask("POST", listing, Accept="application/json", Mcp_Session_Id=session).status == 404
