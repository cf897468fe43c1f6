"""``rye manifest`` and ``rye verify`` on a real project."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from rye.cli.app import main
from rye.keyring import key_files
from rye.keyring import manifests as inventory
from rye.manifest import store
from rye.manifest.space import observe
from rye.manifest.write import write_manifest
from rye.spaces.layout import Layout
from rye.trust import TRUSTED_FOLDER, SigningKey
from tests.support.attacks import HELLO, TEXT
from tests.support.signed import ANN, BEA
from tests.support.spacesim import SpaceSim

Rye = Callable[..., tuple[int, Any]]


@pytest.fixture
def sim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SpaceSim:
    """A project with two signed tools, of which one is Bea's."""
    found = SpaceSim(tmp_path)
    monkeypatch.setenv("USER_SPACE", str(found.user))
    monkeypatch.setenv("RYE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("RYE_CACHE_DIR", str(found.cache))
    monkeypatch.delenv("RYE_SIGNING_KEY", raising=False)
    found.save_user_key()
    key_files.save_signing_key(found.root("user") / key_files.SIGNING_FOLDER, BEA, name="bea")
    found.add("project", HELLO, TEXT)
    found.add("project", "tools/other/one.py", TEXT.replace("demo", "other"))
    return found


@pytest.fixture
def rye(sim: SpaceSim, capsys: pytest.CaptureFixture[str]) -> Rye:
    """Run a command in that project; return its status and its JSON."""

    def run(*words: str) -> tuple[int, Any]:
        capsys.readouterr()
        status = main([*words, "--project", str(sim.project), "--json"])
        return status, json.loads(capsys.readouterr().out)

    return run


def codes(answer: Any) -> list[str]:
    """Return the codes of every finding of a check."""
    return [found["code"] for report in answer["manifests"] for found in report["findings"]]


def test_a_manifest_is_written_checked_and_used(sim: SpaceSim, rye: Rye) -> None:
    """Write, first check elsewhere with its note, second without; an edit is found, and the manifest written anew."""
    status, report = rye("manifest", "write")
    assert (status, report["version"], report["listed"], report["missing"]) == (0, 1, 2, {})
    shutil.rmtree(sim.folder / "state")
    status, answer = rye("manifest", "check")
    assert (status, codes(answer)) == (0, ["manifest-first-use"])
    status, answer = rye("verify", "--space", "project", "--require-manifest")
    assert (status, codes(answer)) == (0, [])
    sim.delete("project", HELLO)
    assert rye("manifest", "check")[0] == 1
    status, answer = rye("verify", "--space", "project")
    assert (status, codes(answer)) == (1, ["item-removed"])
    status, report = rye("manifest", "write")
    assert (status, report["version"], [found["code"] for found in report["changes"]]) == (0, 2, ["item-removed"])
    assert rye("verify", "--space", "project")[0] == 0


def test_verify_without_a_manifest_is_as_ever(rye: Rye) -> None:
    """Where there never was one, nothing is said of it unless it is demanded."""
    status, answer = rye("verify", "--space", "project")
    assert (status, answer["manifests"]) == (0, [])
    status, answer = rye("verify", "--space", "project", "--require-manifest")
    assert (status, codes(answer)) == (1, ["manifest-missing"])


def test_a_namespace_is_delegated_and_a_threshold_demanded(sim: SpaceSim, rye: Rye) -> None:
    """Two keys sign root and list, Bea's lists her namespace; each adds what is theirs."""
    ann, bea = sim.trust(ANN, owner="ann"), sim.trust(BEA, owner="bea")
    keys = ("--root-key", str(ann), "--root-key", str(bea), "--threshold", "2")
    status, report = rye("manifest", "write", *keys, "--delegate", f"other/*={bea}")
    assert (status, report["missing"]["root"], report["missing"]["targets"]) == (0, 1, 1)
    assert rye("manifest", "check")[0] == 1
    status, report = rye("manifest", "write", "--cosign", "--key", "bea")
    assert (status, report["missing"]) == (0, {})
    assert rye("manifest", "check")[0] == 0


def test_a_delegate_lists_alone_and_the_owner_puts_it_in_force(sim: SpaceSim, rye: Rye) -> None:
    """What a delegate writes takes nothing away from the list in force, and counts with the owner's next one."""
    bea = sim.trust(BEA, owner="bea")
    assert rye("manifest", "write", "--delegate", f"other/*={bea}", "--key", "private_key", "--key", "bea")[0] == 0
    assert rye("manifest", "check")[0] == 0
    sim.add("project", "tools/other/two.py", TEXT.replace("demo", "other"))
    for _ in range(2):  # the second replaces the first, which nobody has put in force
        status, report = rye("manifest", "write", "--key", "bea")
        (role,) = report["written"]
        assert (status, report["version"], report["pending"]) == (0, 1, {role: 0})
        assert codes(rye("manifest", "check")[1]) == ["item-unlisted"]
    status, report = rye("manifest", "write")
    assert (status, report["version"], report["pending"], report["waiting"]) == (0, 2, {}, [])
    assert role in report["written"]
    status, answer = rye("manifest", "check")
    assert (status, codes(answer), answer["manifests"][0]["listed"]) == (0, [], 3)
    names = sorted(path.name for path in (sim.root("project") / "config" / "manifest").iterdir())
    assert names == ["1.root.json", "2.snapshot.json", "2.targets.json", f"3.{role}.json", "timestamp.json"]


def test_a_delegation_can_demand_several_keys(sim: SpaceSim, rye: Rye) -> None:
    """Two of three must sign the list of the namespace; it waits for the second, who signs only what is there."""
    from tests.support.signed import key

    bea, cem, dee = (sim.trust(who, owner=name) for name, who in zip("bcd", (BEA, key("cem"), key("dee")), strict=True))
    other = str(key_files.save_signing_key(sim.folder / "keys", key("cem")))
    delegate = ("--delegate", f"other/*=2:{bea},{cem},{dee}")
    status, report = rye("manifest", "write", *delegate, "--key", "private_key", "--key", "bea", "--key", other)
    assert (status, report["missing"]) == (0, {})
    assert rye("manifest", "check")[0] == 0
    sim.add("project", "tools/other/two.py", TEXT.replace("demo", "other"))
    _, report = rye("manifest", "write", "--key", "bea")
    assert list(report["pending"].values()) == [1]
    assert rye("manifest", "write")[1]["pending"] == report["pending"], "with one signature it is not put in force"
    assert codes(rye("manifest", "check")[1]) == ["item-unlisted"]
    sim.add("project", "tools/other/three.py", TEXT.replace("demo", "other"))
    assert rye("manifest", "write", "--cosign", "--key", other)[1]["error"]["code"] == "manifest-differs"
    sim.delete("project", "tools/other/three.py")
    _, report = rye("manifest", "write", "--cosign", "--key", other)
    assert list(report["pending"].values()) == [0]
    assert rye("manifest", "write")[0] == 0
    assert rye("manifest", "check")[0] == 0


def test_a_delegation_is_taken_back(sim: SpaceSim, rye: Rye) -> None:
    """The owner lists everything again, and the delegate's key has no part any more."""
    bea = sim.trust(BEA, owner="bea")
    rye("manifest", "write", "--delegate", f"other/*={bea}", "--key", "private_key", "--key", "bea")
    status, report = rye("manifest", "write", "--no-delegates")
    assert (status, report["written"]) == (0, ["targets", "snapshot", "timestamp"])
    assert rye("manifest", "check")[0] == 0
    assert rye("manifest", "write", "--key", "bea")[1]["error"]["code"] == "manifest-key"


def test_the_keys_of_a_manifest_change_hands(sim: SpaceSim, rye: Rye) -> None:
    """Old and new key sign once; then the new one alone does, who saw the old manifest follows, and the old is out."""
    bea = sim.trust(BEA, owner="bea")
    rye("manifest", "write")
    assert rye("manifest", "check")[0] == 0
    status, report = rye("manifest", "write", "--root-key", str(bea), "--key", "private_key", "--key", "bea")
    assert (status, report["missing"], report["written"][0]) == (0, {}, "root")
    status, answer = rye("manifest", "check")
    assert (status, codes(answer), answer["manifests"][0]["signers"]) == (0, [], [BEA.public.fingerprint])
    assert rye("manifest", "write")[1]["error"]["code"] == "manifest-key"
    assert rye("manifest", "write", "--key", "bea")[0] == 0
    assert (rye("manifest", "check")[0], rye("manifest", "check")[1]["manifests"][0]["version"]) == (0, 3)


@pytest.mark.parametrize("words", [("--root-key", "{ann}"), ("--delegate", "demo/*={bea}"), ("--no-delegates",)])
def test_a_delegate_changes_nobodys_part(sim: SpaceSim, rye: Rye, words: tuple[str, ...]) -> None:
    """Neither keys nor delegations are a delegate's to change: refused, and nothing is written."""
    ann, bea = sim.trust(ANN, owner="ann"), sim.trust(BEA, owner="bea")
    rye("manifest", "write", "--delegate", f"other/*={bea}", "--key", "private_key", "--key", "bea")
    status, answer = rye("manifest", "write", "--key", "bea", *(word.format(ann=ann, bea=bea) for word in words))
    assert (status, answer["error"]["code"]) == (2, "manifest-key")
    assert rye("manifest", "check")[0] == 0


def test_a_manifest_that_was_seen_and_is_gone_is_not_begun_in_silence(sim: SpaceSim, rye: Rye) -> None:
    """Its owner would else sign a first version that everybody takes for a forgery."""
    rye("manifest", "write")
    assert rye("manifest", "check")[0] == 0
    folder = sim.root("project") / "config" / "manifest"
    folder.rename(sim.folder / "elsewhere")
    status, answer = rye("manifest", "write")
    assert (status, answer["error"]["code"]) == (2, "manifest-untrusted")
    assert "--new" in answer["error"]["hint"]
    assert not folder.exists()
    assert rye("manifest", "write", "--new")[0] == 0


def test_a_manifest_begun_anew_must_be_accepted_anew(rye: Rye) -> None:
    """Whoever saw the old one gets an error; ``--reset`` accepts the new one."""
    rye("manifest", "write")
    rye("manifest", "write")
    assert rye("manifest", "check")[0] == 0
    rye("manifest", "write", "--new")
    status, answer = rye("manifest", "check")
    assert (status, "manifest-rollback" in codes(answer)) == (1, True)
    status, answer = rye("manifest", "check", "--reset", "--yes")
    assert (status, codes(answer)) == (0, ["manifest-first-use"])


def test_attack_the_memory_of_a_manifest_is_reset_without_asking(
    sim: SpaceSim, rye: Rye, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a terminal nothing is forgotten; the facts name the manifest that was seen, and that it is gone."""
    rye("manifest", "write")
    rye("manifest", "check")
    shutil.rmtree(sim.root("project") / "config" / "manifest")
    assert main(["manifest", "check", "--reset", "--project", str(sim.project)]) == 2
    message = capsys.readouterr().err
    assert "confirmation-needed" in message
    assert f"last seen: version 1, signed by {ANN.public.fingerprint}" in message
    assert codes(rye("manifest", "check")[1]) == ["manifest-gone"]
    rye("manifest", "check", "--reset", "--yes")
    assert "manifest-gone" not in codes(rye("manifest", "check")[1])


def test_a_strangers_manifest_is_not_built_upon(sim: SpaceSim, rye: Rye) -> None:
    """Writing over a manifest of unknown keys would lend it one's own name."""
    rye("manifest", "write", "--key", "bea")
    status, answer = rye("manifest", "write")
    assert (status, answer["error"]["code"]) == (2, "manifest-untrusted")
    assert rye("manifest", "write", "--new")[0] == 0
    assert sim.root("project").joinpath("config/manifest/timestamp.json").is_file()


def test_a_bundle_has_a_manifest_of_its_own(sim: SpaceSim, rye: Rye) -> None:
    """A bundle's key signs it, and counts for that bundle while it is pinned to the key."""
    from tests.support.signed import key

    sim.add("system:shop", HELLO, TEXT)
    path = key_files.save_signing_key(sim.folder / "keys", key("shop"))
    bundle = ("--bundle", str(sim.bundles["shop"]))
    assert rye("manifest", "write", *bundle, "--key", str(path))[0] == 0
    status, answer = rye("manifest", "check", *bundle)
    assert (status, codes(answer)) == (0, [])
    sim.distrust(key("shop"))
    status, answer = rye("manifest", "check", *bundle)
    assert (status, codes(answer)) == (1, ["manifest-unknown-signer"])


def test_a_state_that_cannot_be_kept_is_a_note(rye: Rye, tmp_path: Path) -> None:
    """Where nothing can be kept the check still answers, and says what is missing."""
    rye("manifest", "write")
    shutil.rmtree(tmp_path / "state")
    (tmp_path / "state").write_bytes(b"in the way")
    status, answer = rye("manifest", "check")
    assert (status, sorted(codes(answer))) == (0, ["manifest-first-use", "manifest-unsaved"])


def test_a_damaged_state_is_no_answer(rye: Rye, tmp_path: Path) -> None:
    """Neither well nor found wanting: status 2."""
    rye("manifest", "write")
    assert rye("manifest", "check")[0] == 0
    (path,) = (tmp_path / "state" / "manifests").iterdir()
    path.write_bytes(b"{")
    status, answer = rye("manifest", "check")
    assert (status, answer["error"]["code"]) == (2, "state-unreadable")
    assert rye("manifest", "check", "--reset", "--yes")[0] == 0


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("write", "--expires", "0"), "bad-expiry"),
        (("write", "--threshold", "0"), "manifest-threshold"),
        (("write", "--threshold", "-1"), "manifest-threshold"),
        (("write", "--threshold", "2"), "manifest-threshold"),
        (("write", "--delegate", "ops"), "bad-delegation"),
        (("write", "--delegate", "ops/*="), "bad-delegation"),
        (("write", "--delegate", "=bea.toml"), "bad-delegation"),
        (("write", "--delegate", "ops/*=bea.toml", "--no-delegates"), "usage"),
        (("write", "--cosign", "--no-delegates"), "usage"),
        (("check", "--no-delegates"), "usage"),
        (("write", "--space", "system"), "bad-space"),
        (("write", "--key", "nobody"), "no-signing-key"),
        (("write", "--cosign"), "nothing-to-sign"),
        (("write", "--reset"), "usage"),
        (("check", "--yes"), "usage"),
        (("check", "--new"), "usage"),
        (("check", "--bundle", ".", "--space", "user"), "usage"),
    ],
)
def test_a_command_line_that_cannot_be(rye: Rye, words: tuple[str, ...], code: str) -> None:
    """Refused with its own code, and nothing is written."""
    status, answer = rye("manifest", *words)
    assert (status, answer["error"]["code"]) == (2, code)


