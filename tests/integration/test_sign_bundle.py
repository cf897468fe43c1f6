"""``rye sign bundle DIR``: signs what needs it, leaves the rest, and so lets git merge two edits."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from rye import RyeError
from rye.cli import main
from rye.errors import SigningError
from rye.keyring.bundles import read_signers_of
from rye.keyring.lists import sign_list
from rye.keyring.plan import SignReport
from rye.keyring.sign_items import sign_bundle
from rye.spaces.bundles import named_bundle
from rye.spaces.contents import read_skill
from rye.trust.keys import SigningKey
from rye.trust.line import sign_bytes
from rye.trust.list import sign_skill
from rye.trust.trust_entry import Revocation
from rye.trust.trust_file import trust_file_bytes, trust_file_name
from rye.trust.trust_set import TrustSet
from rye.trust.trust_store import TRUSTED_FOLDER, load_trust, system_clock
from tests.support.files import lay
from tests.support.signed import ANN, EVE, PAT
from tests.support.spacesim import SpaceSim

TOOL = '"""Deploy a build."""\n\n__version__ = "1.0.0"\n'
PAGE = "---\ntitle: Page {0}\nversion: 1.0.0\n---\n\n# Page {0}\n\nHow to deploy.\n"
ITEMS: Mapping[str, str | bytes] = {
    "tools/demo/deploy.py": TOOL,
    **{f"knowledge/demo/{name}.md": PAGE.format(name) for name in "abc"},
}
PAGE_A, PAGE_B, PAGE_C = (f"knowledge/demo/{name}.md" for name in "abc")


@pytest.fixture
def sim(tmp_path: Path) -> SpaceSim:
    """Lay a bundle, all of whose items are signed with one key that is gone."""
    sim = SpaceSim(tmp_path)
    lay(sim.root("system:shop"), ITEMS)
    sign(sim)
    return sim


def sign(sim: SpaceSim) -> SignReport:
    """Sign the bundle and check that all its items are trusted once it is pinned to its keys."""
    report = sign_bundle(sim.root("system:shop"), owner="shop")
    pinned = sim.folder / "pinned"
    shutil.rmtree(pinned, ignore_errors=True)
    lay(pinned, {Path(path).name: Path(path).read_bytes() for path in readable_trust_files(sim)})
    sim.pin("shop", pinned)
    found = sim.registry().verify(space="system")
    assert {str(item.signature.verdict) for item in found.items} == {"trusted"}
    return report


def readable_trust_files(sim: SpaceSim) -> list[str]:
    """Return the sources of the bundle's trust files that can be read."""
    load = load_trust(bundles={"shop": sim.root("system:shop")})
    return [entry.source for entry in load.trust.entries]


def edit(folder: Path, path: str, text: str = "More.\n") -> None:
    """Add a line to an item."""
    with (folder / path).open("a", encoding="utf-8") as stream:
        stream.write(text)


def trust_files(sim: SpaceSim) -> set[str]:
    """Return the paths of the bundle's trust files."""
    return {str(path) for path in (sim.root("system:shop") / TRUSTED_FOLDER).iterdir()}


def changed(report: SignReport) -> dict[str, str]:
    """Return how each item that was signed stood before."""
    return {f"{item.type}:{item.id}": item.code for item in report.items if item.changed}


def test_what_does_not_count_is_signed_anew(sim: SpaceSim) -> None:
    """Unsigned, by an unknown key, moved, tampered with, or behind a key that is out of its namespace or revoked."""
    root = sim.root("system:shop")
    lay(root, {f"tools/demo/{name}.py": TOOL for name in ("unsigned", "unknown", "outside", "revoked", "unread")})
    for name, key in (("unknown", EVE), ("outside", PAT), ("revoked", ANN)):
        sim.sign("system:shop", f"tools/demo/{name}.py", key)
    other = SigningKey.from_seed(b"u" * 32)
    sim.sign("system:shop", "tools/demo/unread.py", other)
    kept = {
        "stolen.toml": trust_file_bytes(ANN.public, owner="ann", revoked=Revocation("stolen")),
        trust_file_name(other.public): b"revoked = maybe\n",
        "notes.toml": b"public_key = 7\n",
    }
    limited = trust_file_bytes(PAT.public, owner="pat", patterns=("elsewhere/*",))
    unneeded = {"pat.toml": limited, "ann.toml": trust_file_bytes(ANN.public, owner="ann")}
    lay(root / TRUSTED_FOLDER, kept | unneeded)
    (root / PAGE_A).rename(root / "knowledge/demo/moved.md")
    edit(root, PAGE_B)
    report = sign(sim)
    assert changed(report) == {
        "tool:demo/unsigned": "no-envelope",
        "tool:demo/unknown": "unknown-key",
        "tool:demo/outside": "limited",
        "tool:demo/revoked": "revoked",
        "tool:demo/unread": "unknown-key",
        "knowledge:demo/moved": "signed-elsewhere",
        "knowledge:demo/b": "digest",
    }
    assert {Path(path).name for path in report.removed} == set(unneeded)
    names = {Path(path).name for path in trust_files(sim)}
    assert set(kept) <= names
    assert len(names) == len(kept) + 2
    assert sum(name in warning for warning in report.warnings for name in kept) == 2


