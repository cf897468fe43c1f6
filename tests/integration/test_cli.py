"""What each command of ``rye`` answers, and with which status it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.cli.workshop import FILES, Workshop, lay


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """Lay the workshop; tests only read it."""
    return lay(tmp_path_factory.mktemp("shop"))


def test_search_finds_and_exits_0(shop: Workshop) -> None:
    """Words of several arguments are one query; the hit is on standard output under its header."""
    done = shop.run("search", "deploy", "build", "--space", "project")
    assert done.status == 0
    assert done.out.startswith("1 result\n\n1. tool:demo/deploy  ")
    assert "unsigned" in done.out
    assert "\x1b" not in done.out


def test_search_for_nothing_exits_1(shop: Workshop) -> None:
    """No hit is no error: the header says 0, the note what was searched."""
    done = shop.run("search", "qqqqzzzz", "--space", "project", "--no-relax")
    assert (done.status, done.out) == (1, "0 results\n")
    assert "nothing found for qqqqzzzz" in done.err


def test_search_answers_programs(shop: Workshop) -> None:
    """``json`` is the whole response, ``jsonl`` its hits, ``ids`` their names."""
    args = ("search", "server", "--space", "project", "--sort", "name")
    whole = json.loads(shop.run(*args, "--json").out)
    lines = [json.loads(line) for line in shop.run(*args, "--format=jsonl").out.splitlines()]
    ids = shop.run(*args, "--format=ids").out.split()
    assert {"results", "total", "query", "scope", "space", "limit", "offset", "search_type", "stage"} <= set(whole)
    assert [hit["id"] for hit in whole["results"]] == [hit["id"] for hit in lines] != []
    assert ids == [f"{hit['type']}:{hit['id']}" for hit in lines]


def test_hits_name_file_and_line(shop: Workshop) -> None:
    """Where the match is: the symbol of a tool, the passage of a page; else 1."""
    found = shop.run("search", "run", "--space", "project").out
    assert "  .ai/tools/demo/deploy.py:6\n" in found
    assert "  .ai/knowledge/demo/guide.md:8\n" in found
    assert ".ai/directives/demo/release.md:1\n" in shop.run("list", "directive", "--paths").out
    assert ".ai/" in shop.run("search", "--like", "demo/guide", "--space", "project").out


def test_attack_an_empty_path_is_not_the_checkout(tmp_path: Path) -> None:
    """``--trust "$KEYS"`` of a variable that is not set does not trust the keys that somebody put into the project."""
    shop = lay(tmp_path)
    assert shop.run("keys", "generate", "--owner", "eve").status == 0
    assert shop.run("sign", "tool:demo/deploy").status == 0
    trusted = tmp_path / "home/.ai/config/keys/trusted"
    for path in trusted.glob("*.toml"):
        path.rename(shop.project / path.name)
    assert shop.run("verify", "tool:demo/deploy", "--trust", ".").status == 0
    for option in ("--trust", "--project", "--policy", "--bundle"):
        done = shop.run("verify", "tool:demo/deploy", option, "")
        assert (done.status, f"'{option}'" in done.err, "the path is empty" in done.err) == (2, True, True), option


def test_search_options_reach_the_search(shop: Workshop) -> None:
    """Scope, filter, fuzzy, limit and the rest each change the answer."""

    def ids(*args: str) -> list[str]:
        return shop.run("search", "--space", "project", "--format=ids", "--sort", "name", *args).out.split()

    assert ids("*", "--scope", "directive") == ["directive:demo/release"]
    assert ids("--filter", "version>=2.0") == ["tool:demo/deploy"]
    assert ids("deplyo", "--fuzzy", "2", "--scope", "tool") == ["tool:demo/deploy"]
    assert ids("deplyo", "--scope", "tool", "--no-relax") == []
    assert len(ids("*", "--limit", "2")) == 2
    assert "knowledge:demo/old" in ids("*", "--include-superseded")
    assert "knowledge:demo/old" not in ids("*")
    assert ids("--", "-deploy", "-twin", "-trap") == ["knowledge:demo/guide"]


def test_an_explanation_adds_up(shop: Workshop) -> None:
    """What the parts of the query gave a hit, and what their fields gave, sums to the score of its line."""
    done = shop.run("search", "deploy build", "--space", "project", "--explain", "-n", "1")
    lines = done.out.splitlines()
    score = float(lines[2].split("  ")[-1])
    first = next(at for at, line in enumerate(lines) if "of at most 0." in line)
    parts = [float(line.split()[1]) for line in lines[first:] if "of at most 0." in line]
    fields = [float(line.split()[0]) for line in lines[first:] if "of at most 0." not in line]
    assert len(parts) == 2
    assert sum(parts) == pytest.approx(score, abs=2e-4)
    assert sum(fields) == pytest.approx(score, abs=1e-3)


def test_a_broken_query_shows_the_caret_and_a_working_one(shop: Workshop) -> None:
    """The place, the remedy, and a query that parses."""
    for command in ("search", "why"):
        done = shop.run(command, "server (run OR", "--no-relax")
        assert (done.status, done.out) == (2, "")
        assert "\n  server (run OR\n" in done.err
        assert "^" in done.err
        suggestion = done.err.partition("\ntry: ")[2].strip()
        assert shop.run("why", suggestion).status in (0, 1)


def test_query_shows_how_a_query_is_read(shop: Workshop) -> None:
    """The canonical form parses to itself; JSON gives the tree and the stages."""
    canonical = shop.run("why", "server AND (b OR c)").out.splitlines()[0]
    assert canonical == "server (b OR c)"
    read = json.loads(shop.run("why", "server zzzz", "--json").out)
    assert (read["canonical"], read["ast"]["type"]) == ("server zzzz", "and")
    assert [stage["stage"] for stage in read["stages"]] == ["all", "fuzzy", "substring", "any"]
    broken = json.loads(shop.run("why", "server (run", "--json").out)
    assert "never closed" in broken["fault"]


def test_show_gives_facts_and_content(shop: Workshop) -> None:
    """By type and id, by id alone, as JSON, raw."""
    done = shop.run("show", "tool:demo/deploy")
    assert done.status == 0
    assert done.out.startswith("tool:demo/deploy  – unsigned\n")
    assert "def run():" in done.out
    assert shop.run("show", "demo/deploy").out == done.out
    assert json.loads(shop.run("show", "demo/deploy", "--json").out)["signature"]["verdict"] == "unsigned"
    assert shop.run("show", "demo/deploy", "--raw").out == FILES["tools/demo/deploy.py"]


@pytest.mark.parametrize("item", ["demo/deplyo", "tool:demo/deplyo"])
def test_show_of_nothing_names_the_nearest_and_exits_1(shop: Workshop, item: str) -> None:
    """A typo is met with the item that was meant."""
    done = shop.run("show", item)
    assert (done.status, done.out) == (1, "")
    assert "demo/deploy" in done.err
    assert shop.run("show", item, "--json").status == 1


def test_index_is_shown_cleared_and_rebuilt(tmp_path: Path) -> None:
    """Its three actions, in text and JSON; after clearing, a search works as before."""
    own = lay(tmp_path)
    rebuilt = own.run("index", "rebuild")
    assert rebuilt.status == 0
    assert rebuilt.out.startswith("indexed ")
    spaces = json.loads(own.run("index", "status", "--json").out)["spaces"]
    assert [space["items"] for space in spaces if space["source"] == "project"] == [len(FILES)]
    assert "project" in own.run("index", "status").out
    assert own.run("index", "clear").out.startswith("cleared ")
    assert own.run("search", "deploy", "--format=ids").status == 0


@pytest.mark.parametrize("action", ["rebuild", "vectors"])
def test_an_index_that_would_not_be_kept_is_no_success(tmp_path: Path, action: str) -> None:
    """Where the cache folder cannot be made, a search is content with a temporary one; making an index is not."""
    own = lay(tmp_path)
    taken = tmp_path / "taken"
    taken.touch()
    done = own.run("index", action, "--json", RYE_CACHE_DIR=taken / "cache")
    error = json.loads(done.out)["error"]
    assert (done.status, error["code"]) == (2, "index-write")
    assert str(taken) in error["problems"][0]
    assert own.run("search", "deploy", "--format=ids", RYE_CACHE_DIR=taken / "cache").status == 0


def test_verify_says_yes_or_no(shop: Workshop) -> None:
    """Unsigned items are findings, status 1; the same report as JSON; nothing to verify is status 2."""
    done = shop.run("verify", "--space", "project")
    assert done.status == 1
    assert f"{len(FILES)} items: {len(FILES)} unsigned -- {len(FILES)} failed" in done.out
    report = json.loads(shop.run("verify", "--space", "project", "--json").out)
    assert report["counts"] == {"unsigned": len(FILES)}
    assert {"type", "id", "space", "path", "verdict", "reason"} <= set(report["items"][0])
    assert shop.run("verify", "--space", "user").status == 2
    assert shop.run("verify", "tool:demo/nosuch").status == 2


def test_signed_items_are_trusted_and_tampering_is_seen(tmp_path: Path) -> None:
    """Sign a bundle, verify it, change one byte: 0, then 1 with that item named."""
    own = lay(tmp_path)
    bundle = own.project / ".ai"
    signed = own.run("sign", "bundle", "--yes", str(bundle), "--new-key", "--owner", "me", "--json")
    assert signed.status == 0
    trust = json.loads(signed.out)["trust_file"]
    assert own.run("verify", "--space", "project", "--trust", trust).status == 0
    with (bundle / "tools/demo/deploy.py").open("a", encoding="utf-8") as file:
        file.write("# more\n")
    done = own.run("verify", "--space", "project", "--trust", trust)
    assert done.status == 1
    assert done.out.startswith("✗ tampered   tool:demo/deploy  project  ")


def test_help_shows_ryes_own_pages_wherever_it_is_called(shop: Workshop) -> None:
    """The list names each page, a page is its item, a command has its help; other words find pages."""
    listed = shop.run("help")
    assert any(line.startswith("query-language  ") for line in listed.out.splitlines())
    assert shop.run("help", "query-language").out.startswith("# The query language\n")
    assert shop.run("help", "keys", "rotate").out.startswith("Usage: rye keys rotate [OPTIONS] [NAME]\n")
    assert shop.run("help", "revoke", "a", "key").out.startswith("trust  ")
    assert "query-language  " in shop.run("help", "query-langage").out
    found = shop.run("help", "quokkaless")
    assert (found.status, found.out) == (1, "")
    assert "no page of the manual has 'quokkaless'" in found.err
