"""What a target names, and which faults of a walk concern it: what was not asked for is not reported."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rye.cli import main
from rye.errors import ArgumentError, SigningError
from rye.spaces.layout import Layout
from rye.spaces.targets import read_targets
from rye.verify.facts import facts
from rye.verify.report import Unchecked
from rye.verify.subject import subject_of
from tests.support.signed import ANN
from tests.support.spacesim import SpaceSim

TOOL = '"""Say it."""\n\n__version__ = "1.0.0"\n'


@pytest.fixture
def sim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SpaceSim:
    """Two good tools; beside the one a link that leads nowhere and a folder that no id can name."""
    sim = SpaceSim(tmp_path, bundles=())
    for name in ("a/good", "b/good"):
        sim.add("project", f"tools/{name}.py", TOOL)
    folder = sim.root("project") / "tools" / "b"
    (folder / "gone.py").symlink_to("nowhere")
    (folder / "odd\x01").mkdir()
    monkeypatch.setenv("USER_SPACE", str(sim.user))
    monkeypatch.chdir(sim.project)
    return sim


def layout(sim: SpaceSim) -> Layout:
    """The spaces of a simulation."""
    return Layout.find(project=sim.project, user=sim.user, bundles=())


def faults(sim: SpaceSim, text: str) -> list[str]:
    """Return the codes of what could not be checked when that is asked for."""
    return [each.code for each in facts(subject_of((text,), layout(sim))) if isinstance(each, Unchecked)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tool:a/good", []),
        ("tool:a/*", []),
        ("a/*", []),
        ("tool.a.*", []),
        ("tool.a.good", []),
        (".ai/tools/a", []),
        (".ai/tools/b/good.py", []),
        ("tool:b/good", []),
        ("tool:b/gone", ["broken-link", "no-match"]),
        ("tool:b/g*", ["broken-link"]),
        ("tool:?/*", ["bad-name", "broken-link"]),
        ("*/good", ["bad-name", "broken-link"]),
        ("tool.b.*", ["bad-name", "broken-link"]),
        ("tool", ["bad-name", "broken-link"]),
        ("*", ["bad-name", "broken-link"]),
        (".ai/tools/b", ["bad-name", "broken-link"]),
        (".ai/tools/b/gone.py", ["broken-link", "no-match"]),
        (".ai", ["bad-name", "broken-link"]),
    ],
)
def test_only_problems_where_a_target_may_be_are_reported(sim: SpaceSim, text: str, expected: list[str]) -> None:
    """A fault elsewhere in the space is no reason why what was asked for could not be checked."""
    assert sorted(faults(sim, text)) == expected
    assert (main(["verify", text]) == 2) == bool(expected)


@pytest.mark.parametrize(
    ("text", "folder", "covered"),
    [
        ("tool:a/b/c", "tools", True),
        ("tool:a/b/c", "tools/a", True),
        ("tool:a/b/c", "tools/a/b", True),
        ("tool:a/b/c", "tools/ab", False),
        ("tool:a/b/c", "knowledge/a", False),
        ("tool:a?/c", "tools/ax", True),
        ("a/*", "knowledge/a", True),
        ("a/*", "knowledge/b", False),
        ("tool.a.b.*", "tools/a", True),
        ("tool.a.b.*", "tools/a/b/c", True),
        ("tool.a.b.*", "tools/a/c", False),
        ("knowledge", "tools/a", False),
        ("knowledge", "knowledge/a", True),
        (".ai/tools/a/good.py", "tools/a", True),
        (".ai/tools/a/good.py", "tools", True),
        (".ai/tools/a", "tools/a/below", True),
        (".ai/tools/a", "tools/b", False),
        (".ai/tools/a", "tools/aa", False),
    ],
)
def test_a_folder_that_cannot_be_listed_counts_where_the_target_may_be_in_it(
    sim: SpaceSim,
    text: str,
    folder: str,
    *,
    covered: bool,
) -> None:
    """Above or below what is named; a folder beside it does not count."""
    (target,) = read_targets((text,), layout(sim), "project")
    assert target.covers(target.roots[0], folder) is covered


def test_a_space_that_may_not_be_entered_is_not_an_empty_one(sim: SpaceSim, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may enter everything, so the refusal is put in: signing and verifying say what is the matter."""
    real, base = os.scandir, str(sim.root("project"))

    def refuse(path: str) -> Iterator[os.DirEntry[str]]:
        if str(path).startswith(base):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(SigningError) as caught:
        sim.registry(bundles=()).sign("*", check=True, key=_pem(sim))
    assert caught.value.code == "invalid-items"
    assert "tools: the folder cannot be read: Permission denied" in caught.value.details["problems"]
    assert set(faults(sim, "*")) == {"unreadable", "no-match"}
    assert main(["verify", "--space", "project"]) == 2


def _pem(sim: SpaceSim) -> str:
    pem = sim.folder / "key.pem"
    pem.write_bytes(ANN.to_pem())
    pem.chmod(0o600)
    return str(pem)


def test_what_cannot_be_listed_is_not_left_unsigned_in_silence(sim: SpaceSim) -> None:
    """Signing all refuses as it does for every other problem; signing what is well beside it does not."""
    registry, pem = sim.registry(), _pem(sim)
    with pytest.raises(SigningError) as caught:
        registry.sign("*", key=pem)
    assert (caught.value.code, len(caught.value.details["problems"])) == ("invalid-items", 2)
    with pytest.raises(SigningError, match="problem"):
        registry.sign("*", key=pem, check=True)
    assert len(registry.sign("tool:a/*", key=pem, force=True).items) == 1


@pytest.mark.parametrize(
    ("folder", "space", "message"),
    [
        (".", "all", "only a folder in it can be left out"),
        (".ai", "all", "is verified as a whole"),
        (".ai/tools/a", "project", "is verified as a whole"),
        ("nowhere", "all", "is not in"),
        ("nowhere", "user", "with --space user no projects are looked for"),
        ("packages", "system", "with --space system no projects are looked for"),
    ],
)
def test_what_cannot_be_left_out_is_refused(sim: SpaceSim, folder: str, space: str, message: str) -> None:
    """Else the answer would say that something was left out which was verified all the same, or never looked for."""
    (sim.project / "packages").mkdir()
    with pytest.raises(ArgumentError, match=message) as caught:
        read_targets((), layout(sim), space, without=[Path(folder)])
    assert caught.value.code == "bad-exclude"
    assert read_targets((), layout(sim), "all", without=[Path("packages")])


def test_a_file_outside_the_folders_of_items_is_said_to_be_no_item(sim: SpaceSim) -> None:
    """Signing it says what it is and how to make an item of it, not that nothing matches its name."""
    (sim.project / "notes.md").write_text("# Notes\n", encoding="utf-8")
    with pytest.raises(ArgumentError, match="is no item: it lies in no folder of items") as caught:
        sim.registry().sign("notes.md", key=_pem(sim))
    assert "rye import notes.md" in str(caught.value.hint)
