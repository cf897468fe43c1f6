"""Whose signatures count: every change to trust files, the verdicts it leads to, and the reason listed for each key."""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path

import pytest

from rye import Registry
from rye.errors import EnvironmentFault, NotFoundError, SigningError
from rye.keyring.changes import TrustChange, write_changes
from rye.keyring.trust import Trust
from rye.keyring.trust_list import TrustedKey
from rye.spaces.layout import Layout
from rye.trust.keys import PublicKey, SigningKey
from rye.trust.trust_entry import Revocation
from rye.trust.trust_file import trust_file_bytes, trust_file_name
from rye.trust.trust_store import TRUSTED_FOLDER
from tests.support.signed import ANN, EVE, NOW, PAT
from tests.support.signed import key as key_of
from tests.support.spacesim import SpaceSim

SHOP = key_of("shop")
HELLO = "tools/demo/hello.py"
POSIX = pytest.mark.skipif("os.name != 'posix'", reason="permissions are POSIX")


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


def do(change: TrustChange) -> TrustChange:
    """Make a change that was planned."""
    write_changes([change])
    return change


def code(sim: SpaceSim, source: str = "project") -> str:
    """Return the reason code that verifying the one item of a source gives."""
    registry = Registry(sim.project, user=sim.user, bundles=tuple(sim.bundles.values()), cache_dir=sim.cache)
    report = registry.verify("tool", space=source.partition(":")[0])
    (item,) = [item for item in report.items if item.bundle in {"", "shop"}]
    return item.signature.code


def row(trust: Trust, who: SigningKey, scope: str) -> TrustedKey:
    """Return the line of the list for a key in a scope."""
    (line,) = [key for key in trust.list().keys if (key.fingerprint, key.scope) == (who.public.fingerprint, scope)]
    return line


def raw(public: PublicKey) -> str:
    """Return a public key as text."""
    return f"ed25519:{base64.b64encode(public.raw).decode()}"


def test_a_key_that_is_added_counts_from_then_on(sim: SpaceSim, tmp_path: Path) -> None:
    """From a trust file, a PEM file, text or a fingerprint; removing it takes the trust away again."""
    trust = trust_of(sim)
    file, pem = tmp_path / "pat.toml", tmp_path / "pat.pem"
    file.write_bytes(trust_file_bytes(PAT.public, owner="pat"))
    pem.write_text(PAT.public.pem)
    for given in (str(file), str(pem), raw(PAT.public)):
        assert code(sim) == "unknown-key"
        change = do(trust.add(given))
        assert (change.action, change.fingerprint) == ("added", PAT.public.fingerprint)
        assert code(sim) == "ok"
        assert do(trust.remove(PAT.public.fingerprint)).action == "removed"
    sim.trust(PAT, "project", owner="pat")
    assert code(sim) == "foreign-key"
    assert do(trust.add(PAT.public.fingerprint)).owner == "pat"
    assert code(sim) == "ok"


