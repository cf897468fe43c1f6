"""The signed list of a root is published with its items, and shows what a cluster added or kept old."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rye import Registry
from rye.cluster.documents import as_text
from rye.errors import EnvironmentFault, SigningError
from rye.keyring.lists import find_root, sign_list
from rye.spaces.layout import Layout
from rye.trust.keys import SigningKey
from rye.trust.list import add_signature
from tests.support.fake_cluster import FakeCluster
from tests.support.signed import ANN, EVE, SIGNED_AT
from tests.support.spacesim import SpaceSim

pytest.importorskip("opensearchpy", reason="pip install '.[test]' brings it")

ADDRESS = "opensearch+http://127.0.0.1:9/r"
PLAIN, SIGNED, OTHER = "knowledge/ops/plain.md", "knowledge/ops/signed.md", "tools/ops/other.py"


class Shelf(NamedTuple):
    """A project with a signed list, and the cluster that it is published to."""

    sim: SpaceSim
    fake: FakeCluster

    def list_items(self, who: SigningKey = ANN) -> bytes:
        """Sign the list anew where nobody else looks; return its bytes."""
        layout, root = find_root(Layout.find(project=self.sim.project, user=self.sim.user, bundles=()))
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("RYE_STATE_DIR", str(self.sim.folder / "her-state"))
            sign_list(root, key=who, trust=layout.load_trust().trust)
        return self.list.read_bytes()

    @property
    def list(self) -> Path:
        """The list of the project."""
        return self.sim.root("project") / "rye.list"

    def registry(self, **options: Any) -> Registry:
        """Return the project."""
        return Registry(self.sim.project, user=self.sim.user, bundles=(), cache_dir=self.sim.cache, **options)

    def publish(self, **options: Any) -> Any:
        """Publish the project."""
        return self.registry(embedder="none").publish(ADDRESS, **options)

    def read(self) -> tuple[dict[str, str], str]:
        """Return the verdict on each item, and what is said of lists."""
        found = self.registry(index=ADDRESS, embedder="none").search("")
        said = [text for text in found.warnings if "signed list" in text or "missing" in text]
        return {hit.id: hit.signature.code for hit in found.results}, "\n".join(said)

    def document(self, item_id: str) -> dict[str, Any]:
        """Return the document of an item, to be changed."""
        return next(row for row in self.fake.documents("r").values() if row.get("id") == item_id)

    @property
    def notes(self) -> dict[str, Any]:
        """What the cluster notes, to be changed."""
        (index,) = self.fake.get_mapping(index="r").values()
        return dict(index["mappings"]["_meta"]["rye"])

    @property
    def lists(self) -> dict[str, dict[str, Any]]:
        """The documents of lists, to be changed."""
        return {name: row for name, row in self.fake.documents("r").items() if "list" in row}


@pytest.fixture
def shelf(tmp_path: Path, fake: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """Return a project that was listed and published; nobody has seen its list before."""
    monkeypatch.setenv("RYE_STATE_DIR", str(tmp_path / "state"))
    sim = SpaceSim(tmp_path, bundles=())
    sim.write("project", PLAIN, "# Plain\n\nHow to deploy\n")
    sim.add("project", SIGNED, "# Signed\n\nHow to deploy\n")
    sim.add("project", OTHER, '"""Deploy."""\n')
    made = Shelf(sim, fake)
    made.list_items()
    made.publish(scope="*")
    return made


GOOD = {"ops/plain": "ok-list", "ops/signed": "ok", "ops/other": "ok"}


def test_what_only_the_list_signs_is_trusted_as_at_home(shelf: Shelf) -> None:
    """Nothing is said where everything is as the list says; the list is fetched once."""
    away, home = shelf.registry(index=ADDRESS, embedder="none"), shelf.registry(embedder="none")
    assert shelf.read() == (GOOD, "")
    assert {hit.id: hit.signature for hit in away.search("").results} == {
        hit.id: hit.signature for hit in home.search("").results if hit.id in GOOD
    }
    assert away.get("knowledge:ops/plain").signature.code == "ok-list"


def test_attack_on_a_cluster_older_bytes_are_found(shelf: Shelf) -> None:
    """An older version that was validly signed, and one that only the list signed."""
    older = shelf.document("ops/signed")["raw"], shelf.document("ops/plain")["raw"]
    shelf.sim.add("project", SIGNED, "# Signed\n\nHow to deploy safely\n")
    shelf.sim.write("project", PLAIN, "# Plain\n\nHow to deploy safely\n")
    shelf.list_items()
    shelf.publish()
    assert shelf.read() == (GOOD, "")
    shelf.document("ops/signed")["raw"], shelf.document("ops/plain")["raw"] = older
    verdicts, said = shelf.read()
    assert verdicts == GOOD | {"ops/plain": "list-changed"}
    assert "knowledge/ops/signed.md has other bytes than the signed list of project says: older or altered ones" in said
    assert "knowledge/ops/plain.md has other bytes" in said


def test_attack_on_a_cluster_an_added_item_is_found(shelf: Shelf) -> None:
    """One that was validly signed and is on no list of that root; its verdict is that of its signature."""
    text = shelf.sim.add("project", "knowledge/ops/foreign.md", "# Foreign\n").read_bytes()
    shelf.publish()
    shelf.document("ops/foreign").update(as_text(text))
    verdicts, said = shelf.read()
    assert verdicts == GOOD | {"ops/foreign": "ok"}
    assert said.endswith("knowledge/ops/foreign.md is not on the signed list of project: it was added there")


def test_attack_on_a_cluster_a_withheld_list_is_found(shelf: Shelf) -> None:
    """Its document is removed; or the cluster says that there never was one, to somebody who has seen it."""
    assert shelf.read() == (GOOD, "")
    held = shelf.fake.documents("r")
    for name in shelf.lists:
        del held[name]
    verdicts, said = shelf.read()
    assert verdicts == GOOD | {"ops/plain": "no-envelope"}
    assert "does not hand it out [list-gone]" in said
    shelf.notes["lists"].clear()
    verdicts, said = shelf.read()
    assert verdicts == GOOD | {"ops/plain": "no-envelope"}
    assert "had a signed list of project project .ai, and it is gone [list-gone]" in said


def swap(shelf: Shelf, data: bytes) -> None:
    """Let the cluster hand out another list."""
    for row in shelf.lists.values():
        row["list"] = base64.b64encode(zlib.compress(data)).decode()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda data: data.replace(b"plain.md", b"plane.md"), "list-malformed"),
        (lambda data: data.replace(b"rye:signed:v2:2", b"rye:signed:v2:1"), "list-signature"),
        (lambda _: b"\xff", "list-malformed"),
    ],
    ids=["a row", "its line", "nonsense"],
)
def test_attack_on_a_cluster_an_altered_list_does_not_count(
    change: Callable[[bytes], bytes], code: str, shelf: Shelf
) -> None:
    """What only it signs is tampered with, as at home; what has a signature of its own stays as it is."""
    swap(shelf, change(shelf.list.read_bytes()))
    verdicts, said = shelf.read()
    assert verdicts == GOOD | {"ops/plain": code}
    assert "does not count: " in said
    assert f"[{code}]" in said


def test_attack_on_a_cluster_nonsense_instead_of_a_list_is_found(shelf: Shelf) -> None:
    """Neither base64 nor compressed; and a bomb is not unpacked."""
    for text in ("!", "AAAA", base64.b64encode(zlib.compress(b"\0" * (1 << 28))).decode()):
        for row in shelf.lists.values():
            row["list"] = text
        verdicts, said = shelf.read()
        assert verdicts == GOOD | {"ops/plain": "list-malformed"}
        assert "[list-malformed]" in said


def test_attack_on_a_cluster_a_list_by_somebody_else_does_not_count(shelf: Shelf) -> None:
    """No key that counts here has signed it."""
    body = shelf.list.read_bytes().split(b"\n", 1)[1]
    _, root = find_root(Layout.find(project=shelf.sim.project, user=shelf.sim.user, bundles=()))
    swap(shelf, add_signature(body, origin=root.list_place, key=EVE, audience="", now=SIGNED_AT))
    verdicts, said = shelf.read()
    assert verdicts == GOOD | {"ops/plain": "unknown-key"}
    assert "[list-signer]" in said


def test_attack_on_a_cluster_the_list_of_another_root_is_found(shelf: Shelf, tmp_path: Path) -> None:
    """Signed by the same key: nothing there is as it says; who has seen the right one is told that it is another's."""
    other = SpaceSim(tmp_path / "b", bundles=())
    other.add("project", "knowledge/ops/elsewhere.md", "# Elsewhere\n")
    (other.folder / "project").rename(other.folder / "second")
    other.project = other.folder / "second"
    swap(shelf, Shelf(other, shelf.fake).list_items())
    verdicts, said = shelf.read()
    assert all(f"{path} is not on the signed list of project" in said for path in (PLAIN, SIGNED, OTHER))
    assert verdicts == GOOD | {"ops/plain": "no-envelope"}


