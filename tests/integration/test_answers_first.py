"""One's own items answer without rye's manual, and a query that finds nothing as written still finds something."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from rye import Registry
from rye.search.contract.results import SearchResponse
from rye.web.serving import app
from tests.support.mcp_server import called, with_client
from tests.support.spacesim import SpaceSim
from tests.support.team_skills import QUESTIONS, lay
from tests.unit.cli.workshop import Workshop

MANUAL = "system:rye"


@pytest.fixture(scope="session")
def team(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    """A registry of a repository with twelve skills, and of rye's own manual."""
    folder = tmp_path_factory.mktemp("team")
    lay(folder / "project")
    return Registry(folder / "project", user=folder / "user", cache_dir=folder / "cache", max_staleness=float("inf"))


def sources(response: SearchResponse) -> list[bool]:
    """Return of each hit whether it is a page of the manual."""
    return [f"{hit.source}:{hit.bundle}" == MANUAL for hit in response.results]


def names(response: SearchResponse) -> list[str]:
    """Return the names of the hits."""
    return [hit.name for hit in response.results]


def test_questions_of_a_colleague_find_the_skill_that_answers_them(team: Registry) -> None:
    """Without naming a space, nine of ten questions have the skill among the first three, and six have it first."""
    places = [names(team.search(question)).index(skill) for question, skill in QUESTIONS.items()]
    assert sum(place == 0 for place in places) >= 6
    assert sum(place < 3 for place in places) >= 9


@pytest.mark.parametrize(
    ("query", "arguments"),
    [
        ("read the file of a release", {}),
        ("release", {}),
        ("release OR key", {}),
        ("signing", {}),  # the name of a page
        ("release", {"mode": "keyword"}),
        ("release", {"mode": "semantic"}),
        ("release", {"mode": "hybrid", "hybrid": {"fusion": "rrf"}}),
        ("relese", {}),
        ("zzqq xxyy release tokens", {"mode": "keyword"}),
        ("*", {"sort_by": "name"}),
        ("*", {"sort_by": "date"}),
        ("", {}),
    ],
)
def test_pages_of_the_manual_are_no_hits_beside_items_of_ones_own(
    team: Registry, query: str, arguments: dict[str, Any]
) -> None:
    """In every mode, stage and order."""
    order = sources(team.search(query, limit=100, **arguments))
    assert order
    assert not any(order)


# Whole requests


@pytest.mark.parametrize(
    ("query", "first"),
    [
        (
            'please "look at my csv" and say which customers are there twice. Do NOT overwrite the original file',
            "clean-spreadsheets",
        ),
        (
            'the alert says -19, "replica lost" for the production service. what do I tell customers?',
            "triage-incidents",
        ),
        ('"psql says the plan has a sequential scan — why is the query slow?"', "profile-queries"),
        (
            "why is this so slow: EXPLAIN says (cost=0.00 and a lot more things that I cannot read",
            "profile-queries",
        ),
        (
            "use the fill-pdf-forms skill: this form must be complete by friday, NOT later -- OK?",
            "fill-pdf-forms",
        ),
        (
            "after /rotate-credentials the vault says 'token: -1' and \"nothing restarts\" any more here",
            "rotate-credentials",
        ),
        ("titel:report write down for users what has changed in this new version please", "write-release-notes"),
        ('"terraform would destroy"', "plan-infrastructure"),
        ("terraform NEAR/1 zzqq", "plan-infrastructure"),
        ("title:(terraform AND zzqq) type:directive", "plan-infrastructure"),
        ("databse~1 AND squential~1 AND zzqq", "profile-queries"),
    ],
)
def test_a_query_that_finds_nothing_as_written_is_searched_by_its_words(team: Registry, query: str, first: str) -> None:
    """Operators of a request are text then, a name in it is a name, and a warning says so."""
    found = team.search(query)
    assert found.stage in {"any", "hybrid"}
    assert names(found)[0] == first
    assert any("as written" in text or "as plain words" in text for text in found.warnings)
    assert found.total <= 10 or found.stage == "hybrid"


def test_a_question_about_something_else_has_no_answer_that_looks_like_one(team: Registry) -> None:
    """Hits that are not near the question are called partial; those of a question about an item are not."""
    partial = "no item is near the question; showing the best partial matches"
    assert partial in team.search("who painted the ceiling of the chapel and how long did it take").warnings
    assert partial not in team.search("how do I rotate the credentials in the vault").warnings


