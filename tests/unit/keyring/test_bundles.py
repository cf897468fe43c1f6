"""Trusting a bundle: who signed it is shown, what is confirmed is written, and it counts for that bundle alone."""

from __future__ import annotations

import json
import re
import shlex
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes

from rye.cli import main
from rye.errors import RyeError
from rye.keyring.bundles import find_bundle, read_signers_of, trust_bundle
from rye.keyring.sign_items import sign_bundle
from rye.keyring.trust import Trust
from rye.spaces.layout import Layout
from rye.spaces.model import Root
from rye.trust.keys import SigningKey
from rye.trust.trust_entry import Revocation
from rye.trust.trust_file import trust_file_bytes, trust_file_name
from rye.trust.trust_store import TRUSTED_FOLDER
from tests.support.files import lay
from tests.support.model_signing import Authority, bundle_of, statement_of
from tests.support.signed import EVE, NOW, PAT, XML, html, key, old_envelope
from tests.support.spacesim import SpaceSim

TEXT = '"""Say hello."""\n\n__version__ = "1.0.0"\n'
HELLO, OTHER, MORE = (f"tools/demo/{name}.py" for name in ("hello", "other", "more"))
SETTINGS = "config/search.yaml"
SHOP = key("shop")


@pytest.fixture
def sim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SpaceSim:
    """A bundle of whose items one key signed two and another one, in part, and that nobody has trusted yet."""
    sim = SpaceSim(tmp_path)
    sim.distrust(SHOP)
    for rel in (HELLO, OTHER):
        sim.add("system:shop", rel, TEXT)
    sim.trust(PAT, "system:shop", owner="pat", patterns=("demo/*",))
    text = b"# Hello\n\n```xml\n" + XML + b"\n```\n"
    sim.write("system:shop", "directives/demo/hello.md", html(old_envelope(XML, PAT)) + text)
    sim.write("system:shop", MORE, TEXT)
    monkeypatch.setenv("USER_SPACE", str(sim.user))
    monkeypatch.setenv("RYE_BUNDLES", str(sim.bundles["shop"]))
    monkeypatch.chdir(sim.project)
    return sim


def parts(sim: SpaceSim) -> tuple[Layout, Trust, tuple[Root, ...]]:
    """Return the layout, the trust files and the bundle."""
    layout = Layout.find(project=sim.project, user=sim.user, bundles=[sim.bundles["shop"]])
    return layout, Trust(layout, clock=lambda: NOW), find_bundle(layout, "shop")


def accept(sim: SpaceSim, *signers: SigningKey) -> list[str]:
    """Trust keys for the bundle, or those that signed it, and return what was done."""
    _, trust, roots = parts(sim)
    found = read_signers_of(roots, trust.load().trust, now=NOW)
    keys = [str(each.public.fingerprint) for each in signers] or found.fingerprints
    return [f"{change.action} {change.owner}" for change in trust_bundle(trust, found, keys)]


def limits(sim: SpaceSim) -> dict[str, tuple[str, ...] | None]:
    """Return what the user's trust files limit their keys to, by their owners."""
    entries = parts(sim)[1].load().trust.entries
    return {entry.owner: entry.patterns for entry in entries if entry.scope == "user" and entry.patterns is not None}


def codes(sim: SpaceSim) -> dict[str, str]:
    """Return the reason codes of the bundle's items, by path."""
    return {
        item.path.rpartition("/.ai/")[2]: item.signature.code
        for item in sim.registry().verify(space="system").items
        if item.bundle == "shop"
    }


def test_what_is_trusted_counts_for_this_bundle_alone(sim: SpaceSim) -> None:
    """Before it nothing does; after it the keys that were confirmed do."""
    partial = {"directives/demo/hello.md": "outside-directive"}
    assert codes(sim) == {HELLO: "foreign-key", OTHER: "foreign-key", MORE: "no-envelope"} | partial
    assert accept(sim, SHOP) == ["trusted shop"]
    assert codes(sim) == {HELLO: "ok", OTHER: "ok", MORE: "no-envelope"} | partial
    sim.add("project", HELLO, TEXT, SHOP)
    (mine,) = sim.registry().verify(space="project").items
    assert mine.signature.code == "limited"
    sim.add("system:shop", OTHER, TEXT, PAT)
    assert codes(sim)[OTHER] == "signer-changed"
    assert sorted(accept(sim)) == ["trusted pat", "unchanged shop"]
    assert limits(sim)["pat"] == ("bundle:shop",)
    assert codes(sim)[OTHER] == "ok"


