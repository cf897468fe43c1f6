"""What a model reads stays short, whatever the files of a project are called."""

from __future__ import annotations

import pytest

from rye.errors import ArgumentError
from rye.mcp.text import Mark, Reasons, for_client, listed_notes, under_base
from tests.unit.search.asking import request


def test_hundreds_of_unreadable_files_do_not_flood_an_answer() -> None:
    """Five lines, each bounded and harmless, then how many more."""
    mark = Mark()
    lines = list(listed_notes(mark, "warning", ["x\n\x1b[31m" + "pad " * 1_000] * 300, "see there"))
    assert len(lines) == 6
    assert lines[-1] == "and 295 more: see there"
    assert all(len(line) < 600 and line.isprintable() for line in lines)
    assert list(listed_notes(mark, "problem", ["a"], "see there")) == [mark.line("problem:", "a")]
    assert not list(listed_notes(mark, "problem", [], "see there"))


@pytest.mark.parametrize(
    ("given", "message", "hint"),
    [
        ({"fuzzy": {"max_distance": -1}}, "fuzzy['max_distance'] is -1", "valid are whole numbers of 0 or more"),
        ({"fuzzy": {"enabled": "yes"}}, "fuzzy['enabled'] is 'yes', of type str", "valid are true and false"),
        (
            {"proximity": {"max_distance": 0}},
            "proximity['max_distance'] is 0",
            "valid are whole numbers from 1 to 1,000",
        ),
        (
            {"fuzzy": True},
            "fuzzy is True, of type bool",
            'mappings with text keys, such as {"enabled": true, "max_distance',
        ),
        ({"fields": "category:x"}, "fields is 'category:x', of type str", "category"),
    ],
)
def test_an_option_inside_an_argument_is_named_when_it_is_wrong(
    given: dict[str, object], message: str, hint: str
) -> None:
    """Which part of it is meant, and what would be right."""
    with pytest.raises(ArgumentError) as raised:
        request("x", **given)
    assert raised.value.message == message
    assert hint in raised.value.hint


@pytest.mark.parametrize(
    ("said", "reported"),
    [
        ("rye list --format ids lists what there is", "rye_search lists what there is"),
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
def test_a_command_is_the_tool_that_does_the_same_or_the_users(said: str, reported: str) -> None:
    """Only whole words count, and what a tool has no option for is left to the user."""
    assert for_client(said) == reported


@pytest.mark.parametrize(
    ("paths", "base", "left"),
    [
        (("/p/s/a/SKILL.md", "/p/s/b/SKILL.md"), "/p/s/{id}/SKILL.md", (None, None)),
        (("/p/s/a/SKILL.md", "/p/s/b/SKILL.md", "/p/s/a/x.py"), "/p/s/{id}/SKILL.md", (None, None, "a/x.py")),
        (("/much/longer/{id}/a/s.md", "/much/longer/{id}/b/s.md"), "/much/longer/", ("{id}/a/s.md", "{id}/b/s.md")),
        (("/much/longer/x.md", "/much/longer/y.md", "/q/z.md"), "/much/longer/", ("x.md", "y.md", "/q/z.md")),
        (("/x.md", "/y.md"), "", ("/x.md", "/y.md")),
        ((), "", ()),
    ],
)
def test_the_folder_of_paths_is_said_once_and_so_is_what_follows_from_ids(
    paths: tuple[str, ...], base: str, left: tuple[str | None, ...]
) -> None:
    """Only what saves bytes; a folder that looks like a place for ids is none."""
    rows = [{"id": name, "path": path} for name, path in zip("abc", paths, strict=False)]
    assert under_base(rows).get("base", "") == base
    assert tuple(row.get("path") for row in rows) == left


def test_a_reason_that_differs_by_the_key_only_is_said_once() -> None:
    """The first of a verdict as it is, the others with a place for the key, which each part has."""
    reasons = Reasons()
    keys = ("a" * 64, "b" * 64, "c" * 64, "a" * 64)
    labels = [
        reasons.label({"verdict": "trusted", "code": "ok", "reason": f"by {key[:16]}", "signer": key}) for key in keys
    ]
    assert reasons == {"trusted": f"by {'a' * 16} [ok]", "ok": "by {signer} [ok]"}
    assert labels == [
        {"verdict": "trusted"},
        *({"verdict": "trusted", "reason": "ok", "signer": key[:16]} for key in keys[1:3]),
        {"verdict": "trusted"},
    ]
