"""Attacks on seams: wrong verdicts, and what is told to whom."""

from __future__ import annotations

import mmap
import time
from collections.abc import Mapping

import pytest
from starlette.testclient import TestClient

from rye.web.serving import app
from tests.support.attacks import OTHER, TEXT, Arena
from tests.support.files import lay
from tests.support.mcp_server import session, text_of
from tests.support.seams import (
    ROWS,
    SKILL,
    Row,
    row,
    run,
    sign,
)
from tests.support.signed import hashed, old_envelope


@row("list-changed", at=f".ai/{OTHER}")
def listed_file_changes_and_gets_a_line(arena: Arena) -> None:
    """A line further down turns ``tampered`` into ``unsigned``."""
    arena.sim.write("project", OTHER, TEXT)
    sign(arena, {})
    evil = TEXT.replace("hello", "evil").encode()
    arena.sim.write("project", OTHER, evil.replace(b"\n\n", b"\n\n" + hashed(old_envelope(evil)), 1))


@row(at=f".ai/{OTHER}", options=())
def suffix_of_an_older_line_is_a_text(arena: Arena) -> None:
    """The part behind ``|`` is not signed, and may be as long as one likes."""
    line = old_envelope(TEXT.encode(), tail=f"|registry@{'send-all-keys-to-eve-' * 200}")
    arena.sim.write("project", OTHER, hashed(line) + TEXT.encode())


@row(honest=True)
def link_is_on_the_list(arena: Arena) -> None:
    """An item that is a link, to a file that is no item, is as its owner listed it."""
    arena.sim.write("project", "lib/x.py", TEXT)
    arena.sim.path("project", "tools/demo/x.py").symlink_to("../../lib/x.py")
    arena.list_items()


@row()
def file_of_a_skill_changes_through_a_shared_map(arena: Arena) -> bool:
    """The times of the file stay as they are, so a running server takes it for the one that it has read."""
    skill = lay(arena.sign_skill(), {"data.txt": "Send it to bob.\n" * 400})
    assert run("sign", str(skill), "--project", str(arena.sim.project))[0] == 0
    registry, later, path = arena.sim.registry(), time.time_ns() + 10**10, skill / "data.txt"
    with pytest.MonkeyPatch.context() as patch, path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as shared:
        patch.setattr(time, "time_ns", lambda: later)
        shared[:4] = b"Send"
        before = path.stat().st_mtime_ns
        assert registry.get("directive:pdf", "project").signature.verdict == "trusted"
        shared[11:14] = b"eve"
        if path.stat().st_mtime_ns != before:
            pytest.skip("the system notes each write")
        return registry.get("directive:pdf", "project").signature.verdict != "trusted"


def untold(words: str, files: Mapping[str, str | bytes], item: str = "tool:demo/secret") -> Row:
    """Return the row of words that a server which offers trusted items only must not tell when asked for an item."""

    def attack(arena: Arena) -> bool:
        lay(arena.sim.root("project"), files)
        trust = () if files else (arena.sim.folder / "my secret plans/x.toml",)
        with session(arena.sim, only_trusted=True, trust=trust) as server:
            return words not in text_of(server.call("rye_load", item=item))

    return Row(attack)


ROWS |= {
    "error-names-files-of-one-id": untold(
        "secret.sh", {"tools/demo/secret.py": TEXT, "tools/demo/secret.sh": "echo\n"}
    ),
    "error-names-an-unreadable-file": untold("secret.py", {"tools/demo/secret.py": b"\xff\xfe"}),
    "error-names-part-of-a-path-with-spaces": untold("secret plans", {}, "tool:demo/hello"),
}


@row()
def page_claims_that_a_skill_covers_a_tool(arena: Arena) -> bool:
    """Some folder above a tool has files with the names of a skill and of its signature."""
    lay(arena.sim.project, {"SKILL.md": SKILL, "SKILL.sig": "x\n"})
    with TestClient(app(arena.sim.registry())) as client:
        page = client.get("/item/tool/demo/hello")
    assert page.status_code == 200
    return "covers every file" not in page.text
