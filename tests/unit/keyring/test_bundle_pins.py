"""``rye trust bundle``: who signed what is shown, the keys that were confirmed are pinned, and no others."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from rye import RyeError
from rye.cli import main
from rye.keyring.bundle_pins import find_bundle, pin_bundle, read_signers_of
from rye.keyring.lists import sign_list
from rye.keyring.trust_changes import TrustChange
from rye.keyring.trust_files import Trust
from rye.spaces import Root
from rye.spaces.layout import Layout
from rye.trust import TRUSTED_FOLDER, Revocation, SigningKey, reach_of, trust_file_name
from tests.support.signed import ANN, EVE, NOW, PAT, XML, html, key, old_envelope
from tests.support.spacesim import SpaceSim

TEXT = '"""Say hello."""\n\n__version__ = "1.0.0"\n'
HELLO, OTHER, MORE = (f"tools/demo/{name}.py" for name in ("hello", "other", "more"))
SHOP = key("shop")


@pytest.fixture
def sim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SpaceSim:
    """A bundle of whose items one key signed two and another one, in part, and that nobody has trusted yet."""
    sim = SpaceSim(tmp_path)
    sim.distrust(SHOP)
    for rel in (HELLO, OTHER):
        sim.add("system:shop", rel, TEXT)
    sim.trust(PAT, "system:shop", owner="pat", namespaces=("demo/*",))
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


def pin(sim: SpaceSim, *signers: SigningKey) -> list[str]:
    """Pin the bundle to keys, or to those that signed it, and return what was done."""
    _, trust, roots = parts(sim)
    found = read_signers_of(roots, trust.load().trust, now=NOW)
    keys = [str(each.public.fingerprint) for each in signers] or found.fingerprints
    return [f"{change.action} {change.owner}" for change in pin_bundle(trust, found, keys)]


def codes(sim: SpaceSim) -> dict[str, str]:
    """Return the reason codes of the bundle's items, by path."""
    return {
        item.path.rpartition("/.ai/")[2]: item.signature.code
        for item in sim.registry().verify(space="system").items
        if item.bundle == "shop"
    }


def test_who_signed_what_is_counted_by_verdict(sim: SpaceSim) -> None:
    """By the keys that the bundle brings, those with most items first, and what none of them signed by its code."""
    _, trust, roots = parts(sim)
    sim.write("system:shop", "tools/demo/bad.py", sim.path("system:shop", HELLO).read_bytes() + b"evil()\n")
    sim.add("system:shop", "tools/demo/eve.py", TEXT, EVE)
    found = read_signers_of(roots, trust.load().trust, now=NOW)
    shop, pat = found.signers
    assert (shop.entry.public, shop.entry.owner, shop.items) == (SHOP.public, "shop", {"trusted": 2})
    assert (pat.entry.owner, pat.items) == ("pat", {"partial": 1})
    assert found.others == {"no-envelope": 1, "digest": 1, "unknown-key": 1}


def test_what_is_pinned_counts_for_this_bundle_alone(sim: SpaceSim) -> None:
    """Before it nothing does; after it the keys that were confirmed do, within the limits that the bundle states."""
    untrusted = {HELLO: "bundle-key", OTHER: "bundle-key", MORE: "no-envelope"}
    partial = {"directives/demo/hello.md": "outside-directive"}
    assert codes(sim) == untrusted | partial
    assert pin(sim, SHOP) == ["pinned shop"]
    assert codes(sim) == {HELLO: "ok", OTHER: "ok", MORE: "no-envelope"} | partial
    sim.add("project", HELLO, TEXT, SHOP)
    (mine,) = sim.registry().verify(space="project").items
    assert mine.signature.code == "foreign-bundle"
    sim.add("system:shop", OTHER, TEXT, PAT)
    assert codes(sim)[OTHER] == "signer-changed"
    assert sorted(pin(sim)) == ["pinned pat", "pinned shop"]
    sim.write("system:shop", "tools/elsewhere/x.py", TEXT)
    sim.sign("system:shop", "tools/elsewhere/x.py", PAT)
    assert (codes(sim)[OTHER], codes(sim)["tools/elsewhere/x.py"]) == ("ok", "namespace")


