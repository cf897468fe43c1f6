"""What ``rye verify`` says fixes a finding is run as it stands, and then nothing is found any more."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Mapping
from contextlib import chdir
from pathlib import Path

import pytest

from rye._text import quote
from rye.cli import main
from rye.keyring import key_files
from rye.trust.keys import SigningKey
from rye.trust.model import Verdict
from rye.trust.reasons import REASONS
from rye.trust.trust_entry import Revocation
from tests.support import repositories
from tests.support.files import lay
from tests.support.signed import (
    ANN,
    DIRECTIVE,
    EVE,
    NARROW,
    NOW,
    OLD,
    REVOKED,
    XML,
    hashed,
    html,
    old_envelope,
    sign,
)
from tests.support.spacesim import SpaceSim

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
Rye = Callable[..., tuple[int, str]]

TOOL = b'"""Say hello."""\n\n__version__ = "1.0.0"\n'
NOTE = b"# Hello\n\nA note.\n"
FRONT = b"---\nversion: 1.0.0\n---\n\n"

DEFECTS: Mapping[str, tuple[str, Callable[[], bytes]]] = {
    "no-envelope": ("tools/demo/hello.py", lambda: TOOL),
    "envelope-elsewhere": ("tools/demo/hello.py", lambda: TOOL + sign(TOOL)),
    "revoked": ("tools/demo/hello.py", lambda: sign(TOOL, REVOKED)),
    "expired": ("tools/demo/hello.py", lambda: sign(TOOL, OLD)),
    "limited": ("tools/demo/hello.py", lambda: sign(TOOL, NARROW)),
    "outside-shebang": ("tools/demo/hello.py", lambda: b"#!/bin/sh\n" + hashed(old_envelope(TOOL)) + TOOL),
    "outside-front-matter": ("knowledge/demo/hello.md", lambda: html(old_envelope(NOTE.strip())) + FRONT + NOTE),
    "outside-directive": ("directives/demo/hello.md", lambda: html(old_envelope(XML)) + DIRECTIVE),
}
"""Code of each defect that signing anew fixes → the file and its bytes, well but for that."""

ALTERED: Mapping[str, tuple[str, Callable[[], bytes]]] = {
    "digest": ("tools/demo/hello.py", lambda: sign(TOOL) + b"# more\n"),
    "line-ends": ("tools/demo/hello.py", lambda: sign(TOOL).replace(b"\n", b"\r\n")),
    "malformed": ("tools/demo/hello.py", lambda: sign(TOOL).replace(b":v2:", b":v2:x:", 1)),
    "encoding": ("tools/demo/hello.py", lambda: hashed(old_envelope(TOOL).replace("==", "=")) + TOOL),
    "two-envelopes": ("tools/demo/hello.py", lambda: hashed(old_envelope(TOOL)) + sign(TOOL)),
    "signature": ("tools/demo/hello.py", lambda: sign(TOOL).replace(b"2026-", b"2031-", 1)),
}
"""The same of defects that are of somebody's making, perhaps: to sign the file would hide that."""


EDITED = ("digest", "line-ends")
"""Those that an edit of the signer's own looks like."""


@pytest.fixture
def sim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SpaceSim:
    """An empty project as the working directory of a user whose key is in the environment."""
    sim = SpaceSim(tmp_path)
    monkeypatch.chdir(sim.project)
    monkeypatch.setenv("USER_SPACE", str(sim.user))
    monkeypatch.setenv("RYE_SIGNING_KEY", ANN.to_pem().decode())
    return sim


@pytest.fixture
def rye(sim: SpaceSim, capsys: pytest.CaptureFixture[str]) -> Rye:
    """Run a command line; return its status and what it wrote."""
    assert sim.project.exists()

    def run(*words: str) -> tuple[int, str]:
        capsys.readouterr()
        status = main(list(words))
        return status, capsys.readouterr().out

    return run


