"""System space: rye's own items, installed bundles, and folders that are read without importing anything."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from rye._resources import items_root
from rye.errors import NotFoundError
from rye.spaces.bundles import named_roots, system_roots
from rye.spaces.layout import Layout
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


def test_a_folder_may_be_a_root_or_contain_one(tmp_path: Path) -> None:
    """A root itself, a folder with ``.ai``, that ``.ai``, and one that holds packages."""
    lay(tmp_path, {"pack/.ai/tools/x.py": "", "flat/knowledge/x.md": ""})
    for folder, path in (("pack", "pack/.ai"), ("pack/.ai", "pack/.ai"), ("flat", "flat")):
        roots, _ = named_roots([tmp_path / folder])
        assert [(root.bundle, root.path) for root in roots] == [(folder.split("/")[0], tmp_path / path)]
        assert [root.source for root in roots] == [f"system:{folder.split('/')[0]}"]
    assert [root.path for root in named_roots([tmp_path])[0]] == [tmp_path / "pack/.ai"]


def test_a_folder_with_both_counts_as_what_contains_one(tmp_path: Path) -> None:
    """A repository may have a folder ``tools`` of its own beside its ``.ai``."""
    lay(tmp_path, {".ai/tools/x.py": "", "tools/build.py": ""})
    assert [root.path for root in named_roots([tmp_path])[0]] == [tmp_path / ".ai"]


def test_packages_are_found_three_folders_deep_in_the_order_of_their_paths(tmp_path: Path) -> None:
    """Not deeper, not in hidden folders or ``node_modules``, not below a root, not by a mere folder ``tools``."""
    lay(
        tmp_path,
        {
            "b/.ai/tools/x.py": "",
            "b/inner/.ai/tools/x.py": "",
            "a/src/pack/.ai/tools/x.py": "",
            "a/src/pack2/sub/.ai/tools/x.py": "",
            ".venv/c/.ai/tools/x.py": "",
            "node_modules/d/.ai/tools/x.py": "",
            "e/tools/x.py": "",
            "f/.ai/config/x.toml": "",
        },
    )
    assert list(named(tmp_path)) == ["b", "pack"]


def test_a_bundle_is_named_by_the_distribution_that_installed_it(tmp_path: Path) -> None:
    """Id and version as the package manager has them, whatever its code states; nothing is imported."""
    lay(tmp_path, distribution("acme", "acme-entry = acme_core.bundle:get_bundle [extra]"))
    lay(tmp_path, {"acme_core/bundle.py": BUNDLE, "acme_core/.ai/tools/x.py": "", "other/.ai/tools/x.py": ""})
    assert named(tmp_path) == {"acme-entry": "1.2.3", "other": ""}
    assert named(tmp_path / "acme_core") == named(tmp_path / "acme_core" / ".ai") == {"acme-entry": "1.2.3"}
    assert "acme_core" not in sys.modules


def test_a_bundle_is_named_by_its_entry_point_whatever_its_code(tmp_path: Path) -> None:
    """The id is computed, or the file cannot be parsed or is not there."""
    lay(tmp_path, distribution("acme", "acme-entry = acme_core:get_bundle"))
    lay(tmp_path, {"acme_core/.ai/tools/x.py": ""})
    for source in (None, "bundle_id = (", 'def f(): return {"bundle_id": NAME}'):
        if source is not None:
            lay(tmp_path, {"acme_core/bundle.py": source})
        assert named(tmp_path) == {"acme-entry": "1.2.3"}


def test_a_bundle_without_a_distribution_is_named_by_its_code_or_folder(tmp_path: Path) -> None:
    """A checkout: literals in ``bundle.py``, else the name of the folder."""
    lay(tmp_path, {"one/.ai/tools/x.py": "", "one/bundle.py": 'B = {"bundle_id": "uno", "version": "7"}'})
    lay(tmp_path, {"two/.ai/tools/x.py": ""})
    assert named(tmp_path) == {"uno": "7", "two": ""}


def test_ids_are_text_that_a_source_may_hold(tmp_path: Path) -> None:
    """What a stranger's file calls itself has no blanks, colons, slashes or controls, and an end."""
    lay(tmp_path, {"a/.ai/tools/x.py": "", "a/bundle.py": f'B = {{"bundle_id": "../x: \\x1b[31m {"y" * 99}"}}'})
    (bundle,) = named(tmp_path)
    assert bundle.startswith("x-")
    assert set(bundle) <= set("x-31my")
    assert len(bundle) <= 64


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


