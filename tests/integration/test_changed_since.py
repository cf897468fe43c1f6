"""``rye verify --changed-since``: whatever is done to a repository, an item that differs from the revision is seen."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.unit.cli.workshop import Done, Workshop, lay

EVIL = '"""Evil."""\n\n__version__ = "1.0.0"\n'
VERIFY = ("verify", "--space", "project", "--trust", "../trusted")
pytestmark = pytest.mark.skipif(shutil.which("git") is None or os.name != "posix", reason="needs git and links")


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    """A project in git, committed twice, whose items are all signed; its key is trusted by name."""
    shop = lay(tmp_path / "shop")
    shop.run("sign", "--bundle", str(shop.project / ".ai"), "--new-key")
    (shop.project / ".ai/config/keys/trusted").rename(shop.project.parent / "trusted")
    git(shop, "init", "-q", "-b", "main")
    commit(shop)
    (shop.project / "README").write_text("A project.\n", encoding="utf-8")
    commit(shop)
    return shop


def git(shop: Workshop, *words: str) -> str:
    """Run git in the project as somebody."""
    someone = ["-c", "user.name=ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *someone, *words], cwd=shop.project, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(shop: Workshop) -> None:
    """Commit all there is."""
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "all")


def verify(shop: Workshop, revision: str = "HEAD~1", *words: str) -> Done:
    """Verify what has changed."""
    return shop.run(*VERIFY, "--changed-since", revision, *words)


def spoil(shop: Workshop) -> Path:
    """Add a line to an item."""
    path = shop.project / ".ai/tools/demo/deploy.py"
    path.write_bytes(path.read_bytes() + b"# more\n")
    return path


def test_attack_a_link_in_the_place_of_the_space(shop: Workshop) -> None:
    """What stands behind it was committed before, elsewhere; all of it counts as changed."""
    assert verify(shop).status == 0
    evil = shop.project / "examples/tools/demo/evil.py"
    evil.parent.mkdir(parents=True)
    evil.write_text(EVIL, encoding="utf-8")
    commit(shop)
    shutil.rmtree(shop.project / ".ai")
    (shop.project / ".ai").symlink_to("examples")
    commit(shop)
    done = verify(shop)
    assert (done.status, "tool:demo/evil" in done.out) == (1, True)


@pytest.mark.parametrize("target", ["tools", "../outside"])
def test_attack_a_link_above_the_project(shop: Workshop, target: str) -> None:
    """A folder of the repository that becomes a link, to another folder of it or out of it, hides nothing."""
    for place in ("tools/.ai/tools/demo", "../outside/.ai/tools/demo"):
        folder = shop.project / place
        folder.mkdir(parents=True)
        (folder / "evil.py").write_text(EVIL, encoding="utf-8")
    (shop.project / "sub").symlink_to(target)
    commit(shop)
    git(shop, "commit", "-q", "--allow-empty", "-m", "nothing")
    if target == "tools":
        done = verify(shop, "HEAD~1", "--project", "sub")
        assert (done.status, "tool:demo/evil" in done.out) == (1, True)
    else:  # from there no repository is found, which is no clean bill either
        assert verify(shop, "HEAD~1", "--project", "sub").status == 2


def test_attack_a_work_tree_that_is_elsewhere(shop: Workshop, tmp_path: Path) -> None:
    """``core.worktree`` and ``core.bare`` do not move the files out of what is compared."""
    spoil(shop)
    for name, value in (("core.worktree", str(tmp_path)), ("core.bare", "true")):
        git(shop, "config", name, value)
        done = verify(shop)
        assert (done.status, "[digest]" in done.out) == (1, True)
        subprocess.run(["git", "config", "-f", ".git/config", "--unset", name], cwd=shop.project, check=True)


@pytest.mark.parametrize("what", ["HEAD~1", "HEAD~1^{tree}"])
def test_attack_an_object_that_is_replaced(shop: Workshop, what: str) -> None:
    """Neither a commit nor a tree that ``git replace`` puts in the place of another is compared with."""
    spoil(shop)
    commit(shop)
    git(shop, "replace", what, what.replace("~1", ""))
    done = verify(shop)
    assert (done.status, "[digest]" in done.out) == (1, True)


def test_attack_a_parent_that_is_grafted(shop: Workshop) -> None:
    """A commit's parent is the one it names: here the graft would make the edit the revision itself."""
    spoil(shop)
    commit(shop)
    (shop.project / "other").write_text("other\n", encoding="utf-8")
    commit(shop)
    git(shop, "commit", "-q", "--allow-empty", "-m", "nothing")
    (shop.project / ".git/info/grafts").write_text(
        f"{git(shop, 'rev-parse', 'HEAD~2')} {git(shop, 'rev-parse', 'HEAD')}\n", encoding="utf-8"
    )
    done = verify(shop, "HEAD~3")
    assert (done.status, "[digest]" in done.out) == (1, True)


def test_attack_a_tag_with_the_name_of_a_branch(shop: Workshop) -> None:
    """Git would take the tag, which whoever may push one can point at the change itself; so the name is refused."""
    old = git(shop, "rev-parse", "HEAD")
    spoil(shop)
    commit(shop)
    git(shop, "update-ref", "refs/remotes/origin/main", old)
    assert verify(shop, "origin/main").status == 1
    git(shop, "tag", "origin/main", "HEAD")
    git(shop, "config", "core.warnAmbiguousRefs", "false")
    done = verify(shop, "origin/main")
    assert (done.status, "several things" in done.err) == (2, True)
    assert verify(shop, "refs/remotes/origin/main").status == 1