@pytest.mark.parametrize("space", ["project", "user"])
@pytest.mark.parametrize("code", DEFECTS)
def test_a_defect_is_fixed_by_the_command_that_is_given(sim: SpaceSim, rye: Rye, code: str, space: str) -> None:
    """Whatever the defect, to whom holds the key that signed and one that counts the command signs the item anew."""
    rel, make = DEFECTS[code]
    sim.write(space, rel, make())
    for name, who in (("revoked", REVOKED), ("old", OLD), ("narrow", NARROW)):
        key_files.save_signing_key(sim.root("user") / key_files.SIGNING_FOLDER, who, name=name)
    sim.trust(REVOKED, owner="rev", revoked=Revocation("stolen", "2026-05-01"))
    sim.trust(OLD, owner="old", not_after=NOW.replace(year=2020))
    sim.trust(NARROW, owner="narrow", patterns=("other/*",))
    status, out = rye("verify", "--space", space, "--json")
    (item,) = json.loads(out)["items"]
    assert (status, item["code"]) == (1, code)
    program, *words = shlex.split(item["fix"])
    assert program == "rye"
    assert rye(*words)[0] == 0
    assert rye("verify", "--space", space)[0] == 0


@pytest.mark.parametrize("space", ["project", "user"])
@pytest.mark.parametrize("code", [*DEFECTS, *ALTERED, "unknown-key", "foreign-key"])
def test_attack_what_others_signed_or_altered_is_never_signed_by_its_fix(
    sim: SpaceSim, rye: Rye, code: str, space: str
) -> None:
    """Neither command nor note signs it, also for whoever holds a counting key, unless the item is unsigned."""
    rel, make = {**DEFECTS, **ALTERED}.get(code, ("tools/demo/hello.py", lambda: sign(TOOL, EVE)))
    sim.write(space, rel, make())
    sim.trust(REVOKED, owner="rev", revoked=Revocation("stolen", "2026-05-01"))
    sim.trust(OLD, owner="old", not_after=NOW.replace(year=2020))
    sim.trust(NARROW, owner="narrow", patterns=("other/*",))
    if code == "foreign-key":
        sim.trust(EVE, "project", owner="eve")
    if code.startswith("outside") or code in EDITED or REASONS[code].verdict is Verdict.UNSIGNED:
        os.environ["RYE_SIGNING_KEY"] = EVE.to_pem().decode()  # not the key that signed, and none that counts
    status, out = rye("verify", "--space", space, "--json")
    (item,) = json.loads(out)["items"]
    assert status == 1
    assert code == item["code"]
    assert "rye sign" not in item["fix"] + item["note"]
    assert item["fix"] or item["note"]


@pytest.mark.parametrize("space", ["project", "user"])
@pytest.mark.parametrize("code", EDITED)
def test_an_edit_of_what_the_user_signed_is_reviewed_and_signed_again(
    sim: SpaceSim, rye: Rye, code: str, space: str
) -> None:
    """The words alone have the command, as the change may be somebody else's; run, it signs the file as it is."""
    rel, make = ALTERED[code]
    path = sim.write(space, rel, make())
    status, out = rye("verify", "--space", space, "--json")
    (item,) = json.loads(out)["items"]
    assert (status, item["code"], item["fix"]) == (1, code, "")
    words, _, command = item["note"].partition(", then: ")
    assert words == "changed after it was signed: compare it with what was signed"
    edited = path.read_bytes().partition(b"\n")[2]
    assert rye(*shlex.split(command)[1:])[0] == 0
    assert rye("verify", "--space", space)[0] == 0
    assert path.read_bytes().partition(b"\n")[2] == edited


@pytest.mark.parametrize("author", ["Bob", "`rm -rf x`\u202e"])
def test_a_change_that_was_committed_is_shown_by_the_log(sim: SpaceSim, rye: Rye, author: str) -> None:
    """A pull request changed a skill: the difference to the last commit is empty, and the log names who made it."""
    skill = sim.project / ".claude/skills/pdf"
    lay(skill, {"SKILL.md": "---\nname: pdf\ndescription: Fill forms\n---\nx\n", "run.sh": "echo\n"})
    assert rye("sign", str(skill))[0] == 0
    repositories.commit(sim.project)
    lay(skill, {"run.sh": "evil\n"})

    def note(inside: Path = sim.project) -> str:
        with chdir(inside):
            items = json.loads(rye("verify", "--space", "project", "--json")[1])["items"]
        (told,) = [item["note"] for item in items if "key" in item]
        return str(told)

    assert "`git diff HEAD -- .claude/skills/pdf`, then: rye sign directive:pdf" in note()
    repositories.commit(sim.project, author=author)
    shown = quote(f"{author} <{author.lower()}@example.org>")
    assert f"`git log -p -- .claude/skills/pdf` (last committed by {shown}), then: rye sign directive:pdf" in note()
    assert "`git log -p -- ../../skills/pdf`" in note(lay(sim.project / ".claude/commands/x", {"y": ""}))


