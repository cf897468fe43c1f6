"""``rye mcp`` amid a first index: calls that are cancelled stop it, and the end of the server does not wait for it."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

from tests.support.mcp_server import arguments, environment
from tests.support.spacesim import SpaceSim

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads processor time from /proc")

MANY = 5_000
"""Items: enough for helpers, and for some seconds."""

PATIENCE = 20.0
_HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
_SEARCH = {"name": "rye_search", "arguments": {"query": "thread", "space": "project"}}


@pytest.fixture(scope="session")
def laid(tmp_path_factory: pytest.TempPathFactory) -> SpaceSim:
    """Lay many items."""
    found = SpaceSim(tmp_path_factory.mktemp("stopping"))
    for number in range(MANY):
        words = " ".join(f"w{(number * 31 + at * 17) % 9973}" for at in range(60))
        found.write("project", f"knowledge/many/n{number:05}.md", f"# Number {number}\n\nA thread of {words}.\n")
    return found


@pytest.fixture
def sim(laid: SpaceSim, tmp_path: Path) -> SpaceSim:
    """Return the spaces of these items, with nothing indexed."""
    found = copy(laid)
    found.cache = tmp_path / "cache"
    return found


class Server:
    """A server over its pipe, spoken to line by line, and its processes."""

    def __init__(self, sim: SpaceSim, *more: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, *arguments(sim, *more)],
            env=environment(sim),
            cwd=sim.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.pid = self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            with suppress(BrokenPipeError):
                pipe.close()  # type: ignore[union-attr]

    def say(self, method: str, number: int | None = None, **params: Any) -> None:
        """Send a request, or a notification where it has no number."""
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        assert self._process.stdin
        self._process.stdin.write(json.dumps(message | ({} if number is None else {"id": number})).encode() + b"\n")
        self._process.stdin.flush()

    def hear(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Return the next message that is wanted."""
        assert self._process.stdout
        for line in self._process.stdout:
            found: dict[str, Any] = json.loads(line)
            if wanted(found):
                return found
        raise AssertionError("the server has ended")

    def search(self, number: int) -> None:
        """Ask for a search."""
        self.say("tools/call", number, **_SEARCH, _meta={"progressToken": number})

    def begin(self) -> None:
        """Shake hands, and ask for a search that has to index; return once it does."""
        self.say("initialize", 1, **_HELLO)
        self.hear(lambda message: message.get("id") == 1)
        self.say("notifications/initialized")
        self.search(2)
        self.hear(lambda message: message.get("method") == "notifications/progress")

    def leave(self) -> None:
        """Close the pipe."""
        assert self._process.stdin
        self._process.stdin.close()

    def end(self) -> tuple[int, str]:
        """Wait for the end; return the status, and what was said on standard error."""
        status = self._process.wait(PATIENCE)
        assert self._process.stderr
        return status, self._process.stderr.read().decode()

    def log_until(self, pattern: str) -> str:
        """Return what a line of standard error has."""
        assert self._process.stderr
        for line in self._process.stderr:
            if match := re.search(pattern, line.decode()):
                return match[1]
        raise AssertionError("the server has ended")

    @property
    def helpers(self) -> list[int]:
        """The other processes of its session."""
        return [pid for pid in session_of(self.pid) if pid != self.pid]

    @property
    def seconds(self) -> float:
        """Processor time of the server so far."""
        return sum(map(int, stat(self.pid)[11:13])) / os.sysconf("SC_CLK_TCK")


def stat(pid: int) -> list[str]:
    """Return what the system says of a process, from its state on."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()


def session_of(leader: int) -> list[int]:
    """Return the processes of a session that live."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            state, _parent, _group, session = stat(int(path.name))[:4]
        except (OSError, ValueError):
            continue
        if int(session) == leader and state != "Z":
            found.append(int(path.name))
    return found


def left_over(sim: SpaceSim) -> list[str]:
    """Return the files of indexes that have no table of contents."""
    files = [path for path in sim.cache.rglob("*") if path.is_file() and not path.name.endswith("LOCK")]
    return [path.name for path in files if not list(path.parent.glob("_MAIN_*.toc")) or path.name.startswith("run-")]


