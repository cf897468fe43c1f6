"""``rye keys``, ``rye trust`` and ``rye sign``: a team's life with keys, and no secret anywhere."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from rye.trust.keys import SigningKey
from rye.trust.trust_file import trust_file_bytes
from tests.support.signed import EVE
from tests.unit.cli.workshop import Done, Workshop, lay

POSIX = pytest.mark.skipif(os.name != "posix", reason="terminals and permissions are POSIX")


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    """A project with unsigned items, and a user without keys."""
    return lay(tmp_path)


def answer(done: Done) -> dict[str, Any]:
    """Return the JSON that a command answered with."""
    value = json.loads(done.out)
    assert isinstance(value, dict)
    return value


def home(shop: Workshop) -> Path:
    """Return where the user's keys are."""
    return Path(shop.env["USER_SPACE"]) / ".ai" / "config" / "keys"


def secrets_of(pem: bytes, passphrase: bytes | None = None) -> tuple[bytes, ...]:
    """Return every spelling by which a private key would be known."""
    plain = SigningKey.from_pem(pem, passphrase=passphrase).to_pem()
    body = plain.splitlines()[1]
    seed = base64.b64decode(body)[-32:]
    return body, body[-40:], seed, seed.hex().encode(), base64.b64encode(seed).rstrip(b"="), repr(seed)[2:-1].encode()


def test_from_no_key_to_a_trusted_project(shop: Workshop) -> None:
    """Without a key signing says what to do; one command later all is signed, trusted, and checked."""
    assert (shop.run("keys", "list").status, shop.run("sign", "--all", "--check").status) == (1, 2)
    missing = shop.run("sign", "--yes", "--all")
    assert (missing.status, "rye keys generate" in missing.err) == (2, True)
    made = shop.run("keys", "generate", "--owner", "Ada")
    assert made.status == 0, made.err
    assert "trust file" in made.out
    assert "Ada  user" in shop.run("trust", "list").out
    assert shop.run("sign", "--all", "--dry-run").status == 0
    assert shop.run("sign", "--all", "--check").status == 1
    assert shop.run("verify", "--space", "project").status == 1
    signed = shop.run("sign", "--yes", "--all")
    assert (signed.status, "7 items signed with key" in signed.out) == (0, True), signed.err
    assert shop.run("verify", "--space", "project").status == 0
    again = shop.run("sign", "--all", "--check")
    assert (again.status, "7 unchanged" in again.out) == (0, True)
    assert shop.run("sign", "--all", "--dry-run", "--force", "--json").out.count('"changed": true') == 7


def test_attack_a_second_key_of_a_name_that_is_trusted(shop: Workshop, tmp_path: Path) -> None:
    """A stranger's trust file names an owner whom the user knows: before the question, and after it, that is said."""
    shop.run("keys", "generate", "--owner", "Ada")
    eve = Workshop(shop.project, {**shop.env, "USER_SPACE": str(tmp_path / "eve")})
    eve.run("keys", "generate", "--owner", "ADA")
    trust = tmp_path / "eve.toml"
    trust.write_text(eve.run("keys", "export").out, encoding="utf-8")
    asked = shop.run("trust", "add", str(trust))
    assert (asked.status, "you trust another key of that owner's name, " in asked.err) == (2, True)
    (change,) = answer(shop.run("trust", "add", str(trust), "--yes", "--json"))["changes"]
    assert change["warnings"][0].startswith("you trust another key of that owner's name, ")
    (change,) = answer(shop.run("trust", "add", str(trust), "--owner", "Eve", "--force", "--yes", "--json"))["changes"]
    assert change["warnings"] == []


