"""Attacks on seams: a link, or another place, takes a signed file to where its signer did not mean it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.attacks import HELLO, TEXT, Arena
from tests.support.files import lay
from tests.support.seams import (
    EVIL,
    KIND,
    ROWS,
    SERVER,
    SKILL,
    STRICT,
    Answer,
    Row,
    ask,
    move,
    row,
    run,
    sign,
)


def linked(files: Mapping[str, str], path: str, target: str, *codes: str, **facts: Any) -> Row:
    """Return the row of a link to one of some signed files, in the place of another and its detached signature."""

    def attack(arena: Arena) -> None:
        place = sign(arena, files) / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        place.with_name(f"{place.name}.sig").unlink(missing_ok=True)
        place.symlink_to(target)

    return Row(attack, frozenset({"link-elsewhere", *codes}), at=path, **facts)


FIXTURE = {"AGENTS.md": KIND, "tests/fixture/AGENTS.md": EVIL}
SERVERS = {"AGENTS.md": KIND, ".mcp.json": SERVER, "tests/x/.mcp.json": SERVER}
COMMANDS = {".claude/commands/build.md": KIND, ".claude/commands/danger/wipe.md": EVIL}
TWO_CLIENTS = {".claude/commands/x.md": KIND, ".cursor/commands/build.md": EVIL, ".cursor/rules/x.mdc": EVIL}
SKILLS = {".agents/skills/pdf/SKILL.md": SKILL, ".claude/skills/web/SKILL.md": SKILL.replace("pdf", "web")}
ROWS |= {
    "agents-md-links-to-a-signed-one-elsewhere": linked(FIXTURE, "AGENTS.md", "tests/fixture/AGENTS.md"),
    "claude-md-links-to-a-signed-agents-md-elsewhere": linked(FIXTURE, "CLAUDE.md", "tests/fixture/AGENTS.md"),
    "gemini-md-is-new-and-links-elsewhere": linked(FIXTURE, "GEMINI.md", "tests/fixture/AGENTS.md"),
    "claude-md-links-to-agents-md-beside-it": linked(FIXTURE, "CLAUDE.md", "AGENTS.md", honest=True),
    "mcp-json-links-to-one-elsewhere": linked(SERVERS, ".mcp.json", "tests/x/.mcp.json"),
    "command-links-to-another": linked(COMMANDS, ".claude/commands/build.md", "danger/wipe.md"),
    "command-is-new-and-links-to-another": linked(COMMANDS, ".claude/commands/test.md", "danger/wipe.md"),
    "skill-is-new-and-links-to-another": linked(SKILLS, ".claude/skills/new/SKILL.md", "../web/SKILL.md"),
    "command-links-to-that-of-another-client": linked(
        TWO_CLIENTS, ".claude/commands/build.md", "../../.cursor/commands/build.md"
    ),
    "command-links-to-a-rule-of-another-client": linked(
        TWO_CLIENTS, ".claude/commands/a.md", "../../.cursor/rules/x.mdc", "link-escape"
    ),
    "skill-file-links-to-that-of-another-client": linked(
        SKILLS, ".claude/skills/pdf/SKILL.md", "../../../.agents/skills/pdf/SKILL.md"
    ),
    "skill-folder-links-to-that-of-another-client": linked(SKILLS, ".claude/skills/pdf", "../../.agents/skills/pdf"),
}


@row(at="AGENTS.md")
def instructions_are_copied_instead(arena: Arena) -> None:
    """The same without a link: the hostile file is copied."""
    project = sign(arena, FIXTURE)
    shutil.copy(project / "tests/fixture/AGENTS.md", project)


@row("link-elsewhere", at="CLAUDE.md")
def claude_md_links_below_an_excluded_folder(arena: Arena) -> Answer:
    """What lies in the folder is not looked at, and so is the link."""
    project = lay(sign(arena, {"AGENTS.md": KIND}), {"tests/data/a/AGENTS.md": EVIL})
    words = (*STRICT, "--exclude", str(project / "tests/data"))
    assert ask(arena, *words).status == 0
    (project / "CLAUDE.md").symlink_to("tests/data/a/AGENTS.md")
    return ask(arena, *words)


@row("link-elsewhere", "no-envelope", at="lib/AGENTS.md")
def folder_links_to_a_hidden_one(arena: Arena) -> None:
    """A hidden folder with instructions gets a name that is not hidden."""
    (lay(sign(arena, {"AGENTS.md": KIND}), {".hidden/AGENTS.md": EVIL}) / "lib").symlink_to(".hidden")


def moved(files: dict[str, str], path: str, to: str, at: str = "") -> Row:
    """Return the row of a signed file or folder that is moved."""

    def attack(arena: Arena) -> None:
        sign(arena, {"AGENTS.md": KIND} | files)
        move(arena, path, to)

    return Row(attack, at=at or to)


ROWS |= {
    "servers-move-to-the-folder-of-cursor": moved({"cursor/.mcp.json": SERVER}, "cursor/.mcp.json", ".cursor/mcp.json"),
    "claude-md-moves-to-the-folder-of-claude": moved(
        {"claude/CLAUDE.md": EVIL}, "claude", ".claude/", ".claude/CLAUDE.md"
    ),
    "claude-md-moves-out-of-the-folder-of-claude": moved(
        {".claude/CLAUDE.md": EVIL}, ".claude", "claude", "claude/CLAUDE.md"
    ),
    "agents-md-moves-to-the-folder-of-junie": moved({"junie/AGENTS.md": EVIL}, "junie", ".junie", ".junie/AGENTS.md"),
    "command-moves-to-another-client": moved(COMMANDS, ".claude/commands/build.md", ".cursor/commands/build.md"),
}


@row(honest=True)
def skill_of_one_file_moves_to_another_client(arena: Arena) -> None:
    """``SKILL.md`` with a line of its own is a skill as well."""
    sign(arena, SKILLS)
    move(arena, ".agents/skills", ".cursor/skills")


@row(honest=True)
def skill_signed_as_a_whole_moves_to_another_client(arena: Arena) -> None:
    """A skill is portable: its signature binds its name and files, and counts in any agent's folder."""
    arena.sign_skill()
    sign(arena, {})
    move(arena, ".claude/skills", ".cursor/skills")


