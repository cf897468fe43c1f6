"""A search response as text."""

from __future__ import annotations

from rye.cli.render.search import render_ids, render_notes, render_search
from rye.cli.terminal import PLAIN, Terminal, cells
from rye.search.facets import Facet
from rye.search.results import ClauseTrace
from tests.unit.cli.samples import ESCAPED, HOSTILE, hit, response, signature, trace


def test_a_hit_shows_rank_name_score_verdict_source_title_and_preview() -> None:
    """The header tells shown, total and stage; the hit has its line and two below it."""
    lines = list(render_search(response(hit(), total=42), PLAIN))
    assert lines == [
        "[1 of 42 results -- all]",
        "",
        "1. tool:demo/deploy  0.5000  ✓ trusted  project",
        "    Deploy a build",
        "    how to deploy a build",
    ]


def test_ranks_go_on_over_pages_and_align() -> None:
    """The rank counts from the start of the whole list."""
    text = "\n".join(render_search(response(hit(), hit(), total=30, offset=8), PLAIN))
    assert "\n 9. tool" in text
    assert "\n10. tool" in text


def test_a_system_hit_names_its_bundle() -> None:
    """Of the system space, the bundle is what matters."""
    assert "  system:core" in list(render_search(response(hit(source="system", bundle="core")), PLAIN))[2]


def test_a_verdict_that_needs_a_reason_shows_its_code() -> None:
    """An unknown key, a wrong digest: the code stands by the word; unsigned says all."""
    marks = [
        list(render_search(response(hit(signature=signature(verdict, code="why"))), PLAIN))[2].split("  ")[2]
        for verdict in ("trusted", "untrusted", "partial", "misplaced", "tampered", "unsigned")
    ]
    assert marks == [
        "✓ trusted",
        "? untrusted (why)",
        "◐ partial (why)",
        "↷ misplaced (why)",
        "✗ tampered (why)",
        "– unsigned",
    ]


def test_exact_hits_and_shadows_are_marked() -> None:
    """What equals the query, hides others or is hidden says so."""
    lines = list(render_search(response(hit(exact=True, shadows=("user", "system:core"), shadowed_by=("x",))), PLAIN))
    assert lines[2].endswith("  exact")
    assert lines[-2:] == ["    shadows user, system:core", "    shadowed by x"]


def test_without_title_and_preview_the_description_speaks() -> None:
    """An item without a body still says what it is."""
    lines = list(render_search(response(hit(title="", preview="")), PLAIN))
    assert lines[3:] == ["    Puts a build on a server"]


def test_matches_are_lighted_where_there_is_colour() -> None:
    """The matched words of title and preview stand out; without colour there is no escape code at all."""
    coloured = "\n".join(render_search(response(hit()), Terminal(colour=True)))
    assert "how to \x1b[33m\x1b[1mdeploy\x1b[0m a build" in coloured
    assert "\x1b[33m\x1b[1mDeploy\x1b[0m a build" in coloured
    assert "\x1b" not in "\n".join(render_search(response(hit()), PLAIN))


def test_a_preview_is_wrapped_to_the_terminal() -> None:
    """No line of a preview is wider than the terminal."""
    lines = list(render_search(response(hit(preview="word " * 60, highlights={})), Terminal(width=50)))
    assert len(lines) > 6
    assert all(cells(line) <= 50 for line in lines)


def test_hostile_item_text_never_reaches_the_terminal() -> None:
    """Every text of an item, a warning or a suggestion is escaped, in every form of the answer."""
    bad = hit(
        id=HOSTILE,
        title=HOSTILE,
        preview=HOSTILE,
        source=HOSTILE,
        highlights={"preview": ((0, 3),), "title": ((2, 4),)},
        shadows=(HOSTILE,),
        signature=signature("tampered", code=HOSTILE),
        explain=(trace(HOSTILE, HOSTILE),),
    )
    answer = response(bad, warnings=(HOSTILE,), did_you_mean=HOSTILE, hidden={HOSTILE: 1}, query=HOSTILE)
    empty = response(query=HOSTILE, scope=HOSTILE)
    for lines in (
        render_search(answer, PLAIN),
        render_ids(answer),
        render_notes(answer, PLAIN),
        render_notes(empty, PLAIN),
    ):
        text = "\n".join(lines)
        assert ESCAPED in text
        assert not set(text) & set(HOSTILE) - set("[2Jeviltx1mA")


