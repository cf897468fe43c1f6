"""Keys of SSH: what they sign counts like anything else, and what they signed for something else counts for nothing."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rye.cli.app import main
from rye.trust.keys import PublicKey
from rye.trust.line import signed_message
from rye.trust.model import EnvelopeFormat
from rye.trust.trust_store import load_trust
from tests.support.files import lay
from tests.support.signed import place
from tests.support.spacesim import SpaceSim, no_own_items

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen")

TEXT = '"""Say hello."""\n\n__version__ = "1.0.0"\n__category__ = "demo"\n'
SKILL = {"SKILL.md": "---\nname: pdf\ndescription: Fill forms\n---\n", "scripts/fill.py": '"""Fill."""\n'}


def make_key(path: Path, kind: str = "ed25519") -> str:
    """Make a key of SSH, and return its public half without the comment."""
    path.parent.mkdir(parents=True, exist_ok=True)
    words = ["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", "ann@example.com", "-f", str(path)]
    subprocess.run(words, check=True)
    return " ".join(path.with_suffix(".pub").read_text(encoding="utf-8").split()[:2])


class Desk:
    """A user with a key of SSH, and a project with a tool and a skill, all unsigned.

    Args:
        folder: Where they are laid.
        capsys: Catches what commands print.
    """

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.sim = SpaceSim(folder)
        self.key = folder / "ssh" / "id_ed25519"
        self.public = make_key(self.key)
        self._capsys = capsys
        self.tool = self.sim.write("project", "tools/demo/hello.py", TEXT)
        self.skill = lay(self.sim.project / ".claude/skills/pdf", SKILL)

    def run(self, *words: str) -> int:
        """Run a command on the project."""
        return main([*words, "--project", str(self.sim.project)])

    def trust(self, text: str, *options: str, name: str = "signers") -> int:
        """Trust the keys in a file with this text."""
        path = self.sim.folder / name
        path.write_text(text, encoding="utf-8")
        return self.run("trust", "add", f"{self.sim.folder}/{name}", "--yes", *options)

    def told(self) -> str:
        """Return what the last command printed."""
        found = self._capsys.readouterr()
        return found.out + found.err

    def items(self) -> dict[str, dict[str, Any]]:
        """Return what ``rye verify`` says of each item."""
        self.told()
        self.run("verify", "--space", "project", "--json")
        return {f"{each['type']}:{each['id']}": each for each in json.loads(self._capsys.readouterr().out)["items"]}


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """Return a desk; there is no agent."""
    made = Desk(tmp_path, capsys)
    monkeypatch.setenv("USER_SPACE", str(made.sim.user))
    monkeypatch.setenv("RYE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    (tmp_path / "nothing").mkdir()
    with no_own_items(tmp_path / "nothing"):
        yield made


def test_public_key_of_ssh_is_trusted_and_what_it_signs_counts(desk: Desk) -> None:
    """A tool, a whole skill and the list of a space; the owner is the comment of the key."""
    assert desk.run("trust", "add", f"{desk.key}.pub", "--yes") == 0
    assert desk.run("sign", "--yes", "--all", "--key", f"ssh:{desk.key}") == 0
    items = desk.items()
    assert {each["code"] for each in items.values()} == {"ok"}
    assert {each["owner"] for each in items.values()} == {"ann@example.com"}
    assert set(items) == {"tool:demo/hello", "directive:pdf", "tool:pdf/scripts/fill"}
    assert desk.run("sign", "--all", "--check", "--key", f"ssh:{desk.key}.pub") == 0
    assert desk.run("sign", "list", "--yes", "--key", f"ssh:{desk.key}") == 0
    assert desk.run("verify", "--space", "project", "--require-list") == 0
    desk.tool.write_text(desk.tool.read_text(encoding="utf-8") + "evil()\n", encoding="utf-8")
    assert desk.items()["tool:demo/hello"]["code"] == "digest"


def test_default_key_is_that_of_the_home_folder(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """As git and ssh take it."""
    monkeypatch.setenv("HOME", str(desk.sim.folder / "elsewhere"))
    make_key(desk.sim.folder / "elsewhere/.ssh/id_ed25519")
    assert desk.run("trust", "add", f"{desk.sim.folder}/elsewhere/.ssh/id_ed25519.pub", "--yes") == 0
    assert desk.run("sign", "tool:demo/hello", "--ssh") == 0
    assert desk.items()["tool:demo/hello"]["code"] == "ok"


def test_key_in_an_agent_signs_without_its_file(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The private half may be in an agent or a token alone."""
    place = desk.sim.folder / "agent"
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(place)], stdout=subprocess.DEVNULL)
    try:
        monkeypatch.setenv("SSH_AUTH_SOCK", str(place))
        for _ in range(100):
            if subprocess.run(["ssh-add", "-q", str(desk.key)], check=False, capture_output=True).returncode == 0:
                break
        desk.key.unlink()
        assert desk.run("trust", "add", f"{desk.key}.pub", "--yes") == 0
        assert desk.run("sign", "tool:demo/hello", "--key", f"ssh:{desk.key}.pub") == 0
        assert desk.items()["tool:demo/hello"]["code"] == "ok"
    finally:
        agent.terminate()
        agent.wait()