def test_attack_on_a_cluster_the_list_of_another_project_is_known_by_its_name(shelf: Shelf, tmp_path: Path) -> None:
    """To somebody who has seen the right one, whatever its number."""
    assert shelf.read() == (GOOD, "")
    other = SpaceSim(tmp_path / "b", bundles=())
    (other.folder / "project").rename(other.folder / "second")
    other.project = other.folder / "second"
    other.add("project", SIGNED, "# Signed\n")
    swap(shelf, Shelf(other, shelf.fake).list_items())
    assert "the list is that of 'second', this is 'project' [list-name]" in shelf.read()[1]


def test_attack_on_a_cluster_an_older_generation_is_found(shelf: Shelf) -> None:
    """As a whole, with its older list: by whoever has seen the newer list of this registry."""
    before = {name: index for name, index in shelf.fake.held.items() if "lock" not in name}
    shelf.sim.add("project", SIGNED, "# Signed\n\nHow to deploy safely\n")
    shelf.list_items()
    shelf.publish()
    assert shelf.read() == (GOOD, "")
    for index in shelf.fake.held.values():
        index.aliases.discard("r")
    next(iter(before.values())).aliases.add("r")
    verdicts, said = shelf.read()
    assert verdicts == GOOD | {"ops/plain": "list-rollback"}
    assert "the list has number 1, and number 2 was seen before [list-rollback]" in said
    assert "if its owner began again, remove " in said


