"""What holds for every test: Hypothesis profiles, an empty environment, shared samples, and budgets of time."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.support.effort import register_profiles

if TYPE_CHECKING:
    from tests.support.samples import Samples

register_profiles()
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a script; every child would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)


FEW_FILES = 12
"""Files of tests that are run in one process: workers would take longer to start."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Do without workers where few files are named; otherwise there is one for each core."""
    places = [config.invocation_params.dir / name.partition("::")[0] for name in config.args]
    files = sum(len(list(place.rglob("test_*.py"))) if place.is_dir() else 1 for place in places)
    return 0 if files < FEW_FILES else None


CASE_SECONDS, FILE_SECONDS = 2, 15
"""How long a case and the cases of a file may take; what must take longer belongs into tests/weekly."""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the cases and files that take too long."""
    seconds = Counter[str]()
    for report in (report for reports in terminalreporter.stats.values() for report in reports):
        for name in {report.nodeid, report.nodeid.partition("::")[0]} if hasattr(report, "duration") else ():
            seconds[name] += report.duration
    for name, spent in seconds.most_common():
        if spent > (CASE_SECONDS if "::" in name else FILE_SECONDS):
            terminalreporter.write_line(f"over its budget: {spent:.1f} s {name}")


@pytest.fixture(scope="session", autouse=True)
def isolated_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep every test, and every process it starts, away from the user's own home, spaces, keys and cache."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("RYE_")]:
            patch.delenv(name)
        for name in ("HOME", "USERPROFILE", "USER_SPACE"):
            patch.setenv(name, str(home))
        patch.setenv("RYE_CACHE_DIR", str(home / "cache"))
        patch.setenv("RYE_STATE_DIR", str(home / "state"))
        patch.setenv("NO_COLOR", "1")
        patch.setenv("COLUMNS", "120")
        for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Samples:
    """Return the sample spaces of this worker; nothing in them may be changed."""
    from tests.support.samples import Samples

    return Samples(tmp_path_factory.mktemp("samples"))


@pytest.fixture
def no_items_of_rye(tmp_path: Path) -> Iterator[None]:
    """Leave rye's own bundle out of every registry of a test."""
    from tests.support.spacesim import no_own_items

    with no_own_items(tmp_path / "none"):
        yield
