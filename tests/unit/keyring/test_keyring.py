"""The keys of a user: where they are kept, who may look, what is shown of them, and what never is."""

from __future__ import annotations

import base64
import os
import signal
import stat
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from rye._files import lock
from rye.errors import ArgumentError, NotFoundError, RyeError, SigningError
from rye.keyring.changes import write_changes
from rye.keyring.key_files import KEY_VARIABLE, PASSPHRASE_VARIABLE
from rye.keyring.private import Keyring
from rye.keyring.rotate import plan_rotation, rotate
from rye.spaces.layout import Layout
from rye.trust.keys import hide_keys
from rye.trust.trust_entry import TrustScope
from rye.trust.trust_file import parse_trust_file, trust_file_bytes
from rye.trust.trust_store import load_trust
from rye.verify.policy import check_signers
from tests.support.effort import tries
from tests.support.signed import ANN, EVE

POSIX = pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX")


def keyring(folder: Path, environ: Mapping[str, str] | None = None, *, passphrase: bytes | None = None) -> Keyring:
    """Return the keyring of a user without a project, in an environment of its own."""
    layout = Layout((), None, folder / ".ai")
    return Keyring(layout, passphrase=passphrase, environ=environ or {})


def mode(path: str | Path) -> int:
    """Return the permissions of a file."""
    return stat.S_IMODE(Path(path).stat().st_mode)


@POSIX
def test_a_key_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    """The private half is 0600 in a folder of 0700, the trust file is where trust is read, and both name one key."""
    made = keyring(tmp_path).generate(owner="Ada", patterns=("ops/*",))
    assert (mode(made.path), mode(Path(made.path).parent)) == (0o600, 0o700)
    entry = parse_trust_file(Path(made.trust_file).read_bytes(), scope=TrustScope.USER)
    assert (entry.fingerprint, entry.owner, entry.patterns) == (made.fingerprint, "Ada", ("ops/*",))
    assert made.trusted
    assert keyring(tmp_path).signing_key().public.fingerprint == made.fingerprint


def test_a_key_is_never_overwritten_unless_asked(tmp_path: Path) -> None:
    """Nothing changes on refusal; with ``replace`` the new key is the only one, and its public half goes with it."""
    ring = keyring(tmp_path)
    first = ring.generate()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for again in (ring.generate, partial(ring.import_key, EVE.to_pem())):
        with pytest.raises(SigningError) as caught:
            again()
        assert caught.value.code == "key-exists"
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    second = ring.generate(replace=True)
    assert second.fingerprint != first.fingerprint
    assert ring.signing_key().public.fingerprint == ring.show().fingerprint == second.fingerprint
    assert Path(second.path).with_suffix(".pub").read_text() == second.public_pem
    assert not [path for path in tmp_path.rglob("*") if path.name.endswith(".tmp")]


def test_what_a_killed_write_left_of_a_key_is_removed(tmp_path: Path) -> None:
    """A whole private key may be in it; a file whose writer still holds its lock stays."""
    ring = keyring(tmp_path)
    folder = Path(ring.generate().path).parent
    left, held = (folder / f".{digit * 16}.tmp" for digit in "ab")
    for path in (left, held):
        path.write_bytes(ANN.to_pem())
    with held.open("rb") as stream:
        assert lock(stream.fileno())
        ring.generate("other")
    assert (left.exists(), held.exists()) == (False, True)


def test_a_passphrase_protects_the_file(tmp_path: Path) -> None:
    """With ``RYE_KEY_PASSPHRASE`` or an answer the file is encrypted; without it, the key is listed but not opened."""
    ring = keyring(tmp_path, {PASSPHRASE_VARIABLE: "open sesame"})
    made = ring.generate()
    assert b"BEGIN ENCRYPTED PRIVATE KEY" in Path(made.path).read_bytes()
    assert ring.signing_key().public.fingerprint == made.fingerprint
    closed = keyring(tmp_path)
    reported = closed.show()
    assert (reported.fingerprint, reported.encrypted, reported.problem) == (made.fingerprint, True, "")
    assert closed.public_key().fingerprint == made.fingerprint
    with pytest.raises(SigningError) as caught:
        closed.signing_key()
    assert caught.value.code == "passphrase-needed"
    with pytest.raises(SigningError) as wrong:
        keyring(tmp_path, passphrase=b"wrong").signing_key()
    assert wrong.value.code == "passphrase-wrong"
    assert keyring(tmp_path, passphrase=b"open sesame").signing_key().public.fingerprint == made.fingerprint