def test_a_bundle_that_is_named_twice_is_there_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the variable and an option, also through a link: its keys are pinned to one id, and its items listed once."""
    lay(tmp_path / "acme", {".ai/tools/x.py": ""})
    (tmp_path / "link").symlink_to("acme")
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path / "home")
    monkeypatch.setenv("RYE_BUNDLES", str(tmp_path / "acme"))
    layout = Layout.find(
        project=None, user=tmp_path / "home", bundles=None, more=[tmp_path / "acme", tmp_path / "link"]
    )
    assert [root.bundle for root in layout.in_space("system") if root.bundle != "rye"] == ["acme"]
    assert [root.bundle for root in layout.named] == ["acme"]
    assert not layout.warnings


def test_a_folder_that_does_not_exist_is_an_error_and_one_without_items_a_warning(tmp_path: Path) -> None:
    """A typo must not pass for an empty bundle."""
    with pytest.raises(NotFoundError) as caught:
        named_roots([tmp_path / "gone"])
    assert caught.value.code == "bundle-not-found"
    roots, warnings = named_roots([tmp_path])
    assert roots == ()
    assert str(tmp_path) in warnings[0]


def test_one_folder_named_twice_is_one_bundle(tmp_path: Path) -> None:
    """Also under another name."""
    lay(tmp_path / "a", {".ai/tools/x.py": ""})
    (tmp_path / "b").symlink_to("a")
    assert named(tmp_path / "a", tmp_path / "b", tmp_path / "a" / ".ai") == {"a": ""}


def test_rye_s_own_items_are_the_bundle_rye(tmp_path: Path) -> None:
    """Wherever they are named."""
    del tmp_path
    assert named(items_root()) == {"rye": ""}


# System space


def test_system_space_by_argument(tmp_path: Path) -> None:
    """None given: none at all. Some given: those after rye's own, and nothing that is installed."""
    lay(tmp_path / "a", {".ai/tools/x.py": ""})
    assert system_roots(()) == ((), ())
    assert [root.source for root in system_roots([tmp_path / "a"])[0]] == ["system:rye", "system:a"]
    assert system_roots([str(tmp_path / "a")])[0][0].path == items_root()


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


def test_an_installed_bundle_without_items_is_a_warning(installed: Installed) -> None:
    """The others are found, and the warning names the variable that helps; broken metadata harm nobody."""
    installed.add("bad_pack", {"data.txt": ""})
    installed.add("gone_pack", module="no_such_package")
    installed.add("good_pack", listed={"RECORD": "good_pack/__init__.py,,\n", "METADATA": "\xff"})
    os.mkfifo(installed.folder / "good_pack-1.2.3.dist-info" / "PKG-INFO")
    roots, warnings = found()
    assert [(root.bundle, root.version) for root in roots.values()] == [("good_pack-id", "")]
    assert len(warnings) == 2
    for text, name in zip(warnings, ("bad_pack", "gone_pack"), strict=True):
        assert text.startswith(f"the bundle '{name}-id' of {name}-1.2.3.dist-info is left out: ")
        assert "RYE_BUNDLES" in text


def test_attack_distribution_that_claims_the_package_of_another(installed: Installed) -> None:
    """An entry point that names a package which its own list of files does not have registers nothing there."""
    installed.add("core_pack", listed={"RECORD": "core_pack/__init__.py,,\n"})
    installed.add("aaa_pack", module="core_pack", listed={"RECORD": "aaa_pack/__init__.py,,\n"})
    roots, warnings = found()
    assert {bundle: root.path for bundle, root in roots.items()} == {
        "core_pack-id": installed.folder / "core_pack" / ".ai"
    }
    assert len(warnings) == 1


def test_the_stamp_of_an_installed_bundle_changes_with_its_installation(installed: Installed) -> None:
    """Version, place and folders are in it."""
    installed.add("pack")
    stamp = found()[0]["pack-id"].stamp
    assert stamp
    assert stamp == found()[0]["pack-id"].stamp
    tools = installed.folder / "pack" / ".ai" / "tools"
    tools.rename(tools.with_name("away"))
    lay(tools, {"y.py": ""})
    assert found()[0]["pack-id"].stamp not in {stamp, ""}
    installed.add("raw", listed={"METADATA": ""})
    assert found()[0]["raw-id"].stamp == ""


def test_attack_metadata_in_the_working_directory(
    installed: Installed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative entry of the import path, such as the working directory, installs no bundle."""
    installed.add("pack")
    monkeypatch.chdir(installed.folder)
    monkeypatch.setattr(sys, "path", ["", ".", str(tmp_path)])
    assert found() == ({}, ())


def test_finding_installed_bundles_loads_no_reader_of_metadata(
    installed: Installed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``importlib.metadata`` takes longer to load than a search takes."""
    installed.add("pack")
    monkeypatch.delitem(sys.modules, "importlib.metadata", raising=False)
    assert list(found()[0]) == ["pack-id"]
    assert "importlib.metadata" not in sys.modules