def test_attack_a_tampered_item_names_a_key_to_keep_it(sim: SpaceSim) -> None:
    """A signature that does not hold needs no key: the stranger's trust file goes."""
    root = sim.root("system:shop")
    sim.sign("system:shop", PAGE_A, EVE)
    lay(root / TRUSTED_FOLDER, {"eve.toml": trust_file_bytes(EVE.public, owner="eve")})
    edit(root, PAGE_A)
    assert [Path(path).name for path in sign(sim).removed] == ["eve.toml"]


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_attack_links_among_the_trust_files(sim: SpaceSim) -> None:
    """A link is read only where it stays in the bundle, and it is the link that goes, not what it leads to."""
    root, folder = sim.root("system:shop"), sim.root("system:shop") / TRUSTED_FOLDER
    data = trust_file_bytes(EVE.public, owner="eve")
    lay(sim.folder, {"away/eve.toml": data})
    lay(root, {"config/eve.txt": data})
    (folder / "away.toml").symlink_to(sim.folder / "away/eve.toml")
    (folder / "inside.toml").symlink_to(root / "config/eve.txt")
    (folder / "folder.toml").symlink_to(sim.folder / "away")
    report = sign(sim)
    assert [Path(path).name for path in report.removed] == ["inside.toml"]
    assert len(report.warnings) == 2
    assert (sim.folder / "away/eve.toml").read_bytes() == (root / "config/eve.txt").read_bytes() == data


