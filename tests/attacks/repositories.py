"""Attacks by what git tracks, and by repositories in one another; and what of that is no attack."""

from __future__ import annotations

import io
import shutil
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path

from rye.cli import main
from tests.support.attacks import EVIL, Arena, Found, attack
from tests.support.files import lay
from tests.support.repositories import commit, git, repository
from tests.support.seams import run

KIND = "# Agents\n\nBe kind.\n"
SKILL = "---\nname: pdf\ndescription: Fill forms\n---\nRun it.\n"
FILES = {"AGENTS.md": KIND, ".claude/skills/pdf/SKILL.md": SKILL}


def signed(arena: Arena, files: Mapping[str, str] = FILES, folder: Path | None = None) -> Path:
    """Make a repository of signed files, by default of the project; return its folder."""
    top = lay(folder or arena.sim.project, files)
    (top / ".ai").mkdir(exist_ok=True)
    git(top, "init", "-q")
    assert run("sign", "--all", "--yes", "--project", str(top))[0] == 0
    return commit(top)


def moved(arena: Arena) -> Path:
    """Move the signed project beside its place, so that others can take it as a source; return its folder."""
    signed(arena)
    return Path(shutil.copytree(arena.sim.project, arena.sim.folder / "upstream", symlinks=True))


def with_submodule(arena: Arena, place: str) -> Path:
    """Put a signed repository into the project as a submodule; return the folder of the project."""
    inner = signed(arena, {"AGENTS.md": KIND, "sub/AGENTS.md": KIND}, arena.sim.folder / "inner")
    project = signed(arena, {"AGENTS.md": KIND})
    git(project, "submodule", "add", "-q", str(inner), place)
    return commit(project)


@attack
def repository_planted_to_be_a_top(arena: Arena) -> Found:
    """A folder gets a ``.git`` and a copy of the signed instructions of the top: there they count as those of a top."""
    project = signed(arena)
    git(lay(project / "docs", {"AGENTS.md": (project / "AGENTS.md").read_bytes()}), "init", "-q")
    assert "docs: a repository of its own: 1 trusted" in warned(arena)
    return arena.verify("--strict")


@attack
def repository_planted_by_an_empty_name(arena: Arena) -> Found:
    """The same with a ``.git`` that is no repository."""
    project = signed(arena)
    lay(project / "docs", {"AGENTS.md": (project / "AGENTS.md").read_bytes(), ".git/HEAD": ""})
    return arena.verify("--strict")


@attack
def repository_planted_where_none_is_looked_for(arena: Arena) -> Found:
    """A folder of a package gets a ``.git``, so that the walk over the project stops there."""
    project = signed(arena)
    git(lay(project / "x.egg-info", {"CLAUDE.md": EVIL}), "init", "-q")
    assert "x.egg-info: a repository of its own" in warned(arena)
    assert arena.verify("--strict", "--exclude", str(project / "x.egg-info")).status == 0
    return arena.verify("--strict")


@attack
def tampered_file_in_a_nested_repository(arena: Arena) -> Found:
    """A file of a submodule is changed: the counts of the project are well, and the answer is not."""
    project = with_submodule(arena, "vendor/inner")
    changed = project / "vendor/inner/sub/AGENTS.md"
    changed.write_bytes(changed.read_bytes() + EVIL.encode())
    return arena.verify()


@attack
def files_left_out_by_a_sparse_checkout(arena: Arena) -> Found:
    """A checkout leaves out the folder in which a skill of a stranger lies."""
    signed(arena)
    commit(lay(arena.sim.project, {".claude/skills/evil/SKILL.md": EVIL}))
    git(arena.sim.project, "sparse-checkout", "set", "--no-cone", "/*", "!.claude/skills/evil")
    assert not (arena.sim.project / ".claude/skills/evil").exists()
    assert arena.verify().status == 0
    assert "evil is tracked by git and not on disk" in warned(arena, "--strict")
    assert ".claude/skills/evil [not-checked-out]" in warned(arena)
    (warning,) = [text for text in arena.sim.fresh().search("hello").warnings if "[not-checked-out]" in text]
    assert ".claude/skills/evil/SKILL.md" in warning
    return arena.verify("--strict")


@attack
def file_left_out_by_skip_worktree(arena: Arena) -> Found:
    """A tracked command is marked to be skipped, and removed."""
    signed(arena)
    commit(lay(arena.sim.project, {".claude/commands/evil.md": EVIL}))
    git(arena.sim.project, "update-index", "--skip-worktree", ".claude/commands/evil.md")
    (arena.sim.project / ".claude/commands/evil.md").unlink()
    return arena.verify("--strict")


@attack
def skills_in_a_submodule_that_is_not_checked_out(arena: Arena) -> Found:
    """Whoever checks out without submodules, as the action of GitHub does by default, sees an empty folder."""
    with_submodule(arena, ".claude/skills/more")
    upstream = arena.sim.project.rename(arena.sim.folder / "upstream")
    git(arena.sim.folder, "clone", "-q", str(upstream), str(arena.sim.project))
    assert "git submodule update --init" in warned(arena, "--strict")
    return arena.verify("--strict")


