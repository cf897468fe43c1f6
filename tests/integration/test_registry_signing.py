"""``Registry.sign`` and ``verify``, and signing a whole bundle: from unsigned to trusted, or nothing written at all."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from rye import ArgumentError, NotFoundError, RyeError, SigningError
from rye.cli import main
from rye.keyring.key_files import load_key_file
from rye.keyring.sign_items import sign_bundle
from rye.trust.model import EnvelopeFormat
from rye.trust.trust_entry import TrustScope
from rye.trust.trust_file import parse_trust_file
from rye.trust.trust_store import TRUSTED_FOLDER
from rye.verify.report import Finding, VerifiedItem, VerifyReport
from tests.support.files import lay
from tests.support.signed import ANN, EVE, NOTE, PAT, html, old_envelope
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


def test_from_unsigned_to_trusted(sim: SpaceSim) -> None:
    """Signed with the user's own key, items are trusted as soon as the user says that the key is theirs."""
    sim.distrust(ANN)
    registry = sim.registry()
    assert set(verdicts(sim).values()) == {"unsigned"}
    report = registry.sign("tool:demo/deploy")
    assert report.fingerprint == ANN.public.fingerprint
    assert [(item.type, item.id, item.changed) for item in report.items] == [("tool", "demo/deploy", True)]
    assert registry.search("is:untrusted", space="project").total == 1
    assert verdicts(sim)["tool:demo/deploy"] == "untrusted"
    sim.trust(ANN, owner="ann")
    assert verdicts(sim)["tool:demo/deploy"] == "trusted"
    (hit,) = registry.search("is:trusted", space="project").results
    assert (hit.id, hit.signature.format, hit.signature.owner) == ("demo/deploy", "v2", "ann")


def test_signing_adds_one_line_and_nothing_else(sim: SpaceSim) -> None:
    """Each file is what it was without the line that was added; its mode is kept, and nothing is left beside it."""
    path = sim.path("project", "tools/demo/deploy.py")
    path.chmod(0o755)
    before = contents(sim.root("project"))
    sim.registry().sign("tool.*", "knowledge", "directive:*")
    after = contents(sim.root("project"))
    assert after.keys() == before.keys()
    for place, (data, _) in after.items():
        lines = data.splitlines(keepends=True)
        line = lines.pop(1 if lines[0] == b"---\n" else 0)
        assert b"rye:signed:v2:" in line
        assert b"".join(lines) == before[place][0]
    assert path.stat().st_mode & 0o777 == 0o755
    assert set(verdicts(sim).values()) == {"trusted"}


def test_signing_again_changes_nothing(sim: SpaceSim) -> None:
    """What stands signed by the same key in the same form is left alone; an older form or an edit is signed anew."""
    registry = sim.registry()
    registry.sign("tool:*", "knowledge:*", "directive:*")
    before = contents(sim.root("project"))
    report = registry.sign("tool:*", "knowledge:*", "directive:*")
    assert [item.changed for item in report.items] == [False] * 4
    assert contents(sim.root("project")) == before
    with sim.path("project", "tools/demo/deploy.py").open("a", encoding="utf-8") as stream:
        stream.write("# more\n")
    assert [item.changed for item in registry.sign("tool:demo/*").items].count(True) == 1
    path = sim.sign("project", "tools/demo/deploy.py", form=EnvelopeFormat.V1)
    assert registry.get("tool:demo/deploy").signature.format == "v1"
    assert [item.changed for item in registry.sign("tool:demo/*").items].count(True) == 1
    assert path.read_bytes().count(b"rye:signed:") == 1
    assert verdicts(sim)["tool:demo/deploy"] == "trusted"


def test_signing_reports_how_far_it_is(sim: SpaceSim) -> None:
    """Each step counts the files: they are read, written and looked at again."""
    seen = list[tuple[int, int, str]]()
    sim.registry(progress=lambda *at: seen.append(at)).sign("*")
    steps = ("(reading)", "(writing)", "(checking)")
    assert [each for each in seen if each[2] in steps] == [(done, 4, step) for step in steps for done in range(1, 5)]