def signed_by_hand(desk: Desk, namespace: str, form: EnvelopeFormat = EnvelopeFormat.V2) -> None:
    """Put a line into the tool whose signature SSH made in a namespace."""
    digest = _sha256(TEXT.encode())
    time = "2026-01-01T00:00:00Z"
    stated = place().stated
    message = signed_message(form, digest, stated=stated, signed_at=time)
    words = ["ssh-keygen", "-q", "-Y", "sign", "-n", namespace, "-f", str(desk.key)]
    text = subprocess.run(words, input=message, capture_output=True, check=True).stdout.decode()
    raw = base64.b64decode("".join(text.split("\n")[1:-2]))[-64:]
    public = PublicKey(base64.b64decode(desk.public.split()[1])[-32:])
    signature = base64.urlsafe_b64encode(raw).decode().rstrip("=")
    version, end = ("v2:", f":{stated}") if form is EnvelopeFormat.V2 else ("", "")
    line = f"# rye:signed:{version}{time}:{digest}:{signature}:{public.fingerprint}{end}\n"
    desk.tool.write_text(line + TEXT, encoding="utf-8")


def _sha256(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()


def test_signature_in_another_namespace_counts_for_nothing(desk: Desk) -> None:
    """What somebody signed for git, or as a file, is no signature of an item; nor is an older line by SSH."""
    assert desk.run("trust", "add", f"{desk.key}.pub", "--yes") == 0
    signed_by_hand(desk, "rye")
    assert desk.items()["tool:demo/hello"]["code"] == "ok"
    for namespace in ("git", "file", "Rye", "rye@example.com"):
        signed_by_hand(desk, namespace)
        assert desk.items()["tool:demo/hello"]["code"] == "signature"
    signed_by_hand(desk, "rye", EnvelopeFormat.V1)
    assert desk.items()["tool:demo/hello"]["code"] == "signature"


def test_allowed_signers_are_trusted_one_by_one(desk: Desk) -> None:
    """Comments are skipped, and the end of a key is the last day of its trust file."""
    other = make_key(desk.sim.folder / "other")
    text = (
        f"# our signers\n\nann@example.com {desk.public} her key\n"
        f'bob,rob namespaces="git,rye",valid-before="20300101Z" {other}\n'
    )
    assert desk.trust(text, "--for", "tool:demo/*") == 0
    entries = {entry.owner: entry for entry in load_trust(user=desk.sim.root("user")).trust.entries}
    assert {"ann@example.com", "bob,rob"} <= set(entries)
    assert str(entries["bob,rob"].not_after) == "2029-12-31 23:59:59+00:00"
    assert entries["ann@example.com"].not_after is None
    assert entries["ann@example.com"].patterns == ("tool:demo/*",)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("cert-authority", "the option cert-authority"),
        ('valid-after="20200101"', "the option valid-after"),
        ("no-such-option", "the option no-such-option"),
        ('namespaces="git"', "may sign for git alone"),
        ('namespaces="*,!rye"', "may sign for *,!rye alone"),
        ('valid-before="soon"', "soon is not a time"),
        ('valid-before="20201399"', "20201399 is not a time"),
        ('namespaces="rye",CERT-AUTHORITY', "the option cert-authority"),
        ('namespaces="rye', "is not PRINCIPALS"),
    ],
)
def test_option_of_an_allowed_signer_is_honoured_or_refused_by_name(desk: Desk, options: str, words: str) -> None:
    """None is ignored; the whole file is refused."""
    before = list(desk.sim.user.rglob("*.toml"))
    assert desk.trust(f"ann {desk.public}\nbob {options} {desk.public}\n") == 2
    told = desk.told()
    assert words in told
    assert "line 2" in told
    assert list(desk.sim.user.rglob("*.toml")) == before


