"""What is shipped: the wheel and the sdist hold everything, and every bundled item is signed and trusted."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Mapping
from email.parser import HeaderParser
from pathlib import Path

import pytest

from rye import Registry

ROOT = Path(__file__).resolve().parent.parent
ITEM_FOLDERS = ("directives", "knowledge", "tools")


def files_below(*folders: str) -> set[str]:
    """Return the files of the checkout below these folders, by their path from the root."""
    return {
        path.relative_to(ROOT).as_posix()
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and not {"__pycache__", "_bundled"} & set(path.parts)
    }


def build(source: Path, target: str, folder: Path) -> Path:
    """Build one distribution of ``source`` into ``folder`` and return it."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="session")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution of this checkout."""
    return build(ROOT, "sdist", tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="session")
def unpacked(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the source distribution unpacks to."""
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (inner,) = folder.iterdir()
    return inner


@pytest.fixture(scope="session")
def wheel(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, bytes]:
    """The files of a wheel built from the source distribution, as installers without a checkout build it."""
    with zipfile.ZipFile(build(unpacked, "wheel", tmp_path_factory.mktemp("wheel"))) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_sdist_holds_everything(unpacked: Path) -> None:
    """Whoever has the source distribution alone can build, test and check it."""
    held = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}
    wanted = files_below("grammar", "items", "rye", "tests", ".ci", ".github")
    wanted |= {"pyproject.toml", "README.md", "LICENSE", ".gitignore", ".gitattributes"}
    wanted |= {".pre-commit-hooks.yaml", ".pre-commit-config.yaml"}
    assert len(wanted) > 50
    assert wanted - held == set()
    assert held - wanted == {"PKG-INFO"}


def test_the_wheel_holds_the_package_the_grammar_and_every_item(wheel: Mapping[str, bytes]) -> None:
    """The wheel is the package, with grammar and items byte for byte as in the checkout, and nothing else."""
    shipped = {name: name for name in files_below("rye")}
    bundled = files_below("grammar", "items")
    assert {"grammar/query.lark", "items/knowledge/rye/query-language.md"} <= bundled
    shipped |= {f"rye/_bundled/{name}": name for name in bundled}
    for name, source in shipped.items():
        assert wheel.get(name) == (ROOT / source).read_bytes(), name
    others = {name for name in wheel if name not in shipped}
    assert all(name.startswith("rye_search-") for name in others), others
    assert "rye/py.typed" in wheel


def test_the_wheel_installs_completion(wheel: Mapping[str, bytes]) -> None:
    """What ``rye completion`` prints, where shells look for it."""
    places = {name.partition(".data/data/share/")[2]: data.decode() for name, data in wheel.items()}
    for place in ("bash-completion/completions/rye", "zsh/site-functions/_rye", "fish/vendor_completions.d/rye.fish"):
        assert "_RYE_COMPLETE" in places[place]


def test_the_wheel_says_what_it_is(wheel: Mapping[str, bytes]) -> None:
    """Name, license, Python and command are as the README says."""
    texts = {name.rpartition("/")[2]: data.decode() for name, data in wheel.items() if ".dist-info/" in name}
    metadata = HeaderParser().parsestr(texts["METADATA"])
    assert metadata["Name"] == "rye-search"
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "MIT"
    assert set(metadata.get_all("Provides-Extra") or ()) >= {"test", "dev"}
    assert "rye = rye.__main__:run" in texts["entry_points.txt"]
    assert texts["LICENSE"].startswith("MIT License")


def outsider(folder: Path, bundles: tuple[Path, ...] | None = None) -> Registry:
    """Return a registry of somebody with an empty project and user space, who trusts no key."""
    (folder / "project" / ".ai").mkdir(parents=True)
    (folder / "user").mkdir()
    return Registry(folder / "project", user=folder / "user", bundles=bundles, cache_dir=folder / "cache")


def test_every_bundled_item_is_trusted(tmp_path: Path) -> None:
    """Whoever installs rye, and trusts no key beyond it, sees each of its own items as trusted."""
    report = outsider(tmp_path).verify(space="system")
    assert report.problems == ()
    assert {item.bundle for item in report.items} == {"rye"}
    verdicts = {item.path: (str(item.signature.verdict), item.signature.code) for item in report.items}
    assert {path: verdict for path, verdict in verdicts.items() if verdict != ("trusted", "ok-list")} == {}
    on_disk = {name for name in files_below("items") if name.split("/")[1] in ITEM_FOLDERS}
    assert len(on_disk) >= 23
    assert {f"{item.type}:{item.id}" for item in report.items} == {
        f"{name.split('/')[1].removesuffix('s')}:{name.split('/', 2)[2].rpartition('.')[0]}" for name in on_disk
    }


def test_a_bundled_item_changed_by_one_byte_is_tampered(tmp_path: Path) -> None:
    """Somebody who changes a shipped item, and nothing else, is found out; a copy is a bundle like any other."""
    shutil.copytree(ROOT / "items", tmp_path / "items")
    victim = tmp_path / "items" / "directives" / "rye" / "sign-and-publish-items.md"
    victim.write_bytes(victim.read_bytes().replace(b"Sign nothing that", b"Sign anything that"))
    report = outsider(tmp_path, (tmp_path / "items",)).verify(space="system")
    copies = [item for item in report.items if Path(item.path).is_relative_to(tmp_path)]
    assert len(copies) >= 23
    assert {item.id for item in copies if str(item.signature.verdict) == "tampered"} == {"rye/sign-and-publish-items"}
    assert not [item for item in copies if str(item.signature.verdict) == "trusted"]


def test_no_private_key_is_shipped() -> None:
    """No file of the package, its grammar or its items holds one."""
    private = re.compile(rb"-----BEGIN (?:\w+ )?PRIVATE KEY-----\s+[A-Za-z0-9+/]{16}")
    shipped = files_below("grammar", "items", "rye")
    assert [name for name in shipped if private.search((ROOT / name).read_bytes())] == []


def test_importing_rye_loads_nothing_else() -> None:
    """``import rye`` loads no other package: what a name needs is loaded when the name is used."""
    code = "import sys, rye; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "rye" in done.stdout.split()
    assert not {"click", "lark", "mcp", "numpy", "whoosh"} & set(done.stdout.split())


def test_what_the_action_installs_is_locked_by_hash() -> None:
    """Every dependency of rye, and what builds it, is one version with its hashes."""
    locked = (ROOT / ".github/actions/verify/requirements.txt").read_text(encoding="utf-8").replace("\\\n", "")
    rows = [line for line in locked.splitlines() if line and not line.startswith("#")]
    assert all(re.match(r"[\w.-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", row) for row in rows)
    names = {re.split(r"==", row)[0].lower().replace("_", "-") for row in rows}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    assert {re.split(r"[><=\[; ]", each)[0].lower() for each in needed} <= names
