"""Attacks on registries made of real files: whatever is tried, nothing runs, and nothing false is called trusted."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from rye import NotFoundError, Registry, RyeError, SearchResult
from tests.support.files import lay
from tests.support.signed import ANN, EVE, PAT, replace_once
from tests.support.spacesim import SpaceSim

ROOT = Path(__file__).resolve().parents[2]
TOOL = '"""Deploy a build."""\n\n__version__ = "1.0.0"\n__category__ = "demo"\n\n\ndef main(): ...\n'


@pytest.fixture
def sim(tmp_path: Path) -> SpaceSim:
    """Lay a project, a user and one bundle."""
    return SpaceSim(tmp_path)


def hit(registry: Registry, item_id: str, space: str = "project") -> SearchResult:
    """Return the one item of an id."""
    found = [hit for hit in registry.search("*", space=space, limit=1000).results if hit.id == item_id]
    assert len(found) == 1
    return found[0]


def verdict(sim: SpaceSim, item_id: str, space: str = "project") -> str:
    """Return the verdict on an item, which search, its index, load and verify must agree on."""
    registry = sim.registry()
    found = hit(registry, item_id, space)
    name = str(found.signature.verdict)
    asked = [each.id for each in registry.search(f"is:{name}", space=space, limit=1000).results]
    trusted = [each.id for each in registry.search("is:trusted", space=space, limit=1000).results]
    assert item_id in asked
    assert (item_id in trusted) == (name == "trusted")
    assert registry.get(f"{found.type}:{item_id}", space).signature == found.signature
    report = registry.verify(f"{found.type}:{item_id}", space=space)
    assert [each.signature for each in report.items] == [found.signature]
    return name


# keys


def test_a_project_that_ships_its_own_key(sim: SpaceSim) -> None:
    """A cloned repository vouches for nothing: its key counts once the user's key or the caller stands behind it."""
    sim.add("project", "tools/demo/deploy.py", TOOL, PAT)
    trust_file = sim.trust(PAT, "project", owner="ann")
    assert verdict(sim, "demo/deploy") == "untrusted"
    found = hit(sim.registry(), "demo/deploy").signature
    assert (found.code, found.owner) == ("foreign-key", "ann")
    assert str(hit(sim.registry(trust=[trust_file]), "demo/deploy").signature.verdict) == "trusted"
    sim.trust(PAT, "project", endorsed_by=EVE)
    assert verdict(sim, "demo/deploy") == "untrusted"
    sim.trust(PAT, "project", endorsed_by=ANN)
    assert verdict(sim, "demo/deploy") == "trusted"


def test_an_endorsement_altered_afterwards(sim: SpaceSim) -> None:
    """What the user's key signed is the whole trust file; with another owner in it, it is the project's word again."""
    sim.add("project", "tools/demo/deploy.py", TOOL, PAT)
    path = sim.trust(PAT, "project", owner="pat", endorsed_by=ANN)
    path.write_bytes(replace_once(path.read_bytes(), b'owner = "pat"', b'owner = "ann"'))
    assert verdict(sim, "demo/deploy") == "untrusted"


def test_a_project_that_revokes_the_users_key(sim: SpaceSim) -> None:
    """Nor can it take trust away."""
    sim.add("project", "tools/demo/deploy.py", TOOL)
    sim.revoke(ANN, "project")
    assert verdict(sim, "demo/deploy") == "trusted"


def test_a_project_key_that_signs_for_the_user(sim: SpaceSim) -> None:
    """Even an endorsed project key speaks for the project's items alone."""
    sim.trust(PAT, "project", endorsed_by=ANN)
    sim.add("user", "tools/demo/deploy.py", TOOL, PAT)
    assert verdict(sim, "demo/deploy", "user") == "untrusted"


# signed files


