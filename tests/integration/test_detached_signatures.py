"""A file and its detached signature are one item, wherever items are signed, copied, compared, listed or read."""

from __future__ import annotations

from pathlib import Path

import pytest

from rye import Registry
from rye.index.build.refresh import SpaceIndex
from rye.spaces.model import ItemFile, Root
from rye.spaces.read import read_file
from rye.spaces.signed import read_item, read_signed
from rye.spaces.walk import stat_items
from rye.trust.line import DETACHED_SUFFIX
from rye.verify.report import Violation
from tests.support.signed import ANN, EVE
from tests.support.spacesim import SpaceSim

DATA, TEXT = "tools/demo/data.json", '{"description": "Data.", "version": "1.0.0"}\n'
SIG = DATA + DETACHED_SUFFIX


@pytest.fixture
def sim(tmp_path: Path) -> SpaceSim:
    """A JSON tool in the project, unsigned, and ann's key as the user's own."""
    sim = SpaceSim(tmp_path, bundles=())
    sim.write("project", DATA, TEXT)
    sim.save_user_key()
    return sim


def code(registry: Registry, *texts: str, strict: bool = False) -> tuple[list[str], int, list[str]]:
    """Return the codes of items, the exit status and the codes of what may not be there."""
    run = registry.verify(*texts, space="project", strict=strict)
    beside = [each.code for each in run.found if isinstance(each.item, Violation)]
    return [item.signature.code for item in run.items], run.status, beside


def test_signing_writes_the_signature_and_leaves_the_file(sim: SpaceSim) -> None:
    """Once; again only with force or where it does not hold; a dry run and a check write nothing."""
    registry = sim.registry()
    assert registry.sign("tool:demo/data", dry_run=True).items[0].changed
    assert not sim.path("project", SIG).exists()
    (item,) = registry.sign("tool:demo/data").items
    assert (item.path, item.changed, item.code) == (str(sim.path("project", DATA)), True, "no-envelope")
    assert sim.path("project", DATA).read_text(encoding="utf-8") == TEXT
    written = sim.path("project", SIG).read_bytes()
    assert not registry.sign("*").items[0].changed
    assert sim.path("project", SIG).read_bytes() == written
    assert code(registry, strict=True) == (["ok"], 0, [])
    sim.write("project", DATA, TEXT.replace("Data", "More"))
    assert code(registry)[0] == ["digest"]
    assert registry.sign(str(sim.path("project", SIG))).items[0].code == "digest"  # the signature names its item
    assert code(registry, str(sim.path("project", SIG)))[0] == ["ok"]
    assert registry.verify("tool:demo/data").items[0].line == 1


def test_a_signature_without_its_item_is_named(sim: SpaceSim) -> None:
    """One left behind, one of a file that holds a line; of other files nothing is said. Strictly, they are findings."""
    sim.add("project", DATA, TEXT)
    for rel in ("tools/demo/gone.json.sig", "tools/demo/a.py.sig", "tools/demo/a.bin.sig", "tools/demo/_b.json.sig"):
        sim.write("project", rel, b"x")
    report = sim.registry().verify(space="project")
    (warning,) = (each for each in report.warnings if "stray" in each)
    assert "tools/demo/a.py.sig, tools/demo/gone.json.sig [stray-signature]" in warning
    assert report.status == 0
    report = sim.registry().verify("tool:demo/data", space="project")
    assert not any("stray" in each for each in report.warnings)
    assert code(sim.registry(), strict=True) == (["ok"], 1, ["uncovered"] * 4)


def test_a_list_names_the_signature(sim: SpaceSim) -> None:
    """It is a file of the space, so one that changes or goes is found, and one that comes is not covered."""
    registry = sim.registry()
    sim.sign("project", DATA)
    registry.sign_list()
    assert code(registry, strict=True) == (["ok"], 0, [])
    kept = sim.path("project", SIG).read_bytes()
    sim.sign("project", DATA, EVE)
    assert code(registry) == (["unknown-key"], 1, ["file-changed"])
    sim.delete("project", SIG)
    assert code(registry) == (["no-envelope"], 1, ["file-removed"])
    registry.sign_list()
    sim.write("project", SIG, kept)
    assert code(registry, strict=True) == (["ok"], 1, ["file-added"])


def test_the_index_follows_the_signature(sim: SpaceSim) -> None:
    """Added, replaced by one of the same size, removed: each is a change of one file, and the verdicts are new."""
    (root, *_) = sim.registry().roots
    index = SpaceIndex(root, sim.folder / "index")
    index.refresh()

    def refreshed() -> tuple[int, str]:
        report = index.refresh()
        assert report.snapshot is not None
        column = report.snapshot.segments[-1].segment.evidence
        evidence = column[len(column) - 1]
        return report.changed, evidence.code or evidence.fingerprint

    for who in (ANN, EVE, ANN):
        before = stat_items(root)[1]
        sim.sign("project", DATA, who)
        assert stat_items(root)[1] != before
        assert refreshed() == (1, who.public.fingerprint)
    sim.delete("project", SIG)
    assert refreshed() == (1, "no-envelope")


def test_a_pair_is_read_as_it_stood_at_one_moment(sim: SpaceSim) -> None:
    """A file that is edited and signed between two reads is not judged by the signature of the one before."""
    sim.sign("project", DATA)
    (root, *_) = sim.registry().roots
    calls = iter(range(100))

    def read(where: Root, path: str) -> bytes:
        if path == DATA and next(calls) == 0:
            sim.add("project", DATA, TEXT.replace("Data", "More"))
        return read_file(where, path)

    data, signature = read_signed(root, DATA, read)
    assert b"More" in data
    assert (data, signature) == read_signed(root, DATA)
    now = read_item(root, DATA, ItemFile.at(DATA).item_type, "demo/data")
    assert (now.data, now.detached, now.evidence.code) == (data, signature, "")
