"""The files that clients of agents keep: Agent Skills, commands, subagents, rules, prompts, instructions, MCP servers.

A :class:`ClientFolder` is where one client keeps files of one format. What an item in it is follows from its path
alone: a skill, command, subagent, rule, prompt or file of instructions is a directive; in a skill, scripts are tools
and other Markdown is knowledge.

As documented by the Agent Skills specification (agentskills.io, without version numbers), Claude Code (skills, into
which commands were merged; January 2026), Codex (skills; May 2026; ``.codex/skills`` is the earlier place), and the
reference of GitHub Copilot in VS Code. What Cursor reads is what others report of its documentation.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from rye.items.model import ItemType
from rye.items.reader import split_name

SKILL_FILE: Final = "SKILL.md"
"""The file that makes a folder a skill."""

SKILLS_FOLDER: Final = "skills"
"""The folder of skills in a plugin or a repository of skills; others may have a folder of this name, too."""

CODE: Final = (".cjs", ".js", ".mjs", ".py", ".sh", ".ts")
"""Extensions of the scripts of a skill that are tools."""

_ENDINGS: Final = {
    "command": (".md",),
    "agent": (".md",),
    "rule": (".mdc", ".md"),
    "prompt": (".prompt.md",),
    "instructions": (".instructions.md",),
}
"""How the names of files end, by format; each is one directive."""

_FIXED: Final = {
    "AGENTS.md": (ItemType.DIRECTIVE, "AGENTS", ".md"),
    "CLAUDE.md": (ItemType.DIRECTIVE, "CLAUDE", ".md"),
    ".github/copilot-instructions.md": (ItemType.DIRECTIVE, "copilot-instructions", ".md"),
    ".mcp.json": (ItemType.TOOL, "mcp", ".json"),
}
"""Files with a name of their own in the folder of a project; the first two also in folders below it."""

_CLIENTS: Final = {"AGENTS.md": "agents", "CLAUDE.md": "claude", ".mcp.json": "mcp"}


class ClientFolder(NamedTuple):
    """A folder in which a client of agents keeps files.

    Attributes:
        place: Path below a project, the home folder or a bundle, with slashes; empty for that folder itself.
        format: ``skill``, ``command``, ``agent``, ``rule``, ``prompt`` or ``instructions``.
        client: ``agents`` for places that several clients read, ``claude``, ``codex``, ``copilot`` or ``cursor``.
        depth: Folders below it that are looked into.
    """

    place: str
    format: str
    client: str
    depth: int = 16

    @property
    def is_fixed(self) -> bool:
        """Whether its files are known by their whole names, as ``AGENTS.md`` is."""
        return not self.place

    def identify(self, rel_path: str) -> tuple[ItemType, str, str] | None:
        """Return type, id and extension of the item that a path below the place stands for; None for no item.

        Of a path in a skill it is assumed that the skill's folder has its file, :data:`SKILL_FILE`.

            >>> ClientFolder(".claude/skills", "skill", "claude").identify("pdf/SKILL.md")
            (<ItemType.DIRECTIVE: 'directive'>, 'pdf', '.md')
        """
        folder, slash, name = rel_path.rpartition("/")
        if self.is_fixed:
            found = _FIXED.get(rel_path) or (_FIXED.get(name) if name[0] != "." else None)
            return found and (found[0], folder + slash + found[1] if rel_path not in _FIXED else found[1], found[2])
        if self.format != "skill":
            stem = next((name.removesuffix(each) for each in _ENDINGS[self.format] if name.endswith(each)), "")
            plain = stem and stem[0] != "."
            # a kind of its own before the id: a command and a skill of the same name are two items
            prefix = self.place.rpartition("/")[2]
            return (ItemType.DIRECTIVE, f"{prefix}/{folder}{slash}{stem}", ".md") if plain else None
        if name == SKILL_FILE:
            return (ItemType.DIRECTIVE, folder, ".md") if folder else None
        for item_type in (ItemType.KNOWLEDGE, ItemType.TOOL):
            stem, suffix = split_name(item_type, name)
            if stem and folder and (suffix == ".md" if item_type is ItemType.KNOWLEDGE else suffix in CODE):
                return item_type, f"{folder}/{stem}", suffix
        return None

    def folder_of(self, item_type: ItemType, item_id: str) -> str:
        """Return the path below the place of the folder in which an item of this type and id would lie."""
        folder = item_id.rpartition("/")[0]
        if self.format == "skill":
            return item_id if item_type is ItemType.DIRECTIVE else folder
        return folder if self.is_fixed else folder.partition("/")[2]

    def describe(self, rel_path: str) -> tuple[str, str]:
        """Return the format and the client of a file."""
        if not self.is_fixed:
            return self.format, self.client
        name = rel_path.rpartition("/")[2]
        return "server" if name == ".mcp.json" else "instructions", _CLIENTS.get(name, "copilot")


_SKILLS: Final = (
    ClientFolder(".agents/skills", "skill", "agents"),
    ClientFolder(".claude/skills", "skill", "claude"),
    ClientFolder(".cursor/skills", "skill", "cursor"),
    ClientFolder(".codex/skills", "skill", "codex"),
)
_CLAUDE: Final = (
    ClientFolder(".claude/commands", "command", "claude"),
    ClientFolder(".claude/agents", "agent", "claude"),
)
FIXED_FILES: Final = ClientFolder("", "instructions", "agents", depth=2)

OF_PROJECTS: Final = (
    *_SKILLS,
    ClientFolder(".github/skills", "skill", "copilot"),
    *_CLAUDE,
    ClientFolder(".cursor/rules", "rule", "cursor"),
    ClientFolder(".github/prompts", "prompt", "copilot"),
    ClientFolder(".github/instructions", "instructions", "copilot"),
    ClientFolder(SKILLS_FOLDER, "skill", "agents"),
    FIXED_FILES,
)
"""Folders below the folder of a project; of two items with the same type and id, the one in the earlier folder wins."""

OF_USERS: Final = (*_SKILLS, ClientFolder(".copilot/skills", "skill", "copilot"), *_CLAUDE)
"""Folders below the home folder."""

CLIENTS: Final = tuple(dict.fromkeys(each.client for each in OF_PROJECTS + OF_USERS))
"""The names of all clients; the folders of each can be left out."""

OF_BUNDLES: Final = (
    ClientFolder(SKILLS_FOLDER, "skill", "agents"),
    ClientFolder("commands", "command", "claude"),
    ClientFolder("agents", "agent", "claude"),
)
"""Folders in a plugin or a repository of skills."""

SKILLS: Final = ClientFolder(".", "skill", "agents")
"""A folder that itself holds skills."""

PLUGIN: Final = ".claude-plugin"
"""The folder that makes a folder a plugin or a marketplace of plugins."""

FIXED_NAMES: Final = tuple(_FIXED)
"""Paths of the files with a name of their own, below the folder of a project."""

_OPENCODE: Final = ("agent", "command", "plugin", "skill", "tool")
OBEYED: Final = (
    ".claude/output-styles",
    ".claude/rules",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".clinerules",
    ".codex/config.toml",
    ".cursor/commands",
    ".cursor/hooks.json",
    ".cursor/mcp.json",
    ".cursorrules",
    ".gemini/commands",
    ".gemini/settings.json",
    ".github/agents",
    ".github/chatmodes",
    ".github/hooks",
    *(f".opencode/{each}{plural}" for each in _OPENCODE for plural in ("", "s")),
    ".vscode/mcp.json",
    ".windsurf/rules",
    ".windsurf/workflows",
    ".windsurfrules",
    "CLAUDE.local.md",
    "GEMINI.md",
    "opencode.json",
    "opencode.jsonc",
)
"""Files in a project, and folders of such, that a client runs or obeys, such as hooks, and that are no items."""

MARKS: Final = frozenset(
    each.partition("/")[0] for each in (*FIXED_NAMES, *OBEYED, *(one.place for one in OF_PROJECTS))
) - {""}
"""Names in a folder without which it has no folder of a client."""