def test_a_dry_run_says_and_does_nothing(sim: SpaceSim) -> None:
    """The report is that of the real run; no file is touched."""
    before = contents(sim.folder)
    dry = sim.registry().sign("tool:demo/*", dry_run=True)
    assert contents(sim.folder) == before
    assert [item.changed for item in dry.items] == [True, True]
    assert dry.to_dict() == sim.registry().sign("tool:demo/*").to_dict()
    assert [item.changed for item in sim.registry().sign("tool:demo/*", dry_run=True).items] == [False, False]


def test_invalid_items_are_all_reported_at_once(sim: SpaceSim) -> None:
    """One error with every problem of every file; not even the valid ones have been written."""
    lay(sim.root("project"), BAD)
    before = contents(sim.folder)
    for dry_run in (True, False):
        with pytest.raises(SigningError) as caught:
            sim.registry().sign("tool:*", "knowledge:*", "directive:*", dry_run=dry_run)
        error = caught.value
        assert error.code == "invalid-items"
        problems = error.details["problems"]
        for rel in BAD:
            assert any(problem.startswith(rel) for problem in problems)
        assert sum(problem.startswith("tools/demo/nothing.py") for problem in problems) == 2
        assert not any(problem.startswith(rel) for problem in problems for rel in GOOD)
        assert error.hint
    assert contents(sim.folder) == before


def test_an_item_altered_after_signing_is_signed_only_when_asked(sim: SpaceSim) -> None:
    """Signing one item leaves its neighbours as they are: a tampered one stays tampered."""
    registry = sim.registry()
    registry.sign("tool:demo/*")
    with sim.path("project", "tools/demo/data.yaml").open("a", encoding="utf-8") as stream:
        stream.write("evil: true\n")
    registry.sign("tool:demo/deploy")
    assert verdicts(sim)["tool:demo/data"] == "tampered"


def test_a_strangers_signature_is_replaced(sim: SpaceSim) -> None:
    """A file signed by someone else, or in an older form, has one line afterwards: ours."""
    sim.sign("project", "tools/demo/deploy.py", EVE)
    sim.write("project", "knowledge/demo/deploying.md", html(old_envelope(ENTRY.encode(), EVE)) + ENTRY.encode())
    sim.registry().sign("tool:demo/deploy", "knowledge:demo/deploying")
    assert verdicts(sim)["tool:demo/deploy"] == "trusted"
    assert verdicts(sim)["knowledge:demo/deploying"] == "trusted"
    data = sim.path("project", "knowledge/demo/deploying.md").read_bytes()
    without = b"".join(line for line in data.splitlines(keepends=True) if b"rye:signed:" not in line)
    assert (data.count(b"rye:signed:"), without) == (1, ENTRY.encode())


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


def test_a_key_that_others_can_read_is_not_used(sim: SpaceSim, tmp_path: Path) -> None:
    """Nothing is signed with it, wherever it lies; the hint says what to run."""
    before = contents(sim.root("project"))
    path = tmp_path / "pat.pem"
    path.write_bytes(PAT.to_pem())
    path.chmod(0o640)
    with pytest.raises(SigningError, match="chmod 600"):
        sim.registry().sign("tool:demo/deploy", key=path)
    (sim.root("user") / "config/keys/signing").chmod(0o755)
    with pytest.raises(SigningError, match="chmod 700"):
        sim.registry().sign("tool:demo/deploy")
    assert contents(sim.root("project")) == before


# verifying


def test_verify_gives_a_verdict_for_every_item(sim: SpaceSim) -> None:
    """Of every space; counts add up; the JSON has the documented keys; each item comes once however it is named."""
    sim.registry().sign("tool:*")
    sim.add("user", "tools/demo/deploy.py", TOOL, EVE)
    sim.write("system:shop", "knowledge/demo/note.md", NOTE)
    report = sim.registry(bundles=(sim.bundles["shop"],)).verify("tool:demo/*", "knowledge.demo.*", "tool:demo/deploy")
    found = {(item.space, item.type, item.id): str(item.signature.verdict) for item in report.items}
    assert found == {
        ("project", "tool", "demo/data"): "trusted",
        ("project", "tool", "demo/deploy"): "trusted",
        ("project", "knowledge", "demo/deploying"): "unsigned",
        ("user", "tool", "demo/deploy"): "untrusted",
        ("system", "knowledge", "demo/note"): "unsigned",
    }
    assert len(report.items) == len(found)
    data = report.to_dict()
    assert data["counts"] == {"trusted": 2, "untrusted": 1, "unsigned": 2}
    assert {"type", "id", "space", "path", "verdict", "reason"} <= set(data["items"][0])
    assert json.loads(json.dumps(data)) == data