@POSIX
def test_unsafe_permissions_are_an_error_with_the_command_that_fixes_them(tmp_path: Path) -> None:
    """A key or folder that others may look into is listed as unusable, with the chmod, and is not used."""
    ring = keyring(tmp_path)
    path = Path(ring.generate().path)
    for target, unsafe, safe in ((path, 0o644, 0o600), (path.parent, 0o755, 0o700)):
        target.chmod(unsafe)
        (reported,) = ring.list()
        assert f"chmod {safe:o} {target}" in reported.problem
        for use in (ring.signing_key, ring.export_private):
            with pytest.raises(SigningError) as caught:
                use()
            assert caught.value.hint == f"chmod {safe:o} {target}"
        target.chmod(safe)
    assert ring.list()[0].problem == ""


@pytest.mark.parametrize(
    "given", ["c2VjcmV0LXNlY3JldA==", "x" * 5000, "~nobody/key", "-----BEGIN PRIVATE KEY-----\nAAAA", "a\0b"]
)
def test_attack_no_message_shows_what_the_variable_holds(tmp_path: Path, given: str) -> None:
    """A secret in the wrong form is a sentence about the variable, without the secret."""
    ring = keyring(tmp_path, {KEY_VARIABLE: given})
    (reported,) = ring.list()
    assert reported.problem
    assert given[:40] not in str(reported.to_dict())
    with pytest.raises(RyeError) as caught:
        ring.signing_key()
    assert given[:40] not in str(caught.value.to_dict())


def in_pieces(text: str, length: int, between: str) -> str:
    """Return text with blanks in it, as where a line was copied from somewhere that broke it."""
    return between.join(text[start : start + length] for start in range(0, len(text), length))


SPELLINGS: Mapping[str, Callable[[str], str]] = {
    "pem": str,
    "one line": lambda pem: "".join(pem.splitlines()),
    "body": lambda pem: "".join(pem.splitlines()[1:-1]),
    "body in lines": lambda pem: "\n".join(pem.splitlines()[1:-1]),
    "body for addresses": lambda pem: "".join(pem.splitlines()[1:-1]).translate({ord("+"): "-", ord("/"): "_"}),
    "body as a path": lambda pem: "./keys/" + "".join(pem.splitlines()[1:-1]),
    "body in two pieces": lambda pem: in_pieces("".join(pem.splitlines()[1:-1]), 30, " "),
    "body in short pieces": lambda pem: in_pieces("".join(pem.splitlines()[1:-1]), 4, " \t"),
    "base64 of the pem in pieces": lambda pem: in_pieces(base64.b64encode(pem.encode()).decode(), 7, "  "),
    "base64 of the pem": lambda pem: base64.b64encode(pem.encode()).decode(),
    "hexadecimal": lambda pem: base64.b64decode("".join(pem.splitlines()[1:-1])).hex(),
}
"""How a private key could be written where its name belongs."""


@pytest.mark.parametrize("passphrase", [None, b"open sesame"])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_attack_the_text_of_a_key_is_not_repeated(tmp_path: Path, spelling: str, passphrase: bytes | None) -> None:
    """Wherever a key's name or file belongs, and however it is spelled; what is shown of another error hides it."""
    if passphrase and spelling == "hexadecimal":
        pytest.skip("nobody writes an encrypted key so")
    ring = keyring(tmp_path)
    text = SPELLINGS[spelling](EVE.to_pem(passphrase=passphrase).decode())
    named = partial(load_trust, named=[Path(text)])
    signers = partial(check_signers, (text,))
    uses = (ring.signing_key, ring.public_key, ring.show, ring.export_private, ring.generate, ring.trust.add)
    for use in (*(partial(use, text) for use in uses), named, signers):
        with pytest.raises(ArgumentError) as caught:
            use()
        assert caught.value.code == "key-text"
        assert text[-40:-4] not in str(caught.value.to_dict())
    text = text.strip().removeprefix("./keys/")
    assert hide_keys(f"there is no item {text}, here") == "there is no item [private key], here"
    assert hide_keys(f"there is no item {text!r}, here") == "there is no item '[private key]', here"


