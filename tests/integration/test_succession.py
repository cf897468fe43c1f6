"""What takes the place of an item that has had its time: what the item itself names, and nobody else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rye import Registry
from rye.trust.keys import SigningKey
from tests.support.signed import EVE, PAT, key
from tests.support.spacesim import SpaceSim, no_own_items

OLD, NEW = "knowledge/old/zebra.md", "knowledge/new/zebra.md"


def note(text: str = "A zebra.", **metadata: Any) -> str:
    """Return a knowledge item."""
    lines = [f"{key}: {json.dumps(value)}" for key, value in metadata.items()]
    return "\n".join(["---", *lines, "---", "", text, ""])


@pytest.fixture
def sim(tmp_path: Path) -> Iterator[SpaceSim]:
    """Lay three spaces without items."""
    (tmp_path / "none").mkdir()
    with no_own_items(tmp_path / "none"):
        yield SpaceSim(tmp_path)


def successor(registry: Registry, item_id: str = "old/zebra") -> str:
    """Return what takes the place of an item: of all answers, which have to agree."""
    loaded = registry.get(f"knowledge:{item_id}").successor
    (hit,) = registry.search(f"id:{item_id}", include_superseded=True, relax=False).results
    (around,) = [each for each in registry.refs(f"knowledge:{item_id}").items if each.id == item_id]
    listed = {each.id: each.successor for each in registry.list_items(include_superseded=True).results}
    assert {loaded, hit.successor, around.successor, listed[item_id]} == {loaded}
    return loaded


Place = tuple[str, SigningKey | str | None]
"""A source, and who signs there: a key, the one that is trusted there, or nobody."""


def put(sim: SpaceSim, place: Place, rel: str, text: str) -> None:
    """Write a file, and sign it."""
    source, who = place
    sim.write(source, rel, text)
    if who:
        sim.sign(source, rel, who if isinstance(who, SigningKey) else None)


# whose word counts


@pytest.mark.parametrize(
    ("claim_in", "claim_by"),
    [
        ("project", None),
        ("project", EVE),
        ("project", PAT),
        ("user", None),
        ("user", EVE),
        ("user", "trusted"),
        ("system:shop", key("shop")),
    ],
)
def test_a_stranger_claims_to_succeed_a_trusted_item(
    sim: SpaceSim, claim_in: str, claim_by: SigningKey | str | None
) -> None:
    """Only the item has a say on it: not an unsigned file, a stranger, a bundle, or the same hand."""
    sim.trust(PAT, "project", owner="pat", endorsed_by=None)
    sim.add("user", OLD, note(status="deprecated"))
    put(sim, (claim_in, claim_by), NEW, note(supersedes="old/zebra"))
    registry = sim.registry()
    assert successor(registry) == ""
    assert registry.get("knowledge:old/zebra").warnings == ()
    assert not any("new/zebra" in text for text in registry.search("old/zebra", relax=False).warnings)


def test_a_hidden_item_that_the_query_names_is_told_once(sim: SpaceSim) -> None:
    """Also where several stages are tried because of a further word."""
    sim.write("user", "knowledge/ops/old.md", "---\nstatus: superseded\n---\n\n# Old\n\nDeploy the old way.\n")
    sim.write("user", "knowledge/ops/new.md", "# New\n\nDeploy the new way.\n")
    for query in ("ops/old", "ops/old deploy", "old"):
        told = [text for text in sim.registry().search(query).warnings if "is superseded, so hidden" in text]
        assert len(told) == 1, query


def test_what_a_successor_names_in_turn_does_not_count(sim: SpaceSim) -> None:
    """A stranger may have put it into the project; a warning says that it is not trusted."""
    sim.add("user", OLD, note(superseded_by="new/zebra"))
    sim.write("project", NEW, note(superseded_by="evil/zebra"))
    sim.write("project", "knowledge/evil/zebra.md", note(supersedes="new/zebra"))
    registry = sim.registry()
    assert successor(registry) == "knowledge:new/zebra"
    reported = "knowledge:new/zebra of project, which takes its place, is unsigned"
    assert registry.get("knowledge:old/zebra").warnings == (reported,)
    assert successor(registry, "new/zebra") == "knowledge:evil/zebra"


def test_a_stranger_puts_a_second_item_of_the_name_that_is_to_follow(sim: SpaceSim) -> None:
    """Where a name may be several items none is picked; the words stand as they are written."""
    sim.add("user", OLD, note(superseded_by="striped"))
    sim.add("user", "knowledge/new/striped.md", note())
    assert successor(sim.registry()) == "knowledge:new/striped"
    sim.write("project", "knowledge/evil/striped.md", note())
    assert successor(sim.registry()) == "striped"


# the commands and the server


def test_nothing_succeeds_itself(sim: SpaceSim) -> None:
    """Of two that name each other each names the other; one that names itself names the next, or nothing."""
    sim.add("user", "knowledge/old/self.md", note(superseded_by="old/self", supersedes="old/self"))
    sim.add("user", "knowledge/old/a.md", note(superseded_by="old/b"))
    sim.add("user", "knowledge/old/b.md", note(superseded_by="old/a"))
    registry = sim.registry()
    names = [successor(registry, f"old/{name}") for name in ("self", "a", "b")]
    assert names == ["", "knowledge:old/b", "knowledge:old/a"]


@pytest.mark.parametrize(
    "word", ["no", "No", "off", "none", "false", "never", "n/a", "~", "", "0", "'no'", "[]", "[none]"]
)
@pytest.mark.parametrize("key", ["deprecated", "yanked", "superseded_by"])
def test_words_that_mean_no_are_no(sim: SpaceSim, key: str, word: str) -> None:
    """The item is found as any other, in no hidden state, and refers to nothing."""
    sim.add("user", OLD, f"---\n{key}: {word}\n---\n\nA zebra.\n")
    registry = sim.registry()
    assert [hit.id for hit in registry.search("zebra").results] == ["old/zebra"]
    assert registry.search("is:deprecated OR is:yanked OR is:superseded", include_superseded=True).total == 0
    assert registry.refs("knowledge:old/zebra").relations == ()


@pytest.mark.parametrize("word", ["yes", "on", "true", "since 2.0", "knowledge:new/zebra"])
@pytest.mark.parametrize("key", ["deprecated", "yanked"])
def test_any_other_word_hides_the_item(sim: SpaceSim, key: str, word: str) -> None:
    """Whatever is no word for no says why, since when, or what to use instead."""
    sim.add("user", OLD, f"---\n{key}: {word}\n---\n\nA zebra.\n")
    assert sim.registry().search("zebra").total == 0
    assert sim.registry().search("zebra", include_superseded=True).total == 1
