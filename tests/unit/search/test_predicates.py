"""Verdicts, signers, declared states and shadowing over the spaces."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rye.index.file_list import SegmentRow
from rye.index.reader import Reader
from rye.index.schema import ItemPlace
from rye.index.segment import EXTENSION, Segment
from rye.index.segment_builder import SegmentBuilder
from rye.index.store import LiveSegment, Snapshot
from rye.items.model import Item
from rye.search.fields import STATES
from rye.search.predicates import States
from rye.spaces.model import Root, Space
from rye.trust.evidence import inspect
from rye.trust.trust_set import TrustSet
from tests.support.signed import ANN, EVE, NOW, TOOL, TRUST, place, sign
from tests.unit.index.segments import NO_FILES, item, snapshot

PROJECT, USER = Root(Space.PROJECT, Path("/p")), Root(Space.USER, Path("/u"))
ALPHA, BETA = Root(Space.SYSTEM, Path("/s"), "alpha"), Root(Space.SYSTEM, Path("/t"), "beta")


def signed(folder: Path, root: Root, files: dict[str, bytes]) -> tuple[Root, Snapshot]:
    """Write a segment of tools with these bytes."""
    folder.mkdir()
    builder = SegmentBuilder()
    for item_id, data in files.items():
        origin = place(item_id, space=root.space, bundle=root.bundle)
        found = inspect(data, origin=origin, declared={})
        builder.add(item(item_id), ItemPlace(root.space, root.bundle, f"tools/{item_id}.py"), found)
    row = SegmentRow("states", len(files))
    builder.write(folder / row.file(EXTENSION))
    segment = Segment(folder / row.file(EXTENSION))
    return root, Snapshot(folder, 1, (LiveSegment(row, segment, segment.types < 9),), NO_FILES)


def asked(reader: Reader, state: str, trust: Callable[[], TrustSet] = lambda: TRUST) -> list[str]:
    """Return the ids, with their sources, of the items in a state."""
    mask = States(reader, reader, trust, NOW).having(state)
    return [f"{reader.locate(doc)[0].root.source} {reader.key_of(doc)[1]}" for doc in mask.nonzero()[0].tolist()]


@pytest.fixture
def verdicts(tmp_path: Path) -> Reader:
    """Return a reader over items that are trusted, of an unknown key, changed, and not signed."""
    good = sign(TOOL, origin=place("good"))
    files = {"good": good, "eve": sign(TOOL, EVE, origin=place("eve")), "changed": good + b"\n", "plain": TOOL}
    return Reader([signed(tmp_path / "project", PROJECT, files)])


def test_verdicts_are_states(verdicts: Reader) -> None:
    """Each verdict finds its items; ``signed`` all but the unsigned."""
    found = {state: asked(verdicts, state) for state in ("trusted", "untrusted", "tampered", "unsigned", "partial")}
    assert found == {
        "trusted": ["project good"],
        "untrusted": ["project eve"],
        "tampered": ["project changed"],
        "unsigned": ["project plain"],
        "partial": [],
    }
    assert asked(verdicts, "signed") == ["project good", "project eve", "project changed"]


def test_keys_are_asked_for_only_when_a_verdict_is(verdicts: Reader) -> None:
    """Loading trust files costs nothing to a search that needs no verdict."""

    def never() -> TrustSet:
        pytest.fail("asked for the keys")

    for state in ("shadowed", "shadowing", "superseded", "deprecated"):
        assert asked(verdicts, state, never) == []


@pytest.mark.parametrize(
    ("glob", "found"),
    [
        ("*", ["good", "eve", "changed"]),
        (ANN.public.fingerprint, ["good", "changed"]),
        (f"{ANN.public.fingerprint[:8]}*", ["good", "changed"]),
        ("?*", ["good", "eve", "changed"]),
        ("**", ["good", "eve", "changed"]),
        ("", []),
        ("nobody", []),
    ],
)
def test_signers_are_found_by_their_fingerprint(verdicts: Reader, glob: str, found: list[str]) -> None:
    """A glob over the whole fingerprint, which a changed file still names; no signer is matched by nothing."""
    mask = States(verdicts, verdicts, lambda: TRUST, NOW).signed_by(glob)
    assert [verdicts.key_of(doc)[1] for doc in mask.nonzero()[0].tolist()] == found


def test_a_set_of_keys_has_its_own_column(verdicts: Reader, tmp_path: Path) -> None:
    """Other keys give other verdicts, and both columns are kept beside the segment."""
    assert asked(verdicts, "trusted") == ["project good"]
    assert asked(verdicts, "trusted", TrustSet) == []
    names = {path.name.partition(".")[2] for path in (tmp_path / "project").iterdir()}
    assert names == {"ryx", f"{TRUST.digest(NOW)[:16]}.ryx", f"{TrustSet().digest(NOW)[:16]}.ryx"}


@pytest.fixture
def spaces(tmp_path: Path) -> Reader:
    """Return a reader over four roots that share ids, one copy of them deleted."""

    def found(root: Root, *items: Item, gone: frozenset[tuple[int, int]] = frozenset()) -> tuple[Root, Snapshot]:
        folder = tmp_path / root.source.replace(":", "-")
        folder.mkdir()
        return root, snapshot(folder, [items], gone, root)

    return Reader(
        [
            found(PROJECT, item("a"), item("b"), item("gone"), gone=frozenset({(0, 2)})),
            found(USER, item("a"), item("gone")),
            found(ALPHA, item("b"), item("c", metadata={"status": "superseded"})),
            found(BETA, item("b"), item("c", metadata={"deprecated": True}), item("d")),
        ]
    )


def test_shadowing_goes_by_the_order_of_the_roots(spaces: Reader) -> None:
    """The same type and id in an earlier root shadows, also between bundles; a deleted copy does not."""
    assert asked(spaces, "shadowed") == ["user a", "system:alpha b", "system:beta b", "system:beta c"]
    assert asked(spaces, "shadowing") == ["project a", "project b", "system:alpha b", "system:alpha c"]


def test_shadowing_counts_spaces_that_are_not_searched(spaces: Reader) -> None:
    """A search in one space still says what the others shadow there."""
    system = Reader(spaces.snapshots[2:])
    states = States(system, spaces, lambda: TRUST, NOW)
    found = [system.key_of(doc)[1] for doc in states.having("shadowed").nonzero()[0].tolist()]
    assert found == ["b", "b", "c"]


@pytest.mark.parametrize(
    ("key", "shadows", "shadowed_by"),
    [
        ("a project", ("user",), ()),
        ("a user", (), ("project",)),
        ("b system:alpha", ("system:beta",), ("project",)),
        ("b project", ("system:alpha", "system:beta"), ()),
        ("gone user", (), ()),
        ("d system:beta", (), ()),
        ("nothing user", (), ()),
    ],
)
def test_an_item_names_those_it_shares_its_id_with(
    spaces: Reader, key: str, shadows: tuple[str, ...], shadowed_by: tuple[str, ...]
) -> None:
    """By source, in order of priority; itself and deleted copies left out."""
    item_id, source = key.split()
    states = States(spaces, spaces, lambda: TRUST, NOW)
    assert states.sharing(states.sources_of("tool", item_id), source) == (shadows, shadowed_by)
    assert states.sharing(states.sources_of("knowledge", item_id), source) == ((), ())
    for part in spaces.parts:
        if part.root.source == source and (item_id, source) not in {("gone", "project"), ("nothing", "user")}:
            assert states.sources_of("tool", item_id, part) == states.sources_of("tool", item_id)


def test_declared_states_are_read_from_the_items(spaces: Reader) -> None:
    """Superseded and deprecated are what an item says of itself."""
    assert asked(spaces, "superseded") == ["system:alpha c"]
    assert asked(spaces, "deprecated") == ["system:beta c"]


@pytest.mark.parametrize("state", STATES)
def test_every_state_can_be_asked_of_nothing(state: str) -> None:
    """A reader without items has none in any state."""
    assert asked(Reader([]), state) == []
