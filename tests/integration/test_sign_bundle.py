"""``rye sign --bundle DIR``: signs what needs it, leaves the rest, and so lets git merge two edits."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from rye import RyeError
from rye.cli import main
from rye.keyring.lists import sign_list
from rye.keyring.sign_items import SignReport, sign_bundle
from rye.trust.keys import SigningKey
from rye.trust.trust_entry import Revocation, TrustEntry, TrustScope
from rye.trust.trust_file import trust_file_bytes, trust_file_name
from rye.trust.trust_set import TrustSet
from rye.trust.trust_store import TRUSTED_FOLDER
from tests.support.files import lay
from tests.support.signed import ANN, BEA, EVE, PAT
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
    sim.pin("shop")
    found = sim.registry().verify(space="system")
    assert {str(item.signature.verdict) for item in found.items} == {"trusted"}
    return report


def edit(folder: Path, path: str, text: str = "More.\n") -> None:
    """Add a line to an item."""
    with (folder / path).open("a", encoding="utf-8") as stream:
        stream.write(text)


def contents(folder: Path) -> dict[str, bytes]:
    """Return the bytes of every file below a folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def trust_files(sim: SpaceSim) -> set[str]:
    """Return the paths of the bundle's trust files."""
    return {str(path) for path in (sim.root("system:shop") / TRUSTED_FOLDER).iterdir()}


def changed(report: SignReport) -> dict[str, str]:
    """Return how each item that was signed stood before."""
    return {f"{item.type}:{item.id}": item.code for item in report.items if item.changed}


def test_an_edit_changes_the_item_and_adds_a_trust_file(sim: SpaceSim) -> None:
    """Every other file stays byte for byte."""
    before = contents(sim.root("system:shop"))
    edit(sim.root("system:shop"), PAGE_A)
    report = sign(sim)
    assert changed(report) == {"knowledge:demo/a": "digest"}
    after = contents(sim.root("system:shop"))
    (added,) = after.keys() - before.keys()
    assert Path(report.trust_file) == sim.root("system:shop") / added
    assert {path for path in before if after[path] != before[path]} == {PAGE_A}
    assert report.removed == ()


