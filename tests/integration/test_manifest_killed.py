"""A writer killed with SIGKILL, at each of its steps and at random moments: the manifest holds, and the next one heals.

The writer is a child of a process that has loaded everything. An audit hook in it kills it before the n-th change to a
file or folder (creating, renaming, removing), for every n until it comes to its end; then again after random times.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rye.keyring import key_files
from tests.support.attacks import HELLO, TEXT
from tests.support.signed import ANN, BEA, key
from tests.support.spacesim import SpaceSim

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL"),
]

KILLER = r'''
import contextlib, io, json, os, random, shutil, signal, sys, time

import rye.manifest.check, rye.manifest.write
from rye.cli.app import main

assert rye.manifest.check.check_manifest and rye.manifest.write.write_manifest

project, words, moments = json.loads(sys.argv[1])
ai = os.path.join(project, ".ai")
manifest, spare = os.path.join(ai, "config", "manifest"), project + ".spare"
shutil.rmtree(spare, ignore_errors=True)
shutil.copytree(ai, spare)
changing = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "shutil.rmtree"}


def run(*words):
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(io.StringIO()):
        status = main([*words, "--project", project, "--json"])
    return status, json.loads(said.getvalue())


def check():
    status, answer = run("manifest", "check", "--reset", "--yes")
    (report,) = answer["manifests"]
    return status, report["version"], sorted(f["code"] for f in report["findings"] if f["severity"] == "error")


def arm(countdown):
    left = [countdown]

    def hook(event, args):
        if event in changing or event == "open" and isinstance(args[2], int) and args[2] & os.O_CREAT:
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
            left[0] -= 1

    sys.addaudithook(hook)


def attempt(countdown, after):
    """Write in a child that is killed; return whether it was, and what is checked then, and after writing again."""
    shutil.rmtree(os.environ["RYE_STATE_DIR"], ignore_errors=True)
    shutil.rmtree(ai)
    shutil.copytree(spare, ai)
    child = os.fork()
    if not child:
        if countdown is not None:
            arm(countdown)
        os._exit(run(*words)[0])
    if after is not None:
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    first = check()
    healed, answer = run(*words)
    names = sorted(os.listdir(manifest)) + [name for name in os.listdir(os.path.dirname(manifest)) if name[0] == "."]
    return os.WIFSIGNALED(status), first, (healed, answer.get("missing"), answer.get("error")), check(), names


rows, number, killed = [], 0, True
started = time.perf_counter()
while killed:
    rows.append(attempt(number, None))
    killed, number = rows[-1][0], number + 1
span = 2 * (time.perf_counter() - started) / number
random.seed(number)
rows += [attempt(None, random.uniform(0, span)) for _ in range(moments)]
print(json.dumps(rows))
'''


@pytest.fixture
def sim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SpaceSim:
    """A project with three items and the keys of two people."""
    found = SpaceSim(tmp_path, bundles=())
    monkeypatch.setenv("USER_SPACE", str(found.user))
    monkeypatch.setenv("RYE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.delenv("RYE_SIGNING_KEY", raising=False)
    found.save_user_key()
    key_files.save_signing_key(found.root("user") / key_files.SIGNING_FOLDER, BEA, name="bea")
    found.trust(BEA, owner="bea")
    for rel in (HELLO, "tools/demo/other.py", "tools/shop/one.py"):
        found.add("project", rel, TEXT)
    return found


def killed(sim: SpaceSim, *words: str, moments: int = 1) -> list[Any]:
    """Kill a command at each step and at random moments; return a row for each."""
    done = subprocess.run(  # noqa: PLW1510 - what it says is shown below
        [sys.executable, "-c", KILLER, json.dumps([str(sim.project), words, moments])],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert isinstance(rows, list)
    return rows


def write(sim: SpaceSim, *words: str) -> None:
    """Write a manifest that stands before the one that is killed."""
    from rye.cli.app import main

    assert main(["manifest", "write", "--project", str(sim.project), *words]) == 0


def trust_files(sim: SpaceSim) -> dict[str, str]:
    """Return the trust file of each person."""
    return {"ann": str(sim.trust(ANN, owner="ann")), "bea": str(sim.trust(BEA, owner="bea"))}


def assert_whole(rows: list[Any], *, old: list[str]) -> None:
    """Each time the old manifest held or the new one, both occurred, and writing again healed all."""
    assert sum(row[0] for row in rows) >= 10, "too few were killed"
    outcomes = [tuple(row[1][2]) for row in rows]
    assert set(outcomes) == {tuple(old), ()}
    assert outcomes[0] == tuple(old)
    for _, _, healed, (status, _, codes), names in rows:
        assert (healed[0], status, codes) == (0, 0, []), healed
        assert not [name for name in names if name.endswith(".tmp")]
        assert len([name for name in names if name.endswith(".targets.json")]) == 1


def test_killed_while_the_first_one_is_written(sim: SpaceSim) -> None:
    """There is none, or all of it."""
    assert_whole(killed(sim, "manifest", "write"), old=["manifest-missing"])


def test_killed_while_the_first_one_is_written_beside_a_file_of_ones_own(sim: SpaceSim) -> None:
    """The folder cannot appear at once; what has no root yet is begun again."""
    folder = sim.root("project") / "config" / "manifest"
    folder.mkdir(parents=True)
    (folder / "README.md").write_text("by hand")
    rows = killed(sim, "manifest", "write")
    assert {tuple(row[1][2]) for row in rows} == {("manifest-missing",), ("manifest-malformed",), ()}
    assert {(row[2][0], row[3][0]) for row in rows} == {(0, 0)}


def test_killed_while_the_next_one_is_written(sim: SpaceSim) -> None:
    """The list is the old one, which an item contradicts, or the new one."""
    write(sim)
    sim.add("project", HELLO, TEXT + "# changed\n")
    assert_whole(killed(sim, "manifest", "write", moments=6), old=["item-changed"])


def test_killed_while_the_keys_change(sim: SpaceSim) -> None:
    """The new list holds under the old root before the new root stands, so no moment is between them."""
    files = trust_files(sim)
    write(sim)
    sim.add("project", HELLO, TEXT + "# changed\n")
    rows = killed(sim, "manifest", "write", "--root-key", files["bea"], "--key", "private_key", "--key", "bea")
    assert_whole(rows, old=["item-changed"])


def test_killed_while_the_keys_and_the_threshold_change(sim: SpaceSim) -> None:
    """From one signer to two."""
    files = trust_files(sim)
    write(sim)
    sim.delete("project", HELLO)
    keys = ("--root-key", files["ann"], "--root-key", files["bea"], "--threshold", "2")
    rows = killed(sim, "manifest", "write", *keys, "--key", "private_key", "--key", "bea")
    assert_whole(rows, old=["item-removed"])


def test_killed_while_a_namespace_is_delegated(sim: SpaceSim) -> None:
    """The new list, the delegate's and who may write it come as one."""
    files = trust_files(sim)
    write(sim)
    sim.add("project", "tools/shop/one.py", TEXT + "# changed\n")
    rows = killed(
        sim, "manifest", "write", "--delegate", f"shop/*={files['bea']}", "--key", "private_key", "--key", "bea"
    )
    assert_whole(rows, old=["item-changed"])