def test_an_item_changed_between_index_and_page(sim: SpaceSim) -> None:
    """A registry that never looks again still verifies what it shows, and drops what is no longer what was asked."""
    path = sim.add("project", "tools/demo/deploy.py", TOOL)
    sim.add("project", "tools/demo/other.py", TOOL)
    registry = sim.registry(max_staleness=float("inf"))
    assert {each.id for each in registry.search("is:trusted deploy", space="project").results} == {
        "demo/deploy",
        "demo/other",
    }
    path.write_bytes(path.read_bytes() + b"import os\n")
    response = registry.search("is:trusted deploy", space="project")
    assert [each.id for each in response.results] == ["demo/other"]
    assert response.total == 1
    assert any("demo/deploy" in warning and "tampered" in warning for warning in response.warnings)
    plain = registry.search("deploy", space="project")
    assert {each.id: str(each.signature.verdict) for each in plain.results} == {
        "demo/deploy": "tampered",
        "demo/other": "trusted",
    }
    assert any("demo/deploy" in warning for warning in plain.warnings)
    filtered = registry.search("deploy", space="project", filters={"is": "trusted"})
    assert [each.id for each in filtered.results] == ["demo/other"]


@pytest.mark.parametrize("change", ["text", "line", "signer"])
@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("IS:trusted", {}),
        ("(deploy is:(trusted OR misplaced))^2 OR zzz", {}),
        ("is:tr* -is:tampered", {}),
        ("deploy", {"fields": {"is": "trusted"}}),
        ("", {"filters": {"verdict": ["trusted", "partial"]}}),
        ("deploy is:trusted OR", {"lenient": True}),
        (f"signer:{ANN.public.fingerprint} is:trusted", {}),
    ],
)
def test_however_trusted_items_are_asked_for(sim: SpaceSim, query: str, options: dict[str, Any], change: str) -> None:
    """In whatever words: an item that is trusted no longer is not listed, and a warning names it."""
    path = sim.add("project", "tools/demo/deploy.py", TOOL)
    registry = sim.registry(max_staleness=float("inf"))
    assert registry.search(query, space="project", **options).total == 1
    if change == "text":
        path.write_bytes(path.read_bytes() + b"evil()\n")
    elif change == "line":
        path.write_text(TOOL, encoding="utf-8")
    else:
        sim.sign("project", "tools/demo/deploy.py", EVE)
    response = registry.search(query, space="project", **options)
    assert (response.results, response.total) == ((), 0)
    assert any("demo/deploy" in warning for warning in response.warnings)


def test_a_key_that_expires_while_a_registry_is_open(sim: SpaceSim) -> None:
    """Time alone ends trust, also for a registry that never scans again."""
    sim.add("project", "tools/demo/deploy.py", TOOL)
    for seconds in (1, 30):  # if one is over before the search is
        end = datetime.now(UTC) + timedelta(seconds=seconds)
        sim.trust(ANN, not_after=end)
        registry = sim.registry(max_staleness=float("inf"))
        if registry.search("is:trusted", space="project").total == 1:
            break
    else:
        pytest.fail("it was never trusted")
    time.sleep(max(0.0, (end - datetime.now(UTC)).total_seconds()) + 0.05)
    assert registry.search("is:trusted", space="project").total == 0
    assert registry.get("tool:demo/deploy").signature.code == "expired"


def test_a_file_that_vanishes_between_index_and_page(sim: SpaceSim) -> None:
    """It is dropped with a warning, and the total does not count it."""
    path = sim.write("project", "tools/demo/deploy.py", TOOL)
    sim.write("project", "tools/demo/other.py", TOOL)
    registry = sim.registry(max_staleness=float("inf"))
    assert registry.search("deploy", space="project").total == 2
    path.unlink()
    response = registry.search("deploy", space="project")
    assert ([each.id for each in response.results], response.total) == (["demo/other"], 1)
    assert any("demo/deploy" in warning and "gone" in warning for warning in response.warnings)
    with pytest.raises(RyeError):
        registry.get("tool:demo/deploy", "project")


# code


def evil(marker: Path) -> str:
    """Return Python that leaves a mark when it runs."""
    return f"import pathlib\npathlib.Path({str(marker)!r}).touch()\n"