def test_attack_files_that_are_sparse_or_called_unchanged(shop: Workshop) -> None:
    """Neither a sparse checkout nor an index that skips a file hides an edit."""
    path = spoil(shop)
    git(shop, "update-index", "--skip-worktree", str(path))
    git(shop, "config", "core.sparseCheckout", "true")
    (shop.project / ".git/info/sparse-checkout").write_text("/README\n", encoding="utf-8")
    assert verify(shop).status == 1


def test_attack_a_missing_object_that_would_be_fetched_by_a_program(shop: Workshop, tmp_path: Path) -> None:
    """A partial clone whose remote is a command, allowed by the repository itself, starts nothing."""
    mark = tmp_path / "ran"
    tree = git(shop, "rev-parse", "HEAD~1:.ai")
    settings = {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::touch {mark}",
        "protocol.ext.allow": "always",
    }
    for name, value in settings.items():
        git(shop, "config", name, value)
    (shop.project / ".git/objects" / tree[:2] / tree[2:]).unlink()
    assert verify(shop).status == 2
    assert not mark.exists()


def test_attack_settings_in_the_environment(shop: Workshop, tmp_path: Path) -> None:
    """Variables that name another repository, work tree, store of objects or setting are not passed on."""
    spoil(shop)
    other = tmp_path / "other"
    subprocess.run(["git", "init", "-q", str(other)], check=True)
    for variables in (
        {"GIT_DIR": str(other / ".git")},
        {"GIT_WORK_TREE": str(other)},
        {"GIT_OBJECT_DIRECTORY": str(other / ".git/objects")},
        {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.worktree", "GIT_CONFIG_VALUE_0": str(other)},
    ):
        assert shop.run(*VERIFY, "--changed-since", "HEAD", **variables).status == 1


def test_a_folder_named_elsewhere_is_verified(shop: Workshop, tmp_path: Path) -> None:
    """It is in no revision, so that nothing has changed there would be no answer."""
    evil = tmp_path / "elsewhere/.ai/tools/demo/evil.py"
    evil.parent.mkdir(parents=True)
    evil.write_text(EVIL, encoding="utf-8")
    done = shop.run("verify", str(evil.parents[2]), "--changed-since", "HEAD")
    assert (done.status, "tool:demo/evil" in done.out) == (1, True)
    done = shop.run("verify", "--space", "user", "--changed-since", "HEAD")
    assert (done.status, "none of the selected spaces" in done.err) == (2, True)


def test_an_error_of_git_is_shown_in_its_own_words(shop: Workshop) -> None:
    """A format it does not know, or a file in the place of the repository: neither is "no repository"."""
    git(shop, "config", "core.repositoryFormatVersion", "99")
    done = verify(shop)
    assert (done.status, "[no-git]" in done.err, "found 99" in done.err) == (2, True, True)
    shutil.rmtree(shop.project / ".git")
    assert "is in no git repository" in verify(shop).err
    (shop.project / ".git").write_bytes(b"gitdir: gone\x1b[31m\n")
    done = verify(shop)
    assert (done.status, "not a git repository" in done.err, "\x1b" in done.err) == (2, True, False)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only the superuser gives files away")
def test_an_error_names_a_repository_of_another_owner(shop: Workshop) -> None:
    """Git says what has to be set for that."""
    for path in (shop.project, *shop.project.rglob("*")):
        os.chown(path, 1234, -1, follow_symlinks=False)
    done = verify(shop)
    assert (done.status, "dubious ownership" in done.err, "safe.directory" in done.err) == (2, True, True)


def test_a_work_tree_and_a_submodule_are_repositories_too(shop: Workshop, tmp_path: Path) -> None:
    """Where ``.git`` is a file that leads to the repository, all is as ever."""
    git(shop, "worktree", "add", "-q", str(tmp_path / "tree"))
    words = (*VERIFY, "--project", str(tmp_path / "tree"))
    assert shop.run(*words, "--changed-since", "HEAD~1").out == "0 items -- nothing has changed\n"
    path = tmp_path / "tree/.ai/tools/demo/deploy.py"
    path.write_bytes(path.read_bytes() + b"# more\n")
    assert shop.run(*words, "--changed-since", "HEAD~1").status == 1


def test_a_key_that_comes_or_goes_has_the_files_of_clients_verified_too(shop: Workshop) -> None:
    """What a project's trust files say is about its skills and commands as well as about its ``.ai``."""
    command = shop.project / ".claude/commands/review.md"
    command.parent.mkdir(parents=True)
    command.write_text("Review the change.\n", encoding="utf-8")
    commit(shop)
    assert "commands/review" not in verify(shop, "HEAD").out
    key = next((shop.project.parent / "trusted").iterdir())
    folder = shop.project / ".ai/config/keys/trusted"
    folder.mkdir(parents=True)
    shutil.copy(key, folder)
    done = verify(shop, "HEAD")
    assert (done.status, "directive:commands/review" in done.out) == (1, True)
