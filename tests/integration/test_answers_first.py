"""One's own items come before rye's manual, and a query that finds nothing as written still finds something."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from rye import Registry
from rye.search.results import SearchResponse
from rye.web.serving import app
from tests.support.mcp_server import asking, called, with_client
from tests.support.spacesim import SpaceSim
from tests.support.team_skills import QUESTIONS, lay
from tests.unit.cli.workshop import Workshop

MANUAL = "system:rye"
ITEMS = Path(__file__).resolve().parents[2] / "items"
MANUAL_ITEMS = sum(path.is_file() and path.name != "rye.list" for path in ITEMS.rglob("*.*"))


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
def test_hits_of_the_manual_come_after_all_others(team: Registry, query: str, arguments: dict[str, Any]) -> None:
    """In every mode, stage and order, over all pages of the answer, and none is lost."""
    whole = team.search(query, limit=100, **arguments)
    order = sources(whole)
    assert order == sorted(order)
    assert not order[0]
    paged: list[SearchResponse] = [
        team.search(query, limit=3, offset=at, **arguments) for at in range(0, len(order), 3)
    ]
    assert [hit.path for page in paged for hit in page.results] == [hit.path for hit in whole.results]


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
    assert (found.stage, names(found)[0]) == ("any", first)
    assert any("as written" in text or "as plain words" in text for text in found.warnings)
    assert found.total <= 10


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


def test_every_surface_puts_the_manual_last(tmp_path: Path) -> None:
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
    answer = with_client(sim, lambda client: called(client, "rye_search", **asking(query=question)))
    assert [(hit["name"], hit["bundle"]) for hit in answer["results"]] == found
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


def test_verify_counts_ones_own_items_and_has_one_line_for_those_of_rye(shop: Workshop) -> None:
    """Twelve skills that nobody signed fail; the pages of the manual are no part of that count."""
    lay(shop.project)
    lines = shop.run("verify").out.splitlines()
    assert lines[-2:] == ["12 items: 12 unsigned -- 12 failed", f"rye's own items: {MANUAL_ITEMS} trusted"]
    assert "system:rye" not in shop.run("verify", "--verbose").out
    counted = json.loads(shop.run("verify", "--json").out)
    assert (counted["counts"], counted["manual"]) == ({"unsigned": 12}, {"trusted": MANUAL_ITEMS})
    assert len(counted["items"]) == 12 + MANUAL_ITEMS


@pytest.mark.parametrize("arguments", [(), ("--strict",), ("--space", "project"), ("--space", "user")])
def test_verify_with_nothing_of_ones_own_is_a_fault(shop: Workshop, arguments: tuple[str, ...]) -> None:
    """A wrong path in CI must not pass."""
    assert shop.run("verify", *arguments).status == 2
