"""How a server of ``rye mcp`` lives: many calls at once, cancelled ones, changing files, noise, its end."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters

from tests.support.mcp_server import (
    ERAS,
    arguments,
    called,
    environment,
    refused,
    with_client,
    with_process,
)
from tests.support.spacesim import SpaceSim, furnish


@pytest.fixture
def sim(tmp_path: Path) -> SpaceSim:
    """Lay the furnished spaces."""
    found = SpaceSim(tmp_path)
    furnish(found)
    return found


def fill(sim: SpaceSim, count: int) -> None:
    """Write many items, each with a text of its own."""
    for number in range(count):
        sim.write("project", f"knowledge/many/n{number:05}.md", f"# Number {number}\n\nThis is about number{number}.\n")


async def until(condition: Callable[[], bool | Awaitable[bool]]) -> None:
    """Wait until something holds."""
    with anyio.fail_after(20):
        while True:
            found = condition()
            if found is True or (isinstance(found, Awaitable) and await found):
                return
            await anyio.sleep(0.02)


# many calls, slow calls


@pytest.mark.parametrize("mode", ERAS)
def test_64_calls_at_once_are_answered_each_with_its_own(sim: SpaceSim, mode: str) -> None:
    """Searches, loads and verifications begun together each get the answer to what they asked."""
    fill(sim, 64)

    async def talk(client: Client) -> list[Any]:
        answers: list[Any] = [None] * 64

        async def ask(number: int) -> None:
            name = f"many/n{number:05}"
            if number % 3 == 0:
                found = await called(client, "rye_search", query=f"number{number}", options={"relax": False})
                answers[number] = [hit["id"] for hit in found["results"]]
            elif number % 3 == 1:
                answers[number] = [(await called(client, "rye_load", item=f"knowledge:{name}"))["id"]]
            else:
                found = await called(client, "rye_verify", item=f"knowledge:{name}")
                answers[number] = [item["id"] for item in found["items"]]

        async with anyio.create_task_group() as group:
            for number in range(64):
                group.start_soon(ask, number)
        return answers

    assert with_client(sim, talk, mode=mode) == [[f"many/n{number:05}"] for number in range(64)]


def test_a_first_index_reports_progress_and_lets_others_through(sim: SpaceSim) -> None:
    """While thousands of files are indexed, progress grows, and what needs no index is answered."""
    fill(sim, 1_200)
    steps: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        steps.append((progress, total, message))

    async def talk(client: Client) -> tuple[int, list[str]]:
        order: list[str] = []
        found: dict[str, Any] = {}

        async def search() -> None:
            result = await client.call_tool("rye_search", {"query": "*"}, progress_callback=note)
            found.update(result.structured_content)
            order.append("search")

        async with anyio.create_task_group() as group:
            group.start_soon(search)
            await until(lambda: bool(steps))
            await client.list_resource_templates()
            order.append("templates")
        return found["total"], order

    total, order = with_process(sim, talk)
    assert total > 1_200
    assert order == ["templates", "search"]
    assert [done for done, _, _ in steps] == sorted({done for done, _, _ in steps})
    assert any("project: " in (message or "") for _, _, message in steps)
    assert all(whole is None or done <= whole for done, whole, _ in steps)


def test_a_cancelled_call_stops_and_the_server_goes_on(sim: SpaceSim) -> None:
    """Verification of thousands of items ends soon after the client has gone away; the next call is answered."""
    fill(sim, 1_200)
    steps: list[float] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001 - its form
        steps.append(progress)

    async def talk(client: Client) -> int:
        await called(client, "rye_search", query="number1")
        with anyio.move_on_after(30) as scope:
            async with anyio.create_task_group() as group:

                async def verify() -> None:
                    await client.call_tool("rye_verify", {}, progress_callback=note)

                group.start_soon(verify)
                await until(lambda: bool(steps))
                group.cancel_scope.cancel()
        assert not scope.cancelled_caught
        seen = len(steps)
        await called(client, "rye_search", query="number2")
        await anyio.sleep(0.3)
        assert len(steps) == seen
        return int(steps[-1])

    assert with_process(sim, talk) < 1_200


# projects


def test_a_project_path_is_an_absolute_folder_with_items(sim: SpaceSim, tmp_path: Path) -> None:
    """What is wrong with it is said, and the project around it is named; other projects are not served unasked.

    A folder outside of any project has the items of the user, as on the command line.
    """
    other = tmp_path / "other"
    (other / ".ai" / "knowledge").mkdir(parents=True)
    (other / ".ai" / "knowledge" / "theirs.md").write_text("# Theirs\n", encoding="utf-8")
    (other / "src").mkdir()
    (tmp_path / "plain").mkdir()

    async def ask(client: Client) -> dict[str, Any]:
        cases = {
            "bad-project-path": ("src", "~/x", "nul\0"),
            "project-not-found": (str(tmp_path / "none"), str(other / ".ai" / "knowledge" / "theirs.md")),
            "project-without-items": (str(other / "src"),),
        }
        for code, places in cases.items():
            for place in places:
                error = await refused(client, "rye_search", query="x", project_path=place)
                assert error["code"] == code, place
                assert error["hint"]
        assert error["nearest"] == [str(other)]
        plain = await called(client, "rye_search", query="", project_path=str(tmp_path / "plain"), limit=1000)
        assert {hit["source"] for hit in plain["results"]} == {"user"}
        return await called(client, "rye_search", query="theirs", project_path=str(other), space="project")

    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "rye", "mcp"], env=environment(sim), cwd=str(sim.project)
    )

    async def run() -> dict[str, Any]:
        async with Client(parameters) as client:
            assert (await called(client, "rye_search", query="thread", space="project"))["total"] == 2
            return await ask(client)

    assert [hit["id"] for hit in anyio.run(run)["results"]] == ["theirs"]

    async def named(client: Client) -> str:
        return str((await refused(client, "rye_search", query="x", project_path=str(other)))["code"])

    assert with_client(sim, named) == "project-refused"


def test_attack_an_error_of_the_machine_discloses_no_path_outside_the_spaces(sim: SpaceSim) -> None:
    """An unsafe cache folder, and a trust file that has gone: code and remedy, but not where they are."""
    sim.cache.mkdir()
    sim.cache.chmod(0o777)

    async def talk(client: Client) -> list[Any]:
        results = [
            await client.call_tool("rye_search", {"query": "thread"}),
            await client.call_tool("rye_load", {"item": "knowledge:notes/new"}),
        ]
        with pytest.raises(MCPError) as raised:
            await client.list_resources()
        return [*(result.structured_content["error"] for result in results), raised.value.data]

    errors = with_client(sim, talk)
    assert {error["code"] for error in errors} == {"unsafe-cache"}
    assert all(error["hint"] for error in errors)
    assert str(sim.cache) not in json.dumps(errors)
    assert "<path>" in errors[0]["message"]


# changing files


def test_changed_files_are_found_without_a_scan_by_the_search(sim: SpaceSim) -> None:
    """What is added, changed, removed and trusted while the server runs is found soon, and nothing before is kept."""

    async def talk(client: Client) -> None:
        async def ids(query: str) -> set[str]:
            found = await called(client, "rye_search", query=query, space="project", options={"relax": False})
            return {hit["id"] for hit in found["results"]}

        await ids("thread")
        sim.add("project", "knowledge/fresh/bread.md", "# Bread\n\nJust baked.\n")
        await until(lambda: _is(ids("baked"), {"fresh/bread"}))
        sim.add("project", "knowledge/fresh/bread.md", "# Bread\n\nJust toasted.\n")
        await until(lambda: _is(ids("toasted"), {"fresh/bread"}))
        assert await ids("baked") == set()
        sim.move("project", "knowledge/fresh/bread.md", "knowledge/stale/bread.md")
        await until(lambda: _is(ids("toasted"), {"stale/bread"}))
        sim.delete("project", "knowledge/stale/bread.md")
        await until(lambda: _is(ids("toasted"), set()))
        sim.write("project", "knowledge/new/folder/deep.md", "# Deep down\n")
        await until(lambda: _is(ids("deep down"), {"new/folder/deep"}))

    with_client(sim, talk)


async def _is(asked: Awaitable[Any], expected: Any) -> bool:
    return bool(await asked == expected)


@asynccontextmanager
async def writing(sim: SpaceSim) -> AsyncIterator[None]:
    """Change an item again and again, since a server that has just begun may not watch yet."""

    async def write() -> None:
        for number in itertools.count():
            sim.write("user", "knowledge/notes/new.md", f"# Newer {number}\n")
            await anyio.sleep(0.1)

    async with anyio.create_task_group() as group:
        group.start_soon(write)
        yield
        group.cancel_scope.cancel()


def test_clients_of_2026_get_notifications_of_changes_where_they_listen(sim: SpaceSim) -> None:
    """A listening client hears that the list has changed, and which of the items it asked about."""
    uri = "rye://user/knowledge/notes/new"

    async def talk(client: Client) -> set[str]:
        await client.list_resources()
        await anyio.sleep(0.3)
        heard: set[str] = set()
        async with client.listen(resources_list_changed=True, resource_subscriptions=[uri]) as events, writing(sim):
            async for event in events:
                heard.add(getattr(event, "uri", type(event).__name__))
                if len(heard) == 2:
                    break
        return heard

    assert with_client(sim, talk) == {"ResourcesListChanged", uri}


def test_where_watching_is_not_possible_each_search_scans(sim: SpaceSim, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a library that watches, a change is found by the very next search."""
    monkeypatch.setitem(sys.modules, "watchfiles", None)

    async def talk(client: Client) -> list[str]:
        await called(client, "rye_search", query="thread")
        sim.write("project", "knowledge/fresh/bread.md", "# Bread\n")
        return [hit["id"] for hit in (await called(client, "rye_search", query="bread"))["results"]]

    assert with_client(sim, talk) == ["fresh/bread"]