def test_no_answer_holds_a_private_key(tmp_path: Path) -> None:
    """In no value, text or error of the keyring is the secret."""
    ring = keyring(tmp_path, {KEY_VARIABLE: EVE.to_pem().decode()})
    made = ring.generate(owner="Ada")
    said = repr([made, ring.list(), ring.show(), ring.signing_key(), ring.trust.list()]) + str(ring.export_trust_file())
    for pem in (Path(made.path).read_bytes(), EVE.to_pem()):
        body = pem.decode().splitlines()[1]
        seed = base64.b64decode(body)[-32:]
        for secret in (body, body[-40:], seed.hex(), repr(seed)[2:-1], base64.b64encode(seed).decode().rstrip("=")):
            assert secret not in said


def test_a_rotated_key_leaves_owner_and_limits_to_a_new_one(tmp_path: Path) -> None:
    """The old key is revoked and kept under another name; with a passphrase, the new one has it too."""
    ring = keyring(tmp_path, passphrase=b"open sesame")
    old = ring.generate("release", owner="Ada", patterns=("ops/*",), encrypt=True)
    rotated = rotate(plan_rotation(ring, "release"), reason="yearly")
    new = rotated.key
    assert (rotated.old, new.encrypted, new.trusted) == (old.fingerprint, True, True)
    assert new.fingerprint not in {old.fingerprint, ""}
    files = {row.fingerprint: row for row in ring.trust.list().keys}
    assert (files[new.fingerprint].owner, files[new.fingerprint].patterns) == ("Ada", ("ops/*",))
    assert (files[old.fingerprint].code, files[old.fingerprint].reason.count("yearly")) == ("revoked", 1)
    assert ring.signing_key("release").public.fingerprint == new.fingerprint
    kept = f"release-{old.fingerprint[:8]}"
    assert (mode(rotated.kept), Path(rotated.kept).stem) == (0o600, kept)
    assert ring.show(kept).fingerprint == old.fingerprint
    assert [key.name for key in ring.list()] == ["release", kept]


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        (("skill:*",), None, ("skill:*",)),
        (("ops/*", "db/*"), ("tool:ops/a/*", "web/*"), ("tool:ops/a/*",)),
        (("tool:*",), ("directive:*",), None),
        (("tool:*/a",), ("ops/*",), ("tool:ops/a",)),
        (("bundle:shop", "ops/*"), ("bundle:shop", "ops/b"), ("bundle:shop", "ops/b")),
        (("ops/a",), ("ops/a/*",), None),
    ],
)
def test_attack_a_rotation_that_lifts_limits(
    tmp_path: Path, one: tuple[str, ...], other: tuple[str, ...] | None, together: tuple[str, ...] | None
) -> None:
    """Two trust files of a key: the new key may do what both allow; its export and the list of keys say the same."""
    ring = keyring(tmp_path)
    old = ring.generate(patterns=one, not_after=datetime(2031, 1, 1, tzinfo=UTC))
    second = Path(old.trust_file).with_name("second.toml")
    second.write_bytes(trust_file_bytes(ring.public_key(), owner="", patterns=other))
    rows = [row for row in ring.trust.list().keys if row.fingerprint == old.fingerprint]
    words = ", ".join(together or ("nothing",))
    assert len(rows) == 2
    assert all(row.reason.startswith(f"for {words}, until 2031-01-01") for row in rows)
    exported = parse_trust_file(ring.export_trust_file(), scope=TrustScope.USER)
    assert (exported.patterns, exported.not_after) == (together or (), datetime(2031, 1, 1, tzinfo=UTC))
    new = rotate(plan_rotation(ring, "private_key")).key
    entries = load_trust(user=tmp_path / ".ai").trust.named(new.fingerprint)
    assert [(entry.patterns, entry.not_after) for entry in entries] == (
        [(together, datetime(2031, 1, 1, tzinfo=UTC))] if together else []
    )


@pytest.mark.parametrize("is_revoked", [False, True], ids=["", "revoked before"])
def test_attack_a_rotation_trusts_no_key_that_was_not_trusted(tmp_path: Path, *, is_revoked: bool) -> None:
    """A second key has no trust file of the user's, and so has the one that replaces it; the old one is revoked.

    A revocation, by hand or by a rotation that was interrupted, is also a trust file: it must not count as trust.
    """
    ring = keyring(tmp_path)
    ring.generate()
    old = ring.generate("release")
    assert not old.trusted
    if is_revoked:
        write_changes([ring.trust.revoke(str(Path(old.path).with_suffix(".pub")))])
    new = rotate(plan_rotation(ring, "release")).key
    assert (new.trusted, new.trust_file) == (False, "")
    files = {row.fingerprint: row.code for row in ring.trust.list().keys}
    assert new.fingerprint not in files
    assert files[old.fingerprint] == "revoked"


