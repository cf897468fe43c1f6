"""Whose signatures count: every change to trust files, the verdicts it leads to, and the reason listed for each key."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from rye import Registry
from rye.errors import ArgumentError, EnvironmentFault, NotFoundError, RyeError, SigningError
from rye.keyring.trust_changes import TrustChange, TrustedKey, change_all
from rye.keyring.trust_files import Trust
from rye.spaces.layout import Layout
from rye.trust import (
    TRUSTED_FOLDER,
    PublicKey,
    Revocation,
    SigningKey,
    TrustEntry,
    TrustScope,
    trust_file_bytes,
    trust_file_name,
)
from tests.support.signed import ANN, EVE, NOW, PAT
from tests.support.signed import key as key_of
from tests.support.spacesim import SpaceSim

SHOP = key_of("shop")
HELLO = "tools/demo/hello.py"


@pytest.fixture
def sim(tmp_path: Path) -> SpaceSim:
    """A project, a user who trusts ann, and a bundle that brings its own key; an item of pat's in the project."""
    sim = SpaceSim(tmp_path)
    sim.add("project", HELLO, '"""Say hello."""\n', PAT)
    return sim


def trust_of(sim: SpaceSim, *, named: tuple[Path, ...] = (), now: datetime = NOW) -> Trust:
    """Return the trust files of the simulated spaces at a fixed time."""
    layout = Layout.find(project=sim.project, user=sim.user, bundles=(), more=tuple(sim.bundles.values()))
    return Trust(layout, named=named, clock=lambda: now)


def code(sim: SpaceSim, source: str = "project") -> str:
    """Return the reason code that verifying the one item of a source gives."""
    registry = Registry(sim.project, user=sim.user, bundles=tuple(sim.bundles.values()), cache_dir=sim.cache)
    found = registry.verify("tool", space=source.partition(":")[0])
    (item,) = [item for item in found.items if item.bundle in {"", "shop"}]
    return item.signature.code


def row(trust: Trust, who: SigningKey, scope: str) -> TrustedKey:
    """Return the line of the list for a key in a scope."""
    (found,) = [key for key in trust.list().keys if (key.fingerprint, key.scope) == (who.public.fingerprint, scope)]
    return found


def raw(public: PublicKey) -> str:
    """Return a public key as text."""
    return f"ed25519:{base64.b64encode(public.raw).decode()}"


def put_project_key(sim: SpaceSim, who: SigningKey) -> Path:
    """Let a project bring a trust file of its own."""
    path = sim.root("project") / TRUSTED_FOLDER / trust_file_name(who.public)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(trust_file_bytes(who.public, owner="pat"))
    return path


def test_a_key_that_is_added_counts_from_then_on(sim: SpaceSim, tmp_path: Path) -> None:
    """From a trust file, a PEM file, text or a fingerprint; removing it takes the trust away again."""
    trust = trust_of(sim)
    file, pem = tmp_path / "pat.toml", tmp_path / "pat.pem"
    file.write_bytes(trust_file_bytes(PAT.public, owner="pat"))
    pem.write_text(PAT.public.pem)
    for given in (str(file), str(pem), raw(PAT.public)):
        assert code(sim) == "unknown-key"
        change = trust.add(given)
        assert (change.action, change.fingerprint) == ("added", PAT.public.fingerprint)
        assert code(sim) == "ok"
        assert trust.remove(PAT.public.fingerprint[:16]).action == "removed"
    put_project_key(sim, PAT)
    assert code(sim) == "project-key"
    assert trust.add(PAT.public.fingerprint).owner == "pat"
    assert code(sim) == "ok"


def test_limits_are_those_of_the_file_unless_given(sim: SpaceSim, tmp_path: Path) -> None:
    """Owner, namespaces and expiry of the file are kept; what the caller says comes first."""
    trust, file = trust_of(sim), tmp_path / "pat.toml"
    until = datetime(2027, 1, 1, tzinfo=UTC)
    file.write_bytes(trust_file_bytes(PAT.public, owner="pat", namespaces=("demo/*",), not_after=until))
    trust.add(str(file))
    kept = row(trust, PAT, "user")
    assert (kept.owner, kept.namespaces, kept.not_after) == ("pat", ("demo/*",), "2027-01-01T00:00:00+00:00")
    assert code(sim) == "ok"
    trust.add(str(file), owner="Pat", namespaces=("ops/*",), replace=True)
    assert row(trust, PAT, "user").owner == "Pat"
    assert code(sim) == "namespace"


