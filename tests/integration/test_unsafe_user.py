"""Attacks by whoever owns or can write the state folder or the user space: what lies there is not believed."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from rye import Registry
from rye.cli import main
from rye.embedding.choice import Choice
from rye.errors import EnvironmentFault
from rye.registry.settings import chosen_index, read_choice
from rye.registry.state import ranking_of
from rye.spaces import state
from rye.spaces.layout import Layout
from rye.trust.trust_store import TRUSTED_FOLDER, system_clock
from tests.support.signed import EVE
from tests.support.spacesim import SpaceSim

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs owners and modes")
HELLO, OTHER, TEXT = "tools/demo/hello.py", "tools/demo/other.py", '"""Say hello."""\n'
OTHERS = 54321
SETTINGS = """\
semantic: {embedder: openai, model: m, url: "https://evil.example/v1", key_variable: SECRET}
index: opensearch+https://evil.example:9200/x
source_boosts: {system: 9}
"""


@pytest.fixture
def sim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SpaceSim:
    """A project with two signed tools and a signed list, whose first version is kept aside."""
    sim = SpaceSim(tmp_path, bundles=())
    monkeypatch.setenv("USER_SPACE", str(sim.user))
    monkeypatch.setenv("RYE_STATE_DIR", str(tmp_path / "state"))
    for name in ("RYE_SAFE_FOLDERS", "SUDO_UID", "RYE_SIGNING_KEY", "RYE_INDEX", "RYE_EMBEDDER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(sim.project)
    sim.save_user_key()
    sim.add("project", HELLO, TEXT)
    assert main(["sign", "list", "--yes"]) == 0
    shutil.copytree(sim.root("project"), tmp_path / "older")
    sim.add("project", OTHER, TEXT)
    assert main(["sign", "list", "--yes"]) == 0
    return sim


def give_away(path: Path) -> None:
    """Let somebody else own a file or folder, or where only root can do that, let everybody write to it."""
    if os.geteuid() == 0:
        os.chown(path, OTHERS, -1)
    else:
        path.chmod(0o777)


def roll_back(sim: SpaceSim) -> None:
    """Put the first version of the project back."""
    shutil.rmtree(sim.root("project"))
    shutil.copytree(sim.folder / "older", sim.root("project"))


def verify(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """Verify the project; return the status and the answer."""
    capsys.readouterr()
    status = main(["verify", "--space", "project", "--json", *words])
    return status, capsys.readouterr().out


# Attack I: the state


@pytest.mark.parametrize("place", ["state", "state/lists", "record"])
def test_attack_state_of_another_user_hides_a_rollback(
    sim: SpaceSim, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A record of the older version, planted in a folder or as a file that others own, is not read."""
    records = list((sim.folder / "state" / "lists").iterdir())
    roll_back(sim)
    for record in records:
        record.unlink()
    assert main(["verify", "--space", "project"]) == 0  # writes what the attacker would have planted
    for path in records if place == "record" else [sim.folder / place]:
        give_away(path)
    status, answer = verify(capsys, "--require-list")
    assert (status, "state-unsafe" in answer) == (2, True)