def test_limits_of_a_key_are_never_lost(tmp_path: Path) -> None:
    """Only a trust file holds them: a limited key gets one, whichever it is, and without one it is not made."""
    ring = keyring(tmp_path)
    ring.generate()
    limited = ring.generate("release", patterns=("release/*",))
    assert parse_trust_file(Path(limited.trust_file).read_bytes(), scope=TrustScope.USER).patterns == ("release/*",)
    with pytest.raises(ArgumentError, match="limits") as caught:
        ring.generate("night", not_after=datetime(2030, 1, 1, tzinfo=UTC), trust=False)
    assert caught.value.code == "bad-trust"
    assert [key.name for key in ring.list()] == ["private_key", "release"]


@POSIX
def test_a_rotation_killed_at_any_moment_can_be_run_again(tmp_path: Path) -> None:
    """No key is lost, the key of that name is whole, and after the next run only the new one counts."""
    ring = keyring(tmp_path)
    keys = {ring.generate(owner="Ada").fingerprint}
    for trial in range(count := tries(32)):
        child = os.fork()
        if not child:
            try:
                rotate(plan_rotation(keyring(tmp_path), "private_key"))
            finally:
                os._exit(0)
        time.sleep(0.012 * trial / count)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        keys.add(ring.show().fingerprint)
        assert keys <= {key.fingerprint for key in ring.list()}
        keys.add(rotate(plan_rotation(ring, "private_key")).key.fingerprint)
        held = [key for key in ring.list() if key.trusted]
        assert [(key.name, key.problem) for key in held] == [("private_key", "")]


@pytest.mark.parametrize("end", ["revoked", "expired"])
def test_attack_signing_with_a_key_that_no_longer_counts(tmp_path: Path, end: str) -> None:
    """A revoked or expired key signs nothing unless forced, whether it is named or comes from the environment."""
    ring = keyring(tmp_path)
    past = datetime(2020, 1, 1, tzinfo=UTC)
    made = ring.generate(not_after=past if end == "expired" else None)
    if end == "revoked":
        write_changes([ring.trust.revoke(made.fingerprint, reason="stolen")])
    pem = Path(made.path).read_text()
    for held in (ring, keyring(tmp_path, {KEY_VARIABLE: pem})):
        with pytest.raises(SigningError) as caught:
            held.signing_key()
        assert (caught.value.code, made.fingerprint[:16] in caught.value.message) == (f"key-{end}", True)
        assert "rye keys rotate" in caught.value.hint
        assert held.signing_key(force=True).public.fingerprint == made.fingerprint


@POSIX
def test_attack_a_file_named_like_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of the working directory is not a key unless it is named as a path."""
    monkeypatch.chdir(tmp_path)
    ring = keyring(tmp_path / "user")
    for name in ("release", EVE.public.fingerprint[:16]):
        (tmp_path / name).write_bytes(EVE.to_pem())
        (tmp_path / name).chmod(0o600)
        for use in (ring.signing_key, ring.public_key):
            with pytest.raises(NotFoundError):
                use(name)
        assert ring.signing_key(f"./{name}").public == EVE.public


def test_a_public_half_is_enough_to_name_a_key_but_not_to_sign(tmp_path: Path) -> None:
    """From its PEM, its trust file, its text, or its fingerprint where a trust file names it."""
    ring = keyring(tmp_path / "user")
    pem, file = tmp_path / "eve.pem", tmp_path / "eve.toml"
    pem.write_text(EVE.public.pem)
    file.write_bytes(trust_file_bytes(EVE.public, owner="eve"))
    write_changes([ring.trust.add(str(file))])
    text = f"ed25519:{base64.b64encode(EVE.public.raw).decode()}"
    for named in (str(pem), file, text, EVE.public.fingerprint):
        assert ring.public_key(named) == EVE.public
        with pytest.raises(NotFoundError, match=f"only the public half of key {EVE.public.fingerprint[:16]} is here"):
            ring.signing_key(named)