def test_a_new_signer_takes_the_place_of_the_old_one(sim: SpaceSim) -> None:
    """The bundle is pinned to the new key alone; the old one keeps what else is pinned to it."""
    sim.trust(SHOP, owner="shop", bundles=("shop", "stall"))
    for rel in (HELLO, OTHER):
        sim.add("system:shop", rel, TEXT, EVE)
    sim.delete("system:shop", (TRUSTED_FOLDER / trust_file_name(SHOP.public)).as_posix())
    assert codes(sim)[HELLO] == "unknown-key"
    sim.trust(EVE, "system:shop", owner="eve")
    assert codes(sim)[HELLO] == "signer-changed"
    _, trust, roots = parts(sim)
    assert read_signers_of(roots, trust.load().trust, now=NOW).before == (SHOP.public.fingerprint,)
    assert pin(sim, EVE) == ["pinned eve", "unpinned shop"]
    assert codes(sim)[HELLO] == "ok"
    pins = {entry.owner: entry.bundles for entry in trust.load().trust.entries if entry.bundles}
    assert pins == {"eve": ("shop",), "shop": ("stall",)}


def test_what_is_shown_before_the_question_is_what_is_written(sim: SpaceSim) -> None:
    """The limits of the user's file for a key that is pinned already, else those that the bundle states."""
    sim.trust(SHOP, owner="shop", bundles=("stall",), namespaces=("demo/*",))
    _, trust, roots = parts(sim)
    shown: list[str] = []
    found = read_signers_of(roots, trust.load().trust, now=NOW)
    pin_bundle(trust, found, found.fingerprints, lambda planned: shown.extend(each.reach for each in planned))
    assert shown == ["items demo/* of bundles shop, stall", "items demo/* of bundle shop"]
    pins = {entry.owner: reach_of(entry) for entry in trust.load().trust.pins("shop")}
    assert sorted(pins.values()) == sorted(shown)


def test_attack_trust_files_of_a_bundle_that_change_during_the_question(sim: SpaceSim) -> None:
    """Wider limits, another owner, or no file any more: what was shown is pinned."""
    _, trust, roots = parts(sim)
    found = read_signers_of(roots, trust.load().trust, now=NOW)
    sim.trust(PAT, "system:shop", owner="mallory")
    sim.delete("system:shop", (TRUSTED_FOLDER / trust_file_name(SHOP.public)).as_posix())
    pin_bundle(trust, found, found.fingerprints)
    pins = {entry.owner: reach_of(entry) for entry in trust.load().trust.pins("shop")}
    assert pins == {"shop": "every item of bundle shop", "pat": "items demo/* of bundle shop"}


def test_a_file_of_the_user_that_changes_during_the_question(sim: SpaceSim) -> None:
    """What would be written is no longer what was shown: nothing is."""
    _, trust, roots = parts(sim)
    found = read_signers_of(roots, trust.load().trust, now=NOW)

    def write(_planned: Sequence[TrustChange]) -> None:
        sim.trust(PAT, owner="pat", bundles=("stall",))

    with pytest.raises(RyeError) as caught:
        pin_bundle(trust, found, found.fingerprints, write)
    assert (caught.value.code, trust.load().trust.pins("shop")) == ("changed-meanwhile", ())


@pytest.mark.parametrize("who", ["stranger", "revoked by the user", "revoked by the bundle", "nobody"])
def test_what_cannot_be_pinned_changes_nothing(sim: SpaceSim, who: str) -> None:
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
        pin(sim, PAT, signer)
    assert caught.value.code == code
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_a_key_that_the_user_trusts_for_everything_stays_so(sim: SpaceSim) -> None:
    """A pin would only narrow it; a warning says what that means for the bundle."""
    sim.trust(SHOP, owner="my own")
    _, trust, roots = parts(sim)
    found = read_signers_of(roots, trust.load().trust, now=NOW)
    (change,) = pin_bundle(trust, found, [SHOP.public.fingerprint])
    assert (change.action, change.owner) == ("unchanged", "my own")
    assert ["not pinned" in text for text in change.warnings] == [True]
    assert codes(sim)[HELLO] == "ok"