def test_attack_on_a_cluster_a_second_list_for_one_folder_is_found(shelf: Shelf) -> None:
    """It would let an older list stand in for the newest, as that of an owner whom nobody has seen."""
    shelf.notes["lists"].append(["other", *shelf.notes["lists"][0][1:]])
    verdicts, said = shelf.read()
    assert verdicts == GOOD | {"ops/plain": "list-malformed"}
    assert "one of two for the same folder [list-malformed]" in said


def test_a_list_is_published_changed_repaired_and_removed_like_an_item(shelf: Shelf) -> None:
    """A change of the list alone is published; a dry run names it; other owners' lists stay."""
    assert len(shelf.lists) == 1
    shelf.fake.requests.clear()
    shelf.publish()
    assert "bulk" not in shelf.fake.requests
    shelf.sim.write("project", "notes.txt", "more\n")
    data = shelf.list_items()
    would = shelf.publish(dry_run=True)
    assert [(each.action, each.type, each.path) for each in would.changes] == [("change", "list", "rye.list")]
    assert (would.changed, would.unchanged) == (0, 3)
    shelf.publish()
    assert shelf.read() == (GOOD, "")
    (document,) = shelf.lists
    shelf.publish(owner="second")
    assert len(shelf.lists) == 2
    held = shelf.fake.documents("r")
    del held[document]
    with pytest.raises(EnvironmentFault, match="0 of 1 signed lists of project") as raised:
        shelf.publish()
    assert raised.value.code == "registry-damaged"
    shelf.publish(repair=True)
    assert len(shelf.lists) == 2
    shelf.list.write_bytes(b"<<<<<<< ours\n")
    with pytest.raises(SigningError) as unread:
        shelf.publish()
    assert unread.value.code == "list-conflict"
    shelf.list.unlink()
    would = shelf.publish(dry_run=True)
    assert ("remove", "list") in [(each.action, each.type) for each in would.changes]
    shelf.publish()
    assert len(shelf.lists) == 1
    assert data