def test_interrupted_after_some_items(sim: SpaceSim, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is signed by then is trusted already, and the next run signs the rest."""
    root = sim.root("system:shop")
    for path in (PAGE_A, PAGE_B):
        edit(root, path)
    original = os.replace

    def refuse(source: str | Path, target: str | Path) -> None:
        if Path(target) == root / PAGE_B:
            raise OSError(28, "No space left on device")
        original(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        with pytest.raises(RyeError, match="No space left"):
            sign_bundle(root, owner="shop")
    sim.pin("shop")
    found = {item.id: str(item.signature.verdict) for item in sim.registry().verify("knowledge:demo/*").items}
    assert found == {"demo/a": "trusted", "demo/b": "tampered", "demo/c": "trusted"}
    assert changed(sign(sim)) == {"knowledge:demo/b": "digest"}


# git


def git(folder: Path, *words: str) -> None:
    """Run git as somebody, with its own settings alone."""
    someone = ["-c", "user.name=ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false"]
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *someone, *words], cwd=folder, env=env, check=True, capture_output=True, text=True)


def test_a_repository_of_skills_is_signed_as_wholes(tmp_path: Path) -> None:
    """Scripts keep their bytes, and a second time nothing is signed."""
    skill = tmp_path / "theirs/skills/pdf"
    files = {
        "SKILL.md": "---\nname: pdf\ndescription: Fill forms\n---\n",
        "scripts/fill.py": "print(1)\n",
        "a.bin": "x",
    }
    for name, text in files.items():
        (skill / name).parent.mkdir(parents=True, exist_ok=True)
        (skill / name).write_text(text, encoding="utf-8")
    report = sign_bundle(tmp_path / "theirs", owner="them")
    assert [(item.type, item.id) for item in report.items] == [("directive", "pdf")]
    assert {name: (skill / name).read_text(encoding="utf-8") for name in files} == files
    assert (skill / "SKILL.sig").exists()
    assert not sign_bundle(tmp_path / "theirs", owner="them").fingerprint


def test_a_plugin_is_signed_with_a_key_that_stays_and_its_readers_pin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Skills and commands alike; the trust file lies in its ``.ai``. A byte, or another key, and nothing is trusted."""
    plugin, theirs, mine = tmp_path / "tools", tmp_path / "publisher", tmp_path / "reader"
    lay(
        plugin,
        {
            ".claude-plugin/plugin.json": '{"name": "tools"}',
            "skills/pdf/SKILL.md": "---\nname: pdf\ndescription: Fill forms\n---\n",
            "skills/pdf/fill.py": "print(1)\n",
            "commands/review.md": "Review the change.\n",
        },
    )

    def run(user: Path, *words: str, status: int = 0) -> str:
        monkeypatch.setenv("USER_SPACE", str(user))
        assert main([*words]) == status
        return capsys.readouterr().out

    def codes() -> dict[str, str]:
        found = json.loads(run(mine, "list", "--space", "system", "--json"))["results"]
        return {each["id"]: each["signature"]["code"] for each in found if each["bundle"] == "tools"}

    def publish(user: Path) -> str:
        signed = json.loads(run(user, "sign", "bundle", "--yes", str(plugin), "--json"))
        assert {each["id"] for each in signed["items"]} == {"pdf", "commands/review"}
        assert (signed["trust_file"] != "") == (len(list((plugin / ".ai" / TRUSTED_FOLDER).iterdir())) > before)
        return str(signed["fingerprint"])

    before = 0
    ids = {"pdf", "pdf/fill", "commands/review"}
    monkeypatch.chdir(mine.parent)
    for user in (theirs, mine):
        user.mkdir()
    run(theirs, "keys", "generate", "--owner", "them")
    fingerprint = publish(theirs)
    assert b'owner = "them"' in next((plugin / ".ai" / TRUSTED_FOLDER).iterdir()).read_bytes()
    monkeypatch.setenv("RYE_BUNDLES", str(plugin))
    assert codes() == dict.fromkeys(ids, "foreign-key")
    with monkeypatch.context() as unnamed:
        unnamed.delenv("RYE_BUNDLES")
        found = json.loads(run(mine, "verify", "--space", "system", "--bundle", str(plugin), "--json", status=1))
    (fix,) = {each["fix"] for each in found["items"] if each["bundle"] == "tools" and "fix" in each}  # of its list too
    assert fix == f"rye trust bundle {plugin}"
    run(mine, *shlex.split(fix)[1:], "--fingerprint", fingerprint)
    assert codes() == dict.fromkeys(ids, "ok")
    found = json.loads(run(mine, "verify", str(plugin), "--json"))
    assert (found["counts"]["trusted"], found["warnings"]) == (2, [])  # a skill with its files, and a command
    edit(plugin, "skills/pdf/fill.py", "#\n")
    assert codes() == {"pdf": "skill-changed", "pdf/fill": "skill-changed", "commands/review": "ok"}
    edit(plugin, "commands/review.md")
    before = 1  # the same key signs the new version, and has a trust file
    assert publish(theirs) == fingerprint
    assert codes() == dict.fromkeys(ids, "ok")
    run(mine, "keys", "generate", "k", "--owner", "eve", "--no-trust")
    edit(plugin, "skills/pdf/fill.py", "#\n")
    run(mine, "sign", "bundle", "--yes", str(plugin), "--key", "k")
    assert codes() == {"pdf": "signer-changed", "pdf/fill": "signer-changed", "commands/review": "ok"}


def test_a_repository_of_skills_after_its_key_was_revoked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The bundle's own trust file keeps nothing that a revoked key signed; a path verifies it as ``--bundle`` does."""
    team, home = tmp_path / "team", tmp_path / "home"
    lay(team, {"pdf/SKILL.md": "---\nname: pdf\ndescription: Fill forms\n---\n"})
    home.mkdir()
    monkeypatch.setenv("USER_SPACE", str(home))
    monkeypatch.chdir(tmp_path)

    def run(*words: str, status: int = 0) -> dict[str, Any]:
        assert main([*words, "--json"]) == status
        found = json.loads(capsys.readouterr().out)
        assert isinstance(found, dict)
        return found

    run("keys", "generate", "--owner", "them")
    first = run("sign", "bundle", "--yes", "team")["fingerprint"]
    assert [each["id"] for each in run("verify", "team")["items"]] == ["pdf"]
    monkeypatch.chdir(team)
    assert run("verify", ".")["counts"] == {"trusted": 1}
    assert "rye verify ." in run("verify", status=2)["unchecked"][0]["hint"]
    run("keys", "rotate", "--yes")
    again = run("sign", "bundle", "--yes", ".")
    assert [(each["changed"], each["code"]) for each in again["items"]] == [(True, "revoked")]
    assert again["fingerprint"] != first
    assert run("verify", ".")["counts"] == {"trusted": 1}


PLUGIN = {
    ".claude-plugin/plugin.json": '{"name": "tools"}\n',
    "hooks/hooks.json": "{}\n",
    "skills/pdf/SKILL.md": "---\nname: pdf\ndescription: Fill forms\n---\n",
    "commands/review.md": "---\ndescription: Review\n---\nRead the diff.\n",
}


class Publisher:
    """Somebody who signs a plugin in the working directory."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.plugin, self._capsys = folder / "tools", capsys
        lay(self.plugin, PLUGIN)
        git(self.plugin, "init", "--quiet")
        (folder / "user").mkdir()
        monkeypatch.setenv("USER_SPACE", str(folder / "user"))
        monkeypatch.chdir(self.plugin)
        self.run("keys", "generate", "--owner", "them")

    def run(self, *words: str, status: int = 0) -> dict[str, Any]:
        """Return what a command says as JSON."""
        assert main([*words, "--json"]) == status
        found = json.loads(self._capsys.readouterr().out)
        assert isinstance(found, dict)
        return found

    def sign(self, *words: str) -> dict[str, Any]:
        """Sign the plugin."""
        return self.run("sign", "bundle", ".", "--yes", *words)


@pytest.fixture
def publisher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Publisher:
    """Lay a plugin that nobody has signed."""
    return Publisher(tmp_path, monkeypatch, capsys)


def test_signing_a_plugin_covers_its_manifest_and_hooks(publisher: Publisher) -> None:
    """They can hold no signature, so the plugin gets a list: strict passes, and a second time nothing is signed."""
    assert publisher.sign()["list_file"] == str(publisher.plugin / "rye.list")
    for way in ((".",), ("--bundle", ".")):
        assert publisher.run("verify", *way, "--strict")["findings"] == 0
    again = publisher.sign()
    assert (again["fingerprint"], again["list_file"]) == ("", "")
    for path, text in PLUGIN.items():
        (publisher.plugin / path).write_text(f"{text} ", encoding="utf-8")
        assert publisher.run("verify", ".", "--strict", status=1)["findings"] == 1
        publisher.sign()
        assert publisher.run("verify", ".", "--strict")["findings"] == 0
    (publisher.plugin / "hooks/hooks.json").unlink()
    assert publisher.run("verify", ".", "--strict", status=1)["findings"] == 1
    publisher.sign()
    assert publisher.run("verify", ".", "--strict")["findings"] == 0


def test_trusting_a_bundle_that_is_trusted_already_asks_nothing(publisher: Publisher) -> None:
    """Nothing would be written, so there is nothing to confirm."""
    publisher.sign()
    assert [change["action"] for change in publisher.run("trust", "bundle", ".")["changes"]] == ["unchanged"]


def test_the_files_of_a_plugin_that_only_its_list_covers_are_shown(publisher: Publisher) -> None:
    """Nothing is signed without a terminal to ask on; the dry run says that a list would be."""
    assert main(["sign", "bundle", "."]) == 2
    assert not (publisher.plugin / "rye.list").exists()
    assert publisher.sign("--dry-run")["list_file"]
    assert not (publisher.plugin / "rye.list").exists()


def signers_of(plugin: Path) -> dict[str, bool]:
    """Return the keys that ``rye trust bundle`` offers for a plugin, and whether each signed its list."""
    found = read_signers_of(named_bundle(plugin), TrustSet(), now=datetime.now(UTC))
    return {signer.entry.fingerprint: signer.signed_list for signer in found.signers}


def test_a_plugin_signed_with_new_keys_names_the_key_of_its_list(publisher: Publisher) -> None:
    """Its trust file stays until another key signs the list."""
    first = publisher.sign("--new-key")["trust_file"]
    assert publisher.sign("--new-key")["list_file"] == ""
    assert Path(first).exists()
    edit(publisher.plugin, "hooks/hooks.json", " \n")
    second = publisher.sign("--new-key")["trust_file"]
    assert signers_of(publisher.plugin) == {Path(first).stem: False, Path(second).stem: True}
    assert {Path(first).exists(), Path(second).exists()} == {True}  # the first key signed the items
    publisher.sign("--force")
    assert not any(Path(path).exists() for path in (first, second))
    assert publisher.run("verify", ".", "--strict")["findings"] == 0


def test_attack_a_hook_changes_while_its_plugin_is_signed(
    publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list names what was shown, or nothing."""
    original = os.replace

    def replace(source: str | Path, target: str | Path) -> None:
        original(source, target)
        if Path(target).name == "review.md":
            edit(publisher.plugin, "hooks/hooks.json", " \n")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace)
        assert main(["sign", "bundle", ".", "--yes"]) == 2
    assert not (publisher.plugin / "rye.list").exists()


