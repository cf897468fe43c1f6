"""Completion: what is offered, and the script loaded into bash; those of zsh and fish are click's own."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from rye.cli.commands import COMMANDS
from tests.unit.cli.workshop import Workshop, lay

ASKS: Mapping[str, str] = {
    "bash": """
        {script}
        compopt() {{ :; }}
        COMP_LINE={line} COMP_POINT={end}
        _rye_completion rye
        [ ${{#COMPREPLY[@]}} = 0 ] || printf '%s\\n' "${{COMPREPLY[@]}}"
    """,
}
"""How each shell is asked: with its script, and the line up to the cursor."""


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    """Lay the workshop."""
    return lay(tmp_path)


def offered(shop: Workshop, words: str, shell: str = "bash", breaks: str = "", **env: str) -> list[str]:
    """Return what ``rye`` answers to a script; it writes nothing to standard error, and no cache."""
    done = shop.process(_RYE_COMPLETE=f"{shell}_complete", COMP_WORDS=words, COMP_BREAKS=breaks, **env)
    assert done.err == ""
    return [line.removeprefix("plain,") for line in done.out.splitlines()]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_scripts_of_other_shells_are_those_of_click(shop: Workshop, shell: str) -> None:
    """They ask rye, and an answer names what stands there."""
    assert f"_RYE_COMPLETE={shell}_complete" in shop.run("completion", shell).out
    done = shop.process(_RYE_COMPLETE=f"{shell}_complete", COMP_WORDS="rye show tool:demo/d", COMP_CWORD="2")
    assert "tool:demo/deploy" in done.out or shell == "fish"


@pytest.mark.parametrize("shell", ASKS)
def test_shells_complete(shop: Workshop, shell: str, tmp_path: Path) -> None:
    """The script is loaded into the shell, which completes commands, options, values, ids and topics."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"there is no {shell}")
    (tmp_path / "bin").mkdir()
    rye = tmp_path / "bin" / "rye"
    rye.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m rye "$@"\n')
    rye.chmod(0o755)
    script = shop.run("completion", shell).out
    home = tmp_path / "shell-home"
    home.mkdir()
    path = f"{rye.parent}{os.pathsep}{os.environ['PATH']}"
    env = {**shop.env, "PATH": path, "XDG_CONFIG_HOME": str(home), "XDG_DATA_HOME": str(home)}

    def complete(line: str) -> set[str]:
        text = ASKS[shell].format(script=script, line=shlex.quote(line), end=len(line))
        start = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
        done = subprocess.run(
            [program, *start, "-c", text], env=env, cwd=shop.project, capture_output=True, timeout=60, check=False
        )
        assert done.stderr == b""
        return set(done.stdout.decode().split())

    assert complete("rye ") == {name for name in COMMANDS if " " not in name}
    assert complete("rye search --inc") == {"--include-superseded"}
    assert complete("rye list --space u") == {"user"}
    assert complete("rye show demo/g") == {"demo/guide"}
    colon = "" if shell == "bash" else "knowledge:"  # bash begins a word behind it
    assert complete("rye show knowledge:demo/g") == {f"{colon}demo/guide"}
    assert complete("rye search --filter tit") == {"title="}
    assert complete("rye search tit") == {"title:"}
    assert complete("rye help query-l") == {"query-language"}


def test_commands_options_and_values_are_offered(shop: Workshop) -> None:
    """What the table of parameters lists, on either side of ``=``."""
    assert set(offered(shop, "rye ")) == {name for name in COMMANDS if " " not in name}
    assert "list" in offered(shop, "rye sign l")
    assert offered(shop, "rye sign list --for") == ["--forget"]
    assert set(offered(shop, "rye search --space ")) == {"all", "project", "user", "system"}
    assert offered(shop, "rye search --space=u") == ["--space=user"]
    assert offered(shop, "rye search --space=u", "bash", ":=") == ["user"]
    assert offered(shop, "rye search --scope t") == ["tool"]
    assert offered(shop, "rye list t") == ["tool"]
    assert offered(shop, "rye index r") == ["rebuild"]


def test_ids_keys_and_topics_are_offered(shop: Workshop) -> None:
    """Ids with their type and without it, keys by name, trusted ones by fingerprint; a target may be a file as well."""
    assert offered(shop, "rye show tool:demo/d") == ["tool:demo/deploy"]
    assert offered(shop, "rye show 'tool:demo/d") == ["tool:demo/deploy"]
    assert offered(shop, "rye show tool:demo/d", "bash", ":=") == ["demo/deploy"]
    assert offered(shop, "rye verify demo/d") == ["demo/deploy", "file,demo/d"]
    shop.run("keys", "generate", "ci", "--add-trust")
    assert offered(shop, "rye sign --key c") == ["ci"]
    (mine,) = [name for name in offered(shop, "rye trust revoke ") if name in shop.run("keys", "show", "ci").out]
    assert len(mine) == 64
    assert offered(shop, "rye help query-l") == ["query-language"]


def test_what_a_shell_would_run_is_not_offered(shop: Workshop) -> None:
    """Bash inserts a completion as it is, so that a hostile name would be a command."""
    folder = shop.project / ".ai" / "knowledge" / "evil"
    folder.mkdir()
    for name in ("plain", "$(touch x)", "a;b", "`id`", "a b", "a\tb", "*"):
        (folder / f"{name}.md").write_text("# Evil\n")
    assert offered(shop, "rye show knowledge:evil/") == ["knowledge:evil/plain"]


def test_completion_writes_and_prints_nothing(shop: Workshop) -> None:
    """Neither an invalid line nor a missing project is worth a word, and no index is built."""
    for line in ("rye serach x ", "rye search -draft --sp", "rye show --project /nowhere ", "rye trust nope x ", ""):
        offered(shop, line)
    offered(shop, "rye show tool:")
    assert not list(Path(shop.env["RYE_CACHE_DIR"]).rglob("*"))
    assert offered(shop, "rye ", "nonesuch") == []