def test_killed_while_a_delegation_passes_to_another(sim: SpaceSim) -> None:
    """The delegate's key changes, or nobody is one any more."""
    files = trust_files(sim)
    other = key_files.save_signing_key(sim.folder / "keys", key("shop"))
    third = str(sim.trust(key("shop"), owner="third"))
    write(sim, "--delegate", f"shop/*={files['bea']}", "--key", "private_key", "--key", "bea")
    sim.add("project", "tools/shop/one.py", TEXT + "# changed\n")
    words = ("manifest", "write", "--key", "private_key")
    rows = killed(sim, *words, "--key", str(other), "--delegate", f"shop/*={third}")
    assert_whole(rows, old=["item-changed"])
    sim.add("project", "tools/shop/one.py", TEXT + "# changed again\n")
    rows = killed(sim, *words, "--no-delegates")
    assert_whole(rows, old=["item-changed"])


def test_killed_while_signatures_are_added(sim: SpaceSim) -> None:
    """It lacks a signature until the last file has it, and a second attempt adds what is missing."""
    files = trust_files(sim)
    keys = ("--root-key", files["ann"], "--root-key", files["bea"], "--threshold", "2")
    write(sim, *keys, "--key", "private_key")
    rows = killed(sim, "manifest", "write", "--cosign", "--key", "bea")
    assert {tuple(row[1][2]) for row in rows} <= {("manifest-unknown-signer",), ("manifest-threshold",), ()}
    assert {(row[2][0], row[3][0]) for row in rows} == {(0, 0)}


def test_killed_while_one_is_begun_anew(sim: SpaceSim) -> None:
    """Nothing but the old one or the new one ever passes a check; the same command heals what is between."""
    write(sim, "--key", "bea")
    sim.add("project", HELLO, TEXT + "# changed\n")
    rows = killed(sim, "manifest", "write", "--new")
    versions = {tuple(row[1][2]): row[1][0] for row in rows}
    assert versions[()] == 0
    assert all(status == 1 for codes, status in versions.items() if codes)
    assert {(row[2][0], row[3][0]) for row in rows} == {(0, 0)}
