"""Writing manifests: versions count up, nothing is lost, and another TUF library reads what rye writes."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tuf.api.metadata import Metadata, MetaFile, Snapshot
from tuf.ngclient._internal.trusted_metadata_set import TrustedMetadataSet
from tuf.ngclient.config import EnvelopeType

from rye.errors import SigningError
from rye.manifest.metadata import delegated_paths, role_name, sign, to_bytes
from rye.manifest.model import Delegation, ListedItem, RootKeys
from rye.manifest.write import cosign_manifest, refresh_manifest
from rye.trust import SigningKey, TrustSet, in_namespaces
from tests.support.signed import ANN, BEA, EVE, NOW, PAT, entry
from tests.unit.manifest.board import ITEMS, Board, item, written

BOTH = TrustSet((entry(ANN), entry(BEA)))


def test_each_writing_is_the_next_version_of_every_part() -> None:
    """Root stays, the rest counts up, and files of the version before are not among the new ones."""
    board = written()
    second = board.write()
    assert second.version == 2
    assert second.written == ("targets", "snapshot", "timestamp")
    assert sorted(board.files) == ["1.root.json", "2.snapshot.json", "2.targets.json", "timestamp.json"]


def test_a_list_says_all_there_is_to_say_of_an_item() -> None:
    """Path, length, digest, type, id and signed time."""
    targets = json.loads(written().files["1.targets.json"])["signed"]["targets"]
    assert targets["tools/a/one.py"] == {
        "custom": {"id": "a/one", "signed": ITEMS[0].signed_at, "type": "tool"},
        "hashes": {"sha256": ITEMS[0].sha256},
        "length": ITEMS[0].length,
    }


def test_another_tuf_client_accepts_what_rye_writes() -> None:
    """The client of python-tuf goes through root, timestamp, snapshot, list and delegated list without complaint."""
    board = Board()
    board.write(ANN, BEA, delegations=[Delegation(("b/*",), (BEA.public,))])
    board.write(ANN, BEA, root=RootKeys((ANN.public, BEA.public), 2))
    files = board.files
    client = TrustedMetadataSet(files["1.root.json"], EnvelopeType.METADATA)
    client.reference_time = NOW
    client.update_root(files["2.root.json"])
    client.update_timestamp(files["timestamp.json"])
    client.update_snapshot(files["2.snapshot.json"])
    assert set(client.update_targets(files["2.targets.json"]).targets) == {"tools/a/one.py", "tools/a/two.py"}
    role = role_name(("b/*",))
    delegated = client.update_delegated_targets(files[f"2.{role}.json"], role, "targets")
    assert set(delegated.targets) == {"tools/b/three.py"}


def test_signatures_are_added_one_by_one() -> None:
    """Each signer says how many are still missing; the last one completes it without changing the list."""
    board = Board(trust=BOTH)
    first = board.write(ANN, root=RootKeys((ANN.public, BEA.public), 2))
    assert first.missing == {"root": 1, "targets": 1}
    done = cosign_manifest(board.files, signers=(BEA,))
    assert done.missing == {}
    assert done.written == ()
    assert done.version == first.version
    assert board.codes(files=done.files) == []
    assert cosign_manifest(done.files, signers=(BEA,)).files == done.files


def test_a_key_without_a_part_signs_nothing() -> None:
    """A stranger's key is refused, to write and to cosign."""
    board = written()
    with pytest.raises(SigningError, match="no part in this manifest"):
        board.write(EVE)
    with pytest.raises(SigningError, match="no part in this manifest"):
        cosign_manifest(board.files, signers=(EVE,))


def test_a_damaged_manifest_is_not_built_upon() -> None:
    """What cannot be read is refused, not replaced in silence."""
    board = written()
    del board.files["1.targets.json"]
    with pytest.raises(SigningError) as raised:
        board.write()
    assert raised.value.code == "manifest-damaged"


@pytest.mark.parametrize("threshold", [0, -1, 3])
def test_a_threshold_that_nobody_can_meet(threshold: int) -> None:
    """Between one and the number of keys, or refused."""
    with pytest.raises(SigningError) as raised:
        Board().write(ANN, root=RootKeys((ANN.public, BEA.public), threshold))
    assert raised.value.code == "manifest-threshold"


def test_a_key_given_twice_is_one_key() -> None:
    """It cannot make up a threshold of two."""
    with pytest.raises(SigningError):
        Board().write(ANN, root=RootKeys((ANN.public, ANN.public), 2))