def test_the_registry_does_what_the_command_does(sim: SpaceSim) -> None:
    """The Python API writes and checks the same manifest."""
    registry = sim.registry()
    assert registry.check_manifests("project") == ()
    assert registry.write_manifest().version == 1
    (report,) = registry.check_manifests("project")
    assert report.errors == ()
    assert registry.write_manifest(days=5).version == 2


def test_private_keys_appear_nowhere(rye: Rye, tmp_path: Path) -> None:
    """Neither in a manifest nor in the state nor in an answer."""
    status, report = rye("manifest", "write")
    rye("manifest", "check")
    secret = ANN.to_pem().decode().splitlines()[1]
    raw = SigningKey.from_pem(ANN.to_pem())._private.private_bytes_raw().hex()
    written = [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".pem"]
    assert status == 0
    assert len(written) > 5
    for text in (json.dumps(report).encode(), *(path.read_bytes() for path in written)):
        assert secret.encode() not in text
        assert raw.encode() not in text


def test_a_hint_names_the_space_that_was_checked(
    sim: SpaceSim, rye: Rye, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it is printed, the command writes or checks the manifest of that bundle, from whatever folder it is run."""
    from tests.support.signed import key

    monkeypatch.chdir(sim.folder)
    sim.add("system:shop", HELLO, TEXT)
    path = key_files.save_signing_key(sim.folder / "keys", key("shop"))
    folder = str(sim.bundles["shop"])
    assert rye("manifest", "write", "--bundle", folder, "--key", str(path))[0] == 0
    shutil.rmtree(sim.folder / "state")
    sim.write("system:shop", HELLO, TEXT + "# more\n")
    assert main(["manifest", "check", "--bundle", folder]) == 1
    hints = [line for line in capsys.readouterr().err.splitlines() if line.startswith("hint[")]
    assert hints
    assert all(f"rye manifest check --bundle {folder}" in hint or f"write --bundle {folder}" in hint for hint in hints)
    findings = rye("manifest", "check", "--bundle", folder)[1]["manifests"][0]["findings"]
    said = [finding["remedy"] or finding["note"] for finding in findings]
    assert said
    assert all(f"--bundle {folder}" in text or "you have no key that may sign it" in text for text in said)
    assert main(["manifest", "check", "--project", str(sim.project)]) == 1
    assert f"rye manifest write --project {sim.project}" in capsys.readouterr().err


def test_a_timestamp_lives_for_days_and_is_refreshed(sim: SpaceSim, rye: Rye) -> None:
    """The list lives for months, the timestamp for a week; refreshing signs a new one and touches no other file."""
    assert rye("manifest", "write")[0] == 0
    folder = sim.root("project") / "config" / "manifest"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    expires = {name: json.loads(data)["signed"]["expires"] for name, data in before.items()}
    soon, late = (datetime.now(UTC) + timedelta(days=days) for days in (8, 80))
    assert {name for name, text in expires.items() if datetime.fromisoformat(text) < soon} == {"timestamp.json"}
    assert all(datetime.fromisoformat(text) > late for name, text in expires.items() if name != "timestamp.json")
    status, report = rye("manifest", "refresh")
    assert (status, report["version"], report["written"], report["missing"]) == (0, 2, ["timestamp"], {})
    after = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert {name for name in before | after if before.get(name) != after.get(name)} == {"timestamp.json"}
    assert rye("manifest", "check")[0] == 0


def test_an_expired_timestamp_is_refreshed_and_nothing_else_is(sim: SpaceSim, rye: Rye) -> None:
    """What has expired but the timestamp needs a new version, with the items reviewed."""
    _, root = inventory.find_root(Layout.find(project=sim.project, user=sim.user, bundles=()))
    listed = observe(root).all
    for days, status in ((40, 0), (200, 2)):
        then = datetime.now(UTC) - timedelta(days=days)
        update = write_manifest({}, listed, signers=[ANN], now=then, fresh=7)
        store.replace_manifest(root.path, update.files)
        assert "manifest-expired" in codes(rye("manifest", "check")[1])
        assert rye("manifest", "refresh")[0] == status
        assert (rye("manifest", "check", "--reset", "--yes")[0] == 0) == (status == 0)


@pytest.mark.parametrize("change", ["edited", "added", "key", "audience", "none"])
def test_what_is_not_the_manifest_is_not_refreshed(sim: SpaceSim, rye: Rye, change: str) -> None:
    """A timestamp says that this is the newest state: not of changed items, another registry's, or with any key."""
    words = {"key": ["--key", "bea"], "audience": ["--audience", "acme/ops"]}.get(change, [])
    if change != "none":
        assert rye("manifest", "write")[0] == 0
    if change == "edited":
        sim.write("project", HELLO, TEXT + "\n")
    elif change == "added":
        sim.add("project", "tools/demo/more.py", TEXT)
    folder = sim.root("project") / "config" / "manifest"
    before = {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}
    status, answer = rye("manifest", "refresh", *words)
    expected = {"key": "manifest-key", "audience": "manifest-untrusted", "none": "nothing-to-sign"}
    assert (status, answer["error"]["code"]) == (2, expected.get(change, "manifest-differs"))
    assert before == ({path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {})


def test_a_job_refreshes_with_a_key_for_the_timestamp_alone(
    sim: SpaceSim, rye: Rye, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has the owner's trust file and no key but its own, which writes nothing, nor makes an item trusted."""
    assert rye("manifest", "check")[0] == 1
    assert rye("manifest", "write", "--timestamp-key", "bea")[0] == 0
    (report,) = rye("manifest", "check")[1]["manifests"]
    assert report["timestamp_keys"] == [BEA.public.fingerprint]
    assert main(["manifest", "check", "--project", str(sim.project)]) == 0
    assert "may sign the timestamp alone" in capsys.readouterr().out
    owner = next((sim.root("user") / TRUSTED_FOLDER).glob("*.toml"))
    trust = sim.project.with_name("owner.toml")
    trust.write_bytes(owner.read_bytes())
    monkeypatch.setenv("USER_SPACE", str(sim.project.with_name("job")))
    monkeypatch.setenv("RYE_STATE_DIR", str(sim.project.with_name("job-state")))
    monkeypatch.setenv("RYE_SIGNING_KEY", BEA.to_pem().decode())
    status, report = rye("manifest", "refresh", "--trust", str(trust))
    assert (status, report["written"], report["missing"]) == (0, ["timestamp"], {})
    status, answer = rye("manifest", "write", "--trust", str(trust))
    assert (status, answer["error"]["code"]) == (2, "manifest-key")
    assert rye("verify", "--space", "project", "--require-manifest", "--trust", str(trust))[0] == 0
    assert rye("sign", "tool:demo/hello", "--force")[0] == 0
    status, answer = rye("verify", "--space", "project", "--trust", str(trust))
    assert status == 1
    assert [(item["verdict"], item["code"]) for item in answer["items"] if item["id"] == "demo/hello"] == [
        ("untrusted", "unknown-key")
    ]


def test_which_keys_are_for_the_timestamp_alone(sim: SpaceSim, rye: Rye) -> None:
    """None that is trusted for items, by any trust file, or signs the list; and the last one can be taken back."""
    for name in ("private_key", "bea"):
        if name == "bea":
            sim.trust(BEA, owner="bea")
        status, answer = rye("manifest", "write", "--timestamp-key", name)
        assert (status, answer["error"]["code"]) == (2, "manifest-timestamp-key")
    assert main(["keys", "generate", "job", "--no-trust"]) == 0
    assert rye("manifest", "write", "--timestamp-key", "job")[0] == 0
    assert rye("manifest", "refresh", "--key", "job")[0] == 0
    assert rye("manifest", "write", "--no-timestamp-key")[0] == 0
    assert rye("manifest", "check")[1]["manifests"][0]["timestamp_keys"] == []
    status, answer = rye("manifest", "refresh", "--key", "job")
    assert (status, answer["error"]["code"]) == (2, "manifest-key")
