"""Attacks on a space that has a manifest: each is found, and named for what it is."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from rye.errors import SigningError
from rye.manifest.model import Delegation, RootKeys, SpaceName
from rye.trust import Revocation, TrustScope, TrustSet
from tests.support.signed import ANN, BEA, EVE, NARROW, NOW, OLD, PAT, SIGNED_AT, entry
from tests.unit.manifest.board import BUNDLE_TRUST, ITEMS, PROJECT, Board, item, moved, written

ONE, TWO, THREE = ITEMS


def test_an_honest_space_has_only_the_note_of_its_first_use() -> None:
    """What stands as listed is well; the first check says that it trusts the version it sees, the second no more."""
    board = written()
    first = board.check()
    assert [found.code for found in first.findings] == ["manifest-first-use"]
    assert (first.version, first.listed, first.signers) == (1, 3, (ANN.public.fingerprint,))
    board.look()
    assert board.check().findings == ()


# Items


def test_a_removed_item() -> None:
    """An item that is listed but gone."""
    (found,) = written().check(items=(ONE, TWO)).errors
    assert (found.code, found.path, found.item_id) == ("item-removed", "tools/b/three.py", "b/three")


def test_an_item_that_nobody_listed() -> None:
    """An item added to the folder, whoever signed it."""
    assert written().codes(items=(*ITEMS, item("c/four"))) == ["item-unlisted"]


def test_a_renamed_item() -> None:
    """A listed content under another path gives one finding, not two."""
    (found,) = written().check(items=(ONE, TWO, moved(THREE, "b/other"))).errors
    assert (found.code, found.path) == ("item-renamed", "tools/b/other.py")
    assert "tools/b/three.py" in found.message


def test_a_copied_item() -> None:
    """A listed content that stands twice: the path that is not listed is the copy."""
    assert written().codes(items=(*ITEMS, moved(ONE, "c/copy"))) == ["item-copied"]


def test_two_swapped_items() -> None:
    """Each has the content listed for the other."""
    swapped = (moved(TWO, "a/one"), moved(ONE, "a/two"), THREE)
    assert written().codes(items=swapped) == ["item-swapped", "item-swapped"]


def test_an_item_rolled_back_to_an_older_signed_version() -> None:
    """A content signed before the listed one has another code than one that was merely edited."""
    older = item("a/one", "older", signed=SIGNED_AT - timedelta(days=1))
    newer = item("a/one", "newer", signed=SIGNED_AT + timedelta(days=1))
    assert written().codes(items=(older, TWO, THREE)) == ["item-rolled-back"]
    assert written().codes(items=(newer, TWO, THREE)) == ["item-changed"]


def test_a_list_that_calls_an_item_by_another_id() -> None:
    """A listed type and id must be those of the path."""
    board = Board(items=(moved(ONE, "a/x"),))
    lying = (ONE.__class__("tools/a/x.py", "tool", "a/one", ONE.length, ONE.sha256, ONE.signed_at),)
    board.write(items=lying)
    assert board.codes() == ["item-mislabelled"]


# Old manifests


def test_an_old_manifest_served_again_with_its_old_items() -> None:
    """Both agree and every signature holds; only what was last seen tells."""
    board = written()
    old, board.items = dict(board.files), (item("a/one", "new"), TWO, THREE)
    board.write()
    board.look()
    assert board.seen is not None
    assert board.seen.versions["timestamp"] == 2
    codes = board.codes(files=old, items=ITEMS)
    assert set(codes) == {"manifest-rollback"}
    assert len(codes) == 3
    assert board.check(files=old, items=ITEMS).seen == board.seen


def test_an_old_manifest_is_not_recognised_on_first_use() -> None:
    """Nothing was seen yet: the check trusts what it sees and says so."""
    board = written()
    old = dict(board.files)
    board.write()
    assert [found.code for found in board.check(files=old).findings] == ["manifest-first-use"]


def test_a_manifest_removed_altogether() -> None:
    """A space that had a manifest and has none any more is not a space that never had one."""
    board = written()
    board.look()
    assert board.codes(files={}) == ["manifest-gone"]
    assert board.codes(files={}, seen=None) == ["manifest-missing"]


def test_two_manifests_of_one_version() -> None:
    """A signer who shows different people different lists under one number is found by who saw the other."""
    board, other = written(), Board(items=(ONE,))
    other.write()
    board.look()
    assert "manifest-fork" in board.codes(files=other.files, items=other.items)


def test_an_expired_manifest_withheld_from_renewal() -> None:
    """Nobody can serve an old state for ever: each part says until when it holds."""
    board = written(days=30)
    board.look()
    board.later(29)
    assert board.codes() == []
    board.later(2)
    assert set(board.codes()) == {"manifest-expired"}
    board.write(days=30)
    assert board.codes() == []


# Signers


def test_a_manifest_of_an_unknown_signer() -> None:
    """Eve's list of Eve's items is worth nothing, and no item is compared with it."""
    board = Board()
    board.write(EVE)
    assert board.codes(items=()) == ["manifest-unknown-signer"]


def test_a_project_that_vouches_for_its_own_manifest() -> None:
    """A key that came with the project counts only while a key of the user stands behind it."""
    board = Board(trust=TrustSet((entry(ANN), entry(PAT, TrustScope.PROJECT))))
    board.write(PAT)
    assert board.codes() == ["manifest-unknown-signer"]
    endorsed = TrustSet((entry(ANN), entry(PAT, TrustScope.PROJECT, signed_by=ANN.public.fingerprint)))
    assert board.codes(trust=endorsed) == []


def test_a_bundle_key_that_signs_for_another_space() -> None:
    """A key that a bundle is pinned to speaks for that bundle alone; one that the bundle itself brings for nothing."""
    board = Board(trust=BUNDLE_TRUST, place=SpaceName("system", "shop"))
    board.write(BEA)
    assert board.codes() == []
    own = TrustSet((entry(BEA, TrustScope.BUNDLE, bundle="shop"),))
    assert board.codes(trust=own) == ["manifest-unknown-signer"]
    assert board.codes(place=SpaceName("system", "rival")) == ["manifest-unknown-signer"]
    assert board.codes(place=PROJECT) == ["manifest-unknown-signer"]


@pytest.mark.parametrize(
    "who",
    [
        entry(OLD, not_after=NOW - timedelta(days=1)),
        entry(NARROW, patterns=("a/*",)),
        entry(EVE, revoked=Revocation("stolen")),
    ],
    ids=["expired", "limited", "revoked"],
)
def test_a_key_that_may_not_speak_for_the_whole_space(who: object) -> None:
    """Expired, limited to namespaces, or revoked: none anchors a manifest."""
    keys = {entry(each).fingerprint: each for each in (OLD, NARROW, EVE)}
    rights = who if isinstance(who, type(entry(ANN))) else entry(ANN)
    board = Board(trust=TrustSet((rights,)))
    board.write(keys[rights.fingerprint])
    assert board.codes() == ["manifest-unknown-signer"]


def test_a_signature_that_does_not_hold() -> None:
    """One changed digit in the list, and nothing of it is believed."""
    board = written()
    text = board.files["1.targets.json"].replace(ONE.sha256.encode(), TWO.sha256.encode())
    assert board.codes(files=board.files | {"1.targets.json": text}) == ["manifest-threshold"]


def test_fewer_signers_than_the_threshold() -> None:
    """Where two must sign, one is not enough, not even twice."""
    board = Board(trust=TrustSet((entry(ANN), entry(BEA))))
    two = RootKeys((ANN.public, BEA.public), 2)
    assert board.write(ANN, root=two).missing == {"root": 1, "targets": 1}
    assert board.codes() == ["manifest-unknown-signer"]
    board.write(ANN, BEA)
    assert board.codes() == []
    board.write(ANN)
    assert board.codes() == ["manifest-threshold"]


def test_one_key_under_two_names_counts_once() -> None:
    """A key stands under its fingerprint or the file is refused, so no threshold is met by one key alone."""
    board = Board()
    board.write(ANN)
    root = json.loads(board.files["1.root.json"])
    (keyid,) = root["signed"]["keys"]
    root["signed"]["keys"]["f" * 64] = root["signed"]["keys"][keyid]
    assert board.codes(files=board.files | {"1.root.json": json.dumps(root).encode()}) == ["manifest-malformed"]


# Rotation


def test_keys_change_when_old_and_new_sign_the_next_root() -> None:
    """Who trusts only the old key follows to the new one."""
    board = written()
    board.look()
    board.write(ANN, BEA, root=RootKeys((BEA.public,)))
    assert sorted(name for name in board.files if "root" in name) == ["1.root.json", "2.root.json"]
    board.write(BEA)
    assert board.codes() == []
    board.look()
    assert board.seen is not None
    assert board.seen.versions["root"] == 2


def test_a_root_that_the_old_keys_did_not_sign() -> None:
    """A new root by new keys alone is a take-over, also where the old roots are removed."""
    board = written()
    board.look()
    thief = Board(trust=TrustSet((entry(ANN), entry(EVE))))
    thief.files = dict(board.files)
    assert thief.write(ANN, root=RootKeys((EVE.public,))).missing["root"] == 1
    by_eve = Board()
    by_eve.write(EVE)
    by_eve.write(EVE, root=RootKeys((EVE.public,)))
    both = TrustSet((entry(ANN), entry(EVE)))
    mixed = board.files | {"2.root.json": by_eve.files["2.root.json"]}
    assert board.codes(files=mixed) == ["manifest-root-chain"]
    assert board.codes(files=by_eve.files, trust=both)[-1:] == ["manifest-fork"]
    alone = {name: data for name, data in by_eve.files.items() if name != "1.root.json"}
    assert board.codes(files=alone, trust=both) == ["manifest-root-chain"]


def test_a_root_left_out_of_the_chain() -> None:
    """Roots follow each other without a gap."""
    board = written()
    board.write(ANN, BEA, root=RootKeys((BEA.public,)))
    board.write(BEA, PAT, root=RootKeys((PAT.public,)))
    assert board.codes() == []
    del board.files["2.root.json"]
    assert board.codes() == ["manifest-root-chain"]


def test_a_revoked_key_counts_nowhere_in_the_chain() -> None:
    """Once the old key is revoked, the new one must be trusted by itself."""
    board = written()
    board.write(ANN, BEA, root=RootKeys((BEA.public,)))
    board.write(BEA)
    revoked = entry(ANN, revoked=Revocation("stolen"))
    assert board.codes(trust=TrustSet((revoked,))) == ["manifest-unknown-signer"]
    assert board.codes(trust=TrustSet((revoked, entry(BEA)))) == []


# Delegation


def delegated() -> Board:
    """Return a space in which Bea lists what is below ``b``."""
    board = Board()
    board.write(ANN, BEA, delegations=[Delegation(("b/*",), (BEA.public,))])
    return board


def test_each_namespace_is_listed_by_its_own_key() -> None:
    """The delegated items are in the delegate's list alone; the owner's next version leaves that list as it is."""
    board = delegated()
    assert board.codes() == []
    (name,) = [name for name in board.files if name.startswith("1.b-")]
    assert list(json.loads(board.files[name])["signed"]["targets"]) == ["tools/b/three.py"]
    board.items = (ONE, TWO, item("b/three", "new"))
    assert board.write(ANN).waiting
    assert board.codes() == ["item-changed"]
    board.write(ANN, BEA)
    assert board.codes() == []


def test_a_delegate_who_lists_what_is_not_theirs() -> None:
    """What a delegate says outside of their namespace is not believed, and said."""
    board = delegated()
    other = Board(items=(THREE, item("b/four")))
    other.write(ANN, BEA, delegations=[Delegation(("b/*",), (BEA.public,))])
    (name,) = [name for name in board.files if name.startswith("1.b-")]
    from tuf.api.metadata import Metadata, Targets

    from rye.manifest import metadata as _metadata

    metadata: Metadata[Targets] = Metadata.from_bytes(board.files[name])
    metadata.signed.targets["tools/a/one.py"] = metadata.signed.targets["tools/b/three.py"]
    metadata.signatures.clear()
    _metadata.sign(metadata, [str(BEA.public.fingerprint)], [BEA])
    codes = board.codes(files=board.files | {name: _metadata.to_bytes(metadata)})
    assert codes == ["manifest-delegation"]


def test_a_delegated_list_that_its_key_did_not_sign() -> None:
    """The owner's own key does not sign for a namespace it gave away, nor does a stranger's."""
    board = delegated()
    (name,) = [name for name in board.files if name.startswith("1.b-")]
    text = json.loads(board.files[name])
    text["signatures"] = []
    assert board.codes(files=board.files | {name: json.dumps(text).encode()}) == ["manifest-threshold"]


# Mix and match


def test_lists_that_were_never_released_together() -> None:
    """The timestamp names the snapshot and the snapshot the lists: parts of two versions do not fit."""
    board = written()
    old = dict(board.files)
    board.items = (ONE,)
    board.write()
    swapped = board.files | {"2.targets.json": old["1.targets.json"]}
    assert board.codes(files=swapped) == ["manifest-mixed"]
    assert board.codes(files={**old, "timestamp.json": board.files["timestamp.json"]}) == ["manifest-mixed"]


@pytest.mark.parametrize("name", ["1.root.json", "timestamp.json", "1.snapshot.json", "1.targets.json"])
@pytest.mark.parametrize("data", [b"", b"{}", b"\xff", b"[" * 50_000, b'{"signed": {"_type": "root"}}', b"null"])
def test_a_file_that_is_no_metadata(name: str, data: bytes) -> None:
    """Whatever stands in a file, the check says which one and raises nothing."""
    board = written()
    (found,) = board.check(files=board.files | {name: data}).errors
    assert found.code == "manifest-malformed"
    assert found.path == f"config/manifest/{name}"


def test_a_manifest_of_another_registry_is_found_without_any_memory() -> None:
    """Items and manifest of one registry stand in the place of another's; the checker has seen neither before."""
    board = written(audience="acme/shop")
    wanted = replace(board.trust, audience="acme/ops")
    (found,) = board.check(trust=wanted).errors
    assert (found.code, found.path) == ("manifest-audience", "config/manifest/timestamp.json")
    assert "'acme/shop'" in found.message
    assert "'acme/ops'" in found.message
    assert board.codes() == []
    assert board.codes(trust=replace(board.trust, audience="acme/shop")) == []


