"""What a manifest is compared with is what was judged: each file is read once, and none can be another one by then."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from rye import Registry
from rye.cli.app import main
from rye.verify.reports import Finding, VerifiedItem
from tests.support.attacks import HELLO, TEXT
from tests.support.spacesim import SpaceSim

OTHER = "tools/demo/other.py"

WATCHED = """
import json, sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
from rye.cli.app import main
status = main(sys.argv[1:])
print(json.dumps({"status": status, "opened": opened, "modules": sorted(sys.modules)}), file=sys.stderr)
"""


@pytest.fixture
def sim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SpaceSim:
    """A project with two signed tools, and a state folder of the test's own."""
    found = SpaceSim(tmp_path, bundles=())
    monkeypatch.setenv("USER_SPACE", str(found.user))
    monkeypatch.setenv("RYE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.chdir(found.project)
    monkeypatch.delenv("RYE_SIGNING_KEY", raising=False)
    found.save_user_key()
    found.add("project", HELLO, TEXT)
    found.add("project", OTHER, TEXT)
    return found


def watched(*words: str) -> dict[str, object]:
    """Run a command in a process of its own; return its status, the files it opened, and the modules it loaded."""
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, *words],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
    )
    found = json.loads(done.stderr.splitlines()[-1])
    assert isinstance(found, dict)
    return found


def codes(sim: SpaceSim, *targets: str, processes: int = 1) -> list[tuple[str, str]]:
    """Return item and code of each finding of a run."""
    run = Registry(sim.project, user=sim.user, bundles=()).check(
        *targets, space="project", require_manifest=True, processes=processes
    )
    return [(found.item.ref, found.code) for found in run if isinstance(found, Finding)]


def test_a_manifest_makes_no_file_be_read_twice(sim: SpaceSim) -> None:
    """With a manifest, and also where only one item is named; what is unsigned is read twice more for its fix."""
    sim.write("project", "tools/demo/unsigned.py", TEXT.encode())
    assert main(["manifest", "write"]) == 0
    for words, times in ((("--require", "signed"), 3), (("tool:demo/hello",), 1)):
        answer = watched("verify", "--space", "project", "--require-manifest", *words)
        opened = answer["opened"]
        assert isinstance(opened, list)
        names = Counter(Path(path).name for path in opened)
        assert [names[name] for name in ("hello.py", "other.py", "unsigned.py")] == [1, 1, times]


@pytest.mark.parametrize("targets", [(), ("tool:demo/*",)])
def test_a_file_put_back_after_its_verdict_is_found(sim: SpaceSim, targets: tuple[str, ...]) -> None:
    """Another well signed version stands there when it is judged, and the listed one when the manifest's turn comes."""
    listed = (sim.root("project") / OTHER).read_bytes()
    assert main(["manifest", "write"]) == 0
    sim.add("project", OTHER, TEXT + "# another version, signed as well\n")
    run = Registry(sim.project, user=sim.user, bundles=()).check(*targets, space="project", require_manifest=True)
    found = []
    for entry in run:
        if isinstance(entry, VerifiedItem) and entry.id == "demo/other":
            sim.write("project", OTHER, listed)
        if isinstance(entry, Finding):
            found.append((entry.item.ref, entry.code))
    assert (found, run.status) == ([("tool:demo/other", "item-changed")], 1)
    assert codes(sim) == []


def test_a_file_replaced_after_its_verdict_is_for_the_next_run(sim: SpaceSim) -> None:
    """The run speaks of what it judged, as a whole; the next one finds what stands there since."""
    assert main(["manifest", "write"]) == 0
    run = Registry(sim.project, user=sim.user, bundles=()).check(space="project")
    for entry in run:
        if isinstance(entry, VerifiedItem) and entry.id == "demo/other":
            sim.add("project", OTHER, TEXT + "# later\n")
    assert run.status == 0
    assert codes(sim) == [("tool:demo/other", "item-changed")]