def test_a_trust_file_is_not_overwritten_in_silence(sim: SpaceSim, tmp_path: Path) -> None:
    """The same again changes nothing; other limits need ``replace``, and then no second file keeps the old ones."""
    trust = trust_of(sim)
    odd = sim.root("user") / TRUSTED_FOLDER / "pat.toml"
    odd.write_bytes(trust_file_bytes(PAT.public, owner="pat"))
    with pytest.raises(SigningError) as caught:
        trust.add(raw(PAT.public), namespaces=("ops/*",))
    assert caught.value.code == "trust-exists"
    change = trust.add(raw(PAT.public), namespaces=("ops/*",), replace=True)
    assert not odd.exists()
    assert code(sim) == "namespace"
    again = tmp_path / "again.toml"
    again.write_bytes(Path(change.paths[0]).read_bytes())
    assert trust.add(str(again)).action == "unchanged"


@pytest.mark.parametrize("action", ["add", "revoke", "remove"])
def test_changes_before_a_failed_write_are_undone(sim: SpaceSim, tmp_path: Path, action: str) -> None:
    """A disk that is full at the second of two keys leaves the first one as it was."""
    trust = trust_of(sim)
    actions: dict[str, Callable[..., TrustChange]] = {"add": trust.add, "revoke": trust.revoke, "remove": trust.remove}
    given = tmp_path / "pat.pem"
    given.write_text(PAT.public.pem)
    first = str(given) if action == "add" else ANN.public.fingerprint
    folder = sim.user / ".ai" / TRUSTED_FOLDER

    def change(text: str, write: bool) -> TrustChange:  # noqa: FBT001 - as change_all calls it
        if text == first:
            return actions[action](text, write=write)
        if write:
            assert files() != before
            raise EnvironmentFault("cannot-write", "no room", hint="make room on the disk")
        return TrustChange("added", EVE.public.fingerprint, "eve", (str(folder / "eve.toml"),))

    def files() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in folder.glob("*")}

    before = files()
    with pytest.raises(EnvironmentFault, match="no room"):
        change_all([first, "second"], change)
    assert files() == before


def test_revocation_beats_every_other_file(sim: SpaceSim) -> None:
    """One revocation in the user space, and nothing of the key counts: not here, not in the bundle that brings it."""
    trust = trust_of(sim)
    sim.add("system:shop", HELLO, '"""Say hello."""\n')
    put_project_key(sim, PAT)
    trust.endorse(PAT.public.fingerprint, ANN)
    assert (code(sim), code(sim, "system:shop")) == ("ok", "ok")
    trust.revoke(PAT.public.fingerprint, reason="stolen", date="2026-05-01")
    trust.revoke(SHOP.public.fingerprint[:16])
    assert (code(sim), code(sim, "system:shop")) == ("revoked", "revoked")
    assert row(trust, PAT, "project").reason == (
        "revoked by the trust file of the user space: stolen, 2026-05-01; nothing that it ever signed is trusted"
    )
    assert row(trust, SHOP, "bundle").code == "revoked"
    revoked = row(trust, SHOP, "user").revoked
    assert revoked is not None
    assert revoked.date == "2026-06-01"


def test_a_revocation_that_the_project_shares_holds_once_endorsed(sim: SpaceSim) -> None:
    """A project may carry a revocation for all its readers; it counts for those whose key stands behind it."""
    trust = trust_of(sim)
    trust.add(raw(PAT.public))
    trust.revoke(raw(PAT.public), reason="left", space="project")
    assert code(sim) == "ok"
    trust.endorse(PAT.public.fingerprint, ANN)
    assert code(sim) == "revoked"
    assert "by the trust file of the project: left" in row(trust, PAT, "user").reason


