"""Finding and listing the files that clients of agents keep beside ``.ai``."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rye.errors import ArgumentError
from rye.items.clients import CLIENTS, OF_PROJECTS
from rye.spaces.bundles import named_roots
from rye.spaces.discover import client_roots, find_project
from rye.spaces.layout import Layout
from rye.spaces.model import Space
from rye.spaces.nested import look_below
from rye.spaces.walk import list_items, stat_items


def lay(folder: Path, *paths: str) -> Path:
    """Make files, each with its path as its text."""
    for path in paths:
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"# {path}\n")
    return folder


def sources(folder: Path, home: Path, clients: list[str] | None = None) -> list[str]:
    """Return the sources of the spaces around a project, without bundles."""
    return [root.source for root in Layout.find(project=folder, user=home, bundles=(), clients=clients).roots]


def refs(folder: Path, place: str) -> tuple[list[str], list[str]]:
    """Return the items of one folder of a client, and the codes of problems."""
    (root,) = (one for one in client_roots(Space.PROJECT, folder, OF_PROJECTS) if one.client.place == place)  # type: ignore[union-attr]
    files, problems = list_items(root)
    assert list(stat_items(root)[0]) == [file.rel_path for file in files]
    return [f"{file.item_type}:{file.item_id}" for file in files], [one.code for one in problems]


def test_folders_of_clients_count_after_ai(tmp_path: Path) -> None:
    """Those that exist are roots of their space, each with a source of its own."""
    project = lay(tmp_path / "p", ".claude/skills/pdf/SKILL.md", ".cursor/rules/a.mdc", "AGENTS.md")
    home = lay(tmp_path / "h", ".agents/skills/x/SKILL.md", "AGENTS.md")
    assert sources(project, home) == [
        *("project", "project:.claude/skills", "project:.cursor/rules", "project:files"),
        *("user", "user:.agents/skills"),
    ]


def test_clients_can_be_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By argument or variable, one, some or all of them; a name that is none is an error."""
    project, home = lay(tmp_path / "p", ".claude/skills/a/SKILL.md", ".agents/skills/b/SKILL.md"), tmp_path / "h"
    assert sources(project, home, ["claude"]) == ["project", "project:.claude/skills", "user"]
    assert sources(project, home, ["none"]) == ["project", "user"]
    monkeypatch.setenv("RYE_CLIENTS", "agents, cursor")
    assert sources(project, home) == ["project", "project:.agents/skills", "user"]
    assert len(sources(project, home, list(CLIENTS))) == 4
    for wrong in (["claud"], ["none", "claude"]):
        with pytest.raises(ArgumentError) as caught:
            sources(project, home, wrong)
        assert caught.value.code == "bad-client"


def test_a_project_needs_no_ai(tmp_path: Path) -> None:
    """The nearest ``.ai`` comes first; without one, a repository with such files, then the nearest folder with some."""
    lay(tmp_path / "p", "AGENTS.md", "packages/x/AGENTS.md", "packages/x/src/a.py")
    start = tmp_path / "p/packages/x/src"
    assert find_project(start) == tmp_path / "p/packages/x"
    (tmp_path / "p/.git").mkdir()
    assert find_project(start) == tmp_path / "p"
    (tmp_path / "p/packages/.ai").mkdir()
    assert find_project(start) == tmp_path / "p/packages"
    assert find_project(tmp_path / "p", user=tmp_path / "p") is None
    lay(tmp_path / "q", ".claude/skills/pdf/SKILL.md", ".qoder/skills/pdf/SKILL.md")
    for client in (".claude", ".qoder"):
        assert find_project(tmp_path / "q" / client / "skills/pdf") == tmp_path / "q"


