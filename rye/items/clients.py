"""The files that coding agents read or run: one table of places, each with its client and a source.

A file that people write for an agent is an *item*: a skill, command, subagent, rule, prompt or instruction file is a
directive, a list of MCP servers is a tool; in a skill, scripts are tools and other Markdown is knowledge. The path
alone decides what an item is (:class:`ClientFolder`). Everything else that a client reads or runs, such as hooks and
settings, is not an item; ``rye verify`` reports it as not covered (:func:`is_obeyed`, :func:`is_covered`).

A row says which page names the place. A source that is not the client's own is a project or page that cites the client.
``llms.txt`` is in the table because its proposal tells agents to follow it; no client reads it from a checkout by
itself, so it is no item, and it makes no folder a project. The same holds for ``CONVENTIONS.md``, which aider reads
only where its settings say so.
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

_GITHUB: Final = ".github"


class ClientRow(NamedTuple):
    """One place that a client reads or runs.

    Attributes:
        path: Path below a project or the home folder. A folder ends with a slash, and ``*`` is the rest of a name.
        format: The format of the items there; ``server`` for MCP servers, ``other`` if it holds no items.
        client: ``agents`` for places that several clients read, else the name of the client.
        where: ``p`` below a project, ``u`` below the home folder, ``b`` below a plugin or a repository of skills; ``w``
            below a project, and too common to be a sign that a folder is one.
        read_on: The day on which the source, or a project that cites it, was last seen to name the place.
        source: The page or file that names the place.
        named: The id of a file, if it is not the path without dot and extension.
    """

    path: str
    format: str
    client: str
    where: str
    read_on: str
    source: str
    named: str = ""

    @property
    def place(self) -> str:
        """The path without the slash at its end."""
        return self.path.rstrip("/")

    @property
    def top(self) -> str:
        """The first part of the path."""
        return self.path.partition("/")[0]

    @property
    def is_folder(self) -> bool:
        """Whether the place is a folder."""
        return self.path.endswith("/")

    @property
    def item_id(self) -> str:
        """The id of a file at the top of a project."""
        return self.named or self.path.removeprefix(".").rpartition(".")[0]


TABLE: Final = tuple(
    ClientRow(*line.split())
    for line in """