def test_a_revocation_is_not_lifted_by_accident(sim: SpaceSim) -> None:
    """Adding the key again, even with ``replace``, or removing its file, is refused; only force removes it."""
    trust = trust_of(sim)
    trust.revoke(raw(PAT.public), reason="stolen")
    for lift in (
        partial(trust.add, raw(PAT.public)),
        partial(trust.add, raw(PAT.public), replace=True),
        partial(trust.remove, PAT.public.fingerprint),
    ):
        with pytest.raises(SigningError, match=r"^key [0-9a-f]{16} is revoked(?: by [^;]+)?; ") as caught:
            lift()
        assert caught.value.code == "trust-revoked"
    assert trust.revoke(PAT.public.fingerprint).action == "unchanged"
    assert code(sim) == "revoked"
    trust.remove(PAT.public.fingerprint, force=True)
    assert code(sim) == "unknown-key"


def test_revoking_keeps_the_rest_of_the_file(sim: SpaceSim) -> None:
    """Owner and limits stay; the reason may be corrected later; a date that is none is refused."""
    trust = trust_of(sim)
    trust.add(raw(PAT.public), owner="Pat", namespaces=("demo/*",))
    trust.revoke(PAT.public.fingerprint, reason="lost")
    trust.revoke(PAT.public.fingerprint, reason="stolen", date="2026-05-01")
    kept = row(trust, PAT, "user")
    assert (kept.owner, kept.namespaces) == ("Pat", ("demo/*",))
    assert kept.reason.startswith("revoked: stolen, 2026-05-01;")
    for reason, date in (("a\nb", ""), ("", "yesterday")):
        with pytest.raises(SigningError) as caught:
            trust.revoke(PAT.public.fingerprint, reason=reason, date=date)
        assert caught.value.code == "trust-file"
    assert row(trust, PAT, "user") == kept


def test_a_project_cannot_vouch_for_itself_until_endorsed(sim: SpaceSim) -> None:
    """Its key counts once a key of the user stands behind its file, and no longer when the file changes."""
    trust, path = trust_of(sim), put_project_key(sim, PAT)
    assert (row(trust, PAT, "project").counts, code(sim)) == (False, "project-key")
    assert trust.endorse(str(path), None).action == "would endorse"
    assert code(sim) == "project-key"
    change = trust.endorse(str(path), EVE)
    assert "does not count for you: no key of the user has endorsed" in change.warnings[0]
    assert code(sim) == "project-key"
    assert trust.endorse(PAT.public.fingerprint, ANN).warnings == ()
    assert (row(trust, PAT, "project").counts, code(sim)) == (True, "ok")
    assert row(trust, PAT, "project").reason.startswith("for every item of this project: endorsed by ann (")
    path.write_bytes(path.read_bytes().replace(b'owner = "pat"', b'owner = "ann"'))
    assert code(sim) == "project-key"


def test_the_reason_why_an_endorsement_does_not_count_is_listed(sim: SpaceSim) -> None:
    """The endorser is revoked, expired or limited: each has its own words."""
    trust = trust_of(sim)
    put_project_key(sim, PAT)
    trust.endorse(PAT.public.fingerprint, ANN)
    past = datetime(2026, 1, 1, tzinfo=UTC)
    for limits, words in (({"not_after": past}, "has expired"), ({"namespaces": ("demo/*",)}, "cannot endorse")):
        trust.add(raw(ANN.public), owner="ann", replace=True, **limits)
        assert words in row(trust, PAT, "project").reason
    trust.revoke(raw(ANN.public), reason="stolen")
    assert "whose key is revoked: stolen" in row(trust, PAT, "project").reason
    assert not any(key.counts for key in trust.list().keys if key.bundles is None)


