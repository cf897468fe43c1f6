"""Keys and trust files on disk: what is read, what is refused, and that a write is all or nothing."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import pytest

from rye._files import write_atomically
from rye.errors import EnvironmentFault, SigningError
from rye.keyring.key_files import SIGNING_FOLDER, save_signing_key
from rye.keyring.private import Keyring
from rye.spaces.layout import Layout
from rye.trust.keys import SigningKey
from rye.trust.model import Verdict
from rye.trust.trust_entry import Revocation, TrustScope
from rye.trust.trust_file import parse_trust_file, sign_trust_file, trust_file_bytes, trust_file_name
from rye.trust.trust_store import TRUSTED_FOLDER, load_trust
from tests.support.signed import ANN, BEA, EVE, PAT, SIGNED_AT, TOOL, sign, verdict

POSIX = pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX")


def put_trust(root: Path, who: SigningKey, owner: str, *, endorsed_by: SigningKey | None = None) -> Path:
    """Write a key's trust file below a space root."""
    path = root / TRUSTED_FOLDER / trust_file_name(who.public)
    path.parent.mkdir(parents=True, exist_ok=True)
    data = trust_file_bytes(who.public, owner=owner)
    path.write_bytes(sign_trust_file(data, stem=path.stem, key=endorsed_by, now=SIGNED_AT) if endorsed_by else data)
    return path


def test_every_space_gives_its_keys_their_scope(tmp_path: Path) -> None:
    """User, project, bundle and named keys come in with the scope of the place they were found in."""
    user, project, shop, team = (tmp_path / name for name in ("user", "project", "shop", "team"))
    put_trust(user, ANN, "ann")
    put_trust(project, PAT, "pat")
    put_trust(shop, BEA, "bea")
    named = put_trust(team, EVE, "eve")
    load = load_trust(user=user, project=project, bundles={"shop": shop}, named=[named])
    assert load.warnings == ()
    assert {(each.owner, each.scope, each.bundle) for each in load.trust.entries} == {
        ("ann", TrustScope.USER, ""),
        ("pat", TrustScope.PROJECT, ""),
        ("bea", TrustScope.BUNDLE, "shop"),
        ("eve", TrustScope.NAMED, ""),
    }
    folder = load_trust(named=[named.parent]).trust.entries
    assert [(each.owner, each.scope, each.source) for each in folder] == [("eve", TrustScope.NAMED, str(named))]


@pytest.mark.parametrize("short", [False, True])
def test_one_text_holds_several_trust_files(tmp_path: Path, *, short: bool) -> None:
    """A variable of a build server takes the files of two signers one below the other; each keeps its limits."""
    parts = [
        trust_file_bytes(ANN.public, owner="ann", patterns=["knowledge:*"], short=short),
        b"# the second signer\n" + trust_file_bytes(BEA.public, owner="bea", short=short),
        trust_file_bytes(EVE.public, owner="eve", revoked=Revocation("lost"), short=short),
    ]
    path = tmp_path / "both"
    path.write_bytes(b"\n".join(parts))
    entries = load_trust(named=[path]).trust.entries
    assert [each.owner for each in entries] == ["ann", "bea", "eve"]
    alone = [parse_trust_file(part, scope=TrustScope.NAMED, source=str(path)) for part in parts]
    assert list(entries) == alone


def test_attack_a_limit_below_the_key_is_no_file_of_its_own(tmp_path: Path) -> None:
    """What follows a table is a second file, and one without a key is refused with the whole text."""
    path = tmp_path / "both"
    path.write_bytes(trust_file_bytes(ANN.public, owner="ann") + b'for = ["knowledge:*"]\n')
    with pytest.raises(SigningError, match="public_key"):
        load_trust(named=[path])


