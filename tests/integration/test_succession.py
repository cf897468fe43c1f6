"""What takes the place of an item that has had its time: whose word on it counts, and where a chain of them ends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rye import Registry
from rye.cli.app import main
from rye.search.succession import MAX_CLAIMS
from rye.trust.keys import SigningKey
from tests.support.mcp_server import session, text_of
from tests.support.signed import EVE, NARROW, PAT, key
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
    loaded = registry.load("knowledge", item_id).successor
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
        ("system:shop", key("shop")),
    ],
)
def test_a_stranger_claims_to_succeed_a_trusted_item(sim: SpaceSim, claim_in: str, claim_by: SigningKey | None) -> None:
    """Nothing but a key that may sign the item has a say on it: not an unsigned file, a stranger, a bundle."""
    sim.trust(PAT, "project", owner="pat", endorsed_by=None)
    sim.add("user", OLD, note(status="deprecated"))
    put(sim, (claim_in, claim_by), NEW, note(supersedes="old/zebra"))
    registry = sim.registry()
    assert successor(registry) == ""
    (reported,) = registry.load("knowledge", "old/zebra").warnings
    assert reported.startswith(f"knowledge:new/zebra of {claim_in} (")
    assert "no say" in reported
    assert not any("new/zebra" in text for text in registry.search("old/zebra", relax=False).warnings)


def test_a_key_claims_to_succeed_an_item_outside_its_namespace(sim: SpaceSim) -> None:
    """Trusted for ``new/*`` alone, it has no say on ``old/zebra``, but on ``new/zebra``."""
    sim.trust(NARROW, owner="narrow", patterns=("new/*",))
    for name in ("old", "new"):
        sim.add("user", f"knowledge/{name}/zebra.md", note(status="deprecated"))
    sim.add("project", "knowledge/new/one.md", note(supersedes=["old/zebra", "new/zebra"]), NARROW)
    registry = sim.registry()
    assert (successor(registry), successor(registry, "new/zebra")) == ("", "knowledge:new/one")


def test_a_part_that_is_not_signed_claims_to_succeed(sim: SpaceSim) -> None:
    """The claim of an item that was changed after it was signed is no word of its signer."""
    sim.add("user", OLD, note(status="deprecated"))
    path = sim.add("user", NEW, note(title="Zebra"))
    path.write_bytes(path.read_bytes().replace(b"title:", b"supersedes: old/zebra\ntitle:"))
    assert successor(sim.registry()) == ""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (("user", "trusted"), ("user", "trusted")),
        (("user", "trusted"), ("project", "trusted")),
        (("system:shop", "trusted"), ("system:shop", "trusted")),
        (("system:shop", "trusted"), ("user", "trusted")),
        (("project", None), ("project", None)),
        (("project", None), ("project", EVE)),
        (("project", None), ("user", "trusted")),
        (("project", EVE), ("project", EVE)),
    ],
)
def test_whoever_could_have_written_the_item_may_name_its_successor(sim: SpaceSim, old: Place, new: Place) -> None:
    """A trusted key that may sign it, the folder it lies in unsigned, or the same hand there."""
    put(sim, old, OLD, note(status="deprecated"))
    put(sim, new, NEW, note(supersedes="old/zebra"))
    assert successor(sim.registry()) == "knowledge:new/zebra"
    assert sim.registry().load("knowledge", "old/zebra").warnings == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [(("user", None), ("project", None)), (("project", EVE), ("project", None)), (("project", EVE), ("project", PAT))],
)
def test_an_item_that_is_not_trusted_is_no_free_for_all(sim: SpaceSim, old: Place, new: Place) -> None:
    """Another source, another hand."""
    put(sim, old, OLD, note(status="deprecated"))
    put(sim, new, NEW, note(supersedes="old/zebra"))
    assert successor(sim.registry()) == ""


def test_a_stranger_continues_the_chain_of_a_trusted_item(sim: SpaceSim) -> None:
    """The item names its successor; what that one, put into the project by a stranger, names in turn does not count."""
    sim.add("user", OLD, note(superseded_by="new/zebra"))
    sim.write("project", NEW, note(superseded_by="evil/zebra"))
    sim.write("project", "knowledge/evil/zebra.md", note(supersedes="new/zebra"))
    registry = sim.registry()
    assert successor(registry) == "knowledge:new/zebra"
    reported = "knowledge:new/zebra of project, which takes its place, is unsigned"
    assert registry.load("knowledge", "old/zebra").warnings == (reported,)
    assert successor(registry, "new/zebra") == "knowledge:evil/zebra"


def test_a_stranger_puts_a_second_item_of_the_name_that_is_to_follow(sim: SpaceSim) -> None:
    """Where a name may be several items none is picked; the words stand as they are written."""
    sim.add("user", OLD, note(superseded_by="striped"))
    sim.add("user", "knowledge/new/striped.md", note())
    assert successor(sim.registry()) == "knowledge:new/striped"
    sim.write("project", "knowledge/evil/striped.md", note())
    assert successor(sim.registry()) == "striped"


def test_a_flood_of_claims_hides_no_successor_of_the_same_source(sim: SpaceSim) -> None:
    """Claims are looked at up to a number, those of the item's own source first."""
    sim.add("user", OLD, note(status="deprecated"))
    for number in range(MAX_CLAIMS + 5):
        sim.write("project", f"knowledge/evil/z{number}.md", note(supersedes="old/zebra"))
    warnings = sim.registry().load("knowledge", "old/zebra").warnings
    assert (len(warnings), successor(sim.registry())) == (4, "")
    sim.add("user", NEW, note(supersedes="old/zebra"))
    assert successor(sim.registry()) == "knowledge:new/zebra"


# where a chain ends


def test_a_chain_is_followed_to_what_is_in_force(sim: SpaceSim) -> None:
    """By either word; a claimant that has had its time comes after one that has not."""
    sim.add("user", "knowledge/old/v1.md", note(superseded_by="old/v2"))
    sim.add("user", "knowledge/old/v2.md", note(status="deprecated"))
    sim.add("user", "knowledge/old/v3.md", note(supersedes="old/v2", superseded_by="gone/v4"))
    registry = sim.registry()
    assert [successor(registry, f"old/v{n}") for n in (1, 2, 3)] == ["gone/v4"] * 3
    sim.add("user", "knowledge/new/v5.md", note(supersedes="old/v2"))
    assert [successor(registry, f"old/v{n}") for n in (1, 2)] == ["knowledge:new/v5"] * 2


def test_a_circle_ends_before_it_closes_and_nothing_succeeds_itself(sim: SpaceSim) -> None:
    """Of two that name each other each names the other; one that names itself names nothing."""
    sim.add("user", "knowledge/old/self.md", note(superseded_by="old/self", supersedes="old/self"))
    sim.add("user", "knowledge/old/a.md", note(superseded_by="old/b"))
    sim.add("user", "knowledge/old/b.md", note(superseded_by="old/a"))
    registry = sim.registry()
    names = [successor(registry, f"old/{name}") for name in ("self", "a", "b")]
    assert names == ["", "knowledge:old/b", "knowledge:old/a"]


# the commands and the server


def test_the_commands_and_the_server_name_no_successor_that_a_stranger_claims(
    sim: SpaceSim, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """``show`` shows the claim with its verdict; ``search``, ``list`` and the server do not mention it."""
    sim.add("user", OLD, note(status="deprecated"))
    sim.write("project", NEW, note(text="Other.", supersedes="old/zebra"))
    monkeypatch.setenv("USER_SPACE", str(sim.user))
    monkeypatch.setenv("RYE_CACHE_DIR", str(sim.cache))
    place = ["--project", str(sim.project)]
    main(["show", "knowledge:old/zebra", *place])
    shown = capsys.readouterr().out
    assert "see instead" not in shown
    assert "knowledge:new/zebra of project (unsigned) says that it takes its place" in shown
    main(["search", '"a zebra"', "--include-superseded", *place])
    assert "new/zebra" not in capsys.readouterr().out
    with session(sim) as found:
        assert "new/zebra" not in text_of(
            found.call("rye_search", query='"a zebra"', options={"include_superseded": True})
        )
        loaded = found.call("rye_load", item="knowledge:old/zebra")
        assert "successor" not in (loaded.structured_content or {})
        assert "new/zebra of project (unsigned) says" in text_of(loaded)