def test_key_that_expired_as_an_allowed_signer_does_not_count(desk: Desk) -> None:
    """The option is honoured."""
    assert desk.trust(f'ann valid-before="20200101" {desk.public}\n') == 0
    signed_by_hand(desk, "rye")
    assert desk.items()["tool:demo/hello"]["code"] == "expired"


@pytest.mark.parametrize("kind", ["rsa", "ecdsa"])
def test_key_of_another_type_is_refused_by_its_name(desk: Desk, kind: str) -> None:
    """Alone and among allowed signers."""
    public = make_key(desk.sim.folder / kind, kind)
    assert desk.trust(f"{public} ann\n", name="key.pub") == 2
    assert public.split()[0] in desk.told()
    assert desk.trust(f"ann {public}\n") == 2
    assert public.split()[0] in desk.told()
    assert desk.run("sign", "tool:demo/hello", "--key", f"ssh:{desk.sim.folder / kind}") == 2


@pytest.mark.parametrize("text", ["ssh-ed25519 AAAA", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA==", "ssh-ed25519 AAAA*"])
def test_broken_key_of_ssh_is_refused(desk: Desk, text: str) -> None:
    """Also one with another length than it states, and a key that binds nothing."""
    assert desk.trust(f"{text}\n", name="key.pub") == 2
    blob = b"\x00\x00\x00\x0bssh-ed25519\x00\x00\x00\x20" + bytes(32)
    assert desk.trust(f"ssh-ed25519 {base64.b64encode(blob).decode()}\n", name="key.pub") == 2


def test_trust_file_may_hold_the_line_of_ssh(desk: Desk) -> None:
    """As well as PEM."""
    assert desk.trust(f'owner = "Ann"\npublic_key = "{desk.public} ann"\n', name="ann.toml") == 0
    signed_by_hand(desk, "rye")
    assert desk.items()["tool:demo/hello"]["owner"] == "Ann"


def test_revoked_key_of_ssh_signs_nothing(desk: Desk) -> None:
    """As any other key."""
    assert desk.run("trust", "revoke", "--yes", f"{desk.key}.pub") == 0
    assert desk.run("sign", "tool:demo/hello", "--key", f"ssh:{desk.key}") == 2
    assert "is revoked" in desk.told()


def test_missing_key_or_program_is_named(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written then."""
    assert desk.run("sign", "tool:demo/hello", "--key", f"ssh:{desk.sim.folder}/none") == 2
    assert "there is no SSH public key" in desk.told()
    desk.key.rename(desk.sim.folder / "gone")
    assert desk.run("sign", "tool:demo/hello", "--key", f"ssh:{desk.key}.pub") == 2
    assert "ssh-keygen does not sign" in desk.told()
    monkeypatch.setenv("PATH", str(desk.sim.folder))
    assert desk.run("sign", "tool:demo/hello", "--key", f"ssh:{desk.key}.pub") == 2
    assert "there is no ssh-keygen" in desk.told()
    assert desk.tool.read_text(encoding="utf-8") == TEXT


def test_program_that_signs_something_else_is_found_out(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """What ssh-keygen says is read and verified before it is written."""
    other = desk.sim.folder / "bin" / "ssh-keygen"
    other.parent.mkdir()
    real = shutil.which("ssh-keygen")
    for script in (
        "cat",
        f"exec {real} -q -Y sign -n git -f {desk.key}",
        f"echo x | {real} -q -Y sign -n rye -f {desk.key}",
    ):
        other.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        other.chmod(0o755)
        monkeypatch.setenv("PATH", f"{other.parent}{os.pathsep}{os.environ['PATH']}")
        assert desk.run("sign", "tool:demo/hello", "--key", f"ssh:{desk.key}") == 2
        assert re.search("ssh-keygen", desk.told())
    assert desk.tool.read_text(encoding="utf-8") == TEXT
