"""Relations and withdrawn items as people and agents meet them: hostile names, several spaces."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rye import ArgumentError, NotFoundError, Registry
from tests.support.mcp_server import session, text_of
from tests.support.signed import ANN, EVE
from tests.support.spacesim import SpaceSim, no_own_items


def note(text: str, **metadata: Any) -> str:
    """Return a knowledge item."""
    lines = [f"{key}: {json.dumps(value)}" for key, value in metadata.items()]
    return "\n".join(["---", *lines, "---", "", text, ""])


@pytest.fixture
def sim(tmp_path: Path) -> Iterator[SpaceSim]:
    """Lay items that refer to each other in a circle, across spaces, and to nothing."""
    (tmp_path / "none").mkdir()
    with no_own_items(tmp_path / "none"):
        found = SpaceSim(tmp_path)
        found.add("project", "knowledge/ops/a.md", note("See knowledge:ops/b.", references=["ops/run", "ops/gone"]))
        found.add("user", "knowledge/ops/b.md", note("See knowledge:ops/c."))
        found.add("system:shop", "knowledge/ops/c.md", note("See knowledge:ops/a.", references=["twin"]))
        found.add("system:shop", "tools/ops/run.py", '"""Run."""\n')
        found.add("project", "tools/x/twin.py", '"""One."""\n')
        found.add("project", "knowledge/y/twin.md", note("Two."))
        yield found


def pairs(registry: Registry, item: str, **options: Any) -> list[tuple[str, str, int]]:
    """Return who refers to what, and how far away."""
    answer = registry.refs(item, **options)
    return [(each.item, each.target or each.written, each.distance) for each in answer.relations]


def test_a_circle_ends_however_deep_one_looks(sim: SpaceSim) -> None:
    """Three items that refer to each other are met once, in either direction."""
    out = pairs(sim.registry(), "knowledge:ops/b", direction="out", depth=32)
    assert ("knowledge:ops/c", "knowledge:ops/a", 2) in out
    assert ("knowledge:ops/a", "knowledge:ops/b", 3) in out
    assert len(out) == len(set(out)) == 6
    into = pairs(sim.registry(), "ops/b", direction="in", depth=32)
    assert into == [
        ("knowledge:ops/a", "knowledge:ops/b", 1),
        ("knowledge:ops/c", "knowledge:ops/a", 2),
        ("knowledge:ops/b", "knowledge:ops/c", 3),
    ]


def test_dangling_and_ambiguous_references_are_kept_as_such(sim: SpaceSim) -> None:
    """What is not there has no target; what may be either of two names both, and orphans neither."""
    registry = sim.registry()
    (gone,) = [each for each in registry.refs("ops/a").relations if each.written == "ops/gone"]
    assert (gone.state, gone.target, gone.candidates) == ("dangling", "", ())
    (twin,) = [each for each in registry.refs("ops/c", direction="out").relations if each.kind == "references"]
    assert (twin.state, twin.candidates) == ("ambiguous", ("knowledge:y/twin", "tool:x/twin"))
    around = registry.refs("x/twin", direction="in")
    assert around.relations == (twin,)
    assert [item.ref for item in around.items] == ["tool:x/twin", "knowledge:ops/c", "knowledge:y/twin"]
    assert registry.search("is:orphan").total == 0


def test_relations_cross_spaces_whatever_space_is_searched(sim: SpaceSim) -> None:
    """The space searched limits what is found, not what is referred to."""
    registry = sim.registry()
    assert [hit.id for hit in registry.search("references:ops/b", space="project").results] == ["ops/a"]
    assert [hit.id for hit in registry.search("referenced-by:ops/a", space="system").results] == ["ops/run"]
    assert registry.search("is:dangling", space="user").total == 0
    assert registry.search("*", filters={"references": "ops/b"}).total == 1
    assert registry.search("*", filters={"is": "dangling"}).total == 1
    assert [hit.id for hit in registry.search("references:(tool:ops/run OR tool:x/twin)").results] == ["ops/a", "ops/c"]


@pytest.mark.parametrize(
    ("item", "options", "code"),
    [
        ("knowledge:ops/zz", {}, "item-not-found"),
        ("ops/zz", {}, "item-not-found"),
        ("", {}, "bad-item"),
        ("wrong:x", {}, "bad-type"),
        ("ops/a", {"direction": "up"}, "bad-direction"),
        ("ops/a", {"depth": 0}, "bad-depth"),
        ("ops/a", {"depth": True}, "bad-depth"),
        ("ops/a", {"limit": 1001}, "bad-limit"),
    ],
)
def test_what_cannot_be_asked_is_an_error(sim: SpaceSim, item: str, options: dict[str, Any], code: str) -> None:
    """The error names what is valid."""
    with pytest.raises((ArgumentError, NotFoundError)) as raised:
        sim.registry().refs(item, **options)
    assert raised.value.code == code
    assert raised.value.hint


def test_references_that_are_not_kept_are_counted_in_a_warning(sim: SpaceSim) -> None:
    """All are counted in the file, also for whoever asks from the other end; a full thousand is no reason to warn."""
    for name, count in (("full", 1_000), ("over", 1_501)):
        named = ["ops/b", *(f"many/{n}" for n in range(count - 1))]
        sim.add("user", f"knowledge/lists/{name}.md", note("A list.", references=named))
    registry = sim.registry()
    reported = "knowledge:lists/over has 1,501 references; of these the first 1,000 are known"
    assert registry.refs("lists/over", limit=5).warnings == (reported,)
    assert registry.refs("ops/b", direction="in").warnings == (reported,)
    assert registry.refs("lists/full").warnings == ()


# withdrawn items


def test_a_withdrawn_item_names_its_successor_and_comes_last(sim: SpaceSim) -> None:
    """By its own word; hidden unless asked for, and counted."""
    sim.add("project", "knowledge/old/one.md", note("Zebra zebra zebra.", title="Zebra", superseded_by="new/one"))
    sim.add("project", "knowledge/old/two.md", note("Zebra zebra zebra.", title="Zebra", status="yanked"))
    sim.add("project", "knowledge/new/one.md", note("A zebra among many other words."))
    registry = sim.registry()
    usual = registry.search("zebra")
    assert [hit.id for hit in usual.results] == ["new/one"]
    assert usual.hidden == {"superseded": 1, "yanked": 1}
    asked = registry.search("zebra", include_superseded=True).results
    assert [(hit.id, hit.states, hit.successor) for hit in asked] == [
        ("new/one", (), ""),
        ("old/one", ("superseded",), "knowledge:new/one"),
        ("old/two", ("yanked",), ""),
    ]
    assert asked[0].score < asked[1].score
    named = registry.search("old/one", relax=False)
    assert named.total == 0
    assert "knowledge:old/one is superseded, so hidden; see knowledge:new/one" in named.warnings
    loaded = registry.get("knowledge:old/one")
    assert (loaded.states, loaded.successor) == (("superseded",), "knowledge:new/one")
    assert [hit.id for hit in registry.search("is:yanked", include_superseded=True).results] == ["old/two"]


# another signer's item is hidden


def test_hiding_an_item_of_another_signer_is_a_warning_everywhere(sim: SpaceSim) -> None:
    """An unsigned or strangely signed item above a signed one; the same signer above its own is none."""
    sim.write("project", "tools/ops/run.py", '"""Run, but mine."""\n')
    said = "tool:ops/run of project hides that of system:shop: unsigned here, signed with key "
    registry = sim.registry()
    assert any(text.startswith(said) for text in registry.search("run").warnings)
    assert registry.get("tool:ops/run").warnings[0].startswith(said)
    run = registry.verify(space="project")
    assert run.items
    assert any(text.startswith(said) for text in run.warnings)
    assert any(text.startswith(said) for text in registry.verify("tool:ops/run").warnings)
    sim.sign("project", "tools/ops/run.py", EVE)
    assert "signed with key" in registry.get("tool:ops/run").warnings[0].partition(" here")[0]
    sim.write("user", "knowledge/ops/a.md", note("Mine, too."))
    sim.sign("user", "knowledge/ops/a.md", ANN)
    assert registry.get("knowledge:ops/a").warnings == ()


def test_examples_in_the_manual_are_no_references_to_ones_own_items(tmp_path: Path) -> None:
    """The manual shows answers with made-up names; somebody may have an item of such a name."""
    sim = SpaceSim(tmp_path, bundles=())
    sim.write("project", "directives/refund-order.md", "# Refund\n")
    found = Registry(sim.project, user=sim.user, cache_dir=sim.cache).refs("directive:refund-order", direction="in")
    assert found.total == 0


# the command and the tool


@pytest.mark.parametrize("only_trusted", [False, True])
def test_the_tool_answers_agents(sim: SpaceSim, only_trusted: bool) -> None:  # noqa: FBT001
    """The structured answer is that of the façade; a server of trusted items withholds what is not."""
    sim.write("project", "knowledge/ops/loose.md", note("See knowledge:ops/b."))
    wanted = ["knowledge:ops/a"] if only_trusted else ["knowledge:ops/a", "knowledge:ops/loose"]
    with session(sim, only_trusted=only_trusted) as found:
        result = found.call("rye_load", item="knowledge:ops/b", refs=True)
        refs = (result.structured_content or {})["refs"]
        into = [each["item"] for each in refs["relations"] if each["target"] == "knowledge:ops/b"]
        assert into == wanted
        assert {f"{each['type']}:{each['id']}" for each in refs["items"]} >= {*wanted}
        assert "knowledge:ops/a -mentions-> knowledge:ops/b  line" in text_of(result)
        assert ("loose" in text_of(result)) == (not only_trusted)
        assert found.refused("rye_load", item="ops/zz", refs=True)["code"] == "item-not-found"
        out = text_of(found.call("rye_load", item="knowledge:ops/c", refs=True))
        assert re.search(
            r"-references-> \(ambiguous, knowledge:y/twin, tool:x/twin\)  line \d+, as \w+\| twin$", out, re.MULTILINE
        )
        run = text_of(found.call("rye_load", item="tool:ops/run", refs=True))
        assert re.search(r"knowledge:ops/a -references-> tool:ops/run  line \d+, as \w+\| ops/run$", run, re.MULTILINE)
