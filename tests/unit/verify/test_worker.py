"""Verifying as a stream: the same verdicts as everywhere, on any number of processes, in bounded memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rye import Registry
from rye.errors import ItemError
from rye.items.model import ItemType
from rye.items.reader import MAX_BYTES, parse
from rye.spaces.layout import Layout
from rye.spaces.model import Root, Space
from rye.spaces.read import FolderReader, read_file
from rye.spaces.walk import Walk, list_items
from rye.trust.evidence import inspect
from rye.trust.judge import judge
from rye.trust.model import EnvelopeFormat, Origin
from rye.trust.trust_set import TrustSet
from rye.verify.report import Unchecked, VerifiedItem
from rye.verify.stream import stream_outcomes
from rye.verify.worker import _CHUNK, Verifier, verify_files
from tests.support.files import executable, lay
from tests.support.signed import ASSETS, GOLDEN, NOW, TRUST
from tests.support.spacesim import SpaceSim

ROOT = Path(__file__).resolve().parents[2]
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


def verdicts(registry: Registry, processes: int = 1) -> dict[tuple[str, str], str]:
    """Source and reference of every item → its code."""
    report = registry.verify(processes=processes)
    assert report.problems == ()
    return {(item.source, item.ref): item.signature.code for item in report.items if item.bundle != "rye"}


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


@pytest.mark.parametrize("name", GOLDEN)
def test_a_golden_file_is_judged_the_same_without_being_parsed(tmp_path: Path, name: str) -> None:
    """What verify finds without reading the rest of a file is what is found from all of it."""
    golden, data = GOLDEN[name], (ASSETS / name).read_bytes()
    kind, suffix = ItemType(golden.origin.item_type), Path(name).suffix
    root = Root(Space(golden.origin.space), tmp_path, golden.origin.bundle)
    lay(tmp_path, {f"{kind.folder}/{golden.origin.item_id}{suffix}": data})
    (file,) = list_items(root)[0]
    found = Verifier(TRUST, NOW).check(root, file)
    declared = parse(data, item_type=kind, item_id=golden.origin.item_id, suffix=suffix).declared
    evidence = inspect(data, origin=golden.origin, declared=declared, suffix=suffix)
    assert isinstance(found, VerifiedItem)
    assert found.signature == judge(evidence, origin=golden.origin, trust=TRUST, now=NOW)
    assert found.digest == evidence.content_digest
    assert found.line == {"below-content.py": 2, "v2-below-shebang.sh": 2, "outside-shebang.sh": 2}.get(
        name, found.line
    )


def test_a_v2_item_with_metadata_that_cannot_be_read_is_still_verified(sim: SpaceSim) -> None:
    """The line covers the bytes whatever they are; of an older line the place is unknown, which is no verdict."""
    broken = f"---\nname: {'[' * 200}{']' * 200}\n---\n\nText\n"
    sim.add("project", "knowledge/new.md", broken)
    sim.write("project", "knowledge/older.md", broken)
    sim.sign("project", "knowledge/older.md", form=EnvelopeFormat.V1)
    outcomes = list(stream_outcomes(("knowledge",), layout(sim), space="project"))
    (item,) = [each for each in outcomes if isinstance(each, VerifiedItem)]
    (problem,) = [each for each in outcomes if isinstance(each, Unchecked)]
    assert (item.id, item.signature.code) == ("new", "ok")
    assert (problem.code, problem.path) == ("too-deep", str(sim.path("project", "knowledge/older.md")))


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


def test_memory_does_not_grow_with_the_number_of_files(tmp_path: Path) -> None:
    """Files are taken as they are needed: of a list without end, what is asked for is answered."""
    lay(tmp_path, {"tools/a.py": "x"})
    root = Root(Space.PROJECT, tmp_path)
    (file,) = list_items(root)[0]
    taken = 0

    def endless() -> object:
        nonlocal taken
        while True:
            taken += 1
            yield 0, file

    outcomes = verify_files(endless(), (root,), Verifier(TrustSet(), NOW), processes=1)  # type: ignore[arg-type]
    assert [next(outcomes) for _ in range(3)]
    assert taken <= 3 + _CHUNK


def test_walking_along_finds_what_walking_finds(sim: SpaceSim) -> None:
    """The same files and faults, folder by folder in a fixed order."""
    root = layout(sim).roots[0]
    (sim.root("project") / "tools" / "a" / "out.py").symlink_to("/etc/passwd")
    (sim.root("project") / "tools" / "linked").symlink_to("a")
    files, faults = list_items(root)
    along = list(Walk(root).files())
    assert sorted(each for each in along if not isinstance(each, ItemError)) == list(files)
    assert [each.message for each in along if isinstance(each, ItemError)] == [each.message for each in faults]
    assert [str(each) for each in Walk(root).files()] == [str(each) for each in along]


def test_a_folder_reader_reads_as_a_single_read_does(sim: SpaceSim) -> None:
    """Bytes and faults are those of ``read_file``: for links, what is gone, what is no file, and odd paths."""
    root = layout(sim).roots[0]
    tools = sim.root("project") / "tools" / "a"
    (tools / "out.py").symlink_to("/etc/passwd")
    (tools / "in.py").symlink_to("t0.py")
    (tools / "folder.py").mkdir()
    (tools / "large.py").write_bytes(b"x" * (MAX_BYTES + 1))
    (sim.root("project") / "tools" / "linked").symlink_to("a")
    os.mkfifo(tools / "pipe.py")
    reader = FolderReader()
    names = ("t0", "in", "out", "folder", "large", "pipe", "none", "unsigned")
    paths = [f"tools/{folder}/{name}.py" for folder in ("a", "linked", "nowhere") for name in names]
    for path in [*paths, "tools/a/..", "tools/../x.py", "x.py", "tools/a/", "tools/a/\0", "", "/etc/passwd"]:
        assert read_of(reader.read, root, path) == read_of(read_file, root, path), path
    reader.close()


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


def read_of(read: object, root: Root, path: str) -> tuple[str, bytes]:
    """The code of the fault, or the bytes."""
    assert callable(read)
    try:
        return "", read(root, path)
    except ItemError as error:
        return error.message, b""


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


def test_a_helper_needs_no_index_to_start() -> None:
    """What a helper imports is what reads and judges a file: no index, no search, no command line."""
    code = "import sys, rye.verify.worker; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert loaded & {"numpy", "whoosh", "click", "rye.index", "rye.search", "rye.cli", "yaml"} == set()


def test_a_registry_of_nothing_has_nothing_to_verify(tmp_path: Path) -> None:
    """No item of one's own is not well: status 2."""
    (tmp_path / "project").mkdir()
    run = Registry(tmp_path / "project", user=tmp_path / "home", bundles=()).check()
    assert [entry.code for entry in run if isinstance(entry, Unchecked)] == ["nothing-of-your-own"]
    assert run.status == 2
    assert Origin("user", "", "tool", "a").space == "user"
