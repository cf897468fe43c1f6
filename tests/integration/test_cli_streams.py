"""``rye`` as real processes: hostile text, pipes, encodings and signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from tests.unit.cli.workshop import ROOT, Workshop, lay

HIDDEN = ("\x1b", "\x07", "\u200f", "\x9b")
"""What a terminal obeys; each stands in an item of the workshop."""


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """Lay the workshop; tests only read it."""
    return lay(tmp_path_factory.mktemp("shop"))


def test_hostile_item_text_is_escaped_wherever_it_is_shown(shop: Workshop) -> None:
    """No escape code of an item's title, name or content reaches the reader, in text or JSON."""
    for args in (
        ("search", "trap", "--space", "project"),
        ("search", "trap", "--space", "project", "--json"),
        ("search", "trap", "--space", "project", "--format=jsonl"),
        ("show", "demo/trap"),
        ("show", "demo/trap", "--json"),
    ):
        done = shop.run(*args, NO_COLOR="")
        assert done.status == 0
        assert not [char for char in HIDDEN if char in done.out + done.err]
    assert "A trap \\x1b]0;owned\\x07 here." in shop.run("show", "demo/trap").out


@pytest.mark.parametrize(
    ("args", "status"),
    [
        (("search", "*"), 0),
        (("verify",), 1),
        (("--help",), 0),
    ],
)
def test_a_closed_pipe_is_no_error(shop: Workshop, args: tuple[str, ...], status: int) -> None:
    """``rye … | head -0`` ends with its own status and says nothing, not even at the interpreter's end."""
    process = shop.start(*args)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    err = process.stderr.read().decode()
    assert (process.wait(60), "Exception" in err, "Broken" in err) == (status, False, False)
    process.stderr.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_an_error(shop: Workshop) -> None:
    """An answer that could not be written is no success."""
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "rye", "why", "a"],
            cwd=shop.project,
            env=dict(shop.env),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.decode().splitlines() == [
        "error[no-output]: standard output cannot be written: No space left on device",
        "hint: the command may have done its work; make room, or write the answer elsewhere",
    ]


@pytest.mark.parametrize(
    ("args", "status"),
    [
        (("verify", "--json"), 1),
        (("verify", "--policy", "nope.yaml"), 2),
        (("show", "nope"), 1),
        (("search", "deploy"), 0),
    ],
)
@pytest.mark.parametrize("streams", ["stderr", "both"])
def test_attack_a_failure_is_hidden_by_closing_what_it_is_written_to(
    shop: Workshop, args: tuple[str, ...], status: int, streams: str
) -> None:
    """``2> >(true)`` and ``2>&1 | head -1``: the exit status is that of the work, whoever reads."""
    reading, writing = os.pipe()
    os.close(reading)
    into = writing if streams == "both" else subprocess.DEVNULL
    command = [sys.executable, "-m", "rye", *args]
    done = subprocess.run(command, cwd=shop.project, env=dict(shop.env), stdout=into, stderr=writing, check=False)
    os.close(writing)
    cut_short = status and streams == "both"
    assert done.returncode == status or (cut_short and done.returncode == 2)


def test_the_option_for_colour_wins_over_the_environment(shop: Workshop) -> None:
    """Before the command or behind it; it lasts for one run, and another value is refused."""
    words = ("search", "server", "--space", "project")
    assert "\x1b[" in shop.run(*words, "--color", "always", NO_COLOR="1").out
    assert "\x1b[" in shop.run("--color=always", *words, NO_COLOR="1").out
    assert "\x1b[" not in shop.run(*words, "--color=never", NO_COLOR="", FORCE_COLOR="1").out
    assert "\x1b[" not in shop.run(*words).out
    assert "\x1b[" in shop.run("keys", "list", "--color", "always").out + shop.run("list", "--color=always").out
    assert shop.run(*words, "--color", "purple").status == 2
    assert shop.run("-V").out == shop.run("--version").out == shop.run("version").out
    assert shop.run("help", "search").out == shop.run("search", "--help").out
    page = shop.run("help", "trust")
    assert (page.out.startswith("# Trust\n"), "rye trust --help" in page.err) == (True, True)


def test_a_poor_encoding_is_no_error(shop: Workshop) -> None:
    """An ASCII reader gets ASCII marks, escapes, and JSON that means the same."""
    poor = {"PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    done = shop.process("search", "server", "--space", "project", **poor)
    assert done.status == 0
    assert "  - unsigned  " in done.out
    assert shop.process("search", "server", "--space", "project", "--json", **poor).out.isascii()


def test_a_missing_standard_output_is_an_error_without_traceback(shop: Workshop) -> None:
    """``rye … >&-`` says that nobody can read the answer."""
    line = 'exec "$0" -m rye why a >&-'
    done = subprocess.run(
        ["sh", "-c", line, sys.executable], cwd=shop.project, env=dict(shop.env), stderr=subprocess.PIPE, check=False
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr.decode()


@pytest.mark.skipif(os.name == "nt", reason="signals as POSIX has them")
def test_an_interrupt_ends_quietly(shop: Workshop) -> None:
    """Ctrl-C: status 130, no traceback."""
    code = (
        "import sys, time\nfrom rye.cli import main\nfrom rye.cli.commands import COMMANDS\n"
        "def wait(**_):\n    print('ready', flush=True)\n    time.sleep(30)\n"
        "COMMANDS['why'].command.callback = wait\nsys.exit(main(['why', 'x']))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], env=dict(shop.env), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err.strip() == b""


ENTRY = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]["rye"]
STARTS = {
    "the command": ("-c", "import sys; from {} import {} as it; sys.exit(it())".format(*ENTRY.split(":"))),
    "the module": ("-m", "rye"),
}


@pytest.mark.skipif(os.name == "nt", reason="signals as POSIX has them")
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("module", ["click", "signal"])
def test_an_interrupt_while_it_starts_ends_quietly(shop: Workshop, tmp_path: Path, start: str, module: str) -> None:
    """Ctrl-C while the first or the last of its modules is imported: status 130, no traceback of imports."""
    (tmp_path / f"{module}.py").write_text("import os\nos.kill(os.getpid(), 2)\n", encoding="utf-8")
    env = {**shop.env, "PYTHONPATH": os.pathsep.join((str(tmp_path), shop.env["PYTHONPATH"]))}
    words = [sys.executable, *STARTS[start], "serach", "x"]
    done = subprocess.run(words, env=env, cwd=shop.project, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr.decode()) == (130, b"", "")