def test_an_item_away_while_the_space_is_listed_is_missing(sim: SpaceSim) -> None:
    """It gets no verdict, so it does not count as there because it is put back before the manifest's turn."""
    listed = (sim.root("project") / OTHER).read_bytes()
    assert main(["manifest", "write"]) == 0
    sim.delete("project", OTHER)
    run = Registry(sim.project, user=sim.user, bundles=()).check(space="project")
    found = []
    for entry in run:
        if isinstance(entry, VerifiedItem):
            sim.write("project", OTHER, listed)
        if isinstance(entry, Finding):
            found.append((entry.item.ref, entry.code))
    assert found == [("tool:demo/other", "item-removed")]


def test_helpers_say_what_they_read(sim: SpaceSim) -> None:
    """With several processes the list is compared with what each of them judged."""
    for number in range(560):
        sim.add("project", f"tools/many/n{number}.py", f"{TEXT}# {number}\n")
    assert main(["manifest", "write"]) == 0
    assert codes(sim, processes=2) == []
    sim.add("project", "tools/many/n7.py", f"{TEXT}# seven\n")
    sim.delete("project", "tools/many/n9.py")
    assert sorted(codes(sim, processes=2)) == [
        ("tool:many/n7", "item-changed"),
        ("tool:many/n9", "item-removed"),
    ]


def test_what_is_not_named_is_still_compared(sim: SpaceSim) -> None:
    """A target narrows the verdicts, not the manifest."""
    assert main(["manifest", "write"]) == 0
    sim.add("project", OTHER, TEXT + "# other\n")
    assert codes(sim, "tool:demo/hello") == [("tool:demo/other", "item-changed")]


@pytest.mark.parametrize("targets", [(), ("tool:demo/hello",)])
@pytest.mark.parametrize("place", [OTHER, "tools/aside"])
def test_what_cannot_be_read_is_not_called_removed(
    sim: SpaceSim, place: str, targets: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """A file or folder put elsewhere behind a link is not followed: status 2, and nothing is made up about it."""
    sim.add("project", "tools/aside/one.py", TEXT)
    assert main(["manifest", "write"]) == 0
    path, elsewhere = sim.root("project") / place, sim.folder / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    capsys.readouterr()
    status = main(["verify", "--space", "project", "--require-manifest", "--json", *targets])
    answer = json.loads(capsys.readouterr().out)
    assert (status, answer["findings"], len(answer["unchecked"])) == (2, 0, 1)
    assert main(["manifest", "check"]) == 2
    assert main(["manifest", "write", "--cosign"]) == 2
    path.unlink()
    elsewhere.rename(path)
    assert main(["manifest", "check"]) == 0


@pytest.mark.parametrize("form", ["text", "sarif", "json"])
def test_without_a_manifest_no_tuf_is_loaded(sim: SpaceSim, form: str) -> None:
    """Whether a space has or had a manifest is asked without python-tuf; with one it is needed."""
    words = ("verify", "--space", "project", "--format", form)

    def loaded() -> set[str]:
        answer = watched(*words)
        modules = answer["modules"]
        assert isinstance(modules, list)
        return {name.partition(".")[0] for name in modules} & {"tuf", "securesystemslib"}

    assert loaded() == set()
    assert main(["manifest", "write"]) == 0
    assert loaded() == {"tuf", "securesystemslib"}
    folder = sim.root("project") / "config" / "manifest"
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    answer = watched(*words)
    assert answer["status"] == 1, "a manifest that was seen and is gone is noticed all the same"


def test_importing_what_verifies_loads_no_tuf() -> None:
    """Neither the registry nor the command needs it before there is a manifest."""
    code = (
        "import sys, rye.registry.registry, rye.keyring.manifests, rye.cli.commands.verify; print(*sorted(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = done.stdout.split()
    assert "rye.manifest.store" in names
    assert [name for name in names if name.startswith(("tuf", "securesystemslib"))] == []