def test_a_rotated_key_signs_again_what_the_old_one_had_signed(shop: Workshop) -> None:
    """Without ``--sign`` all that the old key signed is revoked; with it all is trusted, but for what was changed."""
    shop.run("keys", "generate", "--owner", "Ada")
    shop.run("sign", "--yes", "--all")
    items = answer(shop.run("verify", "--space", "project", "--json"))["items"]
    tampered = Path(items[0]["path"])
    tampered.write_bytes(tampered.read_bytes() + b"\n# more\n")
    asked = shop.run("keys", "rotate")
    assert (asked.status, "confirmation-needed" in asked.err) == (2, True)
    rotated = answer(shop.run("keys", "rotate", "--yes", "--sign", "--json"))
    assert rotated["key"]["fingerprint"] != rotated["old"] == items[1]["signer"]
    assert rotated["signed"] == {"project": len(items) - 1}
    after = answer(shop.run("verify", "--space", "project", "--json"))["items"]
    assert {item["code"] for item in after if item["path"] == str(tampered)} == {"digest"}
    signers = {item["signer"] for item in after if item["path"] != str(tampered)}
    assert signers == {rotated["key"]["fingerprint"]}
    made = shop.run("keys", "rotate", "--yes", "--reason", "stolen")
    assert (made.status, "revoked" in made.out, "without a passphrase" in made.out) == (0, True, True)
    assert "rye keys export > FILE" in made.out
    last = answer(shop.run("verify", "--space", "project", "--json"))["items"]
    assert {item["code"] for item in last if item["path"] != str(tampered)} == {"revoked"}


def test_a_team_shares_keys(shop: Workshop, tmp_path: Path) -> None:
    """One exports, the other adds; a project's key is endorsed; a stolen one is revoked for everybody at once."""
    other = Workshop(shop.project, {**shop.env, "USER_SPACE": str(tmp_path / "bea")})
    shop.run("keys", "generate", "--owner", "Ada")
    other.run("keys", "generate", "--owner", "Bea")
    shop.run("sign", "tool:demo/*", "--yes")
    assert other.run("verify", "tool:demo/*").status == 1
    trust = tmp_path / "ada.toml"
    trust.write_text(shop.run("keys", "export").out, encoding="utf-8")
    added = answer(other.run("trust", "add", str(trust), "--space", "project", "--yes", "--json"))
    (change,) = added["changes"]
    assert "rye trust endorse" in change["warnings"][0]
    assert "foreign-key" in other.run("verify", "tool:demo/*").out
    looked = other.run("trust", "endorse", change["fingerprint"], "--dry-run")
    assert (looked.status, "would endorse" in looked.out) == (0, True)
    assert other.run("trust", "endorse", change["fingerprint"], "--yes").status == 0
    assert other.run("verify", "tool:demo/*").status == 0
    revoked = other.run(
        "trust", "revoke", "--yes", change["fingerprint"], "--reason", "laptop stolen", "--date", "2026-05-01"
    )
    assert revoked.status == 0
    assert "is revoked: laptop stolen, 2026-05-01" in other.run("verify", "tool:demo/*").out
    hit = answer(other.run("search", "type:tool deploy", "--json"))["results"][0]
    assert (hit["signature"]["verdict"], hit["signature"]["code"]) == ("untrusted", "revoked")
    assert shop.run("verify", "tool:demo/*").status == 0
    removed = other.run("trust", "remove", "--yes", change["fingerprint"])
    assert (removed.status, "trust-revoked" in removed.err) == (2, True)


@POSIX
def test_a_key_is_not_lost_unasked(shop: Workshop) -> None:
    """Which one would be lost is shown, by generate and import; without a terminal, or a yes, it stays."""
    assert shop.run("keys", "generate", "--yes").status == 2
    assert shop.run("keys", "generate", "--force").status == 0
    first = answer(shop.run("keys", "show", "--json"))["fingerprint"]
    (shop.project / "eve.pem").write_bytes(EVE.to_pem())
    (shop.project / "eve.pem").chmod(0o600)
    for words in (("generate", "--force"), ("import", "eve.pem", "--force")):
        alone = shop.run("keys", *words)
        assert (alone.status, "confirmation-needed" in alone.err, "--yes" in alone.err) == (2, True, True)
        status, shown = on_terminal(shop, ["keys", *words], ["n"])
        assert (status, first in shown.replace("\r\n", "")) == (2, True)
        assert answer(shop.run("keys", "show", "--json"))["fingerprint"] == first
    assert on_terminal(shop, ["keys", "generate", "--force"], ["y"])[0] == 0
    assert answer(shop.run("keys", "show", "--json"))["fingerprint"] != first
    (home(shop) / "signing/private_key.pem").write_text("damaged", encoding="utf-8")
    assert "of unknown fingerprint" in on_terminal(shop, ["keys", "generate", "--force"], ["n"])[1]
    assert shop.run("keys", "import", "eve.pem", "--force", "--yes").status == 0


