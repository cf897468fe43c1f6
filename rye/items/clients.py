"""The files that coding agents obey: one table of places, each with the client that reads it and its documentation.

A file that people write for an agent is an *item*: a skill, command, subagent, rule, prompt or instruction file is a
directive, a list of MCP servers is a tool; in a skill, scripts are tools and other Markdown is knowledge. The path
alone decides what an item is (:class:`ClientFolder`). Everything else in a client folder, such as hooks and settings,
is not an item; ``rye verify`` reports it as not covered (:data:`COVERED`, :data:`OBEYED_FILES`).

The sources were looked up on 2026-11-25. A source that is not the client's own is a project that cites the client.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from rye.items.model import ItemType
from rye.items.reader import split_name

SKILL_FILE: Final = "SKILL.md"
"""The file that makes a folder a skill."""

SKILLS_FOLDER: Final = "skills"
"""The folder of skills in a plugin or a repository of skills; unrelated folders may have this name too."""

CODE: Final = (".cjs", ".js", ".mjs", ".py", ".sh", ".ts")
"""Extensions of a skill's scripts that are tools."""

_ENDINGS: Final = {
    "command": (".md",),
    "agent": (".md",),
    "mode": (".chatmode.md", ".md"),
    "rule": (".mdc", ".md"),
    "prompt": (".prompt.md",),
    "instructions": (".instructions.md",),
}
"""File name endings, by format; each such file is one directive."""

FORMATS: Final = frozenset({"skill", *_ENDINGS})
"""The formats of files in client folders."""


class ClientFolder(NamedTuple):
    """A folder in which a client keeps files of one format.

    Attributes:
        place: Path below a project, the home folder or a bundle, with slashes; empty for that folder itself.
        format: ``skill``, ``command``, ``agent``, ``mode``, ``rule``, ``prompt`` or ``instructions``.
        client: ``agents`` for places that several clients read, else the name of the client.
        depth: Number of levels of subfolders to search.
    """

    place: str
    format: str
    client: str
    depth: int = 16

    @property
    def is_fixed(self) -> bool:
        """Whether its files are identified by their complete names, such as ``AGENTS.md``."""
        return not self.place

    def identify(self, rel_path: str) -> tuple[ItemType, str, str] | None:
        """Return type, id and extension of the item at a path below the place; None if it is not an item.

        A path inside a skill is assumed to be in a folder that has :data:`SKILL_FILE`.

            >>> ClientFolder(".claude/skills", "skill", "claude").identify("pdf/SKILL.md")
            (<ItemType.DIRECTIVE: 'directive'>, 'pdf', '.md')
        """
        if self.is_fixed:
            return _identify_fixed(rel_path)
        folder, slash, name = rel_path.rpartition("/")
        if self.format != "skill":
            stem = next((name.removesuffix(ending) for ending in _ENDINGS[self.format] if name.endswith(ending)), "")
            # the prefix keeps a command and a skill of the same name apart
            prefix = self.place.rpartition("/")[2].lstrip(".")
            return (ItemType.DIRECTIVE, f"{prefix}/{folder}{slash}{stem}", ".md") if stem and stem[0] != "." else None
        if name == SKILL_FILE:
            return (ItemType.DIRECTIVE, folder, ".md") if folder else None
        for item_type in (ItemType.KNOWLEDGE, ItemType.TOOL):
            stem, suffix = split_name(item_type, name)
            if stem and folder and (suffix == ".md" if item_type is ItemType.KNOWLEDGE else suffix in CODE):
                return item_type, f"{folder}/{stem}", suffix
        return None

    def folder_of(self, item_type: ItemType, item_id: str) -> str:
        """Return the path, below the place, of the folder that would hold an item of this type and id."""
        folder = item_id.rpartition("/")[0]
        if self.format == "skill":
            return item_id if item_type is ItemType.DIRECTIVE else folder
        return _folder_of_fixed(item_id) if self.is_fixed else folder.partition("/")[2]

    def describe(self, rel_path: str) -> tuple[str, str]:
        """Return the format and the client of a file."""
        if not self.is_fixed:
            return self.format, self.client
        fixed = _FIXED[_fixed_name(rel_path)]
        return fixed.format, fixed.client


class _Fixed(NamedTuple):
    format: str
    client: str
    item_id: str
    source: str


def _rows(table: str) -> list[list[str]]:
    return [line.split() for line in table.strip().splitlines()]