def test_verify_reads_the_files_not_the_index(sim: SpaceSim) -> None:
    """No index is made or asked: a change is seen at once, whatever ``max_staleness`` says."""
    registry = sim.registry(max_staleness=float("inf"))
    registry.sign("tool:demo/deploy")
    assert str(registry.verify("tool:demo/deploy").items[0].signature.verdict) == "trusted"
    with sim.path("project", "tools/demo/deploy.py").open("a", encoding="utf-8") as stream:
        stream.write("evil()\n")
    assert str(registry.verify("tool:demo/deploy").items[0].signature.verdict) == "tampered"
    assert not sim.cache.exists()


def test_verify_says_what_it_could_not_check(sim: SpaceSim) -> None:
    """Files that are no items, targets that match nothing and a trust file of the user's that cannot be read."""
    lay(sim.root("project"), BAD)
    sim.write("user", "config/keys/trusted/broken.toml", "public_key = 7\n")
    report = sim.registry().verify("knowledge:demo/*", "tool:nothing/*")
    for word in ("latin.md", "nothing/*", "broken.toml"):
        assert sum(word in problem for problem in report.problems) == 1
    assert [item.id for item in report.items] == ["demo/deploying"]


def verdict_codes(report: VerifyReport) -> set[str]:
    """Return the reason codes of all items of a report."""
    return {item.signature.code for item in report.items}


def test_verify_of_a_folder_elsewhere(sim: SpaceSim, tmp_path: Path) -> None:
    """Its own keys count where the user has pinned it to them, and it is named as a bundle."""
    bundle = tmp_path / "elsewhere" / "pack"
    lay(bundle / ".ai", GOOD)
    sign_bundle(bundle, owner="pack")
    assert verdict_codes(sim.registry(bundles=[bundle]).verify(str(bundle))) == {"bundle-key"}
    sim.pin("pack", bundle / ".ai" / TRUSTED_FOLDER)
    for registry, verdict in ((sim.registry(), "untrusted"), (sim.registry(bundles=[bundle]), "trusted")):
        report = registry.verify(str(bundle))
        assert {str(item.signature.verdict) for item in report.items} == {verdict}
        assert len(report.items) == len(GOOD)
        assert report.problems == ()


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


def test_sign_bundle_by_force_replaces_key_and_trust_file(sim: SpaceSim) -> None:
    """A new key signs everything anew, and the old one is no longer trusted."""
    lay(sim.bundles["shop"] / ".ai", GOOD)
    first = sign_bundle(sim.bundles["shop"] / ".ai", owner="shop")
    second = sign_bundle(sim.bundles["shop"] / ".ai", owner="shop", force=True)
    assert first.fingerprint != second.fingerprint
    assert all(item.changed for item in second.items)
    assert second.removed == (first.trust_file,)
    assert not Path(first.trust_file).exists()
    sim.pin("shop")
    assert set(verdicts(sim, "system").values()) == {"trusted"}


def test_sign_bundle_of_invalid_items_writes_nothing(sim: SpaceSim) -> None:
    """Not a line, not a key, not a trust file."""
    lay(sim.bundles["shop"] / ".ai", {**GOOD, **BAD})
    before = contents(sim.folder)
    with pytest.raises(SigningError) as caught:
        sign_bundle(sim.bundles["shop"], owner="shop")
    assert caught.value.code == "invalid-items"
    (sim.folder / "empty").mkdir()
    calls: tuple[Callable[[], object], ...] = (
        lambda: sign_bundle(sim.folder / "gone", owner="shop"),
        lambda: sign_bundle(sim.folder / "empty", owner="shop"),
    )
    for call in calls:
        with pytest.raises(RyeError):
            call()
    assert contents(sim.folder) == before


def test_a_bad_owner_is_found_before_anything_is_written(sim: SpaceSim) -> None:
    """The trust file cannot be made: the items are as they were."""
    lay(sim.bundles["shop"] / ".ai", GOOD)
    before = contents(sim.folder)
    with pytest.raises(SigningError):
        sign_bundle(sim.bundles["shop"], owner="shop\nkeeper")
    assert contents(sim.folder) == before


