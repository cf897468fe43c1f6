"""``rye serve`` as a real process: who may call it, with what, and how it ends."""

from __future__ import annotations

import base64
import http.client
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.mcp_server import environment
from tests.support.samples import Samples
from tests.support.spacesim import SpaceSim

TOKEN = "a-long-token-of-letters"  # noqa: S105 - of a server that lives for a test


class Server:
    """A server that listens.

    Attributes:
        port: Where.
        log: The file of its standard error.
    """

    def __init__(self, port: int, log: Path) -> None:
        self.port = port
        self.log = log

    def get(self, address: str = "/", *, method: str = "GET", **headers: str) -> tuple[int, str]:
        """Send one request with these headers, ``Host`` among them; return status and body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.putrequest(method, address, skip_host=True, skip_accept_encoding=True)
            for name, value in ({"Host": f"127.0.0.1:{self.port}"} | headers).items():
                connection.putheader(name.replace("_", "-"), value)
            connection.endheaders()
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()


def words(sim: SpaceSim, *more: str) -> list[str]:
    """Return the command that serves the project of ``sim``."""
    return [sys.executable, "-m", "rye", "serve", "--project", str(sim.project), *more]


@contextmanager
def serving(sim: SpaceSim, *more: str, **env: str) -> Iterator[Server]:
    """Start a server on a free port, and interrupt it at the end, which it must take well."""
    with tempfile.NamedTemporaryFile(suffix=".log") as errors:
        log = Path(errors.name)
        process = subprocess.Popen(
            words(sim, "--port", "0", *more),
            env=environment(sim, **env),
            cwd=sim.folder,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        try:
            port, deadline = None, time.monotonic() + 60
            while port is None and time.monotonic() < deadline and process.poll() is None:
                port = re.search(r"serves http://\S+?:(\d+)/", log.read_text(errors="replace"))
                time.sleep(0.02)
            assert port, log.read_text(errors="replace")
            yield Server(int(port[1]), log)
        finally:
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=30)
        assert (process.returncode, out) == (0, b"")
        assert "Traceback" not in log.read_text(errors="replace")


@pytest.fixture(scope="session")
def sim(samples: Samples) -> SpaceSim:
    """Return three furnished spaces; read only."""
    return samples.spaces()


@pytest.fixture(scope="session")
def server(sim: SpaceSim) -> Iterator[Server]:
    """Return a server that anyone on this machine may call."""
    with serving(sim) as found:
        yield found


def test_it_shows_what_the_command_finds(server: Server) -> None:
    """The page of a search leads to the pages of its hits."""
    status, text = server.get("/search?q=notes")
    assert status == 200
    item = re.search(r'href="(/item/[^"]+)"', text)
    assert item
    assert server.get(item[1])[0] == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "LOCALHOST:{port}", "Origin": "http://localhost:{port}"}, 200),
    ],
)
def test_only_its_own_names_are_answered(server: Server, headers: dict[str, str], status: int) -> None:
    """A page elsewhere can name neither the host nor the origin of this server."""
    named = {name: value.format(port=server.port) for name, value in headers.items()}
    assert server.get("/search?q=notes", **named)[0] == status


def test_a_token_is_demanded(sim: SpaceSim) -> None:
    """As a bearer's, or as the password that a browser asks its user for; every page and file needs it."""
    with serving(sim, "--allow-host", "rye.example", RYE_SERVE_TOKEN=TOKEN) as found:
        password = base64.b64encode(f"anyone:{TOKEN}".encode()).decode()
        wrong = base64.b64encode(b"anyone:other").decode()
        assert found.get("/", Authorization=f"Basic {password}", Host="rye.example")[0] == 200
        assert found.get("/", Authorization=f"Bearer {TOKEN}")[0] == 200
        for header in (f"Basic {wrong}", "Basic ===", "Bearer x", f"Bearer {TOKEN}x", "Digest x"):
            assert found.get("/static/rye.css", Authorization=header)[0] == 401
        assert found.get("/search.json?q=notes")[0] == 401


def test_other_machines_need_a_token(sim: SpaceSim) -> None:
    """Without one it does not begin to listen where they reach it."""
    done = subprocess.run(
        words(sim, "--host", "0.0.0.0", "--port", "0"),  # noqa: S104 - it is refused
        env=environment(sim),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "token-needed" in done.stderr
    assert "RYE_SERVE_TOKEN" in done.stderr


def test_a_new_file_is_shown(sim: SpaceSim, tmp_path: Path) -> None:
    """What changes while it runs is on the next page."""
    project = tmp_path / "project"
    (project / ".ai" / "knowledge").mkdir(parents=True)
    (project / ".ai" / "knowledge" / "first.md").write_text("# First\n\nOf zebras.\n", encoding="utf-8")
    with serving(sim, "--project", str(project)) as found:
        assert "1 item" in found.get("/search?q=zebras&space=project")[1]
        (project / ".ai" / "knowledge" / "second.md").write_text("# Second\n\nOf zebras.\n", encoding="utf-8")
        deadline = time.monotonic() + 30
        while "2 items" not in found.get("/search?q=zebras&space=project")[1]:
            assert time.monotonic() < deadline
            time.sleep(0.1)
