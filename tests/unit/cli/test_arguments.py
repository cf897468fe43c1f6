"""What the words of a search line mean."""

from __future__ import annotations

import click
import pytest

from rye.cli.commands import COMMANDS


def parsed(*args: str) -> dict[str, object]:
    """Return the parameters that click reads from a search line."""
    with COMMANDS["search"].command.make_context("search", list(args)) as context:
        return dict(context.params)


def test_words_stay_as_the_shell_gave_them() -> None:
    """Each argument is kept verbatim, spaces and quotes included."""
    assert parsed('"file system"', "a  b", "-")["query"] == ('"file system"', "a  b", "-")


@pytest.mark.parametrize(
    ("args", "fuzzy", "query"),
    [
        (("--fuzzy", "direcive"), "auto", ("direcive",)),
        (("--fuzzy", "1", "direcive"), "1", ("direcive",)),
        (("--fuzzy=2", "direcive"), "2", ("direcive",)),
        (("--fuzzy", "404"), "auto", ("404",)),
        (("--fuzzy", "auto", "direcive"), "auto", ("direcive",)),
        (("direcive", "--fuzzy"), "auto", ("direcive",)),
        (("--fuzzy", "--json", "x"), "auto", ("x",)),
        (("--", "--fuzzy"), None, ("--fuzzy",)),
        (("--scope", "--fuzzy", "x"), None, ("x",)),
    ],
)
def test_fuzzy_takes_a_number_only(args: tuple[str, ...], fuzzy: str | None, query: tuple[str, ...]) -> None:
    """A word behind ``--fuzzy`` is part of the query, a number is its distance."""
    params = parsed(*args)
    assert (params["fuzzy"], params["query"]) == (fuzzy, query)


@pytest.mark.parametrize(("arg", "scope"), [("-stool", "tool"), ("-sknowledge.ops.*", "knowledge.ops.*")])
def test_a_scope_may_stand_right_behind_its_option(arg: str, scope: str) -> None:
    """As a number may."""
    params = parsed(arg, "-n5", "x")
    assert (params["scope"], params["limit"], params["query"]) == (scope, 5, ("x",))


@pytest.mark.parametrize(
    "arg", ["-draft", "-d", "-stools.x", "-notes", "-draft api", "-1", "-title:x", "-(a b)", "-0x"]
)
def test_a_leading_exclusion_is_refused_with_the_way_to_write_it(arg: str) -> None:
    """``-draft`` is never read as a row of short options, not even where its letters are such."""
    with pytest.raises(click.UsageError, match="not an option") as caught:
        parsed("api", arg)
    assert str(getattr(caught.value, "hint", "")).startswith("rye search -- ")


@pytest.mark.parametrize(
    ("command", "args", "line"),
    [
        (COMMANDS["search"].command, ("api", "-draft", "--limit", "3"), "rye search --limit 3 -- api -draft"),
        (COMMANDS["search"].command, ("--fuzzy", "1", "-a b", "-n5"), "rye search --fuzzy 1 -n5 -- '-a b'"),
        (COMMANDS["why"].command, ("-author:*", "rye/ci"), "rye why -- '-author:*' rye/ci"),
        (COMMANDS["why"].command, ("-author:*",), "rye why -- '-author:*' ITEM"),
    ],
)
def test_the_line_to_write_instead_is_whole(command: click.Command, args: tuple[str, ...], line: str) -> None:
    """Options first, and behind ``--`` all the rest, with the name of an argument that is missing."""
    with pytest.raises(click.UsageError) as caught:
        command.make_context(str(command.name), list(args))
    assert getattr(caught.value, "hint", "").endswith(line)