def test_a_file_that_cannot_be_written_while_signing(sim: SpaceSim, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that refuses one file is an error of its own kind; that file is whole, old or new."""
    victim = sim.path("project", "tools/demo/deploy.py")
    before = victim.read_bytes()
    original = os.replace

    def refuse(source: str | Path, target: str | Path) -> None:
        if Path(target) == victim:
            raise OSError(28, "No space left on device")
        original(source, target)

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(RyeError) as caught:
        sim.registry().sign("tool:demo/*")
    assert caught.value.code == "cannot-write"
    assert victim.read_bytes() == before
    assert not [path for path in victim.parent.iterdir() if path.name.startswith(".")]


def test_a_key_file_is_read_back(sim: SpaceSim) -> None:
    """What was saved as the user's key is that key; what is no key at all is refused with a code."""
    path = sim.root("user") / "config/keys/signing/private_key.pem"
    assert load_key_file(path).public == ANN.public
    path.write_bytes(b"no key")
    with pytest.raises(SigningError) as caught:
        sim.registry().sign("tool:demo/deploy")
    assert caught.value.code == "key-unreadable"


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


def test_the_environment_names_the_audience(sim: SpaceSim, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the default; an empty name given by the caller demands none; what is no name is an error."""
    sim.registry(audience="acme/shop").sign("*")
    monkeypatch.setenv("RYE_AUDIENCE", "acme/ops")
    assert {item.signature.code for item in sim.registry().verify(space="project").items} == {"audience"}
    for audience in ("", "acme/shop"):
        assert {item.signature.code for item in sim.registry(audience=audience).verify(space="project").items} == {"ok"}
    for wrong in ("Acme", "a b", "/a", "a:b", "a" * 101):
        with pytest.raises(ArgumentError, match="audience is"):
            sim.registry(audience=wrong)


def test_an_audience_is_demanded_by_a_policy_too(sim: SpaceSim, tmp_path: Path) -> None:
    """With the same verdict; one that the caller demands must be the same, and one of no project is pointed out."""
    policy = tmp_path / "policy.yaml"
    policy.write_text("require: signed\naudience: acme/ops\n")
    shop = sim.registry(audience="acme/shop")
    shop.sign("*")
    with pytest.raises(ArgumentError, match="audience is 'acme/shop', the policy demands 'acme/ops'"):
        shop.check(policy=policy)
    run = sim.registry().check(space="project", policy=policy)
    assert {each.code for each in run if isinstance(each, Finding)} == {"audience"}
    assert (run.status, run.findings) == (1, len(GOOD))
    elsewhere = sim.registry().check(space="system", policy=policy).complete()
    assert "the audience 'acme/ops' is of a project, and no project is verified" in elsewhere.warnings


def test_what_is_offered_to_sign_is_signed_for_the_audience_demanded(
    sim: SpaceSim, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that signs names it; none is offered for what was signed for another registry, not even by oneself."""
    monkeypatch.setenv("USER_SPACE", str(sim.user))
    sim.registry(audience="acme/shop").sign("tool:demo/deploy")
    run = sim.registry(audience="acme/ops").check("tool:demo/*", space="project")
    fixes = {
        each.item.id: each.fix for each in run if isinstance(each, Finding) and isinstance(each.item, VerifiedItem)
    }
    assert fixes["demo/deploy"] == ""
    assert fixes["demo/data"].startswith("rye sign tool:demo/data --audience acme/ops")


def test_a_fix_names_the_audience_of_its_command_line(
    sim: SpaceSim, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """``rye show`` and ``rye verify`` too: what is signed or written without it is refused here again."""
    monkeypatch.setenv("USER_SPACE", str(sim.user))
    monkeypatch.setenv("RYE_STATE_DIR", str(sim.folder / "state"))
    monkeypatch.chdir(sim.project)
    for command in (["show", "tool:demo/data"], ["sign", "--list"], ["verify", "--require-list"]):
        shutil.rmtree(sim.folder / "state", ignore_errors=True)  # as on the machine of a reader
        main([*command, "--audience", "acme/ops"])
    said = "".join(capsys.readouterr())
    assert "rye sign tool:demo/data --audience acme/ops" in said