def test_attack_a_file_named_like_a_fingerprint(sim: SpaceSim, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the working directory, eve's trust file has the name of pat's fingerprint: pat's key is meant, or none."""
    monkeypatch.chdir(sim.folder)
    name = PAT.public.fingerprint
    (sim.folder / name).write_bytes(trust_file_bytes(EVE.public, owner="pat"))
    trust = trust_of(sim)
    for use in (trust.add, trust.revoke, trust.remove, partial(trust.endorse, key=ANN)):
        with pytest.raises(NotFoundError) as caught:
            use(name)
        assert caught.value.code == "key-not-found"
    sim.trust(PAT, "project", owner="pat")
    assert trust.add(name).fingerprint == trust.revoke(name).fingerprint == PAT.public.fingerprint
    assert trust.entry_of(name).public == PAT.public
    assert trust.add(f"./{name}").fingerprint == EVE.public.fingerprint


def test_attack_an_older_file_without_limits_is_added_under_another_name(sim: SpaceSim) -> None:
    """Of two files in effect for one key both limits hold, whatever the letters of their names."""
    sim.trust(PAT, owner="pat", patterns=("ops/*",))
    assert code(sim) == "limited"
    sim.write("user", f"{TRUSTED_FOLDER}/{PAT.public.fingerprint}.TOML", trust_file_bytes(PAT.public, owner="pat"))
    assert code(sim) == "limited"


def test_revocation_beats_every_other_file(sim: SpaceSim) -> None:
    """One revocation in the user space, and nothing of the key counts: not here, not in the bundle that brings it."""
    trust = trust_of(sim)
    sim.add("system:shop", HELLO, '"""Say hello."""\n')
    sim.trust(PAT, "project", owner="pat")
    do(trust.endorse(PAT.public.fingerprint, ANN))
    assert (code(sim), code(sim, "system:shop")) == ("ok", "ok")
    do(trust.revoke(PAT.public.fingerprint, reason="stolen", date="2026-05-01"))
    do(trust.revoke(SHOP.public.fingerprint))
    assert (code(sim), code(sim, "system:shop")) == ("revoked", "revoked")
    listed = row(trust, PAT, "project")
    assert (listed.code, listed.reason.endswith("is revoked: stolen, 2026-05-01")) == ("revoked", True)
    assert row(trust, SHOP, "bundle").code == "revoked"
    assert row(trust, SHOP, "user").revoked == Revocation("", "2026-06-01")


def test_a_revocation_is_not_lifted_by_accident(sim: SpaceSim) -> None:
    """Adding the key again, even with ``replace``, or removing its file, is refused; only force removes it."""
    trust = trust_of(sim)
    do(trust.revoke(raw(PAT.public), reason="stolen"))
    for lift in (
        partial(trust.add, raw(PAT.public)),
        partial(trust.add, raw(PAT.public), replace=True),
        partial(trust.remove, PAT.public.fingerprint),
    ):
        with pytest.raises(SigningError, match=r"^key [0-9a-f]{16} is revoked by [^;]+; ") as caught:
            lift()
        assert caught.value.code == "trust-revoked"
    assert trust.revoke(PAT.public.fingerprint).action == "unchanged"
    assert code(sim) == "revoked"
    do(trust.remove(PAT.public.fingerprint, force=True))
    assert code(sim) == "unknown-key"


def test_the_key_of_a_project_counts_once_its_file_is_signed(sim: SpaceSim) -> None:
    """By a key that the user trusts without limits, and no longer when the file changes."""
    trust, path = trust_of(sim), sim.trust(PAT, "project", owner="pat")
    assert (row(trust, PAT, "project").code, code(sim)) == ("foreign-key", "foreign-key")
    assert trust.endorse(str(path), None).writes == ()
    change = do(trust.endorse(str(path), EVE))
    assert "it does not count for you" in change.warnings[0]
    assert code(sim) == "foreign-key"
    assert do(trust.endorse(PAT.public.fingerprint, ANN)).warnings == ()
    assert (row(trust, PAT, "project").counts, code(sim)) == (True, "ok")
    assert row(trust, PAT, "project").reason.startswith("for every item of this project: its trust file is signed with")
    path.write_bytes(path.read_bytes().replace(b'owner = "pat"', b'owner = "ann"'))
    assert code(sim) == "foreign-key"


@pytest.mark.parametrize("source", ["user", "project"])
def test_attack_a_garbage_trust_file_says_the_same_everywhere(sim: SpaceSim, source: str) -> None:
    """The user's own is an error of verify, search and the list alike; a project's is left out, and named."""
    do(trust_of(sim).add(raw(PAT.public)))
    path = sim.write(source, f"{TRUSTED_FOLDER}/{trust_file_name(EVE.public)}", b"garbage")
    calls: tuple[Callable[[], object], ...] = (
        partial(code, sim),
        trust_of(sim).list,
        partial(sim.registry().search, "hello"),
        partial(sim.registry().get, "tool:demo/hello"),
    )
    if source == "project":
        assert code(sim) == "ok"
        assert any(f"trust file {path} is left out" in text for text in trust_of(sim).list().warnings)
        return
    for call in calls:
        with pytest.raises(SigningError) as caught:
            call()
        assert (caught.value.code, str(path) in caught.value.message) == ("trust-file", True)


@POSIX
def test_an_organisation_ships_trust_files(sim: SpaceSim, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are in effect as the user's own and listed as such; what others can write, or a checkout, is not read."""
    folder = sim.folder / "organisation"
    folder.mkdir(mode=0o755)
    (folder / "pat.toml").write_bytes(trust_file_bytes(PAT.public, owner="pat"))
    monkeypatch.setenv("RYE_TRUST_DIR", str(folder))
    assert code(sim) == "ok"
    assert row(trust_of(sim), PAT, "organisation").reason == "for every item: trusted by your organisation"
    folder.chmod(0o777)
    assert code(sim) == "unknown-key"
    assert any("no trust file in" in text for text in trust_of(sim).list().warnings)
    folder.chmod(0o755)
    monkeypatch.setenv("RYE_TRUST_DIR", str(sim.folder / "missing"))
    assert code(sim) == "unknown-key"
    assert trust_of(sim).list().warnings
    (folder / "pat.toml").chmod(0o666)
    inside = sim.project / "keys"
    inside.mkdir()
    (inside / "pat.toml").write_bytes(trust_file_bytes(PAT.public, owner="pat"))
    for named, expected in ((folder, "unsafe-owner"), (inside, "user-in-project")):
        monkeypatch.setenv("RYE_TRUST_DIR", str(named))
        with pytest.raises(EnvironmentFault) as caught:
            code(sim)
        assert caught.value.code == expected


def test_link_among_the_trust_files_of_a_project(sim: SpaceSim) -> None:
    """A project cannot have a file of the user overwritten by laying a link where a trust file will be written."""
    trust, mine = trust_of(sim), sim.folder / "mine.txt"
    path = sim.trust(PAT, "project", owner="pat")
    path.rename(mine)
    path.symlink_to(mine)
    before = mine.read_bytes()
    for plan in (trust.revoke, partial(trust.add, replace=True)):
        with pytest.raises(SigningError) as caught:
            do(plan(raw(PAT.public), space="project"))
        assert caught.value.code == "not-a-file"
    for file in (str(path), PAT.public.fingerprint):
        with pytest.raises(NotFoundError):
            trust.endorse(file, ANN)
    assert mine.read_bytes() == before
