"""System space: rye's own items, installed bundles, and folders that are read without importing anything."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from rye.spaces.bundles import named_roots, system_roots
from rye.spaces.model import Root
from tests.support.files import lay

BUNDLE = '''\
"""A bundle."""
raise SystemExit("imported")


def get_bundle():
    return {"bundle_id": "acme-core", "version": version("acme"), "root_path": Path(__file__).parent}
'''


def distribution(name: str, entry: str, *, version: str = "1.2.3") -> dict[str, str]:
    """The metadata folder of an installed distribution that registers a bundle."""
    info = f"{name}-{version}.dist-info"
    return {
        f"{info}/METADATA": f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n\nText.\n",
        f"{info}/entry_points.txt": f"[console_scripts]\nx = y:z\n\n[rye.bundles]\n{entry}\n",
    }


def named(*folders: Path) -> dict[str, str]:
    """Bundle and version of the roots in folders, all of which hold some."""
    roots, warnings = named_roots(folders)
    assert warnings == ()
    return {root.bundle: root.version for root in roots}


# Folders


def test_a_bundle_is_named_by_the_distribution_that_installed_it(tmp_path: Path) -> None:
    """Id and version as the package manager has them, whatever its code states; nothing is imported."""
    lay(tmp_path, distribution("acme", "acme-entry = acme_core.bundle:get_bundle [extra]"))
    lay(tmp_path, {"acme_core/bundle.py": BUNDLE, "acme_core/.ai/tools/x.py": "", "other/.ai/tools/x.py": ""})
    assert named(tmp_path) == {"acme-entry": "1.2.3", "other": ""}
    assert named(tmp_path / "acme_core") == named(tmp_path / "acme_core" / ".ai") == {"acme-entry": "1.2.3"}
    assert "acme_core" not in sys.modules


def test_bundle_that_claims_the_id_of_another(tmp_path: Path) -> None:
    """An id decides which keys speak for an item, so no two roots share one and none but rye's own is ``rye``."""
    claim = {"bundle.py": 'B = {"bundle_id": "rye"}', ".ai/tools/x.py": ""}
    lay(tmp_path / "one", claim)
    lay(tmp_path / "two", claim)
    lay(tmp_path / "three", {"bundle.py": 'B = {"bundle_id": "acme"}', ".ai/tools/x.py": ""})
    roots, warnings = system_roots([tmp_path / "one", tmp_path / "two"])
    assert [root.bundle for root in roots] == ["rye", "rye#2", "rye#3"]
    assert len(warnings) == 2
    assert "'rye#3'" in warnings[1]
    assert [root.bundle for root in named_roots([tmp_path / "one"])[0]] == ["rye#2"]
    known, _ = named_roots([tmp_path / "three"])
    lay(tmp_path / "four", {"bundle.py": 'B = {"bundle_id": "acme"}', ".ai/tools/x.py": ""})
    assert [root.bundle for root in named_roots([tmp_path / "four"], known=known)[0]] == ["acme#2"]


# System space


def test_system_space_by_environment(tmp_path: Path) -> None:
    """``RYE_BUNDLES`` is a list as ``PATH`` is; a missing folder in it is a warning, for no one typed it now."""
    lay(tmp_path, {"a/.ai/tools/x.py": "", "b/knowledge/x.md": ""})
    listed = os.pathsep.join([str(tmp_path / "b"), "", str(tmp_path / "gone"), str(tmp_path / "a")])
    roots, warnings = system_roots(environ={"RYE_BUNDLES": listed})
    assert [root.bundle for root in roots] == ["rye", "b", "a"]
    assert len(warnings) == 1
    assert str(tmp_path / "gone") in warnings[0]


