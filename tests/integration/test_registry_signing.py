"""``Registry.sign`` and ``verify``, and signing a whole bundle: from unsigned to trusted, or nothing written at all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from rye import ArgumentError, NotFoundError
from rye.keyring.sign_items import sign_bundle
from rye.trust.trust_entry import TrustScope
from rye.trust.trust_file import parse_trust_file
from tests.support.files import lay
from tests.support.signed import ANN, EVE, PAT
from tests.support.spacesim import SpaceSim

TOOL = '"""Deploy a build."""\n\n__version__ = "1.0.0"\n'
SCRIPT = "#!/bin/sh\n# ---\n# description: Deploy a build\n# version: 1.0.0\n# ---\necho\n"
ENTRY = "---\ntitle: Deploying\nversion: 1.0.0\n---\n\n# Deploying\n\nHow to deploy.\n"
GOOD: Mapping[str, str | bytes] = {
    "tools/demo/deploy.py": TOOL,
    "tools/demo/data.yaml": "description: Deploy as data\nversion: '1.0.0'\n",
    "knowledge/demo/deploying.md": ENTRY,
    "directives/deep/er/deploy.md": ENTRY,
}
BAD: Mapping[str, str | bytes] = {
    "tools/demo/nothing.py": '__version__ = "new"\n__category__ = "elsewhere"\n',
    "tools/demo/moved.py": f'{TOOL}__category__ = "elsewhere"\n',
    "tools/demo/data.json": '{"version": "new"}',
    "knowledge/demo/latin.md": b"---\nversion: 1\n---\nd\xe9ploy\n",
}


@pytest.fixture
def sim(tmp_path: Path) -> SpaceSim:
    """Lay unsigned items in the project, and the user's private key where it belongs."""
    sim = SpaceSim(tmp_path)
    lay(sim.root("project"), GOOD)
    sim.save_user_key()
    return sim


def verdicts(sim: SpaceSim, space: str = "project") -> dict[str, str]:
    """Return the verdict on every item of a space."""
    report = sim.registry().verify(space=space)
    assert report.problems == ()
    return {f"{item.type}:{item.id}": str(item.signature.verdict) for item in report.items}


def contents(folder: Path) -> dict[Path, tuple[bytes, int]]:
    """Return the bytes and inode of every file below a folder."""
    return {path: (path.read_bytes(), path.stat().st_ino) for path in folder.rglob("*") if path.is_file()}


# signing