_FIXED: Final = {
    path: _Fixed(*row)
    for path, *row in _rows("""
AGENTS.md                        instructions  agents   AGENTS                agents.md
AGENTS.override.md               instructions  codex    AGENTS.override       developers.openai.com/codex/guides/agents-md
AGENTS.local.md                  instructions  roo      AGENTS.local          github.com/RooCodeInc/Roo-Code/custom-instructions.ts
AGENT.md                         instructions  roo      AGENT                 github.com/RooCodeInc/Roo-Code/custom-instructions.ts
CLAUDE.md                        instructions  claude   CLAUDE                code.claude.com/docs/en/memory
CLAUDE.local.md                  instructions  claude   CLAUDE.local          code.claude.com/docs/en/memory
.claude/CLAUDE.md                instructions  claude   claude/CLAUDE         code.claude.com/docs/en/memory
GEMINI.md                        instructions  gemini   GEMINI                github.com/google-gemini/gemini-cli/docs/cli/gemini-md.md
QWEN.md                          instructions  qwen     QWEN                  github.com/QwenLM/qwen-code/docs/users/features/memory.md
.github/copilot-instructions.md  instructions  copilot  copilot-instructions  docs.github.com/copilot
.junie/AGENTS.md                 instructions  junie    junie/AGENTS          junie.jetbrains.com/docs/guidelines-and-memory.html
.junie/guidelines.md             instructions  junie    junie/guidelines      jetbrains.com/help/junie
.mcp.json                        server        mcp      mcp                   code.claude.com/docs/en/mcp
.cursor/mcp.json                 server        cursor   cursor/mcp            cursor.com/docs/context/mcp
.github/mcp.json                 server        copilot  github/mcp            docs.github.com/copilot/cli-config-dir-reference
.roo/mcp.json                    server        roo      roo/mcp               github.com/RooCodeInc/Roo-Code/McpHub.ts
""")
}
"""Files with fixed names, in a project folder or below it: format, client, id, source."""

FIXED_FOLDERS: Final = frozenset(path.rpartition("/")[0] for path in _FIXED) - {""}
"""The client folders that contain such files."""


def _fixed_name(rel_path: str) -> str:
    """Return the last parts of a path that form a fixed file name; empty for none."""
    parts = rel_path.rsplit("/", 2)
    names = ["/".join(parts[-2:]), parts[-1]]
    return next((name for name in names if name in _FIXED), "")


def instructed_folder(rel_path: str) -> str | None:
    """Return the folder, below a project, that an instruction file applies to; None for any other file.

    >>> instructed_folder("app/.github/copilot-instructions.md")
    'app/'
    """
    name = _fixed_name(rel_path)
    return rel_path[: -len(name)] if name and _FIXED[name].format == "instructions" else None


def _folder_of_fixed(item_id: str) -> str:
    for path, fixed in _FIXED.items():
        folder, _, _ = path.rpartition("/")
        if folder and f"/{item_id}".endswith(f"/{fixed.item_id}"):
            return item_id.removesuffix(fixed.item_id) + folder
    return item_id.rpartition("/")[0]


def _identify_fixed(rel_path: str) -> tuple[ItemType, str, str] | None:
    name = _fixed_name(rel_path)
    if not name:
        return None
    fixed, folder = _FIXED[name], rel_path[: -len(name)]
    if any(part.startswith(".") for part in folder.split("/")):
        return None  # such as .claude/AGENTS.md, which no client reads
    is_server = fixed.format == "server"
    return (
        ItemType.TOOL if is_server else ItemType.DIRECTIVE,
        f"{folder}{fixed.item_id}",
        ".json" if is_server else ".md",
    )


