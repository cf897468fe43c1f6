"""A search response as text."""

from __future__ import annotations

from rye.cli.render.search import render_ids, render_notes, render_search
from rye.cli.terminal import PLAIN, Terminal, cells
from rye.search.contract.results import ClauseTrace, Facet
from tests.unit.cli.samples import ESCAPED, HOSTILE, hit, response, signature, trace


def test_a_hit_has_two_or_three_lines_name_verdict_and_path_then_what_it_says() -> None:
    """The first line of all tells shown and total; scores are for those who ask for an explanation."""
    lines = list(render_search(response(hit(), total=42), PLAIN))
    assert lines == [
        "1 of 42 results",
        "",
        "1. tool:demo/deploy  ✓ trusted  /p/.ai/tools/demo/deploy.py:1",
        "    Puts a build on a server",
        "    how to deploy a build",
    ]


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