def warned(arena: Arena, *words: str) -> str:
    """Return what the command says in text, of what passed and what did not."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(out):
        main(["verify", "--space", "project", "--project", str(arena.sim.project), *words])
    return out.getvalue()


@attack
def folder_that_pretends_to_be_a_work_tree(arena: Arena) -> Found:
    """A folder and the ``.git`` of the project name each other, by paths relative to the wrong folder."""
    project = signed(arena)
    lay(project, {".git/worktrees/x/gitdir": "docs/x/.git\n", ".git/worktrees/x/commondir": "../..\n"})
    lay(project, {"docs/x/.git": f"gitdir: {project}/.git/worktrees/x\n", "docs/x/AGENTS.md": EVIL})
    lay(project, {".git/worktrees/x/HEAD": "ref: refs/heads/main\n"})
    with chdir(project):
        return arena.verify("--strict")


@attack
def work_tree_with_files_of_a_stranger(arena: Arena) -> Found:
    """What lies in a real work tree below the project is verified as a project of its own."""
    project = signed(arena)
    git(project, "worktree", "add", "-q", ".claude/worktrees/task")
    assert arena.verify("--strict").status == 0
    lay(project / ".claude/worktrees/task", {".claude/commands/evil.md": EVIL})
    return arena.verify("--strict")


@attack
def signed_repository_as_a_submodule(arena: Arena) -> Found:
    """Seen from inside and from outside, a path begins at the top of the submodule."""
    project = with_submodule(arena, "vendor/inner")
    assert "vendor/inner: a repository of its own: 2 trusted" in warned(arena)
    assert run("verify", "--strict", "--space", "project", "--project", str(project / "vendor/inner"))[0] == 0
    return arena.verify("--strict")


@attack
def signed_repository_cloned_into_another(arena: Arena) -> Found:
    """The clone is trusted, from inside and outside; that git does not know it is said where ``--strict`` asks."""
    inner = moved(arena)
    git(arena.sim.project, "clone", "-q", str(inner), "vendor/inner")
    assert "vendor/inner: a repository of its own: 3 trusted" in warned(arena)
    place = ("--space", "project", "--project", str(arena.sim.project / "vendor/inner"))
    assert run("verify", "--strict", *place)[0] == 0
    assert arena.verify("--strict").codes == {"nested-repository"}
    assert arena.verify("--strict", "--exclude", str(arena.sim.project / "vendor")).status == 0
    return arena.verify()


@attack
def repository_made_above_a_signed_one(arena: Arena) -> Found:
    """``git init`` in the folder above changes nothing."""
    signed(arena)
    git(arena.sim.folder, "init", "-q")
    return arena.verify("--strict")


@attack
def git_file_of_a_submodule_that_leads_elsewhere(arena: Arena) -> Found:
    """The ``.git`` of a submodule names another repository, whose settings start programs."""
    git_file_of_a_submodule_below_the_skills(arena)
    (arena.sim.project / ".claude/skills/pdf/.git").write_text(f"gitdir: {arena.sim.folder}/evil\n")
    return arena.verify("--strict")


@attack
def git_file_of_a_submodule_below_the_skills(arena: Arena) -> Found:
    """The ``.git`` of a submodule is git's own: nobody is told to remove it."""
    skill = repository(arena.sim.folder / "skill", {"SKILL.md": SKILL})
    signed(arena, {"AGENTS.md": KIND})
    git(arena.sim.project, "submodule", "add", "-q", str(skill), ".claude/skills/pdf")
    assert run("sign", str(arena.sim.project / ".claude/skills/pdf"), "--project", str(arena.sim.project))[0] == 0
    assert (arena.sim.project / ".claude/skills/pdf/.git").is_file()
    return arena.verify("--strict")


@attack
def home_in_a_repository_of_its_own(arena: Arena) -> Found:
    """A user keeps the home folder in git; a project in it that is a repository of its own uses the user's keys."""
    home = arena.sim.user
    git(home, "init", "-q")
    project = home / "code/p"
    project.parent.mkdir(exist_ok=True)
    shutil.move(arena.sim.project, project)
    arena.sim.project.symlink_to(project)
    place = ("--space", "project", "--project", str(project))
    assert run("verify", *place)[0] == 2
    assert "make the project a repository of its own: git init" in warned(arena)
    git(project, "init", "-q")
    assert run("verify", *place)[0] == 0
    return arena.verify()


@attack
def links_that_git_wrote_as_files(arena: Arena) -> Found:
    """A checkout without links has a small file for ``CLAUDE.md``: one item with two names, and nothing is written."""
    project = lay(arena.sim.project, FILES)
    (project / "CLAUDE.md").symlink_to("AGENTS.md")
    (project / ".cursor").mkdir()
    (project / ".cursor/skills").symlink_to("../.claude/skills")
    (project / ".ai/tools/demo/library").symlink_to("hello.py")
    signed(arena)
    arena.list_items()
    commit(project)
    upstream = project.rename(arena.sim.folder / "upstream")
    git(arena.sim.folder, "clone", "-q", str(upstream), str(project), settings={"core.symlinks": "false"})
    assert (project / "CLAUDE.md").read_bytes() == b"AGENTS.md"
    for words in (["sign", "--all", "--yes"], ["sign", "--force", str(project / "CLAUDE.md")]):
        assert run(*words, "--project", str(project))[0] == 0
        assert (project / "CLAUDE.md").read_bytes() == b"AGENTS.md"
    (shown,) = arena.sim.fresh().search("kind", space="project").results
    assert shown.id == "AGENTS"
    assert "no links" in run("doctor", "--project", str(project))[1]
    return arena.verify("--strict", "--require-list")