_FOLDERS: Final = _rows("""
.agents/skills             skill         agents    pu  agentskills.io/specification
.claude/skills             skill         claude    pu  code.claude.com/docs/en/skills
.cursor/skills             skill         cursor    pu  cursor.com/docs/context/skills
.codex/skills              skill         codex     pu  developers.openai.com/codex/skills
.github/skills             skill         copilot   p   code.visualstudio.com/docs/copilot/customization/agent-skills
.copilot/skills            skill         copilot   u   docs.github.com/en/copilot
.gemini/skills             skill         gemini    pu  github.com/google-gemini/gemini-cli/docs/cli/skills.md
.qwen/skills               skill         qwen      pu  github.com/QwenLM/qwen-code/docs/users/features/skills.md
.windsurf/skills           skill         windsurf  p   docs.windsurf.com/windsurf/cascade/skills
.codeium/windsurf/skills   skill         windsurf  u   docs.windsurf.com/windsurf/cascade/skills
.cline/skills              skill         cline     pu  docs.cline.bot/getting-started/config
.roo/skills                skill         roo       pu  github.com/RooCodeInc/Roo-Code/SkillsManager.ts
.kiro/skills               skill         kiro      pu  kiro.dev/docs/skills
.junie/skills              skill         junie     pu  junie.jetbrains.com/docs/agent-skills.html
.continue/skills           skill         continue  pu  github.com/continuedev/continue/loadMarkdownSkills.ts
.opencode/skill            skill         opencode  p   opencode.ai/docs/skills
.opencode/skills           skill         opencode  p   opencode.ai/docs/skills
.config/opencode/skills    skill         opencode  u   opencode.ai/docs/skills
.claude/commands           command       claude    pu  code.claude.com/docs/en/skills
.claude/agents             agent         claude    pu  code.claude.com/docs/en/sub-agents
.claude/rules              rule          claude    pu  code.claude.com/docs/en/memory
.claude/output-styles      mode          claude    pu  code.claude.com/docs/en/output-styles
.cursor/rules              rule          cursor    p   cursor.com/docs/rules
.cursor/commands           command       cursor    pu  cursor.com/docs/context/commands
.cursor/agents             agent         cursor    pu  cursor.com/docs/subagents
.github/prompts            prompt        copilot   p   code.visualstudio.com/docs/copilot/customization/prompt-files
.github/instructions       instructions  copilot   p   docs.github.com/en/copilot
.github/agents             agent         copilot   p   code.visualstudio.com/docs/copilot/customization/custom-agents
.github/chatmodes          mode          copilot   p   code.visualstudio.com/docs/copilot/customization/custom-agents
.gemini/agents             agent         gemini    pu  github.com/google-gemini/gemini-cli/docs/core/subagents.md
.qwen/rules                rule          qwen      pu  github.com/QwenLM/qwen-code/docs/users/features/rules.md
.qwen/commands             command       qwen      pu  github.com/QwenLM/qwen-code/commands.md
.qwen/agents               agent         qwen      pu  github.com/QwenLM/qwen-code/sub-agents.md
.qwen/output-styles        mode          qwen      p   github.com/QwenLM/qwen-code/output-styles.md
.windsurf/rules            rule          windsurf  p   docs.windsurf.com/windsurf/cascade/memories
.windsurf/workflows        command       windsurf  p   docs.windsurf.com/windsurf/cascade/workflows
.clinerules                rule          cline     p   docs.cline.bot/customization/cline-rules
.cline/rules               rule          cline     pu  docs.cline.bot/getting-started/config
.cline/workflows           command       cline     p   docs.cline.bot/getting-started/config
.roo/rules                 rule          roo       pu  github.com/RooCodeInc/Roo-Code/custom-instructions.ts
.roo/commands              command       roo       pu  github.com/RooCodeInc/Roo-Code/commands.ts
.kiro/steering             rule          kiro      pu  kiro.dev/docs/steering
.kiro/prompts              command       kiro      pu  kiro.dev/docs/cli/chat/manage-prompts
.kiro/agents               agent         kiro      pu  kiro.dev/docs/chat/subagents
.junie/commands            command       junie     pu  github.com/dyoshikawa/rulesync/junie-paths.ts
.junie/agents              agent         junie     pu  junie.jetbrains.com/docs/junie-cli-subagents.html
.continue/rules            rule          continue  pu  github.com/continuedev/continue/loadMarkdownRules.ts
.continue/prompts          command       continue  pu  github.com/continuedev/continue/getPromptFiles.ts
.continue/agents           agent         continue  p   github.com/continuedev/continue/resolveReviews.ts
.opencode/agent            agent         opencode  p   opencode.ai/docs/agents
.opencode/agents           agent         opencode  p   opencode.ai/docs/agents
.opencode/command          command       opencode  p   opencode.ai/docs/commands
.opencode/commands         command       opencode  p   opencode.ai/docs/commands
.config/opencode/agents    agent         opencode  u   opencode.ai/docs/commands
.config/opencode/commands  command       opencode  u   opencode.ai/docs/commands
skills                     skill         agents    p   agentskills.io/specification
""")
"""Place, format, client, where (p below a project, u below the home folder) and source of each folder of items."""


def _folders(where: str) -> tuple[ClientFolder, ...]:
    return tuple(ClientFolder(place, form, client) for place, form, client, spaces, _ in _FOLDERS if where in spaces)


PREFIXES: Final[Mapping[str, tuple[str, ...]]] = {
    form: tuple(dict.fromkeys(place.rpartition("/")[2].lstrip(".") for place, kind, *_ in _FOLDERS if kind == form))
    for form in _ENDINGS
}
"""Format of files other than skills → the folders that prefix their ids, as in ``commands/deploy``."""

FIXED_FILES: Final = ClientFolder("", "instructions", "agents", depth=2)

OF_PROJECTS: Final = (*_folders("p"), FIXED_FILES)
"""Client folders of a project; of two items with the same type and id, the one in the earlier folder is used."""

OF_USERS: Final = _folders("u")
"""Client folders of the home folder."""

CLIENTS: Final = tuple(
    dict.fromkeys([*(folder.client for folder in OF_PROJECTS + OF_USERS), *(fixed.client for fixed in _FIXED.values())])
)
"""The names of all clients; the folders of each can be left out."""