# the wire


NOISE = """
import logging, os, sys, threading, time, warnings

def shout():
    while True:
        print("noise from print")
        sys.__stdout__.write("noise from the stream\\n")
        os.write(1, b"noise from the descriptor\\n") if os.fstat(1).st_ino != PIPE else None
        warnings.warn("noise from a warning")
        logging.getLogger("some.library").error("noise from a log")
        os.system("echo noise from a child") if os.fstat(1).st_ino != PIPE else None
        time.sleep(0.01)

PIPE = os.fstat(1).st_ino

def begin():
    while os.fstat(1).st_ino == PIPE:
        time.sleep(0.005)
    shout()

threading.Thread(target=begin, daemon=True).start()
from rye.cli import main
raise SystemExit(main(sys.argv[1:]))
"""


def test_standard_output_carries_the_protocol_only(sim: SpaceSim) -> None:
    """Whatever libraries print, warn, log or have children say goes to standard error, until the very end."""
    program = sim.folder / "noisy.py"
    program.write_text(textwrap.dedent(NOISE), encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, str(program), *arguments(sim)[2:]],
        env=environment(sim),
        cwd=sim.folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "rye_search", "arguments": {"query": "thread"}}},
        {"id": 3, "method": "tools/list"},
    ]
    assert process.stdin
    assert process.stdout
    for message in messages:
        process.stdin.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
    process.stdin.flush()
    answers = [json.loads(process.stdout.readline()) for _ in range(3)]
    time.sleep(0.3)
    rest, said = process.communicate(timeout=20)
    assert {answer["id"] for answer in answers} == {1, 2, 3}
    assert rest == ""
    for source in ("print", "the stream", "the descriptor", "a warning", "a log", "a child"):
        assert f"noise from {source}" in said