def test_a_private_key_is_exported_only_on_demand(shop: Workshop, tmp_path: Path) -> None:
    """``--private`` with a file or a pipe; the copy is 0600, is not overwritten, and can be imported elsewhere."""
    made = answer(shop.run("keys", "generate", "--json"))
    copy = tmp_path / "copy.pem"
    assert shop.run("keys", "export", "--private", "-o", str(copy)).out == ""
    assert copy.stat().st_mode & 0o777 == 0o600 or os.name != "posix"
    assert shop.run("keys", "export", "--private", "-o", str(copy)).status == 2
    assert shop.run("keys", "export", "--private").out.encode() == copy.read_bytes()
    other = Workshop(shop.project, {**shop.env, "USER_SPACE": str(tmp_path / "other")})
    moved = answer(other.run("keys", "import", str(copy), "moved", "--json"))
    assert (moved["fingerprint"], moved["trusted"]) == (made["fingerprint"], True)
    command = [sys.executable, "-m", "rye", "keys", "import", "-", "piped", "--no-trust"]
    piped = subprocess.run(command, env=other.env, cwd=shop.project, input=copy.read_bytes(), check=False)
    assert piped.returncode == 0


SAYING = (
    ("keys", "list"),
    ("keys", "list", "--json"),
    ("keys", "show"),
    ("keys", "show", "--json"),
    ("keys", "export"),
    ("keys", "export", "--format", "base64"),
    ("keys", "generate"),
    ("keys", "generate", "two", "--json"),
    ("keys", "generate", "three", "--passphrase"),
    ("trust", "list", "--json"),
    ("sign", "--yes", "--all", "--json"),
    ("sign", "--yes", "--all", "--key", "nothing"),
    ("verify", "--json"),
    ("search", "key", "--json"),
    ("search", "PRIVATE"),
    ("index", "rebuild"),
    ("index", "status", "--json"),
    ("show", "tool:demo/deploy", "--json"),
)
"""Commands that report something where there are keys."""

SEVERAL = """
import json, os, sys, traceback
from rye.cli.app import main

for variable, words in json.loads(sys.argv[1]):
    os.environ["RYE_SIGNING_KEY"] = variable
    try:
        status = main(words)
    except BaseException:
        traceback.print_exc()
        status = 1
    print("\\nstatus", status, flush=True)
"""
"""Many command lines in one process, as the program runs them."""


def test_no_private_key_in_output_logs_tracebacks_or_the_index(shop: Workshop, tmp_path: Path) -> None:
    """Whatever is run, with keys in the environment, on the command line by mistake, broken or well: no secret."""
    shop.run("keys", "generate")
    pem = (home(shop) / "signing" / "private_key.pem").read_bytes()
    text, broken = EVE.to_pem().decode(), EVE.to_pem().decode().replace("MC4CAQ", "MC5CAQ")
    misused = [
        (text,),
        ("search", text, "--limit", "x"),
        ("verify", "--trust", text),
        ("sign", "--yes", "--all", "--key", text),
        ("sign", "--yes", "--all", "--key", text, "--json"),
        ("keys", "import", text),
        ("keys", "show", text),
        ("keys", "generate", text),
        ("trust", "add", text),
        ("trust", "endorse", text),
    ]
    runs = [
        (variable, args)
        for variable in ("", text, broken, text.splitlines()[1])
        for args in ((*SAYING, *misused) if variable in {"", text} else SAYING[:9])
    ]
    several = subprocess.run(
        [sys.executable, "-c", SEVERAL, json.dumps(runs)],
        cwd=shop.project,
        env={**shop.env, "RYE_DEBUG": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=True,
    )
    said = several.stdout
    assert said.count(b"\nstatus ") == len(runs)
    for path in [*(tmp_path / "cache").rglob("*"), *shop.project.rglob("*"), *(home(shop) / "trusted").rglob("*")]:
        said += path.read_bytes() if path.is_file() else str(path).encode()
    assert (tmp_path / "cache").exists()
    assert b"[private key]" in said
    for secret in (*secrets_of(pem), *secrets_of(EVE.to_pem())):
        assert secret not in said


@POSIX
def test_a_passphrase_is_asked_for_on_a_terminal_and_not_shown(shop: Workshop) -> None:
    """Twice for a new key, once to sign; what is typed is never echoed, and a wrong one is an error."""
    typed = "open sesame 7"
    status, shown = on_terminal(shop, ["keys", "generate", "--passphrase"], [typed, typed])
    assert status == 0, shown
    assert "Passphrase for the new key private_key" in shown
    assert b"ENCRYPTED" in (home(shop) / "signing" / "private_key.pem").read_bytes()
    status, again = on_terminal(shop, ["sign", "tool:demo/*"], [typed, "y"])
    assert status == 0, again
    status, wrong = on_terminal(shop, ["sign", "tool:demo/*", "--force"], ["no"])
    assert (status, "passphrase-wrong" in wrong) == (2, True)
    assert typed not in shown + again + wrong
    assert shop.run("sign", "--yes", "--all", RYE_KEY_PASSPHRASE=typed).status == 0
    alone = shop.run("sign", "--yes", "--all", "--force")
    assert (alone.status, "RYE_KEY_PASSPHRASE" in alone.err) == (2, True)
    assert shop.run("sign", "--all", "--check").status == 0
    refused, on_screen = on_terminal(shop, ["keys", "export", "--private"], [])
    assert (refused, "PRIVATE KEY-----" in on_screen) == (2, False)


def on_terminal(shop: Workshop, args: list[str], lines: list[str]) -> tuple[int, str]:
    """Run ``rye`` on a terminal of its own, write a line at each prompt; return its status and all that was shown."""
    import pty
    import select
    import time

    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(shop.project)
        os.execve(sys.executable, [sys.executable, "-m", "rye", *args], dict(shop.env))  # noqa: S606 - the child of a fork
    shown, waiting, until = b"", list(lines), time.monotonic() + 60
    while time.monotonic() < until:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                piece = os.read(terminal, 4096)
            except OSError:
                break
            if not piece:
                break
            shown += piece
        if waiting and shown.rstrip().endswith(b":"):
            time.sleep(0.1)  # the prompt is written before the terminal stops echoing
            os.write(terminal, f"{waiting.pop(0)}\n".encode())
            shown += b"\n"
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), shown.decode("utf-8", "replace")


