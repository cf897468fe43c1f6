"""Where a registry keeps its index, which spaces it finds, and what it refuses to believe."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rye import Registry
from rye.errors import EnvironmentFault
from tests.support.files import lay
from tests.support.repositories import git, repository
from tests.support.spacesim import SpaceSim

ROOT = Path(__file__).resolve().parents[2]
TOOL = '"""Deploy a build."""\n'


@pytest.fixture
def sim(tmp_path: Path) -> SpaceSim:
    """Lay a project with one tool."""
    sim = SpaceSim(tmp_path)
    sim.write("project", "tools/deploy.py", TOOL)
    return sim


def fault(registry: Registry) -> EnvironmentFault:
    """Return the error that every use of the index meets."""
    with pytest.raises(EnvironmentFault) as caught:
        registry.search("deploy")
    assert caught.value.hint
    for use in (registry.refresh, registry.rebuild, registry.status, registry.clear):
        with pytest.raises(EnvironmentFault):
            use()
    return caught.value


# the cache folder


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o720])
@pytest.mark.parametrize("inner", ["", "v1", "index"])
def test_a_cache_folder_that_others_may_write_to(sim: SpaceSim, mode: int, inner: str) -> None:
    """What lies there decides what is found, so it is refused, as is any folder below it; the hint says what to run."""
    sim.registry().search("deploy")
    place = sim.cache
    if inner:
        place = next(iter(sim.cache.glob("*" if inner == "v1" else "*/*")))
    place.chmod(mode)
    error = fault(sim.registry())
    assert error.code == "unsafe-cache"
    assert f"chmod 700 {place}" in error.hint
    place.chmod(0o700)
    assert sim.registry().search("deploy", space="project").total == 1


def test_a_cache_folder_of_another_user(sim: SpaceSim, monkeypatch: pytest.MonkeyPatch) -> None:
    """What someone else made is not believed."""
    sim.registry().search("deploy")
    monkeypatch.setattr("rye.index.storage.cache_folder.os.geteuid", lambda: os.getuid() + 1)
    assert fault(sim.registry()).code == "unsafe-cache"


@pytest.mark.parametrize("where", ["project", "project/.ai", "project/.ai/cache", "project/deep/er"])
def test_a_cache_folder_inside_the_project(sim: SpaceSim, where: str) -> None:
    """It is refused, also by way of a link: an index could come with a checkout."""
    inside = sim.folder / where
    assert fault(sim.registry(cache_dir=inside)).code == "cache-in-project"
    inside.mkdir(parents=True, exist_ok=True)
    link = sim.folder / "link"
    link.symlink_to(inside)
    for path in (link, link / "sub", sim.folder / "other" / ".." / where):
        assert fault(sim.registry(cache_dir=path)).code == "cache-in-project"
    assert not list(sim.project.rglob("*.toc"))


@pytest.mark.skipif(os.name != "posix", reason="links are POSIX's")
@pytest.mark.parametrize("pattern", ["*", "*/*"])
def test_attack_a_link_into_the_project_below_the_cache(sim: SpaceSim, pattern: str) -> None:
    """A folder of the cache that leads into the project is refused like one that lies there; nothing is made in it."""
    sim.registry().search("deploy")
    brought = sim.project / "brought"
    brought.mkdir()
    for place in list(sim.cache.glob(pattern)):
        shutil.rmtree(place)
        place.symlink_to(brought)
    assert fault(sim.registry()).code == "cache-in-project"
    assert list(brought.iterdir()) == []


def test_attack_a_cache_in_the_project_is_refused_before_it_is_made(sim: SpaceSim) -> None:
    """Refusing leaves no folder behind in the project."""
    inside = sim.project / "not" / "yet"
    assert fault(sim.registry(cache_dir=inside)).code == "cache-in-project"
    assert not inside.parent.exists()


def test_a_home_that_is_a_project_holds_its_users_cache(sim: SpaceSim, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the project is the home folder itself, the cache may be in it, only not among its items."""
    monkeypatch.setenv("HOME", str(sim.project))
    assert sim.registry(cache_dir=sim.project / ".cache" / "rye").search("deploy", space="project").total == 1
    assert fault(sim.registry(cache_dir=sim.project / ".ai" / "cache")).code == "cache-in-project"