LINES = (
    b"",
    b"not json",
    b"{",
    b"[]",
    b"null",
    b'{"jsonrpc":"2.0","id":1}',
    b'{"jsonrpc":"2.0","id":null,"method":"tools/list"}',
    b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":5}}',
    b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"rye_search","arguments":[]}}',
    b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"rye_search","arguments":{"query":"\\ud800"}}}',
    b'{"jsonrpc":"2.0","id":9,"method":"no/such"}',
    b'{"jsonrpc":"1.0","id":9,"method":"tools/list"}',
    b"\xff\xfe\x00",
    b'{"a":' * 5_000,
    b'{"jsonrpc":"2.0","id":9,"method":"resources/list","params":{"cursor":"' + b"x" * 200_000 + b'"}}',
)
"""What no client should send."""


def test_a_line_that_is_no_request_does_not_end_the_server(sim: SpaceSim) -> None:
    """Whatever comes over the pipe, the next request is answered, and nothing but protocol is written."""
    process = subprocess.Popen(
        [sys.executable, *arguments(sim)],
        env=environment(sim),
        cwd=sim.folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin
    assert process.stdout

    def ask(marker: str, before: bytes, method: str, params: dict[str, Any]) -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": marker, "method": method, "params": params}
        assert process.stdin
        assert process.stdout
        process.stdin.write(before + json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        while True:
            read = process.stdout.readline()
            assert read, f"the server has ended before {marker}"
            found: dict[str, Any] = json.loads(read)
            if found.get("id") == marker:
                return found

    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    ask("hello", b"", "initialize", hello)
    begun = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode() + b"\n"
    for number, line in enumerate(LINES):
        call = {"name": "rye_search", "arguments": {"query": "thread"}}
        answer = ask(f"after {number}", begun + line + b"\n", "tools/call", call)
        assert answer["result"]["structuredContent"]["total"] >= 2, line
        begun = b""
    process.communicate(timeout=20)
    assert process.returncode == 0


@pytest.mark.skipif(os.name != "posix", reason="closes descriptors by the shell")
def test_without_a_pipe_there_is_no_server(sim: SpaceSim) -> None:
    """A closed standard input or output is an error that says so; one that ends at once is a client that has left."""
    command = f"{sys.executable} {' '.join(arguments(sim))}"
    for closed, status in (("<&-", 2), (">&- </dev/null", 2), ("</dev/null", 0)):
        done = subprocess.run(
            ["/bin/sh", "-c", f"{command} {closed}"],
            env=environment(sim),
            cwd=sim.folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stdout) == (status, ""), done.stderr
        assert ("error[no-output]" in done.stderr) == (status == 2)


def test_a_client_that_dies_ends_the_server_quietly(sim: SpaceSim) -> None:
    """Nobody reads the answer: the server ends with status 0, reports no error and closes every stream."""
    with subprocess.Popen(
        [sys.executable, *arguments(sim)],
        env=environment(sim),
        cwd=sim.folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).encode())
        process.stdin.write(b"\n")
        process.stdin.flush()
        process.stdout.readline()
        process.stdout.close()
        process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 2, "method": "ping"}).encode() + b"\n")
        process.stdin.close()
        assert process.wait(20) == 0
        said = process.stderr.read().decode()
        assert "error" not in said.lower()
        assert "ResourceWarning" not in said


