"""What a manifest lists of a root: its items, and what counts there as a trust file."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from rye.manifest.model import FILE, ListedItem, Severity
from rye.manifest.space import compare, observe
from rye.spaces import Root, Space
from rye.spaces.beside import LINK, PLAIN, PROGRAM
from rye.trust import TRUSTED_FOLDER
from tests.support.files import lay
from tests.support.signed import ANN, BEA, SIGNED_AT
from tests.support.spacesim import SpaceSim


def test_trust_files_are_listed_beside_the_items(tmp_path: Path) -> None:
    """By type ``trust`` and stem, with the time of the endorsement; they are no items."""
    sim = SpaceSim(tmp_path)
    sim.add("project", "tools/demo/a.py", '"""A."""\n')
    path = sim.trust(BEA, "project", owner="bea", endorsed_by=ANN)
    observed = observe(Root(Space.PROJECT, sim.root("project")))
    (listed,) = observed.trusted.values()
    assert (listed.item_type, listed.item_id) == ("trust", path.stem)
    assert listed.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert listed.signed_at == SIGNED_AT.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert [item.path for item in observed.all] == ["tools/demo/a.py", f"{TRUSTED_FOLDER.as_posix()}/{path.name}"]


def test_what_is_no_trust_file_is_not_listed(tmp_path: Path) -> None:
    """Hidden files, other extensions, and a folder with the name of one: none of them counts for trust either."""
    trusted = TRUSTED_FOLDER.as_posix()
    lay(tmp_path, {f"{trusted}/{name}": "x" for name in (".a.toml", "_b.toml", "c.txt", "d.toml/e.toml", "f.toml")})
    observed = observe(Root(Space.PROJECT, tmp_path))
    assert list(observed.trusted) == [f"{trusted}/f.toml"]
    assert observed.unread == {}


def test_every_other_file_is_listed_by_its_path(tmp_path: Path) -> None:
    """With its digest and mode; of a link the target counts, wherever it leads."""
    sim = SpaceSim(tmp_path)
    sim.add("project", "tools/demo/a.py", '"""A."""\n')
    sim.write("project", "tools/demo/_helper.py", "x")
    (sim.root("project") / "link").symlink_to("/nowhere")
    observed = observe(Root(Space.PROJECT, sim.root("project")))
    assert {path: (item.item_type, item.item_id) for path, item in observed.others.items()} == {
        path: (FILE, path) for path in ("link", "tools/demo/_helper.py")
    }
    assert observed.others["link"].sha256 == hashlib.sha256(b"/nowhere").hexdigest()
    assert observed.others["tools/demo/_helper.py"].length == 1


def test_a_list_of_items_alone_is_compared_as_before(tmp_path: Path) -> None:
    """It was written when no modes and no other files were listed: those are uncovered, which fails nothing."""
    sim = SpaceSim(tmp_path)
    sim.add("project", "tools/demo/a.py", '"""A."""\n')
    sim.write("project", "tools/demo/_helper.py", "x")
    observed = observe(Root(Space.PROJECT, sim.root("project")))
    listed = {path: item._replace(mode="") for path, item in observed.found.items()}
    (found,) = compare(listed, observed.all)
    assert (found.code, found.path, found.severity) == ("uncovered", "tools/demo/_helper.py", Severity.NOTE)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="needs permissions that hold")
@pytest.mark.parametrize("what", ["", "/a.toml"])
def test_what_cannot_be_read_is_not_taken_for_removed(tmp_path: Path, what: str) -> None:
    """A folder or a file that may not be read is a problem of its own."""
    trusted = TRUSTED_FOLDER.as_posix()
    lay(tmp_path, {f"{trusted}/a.toml": "x"})
    place = tmp_path / f"{trusted}{what}"
    mode = place.stat().st_mode
    place.chmod(0)
    observed = observe(Root(Space.PROJECT, tmp_path))
    place.chmod(mode)
    assert list(observed.unread) == [f"{trusted}{what}"]
    assert observed.trusted == {}


def test_a_listed_file_that_is_put_elsewhere_is_renamed(tmp_path: Path) -> None:
    """One finding, as for an item; a copy of it is a file that no manifest lists."""
    root = Root(Space.PROJECT, lay(tmp_path, {"tools/a/_helper.py": "x"}))
    listed = observe(root).others
    lay(tmp_path, {"tools/a/_copy.py": "x"})
    assert [found.code for found in compare(listed, observe(root).all)] == ["uncovered"]
    (tmp_path / "tools/a/_helper.py").unlink()
    (found,) = compare(listed, observe(root).all)
    assert (found.code, found.path) == ("item-renamed", "tools/a/_copy.py")


def test_where_the_root_was_not_read_to_its_end_nothing_is_taken_for_removed() -> None:
    """Too many files, or a root that may not be read, are recorded as ``.``."""
    listed = {path: ListedItem(path, FILE, path, 1, "0" * 64) for path in ("a.txt", "tools/a/b.txt")}
    assert [found.code for found in compare(listed, ())] == ["item-removed"] * 2
    assert compare(listed, (), {"."}) == ()


@pytest.mark.parametrize(("system", "expected"), [("posix", ["item-changed"]), ("nt", [])])
def test_only_posix_tells_a_program_by_its_mode(
    system: str, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Elsewhere every file has the mode of a plain one, but a link is a link."""
    listed = ListedItem("run", FILE, "run", 1, "0" * 64, mode=PROGRAM)
    with monkeypatch.context() as patch:
        patch.setattr(os, "name", system)
        found = {mode: compare({"run": listed}, [listed._replace(mode=mode)]) for mode in (PLAIN, LINK)}
    assert [each.code for each in found[PLAIN]] == expected
    assert [each.code for each in found[LINK]] == ["item-changed"]