def test_a_namespace_is_delegated_once() -> None:
    """The second delegation of the same namespace would silently replace the first."""
    twice = [Delegation(("b/*",), (BEA.public,)), Delegation(("b/*",), (EVE.public,))]
    with pytest.raises(SigningError, match="delegated twice"):
        Board().write(ANN, delegations=twice)


def test_a_delegate_renews_no_root() -> None:
    """A root that would expire before the delegate's list is its owner's to renew, and the manifest holds meanwhile."""
    board = Board()
    board.write(ANN, BEA, delegations=[Delegation(("b/*",), (BEA.public,))])
    board.later(300)
    role = role_name(("b/*",))
    assert board.write(BEA).written == (role,)
    assert board.codes() == ["manifest-expired"] * 4
    assert "root" in board.write(ANN).written
    assert board.codes() == []


@pytest.mark.parametrize("by", [EVE, ANN])
def test_a_list_that_its_delegate_has_not_signed_is_not_put_in_force(by: SigningKey) -> None:
    """A newer file with the name of a delegate's list, and whatever signature, is left aside and removed."""
    board = Board()
    board.write(ANN, BEA, delegations=[Delegation(("b/*",), (BEA.public,))])
    role = role_name(("b/*",))
    for version, who in ((7, by), (9, BEA)):
        forged = Metadata.from_bytes(board.files[f"1.{role}.json"])
        forged.signed.version = 7
        forged.signatures.clear()
        sign(forged, [str(who.public.fingerprint)], [who])
        board.files[f"{version}.{role}.json"] = to_bytes(forged)
    board.files[f"8.{role}.json"] = b"{"
    done = board.write(ANN)
    assert done.pending == {}
    assert sorted(board.files) == [
        f"1.{role}.json",
        "1.root.json",
        "2.snapshot.json",
        "2.targets.json",
        "timestamp.json",
    ]
    assert board.codes() == []


def test_names_of_another_type_are_refused() -> None:
    """A delegated role called 7, or by the name of one of the four, is no list that rye reads."""
    for name in (7, "snapshot"):
        board = Board()
        board.write(ANN, BEA, delegations=[Delegation(("b/*",), (BEA.public,))])
        data = json.loads(board.files["1.targets.json"])
        data["signed"]["delegations"]["roles"][0]["name"] = name
        board.files["1.targets.json"] = json.dumps(data).encode()
        assert board.codes() == ["manifest-malformed"]
        with pytest.raises(SigningError) as raised:
            cosign_manifest(board.files, signers=(ANN,))
        assert raised.value.code == "manifest-damaged"


def test_a_snapshot_that_names_a_list_nobody_delegates_is_cosigned() -> None:
    """What no delegation leads to is left aside, as a check leaves it."""
    board = written()
    snapshot: Metadata[Snapshot] = Metadata.from_bytes(board.files["1.snapshot.json"])
    snapshot.signed.meta["stray.json"] = MetaFile(3)
    sign(snapshot, [str(ANN.public.fingerprint)], [ANN])
    board.files["1.snapshot.json"] = to_bytes(snapshot)
    assert board.codes() == []
    assert cosign_manifest(board.files, signers=(ANN,)).files == board.files


def test_only_keys_whose_signature_counts_are_called_signers() -> None:
    """Anybody can write a fingerprint beside a list."""
    board = written()
    data = json.loads(board.files["1.targets.json"])
    data["signatures"].append({"keyid": str(EVE.public.fingerprint), "sig": "00" * 64})
    board.files["1.targets.json"] = json.dumps(data).encode()
    assert board.check().signers == (ANN.public.fingerprint,)


def test_a_new_list_holds_under_the_old_root_too() -> None:
    """So the new root can come last, and whoever looks before that finds a whole manifest."""
    board = Board(trust=BOTH)
    board.write(ANN)
    board.write(ANN, BEA, root=RootKeys((BEA.public,)), items=ITEMS[:1])
    before = {name: data for name, data in board.files.items() if name != "2.root.json"}
    assert board.codes(items=ITEMS[:1]) == board.codes(files=before, items=ITEMS[:1]) == []
    board.write(BEA, items=ITEMS[:1])
    signed = json.loads(board.files["timestamp.json"])["signatures"]
    assert [each["keyid"] for each in signed] == [str(BEA.public.fingerprint)], "later ones need the new key alone"


def test_a_root_is_renewed_before_it_expires() -> None:
    """A list that would outlive the root brings a new root with it."""
    board = written(days=90)
    board.look()
    board.later(300)
    renewed = board.write(days=90)
    assert "root" in renewed.written
    assert board.codes() == []


