"""The words of an answer, before a surface draws them."""

from __future__ import annotations

import pytest

from rye.errors import ArgumentError, QueryError
from rye.surface.text import (
    error_notes,
    header,
    hybrid_lines,
    plural,
    search_notes,
    source_name,
    standing,
    verdict_text,
    warning_notes,
)

ANSWER = {
    "results": [{}],
    "total": 3,
    "query": "deploy",
    "scope": "*",
    "space": "all",
    "offset": 0,
    "hidden": {},
    "did_you_mean": "",
    "next_offset": None,
}


def test_a_noun_follows_its_number() -> None:
    """One item, two items."""
    assert [plural(count, "item") for count in (0, 1, 2)] == ["0 items", "1 item", "2 items"]


def test_the_header_counts() -> None:
    """What a page shows of all, and how it was found; on one line whatever it says."""
    assert header(1, 42, "results", "all\n") == "[1 of 42 results -- all]"


def test_labels_of_an_item() -> None:
    """Where it is, whether it can be believed, and whether it has had its time."""
    assert source_name("system", "core") == "system:core"
    assert source_name("project", "") == "project"
    assert [verdict_text("trusted", "ok"), verdict_text("unsigned", "x")] == ["trusted", "unsigned"]
    assert verdict_text("tampered", "digest") == "tampered (digest)"
    assert standing(("yanked",), "tool:b") == "yanked, see tool:b"
    assert standing((), "tool:b") == ""


def test_a_hybrid_hit_shows_both_scores_and_what_matched() -> None:
    """Empty facts take no line."""
    match = {"semantic": 80.0, "keyword": 12.5, "header": "Guide", "matched_symbols": [], "definition_lines": ["a@L1"]}
    assert list(hybrid_lines(match)) == ["Semantic: 80% | Keyword: 12.5%", "Header: Guide", "Definition lines: a@L1"]


def test_warnings_begin_with_a_stale_index() -> None:
    """It concerns the whole answer."""
    assert [label for label, _ in warning_notes(("a",), stale=True)] == ["warning", "warning"]
    assert list(warning_notes(("a",))) == [("warning", "a")]


@pytest.mark.parametrize(
    ("surface", "hidden", "page"),
    [
        ("cli", "2 yanked (--include-superseded shows them)", "--offset 10"),
        ("mcp", "2 yanked (include_superseded shows them)", "offset 10"),
    ],
)
def test_a_parameter_is_written_as_the_surface_has_it(surface: str, hidden: str, page: str) -> None:
    """An option for people, an argument for models."""
    answer = ANSWER | {"hidden": {"yanked": 2}, "next_offset": 10, "did_you_mean": "deployed"}
    notes = search_notes(answer, "cli" if surface == "cli" else "mcp")
    assert list(notes) == [("hidden", hidden), ("did you mean", "deployed"), ("next page", page)]


def test_an_empty_page_says_why() -> None:
    """Behind the last hit, nothing at all, or no section."""
    beyond = ANSWER | {"results": [], "offset": 9}
    assert list(search_notes(beyond, "cli")) == [("", "nothing from offset 9 on; the last of 3 hits is before it")]
    nothing = ANSWER | {"results": [], "total": 0}
    ((_, text),) = search_notes(nothing, "mcp")
    assert text.startswith("nothing found for deploy in scope *, space all; try")
    assert list(search_notes(nothing | {"chars": 0}, "cli")) == [("", "no section found for deploy")]
    beyond |= {"chars": 0}
    assert list(search_notes(beyond, "cli")) == [("", "nothing from offset 9 on; the last of 3 sections is before it")]


def test_an_error_says_what_is_wrong_and_what_to_do() -> None:
    """The place in a query stands behind the problems, before the hint."""
    plain = ArgumentError("bad", "no", hint="do", problems=["one"])
    assert list(error_notes(plain)) == [("error[bad]", "no"), ("", "one"), ("hint", "do")]
    query = QueryError("bad", "no", text="a b", position=2, suggestion="a")
    assert [label for label, _ in error_notes(query)] == ["error[bad]", "place", "try"]