def test_a_manifest_without_an_audience_meets_no_demand() -> None:
    """One of an earlier build is read as before, and found where an audience is demanded, until it is written again."""
    board = written()
    assert (board.codes(), board.check().audience) == ([], "")
    wanted = replace(board.trust, audience="acme/ops")
    assert board.codes(trust=wanted) == ["manifest-audience"]
    board.write(audience="acme/ops")
    assert (board.codes(trust=wanted), board.check().audience) == ([], "acme/ops")


def test_a_manifest_is_not_written_over_to_another_registry() -> None:
    """Whoever keeps one registry does not sign another's manifest by mistake; --new begins one of its own."""
    board = written(audience="acme/shop")
    with pytest.raises(SigningError, match="'acme/shop', not for 'acme/ops'") as caught:
        board.write(audience="acme/ops")
    assert caught.value.code == "manifest-audience"
    board.write(name="folder")
    assert board.check().audience == "acme/shop"


def test_whom_a_namespace_was_given_to_does_not_name_the_registry() -> None:
    """In a manifest of an earlier build that is for its owner, whose name a list with another would not go with."""
    board = written(delegations=[Delegation(("b/*",), (BEA.public,))])
    board.write(BEA, name="folder")
    board.write(ANN, audience="acme/ops")
    assert (board.codes(), board.check().audience) == ([], "acme/ops")


@pytest.mark.parametrize("name", ["timestamp.json", "1.snapshot.json", "1.targets.json"])
def test_a_part_of_another_registrys_manifest(name: str) -> None:
    """The same keys sign both, and the versions agree: the audiences do not."""
    board, other = written(audience="acme/ops"), written(audience="acme/shop")
    mixed = board.files | {name: other.files[name]}
    assert board.codes(files=mixed) == ["manifest-mixed"]
    wanted = replace(board.trust, audience="acme/ops")
    assert "manifest-mixed" in board.codes(files=mixed, trust=wanted)


def test_an_audience_of_a_bundle_is_not_demanded() -> None:
    """An audience is of a project; a bundle is bound to its place by the keys that count there."""
    board = written(audience="acme/shop")
    assert board.codes(place=SpaceName("user"), trust=replace(board.trust, audience="acme/ops")) == []