def test_targets_are_ids_globs_scopes_and_paths(sim: SpaceSim, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each way to name items; an item named twice is signed once."""
    registry = sim.registry()

    def named(*targets: str) -> list[str]:
        return sorted(f"{item.type}:{item.id}" for item in registry.sign(*targets, dry_run=True).items)

    every = sorted(verdicts(sim))
    tools = ["tool:demo/data", "tool:demo/deploy"]
    assert named("tool:demo/deploy") == ["tool:demo/deploy"]
    assert named("tool:demo/d*", "tool:demo/deploy", "tool") == tools
    assert named("tool.demo.*") == tools
    assert named("*") == every
    assert named(str(sim.path("project", "tools/demo/deploy.py"))) == ["tool:demo/deploy"]
    assert named(str(sim.path("project", "tools"))) == tools
    assert named(str(sim.root("project"))) == every
    monkeypatch.chdir(sim.path("project", "tools/demo"))
    assert named("deploy.py") == ["tool:demo/deploy"]
    assert named("./deploy.py") == ["tool:demo/deploy"]
    assert named(".") == tools


def test_only_project_and_user_space_are_signed(sim: SpaceSim) -> None:
    """A path into another space is refused, whatever else is named; the user space is signed when asked for."""
    for source in ("user", "system:shop"):
        sim.write(source, "tools/demo/other.py", TOOL)
    before = contents(sim.folder)
    for target in (sim.path("user", "tools/demo/other.py"), sim.path("system:shop", "tools/demo/other.py"), sim.folder):
        with pytest.raises(ArgumentError):
            sim.registry().sign("tool:demo/deploy", str(target))
    with pytest.raises(ArgumentError):
        sim.registry().sign("tool:demo/other")
    assert contents(sim.folder) == before
    sim.registry().sign("tool:demo/other", space="user")
    assert verdicts(sim, "user")["tool:demo/other"] == "trusted"
    assert verdicts(sim)["tool:demo/deploy"] == "unsigned"


# keys


def test_the_key_to_sign_with(sim: SpaceSim, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A named file, then ``RYE_SIGNING_KEY`` as text or path, then the user's own; without any an error that helps."""
    path = tmp_path / "pat.pem"
    path.write_bytes(PAT.to_pem())
    path.chmod(0o600)
    registry = sim.registry()
    assert registry.sign("tool:demo/deploy").fingerprint == ANN.public.fingerprint
    monkeypatch.setenv("RYE_SIGNING_KEY", EVE.to_pem().decode())
    assert registry.sign("tool:demo/deploy").fingerprint == EVE.public.fingerprint
    monkeypatch.setenv("RYE_SIGNING_KEY", str(path))
    assert registry.sign("tool:demo/deploy").fingerprint == PAT.public.fingerprint
    monkeypatch.setenv("RYE_SIGNING_KEY", EVE.to_pem().decode())
    assert registry.sign("tool:demo/deploy", key=path).fingerprint == PAT.public.fingerprint
    monkeypatch.delenv("RYE_SIGNING_KEY")
    with pytest.raises(NotFoundError) as caught:
        sim.registry(user=tmp_path / "nobody").sign("tool:demo/deploy")
    assert caught.value.code == "no-signing-key"
    assert "RYE_SIGNING_KEY" in caught.value.hint


# verifying


def test_verify_says_what_it_could_not_check(sim: SpaceSim) -> None:
    """Files that are no items, and targets that match nothing."""
    lay(sim.root("project"), BAD)
    report = sim.registry().verify("knowledge:demo/*", "tool:nothing/*")
    for word in ("latin.md", "nothing/*"):
        assert sum(word in problem for problem in report.problems) == 1
    assert [item.id for item in report.items] == ["demo/deploying"]


# bundles


def test_sign_bundle_signs_all_with_a_key_that_is_gone(sim: SpaceSim) -> None:
    """Every item is trusted once the bundle is pinned to the one key it has; no private key stays anywhere."""
    lay(sim.bundles["shop"] / ".ai", {**GOOD, "tools/demo/run.sh": SCRIPT})
    report = sign_bundle(sim.bundles["shop"], owner="shop keeper")
    sim.pin("shop")
    assert set(verdicts(sim, "system").values()) == {"trusted"}
    trust_file = Path(report.trust_file)
    entry = parse_trust_file(trust_file.read_bytes(), scope=TrustScope.BUNDLE)
    assert (entry.owner, entry.fingerprint) == ("shop keeper", report.fingerprint)
    assert list(trust_file.parent.iterdir()) == [trust_file]
    assert len(report.items) == 5
    assert all(item.changed for item in report.items)
    for path in sim.bundles["shop"].rglob("*"):
        assert not path.is_file() or b"PRIVATE" not in path.read_bytes()
    first, second, *_ = sim.path("system:shop", "tools/demo/run.sh").read_text(encoding="utf-8").splitlines()
    assert first == "#!/bin/sh"
    assert second.startswith("# rye:signed:v2:")


# audience


def test_a_project_is_signed_for_an_audience_and_the_users_items_for_none(sim: SpaceSim) -> None:
    """What was signed for another audience, or for none, is not validly signed; only a project has one."""
    lay(sim.root("user"), {"tools/demo/own.py": TOOL})
    sim.registry().sign("*")
    ops = sim.registry(audience="acme/ops")
    assert {item.code for item in ops.sign("*", check=True).items} == {"audience"}
    assert all(item.changed for item in ops.sign("*").items)
    assert not any(item.changed for item in ops.sign("*").items)
    assert not any(item.changed for item in sim.registry().sign("*").items)
    assert {item.signature.audience for item in ops.verify(space="project").items} == {"acme/ops"}
    ops.sign("*", space="user")
    assert [(item.signature.code, item.signature.audience) for item in ops.verify(space="user").items] == [("ok", "")]


def test_an_audience_is_demanded_by_a_policy_too(sim: SpaceSim, tmp_path: Path) -> None:
    """With the same verdict; one that the caller demands must be the same, and one of no project is pointed out."""
    policy = tmp_path / "policy.yaml"
    policy.write_text("audience: acme/ops\n")
    shop = sim.registry(audience="acme/shop")
    shop.sign("*")
    with pytest.raises(ArgumentError, match="audience is 'acme/shop', the policy demands 'acme/ops'"):
        shop.verify(policy=policy)
    run = sim.registry().verify(space="project", policy=policy)
    assert {each.code for each in run.found} == {"audience"}
    assert (run.status, run.findings) == (1, len(GOOD))
    elsewhere = sim.registry().verify(space="system", policy=policy)
    assert "the audience 'acme/ops' is of a project, and no project is verified" in elsewhere.warnings


def test_what_others_signed_who_count_is_left_alone(sim: SpaceSim) -> None:
    """Whatever names it, and what they changed is not; force, or a key that is named, signs it."""
    sim.trust(EVE, owner="eve")
    theirs = [sim.add("project", path, ENTRY, EVE) for path in ("knowledge/eve/a.md", "knowledge/eve/b.md")]
    strange = sim.add("project", "knowledge/pat/c.md", ENTRY, PAT)
    held = [path.read_bytes() for path in theirs]
    for targets in (("*",), ("knowledge:eve/a", "knowledge:eve/b", "knowledge:pat/c")):
        report = sim.registry().sign(*targets)
        assert [path.read_bytes() for path in theirs] == held
        said = f"left as eve signed them: 2 items, with key {EVE.public.fingerprint[:16]}; --force signs with your key"
        assert said in report.warnings
        assert (targets == ("*",)) == any("knowledge:pat/c; read them" in each for each in report.warnings)
        assert not any(item.changed for item in report.items if item.id.startswith("eve"))
    assert verdicts(sim)["knowledge:pat/c"] == "trusted"
    assert str(ANN.public.fingerprint) in strange.read_text(encoding="utf-8")
    assert {item.id for item in sim.registry().sign("*", check=True).items if item.changed} == {"eve/a", "eve/b"}
    theirs[0].write_text(theirs[0].read_text(encoding="utf-8") + "\nMore.\n", encoding="utf-8")
    assert [item.code for item in sim.registry().sign("knowledge:eve/*").items if item.changed] == ["digest"]
    assert [item.id for item in sim.registry().sign("*", force=True, dry_run=True).items if item.changed] != []
    assert all(item.changed for item in sim.registry().sign("knowledge:eve/b", key="private_key").items)


def test_attack_what_a_stranger_wrote_is_signed_in_passing(sim: SpaceSim) -> None:
    """No pattern or scope signs an item that an unknown key signed, as it is or changed since; its name does."""
    for changed in (False, True):
        path = sim.add("project", "knowledge/pat/c.md", ENTRY, PAT)
        path.write_text(path.read_text(encoding="utf-8") + ("\nMore.\n" if changed else ""), encoding="utf-8")
        held = path.read_bytes()
        for targets in (("*",), ("knowledge:*",), ("knowledge.pat.*",), (str(path.parent),)):
            assert any("knowledge:pat/c" in each for each in sim.registry().sign(*targets).warnings)
            assert path.read_bytes() == held
    assert sim.registry().sign(str(path)).items[0].changed