AGENTS.md                        instructions  agents       p   2026-11-29  agents.md
AGENTS.override.md               instructions  codex        p   2026-11-29  developers.openai.com/codex/guides/agents-md
AGENTS.local.md                  instructions  roo          p   2026-11-29  github.com/RooCodeInc/Roo-Code/custom-instructions.ts
AGENT.md                         instructions  roo          p   2026-11-29  github.com/RooCodeInc/Roo-Code/custom-instructions.ts
CLAUDE.md                        instructions  claude       p   2026-11-29  code.claude.com/docs/en/memory
CLAUDE.local.md                  instructions  claude       p   2026-11-29  code.claude.com/docs/en/memory
.claude/CLAUDE.md                instructions  claude       p   2026-11-29  code.claude.com/docs/en/memory
GEMINI.md                        instructions  gemini       p   2026-11-29  github.com/google-gemini/gemini-cli/docs/cli/gemini-md.md
QWEN.md                          instructions  qwen         p   2026-11-29  github.com/QwenLM/qwen-code/docs/users/features/memory.md
.qwen/QWEN.local.md              instructions  qwen         p   2026-11-29  github.com/QwenLM/qwen-code/docs/users/features/memory.md
.github/copilot-instructions.md  instructions  copilot      p   2026-11-29  docs.github.com/copilot  copilot-instructions
.junie/AGENTS.md                 instructions  junie        p   2026-11-29  junie.jetbrains.com/docs/guidelines-and-memory.html
.junie/guidelines.md             instructions  junie        p   2026-11-29  jetbrains.com/help/junie/customize-guidelines.html
CRUSH.md                         instructions  crush        p   2026-11-29  github.com/charmbracelet/crush/internal/config/config.go
CRUSH.local.md                   instructions  crush        p   2026-11-29  github.com/charmbracelet/crush/internal/config/config.go
WARP.md                          instructions  warp         p   2026-11-29  docs.warp.dev/agents/capabilities/rules
replit.md                        instructions  replit       p   2026-11-29  docs.replit.com/features/project-setup/replit-dot-md
HERMES.md                        instructions  hermes       p   2026-11-29  github.com/NousResearch/hermes-agent/context-files.md
.hermes.md                       instructions  hermes       p   2026-11-29  github.com/NousResearch/hermes-agent/context-files.md
.idx/airules.md                  instructions  firebase     p   2026-11-29  firebase.google.com/docs/studio/set-up-gemini
.mcp.json                        server        mcp          p   2026-11-29  code.claude.com/docs/en/mcp
.cursor/mcp.json                 server        cursor       p   2026-11-29  cursor.com/docs/context/mcp
.github/mcp.json                 server        copilot      p   2026-11-29  docs.github.com/copilot/cli-config-dir-reference
.roo/mcp.json                    server        roo          p   2026-11-29  github.com/RooCodeInc/Roo-Code/McpHub.ts
.kilocode/mcp.json               server        kilo         p   2026-11-29  kilo.ai/docs/automate/mcp/using-in-kilo-code
.factory/mcp.json                server        factory      p   2026-11-29  github.com/dyoshikawa/rulesync/factorydroid-paths.ts
.agents/skills/                  skill         agents       pu  2026-11-29  agentskills.io/specification
.claude/skills/                  skill         claude       pu  2026-11-29  code.claude.com/docs/en/skills
.cursor/skills/                  skill         cursor       pu  2026-11-29  cursor.com/docs/context/skills
.codex/skills/                   skill         codex        pu  2026-11-25  developers.openai.com/codex/skills
.github/skills/                  skill         copilot      p   2026-11-29  code.visualstudio.com/docs/copilot/customization/agent-skills
.copilot/skills/                 skill         copilot      u   2026-11-29  docs.github.com/en/copilot
.gemini/skills/                  skill         gemini       pu  2026-11-29  github.com/google-gemini/gemini-cli/docs/cli/skills.md
.qwen/skills/                    skill         qwen         pu  2026-11-29  github.com/QwenLM/qwen-code/docs/users/features/skills.md
.windsurf/skills/                skill         windsurf     p   2026-11-29  docs.windsurf.com/windsurf/cascade/skills
.codeium/windsurf/skills/        skill         windsurf     u   2026-11-29  docs.windsurf.com/windsurf/cascade/skills
.cline/skills/                   skill         cline        pu  2026-11-29  docs.cline.bot/getting-started/config
.roo/skills/                     skill         roo          pu  2026-11-29  github.com/RooCodeInc/Roo-Code/SkillsManager.ts
.kiro/skills/                    skill         kiro         pu  2026-11-29  kiro.dev/docs/skills
.junie/skills/                   skill         junie        pu  2026-11-29  junie.jetbrains.com/docs/agent-skills.html
.continue/skills/                skill         continue     pu  2026-11-29  github.com/continuedev/continue/loadMarkdownSkills.ts
.opencode/skill/                 skill         opencode     p   2026-11-29  opencode.ai/docs/skills
.opencode/skills/                skill         opencode     p   2026-11-29  opencode.ai/docs/skills
.config/opencode/skills/         skill         opencode     u   2026-11-29  opencode.ai/docs/skills
.crush/skills/                   skill         crush        p   2026-11-29  github.com/charmbracelet/crush/README.md
.config/crush/skills/            skill         crush        u   2026-11-29  github.com/charmbracelet/crush/README.md
.factory/skills/                 skill         factory      pu  2026-11-29  docs.factory.ai/cli/configuration/skills
.augment/skills/                 skill         augment      pu  2026-11-29  docs.augmentcode.com/cli/skills
.kilo/skills/                    skill         kilo         pu  2026-11-29  kilo.ai/docs/customize/skills
.kilocode/skills/                skill         kilo         pu  2026-11-29  github.com/vercel-labs/skills/README.md
.goose/skills/                   skill         goose        p   2026-11-29  goose-docs.ai/docs/guides/context-engineering/using-skills
.config/goose/skills/            skill         goose        u   2026-11-29  github.com/vercel-labs/skills/README.md
.openhands/skills/               skill         openhands    pu  2026-11-29  github.com/vercel-labs/skills/README.md
.trae/skills/                    skill         trae         pu  2026-11-29  github.com/vercel-labs/skills/README.md
.warp/skills/                    skill         warp         pu  2026-11-29  github.com/dyoshikawa/rulesync/warp-paths.ts
.devin/skills/                   skill         devin        p   2026-11-29  docs.devin.ai/cli/extensibility/skills
.config/devin/skills/            skill         devin        u   2026-11-29  docs.devin.ai/cli/extensibility/skills
.agent/skills/                   skill         antigravity  p   2026-11-29  github.com/vercel-labs/skills/README.md
.grok/skills/                    skill         grok         pu  2026-11-29  docs.x.ai/build/features/skills-plugins-marketplaces
.claude/commands/                command       claude       pu  2026-11-29  code.claude.com/docs/en/skills
.claude/agents/                  agent         claude       pu  2026-11-29  code.claude.com/docs/en/sub-agents
.claude/rules/                   rule          claude       pu  2026-11-29  code.claude.com/docs/en/memory
.claude/output-styles/           mode          claude       pu  2026-11-29  code.claude.com/docs/en/output-styles
.cursor/rules/                   rule          cursor       p   2026-11-29  cursor.com/docs/rules
.cursor/commands/                command       cursor       pu  2026-11-29  cursor.com/docs/context/commands
.cursor/agents/                  agent         cursor       pu  2026-11-29  cursor.com/docs/subagents
.github/prompts/                 prompt        copilot      p   2026-11-29  code.visualstudio.com/docs/copilot/customization/prompt-files
.github/instructions/            instructions  copilot      p   2026-11-29  docs.github.com/en/copilot
.github/agents/                  agent         copilot      p   2026-11-29  code.visualstudio.com/docs/copilot/customization/custom-agents
.github/chatmodes/               mode          copilot      p   2026-11-29  github.com/microsoft/vscode-docs/docs/copilot/customization/custom-chat-modes.md
.gemini/agents/                  agent         gemini       pu  2026-11-29  github.com/google-gemini/gemini-cli/docs/core/subagents.md
.qwen/rules/                     rule          qwen         pu  2026-11-29  github.com/QwenLM/qwen-code/docs/users/features/rules.md
.qwen/commands/                  command       qwen         pu  2026-11-29  github.com/QwenLM/qwen-code/commands.md
.qwen/agents/                    agent         qwen         pu  2026-11-29  github.com/QwenLM/qwen-code/sub-agents.md
.qwen/output-styles/             mode          qwen         p   2026-11-29  github.com/QwenLM/qwen-code/output-styles.md
.windsurf/rules/                 rule          windsurf     p   2026-11-29  docs.windsurf.com/windsurf/cascade/memories
.windsurf/workflows/             command       windsurf     p   2026-11-29  docs.windsurf.com/windsurf/cascade/workflows
.clinerules/                     rule          cline        p   2026-11-29  docs.cline.bot/customization/cline-rules
.cline/rules/                    rule          cline        pu  2026-11-29  docs.cline.bot/getting-started/config
.cline/workflows/                command       cline        p   2026-11-29  github.com/cline/cline/sdk/packages/shared/src/storage/paths.ts
.roo/rules/                      rule          roo          pu  2026-11-29  github.com/RooCodeInc/Roo-Code/custom-instructions.ts
.roo/commands/                   command       roo          pu  2026-11-29  github.com/RooCodeInc/Roo-Code/commands.ts
.kiro/steering/                  rule          kiro         pu  2026-11-29  kiro.dev/docs/steering
.kiro/prompts/                   command       kiro         pu  2026-11-29  kiro.dev/docs/cli/chat/manage-prompts
.kiro/agents/                    agent         kiro         pu  2026-11-29  kiro.dev/docs/chat/subagents
.junie/commands/                 command       junie        pu  2026-11-29  github.com/dyoshikawa/rulesync/junie-paths.ts
.junie/agents/                   agent         junie        pu  2026-11-29  junie.jetbrains.com/docs/junie-cli-subagents.html
.continue/rules/                 rule          continue     pu  2026-11-29  github.com/continuedev/continue/loadMarkdownRules.ts
.augment/rules/                  rule          augment      pu  2026-11-29  docs.augmentcode.com/cli/rules
.kilo/rules/                     rule          kilo         p   2026-11-29  kilo.ai/docs/customize/custom-rules
.kilocode/rules/                 rule          kilo         pu  2026-11-29  kilo.ai/docs/customize/custom-rules
.trae/rules/                     rule          trae         p   2026-11-29  w3cschool.cn/traeworkdocs/traework-rules.html
.amazonq/rules/                  rule          amazonq      p   2026-11-29  docs.aws.amazon.com/amazonq/latest/qdeveloper-ug/context-project-rules.html
.firebender/rules/               rule          firebender   pu  2026-11-29  docs.firebender.com/api-reference/rules
.tabnine/guidelines/             rule          tabnine      pu  2026-11-29  docs.tabnine.com/main/getting-started/tabnine-agent/guidelines
.openhands/microagents/          rule          openhands    pu  2026-11-29  docs.openhands.dev/openhands/usage/microagents/microagents-overview
.aiassistant/rules/              rule          jetbrains    p   2026-11-29  jetbrains.com/help/ai-assistant/configure-project-rules.html
.devin/rules/                    rule          devin        p   2026-11-29  docs.devin.ai/desktop/cascade/memories
.agents/rules/                   rule          antigravity  p   2026-11-29  discuss.ai.google.dev/t/new-folder-for-rules/126165
.agent/rules/                    rule          antigravity  p   2026-11-29  discuss.ai.google.dev/t/new-folder-for-rules/126165
.grok/rules/                     rule          grok         pu  2026-11-29  github.com/dyoshikawa/rulesync/file-formats.md
.continue/prompts/               command       continue     pu  2026-11-29  github.com/continuedev/continue/getPromptFiles.ts
.continue/agents/                agent         continue     p   2026-11-29  github.com/continuedev/continue/resolveReviews.ts
.opencode/agent/                 agent         opencode     p   2026-11-25  opencode.ai/docs/agents
.opencode/agents/                agent         opencode     p   2026-11-29  opencode.ai/docs/agents
.opencode/command/               command       opencode     p   2026-11-25  opencode.ai/docs/commands
.opencode/commands/              command       opencode     p   2026-11-29  opencode.ai/docs/commands
.config/opencode/agents/         agent         opencode     u   2026-11-29  opencode.ai/docs/commands
.factory/droids/                 agent         factory      pu  2026-11-29  docs.factory.ai/cli/configuration/custom-droids
.augment/agents/                 agent         augment      pu  2026-11-29  docs.augmentcode.com/cli/subagents
.kilo/agents/                    agent         kilo         p   2026-11-29  github.com/dyoshikawa/rulesync/kilo-paths.ts
.devin/agents/                   agent         devin        p   2026-11-29  docs.devin.ai/cli/subagents
.grok/agents/                    agent         grok         pu  2026-11-29  github.com/dyoshikawa/rulesync/grokcli-paths.ts
.config/opencode/commands/       command       opencode     u   2026-11-29  opencode.ai/docs/commands
.factory/commands/               command       factory      pu  2026-11-29  docs.factory.ai/cli/configuration/custom-slash-commands
.augment/commands/               command       augment      pu  2026-11-29  docs.augmentcode.com/cli/custom-commands
.agents/commands/                command       augment      pu  2026-11-29  docs.augmentcode.com/cli/custom-commands
.agents/workflows/               command       antigravity  p   2026-11-29  github.com/dyoshikawa/rulesync/antigravity-paths.ts
.agent/workflows/                command       antigravity  p   2026-11-29  discuss.ai.google.dev/t/new-folder-for-rules/126165
.kilo/commands/                  command       kilo         p   2026-11-29  github.com/dyoshikawa/rulesync/kilo-paths.ts
.grok/commands/                  command       grok         pu  2026-11-29  github.com/dyoshikawa/rulesync/file-formats.md
skills/                          skill         agents       pb  2026-11-29  agentskills.io/specification
commands/                        command       claude       b   2026-11-29  code.claude.com/docs/en/plugins-reference
agents/                          agent         claude       b   2026-11-29  code.claude.com/docs/en/plugins-reference
bin/                             other         claude       b   2026-11-25  code.claude.com/docs/en/plugins-reference
hooks/                           other         claude       b   2026-11-29  code.claude.com/docs/en/plugins-reference
monitors/                        other         claude       b   2026-11-25  code.claude.com/docs/en/plugins-reference
workflows/                       other         claude       b   2026-11-25  code.claude.com/docs/en/plugins-reference
.github/allowed_models.txt       other         copilot      p   2026-11-25  docs.github.com/en/copilot/reference/copilot-cli-reference/cli-config-dir-reference
.github/copilot/                 other         copilot      p   2026-11-29  docs.github.com/en/copilot/reference/copilot-cli-reference/cli-config-dir-reference
.github/copilot-desktop.yml      other         copilot      p   2026-11-25  docs.github.com/en/copilot/reference/copilot-cli-reference/cli-config-dir-reference
.github/extensions/              other         copilot      p   2026-11-25  docs.github.com/en/copilot/reference/copilot-cli-reference/cli-config-dir-reference
.github/github-app.yml           other         copilot      p   2026-11-25  docs.github.com/en/copilot/reference/copilot-cli-reference/cli-config-dir-reference
.github/hooks/                   other         copilot      p   2026-11-29  docs.github.com/en/copilot/reference/copilot-cli-reference/cli-config-dir-reference
.github/lsp.json                 other         copilot      p   2026-11-29  docs.github.com/en/copilot/reference/copilot-cli-reference/cli-config-dir-reference
.github/plugin/                  other         copilot      p   2026-11-25  docs.github.com/en/copilot/reference/copilot-cli-reference/cli-config-dir-reference
.amp/                            other         amp          p   2026-11-29  ampcode.com/manual
.cursorrules                     other         cursor       p   2026-11-29  zed.dev/docs/ai/rules
.windsurfrules                   other         windsurf     p   2026-11-29  zed.dev/docs/ai/rules
.clinerules                      other         cline        p   2026-11-29  docs.cline.bot/features/cline-rules/overview
.clinerules-*                    other         roo          p   2026-11-29  github.com/RooCodeInc/Roo-Code/custom-instructions.ts
.roorules                        other         roo          p   2026-11-29  github.com/RooCodeInc/Roo-Code/custom-instructions.ts
.roorules-*                      other         roo          p   2026-11-29  github.com/RooCodeInc/Roo-Code/custom-instructions.ts
.roomodes                        other         roo          p   2026-11-29  github.com/RooCodeInc/Roo-Code/CustomModesManager.ts
.continuerc.json                 other         continue     p   2026-11-29  github.com/continuedev/continue/core/config
.continuerules                   other         continue     p   2026-11-29  github.com/continuedev/continue/core/config
.kilocoderules                   other         kilo         p   2026-11-29  kilo.ai/docs/customize/custom-rules
.kilocoderules-*                 other         kilo         p   2026-11-29  kilo.ai/docs/customize/custom-rules
.kilocodemodes                   other         kilo         p   2026-11-29  kilo.ai/docs/features/custom-modes
kilo.json                        other         kilo         p   2026-11-29  kilo.ai/docs/automate/mcp/using-in-kilo-code
kilo.jsonc                       other         kilo         p   2026-11-29  kilo.ai/docs/automate/mcp/using-in-kilo-code
opencode.json                    other         opencode     p   2026-11-29  opencode.ai/docs/config
opencode.jsonc                   other         opencode     p   2026-11-29  opencode.ai/docs/config
crush.json                       other         crush        p   2026-11-29  github.com/charmbracelet/crush/README.md
.crush.json                      other         crush        p   2026-11-29  github.com/charmbracelet/crush/README.md
crushrc                          other         crush        p   2026-11-29  github.com/charmbracelet/crush/README.md
.crushrc                         other         crush        p   2026-11-29  github.com/charmbracelet/crush/README.md
firebender.json                  other         firebender   p   2026-11-29  docs.firebender.com/api-reference/syntax
.goosehints                      other         goose        p   2026-11-29  github.com/block/goose/using-goosehints.md
.augment-guidelines              other         augment      p   2026-11-29  docs.augmentcode.com/cli/rules
.rules                           other         zed          p   2026-11-29  zed.dev/docs/ai/rules
.aider.conf.yml                  other         aider        p   2026-11-29  aider.chat/docs/config/aider_conf.html
.lsp.json                        other         claude       p   2026-11-29  code.claude.com/docs/en/plugins-reference
lsp.json                         other         copilot      p   2026-11-29  github.com/github/awesome-copilot/skills/lsp-setup
gemini-extension.json            other         gemini       p   2026-11-29  github.com/google-gemini/gemini-cli/docs/extensions
qwen-extension.json              other         qwen         p   2026-11-25  github.com/QwenLM/qwen-code/docs/users/extension/introduction.md
CONVENTIONS.md                   other         aider        w   2026-11-29  aider.chat/docs/usage/conventions.html
llms.txt                         other         agents       w   2026-11-29  llmstxt.org
.replit                          other         replit       w   2026-11-29  docs.replit.com/features/project-setup/configuration
.vscode/                         other         copilot      w   2026-11-29  code.visualstudio.com/docs/agents/reference/mcp-configuration
.devcontainer/                   other         copilot      w   2026-11-29  github.com/devcontainers/spec/docs/specs/devcontainer-reference.md
.devcontainer.json               other         copilot      w   2026-11-29  github.com/devcontainers/spec/docs/specs/devcontainer-reference.md
.zed/                            other         zed          w   2026-11-29  zed.dev/docs/worktree-trust
""".strip().splitlines()
)
"""All places. Of two items with the same type and id, the one in the earlier folder is used."""

_OF_PROJECTS: Final = tuple(row for row in TABLE if "p" in row.where or row.where == "w")
_FILES: Final = {row.path: row for row in TABLE if row.format != "other" and not row.is_folder}
_FOLDERS: Final = tuple(row for row in TABLE if row.format != "other" and row.is_folder)


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
        row = _FILES[_fixed_name(rel_path)] if self.is_fixed else self
        return row.format, row.client


FIXED_FOLDERS: Final = frozenset(path.rpartition("/")[0] for path in _FILES) - {""}
"""The client folders that contain files with fixed names."""

FIXED_NAMES: Final = tuple(_FILES)
"""Paths of the files with fixed names, in a project folder or below it."""


def _fixed_name(rel_path: str) -> str:
    """Return the last parts of a path that form a fixed file name; empty for none."""
    parts = rel_path.rsplit("/", 2)
    names = ["/".join(parts[-2:]), parts[-1]]
    return next((name for name in names if name in _FILES), "")


def instructed_folder(rel_path: str) -> str | None:
    """Return the folder, below a project, that an instruction file applies to; None for any other file.

    >>> instructed_folder("app/.github/copilot-instructions.md")
    'app/'
    """
    name = _fixed_name(rel_path)
    return rel_path[: -len(name)] if name and _FILES[name].format == "instructions" else None


_IN_FOLDERS: Final = tuple(
    (f"/{row.item_id}", folder) for path, row in _FILES.items() if (folder := path.rpartition("/")[0])
)
"""How the ids of the files in a client folder end, and the folder."""

_ENDS_IN_FOLDERS: Final = tuple(ending for ending, _ in _IN_FOLDERS)


def _folder_of_fixed(item_id: str) -> str:
    if not (rooted := f"/{item_id}").endswith(_ENDS_IN_FOLDERS):  # asked for each item of a verification
        return item_id.rpartition("/")[0]
    ending, folder = next(row for row in _IN_FOLDERS if rooted.endswith(row[0]))
    return f"{item_id.removesuffix(ending[1:])}{folder}"


def _identify_fixed(rel_path: str) -> tuple[ItemType, str, str] | None:
    name = _fixed_name(rel_path)
    folder = rel_path[: -len(name)]
    if not name or any(part.startswith(".") for part in folder.split("/")):
        return None  # such as .claude/AGENTS.md, which no client reads
    row = _FILES[name]
    kind, suffix = (ItemType.TOOL, ".json") if row.format == "server" else (ItemType.DIRECTIVE, ".md")
    return kind, f"{folder}{row.item_id}", suffix


def _folders(where: str) -> tuple[ClientFolder, ...]:
    return tuple(ClientFolder(row.place, row.format, row.client) for row in _FOLDERS if where in row.where)


PREFIXES: Final[Mapping[str, tuple[str, ...]]] = {
    form: tuple(dict.fromkeys(row.place.rpartition("/")[2].lstrip(".") for row in _FOLDERS if row.format == form))
    for form in _ENDINGS
}
"""Format of files other than skills → the folders that prefix their ids, as in ``commands/deploy``."""

FIXED_FILES: Final = ClientFolder("", "instructions", "agents", depth=2)
"""The files with fixed names in a project folder."""

OF_PROJECTS: Final = (*_folders("p"), FIXED_FILES)
"""Client folders of a project."""

OF_USERS: Final = _folders("u")
"""Client folders of the home folder."""

OF_BUNDLES: Final = _folders("b")
"""Client folders of a plugin or a repository of skills; that of skills is the first."""

SKILLS: Final = ClientFolder(".", "skill", "agents")
"""A folder that contains skills directly."""

CLIENTS: Final = tuple(dict.fromkeys(row.client for row in (*_FOLDERS, *_FILES.values())))
"""The names of all clients; the folders of each can be left out."""

PLUGIN: Final = ".claude-plugin"
"""The folder that makes its parent a plugin or a marketplace of plugins."""

OBEYED_IN_PLUGINS: Final = tuple(row.place for row in TABLE if row.where == "b" and row.format == "other")
"""Folders of a plugin whose files are run but are not items."""

COVERED_IN_GITHUB: Final = frozenset(row.place.split("/")[1] for row in TABLE if row.top == _GITHUB)
"""The names in ``.github`` that Copilot reads; the folder also contains other files."""

_COVERED: Final = frozenset(row.top for row in _OF_PROJECTS if row.path[0] == "." and "/" in row.path) - {_GITHUB}
_OBEYED: Final = frozenset(row.path.casefold() for row in _OF_PROJECTS if "/" not in row.path)
_STARTS: Final = tuple(row.path.rstrip("*") for row in TABLE if row.path.endswith("*"))
_WEAK: Final = frozenset(row.place.casefold() for row in TABLE if row.where == "w")

MARKS: Final = frozenset(row.top for row in _OF_PROJECTS if row.format != "other" or "/" in row.path) - _WEAK
"""A folder that contains none of these names has no client folders and no files with fixed names."""

_UNKNOWN: Final = re.compile(r"\.[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_KNOWN: Final = frozenset(row.top for row in _FOLDERS)

_OF_TOOLS: Final = frozenset(
    ".ai .claude-plugin .dockerignore .editorconfig .git .git-blame-ignore-revs .gitattributes .github .gitignore "
    ".gitkeep .gitmodules .mailmap .pre-commit-config.yaml .prettierignore .prettierrc".split()
)
"""Names with a leading dot that are not a client's: those of rye, git and formatters."""


def skills_of_another(name: str) -> ClientFolder | None:
    """Return the skills folder of a client that is not in the table, given its folder in a project or home folder.

    Installers of skills write ``.NAME/skills`` for dozens of clients, and more are added every month.

        >>> skills_of_another(".qoder")
        ClientFolder(place='.qoder/skills', format='skill', client='qoder', depth=16)
    """
    is_unknown = name not in _KNOWN and name not in _OF_TOOLS and _UNKNOWN.fullmatch(name)
    return ClientFolder(f"{name}/{SKILLS_FOLDER}", "skill", name[1:]) if is_unknown else None


def has_skills(place: str) -> bool:
    """Return whether a client folder, as an origin names it, is a skills folder."""
    return place.rpartition("/")[2] in {SKILLS_FOLDER, "skill", SKILLS.place}


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
    return name in _OBEYED or name.startswith(_STARTS)


def is_covered(name: str) -> bool:
    """Return whether every file in a folder of this name is an item or not covered; spelled as for `is_obeyed`."""
    return name in _COVERED


def is_weak_mark(name: str) -> bool:
    """Return whether a name is too common to make the folder that holds it a project; spelled as for `is_obeyed`."""
    return name in _WEAK