def test_attack_a_key_on_the_command_line_is_in_no_error(shop: Workshop) -> None:
    """The base64 alone, too, wherever a key, a file, a fingerprint or an item could be named."""
    body = EVE.to_pem().decode().splitlines()[1]
    for use in (
        *("sign --all --key", "sign list --key", "keys import", "keys export"),
        *("trust add", "trust revoke", "trust endorse", "verify --signer", "verify --trust", "verify"),
    ):
        done = shop.run(*use.split(), body)
        assert (done.status, body[22:] in done.out + done.err) == (2, False), done


@POSIX
@pytest.mark.parametrize("output", ["out", "{}//out", "folder/out", "./sub/../folder/out", "dangling"])
@pytest.mark.parametrize("private", [False, True])
def test_attack_a_link_in_the_place_of_an_export(shop: Workshop, tmp_path: Path, output: str, *, private: bool) -> None:
    """A checkout that holds a link, or a folder that is one, has nothing written where it leads, with force either."""
    victim = tmp_path / "victim"
    (shop.project / "sub").mkdir()
    victim.mkdir()
    (victim / "out").write_text("precious", encoding="utf-8")
    for name, target in (("out", victim / "out"), ("folder", victim), ("dangling", victim / "new")):
        (shop.project / name).symlink_to(target)
    assert shop.run("keys", "generate").status == 0
    words = ["--private"] if private else []
    done = shop.run("keys", "export", *words, "--force", "-o", output.format(shop.project))
    assert (done.status, "is a link" in done.err) == (2, True)
    assert [path.read_text(encoding="utf-8") for path in victim.iterdir()] == ["precious"]
    assert shop.run("keys", "export", *words, "-o", "sub/fresh").status == 0


FOREIGN = {
    "a public key of minisign or signify": "untrusted comment: minisign public key ABC\nRWQf6LRCGA9i53mlYecO4I\n",
    "a key of OpenPGP": "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmDMEY\n-----END PGP PUBLIC KEY BLOCK-----\n",
}


@pytest.mark.parametrize("what", FOREIGN)
def test_a_key_of_another_program_is_named_as_what_it_is(what: str, shop: Workshop, tmp_path: Path) -> None:
    """Nothing is trusted, and the error says what rye needs."""
    path = tmp_path / "theirs.pub"
    path.write_text(FOREIGN[what], encoding="ascii")
    done = shop.run("trust", "add", str(path), "--yes")
    assert (done.status, f"is {what}" in done.err, "rye help trust" in done.err) == (2, True, True)
    assert not (Path(shop.env["HOME"]) / ".ai").exists()