def test_what_no_list_can_name_is_not_to_be_listed(sim: SpaceSim, rye: Rye) -> None:
    """A file among private keys and a repository in a tool's folder; ``rye sign list`` refuses both."""
    lay(sim.project, {".ai/config/keys/signing/notes.txt": "x\n", ".ai/tools/demo/.git/config": "[core]\n"})
    _, out = rye("verify", "--strict", "--space", "project", "--json")
    notes = {found["path"].rpartition("/")[2]: found["note"] for found in json.loads(out)["items"]}
    assert notes == dict.fromkeys(("notes.txt", ".git"), "no list can name it: move it elsewhere, or remove it")


def test_a_file_of_a_client_is_covered_by_the_list_that_is_named(sim: SpaceSim, rye: Rye) -> None:
    """A list at the top of a project without ``.ai`` reaches the settings of a client."""
    shutil.rmtree(sim.project / ".ai")
    lay(sim.project, {".claude/settings.json": "{}\n", ".claude/commands/go.md": "# Go\n"})
    assert rye("sign", ".claude/commands/go.md")[0] == 0
    status, out = rye("verify", "--strict", "--space", "project", "--json")
    (found,) = [found for found in json.loads(out)["items"] if found["code"] == "uncovered"]
    assert (status, Path(found["path"]).name) == (1, "settings.json")
    _, _, command = found["note"].rpartition("once you have reviewed it: rye ")
    assert rye(*shlex.split(command), "--yes")[0] == 0
    assert (sim.project / "rye.list").is_file()
    assert rye("verify", "--strict", "--space", "project")[0] == 0


def commit(sim: SpaceSim) -> None:
    """Put all there is into a repository."""
    someone = ["-c", "user.name=ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "-A"], [*someone, "commit", "-qm", "all"]):
        subprocess.run(["git", *words], cwd=sim.project, check=True)


def findings(rye: Rye) -> list[dict[str, str]]:
    """Return what verification finds in the project."""
    _, out = rye("verify", "--space", "project", "--format=jsonl")
    return [row for row in map(json.loads, out.splitlines()) if row["kind"] == "finding"]


@needs_git
def test_attack_a_signature_removed_from_a_rule_of_cursor(sim: SpaceSim, rye: Rye) -> None:
    """A ``.mdc`` file is Markdown: its line belongs below ``---``, and is found in the last commit."""
    rule = sim.project / ".cursor/rules/ts.mdc"
    rule.parent.mkdir(parents=True)
    rule.write_text("---\ndescription: How to write TypeScript\n---\n\nNo any.\n")
    assert rye("sign", str(rule))[0] == 0
    signed = rule.read_bytes().splitlines(keepends=True)
    assert signed[1].startswith(b"# rye:signed:v2:")
    commit(sim)
    rule.write_bytes(b"".join([signed[0], *signed[2:]]))
    (found,) = findings(rye)
    assert (found["code"], str(found["line"])) == ("no-envelope", "2")
    assert "rye sign" not in found["fix"] + found["note"]


FAULTY: Mapping[str, tuple[str, str, str]] = {
    "tools/demo/odd.yaml": (
        "version: one\ndescription: [1]\n",
        "description is a list",
        "version: 1.0.0\ndescription: O\n",
    ),
    "tools/demo/hello.py": (f'{TOOL.decode()}__category__ = "other"\n', "other", TOOL.decode()),
    "knowledge/demo/note.md": ("---\nversion: one\n---\n", "version 'one'", (FRONT + NOTE).decode()),
}
"""Path → text that cannot be signed, what is said of it, and the text fixed."""


@pytest.mark.parametrize("who", [ANN, EVE], ids=["own", "of others"])
def test_a_merge_conflict_is_what_is_said_of_a_file_that_holds_one(sim: SpaceSim, rye: Rye, who: SigningKey) -> None:
    """Whoever signed it: where each branch has its own signature line, and where both changed the text below one."""
    ours, theirs = (sign(data, who, suffix=".md") for data in (NOTE, NOTE + b"More.\n"))
    both = b"<<<<<<< HEAD\n%b=======\n%b>>>>>>> theirs\n"
    for data in (both % (ours, theirs), ours + both % (b"One.\n", b"Two.\n")):
        sim.write("project", "knowledge/demo/hello.md", data)
        (found,) = findings(rye)
        assert (found["fix"], "a merge conflict begins at line" in found["note"]) == ("", True)
        assert "rye sign" not in found["note"]