def test_nothing_to_sign_makes_no_key(sim: SpaceSim, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file is written, and the report says so."""
    before = {path: path.stat() for path in sim.folder.rglob("*")}
    monkeypatch.setattr(SigningKey, "generate", None)
    report = sign(sim)
    assert (report.fingerprint, report.trust_file, report.removed, changed(report)) == ("", "", (), {})
    after = {path: path.stat() for path in sim.folder.rglob("*")}
    assert {path: (found.st_ino, found.st_mtime_ns) for path, found in after.items()} == {
        path: (found.st_ino, found.st_mtime_ns) for path, found in before.items()
    }


def test_a_trust_file_goes_with_the_last_item_that_needs_it(sim: SpaceSim) -> None:
    """Not before, also where that item is deleted."""
    (first,) = trust_files(sim)
    root = sim.root("system:shop")
    edit(root, PAGE_A)
    edit(root, "tools/demo/deploy.py", "# more\n")
    second = sign(sim)
    assert trust_files(sim) == {first, second.trust_file}
    edit(root, PAGE_B)
    (root / PAGE_C).unlink()
    third = sign(sim)
    assert third.removed == (first,)
    assert trust_files(sim) == {second.trust_file, third.trust_file}
    (root / PAGE_B).unlink()
    fourth = sign(sim)
    assert (fourth.fingerprint, fourth.removed) == ("", (third.trust_file,))


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
    unneeded |= {"other.toml": trust_file_bytes(other.public, owner="other")}
    lay(root / TRUSTED_FOLDER, kept | unneeded)
    (root / PAGE_A).rename(root / "knowledge/demo/moved.md")
    edit(root, PAGE_B)
    report = sign(sim)
    assert changed(report) == {
        "tool:demo/unsigned": "no-envelope",
        "tool:demo/unknown": "unknown-key",
        "tool:demo/outside": "limited",
        "tool:demo/revoked": "revoked",
        "tool:demo/unread": "trust-unread",
        "knowledge:demo/moved": "signature",
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


@pytest.mark.parametrize("level", ["config", "config/keys", "config/keys/trusted"])
def test_a_file_in_the_place_of_the_folder_of_trust_files(sim: SpaceSim, level: str) -> None:
    """No trust file can be written, so no item is."""
    root = sim.root("system:shop")
    shutil.rmtree(root / level)
    lay(root, {level: b"a file"})
    before = contents(root)
    with pytest.raises(RyeError) as caught:
        sign_bundle(root, owner="shop")
    assert caught.value.code == "cannot-write"
    assert contents(root) == before


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


def test_the_command_says_what_was_done(sim: SpaceSim, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a run with nothing to do, too, and in JSON; --force signs all."""
    root = str(sim.root("system:shop"))
    (first,) = trust_files(sim)

    def run(*words: str) -> str:
        assert main(["sign", "--bundle", root, "--new-key", *words]) == 0
        return capsys.readouterr().out

    assert run().endswith("\n0 items signed, 4 unchanged\n")
    forced = run("--force").splitlines()
    assert forced[-3].startswith("4 items signed with key ")
    assert forced[-2].startswith("trust file ")
    assert forced[-1] == f"removed    trust file {first}, which no item needs any more"
    report = json.loads(run("--json"))
    assert (report["fingerprint"], report["trust_file"], report["removed"]) == ("", "", [])


# git


def git(folder: Path, *words: str) -> None:
    """Run git as somebody, with its own settings alone."""
    someone = ["-c", "user.name=ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false"]
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *someone, *words], cwd=folder, env=env, check=True, capture_output=True, text=True)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.parametrize("owner", ["rye", "An organisation whose name is of some length, Ltd."])
def test_two_branches_that_edit_different_items_merge(
    tmp_path: Path, owner: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Git finds no conflict and the merged tree verifies; again where a merge has left an unneeded trust file."""
    items = lay(tmp_path / "items", ITEMS)

    def commit(branch: str, *paths: str) -> None:
        for path in paths:
            edit(items, path, f"# {branch}\n")
        assert main(["sign", "--bundle", str(items), "--new-key", "--owner", owner]) == 0
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-qm", branch)

    def branch_and_merge(start: str, edits: Mapping[str, tuple[str, ...]]) -> set[str]:
        for branch, paths in edits.items():
            git(tmp_path, "checkout", "-qb", branch, start)
            commit(branch, *paths)
        git(tmp_path, "merge", "-q", "-m", "both", next(iter(edits)))
        capsys.readouterr()
        assert main(["verify", str(items), "--json", "--trust", str(items / TRUSTED_FOLDER)]) == 0
        assert json.loads(capsys.readouterr().out)["counts"] == {"trusted": len(ITEMS)}
        return {path.name for path in (items / TRUSTED_FOLDER).iterdir()}

    git(tmp_path, "init", "-qb", "main")
    commit("main")
    (first,) = (path.name for path in (items / TRUSTED_FOLDER).iterdir())
    left = branch_and_merge("main", {"one": (PAGE_A, PAGE_B), "two": (PAGE_C, "tools/demo/deploy.py")})
    assert first in left
    assert len(left) == 3
    merged = branch_and_merge("two", {"three": (PAGE_A,), "four": (PAGE_C,)})
    assert left - merged == {first}


def test_the_keys_of_a_list_keep_their_trust_files(sim: SpaceSim, monkeypatch: pytest.MonkeyPatch) -> None:
    """They signed no item: without their files nobody could tell whose list it is."""
    monkeypatch.setenv("RYE_STATE_DIR", str(sim.folder / "state"))
    root = next(root for root in sim.registry().roots if root.bundle == "shop")
    for who in (BEA, PAT, EVE):
        sim.trust(who, "system:shop", owner="of the list")
    for number, who in enumerate((BEA, PAT)):
        trust = TrustSet((TrustEntry(BEA.public, "bea", TrustScope.NAMED),))
        sign_list(root, key=who, trust=trust, add=number > 0)
    report = sign_bundle(root.path, owner="shop")
    kept = {path.stem for path in (root.path / TRUSTED_FOLDER).iterdir()}
    assert {BEA.public.fingerprint, PAT.public.fingerprint} <= kept
    assert [Path(path).stem for path in report.removed].count(EVE.public.fingerprint) == 1


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
        signed = json.loads(run(user, "sign", "--bundle", str(plugin), "--json"))
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
    assert codes() == dict.fromkeys(ids, "bundle-key")
    with monkeypatch.context() as unnamed:
        unnamed.delenv("RYE_BUNDLES")
        found = json.loads(run(mine, "verify", "--space", "system", "--bundle", str(plugin), "--json", status=1))
    (fix,) = {each["fix"] for each in found["items"] if each["bundle"] == "tools"}
    assert fix == f"rye trust bundle {plugin}"
    run(mine, *shlex.split(fix)[1:], "--fingerprint", fingerprint)
    assert codes() == dict.fromkeys(ids, "ok")
    found = json.loads(run(mine, "verify", str(plugin), "--json"))
    assert (found["counts"]["trusted"], found["warnings"]) == (3, [])
    edit(plugin, "skills/pdf/fill.py", "#\n")
    assert codes() == {"pdf": "skill-changed", "pdf/fill": "skill-changed", "commands/review": "ok"}
    edit(plugin, "commands/review.md")
    before = 1  # the same key signs the new version, and has a trust file
    assert publish(theirs) == fingerprint
    assert codes() == dict.fromkeys(ids, "ok")
    run(mine, "keys", "generate", "k", "--owner", "eve", "--no-trust")
    edit(plugin, "skills/pdf/fill.py", "#\n")
    run(mine, "sign", "--bundle", str(plugin), "--key", "k")
    assert codes() == {"pdf": "signer-changed", "pdf/fill": "signer-changed", "commands/review": "ok"}