def test_delegations_can_be_taken_back() -> None:
    """The owner lists the namespace again, and the delegate's list is gone."""
    board = Board()
    board.write(ANN, BEA, delegations=[Delegation(("b/*",), (BEA.public,))])
    board.write(ANN, delegations=[])
    assert board.codes() == []
    assert len(board.files) == 4


@pytest.mark.parametrize("namespace", ["", "a//b", "thing:a/*", "/a", "a\n"])
def test_a_namespace_that_is_none(namespace: str) -> None:
    """A delegation without a pattern that can be compared is refused."""
    with pytest.raises(SigningError) as raised:
        Board().write(ANN, delegations=[Delegation((namespace,), (BEA.public,))])
    assert raised.value.code == "manifest-namespace"


PARTS = st.text("ab[]?-", min_size=1, max_size=3)
IDS = st.lists(PARTS, min_size=1, max_size=4).map("/".join)
PATTERNS = st.builds(
    lambda kind, parts: kind + "/".join(parts),
    st.sampled_from(["", "tool:", "knowledge:"]),
    st.lists(PARTS | st.just("*"), min_size=1, max_size=4),
)


@given(pattern=PATTERNS, item_id=IDS, kind=st.sampled_from(["tool", "knowledge"]))
def test_a_delegated_path_is_what_the_namespace_of_a_trust_file_is(pattern: str, item_id: str, kind: str) -> None:
    """The patterns of TUF, in which ``*`` stops at a slash, accept exactly what rye's namespaces accept."""
    from tuf.api.metadata import DelegatedRole

    path = f"{'tools' if kind == 'tool' else kind}/{item_id}.md"
    role = DelegatedRole("x", [], 1, terminating=True, paths=delegated_paths((pattern,)))
    assert role.is_delegated_path(path) == in_namespaces((pattern,), kind, item_id)


STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "edit", "drop", "delegate", "rotate"]), st.integers(0, 5)), max_size=6
)


@settings(max_examples=40)
@given(steps=STEPS)
def test_whatever_its_owner_does_an_honest_manifest_passes(steps: list[tuple[str, int]]) -> None:
    """Any sequence of edits, delegations and key changes, each written, passes the check of one who saw the last."""
    board = Board(items=(), trust=BOTH)
    items: dict[str, ListedItem] = {}
    board.write(ANN, BEA, root=RootKeys((ANN.public, BEA.public)))
    for number, (step, which) in enumerate(steps):
        board.look()
        name = f"{'ab'[which % 2]}/{which}"
        options: dict[str, Any] = {}
        if step in {"add", "edit"}:
            items[name] = item(name, f"{name} {number}")
        elif step == "drop":
            items.pop(name, None)
        elif step == "delegate":
            options["delegations"] = [Delegation(("b/*",), (BEA.public,))][: which % 2]
        else:
            options["root"] = RootKeys((ANN.public, BEA.public), 1 + which % 2)
        board.items = tuple(items.values())
        board.later(1)
        board.write(ANN, BEA, **options)
        assert board.codes() == []


@given(data=st.binary(max_size=200), name=st.sampled_from(sorted(written().files)), at=st.integers(0, 500))
def test_no_bytes_in_a_manifest_make_a_check_raise(data: bytes, name: str, at: int) -> None:
    """A check answers whatever stands in a file, and finds no item wrong by a list that nobody signed."""
    board = written()
    whole = board.files[name]
    changed = whole[:at] + data + whole[at + len(data) :]
    codes = board.codes(files=board.files | {name: changed})
    assert not [code for code in codes if code.startswith("item-")]


def test_time_is_kept_to_the_second_in_utc() -> None:
    """TUF writes whole seconds; a moment with a fraction is cut."""
    board = Board(now=NOW + timedelta(microseconds=5))
    board.write(days=1)
    assert json.loads(board.files["timestamp.json"])["signed"]["expires"] == "2026-06-02T12:00:00Z"
    assert board.check().expires == NOW + timedelta(days=1)
    assert replace(board.check(), findings=()).errors == ()


def test_whoever_refreshes_signs_the_timestamp_alone() -> None:
    """The third of three keys, of which two have signed, adds no signature of its own to list or root."""
    board = Board()
    keys = RootKeys((ANN.public, BEA.public, EVE.public), 2)
    board.write(ANN, BEA, root=keys)
    update = refresh_manifest(board.files, signers=[EVE], now=NOW, days=7)
    assert {name for name, data in update.files.items() if board.files[name] != data} == {"timestamp.json"}
    assert (update.version, update.written, update.missing) == (2, ("timestamp",), {})
    with pytest.raises(SigningError, match="has no part"):
        refresh_manifest(board.files, signers=[PAT], now=NOW, days=7)