def eventually(condition: Callable[[], bool]) -> bool:
    """Tell whether something comes to hold."""
    end = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def test_a_first_index_that_nobody_waits_for_any_more_stops(sim: SpaceSim) -> None:
    """Helpers end, the server does nothing, no file is left; a later call gets its answer."""
    with Server(sim) as server:
        server.begin()
        server.say("notifications/cancelled", requestId=2, reason="enough")
        assert eventually(lambda: not server.helpers)
        before = server.seconds
        time.sleep(0.7)
        assert server.seconds - before < 0.2
        assert left_over(sim) == []
        server.search(3)
        answer = server.hear(lambda message: message.get("id") == 3)
        assert answer["result"]["structuredContent"]["total"] == MANY
        server.leave()
        assert server.end()[0] == 0


@pytest.mark.parametrize("pause", [0.0, 0.05, 0.3])
def test_a_call_that_is_cancelled_at_once_leaves_no_work(sim: SpaceSim, pause: float) -> None:
    """However early it was given up, nothing is indexed for a call that is gone, nor unasked."""
    with Server(sim) as server:
        server.say("initialize", 1, **_HELLO)
        server.hear(lambda message: message.get("id") == 1)
        server.say("notifications/initialized")
        server.search(2)
        time.sleep(pause)
        server.say("notifications/cancelled", requestId=2, reason="enough")
        time.sleep(1)
        assert eventually(lambda: not server.helpers)
        before = server.seconds
        time.sleep(0.7)
        assert server.seconds - before < 0.2
        assert not list(sim.cache.rglob("_MAIN_*.toc"))
        server.search(3)
        answer = server.hear(lambda message: message.get("id") == 3)
        assert answer["result"]["structuredContent"]["total"] == MANY


def test_who_still_waits_for_an_index_gets_the_answer_that_another_gave_up(sim: SpaceSim) -> None:
    """Of two callers one leaves, whichever began the work."""
    with Server(sim) as server:
        server.begin()
        server.search(3)
        server.say("ping", 4)
        server.hear(lambda message: message.get("id") == 4)
        server.say("notifications/cancelled", requestId=2, reason="enough")
        answer = server.hear(lambda message: message.get("id") == 3)
        assert answer["result"]["structuredContent"]["total"] == MANY
        assert answer["result"].get("isError") is not True


@pytest.mark.parametrize("how", ["leaving", "SIGTERM", "SIGINT"])
def test_the_end_does_not_wait_for_a_first_index(sim: SpaceSim, how: str) -> None:
    """Told to end amid a build, the server ends well: no helper, no file, no fault is left; the next one builds."""
    with Server(sim) as server:
        server.begin()
        if how == "leaving":
            server.leave()
        else:
            os.kill(server.pid, getattr(signal, how))
        status, said = server.end()
        assert (status, "Traceback" in said, "Fatal" in said) == (0, False, False), said
        assert eventually(lambda: not session_of(server.pid))
        assert left_over(sim) == []
    assert sim.registry().search("thread", space="project").total == MANY


def test_over_http_a_signal_ends_a_first_index_too(sim: SpaceSim) -> None:
    """The server ends with status 0, though by a signal, and leaves no helper."""
    with Server(sim, "--http", "--port", "0") as server:
        port = server.log_until(r"listens on http://\S+?:(\d+)/mcp")
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _HELLO})
        connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=PATIENCE)
        kinds = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        connection.request("POST", "/mcp", body, kinds)
        answer = connection.getresponse()
        answer.read()
        kinds |= {"Mcp-Session-Id": answer.getheader("mcp-session-id") or "", "Mcp-Protocol-Version": "2025-06-18"}
        body = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": _SEARCH})
        connection.request("POST", "/mcp", body, kinds)
        assert eventually(lambda: bool(server.helpers))
        os.kill(server.pid, signal.SIGTERM)
        status, said = server.end()
        connection.close()
        assert (status, "Traceback" in said) == (0, False), said
        assert eventually(lambda: not session_of(server.pid))
        assert left_over(sim) == []