def test_each_key_has_a_line_on_why_it_counts(sim: SpaceSim, tmp_path: Path) -> None:
    """Anchors for everything or a bundle, limits named; what is a bundle's, overruled, expired or empty does not."""
    trust = trust_of(sim)
    assert row(trust, ANN, "user").reason == "for every item: trusted by the user"
    assert row(trust, SHOP, "user").reason == "for every item of bundle shop alone: pinned by the user"
    overruled = row(trust, SHOP, "bundle")
    assert (overruled.counts, overruled.code) == (False, "overruled")
    trust.remove(raw(SHOP.public))
    assert row(trust, SHOP, "bundle").code == "bundle-key"
    trust.add(raw(SHOP.public), namespaces=("shop/*", "tool:ops/*"), not_after=datetime(2027, 1, 1, tzinfo=UTC))
    own = row(trust, SHOP, "user")
    assert own.reason == "for shop/*, tool:ops/*: trusted by the user, until 2027-01-01T00:00:00+00:00"
    overruled = row(trust, SHOP, "bundle")
    assert (overruled.counts, overruled.code) == (False, "overruled")
    assert overruled.reason == "the trust file of the user space decides for this key"
    later = trust_of(sim, now=datetime(2028, 1, 1, tzinfo=UTC))
    assert row(later, SHOP, "user").reason == "expired at 2027-01-01T00:00:00+00:00"
    trust.add(raw(PAT.public), namespaces=())
    assert row(trust, PAT, "user").code == "no-namespace"
    file = tmp_path / "eve.toml"
    file.write_bytes(trust_file_bytes(EVE.public, owner="eve"))
    assert row(trust_of(sim, named=(file,)), EVE, "named").reason == "for every item: named with --trust"


def test_a_key_of_the_user_that_is_also_named_counts(sim: SpaceSim) -> None:
    """Only the more authoritative of its two files decides: the named one counts, and the list does not deny it."""
    (own,) = [Path(each.path) for each in trust_of(sim).list().keys if each.fingerprint == ANN.public.fingerprint]
    trust = trust_of(sim, named=(own,))
    assert row(trust, ANN, "named").reason == "for every item: named with --trust"
    assert row(trust, ANN, "user").reason == "the trust file named with --trust decides for this key"
    assert not any("no key of the user counts" in text for text in trust.list().warnings)


def test_the_file_that_revokes_is_the_one_that_is_named(sim: SpaceSim) -> None:
    """Of several files of one key; not the one that happens to be read first."""
    trust = trust_of(sim)
    folder = sim.root("user") / TRUSTED_FOLDER
    (folder / "a.toml").write_bytes(trust_file_bytes(EVE.public, owner="eve"))
    (folder / "b.toml").write_bytes(trust_file_bytes(EVE.public, owner="eve", revoked=Revocation("stolen")))
    of_bundle = TrustEntry(EVE.public, "eve", TrustScope.BUNDLE, "shop", source="its own file")
    with pytest.raises(SigningError, match=r"is revoked by \S*b\.toml"):
        trust.add(raw(EVE.public))
    with pytest.raises(SigningError, match=r"is revoked by \S*b\.toml"):
        trust.pin(of_bundle, "shop")


def test_the_list_says_that_no_key_counts(tmp_path: Path) -> None:
    """An empty or unreadable trust set trusts nothing; list and verify both say so and why."""
    sim = SpaceSim(tmp_path, bundles=())
    sim.add("project", HELLO, '"""Say hello."""\n')
    folder = sim.root("user") / TRUSTED_FOLDER
    (path,) = folder.iterdir()
    registry = Registry(sim.project, user=sim.user, bundles=(), cache_dir=sim.cache)
    trust = Trust(Layout.find(project=sim.project, user=sim.user, bundles=()))
    for damage, words in ((path.unlink, "there is no trust file"), (lambda: path.write_text("x"), "could be read")):
        damage()
        assert [(item.signature.code) for item in registry.verify().items] == ["unknown-key"]
        for warnings in (registry.verify().warnings, trust.list().warnings):
            assert warnings[-1].startswith("no key is trusted, so no signature counts: ")
            assert words in warnings[-1]
        assert trust.list().keys == ()


