"""``rye verify`` as CI runs it: real processes, real git, every exit status."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rye._files import refuse_links
from rye.cli import main
from rye.errors import EnvironmentFault
from rye.items import yaml
from tests.unit.cli.workshop import ROOT, Done, Workshop, lay

POLICY = "formats: v2\nscopes:\n- scope: knowledge\n  max_age: 52w\n"


@pytest.fixture(scope="session")
def signed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workshop, str]:
    """A project in git whose items are all signed, and the trust file of their key outside it."""
    shop = lay(tmp_path_factory.mktemp("signed"))
    done = shop.run("sign", "bundle", "--yes", str(shop.project / ".ai"), "--new-key", "--json")
    inside = Path(json.loads(done.out)["trust_file"])
    trust = shop.project.parent / "trusted" / inside.name
    trust.parent.mkdir()
    inside.replace(trust)
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
        git(shop, *words)
    return shop, str(trust)


def git(shop: Workshop, *words: str) -> str:
    """Run git in the project as somebody."""
    someone = ["-c", "user.name=ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *someone, *words], cwd=shop.project, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture
def clean(signed: tuple[Workshop, str]) -> tuple[Workshop, str]:
    """The project as it was committed."""
    git(signed[0], "checkout", "-qf", "HEAD", "--", ".")
    git(signed[0], "clean", "-qffdx")
    return signed


def verify(place: tuple[Workshop, str], *words: str) -> Done:
    """Verify the project with the trusted key."""
    return place[0].run("verify", "--space", "project", "--trust", place[1], *words)


def spoil(place: tuple[Workshop, str], name: str = "tools/demo/deploy.py") -> Path:
    """Add a line to an item."""
    path = place[0].project / ".ai" / name
    path.write_bytes(path.read_bytes() + b"# more\n")
    return path


def test_a_finding_is_status_1_and_says_what_to_do(clean: tuple[Workshop, str]) -> None:
    """File, line, verdict, reason and command; all well is 0."""
    assert verify(clean).status == 0
    spoil(clean)
    done = verify(clean)
    assert done.status == 1
    head, reason, *advice, summary = done.out.splitlines()
    assert head == "✗ tampered   tool:demo/deploy  project  .ai/tools/demo/deploy.py:1"
    assert reason.endswith("[digest]")
    assert "rye sign" not in "".join(advice)
    assert any("original" in text or "again from its source" in text or "git" in text for text in advice)
    assert summary.endswith("1 failed")


@pytest.mark.parametrize("form", ["text", "json", "jsonl", "sarif", "junit"])
def test_every_format_has_the_same_status(clean: tuple[Workshop, str], form: str) -> None:
    """0, 1 and 2 do not depend on the form of the answer, and each names the item."""
    assert verify(clean, "--format", form).status == 0
    spoil(clean)
    done = verify(clean, "--format", form)
    assert done.status == 1
    assert "demo/deploy" in done.out
    (clean[0].project / ".ai/tools/demo/gone.py").symlink_to("nowhere.py")
    assert verify(clean, "--format", form).status == 2


@pytest.mark.parametrize(
    "words",
    [
        ("tool:demo/nosuch",),
        ("./nowhere",),
        ("--policy", "none.yaml"),
        ("--signer", "me"),
        ("--trust", "none"),
        ("--project", "none"),
        ("--require", "signed"),
        ("--format", "xml"),
    ],
)
@pytest.mark.parametrize("form", ["text", "json"])
def test_what_cannot_be_checked_is_status_2(clean: tuple[Workshop, str], words: tuple[str, ...], form: str) -> None:
    """A wrong name, file or revision is neither well nor a finding, though there is one."""
    spoil(clean)
    done = verify(clean, *words, *(() if "--format" in words else ("--format", form)))
    assert done.status == 2
    assert not (clean[0].project / "x").exists()
    if form == "json" and "--format" not in words:
        assert json.loads(done.out)


def test_settings_of_the_repository_start_no_program(clean: tuple[Workshop, str], tmp_path: Path) -> None:
    """Neither a file system monitor, an external diff nor a filter of the checkout is run."""
    mark = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n", encoding="utf-8")
    program.chmod(0o755)
    attributes = clean[0].project / ".gitattributes"
    attributes.write_text("* filter=evil diff=evil\n", encoding="utf-8")
    names = ("core.fsmonitor", "diff.external", "diff.evil.textconv", "filter.evil.clean", "filter.evil.process")
    for name in names:
        git(clean[0], "config", name, str(program))
    spoil(clean)
    assert verify(clean).status == 1
    attributes.unlink()
    for name in names:
        git(clean[0], "config", "--unset", name)
    assert not mark.exists()


def test_accepted_findings_pass_and_new_ones_fail(clean: tuple[Workshop, str], tmp_path: Path) -> None:
    """``--accept`` writes the findings beside the policy, which then accepts exactly those."""
    policy = tmp_path / "policy.yaml"
    path = spoil(clean)
    assert verify(clean, "--policy", str(policy), "--accept").status == 0
    done = verify(clean, "--policy", str(policy))
    assert (done.status, done.out.splitlines()[-1].endswith("all passed, 1 accepted")) == (0, True)
    path.write_bytes(path.read_bytes() + b"# yet more\n")
    assert verify(clean, "--policy", str(policy)).status == 1
    other = tmp_path / "other.yaml"
    assert verify(clean, "tool:demo/nosuch", "--policy", str(other), "--accept").status == 2
    assert {path.name for path in tmp_path.glob("*.*")} == {"policy.yaml", "policy.accepted.jsonl"}


def test_a_policy_counts_only_where_it_is_named(clean: tuple[Workshop, str]) -> None:
    """A policy in the tree under test does nothing by itself; named, it can demand more but not less than options."""
    spoil(clean, "knowledge/demo/guide.md")
    policy = clean[0].project / "policy.yaml"
    policy.write_text("formats: v1\n", encoding="utf-8")
    assert verify(clean, "tool:demo/*").status == 0
    assert verify(clean, "tool:demo/*", "--policy", str(policy)).status == 1
    named = clean[0].project / ".ai/config/keys/trusted" / Path(clean[1]).name
    named.parent.mkdir(parents=True, exist_ok=True)
    named.write_bytes(Path(clean[1]).read_bytes())
    assert clean[0].run("verify", "--space", "project", "tool:demo/*").status == 1
    policy.write_text(POLICY, encoding="utf-8")
    assert verify(clean, "knowledge:demo/twin", "--policy", str(policy)).status == 0
    policy.write_text(POLICY.replace("52w", "soon"), encoding="utf-8")
    done = verify(clean, "--policy", str(policy))
    assert (done.status, f"{policy}:4" in done.err) == (2, True)


def test_the_script_of_the_action_passes_every_word_on(clean: tuple[Workshop, str], tmp_path: Path) -> None:
    """The step of the composite action, run by bash with its inputs in the environment, as a runner does."""
    action = yaml.load((ROOT / ".github/actions/verify/action.yml").read_text(encoding="utf-8"))
    step = action["runs"]["steps"][-1]
    shim = tmp_path / "rye-venv" / "bin" / "python"  # isolated, it would not find this tree
    shim.parent.mkdir(parents=True)
    script = f'[ "$1 $2 $3" = "-X utf8 -I" ] && shift 3 && exec "{sys.executable}" -P "$@"'
    shim.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    shim.chmod(0o755)
    inputs = {"RYE_TARGETS": "", "RYE_ARGS": "", "RYE_TRUST": Path(clean[1]).read_text(), "RYE_OUTPUT": ""}
    inputs |= {"RYE_FORMAT": "text", "RUNNER_TEMP": str(tmp_path)}

    def step_of(**more: str) -> subprocess.CompletedProcess[str]:
        env = {**clean[0].env, **inputs, **more}
        words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        return subprocess.run(words, cwd=clean[0].project, env=env, capture_output=True, text=True, check=False)

    assert step_of().returncode == 0
    assert step_of(RYE_TRUST="").returncode == 1
    spoil(clean)
    done = step_of(RYE_TARGETS="tool:demo/*\nknowledge\n", RYE_ARGS="--format\ntext\n")
    assert done.returncode == 1
    assert ".ai/tools/demo/deploy.py:1" in done.stdout
    assert step_of(RYE_OUTPUT=str(tmp_path / "out"), RYE_FORMAT="sarif").returncode == 1
    assert json.loads((tmp_path / "out").read_text(encoding="utf-8"))["version"] == "2.1.0"


@pytest.mark.parametrize("policy", ["known.json", "folder/known.json", "dangling"])
def test_attack_a_link_in_the_place_of_the_policy(clean: tuple[Workshop, str], tmp_path: Path, policy: str) -> None:
    """A checkout that holds a link, or a folder that is one, has no findings written where it leads."""
    shop, victim = clean[0], tmp_path / "victim"
    victim.mkdir()
    (victim / "known.json").write_text("spaces: project\n", encoding="utf-8")
    for name, target in (("known.json", victim / "known.json"), ("folder", victim), ("dangling", victim / "new")):
        (shop.project / name).symlink_to(target)
    done = shop.run("verify", "--space", "project", "--policy", policy, "--accept")
    assert (done.status, "is a link" in done.err) == (2, True)
    assert [path.read_text(encoding="utf-8") for path in victim.iterdir()] == ["spaces: project\n"]


@pytest.mark.parametrize("nested", [False, True])
def test_attack_a_link_beside_the_folder_that_is_worked_in(
    clean: tuple[Workshop, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, nested: bool
) -> None:
    """It lies in the checkout all the same, also where a folder in it looks like one; a link of the user's is used."""
    victim, sub = tmp_path / "victim", clean[0].project / "sub"
    (sub / ".ai" if nested else sub).mkdir(parents=True)
    victim.mkdir()
    (clean[0].project / "folder").symlink_to(victim)
    (tmp_path / "mine").symlink_to(victim)
    monkeypatch.chdir(sub)
    for base in ("..", str(sub.parent)):
        with pytest.raises(EnvironmentFault, match="is a link"):
            refuse_links(Path(base, "folder", "known.json"))
    words = ("verify", "--space", "project", "--project", "..", "--accept", "--policy")
    assert main([*words, "../folder/known.json"]) == main(["keys", "export", "-o", "../folder/known.json"]) == 2
    assert list(victim.iterdir()) == []
    for name in ("../known.json", str(tmp_path / "mine" / "known.json")):
        refuse_links(Path(name))
    monkeypatch.setenv("HOME", str(clean[0].project))
    refuse_links(Path("../folder/known.json"))
