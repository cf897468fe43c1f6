"""A key for the timestamp alone, as a job that refreshes has it: what a thief of that key can do, and what not."""

from __future__ import annotations

from typing import Any

import pytest
from tuf.api.metadata import Metadata, Root
from tuf.ngclient._internal.trusted_metadata_set import TrustedMetadataSet
from tuf.ngclient.config import EnvelopeType

from rye.errors import SigningError
from rye.manifest.metadata import sign, to_bytes
from rye.manifest.model import Delegation, RootKeys
from rye.manifest.write import refresh_manifest
from rye.trust import Revocation, SigningKey, TrustSet
from tests.support.signed import ANN, BEA, EVE, PAT, entry
from tests.unit.manifest.board import ITEMS, USER, Board

JOB = PAT
"""The key of the job; what is done with it below is done by a thief."""


def with_job(**options: Any) -> Board:
    """Return a space whose manifest ann has written, with a timestamp that the job may sign, seen by its user."""
    board = Board()
    board.write(root=RootKeys(timestamp=(JOB.public,)), **options)
    board.look()
    return board


def refresh(board: Board, key: SigningKey = JOB, *, days: int = 7) -> None:
    """Sign a new timestamp."""
    board.files = dict(refresh_manifest(board.files, signers=[key], now=board.now, days=days).files)


def forged(board: Board, name: str, *, by: SigningKey = JOB, **changes: Any) -> dict[str, bytes]:
    """Return a manifest in which one file has other contents, signed by the thief."""
    metadata: Metadata[Any] = Metadata.from_bytes(board.files[name])
    for attribute, value in changes.items():
        setattr(metadata.signed, attribute, value)
    metadata.signatures.clear()
    sign(metadata, [str(by.public.fingerprint)], [by])
    return board.files | {name: to_bytes(metadata)}


def signed(board: Board, name: str) -> Any:
    """Return the signed part of a file."""
    metadata: Metadata[Any] = Metadata.from_bytes(board.files[name])
    return metadata.signed


def test_the_job_refreshes_and_the_owner_writes_without_it() -> None:
    """The timestamp of either is good, for another TUF client as well; the report names the job's key."""
    board = with_job(fresh=7)
    assert board.check().timestamp_keys == (JOB.public.fingerprint,)
    board.later(8)
    assert board.codes() == ["manifest-expired"]
    refresh(board)
    assert board.codes() == []
    board.write()
    assert (board.codes(), board.check().version) == ([], 3)
    client = TrustedMetadataSet(board.files["1.root.json"], EnvelopeType.METADATA)
    client.reference_time = board.now
    refresh(board)
    client.update_timestamp(board.files["timestamp.json"])
    client.update_snapshot(board.files["2.snapshot.json"])
    assert len(client.update_targets(board.files["2.targets.json"]).targets) == len(ITEMS)


def test_a_manifest_with_the_same_keys_for_all_roles_names_none() -> None:
    """So do those of earlier builds, which are read as ever; the key comes later, and goes when another comes."""
    board = Board()
    board.write()
    assert board.check().timestamp_keys == ()
    board.look()
    board.write(root=RootKeys(timestamp=(JOB.public,)))
    assert (board.codes(), board.check().timestamp_keys) == ([], (JOB.public.fingerprint,))
    board.write(root=RootKeys(timestamp=(EVE.public,)))
    assert (board.codes(), board.check().timestamp_keys) == ([], (EVE.public.fingerprint,))
    assert set(signed(board, "3.root.json").keys) == {ANN.public.fingerprint, EVE.public.fingerprint}
    board.write(root=RootKeys(timestamp=()))
    assert (board.codes(), board.check().timestamp_keys) == ([], ())


def test_the_key_stays_while_the_owners_change() -> None:
    """Who changes root and list says nothing of the job; a key of it that becomes an owner's has all roles."""
    board = with_job()
    board.write(ANN, BEA, root=RootKeys((BEA.public,)))
    assert (board.codes(), board.check().timestamp_keys) == ([], (JOB.public.fingerprint,))
    board.write(BEA, JOB, root=RootKeys((JOB.public,)))
    assert (board.codes(), board.check().timestamp_keys) == ([], ())


def test_a_timestamp_key_signs_the_list() -> None:
    """A list that leaves out an item, with no signature but the thief's."""
    board = with_job()
    targets = {path: file for path, file in signed(board, "1.targets.json").targets.items() if "three" not in path}
    assert board.codes(files=forged(board, "1.targets.json", targets=targets)) == ["manifest-threshold"]