@pytest.mark.skipif(os.name != "posix", reason="modes, pipes and links are POSIX's")
@pytest.mark.parametrize("what", ["dead link", "pipe"])
def test_what_stands_in_place_of_an_index_folder_is_replaced(sim: SpaceSim, what: str) -> None:
    """Only rye names anything there, so it is damage; the new folders are for this user alone."""
    sim.registry().search("deploy")
    for place in list(sim.cache.glob("*/*")):
        shutil.rmtree(place)
        if what == "pipe":
            os.mkfifo(place)
        else:
            place.symlink_to("/nonexistent/folder/of/nobody")
    response = sim.registry().search("deploy", space="project")
    assert (response.total, response.warnings) == (1, ())
    places = [sim.cache, *sim.cache.glob("*"), *sim.cache.glob("*/*")]
    assert {place.stat().st_mode & 0o777 for place in places} == {0o700}


def test_an_index_outside_is_not_the_projects(sim: SpaceSim) -> None:
    """Using a registry leaves nothing in project, user space or bundles."""
    before = sorted(path for path in sim.folder.rglob("*") if sim.cache not in (path, *path.parents))
    registry = sim.registry()
    registry.search("deploy is:trusted")
    registry.verify()
    registry.get("tool:deploy")
    after = sorted(path for path in sim.folder.rglob("*") if sim.cache not in (path, *path.parents))
    assert after == before


def test_a_cache_folder_that_cannot_be_made(sim: SpaceSim) -> None:
    """A temporary folder stands in, a warning says so, and the answers are right."""
    lay(sim.folder, {"file": "no folder"})
    registry = sim.registry(cache_dir=sim.folder / "file" / "cache")
    response = registry.search("deploy", space="project")
    assert response.total == 1
    assert sum("cache folder" in warning for warning in response.warnings) == 1
    stand_in = Path(registry.status()[0].cache)
    assert stand_in.is_dir()
    assert not stand_in.is_relative_to(sim.folder)


MORTAL = """
import ctypes, json, os, sys
from rye import Registry, RyeError
project, user, cache, use = sys.argv[1:]
registry = Registry(project, user=user, bundles=(), cache_dir=cache)
try:
    if use == "search":
        found = registry.search("deploy", space="project")
        print(json.dumps([found.total, found.stale, list(found.warnings), registry.status()[0].cache]))
    else:
        print(getattr(registry, use)())
except RyeError as error:
    print(json.dumps([error.code, error.message, error.hint]))
"""


def as_mortal() -> None:
    """Let permissions count for this process, as they do for everybody but the superuser."""
    if os.geteuid() == 0:
        for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
            ctypes.CDLL(None).prctl(24, capability)  # PR_CAPBSET_DROP