@pytest.mark.parametrize(
    ("query", "sign"),
    [
        ('"deplyo~ services"', "~"),
        ('"serv* deploy"~3', "*"),
        ('title:"deploy~1"', "~"),
        ('"main(*args)"', ""),
        ('"~/.ssh and *.py"', ""),
        ('"**bold** words"', ""),
    ],
)
def test_operators_inside_quotes_are_text_and_a_warning_says_so(team: Registry, query: str, sign: str) -> None:
    """A wildcard or ~ behind a word is one; signs that stand elsewhere, as in code, are what was meant."""
    told = [text for text in team.search(query).warnings if "inside quotes" in text]
    assert [text[0] for text in told] == [sign][: bool(sign)]


# Surfaces


def test_every_surface_answers_without_the_manual(tmp_path: Path) -> None:
    """The command line, MCP and the web page show one's own skill first."""
    shop = Workshop(tmp_path / "project", {**os.environ, "HOME": str(tmp_path), "USER_SPACE": str(tmp_path)})
    lay(shop.project)
    question = "what should we tell users about the new version"
    printed = json.loads(shop.run("search", question, "--json").out)
    found = [(hit["name"], hit["bundle"]) for hit in printed["results"]]
    assert found[0] == ("write-release-notes", "")
    with_sections = json.loads(shop.run("sections", question, "--json").out)
    assert with_sections["results"][0]["id"] == "write-release-notes"
    sim = SpaceSim(tmp_path / "mcp", bundles=())
    lay(sim.project)
    answer = with_client(sim, lambda client: called(client, "rye_search", query=question))
    assert [(hit["name"], hit.get("bundle", "")) for hit in answer["results"]] == found
    registry = Registry(shop.project, user=tmp_path, cache_dir=tmp_path / "cache")
    with TestClient(app(registry), base_url="http://127.0.0.1") as client:
        page = client.get("/search.json", params={"q": question}).json()
    assert [(hit["name"], hit["bundle"]) for hit in page["results"]] == found


# rye verify


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    """A command line in an empty project."""
    folder = tmp_path / "project"
    folder.mkdir()
    return Workshop(folder, {**os.environ, "HOME": str(tmp_path), "USER_SPACE": str(tmp_path)})


def test_ryes_own_items_answer_only_where_they_are_asked_for(shop: Workshop) -> None:
    """They are no hits, and are not counted, listed or verified, beside twelve skills that nobody signed."""
    lay(shop.project)
    assert shop.run("verify").out.splitlines()[-1] == "12 items: 12 unsigned -- 12 failed"
    assert "system:rye" not in shop.run("verify", "--verbose").out
    counted = json.loads(shop.run("verify", "--json").out)
    assert (counted["counts"], len(counted["items"])) == ({"unsigned": 12}, 12)
    for asked in (("list",), ("search", "signature")):
        assert not any(hit["bundle"] == "rye" for hit in json.loads(shop.run(*asked, "--json").out)["results"])
    assert json.loads(shop.run("list", "--json").out)["total"] == 12


@pytest.mark.parametrize("asked", [("--space", "system"), ("--scope", "knowledge.rye.*")])
def test_ryes_own_items_are_asked_for_by_space_or_scope(shop: Workshop, asked: tuple[str, ...]) -> None:
    """Then they are hits, and are verified."""
    lay(shop.project)
    assert json.loads(shop.run("search", "signature", *asked, "--json").out)["results"][0]["bundle"] == "rye"
    target = asked[1:] if asked[0] == "--scope" else asked
    assert " trusted -- all passed" in shop.run("verify", *target).out
    shown = shop.run("show", "rye/trust")
    assert (shown.status, "knowledge:rye/trust" in shown.out) == (0, True)


def test_a_note_says_where_only_the_manual_matches(shop: Workshop) -> None:
    """The words are in the manual as written, and in none of the user's items; an answer of one's own has no note."""
    lay(shop.project)
    note = "rye's own manual matches as written"
    assert note in shop.run("search", "revocation").err
    assert note not in shop.run("search", "release").err
    assert note not in shop.run("search", "quokkaless").err
    assert note not in shop.run("search", "--filter", "verdict=trusted").err


def test_without_items_of_ones_own_the_manual_answers(shop: Workshop) -> None:
    """A newcomer's first search finds something, and is told that there is nothing else."""
    found = shop.run("search", "verify signatures")
    assert "rye/" in found.out
    assert "there are no items of your own" in found.err


@pytest.mark.parametrize("arguments", [(), ("--strict",), ("--space", "project"), ("--space", "user")])
def test_verify_with_nothing_of_ones_own_is_a_fault(shop: Workshop, arguments: tuple[str, ...]) -> None:
    """A wrong path in CI must not pass."""
    assert shop.run("verify", *arguments).status == 2