def test_a_timestamp_key_signs_a_snapshot() -> None:
    """What the timestamp names must have the signature of the snapshot's keys."""
    board = with_job()
    files = forged(board, "1.snapshot.json", version=2)
    files["2.snapshot.json"] = files.pop("1.snapshot.json")
    board.files = files
    meta = signed(board, "timestamp.json").snapshot_meta
    meta.version = 2
    assert board.codes(files=forged(board, "timestamp.json", version=2, snapshot_meta=meta)) == ["manifest-threshold"]


def test_a_timestamp_key_brings_an_older_snapshot_back() -> None:
    """Whoever has seen the newer one finds it; whoever has not, only once that has expired."""
    board = with_job()
    old, board.items = dict(board.files), ITEMS[:2]
    board.write()
    board.look()
    old["timestamp.json"] = forged(Board(files=old), "timestamp.json", version=9)["timestamp.json"]
    assert set(board.codes(files=old, items=ITEMS)) == {"manifest-rollback"}
    assert board.codes(files=old, items=ITEMS, seen=None) == []
    board.later(91)
    assert "manifest-expired" in board.codes(files=old, items=ITEMS, seen=None)


def test_a_timestamp_key_signs_a_root() -> None:
    """Not the next one, and not a first one, even where the key is trusted for more than it should be."""
    board = with_job()
    root = signed(board, "1.root.json")
    root.version, root.roles["targets"].keyids = 2, [str(JOB.public.fingerprint)]
    metadata: Metadata[Root] = Metadata(root)
    sign(metadata, [str(JOB.public.fingerprint)], [JOB])
    assert board.codes(files=board.files | {"2.root.json": to_bytes(metadata)}) == ["manifest-root-chain"]
    own = Board()
    own.write(JOB)
    assert board.codes(files=own.files) == ["manifest-unknown-signer"]
    careless = TrustSet((*USER.entries, entry(JOB)))
    assert "manifest-fork" in board.codes(files=own.files, trust=careless)


def test_a_timestamp_key_that_is_trusted_for_items() -> None:
    """A key that is to sign nothing else, and by the trust set may, fails the check."""
    board = with_job()
    trusted = TrustSet((*USER.entries, entry(JOB)))
    assert board.codes(trust=trusted) == ["manifest-timestamp-key"]
    limited = TrustSet((*USER.entries, entry(JOB, patterns=())))
    assert board.codes(trust=limited) == []


def test_a_revoked_timestamp_key() -> None:
    """What it has signed counts no more, also for who has no newer root."""
    board = with_job()
    refresh(board)
    revoked = TrustSet((*USER.entries, entry(JOB, revoked=Revocation("stolen"))))
    assert board.codes(trust=revoked) == ["manifest-threshold"]


def test_a_timestamp_key_that_was_swapped() -> None:
    """The key before signs for nobody any more."""
    board = with_job()
    board.write(root=RootKeys(timestamp=(EVE.public,)))
    with pytest.raises(SigningError, match="has no part"):
        refresh(board)
    assert board.codes(files=forged(board, "timestamp.json", version=9)) == ["manifest-threshold"]
    refresh(board, EVE)
    assert board.codes() == []


def test_an_expired_list_is_not_refreshed_by_the_job() -> None:
    """A timestamp for ten years keeps nothing alive that its owner does not renew."""
    board = with_job(days=30)
    refresh(board, days=3650)
    assert board.codes() == []
    board.later(31)
    assert set(board.codes()) == {"manifest-expired"}


def test_a_version_so_high_that_no_later_one_will_do() -> None:
    """A thief shows it to somebody; once the owner gives the timestamp another key, later ones count again."""
    board = with_job()
    board.seen = board.check(files=forged(board, "timestamp.json", version=10**9)).seen
    board.write()
    assert board.codes() == ["manifest-rollback"]
    board.write(root=RootKeys(timestamp=(EVE.public,)))
    assert board.codes() == []
    board.look()
    assert board.seen is not None
    assert board.seen.versions["timestamp"] == 3


def test_a_timestamp_key_writes_nothing() -> None:
    """Writing would sign a timestamp for items that it did not compare: that is for refresh."""
    board = with_job()
    for wanted in (None, RootKeys((JOB.public,))):
        with pytest.raises(SigningError, match="no more of this manifest than the timestamp"):
            board.write(JOB, root=wanted)


def test_a_key_with_another_role_is_not_for_the_timestamp_alone() -> None:
    """An owner's is refused; one to which a namespace is given is not called so."""
    with pytest.raises(SigningError, match="may sign more of this manifest"):
        Board().write(root=RootKeys(timestamp=(ANN.public,)))
    board = Board()
    delegation = Delegation(("b/*",), (JOB.public,))
    board.write(ANN, JOB, root=RootKeys(timestamp=(JOB.public,)), delegations=[delegation])
    assert (board.codes(), board.check().timestamp_keys) == ([], ())