class Installed:
    """A folder on the import path into which packages with a bundle are laid, each of which raises when imported."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(
        self,
        name: str,
        files: Mapping[str, str] | None = None,
        *,
        module: str = "",
        version: str = "1.2.3",
        listed: Mapping[str, str] | None = None,
    ) -> None:
        """Install a package with files, by default one tool, and metadata, with further files in ``listed``."""
        lay(self.folder, distribution(name, f"{name}-id = {module or name}.bundle:get_bundle", version=version))
        lay(self.folder / f"{name}-{version}.dist-info", listed or {})
        code = 'raise SystemExit("imported")'
        lay(self.folder / name, {"__init__.py": code, "bundle.py": code, **(files or {".ai/tools/x.py": ""})})


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installed:
    """Packages installed for one test only."""
    folder = tmp_path / "lib" / "site-packages"
    folder.mkdir(parents=True)
    monkeypatch.syspath_prepend(folder)
    return Installed(folder)


def found() -> tuple[dict[str, Root], tuple[str, ...]]:
    """Roots of system space but rye's own, by bundle, and warnings."""
    roots, warnings = system_roots(environ={})
    assert roots[0].bundle == "rye"
    return {root.bundle: root for root in roots[1:]}, warnings


def test_installed_bundles_are_found_by_their_metadata(installed: Installed) -> None:
    """In the order of their entry points, whose names are their ids; the items are in ``.ai`` or the package itself."""
    installed.add("bbb_pack", version="2")
    installed.add("aaa_pack", {"knowledge/x.md": ""})
    installed.add("sub", {"inner/__init__.py": "", ".ai/tools/x.py": ""}, module="sub.inner")
    roots, warnings = found()
    assert warnings == ()
    assert {bundle: root.path for bundle, root in roots.items()} == {
        "aaa_pack-id": installed.folder / "aaa_pack",
        "bbb_pack-id": installed.folder / "bbb_pack" / ".ai",
        "sub-id": installed.folder / "sub" / ".ai",
    }
    assert [root.version for root in roots.values()] == ["1.2.3", "2", "1.2.3"]
    assert list(roots) == sorted(roots)
    assert named(installed.folder / "aaa_pack") == {"aaa_pack-id": "1.2.3"}


def test_attack_installed_package_is_never_imported(installed: Installed, tmp_path: Path) -> None:
    """Neither its package nor the callable that it registers: a whole process that finds it leaves no mark."""
    mark = tmp_path / "imported"
    code = f"open({str(mark)!r}, 'w').close()\n"
    traps = {"__init__.py": code, "bundle.py": f"{code}def get_bundle():\n    {code}"}
    installed.add("pack", {**traps, ".ai/tools/x.py": "# Feed a quokka"})
    places = {"PYTHONPATH": installed.folder, "USER_SPACE": tmp_path, "RYE_CACHE_DIR": tmp_path / "cache"}
    env = os.environ | {name: str(path) for name, path in places.items()}
    for words in (
        ["search", "--space", "system", "quokka"],
        ["verify", "--space", "system"],
        ["list", "--space", "system"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "rye", *words, "--json"],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert "pack-id" in done.stdout, done.stderr
        assert not mark.exists()


def test_attack_distribution_that_claims_the_package_of_another(installed: Installed) -> None:
    """An entry point that names a package which its own list of files does not have registers nothing there."""
    installed.add("core_pack", listed={"RECORD": "core_pack/__init__.py,,\n"})
    installed.add("aaa_pack", module="core_pack", listed={"RECORD": "aaa_pack/__init__.py,,\n"})
    roots, warnings = found()
    assert {bundle: root.path for bundle, root in roots.items()} == {
        "core_pack-id": installed.folder / "core_pack" / ".ai"
    }
    assert len(warnings) == 1


def test_attack_metadata_in_the_working_directory(
    installed: Installed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative entry of the import path, such as the working directory, installs no bundle."""
    installed.add("pack")
    monkeypatch.chdir(installed.folder)
    monkeypatch.setattr(sys, "path", ["", ".", str(tmp_path)])
    assert found() == ({}, ())