@pytest.mark.parametrize("end", [{"revoked": Revocation("stolen")}, {"not_after": NOW - timedelta(days=1)}])
def test_a_pin_that_no_longer_counts_is_none(sim: SpaceSim, end: dict[str, Any]) -> None:
    """The settings for ranking of its bundle are left out, and another signer is not said to follow it."""
    sim.write("system:shop", "config/search.yaml", "weights:\n  tool: {title: 0, name: 0, id: 0, content: 100}\n")

    def score() -> float:
        return sim.fresh().search("hello", space="system").results[0].score

    without = score()
    pin(sim, SHOP)
    sim.add("system:shop", OTHER, TEXT, PAT)
    assert (score() != without, codes(sim)[OTHER]) == (True, "signer-changed")
    sim.trust(SHOP, owner="shop", bundles=("shop",), **end)
    assert (score() == without, codes(sim)[OTHER]) == (True, "bundle-key")


def test_the_command_asks_or_takes_the_fingerprint(sim: SpaceSim, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a terminal it shows who signed, changes nothing, and says how to go on; a wrong fingerprint fails."""
    fingerprint = str(SHOP.public.fingerprint)
    assert main(["trust", "bundle", "shop"]) == 2
    told = capsys.readouterr().err
    assert all(
        text in told
        for text in (
            fingerprint,
            "2 items: 2 trusted",
            "counts for   items demo/* of bundle shop",
            "rye trust bundle shop --fingerprint",
        )
    )
    for words, code in (
        ((ANN.public.fingerprint,), "fingerprint-mismatch"),
        ((fingerprint[:16],), "bad-signer"),
        ((fingerprint, PAT.public.fingerprint[:-1]), "bad-signer"),
    ):
        assert main(["trust", "bundle", "shop", *(part for each in words for part in ("--fingerprint", each))]) == 2
        assert code in capsys.readouterr().err
    assert codes(sim)[HELLO] == "bundle-key"
    assert main(["trust", "bundle", str(sim.bundles["shop"]), "--fingerprint", fingerprint.upper()]) == 0
    assert codes(sim)[HELLO] == "ok"


def test_what_is_no_bundle_of_others_is_refused(sim: SpaceSim) -> None:
    """No such id, no such folder, and rye's own items, which are trusted as the program is."""
    layout, _, _ = parts(sim)
    missing = dict.fromkeys(("nope", str(sim.folder / "gone")), "bundle-not-found")
    for name, code in (missing | {"rye": "bad-target"}).items():
        with pytest.raises(RyeError) as caught:
            find_bundle(layout, name)
        assert (caught.value.code, bool(caught.value.hint)) == (code, True)


def test_what_the_list_signs_is_shown_before_it_is_trusted(sim: SpaceSim, monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON without a signature of its own counts for the key of the list, as it does once the bundle is pinned."""
    monkeypatch.setenv("RYE_STATE_DIR", str(sim.folder / "state"))
    sim.write("system:shop", "tools/demo/data.json", '{"title": "Data"}')
    _, trust, roots = parts(sim)
    assert read_signers_of(roots, trust.load().trust, now=NOW).others["no-envelope"] == 2
    sign_list(roots[0], key=SHOP, trust=trust.load().trust)
    found = read_signers_of(roots, trust.load().trust, now=NOW)
    (mine,) = (each for each in found.signers if each.entry.public == SHOP.public)
    assert (mine.items, found.others) == ({"trusted": 4}, {})
    pin(sim, SHOP)
    assert codes(sim)["tools/demo/data.json"] == "ok-list"
