"""Verifying as a stream: the same verdicts as everywhere, on any number of processes, in bounded memory."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rye.errors import ItemError
from rye.spaces.layout import Layout
from rye.spaces.read import FolderReader
from rye.spaces.walk import list_items
from rye.trust.model import EnvelopeFormat
from rye.verify.report import VerifiedItem
from rye.verify.worker import Verifier, verify_files
from tests.support.files import executable, lay
from tests.support.signed import NOW, TRUST
from tests.support.spacesim import SpaceSim

TOOL = '"""Say {0}."""\n\n__version__ = "1.0.0"\n'


@pytest.fixture
def sim(tmp_path: Path) -> SpaceSim:
    """Items of every kind of verdict in three spaces."""
    sim = SpaceSim(tmp_path)
    for number in range(6):
        sim.add("project", f"tools/a/t{number}.py", TOOL.format(number))
        sim.add("system:shop", f"knowledge/k{number}.md", f"---\nname: k{number}\n---\n\n# K\n")
    sim.copy("project", "tools/a/t0.py", "tools/a/copied.py")
    sim.move("project", "tools/a/t1.py", "tools/b/t1.py")
    sim.re_date("project", "tools/a/t2.py")
    sim.write("project", "tools/a/unsigned.py", "#!/bin/sh\n")
    sim.write("project", "tools/a/old.py", '__category__ = "b"\n__version__ = "1"\n')
    sim.sign("project", "tools/a/old.py", form=EnvelopeFormat.V1)
    sim.write("user", "knowledge/said.md", "---\nname: other\ncategory: x\n---\n\nText.\n")
    sim.sign("user", "knowledge/said.md")
    return sim


def layout(sim: SpaceSim) -> Layout:
    """The spaces of a simulation."""
    return Layout.find(project=sim.project, user=sim.user, bundles=tuple(sim.bundles.values()))


def test_verify_search_and_show_give_one_verdict(sim: SpaceSim) -> None:
    """Whichever way an item is looked at, code, reason, signer and time are the same."""
    registry = sim.registry()
    found = {(item.source, item.ref): item.signature for item in registry.verify().items if item.bundle != "rye"}
    assert {each.code for each in found.values()} >= {"ok", "signature", "no-envelope", "misplaced"}
    hits = {
        (f"system:{hit.bundle}" if hit.bundle else hit.source, f"{hit.type}:{hit.id}"): hit.signature
        for hit in registry.search("*", limit=1000).results
    }
    for key, signature in found.items():
        assert hits[key] == signature, key
        kind, _, item_id = key[1].partition(":")
        assert registry.get(f"{kind}:{item_id}", key[0].partition(":")[0]).signature == signature


def in_small_chunks(sim: SpaceSim, **options: int) -> list[object]:
    """Return the outcomes of all files of a simulation, where four are enough for several processes."""
    found = layout(sim)
    files = [(number, file) for number, root in enumerate(found.roots) for file in list_items(root)[0]]
    return list(verify_files(files, found.roots, Verifier(TRUST, NOW), alone_below=4, **options))


def test_helpers_find_what_one_process_finds(sim: SpaceSim) -> None:
    """The outcomes and their order do not depend on how many processes work."""
    alone = in_small_chunks(sim, processes=1)
    assert len({each.signature.code for each in alone if isinstance(each, VerifiedItem)}) > 3
    assert in_small_chunks(sim, processes=3, chunk_size=2) == alone


@pytest.mark.parametrize("harm", ["no interpreter", "dies at once", "dies of the first chunk", "talks nonsense"])
def test_broken_helpers_lose_no_item(sim: SpaceSim, monkeypatch: pytest.MonkeyPatch, harm: str) -> None:
    """What was handed to helpers that do not come up or do not go on is verified by this process."""
    alone = in_small_chunks(sim, processes=1)
    read = "import os, pickle, sys; [pickle.load(sys.stdin.buffer) for _ in 'ab']; os._exit(3)"
    programs = {
        "dies at once": "exit 3",
        "dies of the first chunk": f'exec "{sys.executable}" -c "{read}"',
        "talks nonsense": "echo '[1]'; read line",
    }
    python = sim.folder / "python"
    if harm != "no interpreter":
        executable(python, programs[harm])
    monkeypatch.setattr(sys, "executable", str(python))
    assert in_small_chunks(sim, processes=2, chunk_size=1) == alone


def test_attack_many_and_deep_folders_do_not_use_up_file_handles(sim: SpaceSim) -> None:
    """A reader keeps few folders open, and reads what lies in the others as well."""
    project, root = sim.root("project"), layout(sim).roots[0]
    deep = "tools/" + "/".join(["d"] * 200) + "/t.py"
    paths = [f"knowledge/{number}/t.py" for number in range(200)]
    lay(project, dict.fromkeys([deep, *paths], "x"))
    reader, before = FolderReader(), len(list(Path("/dev/fd").iterdir()))
    for path in [*paths, deep, *paths]:
        assert reader.read(root, path) == b"x"
        assert len(list(Path("/dev/fd").iterdir())) - before < 80
    reader.close()
    assert len(list(Path("/dev/fd").iterdir())) == before


def test_a_folder_swapped_for_a_link_does_not_lead_out(sim: SpaceSim, tmp_path: Path) -> None:
    """What is put in the place of a folder after it was opened is not read through it."""
    root = layout(sim).roots[0]
    evil = lay(tmp_path / "evil", {"t0.py": "evil"})
    reader = FolderReader()
    before = reader.read(root, "tools/a/t0.py")
    folder = sim.root("project") / "tools" / "a"
    folder.rename(folder.with_name("moved"))
    folder.symlink_to(evil)
    assert reader.read(root, "tools/a/t0.py") == before
    reader.close()
    with pytest.raises(ItemError, match="leads out"):
        reader.read(root, "tools/a/t0.py")