def test_an_openssh_private_key_is_named_and_not_shown(shop: Workshop) -> None:
    """In the variable and in a file."""
    private = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()
    done = shop.run("sign", "--yes", "--all", RYE_SIGNING_KEY=private)
    assert (done.status, "this is an OpenSSH private key" in done.err) == (2, True)
    assert private.splitlines()[1] not in done.err


def test_every_change_of_trust_asks_once(shop: Workshop, tmp_path: Path) -> None:
    """Without a terminal each is refused and changes nothing; ``--yes`` answers for all of them."""
    shop.run("keys", "generate")
    key = shop.run("keys", "export", "--format", "base64").out.strip()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.toml")}
    for words in (("revoke", key), ("remove", key), ("add", key, "--owner", "Eve", "--force")):
        done = shop.run("trust", *words)
        assert (done.status, "confirmation-needed" in done.err) == (2, True), words
        assert {path: path.read_bytes() for path in tmp_path.rglob("*.toml")} == before
    for agreed in (("revoke", key), ("remove", key, "--revoked"), ("add", key)):
        assert shop.run("trust", *agreed, "--yes").status == 0, agreed


def test_a_revoked_key_is_not_added_by_its_fingerprint(shop: Workshop) -> None:
    """It is an error, and the command in its hint lifts the revocation."""
    key = answer(shop.run("keys", "generate", "--json"))["fingerprint"]
    shop.run("trust", "revoke", key, "--yes")
    refused = shop.run("trust", "add", key, "--yes")
    assert (refused.status, "trust-revoked" in refused.err) == (2, True)
    command = f"rye trust remove --revoked {key}"
    assert command in refused.err
    assert shop.run(*command.split()[1:], "--yes").status == 0
    assert shop.run("trust", "add", key, "--yes").status == 0


def test_the_beginning_of_a_fingerprint_is_no_key(shop: Workshop) -> None:
    """The hint says where the whole one is shown."""
    refused = shop.run("trust", "add", "4b98b0f1c2d3e4f5", "--yes")
    assert (refused.status, "all 64 digits, as rye trust list" in refused.err) == (2, True)


def test_endorsing_signs_the_bytes_that_were_shown(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is replaced by one without limits after the trust files were loaded: that is what is shown, too."""
    shop.run("keys", "generate")
    limited = trust_file_bytes(EVE.public, owner="eve", patterns=("ops/*",))
    path = shop.project / ".ai/config/keys/trusted/eve.toml"
    path.parent.mkdir(parents=True)
    path.write_bytes(limited)
    monkeypatch.setattr("rye.keyring.trust.read_trust_bytes", lambda *_: trust_file_bytes(EVE.public, owner="eve"))
    done = shop.run("trust", "endorse", str(path))
    assert (done.status, "counts for   every item" in done.err) == (2, True)


def test_own_key_that_is_not_trusted(shop: Workshop) -> None:
    """What it signed is said to be signed by one's own key, with the command that trusts it."""
    key = answer(shop.run("keys", "generate", "--no-trust", "--json"))["fingerprint"]
    shop.run("sign", "tool:demo/deploy")
    said = shop.run("verify", "tool:demo/deploy").out
    assert f"rye trust add {key}" in said
    assert "your own key" in said
    assert shop.run("trust", "add", key, "--yes").status == 0
    assert shop.run("verify", "tool:demo/deploy").status == 0


def test_key_for_skills_is_offered_for_a_skill(shop: Workshop) -> None:
    """Its limits are of skills: an unsigned skill can be signed with it, a tool of the same id cannot."""
    shop.run("keys", "generate", "--for", "skill:*")
    skill = shop.project / ".claude/skills/pdf/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: pdf\ndescription: Fill forms\n---\n")
    assert "rye sign directive:pdf" in shop.run("verify", "directive:pdf").out
    assert "rye sign tool" not in shop.run("verify", "tool:demo/deploy").out


def test_signing_warns_that_the_policy_demands_another_key(shop: Workshop) -> None:
    """CI would fail; the warning has the fingerprint to add."""
    key = answer(shop.run("keys", "generate", "--json"))["fingerprint"]
    (shop.project / "rye-policy.yaml").write_text(f"signers: [{EVE.public.fingerprint}]\n")
    done = shop.run("sign", "tool:demo/deploy")
    assert (done.status, f"add {key} to `signers`" in done.err) == (0, True), done.err
