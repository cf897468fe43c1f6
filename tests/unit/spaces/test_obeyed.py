"""Attacks by files that a client obeys and that would pass unnamed: each is an item, or is named as not covered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rye.items.clients import CLIENTS, FIXED_NAMES, OF_PROJECTS, OF_USERS
from rye.spaces.obeyed import has_files, obeyed
from tests.unit.cli.workshop import Workshop, lay

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
    # however deep
    *("a/b/c/.mcp.json", "a/b/c/d/.windsurfrules", "a/b/c/d/e/.claude/settings.json", ".claude/skills/loose.txt"),
    # spelled as systems read it that ignore case
    *(".claude/Settings.json", ".cursor/MCP.json", ".windsurf/Rules/x.md", ".claude/\u017fettings.json", "agents.md"),
    *(".claude/settings.json.", ".Claude/rules/x.md", "Gemini.md", ".github/Copilot-Instructions.md"),
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """A project with one file at each of the paths."""
    shop = lay(tmp_path_factory.mktemp("obeyed"))
    for path in PATHS:
        place = shop.project / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text('{"mcpServers": {}}' if path.endswith("mcp.json") else f"# {path}\n")
    return shop


@pytest.fixture(scope="module")
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
    assert shop.run("sign", "--bundle", str(plugin), "--owner", "me").status == 0
    done = shop.run("verify", str(plugin), "--strict")
    assert (done.status, "2 items: 2 trusted" in done.out, done.err) == (0, True, "")
    (plugin / "hooks").mkdir()
    (plugin / "hooks/hooks.json").write_text("{}")
    done = shop.run("verify", str(plugin), "--strict")
    assert (done.status, "hooks/hooks.json" in done.out, done.err) == (1, True, "")
    (plugin / "commands/c.md").write_text("# C\n\nDo evil.\n")
    assert "directive:commands/c" in shop.run("verify", str(plugin)).out


def test_items_and_their_signatures_are_covered(tmp_path: Path) -> None:
    """Places of items are left to whoever walks those; what lies beside them is named."""
    for path in (".claude/skills/x/SKILL.md", ".cursor/mcp.json", ".cursor/mcp.json.sig", ".claude/hooks/a.sh"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")
    assert obeyed(tmp_path, 0) == [".claude/hooks/a.sh"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("AGENTS.md", True),
        (".claude/settings.json", True),
        (".clinerules/x.md", False),
        (".claude/skills/x/SKILL.md", False),
        (".github/workflows/ci.yml", False),
        (".github/copilot-instructions.md", True),
        (".vscode/settings.json", False),
        ("README.md", False),
    ],
)
def test_a_folder_is_a_project_because_of_a_file(tmp_path: Path, path: str, expected: object) -> None:
    """Places of items count by themselves; the settings of an editor alone make no project."""
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text("x")
    assert has_files(tmp_path, [path.partition("/")[0]]) is expected


def test_the_table_of_clients_is_consistent() -> None:
    """Each place stands there once for each space, and fixed files lie in no place of items."""
    for places in (OF_PROJECTS, OF_USERS):
        assert len({each.place for each in places}) == len(places)
    assert not [
        name for name in FIXED_NAMES for each in OF_PROJECTS if each.place and name.startswith(f"{each.place}/")
    ]
    assert {"claude", "codex", "cursor", "copilot", "gemini", "windsurf", "cline", "roo", "kiro"} <= set(CLIENTS)
    assert {"junie", "qwen", "continue", "opencode"} <= set(CLIENTS)