def test_every_request_that_was_read_is_answered_before_the_end(sim: SpaceSim) -> None:
    """A script writes its requests and closes the pipe; a request that it cancelled is not waited for."""
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    call = {"name": "rye_search", "arguments": {"query": "read", "limit": "2"}}
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": about},
        {"method": "notifications/initialized"},
        {"id": "two", "method": "tools/call", "params": call},
        {"id": 3, "method": "tools/call", "params": call | {"name": "rye_verify", "arguments": {}}},
    ]
    lines = "".join(json.dumps({"jsonrpc": "2.0"} | message) + "\n" for message in messages)
    words = [sys.executable, *arguments(sim)]
    done = subprocess.run(
        words, input=lines.encode(), env=environment(sim), capture_output=True, check=True, timeout=60
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert {answer["id"] for answer in answers if "result" in answer} == {1, "two", 3}


@pytest.mark.parametrize("cancelled", [[], {}, None, 1.5, "3", 3])
def test_attack_a_cancelled_request_of_any_kind_ends_no_server(sim: SpaceSim, cancelled: object) -> None:
    """What is no id is ignored; a number and its text are one, as for the SDK; the end is not waited for."""
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": about},
        {"method": "notifications/initialized"},
        {"id": 3, "method": "tools/call", "params": {"name": "rye_search", "arguments": {"query": "read"}}},
        {"method": "notifications/cancelled", "params": {"requestId": cancelled}},
        {"id": 4, "method": "ping"},
    ]
    lines = "".join(json.dumps({"jsonrpc": "2.0"} | message) + "\n" for message in messages)
    words, env = [sys.executable, *arguments(sim)], environment(sim)
    done = subprocess.run(words, input=lines.encode(), env=env, capture_output=True, check=True, timeout=30)
    assert {1, 4} <= {json.loads(line)["id"] for line in done.stdout.splitlines()}