def install_signed_skill(arena: Arena) -> None:
    """Sign a repository of skills as its publisher; put a copy of one into the folders of two clients."""
    folder = lay(arena.sim.folder / "published", {"skills/pdf/SKILL.md": SKILL, "skills/pdf/run.sh": "echo\n"})
    assert run("sign", "bundle", "--yes", str(folder), "--owner", "ann")[0] == 0
    for client in (".claude", ".cursor"):
        shutil.copytree(folder / "skills/pdf", arena.sim.project / client / "skills/pdf")
    sign(arena, {})


ROWS["skill-of-a-publisher-is-installed"] = Row(install_signed_skill, honest=True)


@row("signature", "signed-elsewhere", at=".claude/skills/doc/SKILL.md")
def skill_of_a_publisher_is_installed_under_another_name(arena: Arena) -> None:
    """The copy lies in the folder for which another skill is asked."""
    install_signed_skill(arena)
    move(arena, ".claude/skills/pdf", ".claude/skills/doc")


@row(at=".claude/skills/pdf/SKILL.md")
def directive_is_used_as_a_skill(arena: Arena) -> None:
    """A signed directive of the project is copied to where a client takes it for a skill."""
    directive = arena.sim.add("project", "directives/pdf.md", SKILL)
    lay(sign(arena, {}), {".claude/skills/pdf/SKILL.md": directive.read_bytes()})


@row("nested-repository", named="a/b/c/d")
def instructions_of_the_top_count_below_a_nested_repository(arena: Arena) -> None:
    """A folder with a ``.git`` of its own gets a copy of the signed instructions."""
    project = sign(arena, {".git/HEAD": "", "AGENTS.md": EVIL})
    lay(project / "a/b/c/d", {"AGENTS.md": (project / "AGENTS.md").read_bytes(), ".git/HEAD": ""})


@row(at="sub/AGENTS.md")
def instructions_move_down_a_folder_with_their_project(arena: Arena) -> Answer:
    """All of a project is moved into a folder of its repository."""
    project = sign(arena, {".git/HEAD": "", "AGENTS.md": EVIL})
    for name in ("AGENTS.md", ".ai"):
        move(arena, name, f"sub/{name}")
    return ask(arena, *STRICT, "--project", str(project / "sub"))


@row()
def items_move_down_a_folder_with_their_list(arena: Arena) -> Answer:
    """The same with a project that has no files of clients."""
    project = sign(arena, {".git/HEAD": ""})
    move(arena, ".ai", "sub/.ai")
    return ask(arena, *STRICT, "--project", str(project / "sub"))


@row()
def items_move_to_the_top_with_their_list(arena: Arena) -> None:
    """The signed ``.ai`` of a package takes the place of the one at the top."""
    package = sign(arena, {".git/HEAD": ""}) / "packages/p"
    lay(package / ".ai", {HELLO: TEXT.replace("hello", "goodbye")})
    with pytest.MonkeyPatch.context() as patch:
        for name, words in {"her-state": ("--all", "--yes"), "other-state": ("list", "--yes")}.items():
            patch.setenv("RYE_STATE_DIR", str(arena.sim.folder / name))
            assert run("sign", *words, "--project", str(package))[0] == 0
    shutil.rmtree(os.environ["RYE_STATE_DIR"])  # nobody has seen either list
    shutil.rmtree(arena.sim.root("project"))
    move(arena, "packages/p/.ai", ".ai")