def test_keys_that_are_there_but_do_not_count_are_no_trust(tmp_path: Path) -> None:
    """A single key that is revoked is as good as none."""
    sim = SpaceSim(tmp_path, bundles=())
    trust = Trust(Layout.find(project=sim.project, user=sim.user, bundles=()))
    trust.revoke(ANN.public.fingerprint)
    assert trust.list().warnings == ("no key counts, so no signature is trusted",)


def test_the_list_says_that_a_user_has_no_keys(sim: SpaceSim) -> None:
    """That nothing but rye's own items and pinned bundles is trusted is said."""
    trust = trust_of(sim)
    trust.remove(ANN.public.fingerprint)
    assert row(trust, SHOP, "user").counts
    assert trust.list().warnings[0].startswith("no key of the user counts, so nothing but rye's own items and bundles")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("0" * 64, "key-not-found"),
        ("0" * 16, "key-not-found"),
        ("nowhere.toml", "trust-not-found"),
        ("ed25519:AAAA", "key-unreadable"),
        ("private.pem", "private-key"),
        ("bad.toml", "trust-file"),
        ("folder", "not-a-file"),
        (EVE.to_pem().decode(), "key-text"),
    ],
)
def test_what_is_no_key_is_refused(sim: SpaceSim, monkeypatch: pytest.MonkeyPatch, given: str, expected: str) -> None:
    """Nothing is written, and the error has a hint."""
    tmp_path = sim.folder
    monkeypatch.chdir(tmp_path)
    (tmp_path / "private.pem").write_bytes(EVE.to_pem())
    (tmp_path / "bad.toml").write_text("owner = 'x'")
    (tmp_path / "folder").mkdir()
    before = sorted(tmp_path.rglob("*"))
    for use in (trust_of(sim).add, trust_of(sim).revoke, trust_of(sim).remove):
        with pytest.raises(RyeError) as caught:
            use(given)
        assert caught.value.code == expected
        assert caught.value.hint
    assert sorted(tmp_path.rglob("*")) == before


def test_link_among_the_trust_files_of_a_project(sim: SpaceSim) -> None:
    """A project cannot have a file of the user overwritten by laying a link where a trust file will be written."""
    trust, mine = trust_of(sim), sim.folder / "mine.txt"
    path = put_project_key(sim, PAT)
    mine.write_bytes(path.read_bytes())
    path.unlink()
    path.symlink_to(mine)
    before = mine.read_bytes()
    for write in (
        partial(trust.endorse, str(path), ANN),
        partial(trust.revoke, raw(PAT.public), space="project"),
        partial(trust.add, raw(PAT.public), space="project", replace=True),
    ):
        with pytest.raises(SigningError) as caught:
            write()
        assert caught.value.code == "not-a-file"
    with pytest.raises(NotFoundError):
        trust.endorse(PAT.public.fingerprint, ANN)
    assert mine.read_bytes() == before


def test_bundles_are_their_publishers(sim: SpaceSim) -> None:
    """System space is read-only, and what no space has cannot be removed."""
    trust = trust_of(sim)
    for space in ("system", "all", ""):
        with pytest.raises(ArgumentError) as caught:
            trust.add(raw(PAT.public), space=space)
        assert caught.value.code == "bad-space"
    trust.remove(SHOP.public.fingerprint)
    with pytest.raises(NotFoundError) as missing:
        trust.remove(SHOP.public.fingerprint)
    assert missing.value.code == "key-not-found"
    assert "bundles/shop" in missing.value.hint


def test_a_trust_file_is_not_written_where_its_folder_cannot_be_made(tmp_path: Path) -> None:
    """A file in the place of the folder is a fault of the environment, and stays."""
    sim = SpaceSim(tmp_path)
    blocked = sim.root("user") / TRUSTED_FOLDER
    if blocked.is_dir():
        shutil.rmtree(blocked)
    blocked.parent.mkdir(parents=True, exist_ok=True)
    blocked.write_text("in the way")
    with pytest.raises(EnvironmentFault) as caught:
        trust_of(sim).add(raw(PAT.public))
    assert (caught.value.code, blocked.read_text()) == ("cannot-write", "in the way")
