"""What git says of a work tree, and that nothing of a hostile repository runs while it is asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rye.spaces.git import Tracked, ask, authors, committed, for_agents, read_blobs
from tests.support.files import executable, lay
from tests.support.repositories import commit, git, repository

SKILL = ".claude/skills/pdf/SKILL.md"


def test_outside_a_repository_git_says_nothing(tmp_path: Path) -> None:
    """Nothing is tracked, and that is no fault."""
    assert ask(tmp_path) == Tracked()
    assert (committed(tmp_path), dict(authors(tmp_path, [str(tmp_path / "a")]))) == ({}, {})


@pytest.mark.parametrize("path", ["", "nowhere"])
def test_without_git_the_fault_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """A relative or missing entry of ``PATH`` is no git."""
    top = repository(tmp_path / "p", {"AGENTS.md": "x"})
    monkeypatch.setenv("PATH", path)
    assert "git is not installed" in ask(top).fault
    assert (ask(top).missing, committed(top)) == ((), {})


@pytest.mark.parametrize("name", ["HEAD", "x"])
def test_what_only_looks_like_a_repository_has_a_fault(tmp_path: Path, name: str) -> None:
    """Git looks no further up, where another repository lies."""
    outer = repository(tmp_path / "p", {"AGENTS.md": "x"})
    assert "git refuses" in ask(lay(outer / "in", {f".git/{name}": ""})).fault
    assert committed(outer / "in") == {}


def test_what_agents_read_is_named_if_it_is_not_on_disk(tmp_path: Path) -> None:
    """Deleted, skipped or in a submodule; of other files git says nothing here."""
    files = {"AGENTS.md": "x", SKILL: "x", ".claude/skills/pdf/run.sh": "x", "src/a.py": "x", "lib/s/SKILL.md": "x"}
    top = repository(tmp_path / "p", {**files, "lib/s/data.bin": "x", ".github/workflows/ci.yml": "x"})
    assert ask(top)._replace(top="") == Tracked()
    for path in ("AGENTS.md", SKILL, "src/a.py", "lib/s/data.bin", ".github/workflows/ci.yml"):
        (top / path).unlink()
    git(top, "update-index", "--skip-worktree", SKILL)
    assert ask(top).missing == (SKILL, "AGENTS.md", "lib/s/data.bin")
    assert ask(top).skipped == (SKILL,)
    assert ask(top / "src").missing == ask(top).missing


def test_submodules_and_work_trees_are_those_that_git_knows(tmp_path: Path) -> None:
    """A clone is neither."""
    inner, top = repository(tmp_path / "i", {"AGENTS.md": "x"}), repository(tmp_path / "p", {"AGENTS.md": "x"})
    git(top, "submodule", "add", "-q", str(inner), "vendor/i")
    git(top, "clone", "-q", str(inner), "clone")
    git(top, "worktree", "add", "-q", ".trees/a")
    git(top, "worktree", "add", "-q", str(tmp_path / "beside"))
    told = ask(top)
    assert told.submodules == frozenset(["vendor/i"])
    assert (told.empty, told.worktrees) == ((), frozenset([str(top / ".trees/a")]))
    known = {path: told.knows(str(top / path)) for path in ("vendor/i", ".trees/a", "clone", "vendor")}
    assert known == {"vendor/i": True, ".trees/a": True, "clone": False, "vendor": False}
    git(top, "commit", "-qm", "all")
    git(tmp_path, "clone", "-q", str(top), "other")
    assert ask(tmp_path / "other").empty == ("vendor/i",)


def test_a_link_that_git_wrote_as_a_file_is_named(tmp_path: Path) -> None:
    """On a checkout without links the index says what is one."""
    top = repository(tmp_path / "p", {"AGENTS.md": "x"})
    (top / "CLAUDE.md").symlink_to("AGENTS.md")
    commit(top)
    assert ask(top).links == frozenset()
    git(tmp_path, "clone", "-q", "p", "plain", settings={"core.symlinks": "false"})
    assert ask(tmp_path / "plain").links == {"CLAUDE.md"}


def test_who_last_committed_a_file_is_asked_once_for_all(tmp_path: Path) -> None:
    """Renames are not followed, and a name that looks like a pattern is one file."""
    top = repository(tmp_path / "p", {"a.md": "1", "b.md": "1", "[ab].md": "1", "new\nline.md": "1"})
    commit(lay(top, {"b.md": "2"}), author="Bob")
    lay(top, {"c.md": "x"})
    paths = [str(top / name) for name in ("a.md", "b.md", "[ab].md", "c.md", "new\nline.md")]
    ann, bob = "Ann <ann@example.org>", "Bob <bob@example.org>"
    found = authors(top, paths)
    assert [found.get(path) for path in paths] == [ann, bob, ann, None, ann]


def test_contents_come_in_the_order_in_which_they_are_asked_for(tmp_path: Path) -> None:
    """One that git does not have is empty."""
    top = repository(tmp_path / "p", {"AGENTS.md": "a\n", "x/CLAUDE.md": "", "x/b.py": "b"})
    names = committed(top)
    assert names is not None
    assert [*names] == ["AGENTS.md", "x/CLAUDE.md", "x/b.py"]
    assert committed(top / "x") == {"CLAUDE.md": names["x/CLAUDE.md"], "b.py": names["x/b.py"]}
    asked = [names["x/CLAUDE.md"], "0" * 40, names["AGENTS.md"]]
    assert [*read_blobs(top, asked)] == [b"", b"", b"a\n"]
    assert [*read_blobs(top, [])] == []


def test_paths_for_agents_are_those_of_the_table_and_of_skills() -> None:
    """At any depth, in any spelling."""
    yes = [".ai/x.md", "a/.ai/tools/x.py", "a/b/CLAUDE.md", ".Claude/x", ".github/skills/x/y", "k/SKILL.md", "k/a/b"]
    no = [".github/workflows/x.yml", "README.md", "src/skills.py", "kk/a"]
    assert for_agents([*yes, *no]) == yes


Setting = Callable[[str], tuple[tuple[str, str], ...]]

HOSTILE: dict[str, Setting] = {
    "monitor": lambda evil: (("core.fsmonitor", evil), ("core.fsmonitorHookVersion", "2")),
    "hooks": lambda _evil: (("core.hooksPath", "hooks"),),
    "filters": lambda evil: (("filter.x.clean", evil), ("filter.x.smudge", evil), ("filter.x.process", evil)),
    "diff": lambda evil: (("diff.external", evil), ("diff.x.command", evil), ("diff.x.textconv", evil)),
    "pager": lambda evil: (("core.pager", evil), *((f"pager.{word}", evil) for word in ("log", "ls-files", "ls-tree"))),
    "signatures": lambda evil: (("log.showSignature", "true"), ("gpg.program", evil), ("gpg.ssh.program", evil)),
    "editor": lambda evil: (("core.editor", evil), ("core.askPass", evil), ("credential.helper", f"!{evil}")),
    "fetch": lambda evil: (
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.url", f"ext::{evil}"),
        ("remote.origin.uploadpack", evil),
        ("protocol.ext.allow", "always"),
        ("core.sshCommand", evil),
    ),
    "aliases": lambda evil: tuple((f"alias.{word}", f"!{evil}") for word in ("log", "ls-files", "worktree")),
    "includes": lambda _evil: (("include.path", "../included"),),
    "another-tree": lambda _evil: (("core.worktree", "/"), ("submodule.recurse", "true")),
}
"""What a repository may say in its configuration so that git runs a program or looks elsewhere."""

HOSTILE |= {"all-of-it": lambda evil: tuple(pair for name in [*HOSTILE][:-1] for pair in HOSTILE[name](evil))}


def pretend_signed(top: Path) -> None:
    """Give the last commit of a repository something that git takes for a signature."""
    kept = git(top, "cat-file", "commit", "HEAD")
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----\n"
    (top.parent / "commit").write_text(kept.replace("\n\n", f"\n{signature}\n", 1), encoding="utf-8")
    name = git(top, "hash-object", "-t", "commit", "-w", str(top.parent / "commit")).strip()
    git(top, "update-ref", "HEAD", name)


@pytest.mark.parametrize("name", HOSTILE)
def test_attack_nothing_of_a_hostile_repository_runs(tmp_path: Path, name: str) -> None:
    """Every question is answered as before, and the program that the configuration names leaves no trace."""
    top = repository(tmp_path / "p", {"AGENTS.md": "x", SKILL: "y", ".gitattributes": "* filter=x diff=x\n"})
    paths = [str(top / "AGENTS.md"), str(top / SKILL)]

    def answers() -> list[object]:
        names = committed(top) or {}
        return [ask(top), authors(top, paths), names, [*read_blobs(top, [*names.values()])]]

    git(top, "worktree", "add", "-q", "tree")
    (top / SKILL).write_text("changed")
    pretend_signed(top)
    gone = git(top, "rev-parse", f"HEAD:{SKILL}").strip()
    (top / ".git/objects" / gone[:2] / gone[2:]).unlink()
    before = answers()
    evil = executable(tmp_path / "evil.sh", f"touch {tmp_path}/ran")
    for key, value in HOSTILE[name](str(evil)):
        git(tmp_path, "config", "--file", str(top / ".git/config"), "--add", key, value)
    for hook in ("post-index-change", "post-checkout", "reference-transaction", "fsmonitor-watchman"):
        executable(top / ".git/hooks" / hook, f"touch {tmp_path}/ran")
    lay(top, {".git/included": f"[core]\n\tfsmonitor = {evil}\n"})
    assert answers() == before
    assert not (tmp_path / "ran").exists()


def test_attack_the_callers_variables_do_not_lead_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a hook of git or a shell exports is for another repository."""
    top = repository(tmp_path / "p", {"AGENTS.md": "x"})
    (top / "AGENTS.md").unlink()
    before = ask(top)
    evil = executable(tmp_path / "evil.sh", f"touch {tmp_path}/ran")
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"):
        monkeypatch.setenv(name, str(tmp_path / "nowhere"))
    for name in ("GIT_PAGER", "GIT_EXTERNAL_DIFF", "GIT_SSH_COMMAND", "GIT_EDITOR", "PAGER"):
        monkeypatch.setenv(name, str(evil))
    assert ask(top) == before
    assert before.missing == ("AGENTS.md",)
    assert not (tmp_path / "ran").exists()