def test_names_that_unrelated_projects_have_make_no_project(tmp_path: Path) -> None:
    """Editors and web sites have them too; instructions of a client make one."""
    for name in ("llms.txt", "CONVENTIONS.md", ".replit", ".vscode/tasks.json", ".zed/tasks.json"):
        lay(tmp_path, name)
    assert find_project(tmp_path, user=tmp_path.parent) is None
    lay(tmp_path, "CRUSH.md")
    assert find_project(tmp_path, user=tmp_path.parent) == tmp_path
    assert refs(tmp_path, "") == (["directive:CRUSH"], [])


def test_a_skill_that_is_linked_from_another_client_is_found_once(tmp_path: Path) -> None:
    """Installers keep one copy and link to it, folder by folder or all of them."""
    lay(tmp_path, ".agents/skills/pdf/SKILL.md", ".claude/skills/own/SKILL.md")
    (tmp_path / ".claude/skills/pdf").symlink_to("../../.agents/skills/pdf")
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor/skills").symlink_to("../.agents/skills")
    assert refs(tmp_path, ".claude/skills") == (["directive:own"], [])
    places = [root.client.place for root in client_roots(Space.PROJECT, tmp_path, OF_PROJECTS) if root.client]
    assert places == [".agents/skills", ".claude/skills"]


def test_attack_a_link_out_of_the_folder_is_reported_and_not_followed(tmp_path: Path) -> None:
    """A checkout must not choose which of the user's other files are read."""
    lay(tmp_path / "secret", "SKILL.md", "key.md")
    project = lay(tmp_path / "p", ".claude/skills/own/SKILL.md")
    (project / ".claude/skills/stolen").symlink_to(tmp_path / "secret")
    (project / ".claude/skills/own/key.md").symlink_to(tmp_path / "secret/key.md")
    (project / ".claude/skills/own/gone.md").symlink_to("nowhere.md")
    os.mkfifo(project / ".claude/skills/own/pipe.md")
    found, problems = refs(project, ".claude/skills")
    assert found == ["directive:own"]
    assert sorted(problems) == ["broken-link", "link-escape", "link-escape", "not-a-file"]


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["skills/pdf/SKILL.md", "template/SKILL.md"], ["pdf"]),
        (["pdf/SKILL.md", "pdf/forms.md"], ["pdf", "pdf/forms"]),
        (
            [".claude-plugin/plugin.json", "skills/a/SKILL.md", "commands/b.md", "agents/c.md"],
            ["a", "agents/c", "commands/b"],
        ),
        (["plugins/p/.claude-plugin/plugin.json", "plugins/p/commands/b.md"], ["commands/b"]),
        ([".claude/skills/a/SKILL.md", "AGENTS.md"], ["AGENTS", "a"]),
        (["src/commands/b.md"], []),
    ],
)
def test_a_repository_of_skills_is_a_bundle_as_it_is(tmp_path: Path, paths: list[str], expected: list[str]) -> None:
    """Plugins, marketplaces, folders of skills and projects of clients; folders that only have such names are none."""
    roots, _ = named_roots([lay(tmp_path / "b", *paths)])
    assert sorted(file.item_id for root in roots for file in list_items(root)[0]) == expected
    assert len({root.source for root in roots}) == len(roots)
    assert len({root.bundle for root in roots}) <= 1


def test_skills_of_clients_that_the_table_does_not_have_are_found(tmp_path: Path) -> None:
    """Every ``.NAME/skills/*/SKILL.md`` is a skill, at any depth; a list of clients leaves these out."""
    lay(tmp_path, ".qoder/skills/pdf/SKILL.md", ".iflow/skills/doc/SKILL.md", ".cache/skills/x.md")
    lay(tmp_path / "a/b/c/d", ".zencoder/skills/x/SKILL.md")
    assert sources(tmp_path, tmp_path / "home")[:3] == ["project", "project:.iflow/skills", "project:.qoder/skills"]
    assert refs(tmp_path, ".qoder/skills") == (["directive:pdf"], [])
    assert not [each for each in sources(tmp_path, tmp_path / "home", ["claude"]) if "qoder" in each]
    found = [root.source for root in look_below(tmp_path).roots]
    assert "project:d:.zencoder/skills" in found
