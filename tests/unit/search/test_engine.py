"""A whole search over files: stages, filters, exact hits, and pages that are read and verified at that moment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rye.index.reader import Reader
from rye.index.refresh import SpaceIndex
from rye.search.context import SearchContext
from rye.search.local import LocalSearch
from rye.search.results import SearchResponse
from rye.spaces.model import Root, Space
from tests.support.files import lay
from tests.support.signed import NOW, TOOL, TRUST, place, sign
from tests.unit.search.asking import request

Ask = Callable[..., SearchResponse]

FILES: dict[str, str | bytes] = {
    "tools/ops/deploy.py": '"""Deploy a build to servers."""\n\n__version__ = "2.0"\n',
    "tools/ops/deploy-all.py": '"""Deploy everything, deploy it twice."""\n',
    "knowledge/deploy.md": "# How to deploy\n\nFirst build, then deploy.\n",
    "knowledge/old.md": "---\nstatus: superseded\n---\n\nDeploy as it was.\n",
    "knowledge/older.md": "---\ndeprecated: true\n---\n\nDeploy as it was before.\n",
    "directives/release.md": "---\ntitle: Release the orchestrator\ndescription: Builds are released\n---\n\nStep.\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Root:
    """Return a project root with a few items."""
    return Root(Space.PROJECT, lay(tmp_path / "project", FILES))


@pytest.fixture
def ask(root: Root, tmp_path: Path) -> Ask:
    """Return what searches the root as it was when it was first searched."""
    (tmp_path / "index").mkdir()
    index = SpaceIndex(root, tmp_path / "index")
    worlds: list[SearchContext] = []

    def search(text: str = "", **options: Any) -> SearchResponse:
        if not worlds:
            snapshot = index.refresh().snapshot
            assert snapshot is not None
            reader = Reader([(root, snapshot)])
            worlds.append(SearchContext(reader, reader, lambda: TRUST, [{}], NOW))
        return LocalSearch(request(text, **options), replace(worlds[0])).run()

    return search


def ids(found: SearchResponse) -> list[str]:
    """Return the ids of a page in order."""
    return [hit.id for hit in found.results]


@pytest.mark.parametrize(
    ("text", "stage", "found"),
    [
        ("release orchestrator", "all", {"release"}),
        ("relase orchestratr", "fuzzy", {"release"}),
        ("orchestr leas", "substring", {"release"}),
        ("orchestrator everything nonsense", "any", {"release", "ops/deploy-all"}),
        ("nonsense", "all", set()),
        ("-deploy nonsense", "all", set()),
    ],
)
def test_the_first_stage_with_a_hit_answers(ask: Ask, text: str, stage: str, found: set[str]) -> None:
    """A bag of words is tried more and more broadly, and a warning says how it was found."""
    answer = ask(text)
    assert (answer.stage, set(ids(answer))) == (stage, found)
    assert bool(answer.warnings) is (stage != "all")


def test_a_truncated_word_is_taken_for_a_typo_only_where_that_finds_as_much(ask: Ask, root: Root) -> None:
    """Parts of words answer where they find more than typos do; equal totals, and sentences, stay with typos."""
    texts = ["direct", "directive", "indirect", "timezone"]
    lay(root.path, {f"knowledge/n{number}.md": f"# Word\n\n{text}\n" for number, text in enumerate(texts)})
    assert (ask("direc").stage, ask("direc").total) == ("substring", 3)
    assert (ask("imezone").stage, ask("imezone").total) == ("fuzzy", 1)
    assert (ask("word direc").stage, ask("word direc").total) == ("substring", 3)
    assert ask("word in one of direc").stage != "substring"
    assert ask("direc", relax=False).total == 0


def test_what_equals_the_query_comes_first(ask: Ask) -> None:
    """By id or name, in any case, however it scores; under another order it is only labelled."""
    found = ask("Deploy")
    assert [(hit.id, hit.exact) for hit in found.results] == [
        ("deploy", True),
        ("ops/deploy", True),
        ("ops/deploy-all", False),
    ]
    assert next((hit.id, hit.exact) for hit in ask("ops/deploy").results) == ("ops/deploy", True)
    by_name = ask("deploy", sort_by="name")
    assert [hit.exact for hit in by_name.results] == [True, True, False]
    assert ids(ask("deploy", scope="tool.ops.*"))[0] == "ops/deploy"
    assert ids(ask("deploy", fields={"version": "2.0"})) == ["ops/deploy"]


def test_superseded_and_deprecated_are_hidden_and_counted(ask: Ask) -> None:
    """By reason; asked for, they are there."""
    strict = ask("deploy as it was", relax=False)
    assert (ids(strict), dict(strict.hidden)) == ([], {"superseded": 1, "deprecated": 1})
    assert set(ids(ask("deploy as it was", relax=False, include_superseded=True))) == {"old", "older"}


def test_the_ten_of_a_sentence_are_the_best_whatever_is_withdrawn_or_their_order(root: Root, ask: Ask) -> None:
    """A superseded item that was asked for is among them, behind the others; paging and facets reach the same ten."""
    words = "alpha beta gamma delta"
    lay(root.path, {f"tools/t{number:02}.py": f'"""Sort {words} of all."""\n' for number in range(12)})
    lay(root.path, {"knowledge/past.md": "---\nstatus: superseded\n---\n\n# Zeta omega kappa\n\nZeta omega kappa.\n"})
    lay(root.path, {"tools/a/far.py": '"""Delta and so much more of other things that nobody asks about."""\n'})
    sentence = f"zeta omega kappa {words} qqqq"
    asked = {"include_superseded": True, "facets": ["type"]}
    found = ask(sentence, **asked)
    assert (found.stage, found.total, ids(found)[-1]) == ("any", 10, "past")
    assert max(found.results, key=lambda hit: hit.score).id == "past"
    assert dict(found.facets["type"].values) == {"tool": 9, "knowledge": 1}
    assert ids(ask(sentence, limit=4, offset=8, **asked)) == ids(found)[8:]
    by_name = ask(sentence, sort_by="name", **asked)
    assert set(ids(by_name)) == set(ids(found))
    assert by_name.facets == found.facets
    assert "past" not in ids(ask(sentence))


def test_scope_and_filters_do_not_change_scores(ask: Ask) -> None:
    """N, df and lengths are those of all searched spaces."""
    wide = {hit.id: hit.score for hit in ask("deploy").results}
    narrow = {hit.id: hit.score for hit in ask("deploy", scope="tool", filters={"version": "2.0"}).results}
    assert narrow == {"ops/deploy": wide["ops/deploy"]}


def test_a_file_that_is_gone_or_broken_is_left_out(ask: Ask, root: Root) -> None:
    """The total says so too."""
    ask("deploy")
    (root.path / "tools/ops/deploy.py").unlink()
    lay(root.path, {"tools/ops/deploy-all.py": b"\xff"})
    found = ask("deploy")
    assert (ids(found), found.total) == (["deploy"], 1)
    assert [warning.split(" ")[0] for warning in found.warnings] == ["tool:ops/deploy", "tool:ops/deploy-all"]


@pytest.mark.parametrize(
    "options",
    [
        {"query": "is:trusted"},
        {"query": "hello signer:*"},
        {"filters": {"verdict": "trusted"}},
        {"fields": {"IS": "trusted"}},
    ],
)
def test_attack_a_file_changed_after_indexing_is_not_listed_as_trusted(
    ask: Ask, root: Root, options: dict[str, Any]
) -> None:
    """Whoever asks for trusted items gets none that is not trusted at this moment, however the question is put."""
    data = sign(TOOL, origin=place("demo/hello"))
    lay(root.path, {"tools/demo/hello.py": data})
    text = options.pop("query", "hello")
    assert ids(ask(text, **options)) == ["demo/hello"]
    lay(root.path, {"tools/demo/hello.py": data + b"evil()\n"})
    found = ask(text, **options)
    assert (ids(found), found.total) == ([], 0)
    assert "is tampered now" in found.warnings[-1]
    (hit,) = ask("hello").results
    assert hit.signature.verdict == "tampered"


def test_a_sentence_ranks_by_coverage_and_rarity(ask: Ask) -> None:
    """More of its words, and rarer ones, come first; what was read otherwise is said, and can be asked."""
    found = ask("please could you relase the orchestratr builds for everything")
    assert (found.stage, ids(found)[0]) == ("any", "release")
    assert found.did_you_mean == "please could you release the orchestrator builds for everything"
    assert found.warnings[0] == "read 'relase' as 'release', 'orchestratr' as 'orchestrator'"
    assert found.warnings[1].startswith("no item has 'please', 'could', 'you'")
    assert "partial matches" in found.warnings[2]
    assert all(0 < hit.score < 1 for hit in found.results)


def test_an_item_named_in_a_sentence_comes_first(ask: Ask) -> None:
    """It is labelled, whatever else matches better; with another order, or without relaxation, only labelled."""
    found = ask("how to first build and then deploy with ops/deploy-all")
    assert [(hit.id, hit.exact) for hit in found.results][:2] == [("ops/deploy-all", True), ("deploy", False)]
    assert found.results[0].score < found.results[1].score
    assert ids(ask("ops/deploy-all servers"))[0] == "ops/deploy-all"
    assert ids(ask("ops/deploy-all first build", scope="knowledge")) == ["deploy"]
    assert ids(ask("ops/deploy-all servers", relax=False)) == []
    assert [hit.exact for hit in ask("ops/deploy-all twice", relax=False).results] == [True]
    assert [hit.exact for hit in ask("ops/deploy-all OR servers").results] == [False, False]


def test_a_key_named_like_a_type_takes_no_item_from_it(root: Root, ask: Ask) -> None:
    """A stranger's metadata cannot change what ``tool:`` means; a filter asks for that key."""
    lay(root.path, {"knowledge/trap.md": "---\ntool: ops/deploy\n---\n\nNothing.\n"})
    assert ids(ask("tool:ops/deploy"))[0] == "ops/deploy"
    assert ids(ask("", filters={"tool": "ops/deploy"})) == ["trap"]


def test_quotes_that_find_nothing_are_read_as_words(ask: Ask) -> None:
    """Beside an exclusion they are not, and nothing is offered that would not find anything."""
    assert ask('how do I "deploy the build" here').stage == "any"
    for query in ('"nothing such" xyzzy', '"deploy the build" -title:x'):
        found = ask(query)
        assert (found.total, found.did_you_mean) == (0, "")
