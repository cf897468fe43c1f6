"""Hints and warnings of rye, as clients are told them."""

from __future__ import annotations

import pytest

from rye.mcp.wording import for_client


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("rye search --ids lists what there is", "rye_search lists what there is"),
        ("write type:… and id:…, or rye show to read it", "write type:… and id:…, or rye_load to read it"),
        ("and 3 more files; see rye verify", "and 3 more files; see rye_verify"),
        (
            "a bundle's items are signed with rye sign --bundle DIR",
            "a bundle's items are signed with rye sign --bundle DIR (a command that the user runs)",
        ),
        ("make one with rye keys generate", "make one with rye keys generate (a command that the user runs)"),
        ("did you mean 'rye searches'?", "did you mean 'rye searches'?"),
        ("use 1 to 1000", "use 1 to 1000"),
    ],
)
def test_a_command_is_the_tool_that_does_the_same_or_the_users(said: str, told: str) -> None:
    """Only whole words count, and what a tool has no option for is left to the user."""
    assert for_client(said) == told