def test_attack_folder_above_the_state_of_another_user(sim: SpaceSim, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever owns a folder above the state can put another one in its place, so no record below it is read."""
    above = sim.folder / "above"
    above.mkdir()
    (sim.folder / "state").rename(above / "state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RYE_STATE_DIR", str(above / "state"))
        assert verify(capsys, "--require-list")[0] == 0
        give_away(above)
        status, answer = verify(capsys, "--require-list")
        assert (status, "state-unsafe" in answer, str(above) in answer) == (2, True, True)
        patch.setenv("RYE_SAFE_FOLDERS", str(above))
        assert verify(capsys, "--require-list")[0] == 0


def test_attack_state_removed_by_another_user(sim: SpaceSim, capsys: pytest.CaptureFixture[str]) -> None:
    """A record that is gone cannot be kept there: an error where a list is demanded, else a warning."""
    roll_back(sim)
    for record in (sim.folder / "state" / "lists").iterdir():
        record.unlink()
    give_away(sim.folder / "state")
    status, answer = verify(capsys, "--require-list")
    assert (status, "list-unrecorded" in answer) == (1, True)
    status, answer = verify(capsys)
    assert (status, "list-unsaved" in answer, "state-unsafe" in answer) == (0, True, True)


def test_attack_list_and_record_removed(sim: SpaceSim, capsys: pytest.CaptureFixture[str]) -> None:
    """Where both are gone nothing is left to check; that the record could have been removed is a warning."""
    (sim.root("project") / "rye.list").unlink()
    shutil.rmtree(sim.folder / "state")
    status, answer = verify(capsys)
    assert (status, "state-unsafe" in answer) == (0, False)
    (sim.folder / "state" / "lists").mkdir(parents=True)
    give_away(sim.folder / "state" / "lists")
    status, answer = verify(capsys)
    assert (status, "state-unsafe" in answer) == (0, True)


def test_attack_pipe_in_place_of_a_record(sim: SpaceSim, capsys: pytest.CaptureFixture[str]) -> None:
    """It is refused at once: nobody waits until something is written to it."""
    for record in (sim.folder / "state" / "lists").iterdir():
        record.unlink()
        os.mkfifo(record, 0o600)
    status, answer = verify(capsys, "--require-list")
    assert (status, "state-unreadable" in answer) == (2, True)


def test_a_record_is_the_users_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the umask, nobody else can read or write it."""
    monkeypatch.setenv("RYE_STATE_DIR", str(tmp_path / "state"))
    before = os.umask(0)
    try:
        state.save_record(state.record_path("kind", "name"), {"a": 1})
    finally:
        os.umask(before)
    path = state.record_path("kind", "name")
    assert [each.stat().st_mode & 0o777 for each in (path, path.parent)] == [0o600, 0o700]
    assert state.read_record(path) == {"a": 1}
    assert state.read_record(state.record_path("kind", "other")) is None


# Attacks J and D: the user space


def is_believed(sim: SpaceSim, home: Path) -> tuple[bool, bool]:
    """Return whether a user space's settings count, all of them or none, and whether its keys do."""
    registry = Registry(sim.project, user=home, bundles=(), cache_dir=sim.cache)
    layout = Layout.find(project=sim.project, user=home, bundles=())
    user, ranking = layout.safe_user(), ranking_of(layout, layout.load_trust(), system_clock())
    counts = {read_choice(user) != Choice(), chosen_index(None, user) is not None, ranking.boosts != {}}
    assert len(counts) == 1
    found = registry.verify(space="project")
    warned = any("user space" in text for text in (*registry.search("hello").warnings, str(found.unchecked)))
    assert warned != counts.pop()
    return not warned, {str(item.signature.verdict) for item in found.items} == {"trusted"}


@pytest.mark.parametrize("mode", [None, 0o777, 0o775])
@pytest.mark.parametrize("place", [".", ".ai", ".ai/config", ".ai/config/search.yaml", ".ai/config/keys"])
def test_attack_settings_that_others_can_write(
    sim: SpaceSim, place: str, mode: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither they nor the keys count, and the warning says which folder and what to run; ``None`` is another owner."""
    sim.write("user", "config/search.yaml", SETTINGS)
    assert is_believed(sim, sim.user) == (True, True)
    path = sim.user / place
    if mode is None:
        give_away(path)
    else:
        path.chmod(mode)
        monkeypatch.setattr("rye._files._is_own_group", lambda _gid, _uid: False)
    assert is_believed(sim, sim.user) == (False, False)
    (warning,) = [
        text
        for text in Registry(sim.project, user=sim.user, cache_dir=sim.cache).search("").warnings
        if "user space" in text
    ]
    assert f"{path} " in warning
    assert ("chown" if mode is None and os.geteuid() == 0 else "chmod go-w") in warning
    monkeypatch.setenv("RYE_SAFE_FOLDERS", str(sim.user))
    assert is_believed(sim, sim.user) == (True, True)


@pytest.mark.parametrize("place", ["project", "project/home", "project/deep/er", "home"])
@pytest.mark.parametrize("git", ["folder", "file", ""])
def test_attack_settings_in_the_checkout(sim: SpaceSim, place: str, git: str) -> None:
    """Nothing of a user space counts that lies in the project, or in the repository around it, nor if it is that."""
    home = sim.folder / place
    if git == "folder":
        (sim.folder / ".git").mkdir()
    elif git:
        (sim.folder / ".git").write_text("gitdir: /elsewhere\n")
    if home != sim.user:
        shutil.copytree(sim.root("user"), home / ".ai", dirs_exist_ok=True)
    (home / ".ai" / "config" / "search.yaml").write_text(SETTINGS)
    safe = place == "home" and not git
    assert is_believed(sim, home) == (safe, safe)


@pytest.mark.parametrize("part", ["config", "config/search.yaml", "config/keys", TRUSTED_FOLDER.as_posix()])
def test_attack_part_of_the_user_space_is_a_link_into_the_checkout(sim: SpaceSim, part: str) -> None:
    """What a link leads to is what counts."""
    sim.write("user", "config/search.yaml", SETTINGS)
    inside = sim.project / "settings"
    shutil.move(sim.root("user") / part, inside)
    (sim.root("user") / part).symlink_to(inside)
    assert is_believed(sim, sim.user) == (False, False)


def test_attack_trust_file_is_a_link_into_the_checkout(sim: SpaceSim) -> None:
    """Nothing is judged until the user has put the file itself in its place."""
    sim.sign("project", HELLO, EVE)
    trusted = sim.trust(EVE)
    assert verdicts(sim) == {"trusted"}
    shutil.move(trusted, sim.project / "eve.toml")
    trusted.symlink_to(sim.project / "eve.toml")
    with pytest.raises(EnvironmentFault) as caught:
        verdicts(sim)
    assert caught.value.code == "user-in-project"


def verdicts(sim: SpaceSim) -> set[str]:
    """Return the verdicts on the items of the project."""
    return {str(item.signature.verdict) for item in Registry(sim.project, user=sim.user, bundles=()).verify().items}


def test_attack_user_space_in_a_folder_that_is_verified(
    sim: SpaceSim, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Named by its path from elsewhere, a folder that holds the user space is verified without it."""
    home = sim.project / "deep" / "home"
    shutil.copytree(sim.root("user"), home / ".ai")
    (sim.folder / "elsewhere").mkdir()
    monkeypatch.chdir(sim.folder / "elsewhere")
    monkeypatch.setenv("USER_SPACE", str(home))
    capsys.readouterr()
    assert main(["verify", str(sim.project), "--json"]) == 2
    answer = json.loads(capsys.readouterr().out)
    assert "user-in-project" in {each["code"] for each in answer["unchecked"]}
    assert answer["counts"].get("trusted", 0) == 0


def test_a_key_of_a_user_space_that_is_not_read_is_not_to_be_added(
    sim: SpaceSim, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was added already: each finding says why it does not count, and the way out."""
    home = sim.project / "home"
    shutil.copytree(sim.root("user"), home / ".ai")
    monkeypatch.chdir(sim.project)
    monkeypatch.setenv("USER_SPACE", str(home))
    capsys.readouterr()
    assert main(["verify", "--json"]) == 2
    items = [each for each in json.loads(capsys.readouterr().out)["items"] if each["code"] == "unknown-key"]
    assert items
    assert all("fix" not in each or not each["fix"] for each in items)
    assert all("set USER_SPACE" in each["note"] for each in items)