def mortal(sim: SpaceSim, use: str = "search") -> list[Any]:
    """Return what a process of its own gets, for which permissions count."""
    arguments = [sys.executable, "-c", MORTAL, *map(str, (sim.project, sim.user, sim.cache, use))]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False, preexec_fn=as_mortal)
    assert done.returncode == 0, done.stderr
    found: list[Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def locked_up(sim: SpaceSim) -> Iterator[Callable[[int], None]]:
    """Return what takes permissions from all of the cache; they are given back in the end."""

    def change(files: int) -> None:
        for path in sorted(sim.cache.rglob("*"), reverse=True):
            path.chmod(files if path.is_file() else files | 0o500 if files else 0o700)
        sim.cache.chmod(0o500 if files else 0o700)

    yield change
    change(0o700)


linux = pytest.mark.skipif(sys.platform != "linux", reason="capabilities are Linux's")


@linux
def test_an_index_that_can_only_be_read_is_read(sim: SpaceSim, locked_up: Callable[[int], None]) -> None:
    """A good one answers without a word; one that files have left behind answers as it is, stale, with a warning."""
    sim.registry().search("deploy")
    folder = sim.registry().status()[0].cache
    time.sleep(0.1)
    sim.registry(cache_dir=sim.cache).search("deploy")
    locked_up(0o400)
    assert mortal(sim) == [1, False, [], folder]
    sim.write("project", "tools/deploy_more.py", TOOL)
    total, stale, warnings, used = mortal(sim)
    assert (total, stale, used) == (1, True, folder)
    assert len(warnings) == 1
    assert "could not be written" in warnings[0]
    for use in ("clear", "rebuild"):
        code, message, hint = mortal(sim, use)
        assert code == "index-write"
        assert str(sim.cache) in message
        assert "chmod" in hint


@linux
def test_a_cache_that_can_only_be_read_and_has_no_index(sim: SpaceSim, locked_up: Callable[[int], None]) -> None:
    """A private temporary folder stands in, with a warning that says why, and goes with the process."""
    sim.cache.mkdir()
    locked_up(0o400)
    total, stale, warnings, used = mortal(sim)
    assert (total, stale) == (1, False)
    assert not Path(used).is_relative_to(sim.cache)
    assert not Path(used).exists()
    (moved,) = (text for text in warnings if "temporary folder" in text)
    assert str(sim.cache) in moved
    assert list(sim.cache.iterdir()) == []


@linux
def test_an_index_that_can_only_be_read_and_is_damaged(sim: SpaceSim, locked_up: Callable[[int], None]) -> None:
    """It is made anew in a temporary folder."""
    sim.registry().search("deploy")
    for path in sim.cache.rglob("*.ryx"):
        path.write_bytes(b"nonsense")
    locked_up(0o400)
    total, stale, warnings, used = mortal(sim)
    assert (total, stale) == (1, False)
    assert not Path(used).is_relative_to(sim.cache)
    assert any("temporary folder" in text for text in warnings)


# the spaces


# installed bundles

BUNDLES = {"works": ".ai/tools/sell.py", "has_no_items": "data.txt"}


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install bundles where Python finds them; each raises when it is imported."""
    site = tmp_path / "site"
    for name, file in BUNDLES.items():
        info = {
            "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
            "entry_points.txt": f"[rye.bundles]\n{name} = {name}:bundle\n",
        }
        lay(site / f"{name}-1.0.dist-info", info)
        lay(site / name, {"__init__.py": "raise RuntimeError('imported')\n", file: TOOL})
    monkeypatch.syspath_prepend(str(site))
    return site


def test_a_bundle_folder_imports_nothing(sim: SpaceSim, installed: Path) -> None:
    """Named by its folder, even the bundle that raises at import is read: in a process of its own, none is imported."""
    code = (
        "import json, sys\nfrom rye import Registry\n"
        "project, user, cache, site = sys.argv[1:]\n"
        "registry = Registry(project, user=user, bundles=[site], cache_dir=cache)\n"
        "found = registry.search('deploy', space='system', limit=100).results\n"
        "print(json.dumps([sorted({hit.bundle for hit in found}), sorted(sys.modules)]))\n"
    )
    arguments = [sys.executable, "-c", code, *map(str, (sim.project, sim.user, sim.cache, installed))]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=True)
    bundles, modules = json.loads(done.stdout)
    assert "works" in bundles
    assert not set(BUNDLES) & set(modules)


def test_a_search_asks_git_only_when_its_index_has_changed(sim: SpaceSim, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a sparse checkout leaves out is a warning; the answer is kept, and a mended file ends it."""
    skill = ".claude/skills/pdf/SKILL.md"
    repository(sim.project, {skill: "---\nname: pdf\ndescription: Forms\n---\n", "AGENTS.md": "# Agents\n"})
    git(sim.project, "sparse-checkout", "set", "--no-cone", "/*", "!.claude/skills/pdf")
    assert not (sim.project / skill).exists()

    def warnings() -> list[str]:
        texts = Registry(sim.project, user=sim.user, bundles=(), cache_dir=sim.cache).search("x").warnings
        return [text for text in texts if "[not-checked-out]" in text]

    assert [skill in text for text in warnings()] == [True]
    monkeypatch.setattr(subprocess, "Popen", None)
    assert [skill in text for text in warnings()] == [True]
    monkeypatch.undo()
    git(sim.project, "sparse-checkout", "disable")
    assert warnings() == []
