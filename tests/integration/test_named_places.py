"""Folders that are named by their path: whose keys count there, and that every way of asking says the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rye import Registry
from rye.cli import main
from rye.errors import ArgumentError
from rye.trust.keys import SigningKey
from rye.trust.line import sign_bytes
from rye.trust.trust_file import sign_trust_file, trust_file_bytes, trust_file_name
from rye.trust.trust_store import TRUSTED_FOLDER
from tests.support.files import lay
from tests.support.signed import PAT, SIGNED_AT, place
from tests.support.spacesim import SpaceSim

HELLO = "tools/demo/hello.py"
TEXT = '"""Say hello."""\n\n__version__ = "1.0.0"\n__category__ = "demo"\n'


@pytest.fixture
def sim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SpaceSim:
    """A project with one tool, in which we work; ann is the user."""
    sim = SpaceSim(tmp_path, bundles=())
    sim.add("project", HELLO, TEXT)
    monkeypatch.setenv("USER_SPACE", str(sim.user))
    monkeypatch.chdir(sim.project)
    return sim


def lay_root(root: Path, who: SigningKey = PAT, *, endorsed_by: SigningKey | None = None) -> Path:
    """Lay a tool with its signer's key and trust file at a place that is none of the spaces."""
    origin = place(top=".ai/" if root.name == ".ai" else "")
    name = TRUSTED_FOLDER / trust_file_name(who.public)
    trust = trust_file_bytes(who.public, owner="pat")
    if endorsed_by is not None:
        trust = sign_trust_file(trust, stem=name.stem, key=endorsed_by, now=SIGNED_AT)
    tool = sign_bytes(TEXT.encode(), suffix=".py", origin=origin, key=who, now=SIGNED_AT)
    lay(root, {HELLO: tool, name.as_posix(): trust})
    return root


def here(sim: SpaceSim, **options: object) -> Registry:
    """A registry of the project in which we work."""
    return sim.registry(bundles=(), **options)


def codes(sim: SpaceSim, *targets: object, **options: object) -> list[tuple[str, str]]:
    """Return source and code of each item that verify finds."""
    items = here(sim, **options).verify(*map(str, targets)).items
    return [(item.source, item.signature.code) for item in items]


def test_two_bundles_of_one_name_are_both_verified(sim: SpaceSim, capsys: pytest.CaptureFixture[str]) -> None:
    """Each under an id of its own; a folder that is named in two ways is one."""
    folders = [lay_root(sim.folder / name / "items") for name in ("a", "b")]
    sim.trust(
        PAT,
        patterns=(
            "bundle:items",
            "bundle:items#2",
        ),
    )
    assert codes(sim, *folders) == [("system:items", "ok"), ("system:items#2", "ok")]
    assert codes(sim, folders[0], f"{folders[0]}/../items", folders[0] / "tools") == [("system:items", "ok")]
    assert main(["verify", *map(str, folders)]) == 0
    assert "2 items: 2 trusted" in capsys.readouterr().out
    (folders[0] / HELLO).write_bytes(TEXT.encode())
    assert main(["verify", *map(str, folders)]) == 1


def test_a_bundle_is_not_trusted_for_being_named(
    sim: SpaceSim, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By its path, with an option, in the environment or from Python, and a project named as a bundle no more."""
    host, items = lay_root(sim.folder / "host" / ".ai").parent, lay_root(sim.folder / "items")
    (trust_file,) = (items / TRUSTED_FOLDER).iterdir()

    def found(*options: str) -> set[str]:
        capsys.readouterr()
        main(["verify", "--json", *options])
        items = json.loads(capsys.readouterr().out)["items"]
        return {each["code"] for each in items if each["space"] == "system" and each["bundle"] != "rye"}

    for folder in (host, items):
        for words in ((), ("--space", "system"), ("tool:demo/*",), (str(folder),)):
            assert found("--bundle", str(folder), *words) == {"foreign-key"}
        assert found("--bundle", str(folder), "--trust", str(trust_file)) == {"ok"}
    assert found(str(items)) == {"foreign-key"}
    for given in ("bundles", "more_bundles"):
        report = Registry(sim.project, user=sim.user, **{given: [host]}).verify(space="system")  # type: ignore[arg-type]
        assert {each.signature.code for each in report.items if each.bundle == "host"} == {"foreign-key"}
    monkeypatch.setenv("RYE_BUNDLES", str(host))
    assert found() == {"foreign-key"}
    sim.trust(PAT, patterns=("bundle:host",))
    assert found() == {"ok"}
    assert found(str(items)) == {"foreign-key"}


def test_another_project_is_not_signed_by_its_path(sim: SpaceSim) -> None:
    """Signing is for the project one works in, or names with ``--project``."""
    other = lay_root(sim.folder / "other" / ".ai")
    before = (other / HELLO).read_bytes()
    sim.save_user_key()
    with pytest.raises(ArgumentError, match="lies in project:other"):
        here(sim).sign(str(other), force=True)
    assert (other / HELLO).read_bytes() == before


# what a folder hides


# a ``.ai`` that is not a folder, or another one's


def test_nothing_is_written_into_another_project_through_a_link(
    sim: SpaceSim, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each command that writes refuses, by whatever name the key or item is given; reading goes on."""
    sim.save_user_key()
    sim.trust(PAT, "project", owner="pat")
    (trust_file,) = (sim.root("project") / TRUSTED_FOLDER).iterdir()
    pem = lay(sim.folder, {"pat.pem": PAT.public.pem}) / "pat.pem"
    one = sim.folder / "one"
    one.mkdir()
    (one / ".ai").symlink_to(sim.root("project"))
    monkeypatch.chdir(one)
    files = {path: path.read_bytes() for path in sim.root("project").rglob("*") if path.is_file()}
    for words in (
        ("sign", "--yes", "--all", "--force"),
        ("sign", "tool:demo/hello", "--dry-run"),
        ("trust", "add", str(pem), "--space", "project", "--force", "--yes"),
        ("trust", "revoke", "--yes", PAT.public.fingerprint, "--space", "project"),
        ("trust", "remove", "--yes", PAT.public.fingerprint, "--space", "project"),
        ("trust", "endorse", PAT.public.fingerprint, "--yes"),
        ("trust", "endorse", f".ai/{TRUSTED_FOLDER}/{trust_file.name}", "--yes"),
        ("sign", "list", "--yes"),
        ("sign", "list", "--add", "--yes"),
    ):
        capsys.readouterr()
        assert main(list(words)) == 2
        assert "error[project-elsewhere]" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in sim.root("project").rglob("*") if path.is_file()} == files
    assert main(["verify", "--space", "project"]) == main(["sign", "--all", "--check"]) == 0
