"""Files that are no items: what a tool may run, what clients obey, and that none is left out of the list of all."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path

import pytest

from rye.items.clients import FIXED_FILES, OF_PROJECTS
from rye.spaces.classify import Role
from rye.spaces.discover import client_roots
from rye.spaces.model import Root, Space
from rye.spaces.uncovered import relevant_non_items, runnable_beside
from rye.spaces.walk import Walk, list_items
from tests.support.files import lay as lay_files
from tests.support.repositories import commit, git
from tests.unit.cli.workshop import Workshop, lay


def beside(root: Root) -> list[str]:
    """Return what a walk finds beside tools."""
    return sorted(path for listing in Walk(root, whole=True) for path in relevant_non_items(listing))


def test_cached_code_is_found_where_python_would_not_compare_it(tmp_path: Path) -> None:
    """Unchecked, or without a source; one that is compared with its source is Python's own."""
    lay_files(tmp_path, {"tools/a/t.py": "x", "tools/a/u.py": "x"})
    cache = tmp_path / "tools/a/__pycache__"
    cache.mkdir()
    for name, flags in (("t", 0), ("u", 1), ("gone", 0)):
        header = importlib.util.MAGIC_NUMBER + flags.to_bytes(4, "little") + bytes(8)
        (cache / f"{name}.cpython-311.pyc").write_bytes(header)
    found = ["tools/a/__pycache__/gone.cpython-311.pyc", "tools/a/__pycache__/u.cpython-311.pyc"]
    root = Root(Space.PROJECT, tmp_path)
    assert beside(root) == found
    assert list(runnable_beside(root, "tools/a/t.py")) == found


@pytest.mark.skipif(os.name != "posix", reason="pipes and links are those of POSIX")
def test_what_is_no_regular_file_in_a_code_cache_is_named_and_not_opened(tmp_path: Path) -> None:
    """A pipe would hang whoever reads it, a link may lead anywhere; a cache that is a link is named itself."""
    lay_files(tmp_path, {"tools/a/t.py": "x", "tools/b/u.py": "x", "elsewhere/u.cpython-311.pyc": bytes(16)})
    (tmp_path / "tools/a/__pycache__").mkdir()
    os.mkfifo(tmp_path / "tools/a/__pycache__/t.cpython-311.pyc")
    (tmp_path / "tools/a/__pycache__/t.cpython-312.pyc").symlink_to(tmp_path / "elsewhere/u.cpython-311.pyc")
    (tmp_path / "tools/b/__pycache__").symlink_to(tmp_path / "elsewhere")
    root = Root(Space.PROJECT, tmp_path)
    pipes = tuple(f"tools/a/__pycache__/t.cpython-{version}.pyc" for version in (311, 312))
    assert beside(root) == [*pipes, "tools/b/__pycache__/"]
    assert runnable_beside(root, "tools/a/t.py") == pipes
    assert runnable_beside(root, "tools/b/u.py") == ("tools/b/__pycache__/",)


PATHS = (
    # instructions
    *(".claude/CLAUDE.md", "AGENTS.override.md", "QWEN.md", "CLAUDE.local.md", ".junie/guidelines.md", "a/GEMINI.md"),
    # rules, modes and commands, also in formats that are no items
    *(".roomodes", ".roorules-code", "a/.clinerules-x", ".github/chatmodes/x.chatmode.md", ".claude/rules/x.txt"),
    *(".claude/loop.md", ".claude/commands/x.txt", ".claude/workflows/x.js", ".cursor/rules/.hidden/x.mdc"),
    # hooks, settings, policies, tasks, servers
    *(".codex/hooks.json", ".codex/rules/x.rules", ".gemini/policies/x.toml", ".gemini/.env", ".vscode/tasks.json"),
    *(".kiro/hooks/a.json", ".junie/allowlist.json", ".opencode/plugin/x.ts", ".continue/config.yaml", "opencode.json"),
    *(".github/hooks/x.json", ".github/mcp.json", ".cursor/mcp.json", "packages/x/.mcp.json"),
    *(".crush/crush.json", "crush.json", ".crushrc", "firebender.json", "kilo.jsonc", ".aider.conf.yml"),
    *(".amp/plugins/x.ts", ".devin/hooks.v1.json", ".factory/hooks.json", ".idx/dev.nix", "a/.devcontainer.json"),
    *(".zed/tasks.json", "a/.vscode/mcp.json"),
    # what agents are told to read
    *("CRUSH.md", "a/WARP.md", "replit.md", ".goosehints", ".rules", ".augment-guidelines", "CONVENTIONS.md"),
    *("llms.txt", "a/llms.txt"),
    # however deep
    *("a/b/c/.mcp.json", "a/b/c/d/.windsurfrules", "a/b/c/d/e/.claude/settings.json", ".claude/skills/loose.txt"),
    # spelled as systems read it that ignore case
    *(".claude/Settings.json", ".cursor/MCP.json", ".windsurf/Rules/x.md", ".claude/\u017fettings.json", "agents.md"),
    *(".claude/settings.json.", ".Claude/rules/x.md", "Gemini.md", ".github/Copilot-Instructions.md"),
)


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """A project with one file at each of the paths."""
    shop = lay(tmp_path_factory.mktemp("obeyed"))
    for path in PATHS:
        place = shop.project / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text('{"mcpServers": {}}' if path.endswith("mcp.json") else f"# {path}\n")
    return shop


