"""Where a skill came from is shown, searched for and counted; nothing becomes trusted by it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rye import Registry
from rye.cli import main
from tests.support.spacesim import SpaceSim

SKILL = "---\nname: {0}\ndescription: Work with {0}. Use when asked.\n{1}---\n# {0}\n"
STATED = "metadata:\n  github-repo: https://github.com/acme/tools\n  github-ref: refs/tags/v3\n"
LOCK = {"version": 1, "skills": {"pdf": {"source": "acme/skills", "sourceType": "github", "computedHash": "0" * 64}}}


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    """Return the registry of a project with a skill of a lock file, one of ``gh``, and one of nobody."""
    sim = SpaceSim(tmp_path, bundles=())
    for name, more in (("pdf", ""), ("csv", STATED), ("own", "")):
        folder = sim.project / ".claude/skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(SKILL.format(name, more), encoding="utf-8")
        (folder / "notes.md").write_text("# Notes\n\nMore.\n", encoding="utf-8")
    (sim.project / "skills-lock.json").write_text(json.dumps(LOCK), encoding="utf-8")
    return Registry(sim.project, user=sim.user, bundles=(), cache_dir=sim.cache, embedder="none")


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("installed-from:acme/skills", {"pdf", "pdf/notes"}),
        ("installed-from:*acme*", {"pdf", "pdf/notes", "csv"}),
        ("installed-from:*", {"pdf", "pdf/notes", "csv"}),
        ("-installed-from:* type:directive", {"own"}),
        ("installed-from:nobody", set()),
    ],
)
def test_a_query_asks_where_skills_came_from(registry: Registry, query: str, ids: set[str]) -> None:
    """By the source as the record writes it; each file of the skill came from there."""
    assert {hit.id for hit in registry.search(query, fold=False).results} == ids


def test_hits_items_and_facets_say_where_skills_came_from(registry: Registry) -> None:
    """Each hit, the item itself, the facet, and why an item is no hit."""
    found = registry.search("", scope="directive", facets="installed-from", fold=False)
    sources = {hit.id: hit.installed_from for hit in found.results}
    assert sources == {"pdf": "acme/skills", "csv": "https://github.com/acme/tools#v3", "own": ""}
    assert found.facets["installed-from"].values == (("acme/skills", 1), ("https://github.com/acme/tools", 1))
    assert found.facets["installed-from"].missing == 1
    assert registry.get("directive:pdf").installed_from == "acme/skills"
    assert registry.search("", filters={"installed-from": "ACME/skills"}, fold=False).total == 2
    assert "installed-from is acme/skills" in registry.why("installed-from:x", "directive:pdf").reasons[0].message
    assert {str(hit.signature.verdict) for hit in found.results} == {"unsigned"}


def test_attack_a_record_writes_to_the_terminal(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """What a record says is written out harmless in a list; a broken one is named by doctor."""
    project = next(root for root in tmp_path.rglob("skills-lock.json")).parent
    lock = json.dumps(LOCK).replace("acme/skills", "a\\u001b]0;x")
    (project / "skills-lock.json").write_text(lock, encoding="utf-8")
    (project / "apm.lock.yaml").write_text("dependencies: 1\n", encoding="utf-8")
    monkeypatch.setenv("USER_SPACE", str(tmp_path / "nobody"))
    assert main(["list", "directive", "--project", str(project)]) == 0
    printed = capfd.readouterr().out
    assert "from a\\x1b]0;x" in printed
    assert "\x1b]" not in printed
    assert "apm.lock.yaml is not a record" in str([each.message for each in registry.doctor().findings])
