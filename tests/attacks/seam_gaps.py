"""Attacks on seams: parts of plugins, imports, and names that no part of rye looks for."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from tests.support.attacks import Arena
from tests.support.files import lay
from tests.support.seams import (
    EVIL,
    KIND,
    ROWS,
    SKILL,
    STRICT,
    Answer,
    Row,
    ask,
    row,
    run,
    sign,
)


def lay_plugin(arena: Arena) -> Path:
    """Put a signed plugin into the project, and return its folder."""
    files = {".claude-plugin/plugin.json": '{"name": "plug"}\n', "skills/pdf/SKILL.md": SKILL, "commands/x.md": KIND}
    folder = lay(arena.sim.project / "plug", files)
    assert run("sign", "bundle", "--yes", str(folder))[0] == 0
    shutil.rmtree(folder / ".ai")  # the trust file, which ann's user does not need
    return folder


def plugin(path: str, text: str = "{}", how: str = "project") -> Row:
    """Return the row of a file that is added to a signed plugin, or changed in it."""

    def attack(arena: Arena) -> Answer:
        folder = str(lay(lay_plugin(arena), {path: text}))
        arena.list_items()
        if how == "bundle":
            return ask(arena, "--strict", "--bundle", folder, space="system")
        return ask(arena, "--strict", folder, space="") if how == "folder" else ask(arena, *STRICT)

    return Row(attack, named=f"plug/{path}")


MANIFEST = ".claude-plugin/plugin.json"
ROWS |= {
    "plugin-names-hooks": plugin(MANIFEST, '{"name": "plug", "hooks": {"PreToolUse": [{"command": "evil"}]}}\n'),
    "plugin-names-servers": plugin(MANIFEST, '{"name": "plug", "mcpServers": {"x": {"command": "evil"}}}\n'),
    "plugin-names-other-folders": plugin(MANIFEST, '{"name": "plug", "commands": "./docs/"}\n'),
    "plugin-with-hooks": plugin("hooks/hooks.json"),
    "plugin-with-hooks-in-other-letters": plugin("Hooks/hooks.json"),
    "plugin-with-programs": plugin("bin/evil"),
    "plugin-with-output-styles": plugin("output-styles/evil.md", EVIL),
    "plugin-with-settings": plugin("settings.json"),
    "plugin-named-by-its-folder-with-hooks": plugin("hooks/hooks.json", how="folder"),
    "plugin-named-by-its-folder-with-settings": plugin("settings.json", how="folder"),
    "plugin-named-as-a-bundle-with-hooks": plugin("hooks/hooks.json", how="bundle"),
    "plugin-named-as-a-bundle-with-programs": plugin("bin/evil", how="bundle"),
}


@row("list-gone")
def plugin_loses_its_list(arena: Arena) -> None:
    """The list of a plugin, which was seen before, is removed."""
    folder = lay_plugin(arena)
    assert run("sign", "list", "--yes", str(folder))[0] == 0
    sign(arena, {})
    (folder / "rye.list").unlink()


def added(files: Mapping[str, str], path: str, *codes: str, named: str = "", text: str = EVIL) -> Row:
    """Return the row of a file that is added to a project of signed files."""

    def attack(arena: Arena) -> None:
        lay(sign(arena, files), {path: text})

    return Row(attack, frozenset(codes), named=named)


def imported(path: str, text: str, to: str) -> Row:
    """Return the row of a signed file of a client that imports one that nothing covers."""
    return added({path: text}, to, "uncovered", named=to)


def planted(path: str, *codes: str, named: str = "") -> Row:
    """Return the row of a file that some client obeys."""
    return added({"AGENTS.md": KIND}, path, *codes, named=named)


UNKNOWN = "unknown-dot-name"
ROWS |= {
    "import-beside-its-file": imported("AGENTS.md", "See @docs/style.md\n", "docs/style.md"),
    "import-from-above-a-rule": imported(".claude/rules/a.md", "See @../../docs/style.md\n", "docs/style.md"),
    "import-without-an-extension": imported("AGENTS.md", "See @README for more\n", "README"),
    "import-of-a-command-from-the-top": imported(".claude/commands/a.md", "See @docs/style.md\n", "docs/style.md"),
    "agents-md-in-the-folder-of-github": planted(".github/AGENTS.md", named=".github/AGENTS.md"),
    "agents-md-with-an-unseen-letter-at-the-top": planted("A\u200bGENTS.md"),
    "agents-md-with-an-unseen-letter-deep-down": planted("p/q/r/A\u200bGENTS.md"),
    "agents-md-that-begins-with-an-unseen-letter-deep-down": planted("p/q/r/\u200bAGENTS.md"),
    "agents-md-in-wide-letters-deep-down": planted("p/q/r/\uff21GENTS.md"),
    "settings-of-opencode-deep-down": planted("p/q/r/opencode.json", named="p/q/r/opencode.json"),
    "settings-of-claude-deep-down": planted("p/q/r/s/.claude/settings.json"),
    "rules-of-an-unknown-client": planted(".qoder/rules/x.md", UNKNOWN),
    "rules-of-an-unknown-client-deep-down": planted("p/q/r/s/.qoder/rules/x.md", UNKNOWN),
    "hints-of-an-unknown-client": planted(".qoderhints", UNKNOWN),
    "name-that-folds-to-a-dot-name": planted("\uff0eqoderhints", UNKNOWN),
    "repository-with-a-program-inside-the-items": added({}, ".ai/.git/config", text="[core]\n\tfsmonitor = evil\n"),
}