@pytest.fixture(scope="session")
def named(shop: Workshop) -> set[str]:
    """Every path that a strict verification names."""
    report = json.loads(shop.run("verify", "--strict", "--space", "project", "--json").out)
    return {item["path"] for item in report["items"]} | {problem["path"] for problem in report["unchecked"]}


@pytest.mark.parametrize("path", PATHS)
def test_a_file_that_a_client_obeys_passes_unnamed(shop: Workshop, named: set[str], path: str) -> None:
    """The file is named, or a folder that it lies in."""
    place = shop.project / path
    assert named & {str(place), *map(str, place.parents)}


def test_attack_a_command_and_a_hook_of_a_signed_plugin_are_changed(tmp_path: Path) -> None:
    """All that a plugin offers is verified: its commands as its skills, and what it runs is named."""
    shop, plugin = lay(tmp_path), tmp_path / "plugin"
    for path, text in {
        ".claude-plugin/plugin.json": '{"name": "plugin"}',
        "skills/s/SKILL.md": "---\nname: s\ndescription: S.\n---\n\n# S\n",
        "commands/c.md": "# C\n\nDo it.\n",
    }.items():
        (plugin / path).parent.mkdir(parents=True, exist_ok=True)
        (plugin / path).write_text(text)
    assert shop.run("keys", "generate").status == 0
    assert shop.run("sign", "bundle", "--yes", str(plugin), "--owner", "me").status == 0
    done = shop.run("verify", str(plugin), "--strict")
    assert (done.status, "2 items: 2 trusted" in done.out) == (0, True)
    (plugin / "hooks").mkdir()
    (plugin / "hooks/hooks.json").write_text("{}")
    done = shop.run("verify", str(plugin), "--strict")
    assert (done.status, "hooks/hooks.json" in done.out, done.err) == (1, True, "")
    (plugin / "commands/c.md").write_text("# C\n\nDo evil.\n")
    assert "directive:commands/c" in shop.run("verify", str(plugin)).out


@pytest.mark.parametrize("target", [".store", ".junie"])
def test_attack_instructions_behind_a_link_in_place_of_the_folder_of_a_client(tmp_path: Path, target: str) -> None:
    """What clients read through the link is an item or named, by the path by which they read it."""
    for path in (f"{target}/CLAUDE.md", f"{target}/hooks.json", f"{target}/rules/deep/AGENTS.md"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")
    (tmp_path / ".claude").symlink_to(target)
    (root,) = (each for each in client_roots(Space.PROJECT, tmp_path, OF_PROJECTS) if each.client == FIXED_FILES)
    assert [file.rel_path for file in list_items(root)[0]] == [".claude/CLAUDE.md"]
    assert ".claude/hooks.json" in beside(root)


@pytest.mark.parametrize("path", [".claude/x/CLAUDE.md", ".claude/x/y/AGENTS.md", ".cursor/x/.mcp.json"])
def test_attack_instructions_deeper_in_the_folder_of_a_client(tmp_path: Path, path: str) -> None:
    """No item lies there, so the file is named; a link to it is an item of its own."""
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text("x")
    link = "GEMINI.md" if path.endswith(".md") else ".mcp.json"
    (tmp_path / link).symlink_to(path)
    (root,) = (each for each in client_roots(Space.PROJECT, tmp_path, OF_PROJECTS) if each.client == FIXED_FILES)
    assert beside(root) == [path]
    assert [file.rel_path for file in list_items(root)[0]] == [link]


def test_attack_a_hidden_skill_with_a_signature_of_its_own(tmp_path: Path) -> None:
    """Nobody verifies that signature, so a strict verification names every file there."""
    for path in (".claude/skills/a/SKILL.md", ".claude/skills/.b/SKILL.md", ".claude/skills/.b/SKILL.sig"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")
    (root,) = client_roots(Space.PROJECT, tmp_path, OF_PROJECTS)
    others = [row.path for listing in Walk(root, whole=True) for row in listing.of(Role.LOOSE)]
    assert others == [".b/SKILL.md", ".b/SKILL.sig"]


def test_work_trees_of_a_repository_are_projects_of_their_own(tmp_path: Path) -> None:
    """Each has a line with its counts; a folder that only looks like a work tree stays a finding."""
    shop = lay(tmp_path)
    place = shop.project / ".claude/worktrees"
    (shop.project / "AGENTS.md").write_text("# Agents\n\nBe kind.\n")
    git(shop.project, "init", "-q")
    assert shop.run("keys", "generate").status == 0
    assert shop.run("sign", "--yes", "--all").status == 0
    commit(shop.project)
    for tree in (str(place / "task"), "beside"):
        git(shop.project, "worktree", "add", "-q", tree)
    done = shop.run("verify", "--strict", "--space", "project")
    assert ("beside: a repository of its own: 8 trusted" in done.out, done.status) == (True, 0)
    assert ".claude/worktrees/task: a repository of its own: 8 trusted" in done.out
    task = Workshop(place / "task", shop.env)
    assert task.run("verify", "--space", "project").status == 0  # in which a path begins at its own top
    (place / "fake").mkdir()
    (place / "fake/.git").write_bytes((place / "task/.git").read_bytes())
    (place / "fake/evil.md").write_text("evil")
    assert ".claude/worktrees/fake/evil.md" in shop.run("verify", "--strict", "--space", "project").out