def test_project_vouching_for_itself_on_disk(tmp_path: Path) -> None:
    """A project's key counts when a user's or named key signed its trust file, and in no other case."""
    user, project = tmp_path / "user", tmp_path / "project"
    put_trust(user, ANN, "ann")
    signed = sign(TOOL, PAT)
    for endorsed_by, found in ((None, "foreign-key"), (PAT, "foreign-key"), (EVE, "foreign-key"), (ANN, "ok")):
        path = put_trust(project, PAT, "pat", endorsed_by=endorsed_by)
        put_trust(project, EVE, "eve")
        assert verdict(signed, trust=load_trust(user=user, project=project).trust).code == found
    assert verdict(signed, trust=load_trust(project=project).trust).code == "foreign-key"
    assert verdict(signed, trust=load_trust(project=project, named=[path]).trust).verdict is Verdict.TRUSTED


PLAIN = trust_file_bytes(ANN.public, owner="")
BAD: dict[str, tuple[bytes, str, str]] = {
    "no TOML": (b"not toml", "trust-file", "is not TOML"),
    "too long": (b"#" * 100_000, "trust-file", "longer than"),
    "another fingerprint": (
        PLAIN.replace(b'"0a', b'"0b'),
        "fingerprint-mismatch",
        "0b",
    ),
    "a short fingerprint": (
        PLAIN.replace(ANN.public.fingerprint[16:].encode(), b""),
        "fingerprint-mismatch",
        "has",
    ),
    "limits of another name": (
        b'namespaces = ["a/*"]\n' + PLAIN,
        "trust-file",
        "namespaces",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_trust_file_of_the_users_is_an_error(tmp_path: Path, name: str) -> None:
    """It may revoke or limit any key, so nothing is judged; hidden files and other kinds are not looked at."""
    data, code, words = BAD[name]
    folder = put_trust(tmp_path, ANN, "ann").parent
    for other in (".hidden.toml", "_draft.toml", "notes.txt"):
        (folder / other).write_text("not toml")
    assert [each.owner for each in load_trust(user=tmp_path).trust.entries] == ["ann"]
    (folder / "bad.toml").write_bytes(data)
    for where in ({"user": tmp_path}, {"named": [folder]}, {"organisation": (folder, None)}):
        with pytest.raises(SigningError) as caught:
            load_trust(**where)
        assert caught.value.code == code
        assert words in caught.value.message
        assert str(folder / "bad.toml") in caught.value.message


@pytest.mark.parametrize("name", BAD)
def test_a_bad_trust_file_of_a_project_is_named_and_left_out(tmp_path: Path, name: str) -> None:
    """It takes nothing from the others, and gives nothing: what counts there, a key of the user has signed."""
    user, project = tmp_path / "user", tmp_path / "project"
    put_trust(user, ANN, "ann")
    folder = put_trust(project, PAT, "pat", endorsed_by=ANN).parent
    (folder / "bad.toml").write_bytes(BAD[name][0])
    load = load_trust(user=user, project=project)
    assert verdict(sign(TOOL, PAT), trust=load.trust).code == "ok"
    (warning,) = load.warnings
    assert f"trust file {folder / 'bad.toml'} is left out" in warning


@POSIX
def test_a_pipe_among_the_trust_files_is_not_waited_for(tmp_path: Path) -> None:
    """A project cannot hang a search by putting a pipe where a trust file belongs."""
    folder = tmp_path / TRUSTED_FOLDER
    folder.mkdir(parents=True)
    os.mkfifo(folder / "pipe.toml")
    assert "not a regular file" in load_trust(project=tmp_path).warnings[0]


def test_an_unreadable_folder_or_file_of_the_users_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root reads everything, so the refusal is put in."""
    put_trust(tmp_path, ANN, "ann")

    def refuse(*_args: object) -> None:
        raise PermissionError(13, "Permission denied")

    for step in ("iterdir", "open"):
        with monkeypatch.context() as patch:
            patch.setattr(Path, step, refuse)
            with pytest.raises(EnvironmentFault, match="cannot be read: Permission denied"):
                load_trust(user=tmp_path)
            assert "cannot be read: Permission denied" in load_trust(project=tmp_path).warnings[0]


@pytest.mark.parametrize("suffix", [".TOML", ".Toml"])
def test_attack_a_revocation_named_in_capitals(tmp_path: Path, suffix: str) -> None:
    """It is read as any other, be it in a folder that is named or in a space."""
    path = put_trust(tmp_path, ANN, "ann")
    path.with_suffix(suffix).write_bytes(b"revoked = true\n" + path.read_bytes())
    for load in (load_trust(user=tmp_path), load_trust(named=[path.parent])):
        assert verdict(sign(TOOL), trust=load.trust).code == "revoked"


def test_attack_thousands_of_trust_files_in_a_folder(tmp_path: Path) -> None:
    """A few of a project's are named as left out, and the others counted; in the user's own folder it is an error."""
    folder = tmp_path / TRUSTED_FOLDER
    folder.mkdir(parents=True)
    for number in range(2_000):
        (folder / f"{number:04}.toml").write_text("a.b", encoding="utf-8")
    warnings = load_trust(project=tmp_path).warnings
    assert len(warnings) < 10
    assert re.fullmatch(rf"1995 more trust files in {re.escape(str(folder))} are left out", warnings[-1])
    with pytest.raises(SigningError, match="nothing is judged"):
        load_trust(user=tmp_path)


@POSIX
def test_a_private_key_is_saved_for_its_owner_alone(tmp_path: Path) -> None:
    """0600 in a 0700 folder, never overwritten, and read back."""
    folder = tmp_path / SIGNING_FOLDER
    path = save_signing_key(folder, ANN)
    assert path == folder / "private_key.pem"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    with pytest.raises(SigningError) as caught:
        save_signing_key(folder, EVE)
    assert caught.value.code == "key-exists"
    ring = Keyring(Layout((), None, tmp_path), passphrase=b"secret", environ={})
    assert ring.signing_key().public == ring.signing_key(path).public == ANN.public
    save_signing_key(folder, EVE, name="other", passphrase=b"secret")
    assert ring.signing_key("other").public == EVE.public
    assert b"ENCRYPTED" in (folder / "other.pem").read_bytes()


def test_unsafe_permissions_are_refused_with_the_command_that_fixes_them(tmp_path: Path) -> None:
    """A key, or its folder, that others may look into is not used; nothing is fixed behind the user's back."""
    folder = tmp_path / SIGNING_FOLDER
    path = save_signing_key(folder, ANN)
    for target, unsafe, safe in ((path, 0o640, "600"), (path, 0o604, "600"), (folder, 0o750, "700")):
        before = stat.S_IMODE(target.stat().st_mode)
        target.chmod(unsafe)
        with pytest.raises(SigningError) as caught:
            Keyring(Layout((), None, tmp_path), environ={}).signing_key()
        assert caught.value.code == "unsafe-permissions"
        assert caught.value.hint == f"chmod {safe} {target}"
        assert stat.S_IMODE(target.stat().st_mode) == unsafe
        target.chmod(before)
    folder.chmod(0o755)
    with pytest.raises(SigningError, match="open to others"):
        save_signing_key(folder, EVE, name="eve")
    assert not (folder / "eve.pem").exists()


def test_killed_while_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that fails at any step leaves the old bytes and no rest."""
    target = tmp_path / "item.md"
    for step in ("fsync", "replace"):
        target.write_bytes(b"old")

        def fail(*_args: object) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os if step == "fsync" else Path, step, fail)
            with pytest.raises(EnvironmentFault, match="No space left") as caught:
                write_atomically(target, b"new")
        assert (caught.value.code, caught.value.hint) == ("cannot-write", "make room on the disk")
        assert target.read_bytes() == b"old"
        assert list(tmp_path.iterdir()) == [target]
