"""What search as you type shows, without a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click import unstyle

from rye import Registry
from rye.cli.browse import Browser
from rye.cli.terminal import PLAIN, Terminal
from rye.search.results import SearchResponse
from tests.support.spacesim import SpaceSim, furnish, no_own_items


@pytest.fixture
def sim(tmp_path: Path) -> Iterator[SpaceSim]:
    """Lay the furnished spaces."""
    found = SpaceSim(tmp_path)
    furnish(found)
    with no_own_items(tmp_path / "none"):
        yield found


def search_typed(registry: Registry, typed: str) -> SearchResponse:
    """Return what is found for what is typed so far."""
    return registry.search(typed, prefix=True, lenient=True)


def ids(registry: Registry, typed: str) -> set[str]:
    """Return the ids of that."""
    return {hit.id for hit in search_typed(registry, typed).results}


def test_the_last_word_may_go_on_and_the_others_are_whole(sim: SpaceSim) -> None:
    """A beginning finds what it may become, also in a field; a blank ends the word; a typo is forgiven at last."""
    registry = sim.registry()
    assert ids(registry, "orch") == {"threads/orchestrator"}
    assert ids(registry, "thread orch") == {"threads/orchestrator"}
    assert ids(registry, "title:orch") == {"threads/orchestrator"}
    assert ids(registry, "is:untr") == {"threads/orchestrator"}
    assert ids(registry, "thread") == {"threads/orchestrator", "agents/create_thread"}
    assert search_typed(registry, "orch ").stage == "substring"
    assert search_typed(registry, "orchestratr ").stage == "fuzzy"
    assert search_typed(registry, "orch").query == "orch"
    assert search_typed(registry, "").total == search_typed(registry, "*").total == 7


@pytest.mark.parametrize(
    "typed", ["(", '"', "a AND", "a NEAR/", "title:", "nofield:", "-", "a^", "[", "x" * 5000, "é\x00", "a -"]
)
def test_whatever_is_typed_is_no_error(sim: SpaceSim, typed: str) -> None:
    """What cannot be read is left out."""
    browser = Browser(sim.registry(), {}, PLAIN)
    browser.look(typed)
    assert browser.status().startswith("[")


def test_the_last_word_may_go_on_wherever_it_stands(sim: SpaceSim) -> None:
    """After OR, beside NEAR, in a group that is not closed yet; the value of ``is:`` is completed without a warning."""
    whole = ids(sim.registry(), "orchestrator")
    assert whole <= ids(sim.registry(), "qqqqzzzz OR orchestr")
    assert whole <= ids(sim.registry(), "(qqqqzzzz OR orchestr")
    assert ids(sim.registry(), "thread NEAR/9 orchestr") == ids(sim.registry(), "thread NEAR/9 orchestr*")
    found = search_typed(sim.registry(), "is:untr")
    assert found.total
    assert not any(text.startswith("left out") for text in found.warnings)


def test_a_search_that_cannot_be_leaves_the_hits_and_says_why(sim: SpaceSim) -> None:
    """As when a filter names what no item has."""
    browser = Browser(sim.registry(), {}, PLAIN)
    browser.look("thread")
    hits = browser.hits
    browser._options["filters"] = {"nowhere": "x"}
    browser.look("thread orch")
    assert browser.hits == hits
    assert "nowhere" in browser.status()


def test_the_choice_stays_within_the_hits(sim: SpaceSim) -> None:
    """Above the first and below the last there is nothing; without hits nothing is chosen or shown."""
    browser = Browser(sim.registry(), {}, PLAIN)
    browser.look("thread")
    browser.move(-1)
    assert browser.place == 0
    browser.move(99)
    assert browser.chosen is browser.hits[-1]
    assert browser.chosen.id in browser.rows()[-1]
    browser.look("qqqqzzzzxxxx")
    assert browser.hits == ()
    assert browser.rows() == browser.preview() == []
    browser.move(1)
    assert browser.place == 0


def test_the_item_beside_the_hits_is_the_very_copy(sim: SpaceSim) -> None:
    """Of the copies in one space, too: a hidden one is not shown with the content and verdict of the one that wins."""
    for place in (".claude/skills", ".cursor/skills"):
        skill = sim.project / place / "zebra" / "SKILL.md"
        skill.parent.mkdir(parents=True)
        skill.write_text(f"---\nname: zebra\ndescription: Stripes.\n---\n\nIn {place}.\n", encoding="utf-8")
    browser = Browser(sim.registry(), {}, PLAIN)
    browser.look("zebra")
    for hit in browser.hits:
        assert browser.load(hit).path == hit.path
        browser.move(1)
    assert [hit.folder for hit in browser.hits] == [".claude/skills", ".cursor/skills"]


def test_the_item_beside_the_hits_says_whether_it_can_be_believed(sim: SpaceSim) -> None:
    """Name, verdict with reason, signer, source and path, what hides it, the passage with its matches, content."""
    browser = Browser(sim.registry(), {}, Terminal(colour=True, unicode=False, width=300))
    browser.look("orchestrator")
    marked = "\n".join(browser.preview())
    lines = [unstyle(line) for line in browser.preview()]
    assert lines[0].startswith("knowledge:threads/orchestrator  ? untrusted (")
    assert any(line.startswith("  path ") and line.endswith("threads/orchestrator.md") for line in lines)
    assert {"title", "verdict", "source"} <= {line.split()[0] for line in lines if line.startswith("  ")}
    assert "Limits" in lines
    assert Terminal(colour=True).light("orchestrator") in marked
    browser.look("space:user read file")
    assert any(line.split() == ["shadowed", "by", "project"] for line in map(unstyle, browser.preview()))


def test_an_item_that_is_gone_says_so(sim: SpaceSim) -> None:
    """In the place of its content, below what the hit says of it."""
    registry = sim.registry()
    browser = Browser(registry, {}, PLAIN)
    browser.look("orchestrator")
    sim.delete("project", "knowledge/threads/orchestrator.md")
    registry.max_staleness = 1e9
    first, *_, last = browser.preview()
    assert first.startswith("knowledge:threads/orchestrator  ")
    assert "threads/orchestrator" in last


def test_an_item_that_another_file_of_its_name_keeps_from_loading_still_says_whether_to_believe_it(
    sim: SpaceSim,
) -> None:
    """Verdict, reason, signer and path come from the hit; why it cannot be loaded stands below, without escapes."""
    sim.write("project", "tools/dup.py", '"""Duplicate \x1b[31m finder."""\n')
    sim.write("project", "tools/dup.sh", "# duplicate finder\n")
    sim.sign("project", "tools/dup.py")
    browser = Browser(sim.registry(), {}, Terminal(colour=False, unicode=False, width=300))
    browser.look("dup")
    seen = set[str]()
    for _ in browser.hits:
        first, *facts, last = browser.preview()
        assert first.startswith("tool:dup  ")
        assert {"verdict", "path", "source"} <= {line.split()[0] for line in facts if line.startswith("  ")}
        assert "dup.py" in last and "dup.sh" in last  # noqa: PT018
        assert "\x1b[31m" not in "".join(facts)
        seen |= {line.split()[-1] for line in facts if line.split()[:1] in (["path"], ["signed"])}
        browser.move(1)
    assert seen


def test_a_long_item_is_cut(sim: SpaceSim) -> None:
    """After some hundred lines it says how many more there are."""
    sim.write("project", "knowledge/long.md", "# Long\n\n" + "line\n" * 800)
    browser = Browser(sim.registry(), {}, PLAIN)
    browser.look("long")
    assert browser.preview()[-1] == "and 302 more lines"