def test_attack_a_list_that_cannot_be_read_names_no_signer(sim: SpaceSim) -> None:
    """The items with lines of their own keep their signers; the one without has none, and the command does not fail."""
    sim.write("system:shop", "rye.list", "rye.list v1\nnonsense\n")
    _, trust, roots = parts(sim)
    found = read_signers_of(roots, trust.load().trust, now=NOW)
    assert [each.entry.owner for each in found.signers] == ["shop", "pat"]
    assert sum(found.unverified.values()) == 1


def test_a_new_signer_takes_the_place_of_the_old_one(sim: SpaceSim) -> None:
    """Only the new key is trusted for the bundle; the old one keeps what else it may sign."""
    sim.trust(SHOP, owner="shop", patterns=("bundle:shop", "bundle:stall"))
    for rel in (HELLO, OTHER):
        sim.add("system:shop", rel, TEXT, EVE)
    sim.delete("system:shop", (TRUSTED_FOLDER / trust_file_name(SHOP.public)).as_posix())
    assert codes(sim)[HELLO] == "unknown-key"
    sim.trust(EVE, "system:shop", owner="eve")
    assert codes(sim)[HELLO] == "signer-changed"
    _, trust, roots = parts(sim)
    (before,) = read_signers_of(roots, trust.load().trust, now=NOW).before
    assert before.public == SHOP.public
    assert accept(sim, EVE) == ["trusted eve", "narrowed shop"]
    assert codes(sim)[HELLO] == "ok"
    assert limits(sim) == {"eve": ("bundle:shop",), "shop": ("bundle:stall",)}


def test_attack_a_bundle_lifts_what_a_second_trust_file_limits(sim: SpaceSim) -> None:
    """Two files limit a key: it may sign what both allow, and the bundle, and no more once another key signs that."""
    sim.trust(SHOP, owner="shop", patterns=("ops/*", "web/*"))
    second = (TRUSTED_FOLDER / "second.toml").as_posix()
    sim.write("user", second, trust_file_bytes(SHOP.public, owner="shop", patterns=("web/*",)))
    accept(sim, SHOP)
    assert limits(sim)["shop"] == ("bundle:shop", "web/*")
    sim.trust(SHOP, owner="shop", patterns=("bundle:shop",))
    sim.write("user", second, trust_file_bytes(SHOP.public, owner="shop"))
    for rel in (HELLO, OTHER):
        sim.add("system:shop", rel, TEXT, EVE)
    sim.trust(EVE, "system:shop", owner="eve")
    accept(sim, EVE)
    sim.add("project", HELLO, TEXT, SHOP)
    (mine,) = sim.registry().verify(space="project").items
    assert mine.signature.code == "foreign-key"


def test_attack_trust_files_of_a_bundle_that_change_during_the_question(sim: SpaceSim) -> None:
    """Wider limits, another owner, or no file any more: what was shown is written."""
    _, trust, roots = parts(sim)
    found = read_signers_of(roots, trust.load().trust, now=NOW)
    sim.trust(PAT, "system:shop", owner="mallory")
    sim.delete("system:shop", (TRUSTED_FOLDER / trust_file_name(SHOP.public)).as_posix())
    trust_bundle(trust, found, found.fingerprints)
    assert limits(sim) == {"shop": ("bundle:shop",), "pat": ("bundle:shop",)}


