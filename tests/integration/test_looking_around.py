"""Lists, figures and facets over the furnished spaces, from Python and from the command line."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from rye import Registry
from tests.support.spacesim import SpaceSim, furnish
from tests.unit.cli.workshop import FILES, Workshop, lay


@pytest.fixture(scope="session")
def sim(tmp_path_factory: pytest.TempPathFactory) -> SpaceSim:
    """Lay the furnished spaces; tests of this module only read them."""
    found = SpaceSim(tmp_path_factory.mktemp("sim"))
    furnish(found)
    return found


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """Lay the workshop; tests of this module only read it."""
    return lay(tmp_path_factory.mktemp("shop"))


# figures


def test_figures_are_those_of_the_files(tmp_path: Path) -> None:
    """Items by type and verdict: of each space, and of all together."""
    sim = SpaceSim(tmp_path)
    furnish(sim)
    sim.write("project", "tools/demo/twin.py", "pass\n")
    sim.write("project", "tools/demo/twin.sh", "true\n")
    sim.write("project", "knowledge/bad.md", b"\xff\xfe")
    stats = sim.registry().stats()
    by_source = {space.source: space for space in stats.spaces}
    project = by_source["project"]
    assert dict(project.figures.types) == {"tool": 3, "knowledge": 1, "directive": 1}
    assert dict(project.figures.verdicts) == {"unsigned": 3, "trusted": 1, "untrusted": 1}
    total = stats.total
    assert total.items == sum(space.figures.items for space in stats.spaces)
    assert sum(total.verdicts.values()) == sum(total.types.values()) == total.items
    assert json.loads(json.dumps(stats.to_dict()))["total"]["items"] == total.items
    assert [space.source for space in sim.registry().stats("user").spaces] == ["user"]


# lists


def test_the_command_lists_a_line_per_item(shop: Workshop) -> None:
    """The counts; type and id, version, verdict, source, description; superseded ones name the next."""
    done = shop.run("list", "--space", "project")
    assert done.status == 0
    head, *lines = done.out.splitlines()
    assert head == "6 items: 3 knowledge, 2 tool, 1 directive; 6 project; 6 unsigned"
    assert len(lines) == len(FILES) - 1
    (line,) = [line for line in done.out.splitlines() if "tool:demo/deploy" in line]
    assert line.split("  ")[0] == "tool:demo/deploy"
    assert "2.1.0  – unsigned" in line
    assert line.endswith("Deploy a build to a server.")
    assert "hidden: 1 superseded" in done.err
    assert "\x1b" not in done.out
    asked = ("list", "--space", "project", "--include-superseded")
    shown = shop.run(*asked).out.splitlines()
    assert len(shown) == len(FILES) + 1
    (old,) = [line for line in shown if "knowledge:demo/old" in line]
    assert "  project  superseded, see knowledge:demo/guide  How a server was run." in old
    reported = {
        hit["id"]: (hit["states"], hit["successor"]) for hit in json.loads(shop.run(*asked, "--json").out)["results"]
    }
    assert reported["demo/old"] == (["superseded"], "knowledge:demo/guide")
    assert reported["demo/guide"] == ([], "")


def test_a_list_takes_the_filters_of_a_search(shop: Workshop) -> None:
    """The head counts what passes them; the same filter that is refused in a search is refused here."""
    for filters in (("type=tool",), ("version>=2.0", "type=tool"), ("verdict=trusted",)):
        given = [word for each in filters for word in ("--filter", each)]
        listed, found = shop.run("list", *given, "--json"), shop.run("search", *given, "--json")
        ids = [sorted(hit["id"] for hit in json.loads(each.out)["results"]) for each in (listed, found)]
        assert ids[0] == ids[1]
        assert listed.status == found.status
        assert shop.run("list", *given).out.startswith(f"{len(ids[0])} item")
    refused = shop.run("list", "--filter", "nope=1")
    assert (refused.status, refused.err) == (2, shop.run("search", "--filter", "nope=1").err)


def test_hostile_items_are_listed_harmlessly(shop: Workshop) -> None:
    """No control character of a title or description reaches the terminal."""
    out = shop.run("list", "--space", "project", FORCE_COLOR="1", NO_COLOR="").out
    assert "\x1b]0" not in out
    assert "\x07" not in out
    assert "\u200f" not in out


# why


def test_why_names_what_keeps_an_item_out_and_exits_1(shop: Workshop) -> None:
    """The part under NOT, the scope, the filter, the state: all of them; what is no item is said as by show."""
    done = shop.run(
        "why", "server -run", "demo/guide", "--scope", "tool", "--filter", "version=9", "--space", "project"
    )
    assert done.status == 1
    assert "run: the item has run in description; run in content, which is excluded [excluded]" in done.out
    assert "tool: knowledge:demo/guide lies outside the scope [scope]" in done.out
    assert "version=9: version is 1.0.0 [filter]" in done.out
    assert "is:superseded: the item is superseded" in shop.run("why", "server", "demo/old").out
    assert shop.run("why", "server", "demo/old", "--include-superseded").status == 0
    assert shop.run("why", "direcive", "demo/release", "--fuzzy").status == 1
    nothing = shop.run("why", "server", "demo/giude")
    assert (nothing.status, "did you mean" in nothing.err) == (1, True)
    assert shop.run("why", "server", "demo/twin").status == 2
    assert shop.run("why", "titel:x", "demo/guide").status == 2
    assert shop.run("why", "server", "gadget:demo/guide").status == 2


def test_hostile_words_are_explained_harmlessly(shop: Workshop) -> None:
    """Neither a title nor a note of the item changes the terminal."""
    done = shop.run("why", "title:zzz OR trap", "demo/trap", FORCE_COLOR="1", NO_COLOR="")
    assert done.status == 0
    assert "\x1b]0" not in done.out
    assert "\u200f" not in done.out


# likeness


def test_a_long_list_is_one_state_page_by_page(tmp_path: Path) -> None:
    """Pages follow each other without a gap; what is written meanwhile is in the next list."""
    folder = tmp_path / "project" / ".ai" / "knowledge"
    folder.mkdir(parents=True)
    for number in range(1_100):
        (folder / f"page-{number:04}.md").write_text(f"# Page {number}\n", encoding="utf-8")
    registry = Registry(tmp_path / "project", user=tmp_path, bundles=(), cache_dir=tmp_path / "cache", embedder="none")
    with closing(registry.list_pages()) as pages:
        first = next(pages)
        (folder / "page-0000-more.md").write_text("# More\n", encoding="utf-8")
        names = [hit.id for page in (first, *pages) for hit in page.results]
    assert names == [f"page-{number:04}" for number in range(1_100)]
    assert len(first.results) < 1_100
    assert first.facets["type"].values == (("knowledge", 1_100),)
    listed = registry.list_items(offset=1, limit=600)
    assert [hit.id for hit in listed.results][:2] == ["page-0000-more", "page-0001"]
    assert (len(listed.results), listed.limit, listed.next_offset, listed.total) == (600, 600, 601, 1_101)
    with closing(registry.list_pages()) as one, closing(registry.list_pages()) as other:
        assert [next(pages).total for pages in (one, other)] == [1_101, 1_101]
        assert [page.total for page in one] == [1_101] * 2
        (folder / "page-0000-last.md").write_text("# Last\n", encoding="utf-8")
        assert registry.search("last").total == 1
        assert [page.total for page in other] == [1_101] * 2
