"""What names items to verify or sign is turned into references, which are never taken for a path."""

from __future__ import annotations

import pytest

from rye.errors import ArgumentError
from rye.mcp.tools.tool import read_target


@pytest.mark.parametrize(
    ("text", "references"),
    [
        ("tool:a/b", ("tool:a/b",)),
        ("knowledge:a/*", ("knowledge:a/*",)),
        ("*", ("directive:*", "tool:*", "knowledge:*")),
        ("tool", ("tool:*",)),
        ("tool.rye.core.*", ("tool:rye/core/*",)),
        ("rye.search.tool.*", ("tool:*",)),
        ("tool.rye.core", ("tool:rye/core/*", "tool:rye/core")),
        ("tool.a.*,directive", ("tool:a/*", "directive:*")),
        ("tool.a[b]?.*", ("tool:a[[]b[]][?]/*",)),
    ],
)
def test_a_target_becomes_references(text: str, references: tuple[str, ...]) -> None:
    """A reference stays; a scope becomes one for each of its types, with nothing in it left to match by chance."""
    assert read_target(text) == references


@pytest.mark.parametrize(
    "text", ["", "/", "/etc", "./tool", "..", "tools", "tool:", ":x", "gadget:x", "a:b:c", "~/x", "x.md"]
)
def test_anything_else_is_refused(text: str) -> None:
    """Paths among it, whether there is such a file or not."""
    with pytest.raises(ArgumentError) as raised:
        read_target(text)
    assert raised.value.code in {"bad-scope", "bad-target"}
    assert raised.value.hint
