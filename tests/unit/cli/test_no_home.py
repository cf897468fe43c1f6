"""Commands of a user who has neither ``HOME``, nor XDG variables, nor an entry in the passwd database."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.workshop import Workshop, lay

pwd = pytest.importorskip("pwd")

COMMANDS = (("search", "server"), ("show", "tool:demo/deploy"), ("verify",), ("trust", "list"), ("index", "status"))


@pytest.fixture
def homeless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    """A project of a user for whom the system knows no home folder."""

    def unknown(user_id: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {user_id}")

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    shop = lay(tmp_path)
    env = {name: value for name, value in shop.env.items() if name != "HOME" and not name.startswith(("XDG_", "RYE_"))}
    return Workshop(shop.project, {name: value for name, value in env.items() if name not in {"USER", "LOGNAME"}})


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_commands_work_without_a_home_folder(homeless: Workshop, command: tuple[str, ...]) -> None:
    """With a user space named, nothing else needs a home folder; no command ends in an internal error."""
    done = homeless.run(*command)
    assert done.status in {0, 1}, done.err
    assert "internal" not in done.err


def test_a_search_without_a_home_folder_says_that_its_index_is_temporary(homeless: Workshop) -> None:
    """The answer is complete, and the warning names the variable that keeps the index."""
    done = homeless.run("search", "server", "--space", "project")
    assert "tool:demo/deploy" in done.out
    assert "RYE_CACHE_DIR" in done.err


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_without_a_user_space_either_the_error_says_what_to_set(homeless: Workshop, command: tuple[str, ...]) -> None:
    """Without ``USER_SPACE`` nobody knows whose keys count: the documented error, not a guess."""
    env = {name: value for name, value in homeless.env.items() if name != "USER_SPACE"}
    done = Workshop(homeless.project, env).run(*command)
    assert done.status == 2
    assert done.err == "error[no-home]: there is no home folder\nhint: set USER_SPACE or HOME\n"


def test_a_list_is_checked_though_its_record_cannot_be_kept(homeless: Workshop) -> None:
    """State that cannot be kept is a note of the report; the check itself is not lost."""
    assert homeless.run("keys", "generate").status == 0
    done = homeless.run("sign", "list", "--yes")
    assert done.status == 0, done.err
    checked = homeless.run("verify", "--space", "project")
    assert "no home folder" in checked.out + checked.err
