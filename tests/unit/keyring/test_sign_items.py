"""Signing on disk: all is validated before any is written, and each file is old or new, never between."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from rye import Registry
from rye.errors import ArgumentError, EnvironmentFault, ItemError, SigningError
from rye.keyring import key_files
from rye.trust.line import sign_bytes
from tests.support.signed import ANN, EVE
from tests.support.spacesim import SpaceSim

TOOL = '"""Say hello."""\n\n__version__ = "1.0.0"\n'
NOTE = "---\ntitle: Note\nversion: 1.0.0\n---\n\n# Note\n\nA note.\n"
GOOD = {
    "tools/demo/hello.py": TOOL,
    "knowledge/demo/note.md": NOTE,
    "directives/demo/release.md": "---\ndescription: Release it.\nversion: 1.0.0\n---\n\n1. Release.\n",
}


@pytest.fixture
def sim(tmp_path: Path) -> SpaceSim:
    """Three unsigned items in the project, and ann's key as the user's own."""
    sim = SpaceSim(tmp_path, bundles=())
    for rel, text in GOOD.items():
        sim.write("project", rel, text)
    key_files.save_signing_key(sim.root("user") / key_files.SIGNING_FOLDER, ANN)
    return sim


def registry_of(sim: SpaceSim) -> Registry:
    """Return the registry of the simulated spaces."""
    return Registry(sim.project, user=sim.user, bundles=(), cache_dir=sim.cache)


def contents(sim: SpaceSim) -> dict[Path, bytes]:
    """Return every file of the project."""
    return {path: path.read_bytes() for path in sim.root("project").rglob("*") if path.is_file()}


def codes(registry: Registry) -> dict[str, str]:
    """Return the reason code of every item of the project."""
    return {item.id: item.signature.code for item in registry.verify(space="project").items}


def test_what_another_key_signed_or_changed_is_signed_again(sim: SpaceSim) -> None:
    """A valid signature of this very key is left alone; an item of an unknown key is signed if it is named itself."""
    registry = registry_of(sim)
    registry.sign("*")
    sim.sign("project", "tools/demo/hello.py", EVE)
    left = registry.sign("*")
    assert "tool:demo/hello; read them, then name each one" in left.warnings[0]
    assert "demo/hello" not in {item.id for item in left.items}
    note = sim.path("project", "knowledge/demo/note.md")
    note.write_bytes(note.read_bytes() + b"more\n")
    found = {item.id: (item.changed, item.code) for item in registry.sign("*", "tool:demo/hello").items}
    assert found == {
        "demo/hello": (True, "unknown-key"),
        "demo/note": (True, "digest"),
        "demo/release": (False, ""),
    }
    assert set(codes(registry).values()) == {"ok"}


BAD = {
    "tools/demo/late.py": (
        '"""Late."""\n__version__ = "latest"\n',
        ["version 'latest' is not a version such as 1.0.0"],
    ),
    "tools/demo/other.py": (
        '"""Other."""\n__version__ = "1.0"\n__category__ = "ops"\n',
        ["its category is 'ops', its path says 'demo'"],
    ),
    "tools/demo/data.json": (
        '# rye:signed:x\n{"description": "Data.", "version": "1.0.0"}',
        ["a .json file has no comments to hold a signature line; remove that line"],
    ),
    "tools/demo/typed.yaml": (
        "description: Typed.\nversion: 1.0.0\ntitle: [a, b]\nauthor: {name: x}\ntags: {a: b}\n",
        ["title is a list, not text", "author is a table, not text", "tags is a table, not a list of texts"],
    ),
    "tools/demo/tagged.yaml": (
        "description: Tagged.\nversion: 1.0.0\ntags: [{a: b}]\n",
        ["tags is a list of other things than text, not a list of texts"],
    ),
    "tools/demo/split.yaml": (
        "description: Split.\nversion: 1.0.0\nsuperseded_by: [a/b, tool:a/c, a/b]\nreplaced_by: a/b, a/d\n",
        [
            f"{key} names 2 items, but only one can replace it; put the others in references"
            for key in ("superseded_by", "replaced_by")
        ],
    ),
    "knowledge/demo/kind.md": (
        "---\nname: kin\ntype: tool\nid: demo/kin\ntitle: Kind\nversion: 1.0.0\n---\n\nText.\n",
        [
            "its id is 'demo/kin', its path says 'demo/kind'",
            "its name is 'kin', its path says 'kind'",
            "its type is 'tool', its path says 'knowledge'",
        ],
    ),
}


def test_all_problems_of_all_files_come_in_one_report(sim: SpaceSim) -> None:
    """Each problem is one line of the error, and nothing is written, not even the items that are well."""
    for rel, (text, _) in BAD.items():
        sim.write("project", rel, text)
    sim.write("project", "tools/demo/binary.py", b"\xff\xfe")
    before = contents(sim)
    for dry_run, force in ((False, False), (True, False), (False, True)):
        with pytest.raises(SigningError) as caught:
            registry_of(sim).sign("*", dry_run=dry_run, force=force)
        assert caught.value.code == "invalid-items"
        problems = caught.value.details["problems"]
        expected = [f".ai/{rel}: {words}" for rel, (_, said) in BAD.items() for words in said]
        assert sorted(line for line in problems if "binary" not in line) == sorted(expected)
        assert len([line for line in problems if line.startswith(".ai/tools/demo/binary.py: ")]) == 1
        assert all("\n" not in line for line in problems)
        assert contents(sim) == before


def test_an_encrypted_key_is_opened_only_to_sign(sim: SpaceSim) -> None:
    """Comparing takes the public half beside it; signing takes the passphrase."""
    folder = sim.root("user") / key_files.SIGNING_FOLDER
    key_files.save_signing_key(folder, EVE, name="eve", passphrase=b"secret")
    registry = registry_of(sim)
    assert registry.sign("*", key="eve", dry_run=True).fingerprint == EVE.public.fingerprint
    with pytest.raises(SigningError) as caught:
        registry.sign("*", key="eve")
    assert caught.value.code == "passphrase-needed"
    assert registry.sign("*", key="eve", passphrase=b"secret").fingerprint == EVE.public.fingerprint
    assert all(not item.changed for item in registry.sign("*", key="eve", check=True).items)


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_mode_line_ends_and_byte_order_mark_stay(sim: SpaceSim) -> None:
    """Signing adds one line and changes nothing else about a file."""
    rel = "tools/demo/run.sh"
    text = b'\xef\xbb\xbf#!/bin/sh\r\n# description: Run.\r\n# version: 1.0.0\r\necho "ran"\r\n'
    path = sim.write("project", rel, text)
    path.chmod(0o751)
    registry_of(sim).sign("tool:demo/run")
    data = path.read_bytes()
    lines = data.split(b"\r\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o751
    assert b"\r\n".join([lines[0], *lines[2:]]) == text
    assert b"\n" not in data.replace(b"\r\n", b"")


def test_a_disk_that_fills_up_says_how_many_files_were_signed(sim: SpaceSim, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was signed before stays signed."""
    for name in "abc":
        sim.write("project", f"tools/more/{name}.py", TOOL)
    replace, done = Path.replace, list[str]()

    def full(path: Path, target: Path) -> Path:
        if len(done) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        done.append(target.name)
        return replace(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        with pytest.raises(EnvironmentFault, match=r"signed 2 of 3 files, then: .*No space left"):
            registry_of(sim).sign("tool:more/*")
    assert sum(item.changed for item in registry_of(sim).sign("tool:more/*").items) == 1


def test_file_replaced_between_reading_and_writing(sim: SpaceSim, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else's change in that moment is not overwritten by the signature of what was there before."""
    path = sim.path("project", "tools/demo/hello.py")
    original = sign_bytes

    def and_then_a_change(data: bytes, **facts: object) -> bytes:
        path.write_text(TOOL + "evil()\n")
        return original(data, **facts)  # type: ignore[arg-type]

    monkeypatch.setattr("rye.keyring.jobs.sign_bytes", and_then_a_change)
    with pytest.raises(ItemError) as caught:
        registry_of(sim).sign("tool:demo/hello")
    assert caught.value.code == "changed-meanwhile"
    assert path.read_text() == TOOL + "evil()\n"


def test_symlink_out_of_the_space_is_not_signed(sim: SpaceSim) -> None:
    """A link that leads elsewhere is a problem of that file, and what it leads to stays as it is."""
    outside = sim.folder / "outside.py"
    outside.write_text(TOOL)
    sim.path("project", "tools/demo/link.py").symlink_to(outside)
    with pytest.raises((SigningError, ArgumentError)):
        registry_of(sim).sign("tool:demo/link")
    assert outside.read_text() == TOOL