def test_a_parser_planted_in_a_project(sim: SpaceSim) -> None:
    """Parsers, packages, hooks, tools and settings of a project are data: a whole process touches none of them."""
    marker = sim.folder / "executed"
    code = evil(marker)
    planted = {
        **{f".ai/parsers/{name}.py": code for name in ("__init__", "markdown", "markdown_xml", "python_ast", "yaml")},
        **{f".ai/parsers/markdown/{name}.py": code for name in ("__init__", "parser")},
        ".ai/__init__.py": code,
        ".ai/bundle.py": f"{code}def bundle():\n    return {{'bundle_id': 'x'}}\n",
        ".ai/tools/__init__.py": code,
        ".ai/tools/demo/evil.py": f'"""An evil deploy tool."""\n{code}',
        ".ai/tools/demo/shell.sh": f"#!/bin/sh\n# An evil deploy script\ntouch {marker}\n",
        ".ai/tools/demo/object.yaml": f"description: !!python/object/apply:os.system ['touch {marker}']\n",
        ".ai/config/search.yaml": f"weights: !!python/object/apply:os.system ['touch {marker}']\n",
        ".ai/knowledge/demo/x.md": f"---\ntitle: !!python/object/apply:os.system ['touch {marker}']\n---\ndeploy\n",
        **{f"{name}.py": code for name in ("sitecustomize", "usercustomize", "yaml", "lark", "bundle", "setup")},
    }
    lay(sim.project, planted)
    environment = {"RYE_CACHE_DIR": str(sim.cache), "USER_SPACE": str(sim.user), "PYTHONPATH": str(ROOT)}
    for arguments in (
        ["search", "deploy", "--format=ids"],
        ["verify"],
        ["show", "tool:demo/evil"],
        ["search", "is:unsigned"],
    ):
        done = subprocess.run(
            [sys.executable, "-P", "-m", "rye", *arguments],
            cwd=sim.project,
            env=os.environ | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Traceback" not in done.stderr
        assert "demo/evil" in done.stdout
    assert sim.registry().search("evil deploy", space="project").total == 2
    assert not marker.exists()


class _Bomb:
    """What runs when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.marker),)


def test_a_forged_index_planted_in_a_project(sim: SpaceSim) -> None:
    """An index that comes with a checkout is never opened: neither as one of ours nor as one of Whoosh's."""
    marker = sim.folder / "executed"
    sim.add("project", "tools/demo/deploy.py", TOOL, EVE)
    expected = sim.registry().search("deploy", space="project").to_dict()["results"]
    bomb = pickle.dumps(_Bomb(marker))
    for name in (".rye", ".cache/rye", ".ai/.index", ".ai/cache", ".ai/index", ".ai"):
        place = sim.project / name
        shutil.copytree(sim.cache, place, dirs_exist_ok=True)
        for toc in [*place.rglob("*.toc"), place / "_MAIN_99.toc"]:
            toc.write_bytes(bomb)
    for registry in (sim.registry(), sim.fresh()):
        assert registry.search("deploy", space="project").to_dict()["results"] == expected
    assert not marker.exists()


# places


@pytest.mark.parametrize(
    "item_id",
    [
        "../../etc/passwd",
        "../../../../../../../../etc/passwd",
        "/etc/passwd",
        "demo/../../../secret",
        "demo\\..\\..\\secret",
        "..%2f..%2fsecret",
        "secret\0.py",
        "",
        ".",
        "..",
        "x" * 100_000,
        "*",
        "demo/*",
    ],
)
def test_path_traversal_in_the_id_to_load(sim: SpaceSim, item_id: str) -> None:
    """An id is looked up, not joined to a path: what is no item's id is not found, wherever it would lead."""
    sim.write("project", "tools/demo/deploy.py", TOOL)
    lay(sim.project, {"secret.py": "SECRET = 1\n", "secret": "SECRET = 1\n"})
    for kind in ("tool", "knowledge", "directive"):
        with pytest.raises(NotFoundError) as caught:
            sim.registry().get(f"{kind}:{item_id}")
        assert caught.value.code == "item-not-found"


# names
