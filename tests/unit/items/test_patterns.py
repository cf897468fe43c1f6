"""Attacks on the patterns that read files: a short file that takes for ever."""

from __future__ import annotations

import contextlib
import json
import time

import pytest

from rye.errors import ItemError
from rye.items import ItemType, parse

BACKSLASHES = "\\\\" * 60
LINES = "    a \\\\ b \\\\\n" * 600
MANY = 40_000


def servers(command: str) -> str:
    """Return a list of MCP servers with one server."""
    return json.dumps({"mcpServers": {"a": {"command": command}}})


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".py", f'def run():\n    """{BACKSLASHES}'),
        (".py", f"def run():\n    '{BACKSLASHES}"),
        (".py", f'def run():\n    """Text.\n{LINES}    """\n'),
        (".py", f'"""{BACKSLASHES}'),
        (".js", f"/** {BACKSLASHES}\nfunction run() {{ return `{BACKSLASHES}"),
        (".ts", f"const a = `{BACKSLASHES}${{"),
        (".sh", f"# {BACKSLASHES}\nrun() {{ echo '{BACKSLASHES}"),
        (".json", servers("?" * 2 * MANY)),
        (".json", servers("?a" * MANY)),
        (".json", servers("//a" * MANY)),
        (".json", servers("basic " * MANY)),
        (".json", servers("--key" * MANY)),
        (".json", servers("basic" + " " * MANY)),
    ],
    ids=range(13),
)
def test_a_hostile_file_hangs_the_reader(suffix: str, text: str) -> None:
    """It is read or refused at once: each of these took seconds, or never ended."""
    began = time.process_time()
    with contextlib.suppress(ItemError):
        parse(text.encode(), item_type=ItemType.TOOL, item_id="a", suffix=suffix)
    assert time.process_time() - began < 2
