"""What ``rye verify`` says of repositories in a project, and of tracked files that are not on disk."""

from __future__ import annotations

import io
import json
import shutil
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from rye.cli import main
from tests.support.files import lay
from tests.support.repositories import commit, git, repository
from tests.support.spacesim import SpaceSim

AGENTS = "# Agents\n\nBe kind.\n"
SKILL = ".claude/skills/pdf/SKILL.md"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with signed items of agents, and the user's key."""
    sim = SpaceSim(tmp_path, bundles=())
    sim.save_user_key()
    monkeypatch.setenv("USER_SPACE", str(sim.user))
    monkeypatch.setenv("RYE_STATE_DIR", str(tmp_path / "state"))
    return signed(sim.project, {"AGENTS.md": AGENTS, SKILL: "---\nname: pdf\ndescription: Forms\n---\n"})


def signed(folder: Path, files: dict[str, str]) -> Path:
    """Make a repository of signed files."""
    git(lay(folder, files), "init", "-q")
    assert main(["sign", "--all", "--yes", "--project", str(folder)]) == 0
    return commit(folder)


def verify(project: Path, *words: str) -> dict[str, Any]:
    """Return the answer of the command, with its status."""
    with redirect_stdout(io.StringIO()) as out:
        status = main(["verify", "--json", *(words or ("--space", "project")), "--project", str(project)])
    answer: dict[str, Any] = json.loads(out.getvalue())
    assert answer["status"] == status
    return answer


def text(project: Path, *words: str) -> str:
    """Return all that the command says in words."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(out):
        main(["verify", "--space", "project", "--project", str(project), *words])
    return out.getvalue()


def strict(project: Path, *words: str) -> dict[str, Any]:
    """Return the answer of the strict form."""
    return verify(project, "--space", "project", "--strict", *words)


def test_a_nested_repository_has_its_own_counts_and_fails_the_whole(project: Path) -> None:
    """Its items are listed with the others; a folder named by itself counts it the same way."""
    inner = signed(project.parent / "inner", {"AGENTS.md": AGENTS, "a/AGENTS.md": AGENTS})
    git(project, "submodule", "add", "-q", str(inner), "vendor/inner")
    lay(project, {"vendor/inner/b/CLAUDE.md": AGENTS})
    answer = verify(project)
    counts = {"path": "vendor/inner", "known": True, "counts": {"trusted": 2, "unsigned": 1}, "findings": 1}
    assert answer["repositories"] == [counts]
    assert (answer["counts"], answer["findings"], answer["status"]) == ({"trusted": 2}, 1, 1)
    assert verify(project, str(project))["repositories"] == [counts]
    assert "vendor/inner: a repository of its own: 2 trusted, 1 unsigned -- 1 failed\n2 items: 2 trusted -- 1" in text(
        project
    )


def test_a_project_that_has_only_nested_repositories_is_something_to_verify(project: Path) -> None:
    """A folder with clones, which is no repository itself."""
    above = project.parent / "clones"
    shutil.copytree(project, above / "a")
    answer = verify(above)
    assert (answer["status"], answer["counts"], answer["repositories"][0]["path"]) == (0, {}, "a")


def test_a_repository_without_files_for_agents_is_not_named(project: Path) -> None:
    """Neither as a line nor, with ``--strict``, as a finding."""
    repository(project / "vendor/lib", {"a.c": "x"})
    answer = strict(project)
    assert (answer["status"], answer["repositories"]) == (0, [])


@pytest.mark.parametrize("path", ["AGENTS.md", SKILL])
def test_a_tracked_file_that_is_gone_is_named_by_what_is_gone(project: Path, path: str) -> None:
    """The outermost folder that is not there; without ``--strict`` a warning, and nothing if it is left out."""
    (project / path).unlink()
    shutil.rmtree(project / ".claude")
    gone = {"AGENTS.md": {"AGENTS.md", ".claude"}, SKILL: {".claude"}}[path]
    answer = strict(project)
    found = {Path(each["path"]).relative_to(project).as_posix() for each in answer["unchecked"]}
    assert (found, answer["status"]) == (gone, 2)
    assert {each["code"] for each in answer["unchecked"]} <= {"not-checked-out", "nothing-of-your-own"}
    assert [warning for warning in verify(project)["warnings"] if "[not-checked-out]" in warning]


def test_a_submodule_elsewhere_is_a_warning(project: Path) -> None:
    """It may hold anything, and most hold nothing for agents; one that ``--exclude`` names is not."""
    inner = repository(project.parent / "inner", {"a.c": "x"})
    git(project, "submodule", "add", "-q", str(inner), "vendor/inner")
    git(project, "commit", "-qm", "more")
    git(project, "submodule", "deinit", "-q", "vendor/inner")
    answer = strict(project)
    told = "submodules that are not checked out were not looked into: vendor/inner [not-checked-out]"
    assert (answer["status"], told in answer["warnings"]) == (0, True)
    assert told not in strict(project, "--exclude", str(project / "vendor"))["warnings"]


def test_without_git_there_is_one_note(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It names the repositories of which nothing is known."""
    signed(project / "vendor/inner", {"AGENTS.md": AGENTS})
    (project / "AGENTS.md").unlink()
    monkeypatch.setenv("PATH", "")
    answer = verify(project)
    (note,) = [warning for warning in answer["warnings"] if "git" in warning]
    assert note.startswith("git is not installed, so it is not known which tracked files are not on disk: ., vendor")
    assert answer["status"] == 0


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("CLAUDE.md", "AGENTS.md"),
        (".claude/commands/b.md", "a.md"),
        (".cursor/commands/a.md", "../../.claude/commands/a.md"),
        (".ai/tools/b.py", "a.py"),
        (".agents/skills/pdf/SKILL.md", "../../../.claude/skills/pdf/SKILL.md"),
        (".claude/commands/gone.md", "nowhere.md"),
    ],
)
def test_a_link_that_git_wrote_as_a_file_is_judged_as_on_a_checkout_with_links(
    project: Path, link: str, target: str
) -> None:
    """The same items pass, and the same findings and files that could not be checked are named."""
    signed(project, {".claude/commands/a.md": AGENTS, ".ai/tools/a.py": '"""A."""\n'})
    (project / link).parent.mkdir(parents=True, exist_ok=True)
    (project / link).symlink_to(target)
    commit(project)
    told = []
    for name, has_links in (("with", "true"), ("without", "false")):
        place = project.parent / name / "project"
        git(project, "clone", "-q", str(project), str(place), settings={"core.symlinks": has_links})
        assert (place / link).is_symlink() == (has_links == "true")
        answer = verify(place)
        items = {(each["id"], each["code"]) for each in answer["items"]}
        told.append((items, {each["code"] for each in answer["unchecked"]}, answer["status"]))
        main(["sign", "--all", "--force", "--project", str(place)])
    assert (place / link).read_text("utf-8") == target
    assert told[0] == told[1]