def test_an_explanation_draws_what_each_part_gave_of_what_it_could_and_in_which_words() -> None:
    """A bar for each part, as long as it could be; below it fields by share, with their words; what a boost did."""
    title = ClauseTrace("deploy^2", "title", 3, 1.5, 2.0, 2.0, 0.125, 0.5, 0.25, {"deploys": 2, "deploy": 1})
    name = ClauseTrace("deploy^2", "name", 3, 1.5, 2.0, 2.0, 0.25, 0.5, 0.25, {"deploy": 1})
    tags = ClauseTrace("ci", "tags", 1, 1.5, 1.0, 2.0, 0.125, 0.25, 0.5, {"ci": 1})
    first, second = hit(score=0.5, explain=(title, name, tags)), hit(score=0.125, explain=(tags,))
    lines = list(render_search(response(first, second), PLAIN))
    assert lines[5:11] == [
        f"    deploy^2  0.3750  {'█' * 9}░░░  of at most 0.5000, in 3 items, boost 2; 0.2500 without boosts",
        "              0.2500  name: deploy",
        "              0.1250  title: deploys ×2, deploy",
        "    ci        0.1250  ███░░░  of at most 0.2500, in 1 item",
        "              0.1250  tags: ci",
        "",
    ]
    plain = "\n".join(render_search(response(first), Terminal(unicode=False)))
    assert f"{'#' * 9}..." in plain
    assert "deploys x2" in plain


def test_an_explanation_without_scoring_term_queries_says_so() -> None:
    """A query of filters only gives every hit the same score, and says why."""
    assert "no part of the query contributes to the score" in list(render_search(response(hit(explain=())), PLAIN))[-1]


def test_ids_are_one_per_line() -> None:
    """For scripts: type and id and nothing else."""
    assert list(render_ids(response(hit(), hit(id="b")))) == ["tool:demo/deploy", "tool:b"]


def test_notes_hold_everything_besides_the_hits() -> None:
    """Staleness, warnings, what is hidden and how to see it, the suggestion, the next page."""
    answer = response(
        hit(), total=30, stale=True, warnings=("w1",), hidden={"superseded": 2}, did_you_mean="deploy~", next_offset=1
    )
    assert list(render_notes(answer, PLAIN)) == [
        "warning: the index could not be refreshed; an older state of the files answered",
        "warning: w1",
        "hidden: 2 superseded (--include-superseded shows them)",
        "did you mean: deploy~",
        "next page: --offset 1",
    ]


def test_nothing_found_says_what_was_searched() -> None:
    """An empty answer names query, scope and space; a page behind the last says that instead."""
    assert list(render_notes(response(), PLAIN)) == ["nothing found for deploy in scope *, space all"]
    assert "nothing found in scope" in next(render_notes(response(query=""), PLAIN))
    assert list(render_notes(response(total=3, offset=9), PLAIN)) == [
        "nothing from offset 9 on; the last of 3 hits is before it"
    ]


def test_facets_stand_below_the_hits_each_value_with_number_and_bar() -> None:
    """Hostile values are written out; what is not listed and who has none is said; no marks where none can be shown."""
    facets = {"tag": Facet(((HOSTILE, 8), ("ci", 4)), other_values=3, others=5, missing=2), "author": Facet(())}
    lines = list(render_search(response(hit(), facets=facets), PLAIN))[5:]
    width = cells(ESCAPED[:47] + "…")
    assert lines == [
        "",
        "tag",
        f"  {ESCAPED[:47]}…  8  {'█' * 20}",
        f"  {'ci'.ljust(width)}  4  {'█' * 10}",
        "  and 3 more, 5 together",
        "  none: 2",
        "",
        "author",
        "  no match has a value",
    ]
    plain = list(render_search(response(facets={"tag": Facet((("ci", 4),))}), Terminal(unicode=False)))
    assert plain[-1] == f"  ci  4  {'#' * 20}"