def test_attack_what_a_key_of_the_bundle_signed_arrives_while_it_is_signed(publisher: Publisher) -> None:
    """Another maintainer's file comes after the question was answered; the list names what was shown, or nothing."""
    lay(publisher.plugin / ".ai" / TRUSTED_FOLDER, {"eve.toml": trust_file_bytes(EVE.public, owner="eve")})
    root = next(root for root in named_bundle(publisher.plugin) if "commands" in str(root.path))

    def arrive(name: str) -> None:
        place = root.origin("directive", name, f"{name}.md")
        text = sign_bytes(b"# Hello\n", suffix=".md", origin=place, key=EVE, now=system_clock())
        (root.path / f"{name}.md").write_bytes(text)

    arrive("shown")
    with pytest.raises(SigningError) as caught:
        sign_bundle(publisher.plugin, owner="ann", key=ANN, confirm=lambda _: arrive("unseen"))
    assert (caught.value.code, "unseen.md" in caught.value.message) == ("changed-meanwhile", True)
    assert not (publisher.plugin / "rye.list").exists()


@pytest.mark.parametrize("brought", ["skill", "list"])
def test_attack_what_a_stranger_signed_with_a_key_of_the_bundle_is_shown(
    publisher: Publisher, capsys: pytest.CaptureFixture[str], brought: str
) -> None:
    """A pull request brings a trust file and what its key signed; the publisher's list never names that unseen."""
    publisher.sign()
    lay(publisher.plugin / ".ai" / TRUSTED_FOLDER, {"eve.toml": trust_file_bytes(EVE.public, owner="eve")})
    if brought == "skill":
        lay(publisher.plugin, {"skills/evil/SKILL.md": "---\nname: evil\ndescription: Steal\n---\n"})
        root = next(root for root in named_bundle(publisher.plugin) if "skills" in str(root.path))
        files = read_skill(root, "evil").files
        place = root.origin("directive", "evil", "evil/SKILL.md").of_skill("evil")
        (root.path / "evil/SKILL.sig").write_bytes(sign_skill(files, origin=place, key=EVE, now=system_clock()))
    else:
        (publisher.plugin / "hooks/hooks.json").write_text("{} \n", encoding="utf-8")
        keys = load_trust(bundles={"tools": publisher.plugin / ".ai"}, built_in=publisher.plugin / ".ai").trust
        sign_list(named_bundle(publisher.plugin)[0], key=EVE, trust=keys)
    edit(publisher.plugin, "commands/review.md")
    before = (publisher.plugin / "rye.list").read_bytes()
    assert main(["sign", "bundle", "."]) == 2
    assert ("skills/evil/SKILL.md" if brought == "skill" else "hooks/hooks.json") in capsys.readouterr().err
    assert (publisher.plugin / "rye.list").read_bytes() == before


def test_a_bundle_that_can_have_no_list_says_so(publisher: Publisher) -> None:
    """A repository inside it is not listed; its items are signed all the same."""
    git(publisher.plugin, "init", "--quiet", "inner")
    signed = publisher.sign()
    assert len(signed["items"]) == 2
    assert any("no list can be made" in warning and "inner" in warning for warning in signed["warnings"])
