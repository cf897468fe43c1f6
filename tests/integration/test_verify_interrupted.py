"""``rye verify`` stopped in the middle, and how much memory it takes: real processes with real helpers."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rye.trust.line import sign_bytes
from tests.support.signed import ANN, SIGNED_AT, place
from tests.support.spacesim import SpaceSim
from tests.unit.cli.workshop import Workshop, lay

pytestmark = [
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks at processes below /proc"),
]

FEW, MANY = 1_000, 5_000
FOLDER = 500


def fill(sim: SpaceSim, number: int) -> None:
    """Write that many small signed tools into the project, and spoil the last."""
    for at in range(number):
        item_id = f"many{at // FOLDER}/t{at}"
        data = f'"""Tool {at}."""\n\n__version__ = "1.0.0"\n'.encode()
        origin = place(item_id)
        signed = sign_bytes(data, suffix=".py", origin=origin, key=ANN, now=SIGNED_AT)
        sim.write("project", f"tools/{item_id}.py", signed + b"# more\n" * (at == number - 1))


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """A project with many signed items."""
    sim = SpaceSim(tmp_path_factory.mktemp("many"))
    fill(sim, MANY)
    env = {**lay(tmp_path_factory.mktemp("shop")).env, "USER_SPACE": str(sim.user), "HOME": str(sim.user)}
    return Workshop(sim.project, env)


def session(leader: int) -> list[int]:
    """Return the processes of the session that a process leads, those that ended but were not waited for left out."""
    found = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            state, _, _, number = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
            if int(number) == leader and state != "Z":
                found.append(int(folder.name))
    return found


@contextlib.contextmanager
def verifying(shop: Workshop, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a verification on three processes in a session of its own; whatever is left in the end is killed."""
    code = "from rye.cli import main\nfrom rye.verify import facts as it\nit.cores = lambda: 3\nexit(main())"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "verify", "--space", "project", *words],
        cwd=shop.project,
        env=dict(shop.env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def until(condition: object, seconds: float = 30) -> bool:
    """Return whether a condition comes to hold in that time."""
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


@pytest.mark.parametrize(
    ("form", "number", "status"),
    [
        ("text", signal.SIGINT, 130),
        ("json", signal.SIGTERM, -signal.SIGTERM),
        ("jsonl", signal.SIGTERM, -signal.SIGTERM),
        ("sarif", signal.SIGINT, 130),
        ("junit", signal.SIGTERM, -signal.SIGTERM),
    ],
)
def test_an_interrupted_verification_never_succeeds(
    shop: Workshop, number: signal.Signals, status: int, form: str
) -> None:
    """Stopped while its helpers work: the status of the signal, no traceback, no process left, no complete answer."""
    with verifying(shop, "--format", form) as process:
        assert until(lambda: len(session(process.pid)) >= 3)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        assert process.returncode == status, (out[-500:], err.decode()[-1500:])
        assert b"Traceback" not in err, err.decode()[-1500:]
        assert until(lambda: not session(process.pid))
    assert b"all passed" not in out
    assert b'"status": 0' not in out
    assert b'"exitCode": 0' not in out
    assert b"</testsuites>" not in out


def test_an_interrupt_of_the_whole_group_is_quiet_too(shop: Workshop) -> None:
    """Ctrl-C on a terminal reaches the helpers as well: they say nothing of it, and leave."""
    with verifying(shop, "--format=jsonl") as process:
        assert until(lambda: len(session(process.pid)) >= 3)
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert (process.returncode, b"Traceback" in err) == (130, False), err.decode()[-1500:]
        assert until(lambda: not session(process.pid))


def test_a_closed_pipe_does_not_make_verification_succeed(shop: Workshop) -> None:
    """``rye verify -v | head -1`` reads one good line of thousands: status 2, for what was not said."""
    with verifying(shop, "--verbose") as process:
        assert process.stdout is not None
        assert b"trusted" in process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None
        err = process.stderr.read()
        assert (process.wait(60), b"Traceback" in err, b"not verified to the end" in err) == (2, False, True)
        assert until(lambda: not session(process.pid))