@pytest.mark.parametrize("who", ["stranger", "revoked by the user", "revoked by the bundle", "nobody"])
def test_what_cannot_be_trusted_changes_nothing(sim: SpaceSim, who: str) -> None:
    """A key that signed nothing here, one that is revoked, a bundle that nobody signed: nothing is written."""
    signer, code = SHOP, "bad-keys"
    if who == "stranger":
        signer, code = EVE, "fingerprint-mismatch"
    elif who == "nobody":
        code = "nothing-signed"
        for rel in (HELLO, OTHER, "directives/demo/hello.md"):
            sim.delete("system:shop", rel)
    elif who == "revoked by the user":
        sim.trust(SHOP, revoked=Revocation("stolen"))
    else:
        code = "fingerprint-mismatch"
        sim.trust(SHOP, "system:shop", revoked=Revocation("stolen"))
    folder = sim.root("user") / TRUSTED_FOLDER
    before = {path: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(RyeError) as caught:
        accept(sim, PAT, signer)
    assert caught.value.code == code
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def rank(sim: SpaceSim) -> float:
    """Return the score of the bundle's item, which the settings of the bundle make 0."""
    return sim.fresh().search("hello", space="system").results[0].score


@pytest.mark.parametrize("end", [{"revoked": Revocation("stolen")}, {"not_after": NOW - timedelta(days=1)}])
def test_settings_of_a_bundle_count_while_the_key_that_signed_them_does(sim: SpaceSim, end: dict[str, Any]) -> None:
    """Once they are signed with the items of the bundle, and the key is trusted for it; no longer when that ends."""
    without = rank(sim)
    sim.write("system:shop", SETTINGS, "weights:\n  tool: {title: 0, name: 0, id: 0, content: 100}\n")
    assert rank(sim) == without
    sign_bundle(sim.bundles["shop"], owner="shop", key=SHOP)
    assert rank(sim) == without
    accept(sim, SHOP)
    assert rank(sim) != without
    sim.trust(SHOP, owner="shop", patterns=("bundle:shop",), **end)
    assert rank(sim) == without


def test_attack_a_bundle_takes_the_id_of_a_trusted_one(sim: SpaceSim) -> None:
    """Its settings do not count: unsigned, signed by a key of its own, or copied from another bundle of the signer."""
    accept(sim, SHOP)
    without = rank(sim)
    sim.write("system:shop", SETTINGS, "weights:\n  tool: {title: 0, name: 0, id: 0, content: 100}\n")
    assert rank(sim) == without
    assert any(f"{SETTINGS} is left out" in text for text in sim.fresh().search("hello").warnings)
    sign_bundle(sim.bundles["shop"], owner="eve", key=EVE)
    assert rank(sim) == without
    other = SpaceSim(sim.folder / "other", bundles=("stall",))
    other.add("system:stall", HELLO, TEXT, SHOP)
    other.write("system:stall", SETTINGS, "weights:\n  tool: {title: 0, name: 0, id: 0, content: 100}\n")
    sign_bundle(other.bundles["stall"], owner="shop", key=SHOP)
    sim.write("system:shop", SETTINGS, other.path("system:stall", SETTINGS).read_bytes())
    assert rank(sim) == without


def test_a_bundle_that_other_tools_signed_says_which_root_to_trust(
    sim: SpaceSim, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command names a root in the bundle; its subject, dates and fingerprint are shown before the question."""
    monkeypatch.setenv("USER_SPACE", str(sim.user))
    root, middle, signer = Authority().chain()
    files = {"SKILL.md": b"---\nname: pdf\ndescription: Fill in forms\n---\n"}
    bundle = json.dumps(bundle_of(statement_of(files), signer, middle)).encode()
    lay(sim.folder / "theirs/skills/pdf", files | {"skill.oms.sig": bundle})

    def told(*words: str, status: int) -> str:
        assert main([*words]) == status
        found = capsys.readouterr()
        return found.out + found.err

    without = told("trust", "bundle", str(sim.folder / "theirs"), status=2)
    assert "CN=Root" in without
    assert "rye trust add FILE --for 'skill:*'" in without
    other = Authority("Other").chain()[0]
    lay(sim.folder / "theirs", {"a.pem": other.pem, "b.pem": b"no key", "keys/root.pem": root.pem})
    beside = told("trust", "bundle", str(sim.folder / "theirs"), status=2)
    command = re.search(r"rye (trust add .* --for 'skill:\*')", beside)
    assert command
    asked = told(*shlex.split(command[1]), status=2)
    digits = root.certificate.fingerprint(hashes.SHA256()).hex(":").upper()
    for fact in ("CN=Root", "valid from", digits, "every certificate that it issues"):
        assert fact in asked
    assert str(sim.folder / "theirs/keys/root.pem") in command[1]
    told(*shlex.split(command[1]), "--yes", status=0)
    assert "already" in told("trust", "bundle", str(sim.folder / "theirs"), status=2)


def test_a_bundle_without_a_trust_file_says_which_key_signed_it(sim: SpaceSim) -> None:
    """Its publisher has to send the trust file of that key."""
    for name in (trust_file_name(SHOP.public), trust_file_name(PAT.public)):
        sim.delete("system:shop", (TRUSTED_FOLDER / name).as_posix())
    with pytest.raises(RyeError, match=SHOP.public.fingerprint[:16]) as caught:
        accept(sim, SHOP)
    assert "rye trust add FILE" in caught.value.hint