_UNKNOWN: Final = re.compile(r"\.[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_KNOWN: Final = frozenset(place.partition("/")[0] for place, *_ in _FOLDERS)


def skills_of_another(name: str) -> ClientFolder | None:
    """Return the skills folder of a client that is not in the table, given its folder in a project or home folder.

    Installers of skills write ``.NAME/skills`` for dozens of clients, and more are added every month.

        >>> skills_of_another(".trae")
        ClientFolder(place='.trae/skills', format='skill', client='trae', depth=16)
    """
    is_unknown = name not in _KNOWN and name not in _OF_TOOLS and _UNKNOWN.fullmatch(name)
    return ClientFolder(f"{name}/{SKILLS_FOLDER}", "skill", name[1:]) if is_unknown else None


OF_BUNDLES: Final = (
    ClientFolder(SKILLS_FOLDER, "skill", "agents"),
    ClientFolder("commands", "command", "claude"),
    ClientFolder("agents", "agent", "claude"),
)
"""Client folders of a plugin or a repository of skills."""

SKILLS: Final = ClientFolder(".", "skill", "agents")
"""A folder that contains skills directly."""


def has_skills(place: str) -> bool:
    """Return whether a client folder, as an origin names it, is a skills folder."""
    return place.rpartition("/")[2] in {SKILLS_FOLDER, "skill", SKILLS.place}


PLUGIN: Final = ".claude-plugin"
"""The folder that makes its parent a plugin or a marketplace of plugins."""

OBEYED_IN_PLUGINS: Final = ("bin", "hooks", "monitors", "workflows")
"""Folders of a plugin whose files are run but are not items. Source: code.claude.com/docs/en/plugins-reference."""

FIXED_NAMES: Final = tuple(_FIXED)
"""Paths of the files with fixed names, below a project folder."""

COVERED: Final = frozenset(
    ".agents .claude .cline .clinerules .codex .continue .cursor .devin .gemini .junie .kiro .opencode .qwen .roo "
    ".windsurf".split()
)
"""Client folders, in any folder of a project, where every file is either an item or reported as not covered."""

COVERED_IN_GITHUB: Final = frozenset(
    "agents allowed_models.txt chatmodes copilot copilot-desktop.yml copilot-instructions.md extensions github-app.yml "
    "hooks instructions lsp.json mcp.json plugin prompts skills".split()
)
"""The same in ``.github``, which also contains other files. Source: docs.github.com/en/copilot, the CLI reference."""

_OF_EDITORS: Final = frozenset({".vscode", ".devcontainer"})
"""Folders of editors with tasks and settings that agents run; they do not make a folder a project."""

_OBEYED_FILES: Final = frozenset(
    ".clinerules .continuerc.json .continuerules .cursorrules .lsp.json .roomodes .roorules .windsurfrules "
    "gemini-extension.json opencode.json opencode.jsonc qwen-extension.json".split()
)
"""Non-items that a client obeys in any folder of a project: another format, settings or servers."""
_OBEYED_STARTS: Final = (".clinerules-", ".roorules-")
"""Prefixes of the names of further such files."""

MARKS: Final = COVERED.union(
    path.partition("/")[0] for path in (*_FIXED, *(folder.place for folder in OF_PROJECTS))
) - {""}
"""A folder that contains none of these names has no client files."""


_OF_TOOLS: Final = frozenset(
    ".ai .claude-plugin .dockerignore .editorconfig .git .git-blame-ignore-revs .gitattributes .github .gitignore "
    ".gitkeep .gitmodules .mailmap .pre-commit-config.yaml .prettierignore .prettierrc".split()
)
"""Names with a leading dot that are not a client's: those of rye, git and formatters."""


def is_unknown_dot_name(name: str, spelled: str) -> bool:
    """Return whether a name begins with a dot and belongs to no known tool, so that a new client may obey it.

    Args:
        name: The name as it is.
        spelled: As for :func:`is_obeyed`.
    """
    if not spelled.startswith(".") or name in _OF_TOOLS or name in MARKS:
        return False
    return not (is_obeyed(spelled) or is_covered(spelled))


def is_obeyed(name: str) -> bool:
    """Return whether a client obeys a file of this name, given in the spelling of a case-insensitive system."""
    return name in _FOLDED_NAMES or name in _OBEYED_FILES or name.startswith(_OBEYED_STARTS)


def is_covered(name: str) -> bool:
    """Return whether every file in a folder of this name is an item or not covered; spelled as for `is_obeyed`."""
    return name in COVERED or name in _OF_EDITORS


def is_weak_mark(name: str) -> bool:
    """Return whether a covered folder of this name does not make its parent a project."""
    return name in _OF_EDITORS


_FOLDED_NAMES: Final = frozenset(path.casefold() for path in _FIXED if "/" not in path)
